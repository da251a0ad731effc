//! Values of expressions without columns.
//!
//! All operators and casts that the lowering has and that may fail are folded here, so that one on
//! constants never fails for the rows that reach it: PostgreSQL raises its error before the first.

use nacre_functions::catalog::{FunctionEntry, FunctionVolatility, find_function};
use nacre_functions::coercion::is_immutable_cast;
use nacre_plan::algebra::{CaseArm, CastStep, ScalarExpression, ScalarKind};
use nacre_types::{SqlValue, ValueError};

use super::constants::CONSTANT_BYTES_MAX;
use super::error::{LoweringError, LoweringResult};
use super::row_expression::RowExpression;
use crate::value::{ScalarValue, ValueClass};

/// Returns the value of an expression of constants; `None` if it is none, or not computed here.
///
/// # Errors
/// [`LoweringError::ConstantFails`] for what PostgreSQL refuses to compute while it plans;
/// [`LoweringError::NotSupported`] for what it computes when the query runs, if a row asks for it.
pub(super) fn fold_constant(expression: &ScalarExpression) -> LoweringResult<Option<SqlValue>> {
    let value = match &expression.kind {
        ScalarKind::Column(_) => return Ok(None),
        ScalarKind::Constant(value) => Ok(value.0.clone()),
        ScalarKind::Operator { operands, .. } if operands.iter().any(is_plain_column) => {
            return Ok(None);
        }
        _ if begins_with_column(expression) => return Ok(None),
        _ => {
            let row = RowExpression::compile(expression, &mut |_, _| None);
            let Some(row) = row.filter(|row| !row.has_inputs()) else { return Ok(None) };
            row.evaluate(&|_| ScalarValue::Null(ValueClass::Bool))
        }
    };
    if value.as_ref().is_ok_and(is_too_long) {
        return Err(LoweringError::not_supported("a constant this long"));
    }
    value.map(Some).map_err(|error| failing_constant(expression, error))
}

/// Returns the error of an expression of constants that has no value.
fn failing_constant(expression: &ScalarExpression, error: ValueError) -> LoweringError {
    let is_ours = matches!(error, ValueError::NotSupported(_) | ValueError::Internal(_));
    if is_ours || expression.any(&is_computed_late) {
        LoweringError::not_supported(format!("a constant that fails ({error})"))
    } else {
        LoweringError::ConstantFails { error }
    }
}

/// Whether PostgreSQL leaves a call or cast of constants to the rows that ask for it: its value
/// depends on settings or time.
fn is_computed_late(expression: &ScalarExpression) -> bool {
    let is_late = |function: Option<&FunctionEntry>| {
        function.is_none_or(|function| function.volatility != FunctionVolatility::Immutable)
    };
    match &expression.kind {
        ScalarKind::Operator { operator, .. } => is_late(find_function(operator.function)),
        ScalarKind::Function { function, .. } => is_late(Some(function)),
        ScalarKind::Cast { operand, method: CastStep::Type(pathway) } => {
            let (source, target) = (operand.sql_type.oid(), expression.sql_type.oid());
            !is_immutable_cast(*pathway, source, target)
        }
        _ => false,
    }
}

/// Whether an expression is a column, or a cast of one.
fn is_plain_column(mut expression: &ScalarExpression) -> bool {
    while let ScalarKind::Cast { operand, .. } = &expression.kind {
        expression = operand;
    }
    matches!(expression.kind, ScalarKind::Column(_))
}

/// Whether the first operand of the first operand and so on is a column.
fn begins_with_column(mut expression: &ScalarExpression) -> bool {
    while let Some(first) = first_operand(expression) {
        expression = first;
    }
    matches!(expression.kind, ScalarKind::Column(_))
}

/// Returns the operand that a call or cast computes first.
pub(super) fn first_operand(expression: &ScalarExpression) -> Option<&ScalarExpression> {
    match &expression.kind {
        ScalarKind::Operator { operands: all, .. }
        | ScalarKind::Function { arguments: all, .. }
        | ScalarKind::Coalesce(all) => all.first(),
        ScalarKind::Cast { operand, .. } | ScalarKind::Proven(operand) => Some(operand),
        _ => None,
    }
}

fn is_too_long(value: &SqlValue) -> bool {
    matches!(value, SqlValue::Text(text) if text.len() > CONSTANT_BYTES_MAX as usize)
}

/// Whether constants decide that a condition is not true.
///
/// # Errors
/// As [`fold_constant`], of a constant in it that fails.
pub(super) fn is_never_true(condition: &ScalarExpression) -> LoweringResult<bool> {
    Ok(fold_constant(condition)?.is_some_and(|value| !is_bool(&value, true)))
}

/// Computes the constants of an expression that is evaluated for no row: PostgreSQL computes them
/// before it knows.
///
/// # Errors
/// As [`fold_constant`], of one that fails.
pub(super) fn check_constants(expression: &ScalarExpression) -> LoweringResult<()> {
    if fold_constant(expression)?.is_some() {
        return Ok(());
    }
    match &expression.kind {
        ScalarKind::And(operands) => check_until(operands, &|one| is_bool(one, false)),
        ScalarKind::Or(operands) => check_until(operands, &|one| is_bool(one, true)),
        ScalarKind::Coalesce(arguments) => check_until(arguments, &|one| !one.is_null()),
        ScalarKind::Case { arms, otherwise } => {
            for CaseArm { condition, result } in arms {
                check_constants(condition)?;
                match fold_constant(condition)? {
                    Some(value) if !is_bool(&value, true) => {}
                    Some(_) => return check_constants(result),
                    None => check_constants(result)?,
                }
            }
            otherwise.iter().try_for_each(|last| check_constants(last))
        }
        _ => expression.children().try_for_each(check_constants),
    }
}

/// Computes the constants of expressions up to the first constant that decides.
fn check_until(
    expressions: &[ScalarExpression],
    decides: &dyn Fn(&SqlValue) -> bool,
) -> LoweringResult<()> {
    for expression in expressions {
        check_constants(expression)?;
        if fold_constant(expression)?.is_some_and(|value| decides(&value)) {
            break;
        }
    }
    Ok(())
}

fn is_bool(value: &SqlValue, wanted: bool) -> bool {
    matches!(value, SqlValue::Boolean(value) if *value == wanted)
}
