//! Single values: what a row is made of outside of columns.
//!
//! [`ValueRef::fit`] is the only way of a value into a table: it checks a value against its column
//! and brings it into the form that is stored.
//!
//! # Invariants
//! 1. A value that `fit` returned is null or of its column's physical class, within the range or
//!    length of its type, and UTF-8 if it is text; `char(n)` has no trailing blanks.

use std::cmp::Ordering;
use std::fmt;

use nacre_column::{
    ColumnBuffer, ColumnType, CompareOp, Constant, Physical, PointValue, Restriction, Values,
    compare_floats,
};

use crate::error::{Error, Result};
use crate::schema::TableSchema;

/// Most bytes of one string.
pub const VALUE_BYTES_MAX: usize = 1_000_000_000;

/// Values that lie on the stack; rows with more columns have them on the heap.
pub(crate) const VALUES_INLINE: usize = 16;

/// Returns `len` slots, on the stack if they fit.
#[inline]
pub(crate) fn slots<'a, T: Copy, const N: usize>(
    len: usize,
    inline: &'a mut [T; N],
    spilled: &'a mut Vec<T>,
) -> &'a mut [T] {
    if len <= N {
        return &mut inline[..len];
    }
    spilled.resize(len, inline[0]);
    spilled
}

/// A value that lies elsewhere. Variants match [`Physical`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ValueRef<'a> {
    #[default]
    Null,
    /// Booleans as 0 and 1, decimals unscaled, dates and timestamps as they are stored.
    Int(i64),
    /// A decimal of precision 19 to 38, unscaled.
    Int128(i128),
    Float32(f32),
    Float64(f64),
    /// Text or bytes.
    Bytes(&'a [u8]),
}

/// A value of its own.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Int128(i128),
    Float32(f32),
    Float64(f64),
    Bytes(Vec<u8>),
}

/// Why a value cannot be in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueProblem {
    /// It is of another class, such as a string in a column of numbers.
    WrongClass,
    /// It is below or above what the type can hold.
    OutOfRange,
    /// It has too many characters, or more than [`VALUE_BYTES_MAX`] bytes.
    TooLong,
    /// Text that is not UTF-8.
    NotUtf8,
}

impl fmt::Display for ValueProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongClass => "is of another class than",
            Self::OutOfRange => "out of range for",
            Self::TooLong => "too long for",
            Self::NotUtf8 => "is not UTF-8 in a column of",
        })
    }
}

impl Value {
    /// Borrows the value.
    #[inline]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Int(*value),
            Self::Int128(value) => ValueRef::Int128(*value),
            Self::Float32(value) => ValueRef::Float32(*value),
            Self::Float64(value) => ValueRef::Float64(*value),
            Self::Bytes(value) => ValueRef::Bytes(value),
        }
    }
}

/// A row that was copied; one copy leaves its memory to the next.
#[derive(Debug, Default)]
pub(crate) struct RowCopy {
    values: Vec<PointValue>,
    text: Vec<u8>,
}

impl RowCopy {
    /// Copies a row over what there is.
    pub(crate) fn set(&mut self, values: &[ValueRef<'_>]) {
        self.values.clear();
        self.text.clear();
        for value in values {
            self.values.push(match *value {
                ValueRef::Null => PointValue::Null,
                ValueRef::Int(value) => PointValue::Int(value),
                ValueRef::Int128(value) => PointValue::Int128(value),
                ValueRef::Float32(value) => PointValue::Float32(value),
                ValueRef::Float64(value) => PointValue::Float64(value),
                ValueRef::Bytes(bytes) => {
                    let start = self.text.len();
                    self.text.extend_from_slice(bytes);
                    PointValue::Bytes { start, end: self.text.len() }
                }
            });
        }
    }

    /// Returns the values of the row.
    pub(crate) fn values(&self) -> impl Iterator<Item = ValueRef<'_>> {
        self.values.iter().map(|value| ValueRef::at(*value, &self.text))
    }

    /// Gives back memory beyond some bytes.
    pub(crate) fn shrink(&mut self, kept_bytes: usize) {
        self.text.clear();
        self.text.shrink_to(kept_bytes);
    }
}

