//! The digits of numbers that `to_char` writes.

use nacre_types::ValueError;

/// Digits that are sure to be those of a `real` and of a `double precision`.
pub(super) const REAL_DIGITS: usize = 6;
pub(super) const DOUBLE_DIGITS: usize = 15;

/// A number as PostgreSQL writes it with so many digits behind the point.
pub(super) trait NumberDigits: Sized {
    /// Returns how many digits behind the point are shown of those that are wanted.
    fn digits_behind(&self, wanted: usize) -> usize;

    /// Returns sign and digits, `-12.50`, rounded.
    fn fixed(&self, behind: usize) -> String;

    /// Returns `1.50e+10`; for what has no digits as many signs as a pattern has places.
    fn scientific(&self, before: usize, behind: usize) -> String;

    /// Returns the number times a power of ten.
    fn multiplied(&self, power: usize) -> Self;

    /// Returns the digits of the whole number that Roman numerals show.
    ///
    /// # Errors
    /// 22003 for what is none of 32 bits.
    fn whole(&self) -> Result<String, ValueError>;
}

/// An exact number: `value` times ten to the power of minus `scale`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DecimalDigits {
    pub(super) value: i128,
    pub(super) scale: usize,
}

/// A float of which so many digits are shown at most.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FloatDigits {
    pub(super) value: f64,
    pub(super) digits_max: usize,
}

impl DecimalDigits {
    /// Returns the digits without sign, at least one more than the scale.
    fn text(&self) -> String {
        let digits = self.value.unsigned_abs().to_string();
        format!("{digits:0>0$}", self.scale + 1)
    }
}

impl NumberDigits for DecimalDigits {
    fn digits_behind(&self, wanted: usize) -> usize {
        wanted
    }

    fn fixed(&self, behind: usize) -> String {
        let text = self.text();
        let (whole, fraction) = text.split_at(text.len() - self.scale);
        let mut all: Vec<u8> = format!("{whole}{fraction:0<behind$}").into_bytes();
        let kept = whole.len() + behind;
        // Half away from zero.
        let rounds_up = all.get(kept).is_some_and(|next| *next >= b'5');
        all.truncate(kept);
        if rounds_up {
            increment(&mut all);
        }
        let is_zero = all.iter().all(|digit| *digit == b'0');
        let mut out = String::from_utf8_lossy(&all).into_owned();
        if behind > 0 {
            out.insert(out.len() - behind, '.');
        }
        if self.value < 0 && !is_zero { format!("-{out}") } else { out }
    }

    fn scientific(&self, _before: usize, behind: usize) -> String {
        let text = self.text();
        let digits = text.trim_start_matches('0');
        let sign = if self.value < 0 { "-" } else { "" };
        let (mut all, exponent) = match digits.len().checked_sub(1) {
            None => (vec![b'0'; behind + 1], 0),
            Some(power) => {
                let all = format!("{digits:0<0$}", behind + 1).into_bytes();
                (all, power as i64 - self.scale as i64)
            }
        };
        let rounds_up = all.get(behind + 1).is_some_and(|next| *next >= b'5');
        all.truncate(behind + 1);
        if rounds_up {
            // The exponent stays: 9.996 is 10.00e+00 in PostgreSQL.
            increment(&mut all);
        }
        let mut out = String::from_utf8_lossy(&all).into_owned();
        if behind > 0 {
            out.insert(out.len() - behind, '.');
        }
        format!("{sign}{out}e{exponent:+03}")
    }

    fn multiplied(&self, power: usize) -> Self {
        match power.checked_sub(self.scale) {
            None => Self { value: self.value, scale: self.scale - power },
            Some(zeros) => {
                let factor = u32::try_from(zeros).ok().and_then(|zeros| 10_i128.checked_pow(zeros));
                let value = factor.and_then(|factor| self.value.checked_mul(factor));
                // More digits than any pattern has places for.
                Self { value: value.unwrap_or(i128::MAX), scale: 0 }
            }
        }
    }

    fn whole(&self) -> Result<String, ValueError> {
        let whole = self.fixed(0);
        match whole.parse::<i32>() {
            Ok(_) => Ok(whole),
            Err(_) => Err(ValueError::range_of("integer")),
        }
    }
}

impl NumberDigits for FloatDigits {
    fn digits_behind(&self, wanted: usize) -> usize {
        // Infinities and NaN count by their letters.
        let before = written(self.value.abs(), 0).len();
        wanted.min(self.digits_max.saturating_sub(before))
    }

    fn fixed(&self, behind: usize) -> String {
        written(self.value, behind)
    }

    fn scientific(&self, before: usize, behind: usize) -> String {
        if !self.value.is_finite() {
            let (whole, rest) = ("#".repeat(before), "#".repeat(behind + 4));
            return format!(" {whole}.{rest}");
        }
        let text = format!("{:.behind$e}", self.value);
        match text.split_once('e') {
            Some((digits, exponent)) => match exponent.strip_prefix('-') {
                Some(exponent) => format!("{digits}e-{exponent:0>2}"),
                None => format!("{digits}e+{exponent:0>2}"),
            },
            None => text,
        }
    }

    fn multiplied(&self, power: usize) -> Self {
        let factor = 10_f64.powi(i32::try_from(power).unwrap_or(i32::MAX));
        Self { value: self.value * factor, digits_max: self.digits_max }
    }

    fn whole(&self) -> Result<String, ValueError> {
        Ok(written(self.value.round_ties_even(), 0))
    }
}

/// Writes a float as C does.
fn written(value: f64, behind: usize) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    format!("{value:.behind$}")
}

/// Adds one to the last digit.
fn increment(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit == b'9' {
            *digit = b'0';
        } else {
            *digit += 1;
            return;
        }
    }
    digits.insert(0, b'1');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(value: i128, scale: usize) -> DecimalDigits {
        DecimalDigits { value, scale }
    }

    #[test]
    fn decimals_round_half_away_from_zero() {
        assert_eq!(decimal(125, 2).fixed(1), "1.3");
        assert_eq!(decimal(-125, 2).fixed(1), "-1.3");
        assert_eq!(decimal(995, 2).fixed(1), "10.0");
        assert_eq!(decimal(5, 2).fixed(0), "0");
        assert_eq!(decimal(-4, 1).fixed(0), "0");
        assert_eq!(decimal(12, 0).fixed(3), "12.000");
    }

    #[test]
    fn exponents_have_two_digits_and_a_sign() {
        assert_eq!(decimal(-123_456, 3).scientific(1, 2), "-1.23e+02");
        assert_eq!(decimal(9_996, 4).scientific(1, 2), "10.00e-01");
        assert_eq!(decimal(0, 2).scientific(1, 1), "0.0e+00");
        let float = |value| FloatDigits { value, digits_max: DOUBLE_DIGITS };
        assert_eq!(float(1.5e-7).scientific(1, 3), "1.500e-07");
        assert_eq!(float(1e100).scientific(1, 0), "1e+100");
    }

    #[test]
    fn floats_show_no_more_digits_than_are_sure() {
        let float = FloatDigits { value: 123_456.789, digits_max: REAL_DIGITS };
        assert_eq!(float.digits_behind(2), 0);
        let float = FloatDigits { value: 1.5, digits_max: REAL_DIGITS };
        assert_eq!((float.digits_behind(9), float.fixed(2).as_str()), (5, "1.50"));
    }
}
