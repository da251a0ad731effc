//! Tests of intervals without a server.

use super::*;
use crate::datetime::IntervalStyle;

fn parse(text: &str) -> Result<SqlInterval, ValueError> {
    SqlInterval::parse(text, IntervalFields::ALL, None, IntervalStyle::Postgres)
}

fn shown(interval: SqlInterval, style: IntervalStyle) -> String {
    let mut text = String::new();
    interval.write(style, &mut text);
    text
}

#[test]
fn texts_of_all_forms_are_read() {
    for (text, expected) in [
        ("1 year 2 mons 3 days 04:05:06.7", "1 year 2 mons 3 days 04:05:06.7"),
        ("@ 1 hour ago", "-01:00:00"),
        ("1-2", "1 year 2 mons"),
        ("-1-2 +3 -4:05:06", "-1 years -2 mons +3 days -04:05:06"),
        ("1.5 months", "1 mon 15 days"),
        ("0.5 years 1.5 days", "6 mons 1 day 12:00:00"),
        ("3 04:05", "3 days 04:05:00"),
        ("90", "00:01:30"),
        ("P1Y2M3DT4H5M6.5S", "1 year 2 mons 3 days 04:05:06.5"),
        ("P0001-02-03T04:05:06", "1 year 2 mons 3 days 04:05:06"),
        ("P00010203T040506", "1 year 2 mons 3 days 04:05:06"),
        ("1 decade 2 weeks", "10 years 14 days"),
        ("100:20:30", "100:20:30"),
    ] {
        assert_eq!(shown(parse(text).unwrap(), IntervalStyle::Postgres), expected, "{text}");
    }
    assert_eq!(
        parse("foo").unwrap_err().message(),
        "invalid input syntax for type interval: \"foo\""
    );
    assert_eq!(parse("1 day 2 day").unwrap_err().sql_state(), "22007");
    assert_eq!(parse("99999999999 years").unwrap_err().sql_state(), "22015");
}

#[test]
fn styles_write_the_same_interval() {
    let interval = parse("1 year 2 mons -3 days 04:05:06.789").unwrap();
    for (style, expected) in [
        (IntervalStyle::Postgres, "1 year 2 mons -3 days +04:05:06.789"),
        (IntervalStyle::PostgresVerbose, "@ 1 year 2 mons -3 days 4 hours 5 mins 6.789 secs"),
        (IntervalStyle::SqlStandard, "+1-2 -3 +4:05:06.789"),
        (IntervalStyle::Iso8601, "P1Y2M-3DT4H5M6.789S"),
    ] {
        assert_eq!(shown(interval, style), expected);
    }
    let zero = SqlInterval::default();
    assert_eq!(shown(zero, IntervalStyle::PostgresVerbose), "@ 0");
    assert_eq!(shown(zero, IntervalStyle::SqlStandard), "0");
    assert_eq!(shown(zero, IntervalStyle::Iso8601), "PT0S");
}

#[test]
fn fields_of_a_type_cut_and_name_units() {
    let read = |text, fields| {
        let interval = SqlInterval::parse(text, fields, None, IntervalStyle::Postgres).unwrap();
        shown(interval, IntervalStyle::Postgres)
    };
    assert_eq!(read("5", IntervalFields::YEAR), "5 years");
    assert_eq!(read("1 2:03:04", IntervalFields::DAY_TO_HOUR), "1 day 02:00:00");
    assert_eq!(read("10:30", IntervalFields::MINUTE_TO_SECOND), "00:10:30");
    let rounded = parse("1.23456 s").unwrap().with_fields(IntervalFields::ALL, Some(2)).unwrap();
    assert_eq!(shown(rounded, IntervalStyle::Postgres), "00:00:01.23");
}

#[test]
fn multiples_carry_parts_downwards() {
    let month = parse("1 month").unwrap();
    assert_eq!(shown(month.multiply(1.5).unwrap(), IntervalStyle::Postgres), "1 mon 15 days");
    assert_eq!(shown(month.divide(7.0).unwrap(), IntervalStyle::Postgres), "4 days 06:51:25.6896");
    let day = parse("27 hours 35 days").unwrap();
    assert_eq!(shown(day.justify().unwrap(), IntervalStyle::Postgres), "1 mon 6 days 03:00:00");
    assert_eq!(parse("1 mon").unwrap(), parse("30 days").unwrap());
    assert!(day.divide(0.0).is_err());
}
