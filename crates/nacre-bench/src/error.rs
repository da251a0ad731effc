//! Errors of the demo and the benchmarks.

use std::fmt;
use std::io;
use std::path::Path;

use datafusion::error::DataFusionError;
use nacre_column::BlockError;
use nacre_column::replicated::ReplicatedError;

use crate::workload::Mismatch;

/// An error of the demo or of a benchmark.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An argument makes no sense; the message says which values do.
    Usage(String),
    /// Reading or writing a file, a directory or a pipe failed; `action` names it.
    Io { action: String, source: io::Error },
    /// Nacre answered a statement with an error.
    Nacre { action: String, source: Box<nacre_sql::Error> },
    /// A pool or domain of `nacre-pmem` failed.
    Pmem { action: String, source: nacre_pmem::Error },
    /// Nacre's store failed at something that no statement does.
    Store { action: String, source: Box<nacre_store::Error> },
    /// A block cannot be encoded or decoded.
    Column { subject: String, source: Box<BlockError> },
    /// A replicated column failed.
    Replicated { action: String, source: Box<ReplicatedError> },
    /// `libpmemobj` failed; its own message.
    Pmdk(String),
    /// DataFusion, as oracle or as baseline, answered with an error.
    DataFusion { action: String, source: Box<DataFusionError> },
    /// Two answers to the same query differ.
    Mismatch(Box<Mismatch>),
    /// Something happened that must not happen; this is a bug in Nacre.
    Deviation(String),
    /// A process that we started did not do its part.
    Child(String),
    /// A signal asked us to stop.
    Interrupted,
}

/// Result of the demo and the benchmarks.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns a closure for `map_err` that names what was done to which path.
    pub(crate) fn io(verb: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let action = format!("{verb} {}", path.display());
        move |source| Self::Io { action, source }
    }

    /// Returns a closure for `map_err` that names what was done to a pool.
    pub(crate) fn pmem(action: impl fmt::Display) -> impl FnOnce(nacre_pmem::Error) -> Self {
        move |source| Self::Pmem { action: action.to_string(), source }
    }

    /// Returns a closure for `map_err` that names what the store was doing.
    pub(crate) fn store(action: impl fmt::Display) -> impl FnOnce(nacre_store::Error) -> Self {
        move |source| Self::Store { action: action.to_string(), source: Box::new(source) }
    }

    /// Returns a closure for `map_err` that names the format or block.
    pub(crate) fn column(subject: impl fmt::Display) -> impl FnOnce(BlockError) -> Self {
        move |source| Self::Column { subject: subject.to_string(), source: Box::new(source) }
    }

    /// Returns a closure for `map_err` that names what was done to a replicated column.
    pub(crate) fn replicated(action: impl fmt::Display) -> impl FnOnce(ReplicatedError) -> Self {
        move |source| Self::Replicated { action: action.to_string(), source: Box::new(source) }
    }

    /// Returns a closure for `map_err` that names what DataFusion was doing.
    pub(crate) fn datafusion(action: impl fmt::Display) -> impl FnOnce(DataFusionError) -> Self {
        let action = action.to_string();
        move |source| Self::DataFusion { action, source: Box::new(source) }
    }

    /// Returns a closure for `map_err` that names what Nacre was doing.
    pub(crate) fn nacre(action: impl fmt::Display) -> impl FnOnce(nacre_sql::Error) -> Self {
        let action = action.to_string();
        move |source| Self::Nacre { action, source: Box::new(source) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) => f.write_str(message),
            Self::Io { action, source } if source.kind() == io::ErrorKind::StorageFull => {
                write!(f, "cannot {action}: {source}; name a directory with more room by --dir")
            }
            Self::Io { action, source } => write!(f, "cannot {action}: {source}"),
            Self::Nacre { action, source } => {
                write!(f, "{action}: {source}")?;
                if let Some(detail) = source.detail() {
                    write!(f, " ({detail})")?;
                }
                match source.hint() {
                    Some(hint) => write!(f, "; {hint}"),
                    None => Ok(()),
                }
            }
            Self::Pmem { action, source } => write!(f, "cannot {action}: {source}"),
            Self::Column { subject, source } => write!(f, "{subject}: {source}"),
            Self::Store { action, source } => write!(f, "cannot {action}: {source}"),
            Self::Replicated { action, source } => write!(f, "cannot {action}: {source}"),
            Self::DataFusion { action, source } => write!(f, "{action}: DataFusion: {source}"),
            Self::Mismatch(mismatch) => mismatch.fmt(f),
            Self::Deviation(message) => write!(f, "this must not happen: {message}"),
            Self::Pmdk(message) | Self::Child(message) => f.write_str(message),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Nacre { source, .. } => Some(source.as_ref()),
            Self::DataFusion { source, .. } => Some(source.as_ref()),
            Self::Pmem { source, .. } => Some(source),
            Self::Column { source, .. } => Some(source.as_ref()),
            Self::Store { source, .. } => Some(source.as_ref()),
            Self::Replicated { source, .. } => Some(source.as_ref()),
            _ => None,
        }
    }
}

impl From<Mismatch> for Error {
    fn from(mismatch: Mismatch) -> Self {
        Self::Mismatch(Box::new(mismatch))
    }
}
