//! Queries that expressions call for the rows that they are evaluated for.

use std::sync::Arc;

use super::common::{CommonRows, RunPlan, StageList, column_info};
use super::kept::KeptParts;
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
    kept: Arc<KeptParts>,
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
        kept: Arc::default(),
    }));
}

impl RowQuery for CalledPlan {
    fn run(&self, arguments: ResultBatch) -> ExecResult<Vec<ResultBatch>> {
        RunPlan {
            input: &self.input,
            arguments: &self.arguments,
            outputs: &self.outputs,
            common: &self.common,
            kept: &self.kept,
            context: &self.context,
        }
        .begin(&Arc::from([arguments]))?
        .run()
    }
}
