//! Booleans, whole numbers, decimals and floats.
//!
//! # Source
//! [Muehlbauer16 section 3.3.4] deserialisation without a branch per character. Differs: the digits
//! of a field are validated and summed eight at a time in ordinary registers (a right-aligned load,
//! so that the length is a shift and not a loop), which needs no instruction set and no unsafe
//! code.

use super::{ValueResult, invalid_syntax, is_space, trimmed};
use crate::error::{ErrorKind, ValueError, shown};
use nacre_column::ColumnType;

/// Eight times the character '0'.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Most digits that [`digits_fast`] and [`decimal_fast`] take.
const FAST_CHARS_MAX: usize = 16;

/// Largest decimal exponent looked at: beyond it every value is 0 or overflows 38 digits.
const EXPONENT_MAX: i64 = 1 << 30;

/// Parses `t`, `true`, `yes`, `on`, `1` and their opposites, any case, any unique prefix.
///
/// # Errors
/// `InvalidText`.
pub fn parse_boolean(text: &[u8]) -> ValueResult<bool> {
    let word = trimmed(text).to_ascii_lowercase();
    let is_prefix_of =
        |whole: &[u8], bytes_min: usize| word.len() >= bytes_min && whole.starts_with(&word);
    match &word[..] {
        b"1" => Ok(true),
        b"0" => Ok(false),
        _ if is_prefix_of(b"true", 1) || is_prefix_of(b"yes", 1) || is_prefix_of(b"on", 2) => {
            Ok(true)
        }
        _ if is_prefix_of(b"false", 1) || is_prefix_of(b"no", 1) || is_prefix_of(b"off", 2) => {
            Ok(false)
        }
        _ => Err(invalid_syntax("boolean", text)),
    }
}

/// Parses a `smallint`, `integer` or `bigint`: decimal, `0x`, `0o`, `0b`, underscores between
/// digits.
///
/// # Errors
/// `InvalidText`, `NumberOutOfRange`.
///
/// # Panics
/// If `column_type` is none of the three.
pub fn parse_integer(text: &[u8], column_type: ColumnType) -> ValueResult<i64> {
    let (min, max) = match column_type {
        ColumnType::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        ColumnType::Integer => (i64::from(i32::MIN), i64::from(i32::MAX)),
        ColumnType::BigInt => (i64::MIN, i64::MAX),
        other => panic!("parse_integer asked for a {other}"),
    };
    let (is_negative, digits) = split_sign(trimmed(text));
    let Some(magnitude) = whole_magnitude(digits) else {
        return Err(invalid_syntax(&column_type.to_string(), text));
    };
    let value = if is_negative { -magnitude } else { magnitude };
    match i64::try_from(value) {
        Ok(value) if (min..=max).contains(&value) => Ok(value),
        _ => Err(ValueError::new(
            ErrorKind::NumberOutOfRange,
            format!("value \"{}\" is out of range for type {column_type}", shown(text)),
        )),
    }
}

/// Sums digits of any base; saturates far above 64 bits. `None` if it is no number.
fn whole_magnitude(digits: &[u8]) -> Option<i128> {
    let (base, digits) = match digits {
        [b'0', b'x' | b'X', rest @ ..] => (16, rest),
        [b'0', b'o' | b'O', rest @ ..] => (8, rest),
        [b'0', b'b' | b'B', rest @ ..] => (2, rest),
        _ => (10, digits),
    };
    let mut value = 0i128;
    // After a base prefix PostgreSQL lets an underscore come first.
    let mut may_underscore = base != 10;
    let mut is_digit_last = false;
    for &byte in digits {
        if byte == b'_' && may_underscore {
            (may_underscore, is_digit_last) = (false, false);
            continue;
        }
        let digit = char::from(byte).to_digit(base)?;
        value = (value * i128::from(base) + i128::from(digit)).min(i128::from(u64::MAX));
        (may_underscore, is_digit_last) = (true, true);
    }
    is_digit_last.then_some(value)
}

fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

