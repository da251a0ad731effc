//! Texts of values.

use super::SqlValue;
use super::settings::ValueSettings;
use crate::scalar::bytea::write_bytea;
use crate::scalar::characters::write_char;
use crate::scalar::float::write_float;
use crate::scalar::uuid::write_uuid;
use crate::types::catalog::{TypeOid, find_type};
use crate::types::sql_type::SqlType;
use crate::types::type_name::format_type;

impl SqlValue {
    /// Returns the text of a value, as PostgreSQL's output functions write it; `None` for null.
    pub fn to_text(&self, sql_type: SqlType, settings: &ValueSettings) -> Option<String> {
        let mut text = String::new();
        (!self.is_null()).then(|| {
            self.write_text(sql_type, settings, &mut text);
            text
        })
    }

    /// Appends the text of a value; nothing for null.
    pub fn write_text(&self, sql_type: SqlType, settings: &ValueSettings, out: &mut String) {
        let datetime = &settings.datetime;
        match self {
            Self::Null => {}
            Self::Boolean(value) => out.push(if *value { 't' } else { 'f' }),
            Self::SmallInt(value) => out.push_str(&value.to_string()),
            Self::Integer(value) => out.push_str(&value.to_string()),
            Self::BigInt(value) => out.push_str(&value.to_string()),
            Self::Real(value) => write_float(*value, settings.extra_float_digits, out),
            Self::Double(value) => write_float(*value, settings.extra_float_digits, out),
            Self::Numeric(value) => out.push_str(&value.to_string()),
            Self::Text(text) | Self::Padded(text) | Self::Json(text) => out.push_str(text),
            Self::Char(byte) => write_char(*byte, out),
            Self::Bytea(bytes) => write_bytea(bytes, settings.bytea_output, out),
            Self::Uuid(uuid) => write_uuid(uuid, out),
            Self::Date(date) => date.write(datetime, out),
            Self::Time(time) => time.write(out),
            Self::TimeTz(time) => time.write(out),
            Self::Timestamp(timestamp) => timestamp.write(datetime, out),
            Self::TimestampTz(timestamp) => timestamp.write_with_zone(datetime, out),
            Self::Interval(interval) => interval.write(datetime.interval_style, out),
            Self::Bits(bits) => bits.write(out),
            Self::Oid(oid) => write_object_id(*oid, sql_type.oid(), settings, out),
            Self::Array(array) if sql_type.is_vector() => array.write_vector(settings, out),
            Self::Array(array) => array.write(settings, out),
            Self::Record(record) => record.write(settings, out),
        }
    }
}

/// Appends an OID; of a type that the catalog has, its name. Other names need a database.
fn write_object_id(oid: u32, type_oid: TypeOid, settings: &ValueSettings, out: &mut String) {
    let name = || settings.catalog.as_ref()?.object_name(type_oid, oid);
    match type_oid {
        TypeOid::OID | TypeOid::XID | TypeOid::CID => out.push_str(&oid.to_string()),
        _ if oid == 0 => out.push('-'),
        TypeOid::REGTYPE if find_type(TypeOid(oid)).is_some() => {
            out.push_str(&format_type(TypeOid(oid), None));
        }
        _ => out.push_str(&name().unwrap_or_else(|| oid.to_string())),
    }
}
