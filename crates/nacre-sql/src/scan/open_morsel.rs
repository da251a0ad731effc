//! A morsel of a frozen chunk that is being read, vector by vector; columns are opened and decoded
//! when asked for.
//!
//! # Faults
//! A vector counts only if, after it was copied, no page of its block was lost and no value in it
//! was impossible. Otherwise the replica is reported and the same rows are read from the next
//! best one; the query sees an error when none is left.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, UInt64Array};
use datafusion::arrow::buffer::{BooleanBuffer, Buffer};
use datafusion::common::{Result, not_impl_err};
use nacre_column::{Flavour, REPLICAS_MAX, Restriction};
use nacre_store::{AccessHint, Chunk, TableSnapshot};

use super::array::{ColumnReader, ReadError, external};
use super::reads::{Noted, Reads};
use super::tally::Tally;

/// How often one vector is read again from another replica: each replica once, and once more if it
/// was mended in the meantime. More only happens if mended replicas fail at once.
const READS_MAX: usize = 2 * REPLICAS_MAX;

/// The morsel at hand and its present vector.
#[derive(Debug)]
pub(super) struct OpenMorsel {
    snapshot: TableSnapshot,
    chunk: Chunk,
    /// Rows of the chunk that the morsel ends at.
    end: usize,
    /// What the query reads, if somebody asks.
    reads: Option<Arc<Reads>>,
    tally: Tally,
    flavour: Flavour,
    /// By column of the table.
    readers: Vec<Option<OpenColumn>>,
    /// Rows of the chunk that the present vector covers.
    vector: Range<usize>,
    /// Columns of the present vector that were decoded.
    decoded: Vec<(usize, ArrayRef)>,
}

/// A column of the morsel and the note that it is read.
#[derive(Debug)]
struct OpenColumn {
    reader: ColumnReader,
    noted: Option<Noted>,
    /// Whether values were taken from it.
    was_read: bool,
}

impl OpenMorsel {
    /// Opens `rows` of a chunk of a table of `column_count` columns, before its first vector.
    pub(super) fn new(
        snapshot: TableSnapshot,
        (chunk, rows): (Chunk, Range<usize>),
        reads: Option<Arc<Reads>>,
        tally: Tally,
        column_count: usize,
        flavour: Flavour,
    ) -> Self {
        let (vector, end) = (rows.start..rows.start, rows.end);
        let readers = (0..column_count).map(|_| None).collect();
        let decoded = Vec::new();
        Self { snapshot, chunk, end, reads, tally, flavour, readers, vector, decoded }
    }

    /// Goes on to the next vector of at most `rows_max` rows; false at the end.
    pub(super) fn advance(&mut self, rows_max: usize) -> bool {
        let start = self.vector.end;
        self.vector = start..self.end.min(start + rows_max);
        self.decoded.clear();
        !self.vector.is_empty()
    }

    /// Returns the number of rows of the present vector.
    pub(super) fn rows(&self) -> usize {
        self.vector.len()
    }

    /// Returns which rows of the present vector the snapshot sees; `None` if all.
    pub(super) fn visible(&self) -> Option<BooleanArray> {
        let deleted = self.snapshot.deleted_rows(&self.chunk, self.vector.clone())?;
        let words: Vec<u64> = deleted.words().iter().map(|word| !word).collect();
        let bits = BooleanBuffer::new(Buffer::from_vec(words), 0, self.vector.len());
        Some(BooleanArray::new(bits, None))
    }

    /// Returns the values of `column` in the present vector; the ids of rows come behind the
    /// table's columns.
    pub(super) fn column(&mut self, column: usize) -> Result<ArrayRef> {
        if column == self.readers.len() {
            return self.row_ids();
        }
        if let Some((_, array)) = self.decoded.iter().find(|(index, _)| *index == column) {
            return Ok(Arc::clone(array));
        }
        let array = self.read(column, ColumnReader::read)?;
        self.decoded.push((column, Arc::clone(&array)));
        Ok(array)
    }

    fn row_ids(&self) -> Result<ArrayRef> {
        let id = |row: usize| self.chunk.row_id(u16::try_from(row).ok()?).map(|id| id.0);
        let ids: Option<Vec<u64>> = self.vector.clone().map(id).collect();
        match ids {
            Some(ids) => Ok(Arc::new(UInt64Array::from(ids))),
            None => not_impl_err!("changing rows of a table with more chunks than ids"),
        }
    }

    /// Returns which rows of the present vector match `restriction` on `column`.
    pub(super) fn select(
        &mut self,
        column: usize,
        restriction: &Restriction,
    ) -> Result<BooleanBuffer> {
        self.read(column, |reader, rows| reader.select(restriction, rows))
    }

    /// Reads the present vector of `column` from the best replica that is whole.
    fn read<T>(
        &mut self,
        column: usize,
        read: impl Fn(&mut ColumnReader, Range<usize>) -> std::result::Result<T, ReadError>,
    ) -> Result<T> {
        let mut reads_left = READS_MAX;
        loop {
            let (vector, reads) = (self.vector.clone(), self.reads.clone());
            let OpenColumn { reader, was_read, .. } = self.open(column)?;
            let value = read(reader, vector);
            // Lost bytes look like damaged ones, and may look like whole ones.
            let handle = reader.handle();
            let lost = reads.map_or_else(|| handle.check(), |reads| reads.check(handle));
            let error = match (value, lost) {
                (Ok(value), Ok(())) => {
                    *was_read = true;
                    return Ok(value);
                }
                (Err(error), Ok(())) if !error.is_damage() => {
                    return Err(error.of(reader.handle()));
                }
                (Err(error), Ok(())) => error.of(reader.handle()),
                (_, Err(lost)) => external(lost),
            };
            reads_left -= 1;
            if reads_left == 0 {
                return Err(error);
            }
            self.give_up(column);
        }
    }

    /// Reports the replica at hand of `column` and forgets it.
    fn give_up(&mut self, column: usize) {
        let Some(open) = self.readers[column].take() else { return };
        self.chunk.report_lost(column, open.reader.handle());
        if let (Some(reads), Some(noted)) = (&self.reads, open.noted) {
            reads.forget(noted, open.reader.handle(), open.was_read);
        }
    }

    fn open(&mut self, column: usize) -> Result<&mut OpenColumn> {
        Ok(match &mut self.readers[column] {
            Some(open) => open,
            slot => {
                let chunk = &self.chunk;
                let handle = chunk.read(column, AccessHint::Sequential).map_err(external)?;
                if let Some(format) = handle.format() {
                    self.tally.opened(format);
                }
                let noted = self.reads.as_ref().map(|reads| reads.note(chunk, column, &handle));
                let reader = ColumnReader::new(handle, self.flavour);
                slot.insert(OpenColumn { reader, noted, was_read: false })
            }
        })
    }
}
