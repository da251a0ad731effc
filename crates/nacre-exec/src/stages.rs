//! Cuts a plan into stages.
//!
//! A node adds steps to the pipeline that its input ends in. One that needs all of its input ends
//! the pipeline with a sink and begins another one, whose source is what the sink has collected.
//! A join wraps the pipeline of its probe side as the source of another one; rows of its build side
//! that come out alone are one more source with the same steps and the same sink. Queries that are
//! computed once end in a sink that keeps their rows, which sources of later stages read.
//!
//! A measured operator has its rows counted by a step behind it, and its sources, steps and sinks
//! timed; what it collects is asked for its memory and files when the query reports ([`measured`]).

mod called;
mod common;
mod deferred;
mod kept;
mod measured;
mod stepped;
mod stored;
mod top;

use std::sync::{Arc, OnceLock};

use crate::counters::{OperatorReport, ScanReport};
use crate::error::{ExecError, ExecResult};
use crate::group::{
    GroupInputRows, GroupPlan, GroupSink, GroupSource, GroupingSetsSink, GroupingSetsSource,
    grouping_columns,
};
use crate::join::{
    JoinBuildSink, JoinKeySet, JoinPlan, JoinProbeSource, JoinSide, JoinTableSink, JoinTableSource,
    RemainderSource, SpilledJoinSource,
};
use crate::pipeline::{
    PipelineSink, PipelineSource, PipelineStage, ProgramBuilder, SharedSink, SlotId, SlotInfo,
    SourceRun, StageContext, StepProgram, WrappedPipeline,
};
use crate::plan::{
    AggregateNode, AppendNode, ExpandNode, FilterNode, GroupingSetsNode, JoinNode, LimitNode,
    MapNode, PhysicalPlan, PlanNode, RepeatNode, RowsNode, ScanNode, SeriesNode, WindowNode,
};
use crate::result::{ResultChannel, ResultSink};
use crate::rows::{ConstantRowSource, ExpandPlan, ExpandSource, RepeatSource, SeriesSource};
use crate::scan::{MorselScanner, PreparedScan, ScanMorsel};
use crate::sort::{LimitGate, SortOrder, SortSink, SortSource};
use crate::value::{IntBounds, ValueClass, VectorType};
use crate::vector::VectorBatch;
use crate::window::{WindowPlan, WindowSink, WindowSource};

pub(crate) use common::{RecursionPlan, RecursionSide};
use common::{StageList, StagePart, open_common, open_common_scan};
use deferred::KeptColumns;
use kept::{open_kept, open_kept_build};
use measured::{MeasuredSinks, open_measured, timed};
pub(crate) use stepped::SteppedPlan;
use stepped::{handed_on, open_stepped};
use stored::answer_stored;
use top::open_sort;

/// Deepest plan: each level takes less than a kilobyte of stack.
const DEPTH_MAX: usize = 1_000;

/// Most probes of one pipeline: each is a call in a call, of about a kilobyte of stack, and one
/// more stage if rows of its build side come out alone. With more the pipeline ends before.
const PROBES_MAX: usize = 64;

/// The pipelines of a query, in the order in which they run.
#[derive(Debug)]
pub(crate) struct QueryStages {
    pub(crate) stages: Vec<PipelineStage>,
    parts: Vec<StagePart>,
    measured: MeasuredSinks,
}

impl QueryStages {
    /// Keeps the error of a stage of a part whose errors are held; returns the stage to go on with.
    ///
    /// # Errors
    /// The error, if it is not one of values, or the stage is of no such part.
    pub(crate) fn hold_error(&self, stage: usize, error: ExecError) -> ExecResult<usize> {
        match self.parts.iter().find(|part| part.stages.contains(&stage)) {
            Some(part) if error.of_values().is_some() => {
                part.error.held().hold(error);
                Ok(part.stages.end)
            }
            _ => Err(error),
        }
    }

    /// Returns what each pipeline's operators counted.
    pub(crate) fn reports(&self) -> Vec<Vec<OperatorReport>> {
        let stages = self.stages.iter().filter(|stage| !stage.source.is_idle());
        stages.map(PipelineStage::reports).collect()
    }

    /// Returns what each scan counted.
    pub(crate) fn scan_reports(&self) -> Vec<ScanReport> {
        self.stages.iter().filter_map(|stage| stage.source.scan_report()).collect()
    }

