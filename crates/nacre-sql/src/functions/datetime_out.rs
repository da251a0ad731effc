//! `to_char` of timestamps, dates and intervals.

use super::civil::Civil;
use super::template::{Field, Letters, Ordinal, Part, parse};
use crate::error::{Error, ErrorKind, Result};

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// From Monday on.
pub(super) const DAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
/// Months in Roman numerals.
pub(super) const ROMAN: [&str; 12] =
    ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Timestamp,
    /// With the time zone UTC.
    Zoned,
    Interval,
}

/// Writes a moment, or the parts of an interval, as a pattern says.
///
/// # Errors
/// 22007 for fields that intervals do not have.
pub(super) fn to_char(moment: &Civil, what: What, pattern: &str) -> Result<String> {
    let mut out = String::new();
    for part in parse(pattern) {
        match part {
            Part::Text(one) | Part::Separator(one) => out.push(one),
            Part::Field { field, letters, fills, ordinal, .. } => {
                if what == What::Interval && !has_interval(field) {
                    let message = "invalid format specification for an interval value";
                    let hint = "Intervals are not tied to specific calendar dates.";
                    let error = Error::new(ErrorKind::InvalidData, message).with_code("22007");
                    return Err(error.with_hint(hint));
                }
                let start = out.len();
                let is_number = write(moment, what, field, letters, fills, &mut out);
                if is_number && ordinal != Ordinal::None {
                    let letters = ordinal_letters(&out[start..]);
                    match ordinal {
                        Ordinal::Lower => out.push_str(&letters.to_lowercase()),
                        _ => out.push_str(letters),
                    }
                }
            }
        }
    }
    Ok(out)
}

/// Returns the letters behind a number: 1ST, 2ND, 3RD, 4TH.
pub(super) fn ordinal_letters(number: &str) -> &'static str {
    let bytes = number.as_bytes();
    let is_teen = bytes.len() > 1 && bytes[bytes.len() - 2] == b'1';
    match bytes.last() {
        Some(b'1') if !is_teen => "ST",
        Some(b'2') if !is_teen => "ND",
        Some(b'3') if !is_teen => "RD",
        _ => "TH",
    }
}

fn has_interval(field: Field) -> bool {
    !matches!(
        field,
        Field::Ad
            | Field::AdDotted
            | Field::DayName
            | Field::DayShort
            | Field::DayOfWeek
            | Field::IsoDayOfWeek
            | Field::MonthName
            | Field::MonthShort
            | Field::Offset
            | Field::Zone
            | Field::ZoneHour
            | Field::ZoneMinute
    )
}

/// Writes a field; returns whether it is a number.
fn write(
    moment: &Civil,
    what: What,
    field: Field,
    letters: Letters,
    fills: bool,
    out: &mut String,
) -> bool {
    if let Some((value, width)) = number(moment, what, field) {
        // A sign takes no place of the digits.
        let is_time = !matches!(field, Field::DayOfMonth | Field::DayOfYear);
        let width = if fills { width + usize::from(value < 0 && is_time) } else { 0 };
        out.push_str(&format!("{value:0width$}"));
        return true;
    }
    let width = |wide: usize| if fills { wide } else { 0 };
    let named = |name: &str, wide: usize, out: &mut String| {
        let name = in_letters(name, letters);
        out.push_str(&format!("{name:<0$}", width(wide)));
    };
    let pick = |upper: &str, out: &mut String| out.push_str(&in_letters(upper, letters));
    let weekday = usize::try_from(moment.iso_day_of_week() - 1).unwrap_or(0);
    let month = usize::try_from(moment.month - 1).ok();
    match field {
        Field::Ad => pick(if moment.year > 0 { "AD" } else { "BC" }, out),
        Field::AdDotted => pick(if moment.year > 0 { "A.D." } else { "B.C." }, out),
        Field::Am => pick(if moment.hour % 24 >= 12 { "PM" } else { "AM" }, out),
        Field::AmDotted => pick(if moment.hour % 24 >= 12 { "P.M." } else { "A.M." }, out),
        Field::DayName => named(DAYS[weekday], 9, out),
        Field::DayShort => named(&DAYS[weekday][..3], 0, out),
        Field::MonthName => named(month.and_then(|at| MONTHS.get(at)).unwrap_or(&""), 9, out),
        Field::MonthShort => {
            named(month.and_then(|at| MONTHS.get(at)).map_or("", |name| &name[..3]), 0, out);
        }
        Field::Roman => named(month.and_then(|at| ROMAN.get(at)).unwrap_or(&""), 4, out),
        Field::YearWithComma => {
            out.push_str(&format!("{},{:03}", moment.year / 1_000, moment.year % 1_000));
            return true;
        }
        Field::Zone if what == What::Zoned => pick("UTC", out),
        Field::Offset | Field::ZoneHour => out.push_str("+00"),
        Field::ZoneMinute => out.push_str("00"),
        _ => {}
    }
    false
}

/// Returns the number that a field shows, and how many digits it fills.
fn number(moment: &Civil, what: What, field: Field) -> Option<(i64, usize)> {
    let is_interval = what == What::Interval;
    Some(match field {
        Field::Century if is_interval => (moment.year / 100, 2),
        Field::Century => ((moment.year + 99) / 100, 2),
        Field::DayOfYear if is_interval => (moment.year * 360 + moment.month * 30 + moment.day, 3),
        Field::DayOfYear => (moment.day_of_year(), 3),
        Field::DayOfMonth => (moment.day, 2),
        Field::DayOfWeek => (moment.iso_day_of_week() % 7 + 1, 1),
        Field::Fraction(digits) => {
            let cut = 10_i64.pow(6 - u32::try_from(digits).unwrap_or(6));
            (moment.micro / cut, digits)
        }
        Field::Hour24 => (moment.hour, 2),
        Field::Hour12 if moment.hour % 12 == 0 => (12, 2),
        Field::Hour12 => (moment.hour % 12, 2),
        Field::IsoDayOfYear => (moment.iso_week().2, 3),
        Field::IsoDayOfWeek => (moment.iso_day_of_week(), 1),
        Field::IsoWeek => (moment.iso_week().1, 2),
        Field::IsoYear(digits) => last_digits(moment.iso_week().0, digits),
        Field::Julian => (moment.julian(), 0),
        Field::Minute => (moment.minute, 2),
        Field::Month => (moment.month, 2),
        Field::Millisecond => (moment.micro / 1_000, 3),
        Field::Quarter if moment.month == 0 => return None,
        Field::Quarter => ((moment.month - 1) / 3 + 1, 1),
        Field::SecondOfDay => (moment.hour * 3_600 + moment.minute * 60 + moment.second, 0),
        Field::Second => (moment.second, 2),
        Field::Microsecond => (moment.micro, 6),
        Field::Week => ((moment.day_of_year() - 1) / 7 + 1, 2),
        Field::WeekOfMonth => ((moment.day - 1) / 7 + 1, 1),
        Field::Year(digits) => last_digits(moment.year, digits),
        _ => return None,
    })
}

fn last_digits(year: i64, digits: usize) -> (i64, usize) {
    match digits {
        4 => (year, 4),
        3 => (year % 1_000, 3),
        2 => (year % 100, 2),
        _ => (year % 10, 1),
    }
}

fn in_letters(name: &str, letters: Letters) -> String {
    match letters {
        Letters::Upper => name.to_uppercase(),
        Letters::Lower => name.to_lowercase(),
        Letters::First => name.to_owned(),
    }
}
