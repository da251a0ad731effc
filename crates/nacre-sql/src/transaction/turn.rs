//! What one statement holds of a transaction.

use std::sync::Arc;

use nacre_store::{IsolationLevel, Savepoint, Snapshot, Store, Table, Transaction};
use tokio::sync::OwnedMutexGuard;

use super::moment::Moment;
use super::session::Signals;
use crate::advisory_locks::TransactionLocks;
use crate::error::{Error, ErrorKind, Result};
use crate::from_store::from_store;
use crate::settings::{Characteristics, Saved};

/// A transaction and what its statements share.
pub(super) struct Core {
    store: Store,
    pub(super) characteristics: Characteristics,
    /// Begun by the first statement that reads or writes.
    pub(super) transaction: Option<Transaction>,
    /// The oldest first.
    pub(super) savepoints: Vec<NamedSavepoint>,
    /// Whether it was committed or rolled back.
    pub(super) is_over: bool,
    /// Released when the transaction and its rows are gone.
    pub(super) locks: TransactionLocks,
}

/// What ROLLBACK TO goes back to.
pub(super) struct NamedSavepoint {
    pub(super) name: String,
    pub(super) place: Savepoint,
    pub(super) settings: Saved,
    /// How many cursors had been declared.
    pub(super) cursors: u64,
    /// How many advisory locks the transaction held.
    pub(super) locks: usize,
}

/// A statement's hold on a transaction: its own, or its turn in the session's block.
///
/// A turn in a block that is dropped before [`Turn::done`] leaves the block failed.
pub(crate) struct Turn {
    /// `None` while it is lent to a blocking thread.
    hold: Option<Hold>,
    signals: Option<Arc<Signals>>,
    is_done: bool,
}

/// The way to the transaction.
pub(crate) struct Hold(Access);

enum Access {
    Own(Box<Core>),
    Block(OwnedMutexGuard<Core>),
}

impl Core {
    pub(super) fn new(
        store: Store,
        characteristics: Characteristics,
        locks: TransactionLocks,
    ) -> Self {
        let (transaction, savepoints) = (None, Vec::new());
        Self { store, characteristics, transaction, savepoints, is_over: false, locks }
    }

    /// Takes what BEGIN says, as far as nothing was read or written yet.
    pub(super) fn begin_explicitly(&mut self, characteristics: Characteristics) {
        match &self.transaction {
            None => self.characteristics = characteristics,
            Some(_) => self.characteristics.is_read_only = characteristics.is_read_only,
        }
    }

    /// Returns the transaction, begun if it was not.
    pub(super) fn transaction(&mut self) -> &mut Transaction {
        let (store, level) = (&self.store, self.characteristics.level);
        self.transaction.get_or_insert_with(|| store.begin(level))
    }

    /// Takes the transaction to commit it, if one was begun.
    pub(super) fn take_transaction(&mut self) -> Option<Transaction> {
        let mut transaction = self.transaction.take()?;
        transaction.set_synchronous_commit(self.characteristics.is_synchronous);
        Some(transaction)
    }
}

/// Where a statement that is begun anew begins.
pub(crate) enum RestartPoint {
    /// In a transaction of its own.
    Alone,
    /// In the open block, at a savepoint; `None` before the block's transaction begins.
    InBlock(Option<Savepoint>),
}

impl Access {
    fn core(&self) -> &Core {
        match self {
            Self::Own(core) => core,
            Self::Block(core) => core,
        }
    }
}

impl Hold {
    pub(super) fn core(&mut self) -> &mut Core {
        match &mut self.0 {
            Access::Own(core) => core,
            Access::Block(core) => core,
        }
    }

    /// Returns the transaction, for writing.
    pub(crate) fn transaction(&mut self) -> &mut Transaction {
        self.core().transaction()
    }

    /// Commits a transaction that is the statement's own.
    ///
    /// # Errors
    /// Those of committing; it is rolled back then.
    pub(crate) fn commit_own(&mut self) -> Result<()> {
        let Access::Own(core) = &mut self.0 else { return Ok(()) };
        match core.take_transaction() {
            Some(transaction) => transaction.commit().map(drop).map_err(from_store),
            None => Ok(()),
        }
    }
}

