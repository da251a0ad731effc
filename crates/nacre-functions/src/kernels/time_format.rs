//! `to_char` of timestamps and intervals.

use nacre_types::datetime::{CivilDate, CivilTime, SqlTimestamp};
use nacre_types::{SqlInterval, SqlValue, ValueError};

use super::arguments::{interval, text, text_value, timestamp};
use super::datetimes::local;
use super::registry::KernelRow;
use super::template::{LetterCase, OrdinalSuffix, TemplateField, TemplatePart, parse_template};
use super::{KernelFunction, ScalarKernel};

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
/// From Sunday on.
pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
/// Months in Roman numerals.
pub(super) const ROMAN: [&str; 12] =
    ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

const DAY_MICROS: i64 = 86_400_000_000;

pub(super) const KERNELS: &[KernelRow] = &[
    (
        "to_char(timestamp,text)",
        of_constant_pattern(
            |values, _| {
                let moment = timestamp(values, 0)?;
                let fields = ClockFields::of_timestamp(moment, None);
                formatted(moment.is_finite().then_some(fields), text(values, 1)?)
            },
            |constants| has_parts(constants, |_| true),
        ),
    ),
    (
        "to_char(timestamptz,text)",
        of_constant_pattern(
            |values, context| {
                let moment = timestamp(values, 0)?;
                if !moment.is_finite() {
                    return Ok(SqlValue::Null);
                }
                let offset = context.settings.datetime.time_zone.offset_at(moment.0);
                let zone = (offset.seconds_east, offset.abbreviation);
                let fields = ClockFields::of_timestamp(local(moment, context)?, Some(zone));
                formatted(Some(fields), text(values, 1)?)
            },
            |constants| has_parts(constants, |_| true),
        ),
    ),
    (
        "to_char(interval,text)",
        of_constant_pattern(
            |values, _| {
                formatted(Some(ClockFields::of_interval(interval(values, 0)?)), text(values, 1)?)
            },
            |constants| has_parts(constants, is_of_interval),
        ),
    ),
];

/// Makes a kernel for patterns that are constants.
const fn of_constant_pattern(
    compute: KernelFunction,
    accepts: fn(&[Option<&SqlValue>]) -> bool,
) -> ScalarKernel {
    ScalarKernel::partial(compute).accepting(accepts)
}

fn has_parts(constants: &[Option<&SqlValue>], is_known: fn(TemplateField) -> bool) -> bool {
    match constants {
        [_, Some(SqlValue::Text(pattern))] => {
            parse_template(pattern).iter().all(|part| match part {
                TemplatePart::Field { field, .. } => is_known(*field),
                TemplatePart::Separator(_) | TemplatePart::Text(_) => true,
            })
        }
        [_, Some(SqlValue::Null)] => true,
        _ => false,
    }
}

/// Whether intervals have a field. Weeks and names of months are errors of PostgreSQL's or made of
/// days that no calendar has.
fn is_of_interval(field: TemplateField) -> bool {
    matches!(
        field,
        TemplateField::Am
            | TemplateField::AmDotted
            | TemplateField::DayOfMonth
            | TemplateField::Fraction(_)
            | TemplateField::Hour24
            | TemplateField::Hour12
            | TemplateField::Minute
            | TemplateField::Month
            | TemplateField::Millisecond
            | TemplateField::SecondOfDay
            | TemplateField::Second
            | TemplateField::Microsecond
            | TemplateField::Year(_)
    )
}

/// What calendar and clock show, or the parts of an interval.
struct ClockFields {
    /// Without a year 0 for timestamps: -1 is 1 BC.
    year: i64,
    month: i64,
    day: i64,
    time: CivilTime,
    /// Of a timestamp.
    date: Option<CivilDate>,
    /// Seconds ahead of UTC and abbreviation.
    zone: Option<(i32, String)>,
}

