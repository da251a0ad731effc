//! What the catalogs and the session answer one statement of Nacre's own engine: names and numbers
//! of objects, and calls of functions over them.
//!
//! # Invariants
//! 1. A statement sees the objects as they were when it first asked.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use nacre_functions::catalog::{FunctionEntry, find_function, functions_named};
use nacre_functions::resolution::{RowColumn, row_columns};
use nacre_plan::definition::RelationId;
use nacre_types::catalog::TypeOid;
use nacre_types::{SqlRecord, SqlValue, SystemCall, SystemCatalog, ValueError, format_type};

use super::cells::{Cell, Row};
use super::functions::{Call, FunctionBody, definitions, relation_name, relation_of, schema_named};
use super::objects::Objects;
use super::provider::Catalogs;
use super::values::{cell_of, value_of};
use super::{definitions as object_definitions, effects, fixed, privileges, roles, session_facts};
use crate::error::Error;

/// All functions, by name.
static FUNCTIONS: LazyLock<HashMap<&'static str, FunctionBody>> = LazyLock::new(|| {
    let of_catalogs = definitions().map(|definition| (definition.name, definition.body));
    of_catalogs.chain(session_facts::FUNCTIONS).chain(effects::FUNCTIONS).collect()
});

/// The catalogs as one statement sees them.
pub(crate) struct SessionCatalog {
    catalogs: Catalogs,
    objects: OnceLock<Objects>,
    /// Rows of virtual tables that were made.
    rows: Mutex<HashMap<RelationId, Arc<[Row]>>>,
}

impl SessionCatalog {
    pub(crate) fn new(catalogs: Catalogs) -> Self {
        Self { catalogs, objects: OnceLock::new(), rows: Mutex::default() }
    }

    pub(super) fn catalogs(&self) -> &Catalogs {
        &self.catalogs
    }

    /// Returns the users' objects.
    pub(super) fn objects(&self) -> &Objects {
        self.objects.get_or_init(|| self.catalogs.objects())
    }

    /// Returns the rows of a virtual table, which are made once.
    pub(super) fn kept_rows(
        &self,
        table: RelationId,
        make: impl FnOnce() -> Vec<Row>,
    ) -> Arc<[Row]> {
        let kept = || self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept().get(&table).cloned();
        known.unwrap_or_else(|| {
            let rows: Arc<[Row]> = make().into();
            kept().insert(table, Arc::clone(&rows));
            rows
        })
    }

    fn number_of(&self, type_oid: TypeOid, name: &str) -> crate::error::Result<u32> {
        let text = || Cell::from(name);
        let number = match type_oid {
            TypeOid::REGCLASS => relation_of(&Call::of(self, "regclass"), &text())?,
            TypeOid::REGNAMESPACE => return schema_number(name),
            TypeOid::REGROLE => {
                let role = self.catalogs.access().role_named(&unquoted(name)?).map(|one| one.oid);
                return role.ok_or_else(|| undefined("role", name, "42704"));
            }
            TypeOid::REGPROC => return function_number(name),
            other => {
                let what = format_args!("names of type {}", format_type(other, None));
                return Err(Error::not_supported(what));
            }
        };
        Ok(u32::try_from(number).unwrap_or_default())
    }
}

impl fmt::Debug for SessionCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionCatalog")
    }
}

impl SystemCatalog for SessionCatalog {
    fn object_named(&self, type_oid: TypeOid, name: &str) -> Result<u32, ValueError> {
        self.number_of(type_oid, name).map_err(to_value_error)
    }

    fn object_name(&self, type_oid: TypeOid, oid: u32) -> Option<String> {
        match type_oid {
            TypeOid::REGCLASS => Some(relation_name(&Call::of(self, "regclass"), oid.into())),
            TypeOid::REGNAMESPACE => {
                let known = fixed::SCHEMAS.iter().find(|(known, _)| *known == oid);
                known.map(|(_, name)| (*name).to_owned())
            }
            TypeOid::REGROLE => {
                let access = self.catalogs.access();
                let role = roles::find(&access, oid.into())?;
                Some(object_definitions::quoted(&role.name))
            }
            TypeOid::REGPROC => find_function(oid).map(|one| one.name.to_owned()),
            TypeOid::REGPROCEDURE => find_function(oid).map(signature),
            _ => None,
        }
    }

