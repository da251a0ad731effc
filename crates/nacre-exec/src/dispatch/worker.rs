//! What a worker does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::pool::PoolShared;
use super::query::{JobOutcome, QueryJob, QueryWork};
use crate::error::{ExecError, ExecResult};
use crate::pipeline::{MorselRun, PipelineStage, StepOutcome};

/// Takes work until the pool closes.
pub(super) fn work(shared: &PoolShared, worker: usize, is_pinned: bool) {
    if is_pinned {
        pin(worker);
    }
    while let Some(work) = shared.next_work() {
        let start = Instant::now();
        let query = std::sync::Arc::clone(&work.query);
        // State that a panic leaves behind belongs to the query, which ends.
        let outcome = catch_unwind(AssertUnwindSafe(|| run(work, worker)));
        query.add_time(start.elapsed());
        let may_go_on = match outcome {
            Ok(None) => true,
            Ok(Some(outcome)) => query.give_back(outcome),
            Err(panic) => {
                let text = panic
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("no message");
                let reason = format!("a worker panicked: {text}");
                query.give_back(JobOutcome::Failed(ExecError::Internal { reason }))
            }
        };
        if may_go_on {
            shared.wake();
        }
    }
}

/// Does a job; `None` if it was the end of a pipeline, which takes itself back.
fn run(work: QueryWork, worker: usize) -> Option<JobOutcome> {
    let QueryWork { query, stages, stage, job } = work;
    let run = match job {
        QueryJob::EndPipeline => {
            query.end_pipeline(&stages, stage);
            return None;
        }
        QueryJob::Morsel(morsel) => MorselRun::new(&stages.stages[stage], morsel),
        QueryJob::Resume(run) => Ok(*run),
    };
    let stage = &stages.stages[stage];
    let outcome = run.and_then(|run| run_morsel(run, stage, worker, || query.check()));
    Some(match outcome {
        Ok(None) => JobOutcome::Ended,
        Ok(Some(run)) => JobOutcome::Parked(Box::new(run)),
        Err(error) => JobOutcome::Failed(error),
    })
}

/// Runs a morsel to its end; returns it if its sink has no room.
fn run_morsel(
    mut run: MorselRun,
    stage: &PipelineStage,
    worker: usize,
    check: impl Fn() -> ExecResult<()>,
) -> ExecResult<Option<MorselRun>> {
    loop {
        check()?;
        match run.step(stage, worker)? {
            StepOutcome::More => {}
            StepOutcome::Blocked => return Ok(Some(run)),
            StepOutcome::Ended => return Ok(None),
        }
    }
}

/// Keeps the calling thread on one of the processors that the process may use. Without permission
/// it stays where it likes.
fn pin(worker: usize) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let processors: Vec<usize> =
        (0..CpuSet::MAX_CPU).filter(|processor| allowed.is_set(*processor)).collect();
    if processors.is_empty() {
        return;
    }
    let mut one = CpuSet::new();
    one.set(processors[worker % processors.len()]);
    let _ = sched_setaffinity(None, &one);
}
