//! Windows over partitions that do not fit in memory.
//!
//! 1. The rows of some partitions go to a file in order, each with the number of key parts that it
//!    has in common with the one before ([`file`]).
//! 2. Functions are evaluated for a vector of rows at a time ([`run`]). What a function sees of
//!    other rows it reads from the file by a reader of its own, which keeps a block ([`file`]).
//! 3. Edges of frames move forward over the file ([`frames`]). A sum of a frame is the difference
//!    of sums up to its edges, an extreme comes from a queue of rows that may still become one, a
//!    fold adds the rows that a frame goes on by ([`aggregates`], [`calls`]).
//!
//! # Invariants
//! 1. Memory does not depend on the number of rows, but for queues of extremes whose values get
//!    worse and worse, and for states and results of folds.
//! 2. Readers at one block share it.
//! # Source
//! As [`super`].
//! # See
//! `tests/windows.rs` has the same windows evaluated in memory and here.

mod aggregates;
mod calls;
mod file;
mod frames;
mod run;

pub(super) use file::PartitionFileWriter;
pub(super) use run::LargeWindowRun;
