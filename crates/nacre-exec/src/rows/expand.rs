//! Rows with sets of values, made one after the other.

use std::fmt;
use std::sync::Arc;

use nacre_column::VECTOR_ROWS;

use crate::counters::{OperatorCounters, OperatorReport, ScanReport};
use crate::error::ExecResult;
use crate::pipeline::{PipelineSource, SlotInfo, SourceRun};
use crate::plan::{ExpandNode, SetColumn, SetValues};
use crate::value::{IntBounds, ScalarValue, ValueClass, VectorType};
use crate::vector::{ColumnVector, VectorBatch};

/// What the morsels share.
#[derive(Debug)]
pub(crate) struct ExpandPlan {
    inputs: Vec<SlotInfo>,
    sets: Vec<SetColumn>,
    has_ordinality: bool,
}

/// A source each row of which comes with its sets.
#[derive(Debug)]
pub(crate) struct ExpandSource {
    input: Arc<dyn PipelineSource>,
    plan: Arc<ExpandPlan>,
    input_counters: OperatorCounters,
}

struct ExpandRun {
    input: Box<dyn SourceRun>,
    plan: Arc<ExpandPlan>,
    /// The present rows of the input.
    rows: VectorBatch,
    /// The present row; its sets, once they have begun, and how many values each has given.
    at: usize,
    sets: Vec<SetValues>,
    place: i64,
    positions: Vec<u16>,
}

impl fmt::Debug for ExpandRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpandRun").field("at", &self.at).finish_non_exhaustive()
    }
}

impl ExpandPlan {
    pub(crate) fn new(node: &ExpandNode, inputs: Vec<SlotInfo>) -> Self {
        Self { inputs, sets: node.sets.clone(), has_ordinality: node.has_ordinality }
    }

    /// Returns types and bounds of the columns.
    pub(crate) fn outputs(&self) -> Vec<SlotInfo> {
        let info = |class: ValueClass, bounds: IntBounds, is_nullable: bool| SlotInfo {
            vector_type: VectorType::of_class(class, bounds),
            bounds: (class == ValueClass::Int).then_some(bounds),
            is_nullable,
            dictionary: None,
        };
        let sets = self.sets.iter().map(|set| info(set.class, set.bounds, true));
        let place = self.has_ordinality.then(|| info(ValueClass::Int, IntBounds::I64, false));
        self.inputs.iter().cloned().chain(sets).chain(place).collect()
    }
}

impl ExpandSource {
    /// Takes the rows of a source.
    pub(crate) fn new(input: Arc<dyn PipelineSource>, plan: &Arc<ExpandPlan>) -> Self {
        let input_counters = OperatorCounters::default();
        Self { input, plan: Arc::clone(plan), input_counters }
    }
}

impl PipelineSource for ExpandSource {
    fn name(&self) -> &'static str {
        "expand"
    }

    fn morsel_count(&self) -> usize {
        self.input.morsel_count()
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let columns = self.plan.inputs.iter().map(SlotInfo::empty_column).collect();
        Ok(Box::new(ExpandRun {
            input: self.input.open(morsel)?,
            plan: Arc::clone(&self.plan),
            rows: VectorBatch { columns, rows: 0, selection: None },
            at: 0,
            sets: Vec::new(),
            place: 0,
            positions: Vec::new(),
        }))
    }

    fn scan_report(&self) -> Option<ScanReport> {
        self.input.scan_report()
    }

    fn reports(&self, counters: &OperatorCounters) -> Vec<OperatorReport> {
        let mut reports = self.input.reports(&self.input_counters);
        reports.push(counters.report(self.name()));
        reports
    }
}

impl SourceRun for ExpandRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        if self.at == self.rows.rows {
            if !self.input.next(&mut self.rows)? {
                return Ok(false);
            }
            let all: Vec<usize> = (0..self.rows.columns.len()).collect();
            self.rows.compact(&all);
            self.at = 0;
        }
        // Behind them are those that the pipeline computes.
        let own = self.rows.columns.len();
        let end = own + self.plan.sets.len() + usize::from(self.plan.has_ordinality);
        let made = &mut batch.columns[own..end];
        made.iter_mut().for_each(ColumnVector::clear);
        self.positions.clear();
        while self.at < self.rows.rows && self.positions.len() < VECTOR_ROWS {
            self.put_row(made)?;
        }
        made.iter_mut().for_each(ColumnVector::fill_validity);
        for (from, out) in self.rows.columns.iter().zip(&mut batch.columns) {
            *out = from.gathered(&self.positions);
        }
        batch.rows = self.positions.len();
        Ok(true)
    }
}

impl ExpandRun {
    /// Appends the next values of the present row, or goes on to the next one.
    fn put_row(&mut self, out: &mut [ColumnVector]) -> ExecResult<()> {
        if self.place == 0 {
            let (rows, at) = (&self.rows, self.at);
            let read = |column: usize| match rows.columns.get(column) {
                Some(column) => column.scalar(at),
                None => ScalarValue::Null(ValueClass::Bool),
            };
            let sets = self.plan.sets.iter().map(|set| set.begin(&read));
            self.sets = sets.collect::<ExecResult<_>>()?;
        }
        let mut values = Vec::with_capacity(self.sets.len());
        for set in &mut self.sets {
            values.push(set.next().transpose()?);
        }
        if values.iter().all(Option::is_none) {
            (self.at, self.place) = (self.at + 1, 0);
            return Ok(());
        }
        self.place += 1;
        // Fewer rows than a vector has, which positions have room for.
        self.positions.push(self.at as u16);
        let null = ScalarValue::Null(ValueClass::Bool);
        for (value, column) in values.iter().zip(out.iter_mut()) {
            column.push_scalar(value.as_ref().unwrap_or(&null))?;
        }
        if let Some(column) = out.get_mut(values.len()) {
            column.values.push_int(self.place.into());
        }
        Ok(())
    }
}
