//! What a transaction defines before it commits: tables, indexes, views and sequences that are
//! new, or that are gone, for it alone.
//!
//! 1. A handle of [`Store::for_session`] has a [`slot`] for one draft. [`Transaction::define`]
//!    opens it; from then on what the handle and its clones define goes into the draft instead of
//!    the manifest, and what they look up is found there first. All other handles see what
//!    everybody sees.
//! 2. A new table is a whole table that nobody else finds: rows, indexes and foreign keys work as
//!    ever. A table that is to go stays for others until the commit. An index of a table that
//!    others see is built at commit, while loads of that table wait.
//! 3. Commit ([`commit`]) makes the redo group of the transaction durable, then appends all records
//!    at once, with one more that names the group: the group counts if that record is there
//!    (`recovery/`). Both happen under the lock of commits, so nobody sees the rows without the
//!    tables, or a later commit without this one.
//! 4. Rolling back drops the draft, to a savepoint what came after it.
//!
//! # Invariants
//! 1. A crash leaves all that a transaction defined and wrote, or nothing of it.
//! 2. Two transactions that change the same thing do not both commit: a table that one is dropping
//!    is refused to others at once, everything else is compared with what there is at commit. The
//!    one that loses gets [`crate::Error::SerializationConflict`].
//! 3. No other transaction writes a table that is not committed, so no redo record names a table
//!    that was never created.
//! # Concurrency
//! The statements of a transaction come one after the other; a handle with a draft is for them
//! only.
//! # See
//! `crash_tests.rs`; `tests/sql/transactions/definitions.slt`, [`Store::for_session`].
//!
//! [`Store::for_session`]: crate::Store::for_session
//! [`Transaction::define`]: crate::Transaction::define

mod commit;
#[cfg(test)]
mod crash_tests;
mod define;
mod definitions;
mod slot;

pub(crate) use definitions::Definitions;
pub(crate) use slot::DraftSlot;
