//! Texts of intervals: numbers with units, times, SQL's `years-months`, ISO 8601.
//!
//! Tokens are read from right to left, so that a unit is known before its number; a number without
//! one has the unit of the type's lowest field, or is a day before a time.

use super::SqlInterval;
use crate::datetime::{
    DatetimeFault, DatetimeToken, IntervalStyle, MICROS_MAX_SECOND, MICROS_PER_DAY,
    MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, TokenKind, fraction_micros,
    read_integer, split_tokens,
};
use crate::error::ValueError;
use crate::types::type_modifier::IntervalFields;

/// Bytes of a word that count.
const WORD_BYTES: usize = 10;

/// A unit of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IntervalUnit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
    Decade,
    Century,
    Millennium,
}

/// The unit of the next number to the left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PendingUnit {
    /// The type's lowest field.
    Lowest,
    Unit(IntervalUnit),
    /// A word that is not a unit.
    Unusable,
}

/// Sums of the fields, before months and years are joined.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IntervalSums {
    pub(super) years: i32,
    pub(super) months: i32,
    pub(super) days: i32,
    pub(super) micros: i64,
}

impl IntervalUnit {
    fn bit(self) -> u16 {
        1 << self as u16
    }

    /// Reads a unit; words count up to ten bytes.
    fn from_word(word: &str) -> Option<Self> {
        Some(match word.get(..WORD_BYTES).unwrap_or(word) {
            "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => Self::Microsecond,
            "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Self::Millisecond,
            "s" | "sec" | "secs" | "second" | "seconds" => Self::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => Self::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => Self::Hour,
            "d" | "day" | "days" => Self::Day,
            "w" | "week" | "weeks" => Self::Week,
            "mon" | "mons" | "month" | "months" => Self::Month,
            "y" | "yr" | "yrs" | "year" | "years" => Self::Year,
            "dec" | "decs" | "decade" | "decades" => Self::Decade,
            "c" | "cent" | "century" | "centuries" => Self::Century,
            "mil" | "mils" | "millennia" | "millennium" => Self::Millennium,
            _ => return None,
        })
    }

    /// Returns the unit of a bare number of a type.
    fn lowest_of(fields: IntervalFields) -> Self {
        match fields {
            IntervalFields::YEAR => Self::Year,
            IntervalFields::MONTH | IntervalFields::YEAR_TO_MONTH => Self::Month,
            IntervalFields::DAY => Self::Day,
            IntervalFields::HOUR | IntervalFields::DAY_TO_HOUR => Self::Hour,
            IntervalFields::MINUTE
            | IntervalFields::HOUR_TO_MINUTE
            | IntervalFields::DAY_TO_MINUTE => Self::Minute,
            _ => Self::Second,
        }
    }
}

impl IntervalSums {
    /// Adds a whole number and a fraction of a unit; `None` if they do not fit.
    pub(super) fn add(&mut self, unit: IntervalUnit, whole: i64, fraction: f64) -> Option<()> {
        match unit {
            IntervalUnit::Microsecond => self.add_micros(whole, fraction, 1),
            IntervalUnit::Millisecond => self.add_micros(whole, fraction, 1_000),
            IntervalUnit::Second => self.add_micros(whole, fraction, MICROS_PER_SECOND),
            IntervalUnit::Minute => self.add_micros(whole, fraction, MICROS_PER_MINUTE),
            IntervalUnit::Hour => self.add_micros(whole, fraction, MICROS_PER_HOUR),
            IntervalUnit::Day => {
                self.add_days(whole, 1)?;
                self.add_micros(0, fraction, MICROS_PER_DAY)
            }
            IntervalUnit::Week => {
                self.add_days(whole, 7)?;
                self.add_day_fraction(fraction, 7)
            }
            IntervalUnit::Month => {
                let months = i32::try_from(whole).ok()?;
                self.months = self.months.checked_add(months)?;
                self.add_day_fraction(fraction, 30)
            }
            IntervalUnit::Year => self.add_years(whole, fraction, 1),
            IntervalUnit::Decade => self.add_years(whole, fraction, 10),
            IntervalUnit::Century => self.add_years(whole, fraction, 100),
            IntervalUnit::Millennium => self.add_years(whole, fraction, 1_000),
        }
    }

    fn add_micros(&mut self, whole: i64, fraction: f64, scale: i64) -> Option<()> {
        self.micros = self.micros.checked_add(whole.checked_mul(scale)?)?;
        // Truncated and then rounded, so that no bits of large fractions are lost.
        let scaled = fraction * scale as f64;
        let mut micros = scaled as i64;
        let rest = scaled - micros as f64;
        if rest > 0.5 {
            micros += 1;
        } else if rest < -0.5 {
            micros -= 1;
        }
        self.micros = self.micros.checked_add(micros)?;
        Some(())
    }

