//! CREATE, ALTER and DROP SEQUENCE, and the options of sequences.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    DataType, Expr, ObjectName, SequenceOptions, UnaryOperator, Value,
};
use nacre_column::ColumnType;
use nacre_store::{Error as StoreError, SequenceDef, Store, Table};

use super::syntax::SequenceStatement;
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::names::table_name;
use crate::notices::Notices;
use crate::privileges::Acting;
use crate::relations::{dependent_defaults, depends, own_sequences, require_free, to_drop};
use crate::types::column_type;

/// Runs `CREATE SEQUENCE`; returns the command tag.
///
/// # Errors
/// 42P07, 22023.
pub(crate) fn create_sequence(store: &Store, statement: &SequenceStatement) -> Result<String> {
    let name = table_name(&statement.name)?;
    let tag = "CREATE SEQUENCE".to_owned();
    if statement.has_if && store.sequence(&name).is_ok() {
        return Ok(tag);
    }
    require_free(store, &name)?;
    let column_type = match &statement.data_type {
        None => ColumnType::BigInt,
        Some(data_type) => integer_type(&name, data_type)?,
    };
    let def = sequence_def(&name, column_type, &statement.options)?;
    store.create_sequence(def).map_err(from_store)?;
    Ok(tag)
}

/// Runs `ALTER SEQUENCE` in the transaction at work; returns the command tag.
///
/// # Errors
/// 42P01, 22023.
pub(crate) fn alter_sequence(store: &Store, statement: &SequenceStatement) -> Result<String> {
    let name = table_name(&statement.name)?;
    let tag = "ALTER SEQUENCE".to_owned();
    let sequence = match store.sequence(&name) {
        Err(StoreError::UnknownTable { .. }) if statement.has_if && is_free(store, &name) => {
            return Ok(tag);
        }
        Err(StoreError::UnknownTable { .. }) if !is_free(store, &name) => {
            let message = format!("\"{name}\" is not a sequence");
            return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42809"));
        }
        found => found.map_err(from_store)?,
    };
    let old = sequence.def();
    let new_type = match &statement.data_type {
        None => None,
        Some(data_type) => Some(integer_type(&name, data_type)?),
    };
    let def = Options::of(&statement.options)?.altered(old, new_type)?;
    let restart = match &statement.restart {
        None => None,
        Some(None) => Some(def.start),
        Some(Some(value)) => Some(number("RESTART", value)?),
    };
    let value = restart.unwrap_or_else(|| sequence.position().0);
    require_within("RESTART", value, &def)?;
    store.replace_sequence(def, restart).map_err(from_store)?;
    Ok(tag)
}

fn is_free(store: &Store, name: &str) -> bool {
    require_free(store, name).is_ok()
}

/// Runs `DROP SEQUENCE`: all that are named go, or none.
///
/// # Errors
/// 42P01; 2BP01 if a column draws from one.
pub(crate) fn drop_sequences(
    store: &Store,
    notices: &Notices,
    names: &[ObjectName],
    (if_exists, cascades): (bool, bool),
) -> Result<String> {
    let find = |name: &str| match store.sequence(name) {
        Ok(_) => Ok(Some(())),
        Err(nacre_store::Error::UnknownTable { .. }) => Ok(None),
        Err(error) => Err(from_store(error)),
    };
    let present = to_drop(notices, names, ("sequence", if_exists), find)?;
    for (name, ()) in &present {
        if let Some((table, column)) = dependent_defaults(store, name).first() {
            if cascades {
                return Err(Error::not_supported("DROP SEQUENCE ... CASCADE of a default"));
            }
            let detail = format!(
                "default value for column {column} of table {table} depends on sequence {name}"
            );
            return Err(depends("sequence", name, detail));
        }
    }
    for (name, ()) in present {
        store.drop_sequence(&name).map_err(from_store)?;
    }
    Ok("DROP SEQUENCE".into())
}

/// Has the sequences that go with tables begin anew, in the transaction at work.
///
/// # Errors
/// 42P01.
pub(crate) fn restart_sequences(
    store: &Store,
    acting: Acting,
    tables: &[Arc<Table>],
) -> Result<()> {
    for sequence in tables.iter().flat_map(|table| own_sequences(&table.rules())) {
        acting.require_owner(store, &sequence)?;
        let def = store.sequence(&sequence).map_err(from_store)?.def().clone();
        let start = def.start;
        store.replace_sequence(def, Some(start)).map_err(from_store)?;
    }
    Ok(())
}

fn integer_type(name: &str, data_type: &DataType) -> Result<ColumnType> {
    match column_type(name, data_type)? {
        found @ (ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt) => Ok(found),
        _ => {
            let message = "sequence type must be smallint, integer, or bigint";
            Err(Error::invalid_parameter(message))
        }
    }
}

/// Makes the definition of a sequence that gives values of a type, as its options say.
///
/// # Errors
/// 22023; 42601 for an option that is given twice.
pub(crate) fn sequence_def(
    name: &str,
    column_type: ColumnType,
    options: &[SequenceOptions],
) -> Result<SequenceDef> {
    let given = Options::of(options)?;
    let increment = given.increment.unwrap_or(1);
    let (least, most) = defaults(column_type, increment);
    let (min, max) = (given.min.flatten(), given.max.flatten());
    let (min, max) = (min.unwrap_or(least), max.unwrap_or(most));
    let start = given.start.unwrap_or(if increment > 0 { min } else { max });
    let cycles = given.cycles.unwrap_or(false);
    let def = SequenceDef { name: name.to_owned(), start, increment, min, max, cycles };
    check(&def, column_type)?;
    Ok(def)
}

