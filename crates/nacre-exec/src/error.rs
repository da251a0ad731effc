//! Errors of execution, sorted by what the caller can do.

use std::borrow::Cow;
use std::fmt;

use nacre_types::ValueError;

/// Sorts errors by what the caller can do; the server's edge gives each its SQLSTATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExecErrorKind {
    /// A result that its type does not hold (22003).
    NumericOutOfRange,
    /// 22012.
    DivisionByZero,
    /// A subquery as a value has more than one row (21000).
    Cardinality,
    /// The query needs more memory than a setting gives it (53200).
    OutOfMemory,
    /// Temporary files need more than a setting or the disk gives them (53100).
    DiskFull,
    /// A temporary file cannot be made, written or read (58030).
    SpillFailed,
    /// Somebody asked for the query to end (57014).
    Canceled,
    /// The query ran longer than it may (57014).
    DeadlineExceeded,
    /// A function refused its arguments; the error carries the SQLSTATE.
    Function,
    /// An error of the store, with its own kind.
    Store,
    /// A bug in Nacre (XX000).
    Internal,
}

/// An error of execution.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExecError {
    /// A result lies outside of what its type holds; `type_name` is the SQL type's.
    NumericOutOfRange {
        type_name: &'static str,
    },
    DivisionByZero,
    /// A subquery as a value has more than one row.
    MoreThanOneRow,
    /// An operator needs more memory than `setting` leaves it.
    OutOfMemory {
        operator: Cow<'static, str>,
        setting: &'static str,
        bytes: u64,
        bytes_max: u64,
    },
    /// Temporary files in `place` need more than `setting` gives them; without `bytes_max` the disk
    /// has no more.
    DiskFull {
        place: String,
        setting: &'static str,
        bytes: u64,
        bytes_max: Option<u64>,
    },
    /// A temporary file in `place` failed.
    SpillFailed {
        place: String,
        action: &'static str,
        error: std::io::Error,
    },
    Canceled,
    DeadlineExceeded,
    /// What a foreign function answers.
    Function {
        sqlstate: &'static str,
        message: String,
    },
    Store(Box<nacre_store::Error>),
    Internal {
        reason: String,
    },
}

/// What most functions here return.
pub type ExecResult<T> = Result<T, ExecError>;

impl ExecError {
    /// Returns what the caller can do.
    pub fn kind(&self) -> ExecErrorKind {
        match self {
            Self::NumericOutOfRange { .. } => ExecErrorKind::NumericOutOfRange,
            Self::DivisionByZero => ExecErrorKind::DivisionByZero,
            Self::MoreThanOneRow => ExecErrorKind::Cardinality,
            Self::OutOfMemory { .. } => ExecErrorKind::OutOfMemory,
            Self::DiskFull { .. } => ExecErrorKind::DiskFull,
            Self::SpillFailed { .. } => ExecErrorKind::SpillFailed,
            Self::Canceled => ExecErrorKind::Canceled,
            Self::DeadlineExceeded => ExecErrorKind::DeadlineExceeded,
            Self::Function { .. } => ExecErrorKind::Function,
            Self::Store(_) => ExecErrorKind::Store,
            Self::Internal { .. } => ExecErrorKind::Internal,
        }
    }

    /// Makes the error of a computation on SQL values.
    pub(crate) fn of_value(error: ValueError) -> Self {
        let message = error.text().message.clone();
        match error {
            ValueError::DivisionByZero(_) => Self::DivisionByZero,
            ValueError::Cardinality(_) => Self::MoreThanOneRow,
            ValueError::Internal(_) => Self::internal(message),
            _ => Self::Function { sqlstate: error.sql_state(), message },
        }
    }

    /// Returns the same error once more, if it is one of values, which may never be asked for.
    pub(crate) fn of_values(&self) -> Option<Self> {
        match self {
            Self::NumericOutOfRange { type_name } => Some(Self::NumericOutOfRange { type_name }),
            Self::DivisionByZero => Some(Self::DivisionByZero),
            Self::MoreThanOneRow => Some(Self::MoreThanOneRow),
            Self::Function { sqlstate, message } => {
                Some(Self::Function { sqlstate, message: message.clone() })
            }
            Self::OutOfMemory { .. }
            | Self::DiskFull { .. }
            | Self::SpillFailed { .. }
            | Self::Canceled
            | Self::DeadlineExceeded
            | Self::Store(_)
            | Self::Internal { .. } => None,
        }
    }

    /// Makes the error for a broken contract between parts of this crate.
    #[cold]
    pub(crate) fn internal(reason: impl Into<String>) -> Self {
        Self::Internal { reason: reason.into() }
    }
}

impl fmt::Display for ExecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NumericOutOfRange { type_name } => write!(f, "{type_name} out of range"),
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::MoreThanOneRow => {
                f.write_str("more than one row returned by a subquery used as an expression")
            }
            Self::OutOfMemory { operator, setting, bytes, bytes_max } => write!(
                f,
                "{operator} needs {bytes} bytes, but {setting} leaves the query {bytes_max}"
            ),
            Self::DiskFull { place, setting, bytes, bytes_max: Some(bytes_max) } => write!(
                f,
                "temporary files in {place} need {bytes} bytes, but {setting} leaves them \
                 {bytes_max}"
            ),
            Self::DiskFull { place, bytes, bytes_max: None, .. } => write!(
                f,
                "temporary files in {place} take {bytes} bytes, and its disk has no space for more"
            ),
            Self::SpillFailed { place, action, error } => {
                write!(f, "could not {action} a temporary file in {place}: {error}")
            }
            Self::Canceled => f.write_str("canceling statement due to user request"),
            Self::DeadlineExceeded => f.write_str("canceling statement due to statement timeout"),
            Self::Function { message, .. } => f.write_str(message),
            Self::Store(error) => write!(f, "{error}"),
            Self::Internal { reason } => write!(f, "internal error in execution: {reason}"),
        }
    }
}

impl std::error::Error for ExecError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            Self::SpillFailed { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl From<nacre_store::Error> for ExecError {
    fn from(error: nacre_store::Error) -> Self {
        Self::Store(Box::new(error))
    }
}
