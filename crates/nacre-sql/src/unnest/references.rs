//! What a subquery refers to outside of itself, also from subqueries within it.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};

/// Returns the references of a plan to columns that none of its own nodes has, each column once.
pub(crate) fn references(plan: &LogicalPlan) -> Result<Vec<Expr>> {
    let mut found = Vec::new();
    gather(plan, &mut found)?;
    Ok(found)
}

fn gather(plan: &LogicalPlan, found: &mut Vec<Expr>) -> Result<()> {
    let mut note = |expr: Expr| {
        if !found.iter().any(|one| column(one) == column(&expr)) {
            found.push(expr);
        }
    };
    plan.apply(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                if let Expr::OuterReferenceColumn(..) = part {
                    note(part.clone());
                } else if let Some(query) = subquery(part) {
                    let within = references(&query.subquery)?;
                    let foreign = |one: &Expr| !column(one).is_some_and(|own| has(node, own));
                    within.into_iter().filter(foreign).for_each(&mut note);
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .map(drop)
}

/// Whether a subquery within a plan refers to what is outside of the plan.
pub(super) fn is_deep(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| {
        let mut is_deep = false;
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                if let Some(query) = subquery(part) {
                    let within = references(&query.subquery)?;
                    is_deep |= within.iter().filter_map(column).any(|one| !has(node, one));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        Ok(is_deep)
    })
}

/// Returns the column that a reference is to.
pub(super) fn column(reference: &Expr) -> Option<&Column> {
    match reference {
        Expr::OuterReferenceColumn(_, column) => Some(column),
        _ => None,
    }
}

/// Returns the query of an expression that is a subquery.
pub(super) fn subquery(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(query) => Some(query),
        Expr::Exists(exists) => Some(&exists.subquery),
        Expr::InSubquery(found) => Some(&found.subquery),
        Expr::SetComparison(compared) => Some(&compared.subquery),
        _ => None,
    }
}

/// Replaces what subqueries within an expression of `node` refer to outside of the node; what an
/// inner query has itself stays.
pub(super) fn rebind(
    node: &LogicalPlan,
    expr: Expr,
    replace: &impl Fn(&Expr) -> Option<Expr>,
) -> Result<Expr> {
    let of_others = |one: &Expr| match column(one) {
        Some(own) if has(node, own) => None,
        _ => replace(one),
    };
    let replaced = expr.transform_up(|part| {
        let change = |query: Subquery| rebind_query(query, &of_others);
        Ok(match part {
            Expr::ScalarSubquery(query) => Transformed::yes(Expr::ScalarSubquery(change(query)?)),
            Expr::Exists(mut exists) => {
                exists.subquery = change(exists.subquery)?;
                Transformed::yes(Expr::Exists(exists))
            }
            Expr::InSubquery(mut found) => {
                found.subquery = change(found.subquery)?;
                Transformed::yes(Expr::InSubquery(found))
            }
            Expr::SetComparison(mut compared) => {
                compared.subquery = change(compared.subquery)?;
                Transformed::yes(Expr::SetComparison(compared))
            }
            other => Transformed::no(other),
        })
    })?;
    Ok(replaced.data)
}

fn rebind_query(query: Subquery, replace: &dyn Fn(&Expr) -> Option<Expr>) -> Result<Subquery> {
    let plan = query.subquery.as_ref().clone().transform_up(|node| {
        let place = node.clone();
        let names = NamePreserver::new(&place);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let replaced =
                rebind(&place, expr, &replace)?.transform(|part| match replace(&part) {
                    Some(new) => Ok(Transformed::yes(new)),
                    None => Ok(Transformed::no(part)),
                })?;
            Ok(Transformed::yes(name.restore(replaced.data)))
        })
    })?;
    let outer_ref_columns = references(&plan.data)?;
    Ok(Subquery { subquery: plan.data.into(), outer_ref_columns, ..query })
}

/// Whether a node's expressions find a column below it.
fn has(node: &LogicalPlan, column: &Column) -> bool {
    node.inputs().iter().any(|input| input.schema().has_column(column))
}
