//! Cuts a plan into stages.
//!
//! A node adds steps to the pipeline that its input ends in. One that needs all of its input ends
//! the pipeline with a sink and begins another one, whose source is what the sink has collected.
//! A join wraps the pipeline of its probe side as the source of another one; if it pads rows of its
//! build side, these come as one more source with the same steps and the same sink.

use std::sync::Arc;

use crate::counters::{OperatorReport, ScanReport};
use crate::error::{ExecError, ExecResult};
use crate::group::{GroupPlan, GroupSink, GroupSource};
use crate::join::{
    JoinBuildSink, JoinKeySet, JoinPlan, JoinProbeSource, JoinSide, JoinTableSink, JoinTableSource,
    UnmatchedRowSource,
};
use crate::pipeline::{
    PipelineSink, PipelineSource, PipelineStage, ProgramBuilder, SharedSink, SlotId, SlotInfo,
    SourceRun, StageContext, StepProgram,
};
use crate::plan::{
    AggregateNode, JoinNode, LimitNode, PhysicalPlan, PlanNode, ScanNode, SortKey, SortNode,
    WindowNode,
};
use crate::result::{ResultChannel, ResultSink};
use crate::scan::{MorselScanner, PreparedScan, ScanColumn, ScanMorsel};
use crate::sort::{LimitGate, SortColumn, SortSink, SortSource};
use crate::vector::VectorBatch;
use crate::window::{WindowPlan, WindowSink, WindowSource};

/// Deepest plan: each level takes less than a kilobyte of stack.
const DEPTH_MAX: usize = 1_000;

/// Most probes of one pipeline: each is a call in a call, of about a kilobyte of stack, and one
/// more stage if it pads rows of its build side. With more the pipeline ends before.
const PROBES_MAX: usize = 64;

/// The pipelines of a query, in the order in which they run.
#[derive(Debug)]
pub(crate) struct QueryStages {
    pub(crate) stages: Vec<PipelineStage>,
}

impl QueryStages {
    /// Returns what each pipeline's operators counted.
    pub(crate) fn reports(&self) -> Vec<Vec<OperatorReport>> {
        self.stages.iter().map(PipelineStage::reports).collect()
    }

    /// Returns what each scan counted.
    pub(crate) fn scan_reports(&self) -> Vec<ScanReport> {
        self.stages.iter().filter_map(|stage| stage.source.scan_report()).collect()
    }
}

/// A pipeline that has no sink yet.
struct OpenPipeline {
    source: Arc<dyn PipelineSource>,
    /// Sources whose rows follow: they take the same way, each as a stage of its own.
    tails: Vec<Arc<dyn PipelineSource>>,
    /// The scan that the rows come from, if there is one below joins.
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
    let mut stages = Vec::new();
    let pipeline = open_node(&plan.root, context, &mut stages)?;
    let sink = ResultSink::new(channel, pipeline.columns.clone(), pipeline.gate.clone());
    close(pipeline, Arc::new(sink), context, &mut stages);
    Ok(QueryStages { stages })
}

fn close(
    pipeline: OpenPipeline,
    sink: Arc<dyn PipelineSink>,
    context: &StageContext,
    stages: &mut Vec<PipelineStage>,
) {
    let OpenPipeline { source, mut tails, builder, columns, .. } = pipeline;
    let mut program = builder.program;
    let wanted = program.note_live(&columns);
    tails.insert(0, source);
    tails.iter().for_each(|source| source.note_wanted(&wanted));
    let last = tails.pop();
    for source in tails {
        let shared = Arc::new(SharedSink::new(&sink));
        stages.push(PipelineStage::new(source, program.clone(), shared, context.flavour));
    }
    let stage = |source| PipelineStage::new(source, program, sink, context.flavour);
    stages.extend(last.map(stage));
}

/// Begins a pipeline that follows another one.
fn begin(source: Arc<dyn PipelineSource>, infos: Vec<SlotInfo>, depth: usize) -> OpenPipeline {
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
        gate: None,
        depth,
    }
}

