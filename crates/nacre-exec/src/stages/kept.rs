//! Parts of a plan that is run more than once, which all runs share.
//!
//! 1. The first run that opens a part makes its stages, and others find them.
//! 2. A run that comes to a part goes on with its stages, a vector at a time, until all have ended.
//!    Several runs take turns. So an error is raised where its rows are wanted, and by no run that
//!    does not come so far.
//! 3. The rows are kept, or the table of the join that they are the build side of; both count
//!    against the memory of the query, and go to files if there is not enough.
//!
//! 4. A run that is one pipeline, from what the run is given to its end, has that one's steps.
//!
//! # Invariants
//! 1. Parts live as long as what runs the plan: one execution of the statement.
//! 2. What has failed stays so: an error that is not one of values ends the query.
//!
//! # Concurrency
//! The lock of [`KeptWork`] is held for a vector's work, and that of [`KeptParts`] while a part is
//! opened. Rows and tables are read when the work has ended, which its lock publishes.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::common::{StageList, StageRun};
use super::measured::MeasuredSinks;
use super::{
    OpenBuild, OpenPipeline, begin, build_table, close, join_side, open_input, open_node,
    output_infos,
};
use crate::error::{ExecError, ExecResult};
use crate::join::{JoinBuildSink, JoinPlan, JoinSide, JoinTableSink};
use crate::pipeline::{
    PipelineSink, PipelineSource, PipelineStage, SlotId, SlotInfo, SourceRun, StageContext,
    StepProgram,
};
use crate::plan::{JoinNode, KeptNode, PlanNode};
use crate::rows::{CollectedRun, CollectingSink};
use crate::value::HeldError;
use crate::vector::VectorBatch;

/// What the runs of a plan share.
#[derive(Debug, Default)]
pub(super) struct KeptParts {
    /// By their numbers.
    parts: Mutex<Vec<Option<KeptPart>>>,
    /// The only pipeline of a run, if there is no other and it reads what a run is given.
    pub(super) pipeline: OnceLock<KeptPipeline>,
}

/// A pipeline that another source and sink are put to in each run.
#[derive(Debug)]
pub(super) struct KeptPipeline {
    pub(super) program: Arc<StepProgram>,
    /// The slots of its outputs.
    pub(super) columns: Vec<SlotId>,
}

#[derive(Clone, Debug)]
enum KeptPart {
    Rows(KeptPartRows),
    Table(KeptTable),
}

/// Rows that are read more than once.
#[derive(Clone, Debug)]
struct KeptPartRows {
    work: Arc<KeptWork>,
    sink: Arc<CollectingSink>,
    infos: Vec<SlotInfo>,
    rows_max: u64,
    may_fail: bool,
    depth: usize,
}

/// A build side whose table is asked more than once.
#[derive(Clone, Debug)]
struct KeptTable {
    work: Arc<KeptWork>,
    sink: Arc<JoinBuildSink>,
    depth: usize,
}

/// Stages that runs work off together.
#[derive(Debug)]
struct KeptWork(Mutex<KeptState>);

#[derive(Debug)]
enum KeptState {
    Running(StageRun, MeasuredSinks),
    Ended,
    Failed(HeldError),
}

impl KeptParts {
    fn lock(&self) -> MutexGuard<'_, Vec<Option<KeptPart>>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a part, which is opened if it is not yet.
    fn part(
        &self,
        number: usize,
        open: impl FnOnce() -> ExecResult<KeptPart>,
    ) -> ExecResult<KeptPart> {
        let mut parts = self.lock();
        if parts.len() <= number {
            parts.resize(number + 1, None);
        }
        match &parts[number] {
            Some(part) => Ok(part.clone()),
            None => Ok(parts[number].insert(open()?).clone()),
        }
    }
}

impl KeptWork {
    fn new(list: StageList) -> Arc<Self> {
        let StageList { stages, measured, .. } = list;
        Arc::new(Self(Mutex::new(KeptState::Running(StageRun::new(stages), measured))))
    }

    fn lock(&self) -> MutexGuard<'_, KeptState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_ended(&self) -> bool {
        matches!(*self.lock(), KeptState::Ended)
    }

    /// Does one vector's work; false when all is done.
    ///
    /// # Errors
    /// Those of the stages, for each run; [`ExecError::Canceled`] if one has ended the query.
    fn advance(&self) -> ExecResult<bool> {
        let mut state = self.lock();
        let (run, measured) = match &mut *state {
            KeptState::Running(run, measured) => (run, measured),
            KeptState::Ended => return Ok(false),
            KeptState::Failed(error) => {
                error.raise()?;
                return Err(ExecError::Canceled);
            }
        };
        match run.advance() {
            Ok(true) => Ok(true),
            Ok(false) => {
                measured.note_held();
                *state = KeptState::Ended;
                Ok(false)
            }
            Err(error) => {
                let held = HeldError::default();
                if let Some(same) = error.of_values() {
                    held.hold(same);
                }
                *state = KeptState::Failed(held);
                Err(error)
            }
        }
    }
}

