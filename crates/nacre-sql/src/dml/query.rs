//! Queries for the rows of a statement, made from parts of its syntax.

use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SetExpr, Statement, TableWithJoins, Value, With,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_parser;
use crate::names::STATEMENT_SCHEMA;
use crate::scan::ROW_ID_COLUMN;

/// Name of the table that a statement changes, with the ids of its rows, in [`STATEMENT_SCHEMA`].
pub(super) const TARGET: &str = "target";

/// Name of the rows that a statement changed, in [`STATEMENT_SCHEMA`].
pub(super) const CHANGED: &str = "changed";

/// Makes `SELECT projection FROM table AS name, others WHERE selection`; no table is one row.
pub(super) fn select(
    projection: Vec<SelectItem>,
    table: Option<(&str, &Ident)>,
    others: Vec<TableWithJoins>,
    selection: Option<Expr>,
) -> Result<Query> {
    let sql = match table {
        None => "SELECT 1".to_owned(),
        Some((table, name)) => {
            let name = quoted(name);
            format!("SELECT 1 FROM {STATEMENT_SCHEMA}.{table} AS {name}")
        }
    };
    let (mut query, mut body) = parsed(&sql)?;
    body.projection = projection;
    body.from.extend(others);
    body.selection = selection;
    *query.body = SetExpr::Select(body);
    Ok(query)
}

/// Makes `SELECT projection` from a table of the statement and others that have the same number in
/// `column`.
pub(super) fn select_joined(
    projection: Vec<SelectItem>,
    (table, name): (&str, &Ident),
    others: &[(&str, &Ident)],
    column: &str,
) -> Result<Query> {
    let name = quoted(name);
    let mut sql = format!("SELECT 1 FROM {STATEMENT_SCHEMA}.\"{table}\" AS {name}");
    for (other, other_name) in others {
        let other_name = quoted(other_name);
        sql.push_str(&format!(
            " JOIN {STATEMENT_SCHEMA}.\"{other}\" AS {other_name} \
             ON {name}.\"{column}\" = {other_name}.\"{column}\""
        ));
    }
    let (mut query, mut body) = parsed(&sql)?;
    body.projection = projection;
    *query.body = SetExpr::Select(body);
    Ok(query)
}

/// Parses a query that is one SELECT.
pub(super) fn parsed(sql: &str) -> Result<(Query, Box<Select>)> {
    let parsed = Parser::new(&PostgreSqlDialect {})
        .try_with_sql(sql)
        .and_then(|mut parser| parser.parse_query());
    let query = *parsed.map_err(|error| from_parser(&error))?;
    match query.body.as_ref() {
        SetExpr::Select(body) => {
            let body = body.clone();
            Ok((query, body))
        }
        _ => Err(Error::new(ErrorKind::Internal, "internal error: SELECT 1 is no SELECT")),
    }
}

/// Makes a statement of a query, with the `WITH` that stood before the statement it is part of.
///
/// # Errors
/// `not supported` if the query has a `WITH` of its own, too.
pub(super) fn statement(mut query: Query, with: Option<With>) -> Result<ParsedStatement> {
    if with.is_some() {
        if query.with.is_some() {
            return Err(Error::not_supported("WITH before and inside a statement"));
        }
        query.with = with;
    }
    Ok(ParsedStatement::Statement(Box::new(Statement::Query(Box::new(query)))))
}

/// Makes a query for values computed from the rows of the table called `name`, and says what the
/// statement's own table is to be called.
pub(crate) fn source_query(
    name: &Ident,
    exprs: Vec<Expr>,
) -> Result<(ParsedStatement, &'static str)> {
    let mut items: Vec<SelectItem> =
        exprs.into_iter().enumerate().map(|(number, expr)| output(number, expr)).collect();
    if items.is_empty() {
        items.push(output(0, Expr::Value(Value::Null.into())));
    }
    let query = select(items, Some((TARGET, name)), Vec::new(), None)?;
    Ok((statement(query, None)?, TARGET))
}

/// Returns the item for the id of a row of the table called `name`.
pub(super) fn row_id(name: &Ident) -> SelectItem {
    column(name, ROW_ID_COLUMN)
}

/// Returns the item for a column of the table called `name`.
pub(super) fn column(name: &Ident, column: &str) -> SelectItem {
    let parts = vec![quoted(name), Ident::with_quote('"', column)];
    SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts))
}

/// Returns the item for the output of that number.
pub(super) fn output(number: usize, expr: Expr) -> SelectItem {
    output_named(&format!("nacre output {number}"), expr)
}

/// Returns the item for an output of that name.
pub(super) fn output_named(name: &str, expr: Expr) -> SelectItem {
    SelectItem::ExprWithAlias { expr, alias: Ident::with_quote('"', name) }
}

/// Returns a name as it is after folding, so that it means the same wherever it is put.
pub(super) fn quoted(name: &Ident) -> Ident {
    Ident::with_quote('"', crate::names::fold(name))
}
