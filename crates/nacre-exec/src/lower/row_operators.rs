//! Operators and functions on SQL values, for [`RowExpression`](super::row_expression).

use std::cmp::Ordering;

use nacre_functions::catalog::OperatorEntry;
use nacre_types::catalog::TypeOid;
use nacre_types::datetime::SqlTimestamp;
use nacre_types::{ExactNumeric, SqlInterval, SqlValue, ValueError};

use super::operators::{OperatorMeaning, integer_limit, operator_meaning};
use crate::expression::ArithmeticOp;

const NUMERIC_DIVIDE: u32 = 1761;
const NUMERIC_REMAINDER: u32 = 1762;
/// Dates and intervals become timestamps.
const DATE_PLUS_INTERVAL: u32 = 1076;
const DATE_MINUS_INTERVAL: u32 = 1077;
const TIMESTAMP_PLUS_INTERVAL: u32 = 2066;
const TIMESTAMP_MINUS_INTERVAL: u32 = 2067;
const DATE_PLUS_DAYS: u32 = 1100;
const DAYS_PLUS_DATE: u32 = 2555;
const DATE_MINUS_DAYS: u32 = 1101;

/// A function of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowFunction {
    Absolute,
    /// To a number of digits, or to whole numbers.
    Round,
    Truncate,
    Ceiling,
    Floor,
}

impl RowFunction {
    /// Returns the function with that OID.
    pub(super) fn of_oid(oid: u32) -> Option<Self> {
        Some(match oid {
            1396 | 1397 | 1398 | 1705 => Self::Absolute,
            1707 | 1708 => Self::Round,
            1709 | 1710 => Self::Truncate,
            1711 | 2167 => Self::Ceiling,
            1712 => Self::Floor,
            _ => return None,
        })
    }

    /// Computes a call; null of a null.
    ///
    /// # Errors
    /// 22003 of results that the type does not hold.
    pub(super) fn apply(self, arguments: &[SqlValue]) -> Result<SqlValue, ValueError> {
        if arguments.iter().any(SqlValue::is_null) {
            return Ok(SqlValue::Null);
        }
        let (value, scale) = match arguments {
            [SqlValue::Numeric(value)] => (value, 0),
            [SqlValue::Numeric(value), SqlValue::Integer(scale)] => (value, *scale),
            [value] if self == Self::Absolute => return absolute_integer(value),
            _ => return Err(ValueError::internal(format!("{self:?} takes no such arguments"))),
        };
        Ok(SqlValue::Numeric(match self {
            Self::Absolute => value.abs(),
            Self::Round => value.round(scale)?,
            Self::Truncate => value.truncate(scale)?,
            Self::Ceiling => value.ceil()?,
            Self::Floor => value.floor()?,
        }))
    }
}

fn absolute_integer(value: &SqlValue) -> Result<SqlValue, ValueError> {
    let out_of_range = |name: &str| ValueError::out_of_range(format!("{name} out of range"));
    match value {
        SqlValue::SmallInt(value) => {
            value.checked_abs().map(SqlValue::SmallInt).ok_or_else(|| out_of_range("smallint"))
        }
        SqlValue::Integer(value) => {
            value.checked_abs().map(SqlValue::Integer).ok_or_else(|| out_of_range("integer"))
        }
        SqlValue::BigInt(value) => {
            value.checked_abs().map(SqlValue::BigInt).ok_or_else(|| out_of_range("bigint"))
        }
        _ => Err(ValueError::internal("no whole number")),
    }
}

/// Whether an operator is computed here. All of these are null of a null.
pub(super) fn is_row_operator(operator: &OperatorEntry) -> bool {
    operator_meaning(operator.oid).is_some()
        || matches!(
            operator.oid,
            NUMERIC_DIVIDE
                | NUMERIC_REMAINDER
                | DATE_PLUS_INTERVAL
                | DATE_MINUS_INTERVAL
                | TIMESTAMP_PLUS_INTERVAL
                | TIMESTAMP_MINUS_INTERVAL
                | DATE_PLUS_DAYS
                | DAYS_PLUS_DATE
                | DATE_MINUS_DAYS
        )
}

/// Whether an operator may raise an error for numbers of usual sizes.
pub(super) fn operator_may_fail(operator: &OperatorEntry) -> bool {
    match operator_meaning(operator.oid) {
        Some(OperatorMeaning::Negate) => operator.result != TypeOid::NUMERIC,
        Some(
            OperatorMeaning::Compare(_)
            | OperatorMeaning::Identity
            | OperatorMeaning::NumericArithmetic(_),
        ) => false,
        _ => true,
    }
}

