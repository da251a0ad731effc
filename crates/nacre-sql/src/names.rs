//! Names in statements: case folding and the way from a qualified name to a table.

use datafusion::sql::sqlparser::ast::{Ident, ObjectName};
use nacre_store::SEQUENCES_TABLE;

use crate::error::{Error, ErrorKind, Result};

/// Name of the only catalog.
pub(crate) const CATALOG: &str = "nacre";

/// Name of the only schema that tables can be made in.
pub(crate) const SCHEMA: &str = "public";

/// Name of the schema of Nacre's own views; they are found without it, too.
pub(crate) const SYSTEM_SCHEMA: &str = "nacre_catalog";

/// Name of the schema of the tables that a statement makes for itself; it is not listed.
pub(crate) const STATEMENT_SCHEMA: &str = "nacre_statement";

/// Folds an unquoted name to lower case, as PostgreSQL does.
pub(crate) fn fold(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    }
}

/// Returns the table that a statement names, checking catalog and schema if given.
pub(crate) fn table_name(name: &ObjectName) -> Result<String> {
    let mut parts = Vec::with_capacity(name.0.len());
    for part in &name.0 {
        let ident = part.as_ident().ok_or_else(|| {
            Error::new(ErrorKind::Syntax, format!("{name} is not the name of a table"))
        })?;
        parts.push(fold(ident));
    }
    match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [SEQUENCES_TABLE] | [SCHEMA, SEQUENCES_TABLE] | [CATALOG, SCHEMA, SEQUENCES_TABLE] => {
            Err(Error::not_supported(format_args!(
                "the name \"{SEQUENCES_TABLE}\", which is Nacre's own"
            )))
        }
        [table] | [SCHEMA, table] | [CATALOG, SCHEMA, table] => Ok((*table).to_owned()),
        [SYSTEM_SCHEMA, view] | [CATALOG, SYSTEM_SCHEMA, view] => {
            Err(Error::new(ErrorKind::InvalidStatement, format!("\"{view}\" is not a table")))
        }
        [CATALOG, schema, _] | [schema, _] => Err(Error::new(
            ErrorKind::UndefinedObject,
            format!("schema \"{schema}\" does not exist"),
        )
        .with_hint(format!("The only schema is \"{SCHEMA}\"."))),
        _ => Err(Error::not_supported(format_args!("cross-database references: {name}"))),
    }
}
