//! The fields that tokens fill, and how each token is read.
//!
//! # Invariants
//! 1. A field is filled once; a second token for it is a malformed text.
//! 2. Whether month and day exist is checked when all fields are known.

use super::super::calendar::{CivilDate, days_in_month, days_of_civil};
use super::super::settings::{DateOrder, DatetimeSettings};
use super::super::zone::TimeZoneRules;
use super::super::{MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use super::DatetimeFault;
use super::keywords::{DatetimeKeyword, find_keyword};

/// Largest offset from UTC, in hours.
const ZONE_HOURS_MAX: i64 = 15;

/// A fraction may round up to a whole second.
pub(crate) const MICROS_MAX_SECOND: i64 = MICROS_PER_SECOND;

/// Which fields are filled, a bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FieldSet(u16);

impl FieldSet {
    pub(super) const NONE: Self = Self(0);
    pub(super) const YEAR: Self = Self(1);
    pub(super) const MONTH: Self = Self(1 << 1);
    pub(super) const DAY: Self = Self(1 << 2);
    pub(super) const HOUR: Self = Self(1 << 3);
    pub(super) const MINUTE: Self = Self(1 << 4);
    pub(super) const SECOND: Self = Self(1 << 5);
    pub(super) const ZONE: Self = Self(1 << 6);
    pub(super) const DAY_OF_YEAR: Self = Self(1 << 7);
    pub(super) const MERIDIEM: Self = Self(1 << 8);
    pub(super) const ERA: Self = Self(1 << 9);
    pub(super) const WEEKDAY: Self = Self(1 << 10);
    pub(super) const DST: Self = Self(1 << 11);
    pub(super) const RESERVED: Self = Self(1 << 12);
    pub(super) const DATE: Self = Self(7);
    pub(super) const TIME: Self = Self(7 << 3);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn has_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    pub(super) fn has_any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    fn date_part(self) -> Self {
        Self(self.0 & Self::DATE.0)
    }
}

/// The zone that a text names.
#[derive(Clone, Debug, Default)]
pub(super) enum ZoneField {
    #[default]
    Session,
    /// Seconds ahead of UTC.
    Offset(i32),
    Named(TimeZoneRules),
    /// An abbreviation that has the offset that this zone gave it at that time.
    Abbreviated(TimeZoneRules, String),
}

impl ZoneField {
    /// Returns the offset when clocks show a time, in microseconds from 2000-01-01.
    pub(super) fn seconds_east(&self, local: i64, settings: &DatetimeSettings) -> i32 {
        match self {
            Self::Session => settings.time_zone.seconds_east_of_local(local),
            Self::Offset(seconds) => *seconds,
            Self::Named(zone) => zone.seconds_east_of_local(local),
            Self::Abbreviated(zone, word) => zone.seconds_east_of_abbreviation(word, local),
        }
    }
}

/// What a run of digits turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DigitsMeaning {
    Date,
    Time,
}

/// The fields of a date and time.
#[derive(Clone, Debug, Default)]
pub(super) struct DatetimeFields {
    pub(super) set: FieldSet,
    pub(super) year: i64,
    pub(super) month: i32,
    pub(super) day: i32,
    pub(super) day_of_year: i32,
    pub(super) hour: i32,
    pub(super) minute: i32,
    pub(super) second: i32,
    pub(super) micros: i64,
    pub(super) zone: ZoneField,
    pub(super) is_julian: bool,
    pub(super) is_two_digit_year: bool,
    pub(super) is_bc: bool,
    pub(super) is_pm: Option<bool>,
    pub(super) has_month_name: bool,
}

impl DatetimeFields {
    /// Notes that fields are filled.
    pub(super) fn fill(&mut self, fields: FieldSet) -> Result<(), DatetimeFault> {
        if self.set.has_any(fields) {
            return Err(DatetimeFault::Format);
        }
        self.set = self.set.and(fields);
        Ok(())
    }