impl<'a> ValueRef<'a> {
    /// Copies the value.
    pub fn to_value(self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Int(value) => Value::Int(value),
            Self::Int128(value) => Value::Int128(value),
            Self::Float32(value) => Value::Float32(value),
            Self::Float64(value) => Value::Float64(value),
            Self::Bytes(value) => Value::Bytes(value.to_vec()),
        }
    }

    /// Returns the value of a row of a buffer.
    ///
    /// # Panics
    /// If the buffer has no such row.
    #[inline]
    pub fn of(column: &'a ColumnBuffer, row: usize) -> Self {
        if column.is_null(row) {
            return Self::Null;
        }
        match column.values() {
            Values::Int64(values) => Self::Int(values[row]),
            Values::Int128(values) => Self::Int128(values[row]),
            Values::Float32(values) => Self::Float32(values[row]),
            Values::Float64(values) => Self::Float64(values[row]),
            Values::Bytes(values) => Self::Bytes(values.get(row)),
        }
    }

    /// Returns the value that was read of a block; `text` has its string.
    ///
    /// # Panics
    /// If it has not.
    #[inline]
    pub(crate) fn at(point: PointValue, text: &'a [u8]) -> Self {
        match point {
            PointValue::Null => Self::Null,
            PointValue::Int(value) => Self::Int(value),
            PointValue::Int128(value) => Self::Int128(value),
            PointValue::Float32(value) => Self::Float32(value),
            PointValue::Float64(value) => Self::Float64(value),
            PointValue::Bytes { start, end } => Self::Bytes(&text[start..end]),
        }
    }

    /// Appends the value to a buffer of its class; `fit` has brought it into this class.
    ///
    /// # Panics
    /// If the buffer is of another class.
    #[inline]
    pub fn push_to(self, column: &mut ColumnBuffer) {
        match self {
            Self::Null => column.push_null(),
            Self::Int(value) => column.push_int(value),
            Self::Int128(value) => column.push_int128(value),
            Self::Float32(value) => column.push_float32(value),
            Self::Float64(value) => column.push_float64(value),
            Self::Bytes(value) => column.push_bytes(value),
        }
    }

    /// Whether it is null.
    pub fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }

    /// Checks the value against a column and returns it as it is stored: trailing blanks of
    /// `char(n)` cut off, whole numbers as wide as the column's class.
    ///
    /// # Errors
    /// [`Error::NullViolation`]; [`Error::InvalidValue`] naming table, column and what is wrong.
    ///
    /// # Panics
    /// If the table has no such column.
    #[inline]
    pub fn fit(self, schema: &TableSchema, column: usize) -> Result<ValueRef<'a>> {
        match self {
            // Most values are such.
            Self::Int(value) if is_whole(value, schema.columns[column].column_type) => Ok(self),
            _ => self.fit_any(schema, column),
        }
    }

    fn fit_any(self, schema: &TableSchema, column: usize) -> Result<ValueRef<'a>> {
        let definition = &schema.columns[column];
        let problem = match self {
            Self::Null if definition.is_nullable => return Ok(self),
            Self::Null => {
                return Err(Error::NullViolation {
                    table: schema.name.clone(),
                    column: definition.name.clone(),
                });
            }
            _ => match self.fit_type(definition.column_type) {
                Ok(fitting) => return Ok(fitting),
                Err(problem) => problem,
            },
        };
        Err(Error::InvalidValue {
            table: schema.name.clone(),
            column: definition.name.clone(),
            column_type: definition.column_type,
            problem,
        })
    }

    fn fit_type(self, column_type: ColumnType) -> std::result::Result<Self, ValueProblem> {
        match (self, column_type.physical()) {
            (Self::Int(value), Physical::Int64) => match is_in_range(value, column_type) {
                true => Ok(self),
                false => Err(ValueProblem::OutOfRange),
            },
            (Self::Int(value), Physical::Int128) => {
                check_int(value.into(), column_type)?;
                Ok(Self::Int128(value.into()))
            }
            (Self::Int128(value), Physical::Int128) => {
                check_int(value, column_type)?;
                Ok(self)
            }
            // There is one NaN; that of arithmetic may have a sign, which comparisons look at.
            (Self::Float32(value), Physical::Float32) => {
                Ok(if value.is_nan() { Self::Float32(f32::NAN) } else { self })
            }
            (Self::Float64(value), Physical::Float64) => {
                Ok(if value.is_nan() { Self::Float64(f64::NAN) } else { self })
            }
            (Self::Bytes(value), Physical::Bytes) => fit_bytes(value, column_type).map(Self::Bytes),
            _ => Err(ValueProblem::WrongClass),
        }
    }

    /// Whether the value satisfies a condition on its column. A null satisfies `IsNull` only; a
    /// constant of another class is equal to no value, and neither below nor above it.
    pub fn matches(self, restriction: &Restriction) -> bool {
        match restriction {
            Restriction::IsNull => self.is_null(),
            Restriction::IsNotNull => !self.is_null(),
            Restriction::Compare { op, value } => self.holds(*op, value),
            Restriction::Between { low, high } => {
                self.holds(CompareOp::Ge, low) && self.holds(CompareOp::Le, high)
            }
            Restriction::InSet(values) => {
                values.iter().any(|value| self.holds(CompareOp::Eq, value))
            }
            // A condition that is not known here has to be decided by whoever made it.
            _ => true,
        }
    }

    fn holds(self, op: CompareOp, constant: &Constant) -> bool {
        self.compare(constant).is_some_and(|order| op.holds(order))
    }

    /// Orders the value to a constant of its class.
    fn compare(self, constant: &Constant) -> Option<Ordering> {
        match (self, constant) {
            (Self::Int(value), Constant::Int(other)) => Some(i128::from(value).cmp(other)),
            (Self::Int128(value), Constant::Int(other)) => Some(value.cmp(other)),
            (Self::Float32(value), Constant::Float(other)) => {
                Some(compare_floats(value.into(), *other))
            }
            (Self::Float64(value), Constant::Float(other)) => Some(compare_floats(value, *other)),
            (Self::Bytes(value), Constant::Bytes(other)) => Some(value.cmp(other.as_slice())),
            _ => None,
        }
    }
}

