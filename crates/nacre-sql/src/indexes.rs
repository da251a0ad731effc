//! `CREATE INDEX` and `DROP INDEX`, and what indexes and constraints are called that have no name.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CreateIndex, Expr, IndexColumn, IndexType, ObjectName,
};
use nacre_column::ColumnType;
use nacre_store::index::{IndexDef, IndexKind, IndexOrigin};
use nacre_store::{Error as StoreError, NAME_BYTES_MAX, Store, Table, TableSchema};

use crate::blocking::blocking;
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::names::{fold, table_name};
use crate::notices::Notices;
use crate::relations::{require_free, to_drop, wrong_kind};
use crate::replicas::is_storage_parameter;

/// Runs `CREATE INDEX`, which may take as long as reading the table; returns the command tag.
///
/// # Errors
/// 42P01, 42703, 42P07; 23505 if the index is to be unique and is not; 40001.
pub(crate) async fn create_index(
    store: &Store,
    notices: &Notices,
    statement: &CreateIndex,
) -> Result<String> {
    const TAG: &str = "CREATE INDEX";
    reject_unsupported(statement)?;
    let name = table_name(&statement.table_name)?;
    let table = store.table(&name).map_err(from_store)?;
    let schema = table.schema();
    let columns = index_columns(&schema, &statement.columns)?;
    let named = statement.name.as_ref().map(table_name).transpose()?;
    if statement.if_not_exists
        && let Some(name) = &named
        && is_taken(store, name)
    {
        notices.exists("42P07", format_args!("relation \"{name}\""));
        return Ok(TAG.into());
    }
    if let Some(name) = &named {
        require_free(store, name)?;
    }
    let name = named.unwrap_or_else(|| free_name(store, &[], &schema, &columns, "idx"));
    let definition = IndexDef {
        name,
        columns,
        is_unique: statement.unique,
        kind: index_kind(statement.using.as_ref())?,
        origin: IndexOrigin::Statement,
    };
    build(store, table, definition).await?;
    Ok(TAG.into())
}

/// Creates an index, on a thread that may wait.
///
/// # Errors
/// 42P07; 23505 if the index is to be unique and is not; 40001.
pub(crate) async fn build(store: &Store, table: Arc<Table>, definition: IndexDef) -> Result<()> {
    let store = store.clone();
    let work = move || store.create_index(&table, definition);
    blocking("creating an index", work).await?.map_err(not_created)
}

/// Runs `DROP INDEX`; either all named indexes go or, if one is missing, none.
///
/// # Errors
/// 42704; 2BP01 if an index belongs to a constraint.
pub(crate) fn drop_indexes(
    store: &Store,
    notices: &Notices,
    names: &[ObjectName],
    if_exists: bool,
) -> Result<String> {
    let find = |name: &str| match store.find_index(name) {
        Some((table, _)) => Ok(Some(table)),
        None if store.table(name).is_ok() => Err(wrong_kind(name, "an index", "table")),
        None => Ok(None),
    };
    for (name, table) in to_drop(notices, names, ("index", if_exists), find)? {
        store.drop_index(&table, &name).map_err(from_store)?;
    }
    Ok("DROP INDEX".into())
}

/// Says of a key that is there twice what it keeps from being.
fn not_created(error: StoreError) -> Error {
    let StoreError::DuplicateKey(duplicate) = &error else {
        return from_store(error);
    };
    let message = format!("could not create unique index \"{}\"", duplicate.constraint);
    let detail = format!("Key ({})=({}) is duplicated.", duplicate.columns, duplicate.key);
    let error = Error::new(ErrorKind::ConstraintViolation, message).with_code("23505");
    error.with_detail(detail).of_constraint(&duplicate.table, &duplicate.constraint)
}

fn index_kind(using: Option<&IndexType>) -> Result<IndexKind> {
    let name = match using {
        None | Some(IndexType::BTree) => return Ok(IndexKind::Art),
        Some(IndexType::Hash) => return Ok(IndexKind::Hash),
        Some(IndexType::Custom(name)) => {
            let name = fold(name);
            return match name.as_str() {
                "art" => Ok(IndexKind::Art),
                "hybrid" | "hybrid_tree" => Ok(IndexKind::Hybrid),
                _ => {
                    let message = format!("access method \"{name}\" does not exist");
                    Err(Error::new(ErrorKind::UndefinedObject, message))
                }
            };
        }
        Some(other) => other.to_string().to_lowercase(),
    };
    let error = Error::not_supported(format_args!("indexes of access method {name}"));
    Err(error.with_hint("Use art (which btree stands for), hybrid or hash."))
}

/// Accepts the operator classes that order text bytewise, as every index here does.
///
/// # Errors
/// 42804 for columns that are no text, 0A000 for other classes.
fn check_operator_class(class: &ObjectName, column_type: ColumnType) -> Result<()> {
    let name = class.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
    let bytewise = [
        "text_pattern_ops",
        "varchar_pattern_ops",
        "bpchar_pattern_ops",
        "text_ops",
        "varchar_ops",
    ];
    if !bytewise.contains(&name.as_str()) {
        return Err(Error::not_supported(format_args!("operator class {class}")));
    }
    if matches!(column_type, ColumnType::Varchar { .. } | ColumnType::Char { .. }) {
        return Ok(());
    }
    let message = format!("operator class \"{name}\" does not accept data type {column_type}");
    Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42804"))
}

