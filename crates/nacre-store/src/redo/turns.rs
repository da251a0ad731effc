//! Whose turn it is to store what many wait for.
//!
//! One has the turn; the others sleep until it ends. Then all of them are woken at once: those
//! whose wait is over go on without a latch, and one of the rest has the next turn. With a latch
//! in this place whoever releases it wakes one of them, which wakes the next, and somebody who
//! comes in between and stores the next lot keeps the rest asleep until that is done as well.
//!
//! # Invariants
//! At most one [`Turn`] at any time.
//! # Source
//! [Muehlbauer16 2.4] group commit.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Gives out turns.
#[derive(Debug, Default)]
pub(super) struct Turns {
    is_taken: Mutex<bool>,
    ended: Condvar,
}

/// Ends when it is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a>(&'a Turns);

impl Turns {
    /// Returns the turn as soon as nobody has it, or nothing as soon as `is_over` says so, which
    /// is asked again after every turn.
    pub(super) fn take_unless(&self, is_over: impl Fn() -> bool) -> Option<Turn<'_>> {
        let waits = |is_taken: &mut bool| *is_taken && !is_over();
        let waited = self.ended.wait_while(self.is_taken(), waits);
        let mut is_taken = waited.unwrap_or_else(PoisonError::into_inner);
        if is_over() {
            return None;
        }
        *is_taken = true;
        Some(Turn(self))
    }

    fn is_taken(&self) -> MutexGuard<'_, bool> {
        self.is_taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        *self.0.is_taken() = false;
        self.0.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    use super::*;

    #[test]
    fn turns_do_not_overlap_and_end_the_waits_of_all_they_served() {
        let (turns, asked, served) = (Turns::default(), AtomicU64::new(0), AtomicU64::new(0));
        let (working, lots) = (AtomicU32::new(0), AtomicU64::new(0));
        let wait = || {
            let mine = asked.fetch_add(1, Ordering::SeqCst) + 1;
            if let Some(turn) = turns.take_unless(|| served.load(Ordering::SeqCst) >= mine) {
                assert_eq!(working.fetch_add(1, Ordering::SeqCst), 0);
                let all = asked.load(Ordering::SeqCst);
                std::thread::yield_now();
                served.fetch_max(all, Ordering::SeqCst);
                lots.fetch_add(1, Ordering::SeqCst);
                working.fetch_sub(1, Ordering::SeqCst);
                drop(turn);
            }
            assert!(served.load(Ordering::SeqCst) >= mine);
        };
        std::thread::scope(|scope| {
            (0..8).for_each(|_| drop(scope.spawn(|| (0..1_000).for_each(|_| wait()))));
        });
        let (asked, lots) = (asked.into_inner(), lots.into_inner());
        assert_eq!(asked, 8_000);
        assert!((1..=asked).contains(&lots));
    }

    #[test]
    fn turn_that_failed_is_followed_by_another() {
        let turns = Turns::default();
        drop(turns.take_unless(|| false).unwrap());
        assert!(turns.take_unless(|| true).is_none());
        assert!(turns.take_unless(|| false).is_some());
    }
}
