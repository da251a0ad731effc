//! Tests of one column.

use std::fmt;

use nacre_column::{CompareOp, Constant, Physical, Restriction};

use super::summary::{Summary, hash, int_of, ordered_int};
use crate::value::ValueRef;

/// Most ranges or hashes in one test; more are merged.
const SET_MAX: usize = 256;

/// What a column's value must be. Nulls satisfy nothing but ranges that say so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Test {
    /// A summary from `low` to `high`, both included; none if `low` is above `high`.
    Range { low: u64, high: u64, or_null: bool },
    /// Equal to a value whose summary is not exact.
    Hash { hash: u64, ordered: u64 },
    /// A summary in one of several ranges, which ascend and do not touch.
    Ranges(Box<[(u64, u64)]>),
    /// Equal to one of several values; their summaries lie from `low` to `high`.
    Hashes { hashes: Box<[u64]>, low: u64, high: u64 },
}

/// Where a constant lies among the summaries of a class.
enum Place {
    Below,
    Above,
    At(Summary),
    /// The constant is of another class.
    Unknown,
}

impl Test {
    pub(super) const ANY: Self = Self::Range { low: 0, high: u64::MAX, or_null: true };
    pub(super) const NOT_NULL: Self = Self::Range { low: 0, high: u64::MAX, or_null: false };
    pub(super) const NULL: Self = Self::Range { low: 1, high: 0, or_null: true };
    pub(super) const NEVER: Self = Self::Range { low: 1, high: 0, or_null: false };

    /// Returns a test that every value satisfies that satisfies `restriction`.
    pub(super) fn of(restriction: &Restriction, class: Physical) -> Self {
        match restriction {
            Restriction::IsNull => Self::NULL,
            Restriction::IsNotNull => Self::NOT_NULL,
            Restriction::Compare { op, value } => Self::compare(*op, value, class),
            Restriction::Between { low, high } => Self::compare(CompareOp::Ge, low, class)
                .and(Self::compare(CompareOp::Le, high, class)),
            Restriction::InSet(values) => Self::any_of(values, class),
            // Not known here: it may hold for any value.
            _ => Self::ANY,
        }
    }

    /// Returns the test for one value; nulls are equal to null.
    #[inline]
    pub(super) fn equal(value: ValueRef<'_>) -> Self {
        match Summary::of(value) {
            None => Self::NULL,
            Some(Summary { ordered, is_exact: true }) => {
                Self::Range { low: ordered, high: ordered, or_null: false }
            }
            Some(Summary { ordered, .. }) => Self::Hash { hash: hash(value), ordered },
        }
    }

    fn compare(op: CompareOp, constant: &Constant, class: Physical) -> Self {
        let none_or_all = |is_all| if is_all { Self::NOT_NULL } else { Self::NEVER };
        let is_exact;
        let ordered = match Place::of(constant, class) {
            Place::Unknown => return Self::NOT_NULL,
            Place::Below => return none_or_all(op.holds(std::cmp::Ordering::Greater)),
            Place::Above => return none_or_all(op.holds(std::cmp::Ordering::Less)),
            Place::At(summary) => {
                is_exact = summary.is_exact;
                summary.ordered
            }
        };
        let below = ordered.checked_sub(1).map(|high| (0, high));
        let above = ordered.checked_add(1).map(|low| (low, u64::MAX));
        let ranges = match (op, is_exact) {
            (CompareOp::Eq, true) => vec![(ordered, ordered)],
            (CompareOp::Eq, false) => return Self::Hash { hash: hash_of(constant), ordered },
            (CompareOp::Ne, true) => below.into_iter().chain(above).collect(),
            (CompareOp::Ne, false) => return Self::NOT_NULL,
            (CompareOp::Lt, true) => below.into_iter().collect(),
            (CompareOp::Gt, true) => above.into_iter().collect(),
            (CompareOp::Le, _) | (CompareOp::Lt, false) => vec![(0, ordered)],
            (CompareOp::Ge, _) | (CompareOp::Gt, false) => vec![(ordered, u64::MAX)],
        };
        Self::in_ranges(ranges)
    }

    fn any_of(values: &[Constant], class: Physical) -> Self {
        let mut ranges = Vec::new();
        let mut hashes = Vec::new();
        let mut hashed = Vec::new();
        for value in values {
            match Self::compare(CompareOp::Eq, value, class) {
                Self::Hash { hash, ordered } => {
                    hashes.push(hash);
                    hashed.push((ordered, ordered));
                }
                other => ranges.extend_from_slice(&other.ranges()),
            }
        }
        // Short strings have exact summaries, long ones hashes: one test holds one kind only.
        if hashes.is_empty() || !ranges.is_empty() || hashes.len() > SET_MAX {
            ranges.append(&mut hashed);
            return Self::in_ranges(ranges);
        }
        hashes.sort_unstable();
        hashes.dedup();
        let low = hashed.iter().map(|range| range.0).min().unwrap_or(0);
        let high = hashed.iter().map(|range| range.1).max().unwrap_or(u64::MAX);
        Self::Hashes { hashes: hashes.into(), low, high }
    }

