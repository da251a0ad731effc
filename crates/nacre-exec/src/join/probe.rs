//! The probe: a source that wraps the pipeline below it.
//!
//! A vector of that pipeline is looked up as a whole, then handed on in one of three ways:
//!
//! 1. Semi and anti joins without conditions change its selection, no more.
//! 2. If no key of the build side has two rows and there are no conditions, the vector keeps its
//!    columns and gets those of the build side beside them.
//! 3. Else pairs are gathered, a vector of them at each call, until all rows are done. Conditions
//!    are evaluated on these; rows that are left over follow at the end.
//!
//! A call does one vector's work, so that cancel flag and deadline are checked after each vector
//! for any number of pairs.

use std::sync::Arc;
use std::time::Instant;

use nacre_simd::Flavour;

use super::build::JoinBuildSink;
use super::column::NO_ROW;
use super::keys::JoinKeyWords;
use super::plan::JoinPlan;
use super::residual::PairProgram;
use super::table::JoinTable;
use crate::counters::{OperatorCounters, OperatorReport, ScanReport};
use crate::error::ExecResult;
use crate::interpret::StepInterpreter;
use crate::pipeline::{PipelineSource, SlotId, SourceRun, StepProgram};
use crate::plan::PairingKind;
use crate::vector::{BitVector, DENSE_PERCENT_MIN, VectorBatch};

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
struct ProbeVector {
    batch: VectorBatch,
    keys: JoinKeyWords,
    scratch: Vec<u64>,
    /// By row: the first partner.
    first: Vec<u32>,
    /// The rows that pairs are made of, while there are some left.
    rows: Vec<u16>,
    /// The present one of `rows`.
    at: usize,
    /// Its next partner.
    partner: u32,
    /// Rows for which a pair satisfied the conditions.
    matched: BitVector,
    is_open: bool,
}

/// A vector of pairs.
#[derive(Debug, Default)]
struct PairScratch {
    rows: Vec<u16>,
    partners: Vec<u32>,
    kept: Vec<u16>,
    batch: VectorBatch,
}

