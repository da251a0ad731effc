//! Volatile state of a pool set's undo log: sequence numbers, buffers, and what is unsettled.

use super::layout::{self, HEADER_BYTES, Word};
use super::media;
use crate::error::{Error, ErrorKind, Result};
use crate::set::{DATA_OFFSET, PoolSet};

/// Targets that are compared one by one; past that an overlap is assumed. Comparing 256 ranges
/// takes about as long as the fence that a wrong assumption costs.
pub(super) const COMPARED_TARGETS_MAX: usize = 256;

/// A range of the data area that a transaction wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) offset: u64,
    pub(super) bytes: usize,
}

impl Target {
    #[inline]
    pub(super) fn overlaps(&self, offset: u64, bytes: usize) -> bool {
        self.offset < offset + bytes as u64 && offset < self.offset + self.bytes as u64
    }
}

/// Buffers of a transaction, kept for the next so that none allocates after warm-up.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// The log as it is, or will be, in the slot.
    pub(super) image: Vec<u8>,
    /// New bytes of the targets that are not applied yet, one behind the other.
    pub(super) new: Vec<u8>,
    /// All ranges written, in order.
    pub(super) targets: Vec<Target>,
    /// What was read of a member that had lost other pages.
    pub(super) copy: Vec<u8>,
}

/// Undo log of an open pool set.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Sequence number of the newest slot on media.
    pub(super) sequence: u64,
    /// The newest slot holds a commit word, so recovery compares its ranges: a store that is not
    /// part of a transaction must retire it first.
    is_unsettled: bool,
    /// The log was found by opening: a slot of the next number must outrank it before anything is
    /// stored, so that no number is used twice and no commit word is compared any more.
    must_outrank: bool,
    /// A store or fence failed in a way that leaves the outcome open.
    pub(super) is_broken: bool,
    /// Id of the newest transaction begun.
    pub(super) id: u64,
    pub(super) committed_id: u64,
    /// Whether transaction `id` is not finished.
    pub(super) is_running: bool,
    /// Newest committed transaction that was watched, see `Transaction::watch`.
    pub(super) watched_id: u64,
    /// Token of the one heap that may watch.
    pub(crate) watcher: u64,
    /// What the unsettled transaction wrote.
    pub(super) unsettled: Vec<Target>,
    pub(super) spare: Buffers,
}

impl Log {
    /// State after recovery found `sequence` to be the newest.
    pub(super) fn recovered(sequence: u64, was_used: bool) -> Log {
        Log {
            sequence,
            must_outrank: was_used,
            id: sequence,
            committed_id: sequence,
            ..Log::default()
        }
    }

    /// Whether a store that is not part of a transaction must [`settle`] first.
    #[inline]
    pub(crate) fn is_unsettled(&self) -> bool {
        self.is_unsettled || self.must_be_prepared()
    }

    /// Whether a transaction must call [`prepare`] first.
    #[inline]
    pub(super) fn must_be_prepared(&self) -> bool {
        self.must_outrank || self.is_broken
    }

    /// Whether the outcome of a commit or rollback is open.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Returns what became of transaction `id`, the newest one that was watched; `None`: it runs.
    #[inline]
    pub(crate) fn outcome(&self, id: u64) -> Option<bool> {
        if self.is_running && self.id == id { None } else { Some(self.watched_id == id) }
    }

    /// Notes that transaction `sequence`, which wrote `targets`, is committed.
    #[inline]
    pub(super) fn leave_unsettled(&mut self, targets: &mut Vec<Target>) {
        self.is_unsettled = true;
        std::mem::swap(&mut self.unsettled, targets);
    }

    /// Whether a store to the range could make recovery misjudge the unsettled transaction.
    #[inline]
    pub(super) fn is_watching(&self, offset: u64, bytes: usize) -> bool {
        self.is_unsettled
            && (self.unsettled.len() > COMPARED_TARGETS_MAX
                || self.unsettled.iter().any(|target| target.overlaps(offset, bytes)))
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.is_broken {
            return Err(Error::new(
                ErrorKind::Io,
                "undo log",
                "an earlier commit or rollback failed half way",
                "open the pool set again, which completes or undoes it",
            ));
        }
        Ok(())
    }
}

/// Returns the size of a slot.
#[inline]
pub(super) fn slot_bytes(set: &PoolSet) -> usize {
    (((set.data_offset() - DATA_OFFSET) / 2) & !63) as usize
}

/// Returns the offset of the slot of a transaction.
#[inline]
pub(super) fn slot_offset(set: &PoolSet, sequence: u64) -> u64 {
    DATA_OFFSET + (sequence & 1) * slot_bytes(set) as u64
}

/// Prepares for a store at `offset` outside of transactions: the newest slot is retired durably.
///
/// # Errors
/// `OutOfRange` for an offset in the log, `Io` if an earlier commit failed half way; as for
/// [`PoolSet::drain`].
#[cold]
pub(crate) fn settle(set: &mut PoolSet, offset: u64) -> Result<()> {
    if offset < set.data_offset() {
        return Err(set.out_of_range(offset, 0));
    }
    prepare(set)?;
    if set.undo.is_unsettled { retire(set) } else { Ok(()) }
}

/// Prepares for a transaction.
///
/// # Errors
/// As for [`settle`].
#[cold]
pub(super) fn prepare(set: &mut PoolSet) -> Result<()> {
    set.undo.check()?;
    if set.undo.must_outrank { outrank(set) } else { Ok(()) }
}

/// Writes a retired slot of the next number. The slot that it outranks is final.
pub(super) fn outrank(set: &mut PoolSet) -> Result<()> {
    let sequence = set.undo.sequence + 1;
    let mut image = [0; HEADER_BYTES];
    layout::seal(&mut image, 0, sequence, Word::Retired);
    let slot = slot_offset(set, sequence);
    media::store(set, slot, &image)?;
    // PERSIST: the ranges of the outranked slot may change from here on. Torn, this slot is no slot
    // at all, and the next recovery comes to the same verdict.
    media::fence(set)?;
    set.undo.sequence = sequence;
    set.undo.must_outrank = false;
    set.undo.is_unsettled = false;
    Ok(())
}

/// Stores the retired word of the newest slot and fences.
pub(super) fn retire(set: &mut PoolSet) -> Result<()> {
    let sequence = set.undo.sequence;
    let word = Word::Retired.encode(sequence).to_le_bytes();
    let slot = slot_offset(set, sequence);
    let result = media::store(set, slot, &word).and_then(|()| {
        // PERSIST: the transaction's bytes were durable before its commit was acknowledged, or its
        // old bytes are since the fence before; after this fence recovery leaves them alone.
        media::fence(set)
    });
    set.undo.is_broken |= result.is_err();
    result?;
    set.undo.is_unsettled = false;
    Ok(())
}

/// Whether the set has room for a log at all.
#[inline]
pub(super) fn has_log(set: &PoolSet) -> bool {
    slot_bytes(set) > HEADER_BYTES
}
