//! Sums and differences of dates, times, timestamps and intervals.

use super::calendar::{CivilDate, days_in_month, split_micros};
use super::settings::DatetimeSettings;
use super::values::{SqlDate, SqlTime, SqlTimeTz, SqlTimestamp, timestamp_out_of_range};
use super::zone::TimeZoneRules;
use super::{MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::datetime::interval::SqlInterval;
use crate::error::ValueError;

/// Returns what a zone's clocks show at a moment, as a timestamp without a zone.
///
/// # Errors
/// 22008 outside of the type's range.
pub(crate) fn local_timestamp(
    moment: SqlTimestamp,
    zone: &TimeZoneRules,
) -> Result<SqlTimestamp, ValueError> {
    if !moment.is_finite() {
        return Ok(moment);
    }
    shifted(moment, zone.seconds_east_at(moment.0).into())
}

/// Returns the moment at which a zone's clocks show a timestamp.
///
/// # Errors
/// 22008 outside of the type's range.
pub(crate) fn timestamp_of_local(
    local: SqlTimestamp,
    zone: &TimeZoneRules,
) -> Result<SqlTimestamp, ValueError> {
    if !local.is_finite() {
        return Ok(local);
    }
    shifted(local, -i64::from(zone.seconds_east_of_local(local.0)))
}

fn shifted(timestamp: SqlTimestamp, seconds: i64) -> Result<SqlTimestamp, ValueError> {
    let shift = i128::from(seconds) * i128::from(MICROS_PER_SECOND);
    SqlTimestamp::from_micros(i128::from(timestamp.0) + shift)
}

/// Moves days by months; a day that the month does not have becomes its last.
fn add_months(days: i32, months: i32) -> Result<i32, ValueError> {
    let CivilDate { year, month, day } = CivilDate::from_days(days);
    let months = i64::from(year) * 12 + i64::from(month - 1) + i64::from(months);
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) as i32 + 1);
    let day = day.min(days_in_month(year, month));
    let year = i32::try_from(year).map_err(|_| timestamp_out_of_range())?;
    let days = CivilDate { year, month, day }.days();
    match i32::try_from(days) {
        Ok(days) if days >= SqlDate::MIN.0 => Ok(days),
        _ => Err(timestamp_out_of_range()),
    }
}

impl SqlTimestamp {
    /// Adds an interval: first its months, then its days, then its time.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn add_interval(self, interval: SqlInterval) -> Result<Self, ValueError> {
        if !self.is_finite() {
            return Ok(self);
        }
        let moved = self.move_calendar(interval)?;
        Self::from_micros(i128::from(moved.0) + i128::from(interval.micros))
    }

    /// Adds an interval to a moment: months and days as the session's calendar counts them.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn add_interval_in_zone(
        self,
        interval: SqlInterval,
        zone: &TimeZoneRules,
    ) -> Result<Self, ValueError> {
        if !self.is_finite() {
            return Ok(self);
        }
        let mut moved = self;
        // Each part that moves the calendar goes to the clock of the day that it reaches.
        for part in [
            SqlInterval { months: interval.months, days: 0, micros: 0 },
            SqlInterval { months: 0, days: interval.days, micros: 0 },
        ] {
            if part.months != 0 || part.days != 0 {
                let local = local_timestamp(moved, zone)?.move_calendar(part)?;
                moved = timestamp_of_local(local, zone)?;
            }
        }
        Self::from_micros(i128::from(moved.0) + i128::from(interval.micros))
    }

    fn move_calendar(self, interval: SqlInterval) -> Result<Self, ValueError> {
        let (mut days, micros) = split_micros(self.0);
        if interval.months != 0 {
            days = add_months(days, interval.months)?;
        }
        let days = i64::from(days) + i64::from(interval.days);
        if days < i64::from(SqlDate::MIN.0) {
            return Err(timestamp_out_of_range());
        }
        Self::from_parts(days, micros)
    }

    /// Returns the difference in days and time.
    ///
    /// # Errors
    /// 22008 if one is infinite.
    pub fn subtract(self, other: Self) -> Result<SqlInterval, ValueError> {
        if !self.is_finite() || !other.is_finite() {
            return Err(ValueError::datetime_overflow("cannot subtract infinite timestamps"));
        }
        let micros =
            self.0.checked_sub(other.0).ok_or_else(crate::datetime::interval::out_of_range)?;
        SqlInterval { months: 0, days: 0, micros }.justify_hours()
    }

    /// Returns the difference in years, months, days and time, as calendars count.
    ///
    /// # Errors
    /// 22008 if one is infinite.
    pub fn age(self, other: Self) -> Result<SqlInterval, ValueError> {
        let (Some((one_date, one_time)), Some((other_date, other_time))) =
            (self.civil(), other.civil())
        else {
            return Err(timestamp_out_of_range());
        };
        let sign = if self < other { -1 } else { 1 };
        let mut micros = i64::from(sign) * (one_time - other_time);
        let mut days = sign * (one_date.day - other_date.day);
        let mut months =
            sign * ((one_date.year - other_date.year) * 12 + one_date.month - other_date.month);
        if micros < 0 {
            micros += MICROS_PER_DAY;
            days -= 1;
        }
        // Days that are missing come from the month of the earlier one.
        let earlier = if sign < 0 { one_date } else { other_date };
        while days < 0 {
            days += days_in_month(earlier.year.into(), earlier.month);
            months -= 1;
        }
        Ok(SqlInterval {
            months: sign * months,
            days: sign * days,
            micros: i64::from(sign) * micros,
        })
    }

    /// Returns the date; infinities stay.
    pub fn date(self) -> SqlDate {
        match self {
            Self::INFINITY => SqlDate::INFINITY,
            Self::NEGATIVE_INFINITY => SqlDate::NEGATIVE_INFINITY,
            finite => SqlDate(split_micros(finite.0).0),
        }
    }

    /// Returns the time of the day; `None` for infinities.
    pub fn time(self) -> Option<SqlTime> {
        self.is_finite().then(|| SqlTime(split_micros(self.0).1))
    }
}

