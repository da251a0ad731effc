//! A query that is being run: which pipeline it is in, and who works on it.
//!
//! # Concurrency
//! The lock of [`QueryTask`] is held for a few instructions at the begin and the end of a morsel.
//! It is taken after the pool's, never before.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::stream::QueryReport;
use crate::control::QueryControl;
use crate::error::{ExecError, ExecResult};
use crate::pipeline::{MorselRun, StageContext};
use crate::plan::PhysicalPlan;
use crate::result::ResultChannel;
use crate::scan::BlockReads;
use crate::stages::{QueryStages, build_stages};

/// A query.
#[derive(Debug)]
pub(crate) struct QueryTask {
    plan: PhysicalPlan,
    pub(super) control: Arc<QueryControl>,
    channel: Arc<ResultChannel>,
    state: Mutex<QueryState>,
    /// Time that workers spent on it, and where it began; the dispatcher compares it.
    virtual_ns: AtomicU64,
}

#[derive(Debug)]
struct QueryState {
    context: StageContext,
    stages: Arc<QueryStages>,
    stage: usize,
    /// Workers that have a morsel, or end a pipeline.
    running: usize,
    /// Whether a worker ends the pipeline: no other worker may begin a morsel of it then, whose
    /// rows would get into the answer of the next run.
    is_ending: bool,
    parked: Vec<ParkedMorsel>,
    error: Option<ExecError>,
    has_ended: bool,
}

/// A morsel that waits for room in the channel, or for its query's turn.
#[derive(Debug)]
struct ParkedMorsel {
    run: MorselRun,
    /// The worker that goes on with it, so that rows of one morsel stay in one place of a sink, in
    /// their order; `None` if it waits for room, as sinks of answers have no such places.
    worker: Option<usize>,
}

impl ParkedMorsel {
    fn may_go_on(&self, worker: usize) -> bool {
        self.worker.is_none_or(|own| own == worker)
    }
}

/// What a worker is to do for a query.
#[derive(Debug)]
pub(super) struct QueryWork {
    pub(super) query: Arc<QueryTask>,
    pub(super) stages: Arc<QueryStages>,
    pub(super) stage: usize,
    pub(super) job: QueryJob,
}

#[derive(Debug)]
pub(super) enum QueryJob {
    /// Begin a morsel.
    Morsel(usize),
    /// Go on with one.
    Resume(Box<MorselRun>),
    /// Nothing is left of the pipeline: end it.
    EndPipeline,
}

/// What became of a morsel.
#[derive(Debug)]
pub(super) enum JobOutcome {
    Ended,
    /// There is no room for more of its rows.
    Blocked(Box<MorselRun>),
    /// A worker, which goes on with it, had it long enough.
    Interrupted(Box<MorselRun>, usize),
    Failed(ExecError),
}

impl QueryTask {
    /// Prepares a query.
    ///
    /// # Errors
    /// Those of [`build_stages`].
    pub(super) fn new(
        plan: PhysicalPlan,
        context: StageContext,
        channel: Arc<ResultChannel>,
        virtual_ns: u64,
    ) -> ExecResult<Self> {
        let control = Arc::clone(&context.control);
        let stages = Arc::new(build_stages(&plan, &context, &channel)?);
        let state = Mutex::new(QueryState {
            context,
            stages,
            stage: 0,
            running: 0,
            is_ending: false,
            parked: Vec::new(),
            error: None,
            has_ended: false,
        });
        let virtual_ns = AtomicU64::new(virtual_ns);
        Ok(Self { plan, control, channel, state, virtual_ns })
    }

    fn lock(&self) -> MutexGuard<'_, QueryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time that workers spent on it.
    pub(super) fn virtual_ns(&self) -> u64 {
        // ORDERING: an estimate that orders queries.
        self.virtual_ns.load(Ordering::Relaxed)
    }

