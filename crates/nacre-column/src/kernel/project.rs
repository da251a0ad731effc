//! Project: the values of a block at given positions.
//!
//! 1. Plain values and packed keys of at most 32 bits are gathered, several to an instruction where
//!    the flavour can: those of one width at once, those of groups by the places of their groups.
//!    Other formats with random access are asked row by row.
//! 2. A sequential format is decoded once, and the values are picked from that; others too if so
//!    many rows are asked for that this is faster.
//!
//! ```text
//! block        10 12 null 17 12        bit-packed: base 10, keys 0 2 2 7 2
//! rows 1..5    positions 3 0 2         values 12 12 17
//! ```
//!
//! # Source
//! [Zarubin22 section 4.2] project on formats; positions come in any order there too.

use std::ops::Range;

use nacre_simd::{Fill, Flavour, Simd};

use crate::format::integer::Integer;
use crate::format::lanes::{Groups128, Groups512, NARROW_WIDTH_MAX, Places, References, mask};
use crate::format::plain;
use crate::{Block, BlockError, CHUNK_ROWS};

/// Appends the values of the rows of `rows` at these positions, counted from `rows.start`, to
/// `out`, in the order of the positions. Those of null rows are unspecified.
///
/// # Errors
/// [`BlockError::RowRange`], also if a position is outside of `rows`; [`BlockError::WrongOutput`]
/// unless the column is of whole numbers that fit 64 bits.
pub fn project(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
    positions: &[u16],
    out: &mut Vec<i64>,
) -> Result<(), BlockError> {
    project_any(block, flavour, rows, positions, out)
}

pub(crate) fn project_any<T: Integer>(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
    positions: &[u16],
    out: &mut Vec<T>,
) -> Result<(), BlockError> {
    block.check_int_output::<T>(&rows)?;
    let greatest = positions.iter().fold(0, |greatest, position| *position.max(&greatest));
    if !positions.is_empty() && usize::from(greatest) >= rows.len() {
        let start = rows.start + usize::from(greatest);
        return Err(BlockError::RowRange { start, end: start + 1, rows: rows.end });
    }
    let Some(keys) = block.keys() else {
        let bytes_each = block.column_type().plain_bytes();
        plain::gather_ints(block.plain_bytes_of(rows, bytes_each), bytes_each, positions, out);
        return Ok(());
    };
    if keys.gather(flavour, block.header().base, rows.clone(), positions, out) {
        return Ok(());
    }
    let mut values: Vec<T> = Vec::with_capacity(rows.len());
    keys.decode(flavour, block.header().base, rows, &mut values);
    out.extend(positions.iter().map(|position| values[usize::from(*position)]));
    Ok(())
}

/// Gathers keys of one width of 1 to 32 bits, packed in groups of 512, into `out`, which has as
/// many elements as there are rows. Returns whether the groups are of this kind.
pub(crate) fn gather_narrow(
    flavour: Flavour,
    groups: &Groups512<'_>,
    rows: &[u32],
    out: &mut [u32],
) -> bool {
    match groups.places {
        Places::Equal(width @ 1..=NARROW_WIDTH_MAX) if !groups.packed.is_empty() => {
            Groups512::prefetch_equal(groups.packed, width, rows);
            flavour.fill(GatherNarrow { groups, width, rows }, out);
            true
        }
        _ => false,
    }
}

struct GatherNarrow<'g, 'a> {
    groups: &'g Groups512<'a>,
    width: usize,
    rows: &'g [u32],
}

impl Fill for GatherNarrow<'_, '_> {
    type Out = [u32];

    #[inline(always)]
    fn fill<S: Simd>(self, simd: S, out: &mut [u32]) {
        let Self { groups, width, rows } = self;
        let lanes = S::lanes::<u32>();
        assert_eq!(rows.len(), out.len());
        // Narrower flavours have no such instruction: two loads for each row are faster.
        let gathered = if S::BYTES < 32 { 0 } else { rows.len() - rows.len() % lanes };
        let kept = simd.splat(mask(width) as u32);
        let bits = simd.splat(width as u32);
        let set = |value: u32| simd.splat(value);
        for at in (0..gathered).step_by(lanes) {
            let row = simd.load(&rows[at..]);
            let bit = ((row >> 4) & set(31)) * bits;
            let line = (row >> 9) * bits + (bit >> 5);
            let word = (line << 4) + (row & set(15));
            let shift = bit & set(31);
            // A key that does not straddle touches no second line: its own bits are shifted to
            // where the mask drops them.
            let next = (shift + bits).gt(set(32)).blend(word + set(16), word);
            let low = simd.gather_le::<u32, u32>(groups.packed, word).shr_each(shift);
            let high = simd.gather_le::<u32, u32>(groups.packed, next);
            let keys = (low | high.shl_each(set(32) - shift)) & kept;
            keys.store(&mut out[at..]);
        }
        for (out, row) in out[gathered..].iter_mut().zip(&rows[gathered..]) {
            *out = groups.get(*row as usize) as u32;
        }
    }
}

