//! A morsel of a hot chunk, read vector by vector under the chunk's latch: predicates first, then
//! the wanted columns of the rows that are left.

use nacre_column::VECTOR_ROWS;
use nacre_store::{HotChunkRef, HotCondition};

use super::convert::append_buffer;
use super::fetch::place_of;
use super::filter::ScanFilter;
use super::predicate::ScanPredicate;
use super::prepare::PreparedScan;
use crate::error::ExecResult;
use crate::vector::{BitVector, SelectionVector, VectorBatch, VectorValues};

/// A morsel and where its next vector begins.
#[derive(Debug)]
pub(super) struct HotMorsel {
    chunk: HotChunkRef,
    /// Its place among all chunks.
    place: usize,
    next_row: usize,
}

impl HotMorsel {
    pub(super) fn new(chunk: &HotChunkRef, place: usize, start: usize) -> Self {
        Self { chunk: chunk.clone(), place, next_row: start }
    }

    /// Fills the first columns of `batch`, which are empty, with the next rows that are left;
    /// false at the end of the rows before `end`. The chunk is number `chunk` of the scan.
    ///
    /// # Errors
    /// [`crate::ExecError::Internal`] if the chunk's bounds do not hold.
    pub(super) fn next(
        &mut self,
        scan: &PreparedScan,
        chunk: usize,
        end: usize,
        batch: &mut VectorBatch,
    ) -> ExecResult<bool> {
        let filters = scan.filters.iter().filter(|filter| !filter.predicate.is_hint);
        let mut conditions: Vec<(usize, HotCondition<'_>)> = filters.map(condition_of).collect();
        let top = scan.top();
        if let Some((top, wanted)) = &top
            && !wanted.takes_nulls
        {
            conditions.push((top.column, HotCondition::Restriction(&wanted.values)));
        }
        // Comparisons first: a row with versions is tested until a condition fails.
        conditions.sort_by_key(|(_, condition)| matches!(condition, HotCondition::Predicate(_)));
        let (outputs, columns): (Vec<usize>, Vec<usize>) =
            scan.handed_on().map(|(output, made)| (output, made.column)).unzip();
        while self.next_row < end {
            let rows = self.next_row..end.min(self.next_row + VECTOR_ROWS);
            self.next_row = rows.end;
            scan.counters.note_rows_read(rows.len());
            let (buffers, offsets) =
                self.chunk.read_matching(rows, &conditions, &columns, scan.flavour);
            let chosen = scan.sampler.map(|sampler| {
                let mut bits = BitVector::default();
                let is_chosen = |row: &u16| sampler.is_chosen(self.place, usize::from(*row));
                offsets.iter().for_each(|row| bits.push(is_chosen(row)));
                SelectionVector::new(bits)
            });
            if chosen.as_ref().map_or(offsets.len(), SelectionVector::count) == 0 {
                continue;
            }
            for (output, buffer) in outputs.iter().zip(&buffers) {
                append_buffer(buffer, scan.columns[*output].bounds, &mut batch.columns[*output])?;
            }
            if let Some(deferred) = scan.deferred.get()
                && let VectorValues::Int64(places) = &mut batch.columns[deferred.places].values
            {
                places.extend(offsets.iter().map(|row| place_of(chunk, usize::from(*row))));
            }
            batch.rows = offsets.len();
            batch.selection = chosen.filter(|chosen| chosen.count() < offsets.len());
            return Ok(true);
        }
        Ok(false)
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
