//! Fields of dates, times, timestamps and intervals: `extract` and `date_part`.
//!
//! The result is a numeric: whole but for seconds, milliseconds, epoch and the Julian day. Of what
//! is infinite, fields that grow without bound are infinite and the others null.

use super::calendar::{CivilDate, CivilTime, JULIAN_EPOCH_DAYS};
use super::values::{SqlDate, SqlTime, SqlTimeTz, SqlTimestamp};
use super::{EPOCH_DAYS, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::datetime::interval::SqlInterval;
use crate::error::ValueError;
use crate::numeric::ExactNumeric;

/// A field that `extract`, `date_part` or `date_trunc` name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DatetimeField {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    IsoYear,
    Decade,
    Century,
    Millennium,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    Julian,
    Epoch,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
}

impl DatetimeField {
    /// Returns the field with a name or one of its short forms, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecond" | "microseconds" => {
                Self::Microseconds
            }
            "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecond" | "milliseconds" => {
                Self::Milliseconds
            }
            "s" | "sec" | "secs" | "second" | "seconds" => Self::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => Self::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => Self::Hour,
            "d" | "day" | "days" => Self::Day,
            "w" | "week" | "weeks" => Self::Week,
            "mon" | "mons" | "month" | "months" => Self::Month,
            "qtr" | "quarter" => Self::Quarter,
            "y" | "yr" | "yrs" | "year" | "years" => Self::Year,
            "isoyear" => Self::IsoYear,
            "dec" | "decs" | "decade" | "decades" => Self::Decade,
            "c" | "cent" | "century" | "centuries" => Self::Century,
            "mil" | "mils" | "millennium" | "millennia" => Self::Millennium,
            "dow" => Self::DayOfWeek,
            "isodow" => Self::IsoDayOfWeek,
            "doy" => Self::DayOfYear,
            "j" | "jd" | "julian" => Self::Julian,
            "epoch" => Self::Epoch,
            "timezone" => Self::Timezone,
            "timezone_h" | "timezone_hour" => Self::TimezoneHour,
            "timezone_m" | "timezone_minute" => Self::TimezoneMinute,
            _ => return None,
        })
    }

    /// Reads a field's name for a type.
    ///
    /// # Errors
    /// 22023 for an unknown name.
    pub fn parse(name: &str, type_name: &str) -> Result<Self, ValueError> {
        Self::from_name(name).ok_or_else(|| {
            let message = format!("unit \"{name}\" not recognized for type {type_name}");
            ValueError::invalid_parameter(message)
        })
    }

    /// Returns whether the field of an infinite value is infinite, not null.
    fn is_unbounded(self) -> bool {
        matches!(
            self,
            Self::Year
                | Self::IsoYear
                | Self::Decade
                | Self::Century
                | Self::Millennium
                | Self::Julian
                | Self::Epoch
        )
    }

    fn not_supported(name: &str, type_name: &str) -> ValueError {
        ValueError::feature_refused(format!("unit \"{name}\" not supported for type {type_name}"))
    }
}

/// Makes `unscaled / 10^scale`, for scales that are far from the limit.
pub(crate) fn decimal(unscaled: i128, scale: u16) -> ExactNumeric {
    ExactNumeric::from_scaled(unscaled, scale).unwrap_or(ExactNumeric::NAN)
}

fn infinite(field: DatetimeField, is_positive: bool) -> Option<ExactNumeric> {
    let infinity =
        if is_positive { ExactNumeric::INFINITY } else { ExactNumeric::NEGATIVE_INFINITY };
    field.is_unbounded().then_some(infinity)
}

