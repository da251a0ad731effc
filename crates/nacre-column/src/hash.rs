//! Hashes of values by folded 128-bit products.
//!
//! # Invariants
//! 1. [`hash_number`], [`hash_wide`] and [`hash_string`] never change: distinct sketches on media
//!    are made of them. `docs/layout.md`, section "Distinct sketch", defines them; a test compares.
//! 2. Their hashes are odd, so that none is 0 and each has a bit set below any prefix.

/// Odd numbers without a pattern in their bits.
const K: [u64; 3] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9];

/// Hashes a key for a table in memory: one product, so the lower bits are not very well mixed.
#[inline]
pub(crate) fn hash_key(key: u64) -> u64 {
    fold(key ^ K[0], K[1])
}

/// Hashes a string of which these are the [`end_words`], 16 bytes at a time, for a table in memory.
#[inline]
pub(crate) fn hash_words(value: &[u8], (first, last): (u64, u64)) -> u64 {
    let mut state = K[2] ^ value.len() as u64;
    if value.len() > 16 {
        for pair in value[8..value.len() - 8].as_chunks::<8>().0 {
            state = fold(state ^ u64::from_le_bytes(*pair), K[0]);
        }
        // What is left of the middle, below eight bytes, is part of these or of the last word.
        let near_end = value[..value.len() - 8].last_chunk().map_or(0, |w| u64::from_le_bytes(*w));
        state = fold(state ^ near_end, K[1]);
    }
    fold(first ^ K[0] ^ state, last ^ K[1])
}

/// Hashes a number of 64 bits.
#[inline]
pub(crate) fn hash_number(value: u64) -> u64 {
    finish(hash_key(value))
}

/// Hashes a number of 128 bits.
#[inline]
pub(crate) fn hash_wide(value: u128) -> u64 {
    finish(fold(value as u64 ^ K[0], (value >> 64) as u64 ^ K[1]))
}

/// Hashes a string.
#[inline]
pub(crate) fn hash_string(value: &[u8]) -> u64 {
    finish(hash_words(value, end_words(value)))
}

/// Returns the first and the last eight bytes, which overlap below 16; from 4 to 7 bytes the first
/// and last four, below that first, middle and last byte. With the length, they tell apart all
/// strings of up to 16 bytes.
#[inline]
pub(crate) fn end_words(value: &[u8]) -> (u64, u64) {
    if let (Some(first), Some(last)) = (value.first_chunk(), value.last_chunk()) {
        return (u64::from_le_bytes(*first), u64::from_le_bytes(*last));
    }
    if let (Some(first), Some(last)) = (value.first_chunk(), value.last_chunk()) {
        return (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into());
    }
    match value {
        [first, .., last] => {
            let middle = value[value.len() / 2];
            (u64::from(*first) << 16 | u64::from(middle) << 8 | u64::from(*last), 0)
        }
        [only] => (u64::from(*only), 0),
        [] => (0, 0),
    }
}

#[inline]
fn fold(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    product as u64 ^ (product >> 64) as u64
}

/// Mixes once more, so that all bits depend on all bits, and sets the lowest.
#[inline]
fn finish(folded: u64) -> u64 {
    fold(folded ^ K[2], K[0]) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changing these makes sketches on media wrong: they would count values twice.
    #[test]
    fn hashes_on_media_never_change() {
        let found = [
            hash_number(0),
            hash_number(42),
            hash_number(u64::MAX),
            hash_wide(42),
            hash_wide(u128::MAX),
            hash_string(b""),
            hash_string(b"a"),
            hash_string(b"seven b"),
            hash_string(b"twelve bytes"),
            hash_string(b"more than sixteen bytes of text"),
        ];
        let wanted = [
            0xa10b_e9a3_704b_48bd,
            0xdfc3_debd_6c00_2df9,
            0xb530_a0ca_13c5_13ad,
            0xdfc3_debd_6c00_2df9,
            0x63f8_b85d_c23d_e2eb,
            0xe4bf_1630_a4f8_0455,
            0x0bf0_0061_0ffa_dfbd,
            0x9ed9_d84b_bb82_4449,
            0x9ae1_9832_9ff7_87ab,
            0xb293_d95a_b61f_23f3,
        ];
        assert_eq!(found, wanted);
        assert!(found.iter().all(|hash| hash & 1 == 1));
    }
}
