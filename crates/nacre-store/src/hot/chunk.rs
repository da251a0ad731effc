//! A hot chunk: up to 65,536 rows behind one latch.
//!
//! # Concurrency
//! Readers hold the latch for a vector or a row, writers for a row, garbage collection for the
//! rows of a transaction: nobody waits for another transaction. Nobody takes a second latch, or
//! calls foreign code that might, while holding one, except the closure of [`HotChunk::with`].
//! # Source
//! [Muehlbauer16 2.2.7] short-term latches for the duration of a task.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use nacre_column::{ColumnBuffer, ColumnType};

use crate::error::{Error, Result};
use crate::hot::column::HotColumnRange;
use crate::hot::rows::HotRows;
use crate::hot::versions::VersionKind;
use crate::id::{CommitTs, RowId, TX_ID_FIRST};
use crate::mvcc::{Snapshot, Stamps};
use crate::value::ValueRef;

/// Rows of a table that can be changed in place.
#[derive(Debug)]
pub(crate) struct HotChunk {
    id: u64,
    types: Arc<[ColumnType]>,
    stamps: Arc<Stamps>,
    latch: RwLock<HotRows>,
    /// Whether it is noted that memory for versions may be given back later.
    is_retained: AtomicBool,
    /// What `writes` was when maintenance looked last; written and read by it alone.
    noted_writes: AtomicU64,
}

/// Why a row cannot be written.
#[derive(Debug)]
pub(crate) enum WriteProblem {
    /// The transaction does not see such a row.
    Missing,
    /// A transaction that has not ended changed it.
    Uncommitted,
    /// A transaction that committed since the snapshot changed it.
    Committed,
    /// A string does not fit into the chunk any more; the row has to move.
    Full,
    /// The chunk was frozen, or is about to be: the row lies elsewhere.
    Frozen,
    Failed(Error),
}

impl HotChunk {
    pub(crate) fn new(
        id: u64,
        types: &Arc<[ColumnType]>,
        stamps: &Arc<Stamps>,
        range_rows: usize,
    ) -> Self {
        let latch = RwLock::new(HotRows::new(types, range_rows));
        let (types, stamps) = (Arc::clone(types), Arc::clone(stamps));
        let (is_retained, noted_writes) = (AtomicBool::new(false), AtomicU64::new(u64::MAX));
        Self { id, types, stamps, latch, is_retained, noted_writes }
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn stamps(&self) -> &Stamps {
        &self.stamps
    }

    /// Runs `with` on the rows under the latch. It must not use the store.
    #[inline]
    pub(crate) fn with<T>(&self, with: impl FnOnce(&HotRows) -> T) -> T {
        with(&self.read_latch())
    }

    /// Returns whether nothing was written since this was asked last.
    pub(crate) fn note_writes(&self) -> bool {
        let writes = self.with(HotRows::writes);
        // ORDERING: maintenance alone reads and writes it, under its own lock.
        self.noted_writes.swap(writes, Ordering::Relaxed) == writes
    }

    pub(super) fn types(&self) -> &[ColumnType] {
        &self.types
    }

    /// Runs `change` on the rows under the latch, where there are no transactions.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut HotRows) -> T) -> T {
        change(&mut self.write_latch())
    }

