//! PostgreSQL's input syntax: text to value, for every column type.
//!
//! The functions here are the exact definition. The loader's column loops try cheaper forms first
//! and come here for everything that is not in the commonest form, so both always agree.
//!
//! # Invariants
//! 1. No input panics, whatever its bytes.
//! 2. A function that takes `&[u8]` for text checks nothing about UTF-8: the caller has.

mod binary;
mod datetime;
mod number;
mod text;

pub use binary::parse_bytea;
pub use datetime::{
    days_from_civil, days_in_month, parse_date, parse_time, parse_timestamp, parse_timestamptz,
};
pub use number::{parse_boolean, parse_decimal, parse_double, parse_integer, parse_real};
pub use text::{parse_char, parse_varchar};

pub(crate) use datetime::{date_fast, timestamp_fast};
pub(crate) use number::{decimal_fast, digits_fast};

use crate::error::{ErrorKind, ValueError, shown};
use nacre_column::{ColumnBuffer, ColumnType, Physical};

/// Outcome of parsing one value; the error is boxed because it is rare and large.
pub type ValueResult<T> = Result<T, Box<ValueError>>;

/// Parses `text` as `column`'s type and appends the value.
///
/// # Errors
/// The message is PostgreSQL's; `column` is unchanged.
pub fn push_text(column: &mut ColumnBuffer, text: &[u8]) -> ValueResult<()> {
    let column_type = column.column_type();
    match column_type {
        ColumnType::Boolean => column.push_int(i64::from(parse_boolean(text)?)),
        ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt => {
            column.push_int(parse_integer(text, column_type)?);
        }
        ColumnType::Decimal { precision, scale } => {
            let value = parse_decimal(text, precision, scale)?;
            match (column_type.physical(), i64::try_from(value)) {
                (Physical::Int64, Ok(value)) => column.push_int(value),
                _ => column.push_int128(value),
            }
        }
        ColumnType::Real => column.push_float32(parse_real(text)?),
        ColumnType::Double => column.push_float64(parse_double(text)?),
        ColumnType::Date => column.push_int(i64::from(parse_date(text)?)),
        ColumnType::Timestamp => column.push_int(parse_timestamp(text)?),
        ColumnType::TimestampTz => column.push_int(parse_timestamptz(text)?),
        ColumnType::Varchar { max_chars: None } => column.push_bytes(text),
        ColumnType::Varchar { max_chars: Some(max) } => {
            column.push_bytes(parse_varchar(text, max)?)
        }
        ColumnType::Char { chars } => column.push_bytes(parse_char(text, chars)?),
        ColumnType::Bytea => column.push_bytes(&parse_bytea(text)?),
    }
    Ok(())
}

/// Tells whether PostgreSQL's number and date parsers skip `byte` at either end.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// Cuts blanks from both ends.
pub(crate) fn trimmed(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_space(*first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && is_space(*last)
    {
        text = rest;
    }
    text
}

#[cold]
pub(crate) fn invalid_syntax(type_name: &str, text: &[u8]) -> Box<ValueError> {
    ValueError::new(
        ErrorKind::InvalidText,
        format!("invalid input syntax for type {type_name}: \"{}\"", shown(text)),
    )
}

#[cfg(test)]
mod tests;
