//! TABLESAMPLE: rows, or blocks of rows, that a hash of their place chooses.
//!
//! The place is the chunk and the row in it, so that a seed chooses the same rows as long as the
//! table does not change, whatever conditions there are and however many workers read it.
//!
//! # Source
//! PostgreSQL 15 documentation, SELECT, TABLESAMPLE; `bernoulli.c` and `system.c` hash the places
//! of tuples and pages, too.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

use crate::error::{ExecError, ExecResult};
use crate::vector::BitVector;

/// Rows of a block, about as many as a page of PostgreSQL has.
const BLOCK_ROWS: usize = 128;

/// Hashes are compared in 32 bits.
const HASH_RANGE: f64 = 4_294_967_296.0;

/// Which rows of a table a scan reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScanSample {
    /// Whether blocks are chosen instead of rows.
    pub is_of_blocks: bool,
    /// How many of a hundred; `None` for a null.
    pub percent: Option<f32>,
    pub seed: SampleSeed,
}

/// What makes one sample differ from another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleSeed {
    /// Each execution has another one.
    Random,
    /// REPEATABLE; `None` for a null.
    Repeatable(Option<f64>),
}

/// A sample that is being read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowSampler {
    seed: u64,
    block_rows: usize,
    /// Hashes below it are of chosen rows.
    cutoff: u64,
}

impl ScanSample {
    /// Begins to read.
    ///
    /// # Errors
    /// 2202H for a part that is none of a hundred, 2202G for a null seed.
    pub(crate) fn sampler(&self) -> ExecResult<RowSampler> {
        let fail = |sqlstate: &'static str, message: &str| {
            Err(ExecError::Function { sqlstate, message: message.to_owned() })
        };
        let Some(percent) = self.percent else {
            return fail("2202H", "TABLESAMPLE parameter cannot be null");
        };
        let seed = match self.seed {
            SampleSeed::Random => RandomState::new().build_hasher().finish(),
            // Zeros are one.
            SampleSeed::Repeatable(Some(seed)) => (seed + 0.0).to_bits(),
            SampleSeed::Repeatable(None) => {
                return fail("2202G", "TABLESAMPLE REPEATABLE parameter cannot be null");
            }
        };
        if !(0.0..=100.0).contains(&percent) {
            return fail("2202H", "sample percentage must be between 0 and 100");
        }
        let block_rows = if self.is_of_blocks { BLOCK_ROWS } else { 1 };
        // At most the range, which has 33 bits.
        let cutoff = (HASH_RANGE * f64::from(percent) / 100.0).round() as u64;
        Ok(RowSampler { seed, block_rows, cutoff })
    }
}

impl RowSampler {
    /// Returns which rows of a chunk are chosen, a bit for each.
    pub(crate) fn select(&self, chunk: usize, rows: Range<usize>) -> BitVector {
        let mut bits = BitVector::default();
        rows.for_each(|row| bits.push(self.is_chosen(chunk, row)));
        bits
    }

    /// Whether a row of a chunk is chosen.
    pub(crate) fn is_chosen(&self, chunk: usize, row: usize) -> bool {
        let place = (chunk as u64) << 32 | (row / self.block_rows) as u64;
        mixed(self.seed ^ mixed(place)) >> 32 < self.cutoff
    }
}

/// Spreads the bits of a number (Steele et al., "Fast splittable pseudorandom number generators",
/// OOPSLA 2014).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampler(is_of_blocks: bool, percent: f32, seed: f64) -> RowSampler {
        let seed = SampleSeed::Repeatable(Some(seed));
        ScanSample { is_of_blocks, percent: Some(percent), seed }.sampler().unwrap()
    }

    #[test]
    fn about_the_wanted_part_is_chosen() {
        for percent in [1.0, 10.0, 50.0, 99.0] {
            let bits = sampler(false, percent, 7.0).select(3, 0..65_536);
            let expected = 655.36 * f64::from(percent);
            let deviation = (bits.count_ones() as f64 - expected).abs();
            assert!(deviation < 6.0 * expected.sqrt(), "{percent}: {}", bits.count_ones());
        }
    }

    #[test]
    fn none_and_all_are_exact() {
        assert_eq!(sampler(false, 0.0, 1.0).select(0, 0..10_000).count_ones(), 0);
        assert_eq!(sampler(true, 100.0, 1.0).select(0, 0..10_000).count_ones(), 10_000);
    }

    #[test]
    fn blocks_are_chosen_as_a_whole() {
        let bits = sampler(true, 40.0, 2.5).select(1, 0..12_800);
        for block in 0..100 {
            let rows = block * BLOCK_ROWS..(block + 1) * BLOCK_ROWS;
            let chosen = rows.filter(|row| bits.get(*row)).count();
            assert!(chosen == 0 || chosen == BLOCK_ROWS, "block {block}");
        }
    }

    #[test]
    fn a_seed_says_which_rows() {
        let bits = |seed| sampler(false, 30.0, seed).select(0, 0..4_096);
        assert_eq!(bits(1.5).words(), bits(1.5).words());
        assert_eq!(bits(0.0).words(), bits(-0.0).words());
        assert_ne!(bits(1.5).words(), bits(1.25).words());
    }

    #[test]
    fn impossible_parts_are_errors() {
        let seed = SampleSeed::Random;
        for percent in [Some(-1.0), Some(100.5), Some(f32::NAN), None] {
            let sample = ScanSample { is_of_blocks: false, percent, seed };
            assert!(sample.sampler().is_err(), "{percent:?}");
        }
    }
}
