//! The work of one partition of a scan: morsels in, record batches out.
//!
//! For each vector of a morsel: evaluate filter by filter, on encoded values where that is possible
//! and else on decoded ones, until no row is left; if some are, decode the columns that are asked
//! for and keep those rows.
//! Rows of sparse vectors are gathered until a batch is full.

use std::collections::VecDeque;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::kernels::boolean::and;
use datafusion::arrow::compute::kernels::coalesce::BatchCoalescer;
use datafusion::arrow::compute::prep_null_mask_filter;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::Result;
use datafusion::execution::RecordBatchStream;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder,
};
use futures::Stream;
use nacre_column::{ColumnType, Flavour, Restriction, VECTOR_ROWS};

use super::array::ColumnReader;
use super::deal::Morsel;
use super::restriction::restriction;

/// A filter, in the form in which it is evaluated.
#[derive(Debug)]
enum RowFilter {
    /// On the encoded values of one column.
    Encoded { column: usize, restriction: Restriction },
    /// Over a batch of just the columns it looks at, named by their indexes in the table.
    Evaluated { expr: Arc<dyn PhysicalExpr>, columns: Vec<usize>, schema: SchemaRef },
}

/// What is fixed while the stream runs.
#[derive(Debug)]
struct Plan {
    schema: SchemaRef,
    projection: Vec<usize>,
    filters: Vec<RowFilter>,
    vector_rows: usize,
    flavour: Flavour,
    column_count: usize,
}

/// The columns of the morsel at hand, opened when first read.
#[derive(Debug)]
struct OpenMorsel {
    morsel: Morsel,
    readers: Vec<Option<ColumnReader>>,
}

/// One partition of a scan.
pub(super) struct ScanStream {
    plan: Plan,
    morsels: VecDeque<Morsel>,
    open: Option<OpenMorsel>,
    coalescer: BatchCoalescer,
    rows_left: usize,
    is_finished: bool,
    metrics: BaselineMetrics,
    rows_read: Count,
}

impl ScanStream {
    #[expect(clippy::too_many_arguments, reason = "each is a separate property of the scan")]
    pub(super) fn try_new(
        morsels: Vec<Morsel>,
        (table_schema, column_types): (&SchemaRef, &[ColumnType]),
        schema: SchemaRef,
        projection: Vec<usize>,
        filters: &[Arc<dyn PhysicalExpr>],
        limit: Option<usize>,
        batch_rows: usize,
        (metrics, partition): (&ExecutionPlanMetricsSet, usize),
    ) -> Result<Self> {
        let filters = filters
            .iter()
            .map(|filter| RowFilter::try_new(filter, table_schema, column_types))
            .collect::<Result<Vec<_>>>()?;
        let plan = Plan {
            schema: Arc::clone(&schema),
            projection,
            filters,
            vector_rows: batch_rows.clamp(1, VECTOR_ROWS),
            flavour: Flavour::active(),
            column_count: table_schema.fields().len(),
        };
        Ok(Self {
            coalescer: BatchCoalescer::new(schema, plan.vector_rows),
            plan,
            morsels: morsels.into(),
            open: None,
            rows_left: limit.unwrap_or(usize::MAX),
            is_finished: false,
            metrics: BaselineMetrics::new(metrics, partition),
            rows_read: MetricBuilder::new(metrics).counter("rows_read", partition),
        })
    }

    /// Returns the next batch, `None` at the end.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.rows_left == 0 {
                return Ok(None);
            }
            if let Some(batch) = self.coalescer.next_completed_batch() {
                return Ok(Some(self.take_limited(batch)));
            }
            if self.is_finished {
                return Ok(None);
            }
            let Some((mut open, rows)) = self.next_vector() else {
                self.coalescer.finish_buffered_batch()?;
                self.is_finished = true;
                continue;
            };
            self.rows_read.add(rows.len());
            let direct = read_vector(&self.plan, &mut open, rows, &mut self.coalescer)?;
            self.open = Some(open);
            if let Some(batch) = direct {
                return Ok(Some(self.take_limited(batch)));
            }
        }
    }

    fn take_limited(&mut self, batch: RecordBatch) -> RecordBatch {
        let rows = batch.num_rows().min(self.rows_left);
        self.rows_left -= rows;
        if rows < batch.num_rows() { batch.slice(0, rows) } else { batch }
    }

    /// Cuts the next vector off the morsel at hand.
    fn next_vector(&mut self) -> Option<(OpenMorsel, Range<usize>)> {
        let mut open = match self.open.take() {
            Some(open) if !open.morsel.rows.is_empty() => open,
            _ => OpenMorsel {
                morsel: self.morsels.pop_front()?,
                readers: (0..self.plan.column_count).map(|_| None).collect(),
            },
        };
        let rows = &mut open.morsel.rows;
        let end = rows.end.min(rows.start + self.plan.vector_rows);
        let vector = rows.start..end;
        rows.start = end;
        Some((open, vector))
    }
}

