//! Advisory locks: numbers that sessions lock by agreement, as PostgreSQL has them.
//!
//! A lock is exclusive or shared, and held for the session or for the transaction; a session counts
//! its holds for the session and never conflicts with itself. Requests are granted in the order in
//! which they came. A request that would close a circle of waiting sessions is refused (40P01).
//!
//! # Invariants
//! 1. Of the sessions that hold a key either all hold it shared, or there is one.
//! 2. A session that ended holds nothing: [`LockOwner`] releases all when it is dropped.
//! 3. Holds for a transaction go with the last [`TransactionLocks`] of the session.
//!
//! # Concurrency
//! One mutex guards the table and is held for map operations only; requests that wait hold no
//! thread. Every release wakes all waiting requests, which look again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;

use crate::error::{Error, ErrorKind, Result};

/// Holds of all sessions together; an entry takes about 100 bytes.
const HOLDS_MAX: usize = 1 << 20;

/// The two spaces of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LockKey {
    Number(i64),
    Pair(i32, i32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LockMode {
    Shared,
    Exclusive,
}

/// How long a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockScope {
    Session,
    Transaction,
}

/// A held or awaited lock, as `pg_locks` shows it.
#[derive(Clone, Debug)]
pub(crate) struct LockEntry {
    pub(crate) key: LockKey,
    pub(crate) mode: LockMode,
    pub(crate) process_id: i32,
    pub(crate) is_granted: bool,
    /// When the request began to wait.
    pub(crate) wait_start: Option<SystemTime>,
}

/// The locks of all sessions of a database.
#[derive(Debug, Default)]
pub(crate) struct AdvisoryLocks {
    table: Mutex<LockTable>,
    released: Notify,
}

#[derive(Debug, Default)]
struct LockTable {
    held: BTreeMap<(LockKey, SessionId, LockMode), HoldCount>,
    /// In the order of arrival.
    waiting: BTreeMap<u64, LockRequest>,
    next_ticket: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct HoldCount {
    process_id: i32,
    session: u64,
    transaction: u64,
}

#[derive(Clone, Debug)]
struct LockRequest {
    session: SessionId,
    process_id: i32,
    key: LockKey,
    mode: LockMode,
    since: SystemTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SessionId(u64);

impl LockMode {
    fn conflicts(self, other: Self) -> bool {
        self == Self::Exclusive || other == Self::Exclusive
    }

    /// Returns PostgreSQL's name of the mode.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Shared => "ShareLock",
            Self::Exclusive => "ExclusiveLock",
        }
    }
}

impl AdvisoryLocks {
    fn table(&self) -> MutexGuard<'_, LockTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all locks that are held or waited for.
    pub(crate) fn entries(&self) -> Vec<LockEntry> {
        let table = self.table();
        let held = table.held.iter().map(|(&(key, _, mode), count)| LockEntry {
            key,
            mode,
            process_id: count.process_id,
            is_granted: true,
            wait_start: None,
        });
        let waiting = table.waiting.values().map(|request| LockEntry {
            key: request.key,
            mode: request.mode,
            process_id: request.process_id,
            is_granted: false,
            wait_start: Some(request.since),
        });
        held.chain(waiting).collect()
    }
}

impl LockTable {
    /// Returns the sessions that a request has to wait for: those that hold the key in a
    /// conflicting mode, and, unless the session holds the key itself, those that asked before.
    fn blockers(&self, request: &LockRequest, ticket: u64) -> BTreeSet<SessionId> {
        let range = (request.key, SessionId(0), LockMode::Shared)
            ..=(request.key, SessionId(u64::MAX), LockMode::Exclusive);
        let mut is_holder = false;
        let mut blockers = BTreeSet::new();
        for &(_, session, mode) in self.held.range(range).map(|(hold, _)| hold) {
            if session == request.session {
                is_holder = true;
            } else if mode.conflicts(request.mode) {
                blockers.insert(session);
            }
        }
        if !is_holder {
            let earlier = self.waiting.range(..ticket).map(|(_, earlier)| earlier);
            let earlier = earlier.filter(|earlier| {
                earlier.key == request.key
                    && earlier.session != request.session
                    && earlier.mode.conflicts(request.mode)
            });
            blockers.extend(earlier.map(|earlier| earlier.session));
        }
        blockers
    }

    /// Whether one of `blockers` waits, over any number of sessions, for `session`.
    fn closes_circle(&self, session: SessionId, blockers: &BTreeSet<SessionId>) -> bool {
        let mut seen = blockers.clone();
        let mut unvisited: Vec<SessionId> = blockers.iter().copied().collect();
        while let Some(blocker) = unvisited.pop() {
            if blocker == session {
                return true;
            }
            for (&ticket, request) in self.waiting.iter().filter(|(_, one)| one.session == blocker)
            {
                let further = self.blockers(request, ticket);
                unvisited.extend(further.into_iter().filter(|one| seen.insert(*one)));
            }
        }
        false
    }

