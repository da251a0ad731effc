//! Whole numbers: arithmetic, bits, divisors.

use nacre_types::catalog::TypeOid;
use nacre_types::{SqlValue, ValueError};

use super::arguments::{int4, whole};
use super::registry::KernelRow;
use super::{KernelContext, KernelFunction, ScalarKernel};
use crate::catalog::OperatorEntry;

const TYPES: [TypeOid; 3] = [TypeOid::INT2, TypeOid::INT4, TypeOid::INT8];

pub(super) const KERNELS: &[KernelRow] = &[
    ("abs(int2) abs(int4) abs(int8)", ScalarKernel::partial(absolute)),
    ("mod(int2,int2) mod(int4,int4) mod(int8,int8)", ScalarKernel::partial(remainder)),
    (
        "gcd(int4,int4) gcd(int8,int8)",
        ScalarKernel::partial(|values, context| {
            let (one, other) = (wide(values, 0)?, wide(values, 1)?);
            narrow(Some(common_divisor(one, other)), context)
        }),
    ),
    (
        "lcm(int4,int4) lcm(int8,int8)",
        ScalarKernel::partial(|values, context| {
            let (one, other) = (wide(values, 0)?, wide(values, 1)?);
            if one == 0 || other == 0 {
                return narrow(Some(0), context);
            }
            narrow((one / common_divisor(one, other)).checked_mul(other).map(i128::abs), context)
        }),
    ),
    (
        "to_hex(int4)",
        ScalarKernel::total(|values, _| Ok(SqlValue::Text(format!("{:x}", int4(values, 0)?)))),
    ),
    (
        "to_hex(int8)",
        ScalarKernel::total(|values, _| Ok(SqlValue::Text(format!("{:x}", whole(values, 0)?)))),
    ),
];

/// Returns the kernel of an operator on whole numbers.
pub(super) fn operator_kernel(operator: &OperatorEntry) -> Option<ScalarKernel> {
    let is_whole = |oid: TypeOid| TYPES.contains(&oid);
    if !is_whole(operator.right) || !operator.left.is_none_or(is_whole) {
        return None;
    }
    if !is_whole(operator.result) {
        return None;
    }
    let partial = |compute: KernelFunction| Some(ScalarKernel::partial(compute));
    let total = |compute: KernelFunction| Some(ScalarKernel::total(compute));
    match (operator.name, operator.left.is_some()) {
        ("+", true) => partial(|values, context| {
            narrow(wide(values, 0)?.checked_add(wide(values, 1)?), context)
        }),
        ("-", true) => partial(|values, context| {
            narrow(wide(values, 0)?.checked_sub(wide(values, 1)?), context)
        }),
        ("*", true) => partial(|values, context| {
            narrow(wide(values, 0)?.checked_mul(wide(values, 1)?), context)
        }),
        ("/", true) => partial(|values, context| {
            let divisor = nonzero(wide(values, 1)?)?;
            narrow(wide(values, 0)?.checked_div(divisor), context)
        }),
        ("%", true) => partial(remainder),
        ("-", false) => partial(|values, context| narrow(Some(-wide(values, 0)?), context)),
        ("@", false) => partial(absolute),
        ("+", false) => total(|values, _| first(values)),
        ("&", true) => total(|values, context| bits(values, context, |one, other| one & other)),
        ("|", true) => total(|values, context| bits(values, context, |one, other| one | other)),
        ("#", true) => total(|values, context| bits(values, context, |one, other| one ^ other)),
        ("~", false) => {
            total(|values, context| narrow(Some(i128::from(!whole(values, 0)?)), context))
        }
        ("<<", true) => total(|values, _| shifted(values, true)),
        (">>", true) => total(|values, _| shifted(values, false)),
        _ => None,
    }
}

/// Returns the only argument.
pub(super) fn first(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    let first = values.first().cloned();
    first.ok_or_else(|| ValueError::internal("a kernel without an argument"))
}

/// Returns an argument; results of two of 64 bits fit 128.
fn wide(values: &[SqlValue], index: usize) -> Result<i128, ValueError> {
    whole(values, index).map(i128::from)
}

fn nonzero(divisor: i128) -> Result<i128, ValueError> {
    match divisor {
        0 => Err(ValueError::division_by_zero("division by zero")),
        divisor => Ok(divisor),
    }
}

/// Makes a value of the type of the result.
fn narrow(result: Option<i128>, context: &KernelContext<'_>) -> Result<SqlValue, ValueError> {
    let (value, type_name) = match context.result_type.oid() {
        TypeOid::INT2 => {
            (result.and_then(|result| result.try_into().ok()).map(SqlValue::SmallInt), "smallint")
        }
        TypeOid::INT4 => {
            (result.and_then(|result| result.try_into().ok()).map(SqlValue::Integer), "integer")
        }
        _ => (result.and_then(|result| result.try_into().ok()).map(SqlValue::BigInt), "bigint"),
    };
    value.ok_or_else(|| ValueError::range_of(type_name))
}

fn absolute(values: &[SqlValue], context: &KernelContext<'_>) -> Result<SqlValue, ValueError> {
    narrow(Some(wide(values, 0)?.abs()), context)
}

fn remainder(values: &[SqlValue], context: &KernelContext<'_>) -> Result<SqlValue, ValueError> {
    let divisor = nonzero(wide(values, 1)?)?;
    narrow(wide(values, 0)?.checked_rem(divisor), context)
}

/// Returns the greatest number that divides both.
fn common_divisor(one: i128, other: i128) -> i128 {
    let (mut one, mut other) = (one.abs(), other.abs());
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

fn bits(
    values: &[SqlValue],
    context: &KernelContext<'_>,
    combine: fn(i64, i64) -> i64,
) -> Result<SqlValue, ValueError> {
    narrow(Some(combine(whole(values, 0)?, whole(values, 1)?).into()), context)
}

/// Shifts as C on x86 does: by the count's lowest bits, 5 for 16 and 32 bits, 6 for 64.
fn shifted(values: &[SqlValue], is_left: bool) -> Result<SqlValue, ValueError> {
    let count = int4(values, 1)?.cast_unsigned();
    Ok(match values.first() {
        Some(SqlValue::SmallInt(value)) => {
            let wide = i32::from(*value);
            let shifted = if is_left { wide.wrapping_shl(count) } else { wide.wrapping_shr(count) };
            SqlValue::SmallInt(shifted as i16)
        }
        Some(SqlValue::Integer(value)) => SqlValue::Integer(if is_left {
            value.wrapping_shl(count)
        } else {
            value.wrapping_shr(count)
        }),
        Some(SqlValue::BigInt(value)) => SqlValue::BigInt(if is_left {
            value.wrapping_shl(count)
        } else {
            value.wrapping_shr(count)
        }),
        _ => return Err(ValueError::internal("a shift of other than a whole number")),
    })
}
