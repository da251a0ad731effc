//! Values that clients bind to parameters.

use nacre_sql::{
    ColumnType, Error, ErrorKind, ParameterType, PgType, Result, Statement, Value, value_text,
};

use super::Format;
use super::binary::{EPOCH_DAYS, EPOCH_MICROS, NoValue, numeric_text};
use crate::report;
use crate::wire::utf8;

/// Most elements of an array that a client binds.
const ELEMENTS_MAX: usize = 1 << 24;

/// Days from 1970-01-01 to the first and the last that there is.
const DAYS: std::ops::RangeInclusive<i32> = -719_162..=2_932_896;
const DAY_MICROS: i64 = 86_400_000_000;

/// Reads the value of parameter `index`, counted from 0.
///
/// # Errors
/// 22P02 and the like for text, 22P03 for bytes that are no value of type `oid`, 22021.
pub(crate) fn value(
    statement: &Statement,
    index: usize,
    parameter: ParameterType,
    bytes: Option<&[u8]>,
    format: Format,
) -> Result<Value> {
    let Some(bytes) = bytes else { return Ok(Value::Null) };
    match format {
        Format::Text => statement.parse_parameter(index, Some(utf8(bytes)?)),
        Format::Binary => {
            let read = match parameter.element() {
                Some(element) => read_array(element, bytes).map(Read::Text),
                None => read_binary(parameter.oid, parameter.column, bytes),
            };
            let read = read.map_err(|problem| match problem {
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
    utf8::text(bytes).map_err(report::not_utf8)
}

/// Reads an array of one dimension and writes it as text.
fn read_array(element: PgType, bytes: &[u8]) -> std::result::Result<String, Problem> {
    let mut rest = bytes;
    let (dimensions, _has_nulls, oid) = (word(&mut rest)?, word(&mut rest)?, word(&mut rest)?);
    if u32::from_be_bytes(oid.to_be_bytes()) != element.oid {
        let message = "wrong element type";
        let error = Error::new(ErrorKind::InvalidData, message).with_code("42804");
        return Err(Problem::Error(error));
    }
    let count = match dimensions {
        0 => 0,
        1 => {
            let (count, _lower) = (word(&mut rest)?, word(&mut rest)?);
            usize::try_from(count).map_err(|_| NoValue)?
        }
        _ => {
            let what = "arrays of more than one dimension";
            return Err(Problem::Error(Error::not_supported(what)));
        }
    };
    if count > ELEMENTS_MAX {
        let message = format!("array size exceeds the maximum allowed ({ELEMENTS_MAX})");
        let error = Error::new(ErrorKind::InvalidData, message).with_code("54000");
        return Err(Problem::Error(error));
    }
    let column = element.parameter().unwrap_or(ColumnType::Varchar { max_chars: None });
    let mut text = String::from("{");
    for place in 0..count {
        if place > 0 {
            text.push(',');
        }
        match word(&mut rest)? {
            -1 => text.push_str("NULL"),
            length => {
                let length = usize::try_from(length).map_err(|_| NoValue)?;
                let (value, behind) = rest.split_at_checked(length).ok_or(NoValue)?;
                rest = behind;
                let one = match read_binary(element.oid, column, value)? {
                    Read::Text(one) => one,
                    Read::Value(value) => value_text(column, &value).map_err(Problem::Error)?,
                };
                put_quoted(&one, &mut text);
            }
        }
    }
    text.push('}');
    if rest.is_empty() { Ok(text) } else { Err(NoValue.into()) }
}

/// Takes a number of four bytes.
fn word(bytes: &mut &[u8]) -> std::result::Result<i32, NoValue> {
    let (first, rest) = bytes.split_first_chunk::<4>().ok_or(NoValue)?;
    *bytes = rest;
    Ok(i32::from_be_bytes(*first))
}

/// Appends an element of an array in quotes.
fn put_quoted(one: &str, text: &mut String) {
    text.push('"');
    for letter in one.chars() {
        if matches!(letter, '"' | '\\') {
            text.push('\\');
        }
        text.push(letter);
    }
    text.push('"');
}

/// Refuses a date or time that there is not.
fn out_of_range(what: &str, is_infinite: bool) -> Problem {
    Problem::Error(match is_infinite {
        true => Error::not_supported(format_args!("an infinite {what}")),
        false => {
            let message = format!("{what} out of range");
            Error::new(ErrorKind::InvalidData, message).with_code("22008")
        }
    })
}

fn read_date(number: i32) -> std::result::Result<i32, Problem> {
    let days = number.checked_add(EPOCH_DAYS).filter(|days| DAYS.contains(days));
    days.ok_or_else(|| out_of_range("date", matches!(number, i32::MIN | i32::MAX)))
}

fn read_timestamp(number: i64) -> std::result::Result<i64, Problem> {
    let (first, last) = (i64::from(*DAYS.start()), i64::from(*DAYS.end()));
    let range = first * DAY_MICROS..(last + 1) * DAY_MICROS;
    let micros = number.checked_add(EPOCH_MICROS).filter(|micros| range.contains(micros));
    micros.ok_or_else(|| out_of_range("timestamp", matches!(number, i64::MIN | i64::MAX)))
}

/// Returns a time of the day, or a part of an interval, as text.
fn time_text(micros: i64) -> String {
    let sign = if micros < 0 { "-" } else { "" };
    let (seconds, fraction) =
        (micros.unsigned_abs() / 1_000_000, micros.unsigned_abs() % 1_000_000);
    let (minutes, hours) = (seconds / 60 % 60, seconds / 3_600);
    format!("{sign}{hours:02}:{minutes:02}:{:02}.{fraction:06}", seconds % 60)
}

fn read_interval(bytes: &[u8]) -> std::result::Result<String, NoValue> {
    let (micros, rest) = bytes.split_first_chunk::<8>().ok_or(NoValue)?;
    let mut rest = rest;
    let (days, months) = (word(&mut rest)?, word(&mut rest)?);
    if !rest.is_empty() {
        return Err(NoValue);
    }
    let micros = i64::from_be_bytes(*micros);
    let sign = if micros < 0 { "-" } else { "" };
    let (seconds, fraction) =
        (micros.unsigned_abs() / 1_000_000, micros.unsigned_abs() % 1_000_000);
    Ok(format!("{months} mons {days} days {sign}{seconds}.{fraction:06} secs"))
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
        "date" => Read::Value(Value::Int(read_date(i32::from_be_bytes(fixed(bytes)?))?.into())),
        "timestamp" | "timestamptz" => {
            Read::Value(Value::Int(read_timestamp(i64::from_be_bytes(fixed(bytes)?))?))
        }
        "time" => Read::Text(time_text(i64::from_be_bytes(fixed(bytes)?))),
        "interval" => Read::Text(read_interval(bytes)?),
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
    fn arrays_become_their_text() {
        let of = |words: &[i32]| -> Vec<u8> {
            words.iter().flat_map(|word| word.to_be_bytes()).collect()
        };
        let int4 = PgType::named("int4").unwrap();
        let read = |bytes: &[u8]| read_array(int4, bytes).ok();
        let two = of(&[1, 1, 23, 2, 1, 4, -7, -1]);
        assert_eq!(read(&two).as_deref(), Some("{\"-7\",NULL}"));
        assert_eq!(read(&of(&[0, 0, 23])).as_deref(), Some("{}"));
        for end in 0..two.len() {
            assert_eq!(read(&two[..end]), None, "{end}");
        }
        for wrong in [&[2, 0, 23, 1, 1, 1, 1, 4, 7][..], &[1, 0, 25, 0, 1], &[1, 0, 23, -1, 1]] {
            assert_eq!(read(&of(wrong)), None, "{wrong:?}");
        }
        let mut quoted = String::new();
        put_quoted("a\"b\\", &mut quoted);
        assert_eq!(quoted, "\"a\\\"b\\\\\"");
    }

    #[test]
    fn intervals_and_times_become_their_texts() {
        assert_eq!(time_text(3_661_000_001), "01:01:01.000001");
        let mut bytes = (-1_500_000_i64).to_be_bytes().to_vec();
        bytes.extend([0, 0, 0, 2, 0, 0, 0, 14]);
        assert_eq!(read_interval(&bytes).as_deref(), Ok("14 mons 2 days -1.500000 secs"));
        assert_eq!(read_interval(&bytes[..15]), Err(NoValue));
    }

    #[test]
    fn binary_values_are_read_by_the_type_that_the_client_means() {
        let date = read("date", ColumnType::Date, &0_i32.to_be_bytes());
        assert_eq!(date, Some(Value::Int(10_957)));
        assert_eq!(read("int4", ColumnType::Integer, &[0, 0, 1, 0]), Some(Value::Int(256)));
        assert_eq!(read("int4", ColumnType::Integer, &[0, 1, 0]), None);
        for days in [i32::MIN, i32::MIN + 1, i32::MAX, 3_000_000, -800_000] {
            assert_eq!(read("date", ColumnType::Date, &days.to_be_bytes()), None, "{days}");
        }
        for micros in [i64::MIN, i64::MAX, i64::MAX - EPOCH_MICROS] {
            let bytes = micros.to_be_bytes();
            assert_eq!(read("timestamp", ColumnType::Timestamp, &bytes), None, "{micros}");
        }
        let text = ColumnType::Varchar { max_chars: None };
        assert_eq!(read("text", text, b"\xff"), None);
        let uuid = read("uuid", text, &[0x11; 16]);
        let expected = b"11111111-1111-1111-1111-111111111111".to_vec();
        assert_eq!(uuid, Some(Value::Bytes(expected)));
    }
}
