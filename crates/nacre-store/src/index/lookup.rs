//! Lookups of a transaction: the rows of a key, or of a range of keys in their order.
//!
//! Entries come from the index in batches, each under its latch, and are merged with those of runs
//! and with the frozen rows of the range, which come chunk by chunk. A row is handed on if the
//! snapshot sees it; its key is that of the entry in all versions (`table_index.rs`).
//!
//! # Source
//! [Muehlbauer16 2.2.3, 2.2.5] index accesses are logged as predicates on the key's columns.
//! Differs: of a walk that its caller ended only the range up to its last row is logged, so that
//! who looks for a smallest key does not conflict with inserts of greater ones.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use nacre_pmem::structure::KeyBounds;

use super::frozen::{KeySearch, key_bounds};
use super::others::Others;
use super::runs::Runs;
use super::table_index::{BATCH_KEYS, BATCH_KEYS_FIRST, Batch};
use super::{Direction, IndexKind, SearchedLoad, SearchedLoads, TableIndex};
use crate::error::{Error, Result};
use crate::id::{RowId, RowPlace};
use crate::mvcc::{FrozenChunk, Snapshot, Transaction};
use crate::predicate_log::{ColumnSet, Predicate};
use crate::table::Table;
use crate::value::{Value, ValueRef, slots};

/// Rows of one key that lie on the stack: of most keys there is one, and one that was deleted.
const ROWS_INLINE: usize = 4;

/// Values of a key that lie on the stack.
pub(crate) const KEY_VALUES_INLINE: usize = 4;

