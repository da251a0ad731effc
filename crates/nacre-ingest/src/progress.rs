//! Figures that a running load shares with whoever draws a progress bar or cancels it.

use crate::error::{Error, Result};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counters of one running COPY.
///
/// The load writes the three counts and reads `cancelled`; the shell does the opposite. Nothing
/// else is published through them, so `Relaxed` is enough everywhere.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of the input; 0 until it is open.
    pub bytes_total: AtomicU64,
    /// Bytes whose rows are in the store.
    pub bytes_done: AtomicU64,
    /// Rows in the store.
    pub rows_done: AtomicU64,
    /// Set by the user's Ctrl-C; the load ends with [`crate::ErrorKind::Cancelled`].
    pub cancelled: AtomicBool,
}

impl Progress {
    /// Asks the load to stop.
    pub fn cancel(&self) {
        // ORDERING: pairs with nothing, see the type.
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Tells whether the load is to stop.
    pub fn is_cancelled(&self) -> bool {
        // ORDERING: pairs with nothing, see the type.
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Fails once the load has been cancelled.
    ///
    /// # Errors
    /// `Cancelled`.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
    }

    pub(crate) fn start(&self, bytes_total: u64) {
        // ORDERING: pairs with nothing, see the type.
        self.bytes_done.store(0, Ordering::Relaxed);
        self.rows_done.store(0, Ordering::Relaxed);
        self.bytes_total.store(bytes_total, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, bytes: u64, rows: u64) {
        // ORDERING: pairs with nothing, see the type.
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
        self.rows_done.fetch_add(rows, Ordering::Relaxed);
    }
}
