//! Values of expressions without columns.
//!
//! All operators and casts that the lowering has and that may fail are folded here, so that one on
//! constants never fails for the rows that reach it: PostgreSQL raises its error before the first.

use nacre_functions::catalog::OperatorEntry;
use nacre_plan::algebra::{CastStep, ScalarExpression, ScalarKind};
use nacre_types::catalog::{CastContext, TypeOid};
use nacre_types::datetime::SqlTimestamp;
use nacre_types::{
    ExactNumeric, SqlInterval, SqlType, SqlValue, ValueError, ValueSettings, cast_value,
};

use super::error::{LoweringError, LoweringResult};
use super::operators::{OperatorMeaning, integer_limit, operator_meaning};
use crate::expression::ArithmeticOp;

/// Quotients of numerics.
const NUMERIC_DIVIDE: u32 = 1761;
/// Dates and intervals become timestamps.
const DATE_PLUS_INTERVAL: u32 = 1076;
const DATE_MINUS_INTERVAL: u32 = 1077;
const TIMESTAMP_PLUS_INTERVAL: u32 = 2066;
const TIMESTAMP_MINUS_INTERVAL: u32 = 2067;
const DATE_PLUS_DAYS: u32 = 1100;
const DAYS_PLUS_DATE: u32 = 2555;
const DATE_MINUS_DAYS: u32 = 1101;

/// Types among which casts depend on no setting of the session.
const CAST_GROUPS: [&[TypeOid]; 4] = [
    &[
        TypeOid::INT2,
        TypeOid::INT4,
        TypeOid::INT8,
        TypeOid::NUMERIC,
        TypeOid::FLOAT4,
        TypeOid::FLOAT8,
    ],
    &[TypeOid::TEXT, TypeOid::VARCHAR, TypeOid::BPCHAR],
    &[TypeOid::DATE, TypeOid::TIMESTAMP],
    &[TypeOid::BOOL],
];

/// Returns the value of an expression of constants; `None` if it is none, or not computed here.
///
/// # Errors
/// [`LoweringError::NotSupported`] for what PostgreSQL refuses to compute: its words are for others
/// to find.
pub(super) fn fold_constant(expression: &ScalarExpression) -> LoweringResult<Option<SqlValue>> {
    match &expression.kind {
        ScalarKind::Constant(value) => Ok(Some(value.0.clone())),
        ScalarKind::Cast { operand, method } => match fold_constant(operand)? {
            Some(value) => fold_cast(value, operand.sql_type, expression.sql_type, *method),
            None => Ok(None),
        },
        ScalarKind::Operator { operator, operands } => {
            let mut values = Vec::with_capacity(operands.len());
            for operand in operands {
                match fold_constant(operand)? {
                    Some(value) => values.push(value),
                    None => return Ok(None),
                }
            }
            fold_operator(operator, &values)
        }
        _ => Ok(None),
    }
}

fn refused(error: ValueError) -> LoweringError {
    LoweringError::not_supported(format!("a constant that fails ({error})"))
}

fn fold_cast(
    value: SqlValue,
    source: SqlType,
    target: SqlType,
    method: CastStep,
) -> LoweringResult<Option<SqlValue>> {
    let is_among =
        |group: &&[TypeOid]| group.contains(&source.oid()) && group.contains(&target.oid());
    if !CAST_GROUPS.iter().any(is_among) {
        return Ok(None);
    }
    let (source, target, context) = match method {
        CastStep::Type(_) => (source, target.without_modifier(), CastContext::Explicit),
        CastStep::Modifier { is_explicit: true } => (source, target, CastContext::Explicit),
        CastStep::Modifier { is_explicit: false } => (source, target, CastContext::Implicit),
    };
    cast_value(value, source, target, context, &ValueSettings::default()).map(Some).map_err(refused)
}

fn fold_operator(
    operator: &'static OperatorEntry,
    values: &[SqlValue],
) -> LoweringResult<Option<SqlValue>> {
    let meaning = operator_meaning(operator.oid);
    let folded = match (meaning, values) {
        (Some(OperatorMeaning::Compare(_)), _) => return Ok(None),
        (Some(OperatorMeaning::Identity), [value]) => Ok(Some(value.clone())),
        (Some(OperatorMeaning::Negate), [SqlValue::Numeric(value)]) => {
            Ok(Some(SqlValue::Numeric(value.negate())))
        }
        (Some(OperatorMeaning::Negate), [value]) => {
            return fold_integers(
                ArithmeticOp::Subtract,
                operator,
                &[SqlValue::Integer(0), value.clone()],
            );
        }
        (Some(OperatorMeaning::IntegerArithmetic(op)), _) => {
            return fold_integers(op, operator, values);
        }
        (_, [SqlValue::Numeric(left), SqlValue::Numeric(right)]) => {
            fold_numerics(meaning, operator.oid, left, right)
        }
        _ => fold_dates(operator.oid, values),
    };
    folded.map_err(refused)
}

