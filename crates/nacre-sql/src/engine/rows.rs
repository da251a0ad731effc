//! The rows of a query as they come from the workers.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result as PlannerResult;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use futures::Stream;
use futures::task::AtomicWaker;
use nacre_exec::dispatch::{QueryOptions, QueryReport, ResultStream, WorkerPool};
use nacre_exec::lower::{PhysicalQuery, QueryOutput};
use nacre_exec::vector::ResultBatch;
use nacre_types::{SystemCatalog, ValueSettings};

use super::columns::record_batch;
use super::errors::from_exec;
use super::pool::EnginePool;
use crate::error::Result;
use crate::from_datafusion::external;
use crate::settings::ScanSettings;

/// Batches that are handed on before others on the thread get their turn.
const BATCHES_AT_ONCE: u32 = 8;

/// Bytes of rows that may wait for a client.
const RESULT_BYTES_MAX: usize = 16 << 20;

/// The rows of a query. Dropping it ends the query.
pub(super) struct QueryRows {
    /// Dropped before the workers are let go.
    rows: ResultStream,
    waker: Arc<AtomicWaker>,
    outputs: Vec<QueryOutput>,
    /// Batches since others got their turn.
    handed_on: u32,
    _workers: Arc<WorkerPool>,
}

impl QueryRows {
    /// Begins a query.
    ///
    /// # Errors
    /// Those of preparing its plan.
    pub(super) fn start(
        pool: &EnginePool,
        query: PhysicalQuery,
        scans: ScanSettings,
    ) -> Result<Self> {
        let waker = Arc::<AtomicWaker>::default();
        let ready = Arc::clone(&waker);
        let workers = pool.workers()?;
        let options = QueryOptions {
            memory_bytes_max: pool.memory_bytes(),
            result_bytes_max: RESULT_BYTES_MAX,
            deadline: None,
            filters_keys: scans.filters_join_keys,
            vector_rows: scans.vector_rows,
            on_ready: Some(Box::new(move || ready.wake())),
        };
        let rows = workers.execute(query.plan, options).map_err(from_exec)?;
        pool.count_nacre();
        Ok(Self { rows, waker, outputs: query.outputs, handed_on: 0, _workers: workers })
    }

    /// Converts the rows to Arrow arrays; `catalog` resolves names of objects.
    pub(super) fn with_schema(
        self,
        schema: SchemaRef,
        catalog: Option<Arc<dyn SystemCatalog>>,
    ) -> ArrowRows {
        ArrowRows { rows: self, schema, settings: answer_settings(catalog) }
    }

    /// Returns what the columns of the batches stand for.
    pub(super) fn outputs(&self) -> &[QueryOutput] {
        &self.outputs
    }

    /// Returns the next rows; `None` at the end.
    ///
    /// # Errors
    /// That of the query; there are no more rows then.
    pub(super) async fn next(&mut self) -> Result<Option<ResultBatch>> {
        poll_fn(|context| self.poll_batch(context)).await
    }

    /// Returns what was counted so far.
    pub(super) fn report(&self) -> QueryReport {
        self.rows.report()
    }

    fn poll_batch(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<ResultBatch>>> {
        if self.handed_on == BATCHES_AT_ONCE {
            self.handed_on = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        // Before the look, so that what comes after it wakes.
        self.waker.register(context.waker());
        match self.rows.try_next_batch() {
            Ok(None) => Poll::Pending,
            Ok(Some(taken)) => {
                self.handed_on += 1;
                Poll::Ready(Ok(taken))
            }
            Err(error) => Poll::Ready(Err(from_exec(error))),
        }
    }
}

/// Returns the settings of texts that clients are sent; `catalog` knows names of objects.
pub(super) fn answer_settings(catalog: Option<Arc<dyn SystemCatalog>>) -> ValueSettings {
    ValueSettings { catalog, ..ValueSettings::default() }
}

/// The rows of a query as Arrow arrays.
pub(super) struct ArrowRows {
    rows: QueryRows,
    schema: SchemaRef,
    settings: ValueSettings,
}

impl ArrowRows {
    pub(super) fn boxed(self) -> SendableRecordBatchStream {
        Box::pin(self)
    }
}

impl Stream for ArrowRows {
    type Item = PlannerResult<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let taken = match ready!(this.rows.poll_batch(context)) {
            Ok(None) => return Poll::Ready(None),
            Ok(Some(batch)) => {
                record_batch(&this.schema, this.rows.outputs(), &batch, &this.settings)
            }
            Err(error) => Err(error),
        };
        Poll::Ready(Some(taken.map_err(external)))
    }
}

impl RecordBatchStream for ArrowRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
