//! Values that clients bind to parameters.

use nacre_sql::{ColumnType, Error, ErrorKind, PgType, Result, Statement, Value};

use super::Format;
use super::binary::{EPOCH_DAYS, EPOCH_MICROS, NoValue, numeric_text};

/// Reads the value of parameter `index`, counted from 0.
///
/// # Errors
/// 22P02 and the like for text, 22P03 for bytes that are no value of type `oid`, 22021.
pub(crate) fn value(
    statement: &Statement,
    index: usize,
    (oid, column_type): (u32, ColumnType),
    bytes: Option<&[u8]>,
    format: Format,
) -> Result<Value> {
    let Some(bytes) = bytes else { return Ok(Value::Null) };
    match format {
        Format::Text => statement.parse_parameter(index, Some(utf8(bytes)?)),
        Format::Binary => {
            let read = read_binary(oid, column_type, bytes).map_err(|problem| match problem {
                Problem::NoValue => {
                    let message = format!("{NoValue} in bind parameter {}", index + 1);
                    Error::new(ErrorKind::InvalidData, message).with_code("22P03")
                }
                Problem::Error(error) => error,
            })?;
            match read {
                Read::Value(value) => Ok(value),
                Read::Text(text) => statement.parse_parameter(index, Some(&text)),
            }
        }
    }
}

/// What bytes say.
enum Read {
    /// A value in the form in which a column of the parameter's type keeps it.
    Value(Value),
    /// A text that the parameter's type reads.
    Text(String),
}

enum Problem {
    NoValue,
    Error(Error),
}

impl From<NoValue> for Problem {
    fn from(_: NoValue) -> Self {
        Self::NoValue
    }
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'));
    text.ok_or_else(|| {
        let message = "invalid byte sequence for encoding \"UTF8\"";
        Error::new(ErrorKind::InvalidData, message).with_code("22021")
    })
}

fn read_binary(
    oid: u32,
    column_type: ColumnType,
    bytes: &[u8],
) -> std::result::Result<Read, Problem> {
    let name = PgType::with_oid(oid).map_or("text", |found| found.name);
    // A number of another type than the parameter goes by its text.
    let number = |number: i64| match column_type {
        ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt => {
            Read::Value(Value::Int(number))
        }
        _ => Read::Text(number.to_string()),
    };
    Ok(match name {
        "bool" => match fixed::<1>(bytes)? {
            [0] => Read::Value(Value::Int(0)),
            [_] => Read::Value(Value::Int(1)),
        },
        "int2" => number(i16::from_be_bytes(fixed(bytes)?).into()),
        "int4" => number(i32::from_be_bytes(fixed(bytes)?).into()),
        "int8" => number(i64::from_be_bytes(fixed(bytes)?)),
        "oid" | "regclass" | "regtype" | "regproc" | "xid" => {
            number(u32::from_be_bytes(fixed(bytes)?).into())
        }
        "float4" => Read::Value(Value::Float32(f32::from_be_bytes(fixed(bytes)?))),
        "float8" => Read::Value(Value::Float64(f64::from_be_bytes(fixed(bytes)?))),
        "numeric" => Read::Text(numeric_text(bytes)?),
        "date" => {
            let days = i32::from_be_bytes(fixed(bytes)?).checked_add(EPOCH_DAYS);
            Read::Value(Value::Int(days.ok_or(NoValue)?.into()))
        }
        "timestamp" | "timestamptz" => {
            let micros = i64::from_be_bytes(fixed(bytes)?).checked_add(EPOCH_MICROS);
            Read::Value(Value::Int(micros.ok_or(NoValue)?))
        }
        "bytea" => Read::Value(Value::Bytes(bytes.to_vec())),
        "uuid" => {
            let hex = |bytes: &[u8]| -> String {
                bytes.iter().map(|byte| format!("{byte:02x}")).collect()
            };
            let bytes: [u8; 16] = fixed(bytes)?;
            let parts = [&bytes[..4], &bytes[4..6], &bytes[6..8], &bytes[8..10], &bytes[10..]];
            Read::Text(parts.map(hex).join("-"))
        }
        "text" | "varchar" | "bpchar" | "name" | "char" | "json" | "unknown" => {
            Read::Text(utf8(bytes).map_err(Problem::Error)?.to_owned())
        }
        other => {
            let what = format_args!("the binary form of a parameter of type {other}");
            return Err(Problem::Error(Error::not_supported(what).with_hint("Send it as text.")));
        }
    })
}

fn fixed<const N: usize>(bytes: &[u8]) -> std::result::Result<[u8; N], NoValue> {
    bytes.try_into().map_err(|_| NoValue)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, column_type: ColumnType, bytes: &[u8]) -> Option<Value> {
        match read_binary(PgType::named(name)?.oid, column_type, bytes) {
            Ok(Read::Value(value)) => Some(value),
            Ok(Read::Text(text)) => Some(Value::Bytes(text.into_bytes())),
            Err(_) => None,
        }
    }

    #[test]
    fn binary_values_are_read_by_the_type_that_the_client_means() {
        let date = read("date", ColumnType::Date, &0_i32.to_be_bytes());
        assert_eq!(date, Some(Value::Int(10_957)));
        assert_eq!(read("int4", ColumnType::Integer, &[0, 0, 1, 0]), Some(Value::Int(256)));
        assert_eq!(read("int4", ColumnType::Integer, &[0, 1, 0]), None);
        let text = ColumnType::Varchar { max_chars: None };
        assert_eq!(read("text", text, b"\xff"), None);
        let uuid = read("uuid", text, &[0x11; 16]);
        let expected = b"11111111-1111-1111-1111-111111111111".to_vec();
        assert_eq!(uuid, Some(Value::Bytes(expected)));
    }
}
