//! Where the strings of rows end, as bit-packed distances.
//!
//! What the encoded string formats have in the place of 32-bit offsets. Any row is found with one
//! load and one unpacked number.
//!
//! # Layout
//! Rows come in groups of [`BASE_ROWS`]. First the *base* of each group, a 32-bit number: where its
//! first row begins; filled up with zeros to a multiple of 64 bytes. Then the distance of each
//! row's end from its group's base, packed as in [`static_bp`] with the header's `width`.

use std::ops::Range;

use nacre_simd::Flavour;

use super::keys::{KeyReader, wrong_size};
use super::{lanes, static_bp};
use crate::BlockError;

/// Bits of the greatest distance that there can be.
pub(crate) const WIDTH_MAX: usize = 32;

/// Rows that share a base.
const BASE_ROWS: usize = 128;

const _: () = assert!(static_bp::Reader::STEP.is_multiple_of(BASE_ROWS));

fn bases_bytes(rows: usize) -> usize {
    (rows.div_ceil(BASE_ROWS) * 4).next_multiple_of(64)
}

/// Returns the bytes of the section for `rows` rows.
pub(crate) fn section_bytes(rows: usize, width: usize) -> usize {
    bases_bytes(rows) + static_bp::packed_bytes(rows, width)
}

/// Returns the section for rows that start and end at `offsets`, which ascend from 0 and are one
/// more than the rows; and its width.
pub(crate) fn encode(flavour: Flavour, offsets: &[u32]) -> (Vec<u8>, usize) {
    let ends = offsets.get(1..).unwrap_or_default();
    let groups = || ends.chunks(BASE_ROWS).zip(offsets.chunks(BASE_ROWS));
    let distance_max =
        groups().map(|(ends, starts)| ends[ends.len() - 1] - starts[0]).max().unwrap_or_default();
    let width = lanes::width_of(distance_max.into());
    let mut section = Vec::with_capacity(section_bytes(ends.len(), width));
    section.extend(groups().flat_map(|(_, starts)| starts[0].to_le_bytes()));
    section.resize(bases_bytes(ends.len()), 0);
    let distances: Vec<u64> = groups()
        .flat_map(|(ends, starts)| ends.iter().map(|end| u64::from(end - starts[0])))
        .collect();
    section.extend_from_slice(&static_bp::pack(flavour, &distances, width));
    (section, width)
}

/// The row ends of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowEnds<'a> {
    rows: usize,
    bases: &'a [[u8; 4]],
    distances: static_bp::Reader<'a>,
}

impl<'a> RowEnds<'a> {
    /// Opens the section of a block of `rows` rows.
    ///
    /// # Errors
    /// [`BlockError::Field`] if it has another size than [`section_bytes`].
    pub(crate) fn open(rows: usize, width: usize, section: &'a [u8]) -> Result<Self, BlockError> {
        let expected = section_bytes(rows, width);
        if section.len() != expected {
            return Err(wrong_size("offsets_bytes", section.len(), expected));
        }
        let (bases, packed) = section.split_at(bases_bytes(rows));
        let distances = static_bp::open_packed(rows, width, ("offsets_bytes", packed))?;
        Ok(Self { rows, bases: bases.as_chunks().0, distances })
    }

