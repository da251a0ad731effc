//! Where and how a table keeps its replicas: the option `replicas` of `CREATE TABLE` and
//! `ALTER TABLE`.
//!
//! A policy is checked before anything is changed: its text, that the domains it names are open,
//! and that its formats hold the types of the columns it is for.

use datafusion::sql::sqlparser::ast::{Expr, ObjectName, SqlOption, Value};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;
use nacre_column::{Place, ReplicaPolicy};
use nacre_store::{ColumnDef, Store, TableSchema};

use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_parser;
use crate::from_store::from_store;
use crate::names::{fold, table_name};
use crate::own_syntax;
use crate::privileges::Acting;

/// The only option of a table or column that has an effect.
const REPLICAS: &str = "replicas";

/// Whether a name is that of a storage parameter of PostgreSQL's tables or indexes. They are about
/// pages and their upkeep, which there are none of here, so they are taken and have no effect.
pub(crate) fn is_storage_parameter(name: &str) -> bool {
    let others = [
        "buffering",
        "deduplicate_items",
        "fastupdate",
        "fillfactor",
        "log_autovacuum_min_duration",
        "parallel_workers",
        "toast_tuple_target",
        "vacuum_index_cleanup",
        "vacuum_truncate",
    ];
    name.starts_with("autovacuum_") || others.contains(&name)
}

/// `ALTER TABLE ... [ALTER COLUMN ...] SET (replicas = ...) | RESET (replicas)`.
#[derive(Debug)]
pub(crate) struct AlterReplicas {
    table: ObjectName,
    has_if_exists: bool,
    column: Option<String>,
    /// Whether replicas are among the options.
    is_about_replicas: bool,
    /// The options of SET; `None` for RESET.
    policy: Option<ReplicaPolicy>,
}

/// Parses `sql` if it is a statement that changes replicas; `None` if it is another one, of
/// `ALTER TABLE` too. The parser of the front end does not know these forms.
///
/// # Errors
/// `Syntax` with the place, or [`Error::invalid_parameter`].
pub(crate) fn parse_alter(sql: &str) -> Result<Option<AlterReplicas>> {
    let Some(mut parser) = own_syntax::begin(sql, &["alter", "table"])? else {
        return Ok(None);
    };
    alter(&mut parser).map_err(|error| from_parser(&error))?.transpose()
}

/// The outer error is one of syntax, the inner one of meaning.
fn alter(
    parser: &mut Parser<'_>,
) -> std::result::Result<Option<Result<AlterReplicas>>, ParserError> {
    let has_if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let _ = parser.parse_keyword(Keyword::ONLY);
    let table = parser.parse_object_name(false)?;
    let column = match parser.parse_keyword(Keyword::ALTER) {
        true => {
            let _ = parser.parse_keyword(Keyword::COLUMN);
            Some(fold(&parser.parse_identifier()?))
        }
        false => None,
    };
    let is_set = match parser.parse_one_of_keywords(&[Keyword::SET, Keyword::RESET]) {
        Some(keyword) if parser.consume_token(&Token::LParen) => keyword == Keyword::SET,
        _ => return Ok(None),
    };
    let (policy, is_about_replicas) = if is_set {
        let options = parser.parse_comma_separated(Parser::parse_sql_option)?;
        let policy = policy(&options).transpose();
        let is_there = policy.is_some();
        (policy, is_there)
    } else {
        let names = parser.parse_comma_separated(Parser::parse_identifier)?;
        let names: Vec<String> = names.iter().map(fold).collect();
        let is_known = |name: &String| name == REPLICAS || is_storage_parameter(name);
        let unknown = names.iter().find(|name| !is_known(name));
        let is_there = names.iter().any(|name| name == REPLICAS);
        (unknown.map(|name| Err(unrecognized(name))), is_there)
    };
    parser.expect_token(&Token::RParen)?;
    if parser.peek_token().token == Token::Comma {
        return Ok(Some(Err(Error::not_supported("several changes in one ALTER TABLE"))));
    }
    let _ = parser.consume_token(&Token::SemiColon);
    if parser.peek_token().token != Token::EOF {
        return parser.expected("end of statement", parser.peek_token());
    }
    Ok(Some(policy.transpose().map(|policy| AlterReplicas {
        table,
        has_if_exists,
        column,
        is_about_replicas,
        policy,
    })))
}

/// Runs the statement; returns the command tag.
pub(crate) fn alter_replicas(
    store: &Store,
    acting: Acting,
    statement: AlterReplicas,
) -> Result<String> {
    let tag = || Ok("ALTER TABLE".to_owned());
    let name = table_name(&statement.table)?;
    let table = match store.table(&name) {
        Err(_) if statement.has_if_exists => return tag(),
        found => found.map_err(from_store)?,
    };
    acting.require_owner(store, &name)?;
    let schema = table.schema();
    let column = match &statement.column {
        None => None,
        Some(column) => Some(schema.column_index(column).ok_or_else(|| {
            Error::undefined_column(format!(
                "column \"{column}\" of relation \"{name}\" does not exist"
            ))
        })?),
    };
    if !statement.is_about_replicas {
        return tag();
    }
    if let Some(policy) = &statement.policy {
        check_domains(store, &name, policy)?;
    }
    match (column, &statement.policy) {
        (None, None) => {}
        (None, Some(policy)) => check_columns(&schema, policy)?,
        (Some(column), policy) => {
            // Without its own policy the column has the table's.
            let policy = policy.as_ref().or(schema.replicas.as_ref());
            policy.map_or(Ok(()), |policy| check_column(&name, &schema.columns[column], policy))?;
        }
    }
    store.set_policy(&name, statement.column.as_deref(), statement.policy).map_err(from_store)?;
    tag()
}

