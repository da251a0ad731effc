//! Groups as the source of the next pipeline: each morsel merges a part and hands it on.

use std::sync::Arc;

use nacre_column::VECTOR_ROWS;

use super::collected::end_of_batch;
use super::layout::GroupPlan;
use super::merge::MergedGroups;
use super::output::put_groups;
use super::sink::GroupSink;
use crate::error::ExecResult;
use crate::pipeline::{PipelineSource, SourceRun};
use crate::vector::VectorBatch;

/// What a sink has collected.
#[derive(Debug)]
pub(crate) struct GroupSource {
    sink: Arc<GroupSink>,
}

#[derive(Debug)]
struct GroupRun {
    plan: Arc<GroupPlan>,
    merged: MergedGroups,
    next: usize,
}

impl GroupSource {
    pub(crate) fn new(sink: &Arc<GroupSink>) -> Self {
        Self { sink: Arc::clone(sink) }
    }
}

impl PipelineSource for GroupSource {
    fn name(&self) -> &'static str {
        "groups"
    }

    fn morsel_count(&self) -> usize {
        self.sink.merge_parts()
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let merged = self.sink.merge(morsel)?;
        Ok(Box::new(GroupRun { plan: Arc::clone(&self.sink.plan), merged, next: 0 }))
    }
}

impl SourceRun for GroupRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        let end = self.merged.table.len().min(self.next + VECTOR_ROWS);
        let end = end_of_batch(&self.plan, &self.merged.table, self.next..end);
        let groups = self.next..end;
        self.next = end;
        (batch.rows, batch.selection) = (0, None);
        let outputs = self.plan.outputs().len();
        batch.columns.iter_mut().take(outputs).for_each(|column| column.clear());
        if groups.is_empty() {
            return Ok(false);
        }
        put_groups(&self.plan, &self.merged.table, groups, batch)?;
        Ok(true)
    }
}
