//! From the syntax of INSERT, UPDATE and DELETE to a [`Change`].

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, Delete, Expr, FromTable, Ident, Insert, ObjectName, OnInsert,
    Query, SelectItem, SetExpr, Statement, TableFactor, TableObject, TableWithJoins, Update,
    UpdateTableFromKind, Values, Visit, Visitor, With,
};
use nacre_store::{Store, Table, TableSchema};

use super::cell::{Cell, is_text_literal};
use super::change::{Change, Returning, Source, Write};
use super::conflict::OnConflict;
use super::defaults::is_default;
use super::identity::{Overriding, require_default, takes_value};
use super::others::Others;
use super::query::{self, TARGET, column, output, quoted, row_id, select};
use super::set_query::single_columns;
use crate::error::{Error, ErrorKind, Result};
use crate::names::{STATEMENT_SCHEMA, fold};
use crate::privileges::{DELETE, INSERT, Rights, SELECT, UPDATE};
use crate::relations::table_to_change;

/// Tells whether a statement changes rows, and if so how its kind is called.
pub(crate) fn writes(statement: &Statement) -> Option<&'static str> {
    match statement {
        Statement::Insert(_) => Some("INSERT"),
        Statement::Update(_) => Some("UPDATE"),
        Statement::Delete(_) => Some("DELETE"),
        Statement::Merge(_) => Some("MERGE"),
        Statement::Query(query) => match query.body.as_ref() {
            SetExpr::Insert(inner)
            | SetExpr::Update(inner)
            | SetExpr::Delete(inner)
            | SetExpr::Merge(inner) => writes(inner),
            _ => None,
        },
        _ => None,
    }
}

/// Reads a statement that [`writes`].
///
/// # Errors
/// For names that do not exist, lists of different lengths, and what is `not supported`.
pub(crate) fn change_of(store: &Store, statement: Statement) -> Result<Change> {
    match statement {
        Statement::Query(query) => {
            let Query { with, body, .. } = *query;
            match *body {
                SetExpr::Insert(inner)
                | SetExpr::Update(inner)
                | SetExpr::Delete(inner)
                | SetExpr::Merge(inner) => change_with(store, inner, with),
                _ => Err(Error::new(ErrorKind::Internal, "internal error: a query only reads")),
            }
        }
        other => change_with(store, other, None),
    }
}

fn change_with(store: &Store, statement: Statement, with: Option<With>) -> Result<Change> {
    match statement {
        Statement::Insert(insert) => self::insert(store, insert, with),
        Statement::Update(update) => self::update(store, update, with),
        Statement::Delete(delete) => self::delete(store, delete, with),
        Statement::Merge(merge) => super::merge::change(store, merge, with),
        Statement::Truncate(_) => {
            Err(Error::new(ErrorKind::Syntax, "syntax error at or near \"TRUNCATE\""))
        }
        _ => Err(Error::new(ErrorKind::Internal, "internal error: the statement only reads")),
    }
}

fn insert(store: &Store, statement: Insert, with: Option<With>) -> Result<Change> {
    let refusals = [
        (statement.or.is_some() || statement.replace_into, "INSERT OR ..."),
        (statement.overwrite, "INSERT OVERWRITE"),
        (statement.partitioned.is_some(), "INSERT ... PARTITION"),
        (!statement.assignments.is_empty(), "INSERT ... SET"),
        (statement.output.is_some(), "OUTPUT"),
    ];
    refuse(&refusals)?;
    let TableObject::TableName(name) = &statement.table else {
        return Err(Error::not_supported("INSERT into something else than a table"));
    };
    let table = table_to_change(store, name, "INSERT")?;
    let schema = table.schema();
    let is_listed = !statement.columns.is_empty();
    let targets = match is_listed {
        true => columns_named(&schema, &statement.columns)?,
        false => (0..schema.columns.len()).collect(),
    };
    let name = match &statement.table_alias {
        Some(alias) => quoted(&alias.alias),
        None => Ident::with_quote('"', &schema.name),
    };
    let source = match statement.source {
        // DEFAULT VALUES
        None => {
            let lists = vec![Cell::defaults_of(&table)?];
            Source::Values { lists, query: None, offered: None }
        }
        Some(query) => {
            let overriding = Overriding::of(&statement.after_columns);
            let form = Form { targets, is_listed, overriding };
            insert_source(&table, form, *query, with)?
        }
    };
    let on_conflict = match statement.on {
        None => None,
        Some(OnInsert::OnConflict(syntax)) => {
            Some(OnConflict::of(&table, &name, syntax, statement.returning.is_some())?)
        }
        Some(_) => return Err(Error::not_supported("INSERT ... ON DUPLICATE KEY")),
    };
    let returning = statement.returning.map(|items| Returning {
        items,
        name,
        others: None,
        refused: None,
        is_merge: false,
    });
    let reads = returning.is_some() || on_conflict.as_ref().is_some_and(OnConflict::reads);
    let updates = on_conflict.as_ref().is_some_and(OnConflict::updates);
    let rights = INSERT | when(reads, SELECT) | when(updates, UPDATE);
    let (write, verb) = (Write::Insert, "INSERT");
    Ok(Change { table, schema, source, write, returning, on_conflict, verb, rights })
}

