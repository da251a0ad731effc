//! Expressions that constants decide: PostgreSQL evaluates nothing of them, so that what may fail
//! beside the constant never does.
//!
//! ```text
//! null = 1 / x    null             1 / x > 0 or true    true          1 / x > 0 and false    false
//! ```
//!
//! # Source
//! PostgreSQL 15, `eval_const_expressions`, which runs once names and types are known.

use nacre_functions::catalog::find_function;
use nacre_types::SqlValue;

use crate::algebra::{ConstantValue, RelationalOperator, ScalarExpression, ScalarKind};

/// Folds the expressions of a query.
pub(super) fn fold_decided(operator: &mut RelationalOperator) {
    operator.expressions_mut().into_iter().for_each(fold_expression);
    operator.inputs_mut().into_iter().for_each(fold_decided);
}

fn fold_expression(expression: &mut ScalarExpression) {
    expression.children_mut().into_iter().for_each(fold_expression);
    if let Some(value) = decided_value(expression) {
        expression.kind = ScalarKind::Constant(ConstantValue(value));
    }
}

/// Returns the value of an expression that a constant below it decides: of one level, the
/// constant may have casts.
pub(super) fn decided_value(expression: &ScalarExpression) -> Option<SqlValue> {
    let children = expression.children();
    let has = |value: &SqlValue| children.iter().any(|child| constant_of(child) == Some(value));
    match &expression.kind {
        ScalarKind::And(_) => has(&SqlValue::Boolean(false)).then_some(SqlValue::Boolean(false)),
        ScalarKind::Or(_) => has(&SqlValue::Boolean(true)).then_some(SqlValue::Boolean(true)),
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

fn is_strict(function: u32) -> bool {
    find_function(function).is_some_and(|function| function.is_strict)
}