    /// Reads a date with delimiters; `known` are the fields filled before.
    pub(super) fn read_date(
        &mut self,
        text: &str,
        order: DateOrder,
    ) -> Result<FieldSet, DatetimeFault> {
        let parts = split_date(text)?;
        let mut known = self.set;
        let mut filled = FieldSet::NONE;
        let mut has_month_name = false;
        for word in
            parts.iter().filter(|part| part.starts_with(|one: char| one.is_ascii_alphabetic()))
        {
            match find_keyword(word) {
                Some(DatetimeKeyword::Ignored) => {}
                Some(DatetimeKeyword::Month(month)) if !known.has_any(FieldSet::MONTH) => {
                    self.month = month;
                    has_month_name = true;
                    known = known.and(FieldSet::MONTH);
                    filled = filled.and(FieldSet::MONTH);
                }
                _ => return Err(DatetimeFault::Format),
            }
        }
        for number in parts.iter().filter(|part| part.starts_with(|one: char| one.is_ascii_digit()))
        {
            let read = self.read_number(number, known, has_month_name, order)?;
            if known.has_any(read) {
                return Err(DatetimeFault::Format);
            }
            known = known.and(read);
            filled = filled.and(read);
        }
        let extra = FieldSet::DAY_OF_YEAR.and(FieldSet::ZONE);
        match FieldSet(known.0 & !extra.0) {
            FieldSet::DATE => Ok(filled),
            _ => Err(DatetimeFault::Format),
        }
    }

    /// Reads a number whose place says what it is; returns what it filled.
    pub(super) fn read_number(
        &mut self,
        text: &str,
        known: FieldSet,
        has_month_name: bool,
        order: DateOrder,
    ) -> Result<FieldSet, DatetimeFault> {
        let (value, rest) = read_integer(text)?;
        let value = i32::try_from(value).map_err(|_| DatetimeFault::FieldRange)?;
        let digits = text.len() - rest.len();
        if digits == 0 {
            return Err(DatetimeFault::Format);
        }
        if rest.starts_with('.') {
            if digits > 2 {
                let (filled, _) = self.read_digits(text, known.and(FieldSet::DATE))?;
                return Ok(filled);
            }
            self.micros = fraction_micros(rest)?;
        } else if !rest.is_empty() {
            return Err(DatetimeFault::Format);
        }
        let is_day_of_year =
            text.len() == 3 && known.date_part() == FieldSet::YEAR && (1..=366).contains(&value);
        if is_day_of_year {
            self.day_of_year = value;
            return Ok(FieldSet::DAY_OF_YEAR.and(FieldSet::MONTH).and(FieldSet::DAY));
        }
        let is_long = text.len() >= 3;
        let is_year_first = order == DateOrder::YearMonthDay;
        let filled = match known.date_part() {
            FieldSet::NONE if is_long || is_year_first => FieldSet::YEAR,
            FieldSet::NONE if order == DateOrder::DayMonthYear => FieldSet::DAY,
            FieldSet::NONE => FieldSet::MONTH,
            FieldSet::YEAR => FieldSet::MONTH,
            FieldSet::MONTH if has_month_name && (is_long || is_year_first) => FieldSet::YEAR,
            FieldSet::MONTH => FieldSet::DAY,
            FieldSet::DAY => FieldSet::MONTH,
            set if set == FieldSet::YEAR.and(FieldSet::MONTH) => {
                if has_month_name && is_long && self.is_two_digit_year {
                    // The first number was the day after all.
                    self.day = i32::try_from(self.year).map_err(|_| DatetimeFault::FieldRange)?;
                    self.year = value.into();
                    self.is_two_digit_year = false;
                    return Ok(FieldSet::DAY);
                }
                FieldSet::DAY
            }
            set if set == FieldSet::MONTH.and(FieldSet::DAY) => FieldSet::YEAR,
            FieldSet::DATE => {
                let (filled, _) = self.read_digits(text, known)?;
                return Ok(filled);
            }
            _ => return Err(DatetimeFault::Format),
        };
        match filled {
            FieldSet::YEAR => {
                self.year = value.into();
                self.is_two_digit_year = text.len() <= 2;
            }
            FieldSet::MONTH => self.month = value,
            _ => self.day = value,
        }
        Ok(filled)
    }

