//! Keys of frozen rows: of loads that an index has no entries of (`searched.rs`).
//!
//! 1. Chunks whose key range (of the primary key) or aggregates rule a match out are skipped.
//! 2. What the key says about single columns is evaluated on the encoded values, which leaves few
//!    rows.
//! 3. The keys of these are compared byte by byte, so that they mean what they mean in an index.
//!
//! # Source
//! [Muehlbauer16 3] frozen blocks are searched by their aggregates and by scans of codes.

use std::ops::Bound;
use std::sync::Arc;

use nacre_column::replicated::AccessHint;
use nacre_column::{ColumnBuffer, CompareOp, Constant, Flavour, Restriction, kernel, may_match};
use nacre_pmem::structure::KeyBounds;

use super::searched::SearchedLoad;
use super::{TableIndex, ValueBounds, remove_entries};
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::id::{CommitTs, RowId};
use crate::key::{KeyColumns, make_end_of_prefix};
use crate::manifest::LoadId;
use crate::mvcc::{NOBODY, Snapshot};
use crate::stored_load::StoredLoad;
use crate::table::Table;
use crate::value::{Value, ValueRef};

/// Rows up to which the key columns are read value by value instead of whole.
const SINGLE_ROWS_MAX: usize = 16;

/// Rows whose entries are taken out before others get the index: some 50 microseconds.
const REMOVED_AT_ONCE: usize = 128;

/// A range of keys, and what it says about columns.
#[derive(Debug)]
pub(crate) struct KeySearch {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    restrictions: Vec<(usize, Restriction)>,
}

/// Writes the ends of a range of keys, in the bytes of keys, and returns them; `None` if no key can
/// be in between. A bound of fewer values than the key has columns stands for all keys that begin
/// with it.
pub(crate) fn key_bounds<'a>(
    columns: &KeyColumns,
    (lower, upper): ValueBounds<'_>,
    (low, high): (&'a mut Vec<u8>, &'a mut Vec<u8>),
) -> Option<KeyBounds<'a>> {
    let encode = |key: &[ValueRef<'_>], out: &mut Vec<u8>| {
        out.clear();
        columns.encode(key.iter().copied(), out);
    };
    let low = match lower {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => {
            encode(key, low);
            Bound::Included(low.as_slice())
        }
        Bound::Excluded(key) => {
            encode(key, low);
            Bound::Included(make_end_of_prefix(low).then_some(low.as_slice())?)
        }
    };
    let high = match upper {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => {
            encode(key, high);
            match make_end_of_prefix(high) {
                true => Bound::Excluded(high.as_slice()),
                false => Bound::Unbounded,
            }
        }
        Bound::Excluded(key) => {
            encode(key, high);
            Bound::Excluded(high.as_slice())
        }
    };
    Some((low, high))
}

impl KeySearch {
    /// Searches all keys that begin with the values of `key`, which fit their columns.
    pub(crate) fn point(columns: &KeyColumns, key: &[ValueRef<'_>]) -> Self {
        let values = (Bound::Included(key), Bound::Included(key));
        let (mut low, mut high) = (Vec::new(), Vec::new());
        let bounds = key_bounds(columns, values, (&mut low, &mut high));
        let range =
            Self::range(columns, values, bounds.unwrap_or((Bound::Unbounded, Bound::Unbounded)));
        let equal = |(column, value): (usize, &ValueRef<'_>)| match constant(*value) {
            Some(value) => (column, Restriction::Compare { op: CompareOp::Eq, value }),
            None => (column, Restriction::IsNull),
        };
        let restrictions = columns.columns().zip(key).map(equal).collect();
        Self { restrictions, ..range }
    }

    /// Searches a range of keys; `bounds` are what [`key_bounds`] made of the values.
    pub(crate) fn range(
        columns: &KeyColumns,
        values: ValueBounds<'_>,
        bounds: KeyBounds<'_>,
    ) -> Self {
        let restrictions = first_column(columns, values.0, values.1).into_iter().collect();
        let (lower, upper) = (bounds.0.map(<[u8]>::to_vec), bounds.1.map(<[u8]>::to_vec));
        Self { lower, upper, restrictions }
    }

    /// Returns the range in the bytes of keys.
    pub(crate) fn bounds(&self) -> KeyBounds<'_> {
        (self.lower.as_ref().map(Vec::as_slice), self.upper.as_ref().map(Vec::as_slice))
    }

