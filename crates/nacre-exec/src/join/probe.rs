//! The probe: a source that wraps the pipeline below it.
//!
//! A vector of that pipeline is looked up as a whole, then handed on in one of three ways:
//!
//! 1. Where it matters only whether there is a partner, and there are no conditions on pairs, the
//!    vector keeps its columns and is selected from, or gets a mark beside them; or rows of the
//!    table are marked, and nothing is handed on.
//! 2. If no row has two partners and there are no such conditions, the vector keeps its columns and
//!    gets those of the build side beside them.
//! 3. Else pairs are made, a vector of them at each call, until all rows are done
//!    ([`super::pairs`]).
//!
//! A call does one vector's work, so that cancel flag and deadline are checked after each vector
//! for any number of pairs.

use std::sync::Arc;
use std::time::Instant;

use nacre_simd::Flavour;

use super::build::JoinBuildSink;
use super::chunk::JoinChunk;
use super::column::NO_ROW;
use super::keys::JoinKeyWords;
use super::pairs::{PairCursor, PairScratch, PairStep};
use super::plan::JoinPlan;
use super::table::JoinTable;
use crate::control::QueryControl;
use crate::counters::{OperatorCounters, OperatorReport, ScanReport};
use crate::error::{ExecError, ExecResult};
use crate::interpret::{StepInterpreter, true_bits};
use crate::memory::MemoryBudget;
use crate::pipeline::{PipelineSource, SlotId, SourceRun, StageContext, StepProgram};
use crate::plan::PairingKind;
use crate::vector::{BitVector, DENSE_PERCENT_MIN, VectorBatch, VectorValues};

/// A pipeline whose rows find partners in a table.
#[derive(Debug)]
pub(crate) struct JoinProbeSource {
    input: Arc<dyn PipelineSource>,
    shared: Arc<ProbeShared>,
}

/// What the morsels of a probe share.
#[derive(Debug)]
struct ProbeShared {
    program: StepProgram,
    sink: Arc<JoinBuildSink>,
    flavour: Flavour,
    budget: Arc<MemoryBudget>,
    control: Arc<QueryControl>,
    input_counters: OperatorCounters,
    step_counters: Vec<OperatorCounters>,
    counters: OperatorCounters,
}

/// A morsel of a probe.
#[derive(Debug)]
struct JoinProbeRun {
    shared: Arc<ProbeShared>,
    input: Box<dyn SourceRun>,
    interpreter: StepInterpreter,
    vector: ProbeVector,
    pairs: PairScratch,
}

/// A vector of the pipeline below, and how far its pairs are.
#[derive(Debug, Default)]
pub(super) struct ProbeVector {
    pub(super) batch: VectorBatch,
    keys: JoinKeyWords,
    scratch: Vec<u64>,
    /// By row: the first partner; while pairs are made, the next one.
    pub(super) partners: Vec<u32>,
    pub(super) cursor: PairCursor,
    /// Whether pairs of it are left.
    pub(super) is_open: bool,
}

impl JoinProbeSource {
    /// Wraps a pipeline: what `input` gives runs through `program` and is then joined.
    pub(crate) fn new(
        input: Arc<dyn PipelineSource>,
        program: StepProgram,
        sink: &Arc<JoinBuildSink>,
        context: &StageContext,
    ) -> Self {
        let step_counters = program.counters();
        let shared = Arc::new(ProbeShared {
            program,
            sink: Arc::clone(sink),
            flavour: context.flavour,
            budget: Arc::clone(&context.budget),
            control: Arc::clone(&context.control),
            input_counters: OperatorCounters::default(),
            step_counters,
            counters: OperatorCounters::default(),
        });
        Self { input, shared }
    }
}

