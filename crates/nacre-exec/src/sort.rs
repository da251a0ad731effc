//! Sorting, top-k and limits.
//!
//! 1. Keys of a row become bytes whose order is the rows' ([`key`]), once, when the row comes.
//! 2. Each worker sorts runs of 65,536 rows by these; for a top-k it keeps the best rows only, and
//!    a bound that all workers share turns others away. The scan below gets one, too.
//! 3. The runs are merged while they are handed on.
//! 4. If memory is used up, a worker merges its runs to one in a file ([`spilled`]). When one has
//!    done so, all rows go to files in the end, and the runs there are merged block by block, in
//!    several passes if there are many. A run of a top-k has the best rows that there were.
//! 5. Others sort byte strings by keys in the same way ([`bytes`]).
//!
//! # Source
//! [Muehlbauer16 section 6.4.3] local sorts, then a merge; ORDER BY and top-k use them. Differs:
//! the merge is not parallel yet.

mod bytes;
mod gate;
mod key;
mod merge;
mod run;
mod sink;
mod spilled;

pub(crate) use bytes::ByteStringSort;
pub(crate) use gate::LimitGate;
pub(crate) use key::KeyPart;
pub(crate) use merge::{RunMerge, SortSource};
pub(crate) use run::{SortRun, append_row};
pub(crate) use sink::{SortOrder, SortSink, TOP_ROWS_MAX};
pub(crate) use spilled::SpilledMerge;
