//! PostgreSQL 15's types and casts as data.
//!
//! `catalog/pg_type.tsv` and `catalog/pg_cast.tsv` are PostgreSQL's own catalogs, without the row
//! types of tables. They are parsed at first use; every later look-up is by index, hash or binary
//! search.
//!
//! # Invariants
//! 1. OIDs, names and properties are PostgreSQL's, so that a client may ask either server.
//! 2. A type that Nacre cannot compute with yet is in the catalog all the same.
//! # See
//! `tests/postgres/catalogs.rs` compares both files with a server's catalogs.

mod cast_entry;
mod oid_index;
mod type_entry;
mod type_oid;

pub use cast_entry::{CastContext, CastEntry, CastMethod, all_casts, find_cast};
pub use oid_index::OidIndex;
pub use type_entry::{TypeClass, TypeEntry, all_types, find_type, find_type_named};
pub use type_oid::TypeOid;
