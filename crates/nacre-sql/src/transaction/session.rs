//! The open block of a session, if there is one, and the turns that statements take.
//!
//! # Concurrency
//! Statements of a session may come from any number of threads. In a block they run one after the
//! other; outside of one they do not wait for each other.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nacre_store::Store;

use super::turn::{Core, Turn};
use crate::advisory_locks::SessionLocks;
use crate::cursors::Cursors;
use crate::settings::{Characteristics, Settings};

/// Whether a session is in a transaction block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// Each statement is its own transaction.
    Idle,
    /// A block is open.
    Open,
    /// A statement of the block failed: it can only be rolled back.
    Failed,
}

/// The transactions of one session.
pub(crate) struct Transactions {
    store: Store,
    settings: Arc<Settings>,
    cursors: Cursors,
    locks: Arc<SessionLocks>,
    block: Mutex<Option<Arc<Block>>>,
}

/// A transaction block.
pub(super) struct Block {
    core: Arc<tokio::sync::Mutex<Core>>,
    pub(super) signals: Arc<Signals>,
}

/// What is known of a block without waiting for the statement that runs in it.
#[derive(Debug, Default)]
pub(super) struct Signals {
    /// Set by whoever sees a statement fail, cleared by ROLLBACK TO.
    is_failed: AtomicBool,
    /// Begun for statements that were sent together, not by BEGIN.
    is_implicit: AtomicBool,
    /// Statements begun so far: rows of an earlier one are not handed out any more.
    turns: AtomicU64,
}

impl Signals {
    pub(super) fn is_failed(&self) -> bool {
        // ORDERING: statements of a block are ordered by its mutex; others only want to show it.
        self.is_failed.load(Ordering::Relaxed)
    }

    pub(super) fn set_failed(&self, is_failed: bool) {
        // ORDERING: as in `is_failed`.
        self.is_failed.store(is_failed, Ordering::Relaxed);
    }

    /// Whether nobody said BEGIN.
    pub(super) fn is_implicit(&self) -> bool {
        // ORDERING: statements of a block are ordered by its mutex.
        self.is_implicit.load(Ordering::Relaxed)
    }

    /// Has BEGIN said; false if it was said before.
    pub(super) fn make_explicit(&self) -> bool {
        // ORDERING: as in `is_implicit`.
        self.is_implicit.swap(false, Ordering::Relaxed)
    }

    /// Returns the number of the statement that runs or ran last.
    pub(super) fn turn(&self) -> u64 {
        // ORDERING: pairs with the release half of `begin_turn`: who still reads the old number has
        // seen nothing of what the new statement wrote.
        self.turns.load(Ordering::Acquire)
    }

    fn begin_turn(&self) {
        // ORDERING: comes before the writes of the statement, see `turn`.
        self.turns.fetch_add(1, Ordering::AcqRel);
    }
}

impl Transactions {
    pub(crate) fn new(store: Store, settings: Arc<Settings>, locks: Arc<SessionLocks>) -> Self {
        Self { store, settings, cursors: Cursors::default(), locks, block: Mutex::default() }
    }

    /// Makes a transaction that begins with its first statement.
    fn new_core(&self, store: Store, characteristics: Characteristics) -> Core {
        Core::new(store, characteristics, self.locks.begin_transaction())
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn cursors(&self) -> &Cursors {
        &self.cursors
    }

    /// Returns what a prompt shows.
    pub(crate) fn status(&self) -> TransactionStatus {
        match &*self.block() {
            None => TransactionStatus::Idle,
            Some(block) if block.signals.is_failed() => TransactionStatus::Failed,
            Some(_) => TransactionStatus::Open,
        }
    }

    /// Waits for the statements before this one in the block, if one is open.
    pub(crate) async fn turn(&self) -> Turn {
        self.settings.begin_statement();
        loop {
            let Some(block) = self.block().clone() else {
                return Turn::alone(self.new_core(self.store.clone(), self.defaults()));
            };
            let core = Arc::clone(&block.core).lock_owned().await;
            // A block that ended meanwhile is not the session's any more, so this goes on.
            if !core.is_over {
                block.signals.begin_turn();
                return Turn::in_block(core, Arc::clone(&block.signals));
            }
        }
    }

    /// As [`Transactions::turn`], unless it would have to wait.
    pub(crate) fn turn_now(&self) -> Option<Turn> {
        self.settings.begin_statement();
        let Some(block) = self.block().clone() else {
            return Some(Turn::alone(self.new_core(self.store.clone(), self.defaults())));
        };
        let core = Arc::clone(&block.core).try_lock_owned().ok()?;
        if core.is_over {
            return None;
        }
        block.signals.begin_turn();
        Some(Turn::in_block(core, Arc::clone(&block.signals)))
    }

    /// Returns the turn of a statement that is its own transaction, begun through another handle.
    pub(crate) fn alone_with(&self, store: Store) -> Turn {
        Turn::alone(self.new_core(store, self.defaults()))
    }

    /// Returns the characteristics of a new transaction.
    pub(super) fn defaults(&self) -> Characteristics {
        self.settings.characteristics()
    }

    /// Opens a block; false if one is open already.
    pub(super) fn begin(&self, characteristics: Characteristics) -> bool {
        self.open(characteristics, Signals::default())
    }

    /// Opens a block, unless one is open, for statements that a client sent together: they are one
    /// transaction, as PostgreSQL has it, that [`end_implicit`](super::end_implicit) ends.
    pub(crate) fn begin_implicit(&self) {
        let signals = Signals { is_implicit: AtomicBool::new(true), ..Signals::default() };
        self.open(self.defaults(), signals);
    }

    /// Has the open block fail, if there is one.
    pub(crate) fn fail(&self) {
        if let Some(block) = self.block().as_ref() {
            block.signals.set_failed(true);
        }
    }

    /// Whether the open block is one that nobody said BEGIN to.
    pub(super) fn is_implicit(&self) -> bool {
        self.block().as_ref().is_some_and(|block| block.signals.is_implicit())
    }

    /// Whether committing waits for a disk.
    pub(super) fn commits_wait(&self) -> bool {
        self.store.commits_wait()
    }

    fn open(&self, characteristics: Characteristics, signals: Signals) -> bool {
        let mut block = self.block();
        let is_new = block.is_none();
        if is_new {
            let core = self.new_core(self.store.clone(), characteristics);
            let core = Arc::new(tokio::sync::Mutex::new(core));
            *block = Some(Arc::new(Block { core, signals: Arc::new(signals) }));
            self.settings.begin_block(characteristics);
        }
        is_new
    }

    /// Takes the block away from the session; the caller holds its turn and marks it as over.
    pub(super) fn end(&self) {
        *self.block() = None;
    }

    fn block(&self) -> MutexGuard<'_, Option<Arc<Block>>> {
        self.block.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
