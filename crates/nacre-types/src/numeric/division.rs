//! Quotient and remainder.
//!
//! How many digits a quotient shows depends on its operands: at least 16 that count, and no fewer
//! behind the point than either operand. PostgreSQL counts in digits to the base of 10000, so the
//! number is a multiple of four for operands without a scale.

use num_bigint::BigInt;

use super::arithmetic::{rescaled_big, rescaled_small};
use super::digits::{
    count_big, count_small, divide_magnitudes, divide_product_rounded, divide_rounded,
    divide_rounded_big, power_big, power_small,
};
use super::{ExactNumeric, FiniteParts, NumericClass};
use crate::error::ValueError;

/// Digits that a quotient has at least.
const SIGNIFICANT_DIGITS_MIN: i32 = 16;

/// Most digits behind the point of a quotient.
const QUOTIENT_SCALE_MAX: i32 = 1_000;

/// Decimal digits of a digit to the base of 10000.
const BASE_DIGITS: i32 = 4;

impl ExactNumeric {
    /// Divides; the result has PostgreSQL's digits.
    ///
    /// # Errors
    /// 22012 for a divisor of zero, 22003 beyond the limits of the type.
    pub fn divide(&self, other: &Self) -> Result<Self, ValueError> {
        match quotient_of_specials(self, other)? {
            Some(special) => Ok(special),
            None => {
                let (one, other) = finite_pair(self, other)?;
                divide_finite(one, other, quotient_scale(one, other))
            }
        }
    }

    /// Divides and drops what is behind the point, as `div(a, b)`.
    ///
    /// # Errors
    /// As for [`ExactNumeric::divide`].
    pub fn divide_truncated(&self, other: &Self) -> Result<Self, ValueError> {
        if let Some(special) = quotient_of_specials(self, other)? {
            return Ok(special);
        }
        let (one, other) = finite_pair(self, other)?;
        let scale = one.scale().max(other.scale());
        ExactNumeric::from_big(rescaled_big(one, scale) / rescaled_big(other, scale), 0)
    }

    /// Returns what a truncated division leaves, with the dividend's sign.
    ///
    /// # Errors
    /// 22012 for a divisor of zero.
    pub fn remainder(&self, other: &Self) -> Result<Self, ValueError> {
        match (self.class(), other.class()) {
            (NumericClass::NotANumber, _) | (_, NumericClass::NotANumber) => Ok(Self::NAN),
            (_, NumericClass::Finite(divisor)) if divisor.is_zero() => Err(division_by_zero()),
            (NumericClass::Infinity(_), _) => Ok(Self::NAN),
            (_, NumericClass::Infinity(_)) => Ok(self.clone()),
            (NumericClass::Finite(one), NumericClass::Finite(other)) => {
                remainder_finite(one, other)
            }
        }
    }
}

fn division_by_zero() -> ValueError {
    ValueError::division_by_zero("division by zero")
}

/// Returns the quotient if an operand is not finite.
fn quotient_of_specials(
    one: &ExactNumeric,
    other: &ExactNumeric,
) -> Result<Option<ExactNumeric>, ValueError> {
    Ok(match (one.class(), other.class()) {
        (NumericClass::NotANumber, _) | (_, NumericClass::NotANumber) => Some(ExactNumeric::NAN),
        (NumericClass::Infinity(_), NumericClass::Infinity(_)) => Some(ExactNumeric::NAN),
        (_, NumericClass::Finite(divisor)) if divisor.is_zero() => return Err(division_by_zero()),
        (NumericClass::Infinity(sign), NumericClass::Finite(divisor)) => {
            Some(ExactNumeric::infinity(sign * divisor.signum()))
        }
        (NumericClass::Finite(_), NumericClass::Infinity(_)) => Some(ExactNumeric::ZERO),
        (NumericClass::Finite(_), NumericClass::Finite(_)) => None,
    })
}

fn finite_pair<'a>(
    one: &'a ExactNumeric,
    other: &'a ExactNumeric,
) -> Result<(FiniteParts<'a>, FiniteParts<'a>), ValueError> {
    match (one.class(), other.class()) {
        (NumericClass::Finite(one), NumericClass::Finite(other)) => Ok((one, other)),
        _ => Err(ValueError::internal("numeric that is not finite")),
    }
}

/// Returns the place of the first digit to the base of 10000 and the number that the first
/// `count` of them make, up to four; zeros for zero.
pub(super) fn leading_digits(parts: FiniteParts<'_>, count: i32) -> (i32, i64) {
    let digits = match parts {
        FiniteParts::Small(unscaled, _) => count_small(unscaled),
        FiniteParts::Big(unscaled, _) => count_big(unscaled),
    };
    if digits == 0 {
        return (0, 0);
    }
    // At most 131072 + 16383 digits, and a scale of 16383.
    let digits = digits as i32;
    let exponent = digits - i32::from(parts.scale()) - 1;
    let weight = exponent.div_euclid(BASE_DIGITS);
    let taken = exponent - BASE_DIGITS * weight + 1 + BASE_DIGITS * (count - 1);
    let dropped = digits - taken;
    let leading = match parts {
        FiniteParts::Small(unscaled, _) if dropped >= 0 => {
            let unit = power_small(dropped as u32);
            unit.map_or(0, |unit| divide_magnitudes(unscaled.unsigned_abs(), unit as u128))
        }
        // Fifteen digits at most are missing.
        FiniteParts::Small(unscaled, _) => {
            unscaled.unsigned_abs() * 10_u128.pow(dropped.unsigned_abs())
        }
        FiniteParts::Big(unscaled, _) => {
            let unit = power_big(dropped.unsigned_abs());
            let leading = match dropped {
                0.. => unscaled.magnitude() / unit.magnitude(),
                ..0 => unscaled.magnitude() * unit.magnitude(),
            };
            u128::try_from(leading).unwrap_or(0)
        }
    };
    (weight, leading as i64)
}

