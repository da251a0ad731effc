//! Floats: arithmetic that reports overflow and underflow, roots, powers, trigonometry.
//!
//! Not here: cube roots, whose last digit Rust rounds otherwise than C.

use nacre_types::catalog::TypeOid;
use nacre_types::{SqlValue, ValueError};

use super::arguments::double;
use super::integers::first;
use super::registry::KernelRow;
use super::{KernelFunction, ScalarKernel};
use crate::catalog::OperatorEntry;

const TYPES: [TypeOid; 2] = [TypeOid::FLOAT4, TypeOid::FLOAT8];

pub(super) const KERNELS: &[KernelRow] = &[
    ("abs(float4) abs(float8)", ScalarKernel::total(|values, _| absolute_of(values))),
    ("ceil(float8) ceiling(float8)", ScalarKernel::total(|values, _| whole(values, f64::ceil))),
    ("floor(float8)", ScalarKernel::total(|values, _| whole(values, f64::floor))),
    ("round(float8)", ScalarKernel::total(|values, _| whole(values, f64::round_ties_even))),
    ("trunc(float8)", ScalarKernel::total(|values, _| whole(values, f64::trunc))),
    (
        "sign(float8)",
        ScalarKernel::total(|values, _| {
            let value = double(values, 0)?;
            Ok(SqlValue::Double(f64::from(i8::from(value > 0.0) - i8::from(value < 0.0))))
        }),
    ),
    ("sqrt(float8)", ScalarKernel::partial(|values, _| square_root(double(values, 0)?))),
    (
        "power(float8,float8) pow(float8,float8)",
        ScalarKernel::partial(|values, _| power(double(values, 0)?, double(values, 1)?)),
    ),
    ("exp(float8)", ScalarKernel::partial(|values, _| exponential(double(values, 0)?))),
    ("ln(float8)", ScalarKernel::partial(|values, _| logarithm(double(values, 0)?, f64::ln))),
    (
        "log(float8) log10(float8)",
        ScalarKernel::partial(|values, _| logarithm(double(values, 0)?, f64::log10)),
    ),
    ("sin(float8)", ScalarKernel::partial(|values, _| periodic(double(values, 0)?, f64::sin))),
    ("cos(float8)", ScalarKernel::partial(|values, _| periodic(double(values, 0)?, f64::cos))),
    ("tan(float8)", ScalarKernel::partial(|values, _| periodic(double(values, 0)?, f64::tan))),
    (
        "cot(float8)",
        ScalarKernel::partial(|values, _| periodic(double(values, 0)?, |value| 1.0 / value.tan())),
    ),
    ("asin(float8)", ScalarKernel::partial(|values, _| inverse(double(values, 0)?, f64::asin))),
    ("acos(float8)", ScalarKernel::partial(|values, _| inverse(double(values, 0)?, f64::acos))),
    ("atan(float8)", ScalarKernel::total(|values, _| whole(values, f64::atan))),
    (
        "atan2(float8,float8)",
        ScalarKernel::total(|values, _| {
            Ok(SqlValue::Double(double(values, 0)?.atan2(double(values, 1)?)))
        }),
    ),
    (
        "degrees(float8)",
        ScalarKernel::partial(|values, _| {
            let degrees = double(values, 0)? / RADIANS_OF_DEGREE;
            checked(degrees, double(values, 0)?.is_infinite(), true)
        }),
    ),
    (
        "radians(float8)",
        ScalarKernel::total(|values, _| {
            Ok(SqlValue::Double(double(values, 0)? * RADIANS_OF_DEGREE))
        }),
    ),
    ("pi()", ScalarKernel::total(|_, _| Ok(SqlValue::Double(std::f64::consts::PI)))),
];

const RADIANS_OF_DEGREE: f64 = 0.017_453_292_519_943_295;

/// Returns the kernel of an operator on floats.
pub(super) fn operator_kernel(operator: &OperatorEntry) -> Option<ScalarKernel> {
    let is_float = |oid: TypeOid| TYPES.contains(&oid);
    if !is_float(operator.right) || !operator.left.is_none_or(is_float) {
        return None;
    }
    let partial = |compute: KernelFunction| Some(ScalarKernel::partial(compute));
    let total = |compute: KernelFunction| Some(ScalarKernel::total(compute));
    match (operator.name, operator.left.is_some()) {
        ("+", true) => partial(|values, _| combined(values, FloatOp::Add)),
        ("-", true) => partial(|values, _| combined(values, FloatOp::Subtract)),
        ("*", true) => partial(|values, _| combined(values, FloatOp::Multiply)),
        ("/", true) => partial(|values, _| combined(values, FloatOp::Divide)),
        ("-", false) => total(|values, _| {
            Ok(match values.first() {
                Some(SqlValue::Real(value)) => SqlValue::Real(-value),
                _ => SqlValue::Double(-double(values, 0)?),
            })
        }),
        ("+", false) => total(|values, _| first(values)),
        ("@", false) => total(|values, _| absolute_of(values)),
        ("|/", false) => partial(|values, _| square_root(double(values, 0)?)),
        ("^", true) => partial(|values, _| power(double(values, 0)?, double(values, 1)?)),
        _ => None,
    }
}

