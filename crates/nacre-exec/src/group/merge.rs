//! Merges what workers have collected of one part of the groups.

use super::distinct::add_distinct;
use super::layout::StateKind;
use super::partition::PARTITIONS;
use super::sink::GroupSink;
use super::state::merge_states;
use super::table::GroupTable;
use crate::error::ExecResult;
use crate::memory::MemoryReservation;

/// Rows that are merged between two looks at memory and at the cancel flag: a few milliseconds.
pub(super) const ROWS_BETWEEN_LOOKS: usize = 65_536;

/// All groups of a part.
#[derive(Debug)]
pub(super) struct MergedGroups {
    pub(super) table: GroupTable,
    reservation: MemoryReservation,
}

impl GroupSink {
    /// Merges a part: a partition, or all of them if they are one part.
    ///
    /// # Errors
    /// [`crate::ExecError::OutOfMemory`], [`crate::ExecError::Canceled`].
    pub(super) fn merge(&self, part: usize) -> ExecResult<MergedGroups> {
        let plan = self.plan.as_ref();
        let parts = if self.merge_parts() == 1 { 0..PARTITIONS } else { part..part + 1 };
        let reservation = self.budget.reservation("aggregate");
        let mut merged = MergedGroups { table: GroupTable::default(), reservation };
        for partition in parts {
            for worker in self.collected() {
                merged.take_page(self, &worker.pages[partition])?;
            }
            for aggregate in &plan.aggregates {
                let (StateKind::Distinct(index) | StateKind::DistinctSum(index)) = aggregate.kind
                else {
                    continue;
                };
                let pages =
                    self.collected().iter().map(|worker| &worker.distinct[index][partition]);
                let (own, table) = (&plan.distinct[index], &mut merged.table);
                let mut reservation = self.budget.reservation("aggregate");
                add_distinct((plan, aggregate), own, pages, table, |bytes| {
                    reservation.resize(bytes)?;
                    self.control.check()
                })?;
            }
        }
        merged.reservation.resize(merged.table.bytes())?;
        Ok(merged)
    }
}

impl MergedGroups {
    fn take_page(&mut self, sink: &GroupSink, page: &super::partition::RowPage) -> ExecResult<()> {
        let plan = sink.plan.as_ref();
        let table = &mut self.table;
        for (at, row) in page.rows.chunks_exact(plan.row_words).enumerate() {
            let group = table.find_or_add_row(plan, row, &page.heap);
            let start = group as usize * plan.row_words;
            let GroupTable { rows, heap, .. } = table;
            let group = &mut rows[start..start + plan.row_words];
            merge_states(plan, (row, &page.heap), (group, heap))?;
            if at % ROWS_BETWEEN_LOOKS == ROWS_BETWEEN_LOOKS - 1 {
                self.reservation.resize(table.bytes())?;
                sink.control.check()?;
            }
        }
        self.reservation.resize(table.bytes())
    }
}
