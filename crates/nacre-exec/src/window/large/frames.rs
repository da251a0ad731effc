//! Where rows of a file stand in their partitions, and where their frames begin and end.

use std::ops::Range;

use super::super::frames::{FramePieces, RangeDistance, RangeValue};
use super::super::plan::PlannedWindow;
use super::file::{PartitionFile, RowReader};
use crate::error::ExecResult;
use crate::plan::{FrameEdge, FrameExclusion, FrameOffset, FrameUnit, WindowFrame};

/// A row, its partition and its peers, by numbers of rows in the file.
#[derive(Clone, Debug)]
pub(super) struct PlacedRow {
    pub(super) row: u32,
    pub(super) partition: Range<u32>,
    /// The number of groups of peers before its own.
    pub(super) group: u32,
    /// The first of its peers.
    pub(super) peers_start: u32,
}

/// Finds the places of rows, one after the other.
#[derive(Debug)]
pub(super) struct PlaceCursor {
    partition_keys: usize,
    peer_keys: usize,
    last: PlacedRow,
    reader: RowReader,
    /// Looks for the ends of partitions.
    ahead: RowReader,
}

/// The frame of a row, and the end of its peers if an exclusion asks for it.
#[derive(Clone, Debug)]
pub(super) struct FrameSpan {
    pub(super) rows: Range<u32>,
    peers_end: u32,
}

/// Finds the frames of rows, one after the other.
#[derive(Debug)]
pub(super) struct FrameCursor {
    pub(super) frame: WindowFrame,
    distance: Option<RangeDistance>,
    start: EdgePointer,
    end: EdgePointer,
    peers_end: EdgePointer,
    /// Of the values that distances are from.
    reader: RowReader,
}

/// A row that only moves forward within a partition.
#[derive(Debug)]
struct EdgePointer {
    peer_keys: usize,
    partition: Range<u32>,
    row: u32,
    /// The number of groups of peers before the row's own.
    group: u32,
    reader: RowReader,
}

impl PlaceCursor {
    /// Begins before the first row.
    pub(super) fn new(window: &PlannedWindow) -> Self {
        let (partition_keys, peer_keys) = (window.partition_keys, window.peer_keys);
        let last = PlacedRow { row: 0, partition: 0..0, group: 0, peers_start: 0 };
        let (reader, ahead) = (RowReader::default(), RowReader::default());
        Self { partition_keys, peer_keys, last, reader, ahead }
    }

    /// Returns the place of the next row, which is `row`.
    ///
    /// # Errors
    /// Those of [`RowReader::at`].
    pub(super) fn next(&mut self, file: &PartitionFile, row: u32) -> ExecResult<PlacedRow> {
        let common = self.reader.at(file, row)?.common_parts();
        if row == self.last.partition.end {
            let mut end = row + 1;
            if self.partition_keys == 0 {
                end = file.rows();
            }
            while end < file.rows()
                && self.ahead.at(file, end)?.common_parts() >= self.partition_keys
            {
                end += 1;
            }
            self.last = PlacedRow { row, partition: row..end, group: 0, peers_start: row };
        } else if common < self.peer_keys {
            self.last.group += 1;
            self.last.peers_start = row;
        }
        self.last.row = row;
        Ok(self.last.clone())
    }
}

impl FrameSpan {
    /// Returns what an exclusion leaves of the frame.
    pub(super) fn pieces(&self, place: &PlacedRow, exclusion: FrameExclusion) -> FramePieces {
        let peers = || place.peers_start..self.peers_end;
        FramePieces::new(self.rows.clone(), exclusion, place.row, peers)
    }

    /// Returns the frame, of which what an exclusion leaves out is a part that may be empty.
    /// Neither begins or ends before that of the row before.
    pub(super) fn with_left_out(
        &self,
        place: &PlacedRow,
        exclusion: FrameExclusion,
    ) -> (Range<u32>, Range<u32>) {
        let start = self.rows.start;
        let end = self.rows.end.max(start);
        let left_out = match exclusion {
            FrameExclusion::Nothing => end..end,
            FrameExclusion::CurrentRow => place.row..place.row + 1,
            FrameExclusion::Group | FrameExclusion::Ties => place.peers_start..self.peers_end,
        };
        let left_out = left_out.start.clamp(start, end)..left_out.end.clamp(start, end);
        (start..end, left_out)
    }
}

impl FrameCursor {
    pub(super) fn new(frame: WindowFrame, window: &PlannedWindow) -> Self {
        let pointer = || EdgePointer {
            peer_keys: window.peer_keys,
            partition: 0..0,
            row: 0,
            group: 0,
            reader: RowReader::default(),
        };
        Self {
            frame,
            distance: frame.range.map(RangeDistance::new),
            start: pointer(),
            end: pointer(),
            peers_end: pointer(),
            reader: RowReader::default(),
        }
    }

