//! Restrictions: the conditions on one column that a scan can decide by itself.
//!
//! [`may_match`] decides for a whole chunk by its aggregates; [`select`](crate::kernel::select)
//! for the rows of a block.
//!
//! # Invariants
//! 1. A null row matches [`Restriction::IsNull`] and nothing else.
//! 2. Strings compare bytewise. Floats compare as in PostgreSQL: NaN equals itself and is above all
//!    other values; -0 equals 0.
//! 3. `may_match` is false only if no row matches, whatever was truncated or left out.
//!
//! # Source
//! [Muehlbauer16 section 3] SARGable restrictions evaluated in scans.

use std::cmp::Ordering;
use std::fmt;

use crate::{Bound, Sma};

/// A comparison operator of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl CompareOp {
    /// Tells whether `left op right` holds, given how they are ordered.
    #[inline]
    pub fn holds(self, left_to_right: Ordering) -> bool {
        match self {
            Self::Eq => left_to_right == Ordering::Equal,
            Self::Ne => left_to_right != Ordering::Equal,
            Self::Lt => left_to_right == Ordering::Less,
            Self::Le => left_to_right != Ordering::Greater,
            Self::Gt => left_to_right == Ordering::Greater,
            Self::Ge => left_to_right != Ordering::Less,
        }
    }

    /// Returns the operator for exchanged sides.
    #[must_use]
    pub fn flipped(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            Self::Eq | Self::Ne => self,
        }
    }
}

impl fmt::Display for CompareOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Eq => "=",
            Self::Ne => "<>",
            Self::Lt => "<",
            Self::Le => "<=",
            Self::Gt => ">",
            Self::Ge => ">=",
        })
    }
}

/// What a column is compared with; never null.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// For whole-number columns: booleans as 0 and 1, decimals unscaled at the column's scale,
    /// dates and timestamps as they are stored.
    Int(i128),
    /// For `real` and `double precision` columns.
    Float(f64),
    /// For string columns; for `char(n)` without trailing blanks.
    Bytes(Vec<u8>),
}

impl Constant {
    /// Orders constants of one class, as columns of it are ordered; `None` for two classes.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(right)),
            (Self::Float(left), Self::Float(right)) => Some(compare_floats(*left, *right)),
            (Self::Bytes(left), Self::Bytes(right)) => Some(left.cmp(right)),
            _ => None,
        }
    }
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Bytes(value) => write!(f, "'{}'", value.escape_ascii()),
        }
    }
}

/// Orders floats as PostgreSQL does: NaN equals itself and is above all others, -0 equals 0.
#[inline]
pub fn compare_floats(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| left.is_nan().cmp(&right.is_nan()))
}

/// A condition on one column.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Restriction {
    /// `column op value`.
    Compare { op: CompareOp, value: Constant },
    /// `column between low and high`, both included; matches nothing if `low` is above `high`.
    Between { low: Constant, high: Constant },
    /// `column in (values)`; an empty set matches nothing.
    InSet(Vec<Constant>),
    /// `column is null`.
    IsNull,
    /// `column is not null`.
    IsNotNull,
}

impl fmt::Display for Restriction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare { op, value } => write!(f, "{op} {value}"),
            Self::Between { low, high } => write!(f, "between {low} and {high}"),
            Self::InSet(values) => {
                f.write_str("in (")?;
                for (index, value) in values.iter().enumerate() {
                    write!(f, "{}{value}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
            Self::IsNull => f.write_str("is null"),
            Self::IsNotNull => f.write_str("is not null"),
        }
    }
}

/// Tells whether some row of a chunk with these aggregates may match.
///
/// A constant of another class than the column's may match: the caller decides elsewhere.
///
/// ```
/// use nacre_column::{Bound, CompareOp, Constant, Restriction, Sma, may_match};
///
/// let (min, max) = (Some(Bound::Int(10)), Some(Bound::Int(20)));
/// let sma = Sma { rows: 5, min, max, ..Sma::empty() };
/// let above = |value| Restriction::Compare { op: CompareOp::Gt, value: Constant::Int(value) };
/// assert!(may_match(&sma, &above(19)));
/// assert!(!may_match(&sma, &above(20)));
/// ```
pub fn may_match(sma: &Sma, restriction: &Restriction) -> bool {
    let has_value = sma.null_count < sma.rows;
    match restriction {
        Restriction::IsNull => sma.null_count > 0,
        Restriction::IsNotNull => has_value,
        Restriction::Compare { op, value } => has_value && may_compare(sma, *op, value),
        Restriction::Between { low, high } => {
            has_value
                && may_compare(sma, CompareOp::Ge, low)
                && may_compare(sma, CompareOp::Le, high)
        }
        Restriction::InSet(values) => {
            has_value && values.iter().any(|value| may_compare(sma, CompareOp::Eq, value))
        }
    }
}

