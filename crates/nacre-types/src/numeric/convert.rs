//! Numerics from and to integers and floats.

use super::digits::power_small;
use super::{ExactNumeric, NumericClass};
use crate::error::ValueError;

/// Digits that a `real` keeps when it becomes a numeric.
const REAL_DIGITS: usize = 6;

/// Digits that a `double precision` keeps when it becomes a numeric.
const DOUBLE_DIGITS: usize = 15;

/// Up to this integer, and 10^22, doubles are exact, so that one division rounds once.
const EXACT_DOUBLE_MAX: u128 = 1 << 53;
const EXACT_POWER_MAX: u16 = 22;

macro_rules! from_integers {
    ($($integer:ty),*) => {
        $(
            impl From<$integer> for ExactNumeric {
                fn from(value: $integer) -> Self {
                    Self::small(value.into(), 0)
                }
            }
        )*
    };
}

from_integers!(i16, i32, i64, u32, u64, i128);

impl From<f32> for ExactNumeric {
    /// Keeps six digits, as PostgreSQL's cast does.
    fn from(value: f32) -> Self {
        from_float(value.into(), REAL_DIGITS)
    }
}

impl From<f64> for ExactNumeric {
    /// Keeps fifteen digits, as PostgreSQL's cast does.
    fn from(value: f64) -> Self {
        from_float(value, DOUBLE_DIGITS)
    }
}

fn from_float(value: f64, digits: usize) -> ExactNumeric {
    if value.is_nan() {
        return ExactNumeric::NAN;
    }
    if value.is_infinite() {
        return ExactNumeric::infinity(if value > 0.0 { 1 } else { -1 });
    }
    let text = format!("{:.*e}", digits - 1, value);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    // Zeros at the end do not become digits of the scale.
    let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0') } else { mantissa };
    let text = format!("{mantissa}e{exponent}");
    // A double has an exponent within 324, far from the limits.
    ExactNumeric::parse(&text, None).unwrap_or(ExactNumeric::NAN)
}

impl ExactNumeric {
    /// Rounds to a `smallint`.
    ///
    /// # Errors
    /// 22003 outside of its range, 0A000 for NaN and infinities.
    pub fn to_i16(&self) -> Result<i16, ValueError> {
        let value = self.to_whole("smallint")?;
        value
            .and_then(|value| value.try_into().ok())
            .ok_or_else(|| ValueError::range_of("smallint"))
    }

    /// Rounds to an `integer`.
    ///
    /// # Errors
    /// As for [`ExactNumeric::to_i16`].
    pub fn to_i32(&self) -> Result<i32, ValueError> {
        let value = self.to_whole("integer")?;
        value.and_then(|value| value.try_into().ok()).ok_or_else(|| ValueError::range_of("integer"))
    }

    /// Rounds to a `bigint`.
    ///
    /// # Errors
    /// As for [`ExactNumeric::to_i16`].
    pub fn to_i64(&self) -> Result<i64, ValueError> {
        let value = self.to_whole("bigint")?;
        value.and_then(|value| value.try_into().ok()).ok_or_else(|| ValueError::range_of("bigint"))
    }

    /// Rounds to a whole number; `None` if it does not fit.
    fn to_whole(&self, type_name: &str) -> Result<Option<i128>, ValueError> {
        let refuse = |what: &str| {
            Err(ValueError::feature_refused(format!("cannot convert {what} to {type_name}")))
        };
        match self.class() {
            NumericClass::NotANumber => refuse("NaN"),
            NumericClass::Infinity(_) => refuse("infinity"),
            NumericClass::Finite(_) => Ok(self.round(0)?.to_scaled().map(|(value, _)| value)),
        }
    }

    /// Converts to the nearest double.
    ///
    /// # Errors
    /// 22003 for a value that is too large, or too small to differ from zero.
    pub fn to_f64(&self) -> Result<f64, ValueError> {
        if let Some((unscaled, scale)) = self.to_scaled()
            && unscaled.unsigned_abs() <= EXACT_DOUBLE_MAX
            && scale <= EXACT_POWER_MAX
            && let Some(unit) = power_small(scale.into())
        {
            return Ok(unscaled as f64 / unit as f64);
        }
        self.to_float("double precision", |value: &f64| value.is_infinite() || *value == 0.0)
    }

    /// Converts to the nearest `real`.
    ///
    /// # Errors
    /// As for [`ExactNumeric::to_f64`].
    pub fn to_f32(&self) -> Result<f32, ValueError> {
        self.to_float("real", |value: &f32| value.is_infinite() || *value == 0.0)
    }

    fn to_float<F>(&self, type_name: &str, is_lost: impl Fn(&F) -> bool) -> Result<F, ValueError>
    where
        F: std::str::FromStr,
    {
        let text = self.to_string();
        let lost =
            || ValueError::out_of_range(format!("\"{text}\" is out of range for type {type_name}"));
        let value: F = text.parse().map_err(|_| lost())?;
        if self.is_finite() && !self.is_zero() && is_lost(&value) { Err(lost()) } else { Ok(value) }
    }
}
