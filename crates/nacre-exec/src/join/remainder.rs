//! Rows of the build side that come out when all of the probe side have looked for partners, as the
//! source of one more stage.

use std::ops::Range;
use std::sync::Arc;

use nacre_column::VECTOR_ROWS;

use super::build::JoinBuildSink;
use super::column::fill_null;
use crate::error::ExecResult;
use crate::pipeline::{PipelineSource, SourceRun};
use crate::plan::PairingKind;
use crate::vector::VectorBatch;

/// Rows of a morsel.
const MORSEL_ROWS: usize = 65_536;

/// Rows without a partner, of a semi join those that have one; the columns of the probe side are
/// null.
#[derive(Debug)]
pub(crate) struct RemainderSource {
    sink: Arc<JoinBuildSink>,
}

#[derive(Debug)]
struct RemainderRun {
    sink: Arc<JoinBuildSink>,
    rows: Range<usize>,
    found: Vec<u32>,
}

impl RemainderSource {
    pub(crate) fn new(sink: &Arc<JoinBuildSink>) -> Self {
        Self { sink: Arc::clone(sink) }
    }
}

impl PipelineSource for RemainderSource {
    fn name(&self) -> &'static str {
        "join remainder"
    }

    fn morsel_count(&self) -> usize {
        self.sink.rows().div_ceil(MORSEL_ROWS)
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let first = morsel * MORSEL_ROWS;
        let rows = first..self.sink.rows().min(first + MORSEL_ROWS);
        Ok(Box::new(RemainderRun { sink: Arc::clone(&self.sink), rows, found: Vec::new() }))
    }
}

impl SourceRun for RemainderRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        if self.rows.is_empty() {
            return Ok(false);
        }
        let table = self.sink.table()?;
        let rows = VECTOR_ROWS.min(table.pairs_max());
        let end = self.rows.end.min(self.rows.start + rows);
        let plan = &self.sink.plan;
        let is_wanted = plan.kind == PairingKind::BuildSemi;
        let rows = (self.rows.start..end).map(|row| row as u32);
        self.found.clear();
        self.found.extend(rows.filter(|row| table.is_marked(*row) == is_wanted));
        self.rows.start = end;
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
