//! Archives: what a database was at any moment since a backup.
//!
//! An archive is a directory, best on another device, to which a database copies while it works
//! ([`writer`]): every group of the redo log, every record of the manifest, and the pools of loads
//! that were made since archiving began. [`keeper`] says when, and keeps the redo log from being
//! truncated where it was not copied. [`restore`] puts a database together of a backup and an
//! archive, as a crash at that moment would have left it, and opens it.
//!
//! 1. Before records of the manifest their moment is recorded: the last commit, the end of the log
//!    and the time. So it is known which of them count for a moment.
//! 2. A step notes a moment, copies pools of loads that are recorded by then, then the records,
//!    then the log up to it. So the end of the archived log tells how far all is there.
//!
//! # Invariants
//! 1. Files only grow or appear under their name when they are whole. Whatever a crash or a full
//!    device leaves, the next step goes on behind it.
//! 2. The archive is of one history: it goes on only where its last group and all its records are
//!    those of the database.
//! 3. No group leaves the log before it is in the archive.
//! # Layout
//! Drawn in `docs/layout.md`, section "Archive".

mod files;
mod keeper;
mod restore;
mod writer;

#[cfg(test)]
pub(crate) use files::catalog_header;
pub use keeper::ArchiveStatus;
pub(crate) use keeper::Keeper;
pub use restore::{RestoreOptions, RestoreReport, RestoreTarget, restore, restore_with};
