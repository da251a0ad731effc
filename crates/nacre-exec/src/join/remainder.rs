//! Rows of the build side that come out when all of the probe side have looked for partners, as the
//! source of one more stage.

use std::ops::Range;
use std::sync::Arc;

use nacre_column::VECTOR_ROWS;

use super::build::JoinBuildSink;
use super::column::fill_null;
use super::plan::JoinPlan;
use super::table::JoinTable;
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
        let (plan, table) = (&self.sink.plan, self.sink.table()?);
        Ok(next_remainder(plan, table, &mut self.rows, &mut self.found, batch))
    }
}

/// Hands on the next of `rows` that come out alone; false if none are left. `found` is memory.
pub(super) fn next_remainder(
    plan: &JoinPlan,
    table: &JoinTable,
    rows: &mut Range<usize>,
    found: &mut Vec<u32>,
    batch: &mut VectorBatch,
) -> bool {
    if rows.start >= rows.end {
        return false;
    }
    let end = rows.end.min(rows.start + VECTOR_ROWS.min(table.pairs_max()));
    let is_wanted = plan.kind == PairingKind::BuildSemi;
    found.clear();
    found.extend((rows.start..end).map(|row| row as u32));
    found.retain(|row| table.is_marked(*row) == is_wanted);
    rows.start = end;
    for (output, _) in &plan.columns().probe {
        let out = &mut batch.columns[*output];
        fill_null(found.len(), out);
        out.dictionary.clone_from(&plan.probe.infos[*output].dictionary);
    }
    for (output, column) in &plan.columns().build {
        table.columns[*column].gather(found, false, &mut batch.columns[*output]);
    }
    batch.rows = found.len();
    true
}
