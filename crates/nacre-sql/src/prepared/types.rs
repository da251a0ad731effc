//! The types of parameters.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    AssignmentTarget, Expr, Insert, LimitClause, ObjectName, Query, SetExpr, Statement,
    TableObject, Update, Value, ValueWithSpan, Visit, Visitor,
};
use nacre_column::ColumnType;
use nacre_store::{Store, TableSchema};

use crate::error::{Error, ErrorKind, Result};
use crate::names::{fold, table_name};
use crate::types::column_type;

/// Most parameters of a statement, as in PostgreSQL.
const PARAMETERS_MAX: usize = 65_535;

/// The type of a parameter of which nothing is known.
const UNKNOWN: ColumnType = ColumnType::Varchar { max_chars: None };

/// Returns the number of a parameter from 0, if an expression is one.
pub(super) fn parameter(expr: &Expr) -> Option<usize> {
    let Expr::Value(value) = expr else { return None };
    let Value::Placeholder(name) = &value.value else { return None };
    name.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)
}

/// Returns how many parameters a statement has.
///
/// # Errors
/// 42P02 for `$0` and for placeholders of another form; 54011 if there are too many.
pub(crate) fn parameter_count(statement: &Statement) -> Result<usize> {
    struct Count(usize);
    impl Visitor for Count {
        type Break = Error;

        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<Error> {
            let Value::Placeholder(name) = &value.value else { return ControlFlow::Continue(()) };
            let number = name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok());
            match number {
                Some(number @ 1..=PARAMETERS_MAX) => {
                    self.0 = self.0.max(number);
                    ControlFlow::Continue(())
                }
                Some(0) | None => {
                    let error = Error::new(
                        ErrorKind::UndefinedObject,
                        format!("there is no parameter {name}"),
                    );
                    ControlFlow::Break(error.with_code("42P02"))
                }
                Some(_) => {
                    let message = format!("more than {PARAMETERS_MAX} parameters");
                    let error = Error::new(ErrorKind::InvalidStatement, message);
                    ControlFlow::Break(error.with_code("54023"))
                }
            }
        }
    }
    let mut count = Count(0);
    match statement.visit(&mut count) {
        ControlFlow::Continue(()) => Ok(count.0),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Completes the types of the parameters of a statement; what nothing tells of is text.
pub(super) fn infer(
    store: &Store,
    statement: &Statement,
    declared: &[Option<ColumnType>],
    count: usize,
) -> Vec<ColumnType> {
    let mut types = declared.to_vec();
    types.resize(count.max(declared.len()), None);
    let mut tables = Tables { store, found: Vec::new() };
    let _ = statement.visit(&mut tables);
    let mut infer = Infer { tables: tables.found, types };
    infer.targets(statement);
    let _ = statement.visit(&mut infer);
    infer.types.into_iter().map(|found| found.unwrap_or(UNKNOWN)).collect()
}

/// Collects the tables that a statement names.
struct Tables<'a> {
    store: &'a Store,
    found: Vec<Arc<TableSchema>>,
}

impl Visitor for Tables<'_> {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let table = table_name(relation).ok().and_then(|name| self.store.table(&name).ok());
        self.found.extend(table.map(|table| table.schema()));
        ControlFlow::Continue(())
    }
}

struct Infer {
    tables: Vec<Arc<TableSchema>>,
    types: Vec<Option<ColumnType>>,
}

impl Infer {
    /// Gives a parameter a type unless it has one.
    fn is(&mut self, expr: &Expr, found: Option<ColumnType>) {
        if let (Some(index), Some(found)) = (parameter(expr), found)
            && let Some(known) = self.types.get_mut(index)
        {
            known.get_or_insert(found);
        }
    }

    /// Returns the type of a column that an expression names.
    fn column(&self, expr: &Expr) -> Option<ColumnType> {
        let name = match expr {
            Expr::Identifier(ident) => fold(ident),
            Expr::CompoundIdentifier(parts) => fold(parts.last()?),
            Expr::Nested(inner) => return self.column(inner),
            // `a + $1` has the type of the column as far as this goes.
            Expr::BinaryOp { left, right, .. } => {
                return self.column(left).or_else(|| self.column(right));
            }
            _ => return None,
        };
        self.tables.iter().find_map(|table| {
            table.column_index(&name).map(|index| table.columns[index].column_type)
        })
    }

    /// Types of what is assigned: by INSERT, UPDATE.
    fn targets(&mut self, statement: &Statement) {
        match statement {
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            _ => {}
        }
    }

    fn insert(&mut self, insert: &Insert) {
        let TableObject::TableName(name) = &insert.table else { return };
        let name = table_name(name).ok();
        let schema = self.tables.iter().find(|table| Some(&table.name) == name.as_ref()).cloned();
        let (Some(schema), Some(source)) = (schema, &insert.source) else { return };
        let SetExpr::Values(values) = source.body.as_ref() else { return };
        let listed = insert.columns.iter().map(|name| {
            let ident = name.0.first()?.as_ident()?;
            schema.column_index(&fold(ident))
        });
        let targets: Vec<Option<usize>> = match insert.columns.is_empty() {
            true => (0..schema.columns.len()).map(Some).collect(),
            false => listed.collect(),
        };
        for row in &values.rows {
            for (expr, target) in row.content.iter().zip(&targets) {
                self.is(expr, target.map(|target| schema.columns[target].column_type));
            }
        }
    }

    fn update(&mut self, update: &Update) {
        for assignment in &update.assignments {
            if let AssignmentTarget::ColumnName(name) = &assignment.target
                && let Some(ident) = name.0.first().and_then(|part| part.as_ident())
            {
                let found = self.column(&Expr::Identifier(ident.clone()));
                self.is(&assignment.value, found);
            }
        }
    }
}

impl Visitor for Infer {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &query.limit_clause {
            let rows = Some(ColumnType::BigInt);
            limit.iter().for_each(|limit| self.is(limit, rows));
            offset.iter().for_each(|offset| self.is(&offset.value, rows));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::BinaryOp { left, right, .. } => {
                let (of_left, of_right) = (self.column(left), self.column(right));
                self.is(left, of_right);
                self.is(right, of_left);
            }
            Expr::Between { expr, low, high, .. } => {
                let found = self.column(expr);
                self.is(low, found);
                self.is(high, found);
            }
            Expr::InList { expr, list, .. } => {
                let found = self.column(expr);
                list.iter().for_each(|value| self.is(value, found));
            }
            Expr::Cast { expr, data_type, .. } => {
                self.is(expr, column_type("parameter", data_type).ok());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