    /// Adds time that a worker spent.
    pub(super) fn add_time(&self, time: Duration) {
        // ORDERING: as above.
        self.virtual_ns.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Returns something to do, if there is any for one more worker, which is `worker`.
    pub(super) fn take_work(self: &Arc<Self>, worker: usize) -> Option<QueryWork> {
        let mut state = self.lock();
        if state.has_ended || state.is_ending {
            return None;
        }
        if state.error.is_none()
            && let Err(error) = self.control.check()
        {
            state.error = Some(error);
        }
        let job = if state.error.is_some() {
            state.parked.clear();
            None
        } else if self.channel.is_full() {
            return None;
        } else if let Some(at) = state.parked.iter().rposition(|one| one.may_go_on(worker)) {
            Some(QueryJob::Resume(Box::new(state.parked.swap_remove(at).run)))
        } else {
            state.stages.stages[state.stage].take_morsel().map(QueryJob::Morsel)
        };
        // The last one out ends the pipeline; who comes later finds it ended.
        let job = match job {
            Some(job) => job,
            None if state.running == 0 && state.parked.is_empty() => {
                state.is_ending = true;
                QueryJob::EndPipeline
            }
            None => return None,
        };
        state.running += 1;
        let (query, stages) = (Arc::clone(self), Arc::clone(&state.stages));
        Some(QueryWork { query, stages, stage: state.stage, job })
    }

    /// Whether a query is over.
    pub(super) fn has_ended(&self) -> bool {
        self.lock().has_ended
    }

    /// Fails if whoever has a morsel of the query is to stop.
    ///
    /// # Errors
    /// As [`QueryControl::check`]; [`ExecError::Canceled`] if the query has failed already, whose
    /// error is the first one.
    pub(super) fn check(&self) -> ExecResult<()> {
        self.control.check()?;
        if self.lock().error.is_some() {
            return Err(ExecError::Canceled);
        }
        Ok(())
    }

    /// Takes a morsel back; true if others may find something to do now.
    pub(super) fn give_back(&self, outcome: JobOutcome) -> bool {
        let mut state = self.lock();
        state.running -= 1;
        match outcome {
            JobOutcome::Ended => {}
            JobOutcome::Blocked(run) => state.parked.push(ParkedMorsel { run: *run, worker: None }),
            JobOutcome::Interrupted(run, worker) => {
                state.parked.push(ParkedMorsel { run: *run, worker: Some(worker) });
            }
            JobOutcome::Failed(error) => match &state.error {
                // A worker that stops for the error of another one may be here before that.
                Some(ExecError::Canceled) if self.control.check().is_ok() => {
                    state.error = Some(error);
                }
                Some(_) => {}
                None => state.error = Some(error),
            },
        }
        state.running == 0
    }

    /// Ends the present pipeline and goes on to the next one, or ends the query. The caller is the
    /// only one who works on it.
    pub(super) fn end_pipeline(&self, stages: &QueryStages, stage: usize) {
        let failed = self.lock().error.take();
        let outcome = match failed {
            Some(error) => Err(error),
            None => stages.stages[stage].sink.finish(),
        };
        let outcome = match outcome {
            Ok(()) => Ok(stage + 1),
            // What a part has made is not asked for yet.
            Err(error) => stages.hold_error(stage, error),
        };
        match outcome {
            Ok(next) if next < stages.stages.len() => {
                let mut state = self.lock();
                state.stage = next;
                state.running -= 1;
                state.is_ending = false;
            }
            outcome => self.end_query(outcome.map(drop)),
        }
    }

    /// Looks back at the files that were read; if one changed, runs the query again as long as
    /// nothing of its answer is out.
    fn end_query(&self, outcome: ExecResult<()>) {
        let reads = Arc::clone(&self.lock().context.reads);
        let is_stopped = matches!(outcome, Err(ExecError::Canceled | ExecError::DeadlineExceeded));
        let outcome = match reads.look_back() {
            // Bytes that changed explain every other failure.
            Err(changed) if !is_stopped => {
                if self.channel.reset() {
                    match self.restart() {
                        Ok(()) => return,
                        Err(error) => Err(error),
                    }
                } else {
                    Err(changed.into())
                }
            }
            _ => outcome,
        };
        let mut state = self.lock();
        state.running -= 1;
        state.has_ended = true;
        drop(state);
        self.channel.end(outcome);
    }

    /// Begins again, looking at files after every vector.
    fn restart(&self) -> ExecResult<()> {
        let mut context = self.lock().context.clone();
        context.reads = Arc::new(BlockReads::careful());
        context.spill = context.spill.map(|spill| spill.renewed());
        self.plan.root.reset_counters();
        let stages = Arc::new(build_stages(&self.plan, &context, &self.channel)?);
        let mut state = self.lock();
        (state.context, state.stages, state.stage) = (context, stages, 0);
        state.running -= 1;
        state.is_ending = false;
        Ok(())
    }

    /// Returns what was counted so far.
    pub(super) fn report(&self) -> QueryReport {
        let stages = Arc::clone(&self.lock().stages);
        stages.note_held();
        QueryReport { pipelines: stages.reports(), scans: stages.scan_reports() }
    }
}
