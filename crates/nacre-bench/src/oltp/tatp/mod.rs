//! TATP: short transactions of a telephone company's home location register, most of which read.
//!
//! Subscribers are found by number in a table of its own, whose rows are what an index on numbers
//! would hold.
//!
//! # Source
//! TATP Benchmark Description, version 1.0, sections 2 to 4.

mod load;
mod transactions;

pub(crate) use load::{Tables, load};
pub(crate) use transactions::run;
