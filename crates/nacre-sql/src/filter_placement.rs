//! A guard around the planner's rule that moves conditions down in a logical plan.
//!
//! - An aggregate without GROUP BY has a row also where its input has none, and so has a grouping
//!   set without expressions. A condition without columns that is moved below removes the rows that
//!   are counted and not that row, so it stays above, as volatile conditions do above groups and
//!   windows.
//! - The rule puts cheap conditions before expensive ones. A condition that may fail relies on the
//!   conditions before it: `t ~ '^[0-9]+$' AND t::int > 5`. It looks like a call while the rule
//!   runs, which the rule leaves in its place.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Expr, GroupingSet, LogicalPlan, Operator, ScalarUDF, lit,
};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use crate::functions::{NAMED, named_function};

type LogicalRule = Arc<dyn OptimizerRule + Send + Sync>;

/// Levels of a plan below a filter that one step of the rule changes: it reaches through two
/// filters and an operator, and makes filters of the operator's inputs.
const LEVELS_CHANGED: usize = 4;

/// The rule with its guard.
#[derive(Debug)]
pub(crate) struct FilterPlacement {
    planned: LogicalRule,
    /// Stands around a condition that may fail.
    mark: Arc<ScalarUDF>,
}

impl FilterPlacement {
    /// Wraps the rule that moves conditions; returns other rules unchanged.
    pub(crate) fn guard(rule: LogicalRule) -> LogicalRule {
        if rule.name() == "push_down_filter" {
            Arc::new(Self { planned: rule, mark: named_function() })
        } else {
            rule
        }
    }

    /// Marks those conditions of adjacent filters that may fail and have expensive ones before
    /// them, in the order in which they are tested: the lowest filter's first.
    fn mark_fallible(
        &self,
        plan: LogicalPlan,
        has_expensive: &mut bool,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(mut filter) = plan else { return Ok(Transformed::no(plan)) };
        let input = self.mark_fallible(Arc::unwrap_or_clone(filter.input), has_expensive)?;
        let mut is_marked = input.transformed;
        filter.input = Arc::new(input.data);
        let tests = split_conjunction_owned(filter.predicate).into_iter().map(|test| {
            let is_behind = *has_expensive;
            *has_expensive |= has_part(&test, is_expensive);
            if !is_behind || !has_part(&test, may_fail) {
                return test;
            }
            is_marked = true;
            let args = vec![test, lit("")];
            Expr::ScalarFunction(ScalarFunction { func: Arc::clone(&self.mark), args })
        });
        filter.predicate = conjunction(tests).unwrap_or_else(|| lit(true));
        let plan = LogicalPlan::Filter(filter);
        Ok(if is_marked { Transformed::yes(plan) } else { Transformed::no(plan) })
    }
}

impl OptimizerRule for FilterPlacement {
    fn name(&self) -> &str {
        self.planned.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.planned.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        if must_stay(&plan) {
            return Ok(Transformed::no(plan));
        }
        let marked = self.mark_fallible(plan, &mut false)?;
        let moved = self.planned.rewrite(marked.data, config)?;
        if !marked.transformed {
            return Ok(moved);
        }
        moved.map_data(|plan| unmark(plan, LEVELS_CHANGED))
    }
}

/// Removes the marks from the upper levels of a plan.
fn unmark(plan: LogicalPlan, levels: usize) -> Result<LogicalPlan> {
    let plan = plan.map_expressions(|expr| {
        expr.transform_up(|part| match part {
            Expr::ScalarFunction(mut call) if call.func.name() == NAMED => {
                call.args.truncate(1);
                Ok(match call.args.pop() {
                    Some(marked) => Transformed::yes(marked),
                    None => Transformed::no(Expr::ScalarFunction(call)),
                })
            }
            other => Ok(Transformed::no(other)),
        })
    })?;
    if levels == 0 {
        return Ok(plan.data);
    }
    plan.data
        .map_children(|input| Ok(Transformed::yes(unmark(input, levels - 1)?)))
        .map(|plan| plan.data)
}

/// Whether filters have conditions that mean something else below the operator under them.
fn must_stay(plan: &LogicalPlan) -> bool {
    let mut tests = Vec::new();
    let mut below = plan;
    while let LogicalPlan::Filter(filter) = below {
        tests.extend(split_conjunction(&filter.predicate));
        below = &filter.input;
    }
    let has_volatile = || tests.iter().any(|test| test.is_volatile());
    match below {
        LogicalPlan::Aggregate(aggregate) => {
            let is_constant = |test: &&Expr| test.column_refs().is_empty();
            has_volatile() || (has_row_of_none(aggregate) && tests.iter().any(is_constant))
        }
        LogicalPlan::Window(_) | LogicalPlan::Distinct(_) => has_volatile(),
        _ => false,
    }
}

/// Whether an aggregate may have a row where its input has none.
fn has_row_of_none(aggregate: &Aggregate) -> bool {
    match aggregate.group_expr.as_slice() {
        [] => true,
        [Expr::GroupingSet(GroupingSet::GroupingSets(sets))] => sets.iter().any(Vec::is_empty),
        exprs => exprs.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))),
    }
}

/// Whether an expression or a part of it is such a one.
fn has_part(expr: &Expr, is_such: fn(&Expr) -> bool) -> bool {
    let mut has_part = false;
    let looked_at = expr.apply(|part| {
        has_part |= is_such(part);
        Ok(if has_part { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    has_part || looked_at.is_err()
}

/// Whether an expression may fail where its parts do not.
fn may_fail(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => {
            !op.supports_propagation() && !op.is_logic_operator()
        }
        Expr::Negative(_) | Expr::Cast(_) | Expr::ScalarFunction(_) => true,
        _ => false,
    }
}

/// Whether the rule takes an expression for expensive.
fn is_expensive(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => matches!(
            op,
            Operator::RegexMatch
                | Operator::RegexIMatch
                | Operator::RegexNotMatch
                | Operator::RegexNotIMatch
                | Operator::LikeMatch
                | Operator::ILikeMatch
                | Operator::NotLikeMatch
                | Operator::NotILikeMatch
        ),
        Expr::Like(_)
        | Expr::SimilarTo(_)
        | Expr::ScalarFunction(_)
        | Expr::ScalarSubquery(_)
        | Expr::Exists(_)
        | Expr::InSubquery(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::optimizer::Optimizer;

    use super::*;

    #[test]
    fn rule_that_moves_conditions_is_guarded() {
        let rules = Optimizer::new().rules.into_iter().map(FilterPlacement::guard);
        let guarded = rules.filter(|rule| format!("{rule:?}").starts_with("FilterPlacement"));
        assert_eq!(guarded.count(), 1);
    }
}