    fn grant(&mut self, request: &LockRequest, scope: LockScope) -> Result<()> {
        let hold = (request.key, request.session, request.mode);
        if self.held.len() >= HOLDS_MAX && !self.held.contains_key(&hold) {
            let message = format!("out of memory for advisory locks: {HOLDS_MAX} are held");
            let hint = "Release locks by pg_advisory_unlock or pg_advisory_unlock_all.";
            return Err(Error::new(ErrorKind::OutOfMemory, message).with_hint(hint));
        }
        let count = self.held.entry(hold).or_default();
        count.process_id = request.process_id;
        match scope {
            LockScope::Session => count.session += 1,
            LockScope::Transaction => count.transaction += 1,
        }
        Ok(())
    }

    /// Takes one hold back; false if there is none.
    fn release(&mut self, hold: (LockKey, SessionId, LockMode), scope: LockScope) -> bool {
        let Some(count) = self.held.get_mut(&hold) else { return false };
        let of_scope = match scope {
            LockScope::Session => &mut count.session,
            LockScope::Transaction => &mut count.transaction,
        };
        let Some(left) = of_scope.checked_sub(1) else { return false };
        *of_scope = left;
        if count.session == 0 && count.transaction == 0 {
            self.held.remove(&hold);
        }
        true
    }
}

/// The locks of one session, shared by its functions and transactions.
#[derive(Debug)]
pub(crate) struct SessionLocks {
    locks: Arc<AdvisoryLocks>,
    session: SessionId,
    process_id: i32,
    of_transaction: Mutex<TransactionHolds>,
}

/// What the session's transaction holds, the oldest first.
#[derive(Debug, Default)]
struct TransactionHolds {
    holds: Vec<(LockKey, LockMode)>,
    /// Transactions that are under way: more than one only where statements run side by side.
    transactions: usize,
    has_ended: bool,
}

/// Releases all locks of a session when it is dropped.
#[derive(Debug)]
pub(crate) struct LockOwner(Arc<SessionLocks>);

/// Keeps the locks of a transaction; they are released with the session's last one.
#[derive(Debug)]
pub(crate) struct TransactionLocks(Arc<SessionLocks>);

/// A request in the queue, taken out when it is dropped.
struct QueuedRequest<'a> {
    locks: &'a AdvisoryLocks,
    ticket: u64,
}

impl Drop for QueuedRequest<'_> {
    fn drop(&mut self) {
        self.locks.table().waiting.remove(&self.ticket);
        // Later requests may have waited for this one only.
        self.locks.released.notify_waiters();
    }
}

impl LockOwner {
    pub(crate) fn new(locks: Arc<AdvisoryLocks>, process_id: i32) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        // ORDERING: only uniqueness matters.
        let session = SessionId(NEXT.fetch_add(1, Ordering::Relaxed));
        let of_transaction = Mutex::default();
        Self(Arc::new(SessionLocks { locks, session, process_id, of_transaction }))
    }

    pub(crate) fn locks(&self) -> &Arc<SessionLocks> {
        &self.0
    }
}

impl Drop for LockOwner {
    fn drop(&mut self) {
        self.0.of_transaction().has_ended = true;
        self.0.release_all(&[LockScope::Session, LockScope::Transaction]);
    }
}

impl SessionLocks {
    fn of_transaction(&self) -> MutexGuard<'_, TransactionHolds> {
        self.of_transaction.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a transaction begins.
    pub(crate) fn begin_transaction(self: &Arc<Self>) -> TransactionLocks {
        self.of_transaction().transactions += 1;
        TransactionLocks(Arc::clone(self))
    }

    /// Returns what [`SessionLocks::release_since`] goes back to.
    pub(crate) fn transaction_holds(&self) -> usize {
        self.of_transaction().holds.len()
    }

    /// Releases what the transaction locked since it held `count` locks.
    pub(crate) fn release_since(&self, count: usize) {
        let mut of_transaction = self.of_transaction();
        let from = count.min(of_transaction.holds.len());
        let released = of_transaction.holds.split_off(from);
        drop(of_transaction);
        if released.is_empty() {
            return;
        }
        let mut table = self.locks.table();
        for (key, mode) in released {
            table.release((key, self.session, mode), LockScope::Transaction);
        }
        drop(table);
        self.locks.released.notify_waiters();
    }

    fn request(&self, key: LockKey, mode: LockMode) -> LockRequest {
        let (session, process_id) = (self.session, self.process_id);
        LockRequest { session, process_id, key, mode, since: SystemTime::now() }
    }

