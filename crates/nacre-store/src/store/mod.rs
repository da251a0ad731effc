//! An open database: its domains, its manifest and its tables.
//!
//! # Invariants
//! 1. What the manifest says exists, exists as long as its domain does; parts it does not name are
//!    removed when the database is opened for writing (they are left over from a load or a repair
//!    that was cut off).
//! 2. A directory is open for writing in one process, or for reading in any number.
//! # Durability
//! `create_table`, `drop_table` and [`crate::Load::commit`] are durable when they return, as far
//! as the domains' kinds go.
//! # Concurrency
//! All calls may come from any thread. Lock order: the sequences, maintenance, the
//! commit locks of tables by their ids, the manifest, those of `mvcc`, the table map and the views,
//! the lists of a table.

mod handle;
mod named_tables;
mod publish;

pub(crate) use handle::Define;
pub use handle::{MAIN_DOMAIN, OpenOptions, Store};
