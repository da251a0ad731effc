//! Statements that change rows: INSERT, UPDATE, DELETE, MERGE, TRUNCATE.
//!
//! 1. [`statement`] turns the syntax into a [`change::Change`]: the table, a query for the rows
//!    ([`query`]) and where each column's value comes from ([`cell`], [`defaults`]).
//! 2. [`source`] runs the query over the statement's snapshot and collects its rows, each value
//!    brought into the type of its column ([`assign`]) in batches ([`rows`]), and checks them.
//!    Rows of UPDATE and DELETE are found by Nacre's own engine, if it can ([`found`]).
//! 3. [`conflict`] sorts the rows of ON CONFLICT, [`merge`] those of MERGE, by what is to be done
//!    with them; [`returned`] has the engine that found the rows compute what RETURNING asks for,
//!    [`returning`] and [`others`] do it in DataFusion.
//! 4. [`write`] hands the rows to the transaction, on a blocking thread.
//!
//! TRUNCATE has no rows to find ([`truncate`]).
//!
//! # Invariants
//! 1. Nothing is written before all rows are known, so a statement does not see its own changes.
//! 2. A statement that fails has changed nothing.
//! 3. A row is changed at most once by a statement, however often the query finds it.

mod assign;
mod cell;
mod change;
mod conflict;
mod defaults;
mod explain;
mod found;
mod identity;
mod merge;
mod others;
mod query;
mod returned;
mod returning;
mod rows;
mod set_query;
mod source;
mod statement;
mod stored_values;
mod truncate;
mod unmatched;
mod write;

pub(crate) use assign::{push_digits, push_syntax};
pub(crate) use cell::Cell;
pub(crate) use change::{Answer, Step, Write};
pub(crate) use defaults::{check_default, is_default};
pub(crate) use explain::{explain, explains};
pub(crate) use identity::parse_overriding;
pub(crate) use merge::readable;
pub(crate) use query::source_query;
pub(crate) use rows::Rows;
pub(crate) use source::constants;
pub(crate) use statement::{change_of, writes};
pub(crate) use truncate::truncate;
pub(crate) use write::{apply, apply_now, tag};
