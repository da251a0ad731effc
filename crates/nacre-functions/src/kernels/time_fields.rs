//! From the fields that a text said to a moment.
//!
//! # Invariants
//! 1. A field that is 0 counts as one that was not said, as in PostgreSQL.

use nacre_types::ValueError;
use nacre_types::datetime::{CivilDate, SqlDate};

/// Days from 2000-01-01 back to the one that Julian days count from.
const JULIAN_DAYS: i64 = 2_451_545;

/// Farthest zone.
const ZONE_HOURS_MAX: i32 = 15;

/// By what a year's days are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum YearConvention {
    Gregorian,
    IsoWeeks,
}

/// What the fields of a text said.
#[derive(Debug, Default)]
pub(super) struct ReadFields {
    pub(super) convention: Option<YearConvention>,
    pub(super) is_before_christ: i32,
    pub(super) century: i32,
    pub(super) year: i32,
    /// Digits of the year that the pattern has.
    pub(super) year_digits: usize,
    pub(super) month: i32,
    pub(super) day: i32,
    pub(super) day_of_year: i32,
    /// From 1 for Sunday.
    pub(super) day_of_week: i32,
    pub(super) week: i32,
    pub(super) week_of_month: i32,
    pub(super) julian: i32,
    pub(super) has_half_days: bool,
    pub(super) is_afternoon: i32,
    pub(super) hour: i32,
    pub(super) minute: i32,
    pub(super) second: i32,
    pub(super) second_of_day: i32,
    pub(super) milli: i32,
    pub(super) micro: i32,
    /// Digits behind the point that `FF1` to `FF6` leave.
    pub(super) fraction_digits: Option<u32>,
    /// -1 west of UTC, 1 east of it, 0 if no zone was said.
    pub(super) zone_sign: i32,
    pub(super) zone_hour: i32,
    pub(super) zone_minute: i32,
}

/// A moment as clocks show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadMoment {
    pub(super) date: SqlDate,
    /// Of the day.
    pub(super) micros: i64,
    /// As in [`ReadFields`].
    pub(super) fraction_digits: Option<u32>,
    /// Seconds east of UTC, if they were said.
    pub(super) zone: Option<i32>,
}

/// Year, month and day on the way to a date.
struct DateParts {
    year: i32,
    month: i32,
    day: i32,
}