/// What options say; the inner `None` is NO MINVALUE or NO MAXVALUE.
#[derive(Default)]
struct Options {
    increment: Option<i64>,
    min: Option<Option<i64>>,
    max: Option<Option<i64>>,
    start: Option<i64>,
    cycles: Option<bool>,
}

impl Options {
    fn of(options: &[SequenceOptions]) -> Result<Self> {
        let bound = |name: &str, value: &Option<Expr>| {
            value.as_ref().map(|value| number(name, value)).transpose()
        };
        let mut given = Self::default();
        for option in options {
            match option {
                SequenceOptions::IncrementBy(value, _) => {
                    given.increment = Some(number("INCREMENT", value)?);
                }
                SequenceOptions::MinValue(value) => given.min = Some(bound("MINVALUE", value)?),
                SequenceOptions::MaxValue(value) => given.max = Some(bound("MAXVALUE", value)?),
                SequenceOptions::StartWith(value, _) => {
                    given.start = Some(number("START", value)?);
                }
                SequenceOptions::Cache(value) => {
                    // How many are reserved is chosen by itself.
                    let cache = number("CACHE", value)?;
                    if cache < 1 {
                        let message = format!("CACHE ({cache}) must be greater than zero");
                        return Err(Error::invalid_parameter(message));
                    }
                }
                SequenceOptions::Cycle(is_off) => given.cycles = Some(!is_off),
            }
        }
        Ok(given)
    }

    /// Changes a definition; what is not said stays, but bounds of the old type become those of the
    /// new one.
    fn altered(self, old: &SequenceDef, new_type: Option<ColumnType>) -> Result<SequenceDef> {
        let increment = self.increment.unwrap_or(old.increment);
        let old_type = type_of(old);
        let (least, most) = defaults(new_type.unwrap_or(old_type), increment);
        let (old_least, old_most) = bounds(old_type);
        let has_type = new_type.is_some();
        let min = match self.min {
            Some(min) => min.unwrap_or(least),
            None if has_type && old.min == old_least => least,
            None => old.min,
        };
        let max = match self.max {
            Some(max) => max.unwrap_or(most),
            None if has_type && old.max == old_most => most,
            None => old.max,
        };
        let start = self.start.unwrap_or(old.start);
        let cycles = self.cycles.unwrap_or(old.cycles);
        let def = SequenceDef { name: old.name.clone(), start, increment, min, max, cycles };
        check(&def, new_type.unwrap_or(ColumnType::BigInt))?;
        Ok(def)
    }
}

/// Returns the least and the greatest value of a type.
fn bounds(column_type: ColumnType) -> (i64, i64) {
    match column_type {
        ColumnType::SmallInt => (i16::MIN.into(), i16::MAX.into()),
        ColumnType::Integer => (i32::MIN.into(), i32::MAX.into()),
        _ => (i64::MIN, i64::MAX),
    }
}

/// Returns the bounds of a sequence that says none.
fn defaults(column_type: ColumnType, increment: i64) -> (i64, i64) {
    let (least, most) = bounds(column_type);
    if increment > 0 { (1, most) } else { (least, -1) }
}

/// Returns the type that a sequence was made with, as far as its bounds tell.
fn type_of(def: &SequenceDef) -> ColumnType {
    let is_of = |column_type: &ColumnType| {
        let (least, most) = bounds(*column_type);
        def.min == least || def.max == most
    };
    let types = [ColumnType::SmallInt, ColumnType::Integer];
    types.into_iter().find(is_of).unwrap_or(ColumnType::BigInt)
}

fn check(def: &SequenceDef, column_type: ColumnType) -> Result<()> {
    let SequenceDef { start, increment, min, max, .. } = *def;
    let refuse = |message: String| Err(Error::invalid_parameter(message));
    let (least, most) = bounds(column_type);
    if increment == 0 {
        return refuse("INCREMENT must not be zero".into());
    }
    for (what, value) in [("MAXVALUE", max), ("MINVALUE", min)] {
        if !(least..=most).contains(&value) {
            return refuse(format!(
                "{what} ({value}) is out of range for sequence data type {column_type}"
            ));
        }
    }
    if min >= max {
        return refuse(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})"));
    }
    require_within("START", start, def)
}

/// Refuses a value out of bounds.
fn require_within(what: &str, value: i64, def: &SequenceDef) -> Result<()> {
    let SequenceDef { min, max, .. } = def;
    let message = match () {
        () if value < *min => format!("cannot be less than MINVALUE ({min})"),
        () if value > *max => format!("cannot be greater than MAXVALUE ({max})"),
        () => return Ok(()),
    };
    Err(Error::invalid_parameter(format!("{what} value ({value}) {message}")))
}

/// Reads the number of an option.
fn number(option: &str, expr: &Expr) -> Result<i64> {
    let (sign, expr) = match expr {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => ("-", expr.as_ref()),
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => ("", expr.as_ref()),
        expr => ("", expr),
    };
    let text = match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => format!("{sign}{text}"),
            _ => String::new(),
        },
        _ => String::new(),
    };
    text.parse().map_err(|_| {
        let message = format!("{option} of a sequence needs a number of 64 bits, not {expr}");
        Error::new(ErrorKind::Syntax, message)
    })
}
