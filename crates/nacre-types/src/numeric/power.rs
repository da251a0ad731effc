//! Powers and the exponential.
//!
//! 1. A power whose exponent is an integer of 32 bits is a row of products; any other one is
//!    `exp(exponent * ln(base))`.
//! 2. What is computed on the way keeps the digits that PostgreSQL keeps, so that the digits shown
//!    are the same.

use std::f64::consts::LOG10_E;

use num_bigint::BigInt;

use super::digits::{count_big, divide_rounded_big, power_big};
use super::division::{divide_finite, leading_digits};
use super::fixed_point::decimal_exponential;
use super::logarithm::{
    GUARD_DIGITS, SHOWN_DIGITS_MAX, SIGNIFICANT_DIGITS, logarithm_weight, rounded_logarithm,
};
use super::{ExactNumeric, FiniteParts, NUMERIC_WHOLE_DIGITS_MAX, NumericClass, overflow};
use crate::error::ValueError;

/// Most digits of which the place of a result's first one is estimated.
const RESULT_WEIGHT_MAX: f64 = 2_000.0;

/// Exponents of e beyond which a result is too large or zero, and the same with some room for an
/// estimate.
const EXPONENT_MAX: f64 = RESULT_WEIGHT_MAX * 3.0;
const ESTIMATED_EXPONENT_MAX: f64 = RESULT_WEIGHT_MAX * 3.01;

/// Most digits before the point that a power is estimated to have; what is computed is checked.
const ESTIMATED_WEIGHT_MAX: f64 = 3.0 * NUMERIC_WHOLE_DIGITS_MAX as f64;

/// Highest place to the base of 10000.
const WEIGHT_MAX: i64 = NUMERIC_WHOLE_DIGITS_MAX as i64 / 4 - 1;

/// An integer of any size divided by 10^scale; the scale may pass that of the type.
struct ScaledInteger {
    unscaled: BigInt,
    scale: i32,
}

impl ScaledInteger {
    fn of_parts(parts: FiniteParts<'_>) -> Self {
        Self { unscaled: parts.to_big(), scale: parts.scale().into() }
    }

    /// Multiplies and rounds, or appends zeros, to `scale` digits behind the point.
    fn multiply(&self, other: &Self, scale: i32) -> Self {
        let product = &self.unscaled * &other.unscaled;
        Self { unscaled: product, scale: self.scale + other.scale }.rescaled(scale)
    }

    fn rescaled(self, scale: i32) -> Self {
        let unit = power_big((scale - self.scale).unsigned_abs());
        let unscaled = match scale < self.scale {
            true => divide_rounded_big(&self.unscaled, &unit),
            false => self.unscaled * unit,
        };
        Self { unscaled, scale }
    }

    /// Returns the place of the first digit to the base of 10000; 0 for zero.
    fn weight(&self) -> i64 {
        match count_big(&self.unscaled) as i64 {
            0 => 0,
            digits => (digits - i64::from(self.scale) - 1).div_euclid(4),
        }
    }

    /// Returns the nearest double, infinity if it is too large.
    fn to_double(&self) -> f64 {
        format!("{}e-{}", self.unscaled, self.scale).parse().unwrap_or(f64::NAN)
    }

    fn into_numeric(self) -> Result<ExactNumeric, ValueError> {
        ExactNumeric::from_big(self.unscaled, u16::try_from(self.scale).map_err(|_| overflow())?)
    }
}

impl ExactNumeric {
    /// Raises e to the number; the result has PostgreSQL's digits.
    ///
    /// # Errors
    /// 22003 for a result that is too large.
    pub fn exponential(&self) -> Result<Self, ValueError> {
        let NumericClass::Finite(parts) = self.class() else {
            return Ok(if self.signum() == Some(-1) { Self::ZERO } else { self.clone() });
        };
        let value = ScaledInteger::of_parts(parts);
        let weight = (value.to_double() * LOG10_E).clamp(-RESULT_WEIGHT_MAX, RESULT_WEIGHT_MAX);
        let scale = result_scale(weight, parts.scale(), 0);
        exponential_of(&value, scale)?.into_numeric()
    }