impl ClockFields {
    fn of_timestamp(timestamp: SqlTimestamp, zone: Option<(i32, String)>) -> Self {
        let micros = timestamp.0.rem_euclid(DAY_MICROS);
        let date = timestamp.date().civil().unwrap_or(CivilDate { year: 1, month: 1, day: 1 });
        let year = i64::from(date.year);
        Self {
            year: if year <= 0 { 1 - year } else { year },
            month: date.month.into(),
            day: date.day.into(),
            time: CivilTime::from_micros(micros),
            date: Some(date),
            zone,
        }
    }

    fn of_interval(interval: SqlInterval) -> Self {
        let months = i64::from(interval.months);
        Self {
            year: months / 12,
            month: months % 12,
            day: interval.days.into(),
            time: CivilTime::from_micros(interval.micros),
            date: None,
            zone: None,
        }
    }

    fn is_before_christ(&self) -> bool {
        self.date.is_some_and(|date| date.year <= 0)
    }

    fn is_afternoon(&self) -> bool {
        self.time.hour % 24 >= 12
    }

    /// Returns the year of the ISO week, as the eras count.
    fn iso_year(&self) -> i64 {
        let year = i64::from(self.date.map_or(1, |date| date.iso_week().0));
        if year <= 0 { 1 - year } else { year }
    }

    /// Returns the number that a field shows, and how many digits it fills at least.
    fn number(&self, field: TemplateField) -> Option<(i64, usize)> {
        let micros = i64::from(self.time.micros);
        let (minute, second) = (i64::from(self.time.minute), i64::from(self.time.second));
        Some(match field {
            TemplateField::DayOfMonth => (self.day, 2),
            TemplateField::Fraction(digits) => {
                // From one to six digits.
                (micros / 10_i64.pow(6 - digits as u32), digits)
            }
            TemplateField::Hour24 => (self.time.hour, 2),
            TemplateField::Hour12 if self.time.hour % 12 == 0 => (12, 2),
            TemplateField::Hour12 => (self.time.hour % 12, 2),
            TemplateField::Minute => (minute, 2),
            TemplateField::Month => (self.month, 2),
            TemplateField::Millisecond => (micros / 1_000, 3),
            TemplateField::SecondOfDay => (self.time.hour * 3_600 + minute * 60 + second, 0),
            TemplateField::Second => (second, 2),
            TemplateField::Microsecond => (micros, 6),
            TemplateField::Year(digits) => last_digits(self.year, digits),
            TemplateField::IsoYear(digits) => last_digits(self.iso_year(), digits),
            field => return self.day_number(field),
        })
    }

    /// Returns the number that a field of a day shows.
    fn day_number(&self, field: TemplateField) -> Option<(i64, usize)> {
        let date = self.date?;
        let weekday = date.weekday();
        Some(match field {
            TemplateField::Century if date.year > 0 => ((i64::from(date.year) - 1) / 100 + 1, 2),
            TemplateField::Century => (i64::from(date.year) / 100 - 1, 2),
            TemplateField::DayOfYear => (date.day_of_year(), 3),
            TemplateField::DayOfWeek => (weekday + 1, 1),
            TemplateField::IsoDayOfYear => {
                let (week, day) = (date.iso_week().1, (weekday + 6) % 7 + 1);
                ((week - 1) * 7 + day, 3)
            }
            TemplateField::IsoDayOfWeek => ((weekday + 6) % 7 + 1, 1),
            TemplateField::IsoWeek => (date.iso_week().1, 2),
            TemplateField::Julian => (date.days() + 2_451_545, 0),
            TemplateField::Quarter => ((self.month - 1) / 3 + 1, 1),
            TemplateField::Week => ((date.day_of_year() - 1) / 7 + 1, 2),
            TemplateField::WeekOfMonth => ((self.day - 1) / 7 + 1, 1),
            _ => return None,
        })
    }

