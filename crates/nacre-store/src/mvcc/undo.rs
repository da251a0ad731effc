//! The undo buffer: which rows a transaction changed, in order.
//!
//! What the rows were is in the versions of their chunks; the buffer says where these are, to take
//! them back, to drop them when nobody needs them, and to validate others against them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::hot::{FrozenDeletes, HotChunk, VersionKind};
use crate::id::{CommitTs, RowId};
use crate::index::{keys_in, remove_entries, remove_frozen_entries};
use crate::manifest::{LoadId, TableId};
use crate::table::Table;

/// Rows whose versions are dropped before a chunk's latch is given to others.
const RELEASE_ROWS: usize = 1_024;

/// Chunks that are found by looking at each, 512 bytes of keys: most transactions touch no more.
const TOUCHED_FEW: usize = 32;

/// Records whose memory goes to the next transaction: 16 KiB.
const RECORDS_KEPT: usize = 2_048;

/// Room that the first change makes, so that short transactions do not grow it step by step.
const RECORDS_FIRST: usize = 32;

/// A chunk that a transaction changed.
#[derive(Debug)]
pub(crate) struct Touched {
    pub(crate) table: Arc<Table>,
    pub(crate) chunk: TouchedChunk,
}

#[derive(Debug)]
pub(crate) enum TouchedChunk {
    Hot(Arc<HotChunk>),
    Frozen { load: LoadId, index: u32, deletes: Arc<FrozenDeletes> },
}

/// Identifies a chunk among all tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ChunkKey(TableId, u64);

impl ChunkKey {
    #[inline]
    fn of(table: TableId, row: RowId) -> Self {
        Self(table, row.chunk_bits())
    }
}

/// One change of one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UndoRecord {
    /// Number of the chunk among those touched.
    touched: u32,
    row: u16,
    /// Versions that the change made: one, or one for each changed column.
    versions: u16,
}

/// Bytes that a transaction keeps for one change.
pub(crate) const UNDO_RECORD_BYTES: usize = size_of::<UndoRecord>();

/// The changes of a transaction.
#[derive(Debug, Default)]
pub(crate) struct UndoBuffer {
    touched: Vec<Touched>,
    /// Which chunks the first few are.
    few: Vec<ChunkKey>,
    /// Numbers of all others.
    numbers: BTreeMap<ChunkKey, u32>,
    records: Vec<UndoRecord>,
    /// Whether rows were deleted, whose index entries go with the versions.
    has_deletes: bool,
    /// Whether the changes only move rows.
    are_moves: bool,
}

/// A row of a load that was moved: where it lies, and its number there.
pub(crate) type MovedFrom<'a> = (&'a Touched, u16);

impl UndoBuffer {
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Notes a change of a row, which made that many versions; `chunk` returns where it lies.
    #[inline]
    pub(crate) fn push(
        &mut self,
        table: &Arc<Table>,
        row: RowId,
        versions: usize,
        chunk: impl FnOnce() -> TouchedChunk,
    ) {
        let key = ChunkKey::of(table.id(), row);
        let touched = match self.few.iter().position(|one| *one == key) {
            Some(number) => number as u32,
            None => self.touch(key, table, chunk),
        };
        self.records.push(UndoRecord { touched, row: row.offset(), versions: versions as u16 });
    }

    /// As [`UndoBuffer::push`], for a delete.
    pub(crate) fn push_delete(
        &mut self,
        table: &Arc<Table>,
        row: RowId,
        chunk: impl FnOnce() -> TouchedChunk,
    ) {
        self.has_deletes = true;
        self.push(table, row, 1, chunk);
    }

    /// Returns the number of a chunk that is not among the first few, or not touched yet.
    fn touch(
        &mut self,
        key: ChunkKey,
        table: &Arc<Table>,
        chunk: impl FnOnce() -> TouchedChunk,
    ) -> u32 {
        let number = self.touched.len() as u32;
        if self.few.len() < TOUCHED_FEW {
            if self.records.is_empty() {
                self.records.reserve(RECORDS_FIRST);
            }
            self.few.push(key);
        } else if let Some(&known) = self.numbers.get(&key) {
            return known;
        } else {
            self.numbers.insert(key, number);
        }
        self.touched.push(Touched { table: Arc::clone(table), chunk: chunk() });
        number
    }

