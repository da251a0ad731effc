//! Where the rows of frozen hot chunks are now.
//!
//! Ids of such rows may be held by transactions that were active when their chunk was frozen, by
//! entries of indexes, and by programs that keep ids while the database is open. The n-th row that
//! existed became the n-th of the frozen chunk, so a bit for each row is enough to find it. Entries
//! get the new ids by and by; until then the chunk is kept, which tells their keys.
//!
//! # Concurrency
//! Any thread asks; maintenance alone adds and changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use crate::hot::HotChunk;
use crate::id::{RowId, RowPlace};
use crate::manifest::LoadId;

/// A hot chunk that was frozen.
#[derive(Debug)]
pub(crate) struct Forward {
    id: u64,
    /// The frozen chunk; `None` if no row was left.
    place: Option<(LoadId, u32)>,
    /// A set bit means that the row was there.
    live: Vec<u64>,
    /// How many rows were there before those of each word of `live`; below 2^16, since a chunk has
    /// no more rows.
    before: Vec<u16>,
    /// The chunk as it was, until its entries have the new ids.
    chunk: Mutex<Option<Arc<HotChunk>>>,
}

impl Forward {
    pub(super) fn new(chunk: Arc<HotChunk>, place: Option<(LoadId, u32)>, live: Vec<u64>) -> Self {
        let mut count = 0;
        let before = live.iter().map(|word| {
            let before = count as u16;
            count += word.count_ones();
            before
        });
        let before = before.collect();
        Self { id: chunk.id(), place, live, before, chunk: Mutex::new(Some(chunk)) }
    }

    fn row(&self, offset: u16) -> Option<RowId> {
        let (load, index) = self.place?;
        let (word, bit) = (usize::from(offset) / 64, offset % 64);
        let last = *self.live.get(word)?;
        if last >> bit & 1 == 0 {
            return None;
        }
        let before = u32::from(self.before[word]) + (last & ((1 << bit) - 1)).count_ones();
        RowId::frozen(load, index, before as u16)
    }

    fn origin(&self, offset: u16) -> Option<RowId> {
        // The last word with no more rows before it; those behind the last row have as many.
        let word = self.before.partition_point(|before| *before <= offset).checked_sub(1)?;
        let left = offset - self.before[word];
        let mut rest = self.live[word];
        (0..left).for_each(|_| rest &= rest.wrapping_sub(1));
        let row = word as u32 * 64 + rest.trailing_zeros();
        (rest != 0).then(|| RowId::hot(self.id, row as u16))
    }

    fn chunk(&self) -> Option<Arc<HotChunk>> {
        self.chunk.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that the entries have the new ids.
    pub(super) fn drop_chunk(&self) {
        *self.chunk.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// All of a table.
#[derive(Debug, Default)]
pub(crate) struct Forwards {
    maps: RwLock<Maps>,
}

#[derive(Debug, Default)]
struct Maps {
    /// By the id of the hot chunk.
    by_chunk: BTreeMap<u64, Arc<Forward>>,
    by_place: BTreeMap<(LoadId, u32), Arc<Forward>>,
}

impl Forwards {
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
    }

    /// Returns the chunks whose entries may have the old ids.
    pub(super) fn unnamed(&self) -> Vec<(Arc<Forward>, Arc<HotChunk>)> {
        let maps = self.read();
        let all = maps.by_chunk.values();
        all.filter_map(|one| Some((Arc::clone(one), one.chunk()?))).collect()
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
        assert_eq!(forwards.unnamed().len(), 1);
        forward.drop_chunk();
        assert!(forwards.unnamed().is_empty());
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
