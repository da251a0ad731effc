//! What is left of a query whose rows, or value, others ask for: a sink of one value, and a source
//! that raises the error of what was to make its rows.

use std::sync::{Arc, Mutex, PoisonError};

use crate::counters::{OperatorCounters, OperatorReport, ScanReport};
use crate::error::{ExecError, ExecResult};
use crate::pipeline::{PipelineSink, PipelineSource, SinkRoom, SlotId, SourceRun};
use crate::value::{HeldError, OnceValue, ScalarValue, ValueClass};
use crate::vector::VectorBatch;

/// Takes the value of the only row.
#[derive(Debug)]
pub(crate) struct OnceSink {
    slot: SlotId,
    taken: Mutex<Option<ScalarValue>>,
    value: Arc<OnceValue>,
}

/// A source whose rows were to be made before.
#[derive(Debug)]
pub(crate) struct HeldSource {
    rows: Arc<dyn PipelineSource>,
    error: Arc<HeldError>,
}

impl OnceSink {
    /// Makes a sink that takes the value of a slot.
    pub(crate) fn new(slot: SlotId, value: &Arc<OnceValue>) -> Self {
        Self { slot, taken: Mutex::default(), value: Arc::clone(value) }
    }
}

impl PipelineSink for OnceSink {
    fn name(&self) -> &'static str {
        "value"
    }

    fn consume(&self, _worker: usize, batch: &mut VectorBatch) -> ExecResult<SinkRoom> {
        batch.compact(&[self.slot]);
        if batch.rows == 0 {
            return Ok(SinkRoom::More);
        }
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if batch.rows > 1 || taken.is_some() {
            return Err(ExecError::MoreThanOneRow);
        }
        *taken = Some(batch.columns[self.slot].scalar(0));
        Ok(SinkRoom::More)
    }

    fn finish(&self) -> ExecResult<()> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        self.value.set(taken.take().unwrap_or(ScalarValue::Null(ValueClass::Bool)));
        Ok(())
    }
}

impl HeldSource {
    /// Wraps the source of rows whose error is `error`, if there is one.
    pub(crate) fn new(rows: Arc<dyn PipelineSource>, error: &Arc<HeldError>) -> Self {
        Self { rows, error: Arc::clone(error) }
    }
}

impl PipelineSource for HeldSource {
    fn name(&self) -> &'static str {
        self.rows.name()
    }

    fn morsel_count(&self) -> usize {
        // One that raises the error.
        if self.error.is_held() { 1 } else { self.rows.morsel_count() }
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        self.error.raise()?;
        self.rows.open(morsel)
    }

    fn note_wanted(&self, columns: &[SlotId]) {
        self.rows.note_wanted(columns);
    }

    fn scan_report(&self) -> Option<ScanReport> {
        self.rows.scan_report()
    }

    fn reports(&self, counters: &OperatorCounters) -> Vec<OperatorReport> {
        self.rows.reports(counters)
    }
}
