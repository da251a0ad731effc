//! `COPY`: [`statement`] reads it, [`options`] checks its options, [`load`] runs it into a table,
//! in a transaction block row by row ([`rows`]), and [`unload`] out of a table or query.

mod load;
mod options;
mod rows;
mod statement;
mod unload;

pub(crate) use load::copy_from;
pub use statement::ClientCopy;
pub(crate) use statement::{CopyStatement, parse_copy};
pub(crate) use unload::copy_to;
