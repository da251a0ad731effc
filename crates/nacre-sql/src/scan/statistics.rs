//! What the optimizer is told of a table, from the aggregates of its chunks.

use crate::types::UTC;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue};
use nacre_column::{Bound, ColumnType, Sma};
use nacre_store::Chunk;

/// Returns a value that no value of the block lies below; `None` if none is known.
pub(super) fn min_scalar(sma: &Sma, column_type: ColumnType) -> Option<ScalarValue> {
    match sma.min? {
        Bound::Int(value) => int_scalar(value, column_type),
        Bound::Float(value) => Some(float_scalar(value, column_type)),
        // A prefix is at or below every string that it begins. Cut inside a character it is no
        // text; then nothing is known.
        Bound::Bytes { prefix, .. } => bytes_scalar(prefix.as_bytes(), column_type),
    }
}

/// Returns a value that no value of the block lies above; `None` if none is known.
pub(super) fn max_scalar(sma: &Sma, column_type: ColumnType) -> Option<ScalarValue> {
    match sma.max? {
        Bound::Int(value) => int_scalar(value, column_type),
        // NaN lies above all numbers.
        Bound::Float(_) if sma.has_nan => None,
        Bound::Float(value) => Some(float_scalar(value, column_type)),
        Bound::Bytes { prefix, is_exact: true } => bytes_scalar(prefix.as_bytes(), column_type),
        Bound::Bytes { prefix, is_exact: false } => {
            // The prefix with its last ASCII letter raised is above all that it begins.
            let bytes = prefix.as_bytes();
            let last = bytes.iter().rposition(|&byte| byte < 0x7f)?;
            let mut above = bytes[..=last].to_vec();
            above[last] += 1;
            bytes_scalar(&above, column_type)
        }
    }
}

fn int_scalar(value: i128, column_type: ColumnType) -> Option<ScalarValue> {
    Some(match column_type {
        ColumnType::Boolean => ScalarValue::Boolean(Some(value != 0)),
        ColumnType::SmallInt => ScalarValue::Int16(Some(value.try_into().ok()?)),
        ColumnType::Integer => ScalarValue::Int32(Some(value.try_into().ok()?)),
        ColumnType::BigInt => ScalarValue::Int64(Some(value.try_into().ok()?)),
        ColumnType::Date => ScalarValue::Date32(Some(value.try_into().ok()?)),
        ColumnType::Timestamp => {
            ScalarValue::TimestampMicrosecond(Some(value.try_into().ok()?), None)
        }
        ColumnType::TimestampTz => {
            let zone = Some(UTC.into());
            ScalarValue::TimestampMicrosecond(Some(value.try_into().ok()?), zone)
        }
        ColumnType::Decimal { precision, scale } => {
            ScalarValue::Decimal128(Some(value), precision, scale as i8)
        }
        _ => return None,
    })
}

fn float_scalar(value: f64, column_type: ColumnType) -> ScalarValue {
    match column_type {
        ColumnType::Real => ScalarValue::Float32(Some(value as f32)),
        _ => ScalarValue::Float64(Some(value)),
    }
}

fn bytes_scalar(value: &[u8], column_type: ColumnType) -> Option<ScalarValue> {
    Some(if column_type.is_text() {
        ScalarValue::Utf8View(Some(std::str::from_utf8(value).ok()?.to_owned()))
    } else {
        ScalarValue::BinaryView(Some(value.to_vec()))
    })
}

/// Returns the statistics of `column` over `chunks`; exact ones if all rows of them come out.
pub(super) fn column_statistics(
    chunks: &[Chunk],
    column: usize,
    is_exact: bool,
) -> ColumnStatistics {
    let Some(first) = chunks.first() else {
        return ColumnStatistics::new_unknown();
    };
    let column_type = first.column_type(column);
    let smas = || chunks.iter().map(|chunk| chunk.sma(column));
    let precision = |value: Option<ScalarValue>, is_tight: bool| match value {
        Some(value) if is_tight && is_exact => Precision::Exact(value),
        Some(value) => Precision::Inexact(value),
        None => Precision::Absent,
    };
    let null_count: usize = smas().map(|sma| sma.null_count as usize).sum();
    let null_count =
        if is_exact { Precision::Exact(null_count) } else { Precision::Inexact(null_count) };
    // Chunks of nulls only have no bounds and none are needed of them.
    let valued = || smas().filter(|sma| sma.null_count < sma.rows);
    let is_int = valued().all(|sma| matches!(sma.min, Some(Bound::Int(_))));
    let min = extreme(valued().map(|sma| min_scalar(sma, column_type)), |a, b| a < b);
    let max = extreme(valued().map(|sma| max_scalar(sma, column_type)), |a, b| a > b);
    ColumnStatistics {
        null_count,
        min_value: precision(min, is_int),
        max_value: precision(max, is_int),
        ..ColumnStatistics::new_unknown()
    }
}

fn extreme(
    mut values: impl Iterator<Item = Option<ScalarValue>>,
    is_better: impl Fn(&ScalarValue, &ScalarValue) -> bool,
) -> Option<ScalarValue> {
    let first = values.next()??;
    values.try_fold(first, |best, value| {
        let value = value?;
        Some(if is_better(&value, &best) { value } else { best })
    })
}

/// Returns about how many bytes a value takes in an array of `data_type`.
pub(super) fn value_bytes(data_type: &DataType) -> usize {
    match data_type {
        DataType::Boolean => 1,
        // A view and, for half of the values, some bytes elsewhere.
        DataType::Utf8View | DataType::BinaryView => 24,
        other => other.primitive_width().unwrap_or(16),
    }
}
