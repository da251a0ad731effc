//! Tests of values without a server.

use std::cmp::Ordering;
use std::collections::HashSet;

use super::*;
use crate::types::sql_type::SqlType;
use crate::types::type_name::parse_type_name;

fn value(text: &str, name: &str) -> SqlValue {
    SqlValue::parse(text, parse_type_name(name).unwrap(), &ValueSettings::default()).unwrap()
}

fn round_trip(text: &str, name: &str) -> String {
    let sql_type = parse_type_name(name).unwrap();
    let value = value(text, name);
    let mut bytes = Vec::new();
    value.send(&mut bytes);
    let received = SqlValue::receive(&bytes, sql_type).unwrap();
    assert_eq!(received, value, "{name} {text}");
    received.to_text(sql_type, &ValueSettings::default()).unwrap()
}

fn error(text: &str, name: &str) -> String {
    let sql_type = parse_type_name(name).unwrap();
    let error = SqlValue::parse(text, sql_type, &ValueSettings::default()).unwrap_err();
    format!("{} {error}", error.sql_state())
}

#[test]
fn values_go_through_text_and_binary_forms() {
    for (text, name, expected) in [
        ("yes", "boolean", "t"),
        ("-5", "smallint", "-5"),
        ("9223372036854775807", "bigint", "9223372036854775807"),
        ("0.1", "real", "0.1"),
        ("1e100", "double precision", "1e+100"),
        ("12.345", "numeric(6,2)", "12.35"),
        ("ab", "char(4)", "ab  "),
        ("abc", "varchar(3)", "abc"),
        ("\\x00ff", "bytea", "\\x00ff"),
        ("{\"a\": 1}", "json", "{\"a\": 1}"),
        ("2024-02-29", "date", "2024-02-29"),
        ("13:00:00.5", "time", "13:00:00.5"),
        ("13:00+05:30", "timetz", "13:00:00+05:30"),
        ("2024-02-29 13:00", "timestamp", "2024-02-29 13:00:00"),
        ("2024-02-29 13:00+02", "timestamptz", "2024-02-29 11:00:00+00"),
        ("1 mon 2 days", "interval", "1 mon 2 days"),
        ("10110", "bit(5)", "10110"),
        ("{1,NULL,3}", "int[]", "{1,NULL,3}"),
        (
            "[2:3][0:1]={{a,\"b c\"},{\"\",\"NULL\"}}",
            "text[]",
            "[2:3][0:1]={{a,\"b c\"},{\"\",\"NULL\"}}",
        ),
        ("{}", "numeric[]", "{}"),
        ("26", "oid", "26"),
        ("int", "regtype", "integer"),
    ] {
        assert_eq!(round_trip(text, name), expected, "{name}");
    }
}

#[test]
fn malformed_texts_are_refused() {
    for (text, name, expected) in [
        ("abc", "int", "22P02 invalid input syntax for type integer: \"abc\""),
        ("abcd", "varchar(3)", "22001 value too long for type character varying(3)"),
        ("{1,2", "int[]", "22P02 malformed array literal: \"{1,2\""),
        ("{{1},{2,3}}", "int[]", "22P02 malformed array literal: \"{{1},{2,3}}\""),
        ("[3:2]={1}", "int[]", "2202E upper bound cannot be less than lower bound"),
        ("1", "jsonb", "0A000 type jsonb is not supported yet"),
        ("(1)", "record", "0A000 input of anonymous composite types is not implemented"),
    ] {
        assert_eq!(error(text, name), expected);
    }
}

#[test]
fn records_are_written_with_quotes() {
    let record = SqlRecord::new(vec![
        (SqlType::INTEGER, SqlValue::Integer(1)),
        (SqlType::TEXT, SqlValue::Null),
        (SqlType::TEXT, SqlValue::from("a \"b\"")),
        (SqlType::TEXT, SqlValue::from("")),
    ]);
    let value = SqlValue::Record(Box::new(record));
    let text = value.to_text(SqlType::RECORD, &ValueSettings::default()).unwrap();
    assert_eq!(text, "(1,,\"a \"\"b\"\"\",\"\")");
    let mut bytes = Vec::new();
    value.send(&mut bytes);
    assert_eq!(SqlValue::receive(&bytes, SqlType::RECORD).unwrap(), value);
}

#[test]
fn order_equality_and_hashes_agree() {
    let nan = value("NaN", "float8");
    assert_eq!(nan.compare(&value("inf", "float8")), Some(Ordering::Greater));
    let equal = [
        (value("-0", "float8"), value("0", "float8")),
        (nan.clone(), nan),
        (value("a", "char(3)"), value("a", "char(5)")),
        (value("1.0", "numeric"), value("1", "numeric")),
        (value("1 mon", "interval"), value("30 days", "interval")),
        (SqlValue::Null, SqlValue::Null),
    ];
    for (one, other) in equal {
        assert_eq!(one, other);
        let set: HashSet<SqlValue> = [one, other].into();
        assert_eq!(set.len(), 1);
    }
    assert_eq!(SqlValue::Null.compare(&SqlValue::Null), None);
    let nulls_last = value("{1,NULL}", "int[]").compare(&value("{1,2}", "int[]"));
    assert_eq!(nulls_last, Some(Ordering::Greater));
}

#[test]
fn truncated_bytes_are_refused() {
    let sql_type = parse_type_name("text[]").unwrap();
    let mut bytes = Vec::new();
    value("{a,b}", "text[]").send(&mut bytes);
    for end in 0..bytes.len() {
        assert!(SqlValue::receive(&bytes[..end], sql_type).is_err(), "{end}");
    }
    let state = |bytes: &[u8]| SqlValue::receive(bytes, SqlType::INTEGER).unwrap_err().sql_state();
    assert_eq!(state(&[0, 0]), "08P01");
    assert_eq!(state(&[0, 0, 0, 1, 2]), "22P03");
}
