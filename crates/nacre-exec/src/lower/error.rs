//! Why a query has no physical plan.

use std::fmt;

use nacre_plan::control::is_stopped;
use nacre_types::ValueError;

use crate::error::ExecError;

/// Why a query has no physical plan.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoweringError {
    /// The executor has nothing with exactly this meaning: 0A000, or another engine runs the query.
    NotSupported { what: String },
    /// The plan would have more levels of operators than the executor opens, 54001: no engine that
    /// takes longer for larger queries may try.
    TooManyLevels { levels_max: usize },
    /// A constant has no value: an error of the query before its first row, as in PostgreSQL, which
    /// computes immutable functions of constants while it plans.
    ConstantFails { error: ValueError },
    /// Planning was stopped ([`nacre_plan::control`]).
    Stopped,
    /// The query contradicts itself or the store: a bug in Nacre (XX000).
    Contradiction { reason: String },
}

/// What most functions of the lowering return.
pub(super) type LoweringResult<T> = Result<T, LoweringError>;

impl LoweringError {
    pub(super) fn not_supported(what: impl Into<String>) -> Self {
        Self::NotSupported { what: what.into() }
    }

    /// Fails once planning is to end.
    pub(super) fn check_stopped() -> LoweringResult<()> {
        if is_stopped() { Err(Self::Stopped) } else { Ok(()) }
    }

    #[cold]
    pub(super) fn contradiction(reason: impl Into<String>) -> Self {
        Self::Contradiction { reason: reason.into() }
    }
}

impl fmt::Display for LoweringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSupported { what } => write!(f, "not supported: {what}"),
            Self::TooManyLevels { levels_max } => {
                write!(f, "a query can have at most {levels_max} operators above each other")
            }
            Self::ConstantFails { error } => write!(f, "{error}"),
            Self::Stopped => f.write_str("canceling statement due to user request"),
            Self::Contradiction { reason } => write!(f, "internal error in lowering: {reason}"),
        }
    }
}

impl std::error::Error for LoweringError {}

/// The graph refuses nodes only if their inputs are of wrong classes.
impl From<ExecError> for LoweringError {
    fn from(error: ExecError) -> Self {
        Self::contradiction(error.to_string())
    }
}
