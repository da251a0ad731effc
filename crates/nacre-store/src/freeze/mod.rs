//! Freezing: hot chunks become loads, and the redo log gets short again.
//!
//! 1. A hot chunk that holds no version looks the same to every snapshot. Its rows are copied a few
//!    at a time, holes left out, and encoded as those of a bulk load; all this while others read
//!    and write ([`chunks`]).
//! 2. If nobody wrote to it meanwhile, the load is made durable and published by one record of the
//!    manifest, which names the chunk and the last commit that the load has. Still nobody is kept
//!    from writing to the chunk.
//! 3. Then the chunk is sealed, unless somebody did write, and takes its load's place in the table.
//!    Who comes later with an id of one of its rows finds it by a map ([`forward`]). If somebody
//!    did write, the load is taken back by another record; if a crash comes before that, the redo
//!    log tells, since it names the chunk after that commit ([`known`]).
//! 4. A checkpoint ([`checkpoint`]) freezes what can be, writes what stays hot to the log again,
//!    as one snapshot sees it, and then records that the log before that snapshot is not needed.
//!    [`pace`] says when.
//! 5. Then loads go all of whose rows are deleted ([`emptied`]).
//! 6. Rows of loads that are small, or of which half is deleted, move to hot chunks again, to
//!    be frozen with others ([`compact`]).
//!
//! # Invariants
//! 1. A chunk that was frozen is never written to again, in memory or by a record of the log; its
//!    id is never given out again.
//! 2. A transaction waits for a freeze only while chunks are sealed, a few loads and stores for
//!    each chunk; never for encoding or for a device.
//! 3. Whatever a crash leaves, each row is recovered once: from a load that counts or the log.
//! # Concurrency
//! One freeze at a time, under the maintenance lock. Lock order: maintenance, the table's commit
//! lock, the manifest, the table's layout, the latch of a chunk.
//! # Source
//! [Muehlbauer16 7.2] chunks of a relation are hot and uncompressed or frozen and compressed. When
//! and how a chunk is frozen, and how the log gets short, is ours (decision 0011).

mod checkpoint;
mod chunks;
mod compact;
#[cfg(test)]
mod compact_tests;
#[cfg(test)]
pub(crate) mod crash_script;
#[cfg(test)]
mod crash_tests;
mod emptied;
mod forward;
mod known;
mod pace;
#[cfg(test)]
mod tests;

pub(crate) use checkpoint::HotWriter;
pub use checkpoint::{CheckpointReport, RedoInfo};
pub(crate) use compact::Compaction;
pub(crate) use forward::Forwards;
pub(crate) use known::Frozen;
pub(crate) use pace::{CHECKPOINT_BYTES, Pace};
