//! Numerics of any scale as bytes, which are compared as the numerics are.
//!
//! A value may also stand for the error of its computation: it is raised where the value is looked
//! at, so that rows that nobody looks at raise none.
//!
//! # Layout
//!
//! | bytes | meaning |
//! |---|---|
//! | 1 | kind: see `KIND_NEGATIVE_INFINITY` and those below it |
//! | 2 | of numbers but zero: power of 10,000 that the first digit counts, plus 8,192 |
//! | 2 each | digits to the base of 10,000; neither the first nor the last is zero |
//! | 2 | of numbers below zero: 65,535 |
//! | 2 | scale: the digits that are shown behind the point |
//!
//! All words are big-endian. Below zero a word is 65,534 less power or digit: each is below the
//! word behind them all. Bytes before the scale are the key: equal for equal values.
//!
//! ```text
//! 1.5    3, 8192, 1, 5000, scale 1      -1.50    1, 57342, 65533, 60534, 65535, scale 2
//! ```

use std::ops::RangeInclusive;

use nacre_types::{ExactNumeric, ValueError};

const KIND_NEGATIVE_INFINITY: u8 = 0;
const KIND_NEGATIVE: u8 = 1;
const KIND_ZERO: u8 = 2;
const KIND_POSITIVE: u8 = 3;
const KIND_INFINITY: u8 = 4;
const KIND_NAN: u8 = 5;
/// An SQLSTATE and a message follow.
const KIND_FAILURE: u8 = 6;

const SCALE_BYTES: usize = 2;
const SQLSTATE_BYTES: usize = 5;

/// Decimal digits of a digit.
const DIGIT_WIDTH: u16 = 4;
const BASE: u64 = 10_000;

/// Digits of a word of 64 bits, and how many values they have.
const WORD_DIGITS: usize = 4;
const WORD_UNIT: u64 = BASE.pow(WORD_DIGITS as u32);

/// Powers of ten of 64 bits, those of a digit first.
const POWERS_OF_TEN: [u64; 20] = {
    let mut powers = [1; 20];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

/// What powers and digits below zero are taken from.
const NEGATIVE_TOP: u16 = u16::MAX - 1;

/// Powers are from -4,096 to 32,767.
const POWER_OFFSET: i32 = 8_192;

/// Digits whose value is less than 10^36, so that 128 bits hold it.
const SMALL_DIGITS_MAX: usize = 9;

/// Words of the wire form before the digits, and its sign below zero.
const WIRE_HEADER_BYTES: usize = 8;
const WIRE_NEGATIVE: u16 = 0x4000;

/// One more than any decimal of 38 digits.
const BEYOND: i128 = 10_i128.pow(38);
const DECIMALS: RangeInclusive<i128> = 1 - BEYOND..=BEYOND - 1;

/// Which whole number a numeric becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoundedTo {
    /// The next one that is not less; beyond all decimals for what has more digits.
    Ceiling,
    /// The next one that is not greater, likewise.
    Floor,
    /// Itself, or none.
    Same,
}

/// Appends a numeric.
pub(crate) fn encode_exact(value: &ExactNumeric, out: &mut Vec<u8>) {
    if let Some((unscaled, scale)) = value.to_scaled() {
        return encode_scaled(unscaled, scale, out);
    }
    let Some(scale) = value.scale() else {
        out.push(match value.signum() {
            None => KIND_NAN,
            Some(..0) => KIND_NEGATIVE_INFINITY,
            Some(_) => KIND_INFINITY,
        });
        return out.extend_from_slice(&[0; SCALE_BYTES]);
    };
    let mut wire = Vec::new();
    value.send(&mut wire);
    let (words, _) = wire.as_chunks::<2>();
    let words: Vec<u16> = words.iter().map(|word| u16::from_be_bytes(*word)).collect();
    let is_negative = value.signum() == Some(-1);
    put_number(is_negative, words[1].cast_signed().into(), &words[4..], scale, out);
}

