//! Arrow values as text, written as PostgreSQL writes them.
//!
//! | type | text |
//! |---|---|
//! | boolean | `true`, `false` |
//! | decimal | all digits of its scale: `1.50` |
//! | real, double | shortest text that reads back the same: `0.1`, `1e+20`, `NaN`, `-Infinity` |
//! | date, timestamp | `2024-01-31`, `2024-01-31 12:00:00.5`, years before 1 with ` BC` |
//! | bytea | `\x` and hexadecimal digits |
//! | others | as Arrow's display does: `[1, 2]`, `{a: 1}` |

use std::fmt::Write;

use nacre_sql::datafusion::arrow::array::{Array, ArrayRef, AsArray};
use nacre_sql::datafusion::arrow::datatypes::{
    DataType, Date32Type, Float32Type, Float64Type, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use nacre_sql::datafusion::arrow::error::ArrowError;
use nacre_sql::datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};

const SECONDS_A_DAY: i64 = 86_400;

/// Writes the values of one column of a batch.
pub(crate) struct ColumnText<'a> {
    array: &'a ArrayRef,
    source: Source<'a>,
}

enum Source<'a> {
    Text(Box<dyn Fn(usize) -> &'a str + 'a>),
    Bytes(Box<dyn Fn(usize) -> &'a [u8] + 'a>),
    Float32,
    Float64,
    Date,
    /// Timestamps without a time zone: the value and how many units make a second.
    Timestamp(Box<dyn Fn(usize) -> i64 + 'a>, i64),
    Other(ArrayFormatter<'a>),
}

impl<'a> ColumnText<'a> {
    /// Prepares a column.
    ///
    /// # Errors
    /// If Arrow has no text form for the column's type.
    pub(crate) fn new(array: &'a ArrayRef) -> Result<Self, ArrowError> {
        let source = match array.data_type() {
            DataType::Utf8 => {
                let values = array.as_string::<i32>();
                Source::Text(Box::new(move |row| values.value(row)))
            }
            DataType::LargeUtf8 => {
                let values = array.as_string::<i64>();
                Source::Text(Box::new(move |row| values.value(row)))
            }
            DataType::Utf8View => {
                let values = array.as_string_view();
                Source::Text(Box::new(move |row| values.value(row)))
            }
            DataType::Binary => {
                let values = array.as_binary::<i32>();
                Source::Bytes(Box::new(move |row| values.value(row)))
            }
            DataType::LargeBinary => {
                let values = array.as_binary::<i64>();
                Source::Bytes(Box::new(move |row| values.value(row)))
            }
            DataType::BinaryView => {
                let values = array.as_binary_view();
                Source::Bytes(Box::new(move |row| values.value(row)))
            }
            DataType::FixedSizeBinary(_) => {
                let values = array.as_fixed_size_binary();
                Source::Bytes(Box::new(move |row| values.value(row)))
            }
            DataType::Float32 => Source::Float32,
            DataType::Float64 => Source::Float64,
            DataType::Date32 => Source::Date,
            DataType::Timestamp(unit, None) => timestamps(array, *unit),
            _ => Source::Other(ArrayFormatter::try_new(array, &OTHER_OPTIONS)?),
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
            Source::Text(value) => out.push_str(value(row)),
            Source::Bytes(value) => write_bytes(value(row), out),
            Source::Float32 => {
                let value = self.array.as_primitive::<Float32Type>().value(row);
                write_float(&format!("{value:e}"), FLOAT32_DIGITS, out);
            }
            Source::Float64 => {
                let value = self.array.as_primitive::<Float64Type>().value(row);
                write_float(&format!("{value:e}"), FLOAT64_DIGITS, out);
            }
            Source::Date => {
                let days = self.array.as_primitive::<Date32Type>().value(row);
                let is_before_christ = write_date(i64::from(days), out);
                out.push_str(if is_before_christ { " BC" } else { "" });
            }
            Source::Timestamp(value, units) => write_timestamp(value(row), *units, out),
            // Writing into a String cannot fail, and the display error is written as text.
            Source::Other(formatter) => {
                let _ = write!(out, "{}", formatter.value(row));
            }
        }
    }
}

/// Digits after which PostgreSQL changes to the exponent form.
const FLOAT32_DIGITS: i32 = 6;
const FLOAT64_DIGITS: i32 = 15;

const OTHER_OPTIONS: FormatOptions<'static> = FormatOptions::new()
    .with_display_error(true)
    .with_null("NULL")
    .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
    .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f%:z"));

fn timestamps(array: &ArrayRef, unit: TimeUnit) -> Source<'_> {
    match unit {
        TimeUnit::Second => {
            let values = array.as_primitive::<TimestampSecondType>();
            Source::Timestamp(Box::new(|row| values.value(row)), 1)
        }
        TimeUnit::Millisecond => {
            let values = array.as_primitive::<TimestampMillisecondType>();
            Source::Timestamp(Box::new(|row| values.value(row)), 1_000)
        }
        TimeUnit::Microsecond => {
            let values = array.as_primitive::<TimestampMicrosecondType>();
            Source::Timestamp(Box::new(|row| values.value(row)), 1_000_000)
        }
        TimeUnit::Nanosecond => {
            let values = array.as_primitive::<TimestampNanosecondType>();
            Source::Timestamp(Box::new(|row| values.value(row)), 1_000_000_000)
        }
    }
}

