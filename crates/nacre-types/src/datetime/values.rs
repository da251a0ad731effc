//! Values of date, time and timestamp types.

use super::calendar::{CivilDate, JULIAN_EPOCH_DAYS, split_micros};
use super::{EPOCH_DAYS, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::error::ValueError;

/// A `date`: days from 2000-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlDate(pub i32);

/// A `time`: microseconds from midnight, up to and with 24:00.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlTime(pub i64);

/// A `time with time zone`.
///
/// Ordered by the moment in UTC, then by zone, so that equal means both are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SqlTimeTz {
    pub time: SqlTime,
    /// Seconds that the zone is ahead of UTC.
    pub seconds_east: i32,
}

/// A `timestamp`, or a `timestamp with time zone`: microseconds from 2000-01-01 00:00:00, in UTC
/// for the latter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlTimestamp(pub i64);

impl SqlDate {
    pub const INFINITY: Self = Self(i32::MAX);
    pub const NEGATIVE_INFINITY: Self = Self(i32::MIN);
    /// 4714-11-24 BC.
    pub const MIN: Self = Self(-(JULIAN_EPOCH_DAYS as i32));
    /// 5874897-12-31.
    pub const MAX: Self = Self(2_145_031_948);
    /// 1970-01-01.
    pub const UNIX_EPOCH: Self = Self(-EPOCH_DAYS);

    /// Makes a date of days from 1970-01-01.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn from_unix_days(days: i64) -> Result<Self, ValueError> {
        Self::from_days(days - i64::from(EPOCH_DAYS))
    }

    /// Makes a date of days from 2000-01-01.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn from_days(days: i64) -> Result<Self, ValueError> {
        match i32::try_from(days) {
            Ok(days) if (Self::MIN.0..=Self::MAX.0).contains(&days) => Ok(Self(days)),
            _ => Err(ValueError::datetime_overflow("date out of range")),
        }
    }

    /// Returns the days from 1970-01-01; `None` for infinities.
    pub fn to_unix_days(self) -> Option<i32> {
        self.is_finite().then(|| self.0 + EPOCH_DAYS)
    }

    pub fn is_finite(self) -> bool {
        self != Self::INFINITY && self != Self::NEGATIVE_INFINITY
    }

    /// Returns the date as the calendar shows it; `None` for infinities.
    pub fn civil(self) -> Option<CivilDate> {
        self.is_finite().then(|| CivilDate::from_days(self.0))
    }
}

impl SqlTime {
    pub const MIDNIGHT: Self = Self(0);
    /// 24:00.
    pub const MAX: Self = Self(MICROS_PER_DAY);

    /// Makes a time of microseconds from midnight.
    ///
    /// # Errors
    /// 22008 outside of a day.
    pub fn from_micros(micros: i64) -> Result<Self, ValueError> {
        match micros {
            0..=MICROS_PER_DAY => Ok(Self(micros)),
            _ => Err(ValueError::datetime_overflow("time out of range")),
        }
    }

    /// Rounds to digits of a second.
    #[must_use]
    pub fn rounded(self, digits: Option<u32>) -> Self {
        Self(round_micros(self.0, digits))
    }
}

impl SqlTimeTz {
    /// Returns the microseconds from midnight in UTC, which may be negative or above a day.
    pub fn utc_micros(self) -> i64 {
        self.time.0 - i64::from(self.seconds_east) * MICROS_PER_SECOND
    }
}

impl Ord for SqlTimeTz {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        // PostgreSQL orders zones by seconds west.
        let zones = other.seconds_east.cmp(&self.seconds_east);
        self.utc_micros().cmp(&other.utc_micros()).then(zones)
    }
}

impl PartialOrd for SqlTimeTz {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl SqlTimestamp {
    pub const INFINITY: Self = Self(i64::MAX);
    pub const NEGATIVE_INFINITY: Self = Self(i64::MIN);
    /// 4714-11-24 00:00:00 BC.
    pub const MIN: Self = Self(-JULIAN_EPOCH_DAYS * MICROS_PER_DAY);
    /// 294276-12-31 23:59:59.999999.
    pub const MAX: Self = Self(9_223_371_331_199_999_999);
    /// 1970-01-01 00:00:00.
    pub const UNIX_EPOCH: Self = Self(-(EPOCH_DAYS as i64) * MICROS_PER_DAY);

    /// Makes a timestamp of microseconds from 2000-01-01.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn from_micros(micros: i128) -> Result<Self, ValueError> {
        match i64::try_from(micros) {
            Ok(micros) if (Self::MIN.0..=Self::MAX.0).contains(&micros) => Ok(Self(micros)),
            _ => Err(timestamp_out_of_range()),
        }
    }

    /// Makes a timestamp of microseconds from 1970-01-01.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn from_unix_micros(micros: i64) -> Result<Self, ValueError> {
        Self::from_micros(i128::from(micros) + i128::from(Self::UNIX_EPOCH.0))
    }

    /// Returns the microseconds from 1970-01-01; `None` for infinities and past the year 294246.
    pub fn to_unix_micros(self) -> Option<i64> {
        self.is_finite().then(|| self.0.checked_sub(Self::UNIX_EPOCH.0)).flatten()
    }

    /// Makes a timestamp of a date and microseconds of the day.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn from_parts(days: i64, micros: i64) -> Result<Self, ValueError> {
        Self::from_micros(i128::from(days) * i128::from(MICROS_PER_DAY) + i128::from(micros))
    }

    pub fn is_finite(self) -> bool {
        self != Self::INFINITY && self != Self::NEGATIVE_INFINITY
    }

    /// Returns date and microseconds of the day; `None` for infinities.
    pub fn civil(self) -> Option<(CivilDate, i64)> {
        let (days, micros) = split_micros(self.0);
        self.is_finite().then(|| (CivilDate::from_days(days), micros))
    }

    /// Rounds to digits of a second.
    ///
    /// # Errors
    /// 22008 outside of the type's range.
    pub fn rounded(self, digits: Option<u32>) -> Result<Self, ValueError> {
        if self.is_finite() {
            Self::from_micros(round_micros(self.0, digits).into())
        } else {
            Ok(self)
        }
    }
}

pub(crate) fn timestamp_out_of_range() -> ValueError {
    ValueError::datetime_overflow("timestamp out of range")
}

/// Rounds microseconds to digits of a second, a half away from zero.
pub(crate) fn round_micros(micros: i64, digits: Option<u32>) -> i64 {
    let Some(digits) = digits.filter(|digits| *digits < 6) else { return micros };
    let unit = 10_i64.pow(6 - digits);
    match micros {
        0.. => micros.saturating_add(unit / 2) / unit * unit,
        ..0 => micros.saturating_sub(unit / 2) / unit * unit,
    }
}
