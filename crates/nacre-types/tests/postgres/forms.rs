//! Binary forms and comparisons.

use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hash, Hasher};

use nacre_types::{SqlType, SqlValue, ValueSettings, parse_type_name};

use super::generators::CaseRandom;
use super::{DifferenceGuard, OracleCase, case_count, check, quote};

/// Types and texts that are values of them.
pub(super) fn valid_text(random: &mut CaseRandom, name: &str) -> String {
    match name {
        "boolean" => random.pick(&["t", "f"]).to_owned(),
        "smallint" => (random.next() as i16).to_string(),
        "integer" => small_or(random, |random| (random.next() as i32).into()),
        "bigint" => small_or(random, |random| random.next() as i64),
        "real" => format!("{:e}", random.below(100_000) as f32 / 8.0),
        "double precision" => match random.below(5) {
            0 => random.pick(&["NaN", "inf", "-inf", "0", "-0"]).to_owned(),
            1 => format!("{:e}", random.below(1_000_000) as f64 / 7.0),
            _ => format!("{:e}", random.below(100) as f64 / 2.0 - 20.0),
        },
        "numeric" => random.valid_numeric(),
        "char(5)" => random.pick(&["a", "abc", "a  ", "B", "", "ab", "12", "t"]).to_owned(),
        "text" | "varchar" => {
            random.pick(&["a", "abc", "a  ", "B", "", "ab", "12", "t", "2024-01-05"]).to_owned()
        }
        "name" => random.pick(&["a", "abc", "Zz"]).to_owned(),
        "\"char\"" => random.pick(&["a", "b", "Z"]).to_owned(),
        "bytea" => format!("\\x{:04x}", random.below(70_000) % 65_536),
        "uuid" => format!("{:016x}{:016x}", random.next(), random.next()),
        "json" => "{\"a\": [1, null]}".to_owned(),
        "date" => random.valid_timestamp(),
        "time" | "timetz" => {
            format!("{:02}:{:02}:{:02}.5", random.below(24), random.below(60), random.below(60))
        }
        "timestamp" | "timestamptz" => random.valid_timestamp(),
        "interval" => random.valid_interval(),
        "bit(4)" => format!("{:04b}", random.below(16)),
        "varbit" => format!("{:b}", random.below(600)),
        "oid" => random.below(100_000).to_string(),
        "integer[]" => random
            .pick(&["{}", "{1,2}", "{1,NULL}", "{{1,2},{3,4}}", "[0:1]={1,2}", "{2}", "{1}"])
            .to_owned(),
        "text[]" => random.pick(&["{a,b}", "{\"\"}", "{NULL}", "{}", "{a}"]).to_owned(),
        name => panic!("no generator for {name}"),
    }
}

fn small_or(random: &mut CaseRandom, large: impl Fn(&mut CaseRandom) -> i64) -> String {
    match random.below(3) {
        0 => large(random).to_string(),
        _ => (random.below(200) as i64 - 100).to_string(),
    }
}

pub(super) const NAMES: [&str; 26] = [
    "boolean",
    "smallint",
    "integer",
    "bigint",
    "real",
    "double precision",
    "numeric",
    "text",
    "varchar",
    "char(5)",
    "name",
    "\"char\"",
    "bytea",
    "uuid",
    "json",
    "date",
    "time",
    "timetz",
    "timestamp",
    "timestamptz",
    "interval",
    "bit(4)",
    "varbit",
    "oid",
    "integer[]",
    "text[]",
];

fn parse(text: &str, sql_type: SqlType) -> SqlValue {
    SqlValue::parse(text, sql_type, &ValueSettings::default()).expect("value")
}

#[test]
fn binary_forms_are_those_of_the_server() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("binary");
    let mut cases = Vec::new();
    for name in NAMES {
        let sql_type = parse_type_name(name).expect("type");
        let send = sql_type.entry().and_then(|entry| entry.send_function).expect("send function");
        for _ in 0..case_count() / 10 {
            let text = valid_text(&mut random, name);
            let value = parse(&text, sql_type);
            let mut bytes = Vec::new();
            value.send(&mut bytes);
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            let expression = format!("encode({send}({}::{name}), 'hex')", quote(&text));
            cases.push(OracleCase::new(expression, Ok(Some(hex))));
            let received = SqlValue::receive(&bytes, sql_type).expect("received");
            assert_eq!(received, value, "{name} {text}");
        }
    }
    check("", &cases);
}

#[test]
fn values_are_ordered_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("order");
    let mut cases = Vec::new();
    for name in NAMES.iter().filter(|name| **name != "json") {
        let sql_type = parse_type_name(name).expect("type");
        for _ in 0..case_count() / 4 {
            let (one, other) = (valid_text(&mut random, name), valid_text(&mut random, name));
            let other = if random.is_one_in(5) { one.clone() } else { other };
            let (left, right) = (parse(&one, sql_type), parse(&other, sql_type));
            let order = left.compare(&right).expect("order");
            if order == Ordering::Equal {
                assert_eq!(hash(&left), hash(&right), "{name} {one} {other}");
            }
            let (one, other) = (quote(&one), quote(&other));
            let expression = format!(
                "({one}::{name} > {other}::{name})::int - ({one}::{name} < {other}::{name})::int"
            );
            cases.push(OracleCase::new(expression, Ok(Some((order as i32).to_string()))));
        }
    }
    check("", &cases);
}

fn hash(value: &SqlValue) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
