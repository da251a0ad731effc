//! `date_trunc`: sets fields below one to their lowest value.

use super::arithmetic::{local_timestamp, timestamp_of_local};
use super::calendar::{CivilDate, days_of_civil};
use super::extract::DatetimeField;
use super::values::SqlTimestamp;
use super::zone::TimeZoneRules;
use super::{MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use crate::datetime::interval::SqlInterval;
use crate::error::ValueError;

/// The error of a field to which nothing is truncated. Fields that only `extract` knows are unknown
/// here.
fn refused(field: DatetimeField, name: &str, type_name: &str) -> ValueError {
    match field {
        DatetimeField::DayOfWeek
        | DatetimeField::IsoDayOfWeek
        | DatetimeField::DayOfYear
        | DatetimeField::IsoYear
        | DatetimeField::Julian
        | DatetimeField::Epoch => {
            let message = format!("unit \"{name}\" not recognized for type {type_name}");
            ValueError::invalid_parameter(message)
        }
        _ => {
            let message = format!("unit \"{name}\" not supported for type {type_name}");
            ValueError::feature_refused(message)
        }
    }
}

/// Returns the microseconds of a field of the clock.
fn clock_unit(field: DatetimeField) -> Option<i64> {
    Some(match field {
        DatetimeField::Microseconds => 1,
        DatetimeField::Milliseconds => 1_000,
        DatetimeField::Second => MICROS_PER_SECOND,
        DatetimeField::Minute => MICROS_PER_MINUTE,
        DatetimeField::Hour => MICROS_PER_HOUR,
        _ => return None,
    })
}

/// Returns the first year of a span of so many years; the first span begins with the year 1.
fn first_year(year: i64, years: i64) -> i64 {
    (year - 1).div_euclid(years) * years + 1
}

impl SqlTimestamp {
    /// Truncates a `timestamp`.
    ///
    /// # Errors
    /// 0A000 and 22023 for fields to which nothing is truncated, 22008 outside of the range.
    pub fn truncate(self, field: DatetimeField, name: &str) -> Result<Self, ValueError> {
        self.truncate_for(field, "timestamp without time zone", name)
    }

    /// Truncates a `timestamp with time zone` as a zone's clocks show it.
    ///
    /// # Errors
    /// As for [`SqlTimestamp::truncate`].
    pub fn truncate_in_zone(
        self,
        field: DatetimeField,
        zone: &TimeZoneRules,
        name: &str,
    ) -> Result<Self, ValueError> {
        let local = local_timestamp(self, zone)?;
        let truncated = local.truncate_for(field, "timestamp with time zone", name)?;
        if clock_unit(field).is_some() && self.is_finite() {
            // Within an hour that clocks show twice the offset stays.
            return Self::from_micros(i128::from(self.0) - i128::from(local.0 - truncated.0));
        }
        timestamp_of_local(truncated, zone)
    }

    fn truncate_for(
        self,
        field: DatetimeField,
        type_name: &str,
        name: &str,
    ) -> Result<Self, ValueError> {
        let Some((date, micros)) = self.civil() else {
            return Ok(self);
        };
        if let Some(unit) = clock_unit(field) {
            return Ok(Self(self.0 - micros % unit));
        }
        let year = i64::from(date.year);
        let days = match field {
            DatetimeField::Day => date.days(),
            DatetimeField::Week => date.days() - (date.days() + 5).rem_euclid(7),
            DatetimeField::Month => CivilDate { day: 1, ..date }.days(),
            DatetimeField::Quarter => {
                CivilDate { day: 1, month: (date.month - 1) / 3 * 3 + 1, ..date }.days()
            }
            DatetimeField::Year => days_of_civil(year, 1, 1),
            DatetimeField::Decade => days_of_civil(year.div_euclid(10) * 10, 1, 1),
            DatetimeField::Century => days_of_civil(first_year(year, 100), 1, 1),
            DatetimeField::Millennium => days_of_civil(first_year(year, 1_000), 1, 1),
            _ => return Err(refused(field, name, type_name)),
        };
        Self::from_parts(days, 0)
    }
}

impl SqlInterval {
    /// Truncates.
    ///
    /// # Errors
    /// 0A000 for a field to which nothing is truncated.
    pub fn truncate(self, field: DatetimeField, name: &str) -> Result<Self, ValueError> {
        if let Some(unit) = clock_unit(field) {
            return Ok(Self { micros: self.micros - self.micros % unit, ..self });
        }
        let months = match field {
            DatetimeField::Day => return Ok(Self { micros: 0, ..self }),
            DatetimeField::Month => 1,
            DatetimeField::Quarter => 3,
            DatetimeField::Year => 12,
            DatetimeField::Decade => 120,
            DatetimeField::Century => 1_200,
            DatetimeField::Millennium => 12_000,
            DatetimeField::Week => {
                let detail = "Months usually have fractional weeks.";
                return Err(refused(field, name, "interval").with_detail(detail));
            }
            _ => return Err(refused(field, name, "interval")),
        };
        Ok(Self { months: self.months - self.months % months, days: 0, micros: 0 })
    }
}
