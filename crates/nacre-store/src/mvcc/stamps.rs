//! Stamps: what the versions of a transaction are marked with, one slot for all of them.
//!
//! While the transaction runs its slot holds its id, above every timestamp; from its commit on the
//! commit's timestamp. Versions hold the slot's number.
//!
//! # Invariants
//! 1. A slot is given out again only when no version bears it.
//! # Concurrency
//! `get` takes no lock. A slot's owner writes it at its begin and at its commit.
//! # Source
//! [Muehlbauer16 2.2.1] the versions of a transaction are stamped anew at commit. Differs: by one
//! store instead of one for each version.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::error::{Error, Result};
use crate::id::{CommitTs, TxId};

/// Slots of the first segment; each further one has twice as many as the one before.
const FIRST_SLOTS: u32 = 1_024;

/// Segments; together 2^31 slots less the first's.
const SEGMENTS: usize = 21;

/// The stamps of all transactions that have versions.
#[derive(Debug, Default)]
pub(crate) struct Stamps {
    /// Written under the lock of `free`, read by everybody.
    segments: [OnceLock<Box<[AtomicU64]>>; SEGMENTS],
    free: Mutex<FreeSlots>,
}

#[derive(Debug, Default)]
struct FreeSlots {
    /// Given back, or created and not given out yet.
    slots: Vec<u32>,
    created: u32,
}

impl Stamps {
    /// Gives out a slot for a transaction that runs.
    ///
    /// # Errors
    /// [`Error::Internal`] if two thousand million transactions have versions.
    pub(crate) fn take(&self, tx: TxId) -> Result<u32> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.slots.is_empty() {
            self.grow(&mut free)?;
        }
        let slot = free.slots.pop().ok_or_else(no_slot)?;
        drop(free);
        self.begin(slot, tx);
        Ok(slot)
    }

    /// Marks a slot that no version bears as that of a transaction that runs.
    pub(crate) fn begin(&self, slot: u32, tx: TxId) {
        self.set(slot, tx.0);
    }

    #[cold]
    fn grow(&self, free: &mut FreeSlots) -> Result<()> {
        let (segment, _) = place(free.created);
        let count = FIRST_SLOTS << segment;
        let cell = self.segments.get(segment).ok_or_else(no_slot)?;
        cell.get_or_init(|| (0..count).map(|_| AtomicU64::new(u64::MAX)).collect());
        // The lowest is given out first.
        free.slots.extend((free.created..free.created + count).rev());
        free.created += count;
        Ok(())
    }

    /// Takes a slot back that no version bears.
    pub(crate) fn give_back(&self, slot: u32) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).slots.push(slot);
    }

    /// Marks all versions of a slot as committed.
    pub(crate) fn commit(&self, slot: u32, ts: CommitTs) {
        self.set(slot, ts.0);
    }

    fn set(&self, slot: u32, stamp: u64) {
        let (segment, at) = place(slot);
        if let Some(stamps) = self.segments.get(segment).and_then(OnceLock::get) {
            // ORDERING: who must see the commit has read the clock, which is stored with release
            // after this; who has not sees either value and ignores the version.
            stamps[at].store(stamp, Ordering::Release);
        }
    }

    /// Returns the stamp in a slot.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> u64 {
        let (segment, at) = place(slot);
        match self.segments.get(segment).and_then(OnceLock::get) {
            // ORDERING: pairs with the store in `set`.
            Some(stamps) => stamps[at].load(Ordering::Acquire),
            None => u64::MAX,
        }
    }

    /// Returns how many slots are given out.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> usize {
        let free = self.free.lock().unwrap();
        free.created as usize - free.slots.len()
    }
}

/// Returns the segment of a slot and its place there.
#[inline]
fn place(slot: u32) -> (usize, usize) {
    let segment = (slot / FIRST_SLOTS + 1).ilog2();
    let start = FIRST_SLOTS * ((1 << segment) - 1);
    (segment as usize, (slot - start) as usize)
}

#[cold]
fn no_slot() -> Error {
    Error::Internal { reason: "too many transactions have versions".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_lie_in_segments_of_doubling_size() {
        assert_eq!(place(0), (0, 0));
        assert_eq!(place(FIRST_SLOTS - 1), (0, 1_023));
        assert_eq!(place(FIRST_SLOTS), (1, 0));
        assert_eq!(place(3 * FIRST_SLOTS - 1), (1, 2_047));
        assert_eq!(place(3 * FIRST_SLOTS), (2, 0));
    }

    #[test]
    fn slot_keeps_its_stamp_until_it_is_given_back() {
        let stamps = Stamps::default();
        let slots: Vec<u32> =
            (0..3_000).map(|number| stamps.take(TxId(1 << 63 | number)).unwrap()).collect();
        stamps.commit(slots[2_999], CommitTs(7));
        for (number, slot) in slots.iter().enumerate().take(2_999) {
            assert_eq!(stamps.get(*slot), 1 << 63 | number as u64);
        }
        assert_eq!((stamps.get(slots[2_999]), stamps.in_use()), (7, 3_000));
        slots.iter().for_each(|slot| stamps.give_back(*slot));
        assert_eq!(stamps.in_use(), 0);
    }
}
