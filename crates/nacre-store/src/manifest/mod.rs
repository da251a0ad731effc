//! The manifest: the replicated, append-only record of what exists.
//!
//! [`record`] says what is recorded, [`replica`] how one copy lies on media, [`log`] how all
//! copies are appended to, published and evened out after a crash.

mod log;
mod record;
mod replica;
#[cfg(test)]
mod tests;

pub use log::DatabaseId;
#[cfg(test)]
pub(crate) use log::{HEADER_BYTES, PUBLISHED_OFFSET};
pub(crate) use log::{Manifest, Opened};
#[cfg(test)]
pub(crate) use record::RECORD_HEADER_BYTES;
pub use record::{LoadId, TableId};
pub(crate) use record::{LoadRecord, Record};
#[cfg(test)]
pub(crate) use replica::header_bytes as replica_header;
pub(crate) use replica::{Place, in_progress as replica_in_progress};