    /// Returns the chunks of some loads that may hold such keys, and notes that these are searched.
    ///
    /// # Errors
    /// [`Error::LoadDamaged`].
    pub(crate) fn chunks_of<'a>(
        &self,
        table: &Arc<Table>,
        searched: impl IntoIterator<Item = &'a Arc<SearchedLoad>>,
        is_primary: bool,
    ) -> Result<Vec<Chunk>> {
        let mut found = Vec::new();
        for one in searched {
            let before = found.len();
            self.add_chunks(table, one.load(), is_primary, &mut found)?;
            one.note(table, (found.len() - before) as u32);
        }
        Ok(found)
    }

    /// As [`KeySearch::chunks_of`], for loads that are not published.
    pub(crate) fn pending_chunks(
        &self,
        table: &Arc<Table>,
        loads: &[Arc<StoredLoad>],
        is_primary: bool,
    ) -> Result<Vec<Chunk>> {
        let mut found = Vec::new();
        for load in loads {
            self.add_chunks(table, load, is_primary, &mut found)?;
        }
        Ok(found)
    }

    fn add_chunks(
        &self,
        table: &Arc<Table>,
        load: &Arc<StoredLoad>,
        is_primary: bool,
        found: &mut Vec<Chunk>,
    ) -> Result<()> {
        let open = load.open()?;
        for (index, info) in open.chunks.iter().enumerate() {
            let may_have = match &info.key_range {
                Some(range) if is_primary => {
                    is_above(&range.max, &self.lower) && is_below(&range.min, &self.upper)
                }
                _ => self
                    .restrictions
                    .iter()
                    .all(|(column, restriction)| may_match(open.sma(index, *column), restriction)),
            };
            if may_have {
                let number = table.chunks_before(load.id()) + index as u64;
                found.push(Chunk::new(table, load, &open, index, number));
            }
        }
        Ok(())
    }

    /// Returns the rows of a chunk with such keys, with these, in row order.
    ///
    /// # Errors
    /// That of a damaged block; [`Error::Internal`] if rows have no ids.
    pub(crate) fn rows_in(
        &self,
        chunk: &Chunk,
        columns: &KeyColumns,
    ) -> Result<Vec<(Vec<u8>, RowId)>> {
        let mut bits = vec![u64::MAX; chunk.rows().div_ceil(64)];
        for (column, restriction) in &self.restrictions {
            let some = select(chunk, *column, restriction)?;
            bits.iter_mut().zip(&some).for_each(|(all, some)| *all &= some);
        }
        let mut rows = Vec::new();
        kernel::positions(&bits, &mut rows);
        rows.truncate(rows.partition_point(|&row| usize::from(row) < chunk.rows()));
        let mut found = Vec::new();
        for (key, row) in keys_of(chunk, columns, &rows)? {
            if is_above(&key, &self.lower) && is_below(&key, &self.upper) {
                let id = chunk.row_id(row).ok_or_else(|| Error::Internal {
                    reason: format!("row {row} of chunk {} has no id", chunk.number()),
                })?;
                found.push((key, id));
            }
        }
        Ok(found)
    }
}

fn is_above(key: &[u8], lower: &Bound<Vec<u8>>) -> bool {
    match lower {
        Bound::Included(bound) => key >= bound.as_slice(),
        Bound::Excluded(bound) => key > bound.as_slice(),
        Bound::Unbounded => true,
    }
}

fn is_below(key: &[u8], upper: &Bound<Vec<u8>>) -> bool {
    match upper {
        Bound::Included(bound) => key <= bound.as_slice(),
        Bound::Excluded(bound) => key < bound.as_slice(),
        Bound::Unbounded => true,
    }
}

