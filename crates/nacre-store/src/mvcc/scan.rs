//! Scans of whole tables by a transaction.

use std::sync::Arc;

use nacre_column::{Bitmap, ColumnBuffer, Restriction, may_match};

use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::hot::HotChunkRef;
use crate::id::RowId;
use crate::mvcc::Transaction;
use crate::predicate_log::Predicate;
use crate::table::{Table, TableSnapshot};
use crate::value::ValueRef;

/// Rows that are copied from a hot chunk under its latch.
const LATCHED_ROWS: usize = 1_024;

impl Transaction {
    /// Calls `on_row` for all rows that satisfy all `restrictions`, each a column and a condition
    /// on it, with the values of `columns`.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`]; [`Error::DefinitionChanged`]; [`Error::TransactionEnded`]; that of
    /// a damaged block.
    pub fn scan(
        &mut self,
        table: &Arc<Table>,
        restrictions: &[(usize, Restriction)],
        columns: &[usize],
        mut on_row: impl FnMut(RowId, &[ValueRef<'_>]),
    ) -> Result<()> {
        self.require_open()?;
        table.check_columns(columns)?;
        let mut wanted: Vec<usize> = restrictions.iter().map(|(column, _)| *column).collect();
        table.check_columns(&wanted)?;
        wanted.extend_from_slice(columns);
        let predicate = Predicate::new(columns.iter().copied().collect());
        let narrowed = restrictions.iter().fold(predicate, |predicate, (column, restriction)| {
            predicate.with(table.definition(), *column, restriction)
        });
        self.log_predicate(table, narrowed);
        let snapshot = table.seen_at(&self.snapshot())?;
        let mut scan = Scan { restrictions, wanted, on_row: &mut on_row };
        for chunk in snapshot.chunks()? {
            scan.frozen(&snapshot, &chunk)?;
        }
        snapshot.hot_chunks().iter().for_each(|chunk| scan.hot(chunk));
        Ok(())
    }
}

struct Scan<'a> {
    restrictions: &'a [(usize, Restriction)],
    /// The restricted columns, then those to hand on.
    wanted: Vec<usize>,
    on_row: &'a mut dyn FnMut(RowId, &[ValueRef<'_>]),
}

impl Scan<'_> {
    fn hot(&mut self, chunk: &HotChunkRef) {
        for start in (0..chunk.rows()).step_by(LATCHED_ROWS) {
            let rows = start..(start + LATCHED_ROWS).min(chunk.rows());
            let (buffers, offsets) = chunk.read(rows, &self.wanted);
            let (restricted, handed_on) = buffers.split_at(self.restrictions.len());
            for (at, offset) in offsets.iter().enumerate() {
                if self.matches(restricted, at) {
                    self.hand_on(chunk.row_id(*offset), handed_on, at);
                }
            }
        }
    }

    fn frozen(&mut self, snapshot: &TableSnapshot, chunk: &Chunk) -> Result<()> {
        let may = |(column, restriction): &(usize, Restriction)| {
            may_match(chunk.sma(*column), restriction)
        };
        if !self.restrictions.iter().all(may) {
            return Ok(());
        }
        let deleted = snapshot.deleted_rows(chunk, 0..chunk.rows());
        let is_deleted = |row: usize| deleted.as_ref().is_some_and(|bits: &Bitmap| bits.get(row));
        let (restricted, handed_on) = self.wanted.split_at(self.restrictions.len());
        let decode = |columns: &[usize]| -> Result<Vec<ColumnBuffer>> {
            columns.iter().map(|&column| chunk.decode(column)).collect()
        };
        let restricted = decode(restricted)?;
        let rows = (0..chunk.rows()).filter(|&row| !is_deleted(row));
        let rows: Vec<usize> = rows.filter(|&row| self.matches(&restricted, row)).collect();
        if rows.is_empty() {
            return Ok(());
        }
        let handed_on = decode(handed_on)?;
        for row in rows {
            let id = chunk.row_id(row as u16).ok_or_else(|| Error::Internal {
                reason: format!("row {row} of chunk {} has no id", chunk.number()),
            })?;
            self.hand_on(id, &handed_on, row);
        }
        Ok(())
    }

    fn matches(&self, restricted: &[ColumnBuffer], row: usize) -> bool {
        let mut conditions = self.restrictions.iter().zip(restricted);
        conditions.all(|((_, restriction), column)| ValueRef::of(column, row).matches(restriction))
    }

    fn hand_on(&mut self, id: RowId, columns: &[ColumnBuffer], row: usize) {
        let values: Vec<ValueRef<'_>> =
            columns.iter().map(|column| ValueRef::of(column, row)).collect();
        (self.on_row)(id, &values);
    }
}
