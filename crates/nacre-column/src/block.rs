//! Blocks: one column of one chunk, encoded, immutable, self-describing, checksummed.
//!
//! [`encode`] turns a [`ColumnBuffer`](crate::ColumnBuffer) into the bytes of a block;
//! [`Block::open`] wraps such bytes wherever they lie, copying nothing.
//!
//! # Invariants
//! 1. A block is a whole number of [`ALIGNMENT`] bytes and each of its sections starts on a
//!    multiple of it, so that a block placed on such a multiple has aligned sections.
//! 2. [`encode`] has decoded what it returns and compared it with its input.
//! 3. No bytes whatever make a reader of an opened block panic or read outside: sizes are checked
//!    by [`Block::open`], and what lies inside of sections where it is used.
//! 4. A value that is null has a clear bit in `nulls` and an unspecified value elsewhere: 0 or the
//!    empty string in plain, else the key of the row before it (see `format/keys.rs`) or code 0.
//!
//! # Layout
//! Drawn in `docs/layout.md`, section "Block": the header, then the sections `nulls`, `values`,
//! `offsets` and `heap`, those that the format has.

mod choose;
mod encode;
mod header;
mod numbers;
mod point;
mod read;
mod strings;
#[cfg(test)]
pub(crate) mod tests;

pub use encode::{
    EncodedBlock, LoadBlock, encode, encode_as, encode_for_load, encode_ranked, encode_replicas,
};
pub use header::{BLOCK_MAGIC, BLOCK_VERSION, BlockHeader, HEADER_BYTES};
pub use point::{PointReader, PointValue};
pub use read::Block;

/// What the size of a block and the places of its sections are multiples of: a cache line, and
/// the width of the widest register.
pub const ALIGNMENT: usize = 64;
