//! The first line of a leaf: the publish word with a check, and the fingerprints.
//!
//! # Layout
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 7 | bit s: slot s holds a live entry |
//! | 7 | 1 | check |
//! | 8 | 56 | fingerprint of each slot |
//!
//! The first 8 bytes are the publish word. Its check covers the live bits and the fingerprints of
//! live slots, so it changes with the live bits by the same store: it is a constant, exclusive-or
//! one term for each live slot. The term of a fingerprint has the highest bit, and below it seven
//! bits that no two fingerprints share which differ in one bit.
//!
//! # Invariants
//! 1. Any one bit that flips in the word or in the fingerprint of a live slot is found, any other
//!    damage but once in 256; zeros are no first line.

use super::entry;
use super::leaf::SLOTS;

/// Bytes of the line.
pub(super) const LINE_BYTES: usize = 64;
/// Check of a leaf without entries: not 0, so that zeros are damage.
const EMPTY_CHECK: u8 = 0xa5;
const LIVE_MASK: u64 = (1 << SLOTS) - 1;

const _: () = assert!(SLOTS == 56 && size_of::<u64>() + SLOTS == LINE_BYTES);

/// The publish word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Live(u64);

impl Live {
    /// No slot is live.
    pub(super) const EMPTY: Live = Live((EMPTY_CHECK as u64) << SLOTS);

    /// Returns the word as it is stored.
    #[inline]
    pub(super) fn word(self) -> u64 {
        self.0
    }

    /// Returns the live slots, a bit each.
    #[inline]
    pub(super) fn slots(self) -> u64 {
        self.0 & LIVE_MASK
    }

    /// Whether no slot is live.
    pub(super) fn is_empty(self) -> bool {
        self.slots() == 0
    }

    /// Returns the word with a slot, which was not live, of this fingerprint.
    #[inline]
    pub(super) fn with(self, slot: usize, fingerprint: u8) -> Live {
        debug_assert!(slot < SLOTS && self.0 >> slot & 1 == 0);
        self.change(slot, fingerprint)
    }

    /// Returns the word without a slot, which was live, of this fingerprint.
    #[inline]
    pub(super) fn without(self, slot: usize, fingerprint: u8) -> Live {
        debug_assert!(slot < SLOTS && self.0 >> slot & 1 == 1);
        self.change(slot, fingerprint)
    }

    #[inline]
    fn change(self, slot: usize, fingerprint: u8) -> Live {
        let term = u64::from(0x80 | mixed(fingerprint)) << SLOTS;
        Live(self.0 ^ (1 << slot) ^ term)
    }
}

/// The bytes of a first line, which may be garbage.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstLine([u8; LINE_BYTES]);

impl FirstLine {
    /// Copies the line at the start of a leaf.
    #[inline]
    pub(super) fn of(leaf: &[u8]) -> FirstLine {
        let mut line = [0; LINE_BYTES];
        line.copy_from_slice(&leaf[..LINE_BYTES]);
        FirstLine(line)
    }

    /// Builds the line of a new leaf from slots and the keys in them.
    pub(super) fn build<'a>(slots: impl Iterator<Item = (usize, &'a [u8])>) -> FirstLine {
        let mut line = FirstLine([0; LINE_BYTES]);
        let mut live = Live::EMPTY;
        for (slot, key) in slots {
            let fingerprint = entry::fingerprint(key);
            live = live.with(slot, fingerprint);
            line.0[8 + slot] = fingerprint;
        }
        line.0[..8].copy_from_slice(&live.word().to_le_bytes());
        line
    }

    pub(super) fn bytes(&self) -> &[u8; LINE_BYTES] {
        &self.0
    }

    #[inline]
    fn word(&self, index: usize) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(&self.0[8 * index..8 * index + 8]);
        u64::from_le_bytes(word)
    }

    /// Returns the publish word.
    #[inline]
    pub(super) fn live(&self) -> Live {
        Live(self.word(0))
    }

    /// Returns the fingerprint of a slot.
    #[inline]
    pub(super) fn fingerprint(&self, slot: usize) -> u8 {
        self.0[8 + slot]
    }

    /// Returns the live slots of this fingerprint, a bit each.
    #[inline]
    pub(super) fn candidates(&self, fingerprint: u8) -> u64 {
        (equal_bytes(&self.0, fingerprint) >> 8) & self.live().slots()
    }

    /// Whether the check agrees.
    #[inline]
    pub(super) fn is_whole(&self) -> bool {
        let word = self.word(0);
        let fingerprints = (0..SLOTS / 8).fold(0, |sum, index| {
            let live = (word >> (8 * index)) as u8;
            sum ^ (self.word(index + 1) & spread(live))
        });
        let fingerprints = fingerprints ^ (fingerprints >> 32);
        let fingerprints = fingerprints ^ (fingerprints >> 16);
        let fingerprints = (fingerprints ^ (fingerprints >> 8)) as u8;
        let parity = ((word & LIVE_MASK).count_ones() as u8 & 1) << 7;
        (word >> SLOTS) as u8 == EMPTY_CHECK ^ parity ^ mixed(fingerprints)
    }
}

