//! Groups whose collected rows do not fit in memory.
//!
//! Such a group is the only one of a part that was split as often as it can be. Its rows are sorted
//! in files by their keys and folded one after the other; what stands for the value takes their
//! place, and the node above hands the value on.

use std::sync::Arc;

use super::collected::{collected_rows, put_collected};
use super::layout::{GroupAggregate, GroupPlan};
use super::merge::MergedGroups;
use super::partition::RowPage;
use super::sink::GroupSink;
use super::spilled::{GroupPart, SpilledPage};
use crate::error::ExecResult;
use crate::memory::MemoryBudget;
use crate::plan::{CollectedFoldFunction, CollectedRow};
use crate::sort::ByteStringSort;
use crate::spill::OperatorSpill;

/// A group is folded outside of memory if its rows take more than this part of the query's: the
/// rows, a copy of them, and values while they are folded take several times as much.
const BUDGET_PARTS: u64 = 16;

/// Rows between two looks at memory.
const ROWS_BETWEEN_LOOKS: usize = 256;

/// Returns the bytes of collected rows beyond which groups go to files, if their aggregates can be
/// computed there.
pub(super) fn collected_bytes_max(plan: &GroupPlan, budget: &MemoryBudget) -> Option<usize> {
    plan.folds().next().map(|_| (budget.bytes_max() / BUDGET_PARTS) as usize)
}

impl GroupSink {
    /// Merges a part of one group, and folds its collected rows outside of memory. `None` if there
    /// are several groups.
    ///
    /// # Errors
    /// Those of files, of memory, of states and of folds.
    pub(super) fn merge_folding(
        &self,
        spill: &Arc<OperatorSpill>,
        part: &GroupPart,
    ) -> ExecResult<Option<MergedGroups>> {
        let plan = self.plan.as_ref();
        let (mut merged, mut scratch) = (MergedGroups::none(self), Vec::new());
        let mut words = Vec::new();
        for page in part.pages() {
            spill.check()?;
            let page = page.read(&mut scratch)?;
            for row in page.rows(plan) {
                words.clear();
                words.extend_from_slice(row);
                for (aggregate, _) in plan.folds() {
                    put_collected(&mut words[aggregate.word..], 0, 0);
                }
                merged.take_row(plan, &words, &page.heap)?;
            }
        }
        if merged.table.len() != 1 {
            return Ok(None);
        }
        for (aggregate, fold) in plan.folds() {
            let value = fold_outside(spill, plan, (aggregate, fold), part.pages())?;
            let start = merged.table.heap.len();
            merged.table.heap.extend_from_slice(&value);
            put_collected(&mut merged.table.rows[aggregate.word..], start, value.len());
        }
        merged.reservation.resize(merged.table.bytes())?;
        Ok(Some(merged))
    }
}

/// Folds the collected rows of all pages, which are of one group; returns what stands for them.
fn fold_outside(
    spill: &Arc<OperatorSpill>,
    plan: &GroupPlan,
    (aggregate, fold): (&GroupAggregate, &CollectedFoldFunction),
    pages: &[SpilledPage],
) -> ExecResult<Vec<u8>> {
    let mut reservation = spill.reservation("aggregate");
    let mut value = Vec::new();
    if !fold.is_sorted() {
        let (mut state, mut added) = (fold.start(0), 0);
        for_each_collected((plan, aggregate, fold), pages, |row| {
            state.add(row.bytes)?;
            added += 1;
            if added % ROWS_BETWEEN_LOOKS == 0 { reservation.resize(state.bytes()) } else { Ok(()) }
        })?;
        state.finish(&mut value)?;
        return Ok(value);
    }
    let (mut sort, mut counted) = (ByteStringSort::new(spill, "aggregate")?, 0);
    for_each_collected((plan, aggregate, fold), pages, |row| {
        counted += u64::from(row.counts);
        sort.push(row.key, row.bytes)
    })?;
    let mut merge = sort.finish()?;
    let (mut state, mut added) = (fold.start(counted), 0);
    while let Some((run, row)) = merge.head() {
        run.with_bytes(row, 0, |row| state.add(row))?;
        added += 1;
        if added % ROWS_BETWEEN_LOOKS == 0 {
            reservation.resize(state.bytes())?;
        }
        merge.advance()?;
    }
    state.finish(&mut value)?;
    Ok(value)
}

/// Calls `each` for the rows that pages have collected.
fn for_each_collected(
    (plan, aggregate, fold): (&GroupPlan, &GroupAggregate, &CollectedFoldFunction),
    pages: &[SpilledPage],
    mut each: impl FnMut(CollectedRow<'_>) -> ExecResult<()>,
) -> ExecResult<()> {
    let mut scratch = Vec::new();
    for page in pages {
        let page: RowPage = page.read(&mut scratch)?;
        for row in page.rows(plan) {
            let mut rows = &page.heap[collected_rows(&row[aggregate.word..])];
            while !rows.is_empty() {
                each(fold.take_row(&mut rows)?)?;
            }
        }
    }
    Ok(())
}
