//! Uniqueness: may a transaction insert a key?
//!
//! A row with the same key stands in the way if
//! 1. the transaction sees it, or
//! 2. it is there in its last committed version, or
//! 3. another transaction inserted it and has not ended.
//!
//! These are all cases, since a row's key never changes. What the client is told depends on what
//! would help: a key that is there for good is a duplicate; if its row was deleted since the
//! snapshot, or the outcome depends on a transaction that has not ended, it is a serialization
//! conflict, and the same transaction may succeed when it is tried again.
//!
//! Rows with entries are asked under the latch of the index, which the insert keeps until its own
//! entry is there. Rows of loads without entries are asked afterwards, a load that is about to
//! commit included: a load announces itself before it looks at the index, so of an insert and a
//! load with the same key at least one sees the other. Entries of frozen rows are looked at then
//! once more, since they may have come in between.
//!
//! # Source
//! [Muehlbauer16 2.2.5] the three cases. Differs: they are reported as two kinds of errors.
//! # See
//! `tests/indexed_tables.rs`.

use std::sync::Arc;

use super::frozen::KeySearch;
use super::{Rows, SearchedLoads, TableIndex};
use crate::error::{DuplicateKey, Error, Result};
use crate::hot::KeyClaim;
use crate::id::{RowId, RowPlace};
use crate::mvcc::Snapshot;
use crate::stored_load::StoredLoad;
use crate::table::Table;
use crate::value::{VALUES_INLINE, ValueRef, slots};

/// Rows of one key that lie on the stack.
const ROWS_INLINE: usize = 4;

impl Table {
    /// Returns in what way a row keeps others from having its key.
    pub(crate) fn claim(&self, row: RowId, snapshot: Snapshot) -> Option<KeyClaim> {
        let stamps = self.hot().stamps();
        match row.place() {
            RowPlace::Hot { chunk, offset } => match self.hot().get(chunk) {
                Some(chunk) => chunk.with(|rows| rows.claim(offset.into(), snapshot, stamps)),
                None => self.claim(self.forwards().row(row)?, snapshot),
            },
            RowPlace::Frozen { load, chunk, offset } => match self.deletes_of(load, chunk) {
                Some(deletes) => deletes.claim(offset, snapshot, stamps),
                None => Some(KeyClaim::Taken),
            },
        }
    }
}

/// Refuses an insert if one of `rows`, which have its key, stands in the way.
///
/// # Errors
/// [`Error::DuplicateKey`], [`Error::SerializationConflict`].
pub(crate) fn check_rows(
    table: &Table,
    index: &TableIndex,
    values: &[ValueRef<'_>],
    mut rows: Rows<'_>,
    snapshot: Snapshot,
) -> Result<()> {
    match rows.find_map(|row| table.claim(row, snapshot)) {
        Some(claim) => Err(claimed_by(table, index, values, claim)),
        None => Ok(()),
    }
}

/// Refuses an insert that has been made, if a frozen row stands in its way; `buffer` is room for
/// the bytes of a key.
///
/// # Errors
/// As for [`check_rows`]; that of a damaged block.
pub(crate) fn check_frozen(
    table: &Arc<Table>,
    values: &[ValueRef<'_>],
    snapshot: Snapshot,
    buffer: &mut Vec<u8>,
) -> Result<()> {
    let pending = table.pending_loads();
    let indexes: Vec<Arc<TableIndex>> = table.table_indexes().hold().clone();
    for index in indexes.iter().filter(|index| index.checks_keys()) {
        let columns = index.key().columns();
        let (mut inline, mut spilled) = ([ValueRef::Null; VALUES_INLINE], Vec::new());
        let key = slots(columns.len(), &mut inline, &mut spilled);
        key.iter_mut().zip(columns).for_each(|(slot, column)| *slot = values[column]);
        buffer.clear();
        if index.key().encode(key.iter().copied(), buffer) {
            continue;
        }
        let (mut few, mut many) = ([RowId(0); ROWS_INLINE], Vec::new());
        let (rows, searched) = index.rows_into(buffer, &mut few, &mut many);
        let mut frozen = rows.iter().filter(|row| !row.is_hot());
        let claim = match (frozen.find_map(|row| table.claim(*row, snapshot)), searched) {
            (None, None) if pending.is_empty() => None,
            (None, searched) => {
                let searched = searched.unwrap_or_default();
                search_claim(table, index, key, (&searched, &pending), snapshot)?
            }
            (claim, _) => claim,
        };
        if let Some(claim) = claim {
            return Err(claimed(table, index, key, claim));
        }
    }
    Ok(())
}

/// Returns in what way a row of a load without entries keeps others from having a key.
fn search_claim(
    table: &Arc<Table>,
    index: &TableIndex,
    key: &[ValueRef<'_>],
    (searched, pending): (&SearchedLoads, &[Arc<StoredLoad>]),
    snapshot: Snapshot,
) -> Result<Option<KeyClaim>> {
    let search = KeySearch::point(index.key(), key);
    let is_primary = index.is_primary(table);
    for chunk in search.chunks_of(table, searched.iter(), is_primary)? {
        let rows = search.rows_in(&chunk, index.key())?;
        if let Some(claim) = rows.iter().find_map(|(_, row)| table.claim(*row, snapshot)) {
            return Ok(Some(claim));
        }
    }
    for chunk in search.pending_chunks(table, pending, is_primary)? {
        if !search.rows_in(&chunk, index.key())?.is_empty() {
            return Ok(Some(KeyClaim::Uncommitted));
        }
    }
    Ok(None)
}

/// Makes the error for the key of a row's `values` that another row claims.
#[cold]
fn claimed_by(
    table: &Table,
    index: &TableIndex,
    values: &[ValueRef<'_>],
    claim: KeyClaim,
) -> Error {
    let key: Vec<ValueRef<'_>> = index.key().columns().map(|column| values[column]).collect();
    claimed(table, index, &key, claim)
}

/// Makes the error for a key that a row claims.
#[cold]
pub(crate) fn claimed(
    table: &Table,
    index: &TableIndex,
    key: &[ValueRef<'_>],
    claim: KeyClaim,
) -> Error {
    let key = index.key_text(table, key);
    let schema = table.schema();
    let columns = index.columns_text(&schema);
    let (table, constraint) = (schema.name.clone(), index.definition().name.clone());
    let reason = match claim {
        KeyClaim::Taken => {
            let loaded_at = None;
            let duplicate = DuplicateKey { table, constraint, columns, key, loaded_at };
            return Error::DuplicateKey(Box::new(duplicate));
        }
        KeyClaim::Uncommitted => "a transaction that has not ended inserted or deleted",
        KeyClaim::DeletedSince => "a transaction that committed since deleted",
    };
    let reason = format!("{reason} the key ({columns})=({key}) of constraint \"{constraint}\"");
    Error::SerializationConflict { table, reason }
}
