//! Pipelines: a source, a list of sub-operators over slots, a sink.
//!
//! [`crate::stages`] cuts a plan at the operators that need all of their input. Between them lies a
//! [`StepProgram`]: sub-operators in the order in which they run, each reading and writing
//! *slots*, with types and bounds decided. The interpreter runs the list vector by vector; a code
//! generator would take the same list.
//!
//! # Source
//! [Muehlbauer16 section 6.4] pipelines without materialization between operators. Differs: a step
//! works on a vector, not on a tuple.

mod program;
mod resolve;
mod run;
mod sink;
mod stage;
mod timed;
mod wrapped;

pub(crate) use program::{BranchRule, IntOperand, SlotId, SlotInfo, StepProgram, SubOperator};
pub(crate) use resolve::ProgramBuilder;
pub(crate) use run::{MorselRun, StepOutcome};
pub(crate) use sink::{PipelineSink, SharedSink, SinkRoom, WorkerSlots};
pub(crate) use stage::{PipelineSource, PipelineStage, SourceRun, StageContext};
pub(crate) use timed::{TimedSink, TimedSource};
pub(crate) use wrapped::WrappedPipeline;