impl Turn {
    pub(super) fn alone(core: Core) -> Self {
        Self { hold: Some(Hold(Access::Own(Box::new(core)))), signals: None, is_done: false }
    }

    pub(super) fn in_block(core: OwnedMutexGuard<Core>, signals: Arc<Signals>) -> Self {
        Self { hold: Some(Hold(Access::Block(core))), signals: Some(signals), is_done: false }
    }

    /// Tells whether the statement is part of a block.
    pub(crate) fn is_in_block(&self) -> bool {
        self.signals.is_some()
    }

    /// The signals of the block that the statement is part of.
    pub(super) fn signals(&self) -> Option<&Arc<Signals>> {
        self.signals.as_ref()
    }

    pub(super) fn core(&mut self) -> Result<&mut Core> {
        match &mut self.hold {
            Some(hold) => Ok(hold.core()),
            None => Err(Error::new(ErrorKind::Internal, "internal error: a turn was lent twice")),
        }
    }

    /// Hands the transaction to another thread, which gives it back by [`Turn::restore`].
    pub(crate) fn lend(&mut self) -> Result<Hold> {
        self.hold
            .take()
            .ok_or_else(|| Error::new(ErrorKind::Internal, "internal error: a turn was lent twice"))
    }

    pub(crate) fn restore(&mut self, hold: Hold) {
        self.hold = Some(hold);
    }

    /// Refuses statements of a block that failed, or that cannot commit because a table which it
    /// wrote is dropped or replaced.
    ///
    /// # Errors
    /// 25P02; 40001.
    pub(crate) fn require_sound(&self) -> Result<()> {
        match &self.signals {
            Some(signals) if signals.is_failed() => Err(Error::transaction_state(
                "25P02",
                "current transaction is aborted, commands ignored until end of transaction block",
            )),
            Some(_) => {
                let begun = self.hold.as_ref().and_then(|hold| hold.0.core().transaction.as_ref());
                begun.map_or(Ok(()), |one| one.require_written_tables().map_err(from_store))
            }
            None => Ok(()),
        }
    }

    /// Refuses what is not run in a block yet.
    ///
    /// # Errors
    /// `not supported`.
    pub(crate) fn require_alone(&self, what: &str) -> Result<()> {
        match self.signals {
            Some(_) => {
                let what = format_args!("{what} inside a transaction block");
                Err(Error::not_supported(what).with_hint("Run it before BEGIN or after COMMIT."))
            }
            None => Ok(()),
        }
    }

    /// Refuses what changes something in a transaction that is read-only.
    ///
    /// # Errors
    /// 25006.
    pub(crate) fn require_writable(&mut self, what: &str) -> Result<()> {
        if self.core()?.characteristics.is_read_only {
            let message = format!("cannot execute {what} in a read-only transaction");
            return Err(Error::new(ErrorKind::ReadOnly, message));
        }
        Ok(())
    }

    /// Has what is defined through the handle that the transaction was begun with be a part of it.
    ///
    /// # Errors
    /// 25006 for a database that is read-only.
    pub(crate) fn begin_defining(&mut self) -> Result<()> {
        self.core()?.transaction().define().map_err(from_store)
    }

    /// Has what the statement defines be a part of the block, if it is in one.
    ///
    /// # Errors
    /// 25P02, 25006.
    pub(crate) fn define(&mut self, what: &str) -> Result<()> {
        self.require_sound()?;
        self.require_writable(what)?;
        match self.is_in_block() {
            true => self.begin_defining(),
            false => Ok(()),
        }
    }

