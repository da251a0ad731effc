//! The hot chunks of a table, in the order of their ids.
//!
//! # Invariants
//! 1. Ids ascend and are never used again; rows are appended to the last chunk only.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use nacre_column::ColumnType;

use crate::error::{Error, Result};
use crate::hot::chunk::HotChunk;
use crate::hot::positions::RANGE_ROWS;
use crate::id::HOT_CHUNKS_MAX;
use crate::mvcc::Stamps;
use crate::value::ValueRef;

/// All hot chunks.
#[derive(Debug)]
pub(crate) struct HotList {
    types: Arc<[ColumnType]>,
    stamps: Arc<Stamps>,
    chunks: RwLock<Arc<Vec<Arc<HotChunk>>>>,
    /// Rows for which new chunks note where versions are.
    range_rows: AtomicUsize,
    /// Above all ids that were ever given; written under the lock of `chunks`.
    next_id: AtomicU64,
}

impl HotList {
    pub(crate) fn new(types: &[ColumnType], stamps: &Arc<Stamps>) -> Self {
        let (types, stamps) = (types.into(), Arc::clone(stamps));
        let (range_rows, next_id) = (AtomicUsize::new(RANGE_ROWS), AtomicU64::new(0));
        Self { types, stamps, chunks: RwLock::default(), range_rows, next_id }
    }

    /// Has ids below `next` never be given out again.
    pub(crate) fn note_used_before(&self, next: u64) {
        // ORDERING: read and written under the lock of `chunks`, or before there are transactions.
        self.next_id.fetch_max(next, Ordering::Relaxed);
    }

    /// Takes frozen chunks out.
    pub(crate) fn remove(&self, gone: &[u64]) {
        let mut chunks = self.chunks.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut chunks).retain(|chunk| !gone.contains(&chunk.id()));
    }

    /// Has chunks that are made from now on note where versions are for so many rows each.
    pub(crate) fn set_range_rows(&self, range_rows: usize) {
        // ORDERING: a setting; nothing depends on its order.
        self.range_rows.store(range_rows, Ordering::Relaxed);
    }

    fn new_chunk(&self, id: u64) -> Arc<HotChunk> {
        // ORDERING: as in `set_range_rows`.
        let range_rows = self.range_rows.load(Ordering::Relaxed);
        Arc::new(HotChunk::new(id, &self.types, &self.stamps, range_rows))
    }

    pub(crate) fn stamps(&self) -> &Arc<Stamps> {
        &self.stamps
    }

    pub(crate) fn all(&self) -> Arc<Vec<Arc<HotChunk>>> {
        Arc::clone(&self.chunks.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the chunk of that id.
    pub(crate) fn get(&self, id: u64) -> Option<Arc<HotChunk>> {
        self.with(id, Arc::clone)
    }

    /// Runs `with` on the chunk of that id, if there is one. It must not use the table: the list
    /// is held for it, which costs less than a reference to the chunk.
    #[inline]
    pub(crate) fn with<T>(&self, id: u64, with: impl FnOnce(&Arc<HotChunk>) -> T) -> Option<T> {
        let chunks = self.chunks.read().unwrap_or_else(PoisonError::into_inner);
        let first = chunks.first()?.id();
        // Without holes the position follows from the id.
        let guess = usize::try_from(id.checked_sub(first)?).ok()?;
        if let Some(chunk) = chunks.get(guess).filter(|chunk| chunk.id() == id) {
            return Some(with(chunk));
        }
        let found = chunks.binary_search_by_key(&id, |chunk| chunk.id());
        found.ok().map(|at| with(&chunks[at]))
    }

    /// Has a chunk give back memory if the rollback of a transaction left no row of it: only the
    /// last chunk gets more rows. Its place stays until it is frozen, which leaves holes out.
    pub(crate) fn hollow_out(&self, chunk: &HotChunk) {
        let chunks = self.chunks.read().unwrap_or_else(PoisonError::into_inner);
        if chunks.last().is_some_and(|last| last.id() != chunk.id()) {
            chunk.hollow_out();
        }
    }

    /// Returns the chunk of that id, which recovery adds if it is not there yet.
    ///
    /// # Errors
    /// [`Error::Internal`] if there cannot be such a chunk.
    pub(crate) fn get_or_add(&self, id: u64) -> Result<Arc<HotChunk>> {
        if let Some(chunk) = self.get(id) {
            return Ok(chunk);
        }
        if id >= HOT_CHUNKS_MAX {
            return Err(Error::Internal { reason: format!("a table has no chunk {id}") });
        }
        let mut chunks = self.chunks.write().unwrap_or_else(PoisonError::into_inner);
        let at = chunks.partition_point(|chunk| chunk.id() < id);
        if let Some(chunk) = chunks.get(at).filter(|chunk| chunk.id() == id) {
            return Ok(Arc::clone(chunk));
        }
        let chunk = self.new_chunk(id);
        Arc::make_mut(&mut chunks).insert(at, Arc::clone(&chunk));
        self.note_used_before(id + 1);
        Ok(chunk)
    }

    /// Appends a row for the transaction of that stamp, or for everybody, and tells `on_row` where
    /// it is. That must not use the table: the list is held for it.
    ///
    /// # Errors
    /// [`Error::Internal`] if the values do not fit the columns, or ids have run out.
    pub(crate) fn insert<T>(
        &self,
        values: &[ValueRef<'_>],
        stamp: Option<u32>,
        on_row: impl FnOnce(&Arc<HotChunk>, u16) -> T,
    ) -> Result<T> {
        // A new chunk has room for any row, unless others fill it first: then they got on.
        loop {
            let last = {
                let chunks = self.chunks.read().unwrap_or_else(PoisonError::into_inner);
                let last = chunks.last();
                if let Some(chunk) = last
                    && let Some(row) = chunk.insert(values, stamp)?
                {
                    return Ok(on_row(chunk, row));
                }
                last.map(|chunk| chunk.id())
            };
            self.grow(last)?;
        }
    }

    /// Adds a chunk behind `last`, unless somebody did.
    fn grow(&self, last: Option<u64>) -> Result<()> {
        let mut chunks = self.chunks.write().unwrap_or_else(PoisonError::into_inner);
        if chunks.last().map(|chunk| chunk.id()) != last {
            return Ok(());
        }
        // ORDERING: as in `note_used_before`.
        let id = self.next_id.load(Ordering::Relaxed);
        if id >= HOT_CHUNKS_MAX {
            return Err(Error::Internal { reason: "a table has no more chunk ids".into() });
        }
        let chunk = self.new_chunk(id);
        Arc::make_mut(&mut chunks).push(chunk);
        self.note_used_before(id + 1);
        Ok(())
    }
}