impl RowFilter {
    fn try_new(
        filter: &Arc<dyn PhysicalExpr>,
        table_schema: &SchemaRef,
        column_types: &[ColumnType],
    ) -> Result<Self> {
        if let Some((column, restriction)) = restriction(filter, column_types) {
            return Ok(Self::Encoded { column, restriction });
        }
        let mut columns: Vec<usize> =
            collect_columns(filter).iter().map(|column| column.index()).collect();
        columns.sort_unstable();
        let schema: SchemaRef = Arc::new(table_schema.project(&columns)?);
        let expr = reassign_expr_columns(Arc::clone(filter), &schema)?;
        Ok(Self::Evaluated { expr, columns, schema })
    }

    /// Returns which of `rows` pass; arrays that were decoded for it are left in `decoded`.
    fn evaluate(
        &self,
        plan: &Plan,
        open: &mut OpenMorsel,
        rows: &Range<usize>,
        decoded: &mut Vec<(usize, ArrayRef)>,
    ) -> Result<BooleanArray> {
        let (expr, columns, schema) = match self {
            Self::Encoded { column, restriction } => {
                let mask = open.reader(plan, *column)?.select(restriction, rows.clone())?;
                return Ok(BooleanArray::new(mask, None));
            }
            Self::Evaluated { expr, columns, schema } => (expr, columns, schema),
        };
        let mut arrays = Vec::with_capacity(columns.len());
        for &column in columns {
            arrays.push(match decoded.iter().find(|(index, _)| *index == column) {
                Some((_, array)) => Arc::clone(array),
                None => {
                    let array = open.reader(plan, column)?.read(rows.clone())?;
                    decoded.push((column, Arc::clone(&array)));
                    array
                }
            });
        }
        let batch = to_batch(schema, arrays, rows.len())?;
        let verdict = expr.evaluate(&batch)?.into_array(rows.len())?;
        let verdict = as_boolean_array(&verdict)?;
        Ok(match verdict.null_count() {
            0 => verdict.clone(),
            _ => prep_null_mask_filter(verdict),
        })
    }
}

impl OpenMorsel {
    fn reader(&mut self, plan: &Plan, column: usize) -> Result<&ColumnReader> {
        Ok(match &mut self.readers[column] {
            Some(reader) => reader,
            slot => slot.insert(ColumnReader::new(&self.morsel.chunk, column, plan.flavour)?),
        })
    }
}

/// Reads one vector. A vector whose rows all stay is returned, so that it is not copied; rows of
/// others go through the coalescer.
fn read_vector(
    plan: &Plan,
    open: &mut OpenMorsel,
    rows: Range<usize>,
    coalescer: &mut BatchCoalescer,
) -> Result<Option<RecordBatch>> {
    let mut decoded: Vec<(usize, ArrayRef)> = Vec::new();
    let Some(mask) = evaluate(plan, open, &rows, &mut decoded)? else { return Ok(None) };
    let mut arrays = Vec::with_capacity(plan.projection.len());
    for &column in &plan.projection {
        arrays.push(match decoded.iter().find(|(index, _)| *index == column) {
            Some((_, array)) => Arc::clone(array),
            None => open.reader(plan, column)?.read(rows.clone())?,
        });
    }
    let batch = to_batch(&plan.schema, arrays, rows.len())?;
    match mask {
        None if coalescer.is_empty() => Ok(Some(batch)),
        None => coalescer.push_batch(batch).map(|()| None).map_err(Into::into),
        Some(mask) => {
            coalescer.push_batch_with_filter(batch, &mask).map(|()| None).map_err(Into::into)
        }
    }
}

/// Evaluates the filters: `None` if no row is left, `Some(None)` if all are.
fn evaluate(
    plan: &Plan,
    open: &mut OpenMorsel,
    rows: &Range<usize>,
    decoded: &mut Vec<(usize, ArrayRef)>,
) -> Result<Option<Option<BooleanArray>>> {
    let mut mask: Option<BooleanArray> = None;
    for filter in &plan.filters {
        let verdict = filter.evaluate(plan, open, rows, decoded)?;
        let matches = match &mask {
            Some(mask) => and(mask, &verdict)?,
            None => verdict,
        };
        match matches.true_count() {
            0 => return Ok(None),
            count if count == rows.len() => mask = None,
            _ => mask = Some(matches),
        }
    }
    Ok(Some(mask))
}

fn to_batch(schema: &Arc<Schema>, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
}

impl Stream for ScanStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let timer = self.metrics.elapsed_compute().clone();
        let _timer = timer.timer();
        let next = self.next_batch().transpose();
        if matches!(next, None | Some(Err(_))) {
            self.rows_left = 0;
        }
        self.metrics.record_poll(Poll::Ready(next))
    }
}

impl RecordBatchStream for ScanStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.plan.schema)
    }
}
