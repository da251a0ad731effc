//! Lookups of a transaction: the rows of a key, or of a range of keys in their order.
//!
//! Entries come from the index in batches, each under its latch, and are merged with the frozen
//! rows of the range, which come chunk by chunk. A row is handed on if the snapshot sees it and its
//! key is that of the entry.
//!
//! # Source
//! [Muehlbauer16 2.2.3, 2.2.5] index accesses are logged as predicates on the key's columns.

use std::collections::{BTreeSet, VecDeque};
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use nacre_pmem::structure::KeyBounds;

use super::frozen::KeySearch;
use super::{Direction, IndexKind, TableIndex};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::id::RowId;
use crate::key::KeyColumns;
use crate::mvcc::Transaction;
use crate::predicate_log::{ColumnSet, Predicate};
use crate::table::Table;
use crate::value::ValueRef;

/// Values between which the keys of a range lie; fewer than the key has columns stand for all keys
/// that begin with them.
pub type ValueBounds<'a> = (Bound<&'a [ValueRef<'a>]>, Bound<&'a [ValueRef<'a>]>);

impl Table {
    /// Returns the index called `name`; that of the primary key is called as the constraint.
    ///
    /// # Errors
    /// [`Error::UnknownIndex`].
    pub fn index(&self, name: &str) -> Result<Arc<TableIndex>> {
        self.table_indexes().get(name).ok_or_else(|| Error::UnknownIndex {
            index: name.to_owned(),
            table: self.definition().name.clone(),
        })
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
        let bounds = (Bound::Included(key), Bound::Included(key));
        self.range(table, index, bounds, Direction::Ascending, columns, |row, values| {
            on_row(row, values);
            ControlFlow::Continue(())
        })
    }

    /// Calls `on_row` for the rows whose keys lie within `bounds`, in the order of their keys, with
    /// the values of `columns`, until it breaks. `on_row` must not use the store: it may run under
    /// a latch.
    ///
    /// # Errors
    /// [`Error::InvalidValue`] if a value is not one of its column; [`Error::InvalidDefinition`] if
    /// there are more values than the key has columns, or if a hash index is asked for anything
    /// but one key; [`Error::UnknownColumn`], [`Error::TransactionEnded`]; that of a damaged block.
    pub fn range(
        &mut self,
        table: &Arc<Table>,
        index: &TableIndex,
        bounds: ValueBounds<'_>,
        direction: Direction,
        columns: &[usize],
        mut on_row: impl FnMut(RowId, &[ValueRef<'_>]) -> ControlFlow<()>,
    ) -> Result<()> {
        self.require_open()?;
        table.check_columns(columns)?;
        let (lower, upper) = (fit(table, index, bounds.0)?, fit(table, index, bounds.1)?);
        let bounds = (as_slice(&lower), as_slice(&upper));
        self.log_keys(table, index, bounds, columns);
        let is_point = match bounds {
            (Bound::Included(low), Bound::Included(high)) => {
                low == high && low.len() == index.key().columns().len()
            }
            _ => false,
        };
        if index.definition().kind == IndexKind::Hash && !is_point {
            let reason = format!("hash index \"{}\" has no ranges", index.definition().name);
            return Err(Error::InvalidDefinition { reason });
        }
        let search = match bounds {
            (Bound::Included(key), _) if is_point => KeySearch::point(index.key(), key),
            (lower, upper) => KeySearch::range(index.key(), lower, upper),
        };
        if search.is_empty() {
            return Ok(());
        }
        let start = self.snapshot().start();
        let mut loads = table.loads().to_vec();
        loads.retain(|load| load.visible_from() <= start);
        let chunks = search.chunks(table, &loads, index.is_primary(table))?;
        let frozen = FrozenRows::new(&search, index, chunks, direction);
        let mut visit = Visit { transaction: self, table, index, columns, on_row: &mut on_row };
        match is_point {
            true => visit.point(&search, frozen),
            false => visit.range(&search, frozen, direction),
        }
    }
}

impl Transaction {
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
        let read: ColumnSet = read.iter().copied().collect();
        match bounds {
            (Bound::Included(low), Bound::Included(high)) if low == high => {
                log.log_key(table.id(), columns, low, &read);
            }
            (low, high) => {
                log.log(table.id(), Predicate::new(read).with_keys(columns, low, high));
            }
        }
    }
}

/// Brings the values of a bound into the form of their columns.
fn fit<'a>(
    table: &Table,
    index: &TableIndex,
    bound: Bound<&[ValueRef<'a>]>,
) -> Result<Bound<Vec<ValueRef<'a>>>> {
    let (Bound::Included(key) | Bound::Excluded(key)) = bound else {
        return Ok(Bound::Unbounded);
    };
    let columns = index.key().columns();
    if key.len() > columns.len() {
        let (name, most) = (&index.definition().name, columns.len());
        let reason = format!("{} values for the {most} columns of index \"{name}\"", key.len());
        return Err(Error::InvalidDefinition { reason });
    }
    let fitted = columns.zip(key).map(|(column, value)| value.fit(table.definition(), column));
    let fitted = fitted.collect::<Result<Vec<_>>>()?;
    Ok(match bound {
        Bound::Excluded(_) => Bound::Excluded(fitted),
        _ => Bound::Included(fitted),
    })
}

fn as_slice<'a, 'b>(bound: &'b Bound<Vec<ValueRef<'a>>>) -> Bound<&'b [ValueRef<'a>]> {
    bound.as_ref().map(Vec::as_slice)
}

/// Hands rows on.
struct Visit<'a> {
    transaction: &'a Transaction,
    table: &'a Arc<Table>,
    index: &'a TableIndex,
    columns: &'a [usize],
    on_row: &'a mut dyn FnMut(RowId, &[ValueRef<'_>]) -> ControlFlow<()>,
}

