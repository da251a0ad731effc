//! SQL types as the parser writes them, as columns store them, as Arrow computes with them.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType as SqlType, ExactNumberInfo, ObjectName,
    TimezoneInfo,
};
use nacre_column::{ColumnType, DECIMAL_PRECISION_MAX};
use nacre_store::TableSchema;

use crate::error::{Error, ErrorKind, Result};
use crate::names::fold;
use crate::pg_types::{PG_TYPES, PgType};

/// The only time zone, as Arrow has it.
pub(crate) const UTC: &str = "+00:00";

/// Longest `varchar(n)` and `char(n)`, as in PostgreSQL.
const CHARS_MAX: u64 = 10_485_760;

/// Returns the Arrow type in which scans hand on values of `column_type`.
pub(crate) fn arrow_type(column_type: ColumnType) -> DataType {
    match column_type {
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::SmallInt => DataType::Int16,
        ColumnType::Integer => DataType::Int32,
        ColumnType::BigInt => DataType::Int64,
        // The precision is at most 38 and the scale at most the precision.
        ColumnType::Decimal { precision, scale } => DataType::Decimal128(precision, scale as i8),
        ColumnType::Real => DataType::Float32,
        ColumnType::Double => DataType::Float64,
        ColumnType::Date => DataType::Date32,
        ColumnType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        ColumnType::TimestampTz => zoned(),
        ColumnType::Varchar { .. } | ColumnType::Char { .. } => DataType::Utf8View,
        ColumnType::Bytea => DataType::BinaryView,
    }
}

/// Returns the type of a column that keeps values of an Arrow type; `None` if there is none.
pub(crate) fn stored_type(data_type: &DataType) -> Option<ColumnType> {
    Some(match data_type {
        DataType::Boolean => ColumnType::Boolean,
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => ColumnType::SmallInt,
        DataType::UInt16 | DataType::Int32 => ColumnType::Integer,
        DataType::UInt32 | DataType::Int64 => ColumnType::BigInt,
        // 2^64 has 20 digits.
        DataType::UInt64 => ColumnType::Decimal { precision: 20, scale: 0 },
        DataType::Decimal128(precision, scale) => {
            let scale = u8::try_from(*scale).ok()?;
            ColumnType::Decimal { precision: *precision, scale }
        }
        DataType::Float32 => ColumnType::Real,
        DataType::Float64 => ColumnType::Double,
        DataType::Date32 => ColumnType::Date,
        DataType::Timestamp(_, None) => ColumnType::Timestamp,
        // The only zone is UTC.
        DataType::Timestamp(_, Some(_)) => ColumnType::TimestampTz,
        // A null without a type is a text.
        DataType::Null => ColumnType::Varchar { max_chars: None },
        _ if is_text(data_type) => ColumnType::Varchar { max_chars: None },
        _ if is_bytes(data_type) => ColumnType::Bytea,
        _ => return None,
    })
}

/// Returns the Arrow type of moments with a time zone.
pub(crate) fn zoned() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into()))
}

/// Returns the type of moments that types of moments, and of texts in quotes, have in common;
/// `None` if there are others, or no moment.
pub(crate) fn common_moment(types: &[DataType]) -> Option<DataType> {
    let mut common = None;
    for data_type in types {
        let next = match data_type {
            DataType::Timestamp(_, Some(_)) => zoned(),
            DataType::Timestamp(_, None) if common != Some(zoned()) => {
                DataType::Timestamp(TimeUnit::Microsecond, None)
            }
            DataType::Date32 if common.is_none() => DataType::Date32,
            DataType::Timestamp(..) | DataType::Date32 | DataType::Null => continue,
            _ if is_text(data_type) => continue,
            _ => return None,
        };
        common = Some(next);
    }
    common
}

/// Returns the Arrow schema of a table.
pub(crate) fn arrow_schema(table: &TableSchema) -> SchemaRef {
    let fields: Vec<Field> = table
        .columns
        .iter()
        .map(|column| Field::new(&column.name, arrow_type(column.column_type), column.is_nullable))
        .collect();
    Arc::new(Schema::new(fields))
}

