//! Which rows of a partition a function sees.
//!
//! ```text
//! rows 0 1 2 3 4 5; frame of row 2: from 0 to before 5, peers of 2: 2 3
//! exclude nothing: 0..5    current row: 0..2, 3..5    group: 0..2, 4..5    ties: 0..3, 4..5
//! ```

use std::ops::Range;

use nacre_types::datetime::{SqlDate, SqlTimestamp};
use nacre_types::{SqlInterval, ValueError};

use super::partition::{PartitionColumn, PartitionPeers, PartitionView};
use crate::error::{ExecError, ExecResult};
use crate::plan::{
    FrameEdge, FrameExclusion, FrameOffset, FrameRange, FrameUnit, SortKey, WindowFrame,
};
use crate::value::IntBounds;

/// The frames of all rows of a partition.
#[derive(Debug, Default)]
pub(super) struct FrameRows {
    pub(super) starts: Vec<u32>,
    /// Behind the last row.
    pub(super) ends: Vec<u32>,
}

/// The rows of a frame, in order: up to three ranges, none of them empty.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FramePieces {
    pieces: [(u32, u32); 3],
    count: usize,
}

impl FramePieces {
    /// Returns what an exclusion leaves of the frame of `row`, whose peers these are.
    pub(super) fn new(
        frame: Range<u32>,
        exclusion: FrameExclusion,
        row: u32,
        peers: impl FnOnce() -> Range<u32>,
    ) -> Self {
        let Range { start, end } = frame;
        let mut pieces = Self::default();
        let left_out = match exclusion {
            FrameExclusion::Nothing => {
                pieces.push(start, end);
                return pieces;
            }
            FrameExclusion::CurrentRow => row..row + 1,
            FrameExclusion::Group | FrameExclusion::Ties => peers(),
        };
        pieces.push(start, end.min(left_out.start));
        if exclusion == FrameExclusion::Ties {
            pieces.push(start.max(row), end.min(row + 1));
        }
        pieces.push(start.max(left_out.end), end);
        pieces
    }

    fn push(&mut self, start: u32, end: u32) {
        if start < end {
            self.pieces[self.count] = (start, end);
            self.count += 1;
        }
    }

    /// Returns the ranges.
    pub(super) fn ranges(&self) -> impl DoubleEndedIterator<Item = Range<usize>> {
        let pieces = self.pieces.into_iter().take(self.count);
        pieces.map(|(start, end)| start as usize..end as usize)
    }

    /// Returns the row at a position, counted from 0.
    pub(super) fn nth(&self, mut position: u64) -> Option<usize> {
        for range in self.ranges() {
            if position < range.len() as u64 {
                return Some(range.start + position as usize);
            }
            position -= range.len() as u64;
        }
        None
    }
}

impl FrameRows {
    /// Returns the rows of the frame of `row`.
    pub(super) fn pieces(
        &self,
        peers: &PartitionPeers,
        exclusion: FrameExclusion,
        row: usize,
    ) -> FramePieces {
        let frame = self.starts[row]..self.ends[row];
        FramePieces::new(frame, exclusion, row as u32, || peers.peers_of(row))
    }

    /// Finds the frames of a partition.
    ///
    /// # Errors
    /// 22008 for a distance that ends outside of its bounds; those of the query's control.
    pub(super) fn set(&mut self, view: &PartitionView<'_>, frame: &WindowFrame) -> ExecResult<()> {
        self.starts.clear();
        self.ends.clear();
        let (rows, peers) = (view.rows() as u32, view.peers);
        let range = match frame.range {
            Some(range) => Some(RangeColumn::new(view, range)?),
            None => None,
        };
        let (mut head, mut tail) = (0, 0);
        view.for_each_row(|row| {
            let start = match (frame.start, frame.unit, &range) {
                (FrameEdge::UnboundedPreceding | FrameEdge::UnboundedFollowing, ..) => 0,
                (edge, FrameUnit::Range, Some(range)) if edge.offset().is_some() => {
                    range.check(row, edge)?;
                    while head < rows && !range.is_from(head as usize, row, edge) {
                        head += 1;
                    }
                    head
                }
                (edge, FrameUnit::Rows, _) => row_start(edge, row, rows),
                (edge, ..) => group_start(edge, row, peers),
            };
            let end = match (frame.end, frame.unit, &range) {
                (FrameEdge::UnboundedFollowing | FrameEdge::UnboundedPreceding, ..) => rows,
                (edge, FrameUnit::Range, Some(range)) if edge.offset().is_some() => {
                    range.check(row, edge)?;
                    while tail < rows && range.is_until(tail as usize, row, edge) {
                        tail += 1;
                    }
                    tail
                }
                (edge, FrameUnit::Rows, _) => row_end(edge, row, rows),
                (edge, ..) => group_end(edge, row, peers),
            };
            debug_assert!(self.starts.last().is_none_or(|last| *last <= start));
            debug_assert!(self.ends.last().is_none_or(|last| *last <= end));
            self.starts.push(start);
            self.ends.push(end);
            Ok(())
        })
    }
}

