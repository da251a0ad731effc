//! `to_timestamp` and `to_date` of texts with a pattern.

use super::civil::{Civil, DAY_US, days_in_month, days_of, days_of_julian, iso_year_start};
use super::datetime_out::{DAYS, MONTHS, ROMAN};
use super::template::{Field, Ordinal, Part, is_separator, parse};
use crate::error::{Error, ErrorKind, Result};

/// What the fields of a text said.
#[derive(Default)]
struct Read {
    values: Vec<(Field, i64)>,
    is_pm: Option<bool>,
    is_before_christ: bool,
    /// Minutes east of UTC.
    zone: Option<i64>,
}

struct Reader<'a> {
    rest: &'a str,
    text: &'a str,
    is_exact: bool,
    /// Blanks that were skipped beyond those of the pattern.
    skipped: i64,
    read: Read,
}

/// Reads a moment in microseconds since 1970 as a pattern says.
///
/// # Errors
/// 22007 and 22008.
pub(super) fn to_timestamp(text: &str, pattern: &str) -> Result<i64> {
    let parts = parse(pattern);
    let mut reader =
        Reader { rest: text, text, is_exact: false, skipped: 0, read: Read::default() };
    for (place, part) in parts.iter().enumerate() {
        if reader.rest.is_empty() {
            break;
        }
        let is_field = matches!(part, Part::Field { field, .. } if *field != Field::Exact);
        if !reader.is_exact && (is_field || place == 0) {
            reader.skip_blanks();
        }
        match part {
            Part::Field { field: Field::Exact, .. } => reader.is_exact = true,
            Part::Field { field, fills, ordinal, name, .. } => {
                let is_free = !fills || is_number_ended(*ordinal, parts.get(place + 1));
                reader.field(*field, name, is_free)?;
                if *ordinal != Ordinal::None {
                    reader.take_chars(2);
                }
                if !reader.is_exact {
                    reader.skipped = 0;
                    reader.skip_blanks();
                }
            }
            Part::Separator(_) if !reader.is_exact => {
                reader.skipped -= 1;
                if reader.rest.starts_with(is_separator) {
                    reader.take_chars(1);
                    reader.skipped += 1;
                }
            }
            Part::Text(_) if !reader.is_exact && reader.skipped > 0 => reader.skipped -= 1,
            Part::Separator(_) | Part::Text(_) => reader.take_chars(1),
        }
    }
    if let Some(hour) = reader.read.get(Field::Hour12).filter(|hour| !(1..=12).contains(hour)) {
        let error = invalid(format!("hour \"{hour}\" is invalid for the 12-hour clock"));
        let hint = "Use the 24-hour clock, or give an hour between 1 and 12.";
        return Err(error.with_hint(hint));
    }
    moment(&reader.read).ok_or_else(|| out_of_range(text))
}

/// Whether a number may have any length, since no digit of the pattern comes behind it.
fn is_number_ended(ordinal: Ordinal, next: Option<&Part>) -> bool {
    match next {
        _ if ordinal != Ordinal::None => true,
        None => true,
        Some(Part::Field { field, .. }) => !field.is_digits(),
        Some(Part::Separator(one) | Part::Text(one)) => !one.is_ascii_digit(),
    }
}

fn out_of_range(text: &str) -> Error {
    let message = format!("date/time field value out of range: \"{text}\"");
    Error::new(ErrorKind::InvalidData, message).with_code("22008")
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidData, message).with_code("22007")
}

