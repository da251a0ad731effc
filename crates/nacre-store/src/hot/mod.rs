//! Hot chunks: rows that change, in plain arrays in DRAM, with the versions that snapshots need.
//!
//! [`column`] holds the newest values of one column; [`versions`] the way back to older ones;
//! [`positions`] says where a chunk has versions at all; [`chunk`] joins them behind one latch,
//! and [`rows`] is what a reader or writer finds there. [`frozen`] is the little that a frozen
//! chunk needs, whose rows can only be deleted. [`list`] is the hot end of a table, [`settled`]
//! what is copied of a chunk that is to be frozen. [`matching`] is what a scan reads, and
//! [`equal_strings`] how it compares strings.

mod chunk;
mod claim;
mod column;
mod equal_strings;
mod frozen;
mod list;
mod matching;
mod positions;
mod rows;
mod settled;
mod single_version;
mod versions;

pub use chunk::HotChunkRef;
pub(crate) use chunk::{HotChunk, WriteProblem};
pub(crate) use claim::KeyClaim;
pub(crate) use column::HEAP_BYTES_FULL;
pub use column::HotColumnRange;
pub(crate) use frozen::FrozenDeletes;
pub(crate) use list::HotList;
pub use matching::HotCondition;
pub(crate) use rows::{HotRows, RowView};
pub(crate) use settled::Settled;
pub use single_version::SingleVersion;
pub(crate) use versions::VersionKind;
