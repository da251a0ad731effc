//! A morsel of a hot chunk, read vector by vector.
//!
//! A vector holds the rows that the snapshot sees, all columns that the scan wants of them read
//! under one hold of the chunk's latch.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, UInt64Array};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::common::{DataFusionError, Result, internal_datafusion_err};
use nacre_column::{ColumnBuffer, Restriction};
use nacre_store::{HotChunkRef, ValueRef};

use super::buffer_array::buffer_array;

/// The morsel at hand and its present vector.
#[derive(Debug)]
pub(super) struct HotMorsel {
    chunk: HotChunkRef,
    rows: Range<usize>,
    /// Columns that the scan wants, by index in the table.
    columns: Arc<[usize]>,
    /// How many columns the table has; the ids of rows come behind them.
    column_count: usize,
    /// Values of `columns` in the present vector.
    values: Vec<ColumnBuffer>,
    /// Where in the chunk its rows are.
    offsets: Vec<u16>,
}

impl HotMorsel {
    pub(super) fn new(
        chunk: HotChunkRef,
        rows: Range<usize>,
        columns: Arc<[usize]>,
        column_count: usize,
    ) -> Self {
        let (values, offsets) = (Vec::new(), Vec::new());
        Self { chunk, rows, columns, column_count, values, offsets }
    }

    /// Goes on to the next vector, of at most `rows_max` rows of the chunk; false at the end.
    pub(super) fn advance(&mut self, rows_max: usize) -> bool {
        let end = self.rows.end.min(self.rows.start + rows_max);
        let vector = std::mem::replace(&mut self.rows.start, end)..end;
        if vector.is_empty() {
            return false;
        }
        (self.values, self.offsets) = self.chunk.read(vector, &self.columns);
        true
    }

    /// Returns the number of rows of the present vector that the snapshot sees.
    pub(super) fn rows(&self) -> usize {
        self.offsets.len()
    }

    /// Returns the values of `column` in the present vector.
    pub(super) fn column(&self, column: usize) -> Result<ArrayRef> {
        if column == self.column_count {
            let ids = self.offsets.iter().map(|&offset| self.chunk.row_id(offset).0);
            return Ok(Arc::new(UInt64Array::from_iter_values(ids)));
        }
        buffer_array(self.buffer(column)?)
            .map_err(|error| DataFusionError::ArrowError(Box::new(error), None))
    }

    /// Returns which rows of the present vector match `restriction` on `column`.
    pub(super) fn select(&self, column: usize, restriction: &Restriction) -> Result<BooleanBuffer> {
        let buffer = self.buffer(column)?;
        let matches = |row| ValueRef::of(buffer, row).matches(restriction);
        Ok(BooleanBuffer::collect_bool(buffer.len(), matches))
    }

    fn buffer(&self, column: usize) -> Result<&ColumnBuffer> {
        let place = self.columns.iter().position(|&wanted| wanted == column);
        place
            .and_then(|place| self.values.get(place))
            .ok_or_else(|| internal_datafusion_err!("a scan did not ask for column {column}"))
    }
}