    /// Raises to a power; the result has PostgreSQL's digits.
    ///
    /// # Errors
    /// 2201F for a power that is no real number, 22012 for zero to the power of minus one and the
    /// like, 22003 for a result that is too large.
    pub fn power(&self, exponent: &Self) -> Result<Self, ValueError> {
        if self.is_nan() || exponent.is_nan() {
            let is_one = *self == Self::ONE || exponent.is_zero();
            return Ok(if is_one { Self::ONE } else { Self::NAN });
        }
        let exponent_sign = exponent.signum().unwrap_or(0);
        if self.is_zero() && exponent_sign < 0 {
            let message = "zero raised to a negative power is undefined";
            return Err(ValueError::power_argument(message));
        }
        if self.signum() == Some(-1) && !exponent.is_whole() {
            let message = "a negative number raised to a non-integer power yields a complex result";
            return Err(ValueError::power_argument(message));
        }
        match (self.class(), exponent.class()) {
            (NumericClass::Finite(base), NumericClass::Finite(parts)) => {
                match parts_to_i32(parts) {
                    Some(whole) => power_of_integer(base, whole)?,
                    None => power_of_logarithm(base, parts, exponent.is_odd())?,
                }
                .into_numeric()
            }
            _ => Ok(self.infinite_power(exponent, exponent_sign)),
        }
    }

    /// Returns the power if the base or the exponent is infinite, by the rules of POSIX.
    fn infinite_power(&self, exponent: &Self, exponent_sign: i8) -> Self {
        if *self == Self::ONE || exponent_sign == 0 {
            return Self::ONE;
        }
        if self.is_zero() {
            return Self::ZERO;
        }
        if exponent.is_infinite() {
            let magnitude = self.abs();
            return match magnitude.cmp(&Self::ONE) {
                std::cmp::Ordering::Equal => Self::ONE,
                order if order.is_gt() == (exponent_sign > 0) => Self::INFINITY,
                _ => Self::ZERO,
            };
        }
        match (exponent_sign, self.signum()) {
            (..0, _) => Self::ZERO,
            (_, Some(-1)) if exponent.is_odd() => Self::NEGATIVE_INFINITY,
            _ => Self::INFINITY,
        }
    }

    /// Whether nothing but zeros is behind the point; infinities count as whole.
    fn is_whole(&self) -> bool {
        match self.class() {
            NumericClass::Finite(parts) => {
                parts.to_big() % power_big(parts.scale().into()) == BigInt::ZERO
            }
            NumericClass::Infinity(_) => true,
            NumericClass::NotANumber => false,
        }
    }

    /// Whether the number is an odd integer.
    fn is_odd(&self) -> bool {
        let NumericClass::Finite(parts) = self.class() else { return false };
        self.is_whole() && (parts.to_big() / power_big(parts.scale().into())).bit(0)
    }
}

/// Returns the value of a whole number that fits.
fn parts_to_i32(parts: FiniteParts<'_>) -> Option<i32> {
    let (value, unit) = (parts.to_big(), power_big(parts.scale().into()));
    let whole = &value / &unit;
    let whole_value = i32::try_from(&whole).ok()?;
    (whole * unit == value).then_some(whole_value)
}

/// Returns the digits behind the point of a result whose first one stands at `weight`.
fn result_scale(weight: f64, scale: u16, other_scale: u16) -> i32 {
    (SIGNIFICANT_DIGITS - weight as i32)
        .max(scale.into())
        .max(other_scale.into())
        .clamp(0, SHOWN_DIGITS_MAX)
}

/// Returns e^value with `scale` digits behind the point.
fn exponential_of(value: &ScaledInteger, scale: i32) -> Result<ScaledInteger, ValueError> {
    let estimate = value.to_double();
    if estimate >= EXPONENT_MAX {
        return Err(overflow());
    }
    if estimate <= -EXPONENT_MAX {
        return Ok(ScaledInteger { unscaled: BigInt::ZERO, scale });
    }
    let significant = (1 + scale + (estimate * LOG10_E) as i32).max(0) + GUARD_DIGITS;
    let unscaled = decimal_exponential(
        &value.unscaled,
        value.scale.unsigned_abs(),
        scale.unsigned_abs(),
        significant.unsigned_abs(),
    );
    Ok(ScaledInteger { unscaled, scale })
}

