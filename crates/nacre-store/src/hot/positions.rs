//! Where a chunk has versions: the first and the last versioned row of each range of rows.
//!
//! A range's entry holds both positions, counted from the range's start, in one 32-bit word: the
//! first in the high half, one past the last in the low half; equal halves mean none.
//!
//! # Invariants
//! 1. Every versioned row lies in the interval of its range. The interval may be too wide: when a
//!    row in its middle loses its versions nothing is done, and the next scan that sees the whole
//!    range puts it right.
//! # Concurrency
//! `insert` and `remove` need the chunk's latch for writing; `get` and `correct` need it for
//! reading, and all who correct a range at once store the same.
//! # Source
//! [Muehlbauer16 2.2.6] VersionedPositions with fuzzy deletion.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use nacre_column::CHUNK_ROWS;

/// Rows of a range unless set otherwise: the paper's figure 2.9 has its best point here.
pub(crate) const RANGE_ROWS: usize = 1_024;

/// Most rows of a range: both positions have 16 bits.
pub(crate) const RANGE_ROWS_MAX: usize = 1 << 15;

const _: () = assert!(RANGE_ROWS <= RANGE_ROWS_MAX && RANGE_ROWS_MAX <= CHUNK_ROWS);

/// Intervals that contain all versioned rows of a chunk.
#[derive(Debug)]
pub(crate) struct VersionedPositions {
    /// Rows of a range, as a power of two.
    shift: u32,
    /// One for each range.
    words: Box<[AtomicU32]>,
}

impl VersionedPositions {
    /// Notes nothing yet, in ranges of `range_rows`: a power of two up to [`RANGE_ROWS_MAX`].
    pub(crate) fn new(range_rows: usize) -> Self {
        assert!(range_rows.is_power_of_two() && range_rows <= RANGE_ROWS_MAX);
        let words = (0..CHUNK_ROWS / range_rows).map(|_| AtomicU32::new(0)).collect();
        Self { shift: range_rows.ilog2(), words }
    }

    /// Returns the ranges that have one of the rows.
    #[inline]
    pub(crate) fn ranges(&self, rows: &Range<usize>) -> Range<usize> {
        rows.start >> self.shift..rows.end.div_ceil(1 << self.shift)
    }

    /// Returns the word of a row's range and its position there.
    #[inline]
    fn word_of(&mut self, row: usize) -> (&mut u32, u32) {
        let at = row & ((1 << self.shift) - 1);
        (self.words[row >> self.shift].get_mut(), at as u32)
    }

    /// Notes that a row has a version.
    #[inline]
    pub(crate) fn insert(&mut self, row: usize) {
        let (word, at) = self.word_of(row);
        let (first, end) = unpack(*word);
        *word = match first == end {
            true => pack(at, at + 1),
            false => pack(first.min(at), end.max(at + 1)),
        };
    }

    /// Notes that a row has no version any more.
    #[inline]
    pub(crate) fn remove(&mut self, row: usize) {
        let (word, at) = self.word_of(row);
        let (first, end) = unpack(*word);
        if first == end {
            return;
        }
        if at == first {
            *word = pack(first + 1, end);
        } else if at + 1 == end {
            *word = pack(first, end - 1);
        }
    }

    /// Notes that no row has a version.
    pub(crate) fn clear(&mut self) {
        self.words.iter_mut().for_each(|word| *word.get_mut() = 0);
    }

    /// Returns rows of a range outside of which none is versioned.
    #[inline]
    pub(crate) fn get(&self, range: usize) -> Range<usize> {
        // ORDERING: words change under the latch only, which orders them, or are corrected, and
        // then both values are right.
        let (first, end) = unpack(self.words[range].load(Ordering::Relaxed));
        let start = range << self.shift;
        start + first as usize..start + end as usize
    }

    /// Narrows the interval of a range to what a scan has found.
    pub(crate) fn correct(&self, range: usize, versioned: Range<usize>) {
        let start = range << self.shift;
        let word = match versioned.is_empty() {
            true => 0,
            false => pack((versioned.start - start) as u32, (versioned.end - start) as u32),
        };
        // ORDERING: as in `get`.
        self.words[range].store(word, Ordering::Relaxed);
    }
}

fn pack(first: u32, end: u32) -> u32 {
    first << 16 | end
}

fn unpack(word: u32) -> (u32, u32) {
    (word >> 16, word & 0xffff)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn intervals_contain_all_versioned_rows(
            steps in prop::collection::vec((0..2_048_usize, any::<bool>()), 0..200)
        ) {
            let mut positions = VersionedPositions::new(RANGE_ROWS);
            let mut versioned = std::collections::BTreeSet::new();
            for (row, is_insert) in steps {
                if is_insert {
                    versioned.insert(row);
                    positions.insert(row);
                } else if versioned.remove(&row) {
                    positions.remove(row);
                }
                for &row in &versioned {
                    prop_assert!(positions.get(row / RANGE_ROWS).contains(&row));
                }
                prop_assert!(positions.get(2).is_empty());
            }
        }
    }

    #[test]
    fn ends_shrink_at_once_and_the_middle_when_corrected() {
        let mut positions = VersionedPositions::new(RANGE_ROWS);
        [1_030, 1_025, 1_100].into_iter().for_each(|row| positions.insert(row));
        assert_eq!(positions.get(1), 1_025..1_101);
        positions.remove(1_030);
        assert_eq!(positions.get(1), 1_025..1_101);
        positions.remove(1_100);
        assert_eq!(positions.get(1), 1_025..1_100);
        positions.correct(1, 1_025..1_026);
        assert_eq!(positions.get(1), 1_025..1_026);
        positions.remove(1_025);
        assert!(positions.get(1).is_empty());
    }
}
