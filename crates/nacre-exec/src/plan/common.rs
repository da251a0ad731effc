//! Queries whose rows are computed once and read more often.

use super::node::PlanNode;

/// The root of a plan: computes `queries`, each of which may read those before it, then `input`.
#[derive(Clone, Debug)]
pub struct CommonNode {
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
}
