//! Who is active: a slot with the start of each transaction.
//!
//! 1. A transaction takes a free slot by storing the clock there, and looks at the clock again: if
//!    it has moved on, the start does too.
//! 2. Who wants to know what nobody needs any more reads the clock and then all slots. A slot that
//!    was taken too late to be seen holds a start that is not before that clock.
//! 3. Slots are tried from where the thread had its last one, so that threads keep to lines of the
//!    cache of their own. If none is free there are more, each segment as large as all before.
//!
//! # Invariants
//! 1. A slot that is taken holds a start up to that of its transaction; the two are the same by the
//!    time anybody reads a clock that is past it.
//! 2. A segment is never given back.
//! # Concurrency
//! No latch but for a new segment. `clock` is the same everywhere.
//! # Source
//! [Muehlbauer16 2.2.4] the oldest active start decides what is collected. Differs: there is no
//! list of active transactions that all would have to latch.

use std::cell::Cell;
use std::cmp::Reverse;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use nacre_pmem::coarse_time;

use crate::id::{CommitTs, TX_ID_FIRST, TxId};
use crate::mvcc::{IsolationLevel, Snapshot};

/// Slots of the first segment.
const FIRST_SLOTS: usize = 16;

/// Segments: more slots than there can be transactions.
const SEGMENTS: usize = 20;

/// Bits of a transaction's id that are the number of its slot.
const SLOT_BITS: u32 = 24;

const _: () = assert!(slot_count(SEGMENTS) <= 1 << SLOT_BITS);

/// No stamp.
const NO_STAMP: u32 = u32::MAX;

/// Start of a slot that is free.
const FREE: u64 = u64::MAX;

thread_local! {
    /// Where the thread had its last slot.
    static LAST: Cell<usize> = const { Cell::new(0) };
}

/// A slot in lines of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Slot {
    /// [`FREE`], or the last commit that its transaction sees. All else is the owner's.
    start: AtomicU64,
    /// The id of its transaction, or of the next one.
    tx: AtomicU64,
    level: AtomicU8,
    /// The stamp that its last transaction left to the next one, or [`NO_STAMP`].
    stamp: AtomicU32,
    /// [`coarse_time`] of the transaction's begin, in nanoseconds.
    began: AtomicU64,
}

/// What is known of an active transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct ActiveInfo {
    pub(super) snapshot: Snapshot,
    pub(super) level: IsolationLevel,
    pub(super) age: Duration,
}

/// The active transactions.
#[derive(Debug, Default)]
pub(super) struct Active {
    segments: [OnceLock<Box<[Slot]>>; SEGMENTS],
    /// Slots from here on were never taken.
    used: AtomicUsize,
}

impl Active {
    /// Takes a slot for a transaction that begins, and returns its number and what it sees.
    pub(super) fn begin(&self, level: IsolationLevel, clock: &AtomicU64) -> (usize, Snapshot) {
        let began = coarse_time().as_nanos() as u64;
        // ORDERING: the first guess; `settle` reads it again.
        let (number, slot) = self.take(clock.load(Ordering::Relaxed));
        // ORDERING: whoever had the slot before stored it before giving the slot back.
        let tx = slot.tx.load(Ordering::Relaxed);
        // ORDERING: `list` alone reads these, and may see those of the slot's last transaction.
        slot.level.store(level as u8, Ordering::Relaxed);
        slot.began.store(began, Ordering::Relaxed);
        (number, Snapshot { start: slot.settle(clock), tx: TxId(tx) })
    }

    /// Moves the start of a transaction to the clock.
    pub(super) fn refresh(&self, number: usize, old: Snapshot, clock: &AtomicU64) -> Snapshot {
        let Some(slot) = self.slot(number) else {
            return old;
        };
        Snapshot { start: slot.settle(clock), tx: old.tx }
    }

    /// Gives a slot back.
    pub(super) fn end(&self, number: usize) {
        if let Some(slot) = self.slot(number) {
            // ORDERING: only the owner writes it; the next one comes after the store below.
            slot.tx.store(next_id(slot.tx.load(Ordering::Relaxed)), Ordering::Relaxed);
            // ORDERING: sequentially consistent, so that who ends and who commits, each of whom
            // looks afterwards whether the other has left something to do, do not both miss it.
            slot.start.store(FREE, Ordering::SeqCst);
        }
    }

