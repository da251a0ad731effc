//! Versions of the rows of a chunk: how to get from what is there back to what was.
//!
//! A row's chain goes from the newest change to the oldest that somebody may still have to undo.
//! Entries lie in a slab of the chunk, so a version costs no allocation, and name their
//! transaction by a slot of the stamp table.
//!
//! # Invariants
//! 1. `heads` is empty or has an entry for each row a chunk can have; 0 means "no version".
//! 2. The entries of one change lie next to each other in the chain. Those of a transaction that
//!    has not ended stand before all others.
//! 3. `live` entries are reachable from `heads`, all others from `free`.
//! # Source
//! [Muehlbauer16 2.2.1] version vector and chains. Differs: an entry lies with the chunk instead of
//! in its transaction's undo buffer, which lists the rows it changed (decision 0009), and each
//! changed column has an entry of its own.

use nacre_column::CHUNK_ROWS;

use crate::hot::column::Image;
use crate::hot::positions::VersionedPositions;

/// Number of an entry in the slab, from 1; 0 is none.
pub(crate) type EntryId = u32;

/// What a change was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionKind {
    /// Before it the row did not exist.
    Insert,
    /// Before it the row existed.
    Delete,
    /// Before it a column had another value.
    Update,
}

/// One change of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VersionEntry {
    bits: [u64; 2],
    pub(crate) next: EntryId,
    pub(crate) stamp: u32,
    pub(crate) column: u16,
    pub(crate) kind: VersionKind,
    is_null: bool,
}

const _: () = assert!(size_of::<VersionEntry>() == VERSION_BYTES);

/// Bytes of an entry.
pub(crate) const VERSION_BYTES: usize = 32;

impl VersionEntry {
    pub(crate) fn image(&self) -> Image {
        Image { bits: self.bits, is_null: self.is_null }
    }
}

/// All versions of a chunk.
#[derive(Debug)]
pub(crate) struct Versions {
    heads: Vec<EntryId>,
    entries: Vec<VersionEntry>,
    free: EntryId,
    live: usize,
    pub(crate) positions: VersionedPositions,
}

impl Versions {
    /// Makes room for none yet; positions are noted in ranges of `range_rows`.
    pub(crate) fn new(range_rows: usize) -> Self {
        let positions = VersionedPositions::new(range_rows);
        Self { heads: Vec::new(), entries: Vec::new(), free: 0, live: 0, positions }
    }

    /// Whether no row has a version.
    pub(crate) fn is_empty(&self) -> bool {
        self.live == 0
    }

    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// Returns the newest version of each row; empty if none has any.
    #[inline]
    pub(crate) fn heads(&self) -> &[EntryId] {
        &self.heads
    }

    #[inline]
    pub(crate) fn head(&self, row: usize) -> EntryId {
        // Heads that are kept for later would be fetched for nothing.
        match self.live {
            0 => 0,
            _ => self.heads.get(row).copied().unwrap_or(0),
        }
    }

    /// Returns an entry that is in a chain.
    #[inline]
    pub(crate) fn entry(&self, id: EntryId) -> &VersionEntry {
        &self.entries[id as usize - 1]
    }

    /// Puts a change before all others of its row.
    #[inline]
    pub(crate) fn push(
        &mut self,
        row: usize,
        stamp: u32,
        kind: VersionKind,
        column: u16,
        image: Image,
    ) {
        if self.heads.is_empty() {
            self.heads = vec![0; CHUNK_ROWS];
        }
        let next = self.heads[row];
        let (bits, is_null) = (image.bits, image.is_null);
        let entry = VersionEntry { bits, next, stamp, column, kind, is_null };
        let id = match self.free {
            0 => {
                self.entries.push(entry);
                self.entries.len() as EntryId
            }
            free => {
                let slot = &mut self.entries[free as usize - 1];
                self.free = slot.next;
                *slot = entry;
                free
            }
        };
        self.heads[row] = id;
        self.live += 1;
        if next == 0 {
            self.positions.insert(row);
        }
    }

    /// Takes the newest change of a row away and returns it.
    pub(crate) fn pop(&mut self, row: usize) -> Option<VersionEntry> {
        let head = self.head(row);
        if head == 0 {
            return None;
        }
        let entry = *self.entry(head);
        self.set_head(row, entry.next);
        self.recycle(head);
        Some(entry)
    }

    /// Takes all changes of one stamp out of the chain of a row.
    pub(crate) fn remove(&mut self, row: usize, stamp: u32) {
        self.retain(row, |entry| entry.stamp != stamp);
    }

    /// Takes the changes out of the chain of a row that are not to be kept.
    pub(crate) fn retain(&mut self, row: usize, mut is_kept: impl FnMut(&VersionEntry) -> bool) {
        let (mut previous, mut at) = (0, self.head(row));
        while at != 0 {
            let entry = *self.entry(at);
            match (is_kept(&entry), previous) {
                (true, _) => previous = at,
                (false, 0) => {
                    self.set_head(row, entry.next);
                    self.recycle(at);
                }
                (false, _) => {
                    self.entries[previous as usize - 1].next = entry.next;
                    self.recycle(at);
                }
            }
            at = entry.next;
        }
    }

    /// Gives the memory back if there is no version.
    pub(crate) fn trim(&mut self) {
        if self.is_empty() {
            self.heads = Vec::new();
            self.entries = Vec::new();
            self.free = 0;
            self.positions.clear();
        }
    }

    fn set_head(&mut self, row: usize, head: EntryId) {
        self.heads[row] = head;
        if head == 0 {
            self.positions.remove(row);
        }
    }

    fn recycle(&mut self, id: EntryId) {
        self.entries[id as usize - 1].next = self.free;
        self.free = id;
        self.live -= 1;
        if self.live == 0 {
            // Entries in use are next to each other again.
            self.entries.clear();
            self.free = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::positions::RANGE_ROWS;

    fn columns(versions: &Versions, row: usize) -> Vec<u16> {
        let mut at = versions.head(row);
        let mut columns = Vec::new();
        while at != 0 {
            columns.push(versions.entry(at).column);
            at = versions.entry(at).next;
        }
        columns
    }

    #[test]
    fn changes_leave_from_anywhere_in_the_chain() {
        let mut versions = Versions::new(RANGE_ROWS);
        for (stamp, column) in [(1, 10), (2, 20), (2, 21), (3, 30)] {
            versions.push(5, stamp, VersionKind::Update, column, Image::default());
        }
        assert_eq!(columns(&versions, 5), [30, 21, 20, 10]);
        versions.remove(5, 2);
        assert_eq!(columns(&versions, 5), [30, 10]);
        versions.push(6, 4, VersionKind::Delete, 0, Image::default());
        versions.remove(5, 3);
        assert_eq!(columns(&versions, 5), [10]);
        assert_eq!(versions.pop(5).map(|entry| entry.column), Some(10));
        assert_eq!(versions.positions.get(0), 6..7);
        versions.remove(6, 4);
        assert!(versions.is_empty() && versions.positions.get(0).is_empty());
        versions.trim();
        assert!(versions.heads().is_empty());
    }

    #[test]
    fn slots_are_used_again() {
        let mut versions = Versions::new(RANGE_ROWS);
        versions.push(0, 9, VersionKind::Insert, 0, Image::default());
        for stamp in 1..100 {
            versions.push(1, stamp, VersionKind::Update, 0, Image::default());
            versions.remove(1, stamp);
        }
        assert_eq!((versions.entries.len(), versions.live()), (2, 1));
    }
}
