//! What a worker does.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::pool::PoolShared;
use super::query::{JobOutcome, QueryJob, QueryWork};
use crate::error::ExecError;
use crate::pipeline::{MorselRun, StepOutcome};

/// How long a worker keeps a morsel while other queries wait.
const SLICE: Duration = Duration::from_millis(10);

/// Takes work until the pool closes.
pub(super) fn work(shared: &PoolShared, worker: usize, is_pinned: bool) {
    if is_pinned {
        pin(worker);
    }
    while let Some(work) = shared.next_work(worker) {
        let query = std::sync::Arc::clone(&work.query);
        // State that a panic leaves behind belongs to the query, which ends.
        let outcome = catch_unwind(AssertUnwindSafe(|| run(work, shared, worker)));
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
fn run(work: QueryWork, shared: &PoolShared, worker: usize) -> Option<JobOutcome> {
    let QueryWork { query, stages, stage, job } = work;
    let mut start = Instant::now();
    let own = &stages.stages[stage];
    let run = match job {
        QueryJob::EndPipeline => {
            query.end_pipeline(&stages, stage);
            query.add_time(start.elapsed());
            return None;
        }
        QueryJob::Morsel(morsel) => MorselRun::new(own, morsel),
        QueryJob::Resume(run) => Ok(*run),
    };
    let mut run = match run {
        Ok(run) => run,
        Err(error) => return Some(JobOutcome::Failed(error)),
    };
    let outcome = loop {
        match query.check().and_then(|()| run.step(own, worker)) {
            Err(error) => break JobOutcome::Failed(error),
            Ok(StepOutcome::Ended) => break JobOutcome::Ended,
            Ok(StepOutcome::Blocked) => break JobOutcome::Blocked(Box::new(run)),
            Ok(StepOutcome::More) if start.elapsed() >= SLICE => {
                // Noted now, since other queries begin where this one is.
                query.add_time(start.elapsed());
                start = Instant::now();
                if shared.has_others() {
                    break JobOutcome::Interrupted(Box::new(run), worker);
                }
            }
            Ok(StepOutcome::More) => {}
        }
    };
    query.add_time(start.elapsed());
    Some(outcome)
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
