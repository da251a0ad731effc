//! The checksum of the transaction log: 64 bits, a multiplication for each 8 bytes.
//!
//! It must not be a CRC. What transactions write often carries a CRC of its own (lines of the
//! heap's table, leaves of a tree), and the difference of two such records is a multiple of the
//! polynomial: a CRC by the same polynomial over a range is blind to whether the old or the new one
//! is there, whatever it starts from. A slot that was used before holds such old bytes. The product
//! modulo 2^64 is not linear in that sense.

use std::ops::BitXor;

/// Odd, with bits spread evenly: 2^64 divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Bytes from which four sums run side by side, since each step waits for the one before.
const WIDE_BYTES: usize = 128;

/// Returns what the checksum of a transaction starts from; `purpose` keeps checksums apart.
#[inline]
pub(super) fn start(sequence: u64, purpose: u64) -> u64 {
    step(step(FACTOR, sequence), purpose)
}

/// Adds bytes to a checksum. For a given sum, different ranges of up to 8 bytes and equal length
/// always give different results.
#[inline]
pub(super) fn add(mut sum: u64, mut bytes: &[u8]) -> u64 {
    if bytes.len() >= WIDE_BYTES {
        (sum, bytes) = add_wide(sum, bytes);
    }
    let mut words = bytes.chunks_exact(8);
    for bytes in words.by_ref() {
        sum = step(sum, word(bytes));
    }
    let rest = words.remainder();
    if rest.is_empty() { sum } else { step(sum, word(rest)) }
}

/// Adds whole blocks of four words; returns the rest.
fn add_wide(sum: u64, bytes: &[u8]) -> (u64, &[u8]) {
    let mut sums = [sum, !sum, sum.rotate_left(21), !sum.rotate_left(42)];
    let mut blocks = bytes.chunks_exact(32);
    for block in blocks.by_ref() {
        for (sum, bytes) in sums.iter_mut().zip(block.chunks_exact(8)) {
            *sum = step(*sum, word(bytes));
        }
    }
    (sums.into_iter().fold(sum, step), blocks.remainder())
}

/// One to one in each argument.
#[inline(always)]
fn step(sum: u64, word: u64) -> u64 {
    let product = sum.bitxor(word).wrapping_mul(FACTOR);
    product ^ product >> 32
}

/// Returns up to 8 bytes as a word.
#[inline(always)]
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_changes_the_sum() {
        for length in [1, 4, 8, 9, 100, WIDE_BYTES, 300] {
            let bytes: Vec<u8> = (0..length).map(|index| index as u8).collect();
            let sum = add(start(7, 1), &bytes);
            assert_ne!(sum, add(start(8, 1), &bytes));
            for bit in 0..length * 8 {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let other = add(start(7, 1), &flipped);
                assert_ne!(sum, other, "{length} bytes, bit {bit}");
            }
        }
    }

    /// A checksum of new bytes in place was once a CRC-32C. A crash image in which the heap's root
    /// was still the old one was taken for committed, since the root carries a CRC-32C itself.
    #[test]
    fn records_with_a_crc_of_their_own_are_told_apart() {
        let record = |value: u64| {
            let value = value.to_le_bytes();
            [&value[..], &crc32c::crc32c(&value).to_le_bytes(), &[0; 4]].concat()
        };
        let (old, new) = (record(1), record(2));
        assert_eq!(crc32c::crc32c_append(9, &old), crc32c::crc32c_append(9, &new), "why not a CRC");
        assert_ne!(add(start(9, 1), &old), add(start(9, 1), &new));
    }
}
