//! The predicates of a scan while it runs: their order, and rest for those that do not filter.
//!
//! A hint that lets more than three of four rows pass is not worth its time: it rests for 31
//! vectors and is tried again. What alone decides never rests, but a chunk whose aggregates prove
//! that all rows match is not asked. The predicate that leaves the fewest rows goes first.
//!
//! # Concurrency
//! All workers of a query share the counters.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use nacre_column::{Bound, Restriction, Sma};

use super::predicate::{ColumnPredicate, ScanPredicate, int_range};

/// A hint that lets more than this share of its rows pass rests: with three of four rows left,
/// what it saves above the scan no longer pays for a look at each row.
const PASS_PERCENT_MAX: u64 = 75;

/// Vectors that a hint rests: trying one in 32 costs about 3 % of always trying.
const REST_VECTORS: u32 = 31;

/// Fewer rows say little about those of the next vectors, and cost little to look at.
const RESTING_ROWS_MIN: u64 = 64;

/// A predicate and what is known of it.
#[derive(Debug)]
pub(super) struct ScanFilter {
    pub(super) predicate: ColumnPredicate,
    /// Vectors for which it still rests.
    rest_vectors: AtomicU32,
    rows_seen: AtomicU64,
    rows_passed: AtomicU64,
}

impl ScanFilter {
    pub(super) fn new(predicate: ColumnPredicate) -> Self {
        let (rest_vectors, rows_seen) = (AtomicU32::new(0), AtomicU64::new(0));
        Self { predicate, rest_vectors, rows_seen, rows_passed: AtomicU64::new(0) }
    }

    /// Whether the next vector is not worth looking at; counts it.
    pub(super) fn is_resting(&self) -> bool {
        // ORDERING: a hint; any order of the workers is right.
        let rest = |left: u32| left.checked_sub(1);
        self.predicate.is_hint
            && self.rest_vectors.fetch_update(Ordering::Relaxed, Ordering::Relaxed, rest).is_ok()
    }

    /// Notes how many of `seen` rows passed.
    pub(super) fn note(&self, seen: usize, passed: usize) {
        let (seen, passed) = (seen as u64, passed as u64);
        // ORDERING: estimates.
        self.rows_seen.fetch_add(seen, Ordering::Relaxed);
        self.rows_passed.fetch_add(passed, Ordering::Relaxed);
        let lets_pass = seen >= RESTING_ROWS_MIN && passed * 100 > seen * PASS_PERCENT_MAX;
        if self.predicate.is_hint && lets_pass {
            self.rest_vectors.store(REST_VECTORS, Ordering::Relaxed);
        }
    }

    /// Returns the share of rows that passed, in parts of 2^16; unknown ones come in the middle.
    pub(super) fn pass_rate(&self) -> u64 {
        // ORDERING: estimates.
        let seen = self.rows_seen.load(Ordering::Relaxed);
        let passed = self.rows_passed.load(Ordering::Relaxed);
        (passed << 16).checked_div(seen).unwrap_or(1 << 15)
    }

    /// Whether all rows of a chunk with these aggregates match.
    pub(super) fn is_proven_by(&self, sma: &Sma) -> bool {
        if sma.null_count > 0 {
            return false;
        }
        if let ScanPredicate::Restriction(Restriction::IsNotNull) = &self.predicate.predicate {
            return true;
        }
        match (int_range(&self.predicate.predicate), sma.min, sma.max) {
            (Some((low, high)), Some(Bound::Int(min)), Some(Bound::Int(max))) => {
                low <= min && max <= high
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use nacre_column::{CompareOp, Constant};

    use super::*;

    fn filter(is_hint: bool) -> ScanFilter {
        let value = Constant::Int(10);
        let restriction = Restriction::Compare { op: CompareOp::Le, value };
        ScanFilter::new(ColumnPredicate { is_hint, ..ColumnPredicate::restriction(0, restriction) })
    }

    #[test]
    fn hint_that_does_not_filter_rests_31_vectors() {
        let hint = filter(true);
        assert!(!hint.is_resting());
        hint.note(100, 76);
        assert_eq!((0..100).take_while(|_| hint.is_resting()).count(), 31);
        hint.note(63, 63);
        assert!(!hint.is_resting());
        hint.note(100, 75);
        assert!(!hint.is_resting());
        let other = filter(false);
        other.note(100, 100);
        assert!(!other.is_resting());
    }

    #[test]
    fn chunk_within_the_range_needs_no_look() {
        let sma = |min, max, null_count| Sma {
            rows: 9,
            null_count,
            min: Some(Bound::Int(min)),
            max: Some(Bound::Int(max)),
            ..Sma::empty()
        };
        assert!(filter(false).is_proven_by(&sma(-5, 10, 0)));
        assert!(!filter(false).is_proven_by(&sma(-5, 11, 0)));
        assert!(!filter(false).is_proven_by(&sma(-5, 10, 1)));
    }
}
