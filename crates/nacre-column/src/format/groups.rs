//! Groups of 128 rows with a directory: what the formats that pack each group in its own width
//! have in common.
//!
//! # Layout
//! Section `values`: the groups end to end, each as in [`lanes`](super::lanes), 16 bytes for each
//! bit of its width; the last is filled up with zeros. Section `offsets`: the directory, 16 bits
//! for each group and one more: where it starts, in units of 16 bytes, the first 0. A group is as
//! wide as its neighbours lie apart, so that one pair leads to any row.
//!
//! ```text
//! offsets | 0    | 5    | 5    | 17   |  width 5, then 0 (all keys are 0), then 12
//! values  | 80 bytes    | 192 bytes   |
//! ```

use std::mem::MaybeUninit;

use nacre_simd::{Fill, Flavour, Simd};

use super::integer::Key;
use super::keys::{KeyReader, SectionBytes, Shape, wrong_size};
use super::lanes::{Groups128, NARROW_WIDTH_MAX, Pack128, Places, References, WIDTH_MAX, width_of};
use crate::BlockError;

/// Rows of a group.
pub(crate) const GROUP_ROWS: usize = Groups128::ROWS;

/// Returns the bytes of the directory of a block of this many rows.
pub(crate) fn directory_bytes(rows: usize) -> usize {
    (rows.div_ceil(GROUP_ROWS) + 1) * 2
}

/// Makes the directory of groups of these widths.
///
/// The sum stays below 2^16: a block has at most 512 groups, of at most 64 bits, and the start of
/// the one after the last is at most 32,768.
pub(crate) fn directory(widths: impl Iterator<Item = usize>) -> Vec<[u8; 2]> {
    let mut line = 0_u16;
    let mut starts = vec![line.to_le_bytes()];
    for width in widths {
        line += width as u16;
        starts.push(line.to_le_bytes());
    }
    starts
}

/// Packs `keys`, less the references of their groups, into groups placed by `starts`.
pub(crate) fn pack(
    flavour: Flavour,
    keys: &[u64],
    starts: &[[u8; 2]],
    references: References<'_>,
) -> Vec<u8> {
    let lines = starts.last().map_or(0, |end| u16::from_le_bytes(*end));
    let mut values = vec![0; usize::from(lines) * Groups128::LINE_BYTES];
    let places = Places::Listed(starts);
    flavour.fill(Pack128 { keys, places, references }, &mut values);
    values
}

/// Wraps sections `values` and `offsets` of a block, in constant time.
///
/// # Errors
/// [`BlockError::Field`] if the directory has another size than the rows demand.
pub(crate) fn open<'a>(
    shape: Shape,
    sections: SectionBytes<'a>,
    references: References<'a>,
) -> Result<Groups128<'a>, BlockError> {
    let expected = directory_bytes(shape.rows);
    let (directory, rest) = sections.offsets.as_chunks();
    if sections.offsets.len() != expected || !rest.is_empty() {
        return Err(wrong_size("offsets_bytes", sections.offsets.len(), expected));
    }
    let places = Places::Listed(directory);
    Ok(Groups128 { packed: sections.values, places, references })
}

/// Checks that every group lies behind the one before, is no wider than `width_max`, and that they
/// fill section `values`.
///
/// # Errors
/// [`BlockError::Contents`] with the group.
pub(crate) fn check(groups: &Groups128<'_>, width_max: usize) -> Result<(), BlockError> {
    let Places::Listed(starts) = groups.places else { return Ok(()) };
    let wrong = |group, expected: String| BlockError::Contents {
        what: "start of group",
        row: group,
        found: starts.get(group).map_or(0, |start| u16::from_le_bytes(*start).into()),
        expected,
    };
    let mut end = 0;
    for (group, start) in starts.iter().enumerate() {
        let start = usize::from(u16::from_le_bytes(*start));
        let width_max = if group == 0 { 0 } else { width_max.min(WIDTH_MAX) };
        if !(end..=end + width_max).contains(&start) {
            return Err(wrong(group, format!("{end} to {}", end + width_max)));
        }
        end = start;
    }
    if end * Groups128::LINE_BYTES != groups.packed.len() {
        let lines = groups.packed.len() / Groups128::LINE_BYTES;
        return Err(wrong(starts.len().saturating_sub(1), format!("{lines}")));
    }
    Ok(())
}

/// Reads the keys of a block whose groups have nothing around them:
/// [`dynamic_bp`](super::dynamic_bp) and [`for_bp`](super::for_bp).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    groups: Groups128<'a>,
    width_max: usize,
}

impl<'a> Reader<'a> {
    /// As [`open`].
    ///
    /// # Errors
    /// As [`open`].
    pub(crate) fn open(
        shape: Shape,
        sections: SectionBytes<'a>,
        references: References<'a>,
    ) -> Result<Self, BlockError> {
        Ok(Self { groups: open(shape, sections, references)?, width_max: shape.width })
    }
}

impl KeyReader for Reader<'_> {
    const STEP: usize = GROUP_ROWS;

    fn unpack<K: Key>(&self, flavour: Flavour, base: K, first: usize, out: &mut [MaybeUninit<K>]) {
        self.groups.unpack(flavour, self.width_max, base, first / GROUP_ROWS, out);
    }

    fn narrow_groups(&self) -> Option<&Groups128<'_>> {
        (self.width_max <= NARROW_WIDTH_MAX).then_some(&self.groups)
    }

    #[inline]
    fn get(&self, row: usize) -> Option<u64> {
        Some(self.groups.get(row))
    }

    fn check(&self, _: Flavour) -> Result<(), BlockError> {
        check(&self.groups, self.width_max)
    }
}

/// What the keys of one group say about how wide they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupBits {
    /// All keys joined by OR.
    pub(crate) bits: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl GroupBits {
    /// Returns that of `keys`, one group or less.
    #[inline(always)]
    pub(crate) fn of(keys: &[u64]) -> Self {
        let none = Self { bits: 0, min: u64::MAX, max: 0 };
        keys.iter().fold(none, |group, key| Self {
            bits: group.bits | key,
            min: group.min.min(*key),
            max: group.max.max(*key),
        })
    }

    /// Returns the bits of the greatest key.
    pub(crate) fn width(&self) -> usize {
        width_of(self.bits)
    }
}

/// Returns that of each group of `keys`.
pub(crate) fn bits_of_groups(flavour: Flavour, keys: &[u64]) -> Vec<GroupBits> {
    let mut groups = vec![GroupBits::default(); keys.len().div_ceil(GROUP_ROWS)];
    flavour.fill(Measure { keys }, &mut groups);
    groups
}

struct Measure<'a> {
    keys: &'a [u64],
}

impl Fill for Measure<'_> {
    type Out = [GroupBits];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, out: &mut [GroupBits]) {
        for (out, keys) in out.iter_mut().zip(self.keys.chunks(GROUP_ROWS)) {
            *out = GroupBits::of(keys);
        }
    }
}
