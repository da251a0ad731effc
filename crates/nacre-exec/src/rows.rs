//! Rows that no table has: constant ones, series, those that are kept, and those that are handed on
//! more than once.

mod collected;
mod constant;
mod repeat;
mod series;

pub(crate) use collected::{CollectedSource, CollectingSink};
pub(crate) use constant::ConstantRowSource;
pub(crate) use repeat::RepeatSource;
pub(crate) use series::SeriesSource;
