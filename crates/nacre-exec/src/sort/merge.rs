//! Sorted rows as the source of the next pipeline.

use std::sync::Arc;

use nacre_column::VECTOR_ROWS;

use super::sink::SortSink;
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
    /// The next row of each run that has one; a heap, the least row first.
    heads: Vec<RunHead>,
    rows_left: u64,
}

#[derive(Clone, Copy, Debug)]
struct RunHead {
    run: usize,
    row: usize,
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
        let runs = sink.runs().iter().enumerate().filter(|(_, run)| run.len() > 0);
        let heads = runs.map(|(run, _)| RunHead { run, row: 0 }).collect();
        let mut merge = MergeRun { rows_left: sink.rows_max, sink, heads };
        (0..merge.heads.len() / 2).rev().for_each(|at| merge.sift_down(at));
        Ok(Box::new(merge))
    }
}

impl MergeRun {
    fn is_less(&self, left: RunHead, right: RunHead) -> bool {
        let runs = self.sink.runs();
        // Equal rows come in the order of their runs, so that an answer repeats.
        runs[left.run]
            .compare(left.row, &runs[right.run], right.row)
            .then(left.run.cmp(&right.run))
            .is_lt()
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heads.len() && self.is_less(self.heads[child], self.heads[least]) {
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

    /// Takes the least row.
    fn pop(&mut self) -> Option<RunHead> {
        let first = *self.heads.first()?;
        if first.row + 1 < self.sink.runs()[first.run].len() {
            self.heads[0].row += 1;
        } else {
            self.heads.swap_remove(0);
        }
        if !self.heads.is_empty() {
            self.sift_down(0);
        }
        Some(first)
    }
}

impl SourceRun for MergeRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        let rows = self.rows_left.min(VECTOR_ROWS as u64) as usize;
        let taken: Vec<RunHead> = (0..rows).map_while(|_| self.pop()).collect();
        self.rows_left -= taken.len() as u64;
        let runs = self.sink.runs();
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
