//! Static bit packing: keys in one bit width for the whole block.
//!
//! # Layout
//! Section `values`: groups of 512 rows as in [`lanes`](super::lanes), all of the header's width;
//! the last is filled up with zeros. No other section. Any row is found with two loads.
//!
//! Blocks of version 1 have lanes of 64 bits for widths up to 32 too; they are read by row.
//!
//! # Source
//! [Zarubin22 section 4.2] static BP, with the frame of reference of section 3.3.1. Differs: the
//! layout is vertical, for registers of 512 bits, and the width is that of the block.
//!
//! # See
//! Bench `decode` (ns per value for each flavour).

use std::mem::MaybeUninit;

use nacre_simd::Flavour;

use super::integer::Key;
use super::keys::{KeyFormat, KeyReader, SectionBytes, Sections, Shape, wrong_size};
use super::lanes::{Groups512, NARROW_WIDTH_MAX, Pack512, Places, References, mask};
use crate::BlockError;

/// Static bit packing.
pub(crate) struct StaticBp;

/// Returns the bytes of `rows` packed keys.
pub(crate) fn packed_bytes(rows: usize, width: usize) -> usize {
    Groups512::bytes(rows, width)
}

/// Packs `keys` of at most `width` bits: [`packed_bytes`].
pub(crate) fn pack(flavour: Flavour, keys: &[u64], width: usize) -> Vec<u8> {
    let mut packed = vec![0; packed_bytes(keys.len(), width)];
    let (places, references) = (Places::Equal(width), References::None);
    flavour.fill(Pack512 { keys, places, references }, &mut packed);
    packed
}

/// Opens `rows` keys of `width` bits, packed by this version, that are the whole of `section`.
///
/// # Errors
/// [`BlockError::Field`] if the section has another size.
pub(crate) fn open_packed<'a>(
    rows: usize,
    width: usize,
    (section, packed): (&'static str, &'a [u8]),
) -> Result<Reader<'a>, BlockError> {
    let expected = packed_bytes(rows, width);
    if packed.len() != expected {
        return Err(wrong_size(section, packed.len(), expected));
    }
    let groups = Groups512 { packed, places: Places::Equal(width), references: References::None };
    Ok(Reader { groups, width, is_old: false })
}

impl KeyFormat for StaticBp {
    type Reader<'a> = Reader<'a>;

    fn encode(flavour: Flavour, keys: &[u64], width: usize) -> Sections {
        Sections { values: pack(flavour, keys, width), ..Sections::default() }
    }

    fn open(shape: Shape, sections: SectionBytes<'_>) -> Result<Reader<'_>, BlockError> {
        let packed = ("values_bytes", sections.values);
        let reader = open_packed(shape.rows, shape.width, packed)?;
        let is_old = shape.version == 1 && (1..=NARROW_WIDTH_MAX).contains(&shape.width);
        Ok(Reader { is_old, ..reader })
    }
}

/// Reads a block's keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    groups: Groups512<'a>,
    width: usize,
    is_old: bool,
}

impl Reader<'_> {
    /// Returns the key of `row` in a block of version 1: lanes of 64 bits whatever the width.
    fn get_old(&self, row: usize) -> u64 {
        const LANES: usize = 8;
        let lines = self.groups.packed.as_chunks::<8>().0.as_chunks::<LANES>().0;
        let bit = row % Groups512::ROWS / LANES * self.width;
        let line = row / Groups512::ROWS * self.width + bit / 64;
        let word =
            |line: usize| lines.get(line).map_or(0, |line| u64::from_le_bytes(line[row % LANES]));
        let high = if bit % 64 + self.width > 64 { word(line + 1) } else { 0 };
        let key = word(line) >> (bit % 64) | high.unbounded_shl((64 - bit % 64) as u32);
        key & mask(self.width)
    }
}

impl KeyReader for Reader<'_> {
    const STEP: usize = Groups512::ROWS;

    fn unpack<K: Key>(&self, flavour: Flavour, base: K, first: usize, out: &mut [MaybeUninit<K>]) {
        if self.is_old {
            for (row, out) in out.iter_mut().enumerate() {
                out.write(K::from_u64(self.get_old(first + row)).plus(base));
            }
        } else {
            self.groups.unpack(flavour, base, first / Self::STEP, out);
        }
    }

    fn groups(&self) -> Option<&Groups512<'_>> {
        (!self.is_old).then_some(&self.groups)
    }

    #[inline]
    fn get(&self, row: usize) -> Option<u64> {
        Some(match self.is_old {
            true => self.get_old(row),
            false if self.width <= NARROW_WIDTH_MAX => {
                Groups512::get_equal(self.groups.packed, self.width, row)
            }
            false => self.groups.get(row),
        })
    }

    /// Every key of `width` bits is one; there is nothing to check.
    fn check(&self, _: Flavour) -> Result<(), BlockError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::format::keys::Keys;

    #[test]
    fn block_of_version_1_reads_back() {
        // Row 100 of width 5 is lane 4, position 12, so bits 60..65 of lane 4: lines 0 and 1.
        let mut values = vec![0; 5 * 64];
        values[4 * 8 + 7] = 0b0110 << 4;
        values[64 + 4 * 8] = 1;
        let sections = SectionBytes { values: &values, offsets: &[], heap: &[] };
        let shape = Shape { version: 1, rows: 512, width: 5, entries: 0 };
        let keys = Keys::open(Format::StaticBp, shape, sections).unwrap().unwrap();
        let mut out: Vec<i32> = Vec::new();
        keys.decode(Flavour::active(), 0, 0..512, &mut out);
        for (row, value) in out.into_iter().enumerate() {
            assert_eq!(value, if row == 100 { 0b10110 } else { 0 });
            assert_eq!(keys.get(row), Some(value as u64));
        }
    }

    #[test]
    fn base_is_added_in_the_output_type() {
        let sections = StaticBp::encode(Flavour::active(), &[0, 7, 1], 3);
        let bytes = SectionBytes { values: &sections.values, offsets: &[], heap: &[] };
        let shape = Shape { version: 2, rows: 3, width: 3, entries: 0 };
        let keys = Keys::open(Format::StaticBp, shape, bytes).unwrap().unwrap();
        let mut out: Vec<i16> = Vec::new();
        keys.decode(Flavour::active(), -5, 0..3, &mut out);
        assert_eq!(out, [-5, 2, -4]);
        let mut out: Vec<i64> = Vec::new();
        keys.decode(Flavour::active(), i64::MAX.into(), 1..2, &mut out);
        assert_eq!(out, [i64::MIN + 6]);
        let mut out: Vec<i32> = vec![9];
        keys.decode(Flavour::active(), -5, 1..3, &mut out);
        assert_eq!(out, [9, 2, -4]);
    }
}
