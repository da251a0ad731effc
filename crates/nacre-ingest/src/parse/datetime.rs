//! Dates and timestamps without time zone, in PostgreSQL's ISO forms.
//!
//! Taken: `yyyy-m-d`, `yyyy/m/d`, `yyyymmdd`, for timestamps followed by a blank or `T` and
//! `h:mm[:ss[.fraction]]`. A time zone after the time is read and ignored, as PostgreSQL does for
//! `timestamp without time zone`. Years are 1 to 9999. Not taken: `infinity`, years before 1,
//! names of months; the error says so.

use super::{ValueResult, number, trimmed};
use crate::error::{ErrorKind, ValueError, shown};

const SECOND_US: i64 = 1_000_000;
const DAY_US: i64 = 86_400 * SECOND_US;

/// Returns the days from 1970-01-01 to a date of the proleptic Gregorian calendar.
///
/// Years begin in March, so that the leap day is the last of its year.
///
/// ```
/// # use nacre_ingest::parse::days_from_civil;
/// assert_eq!(days_from_civil(1970, 1, 1), 0);
/// assert_eq!(days_from_civil(2000, 3, 1), 11_017);
/// ```
#[inline(always)]
pub fn days_from_civil(year: u32, month: u32, day: u32) -> i32 {
    // Shifted by 400 years, a whole cycle of 146,097 days, so that nothing is negative.
    let is_before_march = u32::from(month <= 2);
    let year = year + 400 - is_before_march;
    let month = month + 12 * is_before_march - 3;
    let century = year / 100;
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let days = 365 * year + year / 4 - century + century / 4 + day_of_year;
    days as i32 - (719_468 + 146_097)
}

/// Returns the number of days of a month, 1 to 12.
#[inline(always)]
pub fn days_in_month(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    if month == 2 { 28 + u32::from(is_leap) } else { 30 + ((month + (month >> 3)) & 1) }
}

#[inline(always)]
fn checked_days(year: u32, month: u32, day: u32) -> Option<i32> {
    let is_valid = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && day >= 1
        && day <= days_in_month(year, month);
    is_valid.then(|| days_from_civil(year, month, day))
}

/// Parses `yyyy-mm-dd` of exactly ten bytes; `None` for any other form.
#[inline(always)]
pub(crate) fn date_fast(text: &[u8]) -> Option<i32> {
    let text: &[u8; 10] = text.try_into().ok()?;
    if text[4] != b'-' || text[7] != b'-' {
        return None;
    }
    let [a, b, c, d, _, e, f, _, g, h] = *text;
    let number = number::checked_digits(u64::from_le_bytes([a, b, c, d, e, f, g, h]))? as u32;
    checked_days(number / 10_000, number / 100 % 100, number % 100)
}

/// Parses `yyyy-mm-dd hh:mm:ss` of exactly nineteen bytes; `None` for any other form.
#[inline(always)]
pub(crate) fn timestamp_fast(text: &[u8]) -> Option<i64> {
    let text: &[u8; 19] = text.try_into().ok()?;
    let days = date_fast(&text[..10])?;
    let [a, b, colon, c, d, second_colon, e, f] = *text.last_chunk()?;
    if (text[10], colon, second_colon) != (b' ', b':', b':') {
        return None;
    }
    let number = number::checked_digits(u64::from_le_bytes([b'0', b'0', a, b, c, d, e, f]))?;
    let (hour, minute, second) = (number / 10_000, number / 100 % 100, number % 100);
    let is_valid = hour < 24 && minute < 60 && second < 60;
    let seconds = (hour * 3_600 + minute * 60 + second) as i64;
    is_valid.then(|| i64::from(days) * DAY_US + seconds * SECOND_US)
}

/// Parses a `date` into days since 1970-01-01. A time of day after it is read and ignored.
///
/// # Errors
/// `InvalidDatetime`, `DatetimeOutOfRange`, `NotSupported`.
pub fn parse_date(text: &[u8]) -> ValueResult<i32> {
    if let Some(days) = date_fast(text) {
        return Ok(days);
    }
    parse(text).map(|moment| moment.days).map_err(|fault| fault.into_error("date", text))
}