/// How an INSERT names its columns.
struct Form {
    targets: Vec<usize>,
    is_listed: bool,
    overriding: Option<Overriding>,
}

fn insert_source(table: &Table, form: Form, query: Query, with: Option<With>) -> Result<Source> {
    let is_bare = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none();
    match query.body.as_ref() {
        SetExpr::Values(values) if is_bare => values_source(table, &form, values, with),
        body => {
            let literals = match body {
                SetExpr::Select(select) => literal_items(&select.projection),
                _ => Vec::new(),
            };
            for &target in &form.targets {
                if !takes_value(table, target, form.overriding)? {
                    return Err(Error::not_supported("OVERRIDING USER VALUE before a query"));
                }
            }
            let query = query::statement(query, with)?;
            let Form { targets, is_listed, .. } = form;
            Ok(Source::Query { query, targets, is_listed, literals, offered: None })
        }
    }
}

/// Tells which outputs are texts in quotes, as far as each item is one output.
fn literal_items(items: &[SelectItem]) -> Vec<bool> {
    let is_literal = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            Some(is_text_literal(expr))
        }
        _ => None,
    };
    items.iter().map_while(is_literal).collect()
}

/// Literals are taken as they are; all other expressions become the outputs of one query, each of
/// its own type.
fn values_source(
    table: &Table,
    form: &Form,
    values: &Values,
    with: Option<With>,
) -> Result<Source> {
    let (targets, is_listed) = (form.targets.as_slice(), form.is_listed);
    let count = values.rows.first().map_or(0, |row| row.content.len());
    check_count(targets.len(), count, is_listed)?;
    let (schema, defaults) = (table.schema(), Cell::defaults_of(table)?);
    let (mut lists, mut outputs) = (Vec::with_capacity(values.rows.len()), Vec::new());
    for row in &values.rows {
        if row.content.len() != count {
            let message = "VALUES lists must all be the same length";
            return Err(Error::new(ErrorKind::Syntax, message));
        }
        let mut cells = defaults.clone();
        for (&target, expr) in targets.iter().zip(&row.content) {
            if is_default(expr) || !takes_value(table, target, form.overriding)? {
                continue;
            }
            let column_type = schema.columns[target].column_type;
            cells[target] = Cell::literal(expr, column_type).unwrap_or_else(|| {
                outputs.push(output(outputs.len(), expr.clone()));
                Cell::Output { index: outputs.len() - 1, is_literal: false }
            });
        }
        lists.push(cells);
    }
    let query = match outputs.is_empty() {
        true => None,
        false => Some(query::statement(select(outputs, None, Vec::new(), None)?, with)?),
    };
    Ok(Source::Values { lists, query, offered: None })
}

/// Refuses more or fewer values than columns.
pub(super) fn check_count(targets: usize, values: usize, is_listed: bool) -> Result<()> {
    if values > targets {
        let message = "INSERT has more expressions than target columns";
        return Err(Error::new(ErrorKind::Syntax, message));
    }
    if values < targets && is_listed {
        let message = "INSERT has more target columns than expressions";
        return Err(Error::new(ErrorKind::Syntax, message));
    }
    Ok(())
}

