//! Square root.

use super::arithmetic::rescaled_big;
use super::digits::power_small;
use super::{ExactNumeric, FiniteParts, NumericClass};
use crate::error::ValueError;

/// Bits of a number whose root is found with words of 128 bits.
const WORD_ROOT_BITS: u32 = 170;

impl ExactNumeric {
    /// Returns the square root, rounded to `scale` digits behind the point.
    ///
    /// ```text
    /// 2 at scale 4   floor(sqrt(2 * 10^10)) = 141421   1.4142
    /// ```
    ///
    /// # Errors
    /// 22023 for a number below zero, 22003 beyond the limits of the type.
    pub fn square_root(&self, scale: u16) -> Result<Self, ValueError> {
        if self.signum() == Some(-1) {
            let message = "cannot take square root of a negative number";
            return Err(ValueError::invalid_parameter(message));
        }
        let NumericClass::Finite(parts) = self.class() else { return Ok(self.clone()) };
        if let FiniteParts::Small(unscaled, own) = parts
            && let Some(power) = (2 * u32::from(scale)).checked_sub(own.into())
            && let Some(unit) = power_small(power)
            && let Some(root) = rounded_root(unscaled.unsigned_abs(), unit.unsigned_abs())
        {
            return Self::from_scaled(root as i128, scale);
        }
        root_of_any_size(parts, scale)
    }
}

fn root_of_any_size(parts: FiniteParts<'_>, scale: u16) -> Result<ExactNumeric, ValueError> {
    // With one digit more than is shown: the rest does not change how that is rounded.
    let digits = scale.saturating_add(1).max(parts.scale().div_ceil(2));
    let Some(squared_scale) = digits.checked_mul(2) else {
        return Err(ValueError::out_of_range("value overflows numeric format"));
    };
    let root = rescaled_big(parts, squared_scale).sqrt();
    ExactNumeric::from_big(root, digits)?.round(scale.into())
}

/// Returns the rounded root of a product; `None` if that has too many bits.
///
/// 1. The root of floats is off by less than 2^-50 of it: by less than 2^35, and its square by less
///    than 2^121. So words that wrap have the difference to the product.
/// 2. One step of Newton's method leaves an error of a few units.
/// 3. A root is rounded up if the rest is greater than it: (r + 1/2)^2 = r^2 + r + 1/4.
fn rounded_root(one: u128, other: u128) -> Option<u128> {
    let bits = 256 - one.leading_zeros() - other.leading_zeros();
    if bits > WORD_ROOT_BITS {
        return None;
    }
    let mut root = ((one as f64).sqrt() * (other as f64).sqrt()) as i128;
    let product = one.wrapping_mul(other) as i128;
    let mut rest = product.wrapping_sub(root.wrapping_mul(root));
    if root > 0 {
        root += rest.div_euclid(2 * root);
        rest = product.wrapping_sub(root.wrapping_mul(root));
    }
    while rest < 0 {
        root -= 1;
        rest += 2 * root + 1;
    }
    while rest > 2 * root {
        rest -= 2 * root + 1;
        root += 1;
    }
    Some((root + i128::from(rest > root)).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::any_scaled;
    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

        #[test]
        fn roots_of_words_are_those_of_any_size((unscaled, own) in any_scaled(), more in 0_u16..9) {
            let unscaled = unscaled.saturating_abs();
            let value = ExactNumeric::from_scaled(unscaled, own).unwrap();
            for scale in [own.div_ceil(2) + more, own, more] {
                let wanted = root_of_any_size(FiniteParts::Small(unscaled, own), scale).unwrap();
                let root = value.square_root(scale).unwrap();
                prop_assert_eq!(root.to_string(), wanted.to_string());
            }
        }

        #[test]
        fn roots_of_squares_are_exact(root in 0_u128..1 << 85, less in 0_u128..3) {
            prop_assume!(root > 1);
            if let Some(squared) = root.checked_mul(root) {
                prop_assert_eq!(rounded_root(squared - less.min(1), 1), Some(root));
                prop_assert_eq!(rounded_root(squared + root, 1), Some(root));
                prop_assert_eq!(rounded_root(squared + root + 1, 1), Some(root + 1));
            } else {
                prop_assert_eq!(rounded_root(root, root), Some(root));
            }
        }
    }
}
