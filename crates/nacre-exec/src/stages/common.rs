//! Queries that are computed before the others, and what reads them.
//!
//! The stages of each are a part: an error of values in it is held until its rows, or its value,
//! are asked for. A recursion that one operator reads alone is no part but that one's source.

use std::ops::Range;
use std::sync::Arc;

use super::called::open_called;
use super::deferred::DeferredScans;
use super::kept::{KeptParts, KeptPipeline};
use super::measured::MeasuredSinks;
use super::{OpenPipeline, begin, close, open_input, open_node, output_infos};
use crate::error::{ExecError, ExecResult};
use crate::pipeline::{
    MorselRun, PipelineSink, PipelineSource, PipelineStage, SlotInfo, StageContext, StepOutcome,
};
use crate::plan::{CommonNode, CommonScanNode, OnceNode, PlanNode, RecursionColumn, RecursionNode};
use crate::rows::{
    BatchSink, BatchSource, CollectedSource, CollectingSink, HeldSource, OnceSink, RecursionSource,
};
use crate::value::{HeldError, OnceValue, ValueClass, VectorType};
use crate::vector::ResultBatch;

/// Stages that are being made.
#[derive(Debug, Default)]
pub(super) struct StageList {
    pub(super) stages: Vec<PipelineStage>,
    pub(super) parts: Vec<StagePart>,
    /// Queries that are computed once.
    pub(super) common: Vec<CommonRows>,
    /// What runs of the plan share; `None` for one that is run once.
    pub(super) kept: Option<Arc<KeptParts>>,
    pub(super) measured: MeasuredSinks,
    /// Of top-k operators whose inputs are being opened.
    pub(super) deferred: DeferredScans,
}

/// Stages whose errors are held.
#[derive(Debug)]
pub(super) struct StagePart {
    pub(super) stages: Range<usize>,
    pub(super) error: PartError,
}

/// Where the error of a part is held.
#[derive(Clone, Debug)]
pub(super) enum PartError {
    OfRows(Arc<HeldError>),
    OfValue(Arc<OnceValue>),
}

impl PartError {
    pub(super) fn held(&self) -> &HeldError {
        match self {
            Self::OfRows(error) => error,
            Self::OfValue(value) => value.error(),
        }
    }
}

/// The rows of a query that is computed once, when its stages have ended.
#[derive(Clone, Debug)]
pub(super) struct CommonRows {
    source: CommonSource,
    infos: Vec<SlotInfo>,
    rows_max: u64,
    depth: usize,
}

/// Where the rows of a common query are.
#[derive(Clone, Debug)]
enum CommonSource {
    Collected(Arc<CollectingSink>, Arc<HeldError>),
    /// Made as they are asked for.
    Recursion(Arc<RecursionPlan>),
    /// Those that a recursion has made last.
    Batches(Arc<[ResultBatch]>),
    /// Values and calls have none.
    Nothing,
}

/// A recursion, and what its sides read.
#[derive(Debug)]
pub(crate) struct RecursionPlan {
    pub(crate) node: RecursionNode,
    /// Of one worker.
    pub(crate) context: StageContext,
    common: Vec<CommonRows>,
    infos: Vec<SlotInfo>,
    /// Of `step`.
    kept: Arc<KeptParts>,
}

/// Computes common queries, and opens what reads them.
#[inline(never)]
pub(super) fn open_common(
    common: &CommonNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    for (place, query) in common.queries.iter().enumerate() {
        let start = stages.stages.len();
        let error = match query {
            PlanNode::Once(once) => compute_value(once, context, stages)?,
            PlanNode::Called(called) => {
                open_called(called, context, stages);
                let (source, infos) = (CommonSource::Nothing, Vec::new());
                stages.common.push(CommonRows { source, infos, rows_max: 0, depth: 0 });
                continue;
            }
            PlanNode::Recursion(recursion) => {
                let plan = RecursionPlan::new(recursion, context, stages);
                let infos = plan.infos.clone();
                let source = CommonSource::Recursion(Arc::new(plan));
                if is_read_once(common, place) {
                    let (rows_max, depth) = (u64::MAX, 0);
                    stages.common.push(CommonRows { source, infos, rows_max, depth });
                    continue;
                }
                let source = open_source(&source)?;
                collect_rows(begin(source, infos, 0, context), context, stages)
            }
            query => {
                let pipeline = open_input(query, context, stages)?;
                collect_rows(pipeline, context, stages)
            }
        };
        stages.parts.push(StagePart { stages: start..stages.stages.len(), error });
    }
    let mut pipeline = open_node(&common.input, context, stages)?;
    pipeline.depth += 1;
    Ok(pipeline)
}

/// Keeps the rows of a pipeline.
fn collect_rows(
    pipeline: OpenPipeline,
    context: &StageContext,
    stages: &mut StageList,
) -> PartError {
    let (infos, depth, rows_max) = (output_infos(&pipeline), pipeline.depth, pipeline.rows_max);
    let sink = Arc::new(CollectingSink::new(pipeline.columns.clone(), &infos, context));
    close(pipeline, Arc::clone(&sink) as Arc<dyn PipelineSink>, context, stages);
    let error = Arc::new(HeldError::default());
    let source = CommonSource::Collected(sink, Arc::clone(&error));
    stages.common.push(CommonRows { source, infos, rows_max, depth });
    PartError::OfRows(error)
}

