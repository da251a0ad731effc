//! One morsel on its way through a pipeline, a vector at a time.

use std::time::Instant;

use super::sink::SinkRoom;
use super::stage::{PipelineStage, SourceRun};
use crate::error::ExecResult;
use crate::interpret::StepInterpreter;
use crate::vector::VectorBatch;

/// What became of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepOutcome {
    More,
    /// The sink has no room now.
    Blocked,
    Ended,
}

/// A morsel between two vectors: any worker may go on with it.
#[derive(Debug)]
pub(crate) struct MorselRun {
    source: Box<dyn SourceRun>,
    interpreter: StepInterpreter,
    batch: VectorBatch,
}

impl MorselRun {
    /// Begins a morsel of a stage.
    ///
    /// # Errors
    /// Those of the source.
    pub(crate) fn new(stage: &PipelineStage, morsel: usize) -> ExecResult<Self> {
        Ok(Self {
            source: stage.source.open(morsel)?,
            interpreter: StepInterpreter::new(stage.flavour, &stage.budget, &stage.control),
            batch: StepInterpreter::batch(&stage.program),
        })
    }

    /// Takes one vector through the pipeline.
    ///
    /// # Errors
    /// Those of its source, steps and sink.
    pub(crate) fn step(&mut self, stage: &PipelineStage, worker: usize) -> ExecResult<StepOutcome> {
        let start = Instant::now();
        if stage.is_satisfied() || !self.source.next(&mut self.batch)? {
            return Ok(StepOutcome::Ended);
        }
        let rows = self.batch.selected_rows();
        let read = Instant::now();
        stage.source_counters.add(rows, rows, read - start);
        self.interpreter.run(&stage.program, &stage.step_counters, &mut self.batch)?;
        let rows = self.batch.selected_rows();
        if rows == 0 {
            return Ok(StepOutcome::More);
        }
        let computed = Instant::now();
        let room = stage.sink.consume(worker, &mut self.batch)?;
        stage.sink_counters.add(rows, 0, computed.elapsed());
        Ok(match room {
            SinkRoom::More => StepOutcome::More,
            SinkRoom::Full => StepOutcome::Blocked,
            SinkRoom::Satisfied => {
                stage.set_satisfied();
                StepOutcome::Ended
            }
        })
    }
}