    /// Returns the frame of the next row.
    ///
    /// # Errors
    /// 22008 for a distance that ends outside of its bounds; those of [`RowReader::at`].
    pub(super) fn next(
        &mut self,
        file: &PartitionFile,
        place: &PlacedRow,
    ) -> ExecResult<FrameSpan> {
        let WindowFrame { unit, start, end, exclusion, .. } = self.frame;
        let PlacedRow { row, partition, group, .. } = place;
        let start = match (start, unit) {
            (FrameEdge::UnboundedPreceding | FrameEdge::UnboundedFollowing, _) => partition.start,
            (edge, FrameUnit::Rows) => moved(edge, *row, partition),
            (edge, FrameUnit::Range) if edge.offset().is_some() => {
                let (value, distance) = self.distance_from(file, *row, edge)?;
                self.start.move_while(file, partition, self.frame.range, |head| {
                    !distance.is_from(head, value, edge)
                })?
            }
            (edge, _) => {
                let wanted = moved(edge, *group, &(0..u32::MAX));
                self.start.move_to_group(file, partition, wanted)?
            }
        };
        let end = match (end, unit) {
            (FrameEdge::UnboundedFollowing | FrameEdge::UnboundedPreceding, _) => partition.end,
            (edge, FrameUnit::Rows) => moved(edge, *row + 1, partition),
            (edge, FrameUnit::Range) if edge.offset().is_some() => {
                let (value, distance) = self.distance_from(file, *row, edge)?;
                self.end.move_while(file, partition, self.frame.range, |tail| {
                    distance.is_until(tail, value, edge)
                })?
            }
            (edge, _) => {
                let wanted = moved(edge, *group + 1, &(0..u32::MAX));
                self.end.move_to_group(file, partition, wanted)?
            }
        };
        let peers_end = match exclusion {
            FrameExclusion::Nothing | FrameExclusion::CurrentRow => row + 1,
            FrameExclusion::Group | FrameExclusion::Ties => {
                self.peers_end.move_to_group(file, partition, *group + 1)?
            }
        };
        Ok(FrameSpan { rows: start..end, peers_end })
    }

    /// Returns the value of a row and how distances from it are measured; refuses one that ends
    /// outside of its bounds.
    fn distance_from(
        &mut self,
        file: &PartitionFile,
        row: u32,
        edge: FrameEdge,
    ) -> ExecResult<(RangeValue, RangeDistance)> {
        let (Some(range), Some(distance)) = (self.frame.range, self.distance) else {
            return Err(crate::ExecError::internal("a distance of no value"));
        };
        let value = RangeValue::of(&self.reader.at(file, row)?.column(range.key.column)?, 0);
        distance.check(value, edge)?;
        Ok((value, distance))
    }
}

/// Returns the number that an edge is from `from`, within bounds.
fn moved(edge: FrameEdge, from: u32, bounds: &Range<u32>) -> u32 {
    let rows = |offset| match offset {
        FrameOffset::Int(offset) => u32::try_from(offset).unwrap_or(u32::MAX),
        FrameOffset::Float(_) | FrameOffset::Interval { .. } => u32::MAX,
    };
    let moved = match edge {
        FrameEdge::Preceding(offset) => from.saturating_sub(rows(offset)),
        FrameEdge::Following(offset) => from.saturating_add(rows(offset)),
        _ => from,
    };
    moved.clamp(bounds.start, bounds.end)
}

impl EdgePointer {
    /// Begins a partition if it is another one.
    fn begin(&mut self, partition: &Range<u32>) {
        if self.partition != *partition {
            (self.row, self.group) = (partition.start, 0);
            self.partition = partition.clone();
        }
    }

    /// Moves to the first row that is of the group or of one behind it.
    fn move_to_group(
        &mut self,
        file: &PartitionFile,
        partition: &Range<u32>,
        group: u32,
    ) -> ExecResult<u32> {
        self.begin(partition);
        while self.row < partition.end && self.group < group {
            self.row += 1;
            if self.row < partition.end
                && self.reader.at(file, self.row)?.common_parts() < self.peer_keys
            {
                self.group += 1;
            }
        }
        Ok(self.row)
    }

    /// Moves to the first row whose value is not one to go on from.
    fn move_while(
        &mut self,
        file: &PartitionFile,
        partition: &Range<u32>,
        range: Option<crate::plan::FrameRange>,
        goes_on: impl Fn(RangeValue) -> bool,
    ) -> ExecResult<u32> {
        self.begin(partition);
        let column = range.map_or(0, |range| range.key.column);
        while self.row < partition.end {
            let value = RangeValue::of(&self.reader.at(file, self.row)?.column(column)?, 0);
            if !goes_on(value) {
                break;
            }
            self.row += 1;
        }
        Ok(self.row)
    }
}
