//! An analyzer rule: `x IN (list)` with members that are computed for each row becomes equalities.
//!
//! The planner evaluates the members of a list once, over no rows, and takes for a constant what
//! then has a single value. A CASE has one without rows: that of its last arm. So only constants
//! stay in a list; `x IN (6, y, 7)` is `x IN (6, 7) OR x = y`, which is null where that is.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, not_impl_err};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

use crate::plan_expressions::rewrite_expressions;

/// The rule; it runs before types are brought together.
#[derive(Debug)]
pub(crate) struct InLists;

impl AnalyzerRule for InLists {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, _| expr.transform_up(split))
    }

    fn name(&self) -> &str {
        "in_lists"
    }
}

fn split(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::InList(InList { expr, list, negated }) = expr else {
        return Ok(Transformed::no(expr));
    };
    let (constants, computed): (Vec<Expr>, Vec<Expr>) = list.into_iter().partition(is_constant);
    if computed.is_empty() {
        return Ok(Transformed::no(Expr::InList(InList { expr, list: constants, negated })));
    }
    // It would be computed several times, with other values.
    if expr.is_volatile() && (computed.len() > 1 || !constants.is_empty()) {
        return not_impl_err!("a volatile value before IN (list) of values that are computed");
    }
    let (same, chain) = match negated {
        true => (Operator::NotEq, Operator::And),
        false => (Operator::Eq, Operator::Or),
    };
    let mut tests = Vec::with_capacity(computed.len() + 1);
    if !constants.is_empty() {
        tests.push(Expr::InList(InList { expr: expr.clone(), list: constants, negated }));
    }
    tests.extend(computed.into_iter().map(|one| binary(expr.as_ref().clone(), same, one)));
    match balanced(tests, chain) {
        Some(tree) => Ok(Transformed::yes(tree)),
        None => not_impl_err!("IN () without members"),
    }
}

/// Whether a member has the same value for all rows, and is read as such by the planner.
fn is_constant(member: &Expr) -> bool {
    let is_computed = |part: &Expr| {
        matches!(
            part,
            Expr::Column(_)
                | Expr::OuterReferenceColumn(..)
                | Expr::Case(_)
                | Expr::ScalarSubquery(_)
                | Expr::InSubquery(_)
                | Expr::Exists(_)
                | Expr::SetComparison(_)
        )
    };
    !member.is_volatile() && !member.exists(|part| Ok(is_computed(part))).unwrap_or(true)
}

fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

/// Joins conditions to a tree that is as flat as can be, in their order.
fn balanced(mut tests: Vec<Expr>, op: Operator) -> Option<Expr> {
    while tests.len() > 1 {
        let mut rest = tests.into_iter();
        let mut above = Vec::with_capacity(rest.len().div_ceil(2));
        while let Some(one) = rest.next() {
            above.push(match rest.next() {
                Some(other) => binary(one, op, other),
                None => one,
            });
        }
        tests = above;
    }
    tests.pop()
}
