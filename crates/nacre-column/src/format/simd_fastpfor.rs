//! SIMD-FastPFOR: 128 rows in a width that suits most of them; what the others lack lies apart.
//!
//! # Layout
//! Sections `values` and `offsets`: the low bits of all keys as groups with a directory, as in
//! [`groups`](super::groups), followed in `offsets` by 32 bits for each *page* of 2,048 rows:
//! where its exceptions start in the heap. Section `heap`, for each group: the number of its
//! exceptions (1 byte); if there are some, the bits of a *high part* (1 byte), the positions of
//! the rows in the group (1 byte each), and the high parts, packed from the lowest bit on and
//! filled up to a whole byte. A key is its low bits plus its high part shifted by the width of the
//! group.
//!
//! ```text
//! keys   3 1 2 900 0 ...      width 2, one exception: 900 = 225 * 4 + 0
//! values 3 1 2 0   0 ...
//! heap   | 1 | 8 | 3 | 225 |
//! ```
//!
//! # Source
//! [Zarubin22 section 3.3.1] SIMD-FastPFOR. Differs: exceptions lie group by group, not gathered
//! by width for a page, which costs a byte per group and makes patching one pass.
//!
//! # See
//! Bench `decode`.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use nacre_simd::{Fill, Flavour, Simd};

use super::delta_bp::PAGE_ROWS;
use super::groups::{self, GROUP_ROWS};
use super::integer::{Key, initialized_mut};
use super::keys::{KeyFormat, KeyReader, SectionBytes, Sections, Shape, wrong_size};
use super::lanes::{Groups128, References, WIDTH_MAX, mask, width_of};
use crate::BlockError;

/// SIMD-FastPFOR.
pub(crate) struct SimdFastPfor;

/// How a group is split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Split {
    /// Bits of the low parts.
    low: usize,
    /// Bits of the high parts; 0 without exceptions.
    high: usize,
    /// Bit `i` for row `i` of the group if it has a high part.
    exceptions: u128,
}

impl Split {
    /// Returns the split of the keys of one group that takes fewest bytes.
    #[inline(always)]
    fn of<S: Simd>(simd: S, keys: &[u64]) -> Self {
        let mut widths = [0; GROUP_ROWS];
        for (width, key) in widths.iter_mut().zip(keys) {
            *width = width_of(*key) as u8;
        }
        let widest = widths.iter().fold(0, |widest, width| *width.max(&widest));
        let mut best = Self { low: widest.into(), high: 0, exceptions: 0 };
        // Widths that no key has are not worth to be tried: fewer bits would do for the same rows.
        let met = |met, width: &u8| met | 1_u64.unbounded_shl((*width).into());
        let mut narrower = widths.iter().fold(0, met) & mask(widest.into());
        while narrower != 0 {
            let low = width_of(narrower) - 1;
            narrower ^= 1 << low;
            let exceptions = rows_above(simd, &widths, low as u8);
            let split = Self { low, high: usize::from(widest) - low, exceptions };
            // Fewer low bits make the heap larger.
            if split.heap_bytes() >= best.bytes() {
                break;
            }
            if split.bytes() < best.bytes() {
                best = split;
            }
        }
        best
    }

    fn exceptions(&self) -> usize {
        self.exceptions.count_ones() as usize
    }

    /// Returns the bytes in the heap.
    fn heap_bytes(&self) -> usize {
        match self.exceptions() {
            0 => 1,
            exceptions => 2 + exceptions + (exceptions * self.high).div_ceil(8),
        }
    }

    /// Returns the bytes of the group.
    pub(crate) fn bytes(&self) -> usize {
        self.low * Groups128::LINE_BYTES + self.heap_bytes()
    }

    /// Appends the exceptions of `keys`.
    fn put(&self, keys: &[u64], heap: &mut Vec<u8>) {
        heap.push(self.exceptions() as u8);
        if self.exceptions == 0 {
            return;
        }
        heap.push(self.high as u8);
        heap.extend(rows_of(self.exceptions).map(|row| row as u8));
        let (mut word, mut filled) = (0_u64, 0);
        for row in rows_of(self.exceptions) {
            let high = keys[row] >> self.low;
            word |= high << filled;
            filled += self.high;
            if filled >= 64 {
                heap.extend_from_slice(&word.to_le_bytes());
                filled -= 64;
                word = high.unbounded_shr((self.high - filled) as u32);
            }
        }
        heap.extend_from_slice(&word.to_le_bytes()[..filled.div_ceil(8)]);
    }
}

/// Returns bit `i` for each width `i` that is above `low`.
#[inline(always)]
fn rows_above<S: Simd>(simd: S, widths: &[u8; GROUP_ROWS], low: u8) -> u128 {
    let low = simd.splat(low);
    let mut rows = 0;
    for at in (0..GROUP_ROWS).step_by(S::lanes::<u8>()) {
        rows |= u128::from(simd.load(&widths[at..]).gt(low).to_bits()) << at;
    }
    rows
}

