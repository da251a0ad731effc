//! Values of expressions without columns.
//!
//! All operators and casts that the lowering has and that may fail are folded here, so that one on
//! constants never fails for the rows that reach it: PostgreSQL raises its error before the first.

use nacre_functions::catalog::find_function;
use nacre_plan::algebra::{CaseArm, ScalarExpression, ScalarKind};
use nacre_types::SqlValue;

use super::constants::CONSTANT_BYTES_MAX;
use super::error::{LoweringError, LoweringResult};
use super::row_expression::RowExpression;
use crate::value::{ScalarValue, ValueClass};

/// Calls within each other in which a constant null is looked for: each looks at all of its
/// arguments.
const NULL_DEPTH_MAX: usize = 3;

/// Returns the value of an expression of constants; `None` if it is none, or not computed here.
///
/// # Errors
/// [`LoweringError::NotSupported`] for what PostgreSQL refuses to compute: its words are for others
/// to find.
pub(super) fn fold_constant(expression: &ScalarExpression) -> LoweringResult<Option<SqlValue>> {
    let value = match &expression.kind {
        ScalarKind::Column(_) => return Ok(None),
        ScalarKind::Constant(value) => Ok(value.0.clone()),
        _ => {
            let row = RowExpression::compile(expression, &mut |_, _| None);
            let Some(row) = row.filter(|row| !row.has_inputs()) else { return Ok(None) };
            row.evaluate(&|_| ScalarValue::Null(ValueClass::Bool))
        }
    };
    if let Ok(SqlValue::Text(text)) = &value
        && text.len() > CONSTANT_BYTES_MAX as usize
    {
        return Err(LoweringError::not_supported("a constant this long"));
    }
    value
        .map(Some)
        .map_err(|error| LoweringError::not_supported(format!("a constant that fails ({error})")))
}

/// Whether a constant null decides a call, or calls that are its arguments: PostgreSQL evaluates
/// no other argument.
///
/// # Errors
/// [`LoweringError::NotSupported`] for another constant in it that fails.
pub(super) fn is_null_call(expression: &ScalarExpression) -> LoweringResult<bool> {
    is_null_within(expression, NULL_DEPTH_MAX)
}

fn is_null_within(expression: &ScalarExpression, depth: usize) -> LoweringResult<bool> {
    let (is_strict, operands) = match &expression.kind {
        ScalarKind::Operator { operator, operands } => {
            let function = find_function(operator.function);
            (function.is_some_and(|function| function.is_strict), operands)
        }
        ScalarKind::Function { function, arguments } => (function.is_strict, arguments),
        _ => return Ok(false),
    };
    let mut is_null = false;
    for operand in operands.iter().filter(|_| is_strict) {
        is_null |= match fold_constant(operand)? {
            Some(value) => value.is_null(),
            None => depth > 0 && has_null(operand) && is_null_within(operand, depth - 1)?,
        };
    }
    if is_null {
        operands.iter().try_for_each(check_constants)?;
    }
    Ok(is_null)
}

fn has_null(expression: &ScalarExpression) -> bool {
    expression.any(&|one| match &one.kind {
        ScalarKind::Constant(value) => value.0.is_null(),
        _ => false,
    })
}

/// Whether constants decide that a condition is not true.
///
/// # Errors
/// [`LoweringError::NotSupported`] for a constant in it that fails.
pub(super) fn is_never_true(condition: &ScalarExpression) -> LoweringResult<bool> {
    let value = fold_constant(condition)?;
    Ok(value.is_some_and(|value| !is_bool(&value, true)) || is_null_call(condition)?)
}

/// Computes the constants of an expression that is evaluated for no row: PostgreSQL computes them
/// before it knows.
///
/// # Errors
/// [`LoweringError::NotSupported`] for one that fails.
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
        _ => expression.children().into_iter().try_for_each(check_constants),
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
