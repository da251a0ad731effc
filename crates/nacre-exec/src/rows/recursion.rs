//! Rows of a recursion, as they are asked for.
//!
//! 1. The first side makes rows; they are handed on, and are the working table.
//! 2. When all are handed on, the recursive side makes rows of the working table; they become it.
//! 3. Without rows it ends.
//!
//! A call does a few vectors' work of a side at most, so that others get the thread in between. If
//! the recursive side fails and makes rows of one row after the other, it runs again for each row,
//! so that those before the error are handed on, as in PostgreSQL.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{ExecError, ExecResult};
use crate::memory::MemoryReservation;
use crate::pipeline::{PipelineSink, PipelineSource, SinkRoom, SlotId, SourceRun, StageContext};
use crate::plan::RecursionColumn;
use crate::stages::{RecursionPlan, RecursionSide};
use crate::value::{ScalarValue, exact_key};
use crate::vector::{ColumnVector, ResultBatch, VectorBatch};

/// What an entry of a set takes beside its bytes.
const ENTRY_BYTES: usize = 48;

/// Vectors of a side that one call takes: most steps of a recursion have fewer.
const VECTORS_AT_ONCE: usize = 16;

/// Makes the rows of a recursion.
#[derive(Debug)]
pub(crate) struct RecursionSource {
    plan: Arc<RecursionPlan>,
}

#[derive(Debug)]
struct RecursionRun {
    plan: Arc<RecursionPlan>,
    /// The working table; `None` before the first side has run.
    rows: Option<Arc<[ResultBatch]>>,
    /// The next batch of it.
    next: usize,
    /// What makes the next working table.
    side: Option<RecursionSide>,
    /// What is raised when all are handed on.
    error: Option<ExecError>,
    seen: HashSet<Vec<u8>>,
    seen_memory: MemoryReservation,
    rows_memory: MemoryReservation,
}

impl RecursionSource {
    pub(crate) fn new(plan: &Arc<RecursionPlan>) -> Self {
        Self { plan: Arc::clone(plan) }
    }
}

impl PipelineSource for RecursionSource {
    fn name(&self) -> &'static str {
        "recursion"
    }

    fn morsel_count(&self) -> usize {
        1
    }

    fn open(&self, _morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let budget = &self.plan.context.budget;
        Ok(Box::new(RecursionRun {
            plan: Arc::clone(&self.plan),
            rows: None,
            next: 0,
            side: None,
            error: None,
            seen: HashSet::new(),
            seen_memory: budget.reservation("distinct rows of a recursion"),
            rows_memory: budget.reservation("rows of a recursion"),
        }))
    }
}

impl SourceRun for RecursionRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        for _ in 0..VECTORS_AT_ONCE {
            if let Some(from) = self.rows.as_ref().and_then(|rows| rows.get(self.next)) {
                self.next += 1;
                copy_batch(from, batch);
                return Ok(true);
            }
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            let side = match (&mut self.side, &self.rows) {
                (Some(side), _) => side,
                (none, None) => none.insert(self.plan.begin_first()?),
                (_, Some(rows)) if rows.is_empty() => return Ok(false),
                (none, Some(rows)) => none.insert(self.plan.begin_step(rows)?),
            };
            let made = match side.advance() {
                Ok(None) => continue,
                Ok(Some(made)) => made,
                Err(error) => self.rows_before(error)?,
            };
            self.side = None;
            let made = self.without_known(made)?;
            self.rows_memory.resize(made.iter().map(ResultBatch::bytes).sum())?;
            (self.rows, self.next) = (Some(made.into()), 0);
        }
        // Others may want the thread.
        Ok(true)
    }
}

impl RecursionRun {
    /// Makes the rows that come before the row that a side has failed at.
    ///
    /// # Errors
    /// That of the side, if its rows are not made of one row after the other.
    fn rows_before(&mut self, error: ExecError) -> ExecResult<Vec<ResultBatch>> {
        let rows = match self.rows.clone() {
            Some(rows) if self.plan.node.is_row_by_row && error.of_values().is_some() => rows,
            _ => return Err(error),
        };
        let mut made = Vec::new();
        let mut memory = self.plan.context.budget.reservation("rows of a recursion");
        for batch in rows.iter() {
            for row in 0..batch.rows {
                self.plan.context.control.check()?;
                let columns = batch.columns.iter().map(|column| column.gathered(&[row as u16]));
                let one = ResultBatch { columns: columns.collect(), rows: 1 };
                let side = self.plan.begin_step(&Arc::from([one]))?;
                match side.run() {
                    Ok(more) => {
                        memory.grow(more.iter().map(ResultBatch::bytes).sum())?;
                        made.extend(more);
                    }
                    Err(error) => {
                        self.error = Some(error);
                        return Ok(made);
                    }
                }
            }
        }
        Ok(made)
    }

