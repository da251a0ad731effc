//! What measured operators make, with the time that it takes.

use std::sync::Arc;

use super::program::SlotId;
use super::sink::{PipelineSink, SinkRoom};
use super::stage::{PipelineSource, SourceRun};
use crate::counters::{NodeCounters, OperatorCounters, OperatorReport, OperatorTime};
use crate::counters::{ScanReport, SpillReport};
use crate::error::ExecResult;
use crate::vector::VectorBatch;

/// A source of a measured operator.
#[derive(Debug)]
pub(crate) struct TimedSource {
    source: Arc<dyn PipelineSource>,
    counters: Arc<NodeCounters>,
}

#[derive(Debug)]
struct TimedRun {
    run: Box<dyn SourceRun>,
    counters: Arc<NodeCounters>,
}

/// A sink of a measured operator.
#[derive(Debug)]
pub(crate) struct TimedSink {
    sink: Arc<dyn PipelineSink>,
    counters: Arc<NodeCounters>,
}

impl TimedSource {
    pub(crate) fn new(source: Arc<dyn PipelineSource>, counters: &Arc<NodeCounters>) -> Self {
        Self { source, counters: Arc::clone(counters) }
    }
}

impl PipelineSource for TimedSource {
    fn name(&self) -> &'static str {
        self.source.name()
    }

    fn morsel_count(&self) -> usize {
        let _time = OperatorTime::begin(&self.counters);
        self.source.morsel_count()
    }

    fn is_idle(&self) -> bool {
        self.source.is_idle()
    }

    fn open(&self, morsel: usize) -> ExecResult<Box<dyn SourceRun>> {
        let _time = OperatorTime::begin(&self.counters);
        let run = self.source.open(morsel)?;
        Ok(Box::new(TimedRun { run, counters: Arc::clone(&self.counters) }))
    }

    fn note_wanted(&self, columns: &[SlotId]) {
        self.source.note_wanted(columns);
    }

    fn reports(&self, counters: &OperatorCounters) -> Vec<OperatorReport> {
        self.source.reports(counters)
    }

    fn scan_report(&self) -> Option<ScanReport> {
        self.source.scan_report()
    }
}

impl SourceRun for TimedRun {
    fn next(&mut self, batch: &mut VectorBatch) -> ExecResult<bool> {
        let _time = OperatorTime::begin(&self.counters);
        self.run.next(batch)
    }
}

impl TimedSink {
    pub(crate) fn new(sink: Arc<dyn PipelineSink>, counters: &Arc<NodeCounters>) -> Self {
        Self { sink, counters: Arc::clone(counters) }
    }
}

impl PipelineSink for TimedSink {
    fn name(&self) -> &'static str {
        self.sink.name()
    }

    fn consume(&self, worker: usize, batch: &mut VectorBatch) -> ExecResult<SinkRoom> {
        let _time = OperatorTime::begin(&self.counters);
        self.sink.consume(worker, batch)
    }

    fn finish(&self) -> ExecResult<()> {
        let _time = OperatorTime::begin(&self.counters);
        self.sink.finish()
    }

    fn bytes(&self) -> usize {
        self.sink.bytes()
    }

    fn spilled(&self) -> SpillReport {
        self.sink.spilled()
    }
}