/// Whether an operator fails only for a divisor of zero, its second operand.
pub(super) fn fails_of_zero_only(operator: &OperatorEntry) -> bool {
    matches!(operator.oid, NUMERIC_DIVIDE | NUMERIC_REMAINDER)
}

/// Computes an operator of [`is_row_operator`].
///
/// # Errors
/// PostgreSQL's.
pub(super) fn apply_operator(
    operator: &'static OperatorEntry,
    values: &[SqlValue],
) -> Result<SqlValue, ValueError> {
    if values.iter().any(SqlValue::is_null) {
        return Ok(SqlValue::Null);
    }
    let unknown =
        || ValueError::internal(format!("operator {} takes no such operands", operator.oid));
    let meaning = operator_meaning(operator.oid);
    match (meaning, values) {
        (Some(OperatorMeaning::Compare(op)), [left, right]) => {
            let order = if operator.right == TypeOid::BPCHAR {
                unpadded(left)?.cmp(unpadded(right)?)
            } else {
                compare_values(left, right)?
            };
            Ok(SqlValue::Boolean(op.holds(order)))
        }
        (Some(OperatorMeaning::Identity), [value]) => Ok(value.clone()),
        (Some(OperatorMeaning::Negate), [SqlValue::Numeric(value)]) => {
            Ok(SqlValue::Numeric(value.negate()))
        }
        (Some(OperatorMeaning::Negate), [value]) => {
            let value = integer(value).ok_or_else(unknown)?;
            integer_result(operator, Some(-value))
        }
        (Some(OperatorMeaning::IntegerArithmetic(op)), [left, right]) => {
            let (left, right) = (integer(left), integer(right));
            let (left, right) = left.zip(right).ok_or_else(unknown)?;
            integer_arithmetic(operator, op, left, right)
        }
        (Some(OperatorMeaning::DateDifference), [SqlValue::Date(left), SqlValue::Date(right)]) => {
            let days = left.to_unix_days().zip(right.to_unix_days());
            let (left, right) = days
                .ok_or_else(|| ValueError::datetime_overflow("cannot subtract infinite dates"))?;
            integer_result(operator, Some(i128::from(left) - i128::from(right)))
        }
        (_, [SqlValue::Numeric(left), SqlValue::Numeric(right)]) => {
            numeric_arithmetic(meaning, operator.oid, left, right)?
                .map(SqlValue::Numeric)
                .ok_or_else(unknown)
        }
        _ => date_arithmetic(operator.oid, values)?.ok_or_else(unknown),
    }
}

/// Orders two values of types that PostgreSQL compares.
///
/// # Errors
/// None for such types.
pub(super) fn compare_values(left: &SqlValue, right: &SqlValue) -> Result<Ordering, ValueError> {
    if let Some(order) = left.compare(right) {
        return Ok(order);
    }
    if let (Some(left), Some(right)) = (integer(left), integer(right)) {
        return Ok(left.cmp(&right));
    }
    let widened = match (left, right) {
        (SqlValue::Real(left), right @ SqlValue::Double(_)) => {
            SqlValue::Double((*left).into()).compare(right)
        }
        (left @ SqlValue::Double(_), SqlValue::Real(right)) => {
            left.compare(&SqlValue::Double((*right).into()))
        }
        (SqlValue::Date(left), SqlValue::Timestamp(right)) => Some(left.timestamp()?.cmp(right)),
        (SqlValue::Timestamp(left), SqlValue::Date(right)) => Some(left.cmp(&right.timestamp()?)),
        _ => None,
    };
    widened.ok_or_else(|| ValueError::internal("a comparison of different types"))
}

