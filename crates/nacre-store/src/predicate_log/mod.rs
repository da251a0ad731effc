//! Predicate log: what a transaction has read, kept for its validation.
//!
//! 1. While a transaction runs, each access to a table is logged as a [`Predicate`]: tests of
//!    columns, all of which a row satisfies that the access saw or would have seen, and the columns
//!    it looked at. Scans log their restrictions, index lookups and ranges their keys, reads by
//!    row id the id, aggregates over an ordered column what bounds them.
//! 2. Tests compare 64-bit [summaries](summary) of values. Numbers and short strings are equal
//!    exactly when their summaries are; other strings are compared by a hash for equality and by
//!    their first bytes for order.
//! 3. A table's predicates are bounded: past [`PREDICATES_MAX`] neighbours are merged into ranges,
//!    those first between which the fewest keys lie.
//! 4. At commit a [`PredicateTree`] per table is built from the log and asked for each row that
//!    another transaction has written and committed since this one began ([`RowChange`]).
//!
//! # Invariants
//! 1. A row that satisfies what was logged conflicts, however often predicates were merged: there
//!    is no false negative.
//! 2. As long as nothing was merged, there is no false positive if the tested columns are whole
//!    numbers of at most 64 bits, floats or strings of at most 7 bytes, but for key ranges over
//!    several columns, which are covered by a range of the first column in which the ends differ.
//! 3. Memory of a table's log is bounded by [`PREDICATES_MAX`] and [`WORDS_MAX`].
//!
//! # Source
//! [Muehlbauer16 section 2.2.3] precision locking over undo buffers. Differs: the summary of a
//! string is its start and length for order, and a hash only where that is not exact; the minimum
//! and maximum of a column log the range that could change them, so inserts beyond it do not
//! conflict; point tests are found by binary search; merging is by smallest gap.
//!
//! # See
//! `tests/serializability.rs` and `tests/anomalies.rs`.

mod coarsen;
mod column_set;
mod log;
mod predicate;
mod summary;
mod test;
#[cfg(test)]
mod tests;
mod tree;

pub use column_set::ColumnSet;
pub use log::{PREDICATES_MAX, PredicateLog, TableLog, WORDS_MAX};
pub use predicate::Predicate;
pub use tree::{PredicateTree, RowChange, RowImage, ValidationLevel};
