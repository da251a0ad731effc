//! The workers of a database, and what its engines ran.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nacre_column::Flavour;
use nacre_exec::dispatch::{WorkerPool, WorkerPoolOptions};

use super::errors::from_exec;
use crate::error::Result;
use crate::memory;

/// Queries that each engine began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounts {
    pub nacre: u64,
    pub datafusion: u64,
}

/// The workers, which are made for the first query.
#[derive(Debug)]
pub(crate) struct EnginePool {
    threads: usize,
    memory_bytes: u64,
    workers: Mutex<Option<Arc<WorkerPool>>>,
    /// Figures; nothing depends on their order.
    nacre: AtomicU64,
    datafusion: AtomicU64,
}

impl EnginePool {
    pub(crate) fn new(threads: usize, memory_bytes: usize) -> Self {
        let workers = Mutex::default();
        let memory_bytes = memory_bytes as u64;
        Self { threads, memory_bytes, workers, nacre: 0.into(), datafusion: 0.into() }
    }

    /// Bytes that a query may hold.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Returns the workers.
    ///
    /// # Errors
    /// If the system gives no thread; [`crate::ErrorKind::Open`] if a setting is no number.
    pub(super) fn workers(&self) -> Result<Arc<WorkerPool>> {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(workers) = &*workers {
            return Ok(Arc::clone(workers));
        }
        let made = WorkerPool::new(&WorkerPoolOptions {
            threads: self.threads,
            is_pinned: false,
            memory_bytes_max: self.memory_bytes,
            flavour: Flavour::active(),
            spill: Some(memory::spill_space()?),
        });
        let made = Arc::new(made.map_err(from_exec)?);
        *workers = Some(Arc::clone(&made));
        Ok(made)
    }

    /// Counts a query of this engine.
    pub(super) fn count_nacre(&self) {
        // ORDERING: see the field.
        self.nacre.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a query of the other engine.
    pub(crate) fn count_datafusion(&self) {
        // ORDERING: see the field.
        self.datafusion.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> EngineCounts {
        // ORDERING: see the field.
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        EngineCounts { nacre: get(&self.nacre), datafusion: get(&self.datafusion) }
    }
}
