//! Floats: the fewest digits that give the value back, or so many digits.
//!
//! PostgreSQL takes only decimals strictly between the midpoints to the neighbours, also where a
//! midpoint itself would be read back as the value: `1e23` is written `9.999999999999999e+22`.

use std::fmt::LowerExp;
use std::str::FromStr;

use crate::error::ValueError;
use crate::input_text::is_space;

/// What differs between the two types.
pub(crate) trait SqlFloat: Copy + PartialEq + LowerExp + FromStr + Into<f64> {
    const TYPE_NAME: &'static str;
    /// Digits that every decimal keeps.
    const DECIMAL_DIGITS: i32;
    /// Digits that give every value back.
    const ROUND_TRIP_DIGITS: usize;
    /// Bits of a midpoint between two values.
    const MIDPOINT_BITS: u32;
}

impl SqlFloat for f32 {
    const TYPE_NAME: &'static str = "real";
    const DECIMAL_DIGITS: i32 = 6;
    const ROUND_TRIP_DIGITS: usize = 9;
    const MIDPOINT_BITS: u32 = 25;
}

impl SqlFloat for f64 {
    const TYPE_NAME: &'static str = "double precision";
    const DECIMAL_DIGITS: i32 = 15;
    const ROUND_TRIP_DIGITS: usize = 17;
    const MIDPOINT_BITS: u32 = 54;
}

/// Powers of five that matter for midpoints.
const MIDPOINT_EXPONENT_MAX: u32 = 24;

/// Reads a float.
pub(crate) fn parse_float<F: SqlFloat>(text: &str) -> Result<F, ValueError> {
    let invalid = || ValueError::syntax_of(F::TYPE_NAME, text);
    let start = text.trim_start_matches(is_space);
    let end = number_end(start).ok_or_else(invalid)?;
    let (number, rest) = start.split_at(end);
    let value: F = number.parse().map_err(|_| invalid())?;
    let wide: f64 = value.into();
    // A value beyond the range comes before what follows it.
    let has_digits = number.contains(|one: char| one.is_ascii_digit());
    let mantissa = number.split(['e', 'E']).next().unwrap_or(number);
    let is_zero = !mantissa.contains(|one: char| ('1'..='9').contains(&one));
    if has_digits && (wide.is_infinite() || (wide == 0.0 && !is_zero)) {
        // The message of a `real` has the whole text.
        let shown = if F::DECIMAL_DIGITS == f32::DECIMAL_DIGITS { text } else { number };
        let message = format!("\"{shown}\" is out of range for type {}", F::TYPE_NAME);
        return Err(ValueError::out_of_range(message));
    }
    if rest.trim_start_matches(is_space).is_empty() { Ok(value) } else { Err(invalid()) }
}

/// Returns the end of the longest number at the start of a text.
fn number_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let start = usize::from(text.starts_with(['+', '-']));
    let rest = text[start..].to_ascii_lowercase();
    if let Some(word) = ["infinity", "inf", "nan"].iter().find(|word| rest.starts_with(**word)) {
        return Some(start + word.len());
    }
    let digits = |from: usize| {
        bytes
            .get(from..)
            .map_or(0, |rest| rest.iter().take_while(|byte| byte.is_ascii_digit()).count())
    };
    let whole = digits(start);
    let mut end = start + whole;
    let mut count = whole;
    if bytes.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        count += fraction;
        end += 1 + fraction;
    }
    if count == 0 {
        return None;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    Some(end)
}

/// Appends a float. Above 0 `extra_digits` asks for the fewest digits that give it back; from 0
/// down it is added to the digits that every decimal keeps.
pub(crate) fn write_float<F: SqlFloat>(value: F, extra_digits: i32, out: &mut String) {
    let wide: f64 = value.into();
    if !wide.is_finite() {
        out.push_str(match wide {
            _ if wide.is_nan() => "NaN",
            _ if wide > 0.0 => "Infinity",
            _ => "-Infinity",
        });
        return;
    }
    let (text, exponent_from) = match extra_digits {
        1.. => (shortest(value), F::DECIMAL_DIGITS),
        _ => {
            let digits = (F::DECIMAL_DIGITS + extra_digits).max(1);
            (format!("{:.*e}", digits as usize - 1, value), digits)
        }
    };
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let mut digits: String = mantissa.chars().filter(|one| *one != '.').collect();
    digits.truncate(digits.trim_end_matches('0').len().max(1));
    out.push_str(sign);
    write_digits(&digits, exponent, exponent_from, out);
}

