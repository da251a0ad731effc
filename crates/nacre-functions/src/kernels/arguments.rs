//! Arguments of kernels as values of Rust.
//!
//! A value of another type than the function's breaks an invariant of the binder: XX000.

use nacre_types::datetime::{SqlDate, SqlTime, SqlTimeTz, SqlTimestamp};
use nacre_types::{ExactNumeric, SqlArray, SqlInterval, SqlValue, ValueError};

/// Most bytes of a text or byte string: PostgreSQL's 1 GiB less one.
pub(super) const VALUE_BYTES_MAX: usize = 0x3fff_ffff;

fn mismatch(index: usize) -> ValueError {
    ValueError::internal(format!("argument {index} of a kernel has another type"))
}

pub(super) fn text(values: &[SqlValue], index: usize) -> Result<&str, ValueError> {
    match values.get(index) {
        Some(SqlValue::Text(text) | SqlValue::Padded(text) | SqlValue::Json(text)) => Ok(text),
        _ => Err(mismatch(index)),
    }
}

/// Returns a text without the blanks that `bpchar` does not count.
pub(super) fn unpadded(values: &[SqlValue], index: usize) -> Result<&str, ValueError> {
    text(values, index).map(|text| text.trim_end_matches(' '))
}

pub(super) fn bytes(values: &[SqlValue], index: usize) -> Result<&[u8], ValueError> {
    match values.get(index) {
        Some(SqlValue::Bytea(bytes)) => Ok(bytes),
        _ => Err(mismatch(index)),
    }
}

pub(super) fn int4(values: &[SqlValue], index: usize) -> Result<i32, ValueError> {
    match values.get(index) {
        Some(SqlValue::Integer(value)) => Ok(*value),
        _ => Err(mismatch(index)),
    }
}

/// Returns a whole number of any of the three types.
pub(super) fn whole(values: &[SqlValue], index: usize) -> Result<i64, ValueError> {
    match values.get(index) {
        Some(SqlValue::SmallInt(value)) => Ok((*value).into()),
        Some(SqlValue::Integer(value)) => Ok((*value).into()),
        Some(SqlValue::BigInt(value)) => Ok(*value),
        _ => Err(mismatch(index)),
    }
}

/// Returns a float of either type.
pub(super) fn double(values: &[SqlValue], index: usize) -> Result<f64, ValueError> {
    match values.get(index) {
        Some(SqlValue::Real(value)) => Ok((*value).into()),
        Some(SqlValue::Double(value)) => Ok(*value),
        _ => Err(mismatch(index)),
    }
}

pub(super) fn numeric(values: &[SqlValue], index: usize) -> Result<&ExactNumeric, ValueError> {
    match values.get(index) {
        Some(SqlValue::Numeric(value)) => Ok(value),
        _ => Err(mismatch(index)),
    }
}

pub(super) fn date(values: &[SqlValue], index: usize) -> Result<SqlDate, ValueError> {
    match values.get(index) {
        Some(SqlValue::Date(value)) => Ok(*value),
        _ => Err(mismatch(index)),
    }
}

pub(super) fn time(values: &[SqlValue], index: usize) -> Result<SqlTime, ValueError> {
    match values.get(index) {
        Some(SqlValue::Time(value)) => Ok(*value),
        _ => Err(mismatch(index)),
    }
}

pub(super) fn time_tz(values: &[SqlValue], index: usize) -> Result<SqlTimeTz, ValueError> {
    match values.get(index) {
        Some(SqlValue::TimeTz(value)) => Ok(*value),
        _ => Err(mismatch(index)),
    }
}

/// Returns a timestamp of either type.
pub(super) fn timestamp(values: &[SqlValue], index: usize) -> Result<SqlTimestamp, ValueError> {
    match values.get(index) {
        Some(SqlValue::Timestamp(value) | SqlValue::TimestampTz(value)) => Ok(*value),
        _ => Err(mismatch(index)),
    }
}

pub(super) fn interval(values: &[SqlValue], index: usize) -> Result<SqlInterval, ValueError> {
    match values.get(index) {
        Some(SqlValue::Interval(value)) => Ok(*value),
        _ => Err(mismatch(index)),
    }
}

pub(super) fn array(values: &[SqlValue], index: usize) -> Result<&SqlArray, ValueError> {
    match values.get(index) {
        Some(SqlValue::Array(array)) => Ok(array),
        _ => Err(mismatch(index)),
    }
}

/// Makes the text of a result.
///
/// # Errors
/// 54000 past 1 GiB.
pub(super) fn text_value(text: impl Into<String>) -> Result<SqlValue, ValueError> {
    let text = text.into();
    if text.len() > VALUE_BYTES_MAX {
        return Err(too_large());
    }
    Ok(SqlValue::Text(text))
}

pub(super) fn too_large() -> ValueError {
    ValueError::limit_exceeded("requested length too large")
}

/// Makes an `integer` of a count.
pub(super) fn count_value(count: usize) -> SqlValue {
    // Values have less than 2^30 bytes, and as many bits fit 8 times into 2^33: those of bits do
    // not occur.
    SqlValue::Integer(i32::try_from(count).unwrap_or(i32::MAX))
}
