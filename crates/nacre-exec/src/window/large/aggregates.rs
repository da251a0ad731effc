//! Sums and extremes of frames over a file.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Range;

use nacre_column::compare_floats;

use super::super::partition::append_null;
use super::super::sums::WideSum;
use super::file::{FileRow, PartitionFile, RowReader};
use super::frames::{FrameSpan, PlacedRow};
use crate::error::ExecResult;
use crate::memory::MemoryReservation;
use crate::plan::{AggregateCall, AggregateFunction, FrameEdge, FrameExclusion, WindowFrame};
use crate::value::ScalarValue;
use crate::vector::ColumnVector;

/// Sums and counts of the frames of rows, one after the other.
#[derive(Debug, Default)]
pub(super) struct FrameSums {
    start: PrefixSum,
    end: PrefixSum,
    left_out_start: PrefixSum,
    left_out_end: PrefixSum,
    own: RowReader,
}

/// What is taken of the rows of a partition before one of them.
#[derive(Debug, Default)]
struct PrefixSum {
    partition: Range<u32>,
    row: u32,
    total: TakenSum,
    reader: RowReader,
}

/// How many rows are taken, and the sum of their values.
#[derive(Clone, Copy, Debug, Default)]
struct TakenSum {
    count: u32,
    sum: WideSum,
}

/// The best values of the frames of rows, one after the other.
#[derive(Debug)]
pub(super) struct FrameExtreme {
    /// Before what is left out, and behind it.
    before: ExtremeQueue,
    behind: ExtremeQueue,
    own: RowReader,
    result: RowReader,
}

/// Rows that may still become the best of a frame: each is better than those behind it, which came
/// later.
#[derive(Debug)]
struct ExtremeQueue {
    partition: Range<u32>,
    /// Whether frames begin with the partition, so that the best row so far stays the best.
    keeps_first: bool,
    /// The next row that comes.
    next: u32,
    rows: VecDeque<(u32, ScalarValue)>,
    bytes: usize,
    reader: RowReader,
    reservation: MemoryReservation,
}

/// Whether an aggregate takes a row.
fn takes(call: &AggregateCall, row: FileRow<'_>) -> ExecResult<bool> {
    if let Some(filter) = call.filter
        && !row.column(filter)?.is_true(0)
    {
        return Ok(false);
    }
    call.argument.map_or(Ok(true), |argument| Ok(!row.column(argument)?.is_null(0)))
}

impl TakenSum {
    fn plus(self, other: Self) -> Self {
        Self { count: self.count + other.count, sum: self.sum.plus(other.sum) }
    }

    fn minus(self, other: Self) -> Self {
        Self { count: self.count - other.count, sum: self.sum.minus(other.sum) }
    }

    fn of_row(call: &AggregateCall, row: FileRow<'_>) -> ExecResult<Self> {
        if !takes(call, row)? {
            return Ok(Self::default());
        }
        let value = match (call.function, call.argument) {
            (AggregateFunction::Sum | AggregateFunction::AverageState, Some(argument)) => {
                row.column(argument)?.int(0).unwrap_or(0)
            }
            _ => 0,
        };
        Ok(Self { count: 1, sum: value.into() })
    }
}

impl PrefixSum {
    /// Returns what is taken before `row`, which is not before the one of the last call unless it
    /// is of another partition.
    fn before(
        &mut self,
        call: &AggregateCall,
        file: &PartitionFile,
        partition: &Range<u32>,
        row: u32,
    ) -> ExecResult<TakenSum> {
        if self.partition != *partition {
            self.partition = partition.clone();
            (self.row, self.total) = (partition.start, TakenSum::default());
        }
        while self.row < row {
            let own = TakenSum::of_row(call, self.reader.at(file, self.row)?)?;
            self.total = self.total.plus(own);
            self.row += 1;
        }
        Ok(self.total)
    }
}

impl FrameSums {
    /// Appends the count or the sum of a row's frame, and the count to `count_out`.
    ///
    /// # Errors
    /// [`crate::ExecError::NumericOutOfRange`] for a sum beyond the call's limit; those of
    /// [`RowReader::at`].
    pub(super) fn append(
        &mut self,
        call: &AggregateCall,
        file: &PartitionFile,
        (place, span): (&PlacedRow, &FrameSpan),
        exclusion: FrameExclusion,
        outputs: &mut [ColumnVector],
    ) -> ExecResult<()> {
        let (frame, left_out) = span.with_left_out(place, exclusion);
        let partition = &place.partition;
        let end = self.end.before(call, file, partition, frame.end)?;
        let mut taken = end.minus(self.start.before(call, file, partition, frame.start)?);
        if exclusion != FrameExclusion::Nothing {
            let end = self.left_out_end.before(call, file, partition, left_out.end)?;
            let start = self.left_out_start.before(call, file, partition, left_out.start)?;
            taken = taken.minus(end.minus(start));
        }
        if exclusion == FrameExclusion::Ties && frame.contains(&place.row) {
            taken = taken.plus(TakenSum::of_row(call, self.own.at(file, place.row)?)?);
        }
        let Some((out, others)) = outputs.split_first_mut() else { return Ok(()) };
        if matches!(call.function, AggregateFunction::CountRows | AggregateFunction::Count) {
            out.values.push_int(taken.count.into());
            return Ok(());
        }
        let sum = taken.sum.within(call.limit)?;
        if taken.count == 0 {
            append_null(out);
        } else {
            out.values.push_int(sum);
        }
        if let Some(out) = others.first_mut() {
            out.values.push_int(taken.count.into());
        }
        Ok(())
    }
}