/// Parses a `timestamp` into microseconds since 1970-01-01 00:00, rounded half to even.
///
/// # Errors
/// `InvalidDatetime`, `DatetimeOutOfRange`, `NotSupported`.
pub fn parse_timestamp(text: &[u8]) -> ValueResult<i64> {
    parse(text)
        .map(|moment| i64::from(moment.days) * DAY_US + moment.time_us)
        .map_err(|fault| fault.into_error("timestamp", text))
}

/// Parses a `timestamp with time zone` into microseconds since 1970-01-01 00:00 UTC; a text
/// without a zone is in UTC.
///
/// # Errors
/// As [`parse_timestamp`].
pub fn parse_timestamptz(text: &[u8]) -> ValueResult<i64> {
    parse(text)
        .map(|moment| {
            let east_us = i64::from(moment.zone_seconds) * SECOND_US;
            i64::from(moment.days) * DAY_US + moment.time_us - east_us
        })
        .map_err(|fault| fault.into_error("timestamp with time zone", text))
}

/// Parses a `time` into microseconds of the day, rounded half to even: `h:mm[:ss[.fraction]]`,
/// `hhmm` or `hhmmss[.fraction]`, with `AM` or `PM`, also behind a date. A zone is ignored.
///
/// # Errors
/// As [`parse_timestamp`].
pub fn parse_time(text: &[u8]) -> ValueResult<i64> {
    let read = || {
        let (rest, half) = without_half(trimmed(text));
        let rest = match rest {
            [b'T' | b't', rest @ ..] => rest,
            rest => rest,
        };
        let time_us = match compact_time(rest)? {
            Some(time_us) => time_us,
            None => match time_part(rest) {
                Ok((time_us, _)) => time_us,
                // A date before it.
                Err(Fault::Syntax) => match date_part(rest)? {
                    (_, [b' ' | b'T' | b't', rest @ ..]) => time_part(trimmed(rest))?.0,
                    _ => return Err(Fault::Syntax),
                },
                Err(fault) => return Err(fault),
            },
        };
        half.map_or(Ok(time_us), |half| half.time_us(time_us))
    };
    read().map_err(|fault: Fault| fault.into_error("time", text))
}

/// A half of the day.
#[derive(Clone, Copy)]
enum DayHalf {
    Am,
    Pm,
}

impl DayHalf {
    /// Returns the time that a clock of twelve hours shows in this half.
    fn time_us(self, time_us: i64) -> Result<i64, Fault> {
        const HALF_US: i64 = DAY_US / 2;
        const HOUR_US: i64 = DAY_US / 24;
        if time_us >= HALF_US + HOUR_US {
            return Err(Fault::OutOfRange);
        }
        let is_noon = time_us >= HALF_US;
        Ok(match self {
            Self::Am if is_noon => time_us - HALF_US,
            Self::Pm if !is_noon => time_us + HALF_US,
            _ => time_us,
        })
    }
}

/// Cuts `AM` or `PM` off the end.
fn without_half(text: &[u8]) -> (&[u8], Option<DayHalf>) {
    match text {
        [rest @ .., b'a' | b'A', b'm' | b'M'] => (trimmed(rest), Some(DayHalf::Am)),
        [rest @ .., b'p' | b'P', b'm' | b'M'] => (trimmed(rest), Some(DayHalf::Pm)),
        text => (text, None),
    }
}

