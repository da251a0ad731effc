//! Work that waits for a device, on threads that may wait.
//!
//! Whoever runs a statement can be told whether such work is under way ([`Underway`]): only its end
//! says whether rows were changed, so a statement that is to be cancelled is waited for then,
//! while it can be left alone at any other moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, ErrorKind, Result};

tokio::task_local! {
    static UNDERWAY: Arc<AtomicUsize>;
}

/// Tells whether a statement has work under way that must not be left alone.
#[derive(Clone, Debug, Default)]
pub struct Underway(Arc<AtomicUsize>);

impl Underway {
    /// Runs a statement's future and counts its work.
    pub async fn watch<F: Future>(&self, statement: F) -> F::Output {
        UNDERWAY.scope(Arc::clone(&self.0), statement).await
    }

    /// Whether there is work whose end was not seen yet.
    pub fn is_working(&self) -> bool {
        // ORDERING: written and read by the one task that polls the statement.
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// Counts work until its end was seen or nobody waits for it any more.
struct Counted(Option<Arc<AtomicUsize>>);

impl Counted {
    fn new() -> Self {
        let counter = UNDERWAY.try_with(Arc::clone).ok();
        if let Some(counter) = &counter {
            // ORDERING: see `Underway::is_working`.
            counter.fetch_add(1, Ordering::Relaxed);
        }
        Self(counter)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(counter) = &self.0 {
            // ORDERING: see `Underway::is_working`.
            counter.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Runs `work`, called `what`, on a thread that may wait. It goes on to its end if the future is
/// dropped.
///
/// # Errors
/// `Internal` if it panicked.
pub(crate) async fn blocking<T: Send + 'static>(
    what: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let _counted = Counted::new();
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        Error::new(ErrorKind::Internal, format!("internal error: {what} ended: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::mpsc;
    use std::task::Poll;

    use super::*;

    #[tokio::test]
    async fn work_is_under_way_until_its_end_was_seen() {
        let underway = Underway::default();
        let (sender, receiver) = mpsc::channel::<()>();
        let mut statement = pin!(underway.watch(blocking("a test", move || receiver.recv())));
        let is_pending =
            poll_fn(|context| Poll::Ready(statement.as_mut().poll(context).is_pending()));
        assert!(is_pending.await && underway.is_working());
        sender.send(()).unwrap();
        assert!(statement.await.unwrap().is_ok() && !underway.is_working());
    }
}
