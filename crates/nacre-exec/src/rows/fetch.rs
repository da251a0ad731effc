//! Rows of a top-k with the columns that were left out below it.

use std::sync::Arc;

use crate::control::QueryControl;
use crate::counters::{OperatorCounters, OperatorReport};
use crate::error::{ExecError, ExecResult};
use crate::memory::MemoryReservation;
use crate::pipeline::{PipelineSource, SlotInfo, SourceRun, StageContext};
use crate::plan::FetchedColumn;
use crate::scan::{PreparedScan, fetch_rows};
use crate::vector::{ColumnVector, VectorBatch, VectorValues};

/// A source whose last column has the places of rows, which others are fetched from.
#[derive(Debug)]
pub(crate) struct FetchSource {
    input: Arc<dyn PipelineSource>,
    plan: Arc<FetchPlan>,
    context: StageContext,
    input_counters: OperatorCounters,
}

/// Which columns are kept, and which are fetched.
#[derive(Debug)]
pub(crate) struct FetchPlan {
    pub(crate) scan: Arc<PreparedScan>,
    /// Of the input.
    pub(crate) infos: Vec<SlotInfo>,
    /// By column of the input but the last: the column that it becomes.
    pub(crate) kept: Vec<usize>,
    pub(crate) fetched: Vec<FetchedColumn>,
}

#[derive(Debug)]
struct FetchRun {
    input: Box<dyn SourceRun>,
    plan: Arc<FetchPlan>,
    rows: VectorBatch,
    control: Arc<QueryControl>,
    /// Of the columns that were fetched last.
    reservation: MemoryReservation,
}

impl FetchSource {
    /// Takes the rows of a source whose last column has places of rows of the plan's scan.
    pub(crate) fn new(
        input: Arc<dyn PipelineSource>,
        plan: FetchPlan,
        context: &StageContext,
    ) -> Self {
        let (plan, input_counters) = (Arc::new(plan), OperatorCounters::default());
        Self { input, plan, context: context.clone(), input_counters }
    }
}

impl PipelineSource for FetchSource {
    fn name(&self) -> &'static str {
        "fetch"
    }

    fn is_idle(&self) -> bool {
        self.input.is_idle()
    }

    fn morsel_count(&self) -> usize {
        self.input.morsel_count()
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let columns = self.plan.infos.iter().map(SlotInfo::empty_column).collect();
        Ok(Box::new(FetchRun {
            input: self.input.open(morsel)?,
            plan: Arc::clone(&self.plan),
            rows: VectorBatch { columns, rows: 0, selection: None },
            control: Arc::clone(&self.context.control),
            reservation: self.context.budget.reservation("top"),
        }))
    }

    fn reports(&self, counters: &OperatorCounters) -> Vec<OperatorReport> {
        let mut reports = self.input.reports(&self.input_counters);
        reports.push(counters.report(self.name()));
        reports
    }
}

impl SourceRun for FetchRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        let Self { input, plan, rows, control, reservation } = self;
        (batch.rows, batch.selection) = (0, None);
        if !input.next(rows)? {
            return Ok(false);
        }
        let Some(VectorValues::Int64(places)) = rows.columns.last().map(|last| &last.values) else {
            return Err(ExecError::internal("rows to fetch without their places"));
        };
        let outputs: Vec<usize> = plan.fetched.iter().map(|one| one.output).collect();
        let fetched = fetch_rows(&plan.scan, &outputs, places, control)?;
        reservation.resize(fetched.iter().map(ColumnVector::bytes).sum())?;
        for (one, column) in plan.fetched.iter().zip(fetched) {
            batch.columns[one.column] = column;
        }
        for (from, to) in plan.kept.iter().enumerate() {
            std::mem::swap(&mut batch.columns[*to], &mut rows.columns[from]);
        }
        batch.rows = rows.rows;
        Ok(true)
    }
}
