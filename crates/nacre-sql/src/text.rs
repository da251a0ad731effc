//! Values of Arrow arrays as text, as PostgreSQL writes them.

use std::io::Write;

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimeUnit, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use nacre_column::text;

use crate::error::{Error, ErrorKind, Result};

/// Appends the text of `row`; returns false, appending nothing, if it is null.
///
/// # Errors
/// `InvalidData` for a value that has no text, such as a timestamp out of any calendar.
///
/// # Panics
/// If `row >= array.len()`.
pub fn write_text(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<bool> {
    if array.is_null(row) || *array.data_type() == DataType::Null {
        return Ok(false);
    }
    match array.data_type() {
        DataType::Boolean => out.push(if array.as_boolean().value(row) { b't' } else { b'f' }),
        DataType::Int8 => put(out, array.as_primitive::<Int8Type>().value(row)),
        DataType::Int16 => put(out, array.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => put(out, array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => put(out, array.as_primitive::<Int64Type>().value(row)),
        DataType::UInt8 => put(out, array.as_primitive::<UInt8Type>().value(row)),
        DataType::UInt16 => put(out, array.as_primitive::<UInt16Type>().value(row)),
        DataType::UInt32 => put(out, array.as_primitive::<UInt32Type>().value(row)),
        DataType::UInt64 => put(out, array.as_primitive::<UInt64Type>().value(row)),
        DataType::Float32 => text::write_real(array.as_primitive::<Float32Type>().value(row), out),
        DataType::Float64 => {
            text::write_double(array.as_primitive::<Float64Type>().value(row), out);
        }
        DataType::Decimal128(_, scale) if *scale >= 0 => {
            let value = array.as_primitive::<Decimal128Type>().value(row);
            text::write_decimal(value, *scale as u8, out);
        }
        DataType::Date32 => {
            text::write_date(array.as_primitive::<Date32Type>().value(row).into(), out);
        }
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            let value = array.as_primitive::<TimestampMicrosecondType>().value(row);
            text::write_timestamp(value, out);
        }
        DataType::Utf8 => out.extend_from_slice(array.as_string::<i32>().value(row).as_bytes()),
        DataType::LargeUtf8 => {
            out.extend_from_slice(array.as_string::<i64>().value(row).as_bytes());
        }
        DataType::Utf8View => {
            out.extend_from_slice(array.as_string_view().value(row).as_bytes());
        }
        DataType::Binary => text::write_bytea(array.as_binary::<i32>().value(row), out),
        DataType::LargeBinary => text::write_bytea(array.as_binary::<i64>().value(row), out),
        DataType::BinaryView => text::write_bytea(array.as_binary_view().value(row), out),
        DataType::List(_) => write_list(&array.as_list::<i32>().value(row), out)?,
        _ => write_other(array, row, out)?,
    }
    Ok(true)
}

fn put(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{value}");
}

/// Writes the elements of an array, those in quotes that would be read as something else.
fn write_list(values: &ArrayRef, out: &mut Vec<u8>) -> Result<()> {
    out.push(b'{');
    for row in 0..values.len() {
        if row > 0 {
            out.push(b',');
        }
        let mut text = Vec::new();
        let is_there = write_text(values, row, &mut text)?;
        let is_nested = matches!(values.data_type(), DataType::List(_));
        let needs_quotes = text.is_empty()
            || text.eq_ignore_ascii_case(b"null")
            || text.iter().any(|byte| byte.is_ascii_whitespace() || b"{},\"\\".contains(byte));
        match (is_there, needs_quotes && !is_nested) {
            (false, _) => out.extend_from_slice(b"NULL"),
            (true, false) => out.extend_from_slice(&text),
            (true, true) => {
                out.push(b'"');
                for byte in text {
                    if matches!(byte, b'"' | b'\\') {
                        out.push(b'\\');
                    }
                    out.push(byte);
                }
                out.push(b'"');
            }
        }
    }
    out.push(b'}');
    Ok(())
}

/// Writes values of types that only expressions have: intervals, times.
fn write_other(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<()> {
    let options = FormatOptions::default()
        .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
        .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f%:::z"));
    let invalid = |error: datafusion::arrow::error::ArrowError| {
        Error::new(ErrorKind::InvalidData, error.to_string())
    };
    let formatter = ArrayFormatter::try_new(array, &options).map_err(invalid)?;
    formatter
        .value(row)
        .try_to_string()
        .map(|text| out.extend_from_slice(text.as_bytes()))
        .map_err(invalid)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{
        BooleanArray, Decimal128Array, Float64Array, Int64Array, NullArray, StringViewArray,
        Time64MicrosecondArray,
    };

    use super::*;

    fn text_of(array: ArrayRef) -> Option<String> {
        let mut out = Vec::new();
        write_text(&array, 0, &mut out).unwrap().then(|| String::from_utf8(out).unwrap())
    }

    #[test]
    fn values_are_written_as_postgresql_writes_them() {
        assert_eq!(text_of(Arc::new(BooleanArray::from(vec![true]))).as_deref(), Some("t"));
        assert_eq!(text_of(Arc::new(Int64Array::from(vec![-1]))).as_deref(), Some("-1"));
        let decimal = Decimal128Array::from(vec![-5]).with_precision_and_scale(15, 2).unwrap();
        assert_eq!(text_of(Arc::new(decimal)).as_deref(), Some("-0.05"));
        assert_eq!(text_of(Arc::new(Float64Array::from(vec![0.1]))).as_deref(), Some("0.1"));
        assert_eq!(text_of(Arc::new(StringViewArray::from(vec!["x"]))).as_deref(), Some("x"));
        assert_eq!(text_of(Arc::new(NullArray::new(1))), None);
        let time = Time64MicrosecondArray::from(vec![3_600_000_000]);
        assert_eq!(text_of(Arc::new(time)).as_deref(), Some("01:00:00"));
    }
}
