//! Sorted rows as the source of the next pipeline.

use std::sync::Arc;

use nacre_column::VECTOR_ROWS;

use super::run::SortRun;
use super::sink::SortSink;
use super::spilled::SpilledMergeRun;
use crate::error::ExecResult;
use crate::pipeline::{PipelineSource, SourceRun};
use crate::vector::VectorBatch;

/// What a sink has sorted: one morsel, since the rows that come out have an order.
#[derive(Debug)]
pub(crate) struct SortSource {
    sink: Arc<SortSink>,
}

#[derive(Debug)]
struct MergeRun {
    sink: Arc<SortSink>,
    merge: RunMerge,
    rows_left: u64,
}

/// Merges sorted runs.
#[derive(Debug)]
pub(crate) struct RunMerge {
    /// The next row of each run that has one; a heap, the least row first.
    heads: Vec<RunHead>,
}

/// A row of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunHead {
    pub(crate) run: usize,
    pub(crate) row: usize,
}

impl SortSource {
    pub(crate) fn new(sink: &Arc<SortSink>) -> Self {
        Self { sink: Arc::clone(sink) }
    }
}

impl PipelineSource for SortSource {
    fn name(&self) -> &'static str {
        "merge"
    }

    fn morsel_count(&self) -> usize {
        1
    }

    fn open(&self, _: usize) -> ExecResult<Box<dyn SourceRun>> {
        let sink = Arc::clone(&self.sink);
        if let Some(merge) = sink.open_spilled("sort")? {
            return Ok(Box::new(SpilledMergeRun::new(merge, sink.rows_max)));
        }
        let (rows_left, merge) = (sink.rows_max, RunMerge::new(sink.runs()));
        Ok(Box::new(MergeRun { sink, merge, rows_left }))
    }
}

impl RunMerge {
    /// Begins with the first rows of `runs`.
    pub(crate) fn new(runs: &[SortRun]) -> Self {
        let filled = runs.iter().enumerate().filter(|(_, run)| run.len() > 0);
        let heads = filled.map(|(run, _)| RunHead { run, row: 0 }).collect();
        let mut merge = Self { heads };
        (0..merge.heads.len() / 2).rev().for_each(|at| merge.sift_down(at, runs));
        merge
    }

    fn sift_down(&mut self, mut at: usize, runs: &[SortRun]) {
        let is_less = |left: RunHead, right: RunHead| {
            // Equal rows come in the order of their runs, so that an answer repeats.
            runs[left.run]
                .compare(left.row, &runs[right.run], right.row)
                .then(left.run.cmp(&right.run))
                .is_lt()
        };
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heads.len() && is_less(self.heads[child], self.heads[least]) {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heads.swap(at, least);
            at = least;
        }
    }

    /// Takes the least row; `runs` are those that it began with.
    pub(crate) fn pop(&mut self, runs: &[SortRun]) -> Option<RunHead> {
        let first = self.first()?;
        let next = first.row + 1;
        self.replace_first((next < runs[first.run].len()).then_some(next), runs);
        Some(first)
    }

    /// Returns the least row.
    #[inline]
    pub(super) fn first(&self) -> Option<RunHead> {
        self.heads.first().copied()
    }

    /// Puts the next row of its run in the place of the least row; `None` if its run is at its end.
    #[inline]
    pub(super) fn replace_first(&mut self, row: Option<usize>, runs: &[SortRun]) {
        match row {
            Some(row) => self.heads[0].row = row,
            None => {
                self.heads.swap_remove(0);
            }
        }
        if !self.heads.is_empty() {
            self.sift_down(0, runs);
        }
    }
}

impl SourceRun for MergeRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        let rows = self.rows_left.min(VECTOR_ROWS as u64) as usize;
        let runs = self.sink.runs();
        let taken: Vec<RunHead> = (0..rows).map_while(|_| self.merge.pop(runs)).collect();
        self.rows_left -= taken.len() as u64;
        for (column, out) in batch.columns.iter_mut().enumerate().take(self.sink.columns()) {
            out.clear();
            for head in &taken {
                runs[head.run].append_value(head.row, column, out);
            }
            out.fill_validity();
        }
        batch.rows = taken.len();
        Ok(batch.rows > 0)
    }
}
