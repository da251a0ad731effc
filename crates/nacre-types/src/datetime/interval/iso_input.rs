//! Intervals of ISO 8601: with designators (`P1Y2M3DT4H5M6S`), and the alternative forms, extended
//! (`P0001-02-03T04:05:06`) and basic (`P00010203T040506`).

use super::input::{IntervalSums, IntervalUnit};
use crate::datetime::DatetimeFault;

/// Largest magnitude of a number.
const NUMBER_MAX: f64 = 1.0e15;

/// Digits of a date and a time of the basic form.
const BASIC_DATE_DIGITS: usize = 8;
const BASIC_TIME_DIGITS: usize = 6;

struct IsoReader<'a> {
    rest: &'a str,
    sums: IntervalSums,
    is_date: bool,
    /// Whether a designator was read in this part.
    has_field: bool,
}

/// A number, and how many digits it begins with.
struct IsoNumber {
    whole: i64,
    fraction: f64,
    digits: usize,
}

/// Reads an interval that begins with `P`.
pub(super) fn read_iso(text: &str) -> Result<IntervalSums, DatetimeFault> {
    let rest = text.strip_prefix('P').filter(|rest| !rest.is_empty());
    let rest = rest.ok_or(DatetimeFault::Format)?;
    let sums = IntervalSums::default();
    let mut reader = IsoReader { rest, sums, is_date: true, has_field: false };
    while !reader.rest.is_empty() {
        if reader.take('T') {
            reader.begin_time();
            continue;
        }
        let number = reader.read_number()?;
        let unit = reader.rest.chars().next();
        let is_done = if reader.is_date {
            reader.read_date_part(&number, unit)?
        } else {
            reader.read_time_part(&number, unit)?
        };
        if is_done {
            break;
        }
    }
    Ok(reader.sums)
}

impl IsoReader<'_> {
    fn take(&mut self, one: char) -> bool {
        match self.rest.strip_prefix(one) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn begin_time(&mut self) {
        self.is_date = false;
        self.has_field = false;
    }

    fn add(&mut self, unit: IntervalUnit, number: &IsoNumber) -> Result<(), DatetimeFault> {
        let added = self.sums.add(unit, number.whole, number.fraction);
        added.ok_or(DatetimeFault::FieldRange)
    }

    fn read_number(&mut self) -> Result<IsoNumber, DatetimeFault> {
        let unsigned = self.rest.strip_prefix('-').unwrap_or(self.rest);
        let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
        let end = number_end(self.rest).ok_or(DatetimeFault::Format)?;
        let (number, rest) = self.rest.split_at(end);
        let value: f64 = number.parse().map_err(|_| DatetimeFault::Format)?;
        if value.is_nan() || value.abs() > NUMBER_MAX {
            return Err(DatetimeFault::FieldRange);
        }
        self.rest = rest;
        Ok(IsoNumber { whole: value.trunc() as i64, fraction: value - value.trunc(), digits })
    }

    /// Returns whether the text is at its end.
    fn read_date_part(
        &mut self,
        number: &IsoNumber,
        unit: Option<char>,
    ) -> Result<bool, DatetimeFault> {
        let designated = match unit {
            Some('Y') => Some(IntervalUnit::Year),
            Some('M') => Some(IntervalUnit::Month),
            Some('W') => Some(IntervalUnit::Week),
            Some('D') => Some(IntervalUnit::Day),
            _ => None,
        };
        if let Some(designated) = designated {
            self.rest = &self.rest[1..];
            self.add(designated, number)?;
            self.has_field = true;
            return Ok(false);
        }
        if !matches!(unit, None | Some('T' | '-')) || self.has_field {
            return Err(DatetimeFault::Format);
        }
        if unit != Some('-') && number.digits == BASIC_DATE_DIGITS {
            let part = |whole| IsoNumber { whole, fraction: 0.0, digits: 0 };
            self.add(IntervalUnit::Year, &part(number.whole / 10_000))?;
            self.add(IntervalUnit::Month, &part(number.whole / 100 % 100))?;
            let day = IsoNumber { whole: number.whole % 100, ..*number };
            self.add(IntervalUnit::Day, &day)?;
            return Ok(unit.is_none());
        }
        self.read_extended_date(number)
    }

    /// Reads what is behind the years of `years-months-days`.
    fn read_extended_date(&mut self, years: &IsoNumber) -> Result<bool, DatetimeFault> {
        self.add(IntervalUnit::Year, years)?;
        for unit in [IntervalUnit::Month, IntervalUnit::Day] {
            if self.rest.is_empty() || self.rest.starts_with('T') {
                return Ok(self.rest.is_empty());
            }
            if !self.take('-') {
                return Err(DatetimeFault::Format);
            }
            let number = self.read_number()?;
            self.add(unit, &number)?;
        }
        if self.rest.is_empty() || self.rest.starts_with('T') {
            Ok(self.rest.is_empty())
        } else {
            Err(DatetimeFault::Format)
        }
    }

    /// Returns whether the text is at its end.
    fn read_time_part(
        &mut self,
        number: &IsoNumber,
        unit: Option<char>,
    ) -> Result<bool, DatetimeFault> {
        let designated = match unit {
            Some('H') => Some(IntervalUnit::Hour),
            Some('M') => Some(IntervalUnit::Minute),
            Some('S') => Some(IntervalUnit::Second),
            _ => None,
        };
        if let Some(designated) = designated {
            self.rest = &self.rest[1..];
            self.add(designated, number)?;
            self.has_field = true;
            return Ok(false);
        }
        if !matches!(unit, None | Some(':')) || self.has_field {
            return Err(DatetimeFault::Format);
        }
        if unit.is_none() && number.digits == BASIC_TIME_DIGITS {
            let part = |whole| IsoNumber { whole, fraction: 0.0, digits: 0 };
            self.add(IntervalUnit::Hour, &part(number.whole / 10_000))?;
            self.add(IntervalUnit::Minute, &part(number.whole / 100 % 100))?;
            let second = IsoNumber { whole: number.whole % 100, ..*number };
            self.add(IntervalUnit::Second, &second)?;
            return Ok(true);
        }
        self.add(IntervalUnit::Hour, number)?;
        for unit in [IntervalUnit::Minute, IntervalUnit::Second] {
            if self.rest.is_empty() {
                return Ok(true);
            }
            if !self.take(':') {
                return Err(DatetimeFault::Format);
            }
            let number = self.read_number()?;
            self.add(unit, &number)?;
        }
        if self.rest.is_empty() { Ok(true) } else { Err(DatetimeFault::Format) }
    }
}

/// Returns the end of a number: sign, digits, fraction, exponent.
fn number_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits =
        |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let start = usize::from(text.starts_with('-'));
    let whole = digits(start);
    let mut end = start + whole;
    let mut fraction = 0;
    if bytes.get(end) == Some(&b'.') {
        fraction = digits(end + 1);
        end += 1 + fraction;
    }
    if whole + fraction == 0 {
        return None;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    Some(end)
}
