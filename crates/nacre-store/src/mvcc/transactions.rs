//! All transactions of a database: who is active, what committed of late, and the clock.
//!
//! # Invariants
//! 1. `clock` is the timestamp of the last commit that new snapshots see. It is read for a start
//!    and the start noted under one lock, so no version is dropped that a new snapshot needs.
//! 2. `recent` is in commit order and holds every commit that an active snapshot does not see.
//! # Source
//! [Muehlbauer16 2.2.4] collection at commit, by the oldest active start. Differs: readers hold
//! the latch of a chunk while they walk a chain, so memory is used again at once and no tombstone
//! is needed.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::hot::HotChunk;
use crate::id::{CommitTs, TX_ID_FIRST, TxId};
use crate::mvcc::undo::Writes;
use crate::mvcc::{IsolationLevel, Snapshot, Stamps};

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
    pub(crate) writes: Writes,
}

/// The transactions of a database.
#[derive(Debug)]
pub(crate) struct Transactions {
    stamps: Arc<Stamps>,
    clock: AtomicU64,
    active: Mutex<ActiveList>,
    /// Held from the drawing of a timestamp to its publication.
    commit: Mutex<()>,
    recent: Mutex<VecDeque<Arc<Committed>>>,
    retained: Mutex<VecDeque<Arc<HotChunk>>>,
    bytes_max: AtomicU64,
}

impl Default for Transactions {
    fn default() -> Self {
        Self {
            stamps: Arc::default(),
            clock: AtomicU64::new(0),
            active: Mutex::new(ActiveList { next_tx: TX_ID_FIRST, list: VecDeque::new() }),
            commit: Mutex::new(()),
            recent: Mutex::default(),
            retained: Mutex::default(),
            bytes_max: AtomicU64::new(TRANSACTION_BYTES_MAX),
        }
    }
}

impl Transactions {
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

    /// Begins a transaction.
    pub(crate) fn begin(&self, level: IsolationLevel) -> Snapshot {
        let mut active = self.active();
        let snapshot = Snapshot { start: self.now(), tx: TxId(active.next_tx) };
        active.next_tx += 1;
        active.list.push_back(Active { snapshot, level, began: Instant::now() });
        snapshot
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

    /// Commits changes: `prepare` gets the timestamp and hands them over, or refuses; then they are
    /// visible.
    pub(crate) fn commit(
        &self,
        prepare: impl FnOnce(CommitTs) -> Result<Writes>,
    ) -> Result<CommitTs> {
        let _commit = self.commit.lock().unwrap_or_else(PoisonError::into_inner);
        let ts = CommitTs(self.now().0 + 1);
        let writes = prepare(ts)?;
        self.stamps.commit(writes.stamp, ts);
        self.recent().push_back(Arc::new(Committed { ts, writes }));
        self.publish(ts);
        Ok(ts)
    }

    /// Makes something visible that has no versions of rows: `publish` gets the timestamp.
    pub(crate) fn commit_load(&self, publish: impl FnOnce(CommitTs)) {
        let _commit = self.commit.lock().unwrap_or_else(PoisonError::into_inner);
        let ts = CommitTs(self.now().0 + 1);
        publish(ts);
        self.publish(ts);
    }

    /// Ends a transaction whose changes, if it has any, are committed or taken back, and drops what
    /// nobody needs any more.
    pub(crate) fn end(&self, snapshot: Snapshot) {
        let mut active = self.active();
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
            let emptied = committed.writes.release(&self.stamps);
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

    fn now(&self) -> CommitTs {
        // ORDERING: pairs with the store in `publish`: who reads a timestamp sees what was stamped
        // with it.
        CommitTs(self.clock.load(Ordering::Acquire))
    }

    fn publish(&self, ts: CommitTs) {
        // ORDERING: pairs with the load in `now`; only the holder of the commit lock stores.
        self.clock.store(ts.0, Ordering::Release);
    }

    fn active(&self) -> MutexGuard<'_, ActiveList> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recent(&self) -> MutexGuard<'_, VecDeque<Arc<Committed>>> {
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
