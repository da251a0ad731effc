//! SQL types and values with PostgreSQL's meaning.
//!
//! The one place for text and binary forms, comparison, hashing and casts. Server, COPY, shell and
//! the query engine use it.
//!
//! 1. [`SqlType`] is a type's OID with its modifier; [`TypeKind`] is the same opened up for `match`.
//! 2. [`catalog`] holds PostgreSQL 15's types and casts as data.
//! 3. [`ValueError`] carries PostgreSQL's SQLSTATE and words.
//!
//! # Invariants
//! 1. Knows nothing of storage, plans, sessions and Arrow; depends on no other crate of Nacre.
//! 2. What a session sets comes in as a parameter; nothing reads a clock or the environment.
//! 3. No input makes it panic; what PostgreSQL refuses is refused with its SQLSTATE.
//! # See
//! `tests/postgres.rs` compares everything with a PostgreSQL server.

#![forbid(unsafe_code)]

mod cast;
pub mod catalog;
pub mod datetime;
mod error;
mod input_text;
mod interval;
mod numeric;
mod scalar;
mod sql_type;
mod type_modifier;
mod type_name;
mod value;

pub use cast::{CastPath, cast_value, find_cast_path};
pub use error::{ErrorText, ValueError};
pub use interval::SqlInterval;
pub use numeric::{ExactNumeric, NUMERIC_SCALE_MAX, NUMERIC_WHOLE_DIGITS_MAX, NumericSum};
pub use scalar::bits::{BitLength, BitString};
pub use scalar::bytea::ByteaOutput;
pub use sql_type::{SqlType, TypeKind};
pub use type_modifier::{IntervalFields, TypeModifier};
pub use type_name::{
    find_type_by_words, format_type, modifier_of, parse_type_name, resolve_type_name,
};
pub use value::{
    ARRAY_DIMENSIONS_MAX, ArrayDimension, SqlArray, SqlRecord, SqlValue, ValueSettings,
};
