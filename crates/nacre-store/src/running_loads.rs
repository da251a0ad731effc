//! Bulk loads that are under way: what can wait leaves them the processor.
//!
//! # Concurrency
//! Any number of loads may run at once; maintenance asks between two units.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::store::Store;

/// Longest time that maintenance leaves to loads that run without a pause: a continuous stream of
/// them must not keep replicas from being encoded for ever.
const YIELD_MAX: Duration = Duration::from_secs(600);

/// Counts the loads of a store.
#[derive(Debug, Default)]
pub(crate) struct RunningLoads(Mutex<LoadCount>);

#[derive(Debug, Default)]
struct LoadCount {
    running: usize,
    /// When the first of them began while no other ran.
    since: Option<Instant>,
}

/// A load that runs until this is dropped.
#[derive(Debug)]
pub(crate) struct RunningLoad(Store);

impl RunningLoad {
    pub(crate) fn begin(store: &Store) -> Self {
        store.running_loads().begin();
        Self(store.clone())
    }
}

impl Drop for RunningLoad {
    fn drop(&mut self) {
        if self.0.running_loads().end() {
            self.0.wake();
        }
    }
}

impl RunningLoads {
    /// Whether work that can wait should.
    pub(crate) fn have_priority(&self) -> bool {
        let count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        count.since.is_some_and(|since| since.elapsed() < YIELD_MAX)
    }

    fn begin(&self) {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        count.running += 1;
        count.since.get_or_insert_with(Instant::now);
    }

    /// Returns whether no load is left.
    fn end(&self) -> bool {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        count.running = count.running.saturating_sub(1);
        if count.running == 0 {
            count.since = None;
        }
        count.running == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_have_priority_until_the_last_one_ends() {
        let loads = RunningLoads::default();
        assert!(!loads.have_priority());
        loads.begin();
        loads.begin();
        assert!(loads.have_priority());
        assert!(!loads.end());
        assert!(loads.have_priority());
        assert!(loads.end());
        assert!(!loads.have_priority());
    }
}
