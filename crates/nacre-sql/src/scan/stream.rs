//! The work of one partition of a scan: morsels in, record batches out.
//!
//! For each vector of a morsel: evaluate the filters ([`super::filter`]) until no row is left; if
//! some are, decode the columns that are asked for and keep those rows. Rows of sparse vectors are
//! gathered until a batch is full.
//!
//! A stream lets others run before each morsel: what it wakes, such as the partitions that wait for
//! the same join table, is next on this thread and can be taken by no other while it works.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::kernels::coalesce::BatchCoalescer;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::RecordBatchStream;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder,
};
use futures::Stream;
use nacre_column::{Flavour, VECTOR_ROWS};
use nacre_store::TableSnapshot;

use super::deal::{Morsel, Source};
use super::filter::{Filters, Rows};
use super::hot::HotMorsel;
use super::open_morsel::OpenMorsel;
use super::reads::Reads;
use super::tally::Tally;
use super::vectors::{Vectors, Wanted};

/// One partition of a scan.
pub(super) struct ScanStream {
    schema: SchemaRef,
    /// Columns that come out, by index in the table.
    projection: Vec<usize>,
    filters: Filters,
    snapshot: TableSnapshot,
    wanted: Wanted,
    reads: Option<Arc<Reads>>,
    tally: Tally,
    vector_rows: usize,
    morsels: VecDeque<Morsel>,
    open: Option<Vectors>,
    coalescer: BatchCoalescer,
    rows_left: usize,
    is_finished: bool,
    /// Whether others ran since the last morsel.
    has_yielded: bool,
    metrics: BaselineMetrics,
    rows_read: Count,
}

impl ScanStream {
    /// Starts the scan of `morsels` of a snapshot.
    #[expect(clippy::too_many_arguments, reason = "each is a separate property of the scan")]
    pub(super) fn new(
        (snapshot, morsels): (TableSnapshot, Vec<Morsel>),
        wanted: Wanted,
        reads: Option<Arc<Reads>>,
        schema: SchemaRef,
        projection: Vec<usize>,
        filters: Filters,
        limit: Option<usize>,
        batch_rows: usize,
        (metrics, partition): (&ExecutionPlanMetricsSet, usize),
    ) -> Self {
        let vector_rows = batch_rows.clamp(1, VECTOR_ROWS);
        Self {
            coalescer: BatchCoalescer::new(Arc::clone(&schema), vector_rows),
            schema,
            projection,
            filters,
            snapshot,
            wanted,
            reads,
            tally: Tally::new(metrics, partition),
            vector_rows,
            morsels: morsels.into(),
            open: None,
            rows_left: limit.unwrap_or(usize::MAX),
            is_finished: false,
            has_yielded: false,
            metrics: BaselineMetrics::new(metrics, partition),
            rows_read: MetricBuilder::new(metrics).counter("rows_read", partition),
        }
    }

    /// Returns the next batch, `None` at the end; `Pending` where others should run.
    fn next_batch(&mut self) -> Poll<Option<Result<RecordBatch>>> {
        while self.rows_left > 0 {
            if let Some(batch) = self.coalescer.next_completed_batch() {
                return Poll::Ready(Some(Ok(self.take_limited(batch))));
            }
            if self.is_finished {
                break;
            }
            let Some(mut open) = ready!(self.next_vector()) else {
                self.coalescer.finish_buffered_batch()?;
                self.is_finished = true;
                continue;
            };
            self.rows_read.add(open.rows());
            let direct = self.read_vector(&mut open)?;
            self.open = Some(open);
            if let Some(batch) = direct {
                return Poll::Ready(Some(Ok(self.take_limited(batch))));
            }
        }
        Poll::Ready(None)
    }

    fn take_limited(&mut self, batch: RecordBatch) -> RecordBatch {
        let rows = batch.num_rows().min(self.rows_left);
        self.rows_left -= rows;
        if rows < batch.num_rows() { batch.slice(0, rows) } else { batch }
    }

    /// Goes on to the next vector, of the morsel at hand or the next one.
    fn next_vector(&mut self) -> Poll<Option<Vectors>> {
        loop {
            let mut open = match self.open.take() {
                Some(open) => open,
                None if self.morsels.len() > 1 && !self.has_yielded => {
                    self.has_yielded = true;
                    return Poll::Pending;
                }
                None => {
                    let Some(morsel) = self.morsels.pop_front() else {
                        return Poll::Ready(None);
                    };
                    self.has_yielded = false;
                    self.open_morsel(morsel)
                }
            };
            if open.advance(self.vector_rows) {
                return Poll::Ready(Some(open));
            }
        }
    }

    fn open_morsel(&self, Morsel { source, rows }: Morsel) -> Vectors {
        let Wanted { columns, column_count } = self.wanted.clone();
        match source {
            Source::Frozen(chunk) => {
                let (snapshot, reads) = (self.snapshot.clone(), self.reads.clone());
                let (tally, flavour) = (self.tally.clone(), Flavour::active());
                let place = (chunk, rows);
                let morsel = OpenMorsel::new(snapshot, place, reads, tally, column_count, flavour);
                Vectors::Frozen(morsel)
            }
            Source::Hot(chunk) => Vectors::Hot(HotMorsel::new(chunk, rows, columns, column_count)),
        }
    }

    /// Reads one vector. If all its rows stay it is returned, so that it is not copied; rows of
    /// others go through the coalescer.
    fn read_vector(&mut self, open: &mut Vectors) -> Result<Option<RecordBatch>> {
        let rows = self.filters.evaluate(open)?;
        if matches!(rows, Rows::None) {
            return Ok(None);
        }
        let arrays: Vec<ArrayRef> =
            self.projection.iter().map(|&column| open.column(column)).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(open.rows()));
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options)?;
        match rows {
            Rows::Some(mask) => self.coalescer.push_batch_with_filter(batch, &mask)?,
            _ if self.coalescer.is_empty() => return Ok(Some(batch)),
            _ => self.coalescer.push_batch(batch)?,
        }
        Ok(None)
    }
}

impl Stream for ScanStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let timer = self.metrics.elapsed_compute().clone();
        let _timer = timer.timer();
        let next = self.next_batch();
        match next {
            Poll::Pending => context.waker().wake_by_ref(),
            Poll::Ready(None | Some(Err(_))) => self.rows_left = 0,
            Poll::Ready(Some(Ok(_))) => {}
        }
        self.metrics.record_poll(next)
    }
}

impl RecordBatchStream for ScanStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
