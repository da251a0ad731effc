//! Exact numbers: arithmetic, rounding, roots, logarithms, powers.

use nacre_types::catalog::TypeOid;
use nacre_types::{ExactNumeric, SqlValue, ValueError};

use super::arguments::{double, int4, numeric};
use super::integers::first;
use super::registry::KernelRow;
use super::{KernelFunction, ScalarKernel};
use crate::catalog::OperatorEntry;

/// Digits that matter of a root, and most digits behind the point that it shows.
const SIGNIFICANT_DIGITS: i32 = 16;
const SHOWN_DIGITS_MAX: i32 = 1_000;

pub(super) const KERNELS: &[KernelRow] = &[
    ("abs(numeric)", ScalarKernel::total(|values, _| one(values, |value| Ok(value.abs())))),
    (
        "ceil(numeric) ceiling(numeric)",
        ScalarKernel::sized(|values, _| one(values, ExactNumeric::ceil)),
    ),
    ("floor(numeric)", ScalarKernel::sized(|values, _| one(values, ExactNumeric::floor))),
    ("round(numeric)", ScalarKernel::sized(|values, _| one(values, |value| value.round(0)))),
    ("trunc(numeric)", ScalarKernel::total(|values, _| one(values, |value| value.truncate(0)))),
    (
        "round(numeric,int4)",
        ScalarKernel::sized(|values, _| made(numeric(values, 0)?.round(int4(values, 1)?))),
    ),
    (
        "trunc(numeric,int4)",
        ScalarKernel::sized(|values, _| made(numeric(values, 0)?.truncate(int4(values, 1)?))),
    ),
    (
        "sign(numeric)",
        ScalarKernel::total(|values, _| {
            let sign = numeric(values, 0)?.signum();
            Ok(SqlValue::Numeric(sign.map_or(ExactNumeric::NAN, |sign| i32::from(sign).into())))
        }),
    ),
    (
        "div(numeric,numeric)",
        ScalarKernel::partial(|values, _| two(values, ExactNumeric::divide_truncated)),
    ),
    (
        "mod(numeric,numeric)",
        ScalarKernel::partial(|values, _| two(values, ExactNumeric::remainder)),
    ),
    (
        "sqrt(numeric) numeric_sqrt(numeric)",
        ScalarKernel::partial(|values, _| square_root(numeric(values, 0)?)),
    ),
    (
        "exp(numeric) numeric_exp(numeric)",
        ScalarKernel::partial(|values, _| one(values, ExactNumeric::exponential)),
    ),
    (
        "ln(numeric) numeric_ln(numeric)",
        ScalarKernel::partial(|values, _| one(values, ExactNumeric::natural_logarithm)),
    ),
    (
        "log(numeric) log10(numeric)",
        ScalarKernel::partial(|values, _| made(numeric(values, 0)?.logarithm(&10_i32.into()))),
    ),
    (
        "log(numeric,numeric) numeric_log(numeric,numeric)",
        ScalarKernel::partial(|values, _| two(values, |base, value| value.logarithm(base))),
    ),
    (
        "power(numeric,numeric) pow(numeric,numeric)",
        ScalarKernel::partial(|values, _| two(values, ExactNumeric::power)),
    ),
    (
        "scale(numeric)",
        ScalarKernel::total(|values, _| {
            let scale = numeric(values, 0)?.scale();
            Ok(scale.map_or(SqlValue::Null, |scale| SqlValue::Integer(scale.into())))
        }),
    ),
    (
        "min_scale(numeric)",
        ScalarKernel::total(|values, _| {
            let least = least_scale(numeric(values, 0)?);
            Ok(least.map_or(SqlValue::Null, SqlValue::Integer))
        }),
    ),
    (
        "trim_scale(numeric)",
        ScalarKernel::total(|values, _| {
            let value = numeric(values, 0)?;
            match least_scale(value) {
                Some(least) => made(value.truncate(least)),
                None => Ok(SqlValue::Numeric(value.clone())),
            }
        }),
    ),
    (
        "width_bucket(float8,float8,float8,int4)",
        ScalarKernel::partial(|values, _| float_bucket(values)),
    ),
    (
        "width_bucket(numeric,numeric,numeric,int4)",
        ScalarKernel::partial(|values, _| numeric_bucket(values)),
    ),
];

/// Returns the kernel of an operator on exact numbers.
pub(super) fn operator_kernel(operator: &OperatorEntry) -> Option<ScalarKernel> {
    let is_numeric = |oid: TypeOid| oid == TypeOid::NUMERIC;
    if !is_numeric(operator.right) || !operator.left.is_none_or(is_numeric) {
        return None;
    }
    let partial = |compute: KernelFunction| Some(ScalarKernel::partial(compute));
    let sized = |compute: KernelFunction| Some(ScalarKernel::sized(compute));
    let total = |compute: KernelFunction| Some(ScalarKernel::total(compute));
    match (operator.name, operator.left.is_some()) {
        ("+", true) => sized(|values, _| two(values, ExactNumeric::add)),
        ("-", true) => sized(|values, _| two(values, ExactNumeric::subtract)),
        ("*", true) => sized(|values, _| two(values, ExactNumeric::multiply)),
        ("/", true) => partial(|values, _| two(values, ExactNumeric::divide)),
        ("%", true) => partial(|values, _| two(values, ExactNumeric::remainder)),
        ("^", true) => partial(|values, _| two(values, ExactNumeric::power)),
        ("-", false) => total(|values, _| one(values, |value| Ok(value.negate()))),
        ("+", false) => total(|values, _| first(values)),
        ("@", false) => total(|values, _| one(values, |value| Ok(value.abs()))),
        _ => None,
    }
}