/// Values between which the keys of a range lie; fewer than the key has columns stand for all keys
/// that begin with them.
pub type ValueBounds<'a> = (Bound<&'a [ValueRef<'a>]>, Bound<&'a [ValueRef<'a>]>);

/// Memory that one search leaves to the next one.
#[derive(Debug, Default)]
pub(crate) struct SearchRoom {
    /// The key, or the first one.
    pub(crate) key: Vec<u8>,
    /// The end of a range.
    end: Vec<u8>,
    batch: Batch,
    /// The last key of the batch before.
    last: Vec<u8>,
}

impl SearchRoom {
    /// Gives back memory beyond some bytes, and that of a large batch.
    pub(crate) fn shrink(&mut self, kept_bytes: usize) {
        for bytes in [&mut self.key, &mut self.end, &mut self.last] {
            bytes.clear();
            bytes.shrink_to(kept_bytes);
        }
        self.batch.shrink(kept_bytes);
    }
}

impl Table {
    /// Returns the index called `name`; that of the primary key is called as the constraint.
    ///
    /// # Errors
    /// [`Error::UnknownIndex`].
    pub fn index(&self, name: &str) -> Result<Arc<TableIndex>> {
        self.table_indexes().get(name).ok_or_else(|| unknown_index(self, name))
    }

    /// Returns all indexes, that of the primary key first.
    pub fn indexes(&self) -> Vec<Arc<TableIndex>> {
        self.table_indexes().all()
    }
}

impl Transaction {
    /// Calls `on_row` for the rows whose key is `key`, or begins with it, with the values of
    /// `columns`. `on_row` must not use the store: it may run under a latch.
    ///
    /// # Errors
    /// As for [`Transaction::range`].
    pub fn lookup(
        &mut self,
        table: &Arc<Table>,
        index: &TableIndex,
        key: &[ValueRef<'_>],
        columns: &[usize],
        mut on_row: impl FnMut(RowId, &[ValueRef<'_>]),
    ) -> Result<()> {
        if key.len() < index.key().columns().len() {
            let bounds = (Bound::Included(key), Bound::Included(key));
            return self.range(
                table,
                index,
                bounds,
                Direction::Ascending,
                columns,
                |row, values| {
                    on_row(row, values);
                    ControlFlow::Continue(())
                },
            );
        }
        self.require_readable(table, index, columns)?;
        let (mut inline, mut spilled) = ([ValueRef::Null; KEY_VALUES_INLINE], Vec::new());
        let fitted = slots(key.len(), &mut inline, &mut spilled);
        fit_key(table, index, key, fitted)?;
        if let Some(log) = self.predicate_log() {
            log.log_key(table.id(), &index.definition().columns, fitted, columns);
        }
        let (snapshot, room) = self.view_and_room();
        let reader = Reader { table, index, snapshot, columns };
        reader.point(fitted, &mut room.key, &mut |row, values| {
            on_row(row, values);
            ControlFlow::Continue(())
        })?;
        table.require_undropped()
    }

    /// Calls `on_row` for the rows whose keys lie within `bounds`, in the order of their keys, with
    /// the values of `columns`, until it breaks. `on_row` must not use the store: it may run under
    /// a latch.
    ///
    /// # Errors
    /// [`Error::UnknownIndex`] if it was dropped; [`Error::DefinitionChanged`] if the table was, or
    /// was made since the snapshot: rows that were handed on do not count; [`Error::InvalidValue`]
    /// if a value is not one of its column; [`Error::InvalidDefinition`] if there are more values
    /// than the key has columns, or if a hash index is asked for anything but one key;
    /// [`Error::UnknownColumn`], [`Error::TransactionEnded`]; that of a damaged block.
    pub fn range(
        &mut self,
        table: &Arc<Table>,
        index: &TableIndex,
        bounds: ValueBounds<'_>,
        direction: Direction,
        columns: &[usize],
        mut on_row: impl FnMut(RowId, &[ValueRef<'_>]) -> ControlFlow<()>,
    ) -> Result<()> {
        self.require_readable(table, index, columns)?;
        let (mut low, mut high) = (KeyRoom::default(), KeyRoom::default());
        let bounds =
            (fit(table, index, bounds.0, &mut low)?, fit(table, index, bounds.1, &mut high)?);
        let (snapshot, room) = self.view_and_room();
        let reader = Reader { table, index, snapshot, columns };
        if let (Bound::Included(low), Bound::Included(high)) = bounds
            && low == high
            && low.len() == index.key().columns().len()
        {
            let read = reader.point(low, &mut room.key, &mut on_row);
            self.log_keys(table, index, bounds, columns);
            return read.and_then(|()| table.require_undropped());
        }
        let mut last = None;
        let read = reader.range(bounds, direction, room, &mut |row, values| {
            let answer = on_row(row, values);
            last = answer.is_break().then_some(row);
            answer
        });
        // Of a walk that was ended only the keys up to its last row were read.
        let last = match last.filter(|_| self.predicate_log().is_some()) {
            Some(row) => reader.key_of(row).unwrap_or_default(),
            None => None,
        };
        let last: Option<Vec<ValueRef<'_>>> =
            last.as_ref().map(|key| key.iter().map(Value::as_ref).collect());
        let bounds = match (&last, direction) {
            (None, _) => bounds,
            (Some(key), Direction::Ascending) => (bounds.0, Bound::Included(&key[..])),
            (Some(key), Direction::Descending) => (Bound::Included(&key[..]), bounds.1),
        };
        self.log_keys(table, index, bounds, columns);
        read.and_then(|()| table.require_undropped())
    }

    /// Checks that the transaction may read columns of a table through an index.
    fn require_readable(&self, table: &Table, index: &TableIndex, columns: &[usize]) -> Result<()> {
        self.require_open()?;
        table.require_visible(&self.snapshot())?;
        table.check_columns(columns)?;
        match index.is_ready() {
            true => Ok(()),
            false => Err(unknown_index(table, &index.definition().name)),
        }
    }

    /// Logs that keys were looked for, if the transaction logs its reads.
    fn log_keys(
        &mut self,
        table: &Table,
        index: &TableIndex,
        bounds: ValueBounds<'_>,
        read: &[usize],
    ) {
        let Some(log) = self.predicate_log() else {
            return;
        };
        let columns = &index.definition().columns;
        match bounds {
            (Bound::Included(low), Bound::Included(high)) if low == high => {
                log.log_key(table.id(), columns, low, read);
            }
            (low, high) => {
                let read: ColumnSet = read.iter().copied().collect();
                log.log(table.id(), Predicate::new(read).with_keys(columns, low, high));
            }
        }
    }
}

fn unknown_index(table: &Table, name: &str) -> Error {
    Error::UnknownIndex { index: name.to_owned(), table: table.schema().name.clone() }
}

/// Brings the values of a key into the form of their columns.
fn fit_key<'a>(
    table: &Table,
    index: &TableIndex,
    key: &[ValueRef<'a>],
    fitted: &mut [ValueRef<'a>],
) -> Result<()> {
    let columns = index.key().columns();
    if key.len() > columns.len() {
        let (name, most) = (&index.definition().name, columns.len());
        let reason = format!("{} values for the {most} columns of index \"{name}\"", key.len());
        return Err(Error::InvalidDefinition { reason });
    }
    for ((slot, column), value) in fitted.iter_mut().zip(columns).zip(key) {
        *slot = table.fit(*value, column)?;
    }
    Ok(())
}

/// Room for the values of a bound.
#[derive(Default)]
struct KeyRoom<'a> {
    inline: [ValueRef<'a>; KEY_VALUES_INLINE],
    spilled: Vec<ValueRef<'a>>,
}

/// As [`fit_key`], for a bound.
fn fit<'a, 'b>(
    table: &Table,
    index: &TableIndex,
    bound: Bound<&[ValueRef<'a>]>,
    room: &'b mut KeyRoom<'a>,
) -> Result<Bound<&'b [ValueRef<'a>]>> {
    let (Bound::Included(key) | Bound::Excluded(key)) = bound else {
        return Ok(Bound::Unbounded);
    };
    let fitted = slots(key.len(), &mut room.inline, &mut room.spilled);
    fit_key(table, index, key, fitted)?;
    Ok(bound.map(|_| &*fitted))
}

/// Whom rows are handed to.
pub(crate) type OnRow<'a> = dyn FnMut(RowId, &[ValueRef<'_>]) -> ControlFlow<()> + 'a;

/// Reads rows by an index for a snapshot.
pub(crate) struct Reader<'a> {
    pub(crate) table: &'a Arc<Table>,
    pub(crate) index: &'a TableIndex,
    pub(crate) snapshot: Snapshot,
    /// Columns to hand on, which are there.
    pub(crate) columns: &'a [usize],
}

impl Reader<'_> {
    /// Hands on the rows of one key, whose values fit; `buffer` is room for its bytes.
    pub(crate) fn point(
        &self,
        key: &[ValueRef<'_>],
        buffer: &mut Vec<u8>,
        on_row: &mut OnRow<'_>,
    ) -> Result<()> {
        buffer.clear();
        let has_null = self.index.key().encode(key.iter().copied(), buffer);
        let is_unique = !has_null && self.index.is_unique_at(self.snapshot);
        let (mut few, mut many) = ([RowId(0); ROWS_INLINE], Vec::new());
        let mut is_found = false;
        let mut visit = Visit::new(self, on_row);
        let (rows, searched) = self.index.rows_into(buffer, &mut few, &mut many);
        for row in rows {
            // Of a load that is searched some entries may be there already.
            if searched.as_ref().is_some_and(|searched| is_in(searched, *row)) {
                continue;
            }
            let answer = visit.row(*row)?;
            if answer == Some(ControlFlow::Break(())) {
                return Ok(());
            }
            is_found |= answer.is_some();
        }
        // No second row with that key is visible.
        let Some(searched) = searched.filter(|_| !(is_unique && is_found)) else {
            return Ok(());
        };
        let (search, runs) = (KeySearch::point(self.index.key(), key), Runs::default());
        let mut others = Others::new(self, &search, Direction::Ascending, (&searched, &runs))?;
        visit.others_before(None, Some(&mut others)).map(|_| ())
    }

    /// Hands on the rows of a range of keys, whose values fit, in their order.
    pub(crate) fn range(
        &self,
        values: ValueBounds<'_>,
        direction: Direction,
        room: &mut SearchRoom,
        on_row: &mut OnRow<'_>,
    ) -> Result<()> {
        if self.index.definition().kind == IndexKind::Hash {
            let reason = format!("hash index \"{}\" has no ranges", self.index.definition().name);
            return Err(Error::InvalidDefinition { reason });
        }
        let SearchRoom { key, end, batch, last } = room;
        let Some(bounds) = key_bounds(self.index.key(), values, (key, end)) else {
            return Ok(());
        };
        // A load whose entries, or run, come meanwhile is searched all the same.
        let besides = self.index.searched_and_runs();
        let none = (SearchedLoads::default(), Runs::default());
        let (searched, runs) = besides.as_ref().unwrap_or(&none);
        let is_besides =
            |row: RowId| is_in(searched, row) || runs.iter().any(|run| run.has_row(row));
        let search = besides.is_some().then(|| KeySearch::range(self.index.key(), values, bounds));
        let others =
            search.as_ref().map(|search| Others::new(self, search, direction, (searched, runs)));
        let mut others = others.transpose()?;
        let mut visit = Visit::new(self, on_row);
        let mut keys_max = BATCH_KEYS_FIRST;
        let mut rest = bounds;
        loop {
            let is_all = self.index.batch(rest, direction, keys_max, batch);
            for (key, row) in batch.iter() {
                if is_besides(row) {
                    continue;
                }
                if visit.others_before(Some(key), others.as_mut())?.is_break()
                    || visit.row(row)? == Some(ControlFlow::Break(()))
                {
                    return Ok(());
                }
            }
            if is_all {
                return visit.others_before(None, others.as_mut()).map(|_| ());
            }
            last.clear();
            last.extend_from_slice(batch.last_key().unwrap_or_default());
            rest = behind(bounds, last, direction);
            keys_max = BATCH_KEYS.min(keys_max * 4);
        }
    }

    /// Returns the key of a row if the snapshot sees it.
    fn key_of(&self, row: RowId) -> Result<Option<Vec<Value>>> {
        let columns: Vec<usize> = self.index.key().columns().collect();
        self.table.read_at(row, self.snapshot, &columns, |values| {
            values.iter().map(|value| value.to_value()).collect()
        })
    }
}

/// Whether the row of an entry is in one of the loads that are searched.
#[inline]
fn is_in(searched: &[Arc<SearchedLoad>], row: RowId) -> bool {
    match row.place() {
        RowPlace::Frozen { load, .. } => searched.iter().any(|one| one.load().id() == load),
        RowPlace::Hot { .. } => false,
    }
}

/// Hands rows on.
struct Visit<'a> {
    reader: &'a Reader<'a>,
    on_row: &'a mut OnRow<'a>,
    /// The frozen chunk of the last row, since the next one is often near.
    last: Option<FrozenChunk>,
}

impl<'a> Visit<'a> {
    fn new<'b: 'a>(reader: &'a Reader<'a>, on_row: &'a mut OnRow<'b>) -> Self {
        Self { reader, on_row, last: None }
    }

    /// Hands on the rows without entries in DRAM that come before `limit`.
    fn others_before(
        &mut self,
        limit: Option<&[u8]>,
        others: Option<&mut Others<'_>>,
    ) -> Result<ControlFlow<()>> {
        let Some(others) = others else {
            return Ok(ControlFlow::Continue(()));
        };
        while let Some((_, row)) = others.next_before(limit)? {
            if self.row(row)? == Some(ControlFlow::Break(())) {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Hands on a row if it is visible; returns the answer if so.
    #[inline]
    fn row(&mut self, row: RowId) -> Result<Option<ControlFlow<()>>> {
        let Reader { table, snapshot, columns, .. } = *self.reader;
        let on_row = &mut *self.on_row;
        let last = &mut self.last;
        table.read_beside(row, snapshot, columns, last, |values| on_row(row, values))
    }
}

/// Returns what is left of `bounds` behind a key.
fn behind<'a>(bounds: KeyBounds<'a>, last: &'a [u8], direction: Direction) -> KeyBounds<'a> {
    match direction {
        Direction::Ascending => (Bound::Excluded(last), bounds.1),
        Direction::Descending => (bounds.0, Bound::Excluded(last)),
    }
}
