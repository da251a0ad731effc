//! The rows of a query as they come from the workers.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result as PlannerResult;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream};
use futures::Stream;
use futures::task::AtomicWaker;
use nacre_exec::dispatch::{QueryOptions, QueryReport, ResultStream, WorkerPool};
use nacre_exec::lower::{PhysicalQuery, QueryOutput};

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
    schema: SchemaRef,
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
        schema: SchemaRef,
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
        let outputs = query.outputs;
        Ok(Self { rows, waker, outputs, schema, handed_on: 0, _workers: workers })
    }

    pub(super) fn boxed(self) -> SendableRecordBatchStream {
        Box::pin(self)
    }

    /// Returns what was counted so far.
    pub(super) fn report(&self) -> QueryReport {
        self.rows.report()
    }
}

impl Stream for QueryRows {
    type Item = PlannerResult<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.handed_on == BATCHES_AT_ONCE {
            this.handed_on = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        // Before the look, so that what comes after it wakes.
        this.waker.register(context.waker());
        let taken = match this.rows.try_next_batch() {
            Ok(None) => return Poll::Pending,
            Ok(Some(None)) => return Poll::Ready(None),
            Ok(Some(Some(batch))) => {
                this.handed_on += 1;
                record_batch(&this.schema, &this.outputs, &batch)
            }
            Err(error) => Err(from_exec(error)),
        };
        Poll::Ready(Some(taken.map_err(external)))
    }
}

impl RecordBatchStream for QueryRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
