//! Deleted rows of a frozen chunk.
//!
//! A frozen row never changes in place: an update deletes it and inserts the new one into a hot
//! chunk. So its only version is the stamp of the transaction that deleted it.
//!
//! # Invariants
//! 1. A row is in `pending` or has its bit in `settled` or neither, never both.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{PoisonError, RwLock};

use nacre_column::Bitmap;

use crate::hot::chunk::WriteProblem;
use crate::id::TX_ID_FIRST;
use crate::mvcc::{Snapshot, Stamps};

/// What was deleted of one frozen chunk.
#[derive(Debug, Default)]
pub(crate) struct FrozenDeletes(RwLock<Deleted>);

#[derive(Debug, Default)]
struct Deleted {
    /// Deletes that some snapshot may not see, with their stamps.
    pending: BTreeMap<u16, u32>,
    /// A set bit means that everybody sees the delete; as long as the last of them needs.
    settled: Vec<u64>,
}

impl Deleted {
    fn is_settled(&self, row: u16) -> bool {
        let row = usize::from(row);
        self.settled.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    fn settle(&mut self, row: u16) {
        let row = usize::from(row);
        if self.settled.len() <= row / 64 {
            self.settled.resize(row / 64 + 1, 0);
        }
        self.settled[row / 64] |= 1 << (row % 64);
    }

    fn sees(&self, row: u16, snapshot: Snapshot, stamps: &Stamps) -> bool {
        match self.pending.get(&row) {
            Some(&stamp) => snapshot.sees(stamps.get(stamp)),
            None => self.is_settled(row),
        }
    }
}

impl FrozenDeletes {
    /// Deletes a row.
    pub(crate) fn delete(
        &self,
        row: u16,
        (snapshot, stamp): (Snapshot, u32),
        stamps: &Stamps,
    ) -> Result<(), WriteProblem> {
        let mut deleted = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(&other) = deleted.pending.get(&row) {
            let stamp = stamps.get(other);
            return Err(match snapshot.sees(stamp) {
                true => WriteProblem::Missing,
                false if stamp >= TX_ID_FIRST => WriteProblem::Uncommitted,
                false => WriteProblem::Committed,
            });
        }
        if deleted.is_settled(row) {
            return Err(WriteProblem::Missing);
        }
        deleted.pending.insert(row, stamp);
        Ok(())
    }

    /// Deletes a row for everybody, before there are transactions; returns whether it was there.
    pub(crate) fn settle(&self, row: u16) -> bool {
        let mut deleted = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let was_there = !deleted.is_settled(row);
        deleted.settle(row);
        was_there
    }

    /// Takes the delete of a row back, which is that of the caller's transaction.
    pub(crate) fn undo(&self, row: u16) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).pending.remove(&row);
    }

    /// Drops the versions of a stamp from these rows: everybody sees that they are deleted.
    pub(crate) fn release(&self, rows: impl Iterator<Item = u16>, stamp: u32) {
        let mut deleted = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for row in rows {
            if deleted.pending.get(&row) == Some(&stamp) {
                deleted.pending.remove(&row);
                deleted.settle(row);
            }
        }
    }

    /// Returns the stamp of a row's delete that some snapshot may not see, and whether everybody
    /// sees that the row is deleted.
    pub(super) fn state(&self, row: u16) -> (Option<u32>, bool) {
        let deleted = self.0.read().unwrap_or_else(PoisonError::into_inner);
        (deleted.pending.get(&row).copied(), deleted.is_settled(row))
    }

    /// Whether everybody sees that a row is deleted.
    pub(crate) fn is_gone(&self, row: u16) -> bool {
        self.state(row).1
    }

    /// Whether a row is deleted for a snapshot.
    pub(crate) fn is_deleted(&self, row: u16, snapshot: Snapshot, stamps: &Stamps) -> bool {
        let deleted = self.0.read().unwrap_or_else(PoisonError::into_inner);
        deleted.sees(row, snapshot, stamps)
    }

    /// Returns a bit for each of the rows, set if it is deleted; `None` if none is.
    pub(crate) fn bits(
        &self,
        rows: Range<usize>,
        snapshot: Snapshot,
        stamps: &Stamps,
    ) -> Option<Bitmap> {
        let deleted = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if deleted.pending.is_empty() && deleted.settled.is_empty() {
            return None;
        }
        let mut bits = Bitmap::default();
        for row in rows {
            bits.push(u16::try_from(row).is_ok_and(|row| deleted.sees(row, snapshot, stamps)));
        }
        (bits.count_zeros() < bits.len()).then_some(bits)
    }

    /// Returns the deleted rows.
    pub(crate) fn rows(&self, snapshot: Snapshot, stamps: &Stamps) -> Vec<u16> {
        let deleted = self.0.read().unwrap_or_else(PoisonError::into_inner);
        (0..=u16::MAX).filter(|row| deleted.sees(*row, snapshot, stamps)).collect()
    }

    /// Counts the rows that everybody sees to be deleted.
    pub(crate) fn settled_count(&self) -> u64 {
        let deleted = self.0.read().unwrap_or_else(PoisonError::into_inner);
        deleted.settled.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Counts the deleted rows.
    pub(crate) fn count(&self, snapshot: Snapshot, stamps: &Stamps) -> usize {
        let deleted = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let settled: u32 = deleted.settled.iter().map(|word| word.count_ones()).sum();
        let pending =
            deleted.pending.values().filter(|&&stamp| snapshot.sees(stamps.get(stamp))).count();
        settled as usize + pending
    }

    /// Returns how many versions there are.
    pub(crate) fn version_count(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).pending.len()
    }
}
