//! Where the draft of a session's transaction is.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::definitions::Definitions;
use crate::access::BOOTSTRAP_ROLE_OID;
use crate::error::{Error, Result};
use crate::id::TxId;
use crate::mvcc::Transaction;
use crate::store::Store;

/// Room for the draft of one transaction, and who it is that defines.
#[derive(Debug)]
pub(crate) struct DraftSlot {
    draft: RwLock<Option<Draft>>,
    /// The role that owns what is made.
    creator: AtomicU32,
}

impl Default for DraftSlot {
    fn default() -> Self {
        Self { draft: RwLock::default(), creator: AtomicU32::new(BOOTSTRAP_ROLE_OID) }
    }
}

/// What one transaction has defined.
#[derive(Debug)]
struct Draft {
    tx: TxId,
    now: Arc<Definitions>,
    /// As it was at savepoints; one that a rollback went back behind is gone.
    saved: Vec<Arc<Definitions>>,
}

impl DraftSlot {
    pub(crate) fn creator(&self) -> u32 {
        // ORDERING: nothing else is read by whoever sees it.
        self.creator.load(Ordering::Relaxed)
    }

    pub(crate) fn set_creator(&self, role: u32) {
        // ORDERING: as in `creator`.
        self.creator.store(role, Ordering::Relaxed);
    }

    /// Makes room for what `tx` defines; refuses if another transaction is at it.
    fn open(&self, tx: TxId) -> Result<()> {
        let mut draft = self.draft.write().unwrap_or_else(PoisonError::into_inner);
        match &*draft {
            Some(draft) if draft.tx != tx => {
                let reason = "two transactions of a session define something at a time".into();
                Err(Error::Internal { reason })
            }
            Some(_) => Ok(()),
            None => {
                *draft = Some(Draft { tx, now: Arc::default(), saved: Vec::new() });
                Ok(())
            }
        }
    }

    /// Returns what is defined.
    fn now(&self) -> Option<(TxId, Arc<Definitions>)> {
        let draft = self.draft.read().unwrap_or_else(PoisonError::into_inner);
        draft.as_ref().map(|draft| (draft.tx, Arc::clone(&draft.now)))
    }

    fn with<T>(&self, tx: TxId, with: impl FnOnce(&mut Draft) -> T) -> Option<T> {
        let mut draft = self.draft.write().unwrap_or_else(PoisonError::into_inner);
        draft.as_mut().filter(|draft| draft.tx == tx).map(with)
    }

    /// Closes the draft of `tx`, if it is there, and returns it.
    fn close(&self, tx: TxId) -> Option<Arc<Definitions>> {
        let mut draft = self.draft.write().unwrap_or_else(PoisonError::into_inner);
        let closed = draft.take_if(|draft| draft.tx == tx);
        closed.map(|draft| draft.now)
    }
}

impl Store {
    /// Returns the transaction that what is defined through this handle belongs to, and what it has
    /// defined so far; `None` if definitions are for everybody at once.
    pub(crate) fn draft(&self) -> Option<(TxId, Arc<Definitions>)> {
        self.draft_slot()?.now()
    }

    /// Returns what the transaction at work has defined so far.
    pub(crate) fn definitions(&self) -> Option<Arc<Definitions>> {
        self.draft().map(|(_, definitions)| definitions)
    }

    /// Whether what is defined through this handle belongs to a transaction.
    pub fn is_drafting(&self) -> bool {
        self.draft().is_some()
    }

    /// Changes what `tx` has defined.
    pub(crate) fn change_draft(&self, tx: TxId, change: impl FnOnce(&mut Definitions)) {
        if let Some(slot) = self.draft_slot() {
            slot.with(tx, |draft| change(Arc::make_mut(&mut draft.now)));
            self.bump_definitions();
        }
    }

    /// Notes what `tx` has defined so far; returns the number of the note.
    pub(crate) fn save_draft(&self, tx: TxId) -> usize {
        let save = |draft: &mut Draft| {
            if !draft.saved.last().is_some_and(|saved| Arc::ptr_eq(saved, &draft.now)) {
                draft.saved.push(Arc::clone(&draft.now));
            }
            draft.saved.len()
        };
        self.draft_slot().and_then(|slot| slot.with(tx, save)).unwrap_or(0)
    }

    /// Takes back what `tx` defined since a note; 0 stands for the beginning.
    pub(crate) fn restore_draft(&self, tx: TxId, number: usize) {
        let restore = |draft: &mut Draft| {
            draft.saved.truncate(number);
            let before = draft.saved.last().cloned().unwrap_or_default();
            std::mem::replace(&mut draft.now, before)
        };
        let Some(slot) = self.draft_slot() else { return };
        if let Some(gone) = slot.with(tx, restore) {
            let kept = slot.now().map(|(_, kept)| kept).unwrap_or_default();
            gone.take_back(&kept, tx);
            self.bump_access();
            self.bump_definitions();
        }
    }

    /// Takes back all that `tx` defined and did not commit.
    pub(crate) fn discard_draft(&self, tx: TxId) {
        if let Some(gone) = self.close_draft(tx) {
            gone.take_back(&Definitions::default(), tx);
            self.bump_access();
            self.bump_definitions();
        }
    }

    /// Closes the draft of `tx`, which is committed, or is to be taken back.
    pub(super) fn close_draft(&self, tx: TxId) -> Option<Arc<Definitions>> {
        self.draft_slot()?.close(tx)
    }
}

impl Transaction {
    /// Has all that is defined from now on through the handle that began the transaction, and its
    /// clones, be a part of the transaction: others see it when it commits.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::TransactionEnded`]; [`Error::Internal`] if the handle is none
    /// of [`Store::for_session`], or another transaction of it is at it.
    pub fn define(&mut self) -> Result<()> {
        self.require_open()?;
        let store = self.store();
        store.require_writable()?;
        let slot = store.draft_slot().ok_or_else(|| Error::Internal {
            reason: "a transaction of no session defines something".into(),
        })?;
        slot.open(self.snapshot().tx)?;
        self.set_defines();
        Ok(())
    }
}
