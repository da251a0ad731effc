//! Natural logarithms and those of any base.
//!
//! How many digits a result shows depends on where its first one is estimated to stand, so that at
//! least 16 count; the estimate is PostgreSQL's.

use num_bigint::BigInt;

use super::digits::power_big;
use super::division::{divide_finite, leading_digits};
use super::fixed_point::decimal_logarithm;
use super::{ExactNumeric, FiniteParts, NumericClass};
use crate::error::ValueError;

/// Digits that count of a root, logarithm or power.
pub(super) const SIGNIFICANT_DIGITS: i32 = 16;

/// Most digits that one shows behind the point.
pub(super) const SHOWN_DIGITS_MAX: i32 = 1_000;

/// Digits more with which parts of a result are computed.
pub(super) const GUARD_DIGITS: i32 = 8;

impl ExactNumeric {
    /// Returns the natural logarithm; the result has PostgreSQL's digits.
    ///
    /// # Errors
    /// 2201E for a number that is not above zero.
    pub fn natural_logarithm(&self) -> Result<Self, ValueError> {
        let NumericClass::Finite(parts) = self.class() else {
            return if self.signum() == Some(-1) { Err(negative()) } else { Ok(self.clone()) };
        };
        check_positive(parts.signum())?;
        let scale = (SIGNIFICANT_DIGITS - logarithm_weight(parts))
            .max(parts.scale().into())
            .clamp(0, SHOWN_DIGITS_MAX);
        Self::from_big(rounded_logarithm(parts, scale), scale as u16)
    }

    /// Returns the logarithm to `base`; the result has PostgreSQL's digits.
    ///
    /// # Errors
    /// 2201E for a number or base that is not above zero, 22012 for a base of one.
    pub fn logarithm(&self, base: &Self) -> Result<Self, ValueError> {
        if self.is_nan() || base.is_nan() {
            return Ok(Self::NAN);
        }
        if let (NumericClass::Finite(base), NumericClass::Finite(parts)) =
            (base.class(), self.class())
        {
            return logarithm_of_base(base, parts);
        }
        let signs = (base.signum().unwrap_or(0), self.signum().unwrap_or(0));
        check_positive(signs.0.min(signs.1))?;
        Ok(match (base.is_finite(), self.is_finite()) {
            (true, _) => Self::INFINITY,
            (false, true) => Self::ZERO,
            (false, false) => Self::NAN,
        })
    }
}

fn negative() -> ValueError {
    ValueError::logarithm_argument("cannot take logarithm of a negative number")
}

/// Refuses a number by its sign.
fn check_positive(sign: i8) -> Result<(), ValueError> {
    match sign {
        ..0 => Err(negative()),
        0 => Err(ValueError::logarithm_argument("cannot take logarithm of zero")),
        _ => Ok(()),
    }
}

fn logarithm_of_base(
    base: FiniteParts<'_>,
    value: FiniteParts<'_>,
) -> Result<ExactNumeric, ValueError> {
    let (base_weight, value_weight) = (logarithm_weight(base), logarithm_weight(value));
    let weight = value_weight - base_weight;
    let scale = (SIGNIFICANT_DIGITS - weight)
        .max(base.scale().into())
        .max(value.scale().into())
        .clamp(0, SHOWN_DIGITS_MAX);
    // Both have more digits that count than their quotient.
    let base_scale = (scale + weight - base_weight + GUARD_DIGITS).max(0);
    let value_scale = (scale + weight - value_weight + GUARD_DIGITS).max(0);
    check_positive(base.signum())?;
    let divisor = rounded_logarithm(base, base_scale);
    check_positive(value.signum())?;
    let dividend = rounded_logarithm(value, value_scale);
    // As integers of the same scale.
    let scale_both = base_scale.max(value_scale);
    let raised = |number: BigInt, own: i32| number * power_big((scale_both - own) as u32);
    let divisor = raised(divisor, base_scale);
    let dividend = raised(dividend, value_scale);
    if divisor == BigInt::ZERO {
        return Err(ValueError::division_by_zero("division by zero"));
    }
    divide_finite(FiniteParts::Big(&dividend, 0), FiniteParts::Big(&divisor, 0), scale as u16)
}

/// Returns the logarithm of a positive number times 10^scale, rounded.
pub(super) fn rounded_logarithm(value: FiniteParts<'_>, scale: i32) -> BigInt {
    decimal_logarithm(&value.to_big(), value.scale().into(), scale.unsigned_abs())
}

/// Estimates the place of the first digit of the natural logarithm, 0 for the one before the point.
pub(super) fn logarithm_weight(value: FiniteParts<'_>) -> i32 {
    if value.signum() <= 0 {
        return 0;
    }
    if let Some((weight, digit)) = distance_from_one(value) {
        // ln(1 + x) is about x.
        return if digit == 0 { 0 } else { weight * 4 + digit.ilog10() as i32 };
    }
    let (weight, digits) = leading_digits(value, 2);
    let logarithm = (digits as f64).ln() + f64::from(weight - 1) * 4.0 * std::f64::consts::LN_10;
    logarithm.abs().log10() as i32
}

/// Returns the first digit to the base of 10000 of the difference from one, and its place, for
/// numbers from 0.9 to 1.1.
fn distance_from_one(value: FiniteParts<'_>) -> Option<(i32, i64)> {
    let (weight, digit) = leading_digits(value, 1);
    let is_near = weight == 0 && digit == 1 || weight == -1 && digit >= 9_000;
    if !is_near {
        return None;
    }
    let one = power_big(value.scale().into());
    let difference = value.to_big() - &one;
    let is_far = BigInt::from(difference.magnitude() * 10_u8) > one;
    (!is_far).then(|| leading_digits(FiniteParts::Big(&difference, value.scale()), 1))
}