    /// Forgets all changes and keeps the memory that a short transaction needs.
    pub(crate) fn clear(&mut self) {
        self.touched.clear();
        self.few.clear();
        self.numbers.clear();
        self.records.clear();
        self.records.shrink_to(RECORDS_KEPT);
        self.touched.shrink_to(TOUCHED_FEW);
        self.has_deletes = false;
        self.are_moves = false;
    }

    /// Notes what the changes are: the deletes of rows of loads, and then the inserts of these rows
    /// in the same order, with the same values. The entries of the old places stay until the loads
    /// go, so that who drops the versions need not read blocks.
    pub(crate) fn note_moves(&mut self) {
        self.are_moves = true;
    }

    /// Whether the changes only move rows.
    pub(crate) fn are_moves(&self) -> bool {
        self.are_moves
    }

    /// Returns where a row of a hot chunk was before these changes moved it there, if they did.
    pub(crate) fn moved_from(&self, chunk: &Arc<HotChunk>, row: u16) -> Option<MovedFrom<'_>> {
        let is_chunk = |one: &Touched| match &one.chunk {
            TouchedChunk::Hot(hot) => Arc::ptr_eq(hot, chunk),
            TouchedChunk::Frozen { .. } => false,
        };
        let touched = self.touched.iter().position(is_chunk)?;
        let (from, to) = self.records.split_at(self.records.len() / 2);
        // Rows are appended, so their places ascend.
        let place = |to: &UndoRecord| (to.touched as usize, to.row);
        let from = from.get(to.binary_search_by_key(&(touched, row), place).ok()?)?;
        Some((&self.touched[from.touched as usize], from.row))
    }

    /// Returns the hot chunks into which these changes moved rows, and the first of them in each.
    pub(crate) fn moved_into(&self) -> impl Iterator<Item = (&Arc<HotChunk>, u16)> {
        let (_, to) = self.records.split_at(self.records.len() / 2);
        let of_chunks = to.chunk_by(|one, next| one.touched == next.touched);
        of_chunks.filter_map(|some| match &self.touched[some[0].touched as usize].chunk {
            TouchedChunk::Hot(chunk) => Some((chunk, some[0].row)),
            TouchedChunk::Frozen { .. } => None,
        })
    }

    /// Takes over the memory of a buffer whose changes nobody needs, if there is one and this one
    /// has none.
    pub(crate) fn take_memory(&mut self, spare: Option<Self>) {
        if let Some(mut spare) = spare
            && self.touched.capacity() == 0
        {
            spare.clear();
            *self = spare;
        }
    }

    /// Returns the chunks that were changed, also those whose changes were taken back.
    pub(crate) fn touched(&self) -> &[Touched] {
        &self.touched
    }

    /// Takes back all changes but the first `len`, newest first.
    pub(crate) fn undo_to(&mut self, len: usize) {
        let is_any = self.records.len() > len;
        while self.records.len() > len
            && let Some(record) = self.records.pop()
        {
            self.undo(record);
        }
        if is_any {
            self.hollow_out();
        }
    }

    /// Takes back all changes of a commit that failed, newest first.
    pub(crate) fn undo_all(&self) {
        self.records.iter().rev().for_each(|record| self.undo(*record));
        self.hollow_out();
    }

    /// Has chunks that were filled in vain give back their memory, so that transactions that fail
    /// again and again do not pile up rows that nobody ever saw.
    fn hollow_out(&self) {
        for Touched { table, chunk } in &self.touched {
            if let TouchedChunk::Hot(chunk) = chunk {
                table.hot().hollow_out(chunk);
            }
        }
    }

    fn undo(&self, record: UndoRecord) {
        let touched = &self.touched[record.touched as usize];
        match &touched.chunk {
            TouchedChunk::Hot(chunk) => {
                undo_hot(&touched.table, chunk, record.row, record.versions.into());
            }
            TouchedChunk::Frozen { deletes, .. } => deletes.undo(record.row),
        }
    }

    /// Returns the chunk and number of each row that was changed, once for each change.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&Touched, u16)> {
        self.records.iter().map(|record| (&self.touched[record.touched as usize], record.row))
    }

    /// Whether rows of a table were changed, and the changes not taken back.
    pub(crate) fn has_rows_of(&self, table: &Table) -> bool {
        self.rows().any(|(touched, _)| touched.table.id() == table.id())
    }

    /// Returns the hot chunks with rows that were changed, each once.
    pub(crate) fn changed_chunks(&self) -> Vec<(TableId, u64)> {
        let mut is_changed = vec![false; self.touched.len()];
        self.records.iter().for_each(|record| is_changed[record.touched as usize] = true);
        let changed = self.touched.iter().zip(is_changed).filter(|(_, is_changed)| *is_changed);
        let hot = |(touched, _): (&Touched, bool)| match &touched.chunk {
            TouchedChunk::Hot(chunk) => Some((touched.table.id(), chunk.id())),
            TouchedChunk::Frozen { .. } => None,
        };
        changed.filter_map(hot).collect()
    }

    /// Drops versions of the changed rows that lie between active snapshots, which see `now` or
    /// less.
    pub(crate) fn prune(&self, starts: &[CommitTs], now: CommitTs) {
        for run in self.records.chunk_by(|one, other| one.touched == other.touched) {
            if let TouchedChunk::Hot(chunk) = &self.touched[run[0].touched as usize].chunk {
                for some in run.chunks(RELEASE_ROWS) {
                    chunk.prune(some.iter().map(|record| record.row), starts, now);
                }
            }
        }
    }

    /// Drops all versions, which bear `stamp`, and returns the chunks that have none left and keep
    /// memory for them.
    pub(crate) fn release(&self, stamp: u32) -> Vec<Arc<HotChunk>> {
        let mut retained = Vec::new();
        for run in self.records.chunk_by(|one, other| one.touched == other.touched) {
            let touched = &self.touched[run[0].touched as usize];
            for some in run.chunks(RELEASE_ROWS) {
                let rows = some.iter().map(|record| record.row);
                match &touched.chunk {
                    TouchedChunk::Hot(chunk) => {
                        if self.has_deletes {
                            drop_entries(&touched.table, chunk, rows.clone(), stamp);
                        }
                        if chunk.release(rows, stamp) {
                            retained.push(Arc::clone(chunk));
                        }
                    }
                    TouchedChunk::Frozen { load, index, deletes } => {
                        if !self.are_moves {
                            let some: Vec<u16> = rows.clone().collect();
                            remove_frozen_entries(&touched.table, (*load, *index), &some);
                        }
                        deletes.release(rows, stamp);
                    }
                }
            }
        }
        retained
    }
}

