//! Indexes in memory: from key bytes to the rows that have the key.
//!
//! - [`ArtIndex`]: an adaptive radix tree, for points, ranges and ranges backwards;
//! - [`HashIndex`]: a chained hash table, for points;
//! - a hybrid index has the entries of frozen rows in immutable trees in files (`run/`) and those
//!   of other rows in an [`ArtIndex`]: for what that is for, and there when a database is opened.
//!
//! Both map byte strings of any length to sets of rows; what the bytes mean is `key.rs`'s business.
//! A [`TableIndex`] is one of them with its definition and its latch. An entry is there as long as
//! somebody may see its row, so a unique index too can have several rows for a key.
//!
//! # Invariants
//! 1. A key is there exactly if it has a row.
//! 2. Nothing takes time in proportion to the whole index: arenas and buckets grow page by page.
//! # Concurrency
//! The structures have none of their own; a [`TableIndex`] has a latch.
//! # Source
//! [Muehlbauer16 2.2.5] indexes refer to all records that a transaction may see.

mod art;
mod build;
mod choose;
mod definition;
mod fill;
#[cfg(test)]
mod fill_tests;
mod frozen;
mod frozen_rows;
mod hash;
mod limits;
mod lookup;
mod others;
mod row_set;
mod run;
mod runs;
mod runs_upkeep;
mod searched;
mod short;
mod slab;
mod table_index;
mod unique;

pub use art::{ArtIndex, Direction};
pub use build::IndexInfo;
pub use choose::IndexChoice;
pub use definition::{INDEX_COLUMNS_MAX, IndexDef, IndexKind, IndexOrigin};
pub(crate) use definition::{decode_columns, encode_columns};
pub(crate) use fill::{add_hot_rows, add_hot_rows_to, defer_hot_rows};
pub(crate) use frozen::{KeySearch, remove_frozen_entries};
pub use hash::HashIndex;
pub use limits::{IndexFull, KEYS_MAX};
pub use lookup::ValueBounds;
pub(crate) use lookup::{KEY_VALUES_INLINE, Reader, SearchRoom};
pub use row_set::Rows;
#[cfg(test)]
pub(crate) use run::{PageRef, leaf_bytes, run_header};
pub(crate) use run::{Run, RunId, RunOwner, RunRecord, is_run_file_name, run_file_name};
pub(crate) use searched::{SearchedLoad, SearchedLoads};
pub use table_index::TableIndex;
pub(crate) use table_index::{
    IndexState, TableIndexes, add_entries, insert_entries, key_text_of, keys_in, remove_entries,
};
pub(crate) use unique::{check_frozen, check_rows, claimed};
