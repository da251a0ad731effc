//! Filters that a scan gets while the query runs: a join above it knows the keys that it has.
//!
//! They are hints, since the join looks at each key again, and no part of what the query reads:
//! only the plan's predicates are.
//!
//! Keys that all lie in a range are asked for first by that range, on encoded values, in turn with
//! the plan's predicates; the keys of the remaining rows are then looked up.
//!
//! # Concurrency
//! Filters are registered before the scan is shared; what they know is there when the scan's
//! pipeline begins.

use std::fmt;
use std::sync::{Arc, OnceLock};

use nacre_column::{Bound, Constant, Restriction, Sma};

use super::filter::ScanFilter;
use super::predicate::ColumnPredicate;
use crate::vector::{BitVector, ColumnVector};

/// The keys of a join's build side.
pub(crate) trait KeySet: Send + Sync + fmt::Debug {
    /// Whether a key may lie from `min` to `max`.
    fn overlaps(&self, min: i128, max: i128) -> bool;

    /// Returns the least and the greatest key; `None` if that is not known.
    fn range(&self) -> Option<(i128, i128)>;

    /// Whether [`KeySet::select`] costs little enough to be called for each vector.
    fn is_selective(&self) -> bool;

    /// Returns a bit for each row of a column of whole numbers that may be a key.
    fn select(&self, column: &ColumnVector) -> BitVector;
}

/// A filter of an output column.
#[derive(Debug)]
pub(super) struct LateFilter {
    /// By index in the output.
    pub(super) output: usize,
    pub(super) keys: Arc<dyn KeySet>,
    /// Whether it rests, as a hint that leaves out nulls does.
    pub(super) rest: ScanFilter,
    /// The hint that a key lies between the least and the greatest, made when it is first wanted.
    range: OnceLock<Option<ScanFilter>>,
}

impl LateFilter {
    /// Makes a filter of an output column, which is `column` of the table.
    pub(super) fn new(output: usize, column: usize, keys: Arc<dyn KeySet>) -> Self {
        let predicate = ColumnPredicate::restriction(column, Restriction::IsNotNull);
        let rest = ScanFilter::new(ColumnPredicate { is_hint: true, ..predicate });
        Self { output, keys, rest, range: OnceLock::new() }
    }

    /// Returns the hint that a key lies between the least and the greatest.
    pub(super) fn range(&self) -> Option<&ScanFilter> {
        let make = || {
            let (low, high) = self.keys.range()?;
            let (low, high) = (Constant::Int(low), Constant::Int(high));
            let between = Restriction::Between { low, high };
            let predicate = ColumnPredicate::restriction(self.rest.predicate.column, between);
            Some(ScanFilter::new(ColumnPredicate { is_hint: true, ..predicate }))
        };
        self.range.get_or_init(make).as_ref()
    }

    /// Whether a chunk with these aggregates may have one of the keys.
    pub(super) fn may_pass(&self, sma: &Sma) -> bool {
        match (sma.min, sma.max) {
            (Some(Bound::Int(min)), Some(Bound::Int(max))) => self.keys.overlaps(min, max),
            _ => true,
        }
    }
}