/// Computes the value of a query.
fn compute_value(
    once: &OnceNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<PartError> {
    once.value.reset();
    let pipeline = open_input(&once.input, context, stages)?;
    let missing = || ExecError::internal(format!("a value is column {}", once.column));
    let slot = *pipeline.columns.get(once.column).ok_or_else(missing)?;
    let sink = OnceSink::new(slot, &once.value);
    close(pipeline, Arc::new(sink), context, stages);
    let (source, infos) = (CommonSource::Nothing, Vec::new());
    stages.common.push(CommonRows { source, infos, rows_max: 0, depth: 0 });
    Ok(PartError::OfValue(Arc::clone(&once.value)))
}

/// Opens what reads a common query.
#[inline(never)]
pub(super) fn open_common_scan(
    scan: &CommonScanNode,
    context: &StageContext,
    stages: &StageList,
) -> ExecResult<OpenPipeline> {
    let missing = || ExecError::internal(format!("there is no common query {}", scan.query));
    let rows = stages.common.get(scan.query).ok_or_else(missing)?;
    let source = open_source(&rows.source)?;
    let begun = begin(source, rows.infos.clone(), rows.depth, context);
    Ok(OpenPipeline { rows_max: rows.rows_max, ..begun })
}

fn open_source(source: &CommonSource) -> ExecResult<Arc<dyn PipelineSource>> {
    Ok(match source {
        CommonSource::Collected(sink, error) => {
            Arc::new(HeldSource::new(Arc::new(CollectedSource::new(sink)), error))
        }
        CommonSource::Recursion(plan) => Arc::new(RecursionSource::new(plan)),
        CommonSource::Batches(batches) => Arc::new(BatchSource::new(batches)),
        CommonSource::Nothing => return Err(ExecError::internal("the rows of a value")),
    })
}

/// Whether one operator alone reads a recursion, and that one once.
fn is_read_once(common: &CommonNode, place: usize) -> bool {
    let others = common.queries.iter().enumerate().filter(|(other, _)| *other != place);
    let all = others.map(|(_, query)| query).chain([&common.input]);
    let count = |query: &PlanNode| {
        // The sides of a recursion and calls run more often.
        let is_repeated = matches!(query, PlanNode::Recursion(_) | PlanNode::Called(_));
        let times = if is_repeated { 2 } else { 1 };
        times * count_reads(query, place)
    };
    all.map(count).sum::<usize>() <= 1
}

fn count_reads(node: &PlanNode, place: usize) -> usize {
    let own = matches!(node, PlanNode::CommonScan(scan) if scan.query == place);
    let inputs = node.inputs().into_iter().map(|input| count_reads(input, place));
    usize::from(own) + inputs.sum::<usize>()
}

impl RecursionPlan {
    fn new(node: &RecursionNode, context: &StageContext, stages: &StageList) -> Self {
        let infos = node.columns.iter().map(column_info).collect();
        let context = StageContext { workers: 1, measured: None, ..context.clone() };
        let (common, kept) = (stages.common.clone(), Arc::default());
        Self { node: node.clone(), context, common, infos, kept }
    }

    /// Begins the first side.
    ///
    /// # Errors
    /// Those of making its stages.
    pub(crate) fn begin_first(&self) -> ExecResult<RecursionSide> {
        self.begin(&self.node.first, &Arc::from([]))
    }

    /// Begins the recursive side over rows.
    ///
    /// # Errors
    /// As [`RecursionPlan::begin_first`].
    pub(crate) fn begin_step(&self, rows: &Arc<[ResultBatch]>) -> ExecResult<RecursionSide> {
        self.begin(&self.node.step, rows)
    }

    fn begin(&self, side: &PlanNode, rows: &Arc<[ResultBatch]>) -> ExecResult<RecursionSide> {
        RunPlan {
            input: side,
            arguments: &self.infos,
            outputs: &self.infos,
            common: &self.common,
            kept: &self.kept,
            context: &self.context,
        }
        .begin(rows)
    }
}

/// A plan that is run more than once.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunPlan<'p> {
    pub(super) input: &'p PlanNode,
    /// What is known of the rows that a run is given: those of the query behind the `common` ones.
    pub(super) arguments: &'p [SlotInfo],
    pub(super) outputs: &'p [SlotInfo],
    pub(super) common: &'p [CommonRows],
    pub(super) kept: &'p Arc<KeptParts>,
    /// Of one worker.
    pub(super) context: &'p StageContext,
}

