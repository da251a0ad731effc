//! `CREATE TABLE` and `DROP TABLE`.

use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    ColumnDef as SqlColumn, ColumnOption, CreateTable, CreateTableOptions, DataType, Expr,
    GeneratedAs, Ident, IndexColumn, ObjectName, ObjectType, TableConstraint,
};
use nacre_column::{ColumnType, ReplicaPolicy};
use nacre_store::{
    ColumnDef, Error as StoreError, Identity, SequenceDef, Store, Table, TableRules, TableSchema,
};

use crate::constraints::table_keys;
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::indexes::primary_key_name;
use crate::names::{fold, table_name};
use crate::notices::Notices;
use crate::planner::Planner;
use crate::relations::{own_sequences, require_free, to_drop, wrong_kind};
use crate::replicas::{check_table, policy};
use crate::rules::RulesBuilder;
use crate::types::column_type;
use crate::user_views::drop_readers;

/// Most columns of a table, as the store bounds them.
const COLUMNS_MAX: usize = 1_600;

/// Runs `CREATE TABLE`; returns the command tag.
pub(crate) fn create_table(
    store: &Store,
    planner: &Planner,
    statement: &CreateTable,
) -> Result<String> {
    let (mut schema, mut rules) = table_schema(statement)?;
    if statement.if_not_exists && require_free(store, &schema.name).is_err() {
        let notices = planner.notices();
        notices.exists("42P07", format_args!("relation \"{}\"", schema.name));
        return Ok("CREATE TABLE".into());
    }
    require_free(store, &schema.name)?;
    check_table(store, &schema)?;
    if schema.primary_key.is_some() {
        schema.primary_key_name = primary_key_name(store, &schema)?;
    }
    let keys = table_keys(store, statement, &schema)?;
    let is_primary = |name: &str| schema.primary_key.is_some() && name == schema.primary_key_name;
    let is_taken = |name: &str| is_primary(name) || keys.names().any(|taken| taken == name);
    let sequences = rules.name_sequences(store, &schema.name)?;
    let rules = rules.build(planner, &schema, TableRules::default(), is_taken)?;
    create_with_sequences(store, sequences, || store.create_table_with(schema, rules, &keys))?;
    Ok("CREATE TABLE".into())
}

/// Runs `DROP TABLE`; either all named tables go or, if one is missing or referred to, none.
pub(crate) fn drop_tables(
    store: &Store,
    notices: &Notices,
    object_type: &ObjectType,
    names: &[ObjectName],
    (if_exists, cascades): (bool, bool),
) -> Result<String> {
    if *object_type != ObjectType::Table {
        return Err(Error::not_supported(format_args!("DROP {object_type}")));
    }
    let find = |name: &str| match store.table(name) {
        Ok(table) => Ok(Some(table)),
        Err(_) if store.view(name).is_some() => Err(wrong_kind(name, "a table", "view")),
        Err(_) => Ok(None),
    };
    let (present, tables): (Vec<String>, Vec<Arc<Table>>) =
        to_drop(notices, names, ("table", if_exists), find)?.into_iter().unzip();
    let sequences: Vec<String> =
        tables.iter().flat_map(|table| own_sequences(&table.rules())).collect();
    let readers = drop_readers(store, "table", &present, cascades)?;
    let mut gone: Vec<String> = readers.iter().map(|view| format!("view {view}")).collect();
    gone.extend(if cascades { referring_keys(store, &tables) } else { Vec::new() });
    let names: Vec<&str> = present.iter().map(String::as_str).collect();
    store.drop_tables(&names, cascades).map_err(|error| {
        let depends = matches!(error, StoreError::DependentObjects { .. });
        match (from_store(error), depends) {
            (error, true) => {
                error.with_hint("Use DROP ... CASCADE to drop the dependent objects too.")
            }
            (error, false) => error,
        }
    })?;
    for sequence in sequences {
        store.drop_sequence(&sequence).map_err(from_store)?;
    }
    notices.cascaded(&gone);
    Ok("DROP TABLE".into())
}

