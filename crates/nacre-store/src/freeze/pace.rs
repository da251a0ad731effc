//! When to freeze without being asked.
//!
//! The measure is the redo log: it is what freezing is to keep short, and its growth tells how busy
//! the database is. Whoever commits looks at one number.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::id::{Lsn, now_micros};

/// Growth of the log between two checkpoints unless set otherwise: about a second of replay.
pub(crate) const CHECKPOINT_BYTES: u64 = 128 << 20;

/// A full chunk is frozen once nobody wrote to it for this part of that growth.
const LOOKS: u64 = 8;

/// Positions of the log at which something is due.
#[derive(Debug)]
pub(crate) struct Pace {
    /// 0 if nothing is done unasked.
    checkpoint_bytes: u64,
    /// Where the next checkpoint is due. Written by maintenance and at opening.
    checkpoint: AtomicU64,
    /// Where chunks are to be looked at. Written by maintenance and at opening.
    look: AtomicU64,
    /// The position for which maintenance was woken last. Written by those who commit.
    woken: AtomicU64,
    /// When the log was truncated last, in microseconds since 1970; 0 if it was not since opening.
    truncated: AtomicU64,
}

impl Pace {
    /// Counts with a growth of `checkpoint_bytes` between two checkpoints.
    pub(crate) fn new(checkpoint_bytes: u64) -> Self {
        let pace = Self {
            checkpoint_bytes,
            checkpoint: AtomicU64::new(u64::MAX),
            look: AtomicU64::new(u64::MAX),
            woken: AtomicU64::new(0),
            truncated: AtomicU64::new(0),
        };
        pace.begin(Lsn(0));
        pace
    }

    /// Counts from `start`, the position of the oldest group.
    pub(crate) fn begin(&self, start: Lsn) {
        self.next_checkpoint(start, 0);
        self.next_look(start);
    }

    /// Has the next checkpoint come when the log has grown from `end`; `kept_bytes` were written to
    /// it by the last one, which is worth it if as many others come.
    pub(crate) fn next_checkpoint(&self, end: Lsn, kept_bytes: u64) {
        let growth = self.checkpoint_bytes.max(2 * kept_bytes);
        self.set(&self.checkpoint, end, growth);
    }

    /// Notes that the log was truncated now.
    pub(crate) fn note_truncated(&self) {
        // ORDERING: a time; nothing else depends on it.
        self.truncated.store(now_micros(), Ordering::Relaxed);
    }

    /// Returns how long ago the log was truncated, if it was since opening.
    pub(crate) fn truncated_ago(&self) -> Option<Duration> {
        // ORDERING: as in `note_truncated`.
        let micros = Some(self.truncated.load(Ordering::Relaxed)).filter(|micros| *micros > 0)?;
        Some(Duration::from_micros(now_micros().saturating_sub(micros)))
    }

    /// Has the checkpoint, which failed, be tried again when the log has grown somewhat.
    pub(crate) fn postpone_checkpoint(&self, end: Lsn) {
        self.set(&self.checkpoint, end, self.checkpoint_bytes / LOOKS);
    }

    pub(crate) fn next_look(&self, end: Lsn) {
        self.set(&self.look, end, self.checkpoint_bytes / LOOKS);
    }

    fn set(&self, due: &AtomicU64, end: Lsn, growth: u64) {
        let position = match self.checkpoint_bytes {
            0 => u64::MAX,
            _ => end.0.saturating_add(growth.max(1)),
        };
        // ORDERING: a position; nothing else depends on it.
        due.store(position, Ordering::Relaxed);
    }

    /// Whether a checkpoint is due.
    pub(crate) fn is_checkpoint_due(&self, end: Lsn) -> bool {
        // ORDERING: as in `set`.
        end.0 >= self.checkpoint.load(Ordering::Relaxed)
    }

    /// Whether anything is due.
    pub(crate) fn is_due(&self, end: Lsn) -> bool {
        // ORDERING: as in `set`.
        end.0 >= self.look.load(Ordering::Relaxed) || self.is_checkpoint_due(end)
    }

    /// Whether whoever has brought the log to `end` is to wake maintenance.
    #[inline]
    pub(crate) fn wakes(&self, end: Lsn) -> bool {
        if !self.is_due(end) {
            return false;
        }
        // ORDERING: as in `set`. Several may see it at once; waking twice does no harm.
        let due = self.look.load(Ordering::Relaxed).min(self.checkpoint.load(Ordering::Relaxed));
        self.woken.swap(due, Ordering::Relaxed) != due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_that_are_due_wake_once() {
        let pace = Pace::new(800);
        assert!(!pace.wakes(Lsn(99)));
        assert!(pace.wakes(Lsn(100)) && !pace.wakes(Lsn(101)));
        pace.next_look(Lsn(101));
        assert!(!pace.is_due(Lsn(200)) && pace.wakes(Lsn(201)));
        assert!(!pace.is_checkpoint_due(Lsn(799)) && pace.is_checkpoint_due(Lsn(800)));
        pace.next_checkpoint(Lsn(800), 500);
        assert!(!pace.is_checkpoint_due(Lsn(1_799)) && pace.is_checkpoint_due(Lsn(1_800)));
        pace.postpone_checkpoint(Lsn(1_800));
        assert!(pace.is_checkpoint_due(Lsn(1_900)));
    }

    #[test]
    fn nothing_is_due_if_it_is_turned_off() {
        let pace = Pace::new(0);
        assert!(!pace.is_due(Lsn(u64::MAX - 1)));
    }
}