impl JoinProbeSource {
    /// Wraps a pipeline: what `input` gives runs through `program` and is then joined.
    pub(crate) fn new(
        input: Arc<dyn PipelineSource>,
        program: StepProgram,
        sink: &Arc<JoinBuildSink>,
        flavour: Flavour,
    ) -> Self {
        let step_counters = program.steps.iter().map(|_| OperatorCounters::default()).collect();
        let shared = Arc::new(ProbeShared {
            program,
            sink: Arc::clone(sink),
            flavour,
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

    fn morsel_count(&self) -> usize {
        let sink = &self.shared.sink;
        if sink.plan.needs_build_rows() && sink.rows() == 0 {
            return 0;
        }
        self.input.morsel_count()
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let shared = Arc::clone(&self.shared);
        let batch = StepInterpreter::batch(&shared.program);
        let residual = shared.sink.plan.residual.as_ref();
        let pairs = PairScratch {
            batch: residual.map(|pairs| StepInterpreter::batch(&pairs.program)).unwrap_or_default(),
            ..PairScratch::default()
        };
        Ok(Box::new(JoinProbeRun {
            input: self.input.open(morsel)?,
            interpreter: StepInterpreter::new(shared.flavour),
            vector: ProbeVector { batch, ..ProbeVector::default() },
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
        let steps = shared.program.steps.iter().zip(&shared.step_counters);
        reports.extend(steps.map(|(step, counters)| counters.report(step.name())));
        reports.push(shared.counters.report(self.name()));
        reports
    }
}

impl SourceRun for JoinProbeRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        let Self { shared, input, interpreter, vector, pairs } = self;
        let sink = Arc::clone(&shared.sink);
        let (plan, table) = (&sink.plan, sink.table()?);
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
            vector.look_up(plan, table)?;
        }
        match &plan.residual {
            None if !plan.has_build_columns() => vector.filter(plan, batch),
            None if table.is_unique() => vector.join_unique(plan, table, batch),
            residual => {
                vector.begin(plan);
                let mut step = PairStep { plan, table, residual: residual.as_ref(), pairs };
                step.next(vector, interpreter, batch)?;
            }
        }
        shared.counters.add(rows_in, batch.selected_rows(), start.elapsed());
        Ok(true)
    }
}

impl ProbeVector {
    /// Finds the first partner of each row.
    fn look_up(&mut self, plan: &JoinPlan, table: &JoinTable) -> ExecResult<()> {
        self.keys.fill_probe(&plan.keys, plan.key_words, &self.batch)?;
        if let Some(selected) = self.batch.selected_bits() {
            self.keys.has_key.and_with(selected);
        }
        table.find_all(&self.keys, &self.keys.has_key, &mut self.scratch, &mut self.first);
        Ok(())
    }

    /// Returns the rows that have a partner, or, if not `wanted`, the rows without one.
    fn partnered(&self, wanted: bool) -> BitVector {
        let mut words = vec![0; self.first.len().div_ceil(64)];
        for (word, first) in words.iter_mut().zip(self.first.chunks(64)) {
            for (bit, first) in first.iter().enumerate() {
                *word |= u64::from((*first != NO_ROW) == wanted) << bit;
            }
        }
        BitVector::from_words(words, self.first.len())
    }

    /// Hands on the rows that a semi or anti join wants.
    fn filter(&mut self, plan: &JoinPlan, batch: &mut VectorBatch) {
        let kept = self.partnered(plan.kind == PairingKind::Semi);
        self.pass(plan, kept, batch);
    }

    /// Hands on the columns of the rows of `kept`. The vector is done.
    fn pass(&mut self, plan: &JoinPlan, kept: BitVector, batch: &mut VectorBatch) {
        let columns = &plan.columns().probe;
        let live: Vec<SlotId> = columns.iter().map(|(_, slot)| *slot).collect();
        self.batch.narrow(kept, &live);
        for (at, (output, slot)) in columns.iter().enumerate() {
            // A column that comes twice is copied; the last one takes it.
            if live[at + 1..].contains(slot) {
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
        if plan.pads_build() {
            table.mark(&self.first);
        }
        let mut kept = if plan.pads_probe() {
            BitVector::filled(self.first.len(), true)
        } else {
            self.partnered(true)
        };
        if let Some(selected) = self.batch.selected_bits() {
            kept.and_with(selected);
        }
        if kept.count_ones() * 100 < self.first.len() * DENSE_PERCENT_MIN {
            // The vector will be compacted, and partners with it.
            let mut partners = Vec::new();
            kept.for_each_one(|row| partners.push(self.first[row]));
            self.first = partners;
        }
        self.pass(plan, kept, batch);
        for (output, column) in &plan.columns().build {
            let out = &mut batch.columns[*output];
            table.columns[*column].gather(&self.first, plan.pads_probe(), out);
        }
    }

    /// Begins to make pairs, unless they are being made.
    fn begin(&mut self, plan: &JoinPlan) {
        if self.is_open {
            return;
        }
        self.is_open = true;
        self.rows.clear();
        match self.batch.selection.as_ref() {
            Some(selection) => selection.positions(&mut self.rows),
            None => self.rows.extend(0..self.batch.rows as u16),
        }
        if !plan.pads_probe() || plan.residual.is_some() {
            self.rows.retain(|row| self.first[usize::from(*row)] != NO_ROW);
        }
        self.at = 0;
        self.partner = self.rows.first().map_or(NO_ROW, |row| self.first[usize::from(*row)]);
        self.matched.clear();
        self.matched.resize(self.batch.rows, false);
    }

    /// Makes the next pairs, up to so many.
    fn next_pairs(&mut self, table: &JoinTable, is_one_enough: bool, pairs: &mut PairScratch) {
        pairs.rows.clear();
        pairs.partners.clear();
        let pairs_max = table.pairs_max();
        while let Some(row) = self.rows.get(self.at) {
            let is_done = is_one_enough && self.matched.get(usize::from(*row));
            if !is_done {
                loop {
                    if pairs.rows.len() == pairs_max {
                        return;
                    }
                    pairs.rows.push(*row);
                    pairs.partners.push(self.partner);
                    if self.partner == NO_ROW {
                        break;
                    }
                    self.partner = table.next(self.partner);
                    if self.partner == NO_ROW {
                        break;
                    }
                }
            }
            self.at += 1;
            let next = self.rows.get(self.at);
            self.partner = next.map_or(NO_ROW, |row| self.first[usize::from(*row)]);
        }
    }
}

/// One call's work on pairs.
struct PairStep<'s> {
    plan: &'s JoinPlan,
    table: &'s JoinTable,
    residual: Option<&'s PairProgram>,
    pairs: &'s mut PairScratch,
}

impl PairStep<'_> {
    /// Emits the next pairs of a vector, or its remaining rows at its end.
    fn next(
        &mut self,
        vector: &mut ProbeVector,
        interpreter: &mut StepInterpreter,
        batch: &mut VectorBatch,
    ) -> ExecResult<()> {
        let is_one_enough = !self.plan.has_build_columns();
        vector.next_pairs(self.table, is_one_enough, self.pairs);
        let is_last = vector.at == vector.rows.len();
        if self.pairs.rows.is_empty() {
            vector.is_open = false;
            self.hand_on_rest(vector, batch);
            return Ok(());
        }
        if let Some(residual) = self.residual {
            self.select(residual, vector, interpreter)?;
            for row in &self.pairs.rows {
                vector.matched.set(usize::from(*row), true);
            }
        }
        if self.plan.pads_build() {
            self.table.mark(&self.pairs.partners);
        }
        // Rows that are left over need a call of their own.
        vector.is_open = !is_last || self.has_rest();
        if self.plan.has_build_columns() && !self.pairs.rows.is_empty() {
            self.hand_on_pairs(vector, batch);
        }
        Ok(())
    }

    /// Leaves the pairs that satisfy the conditions.
    fn select(
        &mut self,
        residual: &PairProgram,
        vector: &ProbeVector,
        interpreter: &mut StepInterpreter,
    ) -> ExecResult<()> {
        let PairScratch { rows, partners, kept, batch } = &mut *self.pairs;
        let probe = &self.plan.probe.slots;
        for slot in &residual.inputs {
            match slot.checked_sub(probe.len()) {
                None => batch.columns[*slot] = vector.batch.columns[probe[*slot]].gathered(rows),
                Some(column) => {
                    let stored = self.plan.columns().stored.binary_search(&column).unwrap_or(0);
                    self.table.columns[stored].gather(partners, false, &mut batch.columns[*slot]);
                }
            }
        }
        residual.select(interpreter, batch, rows.len(), kept)?;
        for (to, from) in kept.iter().enumerate() {
            let from = usize::from(*from);
            (rows[to], partners[to]) = (rows[from], partners[from]);
        }
        rows.truncate(kept.len());
        partners.truncate(kept.len());
        Ok(())
    }

    /// Hands on pairs as rows.
    fn hand_on_pairs(&self, vector: &ProbeVector, batch: &mut VectorBatch) {
        let (plan, pairs) = (self.plan, &*self.pairs);
        for (output, slot) in &plan.columns().probe {
            batch.columns[*output] = vector.batch.columns[*slot].gathered(&pairs.rows);
        }
        for (output, column) in &plan.columns().build {
            let out = &mut batch.columns[*output];
            self.table.columns[*column].gather(&pairs.partners, plan.pads_probe(), out);
        }
        batch.rows = self.pairs.rows.len();
    }

    /// Whether rows come out when all pairs were looked at.
    fn has_rest(&self) -> bool {
        self.residual.is_some() && (self.plan.pads_probe() || !self.plan.has_build_columns())
    }

    /// Hands on the rows that come out when all pairs were looked at.
    fn hand_on_rest(&self, vector: &mut ProbeVector, batch: &mut VectorBatch) {
        if !self.has_rest() {
            return;
        }
        let mut kept = std::mem::take(&mut vector.matched);
        if self.plan.kind != PairingKind::Semi {
            kept.change_words(|words| words.iter_mut().for_each(|word| *word = !*word));
        }
        vector.pass(self.plan, kept, batch);
        for (output, column) in &self.plan.columns().build {
            let out = &mut batch.columns[*output];
            self.table.columns[*column].gather_none(batch.rows, out);
        }
    }
}