    /// Takes the stamp that the last transaction of a slot left; the caller has the slot.
    #[inline]
    pub(super) fn take_stamp(&self, number: usize) -> Option<u32> {
        let slot = self.slot(number)?;
        // ORDERING: whoever has the slot alone reads and writes it.
        let stamp = slot.stamp.load(Ordering::Relaxed);
        slot.stamp.store(NO_STAMP, Ordering::Relaxed);
        Some(stamp).filter(|stamp| *stamp != NO_STAMP)
    }

    /// Leaves a stamp to the next transaction of a slot, which the caller has; returns whether it
    /// could.
    #[inline]
    pub(super) fn leave_stamp(&self, number: usize, stamp: u32) -> bool {
        // ORDERING: as in `take_stamp`.
        let free = |slot: &&Slot| slot.stamp.load(Ordering::Relaxed) == NO_STAMP;
        let slot = self.slot(number).filter(free);
        slot.is_some_and(|slot| {
            slot.stamp.store(stamp, Ordering::Relaxed);
            true
        })
    }

    /// Returns how many stamps are left to next transactions.
    #[cfg(test)]
    pub(super) fn stamps_left(&self) -> usize {
        let has_one = |(_, slot): &(usize, &Slot)| slot.stamp.load(Ordering::SeqCst) != NO_STAMP;
        self.slots().filter(has_one).count()
    }

    /// Calls `visit` with the start of each active transaction but that of slot `except`. Whoever
    /// is missed has a start that is not before the clock as it was read before this call.
    pub(super) fn each_start(&self, except: Option<usize>, mut visit: impl FnMut(CommitTs)) {
        for (number, slot) in self.slots() {
            // ORDERING: sequentially consistent; see `settle`.
            let start = slot.start.load(Ordering::SeqCst);
            if start != FREE && Some(number) != except {
                visit(CommitTs(start));
            }
        }
    }

    /// Lists the active transactions, the oldest snapshot first.
    pub(super) fn list(&self) -> Vec<ActiveInfo> {
        let now = coarse_time().as_nanos() as u64;
        let info = |(_, slot): (usize, &Slot)| {
            let start = slot.start.load(Ordering::SeqCst);
            // ORDERING: values of a slot that changes hands meanwhile may not belong together.
            let tx = slot.tx.load(Ordering::Relaxed);
            let began = slot.began.load(Ordering::Relaxed);
            let level = level_of(slot.level.load(Ordering::Relaxed));
            let age = Duration::from_nanos(now.saturating_sub(began));
            let snapshot = Snapshot { start: CommitTs(start), tx: TxId(tx) };
            (start != FREE).then_some(ActiveInfo { snapshot, level, age })
        };
        let mut list: Vec<ActiveInfo> = self.slots().filter_map(info).collect();
        list.sort_by_key(|info| (info.snapshot.start, Reverse(info.age)));
        list
    }

    /// Takes the first free slot from the thread's last one on.
    fn take(&self, start: u64) -> (usize, &Slot) {
        let last = LAST.get();
        if let Some(slot) = self.slot(last)
            && slot.try_take(start)
        {
            self.note_used(last);
            return (last, slot);
        }
        self.take_other(start)
    }

    /// Takes any free slot. There are more of them than there can be transactions, so one is found.
    #[cold]
    fn take_other(&self, start: u64) -> (usize, &Slot) {
        let mut number = 0;
        loop {
            let (segment, at) = place(number);
            let slots = self.segments[segment].get_or_init(|| new_slots(segment));
            let slot = &slots[at];
            if slot.try_take(start) {
                LAST.set(number);
                self.note_used(number);
                return (number, slot);
            }
            number = (number + 1) % slot_count(SEGMENTS);
        }
    }

    #[inline]
    fn note_used(&self, number: usize) {
        // ORDERING: sequentially consistent, between taking the slot and reading the clock: who
        // does not see the slot because of it reads a clock that the transaction sees too.
        if self.used.load(Ordering::SeqCst) <= number {
            self.used.fetch_max(number + 1, Ordering::SeqCst);
        }
    }

    #[inline]
    fn slot(&self, number: usize) -> Option<&Slot> {
        let (segment, at) = place(number);
        self.segments.get(segment)?.get()?.get(at)
    }

    /// Returns all slots that were ever taken.
    fn slots(&self) -> impl Iterator<Item = (usize, &Slot)> {
        let used = self.used.load(Ordering::SeqCst);
        (0..used).filter_map(|number| Some((number, self.slot(number)?)))
    }
}

