//! Texts of intervals, as PostgreSQL reads them: `1 year 2 mons -3 days 04:05:06.7`, `1.5 hours`,
//! `1 day ago`, `1-2`, `P1Y2M3DT4H5M6S`.

use datafusion::arrow::datatypes::IntervalMonthDayNano;

use crate::error::{Error, ErrorKind, Result};
use crate::types::{is_blank, trim_blanks};

const SECOND: f64 = 1e6;
const DAY: f64 = 86_400e6;

/// Months, days and microseconds that were read.
#[derive(Default)]
struct Sum {
    months: f64,
    days: f64,
    micros: f64,
}

/// Reads an interval.
///
/// # Errors
/// 22007, 22008.
pub(crate) fn parse_interval(text: &str) -> Result<IntervalMonthDayNano> {
    let trimmed = trim_blanks(text);
    let sum = match trimmed.strip_prefix(['P', 'p']) {
        Some(designated) => iso(designated),
        None => words(trimmed),
    };
    let sum = sum.ok_or_else(|| {
        let message = format!("invalid input syntax for type interval: \"{text}\"");
        Error::new(ErrorKind::InvalidData, message).with_code("22007")
    })?;
    sum.interval().ok_or_else(|| {
        let message = format!("interval field value out of range: \"{text}\"");
        Error::new(ErrorKind::InvalidData, message).with_code("22015")
    })
}

impl Sum {
    /// Adds a number of units; what is behind the point goes to the smaller ones.
    fn add(&mut self, value: f64, unit: &str) -> Option<()> {
        let unit = unit.to_ascii_lowercase();
        match unit.as_str() {
            "us" | "usec" | "usecs" | "microsecond" | "microseconds" | "microsecon" => {
                self.micros += value;
            }
            "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" | "millisecon" => {
                self.micros += value * 1e3;
            }
            "s" | "sec" | "secs" | "second" | "seconds" => self.micros += value * SECOND,
            "m" | "min" | "mins" | "minute" | "minutes" => self.micros += value * 60.0 * SECOND,
            "h" | "hr" | "hrs" | "hour" | "hours" => self.micros += value * 3_600.0 * SECOND,
            "d" | "day" | "days" => self.add_days(value),
            "w" | "week" | "weeks" => self.add_days(value * 7.0),
            "mon" | "mons" | "month" | "months" => {
                self.months += value.trunc();
                self.add_days(value.fract() * 30.0);
            }
            "y" | "yr" | "yrs" | "year" | "years" => self.months += (value * 12.0).round(),
            "dec" | "decs" | "decade" | "decades" => self.months += (value * 120.0).round(),
            "c" | "cent" | "century" | "centuries" => self.months += (value * 1_200.0).round(),
            "mil" | "mils" | "millennium" | "millennia" => {
                self.months += (value * 12_000.0).round();
            }
            _ => return None,
        }
        Some(())
    }

    fn add_days(&mut self, days: f64) {
        // Sums of parts of months are not exact.
        let days = (days * 1e9).round() / 1e9;
        self.days += days.trunc();
        self.micros += days.fract() * DAY;
    }

    fn interval(&self) -> Option<IntervalMonthDayNano> {
        let whole = |value: f64| (value.abs() <= f64::from(i32::MAX)).then_some(value as i32);
        let nanos = (self.micros.abs() < 9.2e15).then(|| self.micros.round() as i64 * 1_000)?;
        Some(IntervalMonthDayNano::new(whole(self.months)?, whole(self.days)?, nanos))
    }
}

