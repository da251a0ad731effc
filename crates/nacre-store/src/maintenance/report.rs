//! What maintenance tells its callers.

use std::fmt;

use crate::error::Error;

/// How far a piece of maintenance is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    pub done_bytes: u64,
    /// What is known to be done in all; it may grow meanwhile.
    pub total_bytes: u64,
}

impl Progress {
    /// Tells whether there was nothing to do.
    pub fn is_idle(&self) -> bool {
        self.total_bytes == 0
    }
}

/// A replica that is not good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostReplica {
    /// `None` for the manifest.
    pub table: Option<String>,
    /// Table, column and chunk, as far as they are known.
    pub object: String,
    /// Which replica of the block, if that is known.
    pub replica: Option<u8>,
    /// The domain that it is in, or is to be in.
    pub domain: Option<String>,
    pub reason: String,
    /// Whether another replica of the same block is good.
    pub has_source: bool,
}

impl fmt::Display for LostReplica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.object)?;
        if let Some(number) = self.replica {
            write!(f, ", replica {number}")?;
        }
        if let Some(domain) = &self.domain {
            write!(f, " in domain \"{domain}\"")?;
        }
        write!(f, ": {}", self.reason)
    }
}

/// What repairing did.
#[derive(Debug, Default)]
pub struct RepairReport {
    /// Replicas of blocks that were written.
    pub blocks: u64,
    /// Bytes that were written.
    pub bytes: u64,
    /// What could not be repaired.
    pub lost: Vec<LostReplica>,
    /// The tables that could not be given all their replicas, and why; others were.
    pub failures: Vec<(String, Error)>,
}

impl RepairReport {
    /// Tells whether every policy is met.
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.failures.is_empty()
    }

    /// Adds why a table was not finished, once for each reason.
    pub(super) fn note_failure(&mut self, table: &str, error: Error) {
        let is_known =
            |(other, known): &(String, Error)| other == table && known.kind() == error.kind();
        if !self.failures.iter().any(is_known) {
            self.failures.push((table.to_owned(), error));
        }
    }
}

/// What scrubbing found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Replicas of blocks that were verified.
    pub blocks: u64,
    /// Bytes that were verified.
    pub bytes: u64,
    /// What is not good; [`crate::Store::repair`] and [`crate::Store::maintain_step`] rebuild what
    /// has a source.
    pub lost: Vec<LostReplica>,
}

impl ScrubReport {
    /// Tells whether all replicas are good.
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty()
    }
}