/// Returns the first and the last number that fit a type which is stored as whole numbers of at
/// most 64 bits; for any other type the first is above the last.
pub(crate) fn whole_numbers(column_type: ColumnType) -> (i64, i64) {
    let range = column_type.int_range().filter(|_| column_type.physical() == Physical::Int64);
    range.map_or((1, 0), |(first, last)| (first as i64, last as i64))
}

/// Powers of ten up to that of the widest decimal of 64 bits.
const POWERS_OF_TEN: [u64; 19] = {
    let mut powers = [1; 19];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = powers[exponent - 1] * 10;
        exponent += 1;
    }
    powers
};

/// Whether a number fits a type that is stored as whole numbers of at most 64 bits.
#[inline]
fn is_whole(value: i64, column_type: ColumnType) -> bool {
    column_type.physical() == Physical::Int64 && is_in_range(value, column_type)
}

/// Whether a number is in the range of a type of 64 bits or less; as [`check_int`], in a few
/// instructions, since every number of every row that is written comes by.
#[inline]
fn is_in_range(value: i64, column_type: ColumnType) -> bool {
    match column_type {
        ColumnType::Boolean => value & !1 == 0,
        ColumnType::SmallInt => i16::try_from(value).is_ok(),
        ColumnType::Integer | ColumnType::Date => i32::try_from(value).is_ok(),
        ColumnType::Decimal { precision, .. } => {
            let above = POWERS_OF_TEN.get(usize::from(precision));
            above.is_none_or(|above| value.unsigned_abs() < *above)
        }
        _ => true,
    }
}

fn check_int(value: i128, column_type: ColumnType) -> std::result::Result<(), ValueProblem> {
    match column_type.int_range() {
        Some((min, max)) if value < min || value > max => Err(ValueProblem::OutOfRange),
        _ => Ok(()),
    }
}

fn fit_bytes(value: &[u8], column_type: ColumnType) -> std::result::Result<&[u8], ValueProblem> {
    if value.len() > VALUE_BYTES_MAX {
        return Err(ValueProblem::TooLong);
    }
    let chars_max = match column_type {
        ColumnType::Varchar { max_chars } => max_chars,
        ColumnType::Char { chars } => Some(chars),
        _ => return Ok(value),
    };
    let value = match column_type {
        ColumnType::Char { .. } => without_trailing_blanks(value),
        _ => value,
    };
    let text = std::str::from_utf8(value).map_err(|_| ValueProblem::NotUtf8)?;
    match chars_max {
        // Only a text with more bytes can have more characters.
        Some(max) if value.len() > max as usize && text.chars().count() > max as usize => {
            Err(ValueProblem::TooLong)
        }
        _ => Ok(value),
    }
}