fn made(result: Result<ExactNumeric, ValueError>) -> Result<SqlValue, ValueError> {
    result.map(SqlValue::Numeric)
}

fn one(
    values: &[SqlValue],
    compute: fn(&ExactNumeric) -> Result<ExactNumeric, ValueError>,
) -> Result<SqlValue, ValueError> {
    made(compute(numeric(values, 0)?))
}

fn two(
    values: &[SqlValue],
    compute: fn(&ExactNumeric, &ExactNumeric) -> Result<ExactNumeric, ValueError>,
) -> Result<SqlValue, ValueError> {
    made(compute(numeric(values, 0)?, numeric(values, 1)?))
}

/// Returns how many digits behind the point are no zeros at the end.
fn least_scale(value: &ExactNumeric) -> Option<i32> {
    value.scale()?;
    let text = value.to_string();
    let (_, behind) = text.split_once('.').unwrap_or(("", ""));
    i32::try_from(behind.trim_end_matches('0').len()).ok()
}

fn square_root(value: &ExactNumeric) -> Result<SqlValue, ValueError> {
    if value.signum() == Some(-1) {
        return Err(ValueError::power_argument("cannot take square root of a negative number"));
    }
    let Some(own) = value.scale() else { return Ok(SqlValue::Numeric(value.clone())) };
    // Digits before the point in groups of four; those of a fraction are below zero.
    let groups = digit_groups(value);
    let before = groups * 4 / 2 - 1;
    let shown = (SIGNIFICANT_DIGITS - before).max(own.into()).clamp(0, SHOWN_DIGITS_MAX);
    made(value.square_root(shown as u16))
}

/// Returns in which group of four digits the first one stands: 1 before the point, 0 behind it.
fn digit_groups(value: &ExactNumeric) -> i32 {
    let text = value.abs().to_string();
    let (before, behind) = text.split_once('.').unwrap_or((&text, ""));
    let before = before.trim_start_matches('0');
    if !before.is_empty() {
        return i32::try_from(before.len().div_ceil(4)).unwrap_or(i32::MAX);
    }
    match behind.find(|digit| digit != '0') {
        Some(zeros) => -i32::try_from(zeros / 4).unwrap_or(0),
        // PostgreSQL's zero has the weight 0.
        None => 1,
    }
}

/// Checks what both kinds of numbers have in common.
fn check_bounds(has_nan: bool, has_endless_bound: bool, is_empty: bool) -> Result<(), ValueError> {
    let refused = |message: &str| Err(ValueError::bucket_argument(message));
    if has_nan {
        return refused("operand, lower bound, and upper bound cannot be NaN");
    }
    if has_endless_bound {
        return refused("lower and upper bounds must be finite");
    }
    if is_empty {
        return refused("lower bound cannot equal upper bound");
    }
    Ok(())
}

/// Returns the number of buckets of a call.
fn bucket_count(values: &[SqlValue]) -> Result<i32, ValueError> {
    let count = int4(values, 3)?;
    if count <= 0 {
        return Err(ValueError::bucket_argument("count must be greater than zero"));
    }
    Ok(count)
}

/// Returns the bucket behind the last one.
fn bucket_above(count: i32) -> Result<SqlValue, ValueError> {
    let above = count.checked_add(1).ok_or_else(|| ValueError::range_of("integer"))?;
    Ok(SqlValue::Integer(above))
}

fn numeric_bucket(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    let (operand, low, high) = (numeric(values, 0)?, numeric(values, 1)?, numeric(values, 2)?);
    let count = bucket_count(values)?;
    let has_nan = operand.is_nan() || low.is_nan() || high.is_nan();
    check_bounds(has_nan, !low.is_finite() || !high.is_finite(), low == high)?;
    let (is_before, is_behind) = if low < high {
        (operand < low, operand >= high)
    } else {
        (operand > low, operand <= high)
    };
    if is_before {
        return Ok(SqlValue::Integer(0));
    }
    if is_behind {
        return bucket_above(count);
    }
    let (part, whole) = if low < high {
        (operand.subtract(low)?, high.subtract(low)?)
    } else {
        (low.subtract(operand)?, low.subtract(high)?)
    };
    let buckets = ExactNumeric::from_scaled(count.into(), 0)?;
    let quotient = part.multiply(&buckets)?.divide(&whole)?;
    let one = ExactNumeric::from_scaled(1, 0)?;
    quotient.add(&one)?.floor()?.to_i32().map(SqlValue::Integer)
}

fn float_bucket(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    let (operand, low, high) = (double(values, 0)?, double(values, 1)?, double(values, 2)?);
    let count = bucket_count(values)?;
    let has_nan = operand.is_nan() || low.is_nan() || high.is_nan();
    check_bounds(has_nan, low.is_infinite() || high.is_infinite(), low == high)?;
    let is_up = low < high;
    let (is_before, is_behind) =
        if is_up { (operand < low, operand >= high) } else { (operand > low, operand <= high) };
    if is_before {
        return Ok(SqlValue::Integer(0));
    }
    if is_behind {
        return bucket_above(count);
    }
    let (part, whole) =
        if is_up { (operand - low, high - low) } else { (low - operand, low - high) };
    let bucket = f64::from(count) * part / whole + 1.0;
    // PostgreSQL's answer is undefined here.
    if !(0.0..=f64::from(i32::MAX)).contains(&bucket) {
        return Err(ValueError::not_supported("width_bucket of this large a range"));
    }
    Ok(SqlValue::Integer(bucket as i32))
}