    /// Returns where the statement, which has done nothing yet, can be begun anew with a newer
    /// snapshot; `None` if it has to keep that of its block, or the block has defined something.
    pub(crate) fn restart_point(&mut self) -> Option<RestartPoint> {
        if !self.is_in_block() {
            return Some(RestartPoint::Alone);
        }
        if !self.is_read_committed() {
            return None;
        }
        let transaction = self.core().ok()?.transaction.as_mut();
        if transaction.as_ref().is_some_and(|transaction| transaction.is_defining()) {
            // To keep its definitions for each statement would cost too much.
            return None;
        }
        Some(RestartPoint::InBlock(transaction.map(Transaction::savepoint)))
    }

    /// Rolls the block back to the restart point and clears its failure.
    pub(crate) fn go_back(mut self, point: RestartPoint) -> Result<()> {
        if let (RestartPoint::InBlock(place), Some(signals)) = (point, self.signals.clone()) {
            let core = self.core()?;
            match (place, &mut core.transaction) {
                (Some(place), Some(transaction)) => transaction.rollback_to(place),
                (_, transaction) => *transaction = None,
            }
            signals.set_failed(false);
        }
        self.done(false);
        Ok(())
    }

    /// Refuses to go on with a table that others have written since the snapshot, unless each
    /// statement has a snapshot of its own.
    ///
    /// # Errors
    /// 40001.
    pub(crate) fn require_unwritten(&mut self, table: &Table) -> Result<()> {
        match (self.is_in_block(), &self.core()?.transaction) {
            (true, Some(transaction)) => transaction.require_unwritten(table).map_err(from_store),
            _ => Ok(()),
        }
    }

    /// Whether each statement of the transaction has a snapshot of its own.
    pub(crate) fn is_read_committed(&mut self) -> bool {
        let level = self.core().map(|core| core.characteristics.level);
        level.is_ok_and(|level| level == IsolationLevel::ReadCommitted)
    }

    /// Returns the moment that a statement reads at; `writes` says whether it is to change rows.
    ///
    /// # Errors
    /// None but those of a turn that was lent.
    pub(crate) fn moment(&mut self, writes: bool) -> Result<Arc<Moment>> {
        let is_in_block = self.is_in_block();
        let core = self.core()?;
        if !is_in_block && !writes {
            // One statement that only reads is serializable at its snapshot.
            core.characteristics.level = IsolationLevel::RepeatableRead;
        }
        let (level, is_read_only) = (core.characteristics.level, core.characteristics.is_read_only);
        let is_begun = core.transaction.is_some();
        let transaction = core.transaction();
        if is_begun {
            transaction.refresh();
        }
        let snapshot: Snapshot = transaction.snapshot();
        let moment = Moment::new(snapshot, level == IsolationLevel::Serializable);
        Ok(Arc::new(moment.with_read_only(is_read_only)))
    }

    /// Returns a handle that looks names up with the snapshot of the block, if there is one.
    ///
    /// # Errors
    /// None but those of a turn that was lent.
    pub(crate) fn names(&mut self, store: &Store) -> Result<Store> {
        if !self.is_in_block() {
            return Ok(store.clone());
        }
        Ok(store.at(self.moment(true)?.snapshot()))
    }

    /// Returns a moment at which all that is committed is seen, for tables that nobody else writes
    /// meanwhile.
    ///
    /// # Errors
    /// None but those of a turn that was lent.
    pub(crate) fn latest_moment(&mut self) -> Result<Arc<Moment>> {
        let snapshot = self.core()?.transaction().latest_snapshot();
        Ok(Arc::new(Moment::new(snapshot, false)))
    }

    /// Has what a statement read validated when the transaction commits.
    ///
    /// # Errors
    /// None but those of a turn that was lent.
    pub(crate) fn log(&mut self, moment: &Moment) -> Result<()> {
        let reads = moment.take_reads();
        if reads.is_empty() {
            return Ok(());
        }
        let transaction = self.core()?.transaction();
        for (table, predicate) in reads {
            transaction.log_predicate(&table, predicate);
        }
        Ok(())
    }

    /// Ends the statement: if it failed in a block, the block has.
    pub(crate) fn done(mut self, has_failed: bool) {
        self.is_done = !has_failed;
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let (Some(signals), false) = (&self.signals, self.is_done) {
            signals.set_failed(true);
        }
    }
}
