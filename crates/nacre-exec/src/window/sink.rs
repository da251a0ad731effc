//! The end of a pipeline whose rows go to windows: it sorts them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::order::SortedOrder;
use super::plan::WindowPlan;
use crate::control::QueryControl;
use crate::counters::SpillReport;
use crate::error::{ExecError, ExecResult};
use crate::memory::MemoryReservation;
use crate::pipeline::{PipelineSink, SinkRoom, SlotId, StageContext};
use crate::sort::{SortRun, SortSink, SpilledMerge};
use crate::spill::OperatorSpill;
use crate::vector::VectorBatch;

/// Sorted rows and their order.
#[derive(Debug)]
pub(crate) struct WindowSink {
    pub(super) plan: WindowPlan,
    sort: SortSink,
    order: OnceLock<SortedOrder>,
    control: Arc<QueryControl>,
    /// Until the order takes it.
    reservation: Mutex<Option<MemoryReservation>>,
}

impl WindowSink {
    /// Makes a sink of rows whose columns are in `slots`.
    pub(crate) fn new(plan: WindowPlan, slots: Vec<SlotId>, context: &StageContext) -> Self {
        Self {
            sort: SortSink::new(plan.order(), slots, &plan.inputs, None, context),
            plan,
            order: OnceLock::new(),
            control: Arc::clone(&context.control),
            reservation: Mutex::new(Some(context.budget.reservation("window"))),
        }
    }

    /// Whether the rows are in files, in which case they have no order here.
    pub(super) fn is_spilled(&self) -> bool {
        self.sort.is_spilled()
    }

    /// Returns how partitions go to files; `None` if the query has none.
    pub(super) fn spill(&self) -> Option<&Arc<OperatorSpill>> {
        self.sort.spill()
    }

    /// Begins to merge rows in files.
    pub(super) fn open_spilled(&self) -> ExecResult<Option<SpilledMerge>> {
        self.sort.open_spilled("window")
    }

    pub(super) fn runs(&self) -> &[SortRun] {
        self.sort.runs()
    }

    /// Returns the order, once the pipeline has ended.
    pub(super) fn order(&self) -> Option<&SortedOrder> {
        self.order.get()
    }
}

impl PipelineSink for WindowSink {
    fn name(&self) -> &'static str {
        "window_sort"
    }

    fn consume(&self, worker: usize, batch: &mut VectorBatch) -> ExecResult<SinkRoom> {
        self.sort.consume(worker, batch)
    }

    fn finish(&self) -> ExecResult<()> {
        let ended_twice = || ExecError::internal("a window ended twice");
        let reservation = self.reservation.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut reservation = reservation.ok_or_else(ended_twice)?;
        let order_bytes = self.sort.rows_in_memory() * SortedOrder::ROW_BYTES;
        if let Some(spill) = self.sort.spill()
            && !spill.hold_shared(&mut reservation, order_bytes)
        {
            return self.sort.finish_in_files();
        }
        self.sort.finish()?;
        if self.sort.is_spilled() {
            return Ok(());
        }
        let order = SortedOrder::new(&self.plan, self.runs(), &self.control, reservation)?;
        self.order.set(order).map_err(|_| ended_twice())
    }

    fn bytes(&self) -> usize {
        self.sort.bytes()
    }

    fn spilled(&self) -> SpillReport {
        self.sort.spilled()
    }
}
