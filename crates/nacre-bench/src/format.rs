//! Numbers as people read them: thousands apart, megabytes of 10^6 bytes, milliseconds.

use std::time::Duration;

/// Writes a count with a comma between groups of three digits.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes bytes as megabytes (10^6) with one decimal.
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / 1e6)
}

/// Writes a rate in megabytes (10^6) per second.
pub(crate) fn megabytes_per_second(bytes: u64, time: Duration) -> String {
    format!("{:.0}", bytes as f64 / 1e6 / time.as_secs_f64().max(1e-9))
}

/// Writes a duration in milliseconds with one decimal.
pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}

/// Writes a duration in seconds, with decimals only where they tell something.
pub(crate) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 10.0 { format!("{seconds:.2}") } else { format!("{seconds:.1}") }
}

/// Returns the geometric mean of durations, in milliseconds; 0 if there are none.
pub(crate) fn geometric_mean_ms(times: &[Duration]) -> f64 {
    if times.is_empty() {
        return 0.0;
    }
    let logarithms: f64 = times.iter().map(|time| (time.as_secs_f64() * 1e3).max(1e-6).ln()).sum();
    (logarithms / times.len() as f64).exp()
}

/// Returns the median; of an even number of values the lower middle one. Zero if there are none.
pub(crate) fn median(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_a_comma_between_groups_of_three() {
        let texts: Vec<_> = [0, 12, 999, 1_000, 60_175, 6_001_215].map(count).into();
        assert_eq!(texts, ["0", "12", "999", "1,000", "60,175", "6,001,215"]);
    }

    #[test]
    fn geometric_mean_of_one_and_one_hundred_is_ten() {
        let times = [Duration::from_millis(1), Duration::from_millis(100)];
        assert!((geometric_mean_ms(&times) - 10.0).abs() < 1e-9);
        assert_eq!(geometric_mean_ms(&[]), 0.0);
    }

    #[test]
    fn median_ignores_one_outlier() {
        let times = [3, 1, 900].map(Duration::from_millis);
        assert_eq!(median(&times), Duration::from_millis(3));
        assert_eq!(median(&[]), Duration::ZERO);
    }
}