    /// Returns how many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    fn base(&self, group: usize) -> u32 {
        u32::from_le_bytes(self.bases[group])
    }

    /// Returns where `row`, which the caller has checked to be in the block, begins and ends; the
    /// end may lie before the start if the block is damaged.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Range<usize> {
        let base = self.base(row / BASE_ROWS);
        let end = |row| base.wrapping_add(self.distances.get(row).unwrap_or(0) as u32);
        let start = if row.is_multiple_of(BASE_ROWS) { base } else { end(row - 1) };
        start as usize..end(row) as usize
    }

    /// Returns where the last row ends.
    pub(crate) fn last(&self) -> usize {
        self.rows.checked_sub(1).map_or(0, |row| self.get(row).end)
    }

    /// Writes the start of the first of `rows`, and the end of each, over `out`.
    ///
    /// # Errors
    /// [`BlockError::Contents`] if they do not ascend or pass `end_max`.
    pub(crate) fn decode(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        end_max: usize,
        out: &mut Vec<u32>,
    ) -> Result<(), BlockError> {
        out.clear();
        out.reserve(rows.len() + 1);
        let start = if rows.is_empty() { 0 } else { self.get(rows.start).start as u32 };
        out.push(start);
        let mut row = rows.start;
        self.distances.for_each_run::<u32>(flavour, rows.clone(), |mut distances| {
            while !distances.is_empty() {
                let base = self.base(row / BASE_ROWS);
                let count = distances.len().min(BASE_ROWS - row % BASE_ROWS);
                let (now, later) = distances.split_at(count);
                out.extend(now.iter().map(|distance| base.wrapping_add(*distance)));
                row += count;
                distances = later;
            }
        });
        let ascends = out.windows(2).fold(true, |all, pair| all & (pair[0] <= pair[1]));
        let last = out[out.len() - 1];
        if ascends && last as usize <= end_max {
            return Ok(());
        }
        let wrong = out.windows(2).position(|pair| pair[0] > pair[1] || pair[1] as usize > end_max);
        let at = wrong.unwrap_or(0);
        Err(BlockError::Contents {
            what: "end of string",
            row: rows.start + at,
            found: out[(at + 1).min(out.len() - 1)].into(),
            expected: format!("from {} to {end_max}", out[at]),
        })
    }

    /// Checks that all ends ascend from 0 to `end`.
    pub(crate) fn check(&self, flavour: Flavour, end: usize) -> Result<(), BlockError> {
        let mut offsets = Vec::new();
        self.decode(flavour, 0..self.rows, end, &mut offsets)?;
        let wrong = |row, found: u32, expected: usize| BlockError::Contents {
            what: "bounds of string",
            row,
            found: found.into(),
            expected: expected.to_string(),
        };
        for (group, start) in offsets.iter().step_by(BASE_ROWS).take(self.bases.len()).enumerate() {
            if group * BASE_ROWS < self.rows && self.base(group) != *start {
                return Err(wrong(group * BASE_ROWS, self.base(group), *start as usize));
            }
        }
        match (offsets[0], offsets[self.rows]) {
            (0, last) if last as usize == end => Ok(()),
            (0, last) => Err(wrong(self.rows, last, end)),
            (first, _) => Err(wrong(0, first, 0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(rows: usize) -> Vec<u32> {
        let lengths = (0..rows as u32).map(|row| row * row % 41 * u32::from(row % 3 > 0));
        let ends = lengths.scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect()
    }

    #[test]
    fn rows_come_back_one_by_one_and_in_ranges() {
        for rows in [0, 1, 127, 128, 129, 511, 513, 2_000] {
            let offsets = offsets(rows);
            let last = offsets[rows] as usize;
            for flavour in Flavour::available() {
                let (section, width) = encode(flavour, &offsets);
                assert_eq!(section.len(), section_bytes(rows, width));
                let ends = RowEnds::open(rows, width, &section).unwrap();
                assert_eq!(ends.last(), last);
                assert_eq!(ends.check(flavour, last), Ok(()));
                for row in 0..rows {
                    assert_eq!(ends.get(row), offsets[row] as usize..offsets[row + 1] as usize);
                }
                for range in [0..rows, rows / 3..rows, rows / 2..rows / 2, rows / 5..rows / 2] {
                    let mut out = vec![9];
                    assert_eq!(ends.decode(flavour, range.clone(), last, &mut out), Ok(()));
                    let expected = &offsets[range.start..=range.end];
                    assert!(out == expected || range.is_empty(), "{range:?}");
                }
            }
        }
    }

    #[test]
    fn damage_is_an_error_or_stays_in_bounds() {
        let offsets = offsets(700);
        let last = offsets[700] as usize;
        let (section, width) = encode(Flavour::active(), &offsets);
        for at in 0..section.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = section.clone();
                damaged[at] = value;
                let ends = RowEnds::open(700, width, &damaged).unwrap();
                let mut out = Vec::new();
                if ends.decode(Flavour::active(), 100..600, last, &mut out).is_ok() {
                    assert!(out.is_sorted() && out[500] as usize <= last);
                }
                let checked = ends.check(Flavour::active(), last);
                assert!(checked.is_err() || out.is_sorted());
            }
        }
    }
}
