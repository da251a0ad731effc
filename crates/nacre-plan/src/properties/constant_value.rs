//! Values of expressions whose operands are constants: PostgreSQL computes them when it plans a
//! query, and raises their errors then.
//!
//! # Invariants
//! 1. Only what is the same in all sessions and at all times is computed: calls of immutable
//!    functions, and casts that ask for no setting.
//! 2. Arrays and rows are left to the executor.
//! # Source
//! PostgreSQL 15, `evaluate_function` and `eval_const_expressions`.

use nacre_functions::catalog::{FunctionEntry, FunctionVolatility, OperatorEntry, find_function};
use nacre_functions::coercion::{CoercionPathway, is_immutable_cast};
use nacre_functions::kernels::{KernelContext, extreme_of, has_text, scalar_kernel};
use nacre_types::catalog::{CastContext, TypeOid};
use nacre_types::{
    SqlType, SqlValue, TypeKind, ValueError, ValueSettings, cast_value, find_cast_path,
};

use crate::algebra::{CastStep, ConstantValue, ScalarExpression, ScalarKind, TruthValue};

/// Longest text that becomes a constant; the executor computes longer ones.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// The value of an expression, or the error that PostgreSQL raises when it plans the query.
type KnownValue = Result<SqlValue, ValueError>;

/// Returns the value of a constant.
pub(crate) fn constant_of(expression: &ScalarExpression) -> Option<&SqlValue> {
    match &expression.kind {
        ScalarKind::Constant(ConstantValue(value)) => Some(value),
        _ => None,
    }
}

/// Whether a part of an expression fails as soon as names and types are known.
pub(crate) fn fails_at_once(expression: &ScalarExpression) -> bool {
    expression.any(&|part| matches!(constant_value(part), Some(Err(_))))
}

/// Returns the value of an operator, function, cast or test of constants; `None` of others, and of
/// what is computed when the query runs.
pub(crate) fn constant_value(expression: &ScalarExpression) -> Option<KnownValue> {
    let result = expression.sql_type;
    let value = match &expression.kind {
        ScalarKind::Operator { operator, operands } => operator_value(operator, operands, result),
        ScalarKind::Function { function, arguments } => call_value(function, arguments, result),
        ScalarKind::Cast { operand, method } => {
            cast_constant(constant_of(operand)?, operand.sql_type, result, *method)
        }
        ScalarKind::IsTruth { operand, value } => {
            let wanted = match value {
                TruthValue::True => SqlValue::Boolean(true),
                TruthValue::False => SqlValue::Boolean(false),
                TruthValue::Unknown => SqlValue::Null,
            };
            Some(Ok(SqlValue::Boolean(*constant_of(operand)? == wanted)))
        }
        ScalarKind::IsDistinct { operator, operands } => {
            let nulls = constants_of(operands)?.iter().filter(|value| value.is_null()).count();
            match nulls {
                0 => negated(operator_value(operator, operands, result)?),
                nulls => Some(Ok(SqlValue::Boolean(nulls == 1))),
            }
        }
        ScalarKind::NullIf { operator, operands } => {
            let first = *constants_of(operands)?.first()?;
            let is_equal = operator_value(operator, operands, SqlType::BOOLEAN)?;
            Some(is_equal.map(|value| match value {
                SqlValue::Boolean(true) => SqlValue::Null,
                _ => first.clone(),
            }))
        }
        ScalarKind::Quantified { operator, operand, elements, is_all } => {
            quantified_value(operator, operand, elements, *is_all)
        }
        ScalarKind::Extreme { arguments, is_greatest } => {
            let values = constants_of(arguments)?;
            let is_known = !is_composite(result);
            is_known.then(|| extreme_of(values.into_iter().cloned(), *is_greatest, result))
        }
        _ => None,
    };
    value.filter(|value| !is_left(value))
}

/// Whether a value is left to the executor.
fn is_left(value: &KnownValue) -> bool {
    match value {
        Ok(SqlValue::Text(text) | SqlValue::Padded(text)) => text.len() > TEXT_BYTES_MAX,
        Ok(_) => false,
        Err(error) => matches!(error, ValueError::NotSupported(_) | ValueError::Internal(_)),
    }
}

