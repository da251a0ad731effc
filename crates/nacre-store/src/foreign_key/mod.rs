//! Foreign keys: rows of one table, the child, that refer to rows of another one, the parent.
//!
//! 1. [`definition`] says what a foreign key is, [`links`] connects the two tables, each with an
//!    index: the parent's is unique, the child's finds the rows that refer to a key.
//! 2. Writes of a transaction note what is to be checked ([`queue`], [`write`]); it is checked, and
//!    what follows for the child is done, at the end of a statement or at commit ([`check`]).
//! 3. Bulk loads check all their rows before they are published ([`load`]).
//! 4. [`create`] makes and drops tables with what connects them.
//!
//! # Invariants
//! 1. After every commit each row of a child has its parent, or a null among the referring columns
//!    (MATCH SIMPLE).
//! 2. A transaction writes first and looks afterwards, so of one that deletes a key and one that
//!    refers to it at least one sees the other's write, committed or not, and gets
//!    `SerializationConflict`. This holds at every isolation level.
//! # Source
//! [Muehlbauer16 2.2.5] an insert that refers to a key whose delete is not committed is aborted.
//! Differs: whoever deletes a key looks for references that it does not see, too; what the insert
//! cannot have seen, since it came later, is found there.

mod check;
mod create;
mod definition;
mod links;
mod load;
mod queue;
mod write;

pub use check::RowRules;
pub(crate) use create::{attach, attach_again, connect_all, leftover_indexes};
pub use definition::{ForeignKeyAction, ForeignKeyDef, TableKeys, is_comparable};
pub(crate) use links::{ForeignKey, Links, connect, disconnect};
pub(crate) use load::check_load;
pub(crate) use queue::{Queue, QueueMark};