/// Reads a time without colons, `0405` or `040506.7`; `None` for other forms.
fn compact_time(text: &[u8]) -> Result<Option<i64>, Fault> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction_us, rest) = match &text[digits..] {
        [b'.', tail @ ..] if digits == 6 => fraction_part(tail),
        rest => (0, rest),
    };
    let is_zone = matches!(rest, [] | [b'+' | b'-' | b' ' | b'z' | b'Z', ..]);
    if !matches!(digits, 4 | 6) || !is_zone {
        return Ok(None);
    }
    let (number, ..) = take_number(&text[..digits])?;
    let number = if digits == 4 { number * 100 } else { number };
    let (hour, minute, second) = (number / 10_000, number / 100 % 100, number % 100);
    if zone_part(trimmed(rest)).is_err() {
        // A year, for example.
        return Ok(None);
    }
    let seconds = i64::from(hour * 3_600 + minute * 60 + second);
    let time_us = seconds * SECOND_US + fraction_us;
    if hour > 24 || minute > 59 || second > 60 || time_us > DAY_US {
        return Err(Fault::OutOfRange);
    }
    Ok(Some(time_us))
}

/// What a text says.
struct Moment {
    days: i32,
    /// Of the day.
    time_us: i64,
    /// East of UTC.
    zone_seconds: i32,
}

/// Why a text is no date or timestamp.
enum Fault {
    Syntax,
    OutOfRange,
    NotSupported(&'static str),
}

impl Fault {
    #[cold]
    fn into_error(self, type_name: &str, text: &[u8]) -> Box<ValueError> {
        let text = shown(text);
        match self {
            Self::Syntax => ValueError::new(
                ErrorKind::InvalidDatetime,
                format!("invalid input syntax for type {type_name}: \"{text}\""),
            ),
            Self::OutOfRange => ValueError::new(
                ErrorKind::DatetimeOutOfRange,
                format!("date/time field value out of range: \"{text}\""),
            ),
            Self::NotSupported(what) => ValueError::new(
                ErrorKind::NotSupported,
                format!("not supported: {what} in type {type_name}: \"{text}\""),
            ),
        }
    }
}

fn parse(text: &[u8]) -> Result<Moment, Fault> {
    let text = trimmed(text);
    for special in ["infinity", "+infinity", "-infinity", "epoch", "now", "today"] {
        if text.eq_ignore_ascii_case(special.as_bytes()) {
            return Err(Fault::NotSupported("special date"));
        }
    }
    let text = match text {
        [rest @ .., b'a' | b'A', b'd' | b'D'] if rest.last() == Some(&b' ') => trimmed(rest),
        [rest @ .., b'b' | b'B', b'c' | b'C'] if rest.last() == Some(&b' ') => {
            let is_date = rest.first().is_some_and(u8::is_ascii_digit);
            let before_christ = Fault::NotSupported("year before 1");
            return Err(if is_date { before_christ } else { Fault::Syntax });
        }
        _ => text,
    };
    let (days, rest) = date_part(text)?;
    let rest = match rest {
        [] => return Ok(Moment { days, time_us: 0, zone_seconds: 0 }),
        [b' ' | b'T' | b't', rest @ ..] => trimmed(rest),
        [b'+' | b'-', ..] => rest,
        _ => return Err(Fault::Syntax),
    };
    // A zone without a time, as drivers write dates.
    if !rest.first().is_some_and(u8::is_ascii_digit) {
        return zone_part(rest).map(|zone_seconds| Moment { days, time_us: 0, zone_seconds });
    }
    let (time_us, zone_seconds) = time_part(rest)?;
    if days == days_from_civil(9999, 12, 31) && time_us >= DAY_US {
        return Err(Fault::OutOfRange);
    }
    Ok(Moment { days, time_us, zone_seconds })
}

/// Takes the digits at the front, at most nine.
fn take_number(text: &[u8]) -> Result<(u32, usize, &[u8]), Fault> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 {
        return Err(Fault::Syntax);
    }
    if digits > 9 {
        return Err(Fault::OutOfRange);
    }
    let value = text[..digits].iter().fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    Ok((value, digits, &text[digits..]))
}

