//! What maintenance tells its callers.

use std::fmt;

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
    /// Table, column, chunk, replica and domain, as far as they are known.
    pub object: String,
    pub reason: String,
    /// Whether another replica of the same block is good.
    pub has_source: bool,
}

impl fmt::Display for LostReplica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.reason)
    }
}

/// What repairing did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepairReport {
    /// Replicas of blocks that were written.
    pub blocks: u64,
    /// Bytes that were written.
    pub bytes: u64,
    /// What could not be repaired.
    pub lost: Vec<LostReplica>,
}

impl RepairReport {
    /// Tells whether every policy is met.
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty()
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
