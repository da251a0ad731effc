//! The pool of workers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use nacre_simd::Flavour;

use super::query::{QueryTask, QueryWork};
use super::stream::{QueryOptions, ResultStream};
use super::worker;
use crate::control::QueryControl;
use crate::error::{ExecError, ExecResult};
use crate::memory::MemoryBudget;
use crate::pipeline::StageContext;
use crate::plan::PhysicalPlan;
use crate::result::ResultChannel;
use crate::scan::BlockReads;
use crate::spill::{QuerySpill, SpillSpace};

/// How often workers that have nothing to do look at deadlines.
const DEADLINE_LOOK: Duration = Duration::from_millis(10);

/// Most workers of a pool.
const THREADS_MAX: usize = 1_024;

/// How a pool is made.
#[derive(Clone, Debug)]
pub struct WorkerPoolOptions {
    /// 1 to 1,024.
    pub threads: usize,
    /// Whether each worker stays on one processor.
    pub is_pinned: bool,
    /// Memory that all queries together may hold.
    pub memory_bytes_max: u64,
    pub flavour: Flavour,
    /// Where queries that need more memory write; without it they end with an error.
    pub spill: Option<Arc<SpillSpace>>,
}

/// The workers of a database, made once by whoever opens it.
#[derive(Debug)]
pub struct WorkerPool {
    shared: Arc<PoolShared>,
    threads: Vec<JoinHandle<()>>,
}

/// What workers and callers share.
#[derive(Debug)]
pub(super) struct PoolShared {
    state: Mutex<PoolState>,
    /// Queries of `state`, as of the last look at it.
    query_count: AtomicUsize,
    /// Told when there may be something to do.
    has_work: Condvar,
    budget: Arc<MemoryBudget>,
    flavour: Flavour,
    workers: usize,
    spill: Option<Arc<SpillSpace>>,
}

#[derive(Debug, Default)]
struct PoolState {
    queries: Vec<Arc<QueryTask>>,
    is_closing: bool,
}

impl WorkerPool {
    /// Makes the workers.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if the system gives no thread.
    pub fn new(options: &WorkerPoolOptions) -> ExecResult<Self> {
        let workers = options.threads.clamp(1, THREADS_MAX);
        let shared = Arc::new(PoolShared {
            state: Mutex::default(),
            query_count: AtomicUsize::new(0),
            has_work: Condvar::new(),
            budget: MemoryBudget::new("NACRE_QUERY_MEMORY_MIB", options.memory_bytes_max),
            flavour: options.flavour,
            workers,
            spill: options.spill.clone(),
        });
        let mut pool = Self { shared: Arc::clone(&shared), threads: Vec::with_capacity(workers) };
        for index in 0..workers {
            let (shared, is_pinned) = (Arc::clone(&shared), options.is_pinned);
            let builder = std::thread::Builder::new().name(format!("nacre-worker-{index}"));
            let thread = builder
                .spawn(move || worker::work(&shared, index, is_pinned))
                .map_err(|error| ExecError::internal(format!("no thread for a worker: {error}")))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Returns how many workers there are.
    pub fn workers(&self) -> usize {
        self.shared.workers
    }

    /// Begins a query.
    ///
    /// # Errors
    /// Those of preparing the plan; see [`ExecError`].
    pub fn execute(&self, plan: PhysicalPlan, options: QueryOptions) -> ExecResult<ResultStream> {
        let shared = &self.shared;
        let control = Arc::new(QueryControl::new(options.deadline));
        let weak = Arc::downgrade(shared);
        let on_room = Box::new(move || {
            if let Some(shared) = Weak::upgrade(&weak) {
                shared.wake();
            }
        });
        let channel =
            Arc::new(ResultChannel::new(options.result_bytes_max, on_room, options.on_ready));
        let context = StageContext {
            workers: shared.workers,
            flavour: shared.flavour,
            budget: shared.budget.child("NACRE_QUERY_MEMORY_MIB", options.memory_bytes_max),
            reads: Arc::new(BlockReads::default()),
            control: Arc::clone(&control),
            filters_keys: options.filters_keys,
            vector_rows: options.vector_rows,
            spill: shared.spill.as_ref().map(QuerySpill::new),
            is_sliced: false,
            measured: None,
        };
        let start = shared.least_virtual_ns();
        let query = Arc::new(QueryTask::new(plan, context, Arc::clone(&channel), start)?);
        shared.add(&query);
        Ok(ResultStream { channel, control, query, has_ended: false })
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.shared.close();
        for thread in self.threads.drain(..) {
            // A worker catches panics, so this is no more than waiting.
            let _ = thread.join();
        }
    }
}

impl PoolShared {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has idle workers look for something to do.
    pub(super) fn wake(&self) {
        let _state = self.lock();
        self.has_work.notify_all();
    }

    /// A query begins where the one that got least is: it neither catches up nor waits.
    fn least_virtual_ns(&self) -> u64 {
        self.lock().queries.iter().map(|query| query.virtual_ns()).min().unwrap_or(0)
    }

    fn add(&self, query: &Arc<QueryTask>) {
        let mut state = self.lock();
        state.queries.push(Arc::clone(query));
        self.note_count(&state);
        self.has_work.notify_all();
    }

    fn note_count(&self, state: &PoolState) {
        // ORDERING: a hint; who reads it late puts a morsel aside a vector later.
        self.query_count.store(state.queries.len(), Ordering::Relaxed);
    }

    /// Whether there is more than one query.
    pub(super) fn has_others(&self) -> bool {
        // ORDERING: as above.
        self.query_count.load(Ordering::Relaxed) > 1
    }

    fn close(&self) {
        let mut state = self.lock();
        state.is_closing = true;
        for query in &state.queries {
            query.control.cancel();
        }
        self.has_work.notify_all();
    }

    /// Waits for something that a worker can do; `None` when the pool closes and all queries have
    /// ended.
    pub(super) fn next_work(&self, worker: usize) -> Option<QueryWork> {
        let mut state = self.lock();
        loop {
            state.queries.retain(|query| !query.has_ended());
            self.note_count(&state);
            // Workers add to these times without the lock: each is read once.
            state.queries.sort_by_cached_key(|query| query.virtual_ns());
            let mut queries = state.queries.iter();
            if let Some(work) = queries.find_map(|query| query.take_work(worker)) {
                return Some(work);
            }
            if state.is_closing && state.queries.is_empty() {
                return None;
            }
            let has_deadline = state.queries.iter().any(|query| query.control.has_deadline());
            state = if has_deadline || !state.queries.is_empty() {
                let waited = self.has_work.wait_timeout(state, DEADLINE_LOOK);
                waited.unwrap_or_else(PoisonError::into_inner).0
            } else {
                self.has_work.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }
}