fn update(store: &Store, statement: Update, with: Option<With>) -> Result<Change> {
    let refusals = [
        (statement.or.is_some(), "UPDATE OR ..."),
        (statement.output.is_some(), "OUTPUT"),
        (!statement.order_by.is_empty() || statement.limit.is_some(), "UPDATE ... LIMIT"),
    ];
    refuse(&refusals)?;
    let (table, name) = target(store, &statement.table, "UPDATE")?;
    let schema = table.schema();
    let others = match statement.from {
        None => Vec::new(),
        Some(UpdateTableFromKind::AfterSet(tables)) => tables,
        Some(UpdateTableFromKind::BeforeSet(_)) => {
            return Err(Error::not_supported("UPDATE ... FROM before SET"));
        }
    };
    let returning = returning(statement.returning, &name, &others)?;
    let assigned = assignments(&schema, statement.assignments)?;
    let values = assigned.iter().map(|(_, value)| value);
    let reads = returning.is_some()
        || values.chain(&statement.selection).any(|one| mentions(one, &schema, &others));
    let rights = UPDATE | when(reads, SELECT);
    let written: Vec<usize> = assigned.iter().map(|(column, _)| *column).collect();
    let mut items = vec![row_id(&name)];
    let (mut columns, mut cells) = (Vec::new(), Vec::new());
    for (target, expr) in assigned {
        columns.push(target);
        if is_default(&expr) {
            cells.push(Cell::default_of(&table, target)?);
            continue;
        }
        require_default(&table, target)?;
        let literal = Cell::literal(&expr, schema.columns[target].column_type);
        cells.push(literal.unwrap_or_else(|| {
            items.push(output(items.len(), expr));
            Cell::Output { index: items.len() - 1, is_literal: false }
        }));
    }
    // Constraints look at whole rows, after the change.
    if returning.is_some() || !table.rules().checks.is_empty() {
        other_columns(&schema, &name, &mut items, (&mut columns, &mut cells));
    }
    items.extend(returning.iter().flat_map(Returning::items_of_others));
    let query = select(items, Some((TARGET, &name)), others, statement.selection)?;
    let query = query::statement(query, with)?;
    let source = Source::Found { query, columns, cells, offered: None };
    let (write, on_conflict) = (Write::Update(written), None);
    let verb = "UPDATE";
    Ok(Change { table, schema, source, write, returning, on_conflict, verb, rights })
}

fn delete(store: &Store, statement: Delete, with: Option<With>) -> Result<Change> {
    let refusals = [
        (!statement.tables.is_empty(), "DELETE of several tables"),
        (statement.output.is_some(), "OUTPUT"),
        (!statement.order_by.is_empty() || statement.limit.is_some(), "DELETE ... LIMIT"),
    ];
    refuse(&refusals)?;
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &statement.from;
    let [from] = from.as_slice() else {
        return Err(Error::not_supported("DELETE of several tables"));
    };
    let (table, name) = target(store, from, "DELETE")?;
    let others = statement.using.unwrap_or_default();
    let returning = returning(statement.returning, &name, &others)?;
    let schema = table.schema();
    let mut items = vec![row_id(&name)];
    let (mut columns, mut cells) = (Vec::new(), Vec::new());
    let reads = statement.selection.iter().any(|one| mentions(one, &schema, &others));
    let rights = DELETE | when(reads || returning.is_some(), SELECT);
    if returning.is_some() {
        other_columns(&schema, &name, &mut items, (&mut columns, &mut cells));
    }
    items.extend(returning.iter().flat_map(Returning::items_of_others));
    let query = select(items, Some((TARGET, &name)), others, statement.selection)?;
    let query = query::statement(query, with)?;
    let source = Source::Found { query, columns, cells, offered: None };
    let (write, on_conflict) = (Write::Delete, None);
    let verb = "DELETE";
    Ok(Change { table, schema, source, write, returning, on_conflict, verb, rights })
}

fn when(is_so: bool, rights: Rights) -> Rights {
    if is_so { rights } else { 0 }
}

/// Whether an expression may read the table that is changed: a name in it is that of a column of
/// the table, and it is not said to be one of `others`.
fn mentions(expr: &Expr, schema: &TableSchema, others: &[TableWithJoins]) -> bool {
    struct Mentions<'a> {
        schema: &'a TableSchema,
        others: Vec<String>,
    }
    impl Visitor for Mentions<'_> {
        type Break = ();

        fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
            let first = relation.0.first().and_then(|part| part.as_ident()).map(fold);
            match first.as_deref() {
                Some(STATEMENT_SCHEMA) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let (qualifier, name) = match expr {
                Expr::Identifier(name) => (None, name),
                Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                    [.., qualifier, name] => (Some(fold(qualifier)), name),
                    _ => return ControlFlow::Break(()),
                },
                Expr::QualifiedWildcard(..) | Expr::Wildcard(_) => return ControlFlow::Break(()),
                _ => return ControlFlow::Continue(()),
            };
            let name = fold(name);
            let is_row = name == self.schema.name;
            let is_others = qualifier.is_some_and(|name| self.others.contains(&name));
            match !is_others && (is_row || self.schema.column_index(&name).is_some()) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    let name_of = |from: &TableWithJoins| match &from.relation {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } => Some(fold(&alias.name)),
        TableFactor::Table { name, .. } => name.0.last().and_then(|part| part.as_ident()).map(fold),
        _ => None,
    };
    let others = others.iter().filter_map(name_of).collect();
    expr.visit(&mut Mentions { schema, others }).is_break()
}