/// Returns the columns of an index or constraint. The direction of a column makes no difference:
/// an index is read either way.
///
/// # Errors
/// 42703, 42804; 0A000 for expressions and operator classes that order otherwise.
pub(crate) fn index_columns(schema: &TableSchema, columns: &[IndexColumn]) -> Result<Vec<usize>> {
    let index = |column: &IndexColumn| match &column.column.expr {
        Expr::Identifier(ident) => {
            let name = fold(ident);
            let found = schema.column_index(&name).ok_or_else(|| {
                Error::undefined_column(format!("column \"{name}\" does not exist"))
            })?;
            if let Some(class) = &column.operator_class {
                check_operator_class(class, schema.columns[found].column_type)?;
            }
            Ok(found)
        }
        other => Err(Error::not_supported(format_args!("an index over {other}"))),
    };
    columns.iter().map(index).collect()
}

fn reject_unsupported(statement: &CreateIndex) -> Result<()> {
    let refusals = [
        (!statement.include.is_empty(), "INCLUDE columns of an index"),
        (statement.predicate.is_some(), "indexes with WHERE"),
        (statement.nulls_distinct == Some(false), "NULLS NOT DISTINCT"),
        (!statement.with.iter().all(is_without_effect), "this storage parameter of an index"),
        (!statement.index_options.is_empty(), "options of an index"),
        (!statement.alter_options.is_empty(), "options of an index"),
    ];
    match refusals.iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(Error::not_supported(what)),
        None => Ok(()),
    }
}

/// Whether an option of an index is a storage parameter, `name = value`.
fn is_without_effect(option: &Expr) -> bool {
    let Expr::BinaryOp { left, op: BinaryOperator::Eq, .. } = option else { return false };
    matches!(left.as_ref(), Expr::Identifier(name) if is_storage_parameter(&fold(name)))
}

/// Whether something has that name.
pub(crate) fn is_taken(store: &Store, name: &str) -> bool {
    require_free(store, name).is_err()
}

/// Returns the name of the primary key of a new table: the one that it was given, or PostgreSQL's.
///
/// # Errors
/// 42P07 if another index has the name that it was given.
pub(crate) fn primary_key_name(store: &Store, schema: &TableSchema) -> Result<String> {
    let (table, given) = (&schema.name, &schema.primary_key_name);
    if *given != format!("{table}_pkey") {
        require_free(store, given)?;
        return Ok(given.clone());
    }
    let name = |number: Option<u64>| {
        let label = format!("_pkey{}", number.map_or_else(String::new, |one| one.to_string()));
        let cut = table.floor_char_boundary(NAME_BYTES_MAX - label.len());
        format!("{}{label}", &table[..cut])
    };
    // Ends, since the database has finitely many names.
    let mut names = std::iter::once(None).chain((1..).map(Some)).map(name);
    Ok(names.find(|name| name != table && !is_taken(store, name)).unwrap_or_default())
}

/// Returns what PostgreSQL calls an index or constraint without a name, such as `t_a_b_key`; if
/// that is taken, in the database or by `others`, with the first number behind it that is not.
pub(crate) fn free_name(
    store: &Store,
    others: &[&str],
    schema: &TableSchema,
    columns: &[usize],
    label: &str,
) -> String {
    let names: Vec<&str> =
        columns.iter().map(|&column| schema.columns[column].name.as_str()).collect();
    let is_free = |name: &String| !others.contains(&name.as_str()) && !is_taken(store, name);
    let first = composed(&schema.name, &names.join("_"), label);
    if is_free(&first) {
        return first;
    }
    // Ends, since the database has finitely many names.
    let numbered = (1_u64..)
        .map(|number| composed(&schema.name, &names.join("_"), &format!("{label}{number}")));
    numbered.into_iter().find(is_free).unwrap_or(first)
}

/// Joins names, the longer one of the first two cut until they fit.
fn composed(table: &str, columns: &str, label: &str) -> String {
    let (mut table, mut columns) = (table.to_owned(), columns.to_owned());
    while table.len() + columns.len() + label.len() + 2 > NAME_BYTES_MAX {
        let longer = if table.len() > columns.len() { &mut table } else { &mut columns };
        if longer.pop().is_none() {
            break;
        }
    }
    format!("{table}_{columns}_{label}")
}

#[cfg(test)]
mod tests {
    use super::composed;

    #[test]
    fn names_that_are_too_long_are_cut_where_they_are_longest() {
        assert_eq!(composed("t", "a_b", "idx"), "t_a_b_idx");
        let (table, columns) = ("t".repeat(60), "c".repeat(10));
        let name = composed(&table, &columns, "fkey");
        assert_eq!(name.len(), 63);
        assert!(name.ends_with("_cccccccccc_fkey"), "{name}");
    }
}
