//! Column formats, blocks and small materialized aggregates.
//!
//! A table's rows come in chunks of [`CHUNK_ROWS`]; each column of a chunk is one immutable,
//! checksummed *block* in one *format*. This crate turns [`ColumnBuffer`]s into blocks and blocks
//! back into values, and decides on encoded values which rows match a [`Restriction`].
//!
//! # Invariants
//! 1. It knows nothing of tables, files, threads or SQL, and starts no thread.
//! 2. What [`block::encode`] returns has been decoded and compared with its input.
//! 3. No bytes given to [`Block::open`] make this crate panic or read outside of them.
//! 4. Every kernel gives the same answer in every [`Flavour`].
//! 5. The only `unsafe` sets the length of a vector whose elements a kernel has just written.
//!
//! # See
//! `docs/layout.md` draws a block's bytes; bench `decode` prints the figures.

#![deny(unsafe_code)]

pub mod block;
mod buffer;
mod column_type;
mod error;
mod format;
mod hash;
pub mod kernel;
mod policy;
pub mod replicated;
mod restriction;
mod sketch;
mod sma;
mod statistics;
pub mod text;

pub use block::{Block, BlockHeader, EncodedBlock, LoadBlock, PointReader, PointValue};
pub use buffer::{Bitmap, ByteValues, ColumnBuffer, STRING_BYTES_MAX, Values};
pub use column_type::{
    COLUMN_TYPE_BYTES, ColumnType, DECIMAL_PRECISION_MAX, DECIMAL64_PRECISION_MAX, Physical,
};
pub use error::{BlockError, BlockErrorKind};
pub use format::Format;
pub use format::plain::{StringValues, Strings};
pub use nacre_simd::Flavour;
pub use policy::{FormatChoice, Place, PolicyError, REPLICAS_MAX, ReplicaPolicy, ReplicaSpec};
pub use restriction::{CompareOp, Constant, Restriction, compare_floats, may_match};
pub use sketch::DistinctSketch;
pub use sma::{Bound, PREFIX_BYTES, Prefix, SMA_BYTES, Sma};
pub use statistics::{BlockStatistics, QUANTILES};

/// Rows of a full chunk. Row ids are (chunk, offset) with 16 bits for the offset.
pub const CHUNK_ROWS: usize = 65_536;

/// Most rows a scan hands on at once: decoded columns of this length stay in the L2 cache.
pub const VECTOR_ROWS: usize = 8_192;