/// Most groups of a block.
const GROUPS_MAX: usize = CHUNK_ROWS / Groups128::ROWS;

/// From more groups for each position on, their places are not worth to be looked up first.
const GROUPS_PER_POSITION_MAX: usize = 4;

/// Gathers keys of at most 32 bits that are packed in groups of 128 rows of their own widths.
pub(crate) struct GatherListed<'g, 'a> {
    groups: &'g Groups128<'a>,
    /// The group of entry 0.
    first: usize,
    /// First line of each group and, in the lowest byte, its width.
    entries: [u32; GROUPS_MAX],
}

impl<'g, 'a> GatherListed<'g, 'a> {
    /// Looks up the groups of the rows `rows`; `None` if so few of these are wanted that it is not
    /// worth while, or if no group has bits.
    pub(crate) fn new(
        groups: &'g Groups128<'a>,
        rows: Range<usize>,
        wanted: usize,
    ) -> Option<Self> {
        let (first, end) = (rows.start / Groups128::ROWS, rows.end.div_ceil(Groups128::ROWS));
        let mut entries = [0; GROUPS_MAX];
        let used = entries.get_mut(..end - first)?;
        let has_bits = groups.packed.len() >= Groups128::LINE_BYTES;
        if used.len() > wanted * GROUPS_PER_POSITION_MAX || !has_bits {
            return None;
        }
        groups.places.each(first, used, |line, width| (line << 8 | width.min(0xff)) as u32);
        Some(Self { groups, first, entries })
    }

    /// Writes the keys of `rows`, which lie in the rows that it was made for, over `out`.
    pub(crate) fn gather(&self, flavour: Flavour, rows: &[u32], out: &mut [u32]) {
        flavour.fill(GatherRows { from: self, rows }, out);
    }
}

struct GatherRows<'f, 'g, 'a> {
    from: &'f GatherListed<'g, 'a>,
    rows: &'f [u32],
}

impl Fill for GatherRows<'_, '_, '_> {
    type Out = [u32];

    #[inline(always)]
    fn fill<S: Simd>(self, simd: S, out: &mut [u32]) {
        let (GatherListed { groups, first, entries }, rows) = (self.from, self.rows);
        let lanes = S::lanes::<u32>();
        assert_eq!(rows.len(), out.len());
        // As for keys of one width.
        let gathered = if S::BYTES < 32 { 0 } else { rows.len() - rows.len() % lanes };
        let set = |value: u32| simd.splat(value);
        for at in (0..gathered).step_by(lanes) {
            let row = simd.load(&rows[at..]);
            let group = row >> 7;
            let entry = simd.gather::<u32, u32>(entries, group - set(*first as u32));
            let width = entry & set(0xff);
            let bit = ((row >> 2) & set(31)) * width;
            let word = (((entry >> 8) + (bit >> 5)) << 2) + (row & set(3));
            let shift = bit & set(31);
            let next = (shift + width).gt(set(32)).blend(word + set(4), word);
            let low = simd.gather_le::<u32, u32>(groups.packed, word).shr_each(shift);
            let high = simd.gather_le::<u32, u32>(groups.packed, next);
            let both = low | high.shl_each(set(32) - shift);
            let mut keys = set(u32::MAX).shl_each(width).andnot(both);
            if let References::Narrow(references) = groups.references {
                keys = keys + simd.gather_le(references.as_flattened(), group);
            }
            keys.store(&mut out[at..]);
        }
        for (out, row) in out[gathered..].iter_mut().zip(&rows[gathered..]) {
            *out = groups.get(*row as usize) as u32;
        }
    }
}
