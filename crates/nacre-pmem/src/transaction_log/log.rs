//! Volatile state of a pool set's transaction log: sequence numbers, buffers, and which records are
//! live, that is would be stored in place again after a crash.

use super::layout::{self, HEADER_BYTES};
use super::media;
use crate::error::{Error, ErrorKind, Result};
use crate::set::{DATA_OFFSET, PoolSet};

/// Targets that are compared one by one; past that an overlap is assumed. Comparing 256 ranges
/// takes about as long as the fence that a wrong assumption costs.
pub(super) const COMPARED_TARGETS_MAX: usize = 256;

/// Stores beside live records before these are retired, so that the next need not be compared.
const PATIENCE: u32 = 32;

/// A range of the data area that a transaction wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) offset: u64,
    pub(super) bytes: usize,
    /// Where the new bytes lie in the image.
    pub(super) at: usize,
}

impl Target {
    #[inline]
    pub(super) fn overlaps(&self, offset: u64, bytes: usize) -> bool {
        // The range may be any: it is asked about before it is refused.
        self.offset < offset.saturating_add(bytes as u64)
            && offset < self.offset + self.bytes as u64
    }
}

/// Whether a range may overlap one of the targets.
#[inline]
fn may_overlap(targets: &[Target], offset: u64, bytes: usize) -> bool {
    targets.len() > COMPARED_TARGETS_MAX
        || targets.iter().any(|target| target.overlaps(offset, bytes))
}

/// Tells threads apart, at the cost of an address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ThreadToken(usize);

impl ThreadToken {
    #[inline]
    fn current() -> ThreadToken {
        thread_local!(static HERE: u8 = const { 0 });
        // A later thread may get the address of one that ended; by then the kernel has waited for
        // its stores.
        ThreadToken(HERE.with(|here| std::ptr::from_ref(here).addr()))
    }
}

/// Buffers of a transaction, kept for the next so that none allocates after warm-up.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    /// The record as it will be in the slot.
    pub(super) image: Vec<u8>,
    /// All ranges written, in order.
    pub(super) targets: Vec<Target>,
    /// What was read where the transaction wrote, or of a member that had lost other pages.
    pub(super) copy: Vec<u8>,
}

/// Transaction log of an open pool set.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// Sequence number of the newest slot on media.
    pub(super) sequence: u64,
    /// What the newest record wrote, and the one before it; empty once they are retired.
    newest: Vec<Target>,
    previous: Vec<Target>,
    /// A record is live.
    is_live: bool,
    /// The thread that stored what the newest record wrote: its fence, and no other's, waits for
    /// that.
    stored_by: ThreadToken,
    /// Stores beside live records since the newest commit.
    stores_beside: u32,
    /// Slots that opening found and that are not known to be retired: a retired one of the next
    /// number must outrank them before anything is stored.
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
    pub(super) spare: Buffers,
}

impl Log {
    /// State after recovery found `sequence` to be the newest.
    pub(super) fn recovered(sequence: u64, must_outrank: bool) -> Log {
        Log { sequence, must_outrank, id: sequence, committed_id: sequence, ..Log::default() }
    }

    /// Whether a store that is not part of a transaction must call [`leave`] first.
    #[inline]
    pub(crate) fn is_in_the_way(&self) -> bool {
        self.is_live || self.must_be_prepared()
    }

    /// Whether a transaction must call [`prepare`] first.
    #[inline]
    pub(super) fn must_be_prepared(&self) -> bool {
        self.must_outrank || self.is_broken
    }

    /// Whether the outcome of a commit is open.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Whether a record would be stored in place again after a crash.
    pub(crate) fn is_live(&self) -> bool {
        self.is_live
    }

    /// Returns what became of transaction `id`, the newest one that was watched; `None`: it runs.
    #[inline]
    pub(crate) fn outcome(&self, id: u64) -> Option<bool> {
        if self.is_running && self.id == id { None } else { Some(self.watched_id == id) }
    }

    /// Notes that the record `sequence`, which wrote `targets`, is live. `targets` gets a spare
    /// vector.
    #[inline]
    pub(super) fn note_live(&mut self, targets: &mut Vec<Target>) {
        self.is_live = true;
        self.stored_by = ThreadToken::current();
        self.stores_beside = 0;
        std::mem::swap(&mut self.newest, &mut self.previous);
        std::mem::swap(&mut self.newest, targets);
    }