fn without_trailing_blanks(value: &[u8]) -> &[u8] {
    let end = value.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
    &value[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::ColumnDef;

    fn schema(column_type: ColumnType, is_nullable: bool) -> TableSchema {
        let column = ColumnDef { name: "c".into(), column_type, is_nullable, replicas: None };
        TableSchema {
            name: "t".into(),
            columns: vec![column],
            primary_key: None,
            primary_key_name: String::new(),
            replicas: None,
        }
    }

    fn fit(value: ValueRef<'_>, column_type: ColumnType) -> std::result::Result<Value, String> {
        let schema = schema(column_type, false);
        value.fit(&schema, 0).map(ValueRef::to_value).map_err(|error| error.to_string())
    }

    #[test]
    fn whole_numbers_are_those_that_fit() {
        let decimal = |precision| ColumnType::Decimal { precision, scale: 2 };
        let types = [
            ColumnType::Boolean,
            ColumnType::SmallInt,
            ColumnType::Integer,
            ColumnType::BigInt,
            ColumnType::Date,
            ColumnType::Timestamp,
            decimal(5),
            decimal(18),
            decimal(19),
            ColumnType::Double,
            ColumnType::Bytea,
        ];
        for column_type in types {
            let (first, last) = whole_numbers(column_type);
            let mut numbers = vec![i64::MIN, -1, 0, 1, i64::MAX];
            numbers.extend([first, last].map(|end| end.saturating_sub(1)));
            numbers.extend([first, last, first.saturating_add(1), last.saturating_add(1)]);
            for number in numbers {
                let fits = (first..=last).contains(&number);
                assert_eq!(fits, is_whole(number, column_type), "{number} as {column_type}");
            }
        }
    }

    #[test]
    fn numbers_must_be_in_the_range_of_their_type() {
        let smallint = ColumnType::SmallInt;
        assert_eq!(fit(ValueRef::Int(32_767), smallint), Ok(Value::Int(32_767)));
        let error = "value out of range for type smallint in column \"c\" of relation \"t\"";
        assert_eq!(fit(ValueRef::Int(32_768), smallint), Err(error.to_owned()));
        let wide = ColumnType::Decimal { precision: 20, scale: 2 };
        assert_eq!(fit(ValueRef::Int(-5), wide), Ok(Value::Int128(-5)));
        assert!(fit(ValueRef::Int128(10_i128.pow(20)), wide).is_err());
        assert!(fit(ValueRef::Int128(1), smallint).unwrap_err().contains("another class"));
    }

    #[test]
    fn ranges_of_64_bits_are_those_of_the_types() {
        let decimals = (1..=18).map(|precision| ColumnType::Decimal { precision, scale: 0 });
        let others = [
            ColumnType::Boolean,
            ColumnType::SmallInt,
            ColumnType::Integer,
            ColumnType::Date,
            ColumnType::BigInt,
            ColumnType::Timestamp,
            ColumnType::TimestampTz,
        ];
        for column_type in others.into_iter().chain(decimals) {
            let (min, max) = column_type.int_range().unwrap();
            for value in [min - 1, min, min + 1, -1, 0, 1, max - 1, max, max + 1] {
                let Ok(narrow) = i64::try_from(value) else {
                    continue;
                };
                let is_right = check_int(value, column_type).is_ok();
                assert_eq!(is_in_range(narrow, column_type), is_right, "{value} {column_type}");
            }
        }
    }

    #[test]
    fn text_must_be_utf8_and_not_too_long() {
        let varchar = ColumnType::Varchar { max_chars: Some(3) };
        let text = "\u{e4}\u{f6}\u{fc}".as_bytes();
        assert_eq!(fit(ValueRef::Bytes(text), varchar), Ok(Value::Bytes(text.to_vec())));
        assert!(fit(ValueRef::Bytes(b"abcd"), varchar).unwrap_err().contains("too long"));
        assert!(fit(ValueRef::Bytes(b"\xff"), varchar).unwrap_err().contains("UTF-8"));
        assert_eq!(
            fit(ValueRef::Bytes(b"\xff"), ColumnType::Bytea),
            Ok(Value::Bytes(b"\xff".into()))
        );
        let char3 = ColumnType::Char { chars: 3 };
        assert_eq!(fit(ValueRef::Bytes(b"ab   "), char3), Ok(Value::Bytes(b"ab".to_vec())));
    }

    #[test]
    fn null_needs_a_nullable_column() {
        assert!(ValueRef::Null.fit(&schema(ColumnType::Integer, true), 0).is_ok());
        assert!(fit(ValueRef::Null, ColumnType::Integer).unwrap_err().contains("not-null"));
    }

    #[test]
    fn conditions_hold_as_in_columns() {
        let five = ValueRef::Int(5);
        let compare = |op, value| Restriction::Compare { op, value: Constant::Int(value) };
        assert!(five.matches(&compare(CompareOp::Gt, 4)));
        assert!(!five.matches(&compare(CompareOp::Lt, 5)));
        assert!(!ValueRef::Null.matches(&compare(CompareOp::Ne, 4)));
        assert!(ValueRef::Null.matches(&Restriction::IsNull));
        assert!(five.matches(&Restriction::InSet(vec![Constant::Int(1), Constant::Int(5)])));
        let (low, high) = (Constant::Float(1.0), Constant::Float(f64::NAN));
        let between = Restriction::Between { low, high };
        assert!(ValueRef::Float64(f64::NAN).matches(&between));
        assert!(!ValueRef::Float32(-0.0).matches(&between));
    }

    #[test]
    fn values_survive_a_buffer() {
        let mut column = ColumnBuffer::new(ColumnType::Bytea);
        let values = [ValueRef::Null, ValueRef::Bytes(b"x"), ValueRef::Bytes(b"")];
        values.iter().for_each(|value| value.push_to(&mut column));
        for (row, value) in values.iter().enumerate() {
            assert_eq!(ValueRef::of(&column, row), *value);
        }
    }
}