    fn call(&self, call: SystemCall<'_>) -> Result<SqlValue, ValueError> {
        let Some(body) = FUNCTIONS.get(call.function) else {
            let message = format!("function {}() is not supported yet", call.function);
            return Err(ValueError::not_supported(message));
        };
        let cells = call.arguments.iter().zip(call.argument_types);
        let cells: Vec<Cell> = cells.map(|(value, of)| cell_of(value, *of)).collect();
        let answer = body(&Call::of(self, call.function), &cells);
        Ok(value_of(&answer.map_err(to_value_error)?, call.result_type))
    }

    fn call_set(&self, call: SystemCall<'_>) -> Result<Vec<SqlValue>, ValueError> {
        let cells = call.arguments.iter().zip(call.argument_types);
        let cells: Vec<Cell> = cells.map(|(value, of)| cell_of(value, *of)).collect();
        let asked = Call::of(self, call.function);
        let rows = match (call.function, cells.first()) {
            ("aclexplode", Some(acl)) => {
                privileges::exploded_rows(&asked, acl).map_err(to_value_error)?
            }
            ("pg_options_to_table", Some(Cell::List(options))) => {
                options.iter().map(option).collect()
            }
            ("pg_get_keywords", _) => fixed::keywords(),
            ("pg_show_all_settings", _) => fixed::settings(self.catalogs.settings()),
            (name, _) => {
                let message = format!("function {name}() is not supported yet");
                return Err(ValueError::not_supported(message));
            }
        };
        let function = functions_named(call.function).next();
        let columns = function.and_then(|entry| row_columns(entry, call.argument_types));
        let columns = columns.unwrap_or_default();
        Ok(rows.iter().map(|row| record_of(row, &columns)).collect())
    }
}

/// Returns name and value of an option, `name=value`.
fn option(cell: &Cell) -> Row {
    let text = cell.shown().unwrap_or_default();
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text.as_str(), None),
    };
    vec![("option_name", name.into()), ("option_value", value.into())]
}

/// Makes a row of a function of sets.
fn record_of(row: &Row, columns: &[RowColumn]) -> SqlValue {
    let field = |column: &RowColumn| {
        let cell = row.iter().find(|(name, _)| *name == column.name);
        let value = cell.map_or(SqlValue::Null, |(_, cell)| value_of(cell, column.sql_type));
        (column.sql_type, value)
    };
    SqlValue::Record(Box::new(SqlRecord::new(columns.iter().map(field).collect())))
}

/// Returns a function with the types of its arguments.
fn signature(function: &FunctionEntry) -> String {
    let types = function.arguments.iter().map(|oid| format_type(*oid, None));
    format!("{}({})", function.name, types.collect::<Vec<_>>().join(","))
}

fn schema_number(name: &str) -> crate::error::Result<u32> {
    schema_named(&unquoted(name)?).ok_or_else(|| undefined("schema", name, "3F000"))
}

/// Returns the number of the one function of a name.
fn function_number(name: &str) -> crate::error::Result<u32> {
    let parts = super::names::qualified_name(name)?;
    let own = match parts.as_slice() {
        [own] => own,
        [schema, own] if schema == super::PG_CATALOG => own,
        _ => return Err(undefined("function", name, "42883")),
    };
    let mut named = functions_named(own);
    match (named.next(), named.next()) {
        (Some(one), None) => Ok(one.oid),
        (Some(_), Some(_)) => {
            let message = format!("more than one function named \"{name}\"");
            Err(Error::new(crate::error::ErrorKind::InvalidStatement, message).with_code("42725"))
        }
        _ => Err(undefined("function", name, "42883")),
    }
}

/// Returns a name of one part.
fn unquoted(name: &str) -> crate::error::Result<String> {
    let mut parts = super::names::qualified_name(name)?;
    match (parts.pop(), parts.is_empty()) {
        (Some(one), true) => Ok(one),
        _ => Err(super::names::invalid_name()),
    }
}

fn undefined(kind: &str, name: &str, code: &'static str) -> Error {
    let message = format!("{kind} \"{name}\" does not exist");
    Error::new(crate::error::ErrorKind::UndefinedObject, message).with_code(code)
}

/// Makes the error that a kernel raises.
fn to_value_error(error: Error) -> ValueError {
    let message = error.message();
    let made = ValueError::of_sql_state(error.sqlstate(), message);
    let mut made = made.unwrap_or_else(|| ValueError::internal(message));
    if let Some(detail) = error.detail() {
        made = made.with_detail(detail);
    }
    if let Some(hint) = error.hint() {
        made = made.with_hint(hint);
    }
    made
}
