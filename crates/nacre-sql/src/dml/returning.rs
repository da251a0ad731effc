//! RETURNING: a query over the rows that a statement is about to write.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::internal_datafusion_err;
use datafusion::datasource::MemTable;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::sql::parser::Statement as ParsedStatement;
use futures::{StreamExt, stream};
use nacre_store::TableSchema;

use super::change::Returning;
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
    rows: &[&Rows],
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

type Tables = Vec<(&'static str, Arc<dyn TableProvider>)>;

/// Makes the query of RETURNING, and the tables that it is over.
fn query_for(
    schema: &TableSchema,
    returning: &Returning,
    rows: &[&Rows],
    others: &OtherRows,
) -> Result<(ParsedStatement, Tables)> {
    let name = &returning.name;
    let arrow = arrow_schema(schema);
    let fields: Vec<FieldRef> =
        arrow.fields().iter().cloned().chain([Arc::new(row_field())]).collect();
    let arrow = Arc::new(Schema::new(fields));
    let (mut batches, mut count) = (Vec::new(), 0);
    for rows in rows {
        for batch in rows.batches() {
            let made = record_batch(schema, &arrow, rows.columns(), batch, count);
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
    let items = expand(returning.items.clone(), name, &columns, &others);
    let joined: Vec<_> = others.iter().map(|other| (other.table, &other.name)).collect();
    let query = select_joined(items, (CHANGED, name), &joined, ROW_COLUMN)?;
    let mut all = vec![(CHANGED, changed)];
    all.extend(others.into_iter().map(|other| (other.table, other.provider)));
    Ok((query::statement(query, None)?, all))
}

/// Returns rows with all columns of the table, in its order, and their numbers from `first`.
fn record_batch(
    schema: &TableSchema,
    arrow: &SchemaRef,
    columns: &[usize],
    batch: &RowBatch,
    first: u64,
) -> datafusion::common::Result<RecordBatch> {
    let array = |column: usize| -> datafusion::common::Result<ArrayRef> {
        let place = columns.iter().position(|&held| held == column);
        let buffer = place
            .and_then(|place| batch.columns.get(place))
            .ok_or_else(|| internal_datafusion_err!("column {column} is not returned"))?;
        Ok(buffer_array(buffer)?)
    };
    let arrays = (0..schema.columns.len()).map(array);
    let mut arrays = arrays.collect::<datafusion::common::Result<Vec<ArrayRef>>>()?;
    let numbers = first..first + batch.len() as u64;
    arrays.push(Arc::new(UInt64Array::from_iter_values(numbers)));
    Ok(RecordBatch::try_new(Arc::clone(arrow), arrays)?)
}