impl Reader<'_> {
    fn skip_blanks(&mut self) {
        while self.rest.starts_with(|one: char| one.is_ascii_whitespace()) {
            self.rest = &self.rest[1..];
            self.skipped += 1;
        }
    }

    fn take_chars(&mut self, count: usize) {
        let end = self.rest.char_indices().nth(count).map_or(self.rest.len(), |(at, _)| at);
        self.rest = &self.rest[end..];
    }

    fn field(&mut self, field: Field, name: &str, is_free: bool) -> Result<()> {
        match field {
            Field::Am | Field::AmDotted => {
                let is_pm = self.word(&["am", "pm", "a.m.", "p.m."], name)? % 2 == 1;
                self.read.is_pm = Some(is_pm);
            }
            Field::Ad | Field::AdDotted => {
                self.read.is_before_christ =
                    self.word(&["ad", "bc", "a.d.", "b.c."], name)? % 2 == 1;
            }
            Field::MonthName => self.name(&MONTHS, 9, Field::Month, name)?,
            Field::MonthShort => self.name(&MONTHS, 3, Field::Month, name)?,
            Field::DayName => self.name(&DAYS, 9, Field::IsoDayOfWeek, name)?,
            Field::DayShort => self.name(&DAYS, 3, Field::IsoDayOfWeek, name)?,
            Field::Roman => {
                // Longer ones first: VIII is not V.
                let mut all: Vec<(usize, &str)> = ROMAN.into_iter().enumerate().collect();
                all.sort_by_key(|(_, numeral)| std::cmp::Reverse(numeral.len()));
                let names: Vec<&str> = all.iter().map(|(_, numeral)| *numeral).collect();
                let at = self.word(&names, name)?;
                self.set(Field::Month, all[at].0 as i64 + 1, name)?;
            }
            Field::Zone | Field::Offset => {
                let words = ["utc", "gmt", "z"];
                match words.iter().find(|word| starts_with(self.rest, word)) {
                    Some(word) => self.take_chars(word.len()),
                    None => self.offset(name)?,
                }
            }
            Field::ZoneHour => {
                let is_west = self.sign();
                let hours = self.number(2, name, is_free)?;
                self.read.zone = Some(if is_west { -60 * hours } else { 60 * hours });
            }
            Field::ZoneMinute => {
                let minutes = self.number(2, name, is_free)?;
                let before = self.read.zone.unwrap_or(0);
                self.read.zone = Some(before + if before < 0 { -minutes } else { minutes });
            }
            Field::Millisecond => self.fraction(3, name)?,
            Field::Microsecond => self.fraction(6, name)?,
            Field::Fraction(digits) => self.fraction(digits, name)?,
            Field::YearWithComma => {
                let thousands = self.number(9, name, true)?;
                if self.rest.starts_with(',') {
                    self.take_chars(1);
                }
                let rest = self.number(3, name, false)?;
                self.set(Field::Year(4), thousands * 1_000 + rest, name)?;
            }
            Field::Year(digits) => self.year(digits, name, is_free, Field::Year(4))?,
            Field::IsoYear(digits) => self.year(digits, name, is_free, Field::IsoYear(4))?,
            // As in PostgreSQL it is read and means nothing.
            Field::Quarter => drop(self.number(1, name, is_free)?),
            _ => {
                let value = self.number(width(field), name, is_free)?;
                self.set(field, value, name)?;
            }
        }
        Ok(())
    }

    /// Reads the last digits of a year, which is the one nearest to 2020 if there are two or fewer.
    fn year(&mut self, digits: usize, name: &str, is_free: bool, field: Field) -> Result<()> {
        let before = self.rest.len();
        let value = self.number(digits, name, is_free)?;
        let used = before - self.rest.len();
        let value = match digits {
            4 => value,
            _ if used >= 4 => value,
            _ if value < 70 => value + 2_000,
            _ if value < 100 => value + 1_900,
            _ if value < 520 => value + 2_000,
            _ if value < 1_000 => value + 1_000,
            _ => value,
        };
        self.set(field, value, name)
    }

    fn sign(&mut self) -> bool {
        let is_west = self.rest.starts_with('-');
        if self.rest.starts_with(['+', '-', ' ']) {
            self.take_chars(1);
        }
        is_west
    }

    fn offset(&mut self, name: &str) -> Result<()> {
        if !self.rest.starts_with(['+', '-']) {
            return Err(self.no_value(name, None));
        }
        let is_west = self.sign();
        let mut minutes = 60 * self.number(2, name, false)?;
        if self.rest.starts_with(':') {
            self.take_chars(1);
            minutes += self.number(2, name, false)?;
        }
        self.read.zone = Some(if is_west { -minutes } else { minutes });
        Ok(())
    }

    /// Reads what is behind the point of seconds.
    fn fraction(&mut self, digits: usize, name: &str) -> Result<()> {
        let before = self.rest;
        let value = self.number(digits, name, true)?;
        let used = (before.len() - self.rest.len()).min(6);
        let scale = 10_i64.pow(6 - u32::try_from(used).unwrap_or(6));
        let limit = 10_i64.pow(u32::try_from(digits).unwrap_or(6));
        if value >= limit {
            return Err(out_of_range(self.text));
        }
        self.set(Field::Microsecond, value * scale, name)
    }

    /// Reads one of some words, whatever their case; returns which.
    fn word(&mut self, words: &[&str], name: &str) -> Result<usize> {
        match words.iter().position(|word| starts_with(self.rest, word)) {
            Some(at) => {
                self.take_chars(words[at].len());
                Ok(at)
            }
            None => {
                let detail = "The given value did not match any of the allowed values for this \
                              field.";
                Err(self.no_value(name, Some(detail)))
            }
        }
    }

    fn name(&mut self, names: &[&str], width: usize, field: Field, pattern: &str) -> Result<()> {
        let short: Vec<&str> = names.iter().map(|name| &name[..name.len().min(width)]).collect();
        let at = self.word(&short, pattern)?;
        self.set(field, at as i64 + 1, pattern)
    }

    /// Reads a number of so many digits, or of any number of them if it `is_free`.
    fn number(&mut self, digits: usize, name: &str, is_free: bool) -> Result<i64> {
        self.skip_blanks();
        let signs = usize::from(is_free && self.rest.starts_with(['-', '+']));
        let count = self.rest[signs..].bytes().take_while(u8::is_ascii_digit).count();
        let taken = if is_free { count } else { count.min(digits) };
        let here: String = self.rest.chars().take(digits).collect();
        if !is_free && here.chars().count() < digits {
            let message = format!("source string too short for \"{name}\" formatting field");
            let left = here.chars().count();
            let detail = format!("Field requires {digits} characters, but only {left} remain.");
            return Err(invalid(message).with_detail(detail).with_hint(FIXED_HINT));
        }
        if taken == 0 {
            return Err(self.no_value(name, Some("Value must be an integer.")));
        }
        if !is_free && taken < digits {
            let message = format!("invalid value \"{here}\" for \"{name}\"");
            let detail =
                format!("Field requires {digits} characters, but only {taken} could be parsed.");
            return Err(invalid(message).with_detail(detail).with_hint(FIXED_HINT));
        }
        let value = self.rest[..signs + taken].parse::<i32>().map_err(|_| {
            let message = format!("value for \"{name}\" in source string is out of range");
            let detail = "Value must be in the range -2147483648 to 2147483647.";
            Error::new(ErrorKind::InvalidData, message).with_code("22008").with_detail(detail)
        })?;
        self.rest = &self.rest[signs + taken..];
        Ok(value.into())
    }

    fn no_value(&self, name: &str, detail: Option<&str>) -> Error {
        let word: String = self.rest.chars().take(name.len().max(1)).collect();
        let error = invalid(format!("invalid value \"{word}\" for \"{name}\""));
        match detail {
            Some(detail) => error.with_detail(detail),
            None => error,
        }
    }

    fn set(&mut self, field: Field, value: i64, name: &str) -> Result<()> {
        match self.read.get(field) {
            Some(before) if before != value => {
                let message =
                    format!("conflicting values for \"{name}\" field in formatting string");
                let detail = "This value contradicts a previous setting for the same field type.";
                Err(invalid(message).with_detail(detail))
            }
            _ => {
                self.read.values.push((field, value));
                Ok(())
            }
        }
    }
}

