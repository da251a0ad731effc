//! Square root.

use super::arithmetic::rescaled_big;
use super::{ExactNumeric, NumericClass};
use crate::error::ValueError;

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
        // With one digit more than is shown: the rest does not change how that is rounded.
        let digits = scale.saturating_add(1).max(parts.scale().div_ceil(2));
        let Some(squared_scale) = digits.checked_mul(2) else {
            return Err(ValueError::out_of_range("value overflows numeric format"));
        };
        let root = rescaled_big(parts, squared_scale).sqrt();
        Self::from_big(root, digits)?.round(scale.into())
    }
}
