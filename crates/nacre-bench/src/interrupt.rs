//! Runs a story to its end, or to the first Ctrl-C or SIGTERM, whichever comes first.
//!
//! The story runs on a runtime of its own, on a thread of its own, so that the caller may or may
//! not be inside a runtime. After a signal its future is dropped, which cancels what it awaits, and
//! the flag tells the blocking parts. The runtime is gone before [`run`] returns: nothing writes
//! any more when the caller removes the directory.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// A flag that blocking work looks at; set once a signal has come.
#[derive(Clone, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Returns an error if a signal has come.
    pub(crate) fn check(&self) -> Result<()> {
        // ORDERING: a lone flag that guards no other memory.
        if self.0.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// Runs `story` on a runtime of its own until it ends or a signal comes.
///
/// The runtime has `threads` workers, by default one per hardware thread.
pub(crate) fn run<F, Fut>(threads: Option<usize>, story: F) -> Result<()>
where
    F: FnOnce(Interrupt) -> Fut + Send,
    Fut: Future<Output = Result<()>>,
{
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            if let Some(threads) = threads {
                builder.worker_threads(threads.max(1));
            }
            let runtime = builder
                .enable_all()
                .build()
                .map_err(|source| Error::Io { action: "start worker threads".into(), source })?;
            runtime.block_on(until_signal(story))
        });
        match worker.join() {
            Ok(outcome) => outcome,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Runs `story`, which blocks its thread and looks at the flag itself, as [`run`] does.
pub(crate) fn run_blocking<F>(story: F) -> Result<()>
where
    F: FnOnce(Interrupt) -> Result<()> + Send + 'static,
{
    run(Some(1), async move |interrupt| {
        match tokio::task::spawn_blocking(move || story(interrupt)).await {
            Ok(outcome) => outcome,
            Err(stopped) => match stopped.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Error::Interrupted),
            },
        }
    })
}

async fn until_signal<F, Fut>(story: F) -> Result<()>
where
    F: FnOnce(Interrupt) -> Fut,
    Fut: Future<Output = Result<()>>,
{
    let interrupt = Interrupt::default();
    tokio::select! {
        biased;
        () = signal() => {
            // ORDERING: a lone flag that guards no other memory.
            interrupt.0.store(true, Ordering::Relaxed);
            Err(Error::Interrupted)
        }
        outcome = story(interrupt.clone()) => outcome,
    }
}

/// Waits for Ctrl-C or SIGTERM; forever if this process cannot listen for signals.
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut int), Ok(mut term)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = int.recv() => {}
        _ = term.recv() => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn story_may_be_run_from_inside_a_runtime() {
        let outer = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcome =
            outer.block_on(async { run(None, |interrupt| async move { interrupt.check() }) });
        assert!(outcome.is_ok());
    }

    #[test]
    fn error_of_the_story_is_handed_on() {
        let outcome = run(Some(1), |_| async { Err(Error::Usage("no".into())) });
        assert!(matches!(outcome, Err(Error::Usage(message)) if message == "no"));
    }
}