/// Appends `unscaled / 10^scale`.
pub(crate) fn encode_scaled(unscaled: i128, scale: u16, out: &mut Vec<u8>) {
    if unscaled == 0 {
        out.push(KIND_ZERO);
        return out.extend_from_slice(&scale.to_be_bytes());
    }
    // The last digit begins behind the point where a whole digit does.
    let last_width = match scale % DIGIT_WIDTH {
        0 => DIGIT_WIDTH,
        width => width,
    };
    let unit = POWERS_OF_TEN[usize::from(last_width)];
    let missing = POWERS_OF_TEN[usize::from(DIGIT_WIDTH - last_width)] as u16;
    let (mut rest, last) = divided(unscaled.unsigned_abs(), unit);
    // At most 39 decimal digits and three zeros: eleven digits.
    let (mut digits, mut first) = ([0_u16; 11], 10);
    digits[first] = last as u16 * missing;
    while rest > 0 {
        let (more, mut word) = divided(rest, WORD_UNIT);
        rest = more;
        for _ in 0..WORD_DIGITS {
            if rest == 0 && word == 0 {
                break;
            }
            first -= 1;
            digits[first] = (word % BASE) as u16;
            word /= BASE;
        }
    }
    let last_power = -i32::from(scale.div_ceil(DIGIT_WIDTH));
    let power = last_power + (digits.len() - 1 - first) as i32;
    put_number(unscaled < 0, power, &digits[first..], scale, out);
}

/// Divides, and returns what is left, too.
#[inline]
fn divided(value: u128, unit: u64) -> (u128, u64) {
    match u64::try_from(value) {
        Ok(value) => ((value / unit).into(), value % unit),
        Err(_) => {
            let quotient = value / u128::from(unit);
            (quotient, (value - quotient * u128::from(unit)) as u64)
        }
    }
}

/// Appends a number; zeros before and behind its digits are left out.
fn put_number(is_negative: bool, power: i32, digits: &[u16], scale: u16, out: &mut Vec<u8>) {
    let zeros = digits.iter().take_while(|digit| **digit == 0).count();
    let end = digits.iter().rposition(|digit| *digit != 0).map_or(zeros, |last| last + 1);
    let flip = |word: u16| if is_negative { NEGATIVE_TOP - word } else { word };
    out.reserve(1 + 2 * (end - zeros) + 3 * SCALE_BYTES);
    out.push(if is_negative { KIND_NEGATIVE } else { KIND_POSITIVE });
    let power = (power - zeros as i32 + POWER_OFFSET) as u16;
    out.extend_from_slice(&flip(power).to_be_bytes());
    for digit in &digits[zeros..end] {
        out.extend_from_slice(&flip(*digit).to_be_bytes());
    }
    if is_negative {
        out.extend_from_slice(&u16::MAX.to_be_bytes());
    }
    out.extend_from_slice(&scale.to_be_bytes());
}

/// Appends an error.
pub(crate) fn encode_failure(error: &ValueError, out: &mut Vec<u8>) {
    out.push(KIND_FAILURE);
    out.extend_from_slice(error.sql_state().as_bytes());
    out.extend_from_slice(error.message().as_bytes());
    out.extend_from_slice(&[0; SCALE_BYTES]);
}

/// Returns what is equal for equal values.
///
/// # Errors
/// The one that the value stands for.
pub(crate) fn exact_key(bytes: &[u8]) -> Result<&[u8], ValueError> {
    match bytes {
        [KIND_FAILURE, ..] => Err(failure(bytes)),
        [key @ .., _, _] => Ok(key),
        _ => Err(malformed()),
    }
}

/// Returns the numeric.
///
/// # Errors
/// The one that the value stands for.
pub(crate) fn decode_exact(bytes: &[u8]) -> Result<ExactNumeric, ValueError> {
    let key = exact_key(bytes)?;
    let scale = bytes.last_chunk().map_or(0, |scale| u16::from_be_bytes(*scale));
    match key {
        [KIND_NAN] => Ok(ExactNumeric::NAN),
        [KIND_INFINITY] => Ok(ExactNumeric::INFINITY),
        [KIND_NEGATIVE_INFINITY] => Ok(ExactNumeric::NEGATIVE_INFINITY),
        [KIND_ZERO] => ExactNumeric::from_scaled(0, scale),
        [KIND_POSITIVE, words @ ..] => decode_number(false, words, scale),
        [KIND_NEGATIVE, words @ .., _, _] => decode_number(true, words, scale),
        _ => Err(malformed()),
    }
}

