//! Tables, chunks, bulk loads and the manifest.
//!
//! A database is a directory (or, for a volatile one, nothing): the pool set of the
//! [`manifest`], one pool of blocks per load. Opening reads the manifest and
//! nothing else; pools are mapped when a scan first wants them, and scans read mapped blocks.
//!
//! This crate knows nothing of SQL, CSV or Arrow, and starts no thread.
//!
//! # Invariants
//! 1. A load is visible wholly or not at all, whatever happens to the process.
//! 2. No byte of a block is used before its checksum was verified.

#![deny(unsafe_code)]

mod codec;
mod directory;
mod error;
mod key;
#[cfg(test)]
mod layout_tests;
mod load;
mod manifest;
mod opening;
mod schema;
mod store;
mod table;
mod uniqueness;

pub use error::{DuplicateKey, Error, ErrorKind, Result};
pub use load::Load;
pub use manifest::{DatabaseId, LoadId, TableId};
pub use schema::{COLUMNS_MAX, ColumnDef, NAME_BYTES_MAX, TableSchema};
pub use store::{MAIN_DOMAIN, OpenOptions, Store};
pub use table::{BlockHandle, BlockLocation, Chunk, Table, TableSnapshot};
