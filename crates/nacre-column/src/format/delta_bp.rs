//! Delta and bit packing: differences to the key four rows before, in the width of 128 of them.
//!
//! # Layout
//! A *delta* is a key less that of four rows before; before the first row of the block lie four
//! keys 0. All arithmetic is that of unsigned numbers of 32 bits up to a `width` of 32, and of 64
//! bits above, wrapping. Sections `values` and `offsets`: the deltas as groups with a directory, as
//! in [`groups`](super::groups). The header's field `entries` is 0 if no delta is negative; else it
//! is 1 and deltas are folded: 0, -1, 1, -2 are stored as 0, 1, 2, 3.
//! Section `heap`: for each *page* of 2,048 rows the four keys before it, 4 or 8 bytes each, so
//! that decoding can begin there.
//!
//! ```text
//! keys    10 11 12 13 | 14 16 17 17 | 20 ...      entries 0
//! deltas  10 11 12 13 |  4  5  5  4 |  6 ...      heap 0 0 0 0
//! ```
//!
//! Four rows before, not one: a register of four lanes then adds deltas to its last result and has
//! the next, without moving anything between lanes.
//!
//! # Source
//! [Zarubin22 section 3.3.1] DELTA + SIMD-BP128. Differs: negative deltas are folded, so that
//! unsorted keys can be held.
//!
//! # See
//! Bench `decode`.

use std::mem::MaybeUninit;

use nacre_simd::{Fill, Flavour, Simd};

use super::for_bp::reference_bytes;
use super::groups::{self, GROUP_ROWS, GroupBits};
use super::integer::{Key, initialized};
use super::keys::{KeyFormat, KeyReader, SectionBytes, Sections, Shape, wrong_size};
use super::lanes::{Groups128, NARROW_WIDTH_MAX, References};
use crate::BlockError;

/// Rows of a page.
pub(crate) const PAGE_ROWS: usize = 2_048;

/// Rows between a key and the one that is taken from it.
const STRIDE: usize = 4;

/// Delta and bit packing.
pub(crate) struct DeltaBp;

/// Arithmetic of deltas.
trait Delta: Key {
    /// Folds the sign of a difference into its lowest bit.
    fn fold(self) -> Self;

    /// Undoes [`Delta::fold`].
    fn unfold(self) -> Self;
}

macro_rules! delta {
    ($type:ty, $signed:ty) => {
        impl Delta for $type {
            #[inline(always)]
            fn fold(self) -> Self {
                self << 1 ^ (self as $signed >> (<$type>::BITS - 1)) as $type
            }

            #[inline(always)]
            fn unfold(self) -> Self {
                self >> 1 ^ (self & 1).wrapping_neg()
            }
        }
    };
}

delta!(u32, i32);
delta!(u64, i64);

/// Writes the deltas of all keys, folded or not, as `D`.
struct Deltas<'a, D> {
    keys: &'a [u64],
    is_folded: bool,
    /// The four zeros before the first key; says what numbers are calculated with.
    before: [D; STRIDE],
}

impl<D: Delta> Fill for Deltas<'_, D> {
    type Out = [u64];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, out: &mut [u64]) {
        let delta = |key: u64, before: D| {
            let delta = D::from_u64(key).minus(before);
            if self.is_folded { delta.fold().to_u64() } else { delta.to_u64() }
        };
        let head = self.keys.iter().zip(self.before);
        for (out, (key, before)) in out.iter_mut().zip(head) {
            *out = delta(*key, before);
        }
        let pairs = self.keys.iter().skip(STRIDE).zip(self.keys);
        for (out, (key, before)) in out.iter_mut().skip(STRIDE).zip(pairs) {
            *out = delta(*key, D::from_u64(*before));
        }
    }
}

/// Returns the deltas of `keys` of `width` bits, and whether they are folded.
fn deltas(flavour: Flavour, keys: &[u64], width: usize) -> (Vec<u64>, bool) {
    let is_folded = keys.iter().skip(STRIDE).zip(keys).any(|(key, before)| key < before);
    let mut deltas = vec![0; keys.len()];
    if width <= NARROW_WIDTH_MAX {
        flavour.fill(Deltas { keys, is_folded, before: [0_u32; STRIDE] }, &mut deltas);
    } else {
        flavour.fill(Deltas { keys, is_folded, before: [0_u64; STRIDE] }, &mut deltas);
    }
    (deltas, is_folded)
}

impl KeyFormat for DeltaBp {
    type Reader<'a> = Reader<'a>;

    fn encode(flavour: Flavour, keys: &[u64], width: usize) -> Sections {
        let (deltas, is_folded) = deltas(flavour, keys, width);
        let bits = groups::bits_of_groups(flavour, &deltas);
        let starts = groups::directory(bits.iter().map(GroupBits::width));
        let values = groups::pack(flavour, &deltas, &starts, References::None);
        let mut heap = Vec::new();
        for page in (0..keys.len()).step_by(PAGE_ROWS) {
            for lane in 0..STRIDE {
                let before = (page + lane).checked_sub(STRIDE).map_or(0, |row| keys[row]);
                heap.extend_from_slice(&before.to_le_bytes()[..reference_bytes(width)]);
            }
        }
        Sections { values, offsets: starts.into_flattened(), heap, entries: is_folded.into() }
    }

