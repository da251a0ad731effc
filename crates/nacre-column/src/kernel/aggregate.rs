//! Aggregates over the values of a buffer: what a block's [`Sma`](crate::Sma) is made of.

use std::cmp::Ordering;

use nacre_simd::{Flavour, Kernel, Simd};

use crate::Bound;
use crate::buffer::{Bitmap, ByteValues};
use crate::format::dictionary::leading_bytes;

/// Least, greatest and sum of the non-null values of a whole-number column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IntAggregates {
    /// `None` if every row is null.
    pub(crate) range: Option<(i128, i128)>,
    /// `None` if it overflows.
    pub(crate) sum: Option<i128>,
}

/// Aggregates `values`; rows whose bit in `validity` is clear do not count.
pub(crate) fn ints(flavour: Flavour, values: &[i64], validity: Option<&Bitmap>) -> IntAggregates {
    let sums = match validity {
        None => flavour.run(Ints { values }),
        Some(bits) => flavour.run(ValidInts { values, words: bits.words() }),
    };
    let has_value = sums.min <= sums.max;
    IntAggregates {
        range: has_value.then_some((sums.min.into(), sums.max.into())),
        sum: Some((i128::from(sums.high) << 32) + i128::from(sums.low)),
    }
}

/// The sum is kept as that of the upper and that of the lower 32 bits of each value: neither can
/// overflow for up to 2^31 values, and both stay in 64-bit lanes.
#[derive(Clone, Copy)]
struct IntSums {
    min: i64,
    max: i64,
    high: i64,
    low: u64,
}

const NO_INTS: IntSums = IntSums { min: i64::MAX, max: i64::MIN, high: 0, low: 0 };

struct Ints<'a> {
    values: &'a [i64],
}

impl Kernel for Ints<'_> {
    type Output = IntSums;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> IntSums {
        self.values.iter().fold(NO_INTS, |sums, value| IntSums {
            min: sums.min.min(*value),
            max: sums.max.max(*value),
            high: sums.high + (*value >> 32),
            low: sums.low + (*value as u64 & 0xffff_ffff),
        })
    }
}

struct ValidInts<'a> {
    values: &'a [i64],
    words: &'a [u64],
}

impl Kernel for ValidInts<'_> {
    type Output = IntSums;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> IntSums {
        let mut sums = NO_INTS;
        for (values, word) in self.values.chunks(64).zip(self.words) {
            for (bit, value) in values.iter().enumerate() {
                let is_valid = *word >> bit & 1 == 1;
                sums.min = sums.min.min(if is_valid { *value } else { i64::MAX });
                sums.max = sums.max.max(if is_valid { *value } else { i64::MIN });
                let counted = if is_valid { *value } else { 0 };
                sums.high += counted >> 32;
                sums.low += counted as u64 & 0xffff_ffff;
            }
        }
        sums
    }
}

/// Aggregates `values`; rows whose bit in `validity` is clear do not count.
pub(crate) fn wide_ints(values: &[i128], validity: Option<&Bitmap>) -> IntAggregates {
    let mut range: Option<(i128, i128)> = None;
    let mut sum = Some(0_i128);
    for (row, value) in values.iter().enumerate() {
        if validity.is_some_and(|bits| !bits.get(row)) {
            continue;
        }
        range = Some(match range {
            None => (*value, *value),
            Some((min, max)) => (min.min(*value), max.max(*value)),
        });
        sum = sum.and_then(|sum| sum.checked_add(*value));
    }
    IntAggregates { range, sum }
}

/// Returns the least and greatest non-null value that is not NaN, and whether one is NaN.
pub(crate) fn floats(
    values: impl Iterator<Item = f64>,
    validity: Option<&Bitmap>,
) -> (Option<(f64, f64)>, bool) {
    let mut range: Option<(f64, f64)> = None;
    let mut has_nan = false;
    for (row, value) in values.enumerate() {
        if validity.is_some_and(|bits| !bits.get(row)) {
            continue;
        }
        if value.is_nan() {
            has_nan = true;
            continue;
        }
        range = Some(match range {
            None => (value, value),
            Some((min, max)) => {
                (if value < min { value } else { min }, if value > max { value } else { max })
            }
        });
    }
    (range, has_nan)
}

/// Returns the least and greatest non-null string.
pub(crate) fn strings(values: &ByteValues, validity: Option<&Bitmap>) -> Option<(Bound, Bound)> {
    let mut min: Option<(u64, &[u8])> = None;
    let mut max: Option<(u64, &[u8])> = None;
    for row in 0..values.len() {
        if validity.is_some_and(|bits| !bits.get(row)) {
            continue;
        }
        let bytes = values.get(row);
        // Most strings differ from the bounds in the first eight bytes.
        let leading = leading_bytes(bytes);
        if min.is_none_or(|least| order((leading, bytes), least) == Ordering::Less) {
            min = Some((leading, bytes));
        }
        if max.is_none_or(|greatest| order((leading, bytes), greatest) == Ordering::Greater) {
            max = Some((leading, bytes));
        }
    }
    Some((Bound::of_bytes(min?.1), Bound::of_bytes(max?.1)))
}

#[inline]
fn order(left: (u64, &[u8]), right: (u64, &[u8])) -> Ordering {
    left.0.cmp(&right.0).then_with(|| left.1.cmp(right.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_third(len: usize) -> Bitmap {
        let mut bits = Bitmap::default();
        (0..len).for_each(|i| bits.push(i % 3 == 0));
        bits
    }

    #[test]
    fn flavours_agree_on_extreme_values_with_and_without_nulls() {
        let mut values: Vec<i64> = (0..1_000).map(|i| i * 0x0123_4567_89ab - (1 << 40)).collect();
        values.extend([i64::MIN, i64::MAX, i64::MIN, i64::MIN, 0, -1]);
        let validity = every_third(values.len());
        for flavour in Flavour::available() {
            for validity in [None, Some(&validity)] {
                let wide: Vec<i128> = values.iter().map(|value| (*value).into()).collect();
                assert_eq!(ints(flavour, &values, validity), wide_ints(&wide, validity));
            }
        }
    }

    #[test]
    fn no_valid_row_has_no_range_and_sum_zero() {
        let none = IntAggregates { range: None, sum: Some(0) };
        assert_eq!(ints(Flavour::active(), &[], None), none);
        let mut nulls = Bitmap::default();
        nulls.push(false);
        assert_eq!(ints(Flavour::active(), &[0], Some(&nulls)), none);
        assert_eq!(wide_ints(&[0], Some(&nulls)), none);
    }

    #[test]
    fn overflowing_sum_is_none() {
        let sum = wide_ints(&[i128::MAX, 1], None).sum;
        assert_eq!(sum, None);
    }

    #[test]
    fn nan_is_flagged_and_bounds_nothing() {
        let values = [f64::NAN, 1.0, -0.0, f64::INFINITY];
        assert_eq!(floats(values.into_iter(), None), (Some((-0.0, f64::INFINITY)), true));
        assert_eq!(floats([f64::NAN].into_iter(), None), (None, true));
    }

    #[test]
    fn string_bounds_are_bytewise() {
        let mut values = ByteValues::default();
        for value in ["b", "a", "abcdefgh", "abcdefghi", "\u{e9}"] {
            values.push(value.as_bytes());
        }
        let expected = (Bound::of_bytes(b"a"), Bound::of_bytes("\u{e9}".as_bytes()));
        assert_eq!(strings(&values, None), Some(expected));
    }
}
