//! Where the rows of frozen hot chunks are now.
//!
//! Ids of such rows may be held by transactions that were active when their chunk was frozen, by
//! entries of indexes, and by programs that keep ids while the database is open. The n-th row that
//! existed became the n-th of the frozen chunk, so a bit for each row is enough to find it. Entries
//! go when no transaction is left that may look for them.
//!
//! # Concurrency
//! Any thread asks; maintenance alone adds and changes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use crate::hot::HotChunk;
use crate::id::{RowId, RowPlace, TxId};
use crate::manifest::LoadId;

/// A hot chunk that was frozen.
#[derive(Debug)]
pub(crate) struct Forward {
    id: u64,
    /// The frozen chunk; `None` if no row was left.
    place: Option<(LoadId, u32)>,
    /// A set bit means that the row was there.
    live: Vec<u64>,
    /// Transactions below may look for entries of the chunk; set when no others can.
    barrier: AtomicU64,
    /// The chunk as it was, until its entries are gone.
    chunk: Mutex<Option<Arc<HotChunk>>>,
}

impl Forward {
    pub(super) fn new(chunk: Arc<HotChunk>, place: Option<(LoadId, u32)>, live: Vec<u64>) -> Self {
        let (id, barrier) = (chunk.id(), AtomicU64::new(u64::MAX));
        Self { id, place, live, barrier, chunk: Mutex::new(Some(chunk)) }
    }

    /// Says that transactions from `barrier` on find the rows in their load.
    pub(super) fn close(&self, barrier: TxId) {
        // ORDERING: maintenance alone reads and writes it, under its own lock.
        self.barrier.store(barrier.0, Ordering::Relaxed);
    }

    fn row(&self, offset: u16) -> Option<RowId> {
        let (load, index) = self.place?;
        let (word, bit) = (usize::from(offset) / 64, offset % 64);
        let last = *self.live.get(word)?;
        if last >> bit & 1 == 0 {
            return None;
        }
        let before: u32 = self.live[..word].iter().map(|word| word.count_ones()).sum();
        let before = before + (last & ((1 << bit) - 1)).count_ones();
        RowId::frozen(load, index, before as u16)
    }

    fn origin(&self, offset: u16) -> Option<RowId> {
        let mut left = u32::from(offset);
        for (word, &bits) in self.live.iter().enumerate() {
            let count = bits.count_ones();
            if left < count {
                let mut rest = bits;
                (0..left).for_each(|_| rest &= rest - 1);
                let row = word as u32 * 64 + rest.trailing_zeros();
                return Some(RowId::hot(self.id, row as u16));
            }
            left -= count;
        }
        None
    }

    fn chunk(&self) -> Option<Arc<HotChunk>> {
        self.chunk.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// All of a table.
#[derive(Debug, Default)]
pub(crate) struct Forwards {
    maps: RwLock<Maps>,
    has_entries: AtomicBool,
}

#[derive(Debug, Default)]
struct Maps {
    /// By the id of the hot chunk.
    by_chunk: BTreeMap<u64, Arc<Forward>>,
    by_place: BTreeMap<(LoadId, u32), Arc<Forward>>,
}

impl Forwards {
    /// Whether indexes may have entries of frozen rows, for whoever has seen their loads.
    #[inline]
    pub(crate) fn has_entries(&self) -> bool {
        // ORDERING: set before the load joins its table's list, whose lock orders it, and reset
        // after the entries are gone.
        self.has_entries.load(Ordering::Acquire)
    }

    /// Returns where a row of a hot chunk is now, if the chunk was frozen and the row was there.
    pub(crate) fn row(&self, row: RowId) -> Option<RowId> {
        match row.place() {
            RowPlace::Hot { chunk, offset } => self.read().by_chunk.get(&chunk)?.row(offset),
            RowPlace::Frozen { .. } => None,
        }
    }

    /// Returns the id that a frozen row had before.
    pub(crate) fn origin(&self, row: RowId) -> Option<RowId> {
        match row.place() {
            RowPlace::Frozen { load, chunk, offset } => {
                self.read().by_place.get(&(load, chunk))?.origin(offset)
            }
            RowPlace::Hot { .. } => None,
        }
    }

    pub(super) fn add(&self, forward: &Arc<Forward>) {
        let mut maps = self.maps.write().unwrap_or_else(PoisonError::into_inner);
        maps.by_chunk.insert(forward.id, Arc::clone(forward));
        if let Some(place) = forward.place {
            maps.by_place.insert(place, Arc::clone(forward));
        }
        // ORDERING: as in `has_entries`.
        self.has_entries.store(true, Ordering::Release);
    }

    /// Returns the chunks whose entries no transaction from `oldest` on looks for.
    pub(super) fn unneeded(&self, oldest: TxId) -> Vec<(Arc<Forward>, Arc<HotChunk>)> {
        if !self.has_entries() {
            return Vec::new();
        }
        // ORDERING: as in `close`.
        let is_unneeded =
            |forward: &&Arc<Forward>| forward.barrier.load(Ordering::Relaxed) <= oldest.0;
        let maps = self.read();
        let unneeded = maps.by_chunk.values().filter(is_unneeded);
        unneeded.filter_map(|one| Some((Arc::clone(one), one.chunk()?))).collect()
    }

    /// Notes that the entries of a chunk are gone.
    pub(super) fn drop_chunk(&self, forward: &Forward) {
        *forward.chunk.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if self.read().by_chunk.values().all(|forward| forward.chunk().is_none()) {
            // ORDERING: as in `has_entries`.
            self.has_entries.store(false, Ordering::Release);
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Maps> {
        self.maps.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_both_ways() {
        let chunk = Arc::new(HotChunk::new(5, &Arc::from([]), &Arc::default(), 1_024));
        let live = vec![0b1011, 0, 1 << 63];
        let place = Some((LoadId(2), 3));
        let forwards = Forwards::default();
        assert_eq!(forwards.row(RowId::hot(5, 0)), None);
        let forward = Arc::new(Forward::new(chunk, place, live));
        forwards.add(&forward);
        assert!(forwards.unneeded(TxId(u64::MAX - 1)).is_empty());
        forward.close(TxId(9));
        assert!(forwards.unneeded(TxId(8)).is_empty() && forwards.has_entries());
        for (forward, _) in forwards.unneeded(TxId(9)) {
            forwards.drop_chunk(&forward);
        }
        assert!(!forwards.has_entries());
        for (hot, frozen) in [(0, 0), (1, 1), (3, 2), (191, 3)] {
            let (hot, frozen) = (RowId::hot(5, hot), RowId::frozen(LoadId(2), 3, frozen).unwrap());
            assert_eq!(forwards.row(hot), Some(frozen));
            assert_eq!(forwards.origin(frozen), Some(hot));
        }
        assert_eq!(forwards.row(RowId::hot(5, 2)), None);
        assert_eq!(forwards.row(RowId::hot(5, 192)), None);
        assert_eq!(forwards.row(RowId::hot(4, 0)), None);
        assert_eq!(forwards.origin(RowId::frozen(LoadId(2), 3, 4).unwrap()), None);
    }
}
