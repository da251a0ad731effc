//! SET and SHOW, as far as they concern transactions.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::sqlparser::ast::{
    ContextModifier, Expr, Ident, ObjectName, Set, TransactionMode, Value,
};
use nacre_store::IsolationLevel;

use super::control::{Tag, apply};
use super::session::{Characteristics, Transactions};
use super::turn::Turn;
use crate::error::{Error, Result};
use crate::names::fold;

/// What can be set and shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Setting {
    Isolation,
    ReadOnly,
    DefaultIsolation,
    DefaultReadOnly,
    /// Of the session and of the transaction at once.
    SynchronousCommit,
}

impl Setting {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "transaction_isolation" => Self::Isolation,
            "transaction_read_only" => Self::ReadOnly,
            "default_transaction_isolation" => Self::DefaultIsolation,
            "default_transaction_read_only" => Self::DefaultReadOnly,
            "synchronous_commit" => Self::SynchronousCommit,
            _ => return None,
        })
    }

    fn is_default(self) -> bool {
        matches!(self, Self::DefaultIsolation | Self::DefaultReadOnly)
    }
}

/// Runs a SET that concerns transactions; `None` if it is another one.
pub(crate) fn set(transactions: &Transactions, turn: &mut Turn, set: &Set) -> Result<Option<Tag>> {
    match set {
        Set::SetTransaction { modes, snapshot: None, session: true } => {
            let mut defaults = transactions.defaults();
            apply(modes, &mut defaults)?;
            transactions.set_defaults(|to| *to = defaults);
            Ok(Some(("SET".into(), None)))
        }
        Set::SetTransaction { modes, snapshot: None, session: false } => {
            set_transaction(turn, modes).map(Some)
        }
        Set::SingleAssignment { scope, hivevar: false, variable, values } => {
            let Some(setting) = single_name(variable).as_deref().and_then(Setting::named) else {
                return Ok(None);
            };
            let is_local = matches!(scope, Some(ContextModifier::Local));
            if setting.is_default() && is_local {
                return Err(Error::not_supported(format_args!("SET LOCAL {variable}")));
            }
            assign(transactions, turn, setting, variable, values, is_local).map(Some)
        }
        _ => Ok(None),
    }
}

fn set_transaction(turn: &mut Turn, modes: &[TransactionMode]) -> Result<Tag> {
    if !turn.is_in_block() {
        let warning = "SET TRANSACTION can only be used in transaction blocks".to_owned();
        return Ok(("SET".into(), Some(warning)));
    }
    let core = turn.core()?;
    let mut characteristics = core.characteristics;
    apply(modes, &mut characteristics)?;
    change(turn, characteristics)?;
    Ok(("SET".into(), None))
}

/// Gives the open transaction other characteristics.
fn change(turn: &mut Turn, to: Characteristics) -> Result<()> {
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
    Ok(())
}

fn assign(
    transactions: &Transactions,
    turn: &mut Turn,
    setting: Setting,
    variable: &ObjectName,
    values: &[Expr],
    is_local: bool,
) -> Result<Tag> {
    let text = match values {
        [Expr::Value(value)] => match &value.value {
            Value::SingleQuotedString(text) => text.to_lowercase(),
            Value::Boolean(flag) => flag.to_string(),
            Value::Number(text, _) => text.clone(),
            _ => String::new(),
        },
        [Expr::Identifier(name)] => fold(name),
        _ => String::new(),
    };
    let mut characteristics = match setting.is_default() {
        true => transactions.defaults(),
        false => turn.core()?.characteristics,
    };
    let is_known = characteristics.assign(setting, &text);
    if !is_known {
        let message = format!("invalid value for parameter \"{variable}\": \"{text}\"");
        return Err(Error::invalid_parameter(message));
    }
    if setting == Setting::SynchronousCommit && !is_local {
        transactions.set_defaults(|to| to.is_synchronous = characteristics.is_synchronous);
    }
    match (setting.is_default(), turn.is_in_block()) {
        (true, _) => transactions.set_defaults(|to| *to = characteristics),
        (false, true) => change(turn, characteristics)?,
        // It would hold for this statement only.
        (false, false) => {}
    }
    Ok(("SET".into(), None))
}

impl Characteristics {
    /// Gives `setting` the value that `text` names; false if it names none.
    fn assign(&mut self, setting: Setting, text: &str) -> bool {
        match setting {
            Setting::Isolation | Setting::DefaultIsolation => match level_named(text) {
                Some(level) => self.level = level,
                None => return false,
            },
            Setting::ReadOnly | Setting::DefaultReadOnly => match flag_named(text) {
                Some(is_read_only) => self.is_read_only = is_read_only,
                None => return false,
            },
            Setting::SynchronousCommit => match text {
                // Levels of waiting for secondaries; there are none.
                "local" | "remote_write" | "remote_apply" => self.is_synchronous = true,
                _ => match flag_named(text) {
                    Some(is_synchronous) => self.is_synchronous = is_synchronous,
                    None => return false,
                },
            },
        }
        true
    }
}

fn flag_named(text: &str) -> Option<bool> {
    match text {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// Answers `SHOW transaction_isolation` and its kin; `None` if it is another SHOW.
pub(crate) fn show(
    transactions: &Transactions,
    turn: &mut Turn,
    variable: &[Ident],
) -> Result<Option<SendableRecordBatchStream>> {
    let words: Vec<String> = variable.iter().map(fold).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let name = match words.as_slice() {
        ["transaction", "isolation", "level"] => "transaction_isolation",
        [name] => name,
        _ => return Ok(None),
    };
    let Some(setting) = Setting::named(name) else { return Ok(None) };
    let characteristics = match setting.is_default() {
        true => transactions.defaults(),
        false => turn.core()?.characteristics,
    };
    let on_or_off = |flag| if flag { "on" } else { "off" };
    let value = match setting {
        Setting::Isolation | Setting::DefaultIsolation => level_name(characteristics.level),
        Setting::ReadOnly | Setting::DefaultReadOnly => on_or_off(characteristics.is_read_only),
        Setting::SynchronousCommit => on_or_off(characteristics.is_synchronous),
    };
    let field = Field::new(name, DataType::Utf8View, false);
    let schema: SchemaRef = Arc::new(Schema::new(vec![field]));
    let array: ArrayRef = Arc::new(StringViewArray::from_iter_values([value]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![array]);
    let rows = futures::stream::iter([batch.map_err(Into::into)]);
    Ok(Some(Box::pin(RecordBatchStreamAdapter::new(schema, rows))))
}

fn level_named(text: &str) -> Option<IsolationLevel> {
    Some(match text {
        "serializable" => IsolationLevel::Serializable,
        "repeatable read" => IsolationLevel::RepeatableRead,
        "read committed" | "read uncommitted" => IsolationLevel::ReadCommitted,
        _ => return None,
    })
}

fn level_name(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::Serializable => "serializable",
        IsolationLevel::RepeatableRead => "repeatable read",
        IsolationLevel::ReadCommitted => "read committed",
    }
}

/// Returns the name if it has one part.
fn single_name(name: &ObjectName) -> Option<String> {
    match name.0.as_slice() {
        [part] => part.as_ident().map(fold),
        _ => None,
    }
}
