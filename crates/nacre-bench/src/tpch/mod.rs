//! TPC-H: tables, data, queries, and checks of the answers.
//!
//! # Source
//! TPC Benchmark H, revision 3.0.1: section 1.4 (tables), 2.4 (queries and validation values),
//! 4.2.2.10 (answers are compared at scale factor 1). Data come from the crate `tpchgen`, whose
//! rows are those of the TPC's own generator.

mod answer;
mod compare;
mod generate;
mod oracle;
mod published;
mod queries;
mod schema;

pub use answer::{Answer, Cell};
pub use compare::{Difference, Mismatch, compare};
pub(crate) use generate::generate_until;
pub use generate::{CsvFile, check_scale_factor, generate};
pub(crate) use oracle::run_in;
pub use oracle::{Oracle, csv_context};
pub use published::compare_with_published;
pub use queries::{QUERIES, Query};
pub use schema::{Column, ColumnKind, TABLES, Table, table};
