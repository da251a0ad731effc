//! What a transaction sees.

use std::fmt;

use crate::id::{CommitTs, TxId};

/// A moment and a transaction: all that was committed up to the one, and what the other one did.
///
/// It is good as long as its transaction has not ended; threads may share it. Later it may show
/// rows as they became afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub(crate) start: CommitTs,
    pub(crate) tx: TxId,
}

impl Snapshot {
    /// Returns the last commit that is seen.
    pub fn start(self) -> CommitTs {
        self.start
    }

    /// Returns the transaction whose changes are seen.
    pub fn tx(self) -> TxId {
        self.tx
    }

    /// Whether a change with that stamp is seen.
    #[inline]
    pub(crate) fn sees(self, stamp: u64) -> bool {
        stamp <= self.start.0 || stamp == self.tx.0
    }
}

/// What a transaction is kept apart from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IsolationLevel {
    /// As if transactions ran one after the other, in the order of their commits.
    #[default]
    Serializable,
    /// One snapshot; of two that write the same row one fails (snapshot isolation).
    RepeatableRead,
    /// A snapshot for each statement, that is whenever [`crate::Transaction::refresh`] is called.
    ReadCommitted,
}

impl fmt::Display for IsolationLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Serializable => "serializable",
            Self::RepeatableRead => "repeatable read",
            Self::ReadCommitted => "read committed",
        })
    }
}