const FIXED_HINT: &str = "If your source string is not fixed-width, try using the \"FM\" modifier.";

fn starts_with(text: &str, word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// Digits that a number has where it may not have any number of them.
fn width(field: Field) -> usize {
    match field {
        Field::DayOfYear | Field::IsoDayOfYear => 3,
        Field::DayOfWeek | Field::IsoDayOfWeek | Field::WeekOfMonth => 1,
        Field::Julian => 7,
        Field::SecondOfDay => 5,
        _ => 2,
    }
}

impl Read {
    fn get(&self, field: Field) -> Option<i64> {
        self.values.iter().find(|(known, _)| *known == field).map(|(_, value)| *value)
    }
}

/// Returns the moment that the fields say; `None` if there is none.
fn moment(read: &Read) -> Option<i64> {
    let days = date(read)?;
    let (mut hour, mut minute, mut second) = match read.get(Field::SecondOfDay) {
        Some(seconds) => (seconds / 3_600, seconds / 60 % 60, seconds % 60),
        None => (0, 0, 0),
    };
    if let Some(value) = read.get(Field::Hour24) {
        hour = value;
    }
    if let Some(value) = read.get(Field::Hour12) {
        hour = value % 12 + if read.is_pm == Some(true) { 12 } else { 0 };
    }
    minute = read.get(Field::Minute).unwrap_or(minute);
    second = read.get(Field::Second).unwrap_or(second);
    let micro = read.get(Field::Microsecond).unwrap_or(0);
    let is_valid =
        (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    if !is_valid || micro < 0 {
        return None;
    }
    let seconds = hour * 3_600 + (minute - read.zone.unwrap_or(0)) * 60 + second;
    Some(days * DAY_US + seconds * 1_000_000 + micro)
}

/// Returns the day that the fields say, since 1970.
fn date(read: &Read) -> Option<i64> {
    if let Some(julian) = read.get(Field::Julian) {
        return Some(days_of_julian(julian));
    }
    if let Some(week) = read.get(Field::IsoWeek) {
        let year = read.get(Field::IsoYear(4))?;
        let day = read.get(Field::IsoDayOfWeek).unwrap_or(1);
        return (1..=53).contains(&week).then(|| iso_year_start(year) + (week - 1) * 7 + day - 1);
    }
    if let (Some(year), Some(day)) = (read.get(Field::IsoYear(4)), read.get(Field::IsoDayOfYear)) {
        return Some(iso_year_start(year) + day - 1);
    }
    let century = read.get(Field::Century);
    let year = match (read.get(Field::Year(4)), century) {
        (Some(year), Some(century)) if year < 100 => (century - 1) * 100 + year,
        (Some(year), _) => year,
        (None, Some(century)) => (century - 1) * 100 + 1,
        // PostgreSQL's answer is in the year 1 BC, which no column has.
        (None, None) => read.get(Field::IsoYear(4))?,
    };
    if read.is_before_christ || !(1..=9_999).contains(&year) {
        return None;
    }
    if let Some(day) = read.get(Field::DayOfYear) {
        let length = 337 + days_in_month(year, 2);
        return (1..=length).contains(&day).then(|| days_of(year, 1, 1) + day - 1);
    }
    if let Some(week) = read.get(Field::Week) {
        return (1..=53).contains(&week).then(|| days_of(year, 1, 1) + (week - 1) * 7);
    }
    let month = read.get(Field::Month).unwrap_or(1);
    let day = match (read.get(Field::DayOfMonth), read.get(Field::WeekOfMonth)) {
        (Some(day), _) => day,
        (None, Some(week)) => (week - 1) * 7 + 1,
        (None, None) => 1,
    };
    let is_valid = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
    is_valid.then(|| Civil { year, month, day, ..Civil::default() }.days())
}
