//! Rows that are kept to be read more than once.
//!
//! Workers keep the batches that come, small ones copied together. Each reader copies them. If
//! memory is used up, a worker writes its batches to a file; readers decode them one by one.

use std::sync::{Arc, OnceLock};

use nacre_column::VECTOR_ROWS;

use crate::counters::SpillReport;
use crate::error::{ExecError, ExecResult};
use crate::memory::MemoryReservation;
use crate::pipeline::{
    PipelineSink, PipelineSource, SinkRoom, SlotId, SlotInfo, SourceRun, StageContext, WorkerSlots,
};
use crate::sort::append_row;
use crate::spill::{
    BlockReader, OperatorSpill, SpillExtent, SpillWriter, empty_columns, put_columns, put_u32,
};
use crate::vector::{ColumnVector, ResultBatch, VectorBatch};

/// Batches of fewer rows are copied to the one before: reading a batch costs as much as some
/// hundred rows.
const BATCH_ROWS_MIN: usize = 1_024;

/// Batches of a morsel: up to 65,536 rows.
const MORSEL_BATCHES: usize = 8;

/// Collects rows.
#[derive(Debug)]
pub(crate) struct CollectingSink {
    slots: Vec<SlotId>,
    /// Empty columns of the rows.
    models: Vec<ColumnVector>,
    locals: WorkerSlots<LocalBatches>,
    batches: OnceLock<Vec<CollectedBatch>>,
    /// If it may spill.
    spill: Option<Arc<OperatorSpill>>,
}

/// A batch, or where it lies in a file.
#[derive(Debug)]
enum CollectedBatch {
    Kept(ResultBatch),
    Spilled(SpillExtent),
}

/// Batches of one worker.
#[derive(Debug)]
struct LocalBatches {
    batches: Vec<ResultBatch>,
    /// Of all batches but the last one.
    bytes: usize,
    reservation: MemoryReservation,
    spilled: Vec<SpillExtent>,
    writer: Option<SpillWriter>,
}

/// What a sink has collected.
#[derive(Debug)]
pub(crate) struct CollectedSource {
    sink: Arc<CollectingSink>,
}

/// Some of what a sink has collected, as it is read.
#[derive(Debug)]
pub(crate) struct CollectedRun {
    sink: Arc<CollectingSink>,
    next: usize,
    end: usize,
}

impl CollectingSink {
    /// Makes a sink that keeps `slots`, of which `infos` are known.
    pub(crate) fn new(slots: Vec<SlotId>, infos: &[SlotInfo], context: &StageContext) -> Self {
        let make = || LocalBatches {
            batches: Vec::new(),
            bytes: 0,
            reservation: context.budget.reservation("common rows"),
            spilled: Vec::new(),
            writer: None,
        };
        let locals = WorkerSlots::new(context.workers, make);
        let (models, spill) = (empty_columns(infos.iter()), OperatorSpill::new(context));
        Self { slots, models, locals, batches: OnceLock::new(), spill }
    }

    fn batches(&self) -> &[CollectedBatch] {
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

    /// Writes all batches, and gives their memory back.
    fn spill(&mut self, spill: &OperatorSpill) -> ExecResult<()> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(spill.create()?),
        };
        let mut encoded = Vec::new();
        for batch in std::mem::take(&mut self.batches) {
            spill.check()?;
            encoded.clear();
            put_u32(batch.rows, &mut encoded);
            put_columns(&batch.columns, &mut encoded);
            let start = writer.position();
            writer.put(&encoded)?;
            self.spilled.push(writer.extent_from(start));
        }
        writer.flush()?;
        self.bytes = 0;
        self.reservation.resize(0)
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
            match &self.spill {
                None => local.reservation.resize(bytes)?,
                Some(spill) if spill.hold(&mut local.reservation, bytes) => {}
                Some(spill) => local.spill(spill)?,
            }
        }
        Ok(SinkRoom::More)
    }

    fn finish(&self) -> ExecResult<()> {
        let mut batches = Vec::new();
        for mut local in self.locals.all() {
            batches.extend(local.batches.drain(..).map(CollectedBatch::Kept));
            batches.extend(local.spilled.drain(..).map(CollectedBatch::Spilled));
            // The file lives as long as its extents.
            local.writer = None;
        }
        self.batches.set(batches).map_err(|_| ExecError::internal("rows were collected twice"))
    }

    fn bytes(&self) -> usize {
        self.locals.all().map(|local| local.reservation.bytes()).sum()
    }

    fn spilled(&self) -> SpillReport {
        self.spill.as_ref().map_or_else(SpillReport::default, |spill| spill.report())
    }
}

impl CollectedSource {
    /// Reads what `sink` collects, once its pipeline has ended.
    pub(crate) fn new(sink: &Arc<CollectingSink>) -> Self {
        Self { sink: Arc::clone(sink) }
    }
}

impl CollectedRun {
    /// Reads all that `sink` has collected, whose pipeline has ended.
    pub(crate) fn of_all(sink: &Arc<CollectingSink>) -> Self {
        Self { sink: Arc::clone(sink), next: 0, end: sink.batches().len() }
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
        match from {
            CollectedBatch::Kept(from) => {
                for (column, out) in from.columns.iter().zip(&mut batch.columns) {
                    out.clone_from(column);
                }
                batch.rows = from.rows;
            }
            CollectedBatch::Spilled(extent) => {
                let mut encoded = Vec::new();
                extent.read(&mut encoded)?;
                let mut reader = BlockReader::new(&encoded);
                batch.rows = reader.u32()?;
                let columns = reader.columns(&self.sink.models)?;
                for (column, out) in columns.into_iter().zip(&mut batch.columns) {
                    *out = column;
                }
            }
        }
        Ok(true)
    }
}
