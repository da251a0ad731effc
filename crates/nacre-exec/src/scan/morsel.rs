//! Cuts chunks into morsels.
//!
//! A morsel is a chunk, frozen or hot, or a part of one on vector boundaries when there are too few
//! chunks to keep all workers busy. They are handed out at run time.

use std::ops::Range;

use nacre_column::{CHUNK_ROWS, VECTOR_ROWS};

use crate::vector::VectorRows;

/// With fewer chunks than this for each worker, chunks are cut.
const CHUNKS_PER_WORKER_MIN: usize = 4;

/// Rows of a morsel cut from a chunk, unless vectors are longer.
const PART_ROWS: usize = 2 * VECTOR_ROWS;

const _: () = assert!(CHUNK_ROWS.is_multiple_of(PART_ROWS));

/// Rows of a chunk; chunks count frozen ones first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScanMorsel {
    pub(crate) chunk: usize,
    pub(crate) rows: Range<usize>,
}

/// Returns the morsels of chunks of so many rows, in row order.
pub(crate) fn deal_morsels(
    chunk_rows: &[usize],
    workers: usize,
    vector_rows: VectorRows,
) -> Vec<ScanMorsel> {
    let is_few = chunk_rows.len() < CHUNKS_PER_WORKER_MIN * workers;
    let part_rows = if is_few { PART_ROWS.max(vector_rows.get()) } else { CHUNK_ROWS };
    let morsels = chunk_rows.iter().enumerate().flat_map(|(chunk, &rows)| {
        let part = move |start: usize| start..rows.min(start + part_rows);
        (0..rows).step_by(part_rows).map(move |start| ScanMorsel { chunk, rows: part(start) })
    });
    morsels.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_chunks_are_cut_and_many_are_not() {
        let size = VectorRows::default();
        let few = deal_morsels(&[65_536, 100, 0], 2, size);
        assert_eq!(few.len(), 5);
        assert_eq!(few[4], ScanMorsel { chunk: 1, rows: 0..100 });
        assert_eq!(deal_morsels(&[65_536; 8], 2, size).len(), 8);
    }

    #[test]
    fn a_morsel_has_a_whole_vector() {
        let rows = |size| {
            let morsels = deal_morsels(&[65_536], 4, VectorRows::new(size).unwrap());
            morsels.iter().map(|morsel| morsel.rows.len()).collect::<Vec<_>>()
        };
        assert_eq!(rows(256), [16_384; 4]);
        assert_eq!(rows(32_768), [32_768; 2]);
        assert_eq!(rows(65_536), [65_536]);
    }
}