    /// Has measured operators know what they hold and wrote so far.
    pub(crate) fn note_held(&self) {
        self.measured.note_held();
    }
}

/// A pipeline that has no sink yet.
struct OpenPipeline {
    source: Arc<dyn PipelineSource>,
    /// Sources whose rows follow: they take the same way, each as a stage of its own.
    tails: Vec<Arc<dyn PipelineSource>>,
    /// The scan that the rows come from, if there is one below joins and groups.
    scan: Option<Arc<PreparedScan>>,
    /// By slot of the source: the column of the scan that it is.
    scan_columns: Vec<Option<usize>>,
    /// Joins that the source wraps.
    probes: usize,
    builder: ProgramBuilder,
    /// Slots of the output so far.
    columns: Vec<SlotId>,
    /// A bound of the rows of the source.
    rows_max: u64,
    /// Whether joins that the source wraps, or what is below them, may raise errors.
    may_fail: bool,
    /// What a LIMIT in this pipeline lets through.
    gate: Option<Arc<LimitGate>>,
    depth: usize,
}

/// Makes the stages of a plan; the last one ends in `channel`.
///
/// # Errors
/// [`ExecError::Internal`] if the plan contradicts itself; those of blocks that scans look at.
pub(crate) fn build_stages(
    plan: &PhysicalPlan,
    context: &StageContext,
    channel: &Arc<ResultChannel>,
) -> ExecResult<QueryStages> {
    let mut stages = StageList::default();
    let pipeline = open_node(&plan.root, context, &mut stages)?;
    let sink = ResultSink::new(channel, pipeline.columns.clone(), pipeline.gate.clone());
    close(pipeline, Arc::new(sink), context, &mut stages);
    let StageList { stages, parts, measured, .. } = stages;
    Ok(QueryStages { stages, parts, measured })
}

fn close(
    pipeline: OpenPipeline,
    sink: Arc<dyn PipelineSink>,
    context: &StageContext,
    stages: &mut StageList,
) {
    let sink = stages.measured.measure(sink, context);
    let OpenPipeline { source, mut tails, builder, columns, .. } = pipeline;
    let mut program = builder.program;
    let wanted = program.note_live(&columns);
    tails.insert(0, source);
    tails.iter().for_each(|source| source.note_wanted(&wanted));
    let Some(last) = tails.pop() else { return };
    let last = PipelineStage::new(last, program.clone(), Arc::clone(&sink), context);
    for source in tails {
        let shared = Arc::new(SharedSink::new(&sink));
        let mut stage = PipelineStage::new(source, program.clone(), shared, context);
        stage.end_with(&last);
        stages.stages.push(stage);
    }
    stages.stages.push(last);
}

/// Begins a pipeline that follows another one.
fn begin(
    source: Arc<dyn PipelineSource>,
    infos: Vec<SlotInfo>,
    depth: usize,
    context: &StageContext,
) -> OpenPipeline {
    let source = handed_on(source, &infos, context);
    let mut builder = ProgramBuilder::default();
    let columns = infos.into_iter().map(|info| builder.slot(info)).collect();
    let (tails, rows_max) = (Vec::new(), u64::MAX);
    OpenPipeline {
        source,
        tails,
        scan: None,
        scan_columns: Vec::new(),
        probes: 0,
        builder,
        columns,
        rows_max,
        may_fail: false,
        gate: None,
        depth,
    }
}

/// Each arm is a call that is not inlined, so that a level of a deep plan takes no more of the
/// stack than its own operator needs.
fn open_node(
    node: &PlanNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    match node {
        PlanNode::Measured(measured) => open_measured(measured, context, stages),
        PlanNode::Scan(scan) => open_scan(scan, context, stages),
        PlanNode::Filter(filter) => open_filter(filter, context, stages),
        PlanNode::Map(map) => open_map(map, context, stages),
        PlanNode::Join(join) => open_join(join, context, stages),
        PlanNode::Aggregate(aggregate) => open_aggregate(aggregate, context, stages),
        PlanNode::GroupingSets(grouping) => open_grouping_sets(grouping, context, stages),
        PlanNode::Window(window) => open_window(window, context, stages),
        PlanNode::Sort(sort) => open_sort(sort, context, stages),
        PlanNode::Limit(limit) => open_limit(limit, context, stages),
        PlanNode::Rows(rows) => open_rows(rows, context),
        PlanNode::Series(series) => open_series(series, context),
        PlanNode::Append(append) => open_append(append, context, stages),
        PlanNode::Repeat(repeat) => open_repeat(repeat, context, stages),
        PlanNode::Expand(expand) => open_expand(expand, context, stages),
        PlanNode::Common(common) => open_common(common, context, stages),
        PlanNode::CommonScan(scan) => open_common_scan(scan, context, stages),
        PlanNode::Kept(kept) => open_kept(kept, context, stages),
        PlanNode::Stepped(stepped) => open_stepped(stepped, context, stages),
        PlanNode::Once(_) | PlanNode::Called(_) | PlanNode::Recursion(_) => {
            Err(ExecError::internal("a query that is no common one"))
        }
    }
}

