//! Binary forms of values, as the wire and binary COPY have them. All integers are big-endian.

use super::{SqlArray, SqlRecord, SqlValue};
use crate::types::sql_type::SqlType;

/// The length word of a null.
const NULL_LENGTH: i32 = -1;

impl SqlValue {
    /// Appends the binary form; nothing for null.
    pub fn send(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => {}
            Self::Boolean(value) => out.push(u8::from(*value)),
            Self::SmallInt(value) => out.extend_from_slice(&value.to_be_bytes()),
            Self::Integer(value) => out.extend_from_slice(&value.to_be_bytes()),
            Self::BigInt(value) => out.extend_from_slice(&value.to_be_bytes()),
            Self::Real(value) => out.extend_from_slice(&value.to_be_bytes()),
            Self::Double(value) => out.extend_from_slice(&value.to_be_bytes()),
            Self::Numeric(value) => value.send(out),
            Self::Text(text) | Self::Padded(text) | Self::Json(text) => {
                out.extend_from_slice(text.as_bytes());
            }
            Self::Char(byte) => out.push(*byte),
            Self::Bytea(bytes) => out.extend_from_slice(bytes),
            Self::Uuid(uuid) => out.extend_from_slice(uuid),
            Self::Date(date) => out.extend_from_slice(&date.0.to_be_bytes()),
            Self::Time(time) => out.extend_from_slice(&time.0.to_be_bytes()),
            Self::TimeTz(time) => {
                out.extend_from_slice(&time.time.0.to_be_bytes());
                // Seconds west of UTC.
                out.extend_from_slice(&(-time.seconds_east).to_be_bytes());
            }
            Self::Timestamp(timestamp) | Self::TimestampTz(timestamp) => {
                out.extend_from_slice(&timestamp.0.to_be_bytes());
            }
            Self::Interval(interval) => {
                out.extend_from_slice(&interval.micros.to_be_bytes());
                out.extend_from_slice(&interval.days.to_be_bytes());
                out.extend_from_slice(&interval.months.to_be_bytes());
            }
            Self::Bits(bits) => {
                out.extend_from_slice(&(bits.bits().len() as i32).to_be_bytes());
                out.extend_from_slice(&bits.to_bytes());
            }
            Self::Oid(oid) => out.extend_from_slice(&oid.to_be_bytes()),
            Self::Array(array) => send_array(array, out),
            Self::Record(record) => send_record(record, out),
        }
    }

    /// Appends a length word and the binary form.
    fn send_with_length(&self, out: &mut Vec<u8>) {
        if self.is_null() {
            out.extend_from_slice(&NULL_LENGTH.to_be_bytes());
            return;
        }
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        self.send(out);
        // A message holds less than 2^31 bytes.
        let length = (out.len() - start - 4) as i32;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// Dimensions, whether there are nulls, the elements' type; length and lower bound of each
/// dimension; the elements.
fn send_array(array: &SqlArray, out: &mut Vec<u8>) {
    let has_nulls = array.elements().iter().any(SqlValue::is_null);
    out.extend_from_slice(&(array.dimensions().len() as i32).to_be_bytes());
    out.extend_from_slice(&i32::from(has_nulls).to_be_bytes());
    out.extend_from_slice(&array.element_type().oid().0.to_be_bytes());
    for dimension in array.dimensions() {
        out.extend_from_slice(&(dimension.length as i32).to_be_bytes());
        out.extend_from_slice(&dimension.lower_bound.to_be_bytes());
    }
    array.elements().iter().for_each(|element| element.send_with_length(out));
}

/// The count of fields; type and value of each one.
fn send_record(record: &SqlRecord, out: &mut Vec<u8>) {
    out.extend_from_slice(&(record.fields().len() as i32).to_be_bytes());
    for (sql_type, value) in record.fields() {
        let oid = SqlType::oid(*sql_type);
        out.extend_from_slice(&oid.0.to_be_bytes());
        value.send_with_length(out);
    }
}