    /// Whether a live record may write to the range, so that storing there needs another record,
    /// or none alive.
    #[inline]
    pub(super) fn speaks_of(&self, offset: u64, bytes: usize) -> bool {
        self.is_live
            && (may_overlap(&self.newest, offset, bytes)
                || may_overlap(&self.previous, offset, bytes))
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.is_broken {
            return Err(Error::new(
                ErrorKind::Io,
                "transaction log",
                "an earlier commit failed half way",
                "open the pool set again, which completes or drops it",
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

/// Prepares for a store of `bytes` bytes at `offset` outside of transactions: live records that
/// speak of it are retired durably, and all are once they have been in the way for long.
///
/// # Errors
/// `OutOfRange` for an offset in the log, `Io` if an earlier commit failed half way; as for
/// [`PoolSet::drain`].
#[cold]
#[inline(never)]
pub(crate) fn leave(set: &mut PoolSet, offset: u64, bytes: usize) -> Result<()> {
    if offset < set.data_offset() {
        return Err(set.out_of_range(offset, 0));
    }
    prepare(set)?;
    set.log.stores_beside += 1;
    let is_late = set.log.stores_beside > PATIENCE;
    match set.log.is_live && (is_late || set.log.speaks_of(offset, bytes)) {
        true => settle(set),
        false => Ok(()),
    }
}

/// Prepares for a transaction.
///
/// # Errors
/// As for [`leave`].
#[cold]
pub(super) fn prepare(set: &mut PoolSet) -> Result<()> {
    set.log.check()?;
    if set.log.must_outrank { outrank(set) } else { Ok(()) }
}

/// Writes a retired slot of the next number.
fn outrank(set: &mut PoolSet) -> Result<()> {
    let sequence = set.log.sequence + 1;
    let slot = slot_offset(set, sequence);
    media::store(set, slot, &layout::retired(sequence))?;
    // PERSIST: no record that was found is stored in place from here on. Torn, this slot is no slot
    // at all, and the next recovery finds what this one did.
    media::fence(set)?;
    set.log.sequence = sequence;
    set.log.must_outrank = false;
    Ok(())
}

/// Makes what the live records wrote durable in place, and retires them durably.
///
/// # Errors
/// As for [`PoolSet::drain`].
pub(crate) fn settle(set: &mut PoolSet) -> Result<()> {
    let result = try_settle(set);
    set.log.is_broken |= result.is_err();
    result
}

fn try_settle(set: &mut PoolSet) -> Result<()> {
    follow(set)?;
    // PERSIST: the new bytes of all live records are durable in place; the records may go.
    media::fence(set)?;
    retire(set)?;
    set.log.newest.clear();
    set.log.previous.clear();
    set.log.is_live = false;
    Ok(())
}

/// Stores once more what the newest record wrote, if another thread did: the next fence of this
/// thread then waits for it.
#[inline]
pub(super) fn follow(set: &mut PoolSet) -> Result<()> {
    match set.log.is_live && set.log.stored_by != ThreadToken::current() {
        true => store_again(set),
        false => Ok(()),
    }
}

#[cold]
#[inline(never)]
fn store_again(set: &mut PoolSet) -> Result<()> {
    for index in 0..set.log.newest.len() {
        let Target { offset, bytes, .. } = set.log.newest[index];
        // In place lies what the record wrote: whoever stores there otherwise retires it first.
        let new = set.read_with(offset, bytes as u64, <[u8]>::to_vec)?;
        media::store(set, offset, &new)?;
    }
    set.log.stored_by = ThreadToken::current();
    Ok(())
}

/// Stores the retired words of the newest two records and fences. A word beside a record that was
/// never there retires nothing: the slot is torn before and after.
pub(super) fn retire(set: &mut PoolSet) -> Result<()> {
    let sequence = set.log.sequence;
    for number in [sequence, sequence.saturating_sub(1)] {
        if number > 0 {
            let word = layout::retired_word(number).to_le_bytes();
            media::store(set, slot_offset(set, number), &word)?;
        }
    }
    // PERSIST: after this fence recovery leaves the ranges of both alone.
    media::fence(set)
}

/// Whether the set has room for a log at all.
#[inline]
pub(super) fn has_log(set: &PoolSet) -> bool {
    slot_bytes(set) > HEADER_BYTES
}
