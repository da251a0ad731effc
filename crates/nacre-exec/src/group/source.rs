//! Groups as the source of the next pipeline: each morsel merges a part and hands it on.

use std::sync::Arc;

use nacre_column::VECTOR_ROWS;

use super::collected::end_of_batch;
use super::merge::MergedGroups;
use super::output::put_groups;
use super::sink::GroupSink;
use super::spilled::GroupPart;
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
    sink: Arc<GroupSink>,
    merged: MergedGroups,
    next: usize,
    /// Parts in files that are left.
    waiting: Vec<GroupPart>,
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
        let sink = Arc::clone(&self.sink);
        let (merged, waiting) = match sink.spilled_parts().and_then(|parts| parts.get(morsel)) {
            Some(part) => (MergedGroups::none(&sink), vec![part.clone()]),
            None => (sink.merge(morsel)?, Vec::new()),
        };
        Ok(Box::new(GroupRun { sink, merged, next: 0, waiting }))
    }
}

impl SourceRun for GroupRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        if self.next == self.merged.table.len()
            && let Some(part) = self.waiting.pop()
        {
            self.next = 0;
            self.merged = MergedGroups::none(&self.sink);
            self.merged = self.sink.merge_spilled(&part, &mut self.waiting)?;
            if self.merged.table.len() == 0 {
                // It was split; others may want the thread before its parts are merged.
                return Ok(true);
            }
        }
        let plan = Arc::clone(&self.sink.plan);
        let end = self.merged.table.len().min(self.next + VECTOR_ROWS);
        let end = end_of_batch(&plan, &self.merged.table, self.next..end);
        let groups = self.next..end;
        self.next = end;
        let outputs = plan.outputs().len();
        batch.columns.iter_mut().take(outputs).for_each(|column| column.clear());
        if groups.is_empty() {
            return Ok(false);
        }
        put_groups(&plan, &self.merged.table, groups, batch)?;
        Ok(true)
    }
}
