//! Short statements: those that find their rows by an index, and INSERT of constants, run from a
//! plan that is kept, without the planner.
//!
//! 1. [`text`] takes the literals out of a statement's text; what is left names its plan in the
//!    session's [`cache`].
//! 2. [`recognise`] makes the plan ([`plan`]) of a statement that is seen for the first time, if it
//!    is of a known shape.
//! 3. [`operand`] brings literals and parameters into the types of columns, [`compute`] does the
//!    arithmetic, [`find`] looks the rows up, [`run`] answers or hands them to [`crate::dml`].
//!
//! # Invariants
//! 1. A statement answers the same, rows, types, names and errors, as it does on the general way.
//!    So whatever is unusual about its values (out of range, no number, a division by zero, a null
//!    that may not be) sends it there before anything was written.
//! 2. A plan is used as long as its table, the table's definition and the index are those that it
//!    was made for.
//! # See
//! `tests/suite/short.rs` runs random statements both ways.

mod cache;
mod compute;
mod find;
mod operand;
mod plan;
mod recognise;
mod run;
mod text;

pub(crate) use cache::{Candidate, ShortStatements, key};
pub(crate) use text::{Scanned, scan};
