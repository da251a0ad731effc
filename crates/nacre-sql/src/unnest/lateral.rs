//! Queries in FROM that refer to tables before them (LATERAL), as joins.
//!
//! The planner's own rule takes conditions out of the query, also from below windows, limits and
//! HAVING, which changes rows. So all of them go through the [`Domain`].

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, not_impl_err};
use datafusion::logical_expr::{Join, JoinType, LogicalPlan, Subquery, SubqueryAlias};

use super::domain::Domain;
use super::references::references;
use super::values::{handed_in, has_volatile};

/// Message for queries in FROM that are not understood.
pub(crate) const MISREAD_LATERAL: &str =
    "this subquery, which refers to a table beside it (LATERAL)";

/// Makes an ordinary join of one whose right side refers to its left one.
///
/// # Errors
/// `not supported` if the query is not understood.
pub(super) fn lateral(join: Join, names: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let query = match query_of(&join.right) {
        Some(query) if !references(&query.subquery)?.is_empty() => query.clone(),
        _ => return Ok(Transformed::no(LogicalPlan::Join(join))),
    };
    let Some(columns) = handed_in(&query, join.left.schema())? else {
        // It may refer to a query further out, which then is looked at later.
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    };
    let is_known = matches!(join.join_type, JoinType::Inner | JoinType::Left) && join.on.is_empty();
    // The left side is going to be computed twice.
    if !is_known || has_volatile(&join.left)? {
        return not_impl_err!("{MISREAD_LATERAL}");
    }
    match Domain::new(&join.left, columns, names).join_rows(&join, &query.subquery)? {
        Some(plan) => Ok(Transformed::yes(plan)),
        None => not_impl_err!("{MISREAD_LATERAL}"),
    }
}

/// Returns the query that is a side of a join.
fn query_of(side: &LogicalPlan) -> Option<&Subquery> {
    match side {
        LogicalPlan::Subquery(query) => Some(query),
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => query_of(input),
        _ => None,
    }
}