/// Returns the column type that `sql_type` of column `name` stands for.
///
/// # Errors
/// `not supported` for types that Nacre does not store, `InvalidStatement` for lengths and
/// precisions that no type has.
pub(crate) fn column_type(name: &str, sql_type: &SqlType) -> Result<ColumnType> {
    Ok(match sql_type {
        SqlType::Boolean | SqlType::Bool => ColumnType::Boolean,
        SqlType::SmallInt(None) | SqlType::Int2(None) => ColumnType::SmallInt,
        SqlType::Integer(None) | SqlType::Int(None) | SqlType::Int4(None) => ColumnType::Integer,
        SqlType::BigInt(None) | SqlType::Int8(None) => ColumnType::BigInt,
        SqlType::Numeric(info) | SqlType::Decimal(info) | SqlType::Dec(info) => {
            decimal(name, info)?
        }
        SqlType::Real | SqlType::Float4 => ColumnType::Real,
        SqlType::Double(_) | SqlType::DoublePrecision | SqlType::Float8 => ColumnType::Double,
        SqlType::Float(info) => float(name, info)?,
        SqlType::Date => ColumnType::Date,
        SqlType::Timestamp(None | Some(6), zone) => timestamp(zone),
        SqlType::Text | SqlType::String(None) => ColumnType::Varchar { max_chars: None },
        SqlType::Varchar(length)
        | SqlType::CharacterVarying(length)
        | SqlType::CharVarying(length) => ColumnType::Varchar { max_chars: chars(name, length)? },
        SqlType::Char(length) | SqlType::Character(length) => {
            ColumnType::Char { chars: chars(name, length)?.unwrap_or(1) }
        }
        SqlType::Bytea => ColumnType::Bytea,
        SqlType::Custom(custom, _) if !is_known(custom) => {
            let message = format!("type \"{custom}\" does not exist");
            return Err(Error::new(ErrorKind::UndefinedObject, message).with_code("42704"));
        }
        other => {
            return Err(Error::not_supported(format_args!("type {other} of column \"{name}\""))
                .with_hint(
                    "Types are boolean, smallint, integer, bigint, numeric(p,s), real, \
                     double precision, date, timestamp, timestamptz, varchar, \
                     text, char(n) and bytea.",
                ));
        }
    })
}

/// Whether PostgreSQL has a type of that name.
fn is_known(name: &ObjectName) -> bool {
    let Some(last) = name.0.last().and_then(|part| part.as_ident()).map(fold) else { return false };
    PG_TYPES.iter().any(|known| known.name == last)
        || [
            "serial",
            "bigserial",
            "smallserial",
            "tsvector",
            "tsquery",
            "box",
            "circle",
            "line",
            "lseg",
            "path",
            "point",
            "polygon",
            "macaddr",
            "macaddr8",
            "cidr",
            "money",
            "bit",
            "varbit",
            "hstore",
            "citext",
            "geometry",
            "geography",
            "vector",
            "int4range",
            "int8range",
            "numrange",
            "tsrange",
            "tstzrange",
            "daterange",
            "pg_lsn",
            "jsonpath",
        ]
        .contains(&last.as_str())
}

/// Returns the type of moments with a zone or without.
pub(crate) fn timestamp(zone: &TimezoneInfo) -> ColumnType {
    match is_without_zone(zone) {
        true => ColumnType::Timestamp,
        false => ColumnType::TimestampTz,
    }
}

