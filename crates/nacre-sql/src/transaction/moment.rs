//! What a statement sees of the database, and the note of what it reads.

use std::sync::{Arc, Mutex, PoisonError};

use nacre_store::{Predicate, Snapshot, Table};

/// Rows of a table that were read.
pub(crate) type Read = (Arc<Table>, Predicate);

/// The moment that all scans of a statement read at.
#[derive(Debug)]
pub(crate) struct Moment {
    snapshot: Snapshot,
    /// What the scans read, for whoever validates it; `None` if nobody will.
    reads: Option<Mutex<Vec<Read>>>,
    /// Whether the transaction may change nothing.
    is_read_only: bool,
}

impl Moment {
    /// Makes the moment of a statement whose reads are validated at commit, or not.
    pub(crate) fn new(snapshot: Snapshot, is_validated: bool) -> Self {
        Self { snapshot, reads: is_validated.then(Mutex::default), is_read_only: false }
    }

    /// Says whether the transaction may change nothing.
    pub(crate) fn with_read_only(self, is_read_only: bool) -> Self {
        Self { is_read_only, ..self }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Notes that rows of `table` are read, if somebody wants to know.
    pub(crate) fn note(&self, table: &Arc<Table>, predicate: impl FnOnce() -> Predicate) {
        if let Some(reads) = &self.reads {
            let read = (Arc::clone(table), predicate());
            reads.lock().unwrap_or_else(PoisonError::into_inner).push(read);
        }
    }

    /// Hands out what was noted since the last call.
    pub(crate) fn take_reads(&self) -> Vec<Read> {
        match &self.reads {
            Some(reads) => {
                std::mem::take(&mut *reads.lock().unwrap_or_else(PoisonError::into_inner))
            }
            None => Vec::new(),
        }
    }
}