impl Visit<'_> {
    fn point(&mut self, search: &KeySearch, mut frozen: FrozenRows<'_>) -> Result<()> {
        if let (Bound::Included(key), _) = search.bounds() {
            for row in self.index.rows_of(key) {
                if self.row(key, row)?.is_break() {
                    return Ok(());
                }
            }
        }
        self.frozen_before(None, &mut frozen).map(|_| ())
    }

    fn range(
        &mut self,
        search: &KeySearch,
        mut frozen: FrozenRows<'_>,
        direction: Direction,
    ) -> Result<()> {
        let bounds = search.bounds();
        let mut last: Option<Vec<u8>> = None;
        loop {
            let mut entries = Vec::new();
            let is_all =
                self.index.batch(behind(bounds, &last, direction), direction, &mut entries);
            for (key, row) in &entries {
                if self.frozen_before(Some(key), &mut frozen)?.is_break()
                    || self.row(key, *row)?.is_break()
                {
                    return Ok(());
                }
            }
            if is_all {
                return self.frozen_before(None, &mut frozen).map(|_| ());
            }
            last = entries.pop().map(|(key, _)| key);
        }
    }

    /// Hands on the frozen rows that come before `limit`.
    fn frozen_before(
        &mut self,
        limit: Option<&[u8]>,
        frozen: &mut FrozenRows<'_>,
    ) -> Result<ControlFlow<()>> {
        while let Some((key, row)) = frozen.next_before(limit)? {
            if self.row(&key, row)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Hands on a row if it is visible and has that key.
    fn row(&mut self, key: &[u8], row: RowId) -> Result<ControlFlow<()>> {
        let columns: &KeyColumns = self.index.key();
        let all: Vec<usize> = columns.columns().chain(self.columns.iter().copied()).collect();
        let on_row = &mut *self.on_row;
        let handed_on = self.transaction.read_version(self.table, row, &all, |values| {
            let (own, wanted) = values.split_at(columns.columns().len());
            let mut own_key = Vec::with_capacity(key.len());
            columns.encode(own.iter().copied(), &mut own_key);
            match own_key == key {
                true => on_row(row, wanted),
                false => ControlFlow::Continue(()),
            }
        })?;
        Ok(handed_on.unwrap_or(ControlFlow::Continue(())))
    }
}

/// Returns what is left of `bounds` behind a key.
fn behind<'a>(
    bounds: KeyBounds<'a>,
    last: &'a Option<Vec<u8>>,
    direction: Direction,
) -> KeyBounds<'a> {
    match (last, direction) {
        (None, _) => bounds,
        (Some(last), Direction::Ascending) => (Bound::Excluded(last), bounds.1),
        (Some(last), Direction::Descending) => (bounds.0, Bound::Excluded(last)),
    }
}