    fn add_days(&mut self, whole: i64, scale: i32) -> Option<()> {
        let days = i32::try_from(whole).ok()?.checked_mul(scale)?;
        self.days = self.days.checked_add(days)?;
        Some(())
    }

    fn add_day_fraction(&mut self, fraction: f64, scale: i32) -> Option<()> {
        let scaled = fraction * f64::from(scale);
        // Below one unit.
        let days = scaled as i32;
        self.days = self.days.checked_add(days)?;
        self.add_micros(0, scaled - f64::from(days), MICROS_PER_DAY)
    }

    fn add_years(&mut self, whole: i64, fraction: f64, scale: i32) -> Option<()> {
        let years = i32::try_from(whole).ok()?.checked_mul(scale)?;
        self.years = self.years.checked_add(years)?;
        let months = (fraction * f64::from(scale) * 12.0).round_ties_even();
        self.months = self.months.checked_add(months as i32)?;
        Some(())
    }

    fn negated(self) -> Option<Self> {
        Some(Self {
            years: self.years.checked_neg()?,
            months: self.months.checked_neg()?,
            days: self.days.checked_neg()?,
            micros: self.micros.checked_neg()?,
        })
    }

    fn into_interval(self) -> Result<SqlInterval, ValueError> {
        let months = i64::from(self.years) * 12 + i64::from(self.months);
        let months = i32::try_from(months).map_err(|_| super::out_of_range())?;
        Ok(SqlInterval { months, days: self.days, micros: self.micros })
    }
}

impl SqlInterval {
    /// Reads an interval.
    ///
    /// # Errors
    /// 22007 if the text is not an interval, 22015 and 22008 outside of the range.
    pub fn parse(
        text: &str,
        fields: IntervalFields,
        digits: Option<u32>,
        style: IntervalStyle,
    ) -> Result<Self, ValueError> {
        let read = split_tokens(text).and_then(|tokens| read_tokens(&tokens, fields, style));
        let read = match read {
            Err(DatetimeFault::Format) => super::iso_input::read_iso(text),
            read => read,
        };
        let sums = read.map_err(|fault| match fault {
            DatetimeFault::FieldRange => {
                let message = format!("interval field value out of range: \"{text}\"");
                ValueError::interval_overflow(message)
            }
            fault => fault.into_error("interval", text),
        })?;
        sums.into_interval()?.with_fields(fields, digits)
    }
}

struct IntervalReader {
    sums: IntervalSums,
    /// Units that were read, a bit each.
    filled: u16,
    pending: PendingUnit,
    fields: IntervalFields,
    is_ago: bool,
    /// Whether the sign before the first field holds for all, as in SQL's style.
    is_negative: bool,
}

fn read_tokens(
    tokens: &[DatetimeToken],
    fields: IntervalFields,
    style: IntervalStyle,
) -> Result<IntervalSums, DatetimeFault> {
    let mut reader = IntervalReader {
        sums: IntervalSums::default(),
        filled: 0,
        pending: PendingUnit::Lowest,
        fields,
        is_ago: false,
        is_negative: style == IntervalStyle::SqlStandard
            && tokens.first().is_some_and(|token| token.text.starts_with('-'))
            && !tokens[1..].iter().any(|token| token.text.starts_with(['-', '+'])),
    };
    for token in tokens.iter().rev() {
        match token.kind {
            TokenKind::Time => reader.read_clock(&token.text, 1)?,
            TokenKind::Offset => reader.read_signed(&token.text)?,
            TokenKind::Date | TokenKind::Number => reader.read_number(&token.text)?,
            TokenKind::Word | TokenKind::SignedWord => reader.read_word(&token.text)?,
        }
    }
    if reader.filled == 0 {
        return Err(DatetimeFault::Format);
    }
    let sums = reader.sums;
    if reader.is_ago { sums.negated().ok_or(DatetimeFault::FieldRange) } else { Ok(sums) }
}

impl IntervalReader {
    fn fill(&mut self, units: u16) -> Result<(), DatetimeFault> {
        if self.filled & units != 0 {
            return Err(DatetimeFault::Format);
        }
        self.filled |= units;
        Ok(())
    }

    /// Reads `hh:mm`, `hh:mm:ss`, or `mm:ss.fff`.
    fn read_clock(&mut self, text: &str, sign: i64) -> Result<(), DatetimeFault> {
        let micros = clock_micros(text, self.fields)?;
        // A time replaces the parts of days that were read before it.
        self.sums.micros = if self.is_negative { -micros } else { sign * micros };
        let units = IntervalUnit::Hour.bit()
            | IntervalUnit::Minute.bit()
            | IntervalUnit::Second.bit()
            | IntervalUnit::Millisecond.bit()
            | IntervalUnit::Microsecond.bit();
        self.fill(units)?;
        self.pending = PendingUnit::Unit(IntervalUnit::Day);
        Ok(())
    }

