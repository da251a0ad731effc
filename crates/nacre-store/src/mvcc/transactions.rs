//! All transactions of a database: who is active, what committed of late, and the clock.
//!
//! # Invariants
//! 1. `clock` is the timestamp of the last commit that new snapshots see. Who decides what nobody
//!    needs any more reads it first and then who is active (`active.rs`), so no version is dropped
//!    that a new snapshot needs.
//! 2. `recent` is in commit order and holds every commit that an active snapshot does not see. One
//!    that all see when it becomes visible never gets there: its versions go at once.
//! 3. A commit is ordered under the lock: it gets its timestamp and is validated against all before
//!    it. It settles, that is becomes durable, outside of it, so that several can do so together,
//!    and is visible after that. When a commit has settled, all before it have.
//! # Source
//! [Muehlbauer16 2.2.4] collection at commit, by the oldest active start. Differs: readers hold
//! the latch of a chunk while they walk a chain, so memory is used again at once and no tombstone
//! is needed; and a commit drops versions of its rows that lie between active snapshots, so that a
//! long reader does not make chains grow.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::hot::HotChunk;
use crate::id::{CommitTs, TxId};
use crate::mvcc::active::{Active, ActiveInfo};
use crate::mvcc::ended::{EndWatch, Ended};
use crate::mvcc::undo::{GoneTable, UndoBuffer, Writes};
use crate::mvcc::{IsolationLevel, Snapshot, Stamps};
use crate::table::Table;

/// The id of no transaction.
pub(crate) const NOBODY: TxId = TxId(0);

/// Most bytes of changes of one transaction unless set otherwise: 1 GiB.
const TRANSACTION_BYTES_MAX: u64 = 1 << 30;

/// Commits whose versions a transaction drops at its end while others are active: more than it
/// makes, so that none pile up, and few enough that its client does not notice.
const COLLECTED_AT_ONCE: usize = 64;

/// Chunks without versions that keep memory for them, 256 KiB each or 4 bytes a row: to give it
/// back and clear it anew costs more than ten short transactions, so there are enough of them for
/// 67 million rows that are written to here and there.
const RETAINED_CHUNKS: usize = 1_024;

/// What [`crate::Store::transactions`] tells of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionInfo {
    pub tx: TxId,
    /// The last commit that it sees.
    pub start: CommitTs,
    pub level: IsolationLevel,
    /// How long it has been running.
    pub age: Duration,
}

/// A commit that some active snapshot may not see.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) ts: CommitTs,
    pub(crate) tx: TxId,
    pub(crate) change: Change,
}

/// What a commit makes visible.
#[derive(Debug)]
pub(crate) enum Change {
    Writes(Writes),
    /// A bulk load into a table.
    Load(Arc<Table>),
    /// Tables are dropped or replaced.
    Gone(Vec<GoneTable>),
    /// Rows were written to the log again; they did not change.
    Nothing,
}

impl Change {
    /// Whether rows of a table are others.
    pub(crate) fn writes_to(&self, table: &Table) -> bool {
        match self {
            Self::Writes(writes) => {
                let mut touched = writes.undo.touched().iter();
                !writes.undo.are_moves() && touched.any(|one| one.table.id() == table.id())
            }
            Self::Load(loaded) => loaded.id() == table.id(),
            Self::Gone(_) | Self::Nothing => false,
        }
    }
}

/// Commits in their order.
#[derive(Debug, Default)]
struct CommitOrder {
    /// The last timestamp that was drawn.
    last: CommitTs,
    /// Commits that have not settled, with the stamp of their versions.
    pending: VecDeque<(CommitTs, Option<u32>)>,
}

/// The transactions of a database.
#[derive(Debug)]
pub(crate) struct Transactions {
    stamps: Arc<Stamps>,
    clock: AtomicU64,
    active: Active,
    ended: Ended,
    commit: Mutex<CommitOrder>,
    recent: Mutex<VecDeque<Arc<Committed>>>,
    /// How many there are in `recent`; written under its lock.
    recent_count: AtomicUsize,
    retained: Mutex<VecDeque<Arc<HotChunk>>>,
    bytes_max: AtomicU64,
}

