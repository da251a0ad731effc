//! Text of numerics.

use std::fmt;
use std::str::FromStr;

use num_bigint::BigInt;

use super::digits::power_big;
use super::rounding::field_overflow;
use super::{
    ExactNumeric, FiniteParts, NUMERIC_SCALE_MAX, NUMERIC_WHOLE_DIGITS_MAX, NumericClass, overflow,
};
use crate::error::ValueError;
use crate::input_text::{is_space, trim_spaces};

/// From here on PostgreSQL refuses an exponent before it looks at the digits.
const EXPONENT_LIMIT: i64 = 1_073_741_823;

/// The parts of a number's text.
struct NumberParts {
    is_negative: bool,
    /// ASCII digits without the point.
    digits: Vec<u8>,
    /// How many of them are behind the point.
    decimals: usize,
    exponent: i64,
}

impl ExactNumeric {
    /// Reads a text, rounded to `numeric(precision, scale)` if given.
    ///
    /// # Errors
    /// 22P02 if the text is not a number, 22003 beyond the limits of the type.
    pub fn parse(text: &str, precision: Option<(i32, i32)>) -> Result<Self, ValueError> {
        let (value, is_cut) = read_value(text, precision)?;
        match precision {
            Some((precision, scale)) => value.with_precision(precision, scale),
            None if is_cut => Err(overflow()),
            None => Ok(value),
        }
    }

    /// Makes a value of decimal digits, `scale` of them behind the point.
    pub(super) fn from_digits(
        is_negative: bool,
        digits: &[u8],
        scale: u16,
    ) -> Result<Self, ValueError> {
        let start = digits.iter().position(|digit| *digit != b'0').unwrap_or(digits.len());
        let digits = &digits[start..];
        // 10^38 - 1 fits an i128.
        if digits.len() <= 38 {
            let fold = |value: i128, digit: &u8| value * 10 + i128::from(digit - b'0');
            let magnitude = digits.iter().fold(0, fold);
            let unscaled = if is_negative { -magnitude } else { magnitude };
            return Self::from_scaled(unscaled, scale);
        }
        let magnitude = BigInt::parse_bytes(digits, 10)
            .ok_or_else(|| ValueError::internal("digits that are not decimal"))?;
        Self::from_big(if is_negative { -magnitude } else { magnitude }, scale)
    }
}

/// Reads a value; digits beyond the largest scale are cut, which the flag tells.
fn read_value(
    text: &str,
    precision: Option<(i32, i32)>,
) -> Result<(ExactNumeric, bool), ValueError> {
    let invalid = || ValueError::syntax_of("numeric", text);
    let trimmed = trim_spaces(text);
    if let Some(special) = read_special(trimmed) {
        return Ok((special, false));
    }
    let parts = read_parts(trimmed).ok_or_else(invalid)?;
    if parts.exponent.abs() >= EXPONENT_LIMIT {
        return Err(overflow());
    }
    let NumberParts { is_negative, mut digits, decimals, exponent } = parts;
    let scale = decimals as i64 - exponent;
    let leading_zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    if leading_zeros == digits.len() {
        let shown = u16::try_from(scale.max(0)).ok().filter(|shown| *shown <= NUMERIC_SCALE_MAX);
        let zero = ExactNumeric::small(0, shown.unwrap_or(0));
        return Ok((zero, shown.is_none()));
    }
    let whole_digits = (digits.len() - leading_zeros) as i64 - scale;
    if whole_digits > NUMERIC_WHOLE_DIGITS_MAX as i64 {
        return Err(match precision {
            Some((precision, scale)) => field_overflow(precision, scale),
            None => overflow(),
        });
    }
    if scale > i64::from(NUMERIC_SCALE_MAX) {
        let cut = usize::try_from(scale - i64::from(NUMERIC_SCALE_MAX)).unwrap_or(usize::MAX);
        digits.truncate(digits.len().saturating_sub(cut));
        let value = ExactNumeric::from_digits(is_negative, &digits, NUMERIC_SCALE_MAX)?;
        return Ok((value, true));
    }
    if let Ok(shown) = u16::try_from(scale) {
        return Ok((ExactNumeric::from_digits(is_negative, &digits, shown)?, false));
    }
    let value = ExactNumeric::from_digits(is_negative, &digits, 0)?;
    let zeros = u32::try_from(-scale).map_err(|_| overflow())?;
    let factor = ExactNumeric::from_big(power_big(zeros), 0)?;
    Ok((value.multiply(&factor)?, false))
}

fn read_special(text: &str) -> Option<ExactNumeric> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("nan") {
        Some(ExactNumeric::NAN)
    } else if ["infinity", "+infinity", "inf", "+inf"].into_iter().any(is) {
        Some(ExactNumeric::INFINITY)
    } else if ["-infinity", "-inf"].into_iter().any(is) {
        Some(ExactNumeric::NEGATIVE_INFINITY)
    } else {
        None
    }
}

fn read_parts(text: &str) -> Option<NumberParts> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_negative = text.starts_with('-');
    let end = unsigned.find(|one: char| !one.is_ascii_digit() && one != '.');
    let (number, rest) = unsigned.split_at(end.unwrap_or(unsigned.len()));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || whole.len() + fraction.len() == 0 {
        return None;
    }
    let digits = [whole.as_bytes(), fraction.as_bytes()].concat();
    let exponent = match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => read_exponent(exponent)?,
        None if rest.is_empty() => 0,
        None => return None,
    };
    Some(NumberParts { is_negative, digits, decimals: fraction.len(), exponent })
}

/// Reads an exponent, before which PostgreSQL allows blanks; one beyond all limits is the limit.
fn read_exponent(text: &str) -> Option<i64> {
    let text = text.trim_start_matches(is_space);
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse::<i64>().unwrap_or(EXPONENT_LIMIT).min(EXPONENT_LIMIT);
    Some(if text.starts_with('-') { -magnitude } else { magnitude })
}

impl FromStr for ExactNumeric {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        Self::parse(text, None)
    }
}

impl fmt::Display for ExactNumeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class() {
            NumericClass::NotANumber => f.write_str("NaN"),
            NumericClass::Infinity(1) => f.write_str("Infinity"),
            NumericClass::Infinity(_) => f.write_str("-Infinity"),
            NumericClass::Finite(parts) => {
                let digits = match parts {
                    FiniteParts::Small(unscaled, _) => unscaled.unsigned_abs().to_string(),
                    FiniteParts::Big(unscaled, _) => unscaled.magnitude().to_string(),
                };
                let scale = usize::from(parts.scale());
                let sign = if parts.signum() < 0 { "-" } else { "" };
                let (whole, fraction) = digits.split_at(digits.len().saturating_sub(scale));
                let whole = if whole.is_empty() { "0" } else { whole };
                match scale {
                    0 => write!(f, "{sign}{whole}"),
                    _ => write!(f, "{sign}{whole}.{fraction:0>scale$}"),
                }
            }
        }
    }
}

impl fmt::Debug for ExactNumeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