/// Returns the foreign keys of other tables that refer to those that are dropped.
fn referring_keys(store: &Store, dropped: &[Arc<Table>]) -> Vec<String> {
    let is_dropped = |id| dropped.iter().any(|table| table.id() == id);
    let mut found = Vec::new();
    for table in store.tables() {
        if is_dropped(table.id()) {
            continue;
        }
        let keys = store.foreign_keys_of(&table).into_iter();
        let refers = keys.filter(|key| key.referenced.is_some_and(is_dropped));
        let name = table.schema().name.clone();
        found.extend(refers.map(|key| format!("constraint {} on table {name}", key.name)));
    }
    found
}

/// Creates sequences, then what draws from them; they go again if that fails.
fn create_with_sequences(
    store: &Store,
    sequences: Vec<SequenceDef>,
    create: impl FnOnce() -> nacre_store::Result<Arc<Table>>,
) -> Result<()> {
    let names: Vec<String> = sequences.iter().map(|sequence| sequence.name.clone()).collect();
    let mut created =
        sequences.into_iter().try_for_each(|sequence| store.create_sequence(sequence));
    if created.is_ok() {
        created = create().map(|_| ());
    }
    if created.is_err() {
        // One that stays is in nobody's way.
        names.iter().for_each(|name| drop(store.drop_sequence(name)));
    }
    created.map_err(from_store)
}

/// Returns the type of a column that draws from a sequence of its own.
fn serial_type(data_type: &DataType) -> Option<ColumnType> {
    let DataType::Custom(name, modifiers) = data_type else { return None };
    match name.to_string().to_lowercase().as_str() {
        _ if !modifiers.is_empty() => None,
        "smallserial" | "serial2" => Some(ColumnType::SmallInt),
        "serial" | "serial4" => Some(ColumnType::Integer),
        "bigserial" | "serial8" => Some(ColumnType::BigInt),
        _ => None,
    }
}

fn table_schema(statement: &CreateTable) -> Result<(TableSchema, RulesBuilder)> {
    reject_unsupported(statement)?;
    let name = table_name(&statement.name)?;
    let (mut key, mut rules) = (None, RulesBuilder::default());
    let mut columns = Vec::with_capacity(statement.columns.len());
    for column in &statement.columns {
        let column = column_def(column, &name, &mut key, &mut rules)?;
        if columns.iter().any(|before: &ColumnDef| before.name == column.name) {
            let message = format!("column \"{}\" specified more than once", column.name);
            let error = Error::new(ErrorKind::InvalidStatement, message);
            return Err(error.with_code("42701"));
        }
        columns.push(column);
    }
    if columns.len() > COLUMNS_MAX {
        let message = format!("tables can have at most {COLUMNS_MAX} columns");
        return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("54011"));
    }
    for constraint in &statement.constraints {
        match constraint {
            TableConstraint::PrimaryKey(constraint) => {
                let members = key_columns(&constraint.columns)?;
                set_key(&mut key, constraint.name.as_ref(), members, &name)?;
            }
            TableConstraint::Check(check) => rules.add_check(None, check)?,
            // What refers to columns is looked at when all are known.
            TableConstraint::Unique(_) | TableConstraint::ForeignKey(_) => {}
            other => {
                return Err(Error::not_supported(format_args!("constraint {other}")).with_hint(
                    "PRIMARY KEY, UNIQUE, FOREIGN KEY, CHECK and NOT NULL are the constraints that \
                     Nacre knows so far.",
                ));
            }
        }
    }
    let mut primary_key = None;
    let mut primary_key_name = String::new();
    if let Some((key_name, members)) = key {
        let mut indexes = Vec::with_capacity(members.len());
        for member in members {
            let index =
                columns.iter().position(|column| column.name == member).ok_or_else(|| {
                    let message = format!("column \"{member}\" named in key does not exist");
                    Error::undefined_column(message)
                })?;
            columns[index].is_nullable = false;
            indexes.push(index);
        }
        primary_key = Some(indexes);
        primary_key_name = key_name;
    }
    let replicas = replicas(&statement.table_options)?;
    Ok((TableSchema { name, columns, primary_key, primary_key_name, replicas }, rules))
}

/// The name of a primary key and its columns.
pub(crate) type Key = (String, Vec<String>);

