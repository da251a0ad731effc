//! Replicated columns: the same values in several places and formats.
//!
//! [`choose`] says which replica a reader takes, [`Wear`] what the replicas cost their media.
//! [`ReplicatedColumn`] keeps one column of numbers that grows at its end, with readers beside the
//! appender; tables and their files are known above.
//!
//! # Source
//! [Zarubin22 4.2] polymorphic compressed replication.

mod choose;
mod column;
mod error;
mod segment;
mod snapshot;
mod wear;

pub use choose::{AccessHint, Candidate, choose};
pub use column::{ReplicatedColumn, ReplicatedOptions};
pub use error::ReplicatedError;
pub use segment::{RECORD_HEADER_BYTES, SEGMENT_HEADER_BYTES};
pub use snapshot::{BlockGuard, ColumnReader, ReplicaState, Snapshot};
pub use wear::{Wear, WearCause};
