//! Arithmetic of numerics, dates and intervals.

use nacre_types::datetime::{DatetimeField, DatetimeSettings, SqlTimestamp, TimeZoneRules};
use nacre_types::{
    ExactNumeric, NumericSum, SqlInterval, SqlType, SqlValue, ValueError, ValueSettings,
};

use super::generators::CaseRandom;
use super::{DifferenceGuard, OracleCase, case_count, check, quote};

fn number(text: &str) -> ExactNumeric {
    ExactNumeric::parse(text, None).expect("number")
}

fn shown(result: Result<ExactNumeric, ValueError>) -> Result<Option<String>, ValueError> {
    result.map(|value| Some(value.to_string()))
}

#[test]
fn numerics_are_computed_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("numeric arithmetic");
    let mut cases = Vec::new();
    for _ in 0..case_count() * 2 {
        let (one, other) = (random.valid_numeric(), random.valid_numeric());
        let (left, right) = (number(&one), number(&other));
        let (one, other) =
            (format!("{}::numeric", quote(&one)), format!("{}::numeric", quote(&other)));
        let mut push =
            |expression: String, ours| cases.push(OracleCase::new(expression, shown(ours)));
        push(format!("{one} + {other}"), left.add(&right));
        push(format!("{one} - {other}"), left.subtract(&right));
        push(format!("{one} * {other}"), left.multiply(&right));
        push(format!("{one} / {other}"), left.divide(&right));
        push(format!("{one} % {other}"), left.remainder(&right));
        push(format!("div({one}, {other})"), left.divide_truncated(&right));
        let scale = random.below(40) as i32 - 15;
        push(format!("round({one}, {scale})"), left.round(scale));
        push(format!("trunc({one}, {scale})"), left.truncate(scale));
        push(format!("ceil({one})"), left.ceil());
        push(format!("floor({one})"), left.floor());
        push(format!("abs({one})"), Ok(left.abs()));
        push(format!("-({one})"), Ok(left.negate()));
    }
    check("", &cases);
}

/// Returns a number of few digits, sometimes close to one.
fn small_number(random: &mut CaseRandom) -> String {
    let sign = if random.is_one_in(6) { "-" } else { "" };
    let digits = |random: &mut CaseRandom, most: usize| random.below(10_usize.pow(most as u32));
    match random.below(9) {
        0 => format!("1.{}{}", "0".repeat(random.below(25)), digits(random, 3)),
        1 => format!("0.{}{}", "9".repeat(1 + random.below(25)), digits(random, 3)),
        2 => format!("{sign}{}", digits(random, 2)),
        3 => format!("{sign}{}e{}", digits(random, 2), random.below(40)),
        4 => format!("{sign}0.{}{}", "0".repeat(random.below(30)), digits(random, 4)),
        5 => format!("{sign}{}.0", digits(random, 1)),
        6 => random.valid_numeric(),
        _ => format!("{sign}{}.{}", digits(random, 3), digits(random, 6)),
    }
}

#[test]
fn powers_and_logarithms_are_those_of_the_server() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("powers");
    let mut cases = Vec::new();
    let mut push = |expression: String, ours| cases.push(OracleCase::new(expression, shown(ours)));
    let mut push_all = |one: String, other: String| {
        let (left, right) = (number(&one), number(&other));
        let (one, other) =
            (format!("{}::numeric", quote(&one)), format!("{}::numeric", quote(&other)));
        push(format!("{one} ^ {other}"), left.power(&right));
        push(format!("exp({one})"), left.exponential());
        push(format!("ln({one})"), left.natural_logarithm());
        push(format!("log({one})"), left.logarithm(&10.into()));
        push(format!("log({one}, {other})"), right.logarithm(&left));
    };
    for _ in 0..case_count() * 2 {
        push_all(small_number(&mut random), small_number(&mut random));
    }
    let special = ["NaN", "Infinity", "-Infinity", "0", "1", "-1", "0.5", "-2", "-3", "3.00"];
    let limits = ["2000.5", "5999.9", "6000", "-6000", "-6001", "435411", "1e131071", "1e-16383"];
    for one in special.iter().chain(&limits) {
        for other in special.iter().chain(&limits) {
            push_all((*one).to_owned(), (*other).to_owned());
        }
    }
    for (one, other) in [
        ("2", "435411"),
        ("2", "-3321"),
        ("1.0000001", "2147483648"),
        ("-1.5", "2147483649"),
        ("2", "3.00000000000000000000"),
    ] {
        push_all(one.to_owned(), other.to_owned());
    }
    check("", &cases);
}

