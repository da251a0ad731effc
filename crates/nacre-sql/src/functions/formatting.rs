//! `to_char`, `to_timestamp`, `to_date` and `to_number`.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Decimal128Array, StringViewArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Float64Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit,
    TimestampMicrosecondType,
};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Volatility;

use super::civil::{Civil, DAY_US};
use super::datetime_in::to_timestamp;
use super::datetime_out::{self, What};
use super::moments::{interval, is_moment, moment};
use super::number_in::{self, NUMBER_DIGITS, NUMBER_SCALE};
use super::number_out;
use super::numbers::Decimal;
use super::scalar::Definition;
use crate::error::{Error, ErrorKind, Result};
use crate::types::{UTC, is_text, zoned};

pub(super) fn functions() -> [Definition; 4] {
    let text = |_: &[DataType], _: &[Option<&ScalarValue>]| DataType::Utf8View;
    [
        Definition {
            name: "to_char",
            takes: |types| match types {
                [value, pattern] => Some(vec![written(value)?, pattern_type(pattern)?]),
                _ => None,
            },
            returns: text,
            volatility: Volatility::Stable,
            body: to_char,
        },
        Definition {
            name: "to_timestamp",
            takes: |types| match types {
                [number] if number.is_numeric() => Some(vec![DataType::Float64]),
                // A text without a pattern is a number in quotes.
                [text] if is_texts(text) => Some(vec![DataType::Float64]),
                [text, pattern] => Some(vec![pattern_type(text)?, pattern_type(pattern)?]),
                _ => None,
            },
            returns: |_, _| zoned(),
            volatility: Volatility::Stable,
            body: |args, rows, _| match args {
                [seconds] => of_seconds(seconds),
                _ => {
                    let read = moments(args, rows)?;
                    Ok(Arc::new(TimestampMicrosecondArray::from(read).with_timezone(UTC)))
                }
            },
        },
        Definition {
            name: "to_date",
            takes: |types| match types {
                [text, pattern] => Some(vec![pattern_type(text)?, pattern_type(pattern)?]),
                _ => None,
            },
            returns: |_, _| DataType::Date32,
            volatility: Volatility::Stable,
            body: |args, rows, _| {
                let day = |micros: i64| i32::try_from(micros.div_euclid(DAY_US)).ok();
                let days = moments(args, rows)?.into_iter().map(|micros| micros.and_then(day));
                Ok(Arc::new(days.collect::<Date32Array>()))
            },
        },
        Definition {
            name: "to_number",
            takes: |types| match types {
                [text, pattern] => Some(vec![pattern_type(text)?, pattern_type(pattern)?]),
                _ => None,
            },
            returns: |_, literals| {
                let scale = match literals.get(1) {
                    Some(Some(pattern)) => match pattern.try_as_str() {
                        Some(Some(pattern)) => number_in::scale_of(pattern),
                        _ => 0,
                    },
                    _ => NUMBER_SCALE,
                };
                DataType::Decimal128(NUMBER_DIGITS, scale)
            },
            volatility: Volatility::Immutable,
            body: to_number,
        },
    ]
}

fn is_texts(data_type: &DataType) -> bool {
    is_text(data_type) || data_type == &DataType::Null
}

fn pattern_type(data_type: &DataType) -> Option<DataType> {
    is_texts(data_type).then_some(DataType::Utf8View)
}

/// The type in which `to_char` gets values.
fn written(data_type: &DataType) -> Option<DataType> {
    Some(match data_type {
        // A date is one of the time zone of the session.
        DataType::Date32 | DataType::Date64 => zoned(),
        data_type if is_moment(data_type) => moment(data_type),
        DataType::Interval(_) | DataType::Duration(_) => interval(),
        DataType::UInt64 => DataType::Decimal128(20, 0),
        data_type if data_type.is_integer() => DataType::Int64,
        DataType::Decimal128(..) => data_type.clone(),
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Float16 | DataType::Float32 | DataType::Float64 => DataType::Float64,
        DataType::Null => DataType::Int64,
        _ => return None,
    })
}

