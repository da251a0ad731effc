//! The rows that a statement writes, in batches of typed columns.

use nacre_column::{ColumnBuffer, VECTOR_ROWS, Values};
use nacre_store::{ColumnDef, RowId, Table, TableSchema};

use crate::error::{Error, ErrorKind, Result};
use crate::planner::Planner;
use crate::rules::{Checks, failing_row};

/// Bytes that the rows of one statement may take; they are all there before the first is written.
const BYTES_MAX: usize = 1 << 30;

/// Strings of one column of a batch: with another value they stay below the 2^31 of a buffer.
const BATCH_BYTES_MAX: usize = 256 << 20;

/// Consecutive rows.
#[derive(Debug)]
pub(super) struct RowBatch {
    /// The rows that are changed; none for new ones.
    pub(super) ids: Vec<RowId>,
    pub(super) columns: Vec<ColumnBuffer>,
    rows: usize,
    bytes: usize,
}

/// Rows that are being collected.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Columns of the table that the batches hold.
    columns: Vec<usize>,
    batches: Vec<RowBatch>,
    bytes: usize,
}

impl RowBatch {
    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.rows
    }
}

impl Rows {
    /// Collects rows with values for `columns` of a table.
    pub(crate) fn new(columns: Vec<usize>) -> Self {
        Self { columns, batches: Vec::new(), bytes: 0 }
    }

    /// Returns which columns of the table the batches hold.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    pub(super) fn batches(&self) -> &[RowBatch] {
        &self.batches
    }

    /// Returns the columns of all rows, if they are in one batch.
    pub(crate) fn single_batch(&self) -> Option<&[ColumnBuffer]> {
        match self.batches.as_slice() {
            [batch] => Some(&batch.columns),
            _ => None,
        }
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.batches.iter().map(RowBatch::len).sum()
    }

    /// Appends rows, at most a vector, which have `ids` unless they are new: `fill` appends a value
    /// for each of them for the column at each place in [`Rows::columns`].
    ///
    /// # Errors
    /// Those of `fill`; 53200 if the statement has too many rows.
    pub(super) fn append(
        &mut self,
        schema: &TableSchema,
        rows: usize,
        ids: Vec<RowId>,
        mut fill: impl FnMut(usize, &ColumnDef, &mut ColumnBuffer) -> Result<()>,
    ) -> Result<()> {
        let mut bytes = rows * size_of::<RowId>();
        let mut columns = Vec::with_capacity(self.columns.len());
        for (place, &column) in self.columns.iter().enumerate() {
            let definition = &schema.columns[column];
            let mut buffer = ColumnBuffer::new(definition.column_type);
            fill(place, definition, &mut buffer)?;
            bytes += string_bytes(&buffer) + rows * size_of::<u64>();
            columns.push(buffer);
        }
        if rows > 0 {
            self.batches.push(RowBatch { ids, columns, rows, bytes });
        }
        self.note_bytes(bytes)
    }

    fn note_bytes(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        require_room(self.bytes)
    }

    /// Appends a row: `push` appends its value for the column at each place in
    /// [`Rows::columns`].
    ///
    /// # Errors
    /// Those of `push`; 23502; 53200 if the statement has too many rows.
    pub(crate) fn push(
        &mut self,
        schema: &TableSchema,
        id: Option<RowId>,
        mut push: impl FnMut(usize, &ColumnDef, &mut ColumnBuffer) -> Result<()>,
    ) -> Result<()> {
        let is_full = |batch: &RowBatch| batch.rows == VECTOR_ROWS || batch.bytes > BATCH_BYTES_MAX;
        if self.batches.last().is_none_or(is_full) {
            let buffer = |&column: &usize| ColumnBuffer::new(schema.columns[column].column_type);
            let columns = self.columns.iter().map(buffer).collect();
            self.batches.push(RowBatch { ids: Vec::new(), columns, rows: 0, bytes: 0 });
        }
        let Some(batch) = self.batches.last_mut() else { return Ok(()) };
        let mut bytes = size_of::<RowId>();
        for (place, (&column, buffer)) in self.columns.iter().zip(&mut batch.columns).enumerate() {
            let before = string_bytes(buffer);
            push(place, &schema.columns[column], buffer)?;
            bytes += string_bytes(buffer) - before + size_of::<u64>();
        }
        batch.ids.extend(id);
        batch.rows += 1;
        batch.bytes += bytes;
        self.note_bytes(bytes)
    }

    /// Returns all columns of the table, in its order; `None` if the batches do not have all.
    pub(super) fn whole<'a>(
        &self,
        schema: &TableSchema,
        batch: &'a RowBatch,
    ) -> Option<Vec<&'a ColumnBuffer>> {
        let column = |column: usize| {
            let place = self.columns.iter().position(|&held| held == column)?;
            batch.columns.get(place)
        };
        (0..schema.columns.len()).map(column).collect()
    }

    /// Refuses a row that a CHECK constraint forbids. Rows without all columns were not changed
    /// where a constraint looks.
    ///
    /// # Errors
    /// 23514; those of evaluating.
    pub(super) fn check(&self, planner: &Planner, table: &Table) -> Result<()> {
        match Checks::of(planner, table)? {
            Some(checks) => self.check_by(&checks, &table.schema()),
            None => Ok(()),
        }
    }

    /// As [`Rows::check`], with the constraints of the table.
    ///
    /// # Errors
    /// 23514; those of evaluating.
    pub(crate) fn check_by(&self, checks: &Checks, schema: &TableSchema) -> Result<()> {
        for batch in &self.batches {
            let Some(columns) = self.whole(schema, batch) else { return Ok(()) };
            if let Some((_, error)) = checks.first_failure(&columns)? {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Refuses a null in a column that forbids it.
    ///
    /// # Errors
    /// 23502.
    pub(crate) fn check_nulls(&self, schema: &TableSchema) -> Result<()> {
        for batch in &self.batches {
            for (&column, buffer) in self.columns.iter().zip(&batch.columns) {
                let definition = &schema.columns[column];
                if definition.is_nullable || buffer.null_count() == 0 {
                    continue;
                }
                let error = nacre_store::Error::NullViolation {
                    table: schema.name.clone(),
                    column: definition.name.clone(),
                };
                let error = crate::from_store::from_store(error);
                let row = (0..batch.len()).find(|&row| buffer.is_null(row)).unwrap_or_default();
                return Err(match self.whole(schema, batch) {
                    Some(columns) => error.with_detail(failing_row(&columns, row)),
                    None => error,
                });
            }
        }
        Ok(())
    }
}

/// Refuses rows of one statement that take too many bytes.
///
/// # Errors
/// 53200.
pub(super) fn require_room(bytes: usize) -> Result<()> {
    if bytes <= BYTES_MAX {
        return Ok(());
    }
    let message =
        format!("out of memory: the rows of this statement take more than {BYTES_MAX} bytes");
    Err(Error::new(ErrorKind::OutOfMemory, message)
        .with_hint("Change fewer rows at a time, or load them with COPY."))
}

/// Returns how many bytes the strings of a buffer have.
pub(super) fn string_bytes(buffer: &ColumnBuffer) -> usize {
    match buffer.values() {
        Values::Bytes(values) => values.data.len(),
        _ => 0,
    }
}
