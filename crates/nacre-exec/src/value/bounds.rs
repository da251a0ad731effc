//! Bounds of whole numbers, and interval arithmetic on them.
//!
//! ```text
//! price     [90100, 10494950]          i32
//! 100 - d   [90, 100]                  i16
//! product   [8109000, 1049495000]      i32: no overflow possible, so no check
//! ```

use crate::value::IntWidth;

/// The least and the greatest value that an expression can have; `min <= max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntBounds {
    min: i128,
    max: i128,
}

/// What a type holds, and its name for the error beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntLimit {
    pub bounds: IntBounds,
    /// As PostgreSQL's message names it: `integer`, `bigint`, `numeric`.
    pub type_name: &'static str,
}

impl IntLimit {
    pub const SMALLINT: Self = Self { bounds: IntBounds::I16, type_name: "smallint" };
    pub const INTEGER: Self = Self { bounds: IntBounds::I32, type_name: "integer" };
    pub const BIGINT: Self = Self { bounds: IntBounds::I64, type_name: "bigint" };
    /// 38 digits, whatever the scale.
    pub const NUMERIC: Self = Self {
        bounds: IntBounds { min: 1 - 10_i128.pow(38), max: 10_i128.pow(38) - 1 },
        type_name: "numeric",
    };
}

impl IntBounds {
    pub const I16: Self = Self { min: i16::MIN as i128, max: i16::MAX as i128 };
    pub const I32: Self = Self { min: i32::MIN as i128, max: i32::MAX as i128 };
    pub const I64: Self = Self { min: i64::MIN as i128, max: i64::MAX as i128 };
    pub const I128: Self = Self { min: i128::MIN, max: i128::MAX };

    /// Makes the bounds from `min` to `max`, in either order.
    pub fn new(min: i128, max: i128) -> Self {
        Self { min: min.min(max), max: min.max(max) }
    }

    /// Makes the bounds of one value.
    pub fn of(value: i128) -> Self {
        Self { min: value, max: value }
    }

    /// Returns the least value.
    pub fn min(self) -> i128 {
        self.min
    }

    /// Returns the greatest value.
    pub fn max(self) -> i128 {
        self.max
    }

    /// Tells whether all of `other` lies inside.
    pub fn contains(self, other: Self) -> bool {
        self.min <= other.min && other.max <= self.max
    }

    /// Returns the narrowest bounds around both.
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Returns what both have in common; `other` itself if nothing.
    pub fn clamp_to(self, other: Self) -> Self {
        let (min, max) = (self.min.max(other.min), self.max.min(other.max));
        if min <= max { Self { min, max } } else { other }
    }

    /// Bounds the sums; `None` if one may lie outside of 128 bits.
    pub fn plus(self, other: Self) -> Option<Self> {
        Some(Self { min: self.min.checked_add(other.min)?, max: self.max.checked_add(other.max)? })
    }

    /// Bounds the differences.
    pub fn minus(self, other: Self) -> Option<Self> {
        Some(Self { min: self.min.checked_sub(other.max)?, max: self.max.checked_sub(other.min)? })
    }

    /// Bounds the products.
    pub fn times(self, other: Self) -> Option<Self> {
        let corners = [
            self.min.checked_mul(other.min)?,
            self.min.checked_mul(other.max)?,
            self.max.checked_mul(other.min)?,
            self.max.checked_mul(other.max)?,
        ];
        let first = Self::of(corners[0]);
        Some(corners.into_iter().fold(first, |all, corner| all.union(Self::of(corner))))
    }

    /// Bounds the sum of up to `count` values, of which there may be none.
    pub fn sum_of(self, count: u64) -> Option<Self> {
        self.union(Self::of(0)).times(Self::new(0, count.into()))
    }

    /// Returns the narrowest width that holds all values.
    pub fn width(self) -> IntWidth {
        let fits = |bounds: Self| bounds.contains(self);
        if fits(Self::I16) {
            IntWidth::I16
        } else if fits(Self::I32) {
            IntWidth::I32
        } else if fits(Self::I64) {
            IntWidth::I64
        } else {
            IntWidth::I128
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

        #[test]
        fn results_lie_within_computed_bounds(
            ends in prop::array::uniform4(-1_000_i128..1_000),
            at in prop::array::uniform2(0.0_f64..=1.0),
        ) {
            let left = IntBounds::new(ends[0], ends[1]);
            let right = IntBounds::new(ends[2], ends[3]);
            let pick = |bounds: IntBounds, at: f64| {
                bounds.min() + ((bounds.max() - bounds.min()) as f64 * at) as i128
            };
            let (l, r) = (pick(left, at[0]), pick(right, at[1]));
            prop_assert!(left.plus(right).unwrap().contains(IntBounds::of(l + r)));
            prop_assert!(left.minus(right).unwrap().contains(IntBounds::of(l - r)));
            prop_assert!(left.times(right).unwrap().contains(IntBounds::of(l * r)));
        }
    }

    #[test]
    fn width_is_the_narrowest_that_holds_the_bounds() {
        assert_eq!(IntBounds::new(-32_768, 32_767).width(), IntWidth::I16);
        assert_eq!(IntBounds::new(0, 32_768).width(), IntWidth::I32);
        assert_eq!(IntBounds::new(i128::from(i32::MIN) - 1, 0).width(), IntWidth::I64);
        assert_eq!(IntBounds::of(1 << 63).width(), IntWidth::I128);
        assert_eq!(IntBounds::of(i128::MAX).plus(IntBounds::of(1)), None);
        assert_eq!(IntBounds::of(i128::MIN).times(IntBounds::of(-1)), None);
    }

    #[test]
    fn sum_of_no_rows_is_within_bounds_too() {
        let bounds = IntBounds::new(5, 7).sum_of(3).unwrap();
        assert_eq!((bounds.min(), bounds.max()), (0, 21));
        let bounds = IntBounds::new(-2, 7).sum_of(3).unwrap();
        assert_eq!((bounds.min(), bounds.max()), (-6, 21));
    }
}
