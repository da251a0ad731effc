//! Texts of dates, times and timestamps.
//!
//! 1. [`tokens::split_tokens`] cuts a text into numbers, words, dates, times and offsets.
//! 2. [`datetime_reader`] and [`time_reader`] go through the tokens; [`fields`] reads each one.
//! 3. The fields are checked together and become a value.

mod datetime_reader;
mod fields;
mod keywords;
mod time_reader;
pub(crate) mod tokens;

use super::calendar::{JULIAN_EPOCH_DAYS, days_of_civil};
use super::settings::DatetimeSettings;
use super::values::{SqlDate, SqlTime, SqlTimeTz, SqlTimestamp, round_micros};
use super::{MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::error::ValueError;

use datetime_reader::{ReadDatetime, read_datetime};
use time_reader::read_time;
use tokens::split_tokens;

pub(crate) use fields::{MICROS_MAX_SECOND, fraction_micros, read_integer, read_long};

/// Why a text is refused; the type and the text are added where they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DatetimeFault {
    /// The text has not the form of a value.
    Format,
    /// A field is out of range.
    FieldRange,
    /// A month or a day is out of range, perhaps because they change places.
    MonthDayRange,
    /// An offset from UTC is out of range.
    ZoneRange,
    /// The text names a zone that does not exist, or asks for a clock that is not there.
    Other(Box<ValueError>),
}

impl DatetimeFault {
    pub(crate) fn other(error: ValueError) -> Self {
        Self::Other(Box::new(error))
    }

    /// Makes the error for the text of a type.
    pub(crate) fn into_error(self, type_name: &str, text: &str) -> ValueError {
        let range = || {
            let message = format!("date/time field value out of range: \"{text}\"");
            ValueError::datetime_overflow(message)
        };
        match self {
            Self::Format => {
                let message = format!("invalid input syntax for type {type_name}: \"{text}\"");
                ValueError::datetime_format(message)
            }
            Self::FieldRange => range(),
            Self::MonthDayRange => {
                range().with_hint("Perhaps you need a different \"datestyle\" setting.")
            }
            Self::ZoneRange => {
                let message = format!("time zone displacement out of range: \"{text}\"");
                ValueError::zone_displacement(message)
            }
            Self::Other(error) => *error,
        }
    }
}

impl SqlDate {
    /// Reads a date.
    ///
    /// # Errors
    /// 22007 and 22008, 22009 and 22023 for zones.
    pub fn parse(text: &str, settings: &DatetimeSettings) -> Result<Self, ValueError> {
        let fault = |fault: DatetimeFault| fault.into_error("date", text);
        let read = split_tokens(text).and_then(|tokens| read_datetime(&tokens, settings));
        match read.map_err(fault)? {
            ReadDatetime::Epoch => Ok(Self::UNIX_EPOCH),
            ReadDatetime::Infinity => Ok(Self::INFINITY),
            ReadDatetime::NegativeInfinity => Ok(Self::NEGATIVE_INFINITY),
            ReadDatetime::Moment { year, month, day, .. } => {
                let days = days_of_civil(year, month.into(), day.into());
                Self::from_days(days).map_err(|_| {
                    ValueError::datetime_overflow(format!("date out of range: \"{text}\""))
                })
            }
        }
    }
}

impl SqlTimestamp {
    /// Reads a `timestamp`; a zone in the text is ignored.
    ///
    /// # Errors
    /// 22007 and 22008, 22009 and 22023 for zones.
    pub fn parse(
        text: &str,
        digits: Option<u32>,
        settings: &DatetimeSettings,
    ) -> Result<Self, ValueError> {
        Self::read(text, "timestamp", digits, settings, false)
    }

    /// Reads a `timestamp with time zone`; without a zone the text is of the session's.
    ///
    /// # Errors
    /// As for [`SqlTimestamp::parse`].
    pub fn parse_with_zone(
        text: &str,
        digits: Option<u32>,
        settings: &DatetimeSettings,
    ) -> Result<Self, ValueError> {
        Self::read(text, "timestamp with time zone", digits, settings, true)
    }

    fn read(
        text: &str,
        type_name: &str,
        digits: Option<u32>,
        settings: &DatetimeSettings,
        has_zone: bool,
    ) -> Result<Self, ValueError> {
        let out_of_range =
            || ValueError::datetime_overflow(format!("timestamp out of range: \"{text}\""));
        let read = split_tokens(text).and_then(|tokens| read_datetime(&tokens, settings));
        let timestamp = match read.map_err(|fault| fault.into_error(type_name, text))? {
            ReadDatetime::Epoch => Self::UNIX_EPOCH,
            ReadDatetime::Infinity => return Ok(Self::INFINITY),
            ReadDatetime::NegativeInfinity => return Ok(Self::NEGATIVE_INFINITY),
            ReadDatetime::Moment { year, month, day, micros, zone } => {
                let days = days_of_civil(year, month.into(), day.into());
                if days < -JULIAN_EPOCH_DAYS {
                    return Err(out_of_range());
                }
                let local = i128::from(days) * i128::from(MICROS_PER_DAY) + i128::from(micros);
                let seconds_east = if has_zone {
                    let near = i64::try_from(local).map_err(|_| out_of_range())?;
                    zone.seconds_east(near, settings)
                } else {
                    0
                };
                let shift = i128::from(seconds_east) * i128::from(MICROS_PER_SECOND);
                Self::from_micros(local - shift).map_err(|_| out_of_range())?
            }
        };
        timestamp.rounded(digits)
    }
}

impl SqlTime {
    /// Reads a `time`; date and zone in the text are ignored.
    ///
    /// # Errors
    /// 22007 and 22008, 22009 and 22023 for zones.
    pub fn parse(
        text: &str,
        digits: Option<u32>,
        settings: &DatetimeSettings,
    ) -> Result<Self, ValueError> {
        let read = split_tokens(text).and_then(|tokens| read_time(&tokens, settings));
        let (micros, _) = read.map_err(|fault| fault.into_error("time", text))?;
        Ok(Self(round_micros(micros, digits)))
    }
}

impl SqlTimeTz {
    /// Reads a `time with time zone`. Without an offset in the text the zone decides: at the date
    /// in the text, or today.
    ///
    /// # Errors
    /// 22007 and 22008, 22009 and 22023 for zones.
    pub fn parse(
        text: &str,
        digits: Option<u32>,
        settings: &DatetimeSettings,
    ) -> Result<Self, ValueError> {
        let read = split_tokens(text).and_then(|tokens| read_time(&tokens, settings));
        let (micros, seconds_east) =
            read.map_err(|fault| fault.into_error("time with time zone", text))?;
        Ok(Self { time: SqlTime(round_micros(micros, digits)), seconds_east })
    }
}
