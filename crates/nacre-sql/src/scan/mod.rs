//! Scans: from blocks to record batches.
//!
//! [`table`] offers a table to the planner, [`exec`] is the operator, [`pruning`] skips chunks,
//! [`deal`] cuts what is left into work for the partitions, [`stream`] does that work, [`array`]
//! converts one block, [`hot`] reads hot chunks ([`buffer_array`] converts their values,
//! [`vectors`] is either kind of chunk), [`filter`] evaluates filters ([`restriction`] those on
//! encoded values), [`open_morsel`] goes on with another replica when one fails, [`reads`] and
//! [`answer`] find out whether files changed under the query and run it again, and [`statistics`]
//! is what the optimizer is told.

mod answer;
mod array;
mod buffer_array;
mod deal;
mod exec;
mod filter;
mod hot;
mod open_morsel;
mod pruning;
mod reads;
mod restriction;
mod statistics;
mod stream;
mod table;
mod tally;
mod vectors;

pub(crate) use answer::{answer, run_to_end};
pub(crate) use buffer_array::buffer_array;
pub(crate) use table::{ROW_ID_COLUMN, StoredTable};
