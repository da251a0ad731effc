//! The redo log: committed changes that no block holds yet.
//!
//! [`record`] says what a transaction records of its changes.

mod record;

pub use record::{RedoBuffer, RedoProblem, RedoReader, RedoRecord};