/// Returns a field of the calendar.
fn calendar_field(date: CivilDate, field: DatetimeField) -> Option<i64> {
    let year = i64::from(date.year);
    // Without a year 0: eras count away from the first year.
    let since_one = |years: i64| match year {
        1.. => (year + years - 1) / years,
        _ => -((years - year) / years),
    };
    Some(match field {
        DatetimeField::Day => date.day.into(),
        DatetimeField::Week => date.iso_week().1,
        DatetimeField::Month => date.month.into(),
        DatetimeField::Quarter => i64::from((date.month - 1) / 3 + 1),
        DatetimeField::Year if year <= 0 => year - 1,
        DatetimeField::Year => year,
        DatetimeField::IsoYear => match date.iso_week().0 {
            year if year <= 0 => i64::from(year) - 1,
            year => year.into(),
        },
        DatetimeField::Decade => year.div_euclid(10),
        DatetimeField::Century => since_one(100),
        DatetimeField::Millennium => since_one(1_000),
        DatetimeField::DayOfWeek => date.weekday(),
        DatetimeField::IsoDayOfWeek => (date.weekday() + 6) % 7 + 1,
        DatetimeField::DayOfYear => date.day_of_year(),
        _ => return None,
    })
}

/// Returns a field of the clock.
fn clock_field(time: CivilTime, field: DatetimeField) -> Option<ExactNumeric> {
    let second = i128::from(time.second) * i128::from(MICROS_PER_SECOND) + i128::from(time.micros);
    Some(match field {
        DatetimeField::Microseconds => decimal(second, 0),
        DatetimeField::Milliseconds => decimal(second, 3),
        DatetimeField::Second => decimal(second, 6),
        DatetimeField::Minute => time.minute.into(),
        DatetimeField::Hour => time.hour.into(),
        _ => return None,
    })
}

impl SqlDate {
    /// Returns a field; `None` is null.
    ///
    /// # Errors
    /// 0A000 for a field that a date does not have.
    pub fn extract(
        self,
        field: DatetimeField,
        name: &str,
    ) -> Result<Option<ExactNumeric>, ValueError> {
        let value = match field {
            DatetimeField::Julian => Some(i64::from(self.0) + JULIAN_EPOCH_DAYS),
            DatetimeField::Epoch => Some((i64::from(self.0) + i64::from(EPOCH_DAYS)) * 86_400),
            field => calendar_field(CivilDate::from_days(self.0), field),
        };
        let value = value.ok_or_else(|| DatetimeField::not_supported(name, "date"))?;
        if self.is_finite() {
            Ok(Some(value.into()))
        } else {
            Ok(infinite(field, self == Self::INFINITY))
        }
    }

    /// Returns a field that is a whole number of each date; `None` for others, and of infinities.
    pub fn whole_field(self, field: DatetimeField) -> Option<i64> {
        calendar_field(self.civil()?, field)
    }
}

impl SqlTimestamp {
    /// Returns a field that is a whole number of each timestamp; `None` for others, and of
    /// infinities.
    pub fn whole_field(self, field: DatetimeField) -> Option<i64> {
        let (date, micros) = self.civil()?;
        match field {
            DatetimeField::Minute => Some(CivilTime::from_micros(micros).minute.into()),
            DatetimeField::Hour => Some(CivilTime::from_micros(micros).hour),
            field => calendar_field(date, field),
        }
    }

    /// Returns a field of a `timestamp`; `None` is null.
    ///
    /// # Errors
    /// 0A000 for a field that it does not have.
    pub fn extract(
        self,
        field: DatetimeField,
        name: &str,
    ) -> Result<Option<ExactNumeric>, ValueError> {
        self.extract_at(field, None, "timestamp without time zone", name)
    }

    /// Returns a field of a `timestamp with time zone`, whose local form is `self`.
    ///
    /// # Errors
    /// 0A000 for a field that it does not have.
    pub fn extract_with_zone(
        self,
        field: DatetimeField,
        seconds_east: i32,
        name: &str,
    ) -> Result<Option<ExactNumeric>, ValueError> {
        self.extract_at(field, Some(seconds_east), "timestamp with time zone", name)
    }

