//! A morsel of a hot chunk, read vector by vector under the chunk's latch: predicates first, then
//! the keys that joins above look for, then the wanted columns of the rows that are left.
//!
//! Rows that are few are gathered from several vectors, as those of frozen chunks are.

use std::sync::Arc;

use nacre_column::{ColumnBuffer, VECTOR_ROWS};
use nacre_store::{HotChunkRef, HotCondition};

use super::convert::append_buffer;
use super::fetch::place_of;
use super::filter::ScanFilter;
use super::late::LateFilter;
use super::left_rows::ChunkFilter;
use super::predicate::ScanPredicate;
use super::prepare::PreparedScan;
use super::scanner::GATHERED_ROWS_MIN;
use crate::error::ExecResult;
use crate::vector::{
    BitVector, ColumnVector, SelectionVector, VectorBatch, VectorRows, VectorValues,
};

/// A morsel and where its next vector begins.
#[derive(Debug)]
pub(super) struct HotMorsel {
    chunk: HotChunkRef,
    /// Its place among all chunks.
    place: usize,
    next_row: usize,
    vector_rows: usize,
}

impl HotMorsel {
    /// Begins at row `start`. Vectors are no longer than 8,192 rows, whatever is asked for: the
    /// latch is held for one.
    pub(super) fn new(chunk: &HotChunkRef, place: usize, start: usize, size: VectorRows) -> Self {
        let vector_rows = size.get().min(VECTOR_ROWS);
        Self { chunk: chunk.clone(), place, next_row: start, vector_rows }
    }

    /// Fills the first columns of `batch`, which are empty, with the next rows that are left;
    /// false at the end of the rows before `end`. The chunk is number `chunk` of the scan, and
    /// needs `filters`; joins above say by `late` which rows they want.
    ///
    /// # Errors
    /// [`crate::ExecError::Internal`] if the chunk's bounds do not hold.
    pub(super) fn next(
        &mut self,
        scan: &PreparedScan,
        (chunk, end): (usize, usize),
        filters: &[ChunkFilter],
        late: &[Arc<LateFilter>],
        batch: &mut VectorBatch,
    ) -> ExecResult<bool> {
        let filters = filters.iter().filter_map(|filter| filter.of_hot_rows(scan));
        let mut decided: Vec<(usize, HotCondition<'_>)> = filters.map(condition_of).collect();
        let top = scan.top();
        if let Some((top, wanted)) = &top
            && !wanted.takes_nulls
        {
            decided.push((top.column, HotCondition::Restriction(&wanted.values)));
        }
        // Comparisons first: a row with versions is tested until a condition fails.
        decided.sort_by_key(|(_, condition)| matches!(condition, HotCondition::Predicate(_)));
        let wanted: Vec<_> = late
            .iter()
            .map(|filter| move |keys: &ColumnBuffer| wanted_keys(scan, filter, keys))
            .collect();
        let (outputs, columns): (Vec<usize>, Vec<usize>) =
            scan.handed_on().map(|(output, made)| (output, made.column)).unzip();
        let mut chosen = BitVector::default();
        let gathered_min = if scan.waits_for_bound() { 1 } else { GATHERED_ROWS_MIN };
        let gathered_min = gathered_min.min(self.vector_rows);
        while self.next_row < end && batch.rows < gathered_min {
            let rows = self.next_row..end.min(self.next_row + self.vector_rows - batch.rows);
            self.next_row = rows.end;
            scan.counters.note_rows_read(rows.len());
            let mut conditions = decided.clone();
            for (filter, wanted) in late.iter().zip(&wanted) {
                if !filter.rest.is_resting() {
                    let column = filter.rest.predicate.column;
                    conditions.push((column, HotCondition::Hint(wanted)));
                }
            }
            let (buffers, offsets) =
                self.chunk.read_matching(rows, &conditions, &columns, scan.flavour);
            let sampled = scan.sampler.map(|sampler| {
                let mut bits = BitVector::default();
                let is_chosen = |row: &u16| sampler.is_chosen(self.place, usize::from(*row));
                offsets.iter().for_each(|row| bits.push(is_chosen(row)));
                bits
            });
            if sampled.as_ref().map_or(offsets.len(), BitVector::count_ones) == 0 {
                continue;
            }
            for (output, buffer) in outputs.iter().zip(&buffers) {
                append_buffer(buffer, scan.columns[*output].bounds, &mut batch.columns[*output])?;
            }
            self.append_numbers(scan, chunk, &offsets, batch);
            batch.rows += offsets.len();
            if let Some(bits) = sampled {
                chosen.extend_from_words(bits.words(), bits.len());
            }
        }
        if scan.sampler.is_some() && chosen.count_ones() < batch.rows {
            batch.selection = Some(SelectionVector::new(chosen));
        }
        Ok(batch.rows > 0)
    }
}

impl HotMorsel {
    /// Appends the ids and places of rows, as far as they are wanted. The chunk is number `chunk`
    /// of the scan.
    fn append_numbers(
        &self,
        scan: &PreparedScan,
        chunk: usize,
        rows: &[u16],
        batch: &mut VectorBatch,
    ) {
        if let Some(slot) = scan.row_ids
            && let VectorValues::Int64(ids) = &mut batch.columns[slot].values
        {
            // All 64 bits count.
            ids.extend(rows.iter().map(|row| self.chunk.row_id(*row).0 as i64));
        }
        if let Some(deferred) = &scan.deferred
            && let VectorValues::Int64(places) = &mut batch.columns[deferred.places].values
        {
            places.extend(rows.iter().map(|row| place_of(chunk, usize::from(*row))));
        }
    }
}

/// Returns a filter's condition as the store takes it, and its column.
fn condition_of(filter: &ScanFilter) -> (usize, HotCondition<'_>) {
    let condition = match &filter.predicate.predicate {
        ScanPredicate::Restriction(restriction) => HotCondition::Restriction(restriction),
        ScanPredicate::Strings(strings) => HotCondition::Predicate(strings.test()),
    };
    (filter.predicate.column, condition)
}

/// Returns a bit for each of some keys that a join may want.
fn wanted_keys(scan: &PreparedScan, filter: &LateFilter, keys: &ColumnBuffer) -> Vec<u64> {
    let column = &scan.columns[filter.output];
    let mut vector = ColumnVector::new(column.vector_type);
    let bits = match append_buffer(keys, column.bounds, &mut vector) {
        Ok(()) => filter.keys.select(&vector),
        // It comes again when the rows are read.
        Err(_) => BitVector::filled(keys.len(), true),
    };
    filter.rest.note(keys.len(), bits.count_ones());
    bits.into_words()
}