#[inline(never)]
fn open_filter(
    node: &FilterNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let mut pipeline = open_input(&node.input, context, stages)?;
    let OpenPipeline { builder, columns, .. } = &mut pipeline;
    builder.filter_all(&node.graph, columns, &node.predicates)?;
    Ok(pipeline)
}

#[inline(never)]
fn open_map(
    node: &MapNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let mut pipeline = open_input(&node.input, context, stages)?;
    let OpenPipeline { builder, columns, .. } = &mut pipeline;
    *columns = builder.resolve_all(&node.graph, columns, &node.outputs)?;
    Ok(pipeline)
}

#[inline(never)]
fn open_rows(node: &RowsNode, context: &StageContext) -> ExecResult<OpenPipeline> {
    let source = ConstantRowSource::new(node)?;
    let (infos, rows_max) = (source.outputs(), node.rows as u64);
    Ok(OpenPipeline { rows_max, ..begin(Arc::new(source), infos, 0, context) })
}

#[inline(never)]
fn open_series(node: &SeriesNode, context: &StageContext) -> ExecResult<OpenPipeline> {
    let source = SeriesSource::new(node)?;
    let (infos, rows_max) = (source.outputs(), node.rows);
    Ok(OpenPipeline { rows_max, ..begin(Arc::new(source), infos, 0, context) })
}

/// Opens the input of an operator; a LIMIT ends its pipeline before anything above it.
fn open_input(
    node: &PlanNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let mut pipeline = open_node(node, context, stages)?;
    if let Some(counters) = &context.measured {
        pipeline.builder.begin_operator(counters);
    }
    pipeline.depth += 1;
    if pipeline.depth > DEPTH_MAX {
        return Err(ExecError::internal(format!("a plan is nested {DEPTH_MAX} deep")));
    }
    if pipeline.gate.is_none() {
        return Ok(pipeline);
    }
    // Without keys, sorting only collects.
    end_in_sort(pipeline, SortOrder::default(), context, stages)
}

#[inline(never)]
fn open_scan(
    scan: &ScanNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let counters = context.measured.as_ref().map(|own| Arc::clone(own.scan())).unwrap_or_default();
    let column_count = scan.snapshot.table().schema().columns.len();
    let mut used = scan.columns.iter().chain(scan.predicates.iter().map(|one| &one.column));
    if let Some(column) = used.find(|column| **column >= column_count) {
        return Err(ExecError::internal(format!("a scan wants column {column}")));
    }
    let prepared = PreparedScan::new(
        &scan.snapshot,
        &scan.columns,
        &scan.predicates,
        &context.reads,
        context.flavour,
        context.budget.reservation("scan"),
        counters,
    )?
    .with_vector_rows(context.vector_rows)
    .with_row_ids(scan.has_row_ids)
    .deferring(stages.deferred.outputs(scan))
    .sampled(scan.sample.as_ref())?;
    let (infos, columns) = (prepared.slots(), prepared.output_slots());
    let rows_max = prepared.rows_max();
    let scan_columns = (0..prepared.columns.len()).map(Some).collect();
    let prepared = Arc::new(prepared);
    stages.deferred.note_opened(scan, &prepared);
    let source = ScanSource {
        scan: Arc::clone(&prepared),
        workers: context.workers,
        dealt: OnceLock::new(),
    };
    let begun = begin(Arc::new(source), infos, 0, context);
    Ok(OpenPipeline { rows_max, scan: Some(prepared), scan_columns, columns, ..begun })
}

