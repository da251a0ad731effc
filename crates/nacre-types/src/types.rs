//! Types: PostgreSQL's catalog of them, modifiers, names.

pub mod catalog;
pub(crate) mod sql_type;
pub(crate) mod type_modifier;
pub(crate) mod type_name;