/// The frozen rows of a search in the order of their keys. Chunks are read when their turn comes.
struct FrozenRows<'a> {
    search: &'a KeySearch,
    columns: &'a KeyColumns,
    direction: Direction,
    /// With the key before which no row of the chunk comes, if that is known; in that order.
    chunks: VecDeque<(Option<Vec<u8>>, Chunk)>,
    /// Rows of chunks that were read.
    rows: BTreeSet<(Vec<u8>, RowId)>,
}

impl<'a> FrozenRows<'a> {
    fn new(
        search: &'a KeySearch,
        index: &'a TableIndex,
        chunks: Vec<Chunk>,
        direction: Direction,
    ) -> Self {
        let start = |chunk: &Chunk| {
            let range = chunk.key_range().filter(|_| index.is_primary(chunk.table()));
            range.map(|range| match direction {
                Direction::Ascending => range.min.clone(),
                Direction::Descending => range.max.clone(),
            })
        };
        let mut chunks: Vec<(Option<Vec<u8>>, Chunk)> =
            chunks.into_iter().map(|chunk| (start(&chunk), chunk)).collect();
        // Chunks without a known start come first either way.
        chunks.sort_by(|(a, _), (b, _)| match direction {
            Direction::Ascending => a.cmp(b),
            Direction::Descending => (b.is_none(), b).cmp(&(a.is_none(), a)),
        });
        let columns = index.key();
        Self { search, columns, direction, chunks: chunks.into(), rows: BTreeSet::new() }
    }

    /// Whether `a` comes before `b`.
    fn precedes(&self, a: &[u8], b: &[u8]) -> bool {
        match self.direction {
            Direction::Ascending => a < b,
            Direction::Descending => a > b,
        }
    }

    fn first(&self) -> Option<&[u8]> {
        let first = match self.direction {
            Direction::Ascending => self.rows.first(),
            Direction::Descending => self.rows.last(),
        };
        first.map(|(key, _)| key.as_slice())
    }

    /// Takes out the next row if it comes before `limit`.
    fn next_before(&mut self, limit: Option<&[u8]>) -> Result<Option<(Vec<u8>, RowId)>> {
        loop {
            // Chunks that may begin before what is known to be next are to be read first.
            let next = match (self.first(), limit) {
                (Some(first), Some(limit)) if !self.precedes(first, limit) => Some(limit),
                (None, limit) => limit,
                (first, _) => first,
            };
            let is_due = match (self.chunks.front(), next) {
                (Some((Some(start), _)), Some(next)) => !self.precedes(next, start),
                (front, _) => front.is_some(),
            };
            match self.chunks.pop_front_if(|_| is_due) {
                Some((_, chunk)) => {
                    self.rows.extend(self.search.rows_in(&chunk, self.columns)?);
                }
                None => break,
            }
        }
        let is_next =
            self.first().is_some_and(|first| limit.is_none_or(|limit| self.precedes(first, limit)));
        Ok(match (is_next, self.direction) {
            (false, _) => None,
            (true, Direction::Ascending) => self.rows.pop_first(),
            (true, Direction::Descending) => self.rows.pop_last(),
        })
    }
}