    fn open(shape: Shape, sections: SectionBytes<'_>) -> Result<Reader<'_>, BlockError> {
        let key_bytes = reference_bytes(shape.width);
        let expected = shape.rows.div_ceil(PAGE_ROWS) * STRIDE * key_bytes;
        if sections.heap.len() != expected {
            return Err(wrong_size("heap_bytes", sections.heap.len(), expected));
        }
        if shape.entries > 1 {
            return Err(wrong_size("entries", shape.entries, 1));
        }
        let groups = groups::open(shape, sections, References::None)?;
        Ok(Reader { groups, before: sections.heap, shape })
    }
}

/// Reads a block's keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    groups: Groups128<'a>,
    before: &'a [u8],
    shape: Shape,
}

impl Reader<'_> {
    /// Returns the greatest width of a delta.
    fn width_max(&self) -> usize {
        let word = if self.shape.width <= NARROW_WIDTH_MAX { 32 } else { 64 };
        (self.shape.width + self.shape.entries).min(word)
    }

    /// Returns the four keys before page `index`; 0 if there is no such page.
    fn before<D: Delta>(&self, index: usize) -> [D; STRIDE] {
        let bytes = reference_bytes(self.shape.width);
        let keys = self.before.chunks_exact(bytes).skip(index * STRIDE);
        let mut before = [D::default(); STRIDE];
        for (before, key) in before.iter_mut().zip(keys) {
            let mut word = [0; 8];
            word[..bytes].copy_from_slice(key);
            *before = D::from_u64(u64::from_le_bytes(word));
        }
        before
    }

    /// Unpacks pages in the arithmetic of `D`.
    fn unpack_as<D: Delta, K: Key>(
        &self,
        flavour: Flavour,
        base: K,
        first: usize,
        out: &mut [MaybeUninit<K>],
    ) {
        let mut deltas = [MaybeUninit::new(D::default()); PAGE_ROWS];
        for (index, out) in out.chunks_mut(PAGE_ROWS).enumerate() {
            let page = first / PAGE_ROWS + index;
            let deltas = &mut deltas[..out.len()];
            let group = page * (PAGE_ROWS / GROUP_ROWS);
            self.groups.unpack(flavour, self.width_max(), D::default(), group, deltas);
            let (deltas, before) = (initialized(deltas), self.before(page));
            if self.shape.entries == 0 {
                flavour.fill(Sums::<_, _, false> { deltas, before, base }, out);
            } else {
                flavour.fill(Sums::<_, _, true> { deltas, before, base }, out);
            }
        }
    }
}

/// Writes the keys that these deltas lead to.
struct Sums<'a, D, K, const IS_FOLDED: bool> {
    deltas: &'a [D],
    before: [D; STRIDE],
    base: K,
}

impl<D: Delta, K: Key, const IS_FOLDED: bool> Fill for Sums<'_, D, K, IS_FOLDED> {
    type Out = [MaybeUninit<K>];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, out: &mut [MaybeUninit<K>]) {
        let mut keys = self.before;
        let deltas = self.deltas.as_chunks::<STRIDE>().0;
        let (out, rest) = out.as_chunks_mut::<STRIDE>();
        assert!(rest.is_empty() && deltas.len() == out.len());
        for (out, deltas) in out.iter_mut().zip(deltas) {
            for lane in 0..STRIDE {
                let delta = if IS_FOLDED { deltas[lane].unfold() } else { deltas[lane] };
                keys[lane] = keys[lane].plus(delta);
            }
            for lane in 0..STRIDE {
                out[lane].write(K::from_u64(keys[lane].to_u64()).plus(self.base));
            }
        }
    }
}

impl KeyReader for Reader<'_> {
    const STEP: usize = PAGE_ROWS;

    fn unpack<K: Key>(&self, flavour: Flavour, base: K, first: usize, out: &mut [MaybeUninit<K>]) {
        if self.shape.width <= NARROW_WIDTH_MAX {
            self.unpack_as::<u32, K>(flavour, base, first, out);
        } else {
            self.unpack_as::<u64, K>(flavour, base, first, out);
        }
    }

    fn get(&self, _: usize) -> Option<u64> {
        None
    }

    fn check(&self, _: Flavour) -> Result<(), BlockError> {
        groups::check(&self.groups, self.width_max())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_the_one_drawn() {
        let keys = [10, 11, 12, 13, 14, 16, 17, 17, 20];
        let (deltas, is_folded) = deltas(Flavour::active(), &keys, 5);
        assert_eq!(deltas, [10, 11, 12, 13, 4, 5, 5, 4, 6]);
        assert!(!is_folded);
        let sections = DeltaBp::encode(Flavour::active(), &keys, 5);
        assert_eq!((sections.heap, sections.entries), (vec![0; 16], 0));
    }

    #[test]
    fn negative_deltas_are_folded() {
        let keys = [10, 10, 10, 10, 9, 11, 8, 12];
        let (deltas, is_folded) = deltas(Flavour::active(), &keys, 4);
        assert_eq!(deltas, [20, 20, 20, 20, 1, 2, 3, 4]);
        assert!(is_folded);
    }

    #[test]
    fn every_page_knows_the_keys_before_it() {
        let keys: Vec<u64> = (0..PAGE_ROWS as u64 + 1).collect();
        let sections = DeltaBp::encode(Flavour::active(), &keys, 33);
        let words: Vec<u64> =
            sections.heap.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        assert_eq!(words, [0, 0, 0, 0, 2_044, 2_045, 2_046, 2_047]);
    }
}
