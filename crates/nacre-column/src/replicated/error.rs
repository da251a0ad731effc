//! What can go wrong with a replicated column.

use std::fmt;

use crate::BlockError;

/// Says what is wrong with which column, replica or block.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReplicatedError {
    /// No replica, or more than a policy may have.
    Count { column: String, found: usize },
    /// The replicas say different things about the column, or are not this column's.
    Foreign { file: String, reason: String },
    /// A pool or domain failed: no replica could be written or read.
    Pool { column: String, source: nacre_pmem::Error },
    /// Values cannot be encoded.
    Block { column: String, source: BlockError },
    /// No replica of a block is good; each one's reason.
    NoReplica { column: String, block: usize, reasons: String },
}

impl fmt::Display for ReplicatedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { column, found } => write!(
                f,
                "column {column}: {found} replicas, but 1 to {} are possible",
                crate::REPLICAS_MAX
            ),
            Self::Foreign { file, reason } => write!(f, "{file}: {reason}"),
            Self::Pool { column, source } => write!(f, "column {column}: {source}"),
            Self::Block { column, source } => write!(f, "column {column}: {source}"),
            Self::NoReplica { column, block, reasons } => {
                write!(f, "column {column}, block {block}: no replica is good: {reasons}")
            }
        }
    }
}

impl std::error::Error for ReplicatedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Pool { source, .. } => Some(source),
            Self::Block { source, .. } => Some(source),
            _ => None,
        }
    }
}
