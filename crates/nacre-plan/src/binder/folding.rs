//! Expressions that constants decide: PostgreSQL evaluates nothing of them, so that what may fail
//! beside the constant never does.
//!
//! ```text
//! null = 1 / x    null             1 / x > 0 or true    true          1 / x > 0 and false    false
//! coalesce(null, 1, 1 / x)    1
//! ```
//!
//! # Source
//! PostgreSQL 15, `eval_const_expressions`, which runs once names and types are known.

use nacre_functions::catalog::find_function;
use nacre_types::SqlValue;

use crate::algebra::{ConstantValue, RelationalOperator, ScalarExpression, ScalarKind};
use crate::properties::never_fails;

/// Folds the expressions of a query.
pub(super) fn fold_decided(operator: &mut RelationalOperator) {
    operator.expressions_mut().into_iter().for_each(fold_expression);
    operator.inputs_mut().into_iter().for_each(fold_decided);
}

fn fold_expression(expression: &mut ScalarExpression) {
    expression.children_mut().into_iter().for_each(fold_expression);
    if let Some(value) = decided_value(expression).or_else(|| first_value(expression)) {
        expression.kind = ScalarKind::Constant(ConstantValue(value));
    }
}

/// Returns the value of COALESCE of a constant and what is not reached.
fn first_value(expression: &ScalarExpression) -> Option<SqlValue> {
    let ScalarKind::Coalesce(all) = &expression.kind else { return None };
    let first = all.iter().find(|one| constant_of(one) != Some(&SqlValue::Null))?;
    match &first.kind {
        ScalarKind::Constant(ConstantValue(value)) if first.sql_type == expression.sql_type => {
            Some(value.clone())
        }
        _ => None,
    }
}

/// Returns the value of an expression that a constant below it decides: of one level, the
/// constant may have casts. PostgreSQL has computed other constants before, and raised the errors
/// of these: of AND and OR those in front, else all.
pub(super) fn decided_value(expression: &ScalarExpression) -> Option<SqlValue> {
    let children = expression.children();
    let place = |value: &SqlValue| {
        let mut all = children.iter();
        let place = all.position(|child| constant_of(child) == Some(value))?;
        (!children[..place].iter().any(|child| may_fail_at_once(child))).then_some(place)
    };
    let has = |value: &SqlValue| {
        place(value).is_some_and(|place| !children[place..].iter().any(|one| may_fail_at_once(one)))
    };
    match &expression.kind {
        ScalarKind::And(_) => place(&SqlValue::Boolean(false)).map(|_| SqlValue::Boolean(false)),
        ScalarKind::Or(_) => place(&SqlValue::Boolean(true)).map(|_| SqlValue::Boolean(true)),
        ScalarKind::Operator { operator, .. } => {
            (is_strict(operator.function) && has(&SqlValue::Null)).then_some(SqlValue::Null)
        }
        ScalarKind::Function { function, .. } => {
            (function.is_strict && has(&SqlValue::Null)).then_some(SqlValue::Null)
        }
        _ => None,
    }
}

/// Returns the value of a constant; any cast of null is null.
fn constant_of(mut expression: &ScalarExpression) -> Option<&SqlValue> {
    let mut is_cast = false;
    while let ScalarKind::Cast { operand, .. } = &expression.kind {
        (expression, is_cast) = (operand, true);
    }
    match &expression.kind {
        ScalarKind::Constant(ConstantValue(value)) if !is_cast || value.is_null() => Some(value),
        _ => None,
    }
}

/// Whether an expression is computed as soon as names and types are known, and may fail then.
fn may_fail_at_once(expression: &ScalarExpression) -> bool {
    let is_unknown = |one: &ScalarExpression| {
        matches!(
            one.kind,
            ScalarKind::Column(_)
                | ScalarKind::Subquery(_)
                | ScalarKind::Parameter(_)
                | ScalarKind::Once(_)
        )
    };
    !expression.any(&is_unknown) && !never_fails(expression)
}

fn is_strict(function: u32) -> bool {
    find_function(function).is_some_and(|function| function.is_strict)
}
