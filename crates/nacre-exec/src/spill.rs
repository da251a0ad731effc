//! Temporary files of queries that need more memory than they have.
//!
//! 1. An operator asks for memory by [`OperatorSpill::hold`], once a vector. If that is refused it
//!    writes what it keeps to a file by a [`SpillWriter`], in pieces, and starts afresh.
//! 2. A place in a file is a [`SpillExtent`], which keeps its file open. Readers share files.
//! 3. Files have no name ([`SpillSpace`]), so a process that is killed leaves none behind.
//!
//! # Invariants
//! 1. Bytes on disk of all queries together stay below the limit of their [`SpillSpace`]; a file
//!    gives its bytes back when its last extent is dropped.
//! 2. What is written is never changed.
//! 3. Operators that have more than their share are refused as soon as half of a query's memory is
//!    taken, so that there is always a share for each of the others.
//!
//! # Concurrency
//! A file has one writer; any worker reads what that has flushed.
//!
//! # See
//! `tests/spilling.rs`: answers are those without a limit; full disks and failing writes.

mod columns;
mod file;
mod share;
mod space;

pub(crate) use columns::{BlockReader, empty_columns, put_columns, put_u32, put_words};
pub(crate) use file::{SpillExtent, SpillWriter};
pub(crate) use share::{OperatorSpill, QuerySpill};
pub use space::{SpillHandle, SpillMedium, SpillSpace};
