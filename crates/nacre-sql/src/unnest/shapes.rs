//! Correlated subqueries that the planner would make wrong joins of.
//!
//! It moves conditions on the outer query out of the subquery, into the condition of a join. That
//! is wrong, or fails, where they stand below something that their columns do not come through
//! ([`stands_in_the_way`]), or look at columns that an outer join may leave empty.

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, Result};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Distinct as PlannedDistinct, LogicalPlan};

use super::references::{is_deep, references, subquery};

/// Whether the planner should not be given `query` of EXISTS or IN.
pub(super) fn is_opaque(query: &LogicalPlan) -> Result<bool> {
    Ok(is_misread(query)?
        || query.exists(|node| Ok(aggregates(node) && refers_below(node)?))?
        || query.exists(|node| {
            let is_limited = matches!(node, LogicalPlan::Limit(_));
            Ok(refers_outside_conditions(node)?
                || is_limited && !node.all_out_ref_exprs().is_empty())
        })?)
}

/// Whether the planner should not be given `query`, also as a scalar one.
pub(super) fn is_misread(query: &LogicalPlan) -> Result<bool> {
    if references(query)?.is_empty() {
        return Ok(false);
    }
    let mut aggregations = 0;
    let stands = query.exists(|node| {
        if aggregates(node) && refers_below(node)? {
            aggregations += 1;
        }
        Ok(stands_in_the_way(node) && refers_below(node)? || is_hidden(node)?)
    })?;
    Ok(stands || aggregations > 1 || is_deep(query)?)
}

/// Whether a node that is no condition refers to the outer query.
pub(super) fn refers_outside_conditions(node: &LogicalPlan) -> Result<bool> {
    let mut refers = false;
    node.apply_expressions(|expr| {
        refers |= expr.contains_outer();
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(refers && !matches!(node, LogicalPlan::Filter(_)))
}

fn aggregates(node: &LogicalPlan) -> bool {
    match node {
        LogicalPlan::Aggregate(one) => !one.aggr_expr.is_empty() || one.group_expr.is_empty(),
        _ => false,
    }
}

/// Whether a condition of below a node means something else above it.
fn stands_in_the_way(node: &LogicalPlan) -> bool {
    use LogicalPlan::{Aggregate, Distinct, Filter, Join, Limit, Projection};
    let is_passed = match node {
        Projection(_) | Filter(_) | Aggregate(_) | Join(_) | Limit(_) => true,
        Distinct(distinct) => matches!(distinct, PlannedDistinct::All(_)),
        _ => false,
    };
    !is_passed
}

fn refers_below(node: &LogicalPlan) -> Result<bool> {
    for input in node.inputs() {
        if !references(input)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a condition on the outer query has a subquery, or looks at what may be left empty.
fn is_hidden(node: &LogicalPlan) -> Result<bool> {
    let LogicalPlan::Filter(filter) = node else { return Ok(false) };
    for condition in split_conjunction(&filter.predicate) {
        if !condition.contains_outer() {
            continue;
        }
        let is_emptied = |column: &&Column| may_be_left_empty(&filter.input, column);
        if condition.exists(|part| Ok(subquery(part).is_some()))?
            || condition.column_refs().iter().any(is_emptied)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a column comes from a side of an outer join that may have no row.
fn may_be_left_empty(plan: &LogicalPlan, column: &Column) -> bool {
    match plan {
        LogicalPlan::Filter(filter) => may_be_left_empty(&filter.input, column),
        LogicalPlan::Join(join) => {
            let is_left = join.left.schema().has_column(column);
            match (join.join_type, is_left) {
                (JoinType::Full, _) | (JoinType::Left, false) | (JoinType::Right, true) => true,
                (_, true) => may_be_left_empty(&join.left, column),
                (_, false) => may_be_left_empty(&join.right, column),
            }
        }
        other => other.inputs().into_iter().any(has_outer_join),
    }
}

fn has_outer_join(plan: &LogicalPlan) -> bool {
    let outer = [JoinType::Left, JoinType::Right, JoinType::Full];
    let is_outer = matches!(plan, LogicalPlan::Join(join) if outer.contains(&join.join_type));
    is_outer || plan.inputs().into_iter().any(has_outer_join)
}