    /// Reads digits without delimiters: a date of six and more, a time of six or four, with a
    /// fraction behind a time.
    pub(super) fn read_digits(
        &mut self,
        text: &str,
        known: FieldSet,
    ) -> Result<(FieldSet, DigitsMeaning), DatetimeFault> {
        let number = |part: &str| match read_integer(part)? {
            (value, _) if let Ok(value) = i32::try_from(value) => Ok(value),
            _ => Err(DatetimeFault::FieldRange),
        };
        let (digits, fraction) = match text.split_once('.') {
            Some((digits, fraction)) => (digits, Some(fraction)),
            None => (text, None),
        };
        if !digits.is_ascii() {
            return Err(DatetimeFault::Format);
        }
        match fraction {
            Some(fraction) => self.micros = fraction_micros(&format!(".{fraction}"))?,
            None if !known.has_all(FieldSet::DATE) && digits.len() >= 6 => {
                let (start, day) = digits.split_at(digits.len() - 2);
                let (year, month) = start.split_at(start.len() - 2);
                self.day = number(day)?;
                self.month = number(month)?;
                self.year = number(year)?.into();
                self.is_two_digit_year = year.len() == 2;
                return Ok((FieldSet::DATE, DigitsMeaning::Date));
            }
            None => {}
        }
        if known.has_all(FieldSet::TIME) {
            return Err(DatetimeFault::Format);
        }
        let (clock, second) = match digits.len() {
            6 => (&digits[..4], number(&digits[4..])?),
            4 => (digits, 0),
            _ => return Err(DatetimeFault::Format),
        };
        self.hour = number(&clock[..2])?;
        self.minute = number(&clock[2..])?;
        self.second = second;
        Ok((FieldSet::TIME, DigitsMeaning::Time))
    }

    /// Reads a time with colons.
    pub(super) fn read_clock(&mut self, text: &str) -> Result<FieldSet, DatetimeFault> {
        let small = |value: i64| i32::try_from(value).map_err(|_| DatetimeFault::FieldRange);
        let (hour, rest) = read_integer(text)?;
        let rest = rest.strip_prefix(':').ok_or(DatetimeFault::Format)?;
        let (minute, rest) = read_integer(rest)?;
        (self.hour, self.minute, self.second) = (small(hour)?, small(minute)?, 0);
        self.micros = 0;
        if rest.starts_with('.') {
            // Minutes and seconds.
            self.micros = fraction_micros(rest)?;
            (self.hour, self.minute, self.second) = (0, self.hour, self.minute);
        } else if let Some(rest) = rest.strip_prefix(':') {
            let (second, rest) = read_integer(rest)?;
            self.second = small(second)?;
            if rest.starts_with('.') {
                self.micros = fraction_micros(rest)?;
            } else if !rest.is_empty() {
                return Err(DatetimeFault::Format);
            }
        } else if !rest.is_empty() {
            return Err(DatetimeFault::Format);
        }
        let is_valid = self.hour >= 0
            && (0..=59).contains(&self.minute)
            && (0..=60).contains(&self.second)
            && (0..=MICROS_MAX_SECOND).contains(&self.micros);
        if is_valid { Ok(FieldSet::TIME) } else { Err(DatetimeFault::FieldRange) }
    }

    /// Returns the microseconds of the day; up to and with 24:00.
    pub(super) fn clock_micros(&self) -> Result<i64, DatetimeFault> {
        let is_valid = (0..=24).contains(&self.hour)
            && (0..=59).contains(&self.minute)
            && (0..=60).contains(&self.second)
            && (0..=MICROS_MAX_SECOND).contains(&self.micros);
        let micros = i64::from(self.hour) * MICROS_PER_HOUR
            + i64::from(self.minute) * MICROS_PER_MINUTE
            + i64::from(self.second) * MICROS_PER_SECOND
            + self.micros;
        if is_valid && micros <= MICROS_PER_DAY {
            Ok(micros)
        } else {
            Err(DatetimeFault::FieldRange)
        }
    }

    /// Completes the year and checks that month and day exist.
    pub(super) fn check_date(&mut self) -> Result<(), DatetimeFault> {
        if self.set.has_any(FieldSet::YEAR) && !self.is_julian {
            if self.is_bc {
                if self.year <= 0 {
                    return Err(DatetimeFault::FieldRange);
                }
                self.year = 1 - self.year;
            } else if self.is_two_digit_year {
                match self.year {
                    ..0 => return Err(DatetimeFault::FieldRange),
                    0..70 => self.year += 2_000,
                    70..100 => self.year += 1_900,
                    _ => {}
                }
            } else if self.year <= 0 {
                return Err(DatetimeFault::FieldRange);
            }
        }
        if self.set.has_any(FieldSet::DAY_OF_YEAR) {
            let days = days_of_civil(self.year, 1, 1) + i64::from(self.day_of_year) - 1;
            (self.month, self.day) = (1, 1);
            // Years that are out of any range are refused later.
            if let Ok(days) = i32::try_from(days) {
                let date = CivilDate::from_days(days);
                (self.year, self.month, self.day) = (date.year.into(), date.month, date.day);
            }
        }
        if self.set.has_any(FieldSet::MONTH) && !(1..=12).contains(&self.month) {
            return Err(DatetimeFault::MonthDayRange);
        }
        if self.set.has_any(FieldSet::DAY) && !(1..=31).contains(&self.day) {
            return Err(DatetimeFault::MonthDayRange);
        }
        let is_date = self.set.has_all(FieldSet::DATE);
        if is_date && self.day > days_in_month(self.year, self.month) {
            return Err(DatetimeFault::FieldRange);
        }
        Ok(())
    }

