//! Assignment: a value of an expression brought into the type of a column, as PostgreSQL's
//! assignment casts do it.
//!
//! Numbers go into any number, rounded (decimals half away from zero, floats half to even) and
//! checked for their range; everything goes into text; text only into text, unless it is a literal,
//! which is read by the syntax of the column's type.

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use nacre_column::{ColumnBuffer, ColumnType};
use nacre_ingest::parse::{days_from_civil, parse_decimal, push_text};
use nacre_store::{ColumnDef, VALUE_BYTES_MAX};

use crate::error::{Error, ErrorKind, Result};
use crate::from_ingest::from_value;
use crate::text::write_text;
use crate::types::{is_bytes, is_text, type_name};

const DAY_MICROS: i64 = 86_400_000_000;

/// A value of an expression.
#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    Boolean(bool),
    Int(i128),
    /// Taken by its text, which is exact.
    Decimal,
    Real(f32),
    Double(f64),
    Text(&'a str),
    Bytes(&'a [u8]),
    Date(i32),
    Timestamp(i64),
    /// What only text can take.
    Other,
}

/// Refuses an expression whose type no value of the column can be made of.
///
/// # Errors
/// 42804.
pub(super) fn check(data_type: &DataType, column: &ColumnDef, is_literal: bool) -> Result<()> {
    let target = column.column_type;
    let is_possible = match data_type {
        DataType::Null => true,
        _ if target.is_text() => !is_bytes(data_type),
        _ if is_text(data_type) => is_literal,
        DataType::Boolean => target == ColumnType::Boolean,
        _ if data_type.is_numeric() => is_number(target),
        DataType::Date32 | DataType::Timestamp(..) => {
            matches!(target, ColumnType::Date | ColumnType::Timestamp | ColumnType::TimestampTz)
        }
        _ if is_bytes(data_type) => target == ColumnType::Bytea,
        _ => false,
    };
    if is_possible { Ok(()) } else { Err(mismatch(data_type, column)) }
}

/// Appends the value in `row` of `array` to the buffer of a column.
///
/// # Errors
/// 22003, 22001 and the like for a value that does not fit; 42804.
pub(super) fn push(
    array: &ArrayRef,
    row: usize,
    column: &ColumnDef,
    is_literal: bool,
    buffer: &mut ColumnBuffer,
) -> Result<()> {
    if array.is_null(row) || *array.data_type() == DataType::Null {
        buffer.push_null();
        return Ok(());
    }
    let source = source(array, row);
    match column.column_type {
        target if target.is_text() => push_as_text(source, array, row, buffer),
        target if is_number(target) => push_number(source, array, row, column, is_literal, buffer),
        ColumnType::Boolean => match source {
            Source::Boolean(value) => {
                buffer.push_int(value.into());
                Ok(())
            }
            _ => push_literal(source, array, column, is_literal, buffer),
        },
        ColumnType::Date => match source {
            Source::Date(days) => push_date(days.into(), buffer),
            Source::Timestamp(micros) => push_date(micros.div_euclid(DAY_MICROS), buffer),
            _ => push_literal(source, array, column, is_literal, buffer),
        },
        ColumnType::Timestamp | ColumnType::TimestampTz => match source {
            Source::Date(days) => push_timestamp(i64::from(days).checked_mul(DAY_MICROS), buffer),
            Source::Timestamp(micros) => push_timestamp(Some(micros), buffer),
            _ => push_literal(source, array, column, is_literal, buffer),
        },
        _ => match source {
            Source::Bytes(value) => {
                check_length(value)?;
                buffer.push_bytes(value);
                Ok(())
            }
            _ => push_literal(source, array, column, is_literal, buffer),
        },
    }
}

/// Appends a text by the syntax of the column's type.
///
/// # Errors
/// 22P02, 22003, 22001 and the like.
pub(crate) fn push_syntax(value: &str, buffer: &mut ColumnBuffer) -> Result<()> {
    check_length(value.as_bytes())?;
    if value.contains('\0') {
        let message = "invalid byte sequence for encoding \"UTF8\": 0x00";
        return Err(Error::new(ErrorKind::InvalidData, message).with_code("22021"));
    }
    push_text(buffer, value.as_bytes()).map_err(|error| from_value(&error))
}

/// Appends a number, written with digits and a point only, to a column of numbers.
///
/// # Errors
/// 22003.
pub(crate) fn push_digits(digits: &str, buffer: &mut ColumnBuffer) -> Result<()> {
    match buffer.column_type() {
        target @ (ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt) => {
            // Rounds; what does not even fit here does not fit there.
            let rounded = parse_decimal(digits.as_bytes(), 38, 0).map_err(|_| out_of(target))?;
            push_int(rounded, target, buffer)
        }
        _ => push_syntax(digits, buffer),
    }
}

fn source(array: &ArrayRef, row: usize) -> Source<'_> {
    match array.data_type() {
        DataType::Boolean => Source::Boolean(array.as_boolean().value(row)),
        DataType::Int8 => Source::Int(array.as_primitive::<Int8Type>().value(row).into()),
        DataType::Int16 => Source::Int(array.as_primitive::<Int16Type>().value(row).into()),
        DataType::Int32 => Source::Int(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => Source::Int(array.as_primitive::<Int64Type>().value(row).into()),
        DataType::UInt8 => Source::Int(array.as_primitive::<UInt8Type>().value(row).into()),
        DataType::UInt16 => Source::Int(array.as_primitive::<UInt16Type>().value(row).into()),
        DataType::UInt32 => Source::Int(array.as_primitive::<UInt32Type>().value(row).into()),
        DataType::UInt64 => Source::Int(array.as_primitive::<UInt64Type>().value(row).into()),
        data_type if data_type.is_decimal() => Source::Decimal,
        DataType::Float32 => Source::Real(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => Source::Double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Source::Text(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Source::Text(array.as_string::<i64>().value(row)),
        DataType::Utf8View => Source::Text(array.as_string_view().value(row)),
        DataType::Binary => Source::Bytes(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Source::Bytes(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => Source::Bytes(array.as_binary_view().value(row)),
        DataType::Date32 => Source::Date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(unit, _) => Source::Timestamp(micros(array, *unit, row)),
        _ => Source::Other,
    }
}

/// Returns a timestamp in microseconds; one that is too large for them stays too large.
fn micros(array: &ArrayRef, unit: TimeUnit, row: usize) -> i64 {
    match unit {
        TimeUnit::Second => {
            array.as_primitive::<TimestampSecondType>().value(row).saturating_mul(1_000_000)
        }
        TimeUnit::Millisecond => {
            array.as_primitive::<TimestampMillisecondType>().value(row).saturating_mul(1_000)
        }
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
        TimeUnit::Nanosecond => {
            array.as_primitive::<TimestampNanosecondType>().value(row).div_euclid(1_000)
        }
    }
}

fn push_as_text(
    source: Source<'_>,
    array: &ArrayRef,
    row: usize,
    buffer: &mut ColumnBuffer,
) -> Result<()> {
    match source {
        Source::Text(value) => push_syntax(value, buffer),
        Source::Boolean(value) => push_syntax(if value { "true" } else { "false" }, buffer),
        _ => push_syntax(&text_of(array, row)?, buffer),
    }
}

fn push_number(
    source: Source<'_>,
    array: &ArrayRef,
    row: usize,
    column: &ColumnDef,
    is_literal: bool,
    buffer: &mut ColumnBuffer,
) -> Result<()> {
    match (source, column.column_type) {
        (Source::Text(_), _) => push_literal(source, array, column, is_literal, buffer),
        (
            Source::Int(value),
            target @ (ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt),
        ) => push_int(value, target, buffer),
        (
            Source::Real(_) | Source::Double(_),
            target @ (ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt),
        ) => {
            let value = double(source).unwrap_or(f64::NAN).round_ties_even();
            // Such a float is exactly a whole number of at most 128 bits.
            let is_whole = value.abs() < 1e30;
            push_int(if is_whole { value as i128 } else { i128::MAX }, target, buffer)
        }
        (Source::Decimal, _) => push_digits(&text_of(array, row)?, buffer),
        (Source::Int(_), _) => push_syntax(&text_of(array, row)?, buffer),
        (Source::Real(value), ColumnType::Real) => {
            // There is one NaN; that of arithmetic may have a sign, which comparisons look at.
            buffer.push_float32(if value.is_nan() { f32::NAN } else { value });
            Ok(())
        }
        (Source::Double(value), ColumnType::Real) => {
            let narrow = value as f32;
            if narrow.is_infinite() && value.is_finite() {
                return Err(out_of_range("value out of range: overflow"));
            }
            buffer.push_float32(if narrow.is_nan() { f32::NAN } else { narrow });
            Ok(())
        }
        (Source::Real(_) | Source::Double(_), ColumnType::Double) => {
            buffer.push_float64(double(source).filter(|value| !value.is_nan()).unwrap_or(f64::NAN));
            Ok(())
        }
        // As many digits as the type surely keeps, as PostgreSQL takes them.
        (Source::Real(value), _) if value.is_finite() => {
            push_syntax(&format!("{value:.5e}"), buffer)
        }
        (Source::Double(value), _) if value.is_finite() => {
            push_syntax(&format!("{value:.14e}"), buffer)
        }
        (Source::Real(_) | Source::Double(_), _) => push_syntax(&text_of(array, row)?, buffer),
        _ => Err(mismatch(array.data_type(), column)),
    }
}

fn double(source: Source<'_>) -> Option<f64> {
    match source {
        Source::Real(value) => Some(value.into()),
        Source::Double(value) => Some(value),
        _ => None,
    }
}

fn push_literal(
    source: Source<'_>,
    array: &ArrayRef,
    column: &ColumnDef,
    is_literal: bool,
    buffer: &mut ColumnBuffer,
) -> Result<()> {
    match source {
        Source::Text(value) if is_literal => push_syntax(value, buffer),
        _ => Err(mismatch(array.data_type(), column)),
    }
}

fn push_int(value: i128, target: ColumnType, buffer: &mut ColumnBuffer) -> Result<()> {
    let (min, max) = target.int_range().unwrap_or((0, 0));
    match i64::try_from(value) {
        Ok(fitting) if (min..=max).contains(&value) => {
            buffer.push_int(fitting);
            Ok(())
        }
        _ => Err(out_of(target)),
    }
}

/// Appends a date.
///
/// # Errors
/// 22008 outside of the years 1 to 9999.
pub(super) fn push_date(days: i64, buffer: &mut ColumnBuffer) -> Result<()> {
    let (first, last) = (days_from_civil(1, 1, 1), days_from_civil(9999, 12, 31));
    if days < first.into() || days > last.into() {
        let message = "date out of range";
        return Err(Error::new(ErrorKind::InvalidData, message).with_code("22008"));
    }
    buffer.push_int(days);
    Ok(())
}

/// Appends a timestamp; `None` is one that is too large.
///
/// # Errors
/// 22008 outside of the years 1 to 9999.
pub(super) fn push_timestamp(micros: Option<i64>, buffer: &mut ColumnBuffer) -> Result<()> {
    let first = i64::from(days_from_civil(1, 1, 1)) * DAY_MICROS;
    let end = (i64::from(days_from_civil(9999, 12, 31)) + 1) * DAY_MICROS;
    match micros {
        Some(micros) if (first..end).contains(&micros) => {
            buffer.push_int(micros);
            Ok(())
        }
        _ => {
            let message = "timestamp out of range";
            Err(Error::new(ErrorKind::InvalidData, message).with_code("22008"))
        }
    }
}

fn text_of(array: &ArrayRef, row: usize) -> Result<String> {
    let mut out = Vec::new();
    write_text(array, row, &mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Refuses a value that is longer than any that is stored.
///
/// # Errors
/// 54000.
pub(super) fn check_length(value: &[u8]) -> Result<()> {
    if value.len() > VALUE_BYTES_MAX {
        let message = format!("a value has {} bytes, more than {VALUE_BYTES_MAX}", value.len());
        return Err(Error::new(ErrorKind::InvalidData, message).with_code("54000"));
    }
    Ok(())
}

pub(super) fn is_number(target: ColumnType) -> bool {
    matches!(
        target,
        ColumnType::SmallInt
            | ColumnType::Integer
            | ColumnType::BigInt
            | ColumnType::Decimal { .. }
            | ColumnType::Real
            | ColumnType::Double
    )
}

fn out_of(target: ColumnType) -> Error {
    out_of_range(&format!("{target} out of range"))
}

fn out_of_range(message: &str) -> Error {
    Error::new(ErrorKind::InvalidData, message).with_code("22003")
}

fn mismatch(data_type: &DataType, column: &ColumnDef) -> Error {
    let message = format!(
        "column \"{}\" is of type {} but expression is of type {}",
        column.name,
        column.column_type,
        type_name(data_type)
    );
    Error::new(ErrorKind::InvalidStatement, message)
        .with_code("42804")
        .with_hint("You will need to rewrite or cast the expression.")
}