/// Returns an offset as a number of rows or groups, at most `count`.
fn clamped(offset: FrameOffset, count: u32) -> u32 {
    match offset {
        FrameOffset::Int(offset) => offset.min(count.into()) as u32,
        FrameOffset::Float(_) | FrameOffset::Interval { .. } => count,
    }
}

fn row_start(edge: FrameEdge, row: usize, rows: u32) -> u32 {
    let row = row as u32;
    match edge {
        FrameEdge::Preceding(offset) => row.saturating_sub(clamped(offset, rows)),
        FrameEdge::Following(offset) => row.saturating_add(clamped(offset, rows)).min(rows),
        _ => row,
    }
}

fn row_end(edge: FrameEdge, row: usize, rows: u32) -> u32 {
    row_start(edge, row + 1, rows)
}

fn group_start(edge: FrameEdge, row: usize, peers: &PartitionPeers) -> u32 {
    let (group, count) = (peers.group_of[row], peers.groups.len() as u32 - 1);
    let group = match edge {
        FrameEdge::Preceding(offset) => group.saturating_sub(clamped(offset, count)),
        FrameEdge::Following(offset) => group.saturating_add(clamped(offset, count)).min(count),
        _ => group,
    };
    peers.groups[group as usize]
}

fn group_end(edge: FrameEdge, row: usize, peers: &PartitionPeers) -> u32 {
    let (behind, count) = (peers.group_of[row] + 1, peers.groups.len() as u32 - 1);
    let behind = match edge {
        FrameEdge::Preceding(offset) => behind.saturating_sub(clamped(offset, count)),
        FrameEdge::Following(offset) => behind.saturating_add(clamped(offset, count)).min(count),
        _ => behind,
    };
    peers.groups[behind as usize]
}

/// The values that distances are of.
struct RangeColumn<'p> {
    column: PartitionColumn<'p>,
    distance: RangeDistance,
}

/// How distances of values are measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct RangeDistance {
    key: SortKey,
    bounds: Option<IntBounds>,
}

/// A value that distances are of.
#[derive(Clone, Copy, Debug)]
pub(super) enum RangeValue {
    Null,
    Int(i128),
    Float(f64),
}

impl<'p> RangeColumn<'p> {
    fn new(view: &PartitionView<'p>, range: FrameRange) -> ExecResult<Self> {
        let column = view.column(range.key.column)?;
        Ok(Self { column, distance: RangeDistance::new(range) })
    }

    /// Refuses a distance from a row that ends outside of the bounds.
    fn check(&self, row: usize, edge: FrameEdge) -> ExecResult<()> {
        self.distance.check(RangeValue::of(&self.column, row), edge)
    }

    /// Whether `head` is not before the start of the frame of `row`.
    fn is_from(&self, head: usize, row: usize, edge: FrameEdge) -> bool {
        let (head, row) = (RangeValue::of(&self.column, head), RangeValue::of(&self.column, row));
        self.distance.is_from(head, row, edge)
    }

    /// Whether `tail` is not behind the end of the frame of `row`.
    fn is_until(&self, tail: usize, row: usize, edge: FrameEdge) -> bool {
        let (tail, row) = (RangeValue::of(&self.column, tail), RangeValue::of(&self.column, row));
        self.distance.is_until(tail, row, edge)
    }
}

impl RangeValue {
    /// Returns the value of a row.
    pub(super) fn of(column: &PartitionColumn<'_>, row: usize) -> Self {
        match (column.int(row), column.float(row)) {
            (Some(value), _) => Self::Int(value),
            (None, Some(value)) => Self::Float(value),
            (None, None) => Self::Null,
        }
    }

    fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }
}

impl RangeDistance {
    pub(super) fn new(range: FrameRange) -> Self {
        let FrameRange { key, bounds } = range;
        Self { key, bounds }
    }

    /// Whether the offset of an edge is subtracted from the current row's value.
    fn subtracts(&self, edge: FrameEdge) -> bool {
        matches!(edge, FrameEdge::Preceding(_)) != self.key.is_descending
    }

