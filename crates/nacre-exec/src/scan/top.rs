//! What a top-k above a scan tells it while the query runs: from which value of the first sort key
//! on rows come too late.
//!
//! 1. The sink of the top-k narrows the [`TopBound`] whenever it has cut its rows to the best ones.
//! 2. The scan has the [`TopFilter`] of the column: it begins with the chunks whose values come
//!    first, leaves out chunks by their aggregates, and compares encoded values before any other
//!    predicate.
//!
//! ```text
//! order by day limit 10       the tenth day so far is 9131: rows with day < 9131 may still come in
//! order by day, id limit 10   rows with day <= 9131 may, as they may have a smaller id
//! ```
//!
//! As the filters of joins ([`super::late`]) it is a hint, and no part of what the query reads.
//!
//! # Concurrency
//! All workers read and narrow one bound; a reader that is late reads rows in vain, no more.

use std::cmp::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

use nacre_column::{Bound, CompareOp, Constant, Restriction, Sma, compare_floats, may_match};

use super::filter::ScanFilter;
use super::predicate::ColumnPredicate;
use crate::value::ScalarValue;

/// How a top-k sorts by its first key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TopOrder {
    pub(crate) is_descending: bool,
    pub(crate) is_nulls_first: bool,
}

/// The first sort key of the last row that a top-k keeps so far.
#[derive(Debug)]
pub(crate) struct TopBound {
    order: TopOrder,
    /// Whether rows with an equal first key may come in, as there are further keys.
    takes_equal: bool,
    /// Written by sinks, read by scans.
    last: RwLock<Option<Arc<TopCondition>>>,
}

/// What a row must have to come in.
#[derive(Debug)]
pub(super) struct TopCondition {
    /// The whole sort key of the last row, in the order of rows.
    order: Vec<u8>,
    /// On values that are not null.
    pub(super) values: Restriction,
    pub(super) takes_nulls: bool,
}

/// The bound of a column of a scan.
#[derive(Debug)]
pub(super) struct TopFilter {
    /// Index in the table.
    pub(super) column: usize,
    pub(super) bound: Arc<TopBound>,
    /// Whether it rests, as a hint that leaves out nulls does.
    pub(super) rest: ScanFilter,
}

impl TopBound {
    pub(crate) fn new(order: TopOrder, takes_equal: bool) -> Self {
        Self { order, takes_equal, last: RwLock::default() }
    }

    /// Notes the last of the rows that a worker keeps: its sort key and the value of its first
    /// column.
    pub(crate) fn narrow(&self, order: &[u8], first: &ScalarValue) {
        let Some((values, takes_nulls)) = self.condition(first) else { return };
        let mut last = self.last.write().unwrap_or_else(PoisonError::into_inner);
        // Keys in order have first columns in order.
        if last.as_ref().is_none_or(|last| order < last.order.as_slice()) {
            let order = order.to_vec();
            *last = Some(Arc::new(TopCondition { order, values, takes_nulls }));
        }
    }

    /// Returns what comes before a value; `None` if all may.
    fn condition(&self, first: &ScalarValue) -> Option<(Restriction, bool)> {
        let TopOrder { is_descending, is_nulls_first } = self.order;
        let value = match first {
            ScalarValue::Null(_) if is_nulls_first => {
                return Some((Restriction::InSet(Vec::new()), self.takes_equal));
            }
            ScalarValue::Null(_) if self.takes_equal => return None,
            ScalarValue::Null(_) => return Some((Restriction::IsNotNull, false)),
            ScalarValue::Bool(value) => Constant::Int((*value).into()),
            ScalarValue::Int(value) => Constant::Int(*value),
            ScalarValue::Float32(value) => Constant::Float((*value).into()),
            ScalarValue::Float64(value) => Constant::Float(*value),
            ScalarValue::Bytes(value) => Constant::Bytes(value.clone()),
        };
        let op = match (is_descending, self.takes_equal) {
            (false, false) => CompareOp::Lt,
            (false, true) => CompareOp::Le,
            (true, false) => CompareOp::Gt,
            (true, true) => CompareOp::Ge,
        };
        Some((Restriction::Compare { op, value }, is_nulls_first))
    }

