//! Dictionary of numbers: the distinct keys in ascending order, and a code per row.
//!
//! # Invariants
//! 1. Distinct keys ascend strictly; there are at least one (if there is a row) and at most `rows`.
//!    Every code is below their number.
//!
//! # Layout
//! The header's `width` is that of the greatest key. Section `values`: codes as in
//! [`static_bp`] with the least width that holds the greatest code. Section `heap`: the distinct
//! keys in the bytes each that [`narrow`] gives the width. No offsets.

use std::mem::MaybeUninit;
use std::ops::Range;

use nacre_simd::{Fill, Flavour, IndexedBy, Simd};

use super::{code_width, distinct};
use crate::BlockError;
use crate::format::integer::{Key, initialized};
use crate::format::keys::{KeyFormat, KeyReader, SectionBytes, Sections, Shape};
use crate::format::keys::{check_entries, wrong_size};
use crate::format::{narrow, static_bp};
use crate::kernel::totals::{Totals, Wanted, sum_of_entries, totals_of_keys};

/// Rows for each entry from which on a table of the entries is worth making for a sum.
const ROWS_PER_ENTRY_MIN: usize = 4;

/// Dictionary of keys.
pub(crate) struct KeyDictionary;

impl KeyFormat for KeyDictionary {
    type Reader<'a> = Reader<'a>;

    fn encode(flavour: Flavour, keys: &[u64], width: usize) -> Sections {
        let (entries, codes) = distinct::rank_keys(keys);
        let mut heap = Vec::new();
        narrow::append(&entries, narrow::bytes_of_width(width), &mut heap);
        let values = static_bp::pack(flavour, &codes, code_width(entries.len()));
        Sections { values, offsets: Vec::new(), heap, entries: entries.len() as u32 }
    }

    fn open(shape: Shape, sections: SectionBytes<'_>) -> Result<Reader<'_>, BlockError> {
        check_entries(shape)?;
        if !sections.offsets.is_empty() {
            return Err(wrong_size("offsets_bytes", sections.offsets.len(), 0));
        }
        let bytes_each = narrow::bytes_of_width(shape.width);
        if sections.heap.len() != shape.entries * bytes_each {
            let expected = shape.entries * bytes_each;
            return Err(wrong_size("heap_bytes", sections.heap.len(), expected));
        }
        let codes = ("values_bytes", sections.values);
        let codes = static_bp::open_packed(shape.rows, code_width(shape.entries), codes)?;
        let (rows, entries, heap) = (shape.rows, shape.entries, sections.heap);
        Ok(Reader { rows, entries, codes, bytes_each, heap })
    }
}

/// Reads a block's keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rows: usize,
    entries: usize,
    codes: static_bp::Reader<'a>,
    bytes_each: usize,
    heap: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Returns the codes of the rows.
    pub(crate) fn codes(&self) -> &static_bp::Reader<'a> {
        &self.codes
    }

    /// Returns the bits of a code.
    pub(crate) fn code_width(&self) -> usize {
        code_width(self.entries)
    }

    /// Returns the codes of the keys from `low` to `high`.
    pub(crate) fn codes_within(&self, low: u64, high: u64) -> Range<usize> {
        let start = self.first_not_below(low);
        let end = high.checked_add(1).map_or(self.entries, |above| self.first_not_below(above));
        start..end.max(start)
    }

    /// Returns the code of a key; `None` if no row has it.
    pub(crate) fn code_of(&self, key: u64) -> Option<u64> {
        let code = self.first_not_below(key);
        (code < self.entries && self.entry(code) == key).then_some(code as u64)
    }

    /// Returns the code of the first entry that is not below a key.
    fn first_not_below(&self, key: u64) -> usize {
        let (mut low, mut high) = (0, self.entries);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entry(middle) < key { low = middle + 1 } else { high = middle }
        }
        low
    }

    fn entry(&self, code: usize) -> u64 {
        narrow::get(self.heap, self.bytes_each, code)
    }

    /// Returns the sum of the keys of the rows `rows`, which fit a `K`. There is an entry.
    fn sum<K: Key + IndexedBy<K>>(&self, flavour: Flavour, rows: Range<usize>) -> u128 {
        let mut entries = vec![MaybeUninit::new(K::default()); self.entries];
        narrow::unpack(self.heap, self.bytes_each, K::default(), &mut entries);
        let entries = initialized(&entries);
        let mut sum = 0;
        self.codes.for_each_run::<K>(flavour, rows, |codes| {
            sum += sum_of_entries(flavour, entries, codes);
        });
        sum
    }
}