/// Returns the places of the bits that are set, ascending.
fn rows_of(mut bits: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let row = bits.trailing_zeros() as usize;
        (bits != 0).then(|| {
            bits &= bits - 1;
            row
        })
    })
}

/// Returns the splits of one of each `every` groups of `keys`, from the first on.
pub(crate) fn splits(flavour: Flavour, keys: &[u64], every: usize) -> Vec<Split> {
    let groups = keys.len().div_ceil(GROUP_ROWS);
    let mut splits = vec![Split::default(); groups.div_ceil(every)];
    flavour.fill(FindSplits { keys, every }, &mut splits);
    splits
}

struct FindSplits<'a> {
    keys: &'a [u64],
    every: usize,
}

impl Fill for FindSplits<'_> {
    type Out = [Split];

    #[inline(always)]
    fn fill<S: Simd>(self, simd: S, out: &mut [Split]) {
        for (out, keys) in out.iter_mut().zip(self.keys.chunks(GROUP_ROWS).step_by(self.every)) {
            *out = Split::of(simd, keys);
        }
    }
}

impl KeyFormat for SimdFastPfor {
    type Reader<'a> = Reader<'a>;

    fn encode(flavour: Flavour, keys: &[u64], _: usize) -> Sections {
        let splits = splits(flavour, keys, 1);
        let mut heap = Vec::with_capacity(splits.iter().map(Split::heap_bytes).sum());
        let starts = groups::directory(splits.iter().map(|split| split.low));
        let mut offsets = starts.as_flattened().to_vec();
        for (index, (keys, split)) in keys.chunks(GROUP_ROWS).zip(&splits).enumerate() {
            if index.is_multiple_of(PAGE_ROWS / GROUP_ROWS) {
                offsets.extend_from_slice(&(heap.len() as u32).to_le_bytes());
            }
            split.put(keys, &mut heap);
        }
        let values = groups::pack(flavour, keys, &starts, References::None);
        Sections { values, offsets, heap, entries: 0 }
    }

    fn open(shape: Shape, sections: SectionBytes<'_>) -> Result<Reader<'_>, BlockError> {
        let directory = groups::directory_bytes(shape.rows);
        let expected = directory + shape.rows.div_ceil(PAGE_ROWS) * 4;
        if sections.offsets.len() != expected {
            return Err(wrong_size("offsets_bytes", sections.offsets.len(), expected));
        }
        let (offsets, pages) = sections.offsets.split_at(directory);
        let groups = groups::open(shape, SectionBytes { offsets, ..sections }, References::None)?;
        Ok(Reader { groups, pages: pages.as_chunks().0, heap: sections.heap, shape })
    }
}

/// Reads a block's keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    groups: Groups128<'a>,
    pages: &'a [[u8; 4]],
    heap: &'a [u8],
    shape: Shape,
}

/// The exceptions of one group.
struct Exceptions<'a> {
    /// Bits of a high part.
    high: usize,
    positions: &'a [u8],
    /// The heap from the high parts on.
    highs: &'a [u8],
}

impl<'a> Exceptions<'a> {
    /// Splits those of the next group off `heap`; `None` if it ends before they do.
    #[inline(always)]
    fn next(heap: &mut &'a [u8]) -> Option<Self> {
        let (count, rest) = heap.split_first()?;
        *heap = rest;
        if *count == 0 {
            return Some(Self { high: 0, positions: &[], highs: &[] });
        }
        let (high, rest) = rest.split_first()?;
        let (count, high) = (usize::from(*count), usize::from(*high));
        let (positions, highs) = rest.split_at_checked(count)?;
        *heap = highs.get((count * high).div_ceil(8)..)?;
        (high <= WIDTH_MAX).then_some(Self { high, positions, highs })
    }

    /// Returns the high part of exception `index`.
    #[inline(always)]
    fn high(&self, index: usize) -> u64 {
        let bit = index * self.high;
        match self.highs.get(bit / 8..).and_then(|bytes| bytes.first_chunk()) {
            // Seven bits at most are shifted out.
            Some(word) if self.high <= 57 => {
                u64::from_le_bytes(*word) >> (bit % 8) & mask(self.high)
            }
            _ => self.high_near_end(bit),
        }
    }

    /// Returns the high part that begins at `bit`; where the heap ends early, zeros.
    #[cold]
    fn high_near_end(&self, bit: usize) -> u64 {
        let mut word = [0; 16];
        for (out, byte) in word.iter_mut().zip(self.highs.iter().skip(bit / 8)) {
            *out = *byte;
        }
        (u128::from_le_bytes(word) >> (bit % 8)) as u64 & mask(self.high)
    }
}

impl<'a> Reader<'a> {
    /// Returns the heap from the exceptions of page `index` on; empty if it does not have them.
    fn exceptions_of_page(&self, index: usize) -> &'a [u8] {
        let start = self.pages.get(index).map(|start| u32::from_le_bytes(*start) as usize);
        start.and_then(|start| self.heap.get(start..)).unwrap_or_default()
    }

    fn wrong(&self, group: usize, found: usize, expected: &str) -> BlockError {
        let (found, expected) = (found as u64, expected.to_owned());
        BlockError::Contents { what: "exceptions of group", row: group, found, expected }
    }
}