fn write_bytes(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push_str("\\x");
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// Writes a float as PostgreSQL does, given its shortest digits as Rust's `{:e}` writes them.
fn write_float(scientific: &str, digits_max: i32, out: &mut String) {
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        // Infinite or not a number.
        out.push_str(match scientific {
            "inf" => "Infinity",
            "-inf" => "-Infinity",
            _ => "NaN",
        });
        return;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa
        .strip_prefix('-')
        .map_or(("", mantissa), |mantissa| ("-", mantissa));
    out.push_str(sign);
    if !(-4..digits_max).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{mantissa}e{sign}{:02}", exponent.abs());
        return;
    }
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n(
            '0',
            exponent.unsigned_abs() as usize - 1,
        ));
        out.push_str(&digits);
        return;
    }
    let whole = exponent.unsigned_abs() as usize + 1;
    out.push_str(&digits[..whole.min(digits.len())]);
    if digits.len() > whole {
        out.push('.');
        out.push_str(&digits[whole..]);
    } else {
        out.extend(std::iter::repeat_n('0', whole - digits.len()));
    }
}

/// Writes a day, counted from 1970-01-01, without the era; returns whether it is BC.
///
/// # Source
/// The proleptic Gregorian calendar in years that begin in March, so that the leap day is last.
fn write_date(days: i64, out: &mut String) -> bool {
    const DAYS_TO_MARCH_YEAR_0: i64 = 719_468;
    const DAYS_AN_ERA: i64 = 146_097;
    let shifted = days + DAYS_TO_MARCH_YEAR_0;
    let era = shifted.div_euclid(DAYS_AN_ERA);
    let day_of_era = shifted.rem_euclid(DAYS_AN_ERA);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let shown_year = if year <= 0 { 1 - year } else { year };
    let _ = write!(out, "{shown_year:04}-{month:02}-{day:02}");
    year <= 0
}

fn write_timestamp(value: i64, units_a_second: i64, out: &mut String) {
    let seconds = value.div_euclid(units_a_second);
    let fraction = value.rem_euclid(units_a_second);
    let is_before_christ = write_date(seconds.div_euclid(SECONDS_A_DAY), out);
    let of_day = seconds.rem_euclid(SECONDS_A_DAY);
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    let _ = write!(out, " {hour:02}:{minute:02}:{second:02}");
    if fraction != 0 {
        let width = units_a_second.ilog10() as usize;
        let digits = format!("{fraction:0width$}");
        let _ = write!(out, ".{}", digits.trim_end_matches('0'));
    }
    out.push_str(if is_before_christ { " BC" } else { "" });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nacre_sql::datafusion::arrow::array::{
        BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
        Int64Array, ListArray, StringArray, TimestampMicrosecondArray, TimestampSecondArray,
    };
    use nacre_sql::datafusion::arrow::datatypes::Int32Type;

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
    fn dates_cover_leap_days_and_years_before_christ() {
        let days = vec![
            0, -1, 11_016, 19_782, 2_932_896, -719_162, -719_163, -735_160,
        ];
        assert_eq!(
            texts(Date32Array::from(days)),
            [
                "1970-01-01",
                "1969-12-31",
                "2000-02-29",
                "2024-02-29",
                "9999-12-31",
                "0001-01-01",
                "0001-12-31 BC",
                "0044-03-13 BC",
            ]
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
        assert_eq!(
            texts(TimestampSecondArray::from(vec![61])),
            ["1970-01-01 00:01:01"]
        );
    }

    #[test]
    fn other_types_keep_every_digit_and_byte() {
        assert_eq!(
            texts(BinaryArray::from(vec![&b"\x00\xffA"[..], b""])),
            ["\\x00ff41", "\\x"]
        );
        assert_eq!(
            texts(BooleanArray::from(vec![Some(true), None])),
            ["true", "(null)"]
        );
        let decimals = Decimal128Array::from(vec![150, -7]).with_precision_and_scale(38, 2);
        assert_eq!(texts(decimals.unwrap()), ["1.50", "-0.07"]);
        assert_eq!(
            texts(Int64Array::from(vec![i64::MIN])),
            ["-9223372036854775808"]
        );
        assert_eq!(texts(StringArray::from(vec!["", "x"])), ["", "x"]);
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None])]);
        assert_eq!(texts(list), ["[1, NULL]"]);
    }
}