/// Reads the options of a table; `None` if there is none.
///
/// # Errors
/// [`Error::invalid_parameter`] for options that Nacre does not know and texts that are no policy.
pub(crate) fn policy(options: &[SqlOption]) -> Result<Option<ReplicaPolicy>> {
    let mut policy = None;
    for option in options {
        let SqlOption::KeyValue { key, value } = option else {
            return Err(Error::not_supported(format_args!("table option {option}")));
        };
        if is_storage_parameter(&fold(key)) {
            continue;
        }
        if fold(key) != REPLICAS {
            return Err(unrecognized(&key.value));
        }
        if policy.is_some() {
            let message = format!("parameter \"{REPLICAS}\" specified more than once");
            return Err(Error::new(ErrorKind::Syntax, message));
        }
        policy = Some(parse_policy(value)?);
    }
    Ok(policy)
}

fn parse_policy(value: &Expr) -> Result<ReplicaPolicy> {
    let text = match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    };
    let invalid = |reason: String| {
        Error::invalid_parameter(format!("invalid value for parameter \"{REPLICAS}\": {reason}"))
    };
    let Some(text) = text else {
        return Err(invalid(format!("{value} is not a text in single quotes"))
            .with_hint("Write it as 'FORMAT@DOMAIN, ...', such as 'auto, auto'."));
    };
    text.parse().map_err(|error: nacre_column::PolicyError| invalid(error.to_string()))
}

fn unrecognized(name: &str) -> Error {
    Error::invalid_parameter(format!("unrecognized parameter \"{name}\""))
        .with_hint("Nacre knows replicas = 'FORMAT@DOMAIN, ...'.")
}

/// Checks that the policy of a new table can be kept.
///
/// # Errors
/// Those of [`check_domains`] and [`check_columns`].
pub(crate) fn check_table(store: &Store, schema: &TableSchema) -> Result<()> {
    match &schema.replicas {
        None => Ok(()),
        Some(policy) => {
            check_domains(store, &schema.name, policy)?;
            check_columns(schema, policy)
        }
    }
}

/// Checks that all domains that `policy` names are open.
fn check_domains(store: &Store, table: &str, policy: &ReplicaPolicy) -> Result<()> {
    for replica in policy.replicas() {
        let Place::Domain(name) = &replica.place else { continue };
        if store.domain(name).is_some() {
            continue;
        }
        let open: Vec<String> =
            store.domains().iter().map(|domain| domain.name().to_owned()).collect();
        let message = format!("memory domain \"{name}\" of table \"{table}\" is not open");
        return Err(Error::new(ErrorKind::UndefinedObject, message).with_hint(format!(
            "There are: {}, and dram. Open the database with --domain {name}=PATH to add it.",
            open.join(", ")
        )));
    }
    Ok(())
}

/// Checks the columns that a table's policy is for: those without one of their own.
fn check_columns(schema: &TableSchema, policy: &ReplicaPolicy) -> Result<()> {
    let columns = schema.columns.iter().filter(|column| column.replicas.is_none());
    columns.into_iter().try_for_each(|column| check_column(&schema.name, column, policy))
}

fn check_column(table: &str, column: &ColumnDef, policy: &ReplicaPolicy) -> Result<()> {
    policy.check(column.column_type).map_err(|error| {
        let name = &column.name;
        Error::invalid_parameter(format!("column \"{name}\" of table \"{table}\": {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(sql: &str) -> AlterReplicas {
        parse_alter(sql).unwrap().unwrap()
    }

    #[test]
    fn statements_that_change_replicas_are_told_from_others() {
        let table = parse("ALTER TABLE IF EXISTS ONLY public.T SET (replicas = 'auto, plain');");
        assert!(table.has_if_exists && table.column.is_none());
        assert_eq!(table_name(&table.table).unwrap(), "t");
        assert_eq!(table.policy.unwrap().to_string(), "auto, plain");
        let column = parse("alter table t alter column \"A b\" set (REPLICAS = 'rle@main')");
        assert_eq!(column.column.as_deref(), Some("A b"));
        let reset = parse("alter table t alter a reset (replicas)");
        assert_eq!((reset.column.as_deref(), reset.policy), (Some("a"), None));
        for other in [
            "select 1",
            "alter table t add column b integer",
            "alter table t alter column a set not null",
            "alter table t set schema other",
            "alter view v rename to w",
        ] {
            assert!(parse_alter(other).unwrap().is_none(), "{other}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let error = |sql: &str| parse_alter(sql).unwrap_err();
        for (sql, code, part) in [
            ("alter table t set (replicas = 'auto'", "42601", "end of input"),
            ("alter table t set (replicas = 'auto') x", "42601", "\"x\""),
            ("alter table t set (fillfaktor = 70)", "22023", "unrecognized parameter"),
            ("alter table t reset (fillfaktor)", "22023", "unrecognized parameter"),
            ("alter table t set (replicas = 2)", "22023", "2 is not a text"),
            ("alter table t set (replicas = 'zip')", "22023", "\"zip\""),
            ("alter table t set (replicas = 'auto', replicas = 'auto')", "42601", "more than once"),
            ("alter table t reset (replicas), set (replicas = 'auto')", "0A000", "several"),
        ] {
            let error = error(sql);
            assert_eq!(error.sqlstate(), code, "{sql}: {error}");
            assert!(error.message().contains(part), "{sql}: {error}");
        }
    }
}
