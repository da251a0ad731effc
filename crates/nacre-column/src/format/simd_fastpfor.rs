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

use std::mem::MaybeUninit;

use nacre_simd::Flavour;

use super::delta_bp::PAGE_ROWS;
use super::groups::{self, GROUP_ROWS};
use super::integer::{Key, initialized_mut};
use super::keys::{KeyFormat, KeyReader, SectionBytes, Sections, Shape, wrong_size};
use super::lanes::{Groups128, References, WIDTH_MAX, mask, width_of};
use crate::BlockError;

/// SIMD-FastPFOR.
pub(crate) struct SimdFastPfor;

/// How a group is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    /// Bits of the low parts.
    pub(crate) low: usize,
    /// Bits of the high parts; 0 without exceptions.
    high: usize,
    /// Rows with a high part.
    exceptions: usize,
}

impl Split {
    /// Returns the split of the keys of one group that takes fewest bytes.
    pub(crate) fn of(keys: &[u64]) -> Self {
        let mut rows_of_width = [0_usize; WIDTH_MAX + 1];
        for key in keys {
            rows_of_width[width_of(*key)] += 1;
        }
        let widest = rows_of_width.iter().rposition(|rows| *rows > 0).unwrap_or(0);
        let mut best = Self { low: widest, high: 0, exceptions: 0 };
        let mut exceptions = 0;
        for low in (0..widest).rev() {
            exceptions += rows_of_width[low + 1];
            let split = Self { low, high: widest - low, exceptions };
            if split.bytes() < best.bytes() {
                best = split;
            }
        }
        best
    }

    /// Returns the bytes in the heap.
    fn heap_bytes(&self) -> usize {
        match self.exceptions {
            0 => 1,
            exceptions => 2 + exceptions + (exceptions * self.high).div_ceil(8),
        }
    }

    /// Returns the bytes of the group.
    pub(crate) fn bytes(&self) -> usize {
        self.low * Groups128::LINE_BYTES + self.heap_bytes()
    }

    /// Appends the exceptions of `keys`, and keeps their low bits.
    fn put(&self, keys: &mut [u64], heap: &mut Vec<u8>) {
        heap.push(self.exceptions as u8);
        if self.exceptions == 0 {
            return;
        }
        heap.push(self.high as u8);
        let (mut bits, mut filled) = (0_u128, 0);
        let mut highs = Vec::with_capacity((self.exceptions * self.high).div_ceil(8));
        for (position, key) in keys.iter_mut().enumerate() {
            let high = key.unbounded_shr(self.low as u32);
            if high == 0 {
                continue;
            }
            heap.push(position as u8);
            *key &= mask(self.low);
            bits |= u128::from(high) << filled;
            filled += self.high;
            while filled >= 8 {
                highs.push(bits as u8);
                bits >>= 8;
                filled -= 8;
            }
        }
        if filled > 0 {
            highs.push(bits as u8);
        }
        heap.extend_from_slice(&highs);
    }
}

impl KeyFormat for SimdFastPfor {
    type Reader<'a> = Reader<'a>;

    fn encode(flavour: Flavour, keys: &[u64], _: usize) -> Sections {
        let splits: Vec<Split> = keys.chunks(GROUP_ROWS).map(Split::of).collect();
        let mut low = keys.to_vec();
        let mut heap = Vec::new();
        let starts = groups::directory(splits.iter().map(|split| split.low));
        let mut offsets = starts.as_flattened().to_vec();
        for (index, (keys, split)) in low.chunks_mut(GROUP_ROWS).zip(&splits).enumerate() {
            if index.is_multiple_of(PAGE_ROWS / GROUP_ROWS) {
                offsets.extend_from_slice(&(heap.len() as u32).to_le_bytes());
            }
            split.put(keys, &mut heap);
        }
        let values = groups::pack(flavour, &low, &starts, References::None);
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
    highs: &'a [u8],
}

impl<'a> Exceptions<'a> {
    /// Splits those of the next group off `heap`; `None` if it ends before they do.
    #[inline]
    fn next(heap: &mut &'a [u8]) -> Option<Self> {
        let (count, rest) = heap.split_first()?;
        *heap = rest;
        if *count == 0 {
            return Some(Self { high: 0, positions: &[], highs: &[] });
        }
        let (high, rest) = rest.split_first()?;
        let (count, high) = (usize::from(*count), usize::from(*high));
        let (positions, rest) = rest.split_at_checked(count)?;
        let (highs, rest) = rest.split_at_checked((count * high).div_ceil(8))?;
        *heap = rest;
        (high <= WIDTH_MAX).then_some(Self { high, positions, highs })
    }

    /// Returns the high part of exception `index`.
    #[inline]
    fn high(&self, index: usize) -> u64 {
        let bit = index * self.high;
        let bytes = &self.highs[bit / 8..];
        if self.high <= 56
            && let Some(word) = bytes.first_chunk()
        {
            return u64::from_le_bytes(*word) >> (bit % 8) & mask(self.high);
        }
        let word = match bytes.first_chunk() {
            Some(word) => u128::from_le_bytes(*word),
            None => {
                let mut word = [0; 16];
                word[..bytes.len()].copy_from_slice(bytes);
                u128::from_le_bytes(word)
            }
        };
        (word >> (bit % 8)) as u64 & mask(self.high)
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

impl KeyReader for Reader<'_> {
    const STEP: usize = PAGE_ROWS;

    fn unpack<K: Key>(&self, flavour: Flavour, base: K, first: usize, out: &mut [MaybeUninit<K>]) {
        let first_group = first / GROUP_ROWS;
        self.groups.unpack(flavour, self.shape.width, base, first_group, out);
        let mut heap: &[u8] = &[];
        for (index, out) in initialized_mut(out).chunks_mut(GROUP_ROWS).enumerate() {
            let group = first_group + index;
            if group.is_multiple_of(PAGE_ROWS / GROUP_ROWS) {
                heap = self.exceptions_of_page(group / (PAGE_ROWS / GROUP_ROWS));
            }
            let Some(exceptions) = Exceptions::next(&mut heap) else { continue };
            let low = self.groups.places.group(group).1 as u32;
            for (index, position) in exceptions.positions.iter().enumerate() {
                if let Some(key) = out.get_mut(usize::from(*position)) {
                    let high = exceptions.high(index).unbounded_shl(low);
                    *key = key.plus(K::from_u64(high));
                }
            }
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
        assert_eq!(Split::of(&keys), Split { low: 2, high: 8, exceptions: 1 });
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
