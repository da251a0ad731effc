//! Exact numbers whose digits `to_char` writes.

/// An exact number: `value` times ten to the power of minus `scale`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DecimalDigits {
    pub(super) value: i128,
    pub(super) scale: usize,
}

impl DecimalDigits {
    /// Returns the digits without sign, at least one more than the scale.
    fn text(&self) -> String {
        let digits = self.value.unsigned_abs().to_string();
        format!("{digits:0>0$}", self.scale + 1)
    }

    /// Returns sign and digits, `-12.50`, rounded.
    pub(super) fn fixed(&self, digits: usize) -> String {
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

    /// Returns the number times a power of ten.
    pub(super) fn multiplied(&self, power: usize) -> Self {
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
}
