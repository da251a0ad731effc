//! Where the batches of a pipeline end.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::counters::SpillReport;
use crate::error::ExecResult;
use crate::vector::VectorBatch;

/// Whether a sink takes more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SinkRoom {
    More,
    /// Not now: the pipeline is parked until there is room.
    Full,
    /// No more of this pipeline is wanted.
    Satisfied,
}

/// The end of a pipeline.
///
/// # Concurrency
/// Workers consume at once, each with its own number; one of them finishes, after all others.
pub(crate) trait PipelineSink: Send + Sync + fmt::Debug {
    /// Returns the name for reports.
    fn name(&self) -> &'static str;

    /// Takes the rows of a batch that are left. It may take the batch's vectors.
    ///
    /// # Errors
    /// Those of what it computes, and of memory.
    fn consume(&self, worker: usize, batch: &mut VectorBatch) -> ExecResult<SinkRoom>;

    /// Ends the pipeline.
    ///
    /// # Errors
    /// As for [`PipelineSink::consume`].
    fn finish(&self) -> ExecResult<()>;

    /// Returns the bytes that it holds.
    fn bytes(&self) -> usize {
        0
    }

    /// Returns what it, and the source of its rows, wrote to temporary files.
    fn spilled(&self) -> SpillReport {
        SpillReport::default()
    }
}

/// A sink that a later stage ends: more than one stage fills it.
#[derive(Debug)]
pub(crate) struct SharedSink {
    sink: Arc<dyn PipelineSink>,
}

impl SharedSink {
    pub(crate) fn new(sink: &Arc<dyn PipelineSink>) -> Self {
        Self { sink: Arc::clone(sink) }
    }
}

impl PipelineSink for SharedSink {
    fn name(&self) -> &'static str {
        self.sink.name()
    }

    fn consume(&self, worker: usize, batch: &mut VectorBatch) -> ExecResult<SinkRoom> {
        self.sink.consume(worker, batch)
    }

    fn finish(&self) -> ExecResult<()> {
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.sink.bytes()
    }

    fn spilled(&self) -> SpillReport {
        self.sink.spilled()
    }
}

/// State of each worker in a sink.
#[derive(Debug)]
pub(crate) struct WorkerSlots<T>(Vec<Mutex<T>>);

impl<T> WorkerSlots<T> {
    pub(crate) fn new(workers: usize, make: impl Fn() -> T) -> Self {
        Self((0..workers).map(|_| Mutex::new(make())).collect())
    }

    /// Returns the state of a worker, which others seldom want while the pipeline runs.
    pub(crate) fn of(&self, worker: usize) -> MutexGuard<'_, T> {
        self.0[worker].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the states of all workers, one after the other.
    pub(crate) fn all(&self) -> impl Iterator<Item = MutexGuard<'_, T>> {
        self.0.iter().map(|slot| slot.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
