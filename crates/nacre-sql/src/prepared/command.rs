//! PREPARE, EXECUTE and DEALLOCATE.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{DataType, Expr, Ident, Statement as SqlStatement};
use nacre_store::Store;

use super::statement::Statement;
use crate::dml;
use crate::error::{Error, ErrorKind, Result};
use crate::names::fold;
use crate::pg_types::PgType;
use crate::types::type_oid;

/// One of the three statements.
pub(crate) enum Command<'a> {
    Prepare {
        name: String,
        types: Vec<Option<u32>>,
        statement: &'a SqlStatement,
    },
    Execute {
        name: String,
        parameters: &'a [Expr],
    },
    /// `None` is all.
    Deallocate(Option<String>),
}

impl<'a> Command<'a> {
    /// Reads a statement that is one of the three.
    ///
    /// # Errors
    /// `not supported` for types and forms that Nacre does not know.
    pub(crate) fn of(statement: &'a SqlStatement) -> Option<Result<Self>> {
        match statement {
            SqlStatement::Prepare { name, data_types, statement } => {
                let types: Result<Vec<Option<u32>>> = data_types.iter().map(declared).collect();
                Some(types.map(|types| Self::Prepare { name: fold(name), types, statement }))
            }
            SqlStatement::Execute {
                name: Some(name),
                parameters,
                immediate: false,
                into,
                using,
                output: false,
                default: false,
                ..
            } if into.is_empty() && using.is_empty() => {
                let ident = name.0.first().and_then(|part| part.as_ident());
                let name = ident.filter(|_| name.0.len() == 1).map(fold).ok_or_else(|| {
                    Error::new(ErrorKind::Syntax, format!("syntax error at or near \"{name}\""))
                });
                Some(name.map(|name| Self::Execute { name, parameters }))
            }
            SqlStatement::Deallocate { name, .. } => {
                let is_all = |name: &Ident| {
                    name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all")
                };
                Some(Ok(Self::Deallocate((!is_all(name)).then(|| fold(name)))))
            }
            _ => None,
        }
    }
}

/// The prepared statements of a session that have names.
#[derive(Default)]
pub(crate) struct PreparedStatements(Mutex<HashMap<String, Statement>>);

impl PreparedStatements {
    /// Makes the statement of a PREPARE.
    ///
    /// # Errors
    /// 42601 if the statement is none that can be prepared.
    pub(crate) fn prepare(
        store: &Store,
        types: &[Option<u32>],
        statement: &SqlStatement,
    ) -> Result<Statement> {
        if !matches!(statement, SqlStatement::Query(_)) && dml::writes(statement).is_none() {
            return Err(Error::new(
                ErrorKind::Syntax,
                "only queries and changes of rows can be prepared",
            ));
        }
        let (sql, is_printed) = (statement.to_string(), true);
        let parsed = ParsedStatement::Statement(Box::new(statement.clone()));
        Statement::new(store, &sql, is_printed, Some(parsed), types, None)
    }

    /// Keeps a statement under a name.
    ///
    /// # Errors
    /// 42P05 if the name is in use.
    pub(crate) fn keep(&self, name: String, prepared: Statement) -> Result<()> {
        let mut statements = self.statements();
        if statements.contains_key(&name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(Error::new(ErrorKind::DuplicateObject, message).with_code("42P05"));
        }
        statements.insert(name, prepared);
        Ok(())
    }

    /// Returns the statement of that name, if there is one.
    pub(crate) fn get(&self, name: &str) -> Option<Statement> {
        self.statements().get(name).cloned()
    }

    /// Forgets the statement of that name, if there is one.
    pub(crate) fn forget(&self, name: &str) {
        self.statements().remove(name);
    }

    /// Returns the statement of that name.
    ///
    /// # Errors
    /// 26000.
    pub(crate) fn named(&self, name: &str) -> Result<Statement> {
        self.get(name).ok_or_else(|| unknown(name))
    }

    /// Runs DEALLOCATE and returns the command tag.
    ///
    /// # Errors
    /// 26000.
    pub(crate) fn deallocate(&self, name: Option<&str>) -> Result<&'static str> {
        let mut statements = self.statements();
        match name {
            None => {
                statements.clear();
                Ok("DEALLOCATE ALL")
            }
            Some(name) => {
                statements.remove(name).map(|_| "DEALLOCATE").ok_or_else(|| unknown(name))
            }
        }
    }

    fn statements(&self) -> MutexGuard<'_, HashMap<String, Statement>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the number of a type that PREPARE gives a parameter; `None` leaves it to the statement.
fn declared(data_type: &DataType) -> Result<Option<u32>> {
    match type_oid(data_type) {
        Some(oid) => Ok(Some(oid).filter(|oid| PgType::with_oid(*oid) != PgType::named("unknown"))),
        None => Err(Error::not_supported(format_args!("parameters of type {data_type}"))),
    }
}

fn unknown(name: &str) -> Error {
    let message = format!("prepared statement \"{name}\" does not exist");
    Error::new(ErrorKind::UndefinedObject, message).with_code("26000")
}
