//! Values of binary forms.

use super::array::{ARRAY_DIMENSIONS_MAX, ArrayDimension, too_many_dimensions};
use super::input::{apply_modifier, is_not_supported};
use super::{SqlArray, SqlRecord, SqlValue};
use crate::datetime::interval::SqlInterval;
use crate::datetime::{MICROS_PER_DAY, SqlDate, SqlTime, SqlTimeTz, SqlTimestamp};
use crate::error::ValueError;
use crate::numeric::ExactNumeric;
use crate::scalar::bits::BitString;
use crate::scalar::characters::text_of_bytes;
use crate::scalar::json::check_json;
use crate::types::catalog::TypeOid;
use crate::types::sql_type::{SqlType, TypeKind};

/// Largest offset of a time, in seconds.
const ZONE_SECONDS_MAX: i32 = 16 * 3_600 - 1;

/// Most arrays and records inside each other that are read.
const DEPTH_MAX: usize = 100;

/// The bytes of a value that are left.
struct ByteReader<'a> {
    rest: &'a [u8],
}

impl ByteReader<'_> {
    fn take<const COUNT: usize>(&mut self) -> Result<[u8; COUNT], ValueError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(insufficient)?;
        self.rest = rest;
        Ok(*taken)
    }

    fn take_bytes(&mut self, count: i32) -> Result<&[u8], ValueError> {
        let count = usize::try_from(count).map_err(|_| insufficient())?;
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(insufficient)?;
        self.rest = rest;
        Ok(taken)
    }

    fn i32(&mut self) -> Result<i32, ValueError> {
        Ok(i32::from_be_bytes(self.take()?))
    }

    fn i64(&mut self) -> Result<i64, ValueError> {
        Ok(i64::from_be_bytes(self.take()?))
    }
}

fn insufficient() -> ValueError {
    ValueError::protocol_violation("insufficient data left in message")
}

fn incorrect() -> ValueError {
    ValueError::invalid_binary("incorrect binary data format")
}

impl SqlValue {
    /// Reads the binary form of a value of a type, as PostgreSQL's receive functions do.
    ///
    /// # Errors
    /// 08P01 for too few bytes, 22P03 for too many or malformed ones, 22021 for text that is not
    /// UTF-8, 22003, 22008 and 22001 for values that the type does not have.
    pub fn receive(bytes: &[u8], sql_type: SqlType) -> Result<Self, ValueError> {
        receive_nested(bytes, sql_type, 0)
    }
}

fn receive_nested(bytes: &[u8], sql_type: SqlType, depth: usize) -> Result<SqlValue, ValueError> {
    if depth > DEPTH_MAX {
        return Err(ValueError::limit_exceeded("value is nested too deeply"));
    }
    let mut reader = ByteReader { rest: bytes };
    let value = match sql_type.kind() {
        TypeKind::Array(element) => receive_array(&mut reader, element, depth)?,
        TypeKind::Record => receive_record(&mut reader, depth)?,
        kind => match receive_text(bytes, kind)? {
            Some(value) => {
                reader.rest = &[];
                value
            }
            None => receive_fixed(&mut reader, sql_type)?,
        },
    };
    if !reader.rest.is_empty() {
        return Err(incorrect());
    }
    apply_modifier(value, sql_type, false)
}

/// Reads types whose binary form takes all bytes; `None` for the others.
fn receive_text(bytes: &[u8], kind: TypeKind) -> Result<Option<SqlValue>, ValueError> {
    let text = || text_of_bytes(bytes).map(str::to_owned);
    Ok(Some(match kind {
        TypeKind::Text
        | TypeKind::Varchar(_)
        | TypeKind::Unknown
        | TypeKind::CString
        | TypeKind::CatalogText(_) => SqlValue::Text(text()?),
        TypeKind::Name => {
            let text = text()?;
            if text.len() > 63 {
                let detail = "Identifier must be less than 64 characters.";
                return Err(ValueError::name_too_long("identifier too long").with_detail(detail));
            }
            SqlValue::Text(text)
        }
        TypeKind::Bpchar(_) => SqlValue::Padded(text()?),
        TypeKind::Json => {
            let text = text()?;
            check_json(&text)?;
            SqlValue::Json(text)
        }
        TypeKind::Bytea => SqlValue::Bytea(bytes.to_vec()),
        TypeKind::Numeric(_) => SqlValue::Numeric(ExactNumeric::receive(bytes, None)?),
        _ => return Ok(None),
    }))
}

