//! Loads that an index has no entries of: who looks for a key searches them.
//!
//! Loads come to an index in two ways. Hot chunks that are frozen bring their entries along
//! (`freeze/chunks.rs`). Bulk loads, and all loads of a database that was opened, have none:
//! opening reads no row, and a table that is only scanned needs no memory for an index. They are
//! searched by their key ranges, aggregates and encoded values (`frozen.rs`). Once that has cost
//! about as much as entries would, maintenance adds these, a load at a time.
//!
//! # Invariants
//! 1. A load of a table is in the list of an index, or the index has the entries of all its rows
//!    that somebody sees. The list changes under the latch of the entries, so whoever reads both at
//!    once misses nothing and can tell what is there twice.
//! 2. An entry of a frozen row, or of a hot one that was frozen, does no harm when nobody sees the
//!    row any more.
//! # Source
//! [Muehlbauer16 2.2.5] indexes refer to hot and frozen rows alike. Differs: those of loads that
//! nobody looks for keys in are not made.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::TableIndex;
use crate::chunk::Chunk;
use crate::error::Result;
use crate::maintenance::Progress;
use crate::manifest::LoadId;
use crate::store::Store;
use crate::stored_load::StoredLoad;
use crate::table::Table;
use crate::value::ValueRef;

/// Searches in a chunk that cost as much as its entries: some 15 of 500 microseconds.
const SEARCHES_DUE: u32 = 32;

/// Entries that are added before others get the index: some 50 microseconds.
const ADDED_AT_ONCE: usize = 256;

/// A load that has to be searched.
#[derive(Debug)]
pub(crate) struct SearchedLoad {
    load: Arc<StoredLoad>,
    /// Chunks that were searched so far; [`NEVER`] if there are to be no entries.
    searches: AtomicU32,
}

/// Count of a load that stays as it is.
const NEVER: u32 = u32::MAX;

/// The loads of a table that an index does not have.
pub(crate) type SearchedLoads = Arc<Vec<Arc<SearchedLoad>>>;

impl SearchedLoad {
    pub(super) fn new(load: &Arc<StoredLoad>) -> Arc<Self> {
        Arc::new(Self { load: Arc::clone(load), searches: AtomicU32::new(0) })
    }

    #[inline]
    pub(crate) fn load(&self) -> &Arc<StoredLoad> {
        &self.load
    }

    pub(super) fn id(&self) -> LoadId {
        self.load.id()
    }

    /// Counts chunks that are about to be searched, and wakes maintenance if it is time for
    /// entries.
    pub(super) fn note(&self, table: &Table, chunks: u32) {
        // ORDERING: an estimate; nothing depends on its order.
        let before = self.searches.load(Ordering::Relaxed);
        if before == NEVER || chunks == 0 {
            return;
        }
        let after = before.saturating_add(chunks).min(NEVER - 1);
        self.searches.store(after, Ordering::Relaxed);
        if before < self.due() && after >= self.due() {
            table.wake();
        }
    }

    fn due(&self) -> u32 {
        self.load.chunk_count().saturating_mul(SEARCHES_DUE).min(NEVER - 1)
    }

    fn is_due(&self) -> bool {
        // ORDERING: as in `note`.
        (self.due()..NEVER).contains(&self.searches.load(Ordering::Relaxed))
    }

    fn set_searches(&self, searches: u32) {
        // ORDERING: as in `note`.
        self.searches.store(searches, Ordering::Relaxed);
    }
}

impl Store {
    /// Adds the entries of a load to an index that needs them, if there is one. The caller holds
    /// the maintenance lock.
    ///
    /// # Errors
    /// That of a damaged block; it is tried again when the load has been searched as often again.
    pub(crate) fn index_step(&self) -> Result<Progress> {
        for table in self.listed_tables() {
            for index in table.indexes() {
                let searched = index.searched();
                let Some(due) = searched.iter().find(|one| one.is_due()) else {
                    continue;
                };
                let has_room = index.has_room_for(due.load.rows());
                if !has_room || table.is_dropped() {
                    due.set_searches(NEVER);
                    continue;
                }
                due.set_searches(0);
                match add_load(self, &table, &index, &due.load)? {
                    Added::All => index.remove_searched(due.id()),
                    Added::NotPossible => due.set_searches(NEVER),
                    Added::Closing => return Ok(Progress::default()),
                }
                let bytes = due.load.rows() * size_of::<u64>() as u64;
                return Ok(Progress { done_bytes: bytes, total_bytes: bytes });
            }
        }
        Ok(Progress::default())
    }

    /// Whether [`Store::index_step`] has something to do.
    pub(crate) fn is_index_due(&self) -> bool {
        let is_due = |index: &Arc<TableIndex>| index.searched().iter().any(|one| one.is_due());
        self.listed_tables().iter().any(|table| table.indexes().iter().any(is_due))
    }
}

/// How far a load came into an index.
enum Added {
    All,
    /// Its rows have no ids, or the index is full.
    NotPossible,
    /// The database is about to be closed.
    Closing,
}

/// Adds the entries of a load's rows. Those that are deleted meanwhile may get one, too.
fn add_load(
    store: &Store,
    table: &Arc<Table>,
    index: &TableIndex,
    load: &Arc<StoredLoad>,
) -> Result<Added> {
    let open = load.open()?;
    let mut entries = Vec::with_capacity(ADDED_AT_ONCE);
    for number in 0..open.chunks.len() {
        if store.is_closing() {
            return Ok(Added::Closing);
        }
        let chunk = Chunk::new(table, load, &open, number, number as u64);
        let columns =
            index.key().columns().map(|column| chunk.decode(column)).collect::<Result<Vec<_>>>()?;
        let deletes = table.deletes_of(load.id(), number as u32);
        for row in 0..chunk.rows() {
            if deletes.as_ref().is_some_and(|deletes| deletes.is_gone(row as u16)) {
                continue;
            }
            let Some(id) = chunk.row_id(row as u16) else {
                return Ok(Added::NotPossible);
            };
            let mut key = Vec::new();
            index.key().encode(columns.iter().map(|column| ValueRef::of(column, row)), &mut key);
            entries.push((key, id));
            if entries.len() == ADDED_AT_ONCE {
                if index.add(&entries).is_err() {
                    return Ok(Added::NotPossible);
                }
                entries.clear();
            }
        }
        if index.add(&entries).is_err() {
            return Ok(Added::NotPossible);
        }
        entries.clear();
    }
    Ok(Added::All)
}