/// Appends digits with the point behind the first one, times ten to the exponent; exponents below
/// -4 and from `exponent_from` up are written.
fn write_digits(digits: &str, exponent: i32, exponent_from: i32, out: &mut String) {
    if exponent < -4 || exponent >= exponent_from {
        let (first, rest) = digits.split_at(1);
        out.push_str(first);
        if !rest.is_empty() {
            out.push('.');
            out.push_str(rest);
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        out.push_str(&format!("e{sign}{:02}", exponent.abs()));
    } else if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', exponent.unsigned_abs() as usize - 1));
        out.push_str(digits);
    } else {
        let whole = exponent.unsigned_abs() as usize + 1;
        if digits.len() <= whole {
            out.push_str(digits);
            out.extend(std::iter::repeat_n('0', whole - digits.len()));
        } else {
            out.push_str(&digits[..whole]);
            out.push('.');
            out.push_str(&digits[whole..]);
        }
    }
}

/// Returns the fewest digits between the midpoints, with an exponent; of two decimals that are
/// equally near the one with an even last digit.
fn shortest<F: SqlFloat>(value: F) -> String {
    let text = format!("{value:e}");
    let mantissa = text.split('e').next().unwrap_or_default();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).count();
    let is_good =
        |text: &str| text.parse::<F>().is_ok_and(|read| read == value) && !is_midpoint::<F>(text);
    for precision in digits.saturating_sub(1)..F::ROUND_TRIP_DIGITS {
        let rounded = format!("{value:.precision$e}");
        if is_good(&rounded) {
            return rounded;
        }
        // Below a power of two values lie closer: the nearest decimal may belong to another one.
        if is_good(&text) {
            break;
        }
    }
    text
}

/// Returns whether a decimal lies exactly between two values: one bit longer than they are.
fn is_midpoint<F: SqlFloat>(text: &str) -> bool {
    let Some((mantissa, exponent)) = text.split_once('e') else { return false };
    let Ok(exponent) = exponent.parse::<i32>() else { return false };
    let decimals = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let Ok(digits) = digits.parse::<u128>() else { return false };
    let power = exponent - decimals as i32;
    if digits == 0 || power.unsigned_abs() > MIDPOINT_EXPONENT_MAX {
        return false;
    }
    // The factors of two do not count.
    let fives = 5_u128.pow(power.unsigned_abs());
    let scaled = match power {
        0.. => digits.checked_mul(fives),
        ..0 if digits % fives == 0 => Some(digits / fives),
        ..0 => None,
    };
    scaled.is_some_and(|scaled| {
        let odd = scaled >> scaled.trailing_zeros();
        u128::BITS - odd.leading_zeros() == F::MIDPOINT_BITS
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown<F: SqlFloat>(value: F, extra_digits: i32) -> String {
        let mut text = String::new();
        write_float(value, extra_digits, &mut text);
        text
    }

    #[test]
    fn fewest_digits_give_the_value_back() {
        for (value, expected) in [
            (0.1, "0.1"),
            (1e23, "9.999999999999999e+22"),
            (2e23, "1.9999999999999998e+23"),
            (1e22, "1e+22"),
            (618_970_019_642_690_137_449_562_112.0, "6.189700196426902e+26"),
            (1e15, "1e+15"),
            (999_999_999_999_999.0, "999999999999999"),
            (8.5e-5, "8.5e-05"),
            (0.0001, "0.0001"),
            (-0.0, "-0"),
            (5e-324, "5e-324"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(shown(value, 1), expected);
        }
        assert_eq!(shown(16_777_216.0_f32, 1), "1.6777216e+07");
        assert_eq!(shown(1e6_f32, 1), "1e+06");
        assert_eq!(shown(123_456.0_f32, 1), "123456");
        assert_eq!(shown(1.0_f32 / 4_096.0, 1), "0.00024414062");
    }

    #[test]
    fn fewer_digits_round() {
        assert_eq!(shown(1.0 / 3.0, 0), "0.333333333333333");
        assert_eq!(shown(1.0 / 3.0, -10), "0.33333");
        assert_eq!(shown(123_456.0_f32, -3), "1.23e+05");
    }

    #[test]
    fn texts_beyond_the_range_are_refused() {
        assert_eq!(parse_float::<f64>(" 1.5e3 "), Ok(1_500.0));
        assert_eq!(parse_float::<f64>("-inf"), Ok(f64::NEG_INFINITY));
        let error = parse_float::<f64>("1e400").unwrap_err();
        assert_eq!(error.message(), "\"1e400\" is out of range for type double precision");
        assert_eq!(parse_float::<f32>("1e-60").unwrap_err().sql_state(), "22003");
        assert_eq!(parse_float::<f64>("0e-999"), Ok(0.0));
        for text in ["", "1e", "1 2", "e5", "."] {
            assert_eq!(parse_float::<f64>(text).unwrap_err().sql_state(), "22P02", "{text}");
        }
    }
}