impl PipelineSource for JoinProbeSource {
    fn name(&self) -> &'static str {
        "join"
    }

    fn is_idle(&self) -> bool {
        self.input.is_idle()
    }

    fn morsel_count(&self) -> usize {
        let sink = &self.shared.sink;
        if sink.plan.needs_partner() && sink.is_empty() {
            return 0;
        }
        self.input.morsel_count()
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let shared = Arc::clone(&self.shared);
        let batch = StepInterpreter::batch(&shared.program);
        let pairs = PairScratch::new(&shared.sink.plan);
        Ok(Box::new(JoinProbeRun {
            input: self.input.open(morsel)?,
            interpreter: StepInterpreter::new(shared.flavour, &shared.budget, &shared.control),
            vector: ProbeVector::new(batch),
            pairs,
            shared,
        }))
    }

    fn scan_report(&self) -> Option<ScanReport> {
        self.input.scan_report()
    }

    fn note_wanted(&self, columns: &[SlotId]) {
        self.shared.sink.plan.note_wanted(|column| columns.contains(&column));
    }

    fn reports(&self, _: &OperatorCounters) -> Vec<OperatorReport> {
        let shared = &self.shared;
        let mut reports = self.input.reports(&shared.input_counters);
        reports.extend(shared.program.reports(&shared.step_counters));
        reports.push(shared.counters.report(self.name()));
        reports
    }
}

impl SourceRun for JoinProbeRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        let Self { shared, input, interpreter, vector, pairs } = self;
        let sink = Arc::clone(&shared.sink);
        let plan = &sink.plan;
        (batch.rows, batch.selection) = (0, None);
        let mut rows_in = 0;
        if !vector.is_open {
            let start = Instant::now();
            if !input.next(&mut vector.batch)? {
                return Ok(false);
            }
            let rows = vector.batch.selected_rows();
            shared.input_counters.add(rows, rows, start.elapsed());
            interpreter.run(&shared.program, &shared.step_counters, &mut vector.batch)?;
            rows_in = vector.batch.selected_rows();
            if rows_in == 0 {
                return Ok(true);
            }
        }
        let start = Instant::now();
        if !vector.is_open {
            vector.fill_keys(plan)?;
        }
        if let Some(spilled) = sink.spilled() {
            spilled.add_probe(plan, vector)?;
            shared.counters.add(rows_in, 0, start.elapsed());
            return Ok(true);
        }
        let table = sink.table()?;
        if !vector.is_open {
            vector.find(table);
        }
        join_vector(plan, table, vector, pairs, interpreter, batch)?;
        shared.counters.add(rows_in, batch.selected_rows(), start.elapsed());
        Ok(true)
    }
}

/// Hands on what comes of a vector whose first partners are there.
///
/// # Errors
/// Those of conditions; [`ExecError::MoreThanOneRow`].
pub(super) fn join_vector(
    plan: &JoinPlan,
    table: &JoinTable,
    vector: &mut ProbeVector,
    pairs: &mut PairScratch,
    interpreter: &mut StepInterpreter,
    batch: &mut VectorBatch,
) -> ExecResult<()> {
    if plan.residual.is_none() && plan.needs_one_partner() {
        vector.filter(plan, batch);
    } else if plan.residual.is_none() && !plan.hands_on_pairs() {
        table.mark_equal(&vector.partners);
    } else if vector.has_one_partner(plan, table)? {
        vector.join_unique(plan, table, batch);
    } else {
        if !vector.is_open {
            vector.cursor.begin(plan, &vector.batch, &vector.partners);
        }
        PairStep { plan, table, pairs }.next(vector, interpreter, batch)?;
    }
    Ok(())
}

impl ProbeVector {
    /// Makes a vector without rows, whose columns are those of `batch`.
    pub(super) fn new(batch: VectorBatch) -> Self {
        Self { batch, ..Self::default() }
    }

    /// Computes the key words of each row; one that cannot have a partner has none.
    fn fill_keys(&mut self, plan: &JoinPlan) -> ExecResult<()> {
        self.keys.fill_probe(&plan.keys, plan.key_words, &self.batch)?;
        let active = &mut self.keys.has_key;
        if let Some(selected) = self.batch.selected_bits() {
            active.and_with(selected);
        }
        for condition in &plan.probe_conditions {
            active.and_with(&true_bits(&self.batch.columns[*condition])?);
        }
        Ok(())
    }

    /// Finds the first partner of each row.
    pub(super) fn find(&mut self, table: &JoinTable) {
        table.find_all(&self.keys, &self.keys.has_key, &mut self.scratch, &mut self.partners);
    }

    /// Returns the key words of the rows, and which have a key.
    pub(super) fn key_words(&self) -> (&[u64], &BitVector) {
        (&self.keys.words, &self.keys.has_key)
    }

    /// Takes rows of a file; their columns are those of `slots`.
    pub(super) fn restore(&mut self, chunk: JoinChunk, stride: usize, slots: &[SlotId]) {
        (self.batch.rows, self.batch.selection) = (chunk.rows, None);
        self.keys.restore(chunk.keys, chunk.has_key, stride);
        for (slot, column) in slots.iter().zip(chunk.columns) {
            self.batch.columns[*slot] = column;
        }
    }