    /// Makes the test for several ranges in any order.
    fn in_ranges(mut ranges: Vec<(u64, u64)>) -> Self {
        ranges.retain(|range| range.0 <= range.1);
        ranges.sort_unstable();
        ranges.dedup_by(|next, last| {
            let do_touch = next.0 <= last.1.saturating_add(1);
            if do_touch {
                last.1 = last.1.max(next.1);
            }
            do_touch
        });
        if ranges.len() > SET_MAX {
            close_gaps(&mut ranges);
        }
        match ranges.as_slice() {
            [] => Self::NEVER,
            [(low, high)] => Self::Range { low: *low, high: *high, or_null: false },
            _ => Self::Ranges(ranges.into()),
        }
    }

    /// Returns a test for what satisfies both; of a hash and a range, the hash.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (hashed @ (Self::Hash { .. } | Self::Hashes { .. }), other)
            | (other, hashed @ (Self::Hash { .. } | Self::Hashes { .. })) => {
                let (low, high) = hashed.bounds();
                let is_possible =
                    other.ranges().iter().any(|range| range.0 <= high && low <= range.1);
                if is_possible { hashed } else { Self::NEVER }
            }
            (left, right) => {
                let or_null = left.or_null() && right.or_null();
                let mut both = Vec::new();
                for left in left.ranges() {
                    for right in right.ranges() {
                        both.push((left.0.max(right.0), left.1.min(right.1)));
                    }
                }
                match Self::in_ranges(both) {
                    Self::Range { low, high, .. } => Self::Range { low, high, or_null },
                    other => other,
                }
            }
        }
    }

    /// Returns one range that covers both tests.
    pub(super) fn hull(&self, other: &Self) -> Self {
        let (left, right) = (self.bounds(), other.bounds());
        let or_null = self.or_null() || other.or_null();
        let (low, high) = match (left.0 > left.1, right.0 > right.1) {
            (true, _) => right,
            (_, true) => left,
            _ => (left.0.min(right.0), left.1.max(right.1)),
        };
        Self::Range { low, high, or_null }
    }

    /// Returns the smallest and the greatest summary; the first is above the second if only nulls
    /// satisfy the test.
    pub(super) fn bounds(&self) -> (u64, u64) {
        match self {
            Self::Range { low, high, .. } | Self::Hashes { low, high, .. } => (*low, *high),
            Self::Hash { ordered, .. } => (*ordered, *ordered),
            Self::Ranges(ranges) => (
                ranges.first().map_or(1, |range| range.0),
                ranges.last().map_or(0, |range| range.1),
            ),
        }
    }

    /// Returns the ranges of summaries that may satisfy the test.
    pub(super) fn ranges(&self) -> Vec<(u64, u64)> {
        match self {
            Self::Ranges(ranges) => ranges.to_vec(),
            _ => vec![self.bounds()],
        }
    }

    pub(super) fn or_null(&self) -> bool {
        matches!(self, Self::Range { or_null: true, .. })
    }

    /// Tells whether the test is for one value.
    pub(super) fn is_point(&self) -> bool {
        match self {
            Self::Range { low, high, or_null } => low == high && !or_null,
            Self::Hash { .. } => true,
            Self::Ranges(_) | Self::Hashes { .. } => false,
        }
    }

    /// Returns how many words of memory the test takes.
    pub(super) fn words(&self) -> usize {
        4 + match self {
            Self::Range { .. } | Self::Hash { .. } => 0,
            Self::Ranges(ranges) => 2 * ranges.len(),
            Self::Hashes { hashes, .. } => hashes.len(),
        }
    }
}

impl Place {
    fn of(constant: &Constant, class: Physical) -> Self {
        let value = match (constant, class) {
            (Constant::Int(value), Physical::Int64) => match i64::try_from(*value) {
                Ok(value) => ValueRef::Int(value),
                Err(_) if *value < 0 => return Self::Below,
                Err(_) => return Self::Above,
            },
            (Constant::Int(_), Physical::Int128)
            | (Constant::Float(_), Physical::Float32 | Physical::Float64)
            | (Constant::Bytes(_), Physical::Bytes) => value_of(constant),
            _ => return Self::Unknown,
        };
        Summary::of(value).map_or(Self::Unknown, Self::At)
    }
}

/// Returns a constant as a value of the widest type of its class.
fn value_of(constant: &Constant) -> ValueRef<'_> {
    match constant {
        Constant::Int(value) => ValueRef::Int128(*value),
        Constant::Float(value) => ValueRef::Float64(*value),
        Constant::Bytes(value) => ValueRef::Bytes(value),
    }
}