/// Parses a `numeric(precision, scale)` into its unscaled value; rounds half away from zero.
///
/// ```
/// use nacre_ingest::parse::parse_decimal;
/// assert_eq!(parse_decimal(b" 1.005 ", 5, 2), Ok(101));
/// assert_eq!(parse_decimal(b"-2.5e1", 5, 2), Ok(-2500));
/// assert!(parse_decimal(b"1000", 5, 2).is_err());
/// ```
///
/// # Errors
/// `InvalidText`, `NumberOutOfRange`, `NotSupported` for `NaN`.
pub fn parse_decimal(text: &[u8], precision: u8, scale: u8) -> ValueResult<i128> {
    let body = trimmed(text);
    let (is_negative, number) = split_sign(body);
    if body.eq_ignore_ascii_case(b"nan") {
        return Err(ValueError::new(
            ErrorKind::NotSupported,
            "not supported: numeric value NaN".to_owned(),
        ));
    }
    if number.eq_ignore_ascii_case(b"inf") || number.eq_ignore_ascii_case(b"infinity") {
        let detail = format!(
            "A field with precision {precision}, scale {scale} cannot hold an infinite value."
        );
        return Err(numeric_overflow(detail));
    }
    let parts = decimal_parts(number).ok_or_else(|| invalid_syntax("numeric", text))?;
    let overflow = || {
        numeric_overflow(format!(
            "A field with precision {precision}, scale {scale} must round to an absolute value \
             less than {}{}.",
            if precision == scale { "" } else { "10^" },
            if precision == scale { 1 } else { precision - scale },
        ))
    };
    let magnitude = scaled(&parts, scale).ok_or_else(overflow)?;
    if magnitude >= 10i128.pow(u32::from(precision)) {
        return Err(overflow());
    }
    Ok(if is_negative { -magnitude } else { magnitude })
}

#[cold]
fn numeric_overflow(detail: String) -> Box<ValueError> {
    let mut error =
        ValueError::new(ErrorKind::NumberOutOfRange, "numeric field overflow".to_owned());
    error.detail = Some(detail);
    error
}

/// The pieces of an unsigned decimal literal: `whole . fraction e exponent`.
struct DecimalParts<'a> {
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i64,
}

fn decimal_parts(number: &[u8]) -> Option<DecimalParts<'_>> {
    let digits_end = |bytes: &[u8]| bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    let (whole, rest) = number.split_at(digits_end(number));
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => rest.split_at(digits_end(rest)),
        _ => rest.split_at(0),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let exponent = match rest {
        [] => 0,
        [b'e' | b'E', rest @ ..] => {
            let (is_negative, digits) = split_sign(rest);
            if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
                return None;
            }
            let magnitude = digits
                .iter()
                .fold(0, |sum: i64, digit| (sum * 10 + i64::from(digit - b'0')).min(EXPONENT_MAX));
            if is_negative { -magnitude } else { magnitude }
        }
        _ => return None,
    };
    Some(DecimalParts { whole, fraction, exponent })
}

/// Returns the value times ten to `scale`, rounded half away from zero; `None` past 38 digits.
fn scaled(parts: &DecimalParts<'_>, scale: u8) -> Option<i128> {
    const LIMIT: i128 = 10i128.pow(38);
    // Digits with index below `kept` are left of the rounding point.
    let kept = parts.whole.len() as i64 + parts.exponent + i64::from(scale);
    let mut value = 0i128;
    let mut index = 0i64;
    for digit in parts.whole.iter().chain(parts.fraction) {
        let digit = i128::from(digit - b'0');
        if index >= kept {
            let rounds_up = index == kept && digit >= 5;
            return Some(value + i128::from(rounds_up)).filter(|value| *value < LIMIT);
        }
        if value >= LIMIT / 10 {
            return None;
        }
        value = value * 10 + digit;
        index += 1;
    }
    while index < kept && value != 0 {
        if value >= LIMIT / 10 {
            return None;
        }
        value *= 10;
        index += 1;
    }
    Some(value)
}

/// Parses a `real`.
///
/// # Errors
/// `InvalidText`, `NumberOutOfRange`.
pub fn parse_real(text: &[u8]) -> ValueResult<f32> {
    let body = float_body(text).ok_or_else(|| invalid_syntax("real", text))?;
    let value: f32 = fast_float2::parse(body).map_err(|_| invalid_syntax("real", text))?;
    check_float(text, body, value.is_infinite(), value == 0.0, "real")?;
    Ok(value)
}

/// Parses a `double precision`.
///
/// # Errors
/// `InvalidText`, `NumberOutOfRange`.
pub fn parse_double(text: &[u8]) -> ValueResult<f64> {
    let name = "double precision";
    let body = float_body(text).ok_or_else(|| invalid_syntax(name, text))?;
    let value: f64 = fast_float2::parse(body).map_err(|_| invalid_syntax(name, text))?;
    check_float(text, body, value.is_infinite(), value == 0.0, name)?;
    Ok(value)
}

/// Cuts blanks and a leading plus sign.
fn float_body(text: &[u8]) -> Option<&[u8]> {
    match trimmed(text) {
        [b'+', b'+' | b'-', ..] => None,
        [b'+', rest @ ..] => Some(rest),
        body => Some(body),
    }
}

