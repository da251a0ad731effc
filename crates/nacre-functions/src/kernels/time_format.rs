//! `to_char` of timestamps and intervals.

use nacre_types::datetime::{CivilDate, CivilTime, SqlTimestamp};
use nacre_types::{SqlInterval, SqlValue, ValueError};

use super::arguments::{interval, text, text_value, timestamp};
use super::datetimes::local;
use super::registry::KernelRow;
use super::template::{LetterCase, OrdinalSuffix, TemplateField, TemplatePart, parse_template};
use super::{KernelContext, ScalarKernel};

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
        ScalarKernel::partial(|values, _| {
            let moment = timestamp(values, 0)?;
            let fields = ClockFields::of_timestamp(moment, None);
            formatted(moment.is_finite().then_some(fields), text(values, 1)?)
        }),
    ),
    (
        "to_char(timestamptz,text)",
        ScalarKernel::partial(|values, context| {
            let moment = timestamp(values, 0)?;
            if !moment.is_finite() {
                return Ok(SqlValue::Null);
            }
            formatted(Some(ClockFields::of_moment(moment, context)?), text(values, 1)?)
        }),
    ),
    (
        "to_char(interval,text)",
        ScalarKernel::partial(|values, _| {
            let (interval, pattern) = (interval(values, 0)?, text(values, 1)?);
            check_interval_pattern(pattern)?;
            formatted(Some(ClockFields::of_interval(interval)), pattern)
        })
        .accepting(|constants| match constants {
            [_, Some(SqlValue::Text(pattern))] => {
                !template_fields(pattern).iter().any(|field| is_of_iso_week(*field))
            }
            _ => true,
        }),
    ),
];

fn template_fields(pattern: &str) -> Vec<TemplateField> {
    let field = |part| match part {
        TemplatePart::Field { field, .. } => Some(field),
        TemplatePart::Separator(_) | TemplatePart::Text(_) => None,
    };
    parse_template(pattern).into_iter().filter_map(field).collect()
}

/// Whether a field counts weeks of a calendar, which PostgreSQL makes of what an interval has for
/// month and day.
fn is_of_iso_week(field: TemplateField) -> bool {
    matches!(
        field,
        TemplateField::IsoYear(_) | TemplateField::IsoWeek | TemplateField::IsoDayOfYear
    )
}

/// Checks that intervals have the fields of a pattern.
///
/// # Errors
/// 22007 for those of a calendar; 0A000 for weeks of one.
fn check_interval_pattern(pattern: &str) -> Result<(), ValueError> {
    for field in template_fields(pattern) {
        match field {
            TemplateField::Ad
            | TemplateField::AdDotted
            | TemplateField::DayName
            | TemplateField::DayShort
            | TemplateField::DayOfWeek
            | TemplateField::IsoDayOfWeek
            | TemplateField::MonthName
            | TemplateField::MonthShort
            | TemplateField::Offset
            | TemplateField::Zone
            | TemplateField::ZoneHour
            | TemplateField::ZoneMinute => {
                let message = "invalid format specification for an interval value";
                let hint = "Intervals are not tied to specific calendar dates.";
                return Err(ValueError::datetime_format(message).with_hint(hint));
            }
            field if is_of_iso_week(field) => {
                return Err(ValueError::not_supported("weeks of intervals in to_char"));
            }
            _ => {}
        }
    }
    Ok(())
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

    /// Returns what clocks of the session's zone show.
    fn of_moment(moment: SqlTimestamp, context: &KernelContext<'_>) -> Result<Self, ValueError> {
        let offset = context.settings.datetime.time_zone.offset_at(moment.0);
        let zone = (offset.seconds_east, offset.abbreviation);
        Ok(Self::of_timestamp(local(moment, context)?, Some(zone)))
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

    fn written(&self, pattern: &str) -> String {
        let mut out = String::new();
        for part in parse_template(pattern) {
            match part {
                TemplatePart::Separator(letter) | TemplatePart::Text(letter) => out.push(letter),
                TemplatePart::Field { field, letters, fills, ordinal, .. } => {
                    let start = out.len();
                    let is_number = write_field(self, field, letters, fills, &mut out);
                    if is_number && ordinal != OrdinalSuffix::None {
                        let suffix = ordinal_letters(&out[start..]);
                        let is_lower = ordinal == OrdinalSuffix::Lower;
                        out.push_str(&if is_lower {
                            suffix.to_lowercase()
                        } else {
                            suffix.to_owned()
                        });
                    }
                }
            }
        }
        out
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
        let Some(date) = self.date else { return self.span_number(field) };
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

    /// Returns the number that a field of a day shows of an interval, whose months have 30 days.
    fn span_number(&self, field: TemplateField) -> Option<(i64, usize)> {
        // PostgreSQL counts with 32 bits.
        let days = i64::from(((self.year * 12 + self.month) * 30 + self.day) as i32);
        Some(match field {
            TemplateField::Century => (self.year / 100, 2),
            TemplateField::DayOfYear => (days, 3),
            TemplateField::Julian => (i64::from(self.julian_day() as i32), 0),
            TemplateField::Quarter if self.month != 0 => ((self.month - 1) / 3 + 1, 1),
            TemplateField::Week => ((days - 1) / 7 + 1, 2),
            TemplateField::WeekOfMonth => ((self.day - 1) / 7 + 1, 1),
            _ => return None,
        })
    }

    /// Returns the Julian day, as PostgreSQL counts it of any year, month and day.
    fn julian_day(&self) -> i64 {
        let (year, month) = if self.month > 2 {
            (self.year + 4_800, self.month + 1)
        } else {
            (self.year + 4_799, self.month + 13)
        };
        let century = year / 100;
        year * 365 - 32_167 + year / 4 - century + century / 4 + 7_834 * month / 256 + self.day
    }

    /// Returns the Roman numeral of a month; of an interval whole years are twelve months, and
    /// months below zero count from the end.
    fn roman_month(&self) -> Option<&'static str> {
        let place = match (self.month, self.date) {
            (0, None) if self.year == 0 => return None,
            (0, None) if self.year > 0 => 11,
            (0, None) => 0,
            (month, None) if month < 0 => month + 12,
            (month, _) => month - 1,
        };
        ROMAN.get(usize::try_from(place).ok()?).copied()
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
            TemplateField::Roman => (self.roman_month()?, 4),
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
    match fields.filter(|_| !pattern.is_empty()) {
        Some(fields) => text_value(fields.written(pattern)),
        None => Ok(SqlValue::Null),
    }
}

/// Writes a finite moment as a pattern says.
///
/// # Errors
/// 22008 for one that has no local time.
pub(super) fn moment_text(
    moment: SqlTimestamp,
    pattern: &str,
    context: &KernelContext<'_>,
) -> Result<String, ValueError> {
    Ok(ClockFields::of_moment(moment, context)?.written(pattern))
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
        let is_day = matches!(
            field,
            TemplateField::DayOfMonth | TemplateField::DayOfYear | TemplateField::Week
        );
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