    /// Leaves out rows that came before, if that is wanted, and empty batches.
    fn without_known(&mut self, mut made: Vec<ResultBatch>) -> ExecResult<Vec<ResultBatch>> {
        if self.plan.node.is_distinct {
            for batch in &mut made {
                self.plan.context.control.check()?;
                self.keep_new(batch)?;
            }
        }
        made.retain(|batch| batch.rows > 0);
        Ok(made)
    }

    fn keep_new(&mut self, batch: &mut ResultBatch) -> ExecResult<()> {
        let mut positions: Vec<u16> = Vec::new();
        let mut bytes = 0;
        for row in 0..batch.rows {
            let mut key = Vec::new();
            for (column, kind) in batch.columns.iter().zip(&self.plan.node.columns) {
                put_key(column, row, kind, &mut key)?;
            }
            let size = key.len() + ENTRY_BYTES;
            if self.seen.insert(key) {
                bytes += size;
                positions.push(row as u16);
            }
        }
        self.seen_memory.grow(bytes)?;
        if positions.len() < batch.rows {
            batch.columns.iter_mut().for_each(|column| *column = column.gathered(&positions));
            batch.rows = positions.len();
        }
        Ok(())
    }
}

/// Appends what is equal for equal values alone.
fn put_key(
    column: &ColumnVector,
    row: usize,
    kind: &RecursionColumn,
    key: &mut Vec<u8>,
) -> ExecResult<()> {
    let mut put = |part: &[u8]| {
        key.push(1);
        key.extend_from_slice(part);
    };
    match column.scalar(row) {
        ScalarValue::Null(_) => key.push(0),
        ScalarValue::Bool(value) => put(&[value.into()]),
        ScalarValue::Int(value) => put(&value.to_le_bytes()),
        ScalarValue::Float32(value) => put(&float_key(value.into())),
        ScalarValue::Float64(value) => put(&float_key(value)),
        ScalarValue::Bytes(bytes) => {
            let own = if kind.is_exact {
                exact_key(&bytes).map_err(ExecError::of_value)?
            } else {
                &bytes
            };
            put(&(own.len() as u64).to_le_bytes());
            key.extend_from_slice(own);
        }
    }
    Ok(())
}

/// Zeros are equal, and all that are not numbers.
fn float_key(value: f64) -> [u8; 8] {
    let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
    value.to_bits().to_le_bytes()
}

fn copy_batch(from: &ResultBatch, batch: &mut VectorBatch) {
    for (column, out) in from.columns.iter().zip(&mut batch.columns) {
        out.clone_from(column);
    }
    batch.rows = from.rows;
}

/// Collects the rows of one run of a side.
#[derive(Debug)]
pub(crate) struct BatchSink {
    slots: Vec<SlotId>,
    taken: Mutex<TakenBatches>,
}

#[derive(Debug)]
struct TakenBatches {
    batches: Vec<ResultBatch>,
    memory: MemoryReservation,
}

impl BatchSink {
    /// Makes a sink that keeps `slots`.
    pub(crate) fn new(slots: Vec<SlotId>, context: &StageContext) -> Self {
        let memory = context.budget.reservation("rows of a recursion");
        Self { slots, taken: Mutex::new(TakenBatches { batches: Vec::new(), memory }) }
    }

    fn lock(&self) -> MutexGuard<'_, TakenBatches> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what it has collected.
    pub(crate) fn take(&self) -> Vec<ResultBatch> {
        std::mem::take(&mut self.lock().batches)
    }
}

impl PipelineSink for BatchSink {
    fn name(&self) -> &'static str {
        "working table"
    }

    fn consume(&self, _worker: usize, batch: &mut VectorBatch) -> ExecResult<SinkRoom> {
        batch.compact(&self.slots);
        if batch.rows > 0 {
            let rows = batch.take_columns(&self.slots);
            let mut taken = self.lock();
            taken.memory.grow(rows.bytes())?;
            taken.batches.push(rows);
        }
        Ok(SinkRoom::More)
    }

    fn finish(&self) -> ExecResult<()> {
        Ok(())
    }
}

/// Hands on rows that a run of a side has made.
#[derive(Debug)]
pub(crate) struct BatchSource {
    batches: Arc<[ResultBatch]>,
}

#[derive(Debug)]
struct BatchRun {
    batches: Arc<[ResultBatch]>,
    next: usize,
}

impl BatchSource {
    pub(crate) fn new(batches: &Arc<[ResultBatch]>) -> Self {
        Self { batches: Arc::clone(batches) }
    }
}

impl PipelineSource for BatchSource {
    fn name(&self) -> &'static str {
        "working table"
    }

    fn morsel_count(&self) -> usize {
        usize::from(!self.batches.is_empty())
    }

    fn open(&self, _morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        Ok(Box::new(BatchRun { batches: Arc::clone(&self.batches), next: 0 }))
    }
}

impl SourceRun for BatchRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        (batch.rows, batch.selection) = (0, None);
        let Some(from) = self.batches.get(self.next) else { return Ok(false) };
        self.next += 1;
        copy_batch(from, batch);
        Ok(true)
    }
}
