//! What is counted of sessions and statements since the server was started.
//!
//! # Concurrency
//! A statement costs one addition. Only those that fail take a lock.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Kinds of statements, in the order of their counters.
pub(super) const KINDS: [&str; 9] =
    ["select", "insert", "update", "delete", "merge", "copy", "transaction", "definition", "other"];

/// Sums that only grow.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(super) started: Instant,
    statements: [AtomicU64; KINDS.len()],
    sessions: AtomicU64,
    refused: AtomicU64,
    copied_rows: AtomicU64,
    /// By SQLSTATE, of which there are less than 300.
    failures: Mutex<BTreeMap<String, u64>>,
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            statements: Default::default(),
            sessions: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            copied_rows: AtomicU64::new(0),
            failures: Mutex::default(),
        }
    }

    /// Counts a session that began.
    pub(crate) fn session(&self) {
        add(&self.sessions, 1);
    }

    /// Counts a connection that was not let in.
    pub(crate) fn refusal(&self) {
        add(&self.refused, 1);
    }

    /// Counts a statement that came to its end, by its tag, which also says how many rows were
    /// copied.
    pub(crate) fn statement(&self, tag: &str) {
        let (verb, rest) = tag.split_once(' ').unwrap_or((tag, ""));
        add(&self.statements[kind_of(verb)], 1);
        if verb == "COPY" {
            add(&self.copied_rows, rest.parse().unwrap_or(0));
        }
    }

    /// Counts a statement that failed.
    pub(crate) fn failure(&self, sqlstate: &str) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        match failures.get_mut(sqlstate) {
            Some(count) => *count += 1,
            None => drop(failures.insert(sqlstate.to_owned(), 1)),
        }
    }

    pub(super) fn statements(&self) -> [u64; KINDS.len()] {
        std::array::from_fn(|kind| get(&self.statements[kind]))
    }

    pub(super) fn sessions(&self) -> u64 {
        get(&self.sessions)
    }

    pub(super) fn refusals(&self) -> u64 {
        get(&self.refused)
    }

    pub(super) fn copied_rows(&self) -> u64 {
        get(&self.copied_rows)
    }

    pub(super) fn failures(&self) -> BTreeMap<String, u64> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn add(counter: &AtomicU64, count: u64) {
    // ORDERING: a sum that nothing depends on.
    counter.fetch_add(count, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    // ORDERING: see `add`.
    counter.load(Ordering::Relaxed)
}

fn kind_of(verb: &str) -> usize {
    match verb {
        "SELECT" => 0,
        "INSERT" => 1,
        "UPDATE" => 2,
        "DELETE" => 3,
        "MERGE" => 4,
        "COPY" => 5,
        "BEGIN" | "START" | "COMMIT" | "ROLLBACK" | "SAVEPOINT" | "RELEASE" => 6,
        "CREATE" | "ALTER" | "DROP" | "TRUNCATE" | "GRANT" | "REVOKE" | "COMMENT" => 7,
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_counted_by_kind() {
        let counters = Counters::new();
        for tag in ["SELECT 3", "INSERT 0 1", "COPY 7", "COMMIT", "CREATE TABLE", "", "SHOW"] {
            counters.statement(tag);
        }
        assert_eq!(counters.statements(), [1, 1, 0, 0, 0, 1, 1, 1, 2]);
        assert_eq!(counters.copied_rows(), 7);
        counters.failure("40001");
        counters.failure("40001");
        assert_eq!(counters.failures().into_iter().collect::<Vec<_>>(), [("40001".into(), 2)]);
    }
}
