//! SET, RESET and SHOW, and SET of what belongs to the open transaction.

use datafusion::sql::sqlparser::ast::{Set, TransactionMode};

use super::control::{Tag, apply};
use super::session::Transactions;
use super::turn::Turn;
use crate::error::{Error, Result};
use crate::settings::{Characteristics, SettingStatement, level_name, show};
use crate::statement_io::Outcome;

/// Runs a statement about settings.
///
/// # Errors
/// 42704, 22023, 55P02, 25001; `not supported`.
pub(crate) fn run_setting(
    transactions: &Transactions,
    mut turn: Turn,
    statement: &SettingStatement,
) -> Result<Outcome> {
    let settings = transactions.settings();
    let mut warning = None;
    let tag = match statement {
        SettingStatement::Show(name) => {
            let stream = show(settings, name.as_deref())?;
            turn.done(false);
            return Ok(Outcome::Rows { schema: stream.schema(), stream, tag: Some("SHOW".into()) });
        }
        SettingStatement::Reset(None) => {
            settings.reset_all();
            "RESET"
        }
        SettingStatement::Reset(Some(name)) => {
            set_one(transactions, &mut turn, name, None, false)?;
            "RESET"
        }
        SettingStatement::Constraints => {
            if !turn.is_in_block() {
                let message = "SET CONSTRAINTS can only be used in transaction blocks";
                warning = Some(message.to_owned());
            }
            "SET CONSTRAINTS"
        }
        SettingStatement::Set { name, value, is_local } => {
            set_one(transactions, &mut turn, name, value.as_deref(), *is_local)?;
            if *is_local && !turn.is_in_block() {
                warning = Some("SET LOCAL can only be used in transaction blocks".to_owned());
            }
            "SET"
        }
    };
    turn.done(false);
    Ok(Outcome::command(tag.into(), warning))
}

fn set_one(
    transactions: &Transactions,
    turn: &mut Turn,
    name: &str,
    value: Option<&str>,
    is_local: bool,
) -> Result<()> {
    let settings = transactions.settings();
    let from = turn.core()?.characteristics;
    match settings.of_transaction(name, value, from)? {
        // Outside a block it would hold for this statement only.
        Some(to) if turn.is_in_block() => change(transactions, turn, to),
        Some(_) => Ok(()),
        None => settings.set(name, value, is_local).map(drop),
    }
}

/// Runs SET TRANSACTION and SET SESSION CHARACTERISTICS; `None` if it is another SET.
pub(crate) fn set(transactions: &Transactions, turn: &mut Turn, set: &Set) -> Result<Option<Tag>> {
    let Set::SetTransaction { modes, snapshot: None, session } = set else { return Ok(None) };
    match session {
        true => set_defaults(transactions, modes).map(Some),
        false => set_transaction(transactions, turn, modes).map(Some),
    }
}

/// Gives the transactions to come other characteristics.
fn set_defaults(transactions: &Transactions, modes: &[TransactionMode]) -> Result<Tag> {
    let mut characteristics = transactions.defaults();
    apply(modes, &mut characteristics)?;
    let settings = transactions.settings();
    let is_read_only = if characteristics.is_read_only { "on" } else { "off" };
    for mode in modes {
        let (name, value) = match mode {
            TransactionMode::IsolationLevel(_) => {
                ("default_transaction_isolation", level_name(characteristics.level))
            }
            TransactionMode::AccessMode(_) => ("default_transaction_read_only", is_read_only),
        };
        settings.set(name, Some(value), false)?;
    }
    Ok(("SET".into(), None))
}

fn set_transaction(
    transactions: &Transactions,
    turn: &mut Turn,
    modes: &[TransactionMode],
) -> Result<Tag> {
    if !turn.is_in_block() {
        let warning = "SET TRANSACTION can only be used in transaction blocks".to_owned();
        return Ok(("SET".into(), Some(warning)));
    }
    let mut characteristics = turn.core()?.characteristics;
    apply(modes, &mut characteristics)?;
    change(transactions, turn, characteristics)?;
    Ok(("SET".into(), None))
}

/// Gives the open transaction other characteristics.
fn change(transactions: &Transactions, turn: &mut Turn, to: Characteristics) -> Result<()> {
    let core = turn.core()?;
    let is_begun = core.transaction.is_some();
    if is_begun && to.level != core.characteristics.level {
        let message = "SET TRANSACTION ISOLATION LEVEL must be called before any query";
        return Err(Error::transaction_state("25001", message));
    }
    if is_begun && core.characteristics.is_read_only && !to.is_read_only {
        let message = "transaction read-write mode must be set before any query";
        return Err(Error::transaction_state("25001", message));
    }
    core.characteristics = to;
    transactions.settings().change_block(to);
    Ok(())
}