impl SqlDate {
    /// Adds days.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn add_days(self, days: i32) -> Result<Self, ValueError> {
        if self.is_finite() {
            Self::from_days(i64::from(self.0) + i64::from(days))
        } else {
            Ok(self)
        }
    }

    /// Returns the days between two dates.
    ///
    /// # Errors
    /// 22008 if one is infinite.
    pub fn subtract(self, other: Self) -> Result<i32, ValueError> {
        if !self.is_finite() || !other.is_finite() {
            return Err(ValueError::datetime_overflow("cannot subtract infinite dates"));
        }
        // Two dates are less than 2^31 days apart.
        Ok((i64::from(self.0) - i64::from(other.0)) as i32)
    }

    /// Returns the timestamp of its midnight.
    ///
    /// # Errors
    /// 22008 for dates past the last timestamp.
    pub fn timestamp(self) -> Result<SqlTimestamp, ValueError> {
        match self {
            Self::INFINITY => Ok(SqlTimestamp::INFINITY),
            Self::NEGATIVE_INFINITY => Ok(SqlTimestamp::NEGATIVE_INFINITY),
            finite => SqlTimestamp::from_parts(finite.0.into(), 0)
                .map_err(|_| ValueError::datetime_overflow("date out of range for timestamp")),
        }
    }

    /// Returns the moment of its midnight in the session's zone.
    ///
    /// # Errors
    /// 22008 for dates past the last timestamp.
    pub fn timestamp_in_zone(
        self,
        settings: &DatetimeSettings,
    ) -> Result<SqlTimestamp, ValueError> {
        timestamp_of_local(self.timestamp()?, &settings.time_zone)
            .map_err(|_| ValueError::datetime_overflow("date out of range for timestamp"))
    }
}

impl SqlTime {
    /// Adds the time part of an interval, within the day.
    #[must_use]
    pub fn add_interval(self, interval: SqlInterval) -> Self {
        let micros = i128::from(self.0) + i128::from(interval.micros);
        // Below a day.
        Self(micros.rem_euclid(i128::from(MICROS_PER_DAY)) as i64)
    }

    /// Returns the difference as an interval.
    pub fn subtract(self, other: Self) -> SqlInterval {
        SqlInterval { months: 0, days: 0, micros: self.0 - other.0 }
    }
}

impl SqlTimeTz {
    /// Adds the time part of an interval, within the day.
    #[must_use]
    pub fn add_interval(self, interval: SqlInterval) -> Self {
        Self { time: self.time.add_interval(interval), ..self }
    }
}