    /// Takes a lock if no other session is in the way.
    ///
    /// # Errors
    /// 53200 if too many are held.
    pub(crate) fn try_lock(&self, key: LockKey, mode: LockMode, scope: LockScope) -> Result<bool> {
        let request = self.request(key, mode);
        let mut table = self.locks.table();
        let ticket = table.next_ticket;
        if !table.blockers(&request, ticket).is_empty() {
            return Ok(false);
        }
        self.grant(&mut table, &request, scope)?;
        Ok(true)
    }

    /// Waits for a lock, `timeout` at most. Dropping the future ends the wait.
    ///
    /// # Errors
    /// 40P01 if sessions would wait for each other, 55P03 behind the timeout, 53200.
    pub(crate) async fn lock(
        &self,
        key: LockKey,
        mode: LockMode,
        scope: LockScope,
        timeout: Option<Duration>,
    ) -> Result<()> {
        let request = self.request(key, mode);
        let ticket = {
            let mut table = self.locks.table();
            let ticket = table.next_ticket;
            table.next_ticket += 1;
            let blockers = table.blockers(&request, ticket);
            if blockers.is_empty() {
                return self.grant(&mut table, &request, scope);
            }
            if table.closes_circle(self.session, &blockers) {
                return Err(deadlock(&request));
            }
            table.waiting.insert(ticket, request.clone());
            ticket
        };
        let queued = QueuedRequest { locks: &self.locks, ticket };
        let granted = self.wait(&request, &queued, scope);
        match timeout {
            None => granted.await,
            Some(timeout) => tokio::time::timeout(timeout, granted).await.unwrap_or_else(|_| {
                let message = "canceling statement due to lock timeout";
                Err(Error::new(ErrorKind::Cancelled, message).with_code("55P03"))
            }),
        }
    }

    async fn wait(
        &self,
        request: &LockRequest,
        queued: &QueuedRequest<'_>,
        scope: LockScope,
    ) -> Result<()> {
        loop {
            let released = self.locks.released.notified();
            tokio::pin!(released);
            // Before looking, so that a release behind the look is noticed.
            released.as_mut().enable();
            {
                let mut table = self.locks.table();
                if table.blockers(request, queued.ticket).is_empty() {
                    return self.grant(&mut table, request, scope);
                }
            }
            released.await;
        }
    }

    fn grant(&self, table: &mut LockTable, request: &LockRequest, scope: LockScope) -> Result<()> {
        let mut of_transaction = self.of_transaction();
        if of_transaction.has_ended {
            return Err(Error::new(ErrorKind::Cancelled, "the session has ended"));
        }
        table.grant(request, scope)?;
        if scope == LockScope::Transaction {
            of_transaction.holds.push((request.key, request.mode));
        }
        Ok(())
    }

    /// Releases one hold for the session; false if it has none.
    pub(crate) fn unlock(&self, key: LockKey, mode: LockMode) -> bool {
        let was_held = self.locks.table().release((key, self.session, mode), LockScope::Session);
        if was_held {
            self.locks.released.notify_waiters();
        }
        was_held
    }

    /// Releases all holds for the session.
    pub(crate) fn unlock_all(&self) {
        self.release_all(&[LockScope::Session]);
    }

    fn release_all(&self, scopes: &[LockScope]) {
        let session = self.session;
        self.locks.table().held.retain(|&(_, holder, _), count| {
            if holder == session && scopes.contains(&LockScope::Session) {
                count.session = 0;
            }
            if holder == session && scopes.contains(&LockScope::Transaction) {
                count.transaction = 0;
            }
            count.session > 0 || count.transaction > 0
        });
        self.locks.released.notify_waiters();
    }
}

impl Clone for TransactionLocks {
    fn clone(&self) -> Self {
        self.0.begin_transaction()
    }
}

impl TransactionLocks {
    pub(crate) fn session(&self) -> &SessionLocks {
        &self.0
    }
}

impl Drop for TransactionLocks {
    fn drop(&mut self) {
        let is_last = {
            let mut of_transaction = self.0.of_transaction();
            of_transaction.transactions = of_transaction.transactions.saturating_sub(1);
            of_transaction.transactions == 0 && !of_transaction.holds.is_empty()
        };
        if is_last {
            self.0.release_since(0);
        }
    }
}

fn deadlock(request: &LockRequest) -> Error {
    let LockRequest { key, mode, process_id, .. } = request;
    let key = match key {
        LockKey::Number(number) => format!("[{number}]"),
        LockKey::Pair(first, second) => format!("[{first},{second}]"),
    };
    let detail = format!(
        "Process {process_id} asks for {} on advisory lock {key}, and sessions that hold it wait \
         for locks of this one.",
        mode.name()
    );
    Error::new(ErrorKind::SerializationFailure, "deadlock detected")
        .with_code("40P01")
        .with_detail(detail)
        .with_hint("Run the transaction again, and take locks in one order everywhere.")
}

#[cfg(test)]
mod tests;
