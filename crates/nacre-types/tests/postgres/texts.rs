//! Texts of every type: what they are read as, or why they are refused.

use nacre_types::datetime::SqlTimestamp;
use nacre_types::datetime::{DateOrder, DateStyle, DatetimeSettings, IntervalStyle, TimeZoneRules};
use nacre_types::{ByteaOutput, SqlType, SqlValue, ValueError, ValueSettings, parse_type_name};

use super::generators::CaseRandom;
use super::{DifferenceGuard, OracleCase, case_count, check, quote};

/// Returns what the server calls the input function of a type for a text.
fn input_expression(text: &str, sql_type: SqlType) -> String {
    let entry = sql_type.entry().expect("type of the catalog");
    let text = quote(text);
    let modifier = sql_type.modifier().0;
    match sql_type.element() {
        Some(element) => format!("array_in({text}::cstring, {}, {modifier})", element.oid()),
        None if entry.modifier_input_function.is_some() => {
            format!("{}({text}::cstring, 0, {modifier})", entry.input_function)
        }
        None => format!("{}({text}::cstring)", entry.input_function),
    }
}

/// Makes cases of texts of a type.
fn text_cases(
    name: &str,
    settings: &ValueSettings,
    mut text: impl FnMut() -> String,
) -> Vec<OracleCase> {
    let sql_type = parse_type_name(name).expect("type");
    let case = |text: String| {
        let ours = SqlValue::parse(&text, sql_type, settings);
        let is_hexadecimal = text.contains("0x") && ours.is_err();
        if is_hexadecimal || ours.as_ref().is_err_and(is_odd_zone) {
            return None;
        }
        let ours = ours.map(|value| value.to_text(sql_type, settings));
        // The result of array_in has no element type of its own.
        let mut expression = input_expression(&text, sql_type);
        if sql_type.element().is_some() {
            expression = format!("array_out({expression})");
        }
        Some(OracleCase::new(expression, ours))
    };
    (0..case_count()).filter_map(|_| case(text())).collect()
}

/// Returns whether a text names a zone by a POSIX rule of which PostgreSQL takes more forms.
fn is_odd_zone(error: &ValueError) -> bool {
    let message = error.message();
    message.starts_with("time zone \"") && message.contains(|one: char| one.is_ascii_digit())
}

fn default_check(name: &str, text: impl FnMut() -> String) {
    check("", &text_cases(name, &ValueSettings::default(), text));
}

#[test]
fn integers_are_read_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("integers");
    for name in ["smallint", "integer", "bigint", "oid"] {
        default_check(name, || random.integer());
    }
}

#[test]
fn numerics_are_read_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("numerics");
    for name in ["numeric", "numeric(10,3)", "numeric(5)", "numeric(3,-2)", "numeric(3,5)"] {
        default_check(name, || random.numeric());
    }
    let extremes = [
        "1e131071",
        "1e131072",
        "1e-16383",
        "1e-16384",
        "0e-20000",
        "0e200000",
        "1e9999999999",
        "1e 5",
        "1e1073741823",
        "1e1073741822",
        "0e9999999999",
        "-1e-16383",
    ];
    let mut next = extremes.iter().cycle();
    let mut text = || (*next.next().expect("endless")).to_owned();
    let cases: Vec<OracleCase> = ["numeric", "numeric(5,2)"]
        .iter()
        .flat_map(|name| {
            let settings = ValueSettings::default();
            let mut cases = text_cases(name, &settings, &mut text);
            cases.truncate(extremes.len());
            cases
        })
        .collect();
    check("", &cases);
}

#[test]
fn floats_are_read_and_written_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("floats");
    for digits in [1, 0, -3, -15] {
        let settings = ValueSettings { extra_float_digits: digits, ..ValueSettings::default() };
        let set = format!("set extra_float_digits = {digits};");
        for name in ["real", "double precision"] {
            check(&set, &text_cases(name, &settings, || random.float()));
        }
    }
    // Powers of ten and two lie on midpoints now and then.
    let mut exponent = 0;
    default_check("double precision", || {
        exponent += 1;
        match exponent % 2 {
            0 => format!("{}e{}", exponent % 10, exponent / 8),
            _ => format!("{:e}", 2_f64.powi(exponent / 2 % 300)),
        }
    });
    let mut power = 0;
    default_check("real", || {
        power += 1;
        format!("{:e}", 2_f32.powi(power % 250 - 125))
    });
}

#[test]
fn booleans_and_characters_are_read_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("characters");
    let words = [
        "t", "tr", "true", "TRUE ", "f", "false", "y", "yes", "no", "n", "on", "of", "off", "o",
        "1", "0", "", "x", "truee",
    ];
    default_check("boolean", || random.pick(&words).to_owned());
    for name in ["text", "varchar(3)", "char(3)", "name", "\"char\"", "varchar"] {
        default_check(name, || random.word());
    }
    default_check("\"char\"", || random.bytea());
}

