//! Tests of dates, times and timestamps without a server.

use super::*;
use crate::datetime::interval::SqlInterval;

fn settings() -> DatetimeSettings {
    DatetimeSettings {
        time_zone: TimeZoneRules::find("Europe/Berlin").unwrap(),
        now: Some(SqlTimestamp(0)),
        ..DatetimeSettings::default()
    }
}

fn moment(text: &str) -> SqlTimestamp {
    SqlTimestamp::parse_with_zone(text, None, &settings()).unwrap()
}

fn shown(text: &str) -> String {
    let settings = settings();
    let mut out = String::new();
    match SqlTimestamp::parse(text, None, &settings) {
        Ok(timestamp) => timestamp.write(&settings, &mut out),
        Err(error) => out = format!("{} {error}", error.sql_state()),
    }
    out
}

#[test]
fn timestamps_of_many_forms_are_read() {
    for (text, expected) in [
        ("2024-01-05 13:00:00", "2024-01-05 13:00:00"),
        ("20240105T130000", "2024-01-05 13:00:00"),
        ("Jan 5, 2024 1:00 PM", "2024-01-05 13:00:00"),
        ("5 January 99 BC", "0099-01-05 00:00:00 BC"),
        ("1/2/03 4:05", "2003-01-02 04:05:00"),
        ("J2451187", "1999-01-08 00:00:00"),
        ("2024.100", "2024-04-09 00:00:00"),
        ("epoch", "1970-01-01 00:00:00"),
        ("-infinity", "-infinity"),
        ("now", "2000-01-01 01:00:00"),
        ("tomorrow 12:00", "2000-01-02 12:00:00"),
        ("2024-02-30", "22008 date/time field value out of range: \"2024-02-30\""),
        ("abc", "22007 invalid input syntax for type timestamp: \"abc\""),
        (
            "2024-01-05 24:00:01",
            "22008 date/time field value out of range: \"2024-01-05 24:00:01\"",
        ),
        ("294277-01-01", "22008 timestamp out of range: \"294277-01-01\""),
        ("2024-01-05 00:00 Nowhere/City", "22023 time zone \"nowhere/city\" not recognized"),
        (
            "2024-01-05 00:00+16",
            "22009 time zone displacement out of range: \"2024-01-05 00:00+16\"",
        ),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn zones_of_a_text_move_the_moment() {
    let utc = moment("2024-07-01 12:00Z");
    for text in [
        "2024-07-01 14:00",
        "2024-07-01 14:00:00+02",
        "2024-07-01 08:00 America/New_York",
        "2024-07-01 07:00 EST",
        "2024-07-01T12:00:00 UTC",
    ] {
        assert_eq!(moment(text), utc, "{text}");
    }
}

#[test]
fn styles_write_the_same_moment() {
    let timestamp = moment("2024-07-01 12:00:00.5Z");
    for (date_style, expected) in [
        (DateStyle::Iso, "2024-07-01 14:00:00.5+02"),
        (DateStyle::Sql, "07/01/2024 14:00:00.5 CEST"),
        (DateStyle::Postgres, "Mon Jul 01 14:00:00.5 2024 CEST"),
        (DateStyle::German, "01.07.2024 14:00:00.5 CEST"),
    ] {
        let settings = DatetimeSettings { date_style, ..settings() };
        let mut text = String::new();
        timestamp.write_with_zone(&settings, &mut text);
        assert_eq!(text, expected);
    }
}

#[test]
fn times_take_zones_and_midnight_at_the_end() {
    let settings = settings();
    let mut out = String::new();
    SqlTimeTz::parse("13:00 America/New_York 2024-07-01", None, &settings)
        .unwrap_or(SqlTimeTz { time: SqlTime::MIDNIGHT, seconds_east: 0 })
        .write(&mut out);
    SqlTime::parse("24:00", None, &settings).unwrap().write(&mut out);
    assert!(out.ends_with("24:00:00"), "{out}");
    let error = SqlTime::parse("25:00", None, &settings).unwrap_err();
    assert_eq!(error.message(), "date/time field value out of range: \"25:00\"");
}

#[test]
fn months_are_added_before_days() {
    let settings = settings();
    let interval = SqlInterval { months: 1, days: 1, micros: 0 };
    let jan31 = SqlTimestamp::parse("2024-01-31", None, &settings).unwrap();
    let mut text = String::new();
    jan31.add_interval(interval).unwrap().write(&settings, &mut text);
    assert_eq!(text, "2024-03-01 00:00:00");
    // A day is a day of the calendar, also when clocks change.
    let before = moment("2024-03-30 12:00");
    let day = SqlInterval { months: 0, days: 1, micros: 0 };
    let after = before.add_interval_in_zone(day, &settings.time_zone).unwrap();
    assert_eq!(after.0 - before.0, 23 * MICROS_PER_HOUR);
}

#[test]
fn age_counts_as_calendars_do() {
    let settings = settings();
    let read = |text| SqlTimestamp::parse(text, None, &settings).unwrap();
    let age = read("2024-03-01").age(read("2024-01-31")).unwrap();
    assert_eq!((age.months, age.days), (1, 1));
    let age = read("2000-01-01").age(read("2024-06-15 12:00")).unwrap();
    assert_eq!((age.months, age.days, age.micros), (-293, -14, -12 * MICROS_PER_HOUR));
}

#[test]
fn fields_are_extracted_and_truncated_to() {
    let settings = settings();
    let timestamp = SqlTimestamp::parse("2024-07-17 13:14:15.678", None, &settings).unwrap();
    for (name, expected) in [
        ("second", "15.678000"),
        ("ms", "15678.000"),
        ("week", "29"),
        ("century", "21"),
        ("epoch", "1721222055.678000"),
        ("dow", "3"),
    ] {
        let field = DatetimeField::from_name(name).unwrap();
        assert_eq!(timestamp.extract(field, name).unwrap().unwrap().to_string(), expected);
    }
    let mut text = String::new();
    timestamp.truncate(DatetimeField::Quarter, "quarter").unwrap().write(&settings, &mut text);
    assert_eq!(text, "2024-07-01 00:00:00");
    let error = timestamp.truncate(DatetimeField::Epoch, "epoch").unwrap_err();
    assert_eq!(error.sql_state(), "22023");
}
