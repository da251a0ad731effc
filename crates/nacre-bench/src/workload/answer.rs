//! Answers of queries as plain values that two engines' answers can be compared by.
//!
//! Column types that mean the same become the same: all widths of integers and decimals become
//! exact numbers without trailing zeros, all string types become text.

use std::cmp::Ordering;
use std::fmt;

use datafusion::arrow::array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Schema, TimeUnit};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use nacre_sql::PgType;

use crate::error::{Error, Result};

/// One value of an answer.
#[derive(Clone, Debug)]
pub enum Cell {
    Null,
    Boolean(bool),
    /// An exact number, `unscaled / 10^scale`, without trailing zeros behind the point; its column
    /// has `digits >= scale` digits behind the point.
    Number {
        unscaled: i128,
        scale: u8,
        digits: u8,
    },
    Float(f64),
    Text(String),
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since 1970-01-01 00:00:00.
    Timestamp(i64),
}

/// The rows that a query answered.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

impl Cell {
    /// Makes an exact number and drops trailing zeros behind the point.
    pub fn number(mut unscaled: i128, scale: i8) -> Self {
        // A negative scale means trailing zeros before the point; no engine here answers with one.
        let digits = u8::try_from(scale).unwrap_or(0);
        let mut scale = digits;
        while scale > 0 && unscaled % 10 == 0 {
            unscaled /= 10;
            scale -= 1;
        }
        Self::Number { unscaled, scale, digits }
    }

    /// Parses an exact number. Anything else, such as NaN, stays a text.
    pub(crate) fn of_numeric_text(text: &str) -> Self {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let scale = i8::try_from(fraction.len()).ok();
        match (format!("{whole}{fraction}").parse(), scale) {
            (Ok(unscaled), Some(scale)) => Self::number(unscaled, scale),
            _ => Self::Text(text.to_owned()),
        }
    }

