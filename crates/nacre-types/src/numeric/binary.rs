//! Binary form of numerics, as clients exchange it.
//!
//! # Layout
//! Big-endian words of 16 bits.
//!
//! | word | meaning |
//! |---|---|
//! | 0 | count of digits |
//! | 1 | place of the first digit: it counts 10000^place; signed |
//! | 2 | sign: 0 or 0x4000; 0xc000 NaN, 0xd000 infinity, 0xf000 negative infinity |
//! | 3 | digits shown behind the point |
//! | 4.. | digits to the base of 10000 |

use super::{ExactNumeric, FiniteParts, NUMERIC_SCALE_MAX, NumericClass};
use crate::error::ValueError;

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const NEGATIVE_INFINITY: u16 = 0xf000;

/// The scale that PostgreSQL sends with infinities.
const INFINITY_SCALE: u16 = 32;

/// Decimal digits of a digit to the base of 10000.
const BASE_DIGITS: usize = 4;
const BASE: u16 = 10_000;

impl ExactNumeric {
    /// Appends the binary form.
    pub fn send(&self, out: &mut Vec<u8>) {
        let special = |sign: u16, scale: u16, out: &mut Vec<u8>| {
            for word in [0, 0, sign, scale] {
                out.extend_from_slice(&word.to_be_bytes());
            }
        };
        match self.class() {
            NumericClass::NotANumber => special(NAN, 0, out),
            NumericClass::Infinity(1) => special(INFINITY, INFINITY_SCALE, out),
            NumericClass::Infinity(_) => special(NEGATIVE_INFINITY, INFINITY_SCALE, out),
            NumericClass::Finite(parts) => send_finite(parts, out),
        }
    }

    /// Reads the binary form, rounded to `numeric(precision, scale)` if given.
    ///
    /// # Errors
    /// 22P03 for bytes that are not a numeric, 22003 beyond the limits of the type.
    pub fn receive(bytes: &[u8], precision: Option<(i32, i32)>) -> Result<Self, ValueError> {
        let (words, rest) = bytes.as_chunks::<2>();
        let words: Vec<u16> = words.iter().map(|word| u16::from_be_bytes(*word)).collect();
        let [count, weight, sign, scale, digits @ ..] = words.as_slice() else {
            return Err(too_short());
        };
        if digits.len() < usize::from(*count) {
            return Err(too_short());
        }
        if digits.len() > usize::from(*count) || !rest.is_empty() {
            return Err(ValueError::invalid_binary("incorrect binary data format"));
        }
        let part = |name: &str| {
            ValueError::invalid_binary(format!("invalid {name} in external \"numeric\" value"))
        };
        if *scale > NUMERIC_SCALE_MAX {
            return Err(part("scale"));
        }
        if digits.iter().any(|digit| *digit >= BASE) {
            return Err(part("digit"));
        }
        let value = match *sign {
            NAN => Self::NAN,
            INFINITY => Self::INFINITY,
            NEGATIVE_INFINITY => Self::NEGATIVE_INFINITY,
            0 | NEGATIVE => finite(digits, weight.cast_signed(), *sign == NEGATIVE, *scale)?,
            _ => return Err(part("sign")),
        };
        match precision {
            Some((precision, scale)) => value.with_precision(precision, scale),
            None => Ok(value),
        }
    }
}

fn too_short() -> ValueError {
    ValueError::invalid_binary("insufficient data left in message")
}

fn send_finite(parts: FiniteParts<'_>, out: &mut Vec<u8>) {
    let mut text = match parts {
        FiniteParts::Small(unscaled, _) => unscaled.unsigned_abs().to_string(),
        FiniteParts::Big(unscaled, _) => unscaled.magnitude().to_string(),
    };
    // Zeros behind make the fraction whole digits, zeros before the rest.
    let scale = usize::from(parts.scale());
    let fraction_digits = scale.div_ceil(BASE_DIGITS);
    text.extend(std::iter::repeat_n('0', fraction_digits * BASE_DIGITS - scale));
    let first = text.len() % BASE_DIGITS;
    let value =
        |digits: &[u8]| digits.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0'));
    let (head, tail) = text.as_bytes().split_at(first);
    let mut digits: Vec<u16> = Vec::with_capacity(text.len() / BASE_DIGITS + 1);
    if first > 0 {
        digits.push(value(head));
    }
    digits.extend(tail.chunks(BASE_DIGITS).map(value));
    let mut weight = digits.len() as i32 - fraction_digits as i32 - 1;
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    digits.drain(..zeros);
    weight -= zeros as i32;
    while digits.last() == Some(&0) {
        digits.pop();
    }
    if digits.is_empty() {
        weight = 0;
    }
    // Limits of the type: at most 36865 digits and a weight of 32767.
    let sign = if parts.signum() < 0 { NEGATIVE } else { 0 };
    for word in [digits.len() as u16, weight as u16, sign, parts.scale()] {
        out.extend_from_slice(&word.to_be_bytes());
    }
    digits.iter().for_each(|digit| out.extend_from_slice(&digit.to_be_bytes()));
}

/// Makes a value of digits to the base of 10000; those behind the scale are dropped.
fn finite(
    digits: &[u16],
    weight: i16,
    is_negative: bool,
    scale: u16,
) -> Result<ExactNumeric, ValueError> {
    let mut text: Vec<u8> = Vec::with_capacity(digits.len() * BASE_DIGITS);
    for digit in digits {
        text.extend_from_slice(format!("{digit:04}").as_bytes());
    }
    // Decimal digits before the point, negative for zeros behind it.
    let whole = (i32::from(weight) + 1) * BASE_DIGITS as i32;
    let wanted = whole + i32::from(scale);
    match usize::try_from(wanted) {
        Ok(wanted) if text.iter().any(|digit| *digit != b'0') => text.resize(wanted, b'0'),
        _ => text.clear(),
    }
    ExactNumeric::from_digits(is_negative, &text, scale)
}
