//! Queries that are computed once, and what reads them.

use super::{ColumnId, RelationalOperator};

/// A query of WITH whose rows are computed once and kept for all that read them.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonQuery {
    pub name: String,
    /// It may read the common queries before it.
    pub root: RelationalOperator,
    /// Columns of `root`; one may come twice.
    pub outputs: Vec<ColumnId>,
}

/// What a plan knows of a common query where it reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonReference {
    /// Its place in [`super::QueryPlan::common`].
    pub index: usize,
    /// Whether computing it may fail.
    pub may_fail: bool,
    /// Whether it has one row, never more or less.
    pub has_one_row: bool,
    /// Positions of outputs that no two rows have the same values of.
    pub key: Option<Vec<usize>>,
    /// How many rows are expected; `None` before the optimizer has said so.
    pub rows_expected: Option<f64>,
}