/// An operation on two floats.
#[derive(Clone, Copy)]
enum FloatOp {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// Computes in the narrower type if both are of it.
fn combined(values: &[SqlValue], op: FloatOp) -> Result<SqlValue, ValueError> {
    let (left, right) = (double(values, 0)?, double(values, 1)?);
    if matches!(op, FloatOp::Divide) && right == 0.0 && !left.is_nan() {
        return Err(ValueError::division_by_zero("division by zero"));
    }
    let is_narrow = matches!(values, [SqlValue::Real(_), SqlValue::Real(_)]);
    let result = if is_narrow {
        // A double has more than twice the digits, so that rounding twice gives the same.
        f64::from(applied(op, left, right) as f32)
    } else {
        applied(op, left, right)
    };
    let (may_be_infinite, may_be_zero) = match op {
        FloatOp::Add | FloatOp::Subtract => (left.is_infinite() || right.is_infinite(), true),
        FloatOp::Multiply => {
            (left.is_infinite() || right.is_infinite(), left == 0.0 || right == 0.0)
        }
        FloatOp::Divide => (left.is_infinite(), left == 0.0 || right.is_infinite()),
    };
    let result = checked(result, may_be_infinite, may_be_zero)?;
    match result {
        SqlValue::Double(value) if is_narrow => Ok(SqlValue::Real(value as f32)),
        result => Ok(result),
    }
}

fn applied(op: FloatOp, left: f64, right: f64) -> f64 {
    match op {
        FloatOp::Add => left + right,
        FloatOp::Subtract => left - right,
        FloatOp::Multiply => left * right,
        FloatOp::Divide => left / right,
    }
}

fn overflow() -> ValueError {
    ValueError::out_of_range("value out of range: overflow")
}

fn underflow() -> ValueError {
    ValueError::out_of_range("value out of range: underflow")
}

/// Returns a result unless it is infinite or zero and may not be.
fn checked(result: f64, may_be_infinite: bool, may_be_zero: bool) -> Result<SqlValue, ValueError> {
    if result.is_infinite() && !may_be_infinite {
        return Err(overflow());
    }
    if result == 0.0 && !may_be_zero {
        return Err(underflow());
    }
    Ok(SqlValue::Double(result))
}

fn absolute_of(values: &[SqlValue]) -> Result<SqlValue, ValueError> {
    Ok(match values.first() {
        Some(SqlValue::Real(value)) => SqlValue::Real(value.abs()),
        _ => SqlValue::Double(double(values, 0)?.abs()),
    })
}

/// Computes what never fails.
fn whole(values: &[SqlValue], compute: fn(f64) -> f64) -> Result<SqlValue, ValueError> {
    Ok(SqlValue::Double(compute(double(values, 0)?)))
}

fn square_root(value: f64) -> Result<SqlValue, ValueError> {
    if value < 0.0 {
        return Err(ValueError::power_argument("cannot take square root of a negative number"));
    }
    checked(value.sqrt(), value.is_infinite(), value == 0.0)
}

fn exponential(value: f64) -> Result<SqlValue, ValueError> {
    if value.is_infinite() {
        return Ok(SqlValue::Double(if value > 0.0 { value } else { 0.0 }));
    }
    checked(value.exp(), false, false)
}

fn logarithm(value: f64, compute: fn(f64) -> f64) -> Result<SqlValue, ValueError> {
    if value == 0.0 {
        return Err(ValueError::logarithm_argument("cannot take logarithm of zero"));
    }
    if value < 0.0 {
        let message = "cannot take logarithm of a negative number";
        return Err(ValueError::logarithm_argument(message));
    }
    checked(compute(value), value.is_infinite(), value == 1.0)
}

fn periodic(value: f64, compute: fn(f64) -> f64) -> Result<SqlValue, ValueError> {
    if value.is_infinite() {
        return Err(ValueError::out_of_range("input is out of range"));
    }
    Ok(SqlValue::Double(compute(value)))
}

fn inverse(value: f64, compute: fn(f64) -> f64) -> Result<SqlValue, ValueError> {
    if !value.is_nan() && !(-1.0..=1.0).contains(&value) {
        return Err(ValueError::out_of_range("input is out of range"));
    }
    Ok(SqlValue::Double(compute(value)))
}

/// Raises to a power; what C leaves open is as POSIX says.
fn power(base: f64, exponent: f64) -> Result<SqlValue, ValueError> {
    if base.is_nan() {
        return Ok(SqlValue::Double(if exponent == 0.0 { 1.0 } else { base }));
    }
    if exponent.is_nan() {
        return Ok(SqlValue::Double(if base == 1.0 { 1.0 } else { exponent }));
    }
    if base == 0.0 && exponent < 0.0 {
        let message = "zero raised to a negative power is undefined";
        return Err(ValueError::power_argument(message));
    }
    if base < 0.0 && exponent.floor() != exponent {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return Err(ValueError::power_argument(message));
    }
    if base.is_infinite() || exponent.is_infinite() {
        return Ok(SqlValue::Double(base.powf(exponent)));
    }
    checked(base.powf(exponent), false, base == 0.0)
}