/// Returns a list for the stages of a part, which reads the same common queries.
fn own_list(stages: &StageList) -> StageList {
    StageList { common: stages.common.clone(), ..StageList::default() }
}

/// Opens what reads a part; outside of plans that are run more than once it is as any other.
#[inline(never)]
pub(super) fn open_kept(
    node: &KeptNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let Some(parts) = stages.kept.clone() else { return open_node(&node.input, context, stages) };
    let part = parts.part(node.part, || {
        let context = StageContext { measured: None, ..context.clone() };
        let mut list = own_list(stages);
        let pipeline = open_input(&node.input, &context, &mut list)?;
        let infos = output_infos(&pipeline);
        let (rows_max, depth) = (pipeline.rows_max, pipeline.depth);
        let may_fail = pipeline.may_fail || pipeline.builder.program.may_fail();
        let sink = Arc::new(CollectingSink::new(pipeline.columns.clone(), &infos, &context));
        close(pipeline, Arc::clone(&sink) as Arc<dyn PipelineSink>, &context, &mut list);
        let work = KeptWork::new(list);
        Ok(KeptPart::Rows(KeptPartRows { work, sink, infos, rows_max, may_fail, depth }))
    })?;
    let KeptPart::Rows(rows) = part else {
        return Err(ExecError::internal("a part that is kept as a table is read"));
    };
    let KeptPartRows { infos, rows_max, may_fail, depth, .. } = rows.clone();
    let begun = begin(Arc::new(KeptRowsSource { rows }), infos, depth, context);
    Ok(OpenPipeline { rows_max, may_fail, ..begun })
}

/// Opens the build side of a join whose table is kept; `None` if that is not.
pub(super) fn open_kept_build(
    node: &JoinNode,
    probe: &JoinSide,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<Option<OpenBuild>> {
    let (Some(parts), PlanNode::Kept(kept)) = (stages.kept.clone(), &node.build) else {
        return Ok(None);
    };
    if !node.kind.keeps_table() {
        // Its rows are.
        return Ok(None);
    }
    let part = parts.part(kept.part, || {
        let mut list = own_list(stages);
        let build = open_input(&kept.input, context, &mut list)?;
        let plan = JoinPlan::new(node, probe.clone(), join_side(&build))?;
        if plan.ends_with_build() {
            return Err(ExecError::internal("a table that notes partners is kept"));
        }
        let OpenBuild { sink, depth } = build_table(plan.shared(), build, context, &mut list);
        Ok(KeptPart::Table(KeptTable { work: KeptWork::new(list), sink, depth }))
    })?;
    let KeptPart::Table(KeptTable { work, sink, depth }) = part else {
        return Err(ExecError::internal("a part that is kept as rows is a build side"));
    };
    let Some(sink) = JoinBuildSink::sharing(&sink, node, probe.clone(), context)? else {
        // Hot rows have since got greater bounds, and keys other words.
        let build = open_input(&kept.input, context, stages)?;
        let plan = JoinPlan::new(node, probe.clone(), join_side(&build))?;
        return Ok(Some(build_table(plan, build, context, stages)));
    };
    if !work.has_ended() {
        let (source, none) = (Arc::new(KeptWorkSource { work }), StepProgram::default());
        stages.stages.push(PipelineStage::new(source, none, Arc::new(JoinTableSink), context));
    }
    Ok(Some(OpenBuild { sink: Arc::new(sink), depth }))
}

/// Does the work of a part; there are no rows.
#[derive(Debug)]
struct KeptWorkSource {
    work: Arc<KeptWork>,
}

#[derive(Debug)]
struct KeptWorkRun {
    work: Arc<KeptWork>,
}

impl PipelineSource for KeptWorkSource {
    fn name(&self) -> &'static str {
        "kept table"
    }

    fn morsel_count(&self) -> usize {
        1
    }

    fn open(&self, _morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        Ok(Box::new(KeptWorkRun { work: Arc::clone(&self.work) }))
    }
}

impl SourceRun for KeptWorkRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        self.work.advance()
    }
}

/// Does the work of a part, then hands on its rows.
#[derive(Debug)]
struct KeptRowsSource {
    rows: KeptPartRows,
}

#[derive(Debug)]
struct KeptRowsRun {
    work: Arc<KeptWork>,
    sink: Arc<CollectingSink>,
    /// `None` before the work has ended.
    rows: Option<CollectedRun>,
}

impl PipelineSource for KeptRowsSource {
    fn name(&self) -> &'static str {
        "kept rows"
    }

    fn morsel_count(&self) -> usize {
        1
    }

    fn open(&self, _morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let KeptPartRows { work, sink, .. } = &self.rows;
        let (work, sink) = (Arc::clone(work), Arc::clone(sink));
        Ok(Box::new(KeptRowsRun { work, sink, rows: None }))
    }
}

impl SourceRun for KeptRowsRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        let rows = match &mut self.rows {
            Some(rows) => rows,
            none => {
                (batch.rows, batch.selection) = (0, None);
                if self.work.advance()? {
                    return Ok(true);
                }
                none.insert(CollectedRun::of_all(&self.sink))
            }
        };
        rows.next(batch)
    }
}
