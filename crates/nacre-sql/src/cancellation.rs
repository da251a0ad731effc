//! How work on another thread learns that its caller has gone.
//!
//! A statement ends early by being dropped: cancelled, out of time, or its client gone. What runs
//! on another thread is not dropped with it. Such a thread shares a [`Progress`] with its caller,
//! and long work asks it now and then: the one that it was given, or the one that its thread
//! watches.

use std::cell::RefCell;
use std::sync::Arc;

use datafusion::common::Result as PlannerResult;
use nacre_ingest::Progress;

use crate::error::{Error, ErrorKind};
use crate::from_datafusion::external;

thread_local! {
    static WATCHED: RefCell<Option<Arc<Progress>>> = const { RefCell::new(None) };
}

/// Cancels the work when it is dropped, unless it was disarmed.
pub(crate) struct CancelOnDrop(Option<Arc<Progress>>);

impl CancelOnDrop {
    pub(crate) fn new(progress: &Arc<Progress>) -> Self {
        Self(Some(Arc::clone(progress)))
    }

    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(progress) = &self.0 {
            progress.cancel();
        }
    }
}

/// Has [`is_cancelled`] on this thread answer for this work from now on.
pub(crate) fn watch_on_this_thread(progress: Arc<Progress>) {
    WATCHED.set(Some(progress));
}

/// Whether this thread works for a caller that may go away.
pub(crate) fn is_watched() -> bool {
    WATCHED.with_borrow(Option::is_some)
}

/// Whether the caller that this thread works for has gone.
pub(crate) fn is_cancelled() -> bool {
    WATCHED.with_borrow(|progress| progress.as_ref().is_some_and(|one| one.is_cancelled()))
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
