//! Recovery: the committed changes of the redo log, made again in fresh hot chunks.
//!
//! A row gets the place that it had, since later records and others' row ids name it. Places whose
//! rows were never committed stay holes. Nothing is written, so a crash meanwhile changes nothing,
//! and memory is that of the rows, of the largest transaction, and of what workers are handed.
//!
//! 1. The rows of the last checkpoint come behind commits that change them. The log is read up to
//!    the group that ends the checkpoint, and its rows are taken.
//! 2. Then later commits are made again, from the first of them on: what was committed while the
//!    checkpoint was written is read twice, the rest of the log once.
//! 3. One thread reads ([`replay`]). Changes of different hot chunks do not depend on each other,
//!    so it hands them to workers by chunk, in the order of the log ([`workers`], [`changes`]).
//! 4. A call of a procedure is run again (`procedure/replay.rs`), when the workers are done: from
//!    the first call on one thread does it all.
//! 5. A freeze that is not older than the checkpoint may have been about to be taken back: the log
//!    names one of its chunks later. Rows of such chunks are taken like others, and at the end
//!    either they go or the load does.
//! 6. Indexes get the entries of the rows behind the first answer (`index/fill.rs`), unless
//!    procedures read by them.
//!
//! # Invariants
//! 1. After it, tables hold what the commits in the log left, in their order, and no versions;
//!    indexes have the entries of their hot rows, or are behind by all of them.
//! 2. Groups of transactions that defined something, of which the manifest has no record, were
//!    never committed and are skipped. So are records of tables that were dropped since, of commits
//!    up to the last checkpoint, of hot chunks that were frozen, and of loads that lost all rows;
//!    any other record that does not fit what is there is an error, since a change would be lost.
//! 3. Workers change nothing but rows of hot chunks, and each chunk is one worker's. Which freezes
//!    and groups count, and what happens to loads, is decided by who reads, in the log's order.
//! 4. The error is that of the first record in the log that does not fit, whoever finds it.
//! # Source
//! [Muehlbauer16 4.3.1] physical redo records are replayed without reads, logical ones by running
//! their procedures. Differs: rows keep their places, so no index is needed to find them.
//! # See
//! `recovery/tests.rs`, `recovery/crash_tests.rs`, `tests/recovery.rs`, the bench `replay`.

mod changes;
#[cfg(test)]
mod crash_tests;
mod replay;
#[cfg(test)]
mod tests;
mod workers;

pub(crate) use replay::recover;