    fn read_latch(&self) -> RwLockReadGuard<'_, HotRows> {
        self.latch.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_latch(&self) -> RwLockWriteGuard<'_, HotRows> {
        self.latch.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a row for the transaction of that stamp, or for everybody; `None` if there is no
    /// room.
    ///
    /// # Errors
    /// [`Error::Internal`] if the values do not fit the columns.
    pub(crate) fn insert(
        &self,
        values: &[ValueRef<'_>],
        stamp: Option<u32>,
    ) -> Result<Option<u16>> {
        let mut rows = self.write_latch();
        if rows.is_sealed() || !rows.has_room(values) {
            return Ok(None);
        }
        let row = rows.append(values)?;
        if let Some(stamp) = stamp {
            rows.mark(row, stamp, VersionKind::Insert);
        }
        Ok(Some(row as u16))
    }

    /// As [`HotChunk::insert`], at a place that no row has.
    ///
    /// # Errors
    /// [`Error::Internal`] if one has, or the values do not fit the columns.
    pub(crate) fn insert_at(&self, row: u16, values: &[ValueRef<'_>], stamp: u32) -> Result<()> {
        let mut rows = self.write_latch();
        if rows.exists(row.into()) {
            return Err(Error::Internal { reason: format!("row {row} is there already") });
        }
        rows.put(row.into(), values)?;
        rows.mark(row.into(), stamp, VersionKind::Insert);
        Ok(())
    }

    /// Changes columns of a row in place.
    pub(crate) fn update(
        &self,
        row: u16,
        (snapshot, stamp): (Snapshot, u32),
        changes: &[(usize, ValueRef<'_>)],
    ) -> std::result::Result<(), WriteProblem> {
        let row = usize::from(row);
        let mut rows = self.write_latch();
        check_writable(&rows, row, snapshot, &self.stamps)?;
        if !rows.can_hold(changes) {
            return Err(WriteProblem::Full);
        }
        for (done, change) in changes.iter().enumerate() {
            if let Err(error) = rows.change(row, stamp, *change) {
                (0..done).for_each(|_| rows.undo(row));
                return Err(WriteProblem::Failed(error));
            }
        }
        Ok(())
    }

    /// Deletes a row.
    pub(crate) fn delete(
        &self,
        row: u16,
        (snapshot, stamp): (Snapshot, u32),
    ) -> std::result::Result<(), WriteProblem> {
        let row = usize::from(row);
        let mut rows = self.write_latch();
        check_writable(&rows, row, snapshot, &self.stamps)?;
        rows.mark(row, stamp, VersionKind::Delete);
        Ok(())
    }

    /// Takes the newest `count` changes of a row back; they are those of the caller's transaction.
    pub(crate) fn undo(&self, row: u16, count: usize) {
        let mut rows = self.write_latch();
        (0..count).for_each(|_| rows.undo(usize::from(row)));
    }

    /// Drops all versions of a stamp from these rows. Returns whether the caller is to note that
    /// the chunk keeps memory for versions without having any.
    pub(crate) fn release(&self, rows: impl Iterator<Item = u16>, stamp: u32) -> bool {
        let mut latched = self.write_latch();
        rows.for_each(|row| latched.versions.remove(usize::from(row), stamp));
        // ORDERING: the flag changes under the latch only.
        latched.versions.is_empty() && !self.is_retained.swap(true, Ordering::Relaxed)
    }

    /// Drops versions from the middle of the chains of these rows that nobody can need.
    pub(crate) fn prune(
        &self,
        rows: impl Iterator<Item = u16>,
        starts: &[CommitTs],
        now: CommitTs,
    ) {
        let mut latched = self.write_latch();
        rows.for_each(|row| latched.prune(usize::from(row), starts, now, &self.stamps));
    }

    /// Gives memory for versions back if there is none now.
    pub(crate) fn trim(&self) {
        let mut latched = self.write_latch();
        // ORDERING: as in `release`.
        self.is_retained.store(false, Ordering::Relaxed);
        latched.versions.trim();
    }

    /// Gives back the memory of the values if there is no row left; nothing is appended any more.
    pub(super) fn hollow_out(&self) {
        if self.with(HotRows::is_all_holes) {
            let mut rows = self.write_latch();
            if rows.is_all_holes() && !rows.is_sealed() {
                rows.hollow_out();
            }
        }
    }

    /// Returns how many versions there are.
    pub(crate) fn version_count(&self) -> usize {
        self.read_latch().versions.live()
    }
}

/// First updater wins: only a row whose newest version the transaction sees may be changed.
fn check_writable(
    rows: &HotRows,
    row: usize,
    snapshot: Snapshot,
    stamps: &Stamps,
) -> std::result::Result<(), WriteProblem> {
    if rows.is_sealed() {
        return Err(WriteProblem::Frozen);
    }
    if row >= rows.len() {
        return Err(WriteProblem::Missing);
    }
    let head = rows.versions.head(row);
    if head != 0 {
        let stamp = stamps.get(rows.versions.entry(head).stamp);
        if !snapshot.sees(stamp) {
            return Err(match stamp >= TX_ID_FIRST {
                true => WriteProblem::Uncommitted,
                false => WriteProblem::Committed,
            });
        }
    }
    match rows.is_deleted(row) {
        true => Err(WriteProblem::Missing),
        false => Ok(()),
    }
}

/// A hot chunk as a snapshot sees it.
#[derive(Clone, Debug)]
pub struct HotChunkRef {
    chunk: Arc<HotChunk>,
    snapshot: Snapshot,
    rows: usize,
}

impl HotChunkRef {
    pub(crate) fn new(chunk: &Arc<HotChunk>, snapshot: Snapshot) -> Self {
        let rows = chunk.with(HotRows::len);
        Self { chunk: Arc::clone(chunk), snapshot, rows }
    }

    pub(super) fn chunk(&self) -> &HotChunk {
        &self.chunk
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        self.snapshot
    }

    /// Returns the chunk's id, which no other chunk of the table ever has.
    pub(crate) fn id(&self) -> u64 {
        self.chunk.id()
    }

    /// Returns whether a row that a snapshot may see is or was null in `column`.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn may_have_nulls(&self, column: usize) -> bool {
        self.chunk.with(|latched| latched.column(column).has_nulls())
    }

    /// Returns the number of rows, holes and those included that the snapshot does not see.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the id of a row.
    pub fn row_id(&self, offset: u16) -> RowId {
        RowId::hot(self.chunk.id(), offset)
    }

    /// Returns `columns` of those of the `rows` that the snapshot sees, and which rows these are.
    /// The latch is held for all of them: ask for a vector at a time.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn read(&self, rows: Range<usize>, columns: &[usize]) -> (Vec<ColumnBuffer>, Vec<u16>) {
        let rows = rows.start.min(self.rows)..rows.end.min(self.rows);
        let mut offsets = Vec::with_capacity(rows.len());
        let mut buffers: Vec<ColumnBuffer> =
            columns.iter().map(|&column| ColumnBuffer::new(self.chunk.types[column])).collect();
        self.chunk.with(|latched| {
            // Both closures append; one after the other, which the compiler cannot know.
            let out = std::cell::RefCell::new((&mut buffers, &mut offsets));
            let on_run = |run: Range<usize>| {
                let (buffers, offsets) = &mut *out.borrow_mut();
                offsets.extend(run.clone().map(|row| row as u16));
                for (buffer, &column) in buffers.iter_mut().zip(columns) {
                    latched.column(column).copy_to(run.clone(), buffer);
                }
            };
            latched.visit(rows, self.snapshot, self.chunk.stamps(), on_run, |row, view| {
                let (buffers, offsets) = &mut *out.borrow_mut();
                offsets.push(row as u16);
                for (buffer, &column) in buffers.iter_mut().zip(columns) {
                    view.value(column).push_to(buffer);
                }
            });
        });
        (buffers, offsets)
    }

    /// Returns bounds of the values of `column` that any snapshot may see; reads no row. They only
    /// widen, and the values at them may be gone.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn range(&self, column: usize) -> HotColumnRange {
        self.chunk.with(|latched| latched.column(column).range())
    }

    /// Counts the rows that the snapshot sees.
    pub fn count(&self) -> usize {
        let (runs, single) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        self.chunk.with(|latched| {
            latched.visit(
                0..self.rows,
                self.snapshot,
                self.chunk.stamps(),
                |run| runs.set(runs.get() + run.len()),
                |_, _| single.set(single.get() + 1),
            );
        });
        runs.get() + single.get()
    }

    /// Adds up the non-null values of a column of 64-bit numbers, wrapping, where they lie.
    ///
    /// # Panics
    /// If the table has no such column, or it is of another type.
    #[doc(hidden)]
    pub fn sum_i64(&self, column: usize) -> i64 {
        let sum = std::cell::Cell::new(0_i64);
        self.chunk.with(|latched| {
            let values = latched.column(column).as_i64().unwrap_or_default();
            let add = |more: i64| sum.set(sum.get().wrapping_add(more));
            latched.visit(
                0..self.rows,
                self.snapshot,
                self.chunk.stamps(),
                |run| add(values[run].iter().fold(0, |sum: i64, more| sum.wrapping_add(*more))),
                |_, view| {
                    if let ValueRef::Int(value) = view.value(column) {
                        add(value);
                    }
                },
            );
        });
        sum.get()
    }
}