impl ReadFields {
    /// Returns the moment that the fields say.
    ///
    /// # Errors
    /// 22007, 22008, and 22009.
    pub(super) fn moment(&self, input: &str) -> Result<ReadMoment, ValueError> {
        let refused = || {
            let message = format!("date/time field value out of range: \"{input}\"");
            ValueError::datetime_overflow(message)
        };
        let clock = self.clock()?;
        let DateParts { year, month, day } = self.date_parts()?;
        let civil = CivilDate { year, month, day };
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(refused());
        }
        let date = SqlDate::from_days(civil.days()).map_err(|_| refused())?;
        if date.civil() != Some(civil) {
            return Err(refused());
        }
        let micros = self.micros(clock).ok_or_else(refused)?;
        let zone = self.zone().ok_or_else(|| {
            let message = format!("time zone displacement out of range: \"{input}\"");
            ValueError::zone_displacement(message)
        })?;
        Ok(ReadMoment { date, micros, fraction_digits: self.fraction_digits, zone })
    }

    /// Returns hour, minute and second, unchecked.
    fn clock(&self) -> Result<[i32; 3], ValueError> {
        let said = |field: i32, otherwise: i32| if field != 0 { field } else { otherwise };
        let seconds = self.second_of_day;
        let mut hour = said(self.hour, seconds / 3_600);
        if self.has_half_days {
            if !(1..=12).contains(&hour) {
                let message = format!("hour \"{hour}\" is invalid for the 12-hour clock");
                let hint = "Use the 24-hour clock, or give an hour between 1 and 12.";
                return Err(ValueError::datetime_format(message).with_hint(hint));
            }
            hour = hour % 12 + 12 * self.is_afternoon;
        }
        let minute = said(self.minute, seconds % 3_600 / 60);
        Ok([hour, minute, said(self.second, seconds % 60)])
    }

    /// Returns the microseconds of a day; `None` for none that clocks show.
    fn micros(&self, [hour, minute, second]: [i32; 3]) -> Option<i64> {
        let fraction = i64::from(self.milli) * 1_000 + i64::from(self.micro);
        let is_clock =
            (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
        if !is_clock || !(0..1_000_000).contains(&fraction) {
            return None;
        }
        let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
        Some(seconds * 1_000_000 + fraction)
    }

    /// Returns the zone, if one was said; `None` for none that there is.
    fn zone(&self) -> Option<Option<i32>> {
        if self.zone_sign == 0 {
            return Some(None);
        }
        let (hour, minute) = (self.zone_hour, self.zone_minute);
        if !(0..=ZONE_HOURS_MAX).contains(&hour) || !(0..60).contains(&minute) {
            return None;
        }
        Some(Some(self.zone_sign * (hour * 3_600 + minute * 60)))
    }

    /// Returns the year, astronomically: 0 is 1 BC. It is 0 if none was said.
    fn whole_year(&self) -> i32 {
        let is_before = self.is_before_christ != 0;
        let century = if is_before { -self.century } else { self.century };
        if self.year == 0 {
            return match century {
                0 => 0,
                1.. => (century - 1).saturating_mul(100).saturating_add(1),
                _ => century.saturating_mul(100).saturating_add(1),
            };
        }
        if century == 0 || self.year_digits > 2 {
            let year = if is_before { self.year.saturating_neg() } else { self.year };
            return if year < 0 { year + 1 } else { year };
        }
        match (self.year % 100, century) {
            (0, 0..) => century.saturating_mul(100),
            (0, _) => century.saturating_mul(100).saturating_add(1),
            (last, 0..) => (century - 1).saturating_mul(100).saturating_add(last),
            (last, _) => (century + 1).saturating_mul(100).saturating_add(1 - last),
        }
    }

    /// Returns year, month and day; days of weeks and of years count from the year.
    fn date_parts(&self) -> Result<DateParts, ValueError> {
        let mut parts = DateParts { year: self.whole_year(), month: 1, day: 1 };
        let is_iso = self.convention == Some(YearConvention::IsoWeeks);
        if self.julian != 0 {
            parts.set_days(i64::from(self.julian) - JULIAN_DAYS)?;
        }
        let mut day_of_year = self.day_of_year;
        if self.week != 0 && is_iso {
            let monday = iso_year_start(parts.year) + (i64::from(self.week) - 1) * 7;
            let past_monday = match self.day_of_week {
                0 => 0,
                // From Sunday on, which ends the week.
                1 => 6,
                day => i64::from(day) - 2,
            };
            parts.set_days(monday + past_monday)?;
        } else if self.week != 0 {
            day_of_year = first_day_of(self.week);
        }
        let day = if self.week_of_month != 0 { first_day_of(self.week_of_month) } else { self.day };
        if day != 0 {
            parts.day = day;
        }
        if self.month != 0 {
            parts.month = self.month;
        }
        if day_of_year != 0 && (parts.month <= 1 || parts.day <= 1) {
            if parts.year == 0 && self.is_before_christ == 0 {
                let message = "cannot calculate day of year without year information";
                return Err(ValueError::datetime_format(message));
            }
            if is_iso {
                parts.set_days(iso_year_start(parts.year) + i64::from(day_of_year) - 1)?;
            } else {
                parts.set_day_of_year(day_of_year);
            }
        }
        Ok(parts)
    }
}

impl DateParts {
    /// Takes all parts of a day, counted from 2000-01-01.
    fn set_days(&mut self, days: i64) -> Result<(), ValueError> {
        let date = SqlDate::from_days(days)?;
        if let Some(CivilDate { year, month, day }) = date.civil() {
            (self.year, self.month, self.day) = (year, month, day);
        }
        Ok(())
    }

    /// Takes the month and the day of a day of the year, where they were not said.
    fn set_day_of_year(&mut self, day_of_year: i32) {
        let start = |month: i32| {
            let first = |month| CivilDate { year: self.year, month, day: 1 }.days();
            (first(month) - first(1)) as i32
        };
        let length = start(12) + 31;
        let month = (1..=12).rev().find(|month| day_of_year > start(*month)).unwrap_or(1);
        // A month that no year has is refused.
        let month = if day_of_year > length { 13 } else { month };
        let before = if month == 13 { length } else { start(month) };
        if self.day <= 1 {
            self.day = day_of_year - before;
        }
        if self.month <= 1 {
            self.month = month;
        }
    }
}

/// Returns the first day of a week, where weeks begin with the first day.
fn first_day_of(week: i32) -> i32 {
    week.saturating_sub(1).saturating_mul(7).saturating_add(1)
}

/// Returns the Monday of the first ISO week of a year, counted from 2000-01-01.
fn iso_year_start(year: i32) -> i64 {
    let fourth = CivilDate { year, month: 1, day: 4 };
    fourth.days() - (fourth.weekday() + 6) % 7
}
