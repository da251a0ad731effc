//! Scans: from the chunks of a table to batches of vectors.
//!
//! 1. [`PreparedScan`] drops chunks whose aggregates rule out a match, and finds out the bounds of
//!    what is left: they decide how wide each column is decoded. Chunks that come out as a whole
//!    may be answered by their aggregates.
//! 2. A [`MorselScanner`] goes through a part of a chunk, 8,192 rows at a time unless the query's
//!    options say otherwise. Predicates are evaluated on encoded values; rows that are left are
//!    gathered if they are few, decoded with all others if they are many.
//! 3. A vector counts only after the blocks that it was read from were checked; else it is read
//!    from another replica, before any sub-operator sees it ([`frozen`]).
//! 4. A top-k above tells from which value on rows come too late ([`top`]), and may have columns
//!    left out that only its answer needs ([`fetch`]).
//!
//! # Source
//! [Muehlbauer16 section 7.3] vectorized scans with SARGable restrictions. Differs: strings are
//! restricted by any predicate, evaluated once for each entry of a dictionary; gathered rows of
//! several vectors share a batch.

mod convert;
mod decode;
mod fetch;
mod filter;
mod frozen;
mod hot;
mod late;
mod left_rows;
mod morsel;
mod predicate;
mod prepare;
mod reads;
mod sample;
mod scanner;
mod top;

pub(crate) use fetch::fetch_rows;
pub(crate) use late::KeySet;
pub(crate) use morsel::ScanMorsel;
pub use predicate::{ColumnPredicate, ScanPredicate, StringPredicate};
pub(crate) use prepare::PreparedScan;
pub(crate) use reads::BlockReads;
pub use sample::{SampleSeed, ScanSample};
pub(crate) use scanner::MorselScanner;
pub(crate) use top::{TopBound, TopOrder};