/// Collects the build side, makes the table, and wraps the pipeline of the probe side.
#[inline(never)]
fn open_join(
    node: &JoinNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    // They run when the table is there, whose keys the scans below them may ask for.
    let before = std::mem::take(&mut stages.stages);
    let mut probe = open_input(&node.probe, context, stages)?;
    if probe.probes == PROBES_MAX {
        probe = end_in_sort(probe, SortOrder::default(), context, stages)?;
    }
    let mut probe_stages = std::mem::replace(&mut stages.stages, before);
    let OpenBuild { sink, depth } = open_build(node, join_side(&probe), context, stages)?;
    stages.stages.append(&mut probe_stages);

    let depth = probe.depth.max(depth);
    let OpenPipeline { source, tails, scan, scan_columns, builder, columns, probes, .. } = probe;
    let may_fail = probe.may_fail || builder.program.may_fail() || !node.predicates.is_empty();
    let scan_column = |slot: SlotId| scan_columns.get(slot).copied().flatten();
    for (slot, word) in sink.plan().reducing_slots() {
        if let (true, Some(scan), Some(column)) = (context.filters_keys, &scan, scan_column(slot)) {
            scan.add_late(column, Arc::new(JoinKeySet::new(&sink, word)));
        }
    }
    let mut scan_columns: Vec<_> = columns.iter().map(|slot| scan_column(*slot)).collect();
    if !node.kind.has_probe_columns() {
        scan_columns.clear();
    }
    let mut program = builder.program;
    let wanted = program.note_live(&columns);
    let wrap = |source: Arc<dyn PipelineSource>| -> Arc<dyn PipelineSource> {
        source.note_wanted(&wanted);
        Arc::new(JoinProbeSource::new(source, program.clone(), &sink, context))
    };
    let mut tails: Vec<_> = tails.into_iter().map(wrap).collect();
    let source = wrap(source);
    let plan = sink.plan();
    if context.spill.is_some() && !node.keys.is_empty() {
        tails.push(Arc::new(SpilledJoinSource::new(&sink, context)));
    }
    if plan.ends_with_build() {
        tails.push(Arc::new(RemainderSource::new(&sink)));
    }
    let (rows_max, probes) = (plan.rows_max(), probes + 1);
    let (outputs, columns) = (plan.outputs(), plan.output_slots());
    let tails = tails.into_iter().map(|source| handed_on(source, &outputs, context)).collect();
    let begun = begin(source, outputs, depth, context);
    Ok(OpenPipeline { tails, scan, scan_columns, probes, rows_max, may_fail, columns, ..begun })
}

/// The build side of a join, whose stages are made.
struct OpenBuild {
    sink: Arc<JoinBuildSink>,
    depth: usize,
}