/// Takes a change of a hot row back; that of an insert takes the row out of the indexes too.
fn undo_hot(table: &Table, chunk: &HotChunk, row: u16, versions: usize) {
    let indexes = table.table_indexes().hold();
    let entries = chunk.with(|rows| {
        let newest = rows.changes(row.into()).next();
        let is_insert = newest.is_some_and(|entry| entry.kind == VersionKind::Insert);
        let some: &[u16] = if is_insert { &[row] } else { &[] };
        keys_in(&indexes, rows, (chunk.id(), some))
    });
    chunk.undo(row, versions);
    remove_entries(&indexes, &entries);
}

/// Takes those of the rows out of the indexes that were deleted with `stamp`: nobody sees them.
fn drop_entries(table: &Table, chunk: &HotChunk, rows: impl Iterator<Item = u16>, stamp: u32) {
    let indexes = table.table_indexes().hold();
    if indexes.is_empty() {
        return;
    }
    let entries = chunk.with(|latched| {
        let is_deleted = |row: &u16| {
            let mut changes = latched.changes(usize::from(*row));
            changes.any(|entry| entry.stamp == stamp && entry.kind == VersionKind::Delete)
        };
        let deleted: Vec<u16> = rows.filter(is_deleted).collect();
        keys_in(&indexes, latched, (chunk.id(), &deleted))
    });
    remove_entries(&indexes, &entries);
}

/// A table that a commit dropped or replaced.
#[derive(Debug)]
pub(crate) struct GoneTable {
    pub(crate) id: TableId,
    pub(crate) name: String,
}

impl GoneTable {
    pub(crate) fn of(table: &Table) -> Self {
        Self { id: table.id(), name: table.names().table() }
    }
}

/// The changes of a transaction that has committed, until nobody needs to go back behind them.
#[derive(Debug)]
pub(crate) struct Writes {
    pub(crate) undo: UndoBuffer,
    pub(crate) stamp: u32,
    /// Tables that the transaction dropped or replaced.
    pub(crate) gone: Vec<GoneTable>,
}
