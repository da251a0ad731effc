//! Dates, times, timestamps: values, text forms, arithmetic.
//!
//! 1. Values count from 2000-01-01, as PostgreSQL's do: days of 32 bits, microseconds of 64 bits.
//!    Counted from 1970 the last years would not fit.
//! 2. Texts are cut into tokens (`input/tokens.rs`), tokens become fields (`input/fields.rs`), and
//!    the fields of all tokens a value.
//! 3. What a session sets (order of day and month, style, zone, clock) is [`DatetimeSettings`].
//!
//! # Invariants
//! 1. Calendars are Gregorian without a gap; the year before 1 is 0 inside and `0001 BC` in texts.
//! 2. A timestamp lies between 4714-11-24 BC and 294276-12-31 AD, or is infinite.

mod arithmetic;
mod calendar;
mod extract;
mod input;
pub(crate) mod interval;
mod output;
mod settings;
mod truncate;
mod values;
mod zone;

#[cfg(test)]
mod tests;

pub use calendar::{CivilDate, CivilTime};
pub use extract::DatetimeField;
pub use interval::SqlInterval;
pub use settings::{DateOrder, DateStyle, DatetimeSettings, IntervalStyle};
pub use values::{SqlDate, SqlTime, SqlTimeTz, SqlTimestamp};
pub use zone::{TimeZoneRules, ZoneOffset};

pub(crate) use arithmetic::{local_timestamp, timestamp_of_local};

#[cfg(test)]
pub(crate) use calendar::days_of_civil;

pub(crate) use input::tokens::{DatetimeToken, TokenKind, split_tokens};
pub(crate) use input::{
    DatetimeFault, MICROS_MAX_SECOND, fraction_micros, read_integer, read_long,
};
pub(crate) use output::write_seconds;

pub(crate) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(crate) const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
pub(crate) const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
pub(crate) const MICROS_PER_DAY: i64 = 24 * MICROS_PER_HOUR;

/// Days from 1970-01-01 to 2000-01-01.
pub(crate) const EPOCH_DAYS: i32 = 10_957;
