//! Comparisons of values of one type, or of types that PostgreSQL compares with each other.

use std::cmp::Ordering;

use nacre_types::catalog::TypeOid;
use nacre_types::datetime::{DatetimeSettings, SqlDate, SqlTimestamp};
use nacre_types::{SqlType, SqlValue, ValueError, ValueSettings};

use super::{KernelContext, KernelFunction, ScalarKernel};
use crate::catalog::OperatorEntry;

/// `anyarray`.
const ANY_ARRAY: TypeOid = TypeOid(2277);

/// Groups of types whose values compare with each other.
const GROUPS: [&[TypeOid]; 4] = [
    &[TypeOid::INT2, TypeOid::INT4, TypeOid::INT8],
    &[TypeOid::FLOAT4, TypeOid::FLOAT8],
    &[TypeOid::DATE, TypeOid::TIMESTAMP, TypeOid::TIMESTAMPTZ],
    &[TypeOid::TEXT, TypeOid::NAME],
];

/// Types whose values compare only with those of the same type.
const SINGLE_TYPES: [TypeOid; 13] = [
    TypeOid::BOOL,
    TypeOid::NUMERIC,
    TypeOid::BPCHAR,
    TypeOid::CHAR,
    TypeOid::BYTEA,
    TypeOid::UUID,
    TypeOid::OID,
    TypeOid::TIME,
    TypeOid::TIMETZ,
    TypeOid::INTERVAL,
    TypeOid::BIT,
    TypeOid::VARBIT,
    ANY_ARRAY,
];

/// Returns the kernel of a comparison.
pub(super) fn operator_kernel(operator: &OperatorEntry) -> Option<ScalarKernel> {
    let (left, right) = (operator.left?, operator.right);
    let is_together = |group: &&[TypeOid]| group.contains(&left) && group.contains(&right);
    let is_compared =
        left == right && SINGLE_TYPES.contains(&left) || GROUPS.iter().any(is_together);
    if !is_compared || operator.result != TypeOid::BOOL {
        return None;
    }
    // `"char"` and `char` in the C collation order by bytes, so the operators of patterns do.
    let compute: KernelFunction = match operator.name {
        "=" => |values, context| compared(values, context, Ordering::is_eq),
        "<>" => |values, context| compared(values, context, Ordering::is_ne),
        "<" | "~<~" => |values, context| compared(values, context, Ordering::is_lt),
        "<=" | "~<=~" => |values, context| compared(values, context, Ordering::is_le),
        ">" | "~>~" => |values, context| compared(values, context, Ordering::is_gt),
        ">=" | "~>=~" => |values, context| compared(values, context, Ordering::is_ge),
        _ => return None,
    };
    // Elements may be of a type without an order.
    let is_total = left != ANY_ARRAY;
    Some(if is_total { ScalarKernel::total(compute) } else { ScalarKernel::partial(compute) })
}

fn compared(
    values: &[SqlValue],
    context: &KernelContext<'_>,
    holds: fn(Ordering) -> bool,
) -> Result<SqlValue, ValueError> {
    let [left, right] = values else {
        return Err(ValueError::internal("a comparison of other than two values"));
    };
    let order = compare_values(left, right, context)?;
    Ok(SqlValue::Boolean(holds(order)))
}

/// Returns the greatest or least of values of one type, without nulls; null if there are only
/// nulls.
///
/// # Errors
/// As [`compare_values`].
pub fn extreme_of(
    values: impl IntoIterator<Item = SqlValue>,
    is_greatest: bool,
    sql_type: SqlType,
) -> Result<SqlValue, ValueError> {
    let (types, settings) = ([sql_type, sql_type], ValueSettings::default());
    let context =
        KernelContext { argument_types: &types, result_type: sql_type, settings: &settings };
    let wanted = if is_greatest { Ordering::Greater } else { Ordering::Less };
    let mut extreme = SqlValue::Null;
    for value in values.into_iter().filter(|value| !value.is_null()) {
        if extreme.is_null() || compare_values(&value, &extreme, &context)? == wanted {
            extreme = value;
        }
    }
    Ok(extreme)
}

/// Orders two values of types that PostgreSQL compares.
///
/// # Errors
/// 42883 for elements of arrays without an order.
pub fn compare_values(
    left: &SqlValue,
    right: &SqlValue,
    context: &KernelContext<'_>,
) -> Result<Ordering, ValueError> {
    if let Some(order) = left.compare(right) {
        return Ok(order);
    }
    let numbers = |value: &SqlValue| match value {
        SqlValue::SmallInt(value) => Some(i64::from(*value)),
        SqlValue::Integer(value) => Some((*value).into()),
        SqlValue::BigInt(value) => Some(*value),
        _ => None,
    };
    let floats = |value: &SqlValue| match value {
        SqlValue::Real(value) => Some(SqlValue::Double((*value).into())),
        SqlValue::Double(value) => Some(SqlValue::Double(*value)),
        _ => None,
    };
    if let (Some(left), Some(right)) = (numbers(left), numbers(right)) {
        return Ok(left.cmp(&right));
    }
    if let (Some(left), Some(right)) = (floats(left), floats(right)) {
        return left.compare(&right).ok_or_else(|| ValueError::internal("floats have an order"));
    }
    if let (SqlValue::Array(left), SqlValue::Array(_)) = (left, right) {
        let name = left.element_type().without_modifier().to_string();
        let message = format!("could not identify a comparison function for type {name}");
        return Err(ValueError::undefined_function(message));
    }
    let is_zoned = |value: &SqlValue| matches!(value, SqlValue::TimestampTz(_));
    let zoned = is_zoned(left) || is_zoned(right);
    let settings = &context.settings.datetime;
    let moments = moment(left, zoned, settings).zip(moment(right, zoned, settings));
    let (left, right) =
        moments.ok_or_else(|| ValueError::internal("a comparison of different types"))?;
    Ok(left.cmp(&right))
}

/// Returns the microseconds of a date or timestamp; a date past the last timestamp is after it, and
/// before infinity.
fn moment(value: &SqlValue, is_zoned: bool, settings: &DatetimeSettings) -> Option<i128> {
    let local = match value {
        SqlValue::TimestampTz(moment) => return Some(moment.0.into()),
        SqlValue::Timestamp(timestamp) => *timestamp,
        SqlValue::Date(date) => match date.timestamp() {
            Ok(timestamp) => timestamp,
            Err(_) => return Some(beyond(*date)),
        },
        _ => return None,
    };
    if !is_zoned || !local.is_finite() {
        return Some(local.0.into());
    }
    let seconds = i128::from(settings.time_zone.seconds_east_of_local(local.0));
    Some(i128::from(local.0) - seconds * 1_000_000)
}

fn beyond(_: SqlDate) -> i128 {
    i128::from(SqlTimestamp::INFINITY.0) - 1
}
