//! Numbers whose digits `to_char` writes.

use super::number_out::Digits;

/// An exact number: `value` times ten to the power of minus `scale`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) value: i128,
    pub(super) scale: usize,
}

impl Decimal {
    /// Returns the digits without sign, at least one more than the scale.
    fn text(&self) -> String {
        let digits = self.value.unsigned_abs().to_string();
        format!("{digits:0>0$}", self.scale + 1)
    }
}

impl Digits for Decimal {
    fn fixed(&self, digits: usize) -> String {
        let text = self.text();
        let (before, behind) = text.split_at(text.len() - self.scale);
        let mut all: Vec<u8> = format!("{before}{behind:0<digits$}").into_bytes();
        let kept = before.len() + digits;
        // Half away from zero.
        let rounds_up = all.get(kept).is_some_and(|next| *next >= b'5');
        all.truncate(kept);
        if rounds_up {
            increment(&mut all);
        }
        let is_zero = all.iter().all(|digit| *digit == b'0');
        let mut out = String::from_utf8_lossy(&all).into_owned();
        if digits > 0 {
            out.insert(out.len() - digits, '.');
        }
        if self.value < 0 && !is_zero { format!("-{out}") } else { out }
    }

    fn scientific(&self, digits: usize) -> String {
        let text = self.text();
        let text = text.trim_start_matches('0');
        if text.is_empty() {
            let zero = Self { value: 0, scale: 0 };
            return format!("{}e+00", zero.fixed(digits));
        }
        let mut all = format!("{text:0<0$}", digits + 1).into_bytes();
        let mut exponent = text.len() as i64 - 1 - self.scale as i64;
        let rounds_up = all.get(digits + 1).is_some_and(|next| *next >= b'5');
        all.truncate(digits + 1);
        if rounds_up {
            increment(&mut all);
            if all.len() > digits + 1 {
                all.truncate(digits + 1);
                exponent += 1;
            }
        }
        let mut out = String::from_utf8_lossy(&all).into_owned();
        if digits > 0 {
            out.insert(1, '.');
        }
        let sign = if self.value < 0 { "-" } else { "" };
        let direction = if exponent < 0 { '-' } else { '+' };
        format!("{sign}{out}e{direction}{:02}", exponent.abs())
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

impl Digits for f64 {
    fn fixed(&self, digits: usize) -> String {
        let text = format!("{self:.digits$}");
        let is_zero = text.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'));
        match text.strip_prefix('-') {
            Some(positive) if is_zero => positive.to_owned(),
            _ => text,
        }
    }

    fn scientific(&self, digits: usize) -> String {
        let text = format!("{self:.digits$e}");
        match text.split_once('e') {
            Some((mantissa, exponent)) => match exponent.strip_prefix('-') {
                Some(exponent) => format!("{mantissa}e-{exponent:0>2}"),
                None => format!("{mantissa}e+{exponent:0>2}"),
            },
            None => text,
        }
    }

    fn multiplied(&self, power: usize) -> Self {
        self * 10_f64.powi(i32::try_from(power).unwrap_or(i32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(value: i128, scale: usize) -> Decimal {
        Decimal { value, scale }
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
    fn scientific_forms_have_two_digits_of_exponent() {
        assert_eq!(decimal(12345, 2).scientific(2), "1.23e+02");
        assert_eq!(decimal(9995, 4).scientific(2), "1.00e+00");
        assert_eq!(decimal(12, 3).scientific(1), "1.2e-02");
        assert_eq!(1e10_f64.scientific(2), "1.00e+10");
    }
}