impl RunPlan<'_> {
    /// Begins a run that is given `rows`.
    ///
    /// # Errors
    /// Those of making its stages.
    pub(super) fn begin(self, rows: &Arc<[ResultBatch]>) -> ExecResult<RecursionSide> {
        let Self { input, arguments, outputs, common, kept, context } = self;
        if let (Some(pipeline), false) = (kept.pipeline.get(), context.is_sliced) {
            return Ok(RecursionSide::of_pipeline(pipeline, rows, context));
        }
        // Kept rows come all at once, behind the error of any.
        let parts = (!context.is_sliced).then(|| Arc::clone(kept));
        let mut stages = StageList { common: common.to_vec(), kept: parts, ..StageList::default() };
        let source = CommonSource::Batches(Arc::clone(rows));
        let (infos, rows_max) = (arguments.to_vec(), u64::MAX);
        stages.common.push(CommonRows { source, infos, rows_max, depth: 0 });
        let mut pipeline = open_input(input, context, &mut stages)?;
        let OpenPipeline { builder, columns, .. } = &mut pipeline;
        if columns.len() != outputs.len() {
            return Err(ExecError::internal("a plan that is run again has other columns"));
        }
        for (slot, info) in columns.iter_mut().zip(outputs) {
            *slot = builder.cast_to(*slot, info.vector_type);
        }
        let columns = pipeline.columns.clone();
        let sink = Arc::new(BatchSink::new(columns.clone(), context));
        close(pipeline, Arc::clone(&sink) as Arc<dyn PipelineSink>, context, &mut stages);
        let StageList { stages, measured, .. } = stages;
        if let (true, [stage]) = (streams_run(input), &stages[..]) {
            let program = Arc::clone(&stage.program);
            kept.pipeline.get_or_init(|| KeptPipeline { program, columns });
        }
        Ok(RecursionSide { stages: StageRun::new(stages), measured, sink })
    }
}

/// Whether the rows of an operator are made of what a run is given, in one pipeline, and no
/// operator is measured.
fn streams_run(node: &PlanNode) -> bool {
    match node {
        PlanNode::CommonScan(scan) => scan.is_of_run,
        PlanNode::Filter(filter) => streams_run(&filter.input),
        PlanNode::Map(map) => streams_run(&map.input),
        _ => false,
    }
}

/// A side of a recursion that is being run, by one thread at a time.
#[derive(Debug)]
pub(crate) struct RecursionSide {
    stages: StageRun,
    measured: MeasuredSinks,
    sink: Arc<BatchSink>,
}

impl RecursionSide {
    /// Begins a run that is one pipeline.
    fn of_pipeline(
        pipeline: &KeptPipeline,
        rows: &Arc<[ResultBatch]>,
        context: &StageContext,
    ) -> Self {
        let KeptPipeline { program, columns } = pipeline;
        let sink = Arc::new(BatchSink::new(columns.clone(), context));
        let source = Arc::new(BatchSource::new(rows));
        let end = Arc::clone(&sink) as Arc<dyn PipelineSink>;
        let stage = PipelineStage::new(source, Arc::clone(program), end, context);
        Self { stages: StageRun::new(vec![stage]), measured: MeasuredSinks::default(), sink }
    }

    /// Does one vector's work; returns the rows when all is done.
    ///
    /// # Errors
    /// Those of its operators, and of the query's control.
    pub(crate) fn advance(&mut self) -> ExecResult<Option<Vec<ResultBatch>>> {
        if self.stages.advance()? {
            return Ok(None);
        }
        self.measured.note_held();
        Ok(Some(self.sink.take()))
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// As [`RecursionSide::advance`].
    pub(crate) fn run(mut self) -> ExecResult<Vec<ResultBatch>> {
        loop {
            if let Some(rows) = self.advance()? {
                return Ok(rows);
            }
        }
    }
}

/// Stages that one thread at a time runs, one after the other.
#[derive(Debug)]
pub(super) struct StageRun {
    stages: Vec<PipelineStage>,
    /// The present stage, and what is being read of it.
    at: usize,
    morsel: Option<MorselRun>,
}

impl StageRun {
    pub(super) fn new(stages: Vec<PipelineStage>) -> Self {
        Self { stages, at: 0, morsel: None }
    }

    /// Does one vector's work; returns false when all is done.
    ///
    /// # Errors
    /// Those of the stages, and of the query's control.
    pub(super) fn advance(&mut self) -> ExecResult<bool> {
        let Some(stage) = self.stages.get(self.at) else { return Ok(false) };
        stage.control.check()?;
        let run = match &mut self.morsel {
            Some(run) => run,
            none => match stage.take_morsel() {
                Some(morsel) => none.insert(MorselRun::new(stage, morsel)?),
                None => {
                    stage.sink.finish()?;
                    self.at += 1;
                    return Ok(true);
                }
            },
        };
        match run.step(stage, 0)? {
            StepOutcome::More => {}
            StepOutcome::Ended => self.morsel = None,
            StepOutcome::Blocked => {
                return Err(ExecError::internal("a plan that is run again waits for room"));
            }
        }
        Ok(true)
    }

    /// Runs all to their end.
    pub(super) fn run(mut self) -> ExecResult<()> {
        while self.advance()? {}
        Ok(())
    }
}

pub(super) fn column_info(column: &RecursionColumn) -> SlotInfo {
    SlotInfo {
        vector_type: VectorType::of_class(column.class, column.bounds),
        bounds: (column.class == ValueClass::Int).then_some(column.bounds),
        is_nullable: true,
        dictionary: None,
    }
}
