//! ClickBench's shapes: one wide table of page views, 43 queries.
//!
//! # Source
//! ClickBench (ClickHouse, 2022): what its queries ask and how its data are skewed. Differs:
//! - The rows come from a generator of our own. Kept are the 25 columns that the queries read and
//!   five more, with their types; of its 105 columns the others are left out.
//! - Kept of the skew, roughly: shares of empty texts and of zeros, numbers of distinct values,
//!   shares of the most frequent ones (`generate` says which). Rows come in the order of time.
//! - The texts of the queries are our own. Where `LIMIT` would cut between equal rows, `ORDER BY`
//!   goes on with the keys of the groups, so that there is one right answer; Q17 has no order.
//! - Bounds of groups grow with the rows: a thousandth of them. Q41 skips 100 rows instead of
//!   10,000, of which ten million rows leave nothing.

mod generate;
mod queries;
mod schema;
mod text;

pub use generate::generate;
pub(crate) use generate::generate_until;
pub use queries::{QUERIES, UNORDERED, sql};
pub use schema::HITS;
