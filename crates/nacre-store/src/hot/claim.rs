//! In what way a row keeps others from having its key.
//!
//! # Source
//! [Muehlbauer16 2.2.5] the three cases in which an insert is refused.

use crate::hot::frozen::FrozenDeletes;
use crate::hot::rows::HotRows;
use crate::hot::versions::VersionKind;
use crate::id::TX_ID_FIRST;
use crate::mvcc::{Snapshot, Stamps};

/// Why a key cannot be inserted a second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyClaim {
    /// The row is there: committed, or inserted by the same transaction.
    Taken,
    /// Another transaction, that has not ended, inserted or deleted the row.
    Uncommitted,
    /// The row was deleted, but the snapshot still sees it.
    DeletedSince,
}

impl HotRows {
    /// Returns what a row says to an insert of its key by the transaction of `snapshot`.
    pub(crate) fn claim(
        &self,
        row: usize,
        snapshot: Snapshot,
        stamps: &Stamps,
    ) -> Option<KeyClaim> {
        if row >= self.len() {
            return None;
        }
        if let Some(newest) = self.changes(row).next() {
            let stamp = stamps.get(newest.stamp);
            let mut same = self.changes(row).take_while(|entry| entry.stamp == newest.stamp);
            // Updates leave the key alone.
            if stamp >= TX_ID_FIRST
                && stamp != snapshot.tx.0
                && same.any(|entry| entry.kind != VersionKind::Update)
            {
                return Some(KeyClaim::Uncommitted);
            }
        }
        match self.is_deleted(row) {
            false => Some(KeyClaim::Taken),
            true => self.view(row, snapshot, stamps).map(|_| KeyClaim::DeletedSince),
        }
    }
}

impl FrozenDeletes {
    /// As [`HotRows::claim`], for a row of a load that is published.
    pub(crate) fn claim(&self, row: u16, snapshot: Snapshot, stamps: &Stamps) -> Option<KeyClaim> {
        let (pending, is_settled) = self.state(row);
        match pending.map(|stamp| stamps.get(stamp)) {
            Some(stamp) if snapshot.sees(stamp) => None,
            Some(stamp) if stamp >= TX_ID_FIRST => Some(KeyClaim::Uncommitted),
            Some(_) => Some(KeyClaim::DeletedSince),
            None => (!is_settled).then_some(KeyClaim::Taken),
        }
    }
}
