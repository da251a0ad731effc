//! Texts of intervals in the four styles.

use std::fmt::Write;

use super::SqlInterval;
use crate::datetime::{CivilTime, IntervalStyle, write_seconds};

/// The fields of an interval, each with its sign.
#[derive(Clone, Copy)]
struct IntervalParts {
    year: i32,
    month: i32,
    day: i32,
    time: CivilTime,
}

impl IntervalParts {
    fn has_time(&self) -> bool {
        let CivilTime { hour, minute, second, micros } = self.time;
        hour != 0 || minute != 0 || second != 0 || micros != 0
    }

    fn has_seconds(&self) -> bool {
        self.time.second != 0 || self.time.micros != 0
    }

    fn is_time_negative(&self) -> bool {
        let CivilTime { hour, minute, second, micros } = self.time;
        hour < 0 || minute < 0 || second < 0 || micros < 0
    }
}

impl SqlInterval {
    /// Appends the text.
    pub fn write(self, style: IntervalStyle, out: &mut String) {
        let parts = IntervalParts {
            year: self.months / 12,
            month: self.months % 12,
            day: self.days,
            time: CivilTime::from_micros(self.micros),
        };
        match style {
            IntervalStyle::Postgres => write_postgres(&parts, out),
            IntervalStyle::PostgresVerbose => write_verbose(&parts, out),
            IntervalStyle::SqlStandard => write_sql_standard(&parts, out),
            IntervalStyle::Iso8601 => write_iso(&parts, out),
        }
    }
}

fn put(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(arguments);
}

/// Appends the time without a sign, hours with at least `digits` digits.
fn write_clock(parts: &IntervalParts, digits: usize, out: &mut String) {
    let time = &parts.time;
    put(out, format_args!("{:0digits$}:{:02}:", time.hour.unsigned_abs(), time.minute.abs()));
    write_seconds(time.second.abs(), time.micros.abs(), 2, out);
}

fn write_postgres(parts: &IntervalParts, out: &mut String) {
    let mut is_before = false;
    let mut is_first = true;
    for (value, unit) in [(parts.year, "year"), (parts.month, "mon"), (parts.day, "day")] {
        if value == 0 {
            continue;
        }
        let blank = if is_first { "" } else { " " };
        let sign = if is_before && value > 0 { "+" } else { "" };
        let plural = if value == 1 { "" } else { "s" };
        put(out, format_args!("{blank}{sign}{value} {unit}{plural}"));
        is_before = value < 0;
        is_first = false;
    }
    if is_first || parts.has_time() {
        let blank = if is_first { "" } else { " " };
        let sign = match parts.is_time_negative() {
            true => "-",
            false if is_before => "+",
            false => "",
        };
        put(out, format_args!("{blank}{sign}"));
        write_clock(parts, 2, out);
    }
}

fn write_verbose(parts: &IntervalParts, out: &mut String) {
    out.push('@');
    // The first field's sign holds for all; the others are written against it.
    let mut is_before = None;
    let fields = [
        (i64::from(parts.year), "year"),
        (parts.month.into(), "mon"),
        (parts.day.into(), "day"),
        (parts.time.hour, "hour"),
        (parts.time.minute.into(), "min"),
    ];
    for (value, unit) in fields {
        if value == 0 {
            continue;
        }
        let value =
            if *is_before.get_or_insert(value < 0) { -i128::from(value) } else { value.into() };
        let plural = if value == 1 { "" } else { "s" };
        put(out, format_args!(" {value} {unit}{plural}"));
    }
    if parts.has_seconds() {
        let (second, micros) = (parts.time.second, parts.time.micros);
        let is_negative = second < 0 || micros < 0;
        let sign = match is_before {
            None => "",
            Some(is_before) if is_before == is_negative => "",
            Some(_) => "-",
        };
        is_before.get_or_insert(is_negative);
        put(out, format_args!(" {sign}"));
        write_seconds(second.abs(), micros.abs(), 1, out);
        let plural = if second.abs() == 1 && micros == 0 { "" } else { "s" };
        put(out, format_args!(" sec{plural}"));
    }
    match is_before {
        None => out.push_str(" 0"),
        Some(true) => out.push_str(" ago"),
        Some(false) => {}
    }
}

fn write_sql_standard(parts: &IntervalParts, out: &mut String) {
    let IntervalParts { year, month, day, time } = *parts;
    let values = [
        i64::from(year),
        month.into(),
        day.into(),
        time.hour,
        time.minute.into(),
        time.second.into(),
        time.micros.into(),
    ];
    let has_negative = values.iter().any(|value| *value < 0);
    let has_positive = values.iter().any(|value| *value > 0);
    let has_year_month = year != 0 || month != 0;
    let has_day = day != 0;
    let has_day_time = has_day || parts.has_time();
    let has_both_signs = has_negative && has_positive;
    let has_both_parts = has_year_month && has_day_time;
    let is_standard = !has_both_signs && !has_both_parts;
    if !has_negative && !has_positive {
        out.push('0');
        return;
    }
    if !is_standard {
        // Signs in each of the three groups.
        let sign = |is_negative: bool| if is_negative { '-' } else { '+' };
        let (years, months) = (year.unsigned_abs(), month.unsigned_abs());
        put(out, format_args!("{}{years}-{months}", sign(year < 0 || month < 0)));
        put(out, format_args!(" {}{} ", sign(day < 0), day.unsigned_abs()));
        out.push(sign(parts.is_time_negative()));
        write_clock(parts, 1, out);
        return;
    }
    if has_negative {
        out.push('-');
    }
    if has_year_month {
        put(out, format_args!("{}-{}", year.unsigned_abs(), month.unsigned_abs()));
        return;
    }
    if has_day {
        put(out, format_args!("{} ", day.unsigned_abs()));
    }
    write_clock(parts, 1, out);
}

fn write_iso(parts: &IntervalParts, out: &mut String) {
    let IntervalParts { year, month, day, time } = *parts;
    if year == 0 && month == 0 && day == 0 && !parts.has_time() {
        out.push_str("PT0S");
        return;
    }
    out.push('P');
    let number = |value: i64, unit: char, out: &mut String| {
        if value != 0 {
            put(out, format_args!("{value}{unit}"));
        }
    };
    number(year.into(), 'Y', out);
    number(month.into(), 'M', out);
    number(day.into(), 'D', out);
    if parts.has_time() {
        out.push('T');
    }
    number(time.hour, 'H', out);
    number(time.minute.into(), 'M', out);
    if parts.has_seconds() {
        if time.second < 0 || time.micros < 0 {
            out.push('-');
        }
        write_seconds(time.second.abs(), time.micros.abs(), 1, out);
        out.push('S');
    }
}
