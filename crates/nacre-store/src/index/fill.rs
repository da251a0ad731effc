//! Filling indexes with rows that are there already.

use std::sync::Arc;

use nacre_column::CHUNK_ROWS;

use super::{TableIndex, keys_in};
use crate::error::Result;
use crate::table::Table;

/// Rows whose keys are collected before a chunk's latch is given to others.
pub(super) const FILL_ROWS: usize = 1_024;

/// Adds the entries of all hot rows of a table, which have no versions, as recovery leaves them.
///
/// # Errors
/// [`crate::Error::Internal`] if an index is full.
pub(crate) fn add_hot_rows(table: &Table) -> Result<()> {
    add_hot_rows_to(table, &table.table_indexes().all())
}

/// As [`add_hot_rows`], to some indexes. Rows may have versions that nobody sees through these.
///
/// # Errors
/// [`crate::Error::Internal`] if an index is full.
pub(crate) fn add_hot_rows_to(table: &Table, indexes: &[Arc<TableIndex>]) -> Result<()> {
    if indexes.is_empty() {
        return Ok(());
    }
    for chunk in table.hot().all().iter() {
        for start in (0..CHUNK_ROWS).step_by(FILL_ROWS) {
            let entries = chunk.with(|rows| {
                let end = (start + FILL_ROWS).min(rows.len());
                let there = (start..end).filter(|&row| !rows.is_deleted(row));
                let some: Vec<u16> = there.map(|row| row as u16).collect();
                keys_in(indexes, rows, (chunk.id(), &some))
            });
            for (index, entries) in indexes.iter().zip(&entries) {
                index.add(entries)?;
            }
        }
    }
    Ok(())
}
