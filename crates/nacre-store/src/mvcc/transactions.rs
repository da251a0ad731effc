//! All transactions of a database: who is active, what committed of late, and the clock.
//!
//! # Invariants
//! 1. `clock` is the timestamp of the last commit that new snapshots see. It is read for a start
//!    and the start noted under one lock, so no version is dropped that a new snapshot needs.
//! 2. `recent` is in commit order and holds every commit that an active snapshot does not see.
//! 3. A commit is ordered under the lock: it gets its timestamp and is validated against all before
//!    it. It settles, that is becomes durable, outside of it, so that several can do so together,
//!    and is visible after that. When a commit has settled, all before it have.
//! # Source
//! [Muehlbauer16 2.2.4] collection at commit, by the oldest active start. Differs: readers hold
//! the latch of a chunk while they walk a chain, so memory is used again at once and no tombstone
//! is needed; and a commit drops versions of its rows that lie between active snapshots, so that a
//! long reader does not make chains grow.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::hot::HotChunk;
use crate::id::{CommitTs, TX_ID_FIRST, TxId};
use crate::mvcc::scratch::{Scratch, Spares};
use crate::mvcc::undo::Writes;
use crate::mvcc::{IsolationLevel, Snapshot, Stamps};
use crate::table::Table;

/// The id of no transaction.
pub(crate) const NOBODY: TxId = TxId(0);

/// Most bytes of changes of one transaction unless set otherwise: 1 GiB.
const TRANSACTION_BYTES_MAX: u64 = 1 << 30;

/// Commits whose versions a transaction drops at its end while others are active: more than it
/// makes, so that none pile up, and few enough that its client does not notice.
const COLLECTED_AT_ONCE: usize = 64;

/// Chunks without versions that keep memory for them, 256 KiB each: giving it back after each
/// transaction would cost more than the transaction.
const RETAINED_CHUNKS: usize = 64;

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

/// An active transaction.
#[derive(Debug)]
struct Active {
    snapshot: Snapshot,
    level: IsolationLevel,
    began: Instant,
}

/// Active transactions in the order of their snapshots.
#[derive(Debug)]
struct ActiveList {
    next_tx: u64,
    list: VecDeque<Active>,
    spares: Spares,
}

impl ActiveList {
    fn position(&self, snapshot: Snapshot) -> Option<usize> {
        let first = self.list.partition_point(|active| active.snapshot.start < snapshot.start);
        let equal = self.list.range(first..);
        let at = equal
            .take_while(|active| active.snapshot.start == snapshot.start)
            .position(|active| active.snapshot.tx == snapshot.tx)?;
        Some(first + at)
    }
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
    /// Rows were written to the log again; they did not change.
    Nothing,
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
    active: Mutex<ActiveList>,
    commit: Mutex<CommitOrder>,
    recent: Mutex<VecDeque<Arc<Committed>>>,
    retained: Mutex<VecDeque<Arc<HotChunk>>>,
    bytes_max: AtomicU64,
}

impl Default for Transactions {
    fn default() -> Self {
        Self {
            stamps: Arc::default(),
            clock: AtomicU64::new(0),
            active: Mutex::new(ActiveList {
                next_tx: TX_ID_FIRST,
                list: VecDeque::new(),
                spares: Spares::default(),
            }),
            commit: Mutex::default(),
            recent: Mutex::default(),
            retained: Mutex::default(),
            bytes_max: AtomicU64::new(TRANSACTION_BYTES_MAX),
        }
    }
}

