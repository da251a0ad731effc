//! Moments as calendars and clocks show them.

use nacre_ingest::parse::days_from_civil;

pub(super) const DAY_US: i64 = 86_400_000_000;

/// Days from the beginning of the Julian calendar to 1970-01-01.
const JULIAN_EPOCH: i64 = 2_440_588;

/// A moment, or the parts of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Civil {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) micro: i64,
}

impl Civil {
    /// Returns what a calendar shows so many microseconds after 1970.
    pub(super) fn of_micros(micros: i64) -> Self {
        let (days, time) = (micros.div_euclid(DAY_US), micros.rem_euclid(DAY_US));
        let (year, month, day) = civil_from_days(days);
        Self { year, month, day, ..Self::of_time(time) }
    }

    /// Returns hours, minutes and so on of a time, each with its sign.
    pub(super) fn of_time(micros: i64) -> Self {
        let seconds = micros / 1_000_000;
        Self {
            hour: seconds / 3_600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            micro: micros % 1_000_000,
            ..Self::default()
        }
    }

    /// Days since 1970-01-01.
    pub(super) fn days(&self) -> i64 {
        days_of(self.year, self.month, self.day)
    }

    pub(super) fn day_of_year(&self) -> i64 {
        self.days() - days_of(self.year, 1, 1) + 1
    }

    /// From 1, Monday, to 7.
    pub(super) fn iso_day_of_week(&self) -> i64 {
        (self.days() + 3).rem_euclid(7) + 1
    }

    /// The day in the Julian calendar.
    pub(super) fn julian(&self) -> i64 {
        self.days() + JULIAN_EPOCH
    }

    /// Year and number of the ISO week, and the number of the day in that year.
    pub(super) fn iso_week(&self) -> (i64, i64, i64) {
        let days = self.days();
        let year = [self.year + 1, self.year, self.year - 1]
            .into_iter()
            .find(|year| iso_year_start(*year) <= days)
            .unwrap_or(self.year);
        let day = days - iso_year_start(year);
        (year, day / 7 + 1, day + 1)
    }
}

/// Returns the days from 1970 to the Monday of a year's first ISO week.
pub(super) fn iso_year_start(year: i64) -> i64 {
    let fourth = days_of(year, 1, 4);
    fourth - (fourth + 3).rem_euclid(7)
}

/// Returns the days from 1970 to a date of the years from 0 on.
pub(super) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let part = |value: i64| u32::try_from(value).unwrap_or(1);
    // The first of the month is always there; a day beyond its end counts on.
    i64::from(days_from_civil(part(year), part(month), 1)) + day - 1
}

/// Returns the days from 1970 of a day of the Julian calendar.
pub(super) fn days_of_julian(julian: i64) -> i64 {
    julian - JULIAN_EPOCH
}

pub(super) fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns year, month and day of a day since 1970-01-01.
pub(super) fn civil_from_days(days: i64) -> (i64, i64, i64) {
    // Years begin in March, and cycles of 400 years have 146,097 days.
    let days = days + 719_468;
    let (cycle, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (cycle * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar_is_its_own_inverse() {
        for days in (-719_000..2_900_000).step_by(97) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_of(year, month, day), days);
        }
    }

    #[test]
    fn iso_weeks_belong_to_the_year_of_their_thursday() {
        let week = |year, month, day| Civil { year, month, day, ..Civil::default() }.iso_week();
        assert_eq!(week(2021, 1, 3), (2020, 53, 371));
        assert_eq!(week(2024, 12, 30), (2025, 1, 1));
        assert_eq!(week(2024, 3, 5), (2024, 10, 65));
    }
}