/// Returns seven bits of a fingerprint, each bit of which changes some of them. That of an
/// exclusive-or is the exclusive-or of both.
#[inline]
fn mixed(fingerprint: u8) -> u8 {
    (fingerprint & 0x7f) ^ ((fingerprint >> 7) * 0x7f)
}

/// Returns 0xff for each bit that is set, 0 for others, the lowest bit in the lowest byte.
#[inline]
fn spread(bits: u8) -> u64 {
    let places = u64::from(bits).wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    // The highest bit of each byte that has one: no sum leaves its byte.
    let highest = (places + 0x7f7f_7f7f_7f7f_7f7f) & 0x8080_8080_8080_8080;
    (highest >> 7).wrapping_mul(0xff)
}

/// Returns the set bits, ascending.
pub(super) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}

/// Returns bit i for each byte of the line that equals `byte`.
#[cfg(target_arch = "x86_64")]
#[inline]
fn equal_bytes(line: &[u8; LINE_BYTES], byte: u8) -> u64 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8,
    };
    let mut mask = 0;
    for (index, part) in line.chunks_exact(16).enumerate() {
        // SAFETY: `part` is 16 readable bytes, the load needs no alignment, and every x86-64
        // processor has SSE2.
        let equal = unsafe {
            let part = _mm_loadu_si128(part.as_ptr().cast::<__m128i>());
            _mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_set1_epi8(byte.cast_signed())))
        };
        mask |= u64::from(equal.cast_unsigned()) << (16 * index);
    }
    mask
}

/// Returns bit i for each byte of the line that equals `byte`.
#[cfg(not(target_arch = "x86_64"))]
fn equal_bytes(line: &[u8; LINE_BYTES], byte: u8) -> u64 {
    line.iter().enumerate().fold(0, |mask, (i, &other)| mask | u64::from(other == byte) << i)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(count: u32) -> (FirstLine, Live) {
        let keys: Vec<[u8; 4]> = (0..count).map(u32::to_be_bytes).collect();
        let slots = keys.iter().enumerate().map(|(i, key)| (i * 5 % SLOTS, &key[..]));
        let line = FirstLine::build(slots);
        (line, line.live())
    }

    #[test]
    fn every_flipped_bit_of_the_word_and_of_live_fingerprints_is_found() {
        for count in [0, 1, 2, 17, 55, 56] {
            let (mut line, live) = line(count);
            assert!(line.is_whole());
            assert_eq!(live.slots().count_ones(), count);
            for bit in 0..LINE_BYTES * 8 {
                line.0[bit / 8] ^= 1 << (bit % 8);
                let slot = (bit / 8).checked_sub(8);
                let counts = slot.is_none_or(|slot| live.slots() >> slot & 1 == 1);
                assert_eq!(line.is_whole(), !counts, "{count} entries, bit {bit}");
                line.0[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    #[test]
    fn lines_of_one_byte_everywhere_are_damage() {
        for byte in [0, 0xff] {
            assert!(!FirstLine([byte; LINE_BYTES]).is_whole());
        }
    }

    #[test]
    fn a_slot_that_comes_and_goes_leaves_the_word_as_it_was() {
        let (line, live) = line(9);
        for fingerprint in 0..=255 {
            let slot = 1;
            assert_eq!(live.with(slot, fingerprint).without(slot, fingerprint), live);
            let mut changed = line;
            changed.0[8 + slot] = fingerprint;
            changed.0[..8].copy_from_slice(&live.with(slot, fingerprint).word().to_le_bytes());
            assert!(changed.is_whole());
        }
    }
}
