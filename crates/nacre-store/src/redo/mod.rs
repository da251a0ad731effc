//! The redo log: committed changes that no block holds yet.
//!
//! [`record`] says what a transaction records of its changes, [`call`] what of a procedure's,
//! [`group`] how that lies in the log,
//! [`segment`] in which pool sets the log lies. [`log`] appends, [`turns`] says who
//! stores for all that wait, [`survey`] finds out at opening what is there, [`replay`] reads it,
//! [`archived`] copies it elsewhere and makes a log of copies.

mod archived;
mod call;
#[cfg(test)]
mod crash_tests;
mod group;
mod log;
mod record;
mod replay;
mod segment;
mod survey;
#[cfg(test)]
mod tests;
mod turns;

pub(crate) use archived::{Archived, ArchivedGroup, Piece, archived_header, write_segment};
pub use call::{CallEffects, CallPlace, changes_checksum};
#[cfg(test)]
pub(crate) use group::{GROUP_HEADER_BYTES, GROUP_MAGIC, GroupStart, pack, put_group};
pub use log::{RedoLog, RedoOptions};
pub use record::{RedoBuffer, RedoProblem, RedoReader, RedoRecord};
pub(crate) use replay::GroupRecords;
pub(crate) use segment::segment_of;
#[cfg(test)]
pub(crate) use segment::{SEGMENT_HEADER_BYTES, SEGMENT_MAGIC, STATE_OFFSET};