/// Opens the build side of a join: one that is kept, or one of its own.
fn open_build(
    node: &JoinNode,
    probe: JoinSide,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenBuild> {
    if let Some(kept) = open_kept_build(node, &probe, context, stages)? {
        return Ok(kept);
    }
    let build = open_input(&node.build, context, stages)?;
    let plan = JoinPlan::new(node, probe, join_side(&build))?;
    Ok(build_table(plan, build, context, stages))
}

/// Makes the stages that collect a build side and make its table.
fn build_table(
    plan: JoinPlan,
    build: OpenPipeline,
    context: &StageContext,
    stages: &mut StageList,
) -> OpenBuild {
    let depth = build.depth;
    let sink = Arc::new(JoinBuildSink::new(plan, context));
    close(build, Arc::clone(&sink) as Arc<dyn PipelineSink>, context, stages);
    let links = timed(Arc::new(JoinTableSource::new(&sink)), context);
    let (none, end) = (StepProgram::default(), Arc::new(JoinTableSink));
    stages.stages.push(PipelineStage::new(links, none, end, context));
    OpenBuild { sink, depth }
}

fn join_side(pipeline: &OpenPipeline) -> JoinSide {
    let (slots, infos) = (pipeline.columns.clone(), output_infos(pipeline));
    JoinSide { slots, infos, rows_max: pipeline.rows_max }
}

/// Returns types and bounds of the output so far.
fn output_infos(pipeline: &OpenPipeline) -> Vec<SlotInfo> {
    let slots = &pipeline.builder.program.slots;
    pipeline.columns.iter().map(|slot| slots[*slot].clone()).collect()
}

#[inline(never)]
fn open_aggregate(
    node: &AggregateNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let pipeline = open_input(&node.input, context, stages)?;
    let (depth, input_rows) = (pipeline.depth, pipeline.rows_max);
    let infos = output_infos(&pipeline);
    let dependents = KeptColumns::of(&node.dependents, &pipeline.columns);
    let plan = Arc::new(GroupPlan::new(
        (&node.keys, &dependents.kept),
        &node.aggregates,
        &infos,
        &pipeline.columns,
        GroupInputRows { all: input_rows, batch: context.vector_rows.batch_rows_max() },
    )?);
    let sink = Arc::new(GroupSink::new(&plan, context));
    answer_stored(node, &pipeline, &sink);
    let keys: Vec<usize> = node.keys.iter().chain(&dependents.kept).copied().collect();
    let (scan, scan_columns) = scan_of_keys(&pipeline, &keys);
    close(pipeline, Arc::clone(&sink) as Arc<dyn PipelineSink>, context, stages);
    let rows_max = if node.keys.is_empty() { 1 } else { input_rows };
    let source = Arc::new(GroupSource::new(&sink));
    let mut begun = begin(source, plan.outputs(), depth, context);
    let (first, end) = (node.keys.len(), keys.len());
    let slots = dependents.places.iter().map(|place| begun.columns[first + place]);
    let slots: Vec<SlotId> = slots.collect();
    begun.columns.splice(first..end, slots);
    Ok(OpenPipeline { rows_max, scan, scan_columns, ..begun })
}

/// Returns the scan below groups, and which of its columns the keys are: a group whose key nobody
/// wants needs no rows.
fn scan_of_keys(
    pipeline: &OpenPipeline,
    keys: &[usize],
) -> (Option<Arc<PreparedScan>>, Vec<Option<usize>>) {
    let column = |key: &usize| {
        let slot = *pipeline.columns.get(*key)?;
        pipeline.scan_columns.get(slot).copied().flatten()
    };
    // PostgreSQL computes all groups, and raises the errors of each.
    if pipeline.may_fail || pipeline.builder.program.may_fail() {
        return (None, Vec::new());
    }
    (pipeline.scan.clone(), keys.iter().map(column).collect())
}

#[inline(never)]
fn open_grouping_sets(
    node: &GroupingSetsNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let pipeline = open_input(&node.input, context, stages)?;
    let (depth, input_rows) = (pipeline.depth, pipeline.rows_max);
    let infos = output_infos(&pipeline);
    let missing = || ExecError::internal("a grouping set wants a key that is not there");
    let keys = node.keys.iter().map(|key| infos.get(*key).cloned());
    let keys = keys.collect::<Option<Vec<_>>>().ok_or_else(missing)?;
    let (mut sinks, mut columns) = (Vec::with_capacity(node.sets.len()), Vec::new());
    let rows = GroupInputRows { all: input_rows, batch: context.vector_rows.batch_rows_max() };
    for set in &node.sets {
        let own = set.iter().map(|key| node.keys.get(*key).copied());
        let own = own.collect::<Option<Vec<_>>>().ok_or_else(missing)?;
        let slots = &pipeline.columns;
        let plan = GroupPlan::new((&own, &[]), &node.aggregates, &infos, slots, rows)?;
        columns = grouping_columns(&keys, &plan, node.sets.len());
        sinks.push(Arc::new(GroupSink::new(&Arc::new(plan), context)));
    }
    if sinks.is_empty() {
        return Err(ExecError::internal("no grouping sets"));
    }
    let source = Arc::new(GroupingSetsSource::new(&sinks, &node.sets, &columns, keys.len()));
    close(pipeline, Arc::new(GroupingSetsSink::new(sinks)), context, stages);
    let rows_max = input_rows.saturating_add(1).saturating_mul(node.sets.len() as u64);
    Ok(OpenPipeline { rows_max, ..begin(source, columns, depth, context) })
}

#[inline(never)]
fn open_window(
    node: &WindowNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let pipeline = open_input(&node.input, context, stages)?;
    let (depth, rows_max) = (pipeline.depth, pipeline.rows_max);
    let plan = WindowPlan::new(node, output_infos(&pipeline), rows_max)?;
    let outputs = plan.outputs();
    let sink = Arc::new(WindowSink::new(plan, pipeline.columns.clone(), context));
    close(pipeline, Arc::clone(&sink) as Arc<dyn PipelineSink>, context, stages);
    let source = Arc::new(WindowSource::new(&sink, context));
    Ok(OpenPipeline { rows_max, ..begin(source, outputs, depth, context) })
}

fn end_in_sort(
    pipeline: OpenPipeline,
    order: SortOrder,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let depth = pipeline.depth;
    let infos = output_infos(&pipeline);
    if let Some(key) = order.keys.iter().find(|key| key.column >= infos.len()) {
        return Err(ExecError::internal(format!("a sort wants column {}", key.column)));
    }
    let rows_max = pipeline.rows_max.min(order.rows_max.unwrap_or(u64::MAX));
    let (slots, gate) = (pipeline.columns.clone(), pipeline.gate.clone());
    let sink = Arc::new(SortSink::new(order, slots, &infos, gate, context));
    close(pipeline, Arc::clone(&sink) as Arc<dyn PipelineSink>, context, stages);
    let source = Arc::new(SortSource::new(&sink));
    Ok(OpenPipeline { rows_max, ..begin(source, infos, depth, context) })
}

#[inline(never)]
fn open_limit(
    node: &LimitNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let mut pipeline = open_input(&node.input, context, stages)?;
    pipeline.gate = Some(Arc::new(LimitGate::new(node, context.measured.clone())));
    pipeline.rows_max = pipeline.rows_max.min(node.rows_max.unwrap_or(u64::MAX));
    Ok(pipeline)
}

/// Wraps the pipelines of all inputs, so that they hand on columns of the same types, and has them
/// follow each other.
#[inline(never)]
fn open_append(
    node: &AppendNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let mut inputs = Vec::with_capacity(node.inputs.len());
    for input in &node.inputs {
        inputs.push(open_input(input, context, stages)?);
    }
    let infos: Vec<_> = inputs.iter().map(output_infos).collect();
    let unified = unified_infos(&infos)?;
    let (mut sources, mut depth, mut probes, mut rows_max) = (Vec::new(), 0, 0, 0_u64);
    for mut pipeline in inputs {
        depth = depth.max(pipeline.depth);
        rows_max = rows_max.saturating_add(pipeline.rows_max);
        if pipeline.probes == PROBES_MAX {
            pipeline = end_in_sort(pipeline, SortOrder::default(), context, stages)?;
        }
        probes = probes.max(pipeline.probes + 1);
        let OpenPipeline { builder, columns, .. } = &mut pipeline;
        for (slot, info) in columns.iter_mut().zip(&unified) {
            *slot = builder.cast_to(*slot, info.vector_type);
        }
        sources.extend(wrap(pipeline, "append", context));
    }
    let mut sources = sources.into_iter();
    let first = sources.next().ok_or_else(|| ExecError::internal("an append of nothing"))?;
    let tails = sources.map(|source| handed_on(source, &unified, context)).collect();
    let begun = begin(first, unified, depth, context);
    Ok(OpenPipeline { tails, probes, rows_max, ..begun })
}

/// Makes sources of a pipeline, which hand on its columns.
fn wrap(
    pipeline: OpenPipeline,
    name: &'static str,
    context: &StageContext,
) -> Vec<Arc<dyn PipelineSource>> {
    let OpenPipeline { source, tails, builder, columns, .. } = pipeline;
    let mut program = builder.program;
    let wanted = program.note_live(&columns);
    let wrap = |source: Arc<dyn PipelineSource>| -> Arc<dyn PipelineSource> {
        source.note_wanted(&wanted);
        let (program, columns) = (program.clone(), columns.clone());
        Arc::new(WrappedPipeline::new(name, source, program, columns, context))
    };
    std::iter::once(source).chain(tails).map(wrap).collect()
}

/// Returns types and bounds that hold the values of all inputs.
fn unified_infos(inputs: &[Vec<SlotInfo>]) -> ExecResult<Vec<SlotInfo>> {
    let Some((first, others)) = inputs.split_first() else { return Ok(Vec::new()) };
    let mut unified = first.clone();
    for infos in others {
        if infos.len() != unified.len() {
            return Err(ExecError::internal("inputs of an append have different columns"));
        }
        for (own, other) in unified.iter_mut().zip(infos) {
            if own.vector_type.class() != other.vector_type.class() {
                return Err(ExecError::internal("inputs of an append have different classes"));
            }
            let is_same = match (&own.dictionary, &other.dictionary) {
                (Some(own), Some(other)) => Arc::ptr_eq(own, other),
                (None, None) => own.vector_type != VectorType::Code,
                _ => false,
            };
            if own.vector_type.class() == ValueClass::Bytes && !is_same {
                (own.vector_type, own.dictionary) = (VectorType::Bytes, None);
            }
            if let VectorType::Int(_) = own.vector_type {
                let bounds = |info: &SlotInfo| info.bounds.unwrap_or(IntBounds::I128);
                let bounds = bounds(own).union(bounds(other));
                (own.vector_type, own.bounds) = (VectorType::Int(bounds.width()), Some(bounds));
            }
            own.is_nullable |= other.is_nullable;
        }
    }
    Ok(unified)
}

/// Opens the input of an operator that puts a source of its own around each source of its rows.
fn open_wrapped(
    input: &PlanNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let pipeline = open_input(input, context, stages)?;
    if pipeline.probes == PROBES_MAX {
        return end_in_sort(pipeline, SortOrder::default(), context, stages);
    }
    Ok(pipeline)
}

/// Puts what `around` makes around each source of a pipeline; its rows have `outputs`.
fn wrap_each(
    pipeline: OpenPipeline,
    name: &'static str,
    context: &StageContext,
    outputs: Vec<SlotInfo>,
    around: impl Fn(Arc<dyn PipelineSource>) -> Arc<dyn PipelineSource>,
) -> ExecResult<OpenPipeline> {
    let (depth, probes) = (pipeline.depth, pipeline.probes + 1);
    let mut sources = wrap(pipeline, name, context).into_iter().map(around);
    let first = sources.next().ok_or_else(|| ExecError::internal("a pipeline without source"))?;
    let tails = sources.map(|source| handed_on(source, &outputs, context)).collect();
    Ok(OpenPipeline { tails, probes, ..begin(first, outputs, depth, context) })
}

#[inline(never)]
fn open_repeat(
    node: &RepeatNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let pipeline = open_wrapped(&node.input, context, stages)?;
    let infos = output_infos(&pipeline);
    let is_count = |info: &SlotInfo| matches!(info.vector_type, VectorType::Int(_));
    if !infos.get(node.count).is_some_and(is_count) {
        return Err(ExecError::internal(format!("rows are repeated by column {}", node.count)));
    }
    let shared: Arc<[SlotInfo]> = infos.clone().into();
    wrap_each(pipeline, "rows to repeat", context, infos, |source| {
        Arc::new(RepeatSource::new(source, &shared, node.count))
    })
}

#[inline(never)]
fn open_expand(
    node: &ExpandNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let pipeline = open_wrapped(&node.input, context, stages)?;
    let plan = Arc::new(ExpandPlan::new(node, output_infos(&pipeline)));
    let begun = wrap_each(pipeline, "rows to expand", context, plan.outputs(), |source| {
        Arc::new(ExpandSource::new(source, &plan))
    })?;
    Ok(OpenPipeline { may_fail: true, ..begun })
}

/// The morsels of a scan.
#[derive(Debug)]
struct ScanSource {
    scan: Arc<PreparedScan>,
    workers: usize,
    /// When all that is above the scan is known.
    dealt: OnceLock<Vec<ScanMorsel>>,
}

impl ScanSource {
    fn morsels(&self) -> &[ScanMorsel] {
        self.dealt.get_or_init(|| self.scan.morsels(self.workers))
    }
}

#[derive(Debug)]
struct ScanRun {
    scan: Arc<PreparedScan>,
    scanner: MorselScanner,
}

impl PipelineSource for ScanSource {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn morsel_count(&self) -> usize {
        self.morsels().len()
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let scanner = MorselScanner::new(&self.scan, &self.morsels()[morsel]);
        Ok(Box::new(ScanRun { scan: Arc::clone(&self.scan), scanner }))
    }

    fn scan_report(&self) -> Option<ScanReport> {
        Some(self.scan.counters.report())
    }
}

impl SourceRun for ScanRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        self.scanner.next(&self.scan, batch)
    }
}