fn receive_fixed(reader: &mut ByteReader<'_>, sql_type: SqlType) -> Result<SqlValue, ValueError> {
    Ok(match sql_type.kind() {
        TypeKind::Boolean => SqlValue::Boolean(reader.take::<1>()? != [0]),
        TypeKind::SmallInt => SqlValue::SmallInt(i16::from_be_bytes(reader.take()?)),
        TypeKind::Integer => SqlValue::Integer(reader.i32()?),
        TypeKind::BigInt => SqlValue::BigInt(reader.i64()?),
        TypeKind::Real => SqlValue::Real(f32::from_be_bytes(reader.take()?)),
        TypeKind::Double => SqlValue::Double(f64::from_be_bytes(reader.take()?)),
        TypeKind::Char => SqlValue::Char(reader.take::<1>()?[0]),
        TypeKind::Uuid => SqlValue::Uuid(reader.take()?),
        TypeKind::Date => {
            let date = SqlDate(reader.i32()?);
            if date.is_finite() {
                SqlValue::Date(SqlDate::from_days(date.0.into())?)
            } else {
                SqlValue::Date(date)
            }
        }
        TypeKind::Time(_) => SqlValue::Time(receive_time(reader)?),
        TypeKind::TimeTz(_) => {
            let time = receive_time(reader)?;
            let seconds_west = reader.i32()?;
            if !(-ZONE_SECONDS_MAX..=ZONE_SECONDS_MAX).contains(&seconds_west) {
                let message = "time zone displacement out of range";
                return Err(ValueError::zone_displacement(message));
            }
            SqlValue::TimeTz(SqlTimeTz { time, seconds_east: -seconds_west })
        }
        TypeKind::Timestamp(_) => SqlValue::Timestamp(receive_timestamp(reader)?),
        TypeKind::TimestampTz(_) => SqlValue::TimestampTz(receive_timestamp(reader)?),
        TypeKind::Interval(..) => {
            let micros = reader.i64()?;
            let days = reader.i32()?;
            SqlValue::Interval(SqlInterval { months: reader.i32()?, days, micros })
        }
        TypeKind::Bit(_) | TypeKind::Varbit(_) => {
            let count = usize::try_from(reader.i32()?);
            let count = count.map_err(|_| invalid_bits())?;
            let bytes = std::mem::take(&mut reader.rest);
            match bytes.len().cmp(&count.div_ceil(8)) {
                std::cmp::Ordering::Less => return Err(insufficient()),
                std::cmp::Ordering::Greater => return Err(incorrect()),
                std::cmp::Ordering::Equal => {}
            }
            SqlValue::Bits(BitString::from_bytes(bytes, count))
        }
        TypeKind::Oid(_) | TypeKind::TransactionId(_) => {
            SqlValue::Oid(u32::from_be_bytes(reader.take()?))
        }
        _ => return Err(is_not_supported(sql_type)),
    })
}

fn invalid_bits() -> ValueError {
    ValueError::invalid_binary("invalid length in external bit string")
}

fn receive_time(reader: &mut ByteReader<'_>) -> Result<SqlTime, ValueError> {
    match reader.i64()? {
        micros @ 0..=MICROS_PER_DAY => Ok(SqlTime(micros)),
        _ => Err(ValueError::datetime_overflow("time out of range")),
    }
}

fn receive_timestamp(reader: &mut ByteReader<'_>) -> Result<SqlTimestamp, ValueError> {
    let timestamp = SqlTimestamp(reader.i64()?);
    if timestamp.is_finite() {
        SqlTimestamp::from_micros(timestamp.0.into())
    } else {
        Ok(timestamp)
    }
}

fn receive_array(
    reader: &mut ByteReader<'_>,
    element: SqlType,
    depth: usize,
) -> Result<SqlValue, ValueError> {
    let count = reader.i32()?;
    let flags = reader.i32()?;
    let oid = TypeOid(u32::from_be_bytes(reader.take()?));
    let count = match usize::try_from(count) {
        Ok(count) if count > ARRAY_DIMENSIONS_MAX => return Err(too_many_dimensions(count)),
        Ok(count) => count,
        Err(_) => {
            let message = format!("invalid number of dimensions: {count}");
            return Err(ValueError::invalid_binary(message));
        }
    };
    if !matches!(flags, 0 | 1) {
        return Err(ValueError::invalid_binary("invalid array flags"));
    }
    if oid != element.oid() {
        let message = format!(
            "binary data has array element type {oid} ({}) instead of expected {} ({})",
            SqlType::new(oid),
            element.oid(),
            element.without_modifier()
        );
        return Err(ValueError::datatype_mismatch(message));
    }
    let mut dimensions = Vec::with_capacity(count);
    let mut element_count = usize::from(count > 0);
    for _ in 0..count {
        let length = usize::try_from(reader.i32()?).map_err(|_| incorrect())?;
        dimensions.push(ArrayDimension { length, lower_bound: reader.i32()? });
        element_count = element_count.checked_mul(length).ok_or_else(super::array::too_large)?;
    }
    // Each element has a length word: no count makes more memory than there are bytes.
    if element_count > reader.rest.len() / 4 {
        return Err(insufficient());
    }
    let mut elements = Vec::with_capacity(element_count);
    for _ in 0..element_count {
        elements.push(receive_with_length(reader, element, depth)?);
    }
    Ok(SqlValue::Array(Box::new(SqlArray::with_dimensions(element, dimensions, elements)?)))
}

fn receive_record(reader: &mut ByteReader<'_>, depth: usize) -> Result<SqlValue, ValueError> {
    let count = usize::try_from(reader.i32()?).map_err(|_| incorrect())?;
    // Each field has a type and a length word.
    if count > reader.rest.len() / 8 {
        return Err(insufficient());
    }
    let mut fields = Vec::with_capacity(count);
    for _ in 0..count {
        let sql_type = SqlType::new(TypeOid(u32::from_be_bytes(reader.take()?)));
        fields.push((sql_type, receive_with_length(reader, sql_type, depth)?));
    }
    Ok(SqlValue::Record(Box::new(SqlRecord::new(fields))))
}

fn receive_with_length(
    reader: &mut ByteReader<'_>,
    sql_type: SqlType,
    depth: usize,
) -> Result<SqlValue, ValueError> {
    match reader.i32()? {
        -1 => Ok(SqlValue::Null),
        length => receive_nested(reader.take_bytes(length)?, sql_type, depth + 1),
    }
}
