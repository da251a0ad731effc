//! Measured operators: what counts their rows, and what they collect.

use std::sync::Arc;

use super::common::StageList;
use super::{OpenPipeline, open_node};
use crate::counters::{NodeCounters, ScanCounters};
use crate::error::ExecResult;
use crate::pipeline::{PipelineSink, StageContext};
use crate::plan::MeasuredNode;

/// The measured operator that is being opened, and the sinks of all of them.
#[derive(Debug, Default)]
pub(super) struct MeasuredStages {
    /// `None` within an operator that is not measured.
    current: Option<Arc<NodeCounters>>,
    pub(super) sinks: MeasuredSinks,
}

/// What measured operators collect their rows in.
#[derive(Debug, Default)]
pub(super) struct MeasuredSinks(Vec<(Arc<NodeCounters>, Arc<dyn PipelineSink>)>);

impl MeasuredStages {
    /// Returns where the operator counts.
    pub(super) fn counters(&self) -> Option<Arc<NodeCounters>> {
        self.current.clone()
    }

    /// Returns where the operator counts, if it is a scan.
    pub(super) fn scan_counters(&self) -> Arc<ScanCounters> {
        self.current.as_ref().map(|current| Arc::clone(current.scan())).unwrap_or_default()
    }

    /// Notes a sink of the operator.
    pub(super) fn note_sink(&mut self, sink: &Arc<dyn PipelineSink>) {
        if let Some(current) = &self.current {
            self.sinks.0.push((Arc::clone(current), Arc::clone(sink)));
        }
    }
}

impl MeasuredSinks {
    /// Has operators know what they hold and wrote so far.
    pub(super) fn note_held(&self) {
        for (counters, sink) in &self.0 {
            counters.note_held(sink.bytes(), sink.spilled());
        }
    }
}

/// Opens an operator and counts its rows: those of a LIMIT where it lets them through, all others
/// in the pipeline that they come out in.
pub(super) fn open_measured(
    node: &MeasuredNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let counters = &node.counters;
    let outer = stages.measured.current.replace(Arc::clone(counters));
    let opened = open_node(&node.input, context, stages);
    stages.measured.current = outer;
    let mut pipeline = opened?;
    if pipeline.gate.is_none() {
        pipeline.builder.count_rows(counters);
    }
    Ok(pipeline)
}
