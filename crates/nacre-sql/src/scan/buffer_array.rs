//! From values in plain buffers, such as those of hot chunks, to Arrow arrays.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, Decimal128Array, PrimitiveArray,
};
use datafusion::arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::{
    Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use nacre_column::{ColumnBuffer, ColumnType, Values};

use super::array::{ReadError, string_array};
use crate::types::UTC;

/// Copies the values of a buffer into an array of its type as scans hand it on.
///
/// # Errors
/// Values that the type does not have, such as text that is not UTF-8.
pub(crate) fn buffer_array(buffer: &ColumnBuffer) -> Result<ArrayRef, ArrowError> {
    let column_type = buffer.column_type();
    let nulls = nulls(buffer);
    Ok(match (buffer.values(), column_type) {
        (Values::Int64(values), ColumnType::Boolean) => {
            let bits: BooleanBuffer = values.iter().map(|&value| value != 0).collect();
            Arc::new(BooleanArray::new(bits, nulls))
        }
        // Values of these types are within their ranges: nothing is cut off.
        (Values::Int64(values), ColumnType::SmallInt) => {
            primitive::<Int16Type>(values.iter().map(|&value| value as i16), nulls)
        }
        (Values::Int64(values), ColumnType::Integer) => {
            primitive::<Int32Type>(values.iter().map(|&value| value as i32), nulls)
        }
        (Values::Int64(values), ColumnType::Date) => {
            primitive::<Date32Type>(values.iter().map(|&value| value as i32), nulls)
        }
        (Values::Int64(values), ColumnType::Timestamp) => {
            primitive::<TimestampMicrosecondType>(values.iter().copied(), nulls)
        }
        (Values::Int64(values), ColumnType::TimestampTz) => {
            let values = ScalarBuffer::from_iter(values.iter().copied());
            let array = PrimitiveArray::<TimestampMicrosecondType>::new(values, nulls);
            Arc::new(array.with_timezone(UTC))
        }
        (Values::Int64(values), ColumnType::Decimal { precision, scale }) => {
            decimal(values.iter().map(|&value| value.into()), nulls, precision, scale)?
        }
        (Values::Int64(values), _) => primitive::<Int64Type>(values.iter().copied(), nulls),
        (Values::Int128(values), ColumnType::Decimal { precision, scale }) => {
            decimal(values.iter().copied(), nulls, precision, scale)?
        }
        (Values::Int128(_), other) => {
            let reason = format!("128-bit values of type {other}");
            return Err(ArrowError::InvalidArgumentError(reason));
        }
        (Values::Float32(values), _) => primitive::<Float32Type>(values.iter().copied(), nulls),
        (Values::Float64(values), _) => primitive::<Float64Type>(values.iter().copied(), nulls),
        (Values::Bytes(values), _) => {
            let (offsets, data) = (values.offsets.clone(), values.data.clone());
            string_array(offsets, data, column_type.is_text(), nulls).map_err(
                |error| match error {
                    ReadError::Array(error) => error,
                    ReadError::Block(error) => ArrowError::InvalidArgumentError(error.to_string()),
                },
            )?
        }
    })
}

fn primitive<T: ArrowPrimitiveType>(
    values: impl Iterator<Item = T::Native>,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(values.collect(), nulls))
}

fn decimal(
    values: impl Iterator<Item = i128>,
    nulls: Option<NullBuffer>,
    precision: u8,
    scale: u8,
) -> Result<ArrayRef, ArrowError> {
    let array = Decimal128Array::new(values.collect(), nulls);
    Ok(Arc::new(array.with_precision_and_scale(precision, scale as i8)?))
}

fn nulls(buffer: &ColumnBuffer) -> Option<NullBuffer> {
    let bits = buffer.validity()?;
    let words = Buffer::from_vec(bits.words().to_vec());
    Some(NullBuffer::new(BooleanBuffer::new(words, 0, bits.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::write_text;

    fn texts(column_type: ColumnType, push: impl Fn(&mut ColumnBuffer)) -> Vec<Option<String>> {
        let mut buffer = ColumnBuffer::new(column_type);
        push(&mut buffer);
        buffer.push_null();
        let array = buffer_array(&buffer).unwrap();
        assert_eq!(*array.data_type(), crate::types::arrow_type(column_type));
        (0..array.len())
            .map(|row| {
                let mut out = Vec::new();
                let is_valid = write_text(&array, row, &mut out).unwrap();
                is_valid.then(|| String::from_utf8(out).unwrap())
            })
            .collect()
    }

    #[test]
    fn every_type_keeps_its_values() {
        let int = |column_type, value, text: &str| {
            let expected = vec![Some(text.to_owned()), None];
            assert_eq!(texts(column_type, |buffer| buffer.push_int(value)), expected);
        };
        int(ColumnType::Boolean, 1, "t");
        int(ColumnType::SmallInt, -7, "-7");
        int(ColumnType::Integer, 1 << 30, "1073741824");
        int(ColumnType::BigInt, i64::MIN, "-9223372036854775808");
        int(ColumnType::Date, 1, "1970-01-02");
        int(ColumnType::Timestamp, 1_000_000, "1970-01-01 00:00:01");
        int(ColumnType::TimestampTz, 1_000_000, "1970-01-01 00:00:01+00");
        int(ColumnType::Decimal { precision: 5, scale: 2 }, -105, "-1.05");
        let wide = texts(ColumnType::Decimal { precision: 30, scale: 1 }, |buffer| {
            buffer.push_int128(15);
        });
        assert_eq!(wide, [Some("1.5".to_owned()), None]);
        let double = texts(ColumnType::Double, |buffer| buffer.push_float64(0.1));
        assert_eq!(double, [Some("0.1".to_owned()), None]);
        let text = texts(ColumnType::Varchar { max_chars: None }, |buffer| {
            buffer.push_bytes(b"xyz");
        });
        assert_eq!(text, [Some("xyz".to_owned()), None]);
        let bytes = texts(ColumnType::Bytea, |buffer| buffer.push_bytes(b"\xff"));
        assert_eq!(bytes, [Some("\\xff".to_owned()), None]);
    }
}
