//! RETURNING: a query over the rows that a statement is about to write.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::internal_datafusion_err;
use datafusion::datasource::MemTable;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::{StreamExt, stream};
use nacre_store::TableSchema;

use super::change::Returning;
use super::query::{self, CHANGED, select};
use super::rows::{RowBatch, Rows};
use crate::error::Result;
use crate::from_datafusion::from_datafusion;
use crate::planner::Planner;
use crate::scan::buffer_array;
use crate::transaction::Moment;
use crate::types::arrow_schema;

/// Computes what RETURNING asks for. Nothing is written yet, so an error in it changes nothing,
/// and its subqueries see what the statement sees.
///
/// # Errors
/// Those of the query.
pub(super) async fn returned(
    planner: &Planner,
    moment: &Arc<Moment>,
    schema: &TableSchema,
    returning: Returning,
    rows: &Rows,
) -> Result<SendableRecordBatchStream> {
    let Returning { items, name } = returning;
    let arrow = arrow_schema(schema);
    let batches: Vec<RecordBatch> = rows
        .batches()
        .iter()
        .map(|batch| record_batch(schema, &arrow, rows.columns(), batch).map_err(from_datafusion))
        .collect::<Result<_>>()?;
    let changed: Arc<dyn TableProvider> = Arc::new(MemTable::try_new(arrow, vec![batches])?);
    let query = select(items, Some((CHANGED, &name)), Vec::new(), None)?;
    let query = query::statement(query, None)?;
    let mut answer = planner.start(moment, vec![(CHANGED, changed)], query).await?;
    let schema = answer.schema();
    let mut batches = Vec::new();
    while let Some(batch) = answer.next().await {
        batches.push(Ok(batch?));
    }
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream::iter(batches))))
}

/// Returns rows with all columns of the table, in its order.
fn record_batch(
    schema: &TableSchema,
    arrow: &SchemaRef,
    columns: &[usize],
    batch: &RowBatch,
) -> datafusion::common::Result<RecordBatch> {
    let array = |column: usize| -> datafusion::common::Result<ArrayRef> {
        let place = columns.iter().position(|&held| held == column);
        let buffer = place
            .and_then(|place| batch.columns.get(place))
            .ok_or_else(|| internal_datafusion_err!("column {column} is not returned"))?;
        Ok(buffer_array(buffer)?)
    };
    let arrays = (0..schema.columns.len()).map(array).collect::<datafusion::common::Result<_>>()?;
    Ok(RecordBatch::try_new(Arc::clone(arrow), arrays)?)
}