/// Returns the digits behind the point of a quotient.
fn quotient_scale(one: FiniteParts<'_>, other: FiniteParts<'_>) -> u16 {
    let (one_weight, one_digit) = leading_digits(one, 1);
    let (other_weight, other_digit) = leading_digits(other, 1);
    let borrow = i32::from(one_digit <= other_digit);
    let weight = one_weight - other_weight - borrow;
    let scale = (SIGNIFICANT_DIGITS_MIN - weight * BASE_DIGITS)
        .max(one.scale().into())
        .max(other.scale().into())
        .clamp(0, QUOTIENT_SCALE_MAX);
    scale as u16
}

pub(super) fn divide_finite(
    one: FiniteParts<'_>,
    other: FiniteParts<'_>,
    scale: u16,
) -> Result<ExactNumeric, ValueError> {
    // The power of ten by which the quotient of the unscaled values falls short.
    let shift = i32::from(scale) - i32::from(one.scale()) + i32::from(other.scale());
    let power = shift.unsigned_abs();
    if let (FiniteParts::Small(left, _), FiniteParts::Small(right, _)) = (one, other)
        && let Some(unit) = power_small(power)
    {
        let scaled = match shift {
            0.. => left.checked_mul(unit).zip(right.checked_abs()),
            ..0 => right.checked_abs().and_then(|right| right.checked_mul(unit)).map(|r| (left, r)),
        };
        if let Some((left, divisor)) = scaled
            && left != i128::MIN
        {
            let quotient = divide_rounded(left, divisor);
            return Ok(ExactNumeric::small(quotient * right.signum(), scale));
        }
        if shift > 0
            && let Some(quotient) = divide_product_rounded(left, unit, right)
        {
            return Ok(ExactNumeric::small(quotient * right.signum(), scale));
        }
    }
    let (left, right): (BigInt, BigInt) = match shift {
        0.. => (one.to_big() * power_big(power), other.to_big()),
        ..0 => (one.to_big(), other.to_big() * power_big(power)),
    };
    let quotient = match other.signum() {
        -1 => divide_rounded_big(&-left, &-right),
        _ => divide_rounded_big(&left, &right),
    };
    ExactNumeric::from_big(quotient, scale)
}

fn remainder_finite(
    one: FiniteParts<'_>,
    other: FiniteParts<'_>,
) -> Result<ExactNumeric, ValueError> {
    let scale = one.scale().max(other.scale());
    if let (FiniteParts::Small(left, left_scale), FiniteParts::Small(right, right_scale)) =
        (one, other)
    {
        let scaled = rescaled_small(left, left_scale, scale)
            .zip(rescaled_small(right, right_scale, scale))
            .and_then(|(left, right)| left.checked_rem(right));
        if let Some(rest) = scaled {
            return Ok(ExactNumeric::small(rest, scale));
        }
    }
    ExactNumeric::from_big(rescaled_big(one, scale) % rescaled_big(other, scale), scale)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::any_scaled;
    use super::*;

    /// As [`leading_digits`] of one, of the text that shows the number.
    fn leading_digit_of_text(unscaled: i128, scale: u16) -> (i32, i64) {
        let text = ExactNumeric::from_scaled(unscaled, scale).unwrap().abs().to_string();
        let (whole, behind) = text.split_once('.').unwrap_or((&text, ""));
        let whole = format!("{whole:0>0$}", whole.len().next_multiple_of(4));
        let behind = format!("{behind:0<0$}", behind.len().next_multiple_of(4));
        let all = format!("{whole}{behind}");
        let digits = all.as_bytes().chunks(4).map(|digit| str::from_utf8(digit).unwrap());
        let digits: Vec<i64> = digits.map(|digit| digit.parse().unwrap()).collect();
        let first = digits.iter().position(|digit| *digit != 0);
        first.map_or((0, 0), |first| (whole.len() as i32 / 4 - 1 - first as i32, digits[first]))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        #[test]
        fn quotients_of_128_bits_are_those_of_any_size(
            (left, left_scale) in any_scaled(),
            (right, right_scale) in any_scaled(),
        ) {
            prop_assume!(right != 0);
            let (one, other) = (BigInt::from(left), BigInt::from(right));
            let big = (FiniteParts::Big(&one, left_scale), FiniteParts::Big(&other, right_scale));
            let small =
                (FiniteParts::Small(left, left_scale), FiniteParts::Small(right, right_scale));
            prop_assert_eq!(leading_digits(small.0, 1), leading_digit_of_text(left, left_scale));
            let scale = quotient_scale(small.0, small.1);
            let quotient = divide_finite(small.0, small.1, scale).unwrap();
            let wanted = divide_finite(big.0, big.1, scale).unwrap();
            prop_assert_eq!(quotient.to_string(), wanted.to_string());
            let rest = remainder_finite(small.0, small.1).unwrap();
            let wanted = remainder_finite(big.0, big.1).unwrap();
            prop_assert_eq!(rest.to_string(), wanted.to_string());
        }
    }
}
