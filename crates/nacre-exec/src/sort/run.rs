//! Rows that are sorted together.

use crate::value::ScalarValue;
use crate::vector::ResultBatch;
use crate::vector::{ColumnVector, VectorValues};

/// A row, its key and where its columns are.
#[derive(Clone, Copy, Debug)]
pub(super) struct SortEntry {
    /// First bytes of the key.
    prefix: u64,
    /// The key in the run's heap.
    key_offset: u32,
    key_bytes: u32,
    batch: u32,
    row: u32,
}

/// Batches, and the order of their rows.
#[derive(Debug, Default)]
pub(crate) struct SortRun {
    batches: Vec<ResultBatch>,
    entries: Vec<SortEntry>,
    keys: Vec<u8>,
    batch_bytes: usize,
}

impl SortRun {
    /// Bytes of a row beside its key and its columns.
    pub(super) const ENTRY_BYTES: usize = size_of::<SortEntry>();

    /// Returns how many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        let entries = self.entries.capacity() * Self::ENTRY_BYTES;
        self.batch_bytes + entries + self.keys.capacity()
    }

    /// Returns the bytes of all keys.
    pub(super) fn key_bytes(&self) -> usize {
        self.keys.len()
    }

    /// Adds a row of the batch that is pushed next; its key is appended by `append`.
    pub(crate) fn push_row(&mut self, row: usize, append: impl FnOnce(&mut Vec<u8>)) {
        let start = self.keys.len();
        append(&mut self.keys);
        let key = &self.keys[start..];
        self.entries.push(SortEntry {
            prefix: super::key::prefix_of(key),
            key_offset: start as u32,
            key_bytes: key.len() as u32,
            batch: self.batches.len() as u32,
            row: row as u32,
        });
    }

    /// Takes the last row back.
    pub(super) fn pop_row(&mut self) {
        if let Some(entry) = self.entries.pop() {
            self.keys.truncate(entry.key_offset as usize);
        }
    }

    /// Returns the first bytes of the last row's key.
    pub(super) fn last_prefix(&self) -> u64 {
        self.entries.last().map_or(0, |entry| entry.prefix)
    }

    /// Returns a column of the last row.
    pub(super) fn last_value(&self, column: usize) -> Option<ScalarValue> {
        let entry = self.entries.last()?;
        Some(self.batches[entry.batch as usize].columns[column].scalar(entry.row as usize))
    }

    /// Adds the columns of the rows that were pushed.
    pub(crate) fn push_batch(&mut self, batch: ResultBatch) {
        self.batch_bytes += batch.bytes();
        self.batches.push(batch);
    }

    /// Returns the key of the row at `at`.
    pub(crate) fn key_at(&self, at: usize) -> &[u8] {
        self.key(&self.entries[at])
    }

    fn key(&self, entry: &SortEntry) -> &[u8] {
        &self.keys[entry.key_offset as usize..][..entry.key_bytes as usize]
    }

    /// Sorts the rows.
    pub(super) fn sort(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.sort_unstable_by(|left, right| {
            left.prefix.cmp(&right.prefix).then_with(|| self.key(left).cmp(self.key(right)))
        });
        self.entries = entries;
    }

    /// Keeps the first rows, which are sorted, and copies them together.
    pub(super) fn truncate(&mut self, rows: usize) {
        self.entries.truncate(rows);
        let mut kept = SortRun::default();
        if let Some(first) = self.batches.first() {
            let models = first.columns.iter();
            let mut columns: Vec<ColumnVector> = models.map(empty_like).collect();
            self.append_rows(0..self.entries.len(), &mut columns);
            for (row, entry) in self.entries.iter().enumerate() {
                kept.push_row(row, |keys| keys.extend_from_slice(self.key(entry)));
            }
            kept.push_batch(ResultBatch { columns, rows: self.entries.len() });
        }
        *self = kept;
    }

    /// Makes rows that are in order of keys and columns.
    pub(super) fn from_sorted(keys: &[&[u8]], batch: ResultBatch) -> Self {
        let mut run = Self::default();
        for (row, key) in keys.iter().enumerate() {
            run.push_row(row, |out| out.extend_from_slice(key));
        }
        run.push_batch(batch);
        run
    }

    /// Compares the row at `at` with one of another run.
    pub(super) fn compare(&self, at: usize, other: &Self, other_at: usize) -> std::cmp::Ordering {
        let (left, right) = (&self.entries[at], &other.entries[other_at]);
        left.prefix.cmp(&right.prefix).then_with(|| self.key(left).cmp(other.key(right)))
    }

    /// Appends the columns of rows in their order.
    pub(super) fn append_rows(&self, rows: std::ops::Range<usize>, out: &mut [ColumnVector]) {
        for (index, out) in out.iter_mut().enumerate() {
            for entry in &self.entries[rows.clone()] {
                let from = &self.batches[entry.batch as usize].columns[index];
                append_row(from, entry.row as usize, out);
            }
            out.fill_validity();
        }
    }

    /// Gives `with` the string of the row at `at` that is in a column of strings without a
    /// dictionary.
    pub(crate) fn with_bytes<T>(
        &self,
        at: usize,
        column: usize,
        with: impl FnOnce(&[u8]) -> T,
    ) -> T {
        let entry = &self.entries[at];
        let column = &self.batches[entry.batch as usize].columns[column];
        column.with_bytes(entry.row as usize, None, with)
    }

    /// Appends a column of the row at `at`.
    pub(crate) fn append_value(&self, at: usize, column: usize, out: &mut ColumnVector) {
        let entry = &self.entries[at];
        append_row(&self.batches[entry.batch as usize].columns[column], entry.row as usize, out);
    }
}

/// Makes an empty vector for values of another one.
pub(super) fn empty_like(model: &ColumnVector) -> ColumnVector {
    let mut empty = ColumnVector::new(model.values.vector_type());
    empty.dictionary.clone_from(&model.dictionary);
    empty
}

/// Appends a value of a vector of the same type.
pub(crate) fn append_row(from: &ColumnVector, row: usize, out: &mut ColumnVector) {
    use VectorValues as V;
    match (&from.values, &mut out.values) {
        (V::Bool(from), V::Bool(out)) => out.push(from.get(row)),
        (V::Int16(from), V::Int16(out)) => out.push(from[row]),
        (V::Int32(from), V::Int32(out)) => out.push(from[row]),
        (V::Int64(from), V::Int64(out)) => out.push(from[row]),
        (V::Int128(from), V::Int128(out)) => out.push(from[row]),
        (V::Float32(from), V::Float32(out)) => out.push(from[row]),
        (V::Float64(from), V::Float64(out)) => out.push(from[row]),
        (V::Code(from), V::Code(out)) => out.push(from[row]),
        (V::Bytes(from), V::Bytes(out)) => from.with(row, |value| out.push(value)),
        _ => debug_assert!(false, "sorted columns of different types"),
    }
    if from.is_null(row) {
        out.mark_last_null();
    }
}
