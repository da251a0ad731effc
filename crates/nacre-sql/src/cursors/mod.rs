//! Cursors: DECLARE, FETCH, MOVE and CLOSE.
//!
//! [`syntax`] reads the statements, [`position`] knows which rows a direction means, [`open`] keeps
//! the cursors of a session, [`kept`] their rows.
//!
//! # Invariants
//! 1. The rows of a cursor are those of the moment of DECLARE: they are computed then, and kept in
//!    memory that is taken from what all queries share.
//! 2. A cursor ends with the transaction that declared it, or with the part of it that a savepoint
//!    takes back; one WITH HOLD stays when that transaction commits.

mod kept;
mod open;
mod position;
mod syntax;

pub(crate) use kept::KeptRows;
pub(crate) use open::{Cursors, Fetched};
pub(crate) use syntax::{CursorStatement, Declaration, parse_cursor};