#[test]
fn sums_and_averages_are_those_of_the_server() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("sums");
    let mut cases = Vec::new();
    for _ in 0..case_count() / 2 {
        let texts: Vec<String> = (0..1 + random.below(8)).map(|_| random.valid_numeric()).collect();
        let mut sum = NumericSum::default();
        texts.iter().for_each(|text| sum.add(&number(text)));
        let rows: Vec<String> =
            texts.iter().map(|text| format!("({}::numeric)", quote(text))).collect();
        let rows = rows.join(",");
        let text = |result: Result<Option<ExactNumeric>, ValueError>| {
            result.map(|value| value.map(|value| value.to_string()))
        };
        cases.push(OracleCase::new(
            format!("select sum(v) from (values {rows}) t(v)"),
            text(sum.sum()),
        ));
        cases.push(OracleCase::new(
            format!("select avg(v) from (values {rows}) t(v)"),
            text(sum.average()),
        ));
    }
    check("", &cases);
}

fn settings(zone: &str) -> DatetimeSettings {
    let time_zone = TimeZoneRules::find(zone).expect("zone");
    DatetimeSettings { time_zone, ..DatetimeSettings::default() }
}

fn timestamp_text(
    result: Result<SqlTimestamp, ValueError>,
    has_zone: bool,
    settings: &DatetimeSettings,
) -> Result<Option<String>, ValueError> {
    let mut text = String::new();
    match has_zone {
        true => result?.write_with_zone(settings, &mut text),
        false => result?.write(settings, &mut text),
    }
    Ok(Some(text))
}

fn interval_text(result: Result<SqlInterval, ValueError>) -> Result<Option<String>, ValueError> {
    let value = SqlValue::Interval(result?);
    Ok(value.to_text(SqlType::INTERVAL, &ValueSettings::default()))
}