/// Adds the columns of the table that are not among `columns` to what the query for its rows gives,
/// which is what they hold afterwards.
pub(super) fn other_columns(
    schema: &TableSchema,
    table: &Ident,
    items: &mut Vec<SelectItem>,
    (columns, cells): (&mut Vec<usize>, &mut Vec<Cell>),
) {
    let written = columns.clone();
    let others = schema.columns.iter().enumerate().filter(|(index, _)| !written.contains(index));
    for (index, definition) in others {
        items.push(column(table, &definition.name));
        columns.push(index);
        cells.push(Cell::Output { index: items.len() - 1, is_literal: false });
    }
}

/// Returns the table that is changed and what the statement calls it.
pub(super) fn target(
    store: &Store,
    from: &TableWithJoins,
    verb: &str,
) -> Result<(Arc<Table>, Ident)> {
    let TableFactor::Table { name, alias, args: None, sample: None, .. } = &from.relation else {
        return Err(Error::not_supported(format_args!("{verb} of something else than a table")));
    };
    if !from.joins.is_empty() {
        return Err(Error::not_supported(format_args!("{verb} of a join")));
    }
    let table = table_to_change(store, name, verb)?;
    let name = match alias {
        Some(alias) if alias.columns.is_empty() => quoted(&alias.name),
        Some(_) => return Err(Error::not_supported(format_args!("{verb} with names of columns"))),
        None => Ident::with_quote('"', &table.schema().name),
    };
    Ok((table, name))
}

fn returning(
    items: Option<Vec<SelectItem>>,
    name: &Ident,
    others: &[TableWithJoins],
) -> Result<Option<Returning>> {
    let Some(items) = items else { return Ok(None) };
    let (others, refused) = match others {
        [] => (None, None),
        others => {
            Others::of(others).map_or_else(|error| (None, Some(error)), |one| (Some(one), None))
        }
    };
    Ok(Some(Returning { items, name: name.clone(), others, refused, is_merge: false }))
}

/// Returns the columns that are assigned and the expressions for them.
pub(super) fn assignments(
    schema: &TableSchema,
    list: Vec<Assignment>,
) -> Result<Vec<(usize, Expr)>> {
    let mut assigned: Vec<(usize, Expr)> = Vec::with_capacity(list.len());
    for Assignment { target, value } in list {
        let pairs = match (target, value) {
            (AssignmentTarget::ColumnName(name), value) => vec![(name, value)],
            (AssignmentTarget::Tuple(names), Expr::Tuple(values)) => {
                if names.len() != values.len() {
                    let message = "number of columns does not match number of values";
                    return Err(Error::new(ErrorKind::Syntax, message));
                }
                names.into_iter().zip(values).collect()
            }
            (AssignmentTarget::Tuple(names), value) if names.len() == 1 => {
                names.into_iter().zip([value]).collect()
            }
            (AssignmentTarget::Tuple(names), Expr::Subquery(query)) => {
                let values = single_columns(&query, names.len())?;
                names.into_iter().zip(values).collect()
            }
            (AssignmentTarget::Tuple(_), _) => {
                return Err(Error::not_supported("SET (columns) = something else than values"));
            }
        };
        for (name, value) in pairs {
            let column = column_named(schema, &name)?;
            if assigned.iter().any(|(known, _)| *known == column) {
                let name = &schema.columns[column].name;
                let message = format!("multiple assignments to same column \"{name}\"");
                return Err(Error::new(ErrorKind::Syntax, message));
            }
            assigned.push((column, value));
        }
    }
    Ok(assigned)
}

pub(super) fn columns_named(schema: &TableSchema, names: &[ObjectName]) -> Result<Vec<usize>> {
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let column = column_named(schema, name)?;
        if columns.contains(&column) {
            let name = &schema.columns[column].name;
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(ErrorKind::InvalidStatement, message).with_code("42701"));
        }
        columns.push(column);
    }
    Ok(columns)
}

fn column_named(schema: &TableSchema, name: &ObjectName) -> Result<usize> {
    // More parts would be the fields of a composite type, which there is none of.
    let ident = name.0.first().and_then(|part| part.as_ident()).map(fold);
    let index = ident.as_deref().and_then(|ident| schema.column_index(ident));
    match index.filter(|_| name.0.len() == 1) {
        Some(index) => Ok(index),
        None => {
            let ident = ident.unwrap_or_else(|| name.to_string());
            let table = &schema.name;
            let message = format!("column \"{ident}\" of relation \"{table}\" does not exist");
            Err(Error::undefined_column(message))
        }
    }
}

pub(super) fn refuse(refusals: &[(bool, &str)]) -> Result<()> {
    match refusals.iter().find(|(is_there, _)| *is_there) {
        Some((_, what)) => Err(Error::not_supported(what)),
        None => Ok(()),
    }
}
