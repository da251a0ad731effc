//! Expressions that constants decide: PostgreSQL evaluates nothing of them, so that what may fail
//! beside the constant never does.
//!
//! ```text
//! null = 1 / x    null             1 / x > 0 or true    true          1 / x > 0 and false    false
//! nullif(null, 1 / x)         null
//! coalesce(null, 1, 1 / x)    1    case when false then 1 / x when true then 2 else 3 / x end    2
//! ```
//!
//! # Source
//! PostgreSQL 15, `eval_const_expressions`, which runs once names and types are known.

use nacre_functions::catalog::find_function;
use nacre_functions::coercion::CoercionPathway;
use nacre_types::SqlValue;

use crate::algebra::{
    CaseArm, CastStep, ConstantValue, RelationalOperator, ScalarExpression, ScalarKind,
};
use crate::control;
use crate::properties::{constant_of, may_fail_at_once};

/// Folds the expressions of a query.
pub(super) fn fold_decided(operator: &mut RelationalOperator) {
    if control::is_stopped() {
        return;
    }
    operator.expressions_mut().into_iter().for_each(fold_expression);
    operator.inputs_mut().for_each(fold_decided);
}

fn fold_expression(expression: &mut ScalarExpression) {
    if control::is_stopped() {
        return;
    }
    expression.children_mut().for_each(fold_expression);
    fold_case(expression);
    fold_coalesce(expression);
    if let Some(value) = decided_value(expression) {
        expression.kind = ScalarKind::Constant(ConstantValue(value));
    }
}

/// Takes the branches of CASE that are never reached away.
fn fold_case(expression: &mut ScalarExpression) {
    let ScalarKind::Case { arms, otherwise } = &mut expression.kind else { return };
    arms.retain(|arm| !matches!(constant_of(&arm.condition), Some(value) if !is_true(value)));
    let is_last = |arm: &CaseArm| constant_of(&arm.condition).is_some_and(is_true);
    if let Some(last) = arms.iter().position(is_last) {
        *otherwise = arms.drain(last..).next().map(|arm| Box::new(arm.result));
    }
    if !arms.is_empty() {
        return;
    }
    let value = otherwise.take();
    expression.kind = match value {
        Some(value) if value.sql_type == expression.sql_type => value.kind,
        Some(operand) => {
            let method = CastStep::Type(CoercionPathway::Same);
            ScalarKind::Cast { operand, method }
        }
        None => ScalarKind::Constant(ConstantValue(SqlValue::Null)),
    };
}

fn is_true(value: &SqlValue) -> bool {
    *value == SqlValue::Boolean(true)
}

/// Takes what COALESCE does not reach away.
fn fold_coalesce(expression: &mut ScalarExpression) {
    let ScalarKind::Coalesce(all) = &expression.kind else { return };
    let first = all.iter().find(|one| constant_of(one) != Some(&SqlValue::Null));
    let first = first.filter(|one| is_known(one) && one.sql_type == expression.sql_type);
    if let Some(kind) = first.map(|one| one.kind.clone()) {
        expression.kind = kind;
    }
}

/// Whether an expression is a constant that is not null, or a cast of one.
fn is_known(expression: &ScalarExpression) -> bool {
    match &expression.kind {
        ScalarKind::Constant(ConstantValue(value)) => !value.is_null(),
        ScalarKind::Cast { operand, .. } => is_known(operand),
        _ => false,
    }
}

/// Returns the value of an expression that constants below it decide: of one level, the constants
/// may have casts. PostgreSQL has computed other constants before, and raised the errors of these:
/// of AND and OR those in front, else all.
pub(super) fn decided_value(expression: &ScalarExpression) -> Option<SqlValue> {
    let null_decides = || {
        let is_null = |child: &ScalarExpression| constant_of(child) == Some(&SqlValue::Null);
        expression.children().any(is_null) && !expression.children().any(may_fail_at_once)
    };
    match &expression.kind {
        ScalarKind::And(operands) => decided_junction(operands, false),
        ScalarKind::Or(operands) => decided_junction(operands, true),
        ScalarKind::Not(operand) => match constant_of(operand)? {
            SqlValue::Boolean(value) => Some(SqlValue::Boolean(!value)),
            value => value.is_null().then_some(SqlValue::Null),
        },
        ScalarKind::IsNull(operand) => Some(SqlValue::Boolean(constant_of(operand)?.is_null())),
        ScalarKind::Operator { operator, .. } => {
            (null_decides() && is_strict(operator.function)).then_some(SqlValue::Null)
        }
        ScalarKind::Function { function, .. } => {
            (function.is_strict && null_decides()).then_some(SqlValue::Null)
        }
        ScalarKind::NullIf { operands, .. } => {
            let is_null = constant_of(operands.first()?)?.is_null();
            (is_null && null_decides()).then_some(SqlValue::Null)
        }
        _ => None,
    }
}

/// Returns the value of AND or OR, which `decisive` decides.
fn decided_junction(operands: &[ScalarExpression], decisive: bool) -> Option<SqlValue> {
    let (mut has_null, mut has_others) = (false, false);
    for operand in operands {
        match constant_of(operand) {
            Some(SqlValue::Boolean(value)) if *value == decisive => {
                return Some(SqlValue::Boolean(decisive));
            }
            Some(SqlValue::Null) => has_null = true,
            Some(_) => {}
            None if may_fail_at_once(operand) => return None,
            None => has_others = true,
        }
    }
    match (has_others, has_null) {
        (true, _) => None,
        (false, true) => Some(SqlValue::Null),
        (false, false) => Some(SqlValue::Boolean(!decisive)),
    }
}

fn is_strict(function: u32) -> bool {
    find_function(function).is_some_and(|function| function.is_strict)
}
