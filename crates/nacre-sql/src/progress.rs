//! Cancelling work on blocking threads whose caller went away.

use std::sync::Arc;

use nacre_ingest::Progress;

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
