//! Transactions: snapshots, versions, commits, and the collection of what nobody sees any more.
//!
//! 1. [`Transaction`] reads through its [`Snapshot`] and changes hot chunks in place; versions that
//!    lead back to what was lie with the chunks, and its undo buffer says where.
//! 2. All versions of a transaction bear one slot of the [`Stamps`], so committing it is one store.
//! 3. [`Transactions`] gives out moments, knows who is active, orders commits, and drops versions
//!    as soon as no active snapshot needs them.
//!
//! # Invariants
//! 1. A transaction sees what was committed at its start, and its own changes.
//! 2. Of two transactions that overlap and write the same row the first one wins, the other one
//!    gets an error at once. Nobody who holds up others waits for them without a time limit
//!    ([`EndWatch`]), so there is no deadlock.
//! 3. Timestamps are published in order: who sees a commit sees all earlier ones.
//! # Concurrency
//! Lock order: commit, recent; each of them before the latch of a chunk.
//! # Source
//! [Muehlbauer16 chapter 2]

mod active;
mod ended;
mod moves;
mod read;
mod scan;
mod scratch;
mod snapshot;
mod stamps;
#[cfg(test)]
mod tests;
mod transaction;
mod transactions;
mod undo;
mod validation;

pub use ended::EndWatch;
pub(crate) use read::FrozenChunk;
pub use snapshot::{IsolationLevel, Snapshot};
pub(crate) use stamps::Stamps;
pub use transaction::{Savepoint, Transaction};
pub use transactions::TransactionInfo;
pub(crate) use transactions::{Change, NOBODY, Transactions};
pub(crate) use undo::{GoneTable, UndoBuffer};
