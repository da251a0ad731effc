//! Rows that no table has: constant ones, series and sets, those that are kept, those that are
//! handed on more than once, those that are made of others again and again, and those that are made
//! one after the other; rows of which columns are read when they are known to be wanted; and calls
//! of queries for rows.

mod called;
mod collected;
mod constant;
mod expand;
mod fetch;
mod held;
mod recursion;
mod repeat;
mod series;
mod stepped;

pub(crate) use called::call_query;
pub(crate) use collected::{CollectedRun, CollectedSource, CollectingSink};
pub(crate) use constant::ConstantRowSource;
pub(crate) use expand::{ExpandPlan, ExpandSource};
pub(crate) use fetch::{FetchPlan, FetchPlanScan, FetchSource};
pub(crate) use held::{HeldSource, OnceSink};
pub(crate) use recursion::{BatchSink, BatchSource, RecursionSource};
pub(crate) use repeat::RepeatSource;
pub(crate) use series::SeriesSource;
pub(crate) use stepped::{SlicedSource, SteppedSource};