pub(crate) fn column_def(
    column: &SqlColumn,
    table: &str,
    key: &mut Option<Key>,
    rules: &mut RulesBuilder,
) -> Result<ColumnDef> {
    let name = fold(&column.name);
    let serial = serial_type(&column.data_type);
    let column_type = match serial {
        Some(column_type) => column_type,
        None => column_type(&name, &column.data_type)?,
    };
    let (mut has_null, mut has_not_null) = (false, serial.is_some());
    if serial.is_some() {
        rules.add_sequence(table, &name, column_type, None, &[])?;
    }
    for option in &column.options {
        match &option.option {
            ColumnOption::Null => has_null = true,
            ColumnOption::NotNull => has_not_null = true,
            ColumnOption::PrimaryKey(_) => {
                set_key(key, option.name.as_ref(), vec![name.clone()], table)?;
            }
            ColumnOption::Generated {
                generated_as,
                sequence_options: Some(options),
                generation_expr: None,
                ..
            } => {
                let identity = match generated_as {
                    GeneratedAs::Always => Identity::Always,
                    _ => Identity::ByDefault,
                };
                has_not_null = true;
                rules.add_sequence(table, &name, column_type, Some(identity), options)?;
            }
            ColumnOption::Default(expr) => rules.add_default(table, &name, expr)?,
            ColumnOption::Check(check) => rules.add_check(option.name.as_ref(), check)?,
            ColumnOption::Unique(_) | ColumnOption::ForeignKey(_) => {}
            other => {
                return Err(Error::not_supported(format_args!("{other} of column \"{name}\"")));
            }
        }
    }
    if has_null && has_not_null {
        let message =
            format!("conflicting NULL/NOT NULL declarations for column \"{name}\" of \"{table}\"");
        return Err(Error::new(ErrorKind::Syntax, message));
    }
    Ok(ColumnDef { name, column_type, is_nullable: !has_not_null, replicas: None })
}

fn set_key(
    key: &mut Option<Key>,
    name: Option<&Ident>,
    columns: Vec<String>,
    table: &str,
) -> Result<()> {
    if key.is_some() {
        let message = format!("multiple primary keys for table \"{table}\" are not allowed");
        return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42P16"));
    }
    let name = name.map_or_else(|| format!("{table}_pkey"), fold);
    *key = Some((name, columns));
    Ok(())
}

pub(crate) fn key_columns(columns: &[IndexColumn]) -> Result<Vec<String>> {
    columns
        .iter()
        .map(|column| match &column.column.expr {
            Expr::Identifier(ident) => Ok(fold(ident)),
            other => Err(Error::not_supported(format_args!("primary key over {other}"))),
        })
        .collect()
}

/// Reads `WITH (replicas = '...')`.
pub(crate) fn replicas(options: &CreateTableOptions) -> Result<Option<ReplicaPolicy>> {
    match options {
        CreateTableOptions::None => Ok(None),
        CreateTableOptions::With(options) => policy(options),
        _ => Err(Error::not_supported("table options other than WITH (...)")),
    }
}

/// Refuses what neither a list of columns nor a query goes with.
pub(crate) fn reject_unsupported(statement: &CreateTable) -> Result<()> {
    let refusals = [
        (statement.or_replace, "CREATE OR REPLACE TABLE"),
        (statement.temporary, "CREATE TEMPORARY TABLE"),
        (statement.external, "CREATE EXTERNAL TABLE"),
        (statement.like.is_some(), "CREATE TABLE LIKE"),
        (statement.clone.is_some(), "CREATE TABLE CLONE"),
        (statement.inherits.is_some(), "INHERITS"),
        (statement.partition_by.is_some(), "PARTITION BY"),
        (statement.partition_of.is_some(), "PARTITION OF"),
        (statement.on_commit.is_some(), "ON COMMIT"),
        (statement.order_by.is_some() || statement.primary_key.is_some(), "CREATE TABLE ORDER BY"),
        (statement.cluster_by.is_some() || statement.clustered_by.is_some(), "CLUSTER BY"),
    ];
    match refusals.iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(Error::not_supported(what)),
        None => Ok(()),
    }
}