/// Writes each value by the pattern beside it; a pattern without letters gives null.
fn to_char(args: &[ArrayRef], rows: usize, _: &DataType) -> Result<ArrayRef> {
    let (values, patterns) = (&args[0], args[1].as_string_view());
    let write = writer(values)?;
    let texts = (0..rows).map(|row| {
        let is_null = values.is_null(row) || patterns.is_null(row);
        if is_null || patterns.value(row).is_empty() {
            return Ok(None);
        }
        write(row, patterns.value(row)).map(Some)
    });
    Ok(Arc::new(texts.collect::<Result<StringViewArray>>()?))
}

type Write<'a> = Box<dyn Fn(usize, &str) -> Result<String> + 'a>;

/// Returns what writes the value of a row.
fn writer(values: &ArrayRef) -> Result<Write<'_>> {
    Ok(match values.data_type() {
        DataType::Timestamp(_, zone) => {
            let what = if zone.is_some() { What::Zoned } else { What::Timestamp };
            let values = values.as_primitive::<TimestampMicrosecondType>();
            Box::new(move |row, pattern| {
                datetime_out::to_char(&Civil::of_micros(values.value(row)), what, pattern)
            })
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let values = values.as_primitive::<IntervalMonthDayNanoType>();
            Box::new(move |row, pattern| {
                let value = values.value(row);
                let months = i64::from(value.months);
                let civil = Civil {
                    year: months / 12,
                    month: months % 12,
                    day: value.days.into(),
                    ..Civil::of_time(value.nanoseconds / 1_000)
                };
                datetime_out::to_char(&civil, What::Interval, pattern)
            })
        }
        DataType::Int64 => {
            let values = values.as_primitive::<Int64Type>();
            Box::new(move |row, pattern| {
                let number = Decimal { value: values.value(row).into(), scale: 0 };
                number_out::to_char(&number, pattern)
            })
        }
        DataType::Decimal128(_, scale) => {
            let scale = usize::try_from(*scale).unwrap_or(0);
            let values = values.as_primitive::<Decimal128Type>();
            Box::new(move |row, pattern| {
                number_out::to_char(&Decimal { value: values.value(row), scale }, pattern)
            })
        }
        DataType::Float64 => {
            let values = values.as_primitive::<Float64Type>();
            Box::new(move |row, pattern| number_out::to_char(&values.value(row), pattern))
        }
        other => return Err(Error::not_supported(format_args!("to_char of {other}"))),
    })
}

/// Reads each text by the pattern beside it.
fn moments(args: &[ArrayRef], rows: usize) -> Result<Vec<Option<i64>>> {
    let (texts, patterns) = (args[0].as_string_view(), args[1].as_string_view());
    let read = |row| match texts.is_null(row) || patterns.is_null(row) {
        true => Ok(None),
        false => to_timestamp(texts.value(row), patterns.value(row)).map(Some),
    };
    (0..rows).map(read).collect()
}

/// Returns the moments so many seconds after 1970.
fn of_seconds(seconds: &ArrayRef) -> Result<ArrayRef> {
    let micros = seconds.as_primitive::<Float64Type>().iter().map(|seconds| match seconds {
        None => Ok(None),
        Some(seconds) => {
            let micros = (seconds * 1e6).round();
            match micros.is_finite() && micros.abs() < 9.2e18 {
                true => Ok(Some(micros as i64)),
                false => {
                    let message = format!("timestamp out of range: \"{seconds}\"");
                    Err(Error::new(ErrorKind::InvalidData, message).with_code("22008"))
                }
            }
        }
    });
    let micros = micros.collect::<Result<TimestampMicrosecondArray>>()?;
    Ok(Arc::new(micros.with_timezone(UTC)))
}

fn to_number(args: &[ArrayRef], rows: usize, returned: &DataType) -> Result<ArrayRef> {
    let scale = match returned {
        DataType::Decimal128(_, scale) => *scale,
        _ => NUMBER_SCALE,
    };
    let (texts, patterns) = (args[0].as_string_view(), args[1].as_string_view());
    let read = |row| match texts.is_null(row) || patterns.is_null(row) {
        true => Ok(None),
        false => number_in::to_number(texts.value(row), patterns.value(row), scale),
    };
    let numbers = (0..rows).map(read).collect::<Result<Decimal128Array>>()?;
    Ok(Arc::new(numbers.with_precision_and_scale(NUMBER_DIGITS, scale)?))
}
