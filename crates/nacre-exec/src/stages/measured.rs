//! Measured operators: what counts their rows, what they collect, and whose time passes.
//!
//! The time of an operator is that of the sources and sinks that it makes, and of its steps.

use std::sync::Arc;

use super::common::StageList;
use super::{OpenPipeline, open_node};
use crate::counters::NodeCounters;
use crate::error::ExecResult;
use crate::pipeline::{PipelineSink, PipelineSource, StageContext, TimedSink, TimedSource};
use crate::plan::MeasuredNode;

/// What measured operators collect their rows in.
#[derive(Debug, Default)]
pub(super) struct MeasuredSinks(Vec<(Arc<NodeCounters>, Arc<dyn PipelineSink>)>);

impl MeasuredSinks {
    /// Notes a sink of the operator that is being opened, and times it, if that is measured.
    pub(super) fn measure(
        &mut self,
        sink: Arc<dyn PipelineSink>,
        context: &StageContext,
    ) -> Arc<dyn PipelineSink> {
        let Some(counters) = &context.measured else { return sink };
        self.0.push((Arc::clone(counters), Arc::clone(&sink)));
        Arc::new(TimedSink::new(sink, counters))
    }

    /// Has operators know what they hold and wrote so far.
    pub(super) fn note_held(&self) {
        for (counters, sink) in &self.0 {
            counters.note_held(sink.bytes(), sink.spilled());
        }
    }
}

/// Times a source of the operator that is being opened, if that is measured.
pub(super) fn timed(
    source: Arc<dyn PipelineSource>,
    context: &StageContext,
) -> Arc<dyn PipelineSource> {
    match &context.measured {
        Some(counters) => Arc::new(TimedSource::new(source, counters)),
        None => source,
    }
}

/// Opens an operator and counts its rows: those of a LIMIT where it lets them through, all others
/// in the pipeline that they come out in.
#[inline(never)]
pub(super) fn open_measured(
    node: &MeasuredNode,
    context: &StageContext,
    stages: &mut StageList,
) -> ExecResult<OpenPipeline> {
    let counters = &node.counters;
    let context = StageContext { measured: Some(Arc::clone(counters)), ..context.clone() };
    let mut pipeline = open_node(&node.input, &context, stages)?;
    if pipeline.gate.is_none() {
        pipeline.builder.count_rows(counters);
    }
    Ok(pipeline)
}
