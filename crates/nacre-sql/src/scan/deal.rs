//! Cuts chunks into morsels and deals them to partitions.
//!
//! A morsel is a chunk, frozen or hot, or a part of one on vector boundaries when there are too few
//! chunks to keep all partitions busy. Dealing in turn keeps a plan free of shared state, so it can
//! run twice; chunks are of equal size, so the shares are too.

use std::ops::Range;

use nacre_column::{CHUNK_ROWS, VECTOR_ROWS};
use nacre_store::{Chunk, HotChunkRef, TableSnapshot};

/// With fewer chunks than this per partition, chunks are cut.
const CHUNKS_PER_PARTITION_MIN: usize = 4;

/// Rows of a morsel cut from a chunk.
const PART_ROWS: usize = 2 * VECTOR_ROWS;

const _: () = assert!(CHUNK_ROWS.is_multiple_of(PART_ROWS));

/// Where the rows of a morsel are.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Frozen(Chunk),
    Hot(HotChunkRef),
}

/// The rows `rows` of a chunk.
#[derive(Clone, Debug)]
pub(super) struct Morsel {
    pub(super) source: Source,
    pub(super) rows: Range<usize>,
}

impl Morsel {
    /// Returns the chunk that it is of, if that is frozen.
    pub(super) fn frozen(&self) -> Option<&Chunk> {
        match &self.source {
            Source::Frozen(chunk) => Some(chunk),
            Source::Hot(_) => None,
        }
    }
}

impl Source {
    fn rows(&self) -> usize {
        match self {
            Self::Frozen(chunk) => chunk.rows(),
            Self::Hot(chunk) => chunk.rows(),
        }
    }
}

/// Returns how many partitions a scan of `snapshot` has: one per thread, unless it is small.
pub(super) fn partition_count(snapshot: &TableSnapshot, threads: usize) -> usize {
    let chunks = snapshot.chunk_count() + snapshot.hot_chunks().len() as u64;
    let parts = snapshot.rows().div_ceil(PART_ROWS as u64).max(chunks);
    usize::try_from(parts).unwrap_or(usize::MAX).clamp(1, threads.max(1))
}

/// Returns the share of `partition`, in row order: frozen chunks, then hot ones.
pub(super) fn morsels(
    frozen: &[Chunk],
    hot: &[HotChunkRef],
    partitions: usize,
    partition: usize,
) -> Vec<Morsel> {
    let chunks = frozen.len() + hot.len();
    let part_rows =
        if chunks < CHUNKS_PER_PARTITION_MIN * partitions { PART_ROWS } else { CHUNK_ROWS };
    let frozen = frozen.iter().map(|chunk| Source::Frozen(chunk.clone()));
    let hot = hot.iter().map(|chunk| Source::Hot(chunk.clone()));
    let parts = frozen.chain(hot).flat_map(|source| {
        let rows = source.rows();
        (0..rows).step_by(part_rows).map(move |start| Morsel {
            source: source.clone(),
            rows: start..rows.min(start + part_rows),
        })
    });
    parts.skip(partition).step_by(partitions).collect()
}