    /// Returns an exact number or a float as a float.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number { unscaled, scale, .. } => {
                Some(*unscaled as f64 / 10f64.powi(i32::from(*scale)))
            }
            Self::Float(value) => Some(*value),
            _ => None,
        }
    }

    /// Orders cells for sorting rows; any total order would do.
    pub(crate) fn total_order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Boolean(a), Self::Boolean(b)) => a.cmp(b),
            (
                Self::Number { unscaled: a, scale: a_scale, .. },
                Self::Number { unscaled: b, scale: b_scale, .. },
            ) => (a, a_scale).cmp(&(b, b_scale)),
            (Self::Float(a), Self::Float(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            (Self::Date(a), Self::Date(b)) => a.cmp(b),
            (Self::Timestamp(a), Self::Timestamp(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Boolean(_) => 1,
            Self::Number { .. } => 2,
            Self::Float(_) => 3,
            Self::Text(_) => 4,
            Self::Date(_) => 5,
            Self::Timestamp(_) => 6,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Boolean(value) => value.fmt(f),
            Self::Number { unscaled, scale: 0, .. } => unscaled.fmt(f),
            Self::Number { unscaled, scale, .. } => {
                let scale = usize::from(*scale);
                let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
                let (whole, fraction) = digits.split_at(digits.len() - scale);
                let sign = if *unscaled < 0 { "-" } else { "" };
                write!(f, "{sign}{whole}.{fraction}")
            }
            Self::Float(value) => value.fmt(f),
            Self::Text(value) => f.write_str(value),
            Self::Date(days) => match Date32Type::to_naive_date_opt(*days) {
                Some(date) => date.fmt(f),
                None => write!(f, "day {days}"),
            },
            Self::Timestamp(microseconds) => write!(f, "{microseconds} us"),
        }
    }
}

impl Answer {
    /// Turns Arrow record batches into an answer.
    pub fn from_batches(schema: &Schema, batches: &[RecordBatch]) -> Result<Self> {
        let columns = schema.fields().iter().map(|field| field.name().clone()).collect();
        let mut rows = Vec::with_capacity(batches.iter().map(RecordBatch::num_rows).sum());
        for batch in batches {
            let first = rows.len();
            rows.resize_with(first + batch.num_rows(), || Vec::with_capacity(batch.num_columns()));
            for (array, field) in batch.columns().iter().zip(schema.fields()) {
                let is_numeric = PgType::of_field(field).0.name == "numeric";
                append_column(array, is_numeric, &mut rows[first..])
                    .map_err(|source| Error::datafusion("read an answer")(source.into()))?;
            }
        }
        Ok(Self { columns, rows })
    }

    /// Returns the rows as text, cells apart by a blank, rows by a comma.
    pub fn to_line(&self) -> String {
        let row = |row: &Vec<Cell>| row.iter().map(Cell::to_string).collect::<Vec<_>>().join(" ");
        self.rows.iter().map(row).collect::<Vec<_>>().join(", ")
    }
}

/// Appends one cell to each row. Texts of a column that `is_numeric` are numbers whose digits
/// depend on the value.
fn append_column(
    array: &ArrayRef,
    is_numeric: bool,
    rows: &mut [Vec<Cell>],
) -> std::result::Result<(), ArrowError> {
    macro_rules! primitive {
        ($arrow_type:ty, $cell:expr) => {{
            let values = array.as_primitive::<$arrow_type>();
            append(array, rows, |index| $cell(values.value(index)))
        }};
    }
    macro_rules! integer {
        ($arrow_type:ty) => {
            primitive!($arrow_type, |value| Cell::number(i128::from(value), 0))
        };
    }
    macro_rules! text {
        ($values:expr) => {{
            let values = $values;
            append(array, rows, |index| Cell::Text(values.value(index).to_owned()))
        }};
    }
    match array.data_type() {
        DataType::Int8 => integer!(Int8Type),
        DataType::Int16 => integer!(Int16Type),
        DataType::Int32 => integer!(Int32Type),
        DataType::Int64 => integer!(Int64Type),
        DataType::UInt8 => integer!(UInt8Type),
        DataType::UInt16 => integer!(UInt16Type),
        DataType::UInt32 => integer!(UInt32Type),
        DataType::UInt64 => integer!(UInt64Type),
        DataType::Decimal128(_, scale) => {
            let scale = *scale;
            primitive!(Decimal128Type, |value| Cell::number(value, scale))
        }
        DataType::Float32 => primitive!(Float32Type, |value| Cell::Float(f64::from(value))),
        DataType::Float64 => primitive!(Float64Type, Cell::Float),
        DataType::Date32 => primitive!(Date32Type, Cell::Date),
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            primitive!(TimestampMicrosecondType, Cell::Timestamp)
        }
        DataType::Boolean => {
            let values = array.as_boolean();
            append(array, rows, |index| Cell::Boolean(values.value(index)));
        }
        DataType::Utf8 => text!(array.as_string::<i32>()),
        DataType::LargeUtf8 => text!(array.as_string::<i64>()),
        DataType::Utf8View if is_numeric => {
            let values = array.as_string_view();
            append(array, rows, |index| Cell::of_numeric_text(values.value(index)));
        }
        DataType::Utf8View => text!(array.as_string_view()),
        _ => {
            let options = FormatOptions::default();
            let formatter = ArrayFormatter::try_new(array, &options)?;
            append(array, rows, |index| Cell::Text(formatter.value(index).to_string()));
        }
    }
    Ok(())
}

fn append(array: &ArrayRef, rows: &mut [Vec<Cell>], cell: impl Fn(usize) -> Cell) {
    for (index, row) in rows.iter_mut().enumerate() {
        row.push(if array.is_null(index) { Cell::Null } else { cell(index) });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{Decimal128Array, Int32Array, StringViewArray};
    use datafusion::arrow::datatypes::Field;

    use super::*;

    #[test]
    fn numbers_print_all_their_digits() {
        let texts = [
            Cell::number(-5, 2),
            Cell::number(123_450, 3),
            Cell::number(100, 2),
            Cell::number(0, 2),
            Cell::number(i128::MAX, 0),
        ]
        .map(|cell| cell.to_string());
        let largest = i128::MAX.to_string();
        assert_eq!(texts, ["-0.05", "123.45", "1", "0", largest.as_str()]);
    }

    #[test]
    fn batches_become_rows_of_cells() {
        let schema = Schema::new(vec![
            Field::new("i", DataType::Int32, true),
            Field::new("d", DataType::Decimal128(15, 2), false),
            Field::new("t", DataType::Utf8View, false),
        ]);
        let decimals = Decimal128Array::from(vec![150, 7]).with_precision_and_scale(15, 2).unwrap();
        let batch = RecordBatch::try_new(
            Arc::new(schema.clone()),
            vec![
                Arc::new(Int32Array::from(vec![Some(1), None])),
                Arc::new(decimals),
                Arc::new(StringViewArray::from(vec!["a", "b"])),
            ],
        )
        .unwrap();
        let answer =
            Answer::from_batches(&schema, &[batch.slice(0, 1), batch.slice(1, 1)]).unwrap();
        assert_eq!(answer.columns, ["i", "d", "t"]);
        assert_eq!(answer.to_line(), "1 1.5 a, NULL 0.07 b");
    }
}
