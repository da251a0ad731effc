//! Conversions that are not element by element and not through text.

use super::{datetimes, numbers};
use crate::error::ValueError;
use crate::scalar::bits::BitString;
use crate::scalar::characters::{cut_name, parse_char, write_char};
use crate::types::sql_type::{SqlType, TypeKind};
use crate::value::{SqlValue, ValueSettings, is_not_supported};

/// Converts a value without regard to the target's modifier.
pub(super) fn convert(
    value: SqlValue,
    source: SqlType,
    target: SqlType,
    settings: &ValueSettings,
) -> Result<SqlValue, ValueError> {
    match target.kind() {
        TypeKind::Oid(_) if matches!(value, SqlValue::Text(_)) => {
            value_of_text(text_of(value, source, settings), target, settings)
        }
        TypeKind::Boolean
        | TypeKind::SmallInt
        | TypeKind::Integer
        | TypeKind::BigInt
        | TypeKind::Real
        | TypeKind::Double
        | TypeKind::Numeric(_)
        | TypeKind::Oid(_)
        | TypeKind::TransactionId(_) => numbers::convert(value, source, target),
        TypeKind::Text | TypeKind::Varchar(_) | TypeKind::Name | TypeKind::Bpchar(_) => {
            let text = text_of(value, source, settings);
            value_of_text(text, target, settings)
        }
        TypeKind::Char => char_of(value, source, target),
        TypeKind::Date
        | TypeKind::Time(_)
        | TypeKind::TimeTz(_)
        | TypeKind::Timestamp(_)
        | TypeKind::TimestampTz(_)
        | TypeKind::Interval(..) => datetimes::convert(value, source, target, &settings.datetime),
        TypeKind::Bit(length) => bits_of(value, length, source, target),
        TypeKind::Varbit(_) => match value {
            bits @ SqlValue::Bits(_) => Ok(bits),
            _ => Err(no_conversion(source, target)),
        },
        _ => Err(is_not_supported(target)),
    }
}

/// The error of a row of `pg_cast` whose function is not here.
pub(super) fn no_conversion(source: SqlType, target: SqlType) -> ValueError {
    let (source, target) = (source.without_modifier(), target.without_modifier());
    ValueError::not_supported(format!("cast from {source} to {target} is not supported yet"))
}

/// Reads a text as a value of a type, without its modifier.
pub(super) fn value_of_text(
    text: String,
    target: SqlType,
    settings: &ValueSettings,
) -> Result<SqlValue, ValueError> {
    match target.kind() {
        TypeKind::Text | TypeKind::Varchar(_) => Ok(SqlValue::Text(text)),
        TypeKind::Name => Ok(SqlValue::Text(cut_name(text))),
        TypeKind::Bpchar(_) => Ok(SqlValue::Padded(text)),
        _ => SqlValue::parse(&text, target.without_modifier(), settings),
    }
}

/// Returns the text that a cast to a text type gives.
fn text_of(value: SqlValue, source: SqlType, settings: &ValueSettings) -> String {
    match value {
        SqlValue::Boolean(true) => "true".to_owned(),
        SqlValue::Boolean(false) => "false".to_owned(),
        // Blanks at the end are not part of the text.
        SqlValue::Padded(mut text) => {
            text.truncate(text.trim_end_matches(' ').len());
            text
        }
        SqlValue::Text(text) => text,
        SqlValue::Char(byte) => {
            let mut text = String::new();
            write_char(byte, &mut text);
            text
        }
        value => value.to_text(source, settings).unwrap_or_default(),
    }
}

fn char_of(value: SqlValue, source: SqlType, target: SqlType) -> Result<SqlValue, ValueError> {
    match value {
        SqlValue::Text(text) | SqlValue::Padded(text) => Ok(SqlValue::Char(parse_char(&text))),
        SqlValue::Integer(value) => match i8::try_from(value) {
            Ok(byte) => Ok(SqlValue::Char(byte.cast_unsigned())),
            Err(_) => Err(ValueError::out_of_range("\"char\" out of range")),
        },
        _ => Err(no_conversion(source, target)),
    }
}

/// Takes the lowest bits of an integer; more than it has repeat its sign.
fn bits_of(
    value: SqlValue,
    length: Option<usize>,
    source: SqlType,
    target: SqlType,
) -> Result<SqlValue, ValueError> {
    let value = match value {
        SqlValue::Integer(value) => i64::from(value),
        SqlValue::BigInt(value) => value,
        bits @ SqlValue::Bits(_) => return Ok(bits),
        _ => return Err(no_conversion(source, target)),
    };
    let length = length.unwrap_or(1);
    let bit = |place: usize| value >> place.min(63) & 1 == 1;
    Ok(SqlValue::Bits(BitString::new((0..length).rev().map(bit).collect())))
}
