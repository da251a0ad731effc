//! The node of window functions.

use super::fold::FoldCall;
use super::node::{AggregateCall, AggregateFunction, PlanNode, SortKey};
use crate::value::IntBounds;

/// Sorts by `keys` and computes window functions: of each window the first keys divide partitions,
/// and those after them order the rows of one. The output is the columns of the input, then those
/// of the calls, window by window. Rows come in no order.
///
/// ```text
/// keys a, b; window of partition a, order b: rank, sum(c)
///   a b c      a b c rank sum
///   1 7 5      1 7 5 1    5
///   2 8 6      1 9 4 2    9
///   1 9 4      2 8 6 1    6
/// ```
#[derive(Clone, Debug)]
pub struct WindowNode {
    pub input: PlanNode,
    pub keys: Vec<SortKey>,
    pub windows: Vec<WindowSpecification>,
}

/// A window: which keys it is of, and its functions.
#[derive(Clone, Debug)]
pub struct WindowSpecification {
    /// The first so many keys divide partitions.
    pub partition_keys: usize,
    /// So many keys after them order; rows that are equal in them are peers.
    pub order_keys: usize,
    pub calls: Vec<WindowCall>,
}

/// A function and the rows that it sees.
#[derive(Clone, Debug)]
pub struct WindowCall {
    pub function: WindowFunction,
    /// Not looked at by functions of the whole partition.
    pub frame: WindowFrame,
}

/// Functions of a row and those around it. Columns are those of the input.
#[derive(Clone, Debug)]
pub enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile {
        buckets: WindowNumber,
    },
    /// `lag` and `lead`.
    Shift {
        argument: usize,
        distance: WindowNumber,
        is_lead: bool,
        /// Outside of the partition; null without one.
        default: Option<usize>,
    },
    FirstValue {
        argument: usize,
    },
    LastValue {
        argument: usize,
    },
    NthValue {
        argument: usize,
        position: WindowNumber,
    },
    /// All but counts of distinct values.
    Aggregate(AggregateCall),
    Fold(FoldCall),
}

/// A whole number, `None` if it is null, or the column that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowNumber {
    Constant(Option<i64>),
    Column(usize),
}

/// The rows that a function sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowFrame {
    pub unit: FrameUnit,
    pub start: FrameEdge,
    pub end: FrameEdge,
    pub exclusion: FrameExclusion,
    /// What distances are of: the only key that orders; `None` without distances.
    pub range: Option<FrameRange>,
}

/// What the edges of a frame count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameUnit {
    Rows,
    /// Distances of a value.
    Range,
    /// Groups of peers.
    Groups,
}

/// Where a frame begins or ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrameEdge {
    UnboundedPreceding,
    Preceding(FrameOffset),
    /// Of ranges and groups: with all peers.
    CurrentRow,
    Following(FrameOffset),
    UnboundedFollowing,
}

/// How far an edge is from the current row; neither negative nor NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrameOffset {
    /// Rows, groups, or a distance of whole numbers.
    Int(u128),
    /// A distance of floats.
    Float(f64),
    /// A distance of timestamps, or of dates as the timestamps of their midnights.
    Interval { months: i32, days: i32, micros: i64, is_of_dates: bool },
}

/// The rows that a frame leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameExclusion {
    Nothing,
    CurrentRow,
    /// All peers.
    Group,
    /// All other peers.
    Ties,
}

/// The value that distances are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRange {
    pub key: SortKey,
    /// Where the ends of distances must lie: 22008 beyond, as for timestamps; `None` for numbers.
    pub bounds: Option<IntBounds>,
}

impl WindowFrame {
    /// From the partition's start to the last peer of the current row.
    pub const DEFAULT: Self = Self {
        unit: FrameUnit::Range,
        start: FrameEdge::UnboundedPreceding,
        end: FrameEdge::CurrentRow,
        exclusion: FrameExclusion::Nothing,
        range: None,
    };
}

impl FrameEdge {
    /// Returns how far it is from the current row, if that is counted.
    pub(crate) fn offset(self) -> Option<FrameOffset> {
        match self {
            Self::Preceding(offset) | Self::Following(offset) => Some(offset),
            Self::UnboundedPreceding | Self::CurrentRow | Self::UnboundedFollowing => None,
        }
    }
}

impl WindowFunction {
    /// Returns how many columns it gives.
    pub(crate) fn width(&self) -> usize {
        match self {
            Self::Aggregate(call) if call.function == AggregateFunction::AverageState => 2,
            _ => 1,
        }
    }
}

impl WindowNode {
    /// Returns how many columns it adds.
    pub(crate) fn added_width(&self) -> usize {
        let calls = self.windows.iter().flat_map(|window| &window.calls);
        calls.map(|call| call.function.width()).sum()
    }
}
