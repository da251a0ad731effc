//! Statistics of tables for planners of queries.
//!
//! 1. Each block has its own in the directories of its load
//!    ([`BlockStatistics`](nacre_column::BlockStatistics)).
//! 2. [`column_summary`] merges those of a column, and [`statistics_cache`] keeps the summaries of
//!    a table: made when the first query asks, added to when there are more loads, and made anew
//!    when loads have gone.
//! 3. [`table_statistics`] adds what hot chunks have: rows and bounds, which only widen, and what
//!    the last ANALYZE found in them ([`analyze`]). Loads of versions that kept no statistics have
//!    them from ANALYZE, too.
//!
//! # Invariants
//! 1. Nothing here is needed to read a row, and all of it may be stale: rows that were deleted or
//!    changed count until their chunk is frozen or analyzed again.
//! 2. What ANALYZE found is kept in memory until the database is closed.
//!
//! # Source
//! [Muehlbauer16 section 3] keeps small aggregates with blocks. Differs: sketches and quantiles,
//! too.

mod analyze;
mod column_summary;
mod quantile_points;
mod statistics_cache;
mod table_statistics;

pub(crate) use statistics_cache::StatisticsCache;
pub use table_statistics::{ColumnEstimates, TableStatistics};
