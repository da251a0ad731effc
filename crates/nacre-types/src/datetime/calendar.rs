//! Days and dates of the Gregorian calendar, microseconds and clock times.

use super::{EPOCH_DAYS, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};

/// Days from the beginning of the Julian day count to 2000-01-01.
pub(crate) const JULIAN_EPOCH_DAYS: i64 = 2_451_545;

/// A day of the calendar; year 0 is 1 BC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CivilDate {
    pub year: i32,
    pub month: i32,
    pub day: i32,
}

/// A time of the clock, or the time part of an interval with the sign in each field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CivilTime {
    pub hour: i64,
    pub minute: i32,
    pub second: i32,
    pub micros: i32,
}

/// Returns the days from 2000-01-01 to a date, whose month and day may be out of range.
pub(crate) fn days_of_civil(year: i64, month: i64, day: i64) -> i64 {
    let months = month - 1;
    let year = year + months.div_euclid(12);
    let month = months.rem_euclid(12) + 1;
    // Years begin in March, so that the leap day is a year's last.
    let shifted = if month > 2 { year } else { year - 1 };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    // 719468 days lie between 0000-03-01 and 1970-01-01.
    era * 146_097 + day_of_era - 719_468 - i64::from(EPOCH_DAYS)
}

/// Returns whether the year has a leap day.
pub(crate) fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Returns the days of a month from 1 to 12.
pub(crate) fn days_in_month(year: i64, month: i32) -> i32 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

impl CivilDate {
    /// Returns the date so many days after 2000-01-01.
    pub fn from_days(days: i32) -> Self {
        let days = i64::from(days) + i64::from(EPOCH_DAYS) + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        let day = day_of_year - (153 * shifted + 2) / 5 + 1;
        // Days of 32 bits reach 5.9 million years.
        Self { year: year as i32, month: month as i32, day: day as i32 }
    }

    /// Returns the days from 2000-01-01.
    pub fn days(self) -> i64 {
        days_of_civil(self.year.into(), self.month.into(), self.day.into())
    }

    /// Returns the day of the week: 0 is Sunday.
    pub fn weekday(self) -> i64 {
        // 2000-01-01 was a Saturday.
        (self.days() + 6).rem_euclid(7)
    }

    /// Returns the day of the year from 1.
    pub fn day_of_year(self) -> i64 {
        self.days() - days_of_civil(self.year.into(), 1, 1) + 1
    }

    /// Returns year and week of ISO 8601, whose weeks begin on Monday.
    pub fn iso_week(self) -> (i32, i64) {
        let days = self.days();
        for year in [self.year + 1, self.year] {
            let start = iso_year_start(year.into());
            if start <= days {
                return (year, (days - start) / 7 + 1);
            }
        }
        (self.year - 1, (days - iso_year_start(i64::from(self.year) - 1)) / 7 + 1)
    }
}

/// Returns the Monday of a year's first ISO week, in days from 2000-01-01.
pub(crate) fn iso_year_start(year: i64) -> i64 {
    // The first week has the fourth of January.
    let fourth = days_of_civil(year, 1, 4);
    fourth - (fourth + 5).rem_euclid(7)
}

impl CivilTime {
    /// Splits microseconds; each field has their sign.
    pub fn from_micros(micros: i64) -> Self {
        // Below an hour the fields fit.
        Self {
            hour: micros / MICROS_PER_HOUR,
            minute: (micros / MICROS_PER_MINUTE % 60) as i32,
            second: (micros / MICROS_PER_SECOND % 60) as i32,
            micros: (micros % MICROS_PER_SECOND) as i32,
        }
    }

    /// Returns the microseconds; `None` if they do not fit.
    pub fn to_micros(self) -> Option<i64> {
        let minutes = i64::from(self.minute) * MICROS_PER_MINUTE;
        let seconds = i64::from(self.second) * MICROS_PER_SECOND + i64::from(self.micros);
        self.hour.checked_mul(MICROS_PER_HOUR)?.checked_add(minutes + seconds)
    }
}

/// Splits a timestamp's microseconds into days and the time of the day.
pub(crate) fn split_micros(micros: i64) -> (i32, i64) {
    // 64 bits of microseconds are 107 million days.
    (micros.div_euclid(MICROS_PER_DAY) as i32, micros.rem_euclid(MICROS_PER_DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_days_are_inverse() {
        for days in (-2_451_545..=3_000_000).step_by(997) {
            let date = CivilDate::from_days(days);
            assert_eq!(date.days(), i64::from(days), "{date:?}");
        }
        let date = CivilDate { year: -4_713, month: 11, day: 24 };
        assert_eq!(date.days(), -JULIAN_EPOCH_DAYS);
        assert_eq!(CivilDate::from_days(0), CivilDate { year: 2_000, month: 1, day: 1 });
    }

    #[test]
    fn weeks_belong_to_the_year_of_their_thursday() {
        let week = |year, month, day| CivilDate { year, month, day }.iso_week();
        assert_eq!(week(2021, 1, 3), (2020, 53));
        assert_eq!(week(2018, 12, 31), (2019, 1));
        assert_eq!(week(2024, 6, 15), (2024, 24));
        assert_eq!(CivilDate { year: 2024, month: 6, day: 15 }.weekday(), 6);
    }
}
