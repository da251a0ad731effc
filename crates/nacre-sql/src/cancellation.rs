//! How a thread that works for a caller learns that the caller has gone.
//!
//! A statement ends early by being dropped: cancelled, out of time, or its client gone. What runs
//! on a thread of its own is not dropped with it. Such a thread watches a token, and long work asks
//! it now and then.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::common::Result as PlannerResult;

use crate::error::{Error, ErrorKind};
use crate::from_datafusion::external;

thread_local! {
    static WATCHED: RefCell<Option<CancelToken>> = const { RefCell::new(None) };
}

/// Set once the caller has gone.
#[derive(Debug, Clone, Default)]
pub(crate) struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Has [`is_cancelled`] on this thread answer for this token from now on.
    pub(crate) fn watch_on_this_thread(self) {
        WATCHED.set(Some(self));
    }
}

/// Who waits for the work; cancels it when dropped.
#[derive(Debug, Default)]
pub(crate) struct Caller(CancelToken);

impl Caller {
    /// Returns what the thread that works for this caller watches.
    pub(crate) fn token(&self) -> CancelToken {
        self.0.clone()
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        // ORDERING: a request to stop; nothing is read because of it.
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Whether this thread works for a caller that may go away.
pub(crate) fn is_watched() -> bool {
    WATCHED.with_borrow(Option::is_some)
}

/// Whether the caller that this thread works for has gone.
pub(crate) fn is_cancelled() -> bool {
    // ORDERING: see `Caller`.
    let is_set = |token: &CancelToken| token.0.load(Ordering::Relaxed);
    WATCHED.with_borrow(|token| token.as_ref().is_some_and(is_set))
}

/// Returns the error of a statement whose caller has gone.
pub(crate) fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "canceling statement due to user request")
}

/// Fails once the caller that this thread works for has gone.
///
/// # Errors
/// 57014.
pub(crate) fn check_cancelled() -> PlannerResult<()> {
    if is_cancelled() { Err(external(cancelled())) } else { Ok(()) }
}
