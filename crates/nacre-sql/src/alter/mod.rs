//! ALTER TABLE.
//!
//! [`definition`] applies the operations of a statement, one after the other, to a copy of the
//! table's definition, and notes for each column where its values come from. If rows stay as they
//! are the definition is replaced; otherwise [`rewrite`] writes the table anew, all operations in
//! one pass, and puts it in the place of the old one. [`syntax`] reads what the parser does not.
//!
//! # Invariants
//! 1. All operations of a statement happen, or none.

mod definition;
mod rewrite;
mod syntax;

pub(crate) use definition::alter_table;
pub(crate) use syntax::readable;