fn hash_of(constant: &Constant) -> u64 {
    hash(value_of(constant))
}

/// Closes the smallest gaps between ranges, so that [`SET_MAX`] ranges remain.
fn close_gaps(ranges: &mut Vec<(u64, u64)>) {
    let gap = |pair: &[(u64, u64)]| pair[1].0 - pair[0].1;
    let mut gaps: Vec<(u64, usize)> =
        ranges.windows(2).enumerate().map(|(index, pair)| (gap(pair), index + 1)).collect();
    let kept = SET_MAX - 1;
    gaps.select_nth_unstable_by(kept, |left, right| right.cmp(left));
    let mut borders: Vec<usize> = gaps[..kept].iter().map(|gap| gap.1).collect();
    borders.sort_unstable();
    let starts = [0].into_iter().chain(borders.iter().copied());
    let ends = borders.iter().copied().chain([ranges.len()]);
    let merged = starts.zip(ends).map(|(start, end)| (ranges[start].0, ranges[end - 1].1));
    *ranges = merged.collect();
}

/// A test as text behind a column's name.
pub(super) struct Description<'a> {
    pub(super) test: &'a Test,
    /// Whether summaries are those of whole numbers.
    pub(super) is_int: bool,
}

impl fmt::Display for Description<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lowest, highest) = (ordered_int(i64::MIN), ordered_int(i64::MAX));
        match self.test {
            test if *test == Test::NULL => f.write_str("is null"),
            test if *test == Test::NOT_NULL => f.write_str("is not null"),
            Test::Range { low, high, .. } if self.is_int && low == high => {
                write!(f, "= {}", int_of(*low))
            }
            Test::Range { low, high, .. } if self.is_int && *low == lowest => {
                write!(f, "<= {}", int_of(*high))
            }
            Test::Range { low, high, .. } if self.is_int && *high == highest => {
                write!(f, ">= {}", int_of(*low))
            }
            Test::Range { low, high, .. } if self.is_int => {
                write!(f, "between {} and {}", int_of(*low), int_of(*high))
            }
            Test::Range { low, high, .. } if low != high => f.write_str("in a range"),
            Test::Range { .. } | Test::Hash { .. } => f.write_str("= a value"),
            Test::Ranges(_) | Test::Hashes { .. } => f.write_str("in a set"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(op: CompareOp, value: i128) -> Test {
        Test::of(&Restriction::Compare { op, value: Constant::Int(value) }, Physical::Int64)
    }

    fn text(test: &Test) -> String {
        Description { test, is_int: true }.to_string()
    }

    #[test]
    fn constants_past_64_bits_decide_by_themselves() {
        let huge = i128::from(i64::MAX) + 1;
        assert_eq!(compare(CompareOp::Lt, huge), Test::NOT_NULL);
        assert_eq!(compare(CompareOp::Eq, huge), Test::NEVER);
        assert_eq!(compare(CompareOp::Gt, -huge - 1), Test::NOT_NULL);
        assert_eq!(compare(CompareOp::Lt, i64::MIN.into()), Test::NEVER);
        assert_eq!(compare(CompareOp::Le, i64::MAX.into()), Test::NOT_NULL);
    }

    #[test]
    fn tests_of_one_column_become_one() {
        let between = compare(CompareOp::Gt, 5).and(compare(CompareOp::Lt, 9));
        assert_eq!(text(&between), "between 6 and 8");
        assert_eq!(between.clone().and(compare(CompareOp::Eq, 3)), Test::NEVER);
        let around = between.and(compare(CompareOp::Ne, 7));
        assert_eq!(around.ranges().len(), 2);
        assert_eq!(Test::NULL.and(compare(CompareOp::Ge, 0)), Test::NEVER);
        assert_eq!(Test::ANY.and(Test::NULL), Test::NULL);
    }

    #[test]
    fn long_lists_lose_their_smallest_gaps() {
        let list = (0..1_000).map(|index| Constant::Int(index * 10 + i128::from(index > 500)));
        let test = Test::of(&Restriction::InSet(list.collect()), Physical::Int64);
        let ranges = test.ranges();
        assert_eq!(ranges.len(), SET_MAX);
        assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
        // The one gap of 11 is still there.
        assert!(ranges.iter().any(|range| int_of(range.1) == 5_000));
    }

    #[test]
    fn hull_of_nulls_and_values_takes_both() {
        let hull = Test::NULL.hull(&compare(CompareOp::Eq, 4));
        let four = ordered_int(4);
        assert_eq!(hull, Test::Range { low: four, high: four, or_null: true });
        assert_eq!(text(&Test::NULL), "is null");
        assert_eq!(text(&compare(CompareOp::Le, 4)), "<= 4");
        assert_eq!(text(&compare(CompareOp::Gt, 4)), ">= 5");
    }
}
