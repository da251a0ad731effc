//! Rows of the build side that had no partner, as the source of one more stage.

use std::ops::Range;
use std::sync::Arc;

use nacre_column::VECTOR_ROWS;

use super::build::JoinBuildSink;
use crate::error::ExecResult;
use crate::pipeline::{PipelineSource, SourceRun};
use crate::vector::{BitVector, ColumnVector, VectorBatch};

/// Rows of a morsel.
const MORSEL_ROWS: usize = 65_536;

/// Rows without a partner; the columns of the probe side are null.
#[derive(Debug)]
pub(crate) struct UnmatchedRowSource {
    sink: Arc<JoinBuildSink>,
}

#[derive(Debug)]
struct UnmatchedRun {
    sink: Arc<JoinBuildSink>,
    rows: Range<usize>,
    found: Vec<u32>,
}

impl UnmatchedRowSource {
    pub(crate) fn new(sink: &Arc<JoinBuildSink>) -> Self {
        Self { sink: Arc::clone(sink) }
    }
}

impl PipelineSource for UnmatchedRowSource {
    fn name(&self) -> &'static str {
        "join unmatched"
    }

    fn morsel_count(&self) -> usize {
        self.sink.rows().div_ceil(MORSEL_ROWS)
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let first = morsel * MORSEL_ROWS;
        let rows = first..self.sink.rows().min(first + MORSEL_ROWS);
        Ok(Box::new(UnmatchedRun { sink: Arc::clone(&self.sink), rows, found: Vec::new() }))
    }
}

impl SourceRun for UnmatchedRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        if self.rows.is_empty() {
            return Ok(false);
        }
        let table = self.sink.table()?;
        let rows = VECTOR_ROWS.min(table.pairs_max());
        let end = self.rows.end.min(self.rows.start + rows);
        table.unmarked(self.rows.start..end, &mut self.found);
        self.rows.start = end;
        let plan = &self.sink.plan;
        let (probe, build) = batch.columns.split_at_mut(plan.probe.infos.len());
        for (out, info) in probe.iter_mut().zip(&plan.probe.infos) {
            out.dictionary.clone_from(&info.dictionary);
            fill_null(out, self.found.len());
        }
        for (out, column) in build.iter_mut().zip(&table.columns) {
            column.gather(&self.found, false, out);
        }
        batch.rows = self.found.len();
        Ok(true)
    }
}

/// Makes a column of nulls.
pub(super) fn fill_null(out: &mut ColumnVector, rows: usize) {
    out.values.clear();
    (0..rows).for_each(|_| out.values.push_default());
    out.validity = Some(BitVector::filled(rows, false));
}
