//! Folds: aggregates that are computed from the rows of a group, one after the other.
//!
//! Those of windows have a value for each row ([`RowFold`]); those of groups that do not fit in
//! memory have one in the end ([`CollectedFold`]).

use std::fmt;
use std::sync::Arc;

use crate::error::ExecResult;
use crate::value::{IntBounds, ValueClass};
use crate::vector::ColumnVector;

/// What folds packed rows into a value.
pub trait RowFold: Send + Sync {
    /// Returns the name of the aggregate.
    fn name(&self) -> &str;

    /// Returns what values are.
    fn class(&self) -> ValueClass;

    /// Returns where whole numbers lie.
    fn bounds(&self) -> IntBounds;

    /// Begins a group.
    fn start(&self) -> Box<dyn FoldState>;
}

/// A group under way.
pub trait FoldState: Send {
    /// Adds a row.
    ///
    /// # Errors
    /// Those of the aggregate.
    fn add(&mut self, row: &[u8]) -> ExecResult<()>;

    /// Appends the value of the rows so far, or null.
    ///
    /// # Errors
    /// Those of the aggregate.
    fn append_value(&mut self, out: &mut ColumnVector) -> ExecResult<()>;
}

/// A fold that plans share.
#[derive(Clone)]
pub struct FoldFunction(Arc<dyn RowFold>);

/// A fold over a column of packed rows; null ones are left out.
#[derive(Clone, Debug)]
pub struct FoldCall {
    pub fold: FoldFunction,
    pub argument: usize,
}

/// What folds the rows that a group has collected, of which there may be more than memory has.
pub trait CollectedFold: Send + Sync {
    /// Returns the name of the aggregate.
    fn name(&self) -> &str;

    /// Whether rows are added in the order of their keys.
    fn is_sorted(&self) -> bool;

    /// Takes the first of rows that stand one behind the other.
    ///
    /// # Errors
    /// [`crate::ExecError::Internal`] for no rows.
    fn take_row<'b>(&self, rows: &mut &'b [u8]) -> ExecResult<CollectedRow<'b>>;

    /// Begins a group; of an ordered set, so many rows count.
    fn start(&self, counted: u64) -> Box<dyn CollectedState>;
}

/// A row that was collected.
#[derive(Clone, Copy, Debug)]
pub struct CollectedRow<'b> {
    pub bytes: &'b [u8],
    pub key: &'b [u8],
    /// Whether the aggregate takes it.
    pub counts: bool,
}

/// A group under way.
pub trait CollectedState {
    /// Adds a row.
    ///
    /// # Errors
    /// Those of the aggregate.
    fn add(&mut self, row: &[u8]) -> ExecResult<()>;

    /// Returns about how many bytes it takes.
    fn bytes(&self) -> usize;

    /// Appends what stands for all rows, in their place.
    ///
    /// # Errors
    /// Those of the aggregate.
    fn finish(&mut self, out: &mut Vec<u8>) -> ExecResult<()>;
}

/// A fold of collected rows that plans share.
#[derive(Clone)]
pub struct CollectedFoldFunction(Arc<dyn CollectedFold>);

impl CollectedFoldFunction {
    /// Makes a function of a fold.
    pub fn new(fold: impl CollectedFold + 'static) -> Self {
        Self(Arc::new(fold))
    }
}

impl std::ops::Deref for CollectedFoldFunction {
    type Target = dyn CollectedFold;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for CollectedFoldFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl FoldFunction {
    /// Makes a function of a fold.
    pub fn new(fold: impl RowFold + 'static) -> Self {
        Self(Arc::new(fold))
    }
}

impl std::ops::Deref for FoldFunction {
    type Target = dyn RowFold;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for FoldFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}
