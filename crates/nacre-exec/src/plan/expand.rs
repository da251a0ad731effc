//! Sets of values for each row.

use std::fmt;
use std::sync::Arc;

use super::node::PlanNode;
use crate::error::ExecResult;
use crate::value::{IntBounds, ScalarValue, ValueClass};

/// Hands on each row as often as the longest of its sets has values: the columns of the input, a
/// column for each set, null behind the end of a shorter one, then, if that is wanted, the place in
/// the sets from 1 on.
#[derive(Clone, Debug)]
pub struct ExpandNode {
    pub input: PlanNode,
    pub sets: Vec<SetColumn>,
    pub has_ordinality: bool,
}

/// The values of a set, one after the other.
pub type SetValues = Box<dyn Iterator<Item = ExecResult<ScalarValue>> + Send>;

/// Gives the value of a column of the input in the row that a set is of.
pub type RowReader<'r> = dyn Fn(usize) -> ScalarValue + 'r;

/// Makes the set of a row.
type SetMaker = dyn Fn(&RowReader<'_>) -> ExecResult<SetValues> + Send + Sync;

/// A column of the values of sets.
#[derive(Clone)]
pub struct SetColumn {
    pub name: &'static str,
    pub class: ValueClass,
    /// Of whole numbers.
    pub bounds: IntBounds,
    /// Whether equal rows may have different sets.
    is_volatile: bool,
    make: Arc<SetMaker>,
}

impl SetColumn {
    /// Makes a column whose sets `make` makes.
    pub fn new(
        name: &'static str,
        (class, bounds): (ValueClass, IntBounds),
        make: impl Fn(&RowReader<'_>) -> ExecResult<SetValues> + Send + Sync + 'static,
    ) -> Self {
        Self { name, class, bounds, is_volatile: false, make: Arc::new(make) }
    }

    /// Says whether equal rows may have different sets.
    pub(crate) fn with_volatility(self, is_volatile: bool) -> Self {
        Self { is_volatile, ..self }
    }

    pub(crate) fn is_volatile(&self) -> bool {
        self.is_volatile
    }

    /// Begins the set of a row.
    ///
    /// # Errors
    /// Those of the function.
    pub(crate) fn begin(&self, row: &RowReader<'_>) -> ExecResult<SetValues> {
        (self.make)(row)
    }
}

impl fmt::Debug for SetColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
