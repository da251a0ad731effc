//! A pipeline as the source of another one.

use std::sync::Arc;
use std::time::Instant;

use nacre_simd::Flavour;

use super::program::{SlotId, StepProgram};
use super::stage::{PipelineSource, SourceRun, StageContext};
use crate::control::QueryControl;
use crate::counters::{OperatorCounters, OperatorReport, ScanReport};
use crate::error::ExecResult;
use crate::interpret::StepInterpreter;
use crate::memory::MemoryBudget;
use crate::vector::VectorBatch;

/// A pipeline whose rows are those of a source: column by column what slots of it hold.
#[derive(Debug)]
pub(crate) struct WrappedPipeline {
    name: &'static str,
    input: Arc<dyn PipelineSource>,
    shared: Arc<WrappedShared>,
}

/// What the morsels share.
#[derive(Debug)]
struct WrappedShared {
    program: StepProgram,
    outputs: Vec<SlotId>,
    flavour: Flavour,
    budget: Arc<MemoryBudget>,
    control: Arc<QueryControl>,
    input_counters: OperatorCounters,
    step_counters: Vec<OperatorCounters>,
}

#[derive(Debug)]
struct WrappedRun {
    shared: Arc<WrappedShared>,
    input: Box<dyn SourceRun>,
    interpreter: StepInterpreter,
    batch: VectorBatch,
}

impl WrappedPipeline {
    /// Wraps a pipeline: what `input` gives runs through `program`, of which `outputs` are handed
    /// on.
    pub(crate) fn new(
        name: &'static str,
        input: Arc<dyn PipelineSource>,
        program: StepProgram,
        outputs: Vec<SlotId>,
        context: &StageContext,
    ) -> Self {
        let step_counters = program.counters();
        let input_counters = OperatorCounters::default();
        let shared = WrappedShared {
            program,
            outputs,
            flavour: context.flavour,
            budget: Arc::clone(&context.budget),
            control: Arc::clone(&context.control),
            input_counters,
            step_counters,
        };
        Self { name, input, shared: Arc::new(shared) }
    }
}

impl PipelineSource for WrappedPipeline {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is_idle(&self) -> bool {
        self.input.is_idle()
    }

    fn morsel_count(&self) -> usize {
        self.input.morsel_count()
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let shared = Arc::clone(&self.shared);
        Ok(Box::new(WrappedRun {
            input: self.input.open(morsel)?,
            interpreter: StepInterpreter::new(shared.flavour, &shared.budget, &shared.control),
            batch: StepInterpreter::batch(&shared.program),
            shared,
        }))
    }

    fn scan_report(&self) -> Option<ScanReport> {
        self.input.scan_report()
    }

    fn reports(&self, counters: &OperatorCounters) -> Vec<OperatorReport> {
        let shared = &self.shared;
        let mut reports = self.input.reports(&shared.input_counters);
        reports.extend(shared.program.reports(&shared.step_counters));
        reports.push(counters.report(self.name));
        reports
    }
}

impl SourceRun for WrappedRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        let Self { shared, input, interpreter, batch: own } = self;
        (batch.rows, batch.selection) = (0, None);
        let start = Instant::now();
        if !input.next(own)? {
            return Ok(false);
        }
        let rows = own.selected_rows();
        shared.input_counters.add(rows, rows, start.elapsed());
        interpreter.run(&shared.program, &shared.step_counters, own)?;
        if own.selected_rows() == 0 {
            return Ok(true);
        }
        for (at, slot) in shared.outputs.iter().enumerate() {
            // A column that comes twice is copied; the last one takes it.
            if shared.outputs[at + 1..].contains(slot) {
                batch.columns[at].clone_from(&own.columns[*slot]);
            } else {
                std::mem::swap(&mut batch.columns[at], &mut own.columns[*slot]);
            }
        }
        batch.rows = own.rows;
        batch.selection = own.selection.take();
        Ok(true)
    }
}