fn constants_of(expressions: &[ScalarExpression]) -> Option<Vec<&SqlValue>> {
    expressions.iter().map(constant_of).collect()
}

fn operator_value(
    operator: &OperatorEntry,
    operands: &[ScalarExpression],
    result: SqlType,
) -> Option<KnownValue> {
    call_value(find_function(operator.function)?, operands, result)
}

fn call_value(
    function: &FunctionEntry,
    arguments: &[ScalarExpression],
    result: SqlType,
) -> Option<KnownValue> {
    let values = constants_of(arguments)?;
    if function.returns_set || function.volatility != FunctionVolatility::Immutable {
        return None;
    }
    if function.is_strict && values.iter().any(|value| value.is_null()) {
        return Some(Ok(SqlValue::Null));
    }
    let argument_types: Vec<SqlType> = arguments.iter().map(|one| one.sql_type).collect();
    if argument_types.iter().chain([&result]).any(|one| is_composite(*one)) {
        return None;
    }
    let kernel = scalar_kernel(function.oid)?;
    let known: Vec<Option<&SqlValue>> = values.iter().copied().map(Some).collect();
    if !(kernel.accepts)(&known) {
        return None;
    }
    let values: Vec<SqlValue> = values.into_iter().cloned().collect();
    let settings = ValueSettings::default();
    let context =
        KernelContext { argument_types: &argument_types, result_type: result, settings: &settings };
    Some((kernel.compute)(&values, &context))
}

/// Whether a value has parts of its own.
fn is_composite(sql_type: SqlType) -> bool {
    sql_type.element().is_some() || matches!(sql_type.kind(), TypeKind::Record | TypeKind::Other(_))
}

fn cast_constant(
    value: &SqlValue,
    source: SqlType,
    target: SqlType,
    method: CastStep,
) -> Option<KnownValue> {
    if value.is_null() {
        return Some(Ok(SqlValue::Null));
    }
    if [source, target].into_iter().any(|one| is_composite(one) || !has_text(one)) {
        return None;
    }
    let (target, context) = match method {
        CastStep::Type(pathway) if asks_no_settings(pathway, source.oid(), target.oid()) => {
            (target.without_modifier(), CastContext::Explicit)
        }
        CastStep::Type(_) => return None,
        CastStep::Modifier { is_explicit: true } => (target, CastContext::Explicit),
        CastStep::Modifier { is_explicit: false } => (target, CastContext::Implicit),
    };
    find_cast_path(source, target, context)?;
    Some(cast_value(value.clone(), source, target, context, &ValueSettings::default()))
}

/// Whether a cast asks for no setting of the session; the texts of floats and of bytes do.
fn asks_no_settings(pathway: CoercionPathway, source: TypeOid, target: TypeOid) -> bool {
    let asks = [TypeOid::FLOAT4, TypeOid::FLOAT8, TypeOid::BYTEA].contains(&source)
        && pathway == CoercionPathway::InputOutput;
    !asks && is_immutable_cast(pathway, source, target)
}

fn negated(value: KnownValue) -> Option<KnownValue> {
    match value {
        Ok(SqlValue::Boolean(value)) => Some(Ok(SqlValue::Boolean(!value))),
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    }
}

fn quantified_value(
    operator: &OperatorEntry,
    operand: &ScalarExpression,
    elements: &[ScalarExpression],
    is_all: bool,
) -> Option<KnownValue> {
    constant_of(operand)?;
    constants_of(elements)?;
    let mut result = SqlValue::Boolean(is_all);
    for element in elements {
        let both = [operand.clone(), element.clone()];
        match operator_value(operator, &both, SqlType::BOOLEAN)? {
            Ok(SqlValue::Boolean(holds)) if holds != is_all => {
                return Some(Ok(SqlValue::Boolean(holds)));
            }
            Ok(SqlValue::Null) => result = SqlValue::Null,
            Ok(_) => {}
            Err(error) => return Some(Err(error)),
        }
    }
    Some(Ok(result))
}
