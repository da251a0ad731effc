//! Merges what workers have collected of one part of the groups.

use super::distinct::DistinctMerge;
use super::layout::{GroupPlan, StateKind};
use super::partition::{PARTITIONS, RowPage};
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
    pub(super) reservation: MemoryReservation,
}

impl GroupSink {
    /// Merges a part: a partition, or all of them if they are one part.
    ///
    /// # Errors
    /// [`crate::ExecError::OutOfMemory`], [`crate::ExecError::Canceled`].
    pub(super) fn merge(&self, part: usize) -> ExecResult<MergedGroups> {
        let plan = self.plan.as_ref();
        let parts = if self.merge_parts() == 1 { 0..PARTITIONS } else { part..part + 1 };
        let mut merged = MergedGroups::none(self);
        for partition in parts {
            for worker in self.collected() {
                merged.take_page(self, &worker.pages[partition])?;
            }
            for aggregate in &plan.aggregates {
                let (StateKind::Distinct(index) | StateKind::DistinctSum(index)) = aggregate.kind
                else {
                    continue;
                };
                let mut reservation = self.budget.reservation("aggregate");
                let mut set = DistinctMerge::new(plan, aggregate, &plan.distinct[index]);
                for worker in self.collected() {
                    let page = &worker.distinct[index][partition];
                    set.add_page(page, &mut merged.table, |bytes| {
                        reservation.resize(bytes)?;
                        self.control.check()
                    })?;
                }
            }
        }
        merged.reservation.resize(merged.table.bytes())?;
        Ok(merged)
    }
}

impl MergedGroups {
    /// Makes no groups.
    pub(super) fn none(sink: &GroupSink) -> Self {
        let reservation = sink.budget.reservation("aggregate");
        Self { table: GroupTable::default(), reservation }
    }

    /// Merges a row of a page into its group.
    #[inline]
    pub(super) fn take_row(
        &mut self,
        plan: &GroupPlan,
        row: &[u64],
        page_heap: &[u8],
    ) -> ExecResult<()> {
        let group = self.table.find_or_add_row(plan, row, page_heap);
        let start = group as usize * plan.row_words;
        let GroupTable { rows, heap, .. } = &mut self.table;
        let group = &mut rows[start..start + plan.row_words];
        merge_states(plan, (row, page_heap), (group, heap))
    }

    fn take_page(&mut self, sink: &GroupSink, page: &RowPage) -> ExecResult<()> {
        let plan = sink.plan.as_ref();
        for (at, row) in page.rows(plan).enumerate() {
            self.take_row(plan, row, &page.heap)?;
            if at % ROWS_BETWEEN_LOOKS == ROWS_BETWEEN_LOOKS - 1 {
                self.reservation.resize(self.table.bytes())?;
                sink.control.check()?;
            }
        }
        self.reservation.resize(self.table.bytes())
    }
}
