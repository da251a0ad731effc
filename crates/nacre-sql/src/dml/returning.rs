//! RETURNING: a query over the rows that a statement is about to write.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::internal_datafusion_err;
use datafusion::datasource::MemTable;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::Statement as ParsedStatement;
use datafusion::sql::sqlparser::ast::{Expr, Ident, SelectItem, VisitMut, VisitorMut};
use futures::{StreamExt, stream};
use nacre_store::TableSchema;

use super::change::{Returning, Write};
use super::others::{OtherRows, OtherTable, ROW_COLUMN, expand, row_field, tables};
use super::query::{self, CHANGED, select_joined};
use super::rows::{RowBatch, Rows};
use crate::error::Result;
use crate::from_datafusion::from_datafusion;
use crate::planner::Planner;
use crate::scan::buffer_array;
use crate::transaction::Moment;
use crate::types::arrow_schema;

/// Computes what RETURNING asks for of all `rows`; `others` has those of the other tables that the
/// first of them were found with. Nothing is written yet, so an error in it changes nothing, and
/// its subqueries see what the statement sees.
///
/// # Errors
/// Those of the query.
pub(super) async fn returned(
    planner: &Planner,
    moment: &Arc<Moment>,
    schema: &TableSchema,
    returning: &Returning,
    rows: &[(&Write, &Rows)],
    others: &OtherRows,
) -> Result<SendableRecordBatchStream> {
    let (query, tables) = query_for(schema, returning, rows, others)?;
    let mut answer = planner.start(moment, tables, query).await?;
    let schema = answer.schema();
    let mut batches = Vec::new();
    while let Some(batch) = answer.next().await {
        batches.push(Ok(batch?));
    }
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter(batches))))
}

/// Returns the columns of RETURNING.
///
/// # Errors
/// Those of planning the query.
pub(super) async fn described(
    planner: &Planner,
    moment: &Arc<Moment>,
    schema: &TableSchema,
    returning: &Returning,
) -> Result<SchemaRef> {
    let (query, tables) = query_for(schema, returning, &[], &OtherRows::default())?;
    planner.describe(moment, tables, query).await
}

/// What MERGE did, as SQL says it.
const ACTION: &str = "merge_action";

/// Name of the column that says so.
const ACTION_COLUMN: &str = "nacre action";

type Tables = Vec<(&'static str, Arc<dyn TableProvider>)>;

/// Makes the query of RETURNING, and the tables that it is over.
fn query_for(
    schema: &TableSchema,
    returning: &Returning,
    rows: &[(&Write, &Rows)],
    others: &OtherRows,
) -> Result<(ParsedStatement, Tables)> {
    let name = &returning.name;
    let arrow = arrow_schema(schema);
    let action = Field::new(ACTION_COLUMN, DataType::Utf8, false);
    let own = [Arc::new(action), Arc::new(row_field())];
    let fields: Vec<FieldRef> = arrow.fields().iter().cloned().chain(own).collect();
    let arrow = Arc::new(Schema::new(fields));
    let (mut batches, mut count) = (Vec::new(), 0);
    for (write, rows) in rows {
        for batch in rows.batches() {
            let made = record_batch(&arrow, rows.columns(), batch, (action_of(write), count));
            batches.push(made.map_err(from_datafusion)?);
            count += batch.len() as u64;
        }
    }
    let changed: Arc<dyn TableProvider> = Arc::new(MemTable::try_new(arrow, vec![batches])?);
    let others: Vec<OtherTable> = match &returning.others {
        Some(named) => tables(named, others)?,
        None => Vec::new(),
    };
    let columns: Vec<String> = schema.columns.iter().map(|column| column.name.clone()).collect();
    let mut items = returning.items.clone();
    if returning.is_merge {
        items.iter_mut().for_each(|item| name_actions(item, name));
    }
    let items = expand(items, name, &columns, (&others, returning.is_merge));
    let joined: Vec<_> = others.iter().map(|other| (other.table, &other.name)).collect();
    let query = select_joined(items, (CHANGED, name), &joined, ROW_COLUMN)?;
    let mut all = vec![(CHANGED, changed)];
    all.extend(others.into_iter().map(|other| (other.table, other.provider)));
    Ok((query::statement(query, None)?, all))
}

/// Returns what MERGE did with rows, as `merge_action()` says it.
fn action_of(write: &Write) -> &'static str {
    match write {
        Write::Insert | Write::InsertUnlessRaced(_) => "INSERT",
        Write::Update(_) => "UPDATE",
        Write::Delete => "DELETE",
    }
}

/// Puts the column of actions in the place of `merge_action()`.
fn name_actions(item: &mut SelectItem, table: &Ident) {
    struct Actions<'a>(&'a Ident);
    impl VisitorMut for Actions<'_> {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if is_action(expr) {
                let column = Ident::with_quote('"', ACTION_COLUMN);
                *expr = Expr::CompoundIdentifier(vec![query::quoted(self.0), column]);
            }
            ControlFlow::Continue(())
        }
    }
    if let SelectItem::UnnamedExpr(expr) = item
        && is_action(expr)
    {
        let alias = Ident::new(ACTION);
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
    // It never stops.
    let _ = VisitMut::visit(item, &mut Actions(table));
}

fn is_action(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(call) if call.to_string().eq_ignore_ascii_case("merge_action()"))
}

/// Returns rows with all columns of the table, in its order, what was done with them, and their
/// numbers from `first`.
fn record_batch(
    arrow: &SchemaRef,
    columns: &[usize],
    batch: &RowBatch,
    (action, first): (&str, u64),
) -> datafusion::common::Result<RecordBatch> {
    let array = |column: usize| -> datafusion::common::Result<ArrayRef> {
        let place = columns.iter().position(|&held| held == column);
        let buffer = place
            .and_then(|place| batch.columns.get(place))
            .ok_or_else(|| internal_datafusion_err!("column {column} is not returned"))?;
        Ok(buffer_array(buffer)?)
    };
    let arrays = (0..arrow.fields().len() - 2).map(array);
    let mut arrays = arrays.collect::<datafusion::common::Result<Vec<ArrayRef>>>()?;
    arrays.push(Arc::new(StringArray::from(vec![action; batch.len()])));
    let numbers = first..first + batch.len() as u64;
    arrays.push(Arc::new(UInt64Array::from_iter_values(numbers)));
    Ok(RecordBatch::try_new(Arc::clone(arrow), arrays)?)
}
