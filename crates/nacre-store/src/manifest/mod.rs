//! The manifest: the replicated, append-only record of what exists.
//!
//! It is the data area of one pool set. [`record`] says what is recorded, [`header`] what stands
//! before the records, [`log`] how they are created and appended, [`open`] how a whole member is
//! found and the others are made like it. Copies, crashes and growing are the pool set's.

#[cfg(test)]
mod crash_tests;
mod header;
mod log;
mod open;
mod record;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use header::{HEADER_BYTES, PUBLISHED_OFFSET, header_bytes};
pub use log::DatabaseId;
pub(crate) use log::Manifest;
pub(crate) use open::{is_member_file, is_unfinished_file, remove_unfinished};
#[cfg(test)]
pub(crate) use record::RECORD_HEADER_BYTES;
pub(crate) use record::{
    FrozenRecord, LoadRecord, PAYLOAD_BYTES_MAX, PartRecord, PartsChange, Record,
};
pub use record::{LoadId, TableId};
#[cfg(test)]
pub(crate) use tests::Injection;
