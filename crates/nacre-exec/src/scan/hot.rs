//! A morsel of a hot chunk, read vector by vector under the chunk's latch: predicates first, then
//! the wanted columns of the rows that are left.

use nacre_column::VECTOR_ROWS;
use nacre_store::{HotChunkRef, HotCondition};

use super::convert::append_buffer;
use super::predicate::ScanPredicate;
use super::prepare::PreparedScan;
use crate::error::ExecResult;
use crate::vector::VectorBatch;

/// A morsel and where its next vector begins.
#[derive(Debug)]
pub(super) struct HotMorsel {
    chunk: HotChunkRef,
    next_row: usize,
}

impl HotMorsel {
    pub(super) fn new(chunk: &HotChunkRef, start: usize) -> Self {
        Self { chunk: chunk.clone(), next_row: start }
    }

    /// Fills the first columns of `batch`, which are empty, with the next rows that are left;
    /// false at the end of the rows before `end`.
    ///
    /// # Errors
    /// [`crate::ExecError::Internal`] if the chunk's bounds do not hold.
    pub(super) fn next(
        &mut self,
        scan: &PreparedScan,
        end: usize,
        batch: &mut VectorBatch,
    ) -> ExecResult<bool> {
        let filters = scan.filters.iter().filter(|filter| !filter.predicate.is_hint);
        let tests: Vec<(usize, Box<dyn Fn(&[u8]) -> bool + '_>)> = filters
            .clone()
            .filter_map(|filter| match &filter.predicate.predicate {
                ScanPredicate::Strings(strings) => {
                    let test = move |value: &[u8]| (strings.test())(value);
                    Some((filter.predicate.column, Box::new(test) as Box<dyn Fn(&[u8]) -> bool>))
                }
                ScanPredicate::Restriction(_) => None,
            })
            .collect();
        let restrictions = filters.filter_map(|filter| match &filter.predicate.predicate {
            ScanPredicate::Restriction(restriction) => {
                Some((filter.predicate.column, HotCondition::Restriction(restriction)))
            }
            ScanPredicate::Strings(_) => None,
        });
        let predicates =
            tests.iter().map(|(column, test)| (*column, HotCondition::Predicate(test)));
        let conditions: Vec<(usize, HotCondition<'_>)> = restrictions.chain(predicates).collect();
        let columns: Vec<usize> = scan.columns.iter().map(|column| column.column).collect();
        while self.next_row < end {
            let rows = self.next_row..end.min(self.next_row + VECTOR_ROWS);
            self.next_row = rows.end;
            scan.counters.note_rows_read(rows.len());
            let (buffers, offsets) =
                self.chunk.read_matching(rows, &conditions, &columns, scan.flavour);
            if offsets.is_empty() {
                continue;
            }
            for (output, buffer) in buffers.iter().enumerate() {
                append_buffer(buffer, scan.columns[output].bounds, &mut batch.columns[output])?;
            }
            batch.rows = offsets.len();
            return Ok(true);
        }
        Ok(false)
    }
}
