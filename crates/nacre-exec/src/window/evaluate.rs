//! Evaluates all functions for the partitions of a morsel.

use std::ops::Range;

use super::extremes::evaluate_extreme;
use super::folds::evaluate_fold;
use super::frames::{FramePieces, FrameRows};
use super::order::{CHECK_ROWS, OrderedRows, SortedOrder};
use super::partition::{MorselColumns, PartitionPeers, PartitionView};
use super::plan::{PlannedCall, PlannedWindow, WindowPlan};
use super::positions::{evaluate_position, evaluate_shift};
use super::ranks::{evaluate_ntile, evaluate_rank};
use super::sums::{evaluate_count, evaluate_sum};
use crate::control::QueryControl;
use crate::error::{ExecError, ExecResult};
use crate::memory::MemoryReservation;
use crate::pipeline::SlotInfo;
use crate::plan::{AggregateFunction, WindowFrame, WindowFunction};
use crate::vector::ColumnVector;

/// Bytes of a row while a function is evaluated: 8 for peers, 8 for its frame, and at most 36 for
/// prefix sums or 12 for a queue or tree of extremes.
const ROW_BYTES: usize = 8 + 8 + 36;

/// Bytes of a value in a vector, at most; without those of long strings.
const VALUE_BYTES: usize = 16;

/// What a function of a row is evaluated with.
#[derive(Clone, Copy, Debug)]
pub(super) struct FrameView<'p> {
    pub(super) partition: PartitionView<'p>,
    pub(super) rows: &'p FrameRows,
    pub(super) frame: &'p WindowFrame,
}

impl FrameView<'_> {
    /// Returns the rows that the function of `row` sees.
    pub(super) fn pieces(&self, row: usize) -> FramePieces {
        self.rows.pieces(self.partition.peers, self.frame.exclusion, row)
    }
}

/// Returns about how many bytes so many rows take while they are evaluated, but for long strings.
pub(super) fn evaluation_bytes(plan: &WindowPlan, rows: usize) -> usize {
    rows * (ROW_BYTES + VALUE_BYTES * (plan.arguments.len() + plan.results().count()))
}

/// Evaluates the functions of a plan for rows that are whole partitions; returns their results,
/// a value for each row in order.
///
/// # Errors
/// Sums beyond their limit, arguments that a function refuses, memory, the query's control.
pub(super) fn evaluate_morsel(
    plan: &WindowPlan,
    OrderedRows { runs, order }: OrderedRows<'_>,
    rows: Range<usize>,
    control: &QueryControl,
    reservation: &mut MemoryReservation,
) -> ExecResult<Vec<ColumnVector>> {
    reservation.grow(rows.len() * ROW_BYTES)?;
    let ordered = OrderedRows { runs, order };
    let columns = gather_columns(plan, ordered, &rows, control, reservation)?;
    let mut results: Vec<ColumnVector> = plan.results().map(SlotInfo::empty_column).collect();
    let mut evaluation = MorselEvaluation {
        plan,
        order,
        rows,
        columns,
        peers: PartitionPeers::default(),
        frames: FrameRows::default(),
        control,
        reservation,
        counted: 0,
    };
    let mut next = 0;
    for window in &plan.windows {
        let width: usize = window.calls.iter().map(|call| call.outputs.len()).sum();
        let own = &mut results[next..next + width];
        evaluation.evaluate(window, own)?;
        own.iter_mut().for_each(ColumnVector::fill_validity);
        let bytes: usize = own.iter().map(ColumnVector::bytes).sum();
        let MorselEvaluation { reservation, counted, .. } = &mut evaluation;
        reservation.grow(bytes.saturating_sub(std::mem::take(counted)))?;
        next += width;
    }
    Ok(results)
}

/// Copies the columns that functions read.
fn gather_columns(
    plan: &WindowPlan,
    OrderedRows { runs, order }: OrderedRows<'_>,
    rows: &Range<usize>,
    control: &QueryControl,
    reservation: &mut MemoryReservation,
) -> ExecResult<MorselColumns> {
    let mut columns: Vec<Option<ColumnVector>> = plan.inputs.iter().map(|_| None).collect();
    for index in &plan.arguments {
        let mut column = plan.inputs[*index].empty_column();
        for places in order.rows[rows.clone()].chunks(CHECK_ROWS) {
            control.check()?;
            for place in places {
                runs[place.run as usize].append_value(place.row as usize, *index, &mut column);
            }
        }
        column.fill_validity();
        reservation.grow(column.bytes())?;
        columns[*index] = Some(column);
    }
    Ok(MorselColumns(columns))
}

