//! PostgreSQL's functions that the planner lacks or understands differently.
//!
//! - [`scalar`]: what all of them have in common; [`list`] makes those of a session.
//! - [`formatting`]: `to_char`, `to_date`, `to_timestamp`, `to_number`, over patterns for moments
//!   ([`template`], [`datetime_out`], [`datetime_in`]) and numbers ([`number_out`], [`numbers`]).
//! - [`moments`]: `age`, `isfinite`, `make_timestamp`, `timezone`; [`civil`] is the calendar.
//! - [`interval_in`]: texts of intervals.
//! - [`clock`]: the moment that it is now. [`arithmetic`]: `div`, `width_bucket`, `trunc`.
//! - [`texts`]: `string_to_array`, `parse_ident`. [`series`]: what `generate_series` gives.
//! - [`similar`]: SIMILAR TO.
//! - [`synonyms`]: calls that the planner has under another name.
//! - [`quotients`]: division. [`whole`]: arithmetic of whole numbers. [`ranks`]: `row_number` and
//!   its kin. [`unifying`]: `coalesce` and its kin.
//! - [`sums`], [`extremes`]: the aggregates `sum`, `min` and `max`; [`folds`] are their
//!   accumulators.
//! - [`named`]: gives an expression a name of its own.
//! - [`bounded`]: those whose results may be long.
//! - [`unknown`]: says which function does not exist, with the types of its arguments.

mod arithmetic;
mod bounded;
mod civil;
mod clock;
mod datetime_in;
mod datetime_out;
mod extremes;
mod folds;
mod formatting;
mod interval_in;
mod list;
mod moments;
mod named;
mod number_in;
mod number_out;
mod numbers;
mod quotients;
mod ranks;
mod scalar;
mod series;
mod similar;
mod sums;
mod synonyms;
mod template;
mod texts;
mod unifying;
mod unknown;
mod whole;

pub(crate) use bounded::bounded;
pub(crate) use clock::{now, now_us};
pub(crate) use extremes::extremes;
pub(crate) use interval_in::parse_interval;
pub(crate) use list::{Arithmetic, common_functions, rint, shown};
pub(crate) use moments::{EPOCH, TIMES};
pub(crate) use named::{NAMED, named_function};
pub(crate) use ranks::ranks;
pub(crate) use series::SERIES;
pub(crate) use similar::similar;
pub(crate) use sums::checked_sum;
pub(crate) use synonyms::{call, synonym, word};
pub(crate) use texts::{LIKE_PATTERN, escaped_by_backslashes};
pub(crate) use unknown::UNKNOWN;
pub(crate) use whole::is_whole;
