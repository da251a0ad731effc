//! PostgreSQL's binary forms of values.
//!
//! Dates and timestamps count from 2000-01-01, numbers have their most significant byte first, and
//! a numeric has digits to the base of 10,000.

use std::fmt;

/// Days from 1970-01-01 to 2000-01-01.
pub(crate) const EPOCH_DAYS: i32 = 10_957;
/// Microseconds from 1970-01-01 to 2000-01-01.
pub(crate) const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

const BASE: u128 = 10_000;
const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
/// Most digits that a parameter may have; no column has more than 38.
const DIGITS_MAX: usize = 1_000;

/// Bytes that are no value of their type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoValue;

impl fmt::Display for NoValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("incorrect binary data format")
    }
}

/// Appends a decimal: its digits to the base of 10,000, aligned to the point.
pub(crate) fn put_numeric(unscaled: i128, scale: u8, out: &mut Vec<u8>) {
    let sign = if unscaled < 0 { NEGATIVE } else { 0 };
    let magnitude = unscaled.unsigned_abs();
    let unit = 10_u128.pow(u32::from(scale).min(38));
    let (mut whole, fraction) = (magnitude / unit, magnitude % unit);
    let mut digits: Vec<u16> = Vec::with_capacity(12);
    while whole > 0 {
        digits.push((whole % BASE) as u16);
        whole /= BASE;
    }
    digits.reverse();
    let mut weight = digits.len() as i16 - 1;
    let mut rest = format!("{fraction:0>width$}", width = usize::from(scale));
    while rest.len() % 4 != 0 {
        rest.push('0');
    }
    if scale > 0 {
        digits.extend(
            rest.as_bytes()
                .chunks(4)
                .map(|four| four.iter().fold(0, |digit, byte| digit * 10 + u16::from(byte - b'0'))),
        );
    }
    while digits.last() == Some(&0) {
        digits.pop();
    }
    let leading = digits.iter().take_while(|digit| **digit == 0).count();
    digits.drain(..leading);
    weight -= leading as i16;
    if digits.is_empty() {
        weight = 0;
    }
    for number in [digits.len() as u16, weight as u16, sign, u16::from(scale)] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    digits.iter().for_each(|digit| out.extend_from_slice(&digit.to_be_bytes()));
}

/// Returns the text of a numeric.
///
/// # Errors
/// Bytes that are none.
pub(crate) fn numeric_text(bytes: &[u8]) -> Result<String, NoValue> {
    let mut numbers = bytes.chunks(2).map(|two| match two {
        [high, low] => Ok(u16::from_be_bytes([*high, *low])),
        _ => Err(NoValue),
    });
    let mut next = || numbers.next().unwrap_or(Err(NoValue));
    let (count, weight, sign, scale) = (next()?, next()? as i16, next()?, next()?);
    if sign == NAN {
        return Ok("NaN".into());
    }
    let is_sane = (sign == 0 || sign == NEGATIVE)
        && usize::from(count) <= DIGITS_MAX
        && usize::from(scale) <= DIGITS_MAX
        && i32::from(weight).unsigned_abs() as usize <= DIGITS_MAX;
    if !is_sane || bytes.len() != 8 + 2 * usize::from(count) {
        return Err(NoValue);
    }
    let digits: Vec<u16> = (0..count).map(|_| next()).collect::<Result<_, _>>()?;
    if digits.iter().any(|digit| u128::from(*digit) >= BASE) {
        return Err(NoValue);
    }
    let digit = |place: i32| {
        let index = usize::try_from(i32::from(weight) - place).ok();
        index.and_then(|index| digits.get(index)).copied().unwrap_or(0)
    };
    let mut text = String::new();
    if sign == NEGATIVE {
        text.push('-');
    }
    let whole: String =
        (0..=i32::from(weight).max(0)).rev().map(|place| format!("{:04}", digit(place))).collect();
    let whole = whole.trim_start_matches('0');
    text.push_str(if whole.is_empty() { "0" } else { whole });
    if scale > 0 {
        let places = i32::from(scale).div_euclid(4) + 1;
        let fraction: String = (1..=places).map(|place| format!("{:04}", digit(-place))).collect();
        text.push('.');
        text.push_str(&fraction[..usize::from(scale)]);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numeric(unscaled: i128, scale: u8) -> Vec<u8> {
        let mut out = Vec::new();
        put_numeric(unscaled, scale, &mut out);
        out
    }

    #[test]
    fn numeric_has_the_digits_that_postgresql_sends() {
        // 12345.678 is 1, 2345, 6780 with weight 1 and three decimals.
        let expected = [0, 3, 0, 1, 0, 0, 0, 3, 0, 1, 0x09, 0x29, 0x1a, 0x7c];
        assert_eq!(numeric(12_345_678, 3), expected);
        assert_eq!(numeric(0, 2), [0, 0, 0, 0, 0, 0, 0, 2]);
        // -0.0001 is the digit 1 of weight -1.
        assert_eq!(numeric(-1, 4), [0, 1, 0xff, 0xff, 0x40, 0, 0, 4, 0, 1]);
        // 10000 has the digit 1 of weight 1.
        assert_eq!(numeric(10_000, 0), [0, 1, 0, 1, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn numeric_is_read_as_it_was_written() {
        for (unscaled, scale, text) in [
            (0, 0, "0"),
            (12_345_678, 3, "12345.678"),
            (-1, 4, "-0.0001"),
            (-5, 2, "-0.05"),
            (10_000, 0, "10000"),
            (99_990_000, 5, "999.90000"),
            (i128::from(i64::MAX) * 1_000, 10, "922337203685.4775807000"),
            (10_i128.pow(38) - 1, 38, "0.99999999999999999999999999999999999999"),
        ] {
            assert_eq!(numeric_text(&numeric(unscaled, scale)).as_deref(), Ok(text));
        }
    }

    #[test]
    fn bytes_that_are_no_numeric_are_refused() {
        let whole = numeric(12_345_678, 3);
        for end in 0..whole.len() {
            assert_eq!(numeric_text(&whole[..end]), Err(NoValue), "{end}");
        }
        assert_eq!(numeric_text(&[0, 1, 0x7f, 0xff, 0, 0, 0, 0, 0, 1]), Err(NoValue));
        assert_eq!(numeric_text(&[0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x10]), Err(NoValue));
        assert_eq!(numeric_text(&[0, 0, 0, 0, 0xc0, 0, 0, 0]).as_deref(), Ok("NaN"));
    }
}
