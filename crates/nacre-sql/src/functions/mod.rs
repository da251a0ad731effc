//! PostgreSQL's functions that the planner lacks or understands differently.
//!
//! - [`scalar`]: what all of them have in common; [`list`] makes those of a session.
//! - [`formatting`]: `to_char`, `to_date`, `to_timestamp`, `to_number`, over patterns for moments
//!   ([`template`], [`datetime_out`], [`datetime_in`]) and numbers ([`number_out`], [`numbers`]).
//! - [`moments`]: `age`, `isfinite`, `make_timestamp`, `timezone`; [`civil`] is the calendar.
//! - [`interval_in`]: texts of intervals. [`text_in`]: casts of texts. [`float_digits`]: casts of
//!   floats to decimals.
//! - [`clock`]: the moment that it is now. [`arithmetic`]: `div`, `width_bucket`, `trunc`.
//! - [`texts`]: `string_to_array`, `parse_ident`. [`series`]: what `generate_series` gives.
//! - [`similar`]: SIMILAR TO. [`regular`]: `regexp_replace`. [`encodings`]: `encode`, `decode`.
//! - [`joined`]: `||`, `concat`. [`value_blocks`]: what values of any length are made in.
//! - [`synonyms`]: calls that the planner has under another name.
//! - [`quotients`]: division. [`whole`]: arithmetic of whole numbers. [`ranks`]: `row_number` and
//!   its kin; [`window_arguments`] checks those of others. [`unifying`]: `coalesce` and its kin.
//! - [`sums`], [`extremes`]: the aggregates `sum`, `min` and `max`; [`folds`] are their
//!   accumulators.
//! - [`named`]: gives an expression a name of its own.
//! - [`bounded`]: those whose results may be long; [`bounded_aggregate`]: `string_agg`.
//! - [`unknown`]: says which function does not exist, with the types of its arguments.

mod arithmetic;
mod bounded;
mod bounded_aggregate;
mod civil;
mod clock;
mod datetime_in;
mod datetime_out;
mod encodings;
mod extremes;
mod float_digits;
mod folds;
mod formatting;
mod interval_in;
mod joined;
mod list;
mod moments;
mod named;
mod number_in;
mod number_out;
mod numbers;
mod quotients;
mod ranks;
mod regular;
mod scalar;
mod series;
mod similar;
mod sums;
mod synonyms;
mod template;
mod text_in;
mod texts;
mod unifying;
mod unknown;
mod value_blocks;
mod whole;
mod window_arguments;

pub(crate) use bounded::{bounded, deferred};
pub(crate) use bounded_aggregate::bounded_aggregate;
pub(crate) use clock::{now, now_us};
pub(crate) use extremes::extremes;
pub(crate) use float_digits::{decimal_of_float, decimals_of_floats};
pub(crate) use interval_in::parse_interval;
pub(crate) use joined::OR_EMPTY;
pub(crate) use list::{Arithmetic, PlannedOperators, common_functions, rint, shown};
pub(crate) use moments::{EPOCH, ROUNDED};
pub(crate) use named::{NAMED, named_function};
pub(crate) use ranks::ranks;
pub(crate) use regular::DOT_IS_ANY;
pub(crate) use series::SERIES;
pub(crate) use similar::similar;
pub(crate) use sums::checked_sum;
pub(crate) use synonyms::{call, synonym, word};
pub(crate) use text_in::text_in;
pub(crate) use texts::{LIKE_PATTERN, escaped_by_backslashes};
pub(crate) use unknown::UNKNOWN;
pub(crate) use whole::is_whole;
pub(crate) use window_arguments::{check_window_call, null_window_call};
