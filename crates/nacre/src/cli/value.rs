//! Arrow values as text, written as PostgreSQL writes them.
//!
//! | type | text |
//! |---|---|
//! | boolean | `true`, `false` |
//! | decimal | all digits of its scale: `1.50` |
//! | real, double | shortest text that reads back the same: `0.1`, `1e+20`, `NaN`, `-Infinity` |
//! | date, timestamp | `2024-01-31`, `2024-01-31 12:00:00.5` |
//! | bytea | `\x` and hexadecimal digits |
//! | time, interval | `04:05:06.5`, `1 day 02:00:00` |
//! | array | `{1,2,NULL}` |
//! | others | as Arrow's display does: `{a: 1}` |

use std::fmt::Write;

use nacre_sql::datafusion::arrow::array::{Array, ArrayRef, AsArray};
use nacre_sql::datafusion::arrow::datatypes::{
    DataType, TimeUnit, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use nacre_sql::datafusion::arrow::error::ArrowError;
use nacre_sql::datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use nacre_sql::write_text;

/// Writes the values of one column of a batch.
pub(crate) struct ColumnText<'a> {
    array: &'a ArrayRef,
    source: Source<'a>,
}

enum Source<'a> {
    Boolean,
    /// Written by `nacre_sql`, as `COPY ... TO` does.
    Shared,
    /// Timestamps as microseconds, where they are whole and fit; the formatter has the others.
    Timestamp(Box<dyn Fn(usize) -> Option<i64> + 'a>, ArrayFormatter<'a>),
    /// Written by Arrow, with one formatter for the whole column.
    Other(ArrayFormatter<'a>),
}

impl<'a> ColumnText<'a> {
    /// Prepares a column.
    ///
    /// # Errors
    /// If Arrow has no text form for the column's type.
    pub(crate) fn new(array: &'a ArrayRef) -> Result<Self, ArrowError> {
        let source = match array.data_type() {
            DataType::Boolean => Source::Boolean,
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::UInt64
            | DataType::Float32
            | DataType::Float64
            | DataType::Date32
            | DataType::Time64(_)
            | DataType::Interval(_)
            | DataType::Duration(_)
            | DataType::List(_)
            | DataType::Timestamp(TimeUnit::Microsecond, None)
            | DataType::Timestamp(_, Some(_)) => Source::Shared,
            DataType::Decimal128(_, scale) if *scale >= 0 => Source::Shared,
            DataType::Timestamp(unit, None) => {
                let formatter = ArrayFormatter::try_new(array, &OPTIONS)?;
                Source::Timestamp(microseconds(array, *unit), formatter)
            }
            _ => Source::Other(ArrayFormatter::try_new(array, &OPTIONS)?),
        };
        Ok(Self { array, source })
    }

    /// Tells whether a row's value is NULL.
    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.array.is_null(row) || self.array.data_type() == &DataType::Null
    }

    /// Appends a row's value, which must not be NULL.
    pub(crate) fn write(&self, row: usize, out: &mut String) {
        match &self.source {
            Source::Boolean => {
                out.push_str(if self.array.as_boolean().value(row) { "true" } else { "false" });
            }
            Source::Shared => {
                let mut bytes = Vec::new();
                match write_text(self.array, row, &mut bytes) {
                    Ok(_) => out.push_str(&String::from_utf8_lossy(&bytes)),
                    Err(error) => push_display(error, out),
                }
            }
            Source::Timestamp(microseconds, formatter) => match microseconds(row) {
                Some(value) => {
                    let mut bytes = Vec::new();
                    nacre_column::text::write_timestamp(value, &mut bytes);
                    out.push_str(&String::from_utf8_lossy(&bytes));
                }
                None => push_display(formatter.value(row), out),
            },
            Source::Other(formatter) => push_display(formatter.value(row), out),
        }
    }
}

const OPTIONS: FormatOptions<'static> = FormatOptions::new()
    .with_display_error(true)
    .with_null("NULL")
    .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
    .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f%:z"));

/// Reads timestamps of other units as microseconds; `None` where that loses or overflows.
fn microseconds<'a>(array: &'a ArrayRef, unit: TimeUnit) -> Box<dyn Fn(usize) -> Option<i64> + 'a> {
    match unit {
        TimeUnit::Second => {
            let values = array.as_primitive::<TimestampSecondType>();
            Box::new(|row| values.value(row).checked_mul(1_000_000))
        }
        TimeUnit::Millisecond => {
            let values = array.as_primitive::<TimestampMillisecondType>();
            Box::new(|row| values.value(row).checked_mul(1_000))
        }
        TimeUnit::Nanosecond => {
            let values = array.as_primitive::<TimestampNanosecondType>();
            Box::new(|row| {
                let value = values.value(row);
                (value % 1_000 == 0).then_some(value / 1_000)
            })
        }
        // Written by `nacre_sql`.
        TimeUnit::Microsecond => Box::new(|_| None),
    }
}

