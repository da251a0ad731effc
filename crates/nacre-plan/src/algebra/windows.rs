//! Window functions: a value for each row, of rows around it.

use nacre_functions::catalog::FunctionEntry;
use nacre_types::SqlType;

use super::{ColumnId, ScalarExpression};

/// A call of a window function, or of an aggregate over a window.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundWindowCall {
    pub function: &'static FunctionEntry,
    /// Empty for `count(*)`.
    pub arguments: Vec<ScalarExpression>,
    /// Of aggregates.
    pub filter: Option<ScalarExpression>,
    pub result: SqlType,
}

/// A column that a window function makes.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowColumn {
    pub column: ColumnId,
    pub call: BoundWindowCall,
    pub frame: BoundWindowFrame,
}

/// The rows of a partition that a function of a row sees.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundWindowFrame {
    pub unit: WindowFrameUnit,
    pub start: WindowFrameEdge,
    pub end: WindowFrameEdge,
    pub exclusion: WindowFrameExclusion,
}

/// What the edges of a frame count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFrameUnit {
    Rows,
    /// Distances of the value that is ordered by.
    Range,
    /// Groups of rows that are equal in what is ordered by.
    Groups,
}

/// Where a frame begins or ends. Offsets have no columns; those of rows and groups are `bigint`.
#[derive(Clone, Debug, PartialEq)]
pub enum WindowFrameEdge {
    UnboundedPreceding,
    Preceding(ScalarExpression),
    /// Of ranges and groups: with all rows that are equal in what is ordered by.
    CurrentRow,
    Following(ScalarExpression),
    UnboundedFollowing,
}

/// Rows that a frame leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowFrameExclusion {
    Nothing,
    CurrentRow,
    /// The rows that are equal to the current one in what is ordered by, itself included.
    Group,
    /// As `Group`, but the current row stays.
    Ties,
}

impl BoundWindowCall {
    /// Returns its arguments, then its condition.
    pub fn expressions(&self) -> Vec<&ScalarExpression> {
        self.arguments.iter().chain(&self.filter).collect()
    }

    /// As [`Self::expressions`], to be changed.
    pub fn expressions_mut(&mut self) -> Vec<&mut ScalarExpression> {
        self.arguments.iter_mut().chain(&mut self.filter).collect()
    }
}

impl BoundWindowFrame {
    /// Returns the frame of a window that names none.
    pub(crate) fn default_frame() -> Self {
        Self {
            unit: WindowFrameUnit::Range,
            start: WindowFrameEdge::UnboundedPreceding,
            end: WindowFrameEdge::CurrentRow,
            exclusion: WindowFrameExclusion::Nothing,
        }
    }

    /// Returns the offsets of its edges.
    pub fn offsets(&self) -> Vec<&ScalarExpression> {
        [&self.start, &self.end].into_iter().filter_map(WindowFrameEdge::offset).collect()
    }

    /// As [`Self::offsets`], to be changed.
    pub fn offsets_mut(&mut self) -> Vec<&mut ScalarExpression> {
        let edges = [&mut self.start, &mut self.end].into_iter();
        edges.filter_map(WindowFrameEdge::offset_mut).collect()
    }
}

impl WindowFrameEdge {
    fn offset_mut(&mut self) -> Option<&mut ScalarExpression> {
        match self {
            Self::Preceding(offset) | Self::Following(offset) => Some(offset),
            Self::UnboundedPreceding | Self::CurrentRow | Self::UnboundedFollowing => None,
        }
    }

    /// Returns how far it is from the current row, if that is written.
    pub fn offset(&self) -> Option<&ScalarExpression> {
        match self {
            Self::Preceding(offset) | Self::Following(offset) => Some(offset),
            Self::UnboundedPreceding | Self::CurrentRow | Self::UnboundedFollowing => None,
        }
    }
}