/// Reads numbers with units, times and years with months.
fn words(text: &str) -> Option<Sum> {
    let mut sum = Sum::default();
    let text = text.strip_prefix('@').unwrap_or(text);
    let lower = trim_blanks(text).to_ascii_lowercase();
    let (text, is_ago) = match lower.strip_suffix("ago") {
        Some(rest) => (rest.trim_end_matches(is_blank), true),
        None => (lower.as_str(), false),
    };
    let mut tokens = text.split(is_blank).filter(|token| !token.is_empty()).peekable();
    tokens.peek()?;
    while let Some(token) = tokens.next() {
        if token.contains(':') {
            sum.micros += time(token)?;
            continue;
        }
        let end = token
            .char_indices()
            .find(|(at, one)| {
                !one.is_ascii_digit() && *one != '.' && !(*at == 0 && matches!(one, '-' | '+'))
            })
            .map_or(token.len(), |(at, _)| at);
        let (number, unit) = token.split_at(end);
        if let Some(months) = unit.strip_prefix('-') {
            let (years, months): (i32, i32) = (number.parse().ok()?, months.parse().ok()?);
            let sign = if number.starts_with('-') { -1.0 } else { 1.0 };
            sum.months += f64::from(years) * 12.0 + sign * f64::from(months);
            continue;
        }
        let value: f64 = number.parse().ok()?;
        match unit {
            "" => match tokens.peek() {
                // Days before a time need no unit, and seconds at the end.
                Some(next) if next.contains(':') => sum.add(value, "day")?,
                Some(_) => sum.add(value, tokens.next()?)?,
                None => sum.add(value, "second")?,
            },
            unit => sum.add(value, unit)?,
        }
    }
    if is_ago {
        sum = Sum { months: -sum.months, days: -sum.days, micros: -sum.micros };
    }
    Some(sum)
}

/// Reads `[-]h:mm[:ss[.fraction]]` in microseconds.
fn time(text: &str) -> Option<f64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = digits.split(':');
    let hours: u32 = parts.next()?.parse().ok()?;
    let minutes: u32 = parts.next()?.parse().ok()?;
    let seconds: f64 = parts.next().map_or(Some(0.0), |part| part.parse().ok())?;
    let is_valid = minutes < 60 && (0.0..=60.0).contains(&seconds) && parts.next().is_none();
    let whole = f64::from(hours) * 3_600.0 + f64::from(minutes) * 60.0 + seconds;
    is_valid.then_some(sign * whole * SECOND)
}

/// Reads what is behind the `P` of ISO 8601's form.
fn iso(text: &str) -> Option<Sum> {
    let mut sum = Sum::default();
    let (mut rest, mut is_time) = (text, false);
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix(['T', 't']) {
            (rest, is_time) = (behind, true);
            continue;
        }
        let end = rest.find(|one: char| one.is_ascii_alphabetic())?;
        let value: f64 = rest[..end].parse().ok()?;
        let unit = match (rest.as_bytes()[end].to_ascii_uppercase(), is_time) {
            (b'Y', false) => "year",
            (b'M', false) => "month",
            (b'W', false) => "week",
            (b'D', false) => "day",
            (b'H', true) => "hour",
            (b'M', true) => "minute",
            (b'S', true) => "second",
            _ => return None,
        };
        sum.add(value, unit)?;
        rest = &rest[end + 1..];
    }
    (!text.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_mean_the_same() {
        let year = IntervalMonthDayNano::new(14, 3, 14_706_700_000_000);
        for text in [
            "1 year 2 months 3 days 04:05:06.7",
            "1y 2mon 3d 4h 5m 6.7s",
            "1-2 3 04:05:06.7",
            "P1Y2M3DT4H5M6.7S",
            "-1 years -2 mons -3 days -04:05:06.7 ago",
        ] {
            assert_eq!(parse_interval(text).unwrap(), year, "{text}");
        }
    }

    #[test]
    fn parts_of_units_become_smaller_ones() {
        let parsed = |text| parse_interval(text).unwrap();
        assert_eq!(parsed("1.5 hours"), IntervalMonthDayNano::new(0, 0, 5_400_000_000_000));
        assert_eq!(parsed("1.5 months"), IntervalMonthDayNano::new(1, 15, 0));
        assert_eq!(parsed("1.5 days"), IntervalMonthDayNano::new(0, 1, 43_200_000_000_000));
        assert_eq!(parsed("10"), IntervalMonthDayNano::new(0, 0, 10_000_000_000));
        for text in ["one day", "99999999999 hours", "2147483647-1", "9e15 us"] {
            assert!(parse_interval(text).is_err(), "{text}");
        }
        assert!(parse_interval("").is_err());
    }
}