fn decode_number(is_negative: bool, words: &[u8], scale: u16) -> Result<ExactNumeric, ValueError> {
    let (words, _) = words.as_chunks::<2>();
    let flip = |word: u16| if is_negative { NEGATIVE_TOP.wrapping_sub(word) } else { word };
    let mut words = words.iter().map(|word| flip(u16::from_be_bytes(*word)));
    let power = i32::from(words.next().ok_or_else(malformed)?) - POWER_OFFSET;
    let count = words.len();
    // Decimal digits behind those that are there; less than zero for zeros that fill the last one.
    let exponent = i32::from(DIGIT_WIDTH) * (power + 1 - count as i32) + i32::from(scale);
    if count <= SMALL_DIGITS_MAX && exponent.unsigned_abs() < 38 {
        let value = small_value(words.clone());
        let unscaled = match exponent {
            // Zeros of the last digit, which are at most three.
            -3..0 => {
                let unit = POWERS_OF_TEN[exponent.unsigned_abs() as usize];
                Some(divided(value.unsigned_abs(), unit).0 as i128)
            }
            0.. => value.checked_mul(10_i128.pow(exponent.unsigned_abs())),
            _ => None,
        };
        if let Some(unscaled) = unscaled {
            return ExactNumeric::from_scaled(
                if is_negative { -unscaled } else { unscaled },
                scale,
            );
        }
    }
    let mut wire = Vec::with_capacity(WIRE_HEADER_BYTES + 2 * count);
    let sign = if is_negative { WIRE_NEGATIVE } else { 0 };
    for word in [count as u16, power as u16, sign, scale].into_iter().chain(words) {
        wire.extend_from_slice(&word.to_be_bytes());
    }
    ExactNumeric::receive(&wire, None)
}

/// Returns the number that digits to the base of 10,000 are, of which 128 bits hold the value.
fn small_value(mut words: impl ExactSizeIterator<Item = u16>) -> i128 {
    let mut value = 0;
    while words.len() > 0 {
        let taken = words.len().min(WORD_DIGITS);
        let word = words.by_ref().take(taken).fold(0, |sum, digit| sum * BASE + u64::from(digit));
        value = value * i128::from(BASE.pow(taken as u32)) + i128::from(word);
    }
    value
}

/// Returns the whole number that `value * 10^scale` becomes. Infinity and NaN are beyond all
/// decimals.
///
/// # Errors
/// The one that the value stands for.
pub(crate) fn round_exact(
    bytes: &[u8],
    scale: u16,
    target: RoundedTo,
) -> Result<Option<i128>, ValueError> {
    let value = decode_exact(bytes)?;
    let beyond = if value.signum() == Some(-1) { -BEYOND } else { BEYOND };
    let beyond = (target != RoundedTo::Same).then_some(beyond);
    if !value.is_finite() {
        return Ok(beyond);
    }
    let rounded = match value.to_scaled() {
        Some((unscaled, own)) if own <= scale => {
            let unit = 10_i128.checked_pow((scale - own).into());
            unit.and_then(|unit| unscaled.checked_mul(unit))
        }
        Some((unscaled, own)) if own - scale <= 38 => {
            let unit = 10_i128.pow((own - scale).into());
            let (floor, rest) = (unscaled.div_euclid(unit), unscaled.rem_euclid(unit));
            match target {
                RoundedTo::Same if rest != 0 => return Ok(None),
                RoundedTo::Ceiling if rest != 0 => Some(floor + 1),
                _ => Some(floor),
            }
        }
        _ => return round_large(&value, scale, target, beyond),
    };
    Ok(rounded.filter(|one| DECIMALS.contains(one)).or(beyond))
}

fn round_large(
    value: &ExactNumeric,
    scale: u16,
    target: RoundedTo,
    beyond: Option<i128>,
) -> Result<Option<i128>, ValueError> {
    let scaled = value.multiply(&ExactNumeric::power_of_ten(scale.into())?)?;
    let floor = scaled.floor()?;
    let whole = match target {
        RoundedTo::Ceiling => scaled.ceil()?,
        RoundedTo::Same if floor != scaled => return Ok(None),
        RoundedTo::Floor | RoundedTo::Same => floor,
    };
    let unscaled = whole.to_unscaled(0).filter(|one| DECIMALS.contains(one));
    Ok(unscaled.or(beyond))
}