fn may_compare(sma: &Sma, op: CompareOp, value: &Constant) -> bool {
    match (value, sma.min, sma.max) {
        (Constant::Int(value), Some(Bound::Int(min)), Some(Bound::Int(max))) => {
            in_range(op, min.cmp(value), max.cmp(value))
        }
        (Constant::Float(value), Some(Bound::Float(min)), Some(Bound::Float(max))) => {
            in_range(op, compare_floats(min, *value), compare_floats(max, *value))
                || sma.has_nan && op.holds(compare_floats(f64::NAN, *value))
        }
        (Constant::Float(value), None, None) if sma.has_nan => {
            op.holds(compare_floats(f64::NAN, *value))
        }
        (
            Constant::Bytes(value),
            Some(Bound::Bytes { prefix: min, is_exact: is_min_exact }),
            Some(Bound::Bytes { prefix: max, is_exact: is_max_exact }),
        ) => match (
            order_of_start(min.as_bytes(), is_min_exact, value),
            order_of_start(max.as_bytes(), is_max_exact, value),
        ) {
            (Some(min), Some(max)) => in_range(op, min, max),
            // Unknown: each way of it that is possible.
            (min, max) => {
                let either = [Ordering::Less, Ordering::Greater];
                let ways = |known: Option<Ordering>| known.map_or(either, |known| [known; 2]);
                let maxes = ways(max);
                ways(min).into_iter().any(|min| maxes.iter().any(|max| in_range(op, min, *max)))
            }
        },
        _ => true,
    }
}

/// Tells whether a value from min to max may satisfy `value op constant`, given how min and max
/// are ordered to the constant.
fn in_range(op: CompareOp, min: Ordering, max: Ordering) -> bool {
    match op {
        CompareOp::Eq => min != Ordering::Greater && max != Ordering::Less,
        CompareOp::Ne => min != Ordering::Equal || max != Ordering::Equal,
        CompareOp::Lt | CompareOp::Le => op.holds(min),
        CompareOp::Gt | CompareOp::Ge => op.holds(max),
    }
}

/// Orders a string, of which only the start is known unless `is_exact`, to `value`; `None` if that
/// depends on the rest. The rest is not empty, so the string is never equal to its start.
fn order_of_start(start: &[u8], is_exact: bool, value: &[u8]) -> Option<Ordering> {
    if is_exact {
        return Some(start.cmp(value));
    }
    if value.len() > start.len() && value.starts_with(start) {
        // Equality with a longer value is possible too: callers try both sides, and a chunk that
        // may have less or more may have it.
        return None;
    }
    Some(if start >= value { Ordering::Greater } else { Ordering::Less })
}

#[cfg(test)]
mod tests {
    use super::*;
    use CompareOp::{Eq, Ge, Gt, Le, Lt, Ne};

    const OPS: [CompareOp; 6] = [Eq, Ne, Lt, Le, Gt, Ge];

    fn string_sma(min: &[u8], max: &[u8]) -> Sma {
        let (min, max) = (Some(Bound::of_bytes(min)), Some(Bound::of_bytes(max)));
        Sma { rows: 2, min, max, ..Sma::empty() }
    }

    fn ops_that_may_match(sma: &Sma, value: &Constant) -> Vec<CompareOp> {
        let may = |op: &CompareOp| {
            may_match(sma, &Restriction::Compare { op: *op, value: value.clone() })
        };
        OPS.into_iter().filter(may).collect()
    }

    #[test]
    fn string_equal_to_a_truncated_bound_may_match() {
        let long = [b'x'; 30];
        let sma = string_sma(&long, &long);
        for value in [&long[..], &long[..25], &[b'x'; 40]] {
            assert_eq!(ops_that_may_match(&sma, &Constant::Bytes(value.to_vec())), OPS);
        }
    }

