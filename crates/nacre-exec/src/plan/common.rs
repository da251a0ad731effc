//! Queries whose rows are computed once and read more often.

use std::sync::Arc;

use super::called::CalledQuery;
use super::node::PlanNode;
use crate::value::{IntBounds, OnceValue, ValueClass};

/// The root of a plan: computes `queries`, each of which may read those before it, then `input`. An
/// error of values in a query is raised where its rows, or its value, are read.
#[derive(Clone, Debug)]
pub struct CommonNode {
    /// [`PlanNode::Once`], [`PlanNode::Called`] and [`PlanNode::Recursion`] stand here alone.
    pub queries: Vec<PlanNode>,
    pub input: PlanNode,
}

/// Hands on the rows that a query of [`CommonNode`] has computed, in no order.
#[derive(Clone, Debug)]
pub struct CommonScanNode {
    /// Its place in [`CommonNode::queries`].
    pub query: usize,
    /// Of people; not unique.
    pub name: String,
    /// How many columns it has.
    pub width: usize,
    pub rows_expected: f64,
    /// Whether it has one row at most.
    pub has_one_row: bool,
    /// Whether the rows are those that a run of the plan is given: arguments of a call, or the rows
    /// that a recursion made last.
    pub is_of_run: bool,
}

/// A part of a plan that is run more than once, which does not read what a run is given: it is
/// computed by the first run that reads its rows, and kept for all others of one execution.
#[derive(Clone, Debug)]
pub struct KeptNode {
    pub input: PlanNode,
    /// Tells the parts of one plan apart; from 0 on.
    pub part: usize,
}

/// Computes a value that expressions ask for: that of a column in the only row, null of no row;
/// several are an error.
#[derive(Clone, Debug)]
pub struct OnceNode {
    pub input: PlanNode,
    pub column: usize,
    pub value: Arc<OnceValue>,
}

/// Is run for rows of arguments, as expressions ask for its values.
#[derive(Clone, Debug)]
pub struct CalledNode {
    /// Reads the arguments by [`CommonScanNode`], as the query that this node is. It and `step` of
    /// [`RecursionNode`] alone may have [`KeptNode`].
    pub input: PlanNode,
    /// The number of a row, and its arguments.
    pub arguments: Vec<RecursionColumn>,
    /// The number of a row, and the value for it, at most one for each.
    pub outputs: Vec<RecursionColumn>,
    pub query: Arc<CalledQuery>,
}

/// Hands on the rows of `first`, then those that `step` makes of them, then those that it makes of
/// these, and so on, until there are none. Each side has `columns`, in this order. If one reader
/// has it alone, rows are made as that asks for them.
#[derive(Clone, Debug)]
pub struct RecursionNode {
    pub first: PlanNode,
    /// Reads the rows of the last time by [`CommonScanNode`], as the query that this node is.
    pub step: PlanNode,
    pub columns: Vec<RecursionColumn>,
    /// Whether rows that came before are left out.
    pub is_distinct: bool,
    /// Whether `step` makes rows of one row after the other, in their order: if it fails, those
    /// before are handed on.
    pub is_row_by_row: bool,
}

/// A column of a recursion, or of a query that is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecursionColumn {
    pub class: ValueClass,
    /// Of whole numbers.
    pub bounds: IntBounds,
    /// Whether the bytes are numerics of any scale.
    pub is_exact: bool,
}
