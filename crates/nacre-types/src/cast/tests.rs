//! Tests of casts without a server.

use super::*;
use crate::types::type_name::parse_type_name;

fn cast(text: &str, source: &str, target: &str, context: CastContext) -> String {
    let settings = ValueSettings::default();
    let (source, target) = (parse_type_name(source).unwrap(), parse_type_name(target).unwrap());
    let value = SqlValue::parse(text, source, &settings).unwrap();
    match cast_value(value, source, target, context, &settings) {
        Ok(value) => value.to_text(target, &settings).unwrap_or_else(|| "NULL".to_owned()),
        Err(error) => format!("{} {error}", error.sql_state()),
    }
}

#[test]
fn explicit_casts_convert() {
    for (text, source, target, expected) in [
        ("2.5", "float8", "int", "2"),
        ("2.5", "numeric", "int", "3"),
        ("1e20", "float8", "bigint", "22003 bigint out of range"),
        ("1e40", "float8", "real", "22003 value out of range: overflow"),
        ("t", "boolean", "int", "1"),
        ("t", "boolean", "text", "true"),
        ("ab ", "char(4)", "text", "ab"),
        ("abcd", "text", "varchar(2)", "ab"),
        ("12", "text", "int", "12"),
        ("5", "int", "bit(4)", "0101"),
        ("-1", "int", "bit(3)", "111"),
        ("101", "bit(3)", "int", "5"),
        ("{1.5,NULL}", "numeric[]", "int[]", "{2,NULL}"),
        ("2024-01-05 13:00", "timestamp", "date", "2024-01-05"),
        ("2024-01-05", "date", "timestamptz", "2024-01-05 00:00:00+00"),
        ("-1:00", "interval", "time", "23:00:00"),
        ("infinity", "timestamp", "time", "NULL"),
        ("1.239", "numeric", "numeric(3,2)", "1.24"),
        ("1", "int", "date", "42846 cannot cast type integer to date"),
        ("300", "int", "\"char\"", "22003 \"char\" out of range"),
    ] {
        assert_eq!(
            cast(text, source, target, CastContext::Explicit),
            expected,
            "{source} {target}"
        );
    }
}

#[test]
fn contexts_bound_casts() {
    let assigned = |text, source, target| cast(text, source, target, CastContext::Assignment);
    assert_eq!(assigned("5", "bigint", "int"), "5");
    assert_eq!(assigned("5", "int", "text"), "5");
    assert_eq!(assigned("5", "text", "int"), "42846 cannot cast type text to integer");
    let too_long = "22001 value too long for type character varying(1)";
    assert_eq!(assigned("55", "int", "varchar(1)"), too_long);
    let path = |source, target| {
        let source = parse_type_name(source).unwrap();
        find_cast_path(source, parse_type_name(target).unwrap(), CastContext::Implicit)
    };
    assert_eq!(path("int", "bigint"), Some(CastPath::Function("int8")));
    assert_eq!(path("bigint", "int"), None);
    assert_eq!(path("varchar", "text"), Some(CastPath::Binary));
    assert_eq!(path("int[]", "bigint[]"), Some(CastPath::ArrayElements));
}
