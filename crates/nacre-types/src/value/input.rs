//! Values of texts, and what a type's modifier does to a value.

use super::SqlValue;
use super::array::SqlArray;
use super::array_input::parse_array;
use super::settings::ValueSettings;
use crate::datetime::interval::SqlInterval;
use crate::datetime::{SqlDate, SqlTime, SqlTimeTz, SqlTimestamp};
use crate::error::ValueError;
use crate::numeric::ExactNumeric;
use crate::scalar::bits::{BitLength, BitString};
use crate::scalar::boolean::parse_boolean;
use crate::scalar::bytea::parse_bytea;
use crate::scalar::characters::{LengthRule, cut_name, cut_to_length, pad_to_length, parse_char};
use crate::scalar::float::parse_float;
use crate::scalar::integer::{parse_integer, parse_oid};
use crate::scalar::json::check_json;
use crate::scalar::uuid::parse_uuid;
use crate::types::catalog::TypeOid;
use crate::types::sql_type::{SqlType, TypeKind};
use crate::types::type_name::parse_type_name;

/// The error of a type without values here.
pub(crate) fn is_not_supported(sql_type: SqlType) -> ValueError {
    ValueError::not_supported(format!("type {sql_type} is not supported yet"))
}

impl SqlValue {
    /// Reads a text as a value of a type, as PostgreSQL's input functions do.
    ///
    /// # Errors
    /// Those of the type: 22P02 for a malformed text, 22003 and 22008 for one out of range, 22001
    /// for one that is longer than the type; 0A000 for types without values here.
    pub fn parse(
        text: &str,
        sql_type: SqlType,
        settings: &ValueSettings,
    ) -> Result<Self, ValueError> {
        let datetime = &settings.datetime;
        Ok(match sql_type.kind() {
            TypeKind::Boolean => Self::Boolean(parse_boolean(text)?),
            TypeKind::SmallInt => Self::SmallInt(parse_integer(text, "smallint")?),
            TypeKind::Integer => Self::Integer(parse_integer(text, "integer")?),
            TypeKind::BigInt => Self::BigInt(parse_integer(text, "bigint")?),
            TypeKind::Real => Self::Real(parse_float(text)?),
            TypeKind::Double => Self::Double(parse_float(text)?),
            TypeKind::Numeric(precision) => Self::Numeric(ExactNumeric::parse(text, precision)?),
            TypeKind::Text | TypeKind::Unknown | TypeKind::CString => Self::Text(text.to_owned()),
            TypeKind::Varchar(length) => {
                let rule = LengthRule::CutBlanks;
                Self::Text(cut_to_length(text.to_owned(), length, rule, "character varying")?)
            }
            TypeKind::Bpchar(length) => {
                Self::Padded(pad_to_length(text.to_owned(), length, LengthRule::CutBlanks)?)
            }
            TypeKind::Name => Self::Text(cut_name(text.to_owned())),
            TypeKind::Char => Self::Char(parse_char(text)),
            TypeKind::Bytea => Self::Bytea(parse_bytea(text)?),
            TypeKind::Uuid => Self::Uuid(parse_uuid(text)?),
            TypeKind::Json => {
                check_json(text)?;
                Self::Json(text.to_owned())
            }
            TypeKind::Date => Self::Date(SqlDate::parse(text, datetime)?),
            TypeKind::Time(digits) => Self::Time(SqlTime::parse(text, digits, datetime)?),
            TypeKind::TimeTz(digits) => Self::TimeTz(SqlTimeTz::parse(text, digits, datetime)?),
            TypeKind::Timestamp(digits) => {
                Self::Timestamp(SqlTimestamp::parse(text, digits, datetime)?)
            }
            TypeKind::TimestampTz(digits) => {
                Self::TimestampTz(SqlTimestamp::parse_with_zone(text, digits, datetime)?)
            }
            TypeKind::Interval(fields, digits) => {
                let style = datetime.interval_style;
                Self::Interval(SqlInterval::parse(text, fields, digits, style)?)
            }
            TypeKind::Bit(length) => {
                let length = length.map_or(BitLength::Any, BitLength::Exactly);
                Self::Bits(BitString::parse(text, length)?)
            }
            TypeKind::Varbit(length) => {
                let length = length.map_or(BitLength::Any, BitLength::AtMost);
                Self::Bits(BitString::parse(text, length)?)
            }
            TypeKind::Oid(oid) => Self::Oid(parse_object_id(text, oid, settings)?),
            TypeKind::TransactionId(_) => Self::Oid(parse_transaction_id(text)),
            TypeKind::Array(element) if sql_type.is_vector() => {
                Self::Array(Box::new(parse_vector(text, element, settings)?))
            }
            TypeKind::Array(element) => {
                Self::Array(Box::new(parse_array(text, element, settings)?))
            }
            TypeKind::Record => {
                let message = "input of anonymous composite types is not implemented";
                return Err(ValueError::not_supported(message));
            }
            TypeKind::CatalogText(TypeOid::ACLITEM) => Self::Text(parse_grant(text)?),
            TypeKind::Jsonb | TypeKind::CatalogText(_) | TypeKind::Other(_) => {
                return Err(is_not_supported(sql_type));
            }
        })
    }
}

