//! A pipeline that is ready to run: its morsels, handed out one by one.

use std::fmt;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nacre_simd::Flavour;

use super::program::{SlotId, StepProgram};
use super::sink::PipelineSink;
use crate::control::QueryControl;
use crate::counters::{NodeCounters, OperatorCounters, OperatorReport, ScanReport};
use crate::error::ExecResult;
use crate::memory::MemoryBudget;
use crate::scan::BlockReads;
use crate::spill::QuerySpill;
use crate::vector::{VectorBatch, VectorRows};

/// What the stages of a query are made with.
#[derive(Clone, Debug)]
pub(crate) struct StageContext {
    pub(crate) workers: usize,
    pub(crate) flavour: Flavour,
    pub(crate) budget: Arc<MemoryBudget>,
    pub(crate) reads: Arc<BlockReads>,
    /// What long loops look at.
    pub(crate) control: Arc<QueryControl>,
    /// Whether scans leave out rows whose keys no join above wants, or that come too late for a
    /// top-k.
    pub(crate) filters_keys: bool,
    /// Rows that scans read at once.
    pub(crate) vector_rows: VectorRows,
    /// If operators may write temporary files.
    pub(crate) spill: Option<Arc<QuerySpill>>,
    /// Whether sources hand on one row at a time, so that an error comes behind all rows before it.
    pub(crate) is_sliced: bool,
    /// Where the operator that is being opened counts, if it is measured.
    pub(crate) measured: Option<Arc<NodeCounters>>,
}

/// Where the rows of a pipeline come from.
pub(crate) trait PipelineSource: Send + Sync + fmt::Debug {
    /// Returns the name for reports.
    fn name(&self) -> &'static str;

    /// Returns how many morsels there are; asked once, when the stages before have ended.
    fn morsel_count(&self) -> usize;

    /// Whether it is there for a case that did not come up, and reports leave it out.
    fn is_idle(&self) -> bool {
        false
    }

    /// Begins a morsel.
    ///
    /// # Errors
    /// Those of its first look.
    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>>;

    /// Tells which of its columns are read; told once at least, before it is opened.
    fn note_wanted(&self, _columns: &[SlotId]) {}

    /// Returns what its operators counted, in the order in which rows pass them; `counters` are
    /// those of the source as a whole.
    fn reports(&self, counters: &OperatorCounters) -> Vec<OperatorReport> {
        vec![counters.report(self.name())]
    }

    /// Returns the counts of a scan.
    fn scan_report(&self) -> Option<ScanReport> {
        None
    }
}

/// A morsel that is being read.
pub(crate) trait SourceRun: Send + fmt::Debug {
    /// Fills the first columns of `batch`; false at the end.
    ///
    /// # Errors
    /// Those of reading.
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool>;
}

/// A pipeline and how far it is.
#[derive(Debug)]
pub(crate) struct PipelineStage {
    pub(crate) source: Arc<dyn PipelineSource>,
    pub(crate) program: Arc<StepProgram>,
    pub(crate) sink: Arc<dyn PipelineSink>,
    pub(crate) flavour: Flavour,
    pub(crate) budget: Arc<MemoryBudget>,
    pub(crate) control: Arc<QueryControl>,
    /// One for each step.
    pub(crate) step_counters: Vec<OperatorCounters>,
    pub(crate) source_counters: OperatorCounters,
    pub(crate) sink_counters: OperatorCounters,
    morsel_count: OnceLock<usize>,
    /// The next morsel; workers take from it, nobody gives back.
    next_morsel: AtomicUsize,
    /// Set by a sink that wants no more; read before a morsel is taken. Shared by all stages that
    /// end in one sink.
    is_satisfied: Arc<AtomicBool>,
}

impl PipelineStage {
    pub(crate) fn new(
        source: Arc<dyn PipelineSource>,
        program: impl Into<Arc<StepProgram>>,
        sink: Arc<dyn PipelineSink>,
        context: &StageContext,
    ) -> Self {
        let program = program.into();
        let step_counters = program.counters();
        Self {
            source,
            program,
            sink,
            flavour: context.flavour,
            budget: Arc::clone(&context.budget),
            control: Arc::clone(&context.control),
            step_counters,
            source_counters: OperatorCounters::default(),
            sink_counters: OperatorCounters::default(),
            morsel_count: OnceLock::new(),
            next_morsel: AtomicUsize::new(0),
            is_satisfied: Arc::default(),
        }
    }

    /// Has the stage want no more as soon as another one does.
    pub(crate) fn end_with(&mut self, other: &Self) {
        self.is_satisfied = Arc::clone(&other.is_satisfied);
    }

    /// Takes the next morsel; `None` if there is none or no more is wanted.
    pub(crate) fn take_morsel(&self) -> Option<usize> {
        // ORDERING: the cursor guards nothing but itself; what a morsel reads was published by the
        // query's lock.
        let count = *self.morsel_count.get_or_init(|| self.source.morsel_count());
        if self.is_satisfied.load(Ordering::Relaxed)
            || self.next_morsel.load(Ordering::Relaxed) >= count
        {
            return None;
        }
        let morsel = self.next_morsel.fetch_add(1, Ordering::Relaxed);
        (morsel < count).then_some(morsel)
    }

    /// Has no more morsels taken.
    pub(crate) fn set_satisfied(&self) {
        // ORDERING: as above.
        self.is_satisfied.store(true, Ordering::Relaxed);
    }

    /// Whether no more morsels are wanted.
    pub(crate) fn is_satisfied(&self) -> bool {
        // ORDERING: as above.
        self.is_satisfied.load(Ordering::Relaxed)
    }

    /// Returns what its operators counted, source first.
    pub(crate) fn reports(&self) -> Vec<OperatorReport> {
        self.sink_counters.note_bytes(self.sink.bytes());
        self.sink_counters.note_spilled(self.sink.spilled());
        let mut reports = self.source.reports(&self.source_counters);
        reports.extend(self.program.reports(&self.step_counters));
        reports.push(self.sink_counters.report(self.sink.name()));
        reports
    }
}
