//! What a caller gets of a query.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::query::QueryTask;
use crate::control::QueryControl;
use crate::counters::{OperatorReport, ScanReport};
use crate::error::{ExecError, ExecResult};
use crate::result::{ChannelItem, ResultChannel};
use crate::vector::{ResultBatch, VectorRows};

/// How a query is run.
pub struct QueryOptions {
    /// Memory that its operators may hold.
    pub memory_bytes_max: u64,
    /// Rows that may wait for the caller. As long as they are fewer and the query has not ended,
    /// nothing is handed out, so that the query can be run again if files changed under it.
    pub result_bytes_max: usize,
    pub deadline: Option<Instant>,
    /// Whether scans leave out rows whose keys no join above wants, or that come too late for a
    /// top-k. Without it, operators below these have all the rows that the query says.
    pub filters_keys: bool,
    /// Rows that scans read at once.
    pub vector_rows: VectorRows,
    /// Called by a worker when there may be something to take.
    pub on_ready: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Default for QueryOptions {
    /// 1 GiB for operators, 16 MiB for rows on their way, vectors of 8,192 rows.
    fn default() -> Self {
        Self {
            memory_bytes_max: 1 << 30,
            result_bytes_max: 16 << 20,
            deadline: None,
            filters_keys: true,
            vector_rows: VectorRows::default(),
            on_ready: None,
        }
    }
}

impl std::fmt::Debug for QueryOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryOptions")
            .field("memory_bytes_max", &self.memory_bytes_max)
            .field("result_bytes_max", &self.result_bytes_max)
            .field("deadline", &self.deadline)
            .field("filters_keys", &self.filters_keys)
            .field("vector_rows", &self.vector_rows)
            .finish_non_exhaustive()
    }
}

/// What the operators of a query counted, for EXPLAIN ANALYZE.
#[derive(Clone, Debug, Default)]
pub struct QueryReport {
    /// By pipeline, in the order in which they ran: source, steps, sink.
    pub pipelines: Vec<Vec<OperatorReport>>,
    pub scans: Vec<ScanReport>,
}

/// The rows of a query, as they come. Dropping it ends the query.
#[derive(Debug)]
pub struct ResultStream {
    pub(super) channel: Arc<ResultChannel>,
    pub(super) control: Arc<QueryControl>,
    pub(super) query: Arc<QueryTask>,
    pub(super) has_ended: bool,
}

impl ResultStream {
    /// Waits for the next rows; `None` at the end.
    ///
    /// # Errors
    /// That of the query; there are no more rows then.
    pub fn next_batch(&mut self) -> ExecResult<Option<ResultBatch>> {
        if self.has_ended {
            return Ok(None);
        }
        let taken = self.channel.take(None);
        self.outcome(taken).map(Option::flatten)
    }

    /// Takes the next rows if there are some: the inner `None` is the end, the outer one means that
    /// there is nothing yet.
    ///
    /// # Errors
    /// As [`ResultStream::next_batch`].
    pub fn try_next_batch(&mut self) -> ExecResult<Option<Option<ResultBatch>>> {
        if self.has_ended {
            return Ok(Some(None));
        }
        let taken = self.channel.take(Some(Duration::ZERO));
        self.outcome(taken)
    }

    fn outcome(&mut self, taken: ChannelItem) -> ExecResult<Option<Option<ResultBatch>>> {
        match taken {
            ChannelItem::Batch(batch) => Ok(Some(Some(batch))),
            ChannelItem::Pending => Ok(None),
            ChannelItem::End => {
                self.has_ended = true;
                Ok(Some(None))
            }
            ChannelItem::Failed(error) => {
                self.has_ended = true;
                Err(error)
            }
        }
    }

    /// Returns what tells the query to end, from any thread.
    pub fn control(&self) -> Arc<QueryControl> {
        Arc::clone(&self.control)
    }

    /// Takes all rows.
    ///
    /// # Errors
    /// As [`ResultStream::next_batch`].
    pub fn collect_batches(&mut self) -> Result<Vec<ResultBatch>, ExecError> {
        let mut batches = Vec::new();
        while let Some(batch) = self.next_batch()? {
            batches.push(batch);
        }
        Ok(batches)
    }

    /// Returns what was counted so far.
    pub fn report(&self) -> QueryReport {
        self.query.report()
    }
}

impl Drop for ResultStream {
    fn drop(&mut self) {
        if !self.has_ended {
            self.control.cancel();
        }
        self.channel.close();
    }
}