impl KeyReader for Reader<'_> {
    const STEP: usize = static_bp::Reader::STEP;

    fn unpack<K: Key>(
        &self,
        flavour: Flavour,
        base: K,
        first: usize,
        mut out: &mut [MaybeUninit<K>],
    ) {
        self.codes.for_each_run::<u32>(flavour, first..first + out.len(), |codes| {
            let (now, later) = std::mem::take(&mut out).split_at_mut(codes.len());
            let Self { heap, bytes_each, .. } = *self;
            flavour.fill(LookUp { codes, heap, bytes_each, base }, now);
            out = later;
        });
    }

    /// Entries are ordered, so that the least code has the least key. Keys are looked up for the
    /// sum alone, in registers, if that is worth making a table.
    fn totals(&self, flavour: Flavour, wanted: Wanted, rows: Range<usize>) -> Option<Totals> {
        let bytes_each = self.bytes_each;
        if rows.len() < self.entries * ROWS_PER_ENTRY_MIN || self.entries == 0 || bytes_each == 0 {
            return None;
        }
        let mut totals = Totals::NONE;
        if wanted == Wanted::All {
            let width = self.code_width();
            let codes = totals_of_keys(&self.codes, flavour, Wanted::All, width, rows.clone());
            totals.min = self.entry(codes.min as usize);
            totals.max = self.entry(codes.max as usize);
        }
        totals.sum = if bytes_each <= 4 {
            self.sum::<u32>(flavour, rows)
        } else {
            self.sum::<u64>(flavour, rows)
        };
        Some(totals)
    }

    #[inline]
    fn get(&self, row: usize) -> Option<u64> {
        Some(self.entry(self.codes.get(row)? as usize))
    }

    fn check(&self, flavour: Flavour) -> Result<(), BlockError> {
        let is_wrong = |index: &usize| self.entry(index - 1) >= self.entry(*index);
        if let Some(index) = (1..self.entries).find(is_wrong) {
            return Err(BlockError::Contents {
                what: "dictionary entry",
                row: index,
                found: self.entry(index),
                expected: format!("above {}", self.entry(index - 1)),
            });
        }
        let (mut row, mut wrong) = (0, None);
        self.codes.for_each_run::<u32>(flavour, 0..self.rows, |codes| {
            let greatest = codes.iter().fold(0, |greatest, code| greatest.max(*code));
            if wrong.is_none() && greatest as usize >= self.entries {
                let place = codes.iter().position(|code| *code == greatest).unwrap_or(0);
                wrong = Some((row + place, greatest));
            }
            row += codes.len();
        });
        let Some((row, code)) = wrong else {
            return Ok(());
        };
        let (found, expected) = (code.into(), format!("below {}", self.entries));
        Err(BlockError::Contents { what: "code of row", row, found, expected })
    }
}

struct LookUp<'a, K> {
    codes: &'a [u32],
    heap: &'a [u8],
    bytes_each: usize,
    base: K,
}

impl<K: Key> LookUp<'_, K> {
    /// Writes the entries of all codes; what is no code of the dictionary stands for 0.
    #[inline(always)]
    fn look_up<const N: usize>(&self, out: &mut [MaybeUninit<K>], key: impl Fn([u8; N]) -> u64) {
        let entries = self.heap.as_chunks::<N>().0;
        for (out, code) in out.iter_mut().zip(self.codes) {
            let key = entries.get(*code as usize).map_or(0, |bytes| key(*bytes));
            out.write(K::from_u64(key).plus(self.base));
        }
    }
}

impl<K: Key> Fill for LookUp<'_, K> {
    type Out = [MaybeUninit<K>];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, out: &mut [MaybeUninit<K>]) {
        assert_eq!(self.codes.len(), out.len());
        match self.bytes_each {
            0 => out.fill(MaybeUninit::new(self.base)),
            1 => self.look_up(out, |[key]| key.into()),
            2 => self.look_up(out, |key| u16::from_le_bytes(key).into()),
            4 => self.look_up(out, |key| u32::from_le_bytes(key).into()),
            _ => self.look_up(out, u64::from_le_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::keys::tests::{Encoded, assert_reads_back};

    #[test]
    fn keys_of_every_width_come_back() {
        for rows in [0, 1, 2, 513, 9_000] {
            for (width, distinct) in [(0, 1), (1, 2), (8, 7), (9, 300), (31, 9_000), (64, 40)] {
                let greatest = u64::MAX.unbounded_shr(64 - width);
                let key = |row: u64| greatest - (row * row % distinct) * (greatest / distinct);
                assert_reads_back::<KeyDictionary>(&(0..rows).map(key).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn codes_of_keys_are_found() {
        let encoded = Encoded::new::<KeyDictionary>(&[70, 3, 70, u64::MAX, 9]);
        let reader = encoded.open::<KeyDictionary>();
        assert_eq!((reader.code_width(), reader.codes_within(0, 2)), (2, 0..0));
        assert_eq!((reader.codes_within(3, 69), reader.codes_within(4, 8)), (0..2, 1..1));
        assert_eq!((reader.codes_within(9, u64::MAX), reader.codes_within(71, 80)), (1..4, 3..3));
        let codes = [0, 3, 10, 70, u64::MAX].map(|key| reader.code_of(key));
        assert_eq!(codes, [None, Some(0), None, Some(2), Some(3)]);
    }

    #[test]
    fn codes_are_ranks() {
        let (entries, codes) = distinct::rank_keys(&[70, 3, 70, u64::MAX, 0]);
        assert_eq!(entries, [0, 3, 70, u64::MAX]);
        assert_eq!(codes, [2, 1, 2, 3, 0]);
    }

    #[test]
    fn code_past_the_entries_and_entries_out_of_order_are_told() {
        let encoded = Encoded::new::<KeyDictionary>(&[1, 5, 9, 5]);
        for (at, value) in [(0, 9), (1, 1), (2, 5)] {
            let mut damaged = encoded.clone();
            damaged.sections.heap[at] = value;
            assert!(damaged.open::<KeyDictionary>().check(Flavour::active()).is_err());
        }
        let mut damaged = encoded.clone();
        damaged.sections.values[0] |= 3;
        let reader = damaged.open::<KeyDictionary>();
        assert!(reader.check(Flavour::active()).is_err());
        assert_eq!(reader.get(0), Some(0));
    }
}
