//! Casts between all pairs of types.

use nacre_types::catalog::CastContext;
use nacre_types::{SqlValue, ValueSettings, cast_value, parse_type_name};

use super::forms::{NAMES, valid_text};
use super::generators::CaseRandom;
use super::{DifferenceGuard, OracleCase, case_count, check, quote};

/// Targets with modifiers beside the plain ones.
const TARGETS: [&str; 8] = [
    "numeric(6,2)",
    "varchar(3)",
    "char(3)",
    "timestamp(2)",
    "interval day",
    "bit(7)",
    "varbit(3)",
    "bigint[]",
];

#[test]
fn explicit_casts_are_those_of_the_server() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("casts");
    let settings = ValueSettings::default();
    let mut cases = Vec::new();
    for source_name in NAMES {
        let source = parse_type_name(source_name).expect("type");
        for target_name in NAMES.iter().chain(&TARGETS) {
            let target = parse_type_name(target_name).expect("type");
            for _ in 0..case_count() / 100 {
                let text = valid_text(&mut random, source_name);
                let value = SqlValue::parse(&text, source, &settings).expect("value");
                let cast = cast_value(value, source, target, CastContext::Explicit, &settings);
                let ours = cast.map(|value| value.to_text(target, &settings));
                let expression = format!("({}::{source_name})::{target_name}", quote(&text));
                cases.push(OracleCase::new(expression, ours));
            }
        }
    }
    check("", &cases);
}

#[test]
fn numbers_are_cast_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("number casts");
    let settings = ValueSettings::default();
    let names =
        ["smallint", "integer", "bigint", "real", "double precision", "numeric", "numeric(10,2)"];
    let mut cases = Vec::new();
    for source_name in ["double precision", "numeric", "real"] {
        let source = parse_type_name(source_name).expect("type");
        for target_name in names {
            let target = parse_type_name(target_name).expect("type");
            for _ in 0..case_count() / 4 {
                let text = random.float();
                let Ok(value) = SqlValue::parse(&text, source, &settings) else { continue };
                let cast = cast_value(value, source, target, CastContext::Explicit, &settings);
                let ours = cast.map(|value| value.to_text(target, &settings));
                let expression = format!("({}::{source_name})::{target_name}", quote(&text));
                cases.push(OracleCase::new(expression, ours));
            }
        }
    }
    check("", &cases);
}
