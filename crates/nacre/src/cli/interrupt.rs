//! Ctrl-C: cancels the running statement, ends a script, never kills a database at work.
//!
//! | Ctrl-C comes | in the shell | elsewhere |
//! |---|---|---|
//! | while a statement runs | the statement is cancelled | the same, then exit code 130 |
//! | again, while it is being cancelled | nothing more | nothing more |
//! | otherwise | the line is cleared (by the line editor) | exit code 130 at once |

//!
//! # Concurrency
//! A thread of its own listens, because the worker threads may be too busy to look: a signal then
//! reaches the waiting console although no worker has a moment.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Exit code after Ctrl-C: 128 plus the number of SIGINT, as shells have it.
pub(crate) const EXIT_CODE: u8 = 130;

/// Listens for Ctrl-C as long as the process lives.
pub(crate) struct Interrupts {
    /// Counts the signals that came while a statement ran.
    received: watch::Receiver<u64>,
    is_busy: Arc<AtomicBool>,
}

impl Interrupts {
    /// Starts to listen.
    ///
    /// # Errors
    /// If the system refuses the thread or the signal handler.
    pub(crate) fn listen(is_interactive: bool) -> io::Result<Self> {
        let (sender, received) = watch::channel(0);
        let is_busy = Arc::new(AtomicBool::new(false));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let mut signals = runtime.block_on(async { signal(SignalKind::interrupt()) })?;
        let busy = Arc::clone(&is_busy);
        let listen = async move {
            while signals.recv().await.is_some() {
                // ORDERING: a lone flag; the statement itself is reached through the channel.
                if busy.load(Ordering::Relaxed) {
                    sender.send_modify(|count| *count += 1);
                } else if !is_interactive {
                    std::process::exit(i32::from(EXIT_CODE));
                }
            }
        };
        std::thread::Builder::new()
            .name("nacre-interrupt".to_owned())
            .spawn(move || runtime.block_on(listen))?;
        Ok(Self { received, is_busy })
    }

    /// Says that a statement starts; an earlier Ctrl-C does not count for it.
    pub(crate) fn begin(&mut self) {
        self.received.mark_unchanged();
        // ORDERING: see `listen`.
        self.is_busy.store(true, Ordering::Relaxed);
    }

    /// Says that the statement has ended.
    pub(crate) fn end(&mut self) {
        // ORDERING: see `listen`.
        self.is_busy.store(false, Ordering::Relaxed);
    }

    /// Waits for Ctrl-C during the statement.
    pub(crate) async fn wait(&mut self) {
        if self.received.changed().await.is_err() {
            // The listener has gone; nothing can come any more.
            std::future::pending::<()>().await;
        }
    }
}