/// A morsel under evaluation, with buffers for one partition.
struct MorselEvaluation<'m> {
    plan: &'m WindowPlan,
    order: &'m SortedOrder,
    rows: Range<usize>,
    columns: MorselColumns,
    peers: PartitionPeers,
    frames: FrameRows,
    control: &'m QueryControl,
    reservation: &'m mut MemoryReservation,
    /// Bytes of results of the present window that were counted before all are there.
    counted: usize,
}

impl MorselEvaluation<'_> {
    /// Evaluates the functions of a window, partition by partition.
    fn evaluate(&mut self, window: &PlannedWindow, results: &mut [ColumnVector]) -> ExecResult<()> {
        debug_assert!(window.partition_keys >= self.plan.unit_keys);
        let mut start = self.rows.start;
        while start < self.rows.end {
            self.control.check()?;
            let end = self.order.end_of_equal(start, self.rows.end, window.partition_keys);
            self.peers.set(self.order, start..end, window.peer_keys, self.control)?;
            self.evaluate_partition(window, start - self.rows.start, results)?;
            start = end;
        }
        Ok(())
    }

    fn evaluate_partition(
        &mut self,
        window: &PlannedWindow,
        start: usize,
        mut results: &mut [ColumnVector],
    ) -> ExecResult<()> {
        let Self { peers, columns, control, frames, reservation, counted, .. } = self;
        let (peers, columns, control) = (&*peers, &*columns, *control);
        let mut ask = |bytes: usize| {
            *counted += bytes;
            reservation.grow(bytes)
        };
        let partition = PartitionView { peers, columns, start, control };
        let mut known: Option<&WindowFrame> = None;
        for PlannedCall { function, frame, outputs } in &window.calls {
            let (own, others) = results.split_at_mut(outputs.len());
            results = others;
            if sees_frame(function) && known != Some(frame) {
                frames.set(&partition, frame)?;
                known = Some(frame);
            }
            let view = FrameView { partition, rows: &*frames, frame };
            if let (WindowFunction::Fold(call), [out]) = (function, &mut *own) {
                evaluate_fold(call, &view, &mut ask, out)?;
            } else {
                evaluate_call(function, &view, own)?;
            }
        }
        Ok(())
    }
}

/// Whether a function sees no more than the frame of a row.
pub(super) fn sees_frame(function: &WindowFunction) -> bool {
    matches!(
        function,
        WindowFunction::FirstValue { .. }
            | WindowFunction::LastValue { .. }
            | WindowFunction::NthValue { .. }
            | WindowFunction::Aggregate(_)
            | WindowFunction::Fold(_)
    )
}

/// Appends the results of a function for all rows of a partition.
fn evaluate_call(
    function: &WindowFunction,
    view: &FrameView<'_>,
    outputs: &mut [ColumnVector],
) -> ExecResult<()> {
    let Some((out, others)) = outputs.split_first_mut() else {
        return Err(ExecError::internal("a window function without a result"));
    };
    match function {
        WindowFunction::RowNumber
        | WindowFunction::Rank
        | WindowFunction::DenseRank
        | WindowFunction::PercentRank
        | WindowFunction::CumeDist => evaluate_rank(function, &view.partition, out),
        WindowFunction::Ntile { buckets } => evaluate_ntile(*buckets, &view.partition, out),
        WindowFunction::Shift { .. } => evaluate_shift(function, &view.partition, out),
        WindowFunction::FirstValue { .. }
        | WindowFunction::LastValue { .. }
        | WindowFunction::NthValue { .. } => evaluate_position(function, view, out),
        WindowFunction::Fold(_) => Err(ExecError::internal("a fold of several results")),
        WindowFunction::Aggregate(call) => match call.function {
            AggregateFunction::CountRows | AggregateFunction::Count => {
                evaluate_count(call, view, out)
            }
            AggregateFunction::Sum | AggregateFunction::AverageState => {
                evaluate_sum(call, view, out, others.first_mut())
            }
            AggregateFunction::Min | AggregateFunction::Max => evaluate_extreme(call, view, out),
            AggregateFunction::CountDistinct
            | AggregateFunction::ExactMin
            | AggregateFunction::ExactMax
            | AggregateFunction::ExactSum
            | AggregateFunction::ExactState
            | AggregateFunction::DistinctState
            | AggregateFunction::Collect
            | AggregateFunction::Moments(_)
            | AggregateFunction::CountSum => {
                Err(ExecError::internal("an aggregate that no window has"))
            }
        },
    }
}