    /// Refuses a distance from a row's value that ends outside of the bounds.
    ///
    /// # Errors
    /// 22008 for such a distance.
    pub(super) fn check(&self, row: RangeValue, edge: FrameEdge) -> ExecResult<()> {
        let (Some(bounds), RangeValue::Int(value)) = (self.bounds, row) else {
            return Ok(());
        };
        let offset = match edge.offset() {
            Some(FrameOffset::Int(offset)) => offset,
            Some(offset @ FrameOffset::Interval { .. }) => {
                let end = interval_end(value, offset, self.subtracts(edge));
                return end.map(|_| ()).map_err(ExecError::of_value);
            }
            _ => return Ok(()),
        };
        let end = i128::try_from(offset).ok().and_then(|offset| {
            if self.subtracts(edge) { value.checked_sub(offset) } else { value.checked_add(offset) }
        });
        if end.is_some_and(|end| bounds.contains(IntBounds::of(end))) {
            return Ok(());
        }
        let message = "timestamp out of range".to_owned();
        Err(ExecError::Function { sqlstate: "22008", message })
    }

    /// Whether a row of the value `head` is not before the start of the frame of `row`.
    pub(super) fn is_from(&self, head: RangeValue, row: RangeValue, edge: FrameEdge) -> bool {
        match (head.is_null(), row.is_null()) {
            (false, false) => self.compare(head, row, edge, self.key.is_descending),
            (is_head_null, is_row_null) if self.key.is_nulls_first => !is_head_null || is_row_null,
            (is_head_null, is_row_null) => is_head_null || !is_row_null,
        }
    }

    /// Whether a row of the value `tail` is not behind the end of the frame of `row`.
    pub(super) fn is_until(&self, tail: RangeValue, row: RangeValue, edge: FrameEdge) -> bool {
        match (tail.is_null(), row.is_null()) {
            (false, false) => self.compare(tail, row, edge, !self.key.is_descending),
            (is_tail_null, is_row_null) if self.key.is_nulls_first => is_tail_null || !is_row_null,
            (is_tail_null, is_row_null) => !is_tail_null || is_row_null,
        }
    }

    /// Compares a value with that of the current row and the offset: `<=` if `is_less`, else `>=`.
    fn compare(&self, value: RangeValue, base: RangeValue, edge: FrameEdge, is_less: bool) -> bool {
        let subtracts = self.subtracts(edge);
        match (edge.offset(), value, base) {
            (Some(FrameOffset::Int(offset)), RangeValue::Int(value), RangeValue::Int(base)) => {
                let distance = value.abs_diff(base);
                match (is_less, subtracts) {
                    (true, false) => value <= base || distance <= offset,
                    (true, true) => value <= base && distance >= offset,
                    (false, false) => value >= base && distance >= offset,
                    (false, true) => value >= base || distance <= offset,
                }
            }
            (
                Some(offset @ FrameOffset::Interval { is_of_dates, .. }),
                RangeValue::Int(value),
                RangeValue::Int(base),
            ) => {
                // Ends outside of the range were refused.
                let end = interval_end(base, offset, subtracts);
                let value = moment_of(value, is_of_dates);
                value.is_ok_and(|value| {
                    end.is_ok_and(|end| if is_less { value <= end } else { value >= end })
                })
            }
            (
                Some(FrameOffset::Float(offset)),
                RangeValue::Float(value),
                RangeValue::Float(base),
            ) => compare_float(value, base, offset, subtracts, is_less),
            _ => false,
        }
    }
}

/// Returns the timestamp of days or microseconds from 1970-01-01.
fn moment_of(value: i128, is_of_dates: bool) -> Result<SqlTimestamp, ValueError> {
    let beyond = || ValueError::range_of("timestamp");
    let value = i64::try_from(value).map_err(|_| beyond())?;
    if is_of_dates {
        SqlDate::from_unix_days(value)?.timestamp()
    } else {
        SqlTimestamp::from_unix_micros(value)
    }
}

/// Returns the timestamp an interval away from a value.
fn interval_end(
    value: i128,
    offset: FrameOffset,
    subtracts: bool,
) -> Result<SqlTimestamp, ValueError> {
    let FrameOffset::Interval { months, days, micros, is_of_dates } = offset else {
        return Err(ValueError::internal("a distance that is no interval"));
    };
    let interval = SqlInterval { months, days, micros };
    let interval = if subtracts { interval.negate()? } else { interval };
    moment_of(value, is_of_dates)?.add_interval(interval)
}

/// Compares as PostgreSQL's `in_range` of floats does: NaN is greater than all numbers and no
/// distance from itself, and infinities reach each other by an infinite offset.
fn compare_float(value: f64, base: f64, offset: f64, subtracts: bool, is_less: bool) -> bool {
    if value.is_nan() {
        return base.is_nan() || !is_less;
    }
    if base.is_nan() {
        return is_less;
    }
    let is_undefined = if subtracts { base > 0.0 } else { base < 0.0 };
    if offset.is_infinite() && base.is_infinite() && is_undefined {
        return true;
    }
    let end = if subtracts { base - offset } else { base + offset };
    if is_less { value <= end } else { value >= end }
}