fn open_node(
    node: &PlanNode,
    context: &StageContext,
    stages: &mut Vec<PipelineStage>,
) -> ExecResult<OpenPipeline> {
    match node {
        PlanNode::Scan(scan) => open_scan(scan, context),
        PlanNode::Filter(filter) => {
            let mut pipeline = open_input(&filter.input, context, stages)?;
            let OpenPipeline { builder, columns, .. } = &mut pipeline;
            builder.filter_all(&filter.graph, columns, &filter.predicates)?;
            Ok(pipeline)
        }
        PlanNode::Map(map) => {
            let mut pipeline = open_input(&map.input, context, stages)?;
            let OpenPipeline { builder, columns, .. } = &mut pipeline;
            *columns = builder.resolve_all(&map.graph, columns, &map.outputs)?;
            Ok(pipeline)
        }
        PlanNode::Join(join) => open_join(join, context, stages),
        PlanNode::Aggregate(aggregate) => open_aggregate(aggregate, context, stages),
        PlanNode::Window(window) => open_window(window, context, stages),
        PlanNode::Sort(sort) => open_sort(sort, context, stages),
        PlanNode::Limit(limit) => open_limit(limit, context, stages),
    }
}

/// Opens the input of an operator; a LIMIT ends its pipeline before anything above it.
fn open_input(
    node: &PlanNode,
    context: &StageContext,
    stages: &mut Vec<PipelineStage>,
) -> ExecResult<OpenPipeline> {
    let mut pipeline = open_node(node, context, stages)?;
    pipeline.depth += 1;
    if pipeline.depth > DEPTH_MAX {
        return Err(ExecError::internal(format!("a plan is nested {DEPTH_MAX} deep")));
    }
    if pipeline.gate.is_none() {
        return Ok(pipeline);
    }
    // Without keys, sorting only collects.
    end_in_sort(pipeline, &[], None, context, stages)
}

fn open_scan(scan: &ScanNode, context: &StageContext) -> ExecResult<OpenPipeline> {
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
    )?;
    let info = |column: &ScanColumn| SlotInfo {
        vector_type: column.vector_type,
        bounds: column.bounds,
        is_nullable: column.is_nullable,
        dictionary: column.dictionary.clone(),
    };
    let infos = prepared.columns.iter().map(info).collect();
    let rows_max = prepared.rows_max();
    let morsels = prepared.morsels(context.workers);
    let scan_columns = (0..prepared.columns.len()).map(Some).collect();
    let scan = Arc::new(prepared);
    let source = Arc::new(ScanSource { scan: Arc::clone(&scan), morsels });
    Ok(OpenPipeline { rows_max, scan: Some(scan), scan_columns, ..begin(source, infos, 0) })
}

