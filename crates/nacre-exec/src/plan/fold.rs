//! Folds: aggregates that are computed from the rows of a group, one after the other.

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