/// Returns the characters that `bpchar` compares.
fn unpadded(value: &SqlValue) -> Result<&[u8], ValueError> {
    match value {
        SqlValue::Text(text) | SqlValue::Padded(text) => Ok(text.trim_end_matches(' ').as_bytes()),
        _ => Err(ValueError::internal("no characters")),
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

fn integer_arithmetic(
    operator: &'static OperatorEntry,
    op: ArithmeticOp,
    left: i128,
    right: i128,
) -> Result<SqlValue, ValueError> {
    if matches!(op, ArithmeticOp::Divide | ArithmeticOp::Remainder) && right == 0 {
        return Err(ValueError::division_by_zero("division by zero"));
    }
    // At most 64 bits each, so 128 hold any result.
    let result = match op {
        ArithmeticOp::Add => Some(left + right),
        ArithmeticOp::Subtract => Some(left - right),
        ArithmeticOp::Multiply => Some(left * right),
        ArithmeticOp::Divide => left.checked_div(right),
        ArithmeticOp::Remainder => left.checked_rem(right),
    };
    integer_result(operator, result)
}

fn integer_result(
    operator: &'static OperatorEntry,
    result: Option<i128>,
) -> Result<SqlValue, ValueError> {
    let limit = integer_limit(operator.result)
        .ok_or_else(|| ValueError::internal(format!("operator {}", operator.oid)))?;
    let bounds = limit.bounds;
    match result.filter(|result| (bounds.min()..=bounds.max()).contains(result)) {
        Some(result) => Ok(match operator.result {
            TypeOid::INT2 => SqlValue::SmallInt(result as i16),
            TypeOid::INT4 => SqlValue::Integer(result as i32),
            _ => SqlValue::BigInt(result as i64),
        }),
        None => Err(ValueError::out_of_range(format!("{} out of range", limit.type_name))),
    }
}

fn numeric_arithmetic(
    meaning: Option<OperatorMeaning>,
    oid: u32,
    left: &ExactNumeric,
    right: &ExactNumeric,
) -> Result<Option<ExactNumeric>, ValueError> {
    Ok(Some(match meaning {
        Some(OperatorMeaning::NumericArithmetic(ArithmeticOp::Add)) => left.add(right)?,
        Some(OperatorMeaning::NumericArithmetic(ArithmeticOp::Subtract)) => left.subtract(right)?,
        Some(OperatorMeaning::NumericArithmetic(ArithmeticOp::Multiply)) => left.multiply(right)?,
        None if oid == NUMERIC_DIVIDE => left.divide(right)?,
        None if oid == NUMERIC_REMAINDER => left.remainder(right)?,
        _ => return Ok(None),
    }))
}

fn date_arithmetic(oid: u32, values: &[SqlValue]) -> Result<Option<SqlValue>, ValueError> {
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
            moved(date.timestamp()?, negated(*interval)?)
        }
        (TIMESTAMP_MINUS_INTERVAL, [SqlValue::Timestamp(from), SqlValue::Interval(interval)]) => {
            moved(*from, negated(*interval)?)
        }
        (DATE_PLUS_DAYS, [SqlValue::Date(date), SqlValue::Integer(days)])
        | (DAYS_PLUS_DATE, [SqlValue::Integer(days), SqlValue::Date(date)]) => {
            date.add_days(*days).map(|date| Some(SqlValue::Date(date)))
        }
        (DATE_MINUS_DAYS, [SqlValue::Date(date), SqlValue::Integer(days)]) => {
            let days = days.checked_neg();
            let days = days.ok_or_else(|| ValueError::datetime_overflow("date out of range"))?;
            date.add_days(days).map(|date| Some(SqlValue::Date(date)))
        }
        _ => Ok(None),
    }
}

fn negated(interval: SqlInterval) -> Result<SqlInterval, ValueError> {
    let parts = (|| {
        Some(SqlInterval {
            months: interval.months.checked_neg()?,
            days: interval.days.checked_neg()?,
            micros: interval.micros.checked_neg()?,
        })
    })();
    parts.ok_or_else(|| ValueError::datetime_overflow("interval out of range"))
}

#[cfg(test)]
mod tests {
    use nacre_functions::catalog::all_functions;

    use super::*;

    #[test]
    fn functions_are_those_of_the_catalog() {
        let mut count = 0;
        for entry in all_functions() {
            let Some(function) = RowFunction::of_oid(entry.oid) else { continue };
            count += 1;
            let names: &[&str] = match function {
                RowFunction::Absolute => &["abs"],
                RowFunction::Round => &["round"],
                RowFunction::Truncate => &["trunc"],
                RowFunction::Ceiling => &["ceil", "ceiling"],
                RowFunction::Floor => &["floor"],
            };
            assert!(names.contains(&entry.name), "{entry:?} is no {function:?}");
            let is_number =
                integer_limit(entry.result).is_some() && function == RowFunction::Absolute;
            assert!(is_number || entry.result == TypeOid::NUMERIC, "{entry:?}");
            assert_eq!(entry.arguments.first(), Some(&entry.result), "{entry:?}");
        }
        assert_eq!(count, 4 + 2 + 2 + 2 + 1);
    }
}
