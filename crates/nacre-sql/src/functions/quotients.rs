//! Division as PostgreSQL has it: quotients of decimals are rounded, and floats are not divided by
//! zero. [`crate::operators`] puts these in the place of the operators.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Decimal128Array, PrimitiveArray,
};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Float32Type, Float64Type, IntervalMonthDayNanoType, IntervalUnit,
    i256,
};
use datafusion::logical_expr::Volatility;

use super::scalar::Definition;
use crate::error::{Error, ErrorKind, Result};

/// Digits that a quotient has behind the point at least, and how many more than the dividend.
const DIGITS_MIN: i8 = 10;
const DIGITS_MORE: i8 = 4;

/// Digits of a decimal.
const PRECISION_MAX: u8 = 38;

/// The largest decimal of that many digits.
const DECIMAL_MAX: i128 = 10_i128.pow(38) - 1;

/// Makes what divides decimals, and whole numbers by decimals.
pub(super) fn of_decimals() -> Definition {
    Definition {
        name: "nacre_quotient",
        takes: |types| match types {
            [one, other] => Some(vec![decimal(one)?, decimal(other)?]),
            _ => None,
        },
        returns: |types, _| {
            let [dividend, divisor] = [0, 1].map(|place| types.get(place).map_or(0, scale));
            let digits = (dividend + DIGITS_MORE).max(divisor).max(DIGITS_MIN);
            DataType::Decimal128(PRECISION_MAX, digits.min(PRECISION_MAX as i8))
        },
        volatility: Volatility::Immutable,
        body: quotients,
    }
}

/// Makes what divides floats.
pub(super) fn of_floats() -> Definition {
    Definition {
        name: "nacre_float_quotient",
        takes: |types| match types {
            [DataType::Float32, DataType::Float32] => Some(vec![DataType::Float32; 2]),
            [one, other] if one.is_numeric() && other.is_numeric() => {
                Some(vec![DataType::Float64; 2])
            }
            _ => None,
        },
        returns: |types, _| types.first().cloned().unwrap_or(DataType::Float64),
        volatility: Volatility::Immutable,
        body: |args, _, _| match args[0].data_type() {
            DataType::Float32 => float_quotients::<Float32Type>(args),
            _ => float_quotients::<Float64Type>(args),
        },
    }
}

/// Makes what tells how long intervals are, to compare them: months have 30 days.
pub(super) fn spans() -> Definition {
    Definition {
        name: "nacre_span",
        takes: |types| match types {
            [one @ DataType::Interval(IntervalUnit::MonthDayNano)] => Some(vec![one.clone()]),
            _ => None,
        },
        returns: |_, _| DataType::Decimal128(PRECISION_MAX, 0),
        volatility: Volatility::Immutable,
        body: |args, _, _| {
            const DAY_NS: i128 = 86_400_000_000_000;
            let intervals = args[0].as_primitive::<IntervalMonthDayNanoType>();
            let spans: Decimal128Array = intervals.unary(|one| {
                let days = i128::from(one.months) * 30 + i128::from(one.days);
                days * DAY_NS + i128::from(one.nanoseconds)
            });
            Ok(Arc::new(spans.with_precision_and_scale(PRECISION_MAX, 0)?))
        },
    }
}

fn scale(data_type: &DataType) -> i8 {
    match data_type {
        DataType::Decimal128(_, scale) => *scale,
        _ => 0,
    }
}

/// Returns the decimals that numbers become.
fn decimal(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::Decimal128(..) => Some(data_type.clone()),
        DataType::Null => Some(DataType::Decimal128(1, 0)),
        _ if data_type.is_integer() => Some(DataType::Decimal128(20, 0)),
        _ => None,
    }
}

fn out_of_range(message: &str) -> Error {
    Error::new(ErrorKind::InvalidData, message).with_code("22003")
}

fn by_zero() -> Error {
    Error::new(ErrorKind::InvalidData, "division by zero").with_code("22012")
}