impl Transactions {
    /// Lets timestamps go on behind `last`, before there are transactions.
    pub(crate) fn resume(&self, last: CommitTs) {
        self.commit_order().last = last;
        // ORDERING: as in `publish`.
        self.clock.store(last.0, Ordering::Release);
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

    /// Begins a transaction; returns also memory for it.
    pub(crate) fn begin(&self, level: IsolationLevel) -> (Snapshot, Scratch) {
        let began = Instant::now();
        let mut active = self.active();
        let snapshot = Snapshot { start: self.now(), tx: TxId(active.next_tx) };
        active.next_tx += 1;
        active.list.push_back(Active { snapshot, level, began });
        (snapshot, active.spares.take())
    }

    /// Gives a transaction a new snapshot.
    pub(crate) fn refresh(&self, old: Snapshot) -> Snapshot {
        let mut active = self.active();
        let snapshot = Snapshot { start: self.now(), tx: old.tx };
        let position = active.position(old);
        if let Some(entry) = position.and_then(|position| active.list.remove(position)) {
            active.list.push_back(Active { snapshot, ..entry });
        }
        snapshot
    }

    /// Commits: `order` gets the timestamp and refuses or says what changes and whose it is;
    /// `settle` makes that and all before it durable.
    pub(crate) fn commit<T>(
        &self,
        order: impl FnOnce(CommitTs) -> Result<(TxId, Change, T)>,
        settle: impl FnOnce(T) -> Result<()>,
    ) -> Result<CommitTs> {
        let mut commit = self.commit_order();
        let ts = CommitTs(commit.last.0 + 1);
        let (tx, change, settled) = order(ts)?;
        commit.last = ts;
        let stamp = match &change {
            Change::Writes(writes) => Some(writes.stamp),
            Change::Load(_) | Change::Nothing => None,
        };
        commit.pending.push_back((ts, stamp));
        let committed = Arc::new(Committed { ts, tx, change });
        self.recent().push_back(Arc::clone(&committed));
        drop(commit);
        match settle(settled) {
            Ok(()) => self.publish(ts),
            Err(error) => self.withdraw(ts, error)?,
        }
        self.prune(&committed);
        Ok(ts)
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

    /// Returns the id below which no transaction is active, and that of the next one.
    pub(crate) fn active_ids(&self) -> (TxId, TxId) {
        let active = self.active();
        let oldest = active.list.iter().map(|one| one.snapshot.tx).min();
        let next = TxId(active.next_tx);
        (oldest.unwrap_or(next), next)
    }

    /// Makes all commits up to `ts` visible, in order.
    fn publish(&self, ts: CommitTs) {
        let mut commit = self.commit_order();
        while let Some(&(next, stamp)) = commit.pending.front().filter(|(next, _)| *next <= ts) {
            if let Some(stamp) = stamp {
                self.stamps.commit(stamp, next);
            }
            // ORDERING: pairs with the load in `now`; only the holder of the commit lock stores.
            self.clock.store(next.0, Ordering::Release);
            commit.pending.pop_front();
        }
    }

    /// Takes a commit back that could not be made durable, unless a later one took it along.
    fn withdraw(&self, ts: CommitTs, error: Error) -> Result<()> {
        let mut commit = self.commit_order();
        let Some(position) = commit.pending.iter().position(|(pending, _)| *pending == ts) else {
            return Ok(());
        };
        commit.pending.remove(position);
        let withdrawn = {
            let mut recent = self.recent();
            let position = recent.iter().position(|committed| committed.ts == ts);
            position.and_then(|position| recent.remove(position))
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
    fn prune(&self, committed: &Committed) {
        let Change::Writes(writes) = &committed.change else {
            return;
        };
        let active = self.active();
        let now = self.now();
        let others = active.list.iter().filter(|one| one.snapshot.tx != committed.tx);
        let mut starts: Vec<CommitTs> = others.map(|one| one.snapshot.start).collect();
        drop(active);
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
    /// nobody needs any more.
    pub(crate) fn end(&self, snapshot: Snapshot, scratch: Scratch) {
        let mut active = self.active();
        active.spares.give_back(scratch);
        let position = active.position(snapshot);
        if let Some(position) = position {
            active.list.remove(position);
        }
        let (horizon, is_idle) = match active.list.front() {
            Some(oldest) => (oldest.snapshot.start, false),
            None => (self.now(), true),
        };
        drop(active);
        self.collect(horizon, if is_idle { usize::MAX } else { COLLECTED_AT_ONCE });
    }

    /// Drops the versions of at most `count` commits up to `horizon`.
    fn collect(&self, horizon: CommitTs, count: usize) {
        let old: Vec<Arc<Committed>> = {
            let mut recent = self.recent();
            let end = recent.partition_point(|committed| committed.ts <= horizon).min(count);
            recent.drain(..end).collect()
        };
        for committed in old {
            if let Change::Writes(writes) = &committed.change {
                let emptied = writes.release(&self.stamps);
                self.retain(emptied);
            }
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

    /// Lists the active transactions, the oldest snapshot first.
    pub(crate) fn list(&self) -> Vec<TransactionInfo> {
        let info = |active: &Active| TransactionInfo {
            tx: active.snapshot.tx,
            start: active.snapshot.start,
            level: active.level,
            age: active.began.elapsed(),
        };
        self.active().list.iter().map(info).collect()
    }

    /// Returns how many commits have versions.
    #[cfg(test)]
    pub(crate) fn recent_count(&self) -> usize {
        self.recent().len()
    }

    /// Returns the last commit that new snapshots see.
    pub(crate) fn now(&self) -> CommitTs {
        // ORDERING: pairs with the store in `publish`: who reads a timestamp sees what was stamped
        // with it.
        CommitTs(self.clock.load(Ordering::Acquire))
    }

    fn commit_order(&self) -> MutexGuard<'_, CommitOrder> {
        self.commit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn active(&self) -> MutexGuard<'_, ActiveList> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent(&self) -> MutexGuard<'_, VecDeque<Arc<Committed>>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