fn date_part(text: &[u8]) -> Result<(i32, &[u8]), Fault> {
    let (first, digits, rest) = take_number(text)?;
    let (year, month, day, rest) = match (digits, rest) {
        (8, _) => (first / 10_000, first / 100 % 100, first % 100, rest),
        (3.., [separator @ (b'-' | b'/'), rest @ ..]) => {
            let (month, _, rest) = take_number(rest)?;
            let rest = rest.strip_prefix(&[*separator]).ok_or(Fault::Syntax)?;
            let (day, _, rest) = take_number(rest)?;
            (first, month, day, rest)
        }
        // Two-digit first fields depend on PostgreSQL's DateStyle: refused rather than guessed.
        _ => return Err(Fault::Syntax),
    };
    let days = checked_days(year, month, day).ok_or(Fault::OutOfRange)?;
    Ok((days, rest))
}

/// Returns microseconds of the day, and seconds that the zone is east of UTC.
fn time_part(text: &[u8]) -> Result<(i64, i32), Fault> {
    let (hour, _, rest) = take_number(text)?;
    let rest = rest.strip_prefix(b":").ok_or(Fault::Syntax)?;
    let (minute, _, mut rest) = take_number(rest)?;
    let mut second_us = 0;
    if let [b':', tail @ ..] = rest {
        let (second, _, tail) = take_number(tail)?;
        let (fraction_us, tail) = match tail {
            [b'.', tail @ ..] => fraction_part(tail),
            _ => (0, tail),
        };
        second_us = i64::from(second) * SECOND_US + fraction_us;
        rest = tail;
        // 60 is taken for leap seconds and means the next minute; 60.1 does not exist.
        if second > 60 || (second == 60 && fraction_us > 0) {
            return Err(Fault::OutOfRange);
        }
    }
    let zone_seconds = zone_part(trimmed(rest))?;
    let time_us = (i64::from(hour) * 3_600 + i64::from(minute) * 60) * SECOND_US + second_us;
    // 24:00:00 is midnight of the next day, and the latest time there is.
    if hour > 24 || minute > 59 || time_us > DAY_US {
        return Err(Fault::OutOfRange);
    }
    Ok((time_us, zone_seconds))
}

/// Takes the digits after the point, as microseconds rounded half to even.
fn fraction_part(text: &[u8]) -> (i64, &[u8]) {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (fraction, rest) = text.split_at(digits);
    let mut value = 0;
    for index in 0..6 {
        value = value * 10 + fraction.get(index).map_or(0, |digit| i64::from(digit - b'0'));
    }
    let beyond = fraction.get(6..).unwrap_or_default();
    let is_more_than_half = |tail: &[u8]| tail.iter().any(|digit| *digit != b'0');
    let rounds_up = match beyond {
        [b'6'..=b'9', ..] => true,
        [b'5', tail @ ..] => is_more_than_half(tail) || value % 2 == 1,
        _ => false,
    };
    (value + i64::from(rounds_up), rest)
}

/// Reads `Z`, `UTC`, `+hh`, `+hhmm` or `+hh:mm[:ss]`; returns the seconds east of UTC.
fn zone_part(text: &[u8]) -> Result<i32, Fault> {
    let (rest, sign) = match text {
        [] => return Ok(0),
        [b'z' | b'Z'] => return Ok(0),
        _ if text.eq_ignore_ascii_case(b"utc") || text.eq_ignore_ascii_case(b"gmt") => {
            return Ok(0);
        }
        [b'+', rest @ ..] => (rest, 1),
        [b'-', rest @ ..] => (rest, -1),
        _ => return Err(Fault::Syntax),
    };
    let (hour, digits, mut rest) = take_number(rest)?;
    if digits > 4 {
        return Err(Fault::Syntax);
    }
    let (hours, minutes) = if digits > 2 { (hour / 100, hour % 100) } else { (hour, 0) };
    let mut seconds = hours * 3_600 + minutes * 60;
    let mut unit = 60;
    while let [b':', tail @ ..] = rest
        && unit > 0
        && digits <= 2
    {
        let (part, _, tail) = take_number(tail)?;
        if part > 59 {
            return Err(Fault::OutOfRange);
        }
        seconds += part * unit;
        (rest, unit) = (tail, unit / 60);
    }
    match rest {
        [] if hours <= 15 => Ok(sign * seconds as i32),
        [] => Err(Fault::OutOfRange),
        _ => Err(Fault::Syntax),
    }
}
