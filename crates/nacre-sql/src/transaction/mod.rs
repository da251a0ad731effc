//! Transactions of a session: [`session`] keeps the open block and hands out turns in it, [`turn`]
//! is what one statement holds of a transaction, [`control`] runs BEGIN, COMMIT and their kin
//! ([`readable`] words that the parser does not know), [`settings`] SET and SHOW, [`moment`] is
//! what a statement sees and notes of its reads, and [`rows`] ties the rows of a query to its
//! transaction.
//!
//! # Invariants
//! 1. A statement outside a block is its own transaction: it commits when it succeeds.
//! 2. In a block that failed nothing runs until ROLLBACK or ROLLBACK TO.
//! 3. All scans of a statement read one snapshot; under READ COMMITTED each statement has a new
//!    one.

mod control;
mod moment;
mod readable;
mod rows;
mod session;
mod settings;
mod turn;

pub(crate) use control::{Plain, control, end_implicit, require_block};
pub(crate) use moment::Moment;
pub(crate) use readable::readable;
pub(crate) use rows::tie;
pub use session::TransactionStatus;
pub(crate) use session::Transactions;
pub(crate) use settings::{run_setting, set};
pub(crate) use turn::{Hold, RestartPoint, Turn};
