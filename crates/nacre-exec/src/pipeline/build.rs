//! Cuts a plan into stages.
//!
//! A node adds steps to the pipeline that its input ends in. One that needs all of its input ends
//! the pipeline with a sink and begins another one, whose source is what the sink has collected.

use std::sync::Arc;

use super::program::{SlotId, SlotInfo};
use super::resolve::ProgramBuilder;
use super::sink::PipelineSink;
use super::stage::{PipelineSource, PipelineStage, SourceRun, StageContext};
use crate::counters::{OperatorReport, ScanReport};
use crate::dispatch::{ResultChannel, ResultSink};
use crate::error::{ExecError, ExecResult};
use crate::group::{GroupPlan, GroupSink, GroupSource};
use crate::plan::{AggregateNode, LimitNode, PhysicalPlan, PlanNode, ScanNode, SortKey, SortNode};
use crate::scan::{MorselScanner, PreparedScan, ScanColumn, ScanMorsel};
use crate::sort::{LimitGate, SortColumn, SortSink, SortSource};
use crate::vector::VectorBatch;

/// Deepest plan: each level takes less than a kilobyte of stack.
const DEPTH_MAX: usize = 1_000;

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
    let OpenPipeline { source, builder, columns, .. } = pipeline;
    let mut program = builder.program;
    program.note_live(&columns);
    stages.push(PipelineStage::new(source, program, sink, context.flavour));
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
        PlanNode::Join(_) => Err(ExecError::internal("joins")),
        PlanNode::Aggregate(aggregate) => open_aggregate(aggregate, context, stages),
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

fn source_slots(builder: &mut ProgramBuilder, infos: Vec<SlotInfo>) -> Vec<SlotId> {
    infos.into_iter().map(|info| builder.slot(info)).collect()
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
    let mut builder = ProgramBuilder::default();
    let columns = source_slots(&mut builder, prepared.columns.iter().map(info).collect());
    let rows_max = prepared.rows_max();
    let morsels = prepared.morsels(context.workers);
    let source = Arc::new(ScanSource { scan: Arc::new(prepared), morsels });
    Ok(OpenPipeline { source, builder, columns, rows_max, gate: None, depth: 0 })
}

fn open_aggregate(
    node: &AggregateNode,
    context: &StageContext,
    stages: &mut Vec<PipelineStage>,
) -> ExecResult<OpenPipeline> {
    let pipeline = open_input(&node.input, context, stages)?;
    let (depth, input_rows) = (pipeline.depth, pipeline.rows_max);
    let slots = &pipeline.builder.program.slots;
    let infos: Vec<SlotInfo> = pipeline.columns.iter().map(|slot| slots[*slot].clone()).collect();
    let plan = Arc::new(GroupPlan::new(node, &infos, &pipeline.columns, input_rows)?);
    let sink = Arc::new(GroupSink::new(&plan, context));
    close(pipeline, Arc::clone(&sink) as Arc<dyn PipelineSink>, context, stages);
    let mut builder = ProgramBuilder::default();
    let columns = source_slots(&mut builder, plan.outputs());
    let rows_max = if node.keys.is_empty() { 1 } else { input_rows };
    let source = Arc::new(GroupSource::new(&sink));
    Ok(OpenPipeline { source, builder, columns, rows_max, gate: None, depth })
}

fn open_sort(
    node: &SortNode,
    context: &StageContext,
    stages: &mut Vec<PipelineStage>,
) -> ExecResult<OpenPipeline> {
    let pipeline = open_input(&node.input, context, stages)?;
    end_in_sort(pipeline, &node.keys, node.rows_max, context, stages)
}

fn end_in_sort(
    pipeline: OpenPipeline,
    keys: &[SortKey],
    wanted_max: Option<u64>,
    context: &StageContext,
    stages: &mut Vec<PipelineStage>,
) -> ExecResult<OpenPipeline> {
    let depth = pipeline.depth;
    let slots = &pipeline.builder.program.slots;
    let infos: Vec<SlotInfo> = pipeline.columns.iter().map(|slot| slots[*slot].clone()).collect();
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
    let mut builder = ProgramBuilder::default();
    let columns = source_slots(&mut builder, infos);
    let source = Arc::new(SortSource::new(&sink));
    Ok(OpenPipeline { source, builder, columns, rows_max, gate: None, depth })
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
