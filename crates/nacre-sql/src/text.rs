//! Values of Arrow arrays as text, as PostgreSQL writes them.

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, BooleanArray, LargeBinaryArray,
    LargeStringArray, ListArray, StringArray, StringViewArray,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
    IntervalUnit, Time64MicrosecondType, Time64NanosecondType, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use nacre_column::text;

use crate::error::{Error, ErrorKind, Result};

/// Appends the text of `row`; returns false, appending nothing, if it is null.
///
/// # Errors
/// As for [`TextColumn::put`].
///
/// # Panics
/// If `row >= array.len()`.
pub fn write_text(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<bool> {
    TextColumn::new(array).put(row, out)
}

/// A column that is written value by value: its type is looked at once.
pub struct TextColumn<'a> {
    array: &'a ArrayRef,
    nulls: Option<&'a NullBuffer>,
    values: Values<'a>,
}

enum Values<'a> {
    Null,
    Boolean(&'a BooleanArray),
    Int8(&'a [i8]),
    Int16(&'a [i16]),
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    UInt8(&'a [u8]),
    UInt16(&'a [u16]),
    UInt32(&'a [u32]),
    UInt64(&'a [u64]),
    Float32(&'a [f32]),
    Float64(&'a [f64]),
    Decimal(&'a [i128], u8),
    Date(&'a [i32]),
    /// In units since 1970.
    Timestamp {
        values: &'a [i64],
        unit: TimeUnit,
        has_zone: bool,
    },
    Interval(&'a [IntervalMonthDayNano]),
    /// In units of the day.
    Time(&'a [i64], TimeUnit),
    /// In units.
    Duration(&'a [i64], TimeUnit),
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
    List(&'a ListArray),
    Other,
}

impl<'a> TextColumn<'a> {
    /// Looks at a column.
    pub fn new(array: &'a ArrayRef) -> Self {
        fn numbers<T: ArrowPrimitiveType>(array: &ArrayRef) -> &[T::Native] {
            array.as_primitive::<T>().values()
        }
        let values = match array.data_type() {
            DataType::Null => Values::Null,
            DataType::Boolean => Values::Boolean(array.as_boolean()),
            DataType::Int8 => Values::Int8(numbers::<Int8Type>(array)),
            DataType::Int16 => Values::Int16(numbers::<Int16Type>(array)),
            DataType::Int32 => Values::Int32(numbers::<Int32Type>(array)),
            DataType::Int64 => Values::Int64(numbers::<Int64Type>(array)),
            DataType::UInt8 => Values::UInt8(numbers::<UInt8Type>(array)),
            DataType::UInt16 => Values::UInt16(numbers::<UInt16Type>(array)),
            DataType::UInt32 => Values::UInt32(numbers::<UInt32Type>(array)),
            DataType::UInt64 => Values::UInt64(numbers::<UInt64Type>(array)),
            DataType::Float32 => Values::Float32(numbers::<Float32Type>(array)),
            DataType::Float64 => Values::Float64(numbers::<Float64Type>(array)),
            DataType::Decimal128(_, scale) if *scale >= 0 => {
                Values::Decimal(numbers::<Decimal128Type>(array), *scale as u8)
            }
            DataType::Date32 => Values::Date(numbers::<Date32Type>(array)),
            DataType::Timestamp(unit, zone) if zone.as_deref().is_none_or(is_utc) => {
                let values = match unit {
                    TimeUnit::Second => numbers::<TimestampSecondType>(array),
                    TimeUnit::Millisecond => numbers::<TimestampMillisecondType>(array),
                    TimeUnit::Microsecond => numbers::<TimestampMicrosecondType>(array),
                    TimeUnit::Nanosecond => numbers::<TimestampNanosecondType>(array),
                };
                Values::Timestamp { values, unit: *unit, has_zone: zone.is_some() }
            }
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                Values::Interval(numbers::<IntervalMonthDayNanoType>(array))
            }
            DataType::Time64(TimeUnit::Microsecond) => {
                Values::Time(numbers::<Time64MicrosecondType>(array), TimeUnit::Microsecond)
            }
            DataType::Time64(_) => {
                Values::Time(numbers::<Time64NanosecondType>(array), TimeUnit::Nanosecond)
            }
            DataType::Duration(unit) => {
                let values = match unit {
                    TimeUnit::Second => numbers::<DurationSecondType>(array),
                    TimeUnit::Millisecond => numbers::<DurationMillisecondType>(array),
                    TimeUnit::Microsecond => numbers::<DurationMicrosecondType>(array),
                    TimeUnit::Nanosecond => numbers::<DurationNanosecondType>(array),
                };
                Values::Duration(values, *unit)
            }
            DataType::Utf8 => Values::Utf8(array.as_string()),
            DataType::LargeUtf8 => Values::LargeUtf8(array.as_string()),
            DataType::Utf8View => Values::Utf8View(array.as_string_view()),
            DataType::Binary => Values::Binary(array.as_binary()),
            DataType::LargeBinary => Values::LargeBinary(array.as_binary()),
            DataType::BinaryView => Values::BinaryView(array.as_binary_view()),
            DataType::List(_) => Values::List(array.as_list()),
            _ => Values::Other,
        };
        Self { array, nulls: array.nulls(), values }
    }

    /// Whether the texts of all values consist of digits, letters, points, signs, colons and single
    /// blanks.
    pub fn is_simple(&self) -> bool {
        !matches!(
            self.values,
            Values::Utf8(_)
                | Values::LargeUtf8(_)
                | Values::Utf8View(_)
                | Values::Binary(_)
                | Values::LargeBinary(_)
                | Values::BinaryView(_)
                | Values::List(_)
                | Values::Timestamp { has_zone: true, .. }
                | Values::Other
        )
    }

    /// Appends the text of a value; returns false, appending nothing, if it is null.
    ///
    /// # Errors
    /// `InvalidData` for a value that has no text, such as a timestamp out of any calendar.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn put(&self, row: usize, out: &mut Vec<u8>) -> Result<bool> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(false);
        }
        match &self.values {
            Values::Null => return Ok(false),
            Values::Boolean(array) => out.push(if array.value(row) { b't' } else { b'f' }),
            Values::Int8(values) => text::write_integer(values[row], out),
            Values::Int16(values) => text::write_integer(values[row], out),
            Values::Int32(values) => text::write_integer(values[row], out),
            Values::Int64(values) => text::write_integer(values[row], out),
            Values::UInt8(values) => text::write_integer(values[row], out),
            Values::UInt16(values) => text::write_integer(values[row], out),
            Values::UInt32(values) => text::write_integer(values[row], out),
            Values::UInt64(values) => text::write_integer(values[row], out),
            Values::Float32(values) => text::write_real(values[row], out),
            Values::Float64(values) => text::write_double(values[row], out),
            Values::Decimal(values, scale) => text::write_decimal(values[row], *scale, out),
            Values::Date(values) => text::write_date(values[row].into(), out),
            Values::Timestamp { values, unit, has_zone } => {
                let micros = micros(values[row], *unit)?;
                match has_zone {
                    true => text::write_timestamptz(micros, out),
                    false => text::write_timestamp(micros, out),
                }
            }
            Values::Interval(values) => {
                let value = values[row];
                write_interval(value.months, value.days, value.nanoseconds / 1_000, out);
            }
            Values::Time(values, unit) => write_time(micros(values[row], *unit)?, out),
            Values::Duration(values, unit) => {
                let micros = micros(values[row], *unit)?;
                let days = i32::try_from(micros / DAY_MICROS).unwrap_or(i32::MAX);
                write_interval(0, days, micros % DAY_MICROS, out);
            }
            Values::Utf8(array) => append_bytes(array.value(row).as_bytes(), out)?,
            Values::LargeUtf8(array) => append_bytes(array.value(row).as_bytes(), out)?,
            Values::Utf8View(array) => append_bytes(array.value(row).as_bytes(), out)?,
            Values::Binary(array) => append_bytea(array.value(row), out)?,
            Values::LargeBinary(array) => append_bytea(array.value(row), out)?,
            Values::BinaryView(array) => append_bytea(array.value(row), out)?,
            Values::List(array) => write_list(&array.value(row), out)?,
            Values::Other => write_other(self.array, row, out)?,
        }
        Ok(true)
    }
}

/// Appends bytes, for which the system may have no memory.
///
/// # Errors
/// 53200.
pub fn append_bytes(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    reserve_bytes(bytes.len(), out)?;
    out.extend_from_slice(bytes);
    Ok(())
}

fn append_bytea(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
    reserve_bytes(bytes.len().saturating_mul(2).saturating_add(2), out)?;
    text::write_bytea(bytes, out);
    Ok(())
}

/// Makes place for bytes of a value.
///
/// # Errors
/// 53200.
pub(crate) fn reserve_bytes(more: usize, out: &mut Vec<u8>) -> Result<()> {
    out.try_reserve(more).map_err(|_| {
        let message = format!("out of memory for a value: {more} bytes more");
        Error::new(ErrorKind::OutOfMemory, message)
    })
}

const DAY_MICROS: i64 = 86_400_000_000;

/// Whether a zone is the only one that there is.
fn is_utc(zone: &str) -> bool {
    ["+00:00", "UTC", "Z", "Etc/UTC"].contains(&zone)
}

/// Brings a moment or a duration into microseconds, rounded down.
fn micros(value: i64, unit: TimeUnit) -> Result<i64> {
    let of = |factor: i64| {
        let message = || format!("{value} is out of the range of timestamps");
        value.checked_mul(factor).ok_or_else(|| Error::new(ErrorKind::InvalidData, message()))
    };
    match unit {
        TimeUnit::Second => of(1_000_000),
        TimeUnit::Millisecond => of(1_000),
        TimeUnit::Microsecond => Ok(value),
        TimeUnit::Nanosecond => Ok(value.div_euclid(1_000)),
    }
}

/// Writes an interval in the style `postgres`: `1 year 2 mons -3 days +04:05:06.7`.
fn write_interval(months: i32, days: i32, micros: i64, out: &mut Vec<u8>) {
    let (mut is_first, mut is_after_negative) = (true, false);
    for (value, unit) in [(months / 12, "year"), (months % 12, "mon"), (days, "day")] {
        if value == 0 {
            continue;
        }
        if !is_first {
            out.push(b' ');
        }
        if is_after_negative && value > 0 {
            out.push(b'+');
        }
        text::write_integer(value, out);
        out.push(b' ');
        out.extend_from_slice(unit.as_bytes());
        if value != 1 {
            out.push(b's');
        }
        (is_first, is_after_negative) = (false, value < 0);
    }
    if micros == 0 && !is_first {
        return;
    }
    if !is_first {
        out.push(b' ');
    }
    if micros < 0 {
        out.push(b'-');
    } else if is_after_negative {
        out.push(b'+');
    }
    write_time(micros.saturating_abs(), out);
}

/// Writes `04:05:06.7`; hours may be any number.
fn write_time(micros: i64, out: &mut Vec<u8>) {
    let (seconds, fraction) = (micros / 1_000_000, micros % 1_000_000);
    let time = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    out.extend_from_slice(time.as_bytes());
    if fraction != 0 {
        let digits = format!(".{fraction:06}");
        out.extend_from_slice(digits.trim_end_matches('0').as_bytes());
    }
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

/// Writes values of types that only expressions have, such as times.
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
        Decimal128Array, DurationSecondArray, Float64Array, Int64Array, NullArray,
        Time64MicrosecondArray, TimestampNanosecondArray,
    };

    use super::*;

    #[test]
    fn intervals_are_in_postgresqls_style() {
        let hour = 3_600_000_000;
        for (months, days, micros, expected) in [
            (0, 0, 0, "00:00:00"),
            (14, 1, 2 * hour, "1 year 2 mons 1 day 02:00:00"),
            (1, -1, hour + 500_000, "1 mon -1 days +01:00:00.5"),
            (-13, 0, -1, "-1 years -1 mons -00:00:00.000001"),
            (0, 2, 0, "2 days"),
            (0, 0, 100 * hour, "100:00:00"),
        ] {
            let mut out = Vec::new();
            write_interval(months, days, micros, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn moments_have_six_digits_at_most() {
        let nanos = TimestampNanosecondArray::from(vec![1_123_456_789, -1]);
        let moments: ArrayRef = Arc::new(nanos.clone());
        assert_eq!(text_of(moments).as_deref(), Some("1970-01-01 00:00:01.123456"));
        let zoned: ArrayRef = Arc::new(nanos.with_timezone("+00:00"));
        assert_eq!(text_of(zoned).as_deref(), Some("1970-01-01 00:00:01.123456+00"));
        let days: ArrayRef = Arc::new(DurationSecondArray::from(vec![90_000]));
        assert_eq!(text_of(days).as_deref(), Some("1 day 01:00:00"));
    }

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
