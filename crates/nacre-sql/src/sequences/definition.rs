//! CREATE and DROP SEQUENCE, and the options of sequences.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    DataType, Expr, ObjectName, SequenceOptions, Statement, UnaryOperator, Value,
};
use nacre_column::ColumnType;
use nacre_store::{SequenceDef, Store, Table};

use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::names::table_name;
use crate::relations::{dependent_defaults, depends, own_sequences, require_free, to_drop};
use crate::types::column_type;

/// Runs `CREATE SEQUENCE`; returns the command tag.
///
/// # Errors
/// 42P07, 22023, `not supported`.
pub(crate) fn create_sequence(store: &Store, statement: &Statement) -> Result<String> {
    let Statement::CreateSequence {
        temporary,
        if_not_exists,
        name,
        data_type,
        sequence_options,
        owned_by,
    } = statement
    else {
        return Err(Error::new(ErrorKind::Internal, "internal error: no CREATE SEQUENCE"));
    };
    let is_owned = owned_by.as_ref().is_some_and(|by| !by.to_string().eq_ignore_ascii_case("none"));
    if *temporary || is_owned {
        let what = if *temporary { "CREATE TEMPORARY SEQUENCE" } else { "OWNED BY" };
        return Err(Error::not_supported(what));
    }
    let name = table_name(name)?;
    let tag = "CREATE SEQUENCE".to_owned();
    if *if_not_exists && store.sequence(&name).is_ok() {
        return Ok(tag);
    }
    require_free(store, &name)?;
    let column_type = match data_type {
        None => ColumnType::BigInt,
        Some(data_type) => integer_type(&name, data_type)?,
    };
    let def = sequence_def(&name, column_type, sequence_options)?;
    store.create_sequence(def).map_err(from_store)?;
    Ok(tag)
}

/// Runs `DROP SEQUENCE`: all that are named go, or none.
///
/// # Errors
/// 42P01; 2BP01 if a column draws from one.
pub(crate) fn drop_sequences(
    store: &Store,
    names: &[ObjectName],
    if_exists: bool,
    cascades: bool,
) -> Result<String> {
    let find = |name: &str| match store.sequence(name) {
        Ok(_) => Ok(Some(())),
        Err(nacre_store::Error::UnknownTable { .. }) => Ok(None),
        Err(error) => Err(from_store(error)),
    };
    let present = to_drop(names, ("sequence", if_exists), find)?;
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
pub(crate) fn restart_sequences(store: &Store, tables: &[Arc<Table>]) -> Result<()> {
    for sequence in tables.iter().flat_map(|table| own_sequences(&table.rules())) {
        let def = store.sequence(&sequence).map_err(from_store)?.def().clone();
        store.drop_sequence(&sequence).map_err(from_store)?;
        store.create_sequence(def).map_err(from_store)?;
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
    let (least, most) = match column_type {
        ColumnType::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        ColumnType::Integer => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    let (mut increment, mut cycles) = (1, false);
    let (mut min, mut max, mut start) = (None, None, None);
    for option in options {
        match option {
            SequenceOptions::IncrementBy(value, _) => increment = number("INCREMENT", value)?,
            SequenceOptions::MinValue(value) => {
                min = value.as_ref().map(|value| number("MINVALUE", value)).transpose()?;
            }
            SequenceOptions::MaxValue(value) => {
                max = value.as_ref().map(|value| number("MAXVALUE", value)).transpose()?;
            }
            SequenceOptions::StartWith(value, _) => start = Some(number("START", value)?),
            SequenceOptions::Cache(value) => {
                // How many are reserved is chosen by itself.
                let cache = number("CACHE", value)?;
                if cache < 1 {
                    let message = format!("CACHE ({cache}) must be greater than zero");
                    return Err(Error::invalid_parameter(message));
                }
            }
            SequenceOptions::Cycle(is_off) => cycles = !is_off,
        }
    }
    let refuse = |message: String| Err(Error::invalid_parameter(message));
    if increment == 0 {
        return refuse("INCREMENT must not be zero".into());
    }
    let (min, max) = match increment > 0 {
        true => (min.unwrap_or(1), max.unwrap_or(most)),
        false => (min.unwrap_or(least), max.unwrap_or(-1)),
    };
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
    let start = start.unwrap_or(if increment > 0 { min } else { max });
    if start < min {
        return refuse(format!("START value ({start}) cannot be less than MINVALUE ({min})"));
    }
    if start > max {
        return refuse(format!("START value ({start}) cannot be greater than MAXVALUE ({max})"));
    }
    Ok(SequenceDef { name: name.to_owned(), start, increment, min, max, cycles })
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