    #[test]
    fn string_is_above_its_own_truncated_start() {
        let sma = string_sma(&[b'x'; 30], &[b'x'; 30]);
        let start = Constant::Bytes(vec![b'x'; 24]);
        assert_eq!(ops_that_may_match(&sma, &start), [Ne, Gt, Ge]);
        let below = Constant::Bytes(b"xx".to_vec());
        assert_eq!(ops_that_may_match(&sma, &below), [Ne, Gt, Ge]);
        let above = Constant::Bytes(b"xy".to_vec());
        assert_eq!(ops_that_may_match(&sma, &above), [Ne, Lt, Le]);
    }

    #[test]
    fn exact_string_bounds_are_sharp() {
        let sma = string_sma(b"b", b"d");
        let ops = |value: &[u8]| ops_that_may_match(&sma, &Constant::Bytes(value.to_vec()));
        assert_eq!(ops(b"a"), [Ne, Gt, Ge]);
        assert_eq!(ops(b"b"), [Eq, Ne, Le, Gt, Ge]);
        assert_eq!(ops(b"d"), [Eq, Ne, Lt, Le, Ge]);
        assert_eq!(ops(b"d\0"), [Ne, Lt, Le]);
    }

    #[test]
    fn nan_is_above_everything_and_equal_to_itself() {
        let bound = |value| Some(Bound::Float(value));
        let (min, max) = (bound(1.0), bound(2.0));
        let plain = Sma { rows: 3, min, max, ..Sma::empty() };
        let with_nan = Sma { has_nan: true, ..plain };
        let only_nan = Sma { min: None, max: None, ..with_nan };
        let nan = Constant::Float(f64::NAN);
        assert_eq!(ops_that_may_match(&plain, &nan), [Ne, Lt, Le]);
        assert_eq!(ops_that_may_match(&with_nan, &nan), [Eq, Ne, Lt, Le, Ge]);
        assert_eq!(ops_that_may_match(&only_nan, &nan), [Eq, Le, Ge]);
        assert_eq!(ops_that_may_match(&only_nan, &Constant::Float(1.0)), [Ne, Gt, Ge]);
        assert_eq!(ops_that_may_match(&with_nan, &Constant::Float(9.0)), [Ne, Lt, Le, Gt, Ge]);
    }

    #[test]
    fn minus_zero_is_zero() {
        let (min, max) = (Some(Bound::Float(-0.0)), Some(Bound::Float(-0.0)));
        let sma = Sma { rows: 1, min, max, ..Sma::empty() };
        assert_eq!(ops_that_may_match(&sma, &Constant::Float(0.0)), [Eq, Le, Ge]);
    }

    #[test]
    fn only_nulls_match_only_is_null() {
        let sma = Sma { rows: 4, null_count: 4, ..Sma::empty() };
        assert!(may_match(&sma, &Restriction::IsNull));
        assert!(!may_match(&sma, &Restriction::IsNotNull));
        assert_eq!(ops_that_may_match(&sma, &Constant::Int(0)), []);
        assert!(!may_match(&sma, &Restriction::InSet(vec![Constant::Int(0)])));
    }

    #[test]
    fn other_class_may_always_match() {
        let (min, max) = (Some(Bound::Int(1)), Some(Bound::Int(1)));
        let sma = Sma { rows: 1, min, max, ..Sma::empty() };
        assert_eq!(ops_that_may_match(&sma, &Constant::Float(7.0)), OPS);
    }

    #[test]
    fn empty_set_matches_nothing() {
        let (min, max) = (Some(Bound::Int(1)), Some(Bound::Int(1)));
        let sma = Sma { rows: 1, min, max, ..Sma::empty() };
        assert!(!may_match(&sma, &Restriction::InSet(Vec::new())));
        assert!(may_match(&sma, &Restriction::InSet(vec![Constant::Int(5), Constant::Int(1)])));
    }

    #[test]
    fn restriction_reads_as_sql() {
        let value = Constant::Bytes(b"a".to_vec());
        assert_eq!(Restriction::Compare { op: Le, value: value.clone() }.to_string(), "<= 'a'");
        assert_eq!(Restriction::InSet(vec![value, Constant::Int(1)]).to_string(), "in ('a', 1)");
    }
}
