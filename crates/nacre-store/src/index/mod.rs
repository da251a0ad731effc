//! Indexes in memory: from key bytes to the rows that have the key.
//!
//! - [`ArtIndex`]: an adaptive radix tree, for points, ranges and ranges backwards;
//! - [`HashIndex`]: a chained hash table, for points.
//!
//! Both map byte strings of any length to sets of rows. What the bytes mean is `key.rs`'s business,
//! which versions are visible and what is unique that of the transactions: an entry is there as
//! long as somebody may see its row, so a unique index too can have several rows for a key.
//!
//! # Invariants
//! 1. A key is there exactly if it has a row.
//! 2. Nothing takes time in proportion to the whole index: arenas and buckets grow page by page.
//! # Concurrency
//! None of their own: whoever shares an index puts a latch around it.
//! # Source
//! [Muehlbauer16 2.2.5] indexes refer to all records that a transaction may see.

mod art;
mod hash;
mod limits;
mod row_set;
mod short;
mod slab;

pub use art::{ArtIndex, Direction};
pub use hash::HashIndex;
pub use limits::{IndexFull, KEYS_MAX};
pub use row_set::Rows;
