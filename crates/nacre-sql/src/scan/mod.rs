//! Scans: from blocks to record batches.
//!
//! [`table`] offers a table to the planner, [`exec`] is the operator, [`pruning`] skips chunks,
//! [`deal`] cuts what is left into work for the partitions, [`stream`] does that work, [`array`]
//! converts one block, [`filter`] evaluates filters ([`restriction`] those on encoded values),
//! [`reads`] finds out whether pages were lost under the query, and [`statistics`] is what the
//! optimizer is told.

mod array;
mod deal;
mod exec;
mod filter;
mod open_morsel;
mod pruning;
mod reads;
mod restriction;
mod statistics;
mod stream;
mod table;

pub(crate) use reads::{Reads, checked};
pub(crate) use table::StoredTable;