fn push_display(value: impl std::fmt::Display, out: &mut String) {
    // Writing into a String cannot fail; a value without text shows its error instead.
    let _ = write!(out, "{value}");
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nacre_sql::datafusion::arrow::array::{
        BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
        Int64Array, IntervalMonthDayNanoArray, ListArray, StringArray, Time64MicrosecondArray,
        TimestampMicrosecondArray, TimestampNanosecondArray, TimestampSecondArray,
    };
    use nacre_sql::datafusion::arrow::datatypes::{Int32Type, IntervalMonthDayNano};

    use super::*;

    fn texts(array: impl Array + 'static) -> Vec<String> {
        let array: ArrayRef = Arc::new(array);
        let column = ColumnText::new(&array).unwrap();
        let text = |row| {
            let mut out = String::new();
            if column.is_null(row) {
                out.push_str("(null)");
            } else {
                column.write(row, &mut out);
            }
            out
        };
        (0..array.len()).map(text).collect()
    }

    #[test]
    fn floats_are_written_as_postgresql_does() {
        let doubles = [
            0.0,
            -0.0,
            1.0,
            0.1,
            -1.5,
            1e14,
            1e15,
            1.5e20,
            0.0001,
            0.00001234,
            1e-300,
            123_456.789,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            100.0,
        ];
        assert_eq!(
            texts(Float64Array::from(doubles.to_vec())),
            [
                "0",
                "-0",
                "1",
                "0.1",
                "-1.5",
                "100000000000000",
                "1e+15",
                "1.5e+20",
                "0.0001",
                "1.234e-05",
                "1e-300",
                "123456.789",
                "NaN",
                "Infinity",
                "-Infinity",
                "100",
            ]
        );
        assert_eq!(
            texts(Float32Array::from(vec![0.1, 123_456.0, 1_234_567.0])),
            ["0.1", "123456", "1.234567e+06"]
        );
    }

    #[test]
    fn dates_cover_leap_days() {
        let days = vec![0, -1, 11_016, 19_782, 2_932_896, -719_162];
        assert_eq!(
            texts(Date32Array::from(days)),
            ["1970-01-01", "1969-12-31", "2000-02-29", "2024-02-29", "9999-12-31", "0001-01-01"]
        );
    }

    #[test]
    fn timestamps_drop_trailing_zeros_of_the_fraction() {
        let values = vec![0, 1_704_110_400_500_000, -1, 1_704_110_400_000_000];
        assert_eq!(
            texts(TimestampMicrosecondArray::from(values)),
            [
                "1970-01-01 00:00:00",
                "2024-01-01 12:00:00.5",
                "1969-12-31 23:59:59.999999",
                "2024-01-01 12:00:00",
            ]
        );
        assert_eq!(texts(TimestampSecondArray::from(vec![61])), ["1970-01-01 00:01:01"]);
        assert_eq!(
            texts(TimestampNanosecondArray::from(vec![1_500_000_000, 1])),
            ["1970-01-01 00:00:01.5", "1970-01-01 00:00:00.000000001"]
        );
    }

    #[test]
    fn other_types_keep_every_digit_and_byte() {
        assert_eq!(texts(BinaryArray::from(vec![&b"\x00\xffA"[..], b""])), ["\\x00ff41", "\\x"]);
        assert_eq!(texts(BooleanArray::from(vec![Some(true), None])), ["true", "(null)"]);
        let decimals = Decimal128Array::from(vec![150, -7]).with_precision_and_scale(38, 2);
        assert_eq!(texts(decimals.unwrap()), ["1.50", "-0.07"]);
        assert_eq!(texts(Int64Array::from(vec![i64::MIN])), ["-9223372036854775808"]);
        assert_eq!(texts(StringArray::from(vec!["", "x"])), ["", "x"]);
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None])]);
        assert_eq!(texts(list), ["{1,NULL}"]);
        let span = IntervalMonthDayNano::new(0, 1, 7_200_000_000_000);
        assert_eq!(texts(IntervalMonthDayNanoArray::from(vec![span])), ["1 day 02:00:00"]);
        let time = Time64MicrosecondArray::from(vec![14_706_500_000]);
        assert_eq!(texts(time), ["04:05:06.5"]);
    }
}
