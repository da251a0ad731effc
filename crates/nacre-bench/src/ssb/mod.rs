//! SSB, the star schema benchmark: a fact table, four dimensions, 13 queries.
//!
//! # Source
//! O'Neil, O'Neil, Chen: Star Schema Benchmark, revision 3, 2009; [Zarubin22 4.2.3] uses it.
//! The generator is our own: its rows follow the rules of that text and are not those of another
//! generator. Differs: what the text leaves open is said in `calendar` and `generate`; scale
//! factors below 1 shrink the parts in proportion.

mod calendar;
mod generate;
mod queries;
mod schema;

pub(crate) use generate::generate_until;
pub use generate::{check_scale_factor, generate};
pub use queries::QUERIES;
pub use schema::TABLES;
