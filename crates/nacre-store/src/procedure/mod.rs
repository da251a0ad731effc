//! Procedures: code that the redo log names in the place of what it changed.
//!
//! 1. Whoever opens a database registers procedures by name ([`registry`]).
//! 2. [`crate::Store::call`] runs one in a SERIALIZABLE transaction ([`call`]), which notes where
//!    its inserts go ([`trace`]). The group of the commit holds the call instead of the changes.
//! 3. Recovery runs it again at its place in commit order ([`replay`]). Precision locking makes
//!    that order a serial one, so the procedure reads what it read and changes what it changed.
//! 4. Definitions and bulk loads are not in the log: before one of them changes what a procedure
//!    may see, a checkpoint has it that no call needs to be replayed ([`fence`]).
//!
//! # Invariants
//! 1. Replay of a call does exactly what the call did, or opening fails and says which procedure is
//!    missing or did something else; nothing is lost by that.
//! 2. While a database has no procedures, all this costs nothing.
//! # Source
//! [Muehlbauer16 4.3.1] logical redo records for stored procedures. Differs: both kinds of records
//! may be in one log, transactions overlap, and what a procedure does again is compared.

mod call;
#[cfg(test)]
mod crash_tests;
mod fence;
mod registry;
mod replay;
#[cfg(test)]
mod tests;
mod trace;

pub(crate) use fence::Calls;
pub use registry::{Procedure, Procedures};
pub(crate) use replay::{Live, replay_call};
pub(crate) use trace::CallTrace;