/// Returns what a range of keys says about their first column, if that is anything.
fn first_column(
    columns: &KeyColumns,
    lower: Bound<&[ValueRef<'_>]>,
    upper: Bound<&[ValueRef<'_>]>,
) -> Option<(usize, Restriction)> {
    let column = columns.columns().next()?;
    let low = first_value(lower).and_then(constant);
    let restriction = match (low, first_value(upper)) {
        (Some(low), Some(high)) => Restriction::Between { low, high: constant(high)? },
        (None, Some(high)) if first_value(lower).is_none() => {
            Restriction::Compare { op: CompareOp::Le, value: constant(high)? }
        }
        // Nulls are above every value.
        _ => return None,
    };
    Some((column, restriction))
}

fn first_value<'a>(bound: Bound<&[ValueRef<'a>]>) -> Option<ValueRef<'a>> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => key.first().copied(),
        Bound::Unbounded => None,
    }
}

/// Returns a value as a constant, unless it is null.
fn constant(value: ValueRef<'_>) -> Option<Constant> {
    Some(match value {
        ValueRef::Null => return None,
        ValueRef::Int(value) => Constant::Int(value.into()),
        ValueRef::Int128(value) => Constant::Int(value),
        ValueRef::Float32(value) => Constant::Float(value.into()),
        ValueRef::Float64(value) => Constant::Float(value),
        ValueRef::Bytes(value) => Constant::Bytes(value.to_vec()),
    })
}

/// Returns a bit for each row of a chunk, set if its column satisfies `restriction`.
fn select(chunk: &Chunk, column: usize, restriction: &Restriction) -> Result<Vec<u64>> {
    let mut bits = Vec::new();
    // Each turn returns or takes one replica out.
    loop {
        let handle = chunk.read(column, AccessHint::Sequential)?;
        let rows = 0..chunk.rows();
        let selected = handle.block().and_then(|block| {
            kernel::select_bits(&block, Flavour::active(), restriction, rows, &mut bits)
        });
        match (handle.check(), selected) {
            (Ok(()), Ok(())) => return Ok(bits),
            _ => chunk.report_lost(column, &handle),
        }
    }
}

/// Takes rows of a frozen chunk, which nobody sees any more, out of the indexes. An entry that
/// stays because a block is damaged does no harm.
pub(crate) fn remove_frozen_entries(table: &Arc<Table>, chunk: (LoadId, u32), rows: &[u16]) {
    let (load, number) = chunk;
    let indexes: Vec<Arc<TableIndex>> = table.table_indexes().hold().clone();
    // Entries in runs go with these.
    let has_entries = |index: &Arc<TableIndex>| index.has_entries_of(load);
    let indexes: Vec<Arc<TableIndex>> = indexes.into_iter().filter(has_entries).collect();
    let everything = Snapshot { start: CommitTs(u64::MAX), tx: NOBODY };
    let found = if indexes.is_empty() {
        None
    } else {
        table.frozen_chunk(load, number, &everything).ok().flatten()
    };
    let Some(found) = found else {
        return;
    };
    for index in &indexes {
        for some in keys_of(&found, index.key(), rows).unwrap_or_default().chunks(REMOVED_AT_ONCE) {
            let mut entries = Vec::with_capacity(2 * some.len());
            for (key, row) in some {
                if let Some(id) = found.row_id(*row) {
                    let origin = table.forwards().origin(id);
                    entries.extend(origin.map(|origin| (key.clone(), origin)));
                    entries.push((key.clone(), id));
                }
            }
            remove_entries(std::slice::from_ref(index), &[entries]);
        }
    }
}

/// Returns the keys of some rows of a chunk.
fn keys_of(chunk: &Chunk, columns: &KeyColumns, rows: &[u16]) -> Result<Vec<(Vec<u8>, u16)>> {
    let mut keys = Vec::with_capacity(rows.len());
    if rows.len() <= SINGLE_ROWS_MAX {
        for &row in rows {
            let values: Vec<Value> = columns
                .columns()
                .map(|column| chunk.value(column, row.into()))
                .collect::<Result<_>>()?;
            let mut key = Vec::new();
            columns.encode(values.iter().map(Value::as_ref), &mut key);
            keys.push((key, row));
        }
        return Ok(keys);
    }
    let buffers: Vec<ColumnBuffer> =
        columns.columns().map(|column| chunk.decode(column)).collect::<Result<_>>()?;
    for &row in rows {
        let mut key = Vec::new();
        columns.encode(buffers.iter().map(|buffer| ValueRef::of(buffer, row.into())), &mut key);
        keys.push((key, row));
    }
    Ok(keys)
}
