//! Texts of dates, times and timestamps in the four styles.

use std::fmt::Write;

use super::MICROS_PER_SECOND;
use super::calendar::{CivilDate, CivilTime, split_micros};
use super::settings::{DateOrder, DateStyle, DatetimeSettings};
use super::values::{SqlDate, SqlTime, SqlTimeTz, SqlTimestamp};
use super::zone::ZoneOffset;

const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

impl SqlDate {
    /// Appends the text.
    pub fn write(self, settings: &DatetimeSettings, out: &mut String) {
        let Some(date) = self.civil() else {
            out.push_str(infinity(self == Self::INFINITY));
            return;
        };
        let delimiter = match settings.date_style {
            DateStyle::Postgres => '-',
            _ => '/',
        };
        match settings.date_style {
            DateStyle::Iso => write_iso_date(date, out),
            DateStyle::Sql | DateStyle::Postgres => {
                write_short_date(date, delimiter, settings.date_order, out);
            }
            DateStyle::German => write_short_date(date, '.', DateOrder::DayMonthYear, out),
        }
        write_era(date, out);
    }
}

impl SqlTime {
    /// Appends the text.
    pub fn write(self, out: &mut String) {
        write_clock(self.0, out);
    }
}

impl SqlTimeTz {
    /// Appends the text.
    pub fn write(self, out: &mut String) {
        write_clock(self.time.0, out);
        write_offset(self.seconds_east, out);
    }
}

impl SqlTimestamp {
    /// Appends the text of a `timestamp`.
    pub fn write(self, settings: &DatetimeSettings, out: &mut String) {
        if !self.is_finite() {
            out.push_str(infinity(self == Self::INFINITY));
            return;
        }
        write_timestamp(self.0, None, settings, out);
    }

    /// Appends the text of a `timestamp with time zone`, as the session's clocks show it.
    pub fn write_with_zone(self, settings: &DatetimeSettings, out: &mut String) {
        if !self.is_finite() {
            out.push_str(infinity(self == Self::INFINITY));
            return;
        }
        let zone = &settings.time_zone;
        let offset = match settings.date_style {
            DateStyle::Iso => {
                let seconds_east = zone.seconds_east_at(self.0);
                ZoneOffset { seconds_east, abbreviation: String::new(), is_dst: false }
            }
            _ => zone.offset_at(self.0),
        };
        // The last day of the type's range may leave 64 bits nowhere: they hold 17 days more.
        let local = self.0 + i64::from(offset.seconds_east) * MICROS_PER_SECOND;
        write_timestamp(local, Some(&offset), settings, out);
    }
}

fn infinity(is_positive: bool) -> &'static str {
    if is_positive { "infinity" } else { "-infinity" }
}

fn write_timestamp(
    local: i64,
    offset: Option<&ZoneOffset>,
    settings: &DatetimeSettings,
    out: &mut String,
) {
    let (days, micros) = split_micros(local);
    let date = CivilDate::from_days(days);
    match settings.date_style {
        DateStyle::Iso => write_iso_date(date, out),
        DateStyle::Sql => write_short_date(date, '/', settings.date_order, out),
        DateStyle::German => write_short_date(date, '.', DateOrder::DayMonthYear, out),
        DateStyle::Postgres => write_weekday_and_day(date, settings.date_order, out),
    }
    out.push(' ');
    write_clock(micros, out);
    if settings.date_style == DateStyle::Postgres {
        put(out, format_args!(" {:04}", shown_year(date)));
    }
    match offset {
        Some(offset) if settings.date_style == DateStyle::Iso => {
            write_offset(offset.seconds_east, out);
        }
        Some(offset) => {
            out.push(' ');
            out.push_str(&offset.abbreviation);
        }
        None => {}
    }
    write_era(date, out);
}

fn put(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(arguments);
}

/// Returns the number of the year, of either era.
fn shown_year(date: CivilDate) -> i32 {
    if date.year > 0 { date.year } else { 1 - date.year }
}

fn write_era(date: CivilDate, out: &mut String) {
    if date.year <= 0 {
        out.push_str(" BC");
    }
}

fn write_iso_date(date: CivilDate, out: &mut String) {
    put(out, format_args!("{:04}-{:02}-{:02}", shown_year(date), date.month, date.day));
}

fn write_short_date(date: CivilDate, delimiter: char, order: DateOrder, out: &mut String) {
    let (first, second) = match order {
        DateOrder::DayMonthYear => (date.day, date.month),
        DateOrder::MonthDayYear | DateOrder::YearMonthDay => (date.month, date.day),
    };
    put(out, format_args!("{first:02}{delimiter}{second:02}{delimiter}{:04}", shown_year(date)));
}

fn write_weekday_and_day(date: CivilDate, order: DateOrder, out: &mut String) {
    let weekday = WEEKDAYS[date.weekday() as usize % 7];
    let month = MONTHS[(date.month - 1) as usize % 12];
    match order {
        DateOrder::DayMonthYear => put(out, format_args!("{weekday} {:02} {month}", date.day)),
        _ => put(out, format_args!("{weekday} {month} {:02}", date.day)),
    }
}

fn write_clock(micros: i64, out: &mut String) {
    let time = CivilTime::from_micros(micros);
    put(out, format_args!("{:02}:{:02}:", time.hour, time.minute));
    write_seconds(time.second, time.micros, 2, out);
}

/// Appends seconds with at least `digits` digits, and a fraction without zeros at its end.
pub(crate) fn write_seconds(second: i32, micros: i32, digits: usize, out: &mut String) {
    put(out, format_args!("{second:0digits$}"));
    if micros != 0 {
        let fraction = format!(".{micros:06}");
        out.push_str(fraction.trim_end_matches('0'));
    }
}

/// Appends an offset from UTC: hours, and minutes and seconds if there are any.
pub(crate) fn write_offset(seconds_east: i32, out: &mut String) {
    let sign = if seconds_east < 0 { '-' } else { '+' };
    let seconds = seconds_east.abs();
    put(out, format_args!("{sign}{:02}", seconds / 3_600));
    if seconds % 3_600 != 0 {
        put(out, format_args!(":{:02}", seconds / 60 % 60));
    }
    if seconds % 60 != 0 {
        put(out, format_args!(":{:02}", seconds % 60));
    }
}