/// Adds the high parts to the unpacked low parts of a page.
struct Patch<'r, 'a, K> {
    reader: &'r Reader<'a>,
    page: usize,
    key: PhantomData<K>,
}

impl<K: Key> Fill for Patch<'_, '_, K> {
    type Out = [K];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, out: &mut [K]) {
        let Self { reader, page, .. } = self;
        let mut heap = reader.exceptions_of_page(page);
        let first = page * (PAGE_ROWS / GROUP_ROWS);
        for (index, out) in out.as_chunks_mut::<GROUP_ROWS>().0.iter_mut().enumerate() {
            let Some(exceptions) = Exceptions::next(&mut heap) else { continue };
            if exceptions.high == 0 {
                continue;
            }
            let low = reader.groups.places.group(first + index).1 as u32;
            for (index, position) in exceptions.positions.iter().enumerate() {
                let high = exceptions.high(index).unbounded_shl(low);
                // Positions of damaged blocks lead to wrong rows.
                let key = &mut out[usize::from(*position) % GROUP_ROWS];
                *key = key.plus(K::from_u64(high));
            }
        }
    }
}

impl KeyReader for Reader<'_> {
    const STEP: usize = PAGE_ROWS;

    fn unpack<K: Key>(&self, flavour: Flavour, base: K, first: usize, out: &mut [MaybeUninit<K>]) {
        // Page by page: what is patched is in the L1 cache still.
        for (index, out) in out.chunks_mut(PAGE_ROWS).enumerate() {
            let page = first / PAGE_ROWS + index;
            let group = page * (PAGE_ROWS / GROUP_ROWS);
            self.groups.unpack(flavour, self.shape.width, base, group, out);
            flavour.fill(Patch { reader: self, page, key: PhantomData }, initialized_mut(out));
        }
    }

    fn get(&self, _: usize) -> Option<u64> {
        None
    }

    fn check(&self, _: Flavour) -> Result<(), BlockError> {
        groups::check(&self.groups, self.shape.width)?;
        let mut rest = self.heap;
        for group in 0..self.shape.rows.div_ceil(GROUP_ROWS) {
            let (page, in_page) = (group * GROUP_ROWS / PAGE_ROWS, group * GROUP_ROWS % PAGE_ROWS);
            let at = self.heap.len() - rest.len();
            if in_page == 0 && self.exceptions_of_page(page).len() != rest.len() {
                return Err(self.wrong(group, at, "where the directory says"));
            }
            let Some(exceptions) = Exceptions::next(&mut rest) else {
                return Err(self.wrong(group, at, "inside of the heap"));
            };
            let rows = GROUP_ROWS.min(self.shape.rows - group * GROUP_ROWS);
            let ascend = exceptions.positions.is_sorted_by(|left, right| left < right);
            let last = exceptions.positions.last().map_or(0, |last| usize::from(*last));
            if !ascend || last >= rows {
                return Err(self.wrong(group, last, "ascending positions of its rows"));
            }
            if exceptions.high + self.groups.places.group(group).1 > self.shape.width {
                return Err(self.wrong(group, exceptions.high, "no wider than the block"));
            }
        }
        match rest.len() {
            0 => Ok(()),
            left => Err(self.wrong(self.shape.rows / GROUP_ROWS, left, "none after the last")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_is_the_one_drawn() {
        let mut keys = [2; 128];
        keys[..4].copy_from_slice(&[3, 1, 2, 900]);
        for flavour in Flavour::available() {
            let expected = Split { low: 2, high: 8, exceptions: 1 << 3 };
            assert_eq!(splits(flavour, &keys, 1), [expected]);
        }
        let sections = SimdFastPfor::encode(Flavour::active(), &keys, 10);
        assert_eq!(sections.heap, [1, 8, 3, 225]);
        assert_eq!(sections.offsets, [0, 0, 2, 0, 0, 0, 0, 0]);
        assert_eq!(sections.values.len(), 32);
    }

    #[test]
    fn widest_keys_can_be_exceptions() {
        let mut keys = vec![1; 300];
        for row in [7, 130, 131, 299] {
            keys[row] = u64::MAX - row as u64;
        }
        let sections = SimdFastPfor::encode(Flavour::active(), &keys, 64);
        let (values, offsets) = (&sections.values[..], &sections.offsets[..]);
        let bytes = SectionBytes { values, offsets, heap: &sections.heap };
        let shape = Shape { version: 2, rows: 300, width: 64, entries: 0 };
        let reader = SimdFastPfor::open(shape, bytes).unwrap();
        reader.check(Flavour::active()).unwrap();
        let mut found = Vec::new();
        reader.for_each_run(Flavour::active(), 0..300, |run: &[u64]| found.extend_from_slice(run));
        assert_eq!(found, keys);
    }
}
