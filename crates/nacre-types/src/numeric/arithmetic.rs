//! Sum, difference, product, sign.

use num_bigint::BigInt;

use super::digits::{power_big, power_small};
use super::{ExactNumeric, FiniteParts, NUMERIC_SCALE_MAX, NumericClass, NumericRepr};
use crate::error::ValueError;

impl ExactNumeric {
    /// Adds; the result shows the digits of the operand with more of them.
    ///
    /// # Errors
    /// 22003 beyond the limits of the type.
    pub fn add(&self, other: &Self) -> Result<Self, ValueError> {
        match (self.class(), other.class()) {
            (NumericClass::NotANumber, _) | (_, NumericClass::NotANumber) => Ok(Self::NAN),
            (NumericClass::Infinity(one), NumericClass::Infinity(other)) if one != other => {
                Ok(Self::NAN)
            }
            (NumericClass::Infinity(sign), _) | (_, NumericClass::Infinity(sign)) => {
                Ok(Self::infinity(sign))
            }
            (NumericClass::Finite(one), NumericClass::Finite(other)) => add_finite(one, other),
        }
    }

    /// Subtracts; digits as for [`ExactNumeric::add`].
    ///
    /// # Errors
    /// 22003 beyond the limits of the type.
    pub fn subtract(&self, other: &Self) -> Result<Self, ValueError> {
        self.add(&other.negate())
    }

    /// Multiplies; the result shows as many digits as both operands together.
    ///
    /// # Errors
    /// 22003 beyond the limits of the type.
    pub fn multiply(&self, other: &Self) -> Result<Self, ValueError> {
        match (self.class(), other.class()) {
            (NumericClass::NotANumber, _) | (_, NumericClass::NotANumber) => Ok(Self::NAN),
            (NumericClass::Finite(one), NumericClass::Finite(other)) => multiply_finite(one, other),
            _ => {
                let signs = self.signum().zip(other.signum());
                Ok(Self::infinity(signs.map_or(0, |(one, other)| one * other)))
            }
        }
    }

    /// Changes the sign.
    #[must_use]
    pub fn negate(&self) -> Self {
        match &self.repr {
            NumericRepr::NotANumber => Self::NAN,
            NumericRepr::PositiveInfinity => Self::NEGATIVE_INFINITY,
            NumericRepr::NegativeInfinity => Self::INFINITY,
            NumericRepr::Small { unscaled, scale } => match unscaled.checked_neg() {
                Some(unscaled) => Self::small(unscaled, *scale),
                None => Self::big_of(-BigInt::from(*unscaled), *scale),
            },
            // Of 2^127 the negative value fits the small form.
            NumericRepr::Big { unscaled, scale } => Self::big_of(-(**unscaled).clone(), *scale),
        }
    }

    /// Returns the magnitude.
    #[must_use]
    pub fn abs(&self) -> Self {
        match self.signum() {
            Some(-1) => self.negate(),
            _ => self.clone(),
        }
    }

    /// Makes a value within the limits in the form that holds it.
    pub(super) fn big_of(unscaled: BigInt, scale: u16) -> Self {
        match i128::try_from(&unscaled) {
            Ok(small) => Self::small(small, scale),
            Err(_) => Self { repr: NumericRepr::Big { unscaled: Box::new(unscaled), scale } },
        }
    }
}

/// Returns the unscaled value at a scale that is not below its own.
pub(super) fn rescaled_small(unscaled: i128, from: u16, to: u16) -> Option<i128> {
    unscaled.checked_mul(power_small(u32::from(to - from))?)
}

/// As [`rescaled_small`], of any size.
pub(super) fn rescaled_big(parts: FiniteParts<'_>, to: u16) -> BigInt {
    match to - parts.scale() {
        0 => parts.to_big(),
        difference => parts.to_big() * power_big(u32::from(difference)),
    }
}

fn add_finite(one: FiniteParts<'_>, other: FiniteParts<'_>) -> Result<ExactNumeric, ValueError> {
    let scale = one.scale().max(other.scale());
    if let (FiniteParts::Small(left, left_scale), FiniteParts::Small(right, right_scale)) =
        (one, other)
    {
        let sum = rescaled_small(left, left_scale, scale)
            .zip(rescaled_small(right, right_scale, scale))
            .and_then(|(left, right)| left.checked_add(right));
        if let Some(sum) = sum {
            return Ok(ExactNumeric::small(sum, scale));
        }
    }
    ExactNumeric::from_big(rescaled_big(one, scale) + rescaled_big(other, scale), scale)
}

fn multiply_finite(
    one: FiniteParts<'_>,
    other: FiniteParts<'_>,
) -> Result<ExactNumeric, ValueError> {
    let scale = one.scale() + other.scale();
    if let (FiniteParts::Small(left, _), FiniteParts::Small(right, _)) = (one, other)
        && let Some(product) = left.checked_mul(right)
        && scale <= NUMERIC_SCALE_MAX
    {
        return Ok(ExactNumeric::small(product, scale));
    }
    let product = one.to_big() * other.to_big();
    if scale <= NUMERIC_SCALE_MAX {
        return ExactNumeric::from_big(product, scale);
    }
    let unit = power_big(u32::from(scale - NUMERIC_SCALE_MAX));
    ExactNumeric::from_big(super::digits::divide_rounded_big(&product, &unit), NUMERIC_SCALE_MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::any_scaled;
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn sums_and_products_of_128_bits_are_those_of_any_size(
            (left, left_scale) in any_scaled(),
            (right, right_scale) in any_scaled(),
        ) {
            let (one, other) = (BigInt::from(left), BigInt::from(right));
            let big = (FiniteParts::Big(&one, left_scale), FiniteParts::Big(&other, right_scale));
            let small =
                (FiniteParts::Small(left, left_scale), FiniteParts::Small(right, right_scale));
            let sum = add_finite(small.0, small.1).unwrap();
            prop_assert_eq!(sum.to_string(), add_finite(big.0, big.1).unwrap().to_string());
            let product = multiply_finite(small.0, small.1).unwrap();
            let wanted = multiply_finite(big.0, big.1).unwrap();
            prop_assert_eq!(product.to_string(), wanted.to_string());
        }
    }
}
