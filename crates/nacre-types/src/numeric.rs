//! Exact numbers with PostgreSQL's `numeric` semantics.
//!
//! 1. A finite value is `unscaled / 10^scale`; the scale is also the number of digits shown, so
//!    that `1.0` and `1.00` are equal and print differently.
//! 2. Values whose unscaled part fits an `i128` take no memory of their own; sums, products and
//!    quotients of columns stay there. Larger ones are a big integer.
//! 3. `NaN` and both infinities are values; NaN equals itself and is greater than all others.
//!
//! # Invariants
//! 1. The big form is used only for values that do not fit the small one.
//! 2. `scale <= 16383`; a value has at most 131072 digits before the point.

mod aggregate;
mod arithmetic;
mod binary;
mod convert;
mod digits;
mod division;
mod fixed_point;
mod logarithm;
mod order;
mod power;
mod root;
mod rounding;
#[cfg(test)]
mod tests;
mod text;

use num_bigint::{BigInt, Sign};

use crate::error::ValueError;

pub use aggregate::NumericSum;

/// Most digits behind the point.
pub const NUMERIC_SCALE_MAX: u16 = 16_383;

/// Most digits before the point.
pub const NUMERIC_WHOLE_DIGITS_MAX: usize = 131_072;

/// A value of type `numeric`.
#[derive(Clone)]
pub struct ExactNumeric {
    repr: NumericRepr,
}

#[derive(Clone)]
enum NumericRepr {
    Small { unscaled: i128, scale: u16 },
    Big { unscaled: Box<BigInt>, scale: u16 },
    NotANumber,
    PositiveInfinity,
    NegativeInfinity,
}

/// The finite part of a value, for arithmetic.
#[derive(Clone, Copy)]
enum FiniteParts<'a> {
    Small(i128, u16),
    Big(&'a BigInt, u16),
}

/// A value as its class: what sums of infinities and the like depend on.
#[derive(Clone, Copy)]
enum NumericClass<'a> {
    Finite(FiniteParts<'a>),
    NotANumber,
    /// -1 or 1.
    Infinity(i8),
}

impl FiniteParts<'_> {
    fn scale(self) -> u16 {
        match self {
            Self::Small(_, scale) | Self::Big(_, scale) => scale,
        }
    }

    fn to_big(self) -> BigInt {
        match self {
            Self::Small(unscaled, _) => BigInt::from(unscaled),
            Self::Big(unscaled, _) => unscaled.clone(),
        }
    }

    /// Returns -1, 0 or 1.
    fn signum(self) -> i8 {
        match self {
            Self::Small(unscaled, _) => unscaled.signum() as i8,
            Self::Big(unscaled, _) => match unscaled.sign() {
                Sign::Minus => -1,
                Sign::NoSign => 0,
                Sign::Plus => 1,
            },
        }
    }

    fn is_zero(self) -> bool {
        self.signum() == 0
    }
}

impl ExactNumeric {
    pub const NAN: Self = Self { repr: NumericRepr::NotANumber };
    pub const INFINITY: Self = Self { repr: NumericRepr::PositiveInfinity };
    pub const NEGATIVE_INFINITY: Self = Self { repr: NumericRepr::NegativeInfinity };
    pub const ZERO: Self = Self::small(0, 0);
    pub const ONE: Self = Self::small(1, 0);

    const fn small(unscaled: i128, scale: u16) -> Self {
        Self { repr: NumericRepr::Small { unscaled, scale } }
    }

    /// Makes `unscaled / 10^scale`, which shows `scale` digits behind the point.
    ///
    /// # Errors
    /// 22003 for a scale above [`NUMERIC_SCALE_MAX`].
    pub fn from_scaled(unscaled: i128, scale: u16) -> Result<Self, ValueError> {
        match scale {
            ..=NUMERIC_SCALE_MAX => Ok(Self::small(unscaled, scale)),
            _ => Err(overflow()),
        }
    }

    /// Makes `unscaled / 10^scale` of any size.
    ///
    /// # Errors
    /// 22003 beyond the limits of the type.
    pub fn from_big(unscaled: BigInt, scale: u16) -> Result<Self, ValueError> {
        if let Ok(small) = i128::try_from(&unscaled) {
            return Self::from_scaled(small, scale);
        }
        if scale > NUMERIC_SCALE_MAX {
            return Err(overflow());
        }
        // Fewer bits than three for each digit cannot pass the limit, and need no count.
        let digits_max = NUMERIC_WHOLE_DIGITS_MAX + usize::from(scale);
        if unscaled.bits() >= 3 * digits_max as u64 && digits::count_big(&unscaled) > digits_max {
            return Err(overflow());
        }
        Ok(Self { repr: NumericRepr::Big { unscaled: Box::new(unscaled), scale } })
    }

    /// Returns unscaled value and scale of a finite value that fits.
    pub fn to_scaled(&self) -> Option<(i128, u16)> {
        match self.repr {
            NumericRepr::Small { unscaled, scale } => Some((unscaled, scale)),
            _ => None,
        }
    }

    /// Returns the value as an integer with `scale` digits behind the point, as a column of
    /// `numeric(p, scale)` keeps it; `None` if it does not fit, is not finite or has other digits.
    pub fn to_unscaled(&self, scale: u16) -> Option<i128> {
        let (unscaled, own) = self.to_scaled()?;
        if own <= scale {
            return unscaled.checked_mul(digits::power_small(u32::from(scale - own))?);
        }
        let unit = digits::power_small(u32::from(own - scale))?;
        (unscaled % unit == 0).then(|| unscaled / unit)
    }

    /// Returns the digits shown behind the point; `None` unless finite.
    pub fn scale(&self) -> Option<u16> {
        match self.class() {
            NumericClass::Finite(parts) => Some(parts.scale()),
            _ => None,
        }
    }

    pub fn is_nan(&self) -> bool {
        matches!(self.repr, NumericRepr::NotANumber)
    }

    pub fn is_infinite(&self) -> bool {
        matches!(self.repr, NumericRepr::PositiveInfinity | NumericRepr::NegativeInfinity)
    }

    pub fn is_finite(&self) -> bool {
        matches!(self.class(), NumericClass::Finite(_))
    }

    pub fn is_zero(&self) -> bool {
        matches!(self.class(), NumericClass::Finite(parts) if parts.is_zero())
    }

    /// Returns -1, 0 or 1; `None` for NaN.
    pub fn signum(&self) -> Option<i8> {
        match self.class() {
            NumericClass::Finite(parts) => Some(parts.signum()),
            NumericClass::Infinity(sign) => Some(sign),
            NumericClass::NotANumber => None,
        }
    }

    fn class(&self) -> NumericClass<'_> {
        match &self.repr {
            NumericRepr::Small { unscaled, scale } => {
                NumericClass::Finite(FiniteParts::Small(*unscaled, *scale))
            }
            NumericRepr::Big { unscaled, scale } => {
                NumericClass::Finite(FiniteParts::Big(unscaled, *scale))
            }
            NumericRepr::NotANumber => NumericClass::NotANumber,
            NumericRepr::PositiveInfinity => NumericClass::Infinity(1),
            NumericRepr::NegativeInfinity => NumericClass::Infinity(-1),
        }
    }

    /// Makes the infinity with the sign of a product or quotient; NaN for a sign of zero.
    fn infinity(sign: i8) -> Self {
        match sign {
            0 => Self::NAN,
            ..0 => Self::NEGATIVE_INFINITY,
            _ => Self::INFINITY,
        }
    }
}

/// The error of a value beyond the limits of the type.
fn overflow() -> ValueError {
    ValueError::out_of_range("value overflows numeric format")
}
