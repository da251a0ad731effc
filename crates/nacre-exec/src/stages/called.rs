//! Queries that expressions call for the rows that they are evaluated for.

use std::sync::Arc;

use super::common::{CommonRows, StageList, column_info, run_side};
use crate::error::ExecResult;
use crate::pipeline::{SlotInfo, StageContext};
use crate::plan::{CalledNode, PlanNode, RowQuery};
use crate::vector::ResultBatch;

/// A query that is run in the thread that calls it.
#[derive(Debug)]
struct CalledPlan {
    input: PlanNode,
    /// Of one worker.
    context: StageContext,
    common: Vec<CommonRows>,
    arguments: Vec<SlotInfo>,
    outputs: Vec<SlotInfo>,
}

/// Has expressions call a query, which reads the common queries before it.
pub(super) fn open_called(called: &CalledNode, context: &StageContext, stages: &StageList) {
    let infos = |columns: &[_]| columns.iter().map(column_info).collect();
    called.query.set(Arc::new(CalledPlan {
        input: called.input.clone(),
        context: StageContext { workers: 1, is_sliced: false, measured: None, ..context.clone() },
        common: stages.common.clone(),
        arguments: infos(&called.arguments),
        outputs: infos(&called.outputs),
    }));
}

impl RowQuery for CalledPlan {
    fn run(&self, arguments: ResultBatch) -> ExecResult<Vec<ResultBatch>> {
        let rows = (&Arc::from([arguments]), &self.arguments[..]);
        run_side(&self.input, rows, &self.common, &self.outputs, &self.context)
    }
}