    /// Applies `am` and `pm`.
    pub(super) fn apply_meridiem(&mut self) -> Result<(), DatetimeFault> {
        let Some(is_pm) = self.is_pm else { return Ok(()) };
        if self.hour > 12 {
            return Err(DatetimeFault::FieldRange);
        }
        match (is_pm, self.hour) {
            (false, 12) => self.hour = 0,
            (true, ..12) => self.hour += 12,
            _ => {}
        }
        Ok(())
    }
}

/// Cuts a date at its delimiters.
fn split_date(text: &str) -> Result<Vec<&str>, DatetimeFault> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        rest = rest.trim_start_matches(|one: char| !one.is_ascii_alphanumeric());
        let Some(first) = rest.chars().next() else { return Err(DatetimeFault::Format) };
        let is_digit = first.is_ascii_digit();
        let is_part =
            |one: char| if is_digit { one.is_ascii_digit() } else { one.is_ascii_alphabetic() };
        let end = rest.find(|one| !is_part(one)).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        // PostgreSQL drops the character behind a part, a digit or letter, too.
        rest = rest[end..].strip_prefix(|_: char| true).unwrap_or_default();
    }
    Ok(parts)
}

/// Reads an offset from UTC; returns seconds ahead of it.
pub(super) fn read_offset(text: &str) -> Result<i32, DatetimeFault> {
    let is_west = text.starts_with('-');
    let digits = text.strip_prefix(['+', '-']).ok_or(DatetimeFault::Format)?;
    let zone_range = |fault: DatetimeFault| match fault {
        DatetimeFault::FieldRange => DatetimeFault::ZoneRange,
        fault => fault,
    };
    let (mut hour, mut rest) = read_integer(digits).map_err(zone_range)?;
    let (mut minute, mut second) = (0, 0);
    if let Some(behind) = rest.strip_prefix(':') {
        (minute, rest) = read_integer(behind).map_err(zone_range)?;
        if let Some(behind) = rest.strip_prefix(':') {
            (second, rest) = read_integer(behind).map_err(zone_range)?;
        }
    } else if rest.is_empty() && text.len() > 3 {
        (hour, minute) = (hour / 100, hour % 100);
    }
    let is_valid = (0..=ZONE_HOURS_MAX).contains(&hour)
        && (0..60).contains(&minute)
        && (0..60).contains(&second);
    if !is_valid {
        return Err(DatetimeFault::ZoneRange);
    }
    if !rest.is_empty() {
        return Err(DatetimeFault::Format);
    }
    let seconds = (hour * 60 + minute) * 60 + second;
    // At most 15 hours.
    Ok(if is_west { -seconds } else { seconds } as i32)
}

/// Reads an integer of 32 bits at the start of a text, with a sign; returns the rest. Without
/// digits the value is 0 and the rest is the whole.
pub(crate) fn read_integer(text: &str) -> Result<(i64, &str), DatetimeFault> {
    let (value, rest) = read_long(text)?;
    match i32::try_from(value) {
        Ok(value) => Ok((value.into(), rest)),
        Err(_) => Err(DatetimeFault::FieldRange),
    }
}

/// As [`read_integer`], of 64 bits.
pub(crate) fn read_long(text: &str) -> Result<(i64, &str), DatetimeFault> {
    let sign_bytes = usize::from(text.starts_with(['+', '-']));
    let digits = text[sign_bytes..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Ok((0, text));
    }
    let (number, rest) = text.split_at(sign_bytes + digits);
    let value = number.parse().map_err(|_| DatetimeFault::FieldRange)?;
    Ok((value, rest))
}

/// Reads a fraction of a second, from its point to the end of the text.
pub(crate) fn fraction_micros(text: &str) -> Result<i64, DatetimeFault> {
    let digits = text.strip_prefix('.').ok_or(DatetimeFault::Format)?;
    if digits.is_empty() {
        return Ok(0);
    }
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(DatetimeFault::Format);
    }
    let fraction: f64 = text.parse().map_err(|_| DatetimeFault::Format)?;
    Ok((fraction * MICROS_PER_SECOND as f64).round_ties_even() as i64)
}