#[test]
fn bytes_uuids_bits_are_read_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("bytes");
    for output in [ByteaOutput::Hex, ByteaOutput::Escape] {
        let settings = ValueSettings { bytea_output: output, ..ValueSettings::default() };
        let word = if output == ByteaOutput::Hex { "hex" } else { "escape" };
        let set = format!("set bytea_output = {word};");
        check(&set, &text_cases("bytea", &settings, || random.bytea()));
    }
    default_check("uuid", || random.uuid());
    for name in ["bit(4)", "bit(10)", "varbit(5)", "varbit"] {
        default_check(name, || random.bits());
    }
}

#[test]
fn json_is_checked_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("json");
    default_check("json", || random.json(0));
}

#[test]
fn arrays_are_read_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("arrays");
    default_check("integer[]", || {
        random.array(&mut |random| random.pick(&["1", "22", "NULL", "-3", "x"]).to_owned())
    });
    default_check("text[]", || random.array(&mut CaseRandom::array_word));
    default_check("numeric(6,2)[]", || random.array(&mut CaseRandom::valid_numeric));
    default_check("timestamp[]", || {
        random.array(&mut |random| format!("\"{}\"", random.valid_timestamp()))
    });
}

/// Returns the settings of a session and the statements that make them.
fn datetime_settings(style: DateStyle, order: DateOrder, zone: &str) -> (ValueSettings, String) {
    let style_word = match style {
        DateStyle::Iso => "ISO",
        DateStyle::Sql => "SQL",
        DateStyle::Postgres => "Postgres",
        DateStyle::German => "German",
    };
    let order_word = match order {
        DateOrder::MonthDayYear => "MDY",
        DateOrder::DayMonthYear => "DMY",
        DateOrder::YearMonthDay => "YMD",
    };
    let datetime = DatetimeSettings {
        date_style: style,
        date_order: order,
        time_zone: TimeZoneRules::find(zone).expect("zone"),
        ..DatetimeSettings::default()
    };
    let set = format!("set datestyle = {style_word}, {order_word}; set timezone = '{zone}';");
    (ValueSettings { datetime, ..ValueSettings::default() }, set)
}

#[test]
fn timestamps_are_read_and_written_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("timestamps");
    let styles = [
        (DateStyle::Iso, DateOrder::MonthDayYear, "UTC"),
        (DateStyle::Sql, DateOrder::DayMonthYear, "America/New_York"),
        (DateStyle::Postgres, DateOrder::YearMonthDay, "Europe/Berlin"),
        (DateStyle::German, DateOrder::MonthDayYear, "Asia/Kolkata"),
        (DateStyle::Sql, DateOrder::MonthDayYear, "America/Sao_Paulo"),
        (DateStyle::Postgres, DateOrder::DayMonthYear, "Australia/Lord_Howe"),
    ];
    for (style, order, zone) in styles {
        let (settings, set) = datetime_settings(style, order, zone);
        for name in ["timestamp", "timestamptz", "date", "timestamp(2)", "timestamptz(0)"] {
            // What the clock says is not compared.
            let text = || loop {
                let text = random.timestamp();
                let lower = text.to_lowercase();
                if !["now", "today", "tomorrow", "yesterday"]
                    .iter()
                    .any(|word| lower.contains(word))
                {
                    return text;
                }
            };
            check(&set, &text_cases(name, &settings, text));
        }
        for name in ["timestamp", "timestamptz"] {
            check(&set, &text_cases(name, &settings, || random.valid_timestamp()));
        }
    }
}

#[test]
fn times_are_read_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("times");
    for zone in ["UTC", "Asia/Kolkata"] {
        let (settings, set) = datetime_settings(DateStyle::Iso, DateOrder::MonthDayYear, zone);
        for name in ["time", "timetz", "time(2)", "timetz(0)"] {
            let settings = ValueSettings {
                datetime: DatetimeSettings {
                    now: Some(SqlTimestamp(800_000_000_000_000)),
                    ..settings.datetime.clone()
                },
                ..settings.clone()
            };
            let text = || loop {
                let text = random.time();
                if !text.to_lowercase().contains("now") {
                    return text;
                }
            };
            check(&set, &text_cases(name, &settings, text));
        }
    }
}

#[test]
fn intervals_are_read_and_written_as_there() {
    let _guard = DifferenceGuard;
    let mut random = CaseRandom::new("intervals");
    let styles = [
        (IntervalStyle::Postgres, "postgres"),
        (IntervalStyle::PostgresVerbose, "postgres_verbose"),
        (IntervalStyle::SqlStandard, "sql_standard"),
        (IntervalStyle::Iso8601, "iso_8601"),
    ];
    for (style, word) in styles {
        let datetime = DatetimeSettings { interval_style: style, ..DatetimeSettings::default() };
        let settings = ValueSettings { datetime, ..ValueSettings::default() };
        let set = format!("set intervalstyle = {word};");
        let names = [
            "interval",
            "interval(2)",
            "interval year",
            "interval year to month",
            "interval day to hour",
            "interval minute to second",
            "interval day to second(1)",
            "interval hour to minute",
        ];
        for name in names {
            check(&set, &text_cases(name, &settings, || random.interval()));
        }
        check(&set, &text_cases("interval", &settings, || random.valid_interval()));
    }
}