/// Refuses digits that became infinity and digits other than zero that became zero.
fn check_float(
    text: &[u8],
    body: &[u8],
    is_infinite: bool,
    is_zero: bool,
    name: &str,
) -> ValueResult<()> {
    let has_digit = || body.iter().any(u8::is_ascii_digit);
    let mantissa = || body.iter().take_while(|byte| !matches!(byte, b'e' | b'E'));
    let is_nonzero = || mantissa().any(|byte| matches!(byte, b'1'..=b'9'));
    if (is_infinite && has_digit()) || (is_zero && is_nonzero()) {
        return Err(ValueError::new(
            ErrorKind::NumberOutOfRange,
            format!("\"{}\" is out of range for type {name}", shown(trim_start(text))),
        ));
    }
    Ok(())
}

fn trim_start(text: &[u8]) -> &[u8] {
    let blanks = text.iter().take_while(|byte| is_space(**byte)).count();
    &text[blanks..]
}

/// Returns the 16 bytes that end before `end`, as two little-endian words.
#[inline(always)]
fn words_before(text: &[u8], end: usize) -> Option<(u64, u64)> {
    let bytes: &[u8; FAST_CHARS_MAX] = text.get(end.wrapping_sub(16)..end)?.try_into().ok()?;
    let both = u128::from_le_bytes(*bytes);
    Some((both as u64, (both >> 64) as u64))
}

#[inline(always)]
fn are_digits(word: u64) -> bool {
    (word.wrapping_add(0x4646_4646_4646_4646) | word.wrapping_sub(ZEROS)) & 0x8080_8080_8080_8080
        == 0
}

/// Sums eight digit characters, the first in the lowest byte.
#[inline(always)]
pub(super) fn sum_digits(word: u64) -> u64 {
    const MASK: u64 = 0x0000_00ff_0000_00ff;
    let word = word.wrapping_sub(ZEROS);
    let pairs = word.wrapping_mul(10).wrapping_add(word >> 8);
    let high = (pairs & MASK).wrapping_mul(0x000f_4240_0000_0064);
    let low = ((pairs >> 16) & MASK).wrapping_mul(0x0000_2710_0000_0001);
    (high.wrapping_add(low) >> 32) & 0xffff_ffff
}

/// Sums eight digits if all are digits.
#[inline(always)]
pub(super) fn checked_digits(word: u64) -> Option<u64> {
    are_digits(word).then(|| sum_digits(word))
}

/// Sums the unsigned digits `text[start..end]`; `None` if there are none, more than 16, another
/// character among them, or fewer than 16 bytes before `end`.
#[inline(always)]
pub(crate) fn digits_fast(text: &[u8], start: usize, end: usize) -> Option<u64> {
    let chars = end.wrapping_sub(start);
    let (low, high) = words_before(text, end)?;
    if chars.wrapping_sub(1) < 8 {
        let keep = u64::MAX << ((8 - chars) * 8);
        return checked_digits((high & keep) | (ZEROS & !keep));
    }
    if chars.wrapping_sub(9) < 8 {
        let keep = u64::MAX << ((16 - chars) * 8);
        let low = (low & keep) | (ZEROS & !keep);
        let are_all_digits = are_digits(low) & are_digits(high);
        return are_all_digits.then(|| sum_digits(low) * 100_000_000 + sum_digits(high));
    }
    None
}

/// Sums an unsigned decimal with exactly `scale` digits after its point, at most 16 characters;
/// `None` for any other form. `1 <= scale <= 8`.
#[inline(always)]
pub(crate) fn decimal_fast(text: &[u8], start: usize, end: usize, scale: usize) -> Option<u64> {
    let chars = end.wrapping_sub(start);
    // At least one digit before the point; `chars - scale - 2` wraps when there is none.
    if chars.wrapping_sub(scale + 2) > FAST_CHARS_MAX - (scale + 2) {
        return None;
    }
    if text.get(end - scale - 1) != Some(&b'.') {
        return None;
    }
    let (low, high) = words_before(text, end)?;
    // Moves everything left of the point one byte to the right, over the point.
    let fraction = u64::MAX << ((8 - scale) * 8);
    let high = (high & fraction) | (((high << 8) | (low >> 56)) & !fraction);
    let low = low << 8;
    let digits = chars - 1;
    if digits <= 8 {
        let keep = u64::MAX << ((8 - digits) * 8);
        return checked_digits((high & keep) | (ZEROS & !keep));
    }
    let keep = u64::MAX << ((16 - digits) * 8);
    let low = (low & keep) | (ZEROS & !keep);
    let are_all_digits = are_digits(low) & are_digits(high);
    are_all_digits.then(|| sum_digits(low) * 100_000_000 + sum_digits(high))
}
