//! Moments as calendars and clocks show them.

pub(super) use nacre_column::text::civil_from_days;
use nacre_ingest::parse;

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
    // The first of the month is always there; a day beyond its end counts on.
    i64::from(parse::days_from_civil(part(year), part(month), 1)) + day - 1
}

/// Returns the days from 1970 of a day of the Julian calendar.
pub(super) fn days_of_julian(julian: i64) -> i64 {
    julian - JULIAN_EPOCH
}

/// Returns the number of days of a month of the years from 0 on.
pub(super) fn days_in_month(year: i64, month: i64) -> i64 {
    i64::from(parse::days_in_month(part(year), part(month)))
}

/// Returns a part of a date as a calendar without signs wants it.
fn part(value: i64) -> u32 {
    u32::try_from(value).unwrap_or(1)
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
