//! Special bytes of a text as bits of masks, 64 bytes to a mask.
//!
//! 1. [`classify`] turns a stretch of text into one class byte per byte: a plain loop of compares
//!    that compilers turn into vector instructions in every flavour.
//! 2. [`mask_of`] gathers one class bit of 64 class bytes into a mask, eight at a time, with a
//!    multiplication. (Gathering straight from compares makes compilers take single bits out of
//!    mask registers: five times slower with AVX-512.)
//!
//! # Source
//! [Muehlbauer16 section 3.3.4] finds delimiters 64 bytes at a time as bits of a mask, with SSE
//! 4.2's string instructions.

/// Bytes of a mask.
pub(crate) const BLOCK_BYTES: usize = 64;

/// Bytes classified at a time: text and classes stay in the L1 cache.
pub(crate) const STRETCH_BYTES: usize = 4_096;

/// Class bit of a quote.
pub(crate) const IS_QUOTE: u8 = 1;

/// Class bit of a delimiter or terminator.
pub(crate) const ENDS_FIELD: u8 = 2;

/// Class bit of a terminator.
pub(crate) const ENDS_ROW: u8 = 4;

/// The bytes that are looked for; none of them is zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Special {
    pub(crate) quote: u8,
    pub(crate) delimiter: u8,
    pub(crate) terminator: u8,
}

/// Class bytes of a stretch, in blocks.
pub(crate) type Classes = [[u8; BLOCK_BYTES]; STRETCH_BYTES / BLOCK_BYTES];

/// Classifies up to [`STRETCH_BYTES`] of text and returns the blocks; the last is filled up with
/// class 0.
#[inline(always)]
pub(crate) fn classify<'a>(
    text: &[u8],
    special: Special,
    classes: &'a mut Classes,
) -> &'a [[u8; BLOCK_BYTES]] {
    let Special { quote, delimiter, terminator } = special;
    let flat = classes.as_flattened_mut();
    for (class, &byte) in flat.iter_mut().zip(text) {
        let ends_row = u8::from(byte == terminator);
        let ends_field = u8::from(byte == delimiter) | ends_row;
        let is_quote = u8::from(byte == quote);
        *class = (is_quote * IS_QUOTE) | (ends_field * ENDS_FIELD) | (ends_row * ENDS_ROW);
    }
    let blocks = text.len().div_ceil(BLOCK_BYTES);
    flat[text.len()..blocks * BLOCK_BYTES].fill(0);
    &classes[..blocks]
}

/// Returns a mask of the bytes with class bit `class`, the first byte in the lowest bit.
#[inline(always)]
pub(crate) fn mask_of(block: &[u8; BLOCK_BYTES], class: u8) -> u64 {
    const LOWEST: u64 = 0x0101_0101_0101_0101;
    // Moves bit 0 of byte i to bit 56 + i; no two of the products meet below.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut mask = 0;
    for (index, word) in block.as_chunks::<8>().0.iter().enumerate() {
        let bits = (u64::from_le_bytes(*word) >> class.trailing_zeros()) & LOWEST;
        mask |= (bits.wrapping_mul(GATHER) >> 56) << (8 * index);
    }
    mask
}

/// Tells whether any byte of the block has class bit `class`.
#[inline(always)]
pub(crate) fn has_any(block: &[u8; BLOCK_BYTES], class: u8) -> bool {
    block.iter().fold(0, |any, byte| any | byte) & class != 0
}

/// Sets bit `i` to the parity of bits `0..=i`.
#[inline(always)]
pub(crate) fn prefix_parity(mut mask: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        mask ^= mask << shift;
    }
    mask
}

/// Spreads the highest bit over all bits.
#[inline(always)]
pub(crate) fn spread_last(mask: u64) -> u64 {
    ((mask as i64) >> 63) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_one_bit_per_byte() {
        let special = Special { quote: b'"', delimiter: b',', terminator: b'\n' };
        let mut text = vec![b'x'; 2 * BLOCK_BYTES + 5];
        for (index, byte) in
            [(0, b'"'), (1, b','), (7, b'\n'), (63, b'"'), (70, b','), (132, b'\n')]
        {
            text[index] = byte;
        }
        let mut classes = [[0xff; BLOCK_BYTES]; STRETCH_BYTES / BLOCK_BYTES];
        let blocks = classify(&text, special, &mut classes);
        let masks = |class| blocks.iter().map(|b| mask_of(b, class)).collect::<Vec<_>>();
        assert_eq!(masks(IS_QUOTE), [1 | 1 << 63, 0, 0]);
        assert_eq!(masks(ENDS_FIELD), [1 << 1 | 1 << 7, 1 << 6, 1 << 4]);
        assert_eq!(masks(ENDS_ROW), [1 << 7, 0, 1 << 4]);
        let any: Vec<_> = blocks.iter().map(|block| has_any(block, IS_QUOTE)).collect();
        assert_eq!(any, [true, false, false]);
    }

    #[test]
    fn parity_runs_from_quote_to_quote() {
        assert_eq!(prefix_parity(0b1001_0010), !0 << 7 | 0b0000_1110);
        assert_eq!(spread_last(1 << 63), u64::MAX);
        assert_eq!(spread_last(u64::MAX >> 1), 0);
    }
}