impl Slot {
    fn try_take(&self, start: u64) -> bool {
        // ORDERING: sequentially consistent; see `settle`.
        self.start.load(Ordering::Relaxed) == FREE
            && self.start.compare_exchange(FREE, start, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Brings the start to the clock and returns it. Each turn but the last one has seen a commit.
    #[inline]
    fn settle(&self, clock: &AtomicU64) -> CommitTs {
        // ORDERING: the slot is stored, then the clock read; others read the clock, then the slot,
        // or store the clock, then read the slot. All of it is sequentially consistent, so either
        // they see the slot, or this sees what they know of the clock.
        let mut start = self.start.load(Ordering::Relaxed);
        loop {
            let now = clock.load(Ordering::SeqCst);
            if now == start {
                return CommitTs(start);
            }
            self.start.store(now, Ordering::SeqCst);
            start = now;
        }
    }
}

fn new_slots(segment: usize) -> Box<[Slot]> {
    let slot = |at: usize| Slot {
        start: AtomicU64::new(FREE),
        tx: AtomicU64::new(TX_ID_FIRST | (slot_count(segment) + at) as u64),
        level: AtomicU8::new(0),
        stamp: AtomicU32::new(NO_STAMP),
        began: AtomicU64::new(0),
    };
    (0..FIRST_SLOTS << segment).map(slot).collect()
}

/// Returns the id of the next transaction of a slot. After 2^39 of them the first id comes again,
/// when nothing is left that bears it.
fn next_id(tx: u64) -> u64 {
    TX_ID_FIRST | (tx + (1 << SLOT_BITS)) & !TX_ID_FIRST
}

/// Returns how many slots the first `segments` have.
const fn slot_count(segments: usize) -> usize {
    FIRST_SLOTS * ((1 << segments) - 1)
}

/// Returns the segment of a slot and its place there.
#[inline]
fn place(number: usize) -> (usize, usize) {
    let segment = (number / FIRST_SLOTS + 1).ilog2() as usize;
    (segment, number - slot_count(segment))
}

fn level_of(level: u8) -> IsolationLevel {
    let all = [
        IsolationLevel::Serializable,
        IsolationLevel::RepeatableRead,
        IsolationLevel::ReadCommitted,
    ];
    all.into_iter().find(|one| *one as u8 == level).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    fn starts(active: &Active) -> Vec<u64> {
        let mut starts = Vec::new();
        active.each_start(None, |start| starts.push(start.0));
        starts.sort_unstable();
        starts
    }

    #[test]
    fn segments_follow_each_other() {
        assert_eq!((place(0), place(15)), ((0, 0), (0, 15)));
        assert_eq!((place(16), place(47), place(48)), ((1, 0), (1, 31), (2, 0)));
    }

    #[test]
    fn slots_are_taken_given_back_and_made() {
        let (active, clock) = (Active::default(), AtomicU64::new(5));
        let begin = || active.begin(IsolationLevel::Serializable, &clock);
        let mut all: Vec<(usize, Snapshot)> = (0..100).map(|_| begin()).collect();
        assert_eq!(starts(&active), [5; 100]);
        clock.store(6, Ordering::SeqCst);
        let (number, old) = all.swap_remove(40);
        assert_eq!(active.refresh(number, old, &clock).start, CommitTs(6));
        assert_eq!((starts(&active)[98], starts(&active)[99]), (5, 6));
        let list = active.list();
        assert_eq!((list.len(), list[99].snapshot.tx), (100, old.tx));
        all.iter().for_each(|(number, _)| active.end(*number));
        active.end(number);
        assert!(starts(&active).is_empty() && active.list().is_empty());
        let (again, _) = begin();
        assert!(again < 100);
    }

    /// Whoever reads the clock and then the slots sees each transaction with its start, or the
    /// transaction is not older than that clock.
    #[test]
    fn transaction_that_begins_is_seen_or_younger() {
        let (active, clock) = (Active::default(), AtomicU64::new(1));
        let is_over = AtomicBool::new(false);
        let collected = AtomicU64::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..20_000 {
                    let now = clock.fetch_add(1, Ordering::SeqCst) + 1;
                    let mut horizon = now;
                    active.each_start(None, |start| horizon = horizon.min(start.0));
                    collected.fetch_max(horizon, Ordering::SeqCst);
                }
                is_over.store(true, Ordering::SeqCst);
            });
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::SeqCst) {
                        let (number, seen) = active.begin(IsolationLevel::Serializable, &clock);
                        for _ in 0..3 {
                            assert!(collected.load(Ordering::SeqCst) <= seen.start.0);
                        }
                        active.end(number);
                    }
                });
            }
        });
        assert!(active.list().is_empty());
    }
}
