//! What the optimizer is told of a table, from the aggregates of its chunks.

use crate::types::UTC;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue};
use nacre_column::{Bound, ColumnType, Sma};
use nacre_store::{Chunk, HotChunkRef, HotColumnRange};

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

/// The chunks of a table that a scan reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScannedChunks<'a> {
    pub(super) frozen: &'a [Chunk],
    pub(super) hot: &'a [HotChunkRef],
    /// Whether all rows of the frozen chunks come out.
    pub(super) is_whole: bool,
}

impl ScannedChunks<'_> {
    /// Returns the statistics of `column`, of a type.
    ///
    /// They are exact only if all rows lie in frozen chunks and come out. Else the bounds are
    /// inexact, but no value lies outside of them: what operators conclude from a filter over them
    /// must hold for all rows.
    pub(super) fn column_statistics(
        &self,
        column: usize,
        column_type: ColumnType,
    ) -> ColumnStatistics {
        let is_exact = self.is_whole && self.hot.is_empty();
        let precision = |value: Option<ScalarValue>, is_tight: bool| match value {
            Some(value) if is_tight && is_exact => Precision::Exact(value),
            Some(value) => Precision::Inexact(value),
            None => Precision::Absent,
        };
        let smas = || self.frozen.iter().map(|chunk| chunk.sma(column));
        let null_count: usize = smas().map(|sma| sma.null_count as usize).sum();
        let null_count =
            if is_exact { Precision::Exact(null_count) } else { Precision::Inexact(null_count) };
        // Chunks of nulls only have no bounds and none are needed of them.
        let valued = || smas().filter(|sma| sma.null_count < sma.rows);
        let is_int = valued().all(|sma| matches!(sma.min, Some(Bound::Int(_))));
        let ranges: Vec<HotColumnRange> = self.hot.iter().map(|hot| hot.range(column)).collect();
        let hot_bounds = |is_min: bool| {
            let valued = ranges.iter().filter(|range| **range != HotColumnRange::Empty);
            valued.map(move |range| hot_scalar(*range, is_min, column_type))
        };
        let mins = valued().map(|sma| min_scalar(sma, column_type)).chain(hot_bounds(true));
        let maxs = valued().map(|sma| max_scalar(sma, column_type)).chain(hot_bounds(false));
        ColumnStatistics {
            null_count,
            min_value: precision(extreme(mins, |a, b| a < b), is_int),
            max_value: precision(extreme(maxs, |a, b| a > b), is_int),
            ..ColumnStatistics::new_unknown()
        }
    }
}

/// Returns a bound of the values of a hot chunk; `None` if none is known.
fn hot_scalar(range: HotColumnRange, is_min: bool, column_type: ColumnType) -> Option<ScalarValue> {
    match range {
        HotColumnRange::Within { min, max } => {
            int_scalar(if is_min { min } else { max }, column_type)
        }
        HotColumnRange::WithinFloats { .. } | HotColumnRange::Empty | HotColumnRange::Unknown => {
            None
        }
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
