//! Rows that are kept to be read more than once.
//!
//! Workers keep the batches that come, small ones copied together. Each reader copies them.

use std::sync::{Arc, OnceLock};

use nacre_column::VECTOR_ROWS;

use crate::error::{ExecError, ExecResult};
use crate::memory::MemoryReservation;
use crate::pipeline::{
    PipelineSink, PipelineSource, SinkRoom, SlotId, SourceRun, StageContext, WorkerSlots,
};
use crate::sort::append_row;
use crate::vector::{ResultBatch, VectorBatch};

/// Batches of fewer rows are copied to the one before: reading a batch costs as much as some
/// hundred rows.
const BATCH_ROWS_MIN: usize = 1_024;

/// Batches of a morsel: up to 65,536 rows.
const MORSEL_BATCHES: usize = 8;

/// Collects rows.
#[derive(Debug)]
pub(crate) struct CollectingSink {
    slots: Vec<SlotId>,
    locals: WorkerSlots<LocalBatches>,
    batches: OnceLock<Vec<ResultBatch>>,
}

/// Batches of one worker.
#[derive(Debug)]
struct LocalBatches {
    batches: Vec<ResultBatch>,
    /// Of all batches but the last one.
    bytes: usize,
    reservation: MemoryReservation,
}

/// What a sink has collected.
#[derive(Debug)]
pub(crate) struct CollectedSource {
    sink: Arc<CollectingSink>,
}

#[derive(Debug)]
struct CollectedRun {
    sink: Arc<CollectingSink>,
    next: usize,
    end: usize,
}

impl CollectingSink {
    /// Makes a sink that keeps `slots`.
    pub(crate) fn new(slots: Vec<SlotId>, context: &StageContext) -> Self {
        let make = || LocalBatches {
            batches: Vec::new(),
            bytes: 0,
            reservation: context.budget.reservation("common rows"),
        };
        let locals = WorkerSlots::new(context.workers, make);
        Self { slots, locals, batches: OnceLock::new() }
    }

    fn batches(&self) -> &[ResultBatch] {
        self.batches.get().map_or(&[], Vec::as_slice)
    }
}

impl LocalBatches {
    /// Keeps a batch.
    fn push(&mut self, batch: ResultBatch) {
        match self.batches.last_mut() {
            Some(last) if batch.rows < BATCH_ROWS_MIN && last.rows + batch.rows <= VECTOR_ROWS => {
                append_batch(last, &batch);
            }
            last => {
                self.bytes += last.map_or(0, |last| last.bytes());
                self.batches.push(batch);
            }
        }
    }

    fn all_bytes(&self) -> usize {
        self.bytes + self.batches.last().map_or(0, ResultBatch::bytes)
    }
}

fn append_batch(batch: &mut ResultBatch, other: &ResultBatch) {
    for (from, out) in other.columns.iter().zip(&mut batch.columns) {
        (0..other.rows).for_each(|row| append_row(from, row, out));
        out.fill_validity();
    }
    batch.rows += other.rows;
}

impl PipelineSink for CollectingSink {
    fn name(&self) -> &'static str {
        "collect"
    }

    fn consume(&self, worker: usize, batch: &mut VectorBatch) -> ExecResult<SinkRoom> {
        batch.compact(&self.slots);
        if batch.rows > 0 {
            let mut local = self.locals.of(worker);
            local.push(batch.take_columns(&self.slots));
            let bytes = local.all_bytes();
            local.reservation.resize(bytes)?;
        }
        Ok(SinkRoom::More)
    }

    fn finish(&self) -> ExecResult<()> {
        let batches =
            self.locals.all().flat_map(|mut local| std::mem::take(&mut local.batches)).collect();
        self.batches.set(batches).map_err(|_| ExecError::internal("rows were collected twice"))
    }

    fn bytes(&self) -> usize {
        self.locals.all().map(|local| local.reservation.bytes()).sum()
    }
}

impl CollectedSource {
    /// Reads what `sink` collects, once its pipeline has ended.
    pub(crate) fn new(sink: &Arc<CollectingSink>) -> Self {
        Self { sink: Arc::clone(sink) }
    }
}

impl PipelineSource for CollectedSource {
    fn name(&self) -> &'static str {
        "common rows"
    }

    fn morsel_count(&self) -> usize {
        self.sink.batches().len().div_ceil(MORSEL_BATCHES)
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let next = morsel * MORSEL_BATCHES;
        let end = self.sink.batches().len().min(next + MORSEL_BATCHES);
        Ok(Box::new(CollectedRun { sink: Arc::clone(&self.sink), next, end }))
    }
}

impl SourceRun for CollectedRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        if self.next >= self.end {
            return Ok(false);
        }
        let from = &self.sink.batches()[self.next];
        self.next += 1;
        for (column, out) in from.columns.iter().zip(&mut batch.columns) {
            out.clone_from(column);
        }
        batch.rows = from.rows;
        Ok(true)
    }
}