    fn extract_at(
        self,
        field: DatetimeField,
        seconds_east: Option<i32>,
        type_name: &str,
        name: &str,
    ) -> Result<Option<ExactNumeric>, ValueError> {
        let zone = zone_field(field, seconds_east);
        let Some((date, micros)) = self.civil() else {
            return Ok(infinite(field, self == Self::INFINITY));
        };
        let local = i128::from(self.0);
        let utc = local - i128::from(seconds_east.unwrap_or(0)) * i128::from(MICROS_PER_SECOND);
        let value = match field {
            DatetimeField::Epoch => decimal(utc - i128::from(Self::UNIX_EPOCH.0), 6),
            DatetimeField::Julian => {
                let julian = ExactNumeric::from(date.days() + JULIAN_EPOCH_DAYS);
                let day = ExactNumeric::from(MICROS_PER_DAY);
                julian.add(&ExactNumeric::from(micros).divide(&day)?)?
            }
            field => match clock_field(CivilTime::from_micros(micros), field) {
                Some(value) => value,
                None => calendar_field(date, field)
                    .or(zone)
                    .map(ExactNumeric::from)
                    .ok_or_else(|| DatetimeField::not_supported(name, type_name))?,
            },
        };
        Ok(Some(value))
    }
}

fn zone_field(field: DatetimeField, seconds_east: Option<i32>) -> Option<i64> {
    let seconds = i64::from(seconds_east?);
    match field {
        DatetimeField::Timezone => Some(seconds),
        DatetimeField::TimezoneHour => Some(seconds / 3_600),
        DatetimeField::TimezoneMinute => Some(seconds / 60 % 60),
        _ => None,
    }
}

impl SqlTime {
    /// Returns a field.
    ///
    /// # Errors
    /// 0A000 for a field that a time does not have.
    pub fn extract(self, field: DatetimeField, name: &str) -> Result<ExactNumeric, ValueError> {
        match field {
            DatetimeField::Epoch => Ok(decimal(self.0.into(), 6)),
            field => clock_field(CivilTime::from_micros(self.0), field)
                .ok_or_else(|| DatetimeField::not_supported(name, "time without time zone")),
        }
    }
}

impl SqlTimeTz {
    /// Returns a field.
    ///
    /// # Errors
    /// 0A000 for a field that a time does not have.
    pub fn extract(self, field: DatetimeField, name: &str) -> Result<ExactNumeric, ValueError> {
        if let Some(value) = zone_field(field, Some(self.seconds_east)) {
            return Ok(value.into());
        }
        match field {
            DatetimeField::Epoch => Ok(decimal(self.utc_micros().into(), 6)),
            field => clock_field(CivilTime::from_micros(self.time.0), field)
                .ok_or_else(|| DatetimeField::not_supported(name, "time with time zone")),
        }
    }
}

impl SqlInterval {
    /// Returns a field.
    ///
    /// # Errors
    /// 0A000 for a field that an interval does not have.
    pub fn extract(self, field: DatetimeField, name: &str) -> Result<ExactNumeric, ValueError> {
        let months = i64::from(self.months);
        let year = months / 12;
        let value = match field {
            DatetimeField::Day => self.days.into(),
            DatetimeField::Month => months % 12,
            DatetimeField::Quarter => months % 12 / 3 + 1,
            DatetimeField::Year => year,
            DatetimeField::Decade => year / 10,
            DatetimeField::Century => year / 100,
            DatetimeField::Millennium => year / 1_000,
            DatetimeField::Epoch => {
                // A year has 365.25 days, a month 30.
                let days = i128::from(months % 12) * 30 + i128::from(self.days);
                let quarter_days = i128::from(year) * 1_461 + days * 4;
                let micros = quarter_days * i128::from(MICROS_PER_DAY / 4);
                return Ok(decimal(micros + i128::from(self.micros), 6));
            }
            field => {
                return clock_field(CivilTime::from_micros(self.micros), field)
                    .ok_or_else(|| DatetimeField::not_supported(name, "interval"));
            }
        };
        Ok(value.into())
    }
}
