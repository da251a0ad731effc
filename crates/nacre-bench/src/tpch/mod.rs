//! TPC-H: tables, data, queries, and the published answers.
//!
//! # Source
//! TPC Benchmark H, revision 3.0.1: section 1.4 (tables), 2.4 (queries and validation values),
//! 4.2.2.10 (answers are compared at scale factor 1). Data come from the crate `tpchgen`, whose
//! rows are those of the TPC's own generator.

mod generate;
mod published;
mod queries;
mod schema;

pub(crate) use generate::generate_until;
pub use generate::{check_scale_factor, generate};
pub use published::compare_with_published;
pub use queries::{QUERIES, UNUSED_COLUMNS};
pub use schema::{TABLES, table};
