//! Rows of a top-k with the columns that were left out below it.

use std::sync::Arc;

use crate::control::QueryControl;
use crate::counters::{OperatorCounters, OperatorReport};
use crate::error::ExecResult;
use crate::memory::MemoryReservation;
use crate::pipeline::{PipelineSource, SlotInfo, SourceRun, StageContext};
use crate::plan::FetchedColumn;
use crate::scan::{PreparedScan, fetch_rows};
use crate::vector::VectorBatch;

/// A source whose last columns have the places of rows, which others are fetched from.
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
    /// Of the input.
    pub(crate) infos: Vec<SlotInfo>,
    /// By column of the input but the last ones: the column that it becomes.
    pub(crate) kept: Vec<usize>,
    /// By the last columns of the input, which have places of its rows.
    pub(crate) scans: Vec<FetchPlanScan>,
}

/// A scan, and the columns that are fetched from its rows.
#[derive(Debug)]
pub(crate) struct FetchPlanScan {
    pub(crate) scan: Arc<PreparedScan>,
    pub(crate) columns: Vec<FetchedColumn>,
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
    /// Takes the rows of a source whose last columns have places of rows of the plan's scans.
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
        let mut bytes = 0;
        let places = rows.columns.iter().skip(plan.kept.len());
        for (places, FetchPlanScan { scan, columns }) in places.zip(&plan.scans) {
            let outputs: Vec<usize> = columns.iter().map(|one| one.output).collect();
            for (one, column) in columns.iter().zip(fetch_rows(scan, &outputs, places, control)?) {
                bytes += column.bytes();
                batch.columns[one.column] = column;
            }
            reservation.resize(bytes)?;
        }
        for (from, to) in plan.kept.iter().enumerate() {
            std::mem::swap(&mut batch.columns[*to], &mut rows.columns[from]);
        }
        batch.rows = rows.rows;
        Ok(true)
    }
}
