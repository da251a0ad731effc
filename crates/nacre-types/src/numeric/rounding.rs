//! Rounding to a scale, and to the precision of a type.

use super::arithmetic::{rescaled_big, rescaled_small};
use super::digits::{
    count_big, count_small, divide_rounded, divide_rounded_big, power_big, power_small,
};
use super::{ExactNumeric, FiniteParts, NUMERIC_SCALE_MAX, NUMERIC_WHOLE_DIGITS_MAX, NumericClass};
use crate::error::ValueError;

/// Bounds of the second argument of `round` and `trunc`; beyond one counts as it.
const RESULT_SCALE_MIN: i32 = -(NUMERIC_WHOLE_DIGITS_MAX as i32) - 1;
const RESULT_SCALE_MAX: i32 = NUMERIC_SCALE_MAX as i32;

/// What happens to the digits that are dropped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DroppedDigits {
    RoundHalfAway,
    Truncate,
}

/// The error of a value with more digits before the point than its type.
pub(super) fn field_overflow(precision: i32, scale: i32) -> ValueError {
    let bound = match precision - scale {
        0 => "1".to_owned(),
        digits => format!("10^{digits}"),
    };
    refused(precision, scale, &format!("must round to an absolute value less than {bound}"))
}

fn refused(precision: i32, scale: i32, reason: &str) -> ValueError {
    let detail = format!("A field with precision {precision}, scale {scale} {reason}.");
    ValueError::out_of_range("numeric field overflow").with_detail(detail)
}

impl ExactNumeric {
    /// Rounds a half away from zero to `scale` digits behind the point, or, if it is negative, to
    /// a power of ten before it. The result shows `max(scale, 0)` digits.
    ///
    /// # Errors
    /// 22003 beyond the limits of the type.
    pub fn round(&self, scale: i32) -> Result<Self, ValueError> {
        let scale = scale.clamp(RESULT_SCALE_MIN, RESULT_SCALE_MAX);
        self.rescale(scale, DroppedDigits::RoundHalfAway)
    }

    /// Drops the digits behind `scale`; as [`ExactNumeric::round`] in all else.
    ///
    /// # Errors
    /// 22003 beyond the limits of the type.
    pub fn truncate(&self, scale: i32) -> Result<Self, ValueError> {
        let scale = scale.clamp(RESULT_SCALE_MIN, RESULT_SCALE_MAX);
        self.rescale(scale, DroppedDigits::Truncate)
    }

    /// Rounds up to a whole number.
    ///
    /// # Errors
    /// 22003 beyond the limits of the type.
    pub fn ceil(&self) -> Result<Self, ValueError> {
        let truncated = self.rescale(0, DroppedDigits::Truncate)?;
        if &truncated < self { truncated.add(&Self::ONE) } else { Ok(truncated) }
    }

    /// Rounds down to a whole number.
    ///
    /// # Errors
    /// 22003 beyond the limits of the type.
    pub fn floor(&self) -> Result<Self, ValueError> {
        let truncated = self.rescale(0, DroppedDigits::Truncate)?;
        if &truncated > self { truncated.subtract(&Self::ONE) } else { Ok(truncated) }
    }

    /// Makes 10^exponent; a negative exponent shows that many digits behind the point.
    ///
    /// # Errors
    /// 22003 beyond the limits of the type.
    pub fn power_of_ten(exponent: i32) -> Result<Self, ValueError> {
        match exponent {
            0..=131_071 => Self::from_big(power_big(exponent.unsigned_abs()), 0),
            -16_383..0 => Self::from_scaled(1, exponent.unsigned_abs() as u16),
            _ => Err(super::overflow()),
        }
    }

    /// Rounds to `numeric(precision, scale)`.
    ///
    /// # Errors
    /// 22003 if the rounded value has more digits than the type, or is infinite.
    pub fn with_precision(&self, precision: i32, scale: i32) -> Result<Self, ValueError> {
        if self.is_nan() {
            return Ok(Self::NAN);
        }
        if self.is_infinite() {
            return Err(refused(precision, scale, "cannot hold an infinite value"));
        }
        let whole_digits_max = precision - scale;
        let too_large = || field_overflow(precision, scale);
        // What is too large is found before zeros are appended to it.
        if self.whole_digits().is_some_and(|digits| digits > whole_digits_max) {
            let rounded = self.rescale(scale, DroppedDigits::RoundHalfAway)?;
            if !rounded.is_zero() {
                return Err(too_large());
            }
            return Ok(rounded);
        }
        let rounded = self.rescale(scale, DroppedDigits::RoundHalfAway)?;
        match rounded.whole_digits() {
            Some(digits) if digits > whole_digits_max => Err(too_large()),
            _ => Ok(rounded),
        }
    }

    /// Returns the place of the first digit before the point, negative for zeros behind it; `None`
    /// for zero and what is not finite.
    fn whole_digits(&self) -> Option<i32> {
        let NumericClass::Finite(parts) = self.class() else { return None };
        let digits = match parts {
            FiniteParts::Small(unscaled, _) => count_small(unscaled),
            FiniteParts::Big(unscaled, _) => count_big(unscaled),
        };
        (digits > 0).then(|| digits as i32 - i32::from(parts.scale()))
    }

    fn rescale(&self, scale: i32, dropped: DroppedDigits) -> Result<Self, ValueError> {
        let NumericClass::Finite(parts) = self.class() else { return Ok(self.clone()) };
        let own = i32::from(parts.scale());
        // A scale of the type fits.
        let shown = scale.max(0) as u16;
        if scale >= own {
            if let FiniteParts::Small(unscaled, from) = parts
                && let Some(unscaled) = rescaled_small(unscaled, from, shown)
            {
                return Self::from_scaled(unscaled, shown);
            }
            return Self::from_big(rescaled_big(parts, shown), shown);
        }
        let cut = (own - scale).unsigned_abs();
        // Zeros that stand for the digits before the point that were cut.
        let filled = scale.min(0).unsigned_abs();
        if let FiniteParts::Small(unscaled, _) = parts
            && let (Some(unit), Some(fill)) = (power_small(cut), power_small(filled))
        {
            let kept = match dropped {
                DroppedDigits::RoundHalfAway => divide_rounded(unscaled, unit),
                DroppedDigits::Truncate => unscaled / unit,
            };
            if let Some(unscaled) = kept.checked_mul(fill) {
                return Self::from_scaled(unscaled, shown);
            }
        }
        let (value, unit) = (parts.to_big(), power_big(cut));
        let kept = match dropped {
            DroppedDigits::RoundHalfAway => divide_rounded_big(&value, &unit),
            DroppedDigits::Truncate => value / unit,
        };
        Self::from_big(kept * power_big(filled), shown)
    }
}