    /// Reads a time or a number with its sign.
    fn read_signed(&mut self, text: &str) -> Result<(), DatetimeFault> {
        let unsigned = &text[1..];
        if unsigned.contains(':') && clock_micros(unsigned, self.fields).is_ok() {
            return self.read_clock(unsigned, if text.starts_with('-') { -1 } else { 1 });
        }
        self.read_number(text)
    }

    fn read_number(&mut self, text: &str) -> Result<(), DatetimeFault> {
        let mut unit = match self.pending {
            PendingUnit::Unit(unit) => Some(unit),
            PendingUnit::Lowest => Some(IntervalUnit::lowest_of(self.fields)),
            PendingUnit::Unusable => None,
        };
        let is_negative = text.starts_with('-');
        let (mut whole, rest) = crate::datetime::read_long(text)?;
        let mut fraction = 0.0;
        if let Some(months) = rest.strip_prefix('-') {
            // SQL's `years-months`.
            let (months, behind) = read_integer(months)?;
            if !(0..12).contains(&months) {
                return Err(DatetimeFault::FieldRange);
            }
            if !behind.is_empty() {
                return Err(DatetimeFault::Format);
            }
            unit = Some(IntervalUnit::Month);
            let months = if is_negative { -months } else { months };
            let total = whole.checked_mul(12).and_then(|total| total.checked_add(months));
            whole = total.ok_or(DatetimeFault::FieldRange)?;
        } else if rest.starts_with('.') {
            fraction = read_fraction(rest)?;
            if is_negative {
                fraction = -fraction;
            }
        } else if !rest.is_empty() {
            return Err(DatetimeFault::Format);
        }
        let unit = unit.ok_or(DatetimeFault::Format)?;
        if self.is_negative {
            whole = whole.checked_abs().map_or(whole, |whole| -whole);
            fraction = -fraction.abs();
        }
        self.pending = PendingUnit::Unit(match unit {
            IntervalUnit::Hour => IntervalUnit::Day,
            unit => unit,
        });
        self.sums.add(unit, whole, fraction).ok_or(DatetimeFault::FieldRange)?;
        let mut units = unit.bit();
        if unit == IntervalUnit::Second && fraction != 0.0 {
            units |= IntervalUnit::Millisecond.bit() | IntervalUnit::Microsecond.bit();
        }
        self.fill(units)
    }

    fn read_word(&mut self, word: &str) -> Result<(), DatetimeFault> {
        self.pending = match word {
            "ago" => {
                self.is_ago = true;
                PendingUnit::Unusable
            }
            word => match IntervalUnit::from_word(word) {
                Some(unit) => PendingUnit::Unit(unit),
                // Known to PostgreSQL as units, but not of intervals.
                None if is_other_unit(word) => PendingUnit::Unusable,
                None => return Err(DatetimeFault::Format),
            },
        };
        Ok(())
    }
}

/// Returns whether a word is a unit that no interval has; alone it is ignored.
fn is_other_unit(word: &str) -> bool {
    let word = word.get(..WORD_BYTES).unwrap_or(word);
    matches!(word, "qtr" | "quarter" | "timezone" | "timezone_h" | "timezone_m")
}

/// Reads a time of any number of hours.
fn clock_micros(text: &str, fields: IntervalFields) -> Result<i64, DatetimeFault> {
    let (mut hour, rest) = crate::datetime::read_long(text)?;
    let rest = rest.strip_prefix(':').ok_or(DatetimeFault::Format)?;
    let (mut minute, rest) = read_integer(rest)?;
    let (mut second, mut micros) = (0, 0);
    if rest.is_empty() {
        if fields == IntervalFields::MINUTE_TO_SECOND {
            (hour, minute, second) = (0, hour, minute);
        }
    } else if rest.starts_with('.') {
        micros = fraction_micros(rest)?;
        (hour, minute, second) = (0, hour, minute);
    } else {
        let rest = rest.strip_prefix(':').ok_or(DatetimeFault::Format)?;
        let (value, rest) = read_integer(rest)?;
        second = value;
        if !rest.is_empty() {
            micros = fraction_micros(rest)?;
        }
    }
    let is_valid = hour >= 0
        && (0..=59).contains(&minute)
        && (0..=60).contains(&second)
        && (0..=MICROS_MAX_SECOND).contains(&micros);
    if !is_valid {
        return Err(DatetimeFault::FieldRange);
    }
    let below = minute * MICROS_PER_MINUTE + second * MICROS_PER_SECOND + micros;
    let total = hour.checked_mul(MICROS_PER_HOUR).and_then(|total| total.checked_add(below));
    total.ok_or(DatetimeFault::FieldRange)
}

/// Reads a fraction from its point to the end of the text.
fn read_fraction(text: &str) -> Result<f64, DatetimeFault> {
    match text {
        "." => Ok(0.0),
        text if text[1..].bytes().all(|digit| digit.is_ascii_digit()) => {
            text.parse().map_err(|_| DatetimeFault::Format)
        }
        _ => Err(DatetimeFault::Format),
    }
}
