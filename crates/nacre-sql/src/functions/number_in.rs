//! `to_number`.

use crate::error::{Error, ErrorKind, Result};

/// Digits of the numbers that are read, and those behind the point if the pattern is not known
/// beforehand.
pub(super) const NUMBER_DIGITS: u8 = 38;
pub(super) const NUMBER_SCALE: i8 = 10;

/// Reads a number that a pattern describes: digits where the pattern has some, and what is
/// between them is left out. `None` for an empty pattern.
///
/// # Errors
/// 22P02 for a text without digits, 22003.
pub(super) fn to_number(text: &str, pattern: &str, scale: i8) -> Result<Option<i128>> {
    if pattern.is_empty() {
        return Ok(None);
    }
    let (places, behind) = places(pattern);
    let point = text.find('.').unwrap_or(text.len());
    let is_negative = text.contains('-') || (text.contains('<') && text.contains('>'));
    let digits_of = |part: &str, most: usize| -> String {
        part.chars().filter(char::is_ascii_digit).take(most).collect()
    };
    let whole = digits_of(&text[..point], places);
    let fraction = digits_of(text.get(point + 1..).unwrap_or_default(), behind);
    if whole.is_empty() && fraction.is_empty() {
        let message = "invalid input syntax for type numeric: \" \"";
        return Err(Error::new(ErrorKind::InvalidData, message).with_code("22P02"));
    }
    let scale = usize::from(scale.unsigned_abs());
    let fraction: String = fraction.chars().take(scale).collect();
    let value: i128 = format!("{whole}{fraction:0<scale$}").parse().map_err(|_| {
        Error::new(ErrorKind::InvalidData, "numeric field overflow").with_code("22003")
    })?;
    if value.unsigned_abs() >= 10_u128.pow(NUMBER_DIGITS.into()) {
        let error = Error::new(ErrorKind::InvalidData, "numeric field overflow");
        return Err(error.with_code("22003"));
    }
    Ok(Some(if is_negative { -value } else { value }))
}

/// Returns how many digits numbers have behind the point that a pattern describes.
pub(super) fn scale_of(pattern: &str) -> i8 {
    i8::try_from(places(pattern).1).map_or(NUMBER_SCALE, |scale| scale.min(NUMBER_DIGITS as i8))
}

/// Returns how many digits a pattern has before and behind the point.
fn places(pattern: &str) -> (usize, usize) {
    let point = pattern.find(['.', 'D', 'd']).unwrap_or(pattern.len());
    let count = |part: &str| part.chars().filter(|one| matches!(one, '0' | '9')).count();
    (count(&pattern[..point]), count(&pattern[point..]))
}