impl Default for Transactions {
    fn default() -> Self {
        Self {
            stamps: Arc::default(),
            clock: AtomicU64::new(0),
            active: Active::default(),
            ended: Ended::default(),
            commit: Mutex::default(),
            recent: Mutex::default(),
            recent_count: AtomicUsize::new(0),
            retained: Mutex::default(),
            bytes_max: AtomicU64::new(TRANSACTION_BYTES_MAX),
        }
    }
}

impl Transactions {
    /// Lets timestamps go on behind `last`, before there are transactions.
    pub(crate) fn resume(&self, last: CommitTs) {
        self.commit_order().last = last;
        self.clock.store(last.0, Ordering::SeqCst);
    }

    /// Begins to watch for transactions that end.
    pub(crate) fn watch(&self) -> EndWatch<'_> {
        self.ended.watch()
    }

    pub(crate) fn stamps(&self) -> &Arc<Stamps> {
        &self.stamps
    }

    /// Returns the most bytes that the changes of one transaction may take.
    pub(crate) fn bytes_max(&self) -> u64 {
        // ORDERING: a setting; nothing depends on its order.
        self.bytes_max.load(Ordering::Relaxed)
    }

    pub(crate) fn set_bytes_max(&self, bytes_max: u64) {
        // ORDERING: as in `bytes_max`.
        self.bytes_max.store(bytes_max, Ordering::Relaxed);
    }

    /// Begins a transaction; returns also the slot that it is noted in.
    #[inline]
    pub(crate) fn begin(&self, level: IsolationLevel) -> (usize, Snapshot) {
        self.active.begin(level, &self.clock)
    }

    /// Returns a stamp for the versions of the transaction of a slot.
    ///
    /// # Errors
    /// Those of [`Stamps::take`].
    #[inline]
    pub(crate) fn take_stamp(&self, slot: usize, tx: TxId) -> Result<u32> {
        match self.active.take_stamp(slot) {
            Some(stamp) => {
                self.stamps.begin(stamp, tx);
                Ok(stamp)
            }
            None => self.stamps.take(tx),
        }
    }

    /// Takes a stamp back that no version bears, from the transaction of a slot if there is one.
    pub(crate) fn give_back_stamp(&self, slot: Option<usize>, stamp: u32) {
        if !slot.is_some_and(|slot| self.active.leave_stamp(slot, stamp)) {
            self.stamps.give_back(stamp);
        }
    }

    /// Returns how many stamps versions bear.
    #[cfg(test)]
    pub(crate) fn stamps_in_use(&self) -> usize {
        self.stamps.in_use() - self.active.stamps_left()
    }

    /// Gives a transaction a new snapshot.
    pub(crate) fn refresh(&self, slot: usize, old: Snapshot) -> Snapshot {
        self.active.refresh(slot, old, &self.clock)
    }

    /// Commits: `order` gets the timestamp and refuses or says what changes, whose it is, and what
    /// has to settle; `settle` makes that and all before it durable. Nothing that has to settle
    /// means that the commit is visible at once. `slot` is that of the transaction, if it is one.
    pub(crate) fn commit<T>(
        &self,
        slot: Option<usize>,
        order: impl FnOnce(CommitTs) -> Result<(TxId, Change, Option<T>)>,
        settle: impl FnOnce(T) -> Result<()>,
    ) -> Result<(CommitTs, Option<UndoBuffer>)> {
        let mut commit = self.commit_order();
        let ts = CommitTs(commit.last.0 + 1);
        // One that is refused may have left its group in the log: nobody else gets its timestamp.
        commit.last = ts;
        let (tx, change, settled) = order(ts)?;
        let stamp = match &change {
            Change::Writes(writes) => Some(writes.stamp),
            Change::Load(_) | Change::Gone(_) | Change::Nothing => None,
        };
        commit.pending.push_back((ts, stamp));
        let Some(settled) = settled else {
            self.publish(&mut commit, ts);
            if self.is_seen_by_all(ts, slot) {
                drop(commit);
                return Ok((ts, self.release(change, slot)));
            }
            let committed = Arc::new(Committed { ts, tx, change });
            self.push_recent(&committed);
            drop(commit);
            self.prune(&committed, slot);
            return Ok((ts, None));
        };
        let committed = Arc::new(Committed { ts, tx, change });
        self.push_recent(&committed);
        drop(commit);
        match settle(settled) {
            Ok(()) => self.publish(&mut self.commit_order(), ts),
            Err(error) => self.withdraw(ts, error)?,
        }
        self.prune(&committed, slot);
        Ok((ts, None))
    }

    /// Returns the last commit that has its place, and what `with` returns at that moment.
    pub(crate) fn last_ordered<T>(&self, with: impl FnOnce() -> T) -> (CommitTs, T) {
        let commit = self.commit_order();
        (commit.last, with())
    }

    /// Whether all commits up to `ts` have settled.
    pub(crate) fn has_settled(&self, ts: CommitTs) -> bool {
        self.commit_order().pending.front().is_none_or(|(first, _)| *first > ts)
    }

    /// Makes all commits up to `ts` visible, in order.
    fn publish(&self, commit: &mut CommitOrder, ts: CommitTs) {
        while let Some(&(next, stamp)) = commit.pending.front().filter(|(next, _)| *next <= ts) {
            if let Some(stamp) = stamp {
                self.stamps.commit(stamp, next);
            }
            // ORDERING: sequentially consistent: who begins stores a slot and then reads the
            // clock, and this is followed by looks at the slots; one of both sees the other.
            self.clock.store(next.0, Ordering::SeqCst);
            commit.pending.pop_front();
        }
    }

    /// Whether all that are active, but for that of `slot`, see a commit that is visible.
    fn is_seen_by_all(&self, ts: CommitTs, slot: Option<usize>) -> bool {
        let mut is_seen = true;
        self.active.each_start(slot, |start| is_seen &= start >= ts);
        is_seen
    }

    fn push_recent(&self, committed: &Arc<Committed>) {
        let mut recent = self.recent();
        recent.push_back(Arc::clone(committed));
        self.note_recent(&recent);
    }

    /// Notes how many recent commits there are.
    fn note_recent(&self, recent: &VecDeque<Arc<Committed>>) {
        // ORDERING: sequentially consistent; see `end`.
        self.recent_count.store(recent.len(), Ordering::SeqCst);
    }

    /// Takes a commit back that could not be made durable, unless a later one that waits for
    /// nothing made it visible: then it may or may not be there after a restart.
    fn withdraw(&self, ts: CommitTs, error: Error) -> Result<()> {
        let mut commit = self.commit_order();
        let Some(position) = commit.pending.iter().position(|(pending, _)| *pending == ts) else {
            return Err(error);
        };
        commit.pending.remove(position);
        let withdrawn = {
            let mut recent = self.recent();
            let position = recent.iter().position(|committed| committed.ts == ts);
            let withdrawn = position.and_then(|position| recent.remove(position));
            self.note_recent(&recent);
            withdrawn
        };
        drop(commit);
        if let Some(Change::Writes(writes)) = withdrawn.as_ref().map(|one| &one.change) {
            writes.undo.undo_all();
            self.stamps.give_back(writes.stamp);
        }
        Err(error)
    }

    /// Drops versions of the rows of a commit that a long reader keeps from being collected, but
    /// that it does not see.
    fn prune(&self, committed: &Committed, slot: Option<usize>) {
        let Change::Writes(writes) = &committed.change else {
            return;
        };
        // Before the starts: none that is missed lies before it.
        let now = self.now();
        let mut starts = Vec::new();
        self.active.each_start(slot, |start| starts.push(start));
        starts.sort_unstable();
        starts.dedup();
        if starts.first().is_some_and(|oldest| *oldest < committed.ts) {
            writes.undo.prune(&starts, now);
        }
    }

    /// Returns the commits after `start`, oldest first.
    pub(crate) fn commits_since(&self, start: CommitTs) -> Vec<Arc<Committed>> {
        let recent = self.recent();
        let first = recent.partition_point(|committed| committed.ts <= start);
        recent.range(first..).cloned().collect()
    }

    /// Ends a transaction whose changes, if it has any, are committed or taken back, and drops what
    /// nobody needs any more. May return buffers that nobody uses.
    #[inline]
    pub(crate) fn end(&self, slot: usize) -> Option<UndoBuffer> {
        self.active.end(slot);
        self.ended.tell();
        // ORDERING: sequentially consistent: who commits puts it among the recent ones and ends
        // later, so the last one who ends sees that others have, and all recent commits.
        match self.recent_count.load(Ordering::SeqCst) {
            0 => None,
            _ => self.collect(),
        }
    }

    /// Drops versions that no active snapshot needs to undo, of some commits unless there is none.
    fn collect(&self) -> Option<UndoBuffer> {
        // Before the starts: none that is missed lies before it.
        let now = self.now();
        let (mut horizon, mut count) = (now, usize::MAX);
        self.active.each_start(None, |start| {
            horizon = horizon.min(start);
            count = COLLECTED_AT_ONCE;
        });
        let mut spare = None;
        for _ in 0..count {
            let committed = {
                let mut recent = self.recent();
                let oldest = recent.pop_front_if(|committed| committed.ts <= horizon);
                self.note_recent(&recent);
                oldest
            };
            let Some(committed) = committed else {
                break;
            };
            match Arc::try_unwrap(committed) {
                Ok(committed) => spare = self.release(committed.change, None).or(spare),
                // Somebody is still comparing with it.
                Err(committed) => self.release_shared(&committed.change, None),
            }
        }
        spare
    }

    /// Drops the versions of a change, and returns its buffers.
    fn release(&self, change: Change, slot: Option<usize>) -> Option<UndoBuffer> {
        self.release_shared(&change, slot);
        match change {
            Change::Writes(writes) => Some(writes.undo),
            Change::Load(_) | Change::Gone(_) | Change::Nothing => None,
        }
    }

    fn release_shared(&self, change: &Change, slot: Option<usize>) {
        if let Change::Writes(writes) = change {
            let emptied = writes.undo.release(writes.stamp);
            self.give_back_stamp(slot, writes.stamp);
            self.retain(emptied);
        }
    }

    /// Notes chunks that keep memory for versions, and has those noted first give theirs back.
    fn retain(&self, chunks: Vec<Arc<HotChunk>>) {
        if chunks.is_empty() {
            return;
        }
        let trimmed: Vec<Arc<HotChunk>> = {
            let mut retained = self.retained.lock().unwrap_or_else(PoisonError::into_inner);
            retained.extend(chunks);
            let surplus = retained.len().saturating_sub(RETAINED_CHUNKS);
            retained.drain(..surplus).collect()
        };
        trimmed.iter().for_each(|chunk| chunk.trim());
    }

    /// Returns a commit that all snapshots see, now and later: the oldest one's start.
    pub(crate) fn oldest_start(&self) -> CommitTs {
        // Before the starts: none that is missed lies before it.
        let mut oldest = self.now();
        self.active.each_start(None, |start| oldest = oldest.min(start));
        oldest
    }

    /// Lists the active transactions, the oldest snapshot first.
    pub(crate) fn list(&self) -> Vec<TransactionInfo> {
        let info = |info: ActiveInfo| TransactionInfo {
            tx: info.snapshot.tx,
            start: info.snapshot.start,
            level: info.level,
            age: info.age,
        };
        self.active.list().into_iter().map(info).collect()
    }

    /// Returns how many commits have versions.
    #[cfg(test)]
    pub(crate) fn recent_count(&self) -> usize {
        self.recent().len()
    }

    /// Returns the last commit that new snapshots see.
    pub(crate) fn now(&self) -> CommitTs {
        // ORDERING: sequentially consistent; see `publish`. Who reads a timestamp sees what was
        // stamped with it.
        CommitTs(self.clock.load(Ordering::SeqCst))
    }

    fn commit_order(&self) -> MutexGuard<'_, CommitOrder> {
        self.commit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent(&self) -> MutexGuard<'_, VecDeque<Arc<Committed>>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