fn is_without_zone(zone: &TimezoneInfo) -> bool {
    matches!(zone, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
}

fn decimal(name: &str, info: &ExactNumberInfo) -> Result<ColumnType> {
    let (precision, scale) = match *info {
        // PostgreSQL's bare `numeric` keeps any number; a fixed form is needed here, and this
        // is the one that keeps most of both sides of the point.
        ExactNumberInfo::None => {
            return Err(Error::not_supported(format_args!(
                "numeric without a precision, column \"{name}\""
            ))
            .with_hint("Give a precision and a scale, such as numeric(18,3)."));
        }
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    let max = u64::from(DECIMAL_PRECISION_MAX);
    if precision == 0 || precision > max {
        return Err(invalid(format!(
            "NUMERIC precision {precision} of column \"{name}\" must be between 1 and {max}"
        )));
    }
    if scale < 0 || scale as u64 > precision {
        return Err(invalid(format!(
            "NUMERIC scale {scale} of column \"{name}\" must be between 0 and precision {precision}"
        )));
    }
    Ok(ColumnType::Decimal { precision: precision as u8, scale: scale as u8 })
}

fn float(name: &str, info: &ExactNumberInfo) -> Result<ColumnType> {
    match *info {
        ExactNumberInfo::None => Ok(ColumnType::Double),
        ExactNumberInfo::Precision(1..=24) => Ok(ColumnType::Real),
        ExactNumberInfo::Precision(25..=53) => Ok(ColumnType::Double),
        _ => Err(invalid(format!(
            "precision for type float of column \"{name}\" must be between 1 and 53 bits"
        ))),
    }
}

fn chars(name: &str, length: &Option<CharacterLength>) -> Result<Option<u32>> {
    match length {
        None | Some(CharacterLength::Max) => Ok(None),
        Some(CharacterLength::IntegerLength { length, .. }) => match *length {
            1..=CHARS_MAX => Ok(Some(*length as u32)),
            _ => Err(invalid(format!(
                "length of column \"{name}\" must be between 1 and {CHARS_MAX}, not {length}"
            ))),
        },
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidStatement, message)
}

/// Returns the type of PostgreSQL's that a cast or a declaration names, arrays aside; `None` for
/// one that is not known.
pub(crate) fn pg_type(sql_type: &SqlType) -> Option<PgType> {
    let name = match sql_type {
        SqlType::Boolean | SqlType::Bool => "bool",
        SqlType::SmallInt(None) | SqlType::Int2(None) => "int2",
        SqlType::Integer(None) | SqlType::Int(None) | SqlType::Int4(None) => "int4",
        SqlType::BigInt(None) | SqlType::Int8(None) => "int8",
        SqlType::Numeric(_) | SqlType::Decimal(_) | SqlType::Dec(_) => "numeric",
        SqlType::Real | SqlType::Float4 | SqlType::Float(ExactNumberInfo::Precision(1..=24)) => {
            "float4"
        }
        SqlType::Double(_)
        | SqlType::DoublePrecision
        | SqlType::Float8
        | SqlType::Float(ExactNumberInfo::None | ExactNumberInfo::Precision(_)) => "float8",
        SqlType::Date => "date",
        SqlType::Time(_, zone) if is_without_zone(zone) => "time",
        SqlType::Timestamp(_, zone) if is_without_zone(zone) => "timestamp",
        SqlType::Timestamp(..) => "timestamptz",
        SqlType::Interval { .. } => "interval",
        SqlType::Text | SqlType::String(None) => "text",
        SqlType::Varchar(_) | SqlType::CharacterVarying(_) | SqlType::CharVarying(_) => "varchar",
        SqlType::Char(_) | SqlType::Character(_) => "bpchar",
        SqlType::Bytea => "bytea",
        SqlType::JSON => "json",
        SqlType::Uuid => "uuid",
        SqlType::Regclass => "regclass",
        SqlType::Custom(name, _) => {
            let ident = name.0.last().and_then(|part| part.as_ident())?;
            return PgType::named(&fold(ident));
        }
        _ => return None,
    };
    PgType::named(name)
}

/// Returns the type of the elements of arrays of a type.
pub(crate) fn element_type(sql_type: &SqlType) -> Option<&SqlType> {
    use ArrayElemTypeDef::{AngleBracket, Parenthesis, SquareBracket};
    match sql_type {
        SqlType::Array(SquareBracket(of, _) | AngleBracket(of) | Parenthesis(of)) => Some(of),
        _ => None,
    }
}

/// Returns the number of the type that a cast or a declaration names; `None` for one that is not
/// known.
pub(crate) fn type_oid(sql_type: &SqlType) -> Option<u32> {
    match element_type(sql_type) {
        Some(element) => pg_type(element).map(|found| found.array_oid).filter(|oid| *oid != 0),
        None => pg_type(sql_type).map(|found| found.oid),
    }
}

pub(crate) fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

pub(crate) fn is_bytes(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}

/// Whether a character is one of the blanks around values; others, such as U+00A0, are no blanks.
pub(crate) fn is_blank(one: char) -> bool {
    matches!(one, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

/// Cuts blanks off both ends of a value's text.
pub(crate) fn trim_blanks(text: &str) -> &str {
    text.trim_matches(is_blank)
}

/// Returns the name that PostgreSQL has for the type of an expression.
pub(crate) fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Boolean => "boolean".into(),
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => "smallint".into(),
        DataType::UInt16 | DataType::Int32 => "integer".into(),
        DataType::UInt32 | DataType::Int64 => "bigint".into(),
        data_type if data_type.is_decimal() => "numeric".into(),
        DataType::UInt64 => "numeric".into(),
        DataType::Float32 => "real".into(),
        DataType::Float64 => "double precision".into(),
        DataType::Date32 | DataType::Date64 => "date".into(),
        DataType::Timestamp(_, None) => "timestamp without time zone".into(),
        DataType::Timestamp(_, Some(_)) => "timestamp with time zone".into(),
        DataType::Interval(_) | DataType::Duration(_) => "interval".into(),
        DataType::Time32(_) | DataType::Time64(_) => "time without time zone".into(),
        data_type if is_text(data_type) => "text".into(),
        data_type if is_bytes(data_type) => "bytea".into(),
        DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) => {
            format!("{}[]", type_name(of.data_type()))
        }
        DataType::Struct(_) | DataType::Map(..) => "record".into(),
        other => other.to_string(),
    }
}
