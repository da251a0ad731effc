//! Waiting for a transaction to end, on behalf of one that another is in the way of.
//!
//! Transactions never wait for each other (see the module above); a statement of a READ COMMITTED
//! transaction that was refused may wait here before it is tried again.
//!
//! # Concurrency
//! Whoever ends looks at one counter and goes on if nobody waits. A wait that began too late to be
//! seen by the transaction it waits for ends with its time limit.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Tells those who wait that transactions have ended.
#[derive(Debug, Default)]
pub(super) struct Ended {
    waiting: AtomicUsize,
    /// Transactions that ended while somebody waited.
    count: Mutex<u64>,
    changed: Condvar,
}

/// A wait for the end of other transactions: see [`crate::Store::watch_transactions`].
#[derive(Debug)]
pub struct EndWatch<'a> {
    ended: &'a Ended,
    seen: u64,
}

impl Ended {
    /// Tells that a transaction has ended.
    pub(super) fn tell(&self) {
        // ORDERING: sequentially consistent after the transaction's end, as `watch` is before the
        // look at what the transaction left.
        if self.waiting.load(Ordering::SeqCst) > 0 {
            *self.count() += 1;
            self.changed.notify_all();
        }
    }

    /// Begins to watch: what ends from now on ends the next wait.
    pub(super) fn watch(&self) -> EndWatch<'_> {
        // ORDERING: see `tell`.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let seen = *self.count();
        EndWatch { ended: self, seen }
    }

    fn count(&self) -> MutexGuard<'_, u64> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EndWatch<'_> {
    /// Waits until a transaction has ended since the last wait, but not longer than `limit`.
    pub fn wait(&mut self, limit: Duration) {
        let count = self.ended.count();
        let seen = self.seen;
        let waited = self.ended.changed.wait_timeout_while(count, limit, |now| *now == seen);
        self.seen = match waited {
            Ok((count, _)) => *count,
            Err(poisoned) => *poisoned.into_inner().0,
        };
    }
}

impl Drop for EndWatch<'_> {
    fn drop(&mut self) {
        // ORDERING: one less to be told; too many are no harm.
        self.ended.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    /// Longer than anything takes here.
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn wait_ends_with_a_transaction_that_ended_since_the_watch_began() {
        let ended = Ended::default();
        let begin = Instant::now();
        let mut watching = ended.watch();
        ended.tell();
        watching.wait(LONG);
        let (sender, receiver) = mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut watching = ended.watch();
                sender.send(()).unwrap();
                watching.wait(LONG);
            });
            receiver.recv().unwrap();
            ended.tell();
        });
        assert!(begin.elapsed() < LONG);
    }

    #[test]
    fn what_ended_before_is_not_waited_for_again() {
        let ended = Ended::default();
        let mut watching = ended.watch();
        ended.tell();
        watching.wait(LONG);
        let begin = Instant::now();
        watching.wait(Duration::from_millis(5));
        assert!(begin.elapsed() >= Duration::from_millis(5));
        drop(watching);
        ended.tell();
        assert_eq!(*ended.count(), 1);
    }
}
