//! Rows that no table has: constant ones, series and sets, those that are kept, those that are
//! handed on more than once, and those that are made of others again and again.

mod collected;
mod constant;
mod expand;
mod held;
mod recursion;
mod repeat;
mod series;

pub(crate) use collected::{CollectedSource, CollectingSink};
pub(crate) use constant::ConstantRowSource;
pub(crate) use expand::{ExpandPlan, ExpandSource};
pub(crate) use held::{HeldSource, OnceSink};
pub(crate) use recursion::{BatchSink, BatchSource, RecursionSource};
pub(crate) use repeat::RepeatSource;
pub(crate) use series::SeriesSource;
