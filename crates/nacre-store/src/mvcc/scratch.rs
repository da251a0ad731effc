//! Memory that one transaction leaves to the next.
//!
//! A short transaction would spend a good part of its time on growing these buffers.

use crate::predicate_log::PredicateLog;
use crate::redo::RedoBuffer;

/// Buffers that are kept at most: about as many as transactions are active at once.
const SPARES_MAX: usize = 64;

/// Bytes of redo records and of keys up to which a buffer is kept.
const KEPT_BYTES_MAX: usize = 64 << 10;

/// What a transaction gathers until it ends.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// What the redo log gets at commit.
    pub(super) redo: RedoBuffer,
    /// What a SERIALIZABLE transaction has read.
    pub(super) reads: PredicateLog,
    /// Room for keys.
    pub(crate) key: Vec<u8>,
}

/// Buffers that nobody uses.
#[derive(Debug, Default)]
pub(super) struct Spares(Vec<Scratch>);

impl Spares {
    /// Returns empty buffers.
    pub(super) fn take(&mut self) -> Scratch {
        self.0.pop().unwrap_or_default()
    }

    /// Takes buffers back.
    pub(super) fn give_back(&mut self, mut scratch: Scratch) {
        if self.0.len() < SPARES_MAX {
            scratch.redo.clear(KEPT_BYTES_MAX);
            scratch.reads.clear();
            scratch.key.clear();
            scratch.key.shrink_to(KEPT_BYTES_MAX);
            self.0.push(scratch);
        }
    }
}
