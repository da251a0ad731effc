//! The walk of analyzer rules over the expressions of a plan.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};

/// Rewrites the expressions of all nodes of a plan and of its subqueries, from below; outputs keep
/// their names. `rewrite` is given the columns that an expression may look at.
///
/// # Errors
/// Those of `rewrite`.
pub(crate) fn rewrite_expressions(
    plan: LogicalPlan,
    rewrite: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| {
        let columns = columns_below(&node);
        rewrite_node(node, |expr| rewrite(expr, &columns))
    })
    .map(|transformed| transformed.data)
}

/// As [`rewrite_expressions`], for one node.
///
/// # Errors
/// Those of `rewrite`.
pub(crate) fn rewrite_node(
    node: LogicalPlan,
    mut rewrite: impl FnMut(Expr) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let names = NamePreserver::new(&node);
    node.map_expressions(|expr| {
        let name = names.save(&expr);
        Ok(rewrite(expr)?.update_data(|expr| name.restore(expr)))
    })?
    .map_data(LogicalPlan::recompute_schema)
}

/// Returns the columns that a node's own expressions may look at.
pub(crate) fn columns_below(node: &LogicalPlan) -> DFSchema {
    let mut columns = merge_schema(&node.inputs());
    if let LogicalPlan::TableScan(scan) = node {
        columns.merge(&scan.projected_schema);
    }
    columns
}