/// Returns the error that a value stands for.
fn failure(bytes: &[u8]) -> ValueError {
    let text = bytes
        .get(1..bytes.len().saturating_sub(SCALE_BYTES))
        .and_then(|text| str::from_utf8(text).ok());
    let parts = text.and_then(|text| text.split_at_checked(SQLSTATE_BYTES));
    let error = parts.and_then(|(code, message)| ValueError::of_sql_state(code, message));
    error.unwrap_or_else(malformed)
}

#[cold]
fn malformed() -> ValueError {
    ValueError::internal("a numeric of any scale is malformed")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes_of(value: &ExactNumeric) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_exact(value, &mut bytes);
        bytes
    }

    fn numeric(text: &str) -> ExactNumeric {
        ExactNumeric::parse(text, None).unwrap()
    }

    /// Numbers of few digits, so that equal ones of several scales and neighbours come.
    fn any_numeric() -> impl Strategy<Value = ExactNumeric> {
        let near = (-2_000_i128..2_000, 0_u16..12);
        let wide = (any::<i128>(), 0_u16..60);
        // Digits of zero between others.
        let sparse = (-2_i128..3, -2_i128..3, 0_u32..4, 0_u16..14)
            .prop_map(|(high, low, zeros, scale)| (high * 10_i128.pow(4 * zeros) + low, scale));
        let scaled = prop_oneof![near, sparse, wide]
            .prop_map(|(unscaled, scale)| ExactNumeric::from_scaled(unscaled, scale).unwrap());
        let large = ("-?[1-9][0-9]{0,90}(0{0,9})", -70_i32..90)
            .prop_map(|(digits, power)| numeric(&format!("{digits}e{power}")));
        let special = prop_oneof![Just("NaN"), Just("Infinity"), Just("-Infinity"), Just("0.000")]
            .prop_map(numeric);
        prop_oneof![4 => scaled, 2 => large, 1 => special]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn keys_have_the_order_of_numerics(one in any_numeric(), other in any_numeric()) {
            let (left, right) = (bytes_of(&one), bytes_of(&other));
            let order = exact_key(&left).unwrap().cmp(exact_key(&right).unwrap());
            prop_assert_eq!(order, one.cmp(&other));
        }

        #[test]
        fn numerics_come_back_with_their_digits(value in any_numeric()) {
            let decoded = decode_exact(&bytes_of(&value)).unwrap();
            prop_assert_eq!(decoded.to_string(), value.to_string());
        }

        #[test]
        fn equal_numerics_of_two_scales_have_one_key(value in any_numeric(), more in 0_i32..9) {
            let scale = value.scale().map_or(0, i32::from);
            let shown = value.round(scale + more).unwrap();
            let (left, right) = (bytes_of(&value), bytes_of(&shown));
            prop_assert_eq!(exact_key(&left).unwrap(), exact_key(&right).unwrap());
        }

        #[test]
        fn rounded_values_compare_as_the_value_does(
            value in any_numeric(),
            unscaled in prop_oneof![-3_000_i128..3_000, DECIMALS],
            scale in 0_u16..8,
        ) {
            let bytes = bytes_of(&value);
            let to = |target| round_exact(&bytes, scale, target).unwrap();
            let (up, down) = (to(RoundedTo::Ceiling).unwrap(), to(RoundedTo::Floor).unwrap());
            let decimal = ExactNumeric::from_scaled(unscaled, scale).unwrap();
            prop_assert_eq!(unscaled < up, decimal < value);
            prop_assert_eq!(unscaled <= down, decimal <= value);
            prop_assert_eq!(up == down && unscaled == up, decimal == value);
            prop_assert_eq!(to(RoundedTo::Same) == Some(unscaled), decimal == value);
        }
    }

    #[test]
    fn failures_are_raised_where_they_are_looked_at() {
        let mut bytes = Vec::new();
        encode_failure(&ValueError::division_by_zero("division by zero"), &mut bytes);
        let wanted = ValueError::division_by_zero("division by zero");
        assert_eq!(decode_exact(&bytes).unwrap_err(), wanted);
        assert_eq!(exact_key(&bytes).unwrap_err(), wanted);
        assert_eq!(round_exact(&bytes, 2, RoundedTo::Floor).unwrap_err(), wanted);
        assert!(exact_key(&[]).is_err());
    }
}
