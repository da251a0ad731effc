//! Moves: rows of loads get other places, and nobody can tell.
//!
//! A row that moves is deleted and inserted with the same values, as by an update. Versions,
//! snapshots, the redo log and recovery take it for one; two things are different:
//! 1. Who has read the row has still read what is there, so validation passes over the commit
//!    (`validation.rs`).
//! 2. Keys are not looked for among other frozen rows: the row had its keys before.
//!
//! # Invariants
//! 1. Nobody checks the keys of a load against the table meanwhile; the caller sees to it.

use std::sync::Arc;

use nacre_column::ColumnBuffer;

use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::id::RowId;
use crate::mvcc::Transaction;
use crate::table::Table;
use crate::value::ValueRef;

impl Transaction {
    /// Moves those of some rows of a frozen chunk that the transaction sees into hot chunks;
    /// `columns` are the values of the whole chunk. The transaction makes no other changes. Returns
    /// how many rows there were.
    ///
    /// # Errors
    /// [`Error::SerializationConflict`] if another transaction changed one of the rows;
    /// [`Error::UnknownTable`]; [`Error::Internal`] if a row has no id. The caller rolls back.
    pub(crate) fn move_rows(
        &mut self,
        table: &Arc<Table>,
        chunk: &Chunk,
        columns: &[ColumnBuffer],
        rows: &[u16],
    ) -> Result<u64> {
        let (snapshot, stamps) = (self.snapshot(), table.hot().stamps());
        let deletes = table.deletes_of(chunk.load_id(), chunk.index() as u32);
        let is_there = |row: &&u16| {
            deletes.as_ref().is_none_or(|deletes| !deletes.is_deleted(**row, snapshot, stamps))
        };
        let there: Vec<u16> = rows.iter().filter(is_there).copied().collect();
        self.note_moves();
        for row in &there {
            self.delete_row(table, id_of(chunk, *row)?)?;
        }
        for row in &there {
            let values: Vec<ValueRef<'_>> =
                columns.iter().map(|column| ValueRef::of(column, usize::from(*row))).collect();
            self.insert_beside(table, &values, false)?;
        }
        Ok(there.len() as u64)
    }
}

fn id_of(chunk: &Chunk, row: u16) -> Result<RowId> {
    chunk.row_id(row).ok_or_else(|| Error::Internal {
        reason: format!("row {row} of chunk {} has no id", chunk.number()),
    })
}
