//! States of `sum` and `avg`.
//!
//! Integers and decimals of columns are added as unscaled integers, exactly; the few groups whose
//! sum leaves 128 bits go on with a big integer.

use num_bigint::BigInt;

use super::digits::{power_big, power_small};
use super::{ExactNumeric, NumericClass};
use crate::error::ValueError;

/// The sum of numerics, and how many they were.
///
/// States are added in any order with the same result, so that partial ones may be merged.
#[derive(Clone, Debug, Default)]
pub struct NumericSum {
    /// Values added, those that are not finite included.
    count: u64,
    /// The part of the sum at `scale` that fits.
    small: i128,
    /// What went beyond.
    big: Option<Box<BigInt>>,
    /// The largest scale of a value added.
    scale: u16,
    has_nan: bool,
    has_infinity: bool,
    has_negative_infinity: bool,
}

impl NumericSum {
    /// Adds `unscaled / 10^scale`.
    pub fn add_scaled(&mut self, unscaled: i128, scale: u16) {
        self.count += 1;
        self.add_unscaled(unscaled, scale);
    }

    /// Adds a value.
    pub fn add(&mut self, value: &ExactNumeric) {
        match value.class() {
            NumericClass::NotANumber => self.has_nan = true,
            NumericClass::Infinity(1) => self.has_infinity = true,
            NumericClass::Infinity(_) => self.has_negative_infinity = true,
            NumericClass::Finite(parts) => match value.to_scaled() {
                Some((unscaled, scale)) => self.add_unscaled(unscaled, scale),
                None => self.add_big(parts.to_big(), parts.scale()),
            },
        }
        self.count += 1;
    }

    /// Adds the values of another state.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.has_nan |= other.has_nan;
        self.has_infinity |= other.has_infinity;
        self.has_negative_infinity |= other.has_negative_infinity;
        self.add_unscaled(other.small, other.scale);
        if let Some(big) = &other.big {
            self.add_big((**big).clone(), other.scale);
        }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum; `None` of no values.
    ///
    /// # Errors
    /// 22003 beyond the limits of the type.
    pub fn sum(&self) -> Result<Option<ExactNumeric>, ValueError> {
        if self.count == 0 {
            return Ok(None);
        }
        if self.has_nan || (self.has_infinity && self.has_negative_infinity) {
            return Ok(Some(ExactNumeric::NAN));
        }
        if self.has_infinity || self.has_negative_infinity {
            return Ok(Some(ExactNumeric::infinity(if self.has_infinity { 1 } else { -1 })));
        }
        match &self.big {
            None => ExactNumeric::from_scaled(self.small, self.scale).map(Some),
            Some(big) => ExactNumeric::from_big(&**big + self.small, self.scale).map(Some),
        }
    }

    /// Returns the mean with the digits of a division; `None` of no values.
    ///
    /// # Errors
    /// 22003 beyond the limits of the type.
    pub fn average(&self) -> Result<Option<ExactNumeric>, ValueError> {
        match self.sum()? {
            Some(sum) => sum.divide(&ExactNumeric::from(self.count)).map(Some),
            None => Ok(None),
        }
    }

    fn add_unscaled(&mut self, unscaled: i128, scale: u16) {
        self.widen_to(scale);
        let lifted =
            power_small(u32::from(self.scale - scale)).and_then(|unit| unscaled.checked_mul(unit));
        match lifted.and_then(|lifted| self.small.checked_add(lifted)) {
            Some(sum) => self.small = sum,
            None => self.add_big(BigInt::from(unscaled), scale),
        }
    }

    fn add_big(&mut self, unscaled: BigInt, scale: u16) {
        self.widen_to(scale);
        let lifted = unscaled * power_big(u32::from(self.scale - scale));
        match &mut self.big {
            Some(big) => **big += lifted,
            None => self.big = Some(Box::new(lifted)),
        }
    }

    /// Takes a larger scale for what is there.
    fn widen_to(&mut self, scale: u16) {
        if scale <= self.scale {
            return;
        }
        let exponent = u32::from(scale - self.scale);
        if let Some(big) = &mut self.big {
            **big *= power_big(exponent);
        }
        let small = std::mem::take(&mut self.small);
        self.scale = scale;
        match power_small(exponent).and_then(|unit| small.checked_mul(unit)) {
            Some(lifted) => self.small = lifted,
            None => self.add_big(BigInt::from(small) * power_big(exponent), scale),
        }
    }
}