    /// Returns what rows must have by now; `None` if all may come in.
    pub(super) fn present(&self) -> Option<Arc<TopCondition>> {
        self.last.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl TopCondition {
    /// Whether a row of a chunk with these aggregates may come in.
    pub(super) fn may_pass(&self, sma: &Sma) -> bool {
        self.takes_nulls && sma.null_count > 0 || may_match(sma, &self.values)
    }
}

impl TopFilter {
    pub(super) fn new(column: usize, bound: Arc<TopBound>) -> Self {
        let predicate = ColumnPredicate::restriction(column, Restriction::IsNotNull);
        let rest = ScanFilter::new(ColumnPredicate { is_hint: true, ..predicate });
        Self { column, bound, rest }
    }

    /// Orders chunks by the first of their values in the order of the rows; those that nothing is
    /// known of come last.
    pub(super) fn compare_chunks(&self, left: &Sma, right: &Sma) -> Ordering {
        let TopOrder { is_descending, is_nulls_first } = self.bound.order;
        let has_first_null = |sma: &Sma| is_nulls_first && sma.null_count > 0;
        let first = |sma: &Sma| if is_descending { sma.max } else { sma.min };
        let by_nulls = has_first_null(right).cmp(&has_first_null(left));
        by_nulls.then_with(|| match (first(left), first(right)) {
            (Some(left), Some(right)) if is_descending => compare_bounds(&right, &left),
            (Some(left), Some(right)) => compare_bounds(&left, &right),
            (left, right) => right.is_some().cmp(&left.is_some()),
        })
    }
}

/// Orders bounds of one column.
fn compare_bounds(left: &Bound, right: &Bound) -> Ordering {
    match (left, right) {
        (Bound::Int(left), Bound::Int(right)) => left.cmp(right),
        (Bound::Float(left), Bound::Float(right)) => compare_floats(*left, *right),
        (Bound::Bytes { prefix: left, .. }, Bound::Bytes { prefix: right, .. }) => {
            left.as_bytes().cmp(right.as_bytes())
        }
        _ => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::ValueClass;

    fn bound(is_descending: bool, is_nulls_first: bool, takes_equal: bool) -> TopBound {
        TopBound::new(TopOrder { is_descending, is_nulls_first }, takes_equal)
    }

    fn sma(min: i128, max: i128, null_count: u32) -> Sma {
        let (min, max) = (Some(Bound::Int(min)), Some(Bound::Int(max)));
        Sma { rows: 9, null_count, min, max, ..Sma::empty() }
    }

    fn only_nulls() -> Sma {
        Sma { rows: 9, null_count: 9, ..Sma::empty() }
    }

    /// Which chunks may have rows of a top-k: below, at, above and beside a last value of 10.
    fn passes(bound: &TopBound, last: &ScalarValue) -> [bool; 5] {
        bound.narrow(&[7], last);
        let chunks = [sma(1, 9, 0), sma(10, 10, 0), sma(11, 20, 0), sma(11, 20, 1), only_nulls()];
        chunks.map(|sma| bound.present().is_none_or(|condition| condition.may_pass(&sma)))
    }

    #[test]
    fn chunks_that_come_too_late_are_left_out() {
        let ten = ScalarValue::Int(10);
        let cases = [
            (bound(false, false, false), [true, false, false, false, false]),
            (bound(false, false, true), [true, true, false, false, false]),
            (bound(false, true, false), [true, false, false, true, true]),
            (bound(true, false, false), [false, false, true, true, false]),
            (bound(true, true, true), [false, true, true, true, true]),
        ];
        for (bound, expected) in cases {
            assert_eq!(passes(&bound, &ten), expected, "{bound:?}");
        }
    }

    #[test]
    fn last_row_that_is_null_leaves_out_what_comes_behind_it() {
        let null = ScalarValue::Null(ValueClass::Int);
        let cases = [
            (bound(false, false, false), [true, true, true, true, false]),
            (bound(false, false, true), [true, true, true, true, true]),
            (bound(true, true, false), [false, false, false, false, false]),
            (bound(false, true, true), [false, false, false, true, true]),
        ];
        for (bound, expected) in cases {
            assert_eq!(passes(&bound, &null), expected, "{bound:?}");
        }
    }

    #[test]
    fn bound_only_narrows() {
        let bound = bound(false, false, false);
        bound.narrow(&[5], &ScalarValue::Int(10));
        bound.narrow(&[6], &ScalarValue::Int(12));
        let may_pass = |sma| bound.present().unwrap().may_pass(&sma);
        assert!(!may_pass(sma(11, 11, 0)));
        bound.narrow(&[4], &ScalarValue::Int(3));
        assert!(!may_pass(sma(5, 5, 0)) && may_pass(sma(2, 5, 0)));
    }

    #[test]
    fn chunks_come_in_the_order_of_their_first_values() {
        let chunks = [sma(5, 6, 0), only_nulls(), sma(1, 9, 1), sma(3, 7, 0)];
        let order = |is_descending, is_nulls_first| {
            let bound = Arc::new(bound(is_descending, is_nulls_first, false));
            let filter = TopFilter::new(0, bound);
            let mut order = [0, 1, 2, 3];
            order.sort_by(|left, right| filter.compare_chunks(&chunks[*left], &chunks[*right]));
            order
        };
        assert_eq!(order(false, false), [2, 3, 0, 1]);
        assert_eq!(order(true, false), [2, 3, 0, 1]);
        assert_eq!(order(false, true), [2, 1, 3, 0]);
    }
}
