//! Rows of the build side that had no partner, as the source of one more stage.

use std::ops::Range;
use std::sync::Arc;

use nacre_column::VECTOR_ROWS;

use super::build::JoinBuildSink;
use super::column::fill_null;
use crate::error::ExecResult;
use crate::pipeline::{PipelineSource, SourceRun};
use crate::vector::VectorBatch;

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
        for (output, _) in &plan.columns().probe {
            let out = &mut batch.columns[*output];
            fill_null(self.found.len(), out);
            out.dictionary.clone_from(&plan.probe.infos[*output].dictionary);
        }
        for (output, column) in &plan.columns().build {
            table.columns[*column].gather(&self.found, false, &mut batch.columns[*output]);
        }
        batch.rows = self.found.len();
        Ok(true)
    }
}
