//! Optimizer rules: null is not equal to null where the planner would take it to be.
//!
//! - [`NullKeys`]: a join has one mark that says whether nulls are equal, for all its keys. The
//!   planner sets it for `a IS NOT DISTINCT FROM b`, and adds keys of `c = d` to the same join
//!   later. So such a key becomes two that are never null: the value, or another one for null, and
//!   whether it is null. No join needs the mark then.
//! - [`OuterEquals`]: the planner drops `x = x` from the conditions of a subquery if `x` is of the
//!   outer query. It is false for null there, as `x IS NOT NULL` is.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{NullEquality, Result, ScalarValue};
use datafusion::logical_expr::utils::{
    conjunction, find_valid_equijoin_key_pair, split_conjunction, split_conjunction_owned,
};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, Filter, Join, LogicalPlan, Operator, lit, when,
};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The rule about keys of joins; it runs before the planner looks for them in conditions.
#[derive(Debug)]
pub(crate) struct NullKeys;

impl OptimizerRule for NullKeys {
    fn name(&self) -> &str {
        "null_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(mut join) = plan else { return Ok(Transformed::no(plan)) };
        let is_marked = join.null_equality == NullEquality::NullEqualsNull && !join.on.is_empty();
        let is_not_distinct = |expr: &&Expr| sides(expr).is_some();
        let has_tests = join
            .filter
            .as_ref()
            .is_some_and(|filter| split_conjunction(filter).iter().any(is_not_distinct));
        if !is_marked && !has_tests {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        }
        if is_marked {
            let mut keys = Vec::with_capacity(2 * join.on.len());
            for (left, right) in &join.on {
                match never_null(&join, left, right)? {
                    Some(pairs) => keys.extend(pairs),
                    None => return Ok(Transformed::no(LogicalPlan::Join(join))),
                }
            }
            join.on = keys;
            join.null_equality = NullEquality::NullEqualsNothing;
        }
        let mut tests = Vec::new();
        for test in join.filter.take().map(split_conjunction_owned).unwrap_or_default() {
            match keys_of(&join, &test)? {
                Some(pairs) => join.on.extend(pairs),
                None => tests.push(test),
            }
        }
        join.filter = conjunction(tests);
        Ok(Transformed::yes(LogicalPlan::Join(join)))
    }
}

/// Returns the sides of `a IS NOT DISTINCT FROM b`.
fn sides(expr: &Expr) -> Option<(&Expr, &Expr)> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::IsNotDistinctFrom, right }) => {
            Some((left, right))
        }
        _ => None,
    }
}

/// Returns the keys of a join that a condition of it is.
fn keys_of(join: &Join, test: &Expr) -> Result<Option<Vec<(Expr, Expr)>>> {
    let Some((one, other)) = sides(test) else { return Ok(None) };
    let (left, right) = (join.left.schema(), join.right.schema());
    match find_valid_equijoin_key_pair(one, other, left, right)? {
        Some((one, other)) => never_null(join, &one, &other),
        None => Ok(None),
    }
}

/// Returns keys that are equal if `left` and `right` are, or both are null. `None` for values of
/// types that have nothing to stand for null.
fn never_null(join: &Join, left: &Expr, right: &Expr) -> Result<Option<Vec<(Expr, Expr)>>> {
    let (left_schema, right_schema) = (join.left.schema(), join.right.schema());
    let data_type = left.get_type(left_schema)?;
    if data_type != right.get_type(right_schema)? {
        return Ok(None);
    }
    let Ok(other) = ScalarValue::new_default(&data_type) else { return Ok(None) };
    if !left.nullable(left_schema)? && !right.nullable(right_schema)? {
        return Ok(Some(vec![(left.clone(), right.clone())]));
    }
    let known =
        |expr: &Expr| when(expr.clone().is_null(), lit(other.clone())).otherwise(expr.clone());
    let is_null = (left.clone().is_null(), right.clone().is_null());
    Ok(Some(vec![(known(left)?, known(right)?), is_null]))
}

/// The rule about conditions of subqueries; it runs before they become joins.
#[derive(Debug)]
pub(crate) struct OuterEquals;

impl OptimizerRule for OuterEquals {
    fn name(&self) -> &str {
        "outer_equals"
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        plan.transform_up_with_subqueries(|node| {
            let LogicalPlan::Filter(filter) = node else { return Ok(Transformed::no(node)) };
            if !split_conjunction(&filter.predicate).into_iter().any(is_dropped) {
                return Ok(Transformed::no(LogicalPlan::Filter(filter)));
            }
            let tests = split_conjunction_owned(filter.predicate).into_iter().map(|test| {
                match (is_dropped(&test), test) {
                    (true, Expr::BinaryExpr(BinaryExpr { left, .. })) => left.is_not_null(),
                    (_, test) => test,
                }
            });
            let predicate = conjunction(tests).unwrap_or_else(|| lit(true));
            let filter = Filter::try_new(predicate, filter.input)?;
            Ok(Transformed::yes(LogicalPlan::Filter(filter)))
        })
    }
}

/// Whether the planner drops a condition of a subquery.
fn is_dropped(test: &Expr) -> bool {
    match test {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => {
            left == right && left.contains_outer()
        }
        _ => false,
    }
}
