//! `div`, `width_bucket`, `trunc` of decimals, `pg_size_bytes` and the like.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Float64Array, Int32Array, Int64Array,
};
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Volatility;

use super::scalar::Definition;
use crate::error::{Error, ErrorKind, Result};
use crate::types::is_text;

/// The name of what casts round floats by.
const RINT: &str = "nacre_rint";

/// The type of exact results.
const NUMERIC: DataType = DataType::Decimal128(38, 0);

pub(super) fn functions() -> [Definition; 8] {
    let volatility = Volatility::Immutable;
    [
        Definition {
            name: "div",
            takes: |types| match types {
                [one, other] if is_exact(one) && is_exact(other) => {
                    Some(vec![DataType::Decimal128(38, 9); 2])
                }
                _ => None,
            },
            returns: |_, _| NUMERIC,
            volatility,
            body: div,
        },
        Definition {
            name: "width_bucket",
            takes: |types| match types {
                [one, low, high, count]
                    if [one, low, high].into_iter().all(is_number) && is_number(count) =>
                {
                    let float = DataType::Float64;
                    Some(vec![float.clone(), float.clone(), float, DataType::Int64])
                }
                _ => None,
            },
            returns: |_, _| DataType::Int32,
            volatility,
            body: width_bucket,
        },
        Definition {
            name: "pg_size_bytes",
            takes: |types| match types {
                [text] if is_text(text) => Some(vec![DataType::Utf8View]),
                _ => None,
            },
            returns: |_, _| DataType::Int64,
            volatility,
            body: size_bytes,
        },
        truncated(),
        rint(),
        whole("floor"),
        whole("ceil"),
        scale(),
    ]
}

/// `trunc`, which leaves as many digits behind the point as it is told.
fn truncated() -> Definition {
    Definition {
        name: "trunc",
        takes: |types| match types {
            [one @ DataType::Decimal128(..)] => Some(vec![one.clone()]),
            [one @ DataType::Decimal128(..), digits] if digits.is_integer() => {
                Some(vec![one.clone(), DataType::Int64])
            }
            [one, digits] if is_exact(one) && digits.is_integer() => {
                Some(vec![NUMERIC, DataType::Int64])
            }
            [one] if is_number(one) => Some(vec![DataType::Float64]),
            _ => None,
        },
        returns: |types, literals| match (types, literals) {
            ([DataType::Decimal128(precision, _)], _) => DataType::Decimal128(*precision, 0),
            (
                [DataType::Decimal128(precision, scale), _],
                [_, Some(ScalarValue::Int64(Some(digits)))],
            ) => {
                let digits = i8::try_from((*digits).clamp(0, 38)).unwrap_or(38);
                DataType::Decimal128(*precision, digits.min(*scale))
            }
            ([one @ DataType::Decimal128(..), _], _) => one.clone(),
            _ => DataType::Float64,
        },
        volatility: Volatility::Immutable,
        body: trunc,
    }
}

/// How many digits a number has behind the point.
fn scale() -> Definition {
    Definition {
        name: "scale",
        takes: |types| match types {
            [one @ DataType::Decimal128(..)] => Some(vec![one.clone()]),
            [one] if one.is_integer() => Some(vec![DataType::Decimal128(38, 0)]),
            _ => None,
        },
        returns: |_, _| DataType::Int32,
        volatility: Volatility::Immutable,
        body: |args, rows, _| {
            let scale = match args[0].data_type() {
                DataType::Decimal128(_, scale) => i32::from(*scale),
                _ => 0,
            };
            let scales = (0..rows).map(|row| args[0].is_valid(row).then_some(scale));
            Ok(Arc::new(scales.collect::<Int32Array>()))
        },
    }
}

/// `floor` and `ceil`, which leave no digits behind the point.
fn whole(name: &'static str) -> Definition {
    Definition {
        name,
        takes: |types| match types {
            [one @ DataType::Decimal128(..)] => Some(vec![one.clone()]),
            [one] if is_number(one) => Some(vec![DataType::Float64]),
            _ => None,
        },
        returns: |types, _| match types {
            [DataType::Decimal128(precision, _)] => DataType::Decimal128(*precision, 0),
            _ => DataType::Float64,
        },
        volatility: Volatility::Immutable,
        body: match name {
            "floor" => |args, _, returned| rounded(&args[0], returned, f64::floor, false),
            _ => |args, _, returned| rounded(&args[0], returned, f64::ceil, true),
        },
    }
}

/// Rounds floats as said, and decimals up or down.
fn rounded(
    array: &ArrayRef,
    returned: &DataType,
    round: fn(f64) -> f64,
    up: bool,
) -> Result<ArrayRef> {
    let (DataType::Decimal128(_, scale), DataType::Decimal128(precision, _)) =
        (array.data_type(), returned)
    else {
        let rounded: Float64Array = array.as_primitive::<Float64Type>().unary(round);
        return Ok(Arc::new(rounded));
    };
    let unit = 10_i128.pow(u32::from(scale.unsigned_abs()));
    let rounded: Decimal128Array = array.as_primitive::<Decimal128Type>().unary(|value| {
        let below = value.div_euclid(unit);
        below + i128::from(up && value.rem_euclid(unit) != 0)
    });
    Ok(Arc::new(rounded.with_precision_and_scale(*precision, 0)?))
}

/// Rounds floats to the nearest whole number, the even one of two.
pub(super) fn rint() -> Definition {
    Definition {
        name: RINT,
        takes: |types| match types {
            [one] if is_number(one) => Some(vec![DataType::Float64]),
            _ => None,
        },
        returns: |_, _| DataType::Float64,
        volatility: Volatility::Immutable,
        body: |args, _, _| {
            let rounded = args[0].as_primitive::<Float64Type>();
            let rounded: Float64Array = rounded.unary(f64::round_ties_even);
            Ok(Arc::new(rounded))
        },
    }
}

