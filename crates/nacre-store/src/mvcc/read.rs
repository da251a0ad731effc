//! A row as a snapshot sees it, wherever it lies.
//!
//! Values of hot rows are handed on where they lie, under a latch. Those of frozen rows are copied
//! first: only then can it be asked whether a page was lost, and the row be read again.

use std::cell::Cell;
use std::sync::Arc;

use nacre_column::PointValue;

use crate::error::Result;
use crate::hot::FrozenDeletes;
use crate::id::{CommitTs, RowId, RowPlace};
use crate::manifest::LoadId;
use crate::mvcc::{NOBODY, Snapshot};
use crate::stored_load::OpenLoad;
use crate::table::Table;
use crate::value::{VALUES_INLINE, Value, ValueRef, slots};

/// A frozen chunk whose load a snapshot sees. Deletes that it sees are among those that were noted
/// when it was asked for, so it serves all reads of a snapshot up to its next delete.
#[derive(Debug)]
pub(crate) struct FrozenChunk {
    place: (LoadId, u32),
    load: Arc<OpenLoad>,
    deletes: Option<Arc<FrozenDeletes>>,
}

impl Table {
    /// Passes `columns` of a row, which are there, to `with`, or returns `None` if the snapshot
    /// sees no such row. `with` must not use the store: it may run under a latch.
    ///
    /// # Errors
    /// That of a damaged block.
    #[inline]
    pub(crate) fn read_at<T>(
        self: &Arc<Self>,
        row: RowId,
        snapshot: Snapshot,
        columns: &[usize],
        with: impl FnOnce(&[ValueRef<'_>]) -> T,
    ) -> Result<Option<T>> {
        let RowPlace::Hot { chunk, offset } = row.place() else {
            return self.read_frozen(row, snapshot, columns, &mut None, with);
        };
        let mut with = Some(with);
        let found = self.hot().with(chunk, |chunk| {
            let with = with.take()?;
            chunk.with(|rows| {
                let view = rows.view(usize::from(offset), snapshot, chunk.stamps())?;
                let (mut inline, mut spilled) = ([ValueRef::Null; VALUES_INLINE], Vec::new());
                let values = slots(columns.len(), &mut inline, &mut spilled);
                for (slot, column) in values.iter_mut().zip(columns) {
                    *slot = view.value(*column);
                }
                Some(with(values))
            })
        });
        let Some(with) = with else {
            return Ok(found.flatten());
        };
        match self.forwards().row(row) {
            Some(row) => self.read_at(row, snapshot, columns, with),
            None => Ok(None),
        }
    }

    /// As [`Table::read_at`], for one of several rows that the same snapshot reads, none of which
    /// it deletes meanwhile; `last` is what the row before has left.
    ///
    /// # Errors
    /// As for [`Table::read_at`].
    #[inline]
    pub(crate) fn read_beside<T>(
        self: &Arc<Self>,
        row: RowId,
        snapshot: Snapshot,
        columns: &[usize],
        last: &mut Option<FrozenChunk>,
        with: impl FnOnce(&[ValueRef<'_>]) -> T,
    ) -> Result<Option<T>> {
        match row.is_hot() {
            true => self.read_at(row, snapshot, columns, with),
            false => self.read_frozen(row, snapshot, columns, last, with),
        }
    }

    fn read_frozen<T>(
        self: &Arc<Self>,
        row: RowId,
        snapshot: Snapshot,
        columns: &[usize],
        last: &mut Option<FrozenChunk>,
        with: impl FnOnce(&[ValueRef<'_>]) -> T,
    ) -> Result<Option<T>> {
        let mut text = TextRoom::take();
        let (mut inline, mut spilled) = ([PointValue::Null; VALUES_INLINE], Vec::new());
        let points = slots(columns.len(), &mut inline, &mut spilled);
        match self.find_frozen(row, snapshot, columns, last, (points, &mut text.0))? {
            FrozenRow::Absent => return Ok(None),
            FrozenRow::Unread => {
                let values = self.read_blocks(row, columns)?;
                return Ok(values.map(|values| {
                    with(&values.iter().map(Value::as_ref).collect::<Vec<ValueRef<'_>>>())
                }));
            }
            FrozenRow::Read => {}
        }
        let (mut inline, mut spilled) = ([ValueRef::Null; VALUES_INLINE], Vec::new());
        let values = slots(columns.len(), &mut inline, &mut spilled);
        for (slot, point) in values.iter_mut().zip(&*points) {
            *slot = ValueRef::at(*point, &text.0);
        }
        Ok(Some(with(values)))
    }

    /// Looks for a frozen row and reads it into `points`, and its strings into `text`.
    fn find_frozen(
        &self,
        row: RowId,
        snapshot: Snapshot,
        columns: &[usize],
        last: &mut Option<FrozenChunk>,
        (points, text): (&mut [PointValue], &mut Vec<u8>),
    ) -> Result<FrozenRow> {
        let RowPlace::Frozen { load, chunk, offset } = row.place() else {
            return Ok(FrozenRow::Absent);
        };
        if last.as_ref().is_none_or(|last| last.place != (load, chunk)) {
            *last = self.frozen_rows((load, chunk), &snapshot)?;
        }
        let Some(found) = last else {
            return Ok(FrozenRow::Absent);
        };
        let (index, row) = (chunk as usize, usize::from(offset));
        let deletes = found.deletes.as_ref();
        let stamps = self.hot().stamps();
        if row >= found.load.rows(chunk)
            || deletes.is_some_and(|deletes| deletes.is_deleted(offset, snapshot, stamps))
        {
            return Ok(FrozenRow::Absent);
        }
        Ok(match found.load.read_row(self, (index, row), columns, points, text) {
            true => FrozenRow::Read,
            false => FrozenRow::Unread,
        })
    }

    /// Returns a frozen chunk if the snapshot sees its load.
    fn frozen_rows(
        &self,
        (load, index): (LoadId, u32),
        snapshot: &Snapshot,
    ) -> Result<Option<FrozenChunk>> {
        let found = self.frozen_load(load, index, snapshot)?;
        Ok(found.map(|found| FrozenChunk {
            place: (load, index),
            load: found,
            deletes: self.deletes_of(load, index),
        }))
    }

    /// Reads a frozen row that is there from whatever replicas are good.
    #[cold]
    fn read_blocks(self: &Arc<Self>, row: RowId, columns: &[usize]) -> Result<Option<Vec<Value>>> {
        let RowPlace::Frozen { load, chunk, offset } = row.place() else {
            return Ok(None);
        };
        let everything = Snapshot { start: CommitTs(u64::MAX), tx: NOBODY };
        let Some(chunk) = self.frozen_chunk(load, chunk, &everything)? else {
            return Ok(None);
        };
        let value = |&column: &usize| chunk.value(column, offset.into());
        columns.iter().map(value).collect::<Result<_>>().map(Some)
    }
}

/// What became of a frozen row.
enum FrozenRow {
    /// It is not there for the snapshot.
    Absent,
    Read,
    /// It is there, and could not be read with what is kept of its blocks.
    Unread,
}

/// Bytes of strings up to which a buffer is kept.
const KEPT_BYTES_MAX: usize = 64 << 10;

thread_local! {
    static TEXT: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Room for the strings of a row, which one read leaves to the next one of its thread.
struct TextRoom(Vec<u8>);

impl TextRoom {
    fn take() -> Self {
        // While a thread ends there is nothing to take.
        Self(TEXT.try_with(Cell::take).unwrap_or_default())
    }
}

impl Drop for TextRoom {
    fn drop(&mut self) {
        if self.0.capacity() <= KEPT_BYTES_MAX {
            self.0.clear();
            let room = std::mem::take(&mut self.0);
            let _ = TEXT.try_with(|kept| kept.set(room));
        }
    }
}
