//! SQL types and values with PostgreSQL's meaning.
//!
//! The one place for text and binary forms, comparison, hashing and casts. Server, COPY, shell and
//! the query engine use it.
//!
//! 1. [`SqlType`] is a type's OID with its modifier; [`TypeKind`] is that opened up for `match`.
//! 2. [`catalog`] holds PostgreSQL 15's types and casts as data.
//! 3. [`ValueError`] carries PostgreSQL's SQLSTATE and words.
//!
//! # Invariants
//! 1. Knows nothing of storage, plans, sessions and Arrow; depends on no other crate of Nacre.
//! 2. What a session sets comes in as a parameter; nothing reads a clock or the environment.
//! 3. No input makes it panic; what PostgreSQL refuses is refused with its SQLSTATE.
//! # Differences from PostgreSQL 15
//! All are deliberate; `tests/postgres` finds no other.
//! 1. Texts are ordered by their bytes, as in the collation `C`.
//! 2. `jsonb`, geometry, networks, text search, ranges, `money`, `xml` are in the catalog without
//!    values: 0A000. Names of `regclass` and the like need a database; `regtype` is resolved here.
//! 3. Floats in hexadecimal and `nan(...)` are refused: 22P02; so are they in ISO intervals: 22007.
//! 4. JSON may be nested to any depth, binary arrays and records to 100 levels; there the stack
//!    decides.
//! 5. A `"char"` above 127 becomes the text `\ooo`; there it makes a text that is not UTF-8.
//! 6. A difference of timestamps beyond 64 bits is 22008; there it wraps.
//! 7. An array with elements beside sub-arrays is refused; there its elements get lost.
//! 8. Of POSIX rules with odd names of zones fewer forms are accepted.
//! 9. A precision of seconds above 6 becomes 6 without the warning, which is the caller's to give.
//! # See
//! `tests/postgres` compares texts, binary forms, arithmetic, casts and orders with a server.

#![forbid(unsafe_code)]

mod cast;
pub mod datetime;
mod error;
mod input_text;
mod numeric;
mod scalar;
mod types;
mod value;

pub use cast::{CastPath, cast_value, find_cast_path};
pub use datetime::SqlInterval;
pub use error::{ErrorText, ValueError};
pub use numeric::{ExactNumeric, NUMERIC_SCALE_MAX, NUMERIC_WHOLE_DIGITS_MAX, NumericSum};
pub use scalar::bits::{BitLength, BitString};
pub use scalar::bytea::ByteaOutput;
pub use types::catalog;
pub use types::sql_type::{SqlType, TypeKind};
pub use types::type_modifier::{IntervalFields, TypeModifier};
pub use types::type_name::{
    find_type_by_words, format_type, modifier_of, parse_type_name, resolve_type_identifier,
    resolve_type_name,
};
pub use value::{
    ARRAY_DIMENSIONS_MAX, ArrayDimension, SqlArray, SqlRecord, SqlValue, SystemCall, SystemCatalog,
    ValueSettings,
};