    /// Returns the rows that have a partner, or, if not `wanted`, the rows without one.
    fn partnered(&self, wanted: bool) -> BitVector {
        let mut words = vec![0; self.partners.len().div_ceil(64)];
        for (word, partners) in words.iter_mut().zip(self.partners.chunks(64)) {
            for (bit, partner) in partners.iter().enumerate() {
                *word |= u64::from((*partner != NO_ROW) == wanted) << bit;
            }
        }
        BitVector::from_words(words, self.partners.len())
    }

    /// Whether no row has two partners, and there are no conditions on pairs.
    ///
    /// # Errors
    /// [`ExecError::MoreThanOneRow`] if a row has two that must not.
    fn has_one_partner(&self, plan: &JoinPlan, table: &JoinTable) -> ExecResult<bool> {
        if self.is_open || plan.residual.is_some() {
            return Ok(false);
        }
        let is_single = plan.kind == PairingKind::Single;
        if is_single && !table.is_unique() {
            let has_two = |row: &u32| *row != NO_ROW && table.next(*row) != NO_ROW;
            if self.partners.iter().any(has_two) {
                return Err(ExecError::MoreThanOneRow);
            }
        }
        Ok((is_single || table.is_unique()) && table.fits_vector(self.batch.rows))
    }

    /// Hands on the rows that a semi or anti join wants, or all with their marks.
    fn filter(&mut self, plan: &JoinPlan, batch: &mut VectorBatch) {
        match plan.kind {
            PairingKind::Mark => self.pass_marked(plan, self.partnered(true), batch),
            kind => self.pass(plan, self.partnered(kind == PairingKind::Semi), batch),
        }
    }

    /// Hands on the columns of all rows, and which have a partner. The vector is done.
    pub(super) fn pass_marked(
        &mut self,
        plan: &JoinPlan,
        marks: BitVector,
        batch: &mut VectorBatch,
    ) {
        self.hand_on_columns(plan, batch);
        if let Some(output) = plan.columns().mark {
            let column = &mut batch.columns[output];
            (column.values, column.validity) = (VectorValues::Bool(marks), None);
        }
    }

    /// Hands on the columns of the rows of `kept`. The vector is done.
    pub(super) fn pass(&mut self, plan: &JoinPlan, kept: BitVector, batch: &mut VectorBatch) {
        let live: Vec<SlotId> = plan.columns().probe.iter().map(|(_, slot)| *slot).collect();
        self.batch.narrow(kept, &live);
        self.hand_on_columns(plan, batch);
    }

    fn hand_on_columns(&mut self, plan: &JoinPlan, batch: &mut VectorBatch) {
        let columns = &plan.columns().probe;
        for (at, (output, slot)) in columns.iter().enumerate() {
            // A column that comes twice is copied; the last one takes it.
            if columns[at + 1..].iter().any(|(_, later)| later == slot) {
                batch.columns[*output].clone_from(&self.batch.columns[*slot]);
            } else {
                std::mem::swap(&mut batch.columns[*output], &mut self.batch.columns[*slot]);
            }
        }
        batch.rows = self.batch.rows;
        batch.selection = self.batch.selection.take();
    }

    /// Hands on rows that have one partner at most, with the columns of the build side.
    fn join_unique(&mut self, plan: &JoinPlan, table: &JoinTable, batch: &mut VectorBatch) {
        if plan.ends_with_build() {
            table.mark(&self.partners);
        }
        let mut kept = if plan.pads_probe() {
            BitVector::filled(self.partners.len(), true)
        } else {
            self.partnered(true)
        };
        if let Some(selected) = self.batch.selected_bits() {
            kept.and_with(selected);
        }
        if kept.count_ones() * 100 < self.partners.len() * DENSE_PERCENT_MIN {
            // The vector will be compacted, and partners with it.
            let mut partners = Vec::new();
            kept.for_each_one(|row| partners.push(self.partners[row]));
            self.partners = partners;
        }
        self.pass(plan, kept, batch);
        for (output, column) in &plan.columns().build {
            let out = &mut batch.columns[*output];
            table.columns[*column].gather(&self.partners, plan.pads_probe(), out);
        }
    }
}
