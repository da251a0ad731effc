//! `LOCK TABLE ... IN ACCESS SHARE MODE`: what a reader asks for that goes on to read the tables.
//!
//! Its only conflict is with statements that define a table anew. These do not wait here: a
//! transaction whose snapshot is older than a definition is refused when it reads the table
//! (40001). So the tables have to be there and readable, and the transaction has its snapshot from
//! here on.

use nacre_store::Store;
use nacre_syntax::{LockStatement, Statement, parse_statement};

use crate::error::{Error, ErrorKind, Result};
use crate::names::SCHEMA;
use crate::privileges::Acting;
use crate::transaction::{Turn, require_block};

/// The mode that readers need.
const READING: &str = "access share";

/// Returns the statement if `sql` is one; what the grammar refuses is left to others.
pub(crate) fn parse_lock(sql: &str) -> Option<LockStatement> {
    let word = sql.trim_start().get(..4)?;
    if !word.eq_ignore_ascii_case("lock") {
        return None;
    }
    match parse_statement(sql).ok()?? {
        Statement::Lock(lock) => Some(*lock),
        _ => None,
    }
}

/// Runs the statement.
///
/// # Errors
/// 25P01 outside of a block; 42P01, 42809, 42501; `not supported` for other modes.
pub(crate) fn lock_tables(
    store: &Store,
    acting: Acting,
    turn: &mut Turn,
    statement: &LockStatement,
) -> Result<&'static str> {
    require_block(turn, "LOCK TABLE")?;
    let mode = statement.mode.as_deref().unwrap_or("access exclusive");
    if mode != READING {
        let what = format!("LOCK TABLE IN {} MODE", mode.to_uppercase());
        return Err(Error::not_supported(what));
    }
    for table in &statement.tables {
        let name = match &table.name.parts[..] {
            [name] => &name.text,
            [schema, name] if schema.text == SCHEMA => &name.text,
            _ => return Err(Error::not_supported("LOCK TABLE of a catalog")),
        };
        if store.table(name).is_err() && store.view(name).is_none() {
            if store.sequence(name).is_ok() {
                let message = format!("cannot lock relation \"{name}\"");
                return Err(Error::new(ErrorKind::InvalidStatement, message)
                    .with_code("42809")
                    .with_detail("This operation is not supported for sequences."));
            }
            return Err(Error::undefined_table(format!("relation \"{name}\" does not exist")));
        }
        acting.require_read(store, name)?;
    }
    turn.moment(true)?;
    Ok("LOCK TABLE")
}