fn interval(text: &str) -> SqlInterval {
    match SqlValue::parse(text, SqlType::INTERVAL, &ValueSettings::default()) {
        Ok(SqlValue::Interval(interval)) => interval,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn timestamps_are_computed_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("timestamp arithmetic");
    for zone in ["UTC", "America/New_York", "Europe/Berlin"] {
        let settings = settings(zone);
        let mut cases = Vec::new();
        for _ in 0..case_count() {
            let (one, other) = (random.valid_timestamp(), random.valid_timestamp());
            let span = random.valid_interval();
            let moved = interval(&span);
            let read = |text: &str| SqlTimestamp::parse(text, None, &settings).expect("timestamp");
            let zoned = |text: &str| {
                SqlTimestamp::parse_with_zone(text, None, &settings).expect("timestamp")
            };
            let (one_text, other_text) = (quote(&one), quote(&other));
            let span_text = format!("{}::interval", quote(&span));
            let mut push = |expression: String, ours| cases.push(OracleCase::new(expression, ours));
            push(
                format!("{one_text}::timestamp + {span_text}"),
                timestamp_text(read(&one).add_interval(moved), false, &settings),
            );
            push(
                format!("{one_text}::timestamptz + {span_text}"),
                timestamp_text(
                    zoned(&one).add_interval_in_zone(moved, &settings.time_zone),
                    true,
                    &settings,
                ),
            );
            // A difference of more than 64 bits wraps there.
            let difference = interval_text(read(&one).subtract(read(&other)));
            if !difference.as_ref().is_err_and(|error| error.message() == "interval out of range") {
                push(format!("{one_text}::timestamp - {other_text}::timestamp"), difference);
            }
            if read(&one).is_finite() && read(&other).is_finite() {
                push(
                    format!("age({one_text}::timestamp, {other_text}::timestamp)"),
                    interval_text(read(&one).age(read(&other))),
                );
            }
        }
        check(&format!("set timezone = '{zone}';"), &cases);
    }
}

const FIELDS: [&str; 22] = [
    "microseconds",
    "milliseconds",
    "second",
    "minute",
    "hour",
    "day",
    "week",
    "month",
    "quarter",
    "year",
    "isoyear",
    "decade",
    "century",
    "millennium",
    "dow",
    "isodow",
    "doy",
    "julian",
    "epoch",
    "timezone",
    "timezone_hour",
    "timezone_minute",
];

#[test]
fn fields_are_extracted_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("extract");
    let settings = settings("America/New_York");
    let mut cases = Vec::new();
    let text = |value: Option<ExactNumeric>| value.map(|value| value.to_string());
    for _ in 0..case_count() / 8 {
        let (source, span) = (random.valid_timestamp(), random.valid_interval());
        let timestamp = SqlTimestamp::parse(&source, None, &settings).expect("timestamp");
        let date = timestamp.date();
        let (source, span_value) = (quote(&source), interval(&span));
        for name in FIELDS {
            let field = DatetimeField::parse(name, "timestamp").expect("field");
            let mut push = |expression: String, ours| cases.push(OracleCase::new(expression, ours));
            push(
                format!("extract({name} from {source}::timestamp)"),
                timestamp.extract(field, name).map(text),
            );
            push(
                format!("extract({name} from {source}::date)"),
                date.extract(field, name).map(text),
            );
            push(
                format!("extract({name} from {}::interval)", quote(&span)),
                span_value.extract(field, name).map(|value| Some(value.to_string())),
            );
            push(
                format!("date_trunc('{name}', {source}::timestamp)"),
                timestamp_text(timestamp.truncate(field, name), false, &settings),
            );
            push(
                format!("date_trunc('{name}', {}::interval)", quote(&span)),
                interval_text(span_value.truncate(field, name)),
            );
            let moment = SqlTimestamp::parse_with_zone(&source.replace('\'', ""), None, &settings)
                .expect("moment");
            push(
                format!("date_trunc('{name}', {source}::timestamptz)"),
                timestamp_text(
                    moment.truncate_in_zone(field, &settings.time_zone, name),
                    true,
                    &settings,
                ),
            );
        }
    }
    check("set timezone = 'America/New_York';", &cases);
}

#[test]
fn intervals_are_computed_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("interval arithmetic");
    let mut cases = Vec::new();
    for _ in 0..case_count() {
        let (one, other) = (random.valid_interval(), random.valid_interval());
        let (left, right) = (interval(&one), interval(&other));
        let factor = random.below(2_000) as f64 / 16.0 - 30.0;
        let (one, other) =
            (format!("{}::interval", quote(&one)), format!("{}::interval", quote(&other)));
        let mut push =
            |expression: String, ours| cases.push(OracleCase::new(expression, interval_text(ours)));
        push(format!("{one} + {other}"), left.sum(right));
        push(format!("{one} - {other}"), left.subtract(right));
        push(format!("-({one})"), left.negate());
        push(format!("{one} * '{factor}'::float8"), left.multiply(factor));
        push(format!("{one} / '{factor}'::float8"), left.divide(factor));
        push(format!("justify_hours({one})"), left.justify_hours());
        push(format!("justify_days({one})"), left.justify_days());
        push(format!("justify_interval({one})"), left.justify());
    }
    check("", &cases);
}