/// Collects the build side, makes the table, and wraps the pipeline of the probe side.
fn open_join(
    node: &JoinNode,
    context: &StageContext,
    stages: &mut Vec<PipelineStage>,
) -> ExecResult<OpenPipeline> {
    let build = open_input(&node.build, context, stages)?;
    let mut probe = open_input(&node.probe, context, stages)?;
    if probe.probes == PROBES_MAX {
        probe = end_in_sort(probe, &[], None, context, stages)?;
    }
    let plan = JoinPlan::new(node, join_side(&probe), join_side(&build))?;
    let depth = probe.depth.max(build.depth);
    let sink = Arc::new(JoinBuildSink::new(plan, context));
    close(build, Arc::clone(&sink) as Arc<dyn PipelineSink>, context, stages);
    let links = Arc::new(JoinTableSource::new(&sink));
    let (none, end) = (StepProgram::default(), Arc::new(JoinTableSink));
    stages.push(PipelineStage::new(links, none, end, context.flavour));

    let OpenPipeline { source, tails, scan, scan_columns, builder, columns, probes, .. } = probe;
    let scan_column = |slot: SlotId| scan_columns.get(slot).copied().flatten();
    if let (Some(scan), Some(column)) = (&scan, sink.plan().reducing_slot().and_then(scan_column)) {
        scan.add_late(column, Arc::new(JoinKeySet::new(&sink)));
    }
    let scan_columns = columns.iter().map(|slot| scan_column(*slot)).collect();
    let mut program = builder.program;
    let wanted = program.note_live(&columns);
    let wrap = |source: Arc<dyn PipelineSource>| -> Arc<dyn PipelineSource> {
        source.note_wanted(&wanted);
        Arc::new(JoinProbeSource::new(source, program.clone(), &sink, context.flavour))
    };
    let mut tails: Vec<_> = tails.into_iter().map(wrap).collect();
    let source = wrap(source);
    let plan = sink.plan();
    if plan.pads_build() {
        tails.push(Arc::new(UnmatchedRowSource::new(&sink)));
    }
    let (rows_max, probes) = (plan.rows_max(), probes + 1);
    let begun = begin(source, plan.outputs(), depth);
    Ok(OpenPipeline { tails, scan, scan_columns, probes, rows_max, ..begun })
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

fn open_aggregate(
    node: &AggregateNode,
    context: &StageContext,
    stages: &mut Vec<PipelineStage>,
) -> ExecResult<OpenPipeline> {
    let pipeline = open_input(&node.input, context, stages)?;
    let (depth, input_rows) = (pipeline.depth, pipeline.rows_max);
    let infos = output_infos(&pipeline);
    let plan = Arc::new(GroupPlan::new(node, &infos, &pipeline.columns, input_rows)?);
    let sink = Arc::new(GroupSink::new(&plan, context));
    close(pipeline, Arc::clone(&sink) as Arc<dyn PipelineSink>, context, stages);
    let rows_max = if node.keys.is_empty() { 1 } else { input_rows };
    let source = Arc::new(GroupSource::new(&sink));
    Ok(OpenPipeline { rows_max, ..begin(source, plan.outputs(), depth) })
}

fn open_sort(
    node: &SortNode,
    context: &StageContext,
    stages: &mut Vec<PipelineStage>,
) -> ExecResult<OpenPipeline> {
    let pipeline = open_input(&node.input, context, stages)?;
    end_in_sort(pipeline, &node.keys, node.rows_max, context, stages)
}

fn open_window(
    node: &WindowNode,
    context: &StageContext,
    stages: &mut Vec<PipelineStage>,
) -> ExecResult<OpenPipeline> {
    let pipeline = open_input(&node.input, context, stages)?;
    let (depth, rows_max) = (pipeline.depth, pipeline.rows_max);
    let plan = WindowPlan::new(node, output_infos(&pipeline), rows_max)?;
    let outputs = plan.outputs();
    let sink = Arc::new(WindowSink::new(plan, pipeline.columns.clone(), context));
    close(pipeline, Arc::clone(&sink) as Arc<dyn PipelineSink>, context, stages);
    let source = Arc::new(WindowSource::new(&sink, context));
    Ok(OpenPipeline { rows_max, ..begin(source, outputs, depth) })
}

fn end_in_sort(
    pipeline: OpenPipeline,
    keys: &[SortKey],
    wanted_max: Option<u64>,
    context: &StageContext,
    stages: &mut Vec<PipelineStage>,
) -> ExecResult<OpenPipeline> {
    let depth = pipeline.depth;
    let infos = output_infos(&pipeline);
    if let Some(key) = keys.iter().find(|key| key.column >= infos.len()) {
        return Err(ExecError::internal(format!("a sort wants column {}", key.column)));
    }
    let rows_max = pipeline.rows_max.min(wanted_max.unwrap_or(u64::MAX));
    let keys = keys
        .iter()
        .map(|key| SortColumn { key: *key, is_nullable: infos[key.column].is_nullable })
        .collect();
    let slots = pipeline.columns.clone();
    let sink = Arc::new(SortSink::new(keys, wanted_max, slots, pipeline.gate.clone(), context));
    close(pipeline, Arc::clone(&sink) as Arc<dyn PipelineSink>, context, stages);
    let source = Arc::new(SortSource::new(&sink));
    Ok(OpenPipeline { rows_max, ..begin(source, infos, depth) })
}

fn open_limit(
    node: &LimitNode,
    context: &StageContext,
    stages: &mut Vec<PipelineStage>,
) -> ExecResult<OpenPipeline> {
    let mut pipeline = open_input(&node.input, context, stages)?;
    pipeline.gate = Some(Arc::new(LimitGate::new(node.offset, node.rows_max)));
    pipeline.rows_max = pipeline.rows_max.min(node.rows_max.unwrap_or(u64::MAX));
    Ok(pipeline)
}

/// The morsels of a scan.
#[derive(Debug)]
struct ScanSource {
    scan: Arc<PreparedScan>,
    morsels: Vec<ScanMorsel>,
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
        self.morsels.len()
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let scanner = MorselScanner::new(&self.scan, &self.morsels[morsel]);
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