fn quotients(args: &[ArrayRef], _: usize, returned: &DataType) -> Result<ArrayRef> {
    let digits = scale(returned) - scale(args[0].data_type()) + scale(args[1].data_type());
    let shift = u32::try_from(digits).unwrap_or(0);
    let (dividends, divisors) =
        (args[0].as_primitive::<Decimal128Type>(), args[1].as_primitive::<Decimal128Type>());
    let small = 10_i128.checked_pow(shift);
    let quotients = dividends.iter().zip(divisors).map(|pair| match pair {
        (Some(_), Some(0)) => Err(by_zero()),
        (Some(dividend), Some(divisor)) => {
            let shifted = small.and_then(|unit| dividend.checked_mul(unit));
            let quotient = match shifted {
                Some(shifted) => rounded(shifted, divisor),
                None => wide(dividend, divisor, shift),
            };
            let quotient = quotient.filter(|value| value.unsigned_abs() <= DECIMAL_MAX as u128);
            quotient.map(Some).ok_or_else(|| out_of_range("numeric field overflow"))
        }
        _ => Ok(None),
    });
    let quotients = quotients.collect::<Result<Decimal128Array>>()?;
    Ok(Arc::new(quotients.with_precision_and_scale(PRECISION_MAX, scale(returned))?))
}

/// Divides and rounds half away from zero.
fn rounded(dividend: i128, divisor: i128) -> Option<i128> {
    let quotient = dividend.checked_div(divisor)?;
    let rest = dividend.checked_rem(divisor)?.unsigned_abs();
    let is_up = rest >= divisor.unsigned_abs() - rest;
    let away = if (dividend < 0) == (divisor < 0) { 1 } else { -1 };
    quotient.checked_add(if is_up { away } else { 0 })
}

/// The same for a dividend that is too long with `shift` more digits.
fn wide(dividend: i128, divisor: i128, shift: u32) -> Option<i128> {
    let unit = i256::from_i128(10).checked_pow(shift)?;
    let (shifted, by) = (i256::from_i128(dividend).checked_mul(unit)?, i256::from_i128(divisor));
    let (quotient, rest) = (shifted.checked_div(by)?, shifted.checked_rem(by)?);
    let (rest, size) = (rest.checked_abs()?, by.checked_abs()?);
    let away = if (dividend < 0) == (divisor < 0) { i256::ONE } else { i256::MINUS_ONE };
    let is_up = rest >= size.checked_sub(rest)?;
    quotient.checked_add(if is_up { away } else { i256::ZERO })?.to_i128()
}

fn float_quotients<T>(args: &[ArrayRef]) -> Result<ArrayRef>
where
    T: ArrowPrimitiveType,
    T::Native: Into<f64> + std::ops::Div<Output = T::Native> + Copy,
{
    let (dividends, divisors) = (args[0].as_primitive::<T>(), args[1].as_primitive::<T>());
    let quotients = dividends.iter().zip(divisors).map(|pair| {
        let (Some(dividend), Some(divisor)) = pair else { return Ok(None) };
        let by: f64 = divisor.into();
        if by == 0.0 && !dividend.into().is_nan() {
            return Err(by_zero());
        }
        let quotient = dividend / divisor;
        match quotient.into().is_infinite() && dividend.into().is_finite() {
            true => Err(out_of_range("value out of range: overflow")),
            false => Ok(Some(quotient)),
        }
    });
    Ok(Arc::new(quotients.collect::<Result<PrimitiveArray<T>>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_rounded_half_away_from_zero() {
        for (dividend, divisor, expected) in
            [(20, 3, 7), (-20, 3, -7), (5, 2, 3), (-5, 2, -3), (5, -2, -3), (4, 3, 1), (0, 7, 0)]
        {
            assert_eq!(rounded(dividend, divisor), Some(expected), "{dividend} / {divisor}");
            assert_eq!(wide(dividend, divisor, 0), Some(expected), "{dividend} / {divisor}");
        }
    }

    #[test]
    fn long_dividends_have_quotients_too() {
        let long = DECIMAL_MAX / 10;
        assert_eq!(wide(long, 10_i128.pow(20), 10), rounded(long, 10_i128.pow(10)));
        assert_eq!(wide(DECIMAL_MAX, 1, 10), None);
    }
}
