//! Names of a query's result columns: the text of the expression, as the user wrote it.
//!
//! The planner names a column after its own form of the expression (`Decimal128(1005,4,3)`). Names
//! that the user gave, and those of columns that `*` stands for, are left alone.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, SelectItem, SetExpr, Statement, Visit, Visitor,
};
use futures::StreamExt;

use crate::names::fold;

/// Longest text that becomes a name.
const NAME_CHARS_MAX: usize = 60;

/// Returns the names of the result columns of `statement`, where they differ from the planner's;
/// `None` if they cannot be told from the text.
///
/// The planner wants different names. Where the text has two alike, or a subquery or a cast, whose
/// name the planner does not take from its text, the statement gets aliases that [`rename`] takes
/// off again.
pub(crate) fn names(statement: &mut ParsedStatement) -> Option<Vec<Option<String>>> {
    let ParsedStatement::Statement(statement) = statement else { return None };
    let Statement::Query(query) = statement.as_mut() else { return None };
    query_names(query)
}

fn query_names(query: &mut Query) -> Option<Vec<Option<String>>> {
    let mut body = query.body.as_mut();
    let select = loop {
        match body {
            SetExpr::Select(select) => break select,
            // A set operation has the names of its first part.
            SetExpr::SetOperation { left, .. } => body = left.as_mut(),
            SetExpr::Query(query) => return query_names(query),
            _ => return None,
        }
    };
    // DISTINCT wants to find the expressions of ORDER BY again.
    let aliases_casts = select.projection.len() > 1 && select.distinct.is_none();
    let mut names: Vec<Option<String>> = Vec::with_capacity(select.projection.len());
    let mut seen = HashSet::new();
    for index in 0..select.projection.len() {
        let item = &mut select.projection[index];
        let (shown, is_given) = item_name(item)?;
        let has_own_name = match item {
            SelectItem::UnnamedExpr(Expr::Subquery(_)) => true,
            SelectItem::UnnamedExpr(expr) => aliases_casts && has_cast(expr),
            _ => false,
        };
        if seen.insert(shown.clone()) && !has_own_name {
            names.push((!is_given).then_some(shown));
            continue;
        }
        let alias = Ident::with_quote('"', format!("{shown} #{index}"));
        let expr = match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => expr.clone(),
            _ => return None,
        };
        *item = SelectItem::ExprWithAlias { expr, alias };
        names.push(Some(shown));
    }
    Some(names)
}

/// Whether a part of an expression is a cast.
fn has_cast(expr: &Expr) -> bool {
    struct Casts;
    impl Visitor for Casts {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Cast { .. } => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut Casts).is_break()
}

/// Returns the name of an item and whether the planner gives it that name by itself; `None` for
/// items that stand for several columns.
fn item_name(item: &SelectItem) -> Option<(String, bool)> {
    match item {
        SelectItem::UnnamedExpr(Expr::Identifier(ident)) => Some((fold(ident), true)),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            Some((fold(parts.last()?), true))
        }
        SelectItem::UnnamedExpr(expr) => {
            let text = expr.to_string();
            let is_short = text.chars().count() <= NAME_CHARS_MAX;
            let cut = || text.chars().take(NAME_CHARS_MAX - 3).chain("...".chars()).collect();
            Some((if is_short { text } else { cut() }, false))
        }
        SelectItem::ExprWithAlias { alias, .. } => Some((fold(alias), true)),
        _ => None,
    }
}

/// Gives the columns of `stream` the `names`.
pub(crate) fn rename(
    stream: SendableRecordBatchStream,
    names: &[Option<String>],
) -> SendableRecordBatchStream {
    let schema = renamed(&stream.schema(), names);
    let renamed = Arc::clone(&schema);
    let batches = stream.map(move |batch| {
        let batch: RecordBatch = batch?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        Ok(RecordBatch::try_new_with_options(Arc::clone(&renamed), columns, &options)?)
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}

/// Gives the fields of a schema the `names`, if there are as many.
pub(crate) fn renamed(schema: &SchemaRef, names: &[Option<String>]) -> SchemaRef {
    if schema.fields().len() != names.len() {
        return Arc::clone(schema);
    }
    let fields: Vec<Field> = schema
        .fields()
        .iter()
        .zip(names)
        .map(|(field, name)| match name {
            Some(name) => field.as_ref().clone().with_name(name),
            None => field.as_ref().clone(),
        })
        .collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}
