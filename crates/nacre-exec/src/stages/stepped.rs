//! Rows that are made one after the other, as they are asked for.

use std::sync::Arc;

use super::common::{CommonRows, StageList, StageRun};
use super::measured::timed;
use super::{OpenPipeline, begin, open_input, output_infos, wrap};
use crate::error::ExecResult;
use crate::pipeline::{PipelineSource, SlotInfo, StageContext};
use crate::plan::{PlanNode, SteppedNode};
use crate::rows::{SlicedSource, SteppedSource};
use crate::value::VectorType;

/// A plan whose rows are made in the thread that asks for them.
#[derive(Debug)]
pub(crate) struct SteppedPlan {
    input: PlanNode,
    /// Of one worker.
    pub(crate) context: StageContext,
    common: Vec<CommonRows>,
    pub(crate) infos: Vec<SlotInfo>,
}

/// Opens what makes rows one after the other.
#[inline(never)]
pub(super) fn open_stepped(
    node: &SteppedNode,
    context: &StageContext,
    stages: &StageList,
) -> ExecResult<OpenPipeline> {
    let one = StageContext { workers: 1, ..context.clone() };
    // What it makes is known once it was opened.
    let mut unused = StageList { common: stages.common.clone(), ..StageList::default() };
    let pipeline = open_input(&node.input, &one, &mut unused)?;
    let mut infos = output_infos(&pipeline);
    for info in infos.iter_mut().filter(|info| info.vector_type == VectorType::Code) {
        // Another opening has another dictionary.
        (info.vector_type, info.dictionary) = (VectorType::Bytes, None);
    }
    let (rows_max, depth) = (pipeline.rows_max, pipeline.depth);
    let (input, common) = (node.input.clone(), unused.common);
    let plan = SteppedPlan { input, context: one, common, infos: infos.clone() };
    let source = Arc::new(SteppedSource::new(Arc::new(plan)));
    Ok(OpenPipeline { rows_max, may_fail: true, ..begin(source, infos, depth, context) })
}

/// Returns a source of the operator that is being opened as others see it: one row at a time, and
/// timed, if that is wanted.
pub(super) fn handed_on(
    source: Arc<dyn PipelineSource>,
    infos: &[SlotInfo],
    context: &StageContext,
) -> Arc<dyn PipelineSource> {
    let source = if context.is_sliced {
        Arc::new(SlicedSource::new(source, infos)) as Arc<dyn PipelineSource>
    } else {
        source
    };
    timed(source, context)
}

impl SteppedPlan {
    /// Runs all stages but the last one; returns the sources of its rows, in their order.
    ///
    /// # Errors
    /// Those of the stages.
    pub(crate) fn open(&self, is_sliced: bool) -> ExecResult<Vec<Arc<dyn PipelineSource>>> {
        let context = StageContext { is_sliced, ..self.context.clone() };
        let mut stages = StageList { common: self.common.clone(), ..StageList::default() };
        let mut pipeline = open_input(&self.input, &context, &mut stages)?;
        let OpenPipeline { builder, columns, .. } = &mut pipeline;
        for (slot, info) in columns.iter_mut().zip(&self.infos) {
            *slot = builder.cast_to(*slot, info.vector_type);
        }
        let sources = wrap(pipeline, "first rows", &context);
        StageRun::new(stages.stages).run()?;
        Ok(sources)
    }
}
