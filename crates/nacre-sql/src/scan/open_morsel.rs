//! A morsel that is being read, vector by vector; columns are opened and decoded when asked for.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::common::Result;
use nacre_column::{Flavour, Restriction};

use super::array::ColumnReader;
use super::deal::Morsel;
use super::reads::Reads;

/// The morsel at hand and its present vector.
#[derive(Debug)]
pub(super) struct OpenMorsel {
    morsel: Morsel,
    /// What the query reads, if somebody asks.
    reads: Option<Arc<Reads>>,
    flavour: Flavour,
    /// By column of the table.
    readers: Vec<Option<ColumnReader>>,
    /// Rows of the chunk that the present vector covers.
    vector: Range<usize>,
    /// Columns of the present vector that were decoded.
    decoded: Vec<(usize, ArrayRef)>,
}

impl OpenMorsel {
    /// Opens `morsel` of a table of `column_count` columns, before its first vector.
    pub(super) fn new(
        morsel: Morsel,
        reads: Option<Arc<Reads>>,
        column_count: usize,
        flavour: Flavour,
    ) -> Self {
        let vector = morsel.rows.start..morsel.rows.start;
        let readers = (0..column_count).map(|_| None).collect();
        Self { morsel, reads, flavour, readers, vector, decoded: Vec::new() }
    }

    /// Goes on to the next vector of at most `rows_max` rows; false at the end.
    pub(super) fn advance(&mut self, rows_max: usize) -> bool {
        let start = self.vector.end;
        self.vector = start..self.morsel.rows.end.min(start + rows_max);
        self.decoded.clear();
        !self.vector.is_empty()
    }

    /// Returns the number of rows of the present vector.
    pub(super) fn rows(&self) -> usize {
        self.vector.len()
    }

    /// Returns the values of `column` in the present vector.
    pub(super) fn column(&mut self, column: usize) -> Result<ArrayRef> {
        if let Some((_, array)) = self.decoded.iter().find(|(index, _)| *index == column) {
            return Ok(Arc::clone(array));
        }
        let vector = self.vector.clone();
        let read = self.reader(column).and_then(|reader| reader.read(vector));
        self.check(column)?;
        let array = read?;
        self.decoded.push((column, Arc::clone(&array)));
        Ok(array)
    }

    /// Returns which rows of the present vector match `restriction` on `column`.
    pub(super) fn select(
        &mut self,
        column: usize,
        restriction: &Restriction,
    ) -> Result<BooleanBuffer> {
        let vector = self.vector.clone();
        let selected = self.reader(column).and_then(|reader| reader.select(restriction, vector));
        self.check(column)?;
        selected
    }

    /// Returns an error if a page of a column that was read was lost meanwhile: what came of it is
    /// to be dropped.
    pub(super) fn check_all(&self) -> Result<()> {
        self.readers.iter().flatten().try_for_each(ColumnReader::check)
    }

    /// As [`OpenMorsel::check_all`] for one column. It comes before every other error: lost bytes
    /// look like damaged ones.
    fn check(&self, column: usize) -> Result<()> {
        self.readers[column].as_ref().map_or(Ok(()), ColumnReader::check)
    }

    fn reader(&mut self, column: usize) -> Result<&ColumnReader> {
        Ok(match &mut self.readers[column] {
            Some(reader) => reader,
            slot => {
                let reader = ColumnReader::new(&self.morsel.chunk, column, self.flavour)?;
                if let Some(reads) = &self.reads {
                    reads.note(reader.handle());
                }
                slot.insert(reader)
            }
        })
    }
}
