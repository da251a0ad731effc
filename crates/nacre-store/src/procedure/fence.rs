//! Fences: definitions and bulk loads come when no call that was before them can be replayed.
//!
//! The manifest says what exists now, not what existed at a commit. So a change of what a procedure
//! may have seen waits for a checkpoint behind the last call, and calls that run meanwhile are
//! logged by their changes. Without a call since the last checkpoint there is nothing to wait for.
//!
//! # Concurrency
//! A call looks at the fences when it begins, and again under the commit lock, where it also notes
//! that it is logged; who puts one up takes that lock afterwards, so all calls that did not see it
//! are noted by then, and all others see it.
//! Lock order: as for maintenance, which is what a fence may wait for.

use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::error::{Error, Result};
use crate::id::CommitTs;
use crate::manifest::{Record, TableId};
use crate::store::Store;

/// Which calls are in the log, and whether there may be more.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    /// Fences that are up.
    fences: AtomicUsize,
    /// Fences that ever were.
    raised: AtomicU64,
    /// The last commit that is logged as a call.
    last: AtomicU64,
    /// The last checkpoint.
    checkpoint: AtomicU64,
}

impl Calls {
    /// Returns what [`Calls::admits`] asks for, before a call reads anything; `None` if a fence is
    /// up.
    pub(crate) fn begin(&self) -> Option<u64> {
        // ORDERING: sequentially consistent; a fence that both miss was down before.
        let raised = self.raised.load(Ordering::SeqCst);
        (self.fences.load(Ordering::SeqCst) == 0).then_some(raised)
    }

    /// Notes that a commit is logged as a call, unless a fence was up since that began. The caller
    /// holds the commit lock.
    #[inline]
    pub(crate) fn admits(&self, commit: CommitTs, raised: u64) -> bool {
        // ORDERING: sequentially consistent; see the header.
        let admits = self.raised.load(Ordering::SeqCst) == raised;
        if admits {
            self.last.store(commit.0, Ordering::SeqCst);
        }
        admits
    }

    /// Notes a call that recovery replayed.
    pub(crate) fn note_replayed(&self, commit: CommitTs) {
        // ORDERING: sequentially consistent, as all of its uses.
        self.last.store(commit.0, Ordering::SeqCst);
    }

    /// Notes that commits up to a checkpoint are not replayed.
    pub(crate) fn note_checkpoint(&self, as_of: CommitTs) {
        // ORDERING: sequentially consistent, as all of its uses.
        self.checkpoint.store(as_of.0, Ordering::SeqCst);
    }

    /// Whether a call would be replayed if the database were opened now.
    pub(crate) fn are_pending(&self) -> bool {
        // ORDERING: sequentially consistent, as all of its uses.
        self.last.load(Ordering::SeqCst) > self.checkpoint.load(Ordering::SeqCst)
    }
}

/// Keeps calls from being logged as such until it is dropped.
#[derive(Debug)]
pub(crate) struct Fence<'a> {
    calls: &'a Calls,
}

impl Drop for Fence<'_> {
    fn drop(&mut self) {
        // ORDERING: sequentially consistent; see the header.
        self.calls.fences.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Store {
    /// Has no call be in the log that a restart would replay, and none come until the fence is
    /// dropped. The caller holds no lock from maintenance on.
    ///
    /// # Errors
    /// Those of a checkpoint; [`Error::NotSupported`] if it could not be completed.
    pub(crate) fn fence_calls(&self) -> Result<Fence<'_>> {
        let (calls, fence) = (self.calls(), self.put_up_fence());
        if calls.are_pending() {
            let _turn = self.maintenance_lock().lock().unwrap_or_else(PoisonError::into_inner);
            // Somebody else may have waited for the same.
            if calls.are_pending() {
                self.shorten_redo()?;
            }
        }
        match calls.are_pending() {
            true => Err(pending()),
            false => Ok(fence),
        }
    }

    /// As [`Store::fence_calls`], without a wait; `None` if the log has calls.
    pub(crate) fn fence_if_no_calls(&self) -> Option<Fence<'_>> {
        let fence = self.put_up_fence();
        (!self.calls().are_pending()).then_some(fence)
    }

    /// Has calls be logged by their changes from now on; those before are noted.
    fn put_up_fence(&self) -> Fence<'_> {
        let calls = self.calls();
        // ORDERING: sequentially consistent; see the header.
        calls.fences.fetch_add(1, Ordering::SeqCst);
        calls.raised.fetch_add(1, Ordering::SeqCst);
        self.all_transactions().last_ordered(|| ());
        Fence { calls }
    }

    /// Refuses records that change what a call in the log has seen; tables from `next_table` on are
    /// new. Fences have seen to it that there is none.
    pub(crate) fn require_fence(&self, records: &[Record], next_table: u64) -> Result<()> {
        let is_old = |table: &TableId| table.0 < next_table;
        let concerns_calls = |record: &Record| match record {
            Record::TableReplaced { .. } | Record::TableDropped { .. } | Record::Load(_) => true,
            Record::TableDefined { table, .. }
            | Record::IndexCreated { table, .. }
            | Record::IndexDropped { table, .. }
            | Record::ForeignKeys { table, .. } => is_old(table),
            _ => false,
        };
        match self.calls().are_pending() && records.iter().any(concerns_calls) {
            true => Err(pending()),
            false => Ok(()),
        }
    }
}

fn pending() -> Error {
    let what = "changing definitions or loading rows while the redo log has calls of procedures \
                that a checkpoint could not take out, since commits took too long or the database \
                is being closed: try again";
    Error::NotSupported { what: what.into() }
}