    /// Returns the word that a field shows in capitals or as a name, and how many places it fills.
    fn word(&self, field: TemplateField) -> Option<(&'static str, usize)> {
        let weekday = self.date.map_or(0, CivilDate::weekday);
        let day = DAYS.get(usize::try_from(weekday).ok()?)?;
        let month = usize::try_from(self.month - 1).ok();
        let month_name = month.and_then(|month| MONTHS.get(month)).copied().unwrap_or("");
        Some(match field {
            TemplateField::Ad => (if self.is_before_christ() { "BC" } else { "AD" }, 0),
            TemplateField::AdDotted => (if self.is_before_christ() { "B.C." } else { "A.D." }, 0),
            TemplateField::Am => (if self.is_afternoon() { "PM" } else { "AM" }, 0),
            TemplateField::AmDotted => (if self.is_afternoon() { "P.M." } else { "A.M." }, 0),
            TemplateField::DayName => (day, 9),
            TemplateField::DayShort => (&day[..3], 0),
            TemplateField::MonthName => (month_name, 9),
            TemplateField::MonthShort => (month_name.get(..3)?, 0),
            TemplateField::Roman => (ROMAN.get(month?)?, 4),
            _ => return None,
        })
    }
}

/// Returns the last digits of a year, and how many there are at least.
fn last_digits(year: i64, digits: usize) -> (i64, usize) {
    match digits {
        4 => (year, 4),
        3 => (year % 1_000, 3),
        2 => (year % 100, 2),
        _ => (year % 10, 1),
    }
}

/// Writes fields as a pattern says; null of infinities and of an empty pattern.
fn formatted(fields: Option<ClockFields>, pattern: &str) -> Result<SqlValue, ValueError> {
    let Some(fields) = fields.filter(|_| !pattern.is_empty()) else { return Ok(SqlValue::Null) };
    let mut out = String::new();
    for part in parse_template(pattern) {
        match part {
            TemplatePart::Separator(letter) | TemplatePart::Text(letter) => out.push(letter),
            TemplatePart::Field { field, letters, fills, ordinal, .. } => {
                let start = out.len();
                let is_number = write_field(&fields, field, letters, fills, &mut out);
                if is_number && ordinal != OrdinalSuffix::None {
                    let suffix = ordinal_letters(&out[start..]);
                    let is_lower = ordinal == OrdinalSuffix::Lower;
                    out.push_str(&if is_lower { suffix.to_lowercase() } else { suffix.to_owned() });
                }
            }
        }
    }
    text_value(out)
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

/// Writes a field; returns whether it is a number.
fn write_field(
    fields: &ClockFields,
    field: TemplateField,
    letters: LetterCase,
    fills: bool,
    out: &mut String,
) -> bool {
    if let Some((value, width)) = fields.number(field) {
        // A sign takes no place of the digits.
        let is_day = matches!(field, TemplateField::DayOfMonth | TemplateField::DayOfYear);
        let width = if fills { width + usize::from(value < 0 && !is_day) } else { 0 };
        out.push_str(&format!("{value:0width$}"));
        return true;
    }
    if let Some((word, width)) = fields.word(field) {
        let width = if fills { width } else { 0 };
        out.push_str(&format!("{:<width$}", in_letters(word, letters)));
        return false;
    }
    let (seconds, name) = match &fields.zone {
        Some((seconds, name)) => (*seconds, name.as_str()),
        None => (0, ""),
    };
    let (sign, ahead) = (if seconds < 0 { '-' } else { '+' }, seconds.unsigned_abs());
    match field {
        TemplateField::YearWithComma => {
            let year = fields.year;
            out.push_str(&format!("{},{:03}", year / 1_000, year % 1_000));
            return true;
        }
        TemplateField::Zone => out.push_str(&in_letters(name, letters)),
        TemplateField::Offset => {
            let width = if fills { 2 } else { 0 };
            out.push_str(&format!("{sign}{:0width$}", ahead / 3_600));
            if ahead % 3_600 != 0 {
                out.push_str(&format!(":{:02}", ahead % 3_600 / 60));
            }
        }
        TemplateField::ZoneHour => out.push_str(&format!("{sign}{:02}", ahead / 3_600)),
        TemplateField::ZoneMinute => out.push_str(&format!("{:02}", ahead % 3_600 / 60)),
        _ => {}
    }
    false
}

fn in_letters(name: &str, letters: LetterCase) -> String {
    match letters {
        LetterCase::Upper => name.to_ascii_uppercase(),
        LetterCase::Lower => name.to_ascii_lowercase(),
        LetterCase::First => name.to_owned(),
    }
}