fn is_exact(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_decimal() || data_type == &DataType::Null
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric() || data_type == &DataType::Null
}

fn invalid(code: &'static str, message: &str) -> Error {
    Error::new(ErrorKind::InvalidData, message).with_code(code)
}

/// The whole part of quotients.
fn div(args: &[ArrayRef], _: usize, _: &DataType) -> Result<ArrayRef> {
    let (one, other) =
        (args[0].as_primitive::<Decimal128Type>(), args[1].as_primitive::<Decimal128Type>());
    let divided = one.iter().zip(other).map(|pair| match pair {
        (Some(_), Some(0)) => Err(invalid("22012", "division by zero")),
        (Some(one), Some(other)) => Ok(Some(one / other)),
        _ => Ok(None),
    });
    let divided = divided.collect::<Result<Decimal128Array>>()?;
    Ok(Arc::new(divided.with_precision_and_scale(38, 0)?))
}

/// Numbers of equally wide buckets: 0 below them, one more than there are above.
fn width_bucket(args: &[ArrayRef], rows: usize, _: &DataType) -> Result<ArrayRef> {
    let float = |place: usize| args[place].as_primitive::<Float64Type>();
    let (values, lows, highs) = (float(0), float(1), float(2));
    let counts = args[3].as_primitive::<Int64Type>();
    let buckets = (0..rows).map(|row| {
        if args.iter().any(|array| array.is_null(row)) {
            return Ok(None);
        }
        let (value, low, high) = (values.value(row), lows.value(row), highs.value(row));
        let count = i32::try_from(counts.value(row)).unwrap_or(0);
        if count <= 0 {
            return Err(invalid("2201G", "count must be greater than zero"));
        }
        if value.is_nan() || low.is_nan() || high.is_nan() {
            return Err(invalid("2201G", "operand, lower bound, and upper bound cannot be NaN"));
        }
        if low.is_infinite() || high.is_infinite() {
            return Err(invalid("2201G", "lower and upper bounds must be finite"));
        }
        if low == high {
            return Err(invalid("2201G", "lower bound cannot equal upper bound"));
        }
        // Buckets that fall are as those that rise, seen from the other side.
        let place = if low < high { value - low } else { low - value };
        let width = (high - low).abs();
        if place < 0.0 {
            return Ok(Some(0));
        }
        if place >= width {
            let beyond = count.checked_add(1);
            return beyond.map(Some).ok_or_else(|| invalid("22003", "integer out of range"));
        }
        let bucket = (f64::from(count) * (place / width)).floor() as i32;
        Ok(Some(bucket.min(count - 1) + 1))
    });
    Ok(Arc::new(buckets.collect::<Result<Int32Array>>()?))
}

/// Cuts digits off behind the point, or before it for a negative number of them.
fn trunc(args: &[ArrayRef], rows: usize, returned: &DataType) -> Result<ArrayRef> {
    let DataType::Decimal128(_, scale) = *args[0].data_type() else {
        let cut: Float64Array = args[0].as_primitive::<Float64Type>().unary(f64::trunc);
        return Ok(Arc::new(cut));
    };
    let DataType::Decimal128(precision, to) = *returned else {
        return Err(Error::not_supported("trunc of this type"));
    };
    let values = args[0].as_primitive::<Decimal128Type>();
    let digits = args.get(1).map(|array| array.as_primitive::<Int64Type>());
    let cut = (0..rows).map(|row| {
        if args.iter().any(|array| array.is_null(row)) {
            return None;
        }
        let kept = digits.map_or(0, |digits| digits.value(row)).min(scale.into());
        let power = u32::try_from(i64::from(scale).checked_sub(kept)?).ok()?;
        let unit = 10_i128.checked_pow(power);
        let value = unit.map_or(0, |unit| values.value(row) / unit * unit);
        Some(value / 10_i128.pow(u32::from((scale - to).unsigned_abs())))
    });
    let cut: Decimal128Array = cut.collect();
    Ok(Arc::new(cut.with_precision_and_scale(precision, to)?))
}

/// Reads sizes such as `1.5 GB`.
fn size_bytes(args: &[ArrayRef], _: usize, _: &DataType) -> Result<ArrayRef> {
    let sizes = args[0].as_string_view().iter().map(|text| text.map(size_of).transpose());
    Ok(Arc::new(sizes.collect::<Result<Int64Array>>()?))
}

fn size_of(text: &str) -> Result<i64> {
    let trimmed = text.trim();
    let end = trimmed
        .find(|one: char| !one.is_ascii_digit() && !matches!(one, '.' | '-' | '+'))
        .unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let invalid_size = || Error::invalid_parameter(format!("invalid size: \"{text}\""));
    let number: f64 = number.parse().map_err(|_| invalid_size())?;
    let unit = unit.trim();
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "bytes" => 0,
        "kb" => 10,
        "mb" => 20,
        "gb" => 30,
        "tb" => 40,
        "pb" => 50,
        _ => {
            let detail = format!("Invalid size unit: \"{unit}\".");
            let hint = "Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".";
            return Err(invalid_size().with_detail(detail).with_hint(hint));
        }
    };
    let bytes = (number * (1_i64 << shift) as f64).round();
    match bytes.abs() < 9.2e18 {
        true => Ok(bytes as i64),
        false => Err(invalid("22003", "bigint out of range")),
    }
}
