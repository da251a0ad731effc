//! How a query is told to end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::error::{ExecError, ExecResult};

/// Cancel flag and deadline of a query.
#[derive(Debug, Default)]
pub struct QueryControl {
    /// Set by whoever wants the query to end, never reset; workers read it before each vector.
    is_canceled: AtomicBool,
    deadline: Option<Instant>,
}

impl QueryControl {
    pub(crate) fn new(deadline: Option<Instant>) -> Self {
        Self { is_canceled: AtomicBool::new(false), deadline }
    }

    /// Asks the query to end.
    pub fn cancel(&self) {
        // ORDERING: a flag; whoever reads it late runs one more vector.
        self.is_canceled.store(true, Ordering::Relaxed);
    }

    pub(crate) fn has_deadline(&self) -> bool {
        self.deadline.is_some()
    }

    /// Fails if the query is to end.
    ///
    /// # Errors
    /// [`ExecError::Canceled`], [`ExecError::DeadlineExceeded`].
    pub(crate) fn check(&self) -> ExecResult<()> {
        // ORDERING: as above.
        if self.is_canceled.load(Ordering::Relaxed) {
            return Err(ExecError::Canceled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(ExecError::DeadlineExceeded),
            _ => Ok(()),
        }
    }
}