/// Checks that a text may be a grant; what its roles are is a question to a database.
fn parse_grant(text: &str) -> Result<String, ValueError> {
    let is_grant = text.contains('=');
    is_grant.then(|| text.to_owned()).ok_or_else(|| ValueError::invalid_text("missing \"=\" sign"))
}

/// Reads a text of `int2vector` or `oidvector`: elements between blanks.
fn parse_vector(
    text: &str,
    element: SqlType,
    settings: &ValueSettings,
) -> Result<SqlArray, ValueError> {
    let words = text.split_ascii_whitespace();
    let elements = words.map(|word| SqlValue::parse(word, element, settings));
    Ok(SqlArray::vector_of(element, elements.collect::<Result<_, _>>()?))
}

/// Reads an OID, or the name of a type; other names need a database's catalogs.
fn parse_object_id(text: &str, oid: TypeOid, settings: &ValueSettings) -> Result<u32, ValueError> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match oid {
        TypeOid::OID => parse_oid(text, "oid"),
        _ if text == "-" => Ok(0),
        _ if is_number => parse_oid(text, "oid"),
        TypeOid::REGTYPE => Ok(parse_type_name(text)?.oid().0),
        _ if let Some(catalog) = &settings.catalog => catalog.object_named(oid, text),
        _ => {
            let sql_type = SqlType::new(oid);
            let message = format!("names of type {sql_type} need the catalogs of a database");
            Err(ValueError::not_supported(message))
        }
    }
}

/// Reads a transaction id as C does: the number at the start, 0 without one.
fn parse_transaction_id(text: &str) -> u32 {
    let text = crate::input_text::trim_spaces(text);
    let end = text.bytes().take_while(u8::is_ascii_digit).count();
    // Of 64 bits the lower half counts.
    text[..end].parse::<u64>().map_or(0, |value| value as u32)
}

/// Applies the modifier of a type to a value of it; an explicit cast cuts what is too long.
///
/// # Errors
/// 22001, 22003, 22008 and 22026 for what does not fit.
pub(crate) fn apply_modifier(
    value: SqlValue,
    sql_type: SqlType,
    is_explicit: bool,
) -> Result<SqlValue, ValueError> {
    let rule = if is_explicit { LengthRule::Cut } else { LengthRule::CutBlanks };
    Ok(match (sql_type.kind(), value) {
        (TypeKind::Numeric(Some((precision, scale))), SqlValue::Numeric(value)) => {
            SqlValue::Numeric(value.with_precision(precision, scale)?)
        }
        (TypeKind::Varchar(length), SqlValue::Text(text)) => {
            SqlValue::Text(cut_to_length(text, length, rule, "character varying")?)
        }
        (TypeKind::Bpchar(length), SqlValue::Padded(text)) => {
            SqlValue::Padded(pad_to_length(text, length, rule)?)
        }
        (TypeKind::Time(digits), SqlValue::Time(time)) => SqlValue::Time(time.rounded(digits)),
        (TypeKind::TimeTz(digits), SqlValue::TimeTz(time)) => {
            SqlValue::TimeTz(SqlTimeTz { time: time.time.rounded(digits), ..time })
        }
        (TypeKind::Timestamp(digits), SqlValue::Timestamp(timestamp)) => {
            SqlValue::Timestamp(timestamp.rounded(digits)?)
        }
        (TypeKind::TimestampTz(digits), SqlValue::TimestampTz(timestamp)) => {
            SqlValue::TimestampTz(timestamp.rounded(digits)?)
        }
        (TypeKind::Interval(fields, digits), SqlValue::Interval(interval)) => {
            SqlValue::Interval(interval.with_fields(fields, digits)?)
        }
        (TypeKind::Bit(Some(length)), SqlValue::Bits(bits)) => {
            SqlValue::Bits(bits.with_length(BitLength::Exactly(length), is_explicit)?)
        }
        (TypeKind::Varbit(Some(length)), SqlValue::Bits(bits)) => {
            SqlValue::Bits(bits.with_length(BitLength::AtMost(length), is_explicit)?)
        }
        (TypeKind::Array(element), SqlValue::Array(array)) => {
            let map = |value| apply_modifier(value, element, is_explicit);
            SqlValue::Array(Box::new(array.map_elements(element, map)?))
        }
        (_, value) => value,
    })
}