/// Whether `row`, which comes first, is better than `other`.
fn is_better(call: &AggregateCall, row: &ScalarValue, other: &ScalarValue) -> bool {
    use ScalarValue as S;
    let order = match (row, other) {
        (S::Bool(row), S::Bool(other)) => row.cmp(other),
        (S::Int(row), S::Int(other)) => row.cmp(other),
        (S::Float32(row), S::Float32(other)) => compare_floats((*row).into(), (*other).into()),
        (S::Float64(row), S::Float64(other)) => compare_floats(*row, *other),
        (S::Bytes(row), S::Bytes(other)) => row.cmp(other),
        _ => Ordering::Equal,
    };
    let is_max = call.function == AggregateFunction::Max;
    order == if is_max { Ordering::Greater } else { Ordering::Less }
}

/// Returns the argument of a row that is taken.
fn taken_value(call: &AggregateCall, row: FileRow<'_>) -> ExecResult<Option<ScalarValue>> {
    match call.argument {
        Some(argument) if takes(call, row)? => Ok(Some(row.column(argument)?.scalar(0))),
        _ => Ok(None),
    }
}

impl ExtremeQueue {
    fn new(file: &PartitionFile, keeps_first: bool) -> Self {
        Self {
            partition: 0..0,
            keeps_first,
            next: 0,
            rows: VecDeque::new(),
            bytes: 0,
            reader: RowReader::default(),
            reservation: file.reservation(),
        }
    }

    /// Returns the best of `rows`, which neither begin nor end before those of the last call unless
    /// they are of another partition.
    fn best_of(
        &mut self,
        call: &AggregateCall,
        file: &PartitionFile,
        partition: &Range<u32>,
        rows: Range<u32>,
    ) -> ExecResult<Option<&(u32, ScalarValue)>> {
        if self.partition != *partition {
            self.partition = partition.clone();
            (self.next, self.bytes) = (partition.start, 0);
            self.rows.clear();
        }
        self.next = self.next.max(rows.start);
        while self.next < rows.end {
            if let Some(value) = taken_value(call, self.reader.at(file, self.next)?)? {
                self.push(call, value)?;
            }
            self.next += 1;
        }
        while self.rows.front().is_some_and(|(row, _)| *row < rows.start) {
            self.pop_front();
        }
        Ok(self.rows.front())
    }

    fn push(&mut self, call: &AggregateCall, value: ScalarValue) -> ExecResult<()> {
        if self.keeps_first
            && self.rows.front().is_some_and(|(_, first)| is_better(call, first, &value))
        {
            return Ok(());
        }
        while let Some((_, last)) = self.rows.back()
            && !is_better(call, last, &value)
        {
            self.bytes -= self.rows.pop_back().map_or(0, |(_, last)| entry_bytes(&last));
        }
        self.bytes += entry_bytes(&value);
        self.rows.push_back((self.next, value));
        if self.bytes > self.reservation.bytes() {
            self.reservation.resize(self.bytes.next_power_of_two())?;
        }
        Ok(())
    }

    fn pop_front(&mut self) {
        self.bytes -= self.rows.pop_front().map_or(0, |(_, first)| entry_bytes(&first));
    }
}

/// Bytes of a row in a queue, which may have twice the room that it needs.
fn entry_bytes(value: &ScalarValue) -> usize {
    let string = if let ScalarValue::Bytes(value) = value { value.len() } else { 0 };
    2 * size_of::<(u32, ScalarValue)>() + string
}

impl FrameExtreme {
    pub(super) fn new(file: &PartitionFile, frame: &WindowFrame) -> Self {
        let begins_with_partition = frame.start == FrameEdge::UnboundedPreceding;
        Self {
            before: ExtremeQueue::new(file, begins_with_partition),
            behind: ExtremeQueue::new(file, false),
            own: RowReader::default(),
            result: RowReader::default(),
        }
    }

    /// Appends the best value of a row's frame; of equal ones the last.
    ///
    /// # Errors
    /// Those of [`RowReader::at`], and of a queue that does not fit in memory.
    pub(super) fn append(
        &mut self,
        call: &AggregateCall,
        file: &PartitionFile,
        (place, span): (&PlacedRow, &FrameSpan),
        exclusion: FrameExclusion,
        out: &mut ColumnVector,
    ) -> ExecResult<()> {
        let (frame, left_out) = span.with_left_out(place, exclusion);
        let partition = &place.partition;
        let before = frame.start..left_out.start;
        let mut best = self.before.best_of(call, file, partition, before)?.cloned();
        let mut take = |row: u32, value: &ScalarValue| {
            if best.as_ref().is_none_or(|(_, best)| !is_better(call, best, value)) {
                best = Some((row, value.clone()));
            }
        };
        if exclusion == FrameExclusion::Ties
            && frame.contains(&place.row)
            && let Some(value) = taken_value(call, self.own.at(file, place.row)?)?
        {
            take(place.row, &value);
        }
        if exclusion != FrameExclusion::Nothing {
            let behind = left_out.end..frame.end;
            if let Some((row, value)) = self.behind.best_of(call, file, partition, behind)? {
                take(*row, value);
            }
        }
        match (best, call.argument) {
            (Some((row, _)), Some(argument)) => {
                self.result.at(file, row)?.column(argument)?.append_to(0, out);
            }
            _ => append_null(out),
        }
        Ok(())
    }
}