fn fold_integers(
    op: ArithmeticOp,
    operator: &'static OperatorEntry,
    values: &[SqlValue],
) -> LoweringResult<Option<SqlValue>> {
    if values.iter().any(SqlValue::is_null) {
        return Ok(Some(SqlValue::Null));
    }
    let ([left, right], Some(limit)) = (values, integer_limit(operator.result)) else {
        return Ok(None);
    };
    let (Some(left), Some(right)) = (integer(left), integer(right)) else { return Ok(None) };
    // At most 64 bits each, so 128 hold any result.
    let result = match op {
        ArithmeticOp::Add => Some(left + right),
        ArithmeticOp::Subtract => Some(left - right),
        ArithmeticOp::Multiply => Some(left * right),
        ArithmeticOp::Divide => left.checked_div(right),
        ArithmeticOp::Remainder => left.checked_rem(right),
    };
    let is_within = |result: &i128| (limit.bounds.min()..=limit.bounds.max()).contains(result);
    match (result.filter(is_within), operator.result) {
        (Some(result), TypeOid::INT2) => Ok(Some(SqlValue::SmallInt(result as i16))),
        (Some(result), TypeOid::INT4) => Ok(Some(SqlValue::Integer(result as i32))),
        (Some(result), TypeOid::INT8) => Ok(Some(SqlValue::BigInt(result as i64))),
        _ => Err(LoweringError::not_supported(format!(
            "a constant that fails ({} of whole numbers)",
            operator.name
        ))),
    }
}

fn integer(value: &SqlValue) -> Option<i128> {
    match value {
        SqlValue::SmallInt(value) => Some((*value).into()),
        SqlValue::Integer(value) => Some((*value).into()),
        SqlValue::BigInt(value) => Some((*value).into()),
        _ => None,
    }
}

fn fold_numerics(
    meaning: Option<OperatorMeaning>,
    oid: u32,
    left: &ExactNumeric,
    right: &ExactNumeric,
) -> Result<Option<SqlValue>, ValueError> {
    let result = match meaning {
        Some(OperatorMeaning::NumericArithmetic(ArithmeticOp::Add)) => left.add(right)?,
        Some(OperatorMeaning::NumericArithmetic(ArithmeticOp::Subtract)) => left.subtract(right)?,
        Some(OperatorMeaning::NumericArithmetic(ArithmeticOp::Multiply)) => left.multiply(right)?,
        None if oid == NUMERIC_DIVIDE => left.divide(right)?,
        _ => return Ok(None),
    };
    Ok(Some(SqlValue::Numeric(result)))
}

fn fold_dates(oid: u32, values: &[SqlValue]) -> Result<Option<SqlValue>, ValueError> {
    let moved = |from: SqlTimestamp, interval: SqlInterval| {
        from.add_interval(interval).map(|moment| Some(SqlValue::Timestamp(moment)))
    };
    match (oid, values) {
        (DATE_PLUS_INTERVAL, [SqlValue::Date(date), SqlValue::Interval(interval)]) => {
            moved(date.timestamp()?, *interval)
        }
        (TIMESTAMP_PLUS_INTERVAL, [SqlValue::Timestamp(from), SqlValue::Interval(interval)]) => {
            moved(*from, *interval)
        }
        (DATE_MINUS_INTERVAL, [SqlValue::Date(date), SqlValue::Interval(interval)]) => {
            match negated(*interval) {
                Some(interval) => moved(date.timestamp()?, interval),
                None => Ok(None),
            }
        }
        (TIMESTAMP_MINUS_INTERVAL, [SqlValue::Timestamp(from), SqlValue::Interval(interval)]) => {
            match negated(*interval) {
                Some(interval) => moved(*from, interval),
                None => Ok(None),
            }
        }
        (DATE_PLUS_DAYS, [SqlValue::Date(date), SqlValue::Integer(days)])
        | (DAYS_PLUS_DATE, [SqlValue::Integer(days), SqlValue::Date(date)]) => {
            date.add_days(*days).map(|date| Some(SqlValue::Date(date)))
        }
        (DATE_MINUS_DAYS, [SqlValue::Date(date), SqlValue::Integer(days)]) => {
            match days.checked_neg() {
                Some(days) => date.add_days(days).map(|date| Some(SqlValue::Date(date))),
                None => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

fn negated(interval: SqlInterval) -> Option<SqlInterval> {
    Some(SqlInterval {
        months: interval.months.checked_neg()?,
        days: interval.days.checked_neg()?,
        micros: interval.micros.checked_neg()?,
    })
}