/// Raises to a power that is not an integer of 32 bits.
fn power_of_logarithm(
    base: FiniteParts<'_>,
    exponent: FiniteParts<'_>,
    is_odd: bool,
) -> Result<ScaledInteger, ValueError> {
    if base.is_zero() {
        return Ok(ScaledInteger { unscaled: BigInt::ZERO, scale: SIGNIFICANT_DIGITS });
    }
    let magnitude = BigInt::from(base.to_big().magnitude().clone());
    let magnitude = FiniteParts::Big(&magnitude, base.scale());
    let factor = ScaledInteger::of_parts(exponent);
    let product_at = |scale: i32| {
        let scale = scale.max(0);
        let logarithm = ScaledInteger { unscaled: rounded_logarithm(magnitude, scale), scale };
        logarithm.multiply(&factor, scale)
    };
    let logarithm_weight = logarithm_weight(magnitude);
    let estimate = product_at(GUARD_DIGITS - logarithm_weight).to_double();
    if estimate > ESTIMATED_EXPONENT_MAX {
        return Err(overflow());
    }
    if estimate < -ESTIMATED_EXPONENT_MAX {
        return Ok(ScaledInteger { unscaled: BigInt::ZERO, scale: SHOWN_DIGITS_MAX });
    }
    let weight = estimate * LOG10_E;
    let scale = result_scale(weight, base.scale(), exponent.scale());
    let significant = (scale + weight as i32).max(0);
    let product = product_at(significant - logarithm_weight + GUARD_DIGITS);
    let mut result = exponential_of(&product, scale)?;
    if base.signum() < 0 && is_odd {
        result.unscaled = -result.unscaled;
    }
    Ok(result)
}

/// Estimates the place of the first digit of a power; `base` is not zero.
fn power_weight(base: FiniteParts<'_>, exponent: i32) -> f64 {
    // Zeros at the end are no digits.
    let (weight, mut digits) = leading_digits(base, 4);
    let mut dropped = weight * 4 - 12;
    while digits % 10_000 == 0 && digits > 0 {
        digits /= 10_000;
        dropped += 4;
    }
    f64::from(exponent) * ((digits as f64).log10() + f64::from(dropped))
}

/// Raises to a power that is an integer.
fn power_of_integer(base: FiniteParts<'_>, exponent: i32) -> Result<ScaledInteger, ValueError> {
    let scale = SIGNIFICANT_DIGITS.max(base.scale().into()).min(SHOWN_DIGITS_MAX);
    let own = ScaledInteger::of_parts(base);
    match exponent {
        0 => return Ok(ScaledInteger { unscaled: 1.into(), scale: 0 }.rescaled(scale)),
        1 => return Ok(own.rescaled(scale)),
        -1 => return inverse(&own, scale),
        2 => return Ok(own.multiply(&own, scale)),
        _ if base.is_zero() => return Ok(ScaledInteger { unscaled: BigInt::ZERO, scale }),
        _ => {}
    }
    let weight = power_weight(base, exponent);
    if weight > ESTIMATED_WEIGHT_MAX {
        return Err(overflow());
    }
    if weight + 1.0 < -f64::from(scale) {
        return Ok(ScaledInteger { unscaled: BigInt::ZERO, scale });
    }
    let error_digits = f64::from(exponent.unsigned_abs()).ln() as i32;
    let significant = 1 + scale + weight as i32 + error_digits + GUARD_DIGITS;
    match repeated_product(own, exponent.unsigned_abs(), significant) {
        Some(result) if exponent < 0 => inverse(&result, scale),
        Some(result) => Ok(result.rescaled(scale)),
        None if exponent < 0 => Ok(ScaledInteger { unscaled: BigInt::ZERO, scale }),
        None => Err(overflow()),
    }
}

/// Multiplies by the bits of the exponent, keeping `significant` digits; `None` for a result that
/// is too large.
fn repeated_product(base: ScaledInteger, exponent: u32, significant: i32) -> Option<ScaledInteger> {
    // A weight is 32768 at most and a scale doubles from one that the digits bound.
    let kept =
        |weight: i64, scale: i64| (i64::from(significant) - weight * 4).min(scale).max(0) as i32;
    let one = ScaledInteger { unscaled: 1.into(), scale: 0 };
    let mut result = if exponent & 1 == 1 { one.multiply(&base, base.scale) } else { one };
    let mut square = base;
    let mut bits = exponent >> 1;
    while bits > 0 {
        let scale = kept(2 * square.weight(), 2 * i64::from(square.scale));
        square = square.multiply(&square, scale);
        if bits & 1 == 1 {
            let scales = i64::from(square.scale) + i64::from(result.scale);
            result = square.multiply(&result, kept(square.weight() + result.weight(), scales));
        }
        if square.weight() > WEIGHT_MAX || result.weight() > WEIGHT_MAX {
            return None;
        }
        bits >>= 1;
    }
    Some(result)
}

/// Returns one divided by a number that is not zero.
fn inverse(value: &ScaledInteger, scale: i32) -> Result<ScaledInteger, ValueError> {
    let shift = value.scale + scale;
    let dividend = power_big(shift.unsigned_abs());
    let quotient =
        divide_finite(FiniteParts::Big(&dividend, 0), FiniteParts::Big(&value.unscaled, 0), 0)?;
    let NumericClass::Finite(parts) = quotient.class() else { return Err(overflow()) };
    Ok(ScaledInteger { unscaled: parts.to_big(), scale })
}
