//! Cuts chunks into morsels and deals them to partitions.
//!
//! A morsel is a chunk, or a part of one on vector boundaries when there are too few chunks to
//! keep all partitions busy. Dealing in turn keeps a plan free of shared state, so it can run
//! twice; chunks are of equal size, so the shares are too.

use std::ops::Range;

use nacre_column::{CHUNK_ROWS, VECTOR_ROWS};
use nacre_store::{Chunk, TableSnapshot};

/// With fewer chunks than this per partition, chunks are cut.
const CHUNKS_PER_PARTITION_MIN: usize = 4;

/// Rows of a morsel cut from a chunk.
const PART_ROWS: usize = 2 * VECTOR_ROWS;

const _: () = assert!(CHUNK_ROWS.is_multiple_of(PART_ROWS));

/// The rows `rows` of a chunk.
#[derive(Clone, Debug)]
pub(super) struct Morsel {
    pub(super) chunk: Chunk,
    pub(super) rows: Range<usize>,
}

/// Returns how many partitions a scan of `snapshot` has: one per thread, unless it is small.
pub(super) fn partition_count(snapshot: &TableSnapshot, threads: usize) -> usize {
    let parts = snapshot.rows().div_ceil(PART_ROWS as u64).max(snapshot.chunk_count());
    usize::try_from(parts).unwrap_or(usize::MAX).clamp(1, threads.max(1))
}

/// Returns the share of `partition`, in row order.
pub(super) fn morsels(chunks: &[Chunk], partitions: usize, partition: usize) -> Vec<Morsel> {
    let part_rows =
        if chunks.len() < CHUNKS_PER_PARTITION_MIN * partitions { PART_ROWS } else { CHUNK_ROWS };
    let parts = chunks.iter().flat_map(|chunk| {
        (0..chunk.rows()).step_by(part_rows).map(move |start| Morsel {
            chunk: chunk.clone(),
            rows: start..chunk.rows().min(start + part_rows),
        })
    });
    parts.skip(partition).step_by(partitions).collect()
}
