//! Rows with the results of window functions, as the source of the next pipeline.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nacre_column::VECTOR_ROWS;

use super::evaluate::{evaluate_morsel, evaluation_bytes};
use super::large::{LargeWindowRun, PartitionFileWriter};
use super::order::OrderedRows;
use super::sink::WindowSink;
use super::spilled::SpilledWindowRun;
use crate::control::QueryControl;
use crate::error::{ExecError, ExecResult};
use crate::memory::{MemoryBudget, MemoryReservation};
use crate::pipeline::{PipelineSource, SlotId, SourceRun, StageContext};
use crate::sort::append_row;
use crate::spill::empty_columns;
use crate::vector::{ColumnVector, VectorBatch};

/// Partitions, a morsel being some of them.
#[derive(Debug)]
pub(crate) struct WindowSource {
    sink: Arc<WindowSink>,
    control: Arc<QueryControl>,
    budget: Arc<MemoryBudget>,
    /// For each input column whether it is read above; set before the first morsel is taken.
    is_wanted: Arc<Vec<AtomicBool>>,
}

#[derive(Debug)]
pub(super) struct WindowRun {
    sink: Arc<WindowSink>,
    control: Arc<QueryControl>,
    is_wanted: Arc<Vec<AtomicBool>>,
    /// Rows that are not handed on yet.
    rows: Range<usize>,
    /// Of all rows of the morsel; empty until the first vector is wanted.
    results: Vec<ColumnVector>,
    /// Where the next results are.
    next_result: usize,
    /// Rows that are in a file, in place of `rows`.
    large: Option<LargeWindowRun>,
    reservation: MemoryReservation,
}

impl WindowSource {
    pub(crate) fn new(sink: &Arc<WindowSink>, context: &StageContext) -> Self {
        let is_wanted = sink.plan.inputs.iter().map(|_| AtomicBool::new(false)).collect();
        Self {
            sink: Arc::clone(sink),
            control: Arc::clone(&context.control),
            budget: Arc::clone(&context.budget),
            is_wanted: Arc::new(is_wanted),
        }
    }
}

impl PipelineSource for WindowSource {
    fn name(&self) -> &'static str {
        "window"
    }

    fn morsel_count(&self) -> usize {
        if self.sink.is_spilled() {
            return 1;
        }
        self.sink.order().map_or(0, |order| order.morsels.len())
    }

    fn note_wanted(&self, columns: &[SlotId]) {
        for column in columns {
            if let Some(is_wanted) = self.is_wanted.get(*column) {
                // ORDERING: told while the query is prepared; its lock publishes it.
                is_wanted.store(true, Ordering::Relaxed);
            }
        }
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let run = |rows| WindowRun {
            sink: Arc::clone(&self.sink),
            control: Arc::clone(&self.control),
            is_wanted: Arc::clone(&self.is_wanted),
            rows,
            results: Vec::new(),
            next_result: 0,
            large: None,
            reservation: self.budget.reservation("window"),
        };
        if let Some(merge) = self.sink.open_spilled()? {
            let reservation = self.budget.reservation("window");
            return Ok(Box::new(SpilledWindowRun::new(run(0..0), merge, reservation)));
        }
        let rows = self.sink.order().and_then(|order| order.morsels.get(morsel).cloned());
        let rows = rows.ok_or_else(|| ExecError::internal("no such morsel of a window"))?;
        Ok(Box::new(run(rows)))
    }
}

impl SourceRun for WindowRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        let sink = Arc::clone(&self.sink);
        let unordered = || ExecError::internal("rows of a window without an order");
        let order = sink.order().ok_or_else(unordered)?;
        self.next_of(OrderedRows { runs: sink.runs(), order }, batch)
    }
}

impl WindowRun {
    pub(super) fn sink(&self) -> &Arc<WindowSink> {
        &self.sink
    }

    /// Whether all rows were handed on.
    pub(super) fn is_done(&self) -> bool {
        self.rows.is_empty() && self.large.is_none()
    }

    /// Begins with other rows, which are in a file.
    pub(super) fn begin_large(&mut self, file: PartitionFileWriter) -> ExecResult<()> {
        self.begin(0)?;
        self.large = Some(LargeWindowRun::new(&self.sink.plan, file.finish()?));
        Ok(())
    }

    /// Hands on the next rows of a file; false if there is none.
    pub(super) fn next_large(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        let Some(large) = &mut self.large else { return Ok(false) };
        large.next(&self.sink.plan, &self.is_wanted, batch)?;
        if large.is_done() {
            self.large = None;
        }
        Ok(true)
    }

    /// Evaluates all functions for the rows, or writes these to a file if that takes more memory
    /// than there is.
    fn evaluate(&mut self, ordered: OrderedRows<'_>) -> ExecResult<()> {
        let sink = Arc::clone(&self.sink);
        let (plan, rows) = (&sink.plan, self.rows.clone());
        let Some(spill) = sink.spill() else {
            self.results =
                evaluate_morsel(plan, ordered, rows, &self.control, &mut self.reservation)?;
            return Ok(());
        };
        if spill.hold(&mut self.reservation, evaluation_bytes(plan, rows.len())) {
            self.reservation.resize(0)?;
            let reservation = &mut self.reservation;
            match evaluate_morsel(plan, ordered, rows.clone(), &self.control, reservation) {
                Err(ExecError::OutOfMemory { .. }) => {}
                results => {
                    self.results = results?;
                    return Ok(());
                }
            }
        }
        self.reservation.resize(0)?;
        let mut file = PartitionFileWriter::new(spill, empty_columns(plan.inputs.iter()))?;
        let OrderedRows { runs, order } = ordered;
        for row in rows {
            let place = order.rows[row];
            let run = &runs[place.run as usize];
            file.push(order.common_parts(row), |column, out| {
                run.append_value(place.row as usize, column, out);
            })?;
        }
        self.begin_large(file)
    }

    /// Begins with the first `rows` of other ordered rows.
    pub(super) fn begin(&mut self, rows: usize) -> ExecResult<()> {
        (self.rows, self.next_result) = (0..rows, 0);
        self.results = Vec::new();
        self.reservation.resize(0)
    }

    /// Hands on the next rows, which are of `ordered`.
    pub(super) fn next_of(
        &mut self,
        ordered: OrderedRows<'_>,
        batch: &mut VectorBatch,
    ) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        let OrderedRows { runs, order } = ordered;
        if self.next_result == 0 && !self.rows.is_empty() {
            self.evaluate(ordered)?;
        }
        if self.large.is_some() {
            return self.next_large(batch);
        }
        let end = self.rows.end.min(self.rows.start + VECTOR_ROWS);
        let rows = self.rows.start..end;
        self.rows.start = end;
        let inputs = self.is_wanted.len();
        for (column, out) in batch.columns.iter_mut().enumerate().take(inputs) {
            out.clear();
            // ORDERING: as above.
            if self.is_wanted[column].load(Ordering::Relaxed) {
                for place in &order.rows[rows.clone()] {
                    runs[place.run as usize].append_value(place.row as usize, column, out);
                }
                out.fill_validity();
            }
        }
        let results = self.next_result..self.next_result + rows.len();
        self.next_result = results.end;
        for (result, out) in self.results.iter().zip(batch.columns.iter_mut().skip(inputs)) {
            out.clear();
            results.clone().for_each(|row| append_row(result, row, out));
            out.fill_validity();
        }
        batch.rows = rows.len();
        Ok(batch.rows > 0)
    }
}
