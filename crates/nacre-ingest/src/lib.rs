//! Loading and unloading of CSV for Nacre, with PostgreSQL's meaning of COPY.
//!
//! | module | what lives there |
//! |---|---|
//! | [`CsvOptions`] | options of COPY, their defaults and checks |
//! | `dialect`, `scan`, `plan` | rows found in pieces of a file, in parallel; chunks of rows |
//! | `mask`, `index`, `columns`, `chunk` | a window of text to column buffers, fast |
//! | `row` | the exact meaning of a row, and which fault is reported |
//! | [`parse`], [`mod@format`] | text to value and value to text for every type |
//! | [`Loader`] | workers, errors in file order, cancelling |
//! | [`copy_from`] | all of it into a table of the store, atomically |
//! | [`copy_into`] | all of it to whoever takes chunks |
//! | [`CsvWriter`] | rows to CSV |
//!
//! # Invariants
//! 1. Chunks, values and the error reported do not depend on the number of threads.
//! 2. Whatever the bytes, nothing panics, and text that reaches a buffer is UTF-8 without zeros.
//! 3. Memory is bounded by threads and the longest row, not by the file.
//! 4. This crate knows nothing of SQL text, Arrow, blocks or transactions, and has no unsafe code.
//!
//! # Differences from PostgreSQL
//! - A byte order mark at the begin of a file is skipped.
//! - `\.` ends CSV data that came with the command, and is data in a CSV file (PostgreSQL 18's
//!   reading); at the end of a file in text format it is skipped.
//! - A fault is located where it begins; PostgreSQL names the line on which the row ends.
//! - Rows of more than 10^9 bytes, `NaN` decimals, infinite dates, years outside 1 to 9999 and
//!   encodings other than UTF-8 are refused.
//!
//! # Source
//! [Muehlbauer16 ch. 3] Instant Loading; the modules say where they differ.

#![forbid(unsafe_code)]

mod bulk;
mod chunk;
mod columns;
mod dialect;
mod error;
mod index;
mod layout;
mod load;
mod mask;
mod options;
pub mod parse;
mod plan;
mod progress;
mod prologue;
mod row;
mod scan;
mod source;
mod writer;

pub use bulk::{ChunkRules, Destination, copy_from, copy_into};
pub use error::{Error, ErrorKind, Location, Result, SHOWN_CHARS_MAX, ValueError, shown};
pub use layout::{Target, TargetColumn};
pub use load::{ChunkSink, Loader};
pub use options::{CsvOptions, Direction, Force, Header, OptionsBuilder, TextFormat};
pub use progress::Progress;
pub use source::Source;
pub use writer::CsvWriter;

#[cfg(test)]
mod tests;
