//! Window functions: a value for each row, of rows around it in a partition.
//!
//! 1. Rows are sorted by the keys of partitions, then by those that order ([`crate::sort`]); one
//!    sort serves all windows of a node, whose keys are beginnings of its own.
//! 2. The runs are merged to one order. How many key parts a row has in common with the one before
//!    tells where partitions and groups of peers begin ([`order`]).
//! 3. Workers take whole partitions, at least 8,192 rows at a time ([`source`]), copy the columns
//!    that functions read, and evaluate call by call ([`evaluate`]).
//!    If the sort went to files, one worker merges some partitions at a time ([`spilled`]).
//!    Partitions that do not fit in memory go to a file and are read again from there ([`large`]).
//! 4. A frame is a range of rows, less what it excludes: up to three pieces ([`frames`]). Counts
//!    and sums are differences of prefix sums ([`sums`]), extremes come from a queue, or of several
//!    pieces from a tree ([`extremes`]), so no function is quadratic.
//!
//! # Invariants
//! 1. Within a partition, starts and ends of frames never fall from one row to the next.
//! 2. A sum is refused only if the one of its own frame is beyond its limit: prefix sums have
//!    192 bits.
//! # Source
//! Leis, Kundhikanjana, Kemper, Neumann: "Efficient processing of window functions in analytical
//! SQL queries", VLDB 2015. Differs: sums use prefix sums in place of a segment tree, which
//! subtraction allows; the merge is not parallel.
//! # See
//! `tests/windows.rs` compares with plain loops.

mod evaluate;
mod extremes;
mod folds;
mod frames;
mod large;
mod order;
mod partition;
mod plan;
mod positions;
mod ranks;
mod sink;
mod source;
mod spilled;
mod sums;

pub(crate) use plan::WindowPlan;
pub(crate) use sink::WindowSink;
pub(crate) use source::WindowSource;
