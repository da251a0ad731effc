//! Texts of types whose values are Rust's own: booleans, integers, floats, strings, bytes.

pub(crate) mod bits;
pub(crate) mod boolean;
pub(crate) mod bytea;
pub(crate) mod characters;
pub(crate) mod float;
pub(crate) mod integer;
pub(crate) mod json;
pub(crate) mod uuid;
