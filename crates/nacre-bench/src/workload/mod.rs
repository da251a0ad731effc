//! What the workloads share: tables, CSV files, queries, and the oracle that checks the answers.

mod answer;
mod approximate;
mod compare;
mod csv;
mod oracle;
mod query;
mod random;
mod table;

pub use answer::{Answer, Cell};
pub use approximate::compare_approximately;
pub use compare::{Difference, Mismatch, compare};
pub use csv::CsvFile;
#[cfg(test)]
pub(crate) use csv::part_count;
pub(crate) use csv::{Cut, Generation, Part};
pub(crate) use oracle::run_in;
pub use oracle::{Oracle, csv_context};
pub use query::Query;
pub(crate) use query::query;
pub(crate) use random::Random;
pub use table::{Column, ColumnKind, Table};
