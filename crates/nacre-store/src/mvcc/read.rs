//! A row as a snapshot sees it, wherever it lies.

use std::sync::Arc;

use crate::error::Result;
use crate::id::{RowId, RowPlace};
use crate::mvcc::Snapshot;
use crate::table::Table;
use crate::value::{VALUES_INLINE, Value, ValueRef, slots};

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
            let values = self.read_frozen(row, snapshot, columns)?;
            return Ok(values.map(|values| {
                with(&values.iter().map(Value::as_ref).collect::<Vec<ValueRef<'_>>>())
            }));
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

    fn read_frozen(
        self: &Arc<Self>,
        row: RowId,
        snapshot: Snapshot,
        columns: &[usize],
    ) -> Result<Option<Vec<Value>>> {
        let RowPlace::Frozen { load, chunk, offset } = row.place() else {
            return Ok(None);
        };
        let Some(found) = self.frozen_chunk(load, chunk, &snapshot)? else {
            return Ok(None);
        };
        let deletes = self.deletes_of(load, chunk);
        let stamps = self.hot().stamps();
        let is_deleted = deletes
            .is_some_and(|deletes| deletes.is_deleted(offset, snapshot, stamps))
            || usize::from(offset) >= found.rows();
        if is_deleted {
            return Ok(None);
        }
        let value = |&column: &usize| found.value(column, usize::from(offset));
        columns.iter().map(value).collect::<Result<_>>().map(Some)
    }
}
