//! Static bit packing: differences to a frame of reference, in one bit width for the whole block.
//!
//! # Layout
//! Rows come in groups of [`GROUP_ROWS`] = 512; the last one is filled up with zeros. A group is
//! `width` *lines* of [`LANES`] = 8 words of 64 bits. Row `i` of a group lies in lane `i % 8` at
//! position `i / 8`; lane `l` is the word `l` of every line, read as one string of `64 * width`
//! bits, least significant first, in which position `p` has bits `p * width` and on:
//!
//! ```text
//!            lane 0     lane 1           lane 7
//! line 0    | word 0   | word 1   | ... | word 7   |   rows 0..8, 8..16, ... from bit 0 upwards
//! line 1    | word 8   | word 9   | ... | word 15  |   a value may straddle two lines of its lane
//! ...
//! line w-1  |          |          | ... |          |   the last bits of position 63 end here
//! ```
//!
//! So one instruction shifts eight neighbouring rows at once in a 512-bit register, the unpacked
//! values come out in row order, and any row is found with two loads.
//!
//! # Source
//! [Zarubin22 section 3.3.1] static bit packing with frame of reference; the vertical layout is
//! that of SIMD-BP128 there. Differs: lanes have 64 bits and there are eight, so that widths up to
//! 64 and 512-bit registers need no second layout; and one width serves the block, for random
//! access.
//!
//! # See
//! Bench `decode` (ns per value for each flavour).

use std::mem::MaybeUninit;
use std::ops::Range;

use nacre_simd::{Fill, Flavour, Simd};

/// Rows of a group.
pub(crate) const GROUP_ROWS: usize = 512;

/// Words of a line.
pub(crate) const LANES: usize = 8;

/// Rows of a group that lie in one lane.
const POSITIONS: usize = GROUP_ROWS / LANES;

/// The words of all lanes at one place, little-endian.
type Line = [[u8; 8]; LANES];

/// The unpacked values of a group.
pub(crate) type Group = [u64; GROUP_ROWS];

/// Returns the bits that `max` needs.
pub(crate) fn width_of(max: u64) -> usize {
    (u64::BITS - max.leading_zeros()) as usize
}

/// Returns the bytes of `rows` packed values.
pub(crate) fn packed_bytes(rows: usize, width: usize) -> usize {
    rows.div_ceil(GROUP_ROWS) * width * size_of::<Line>()
}

/// Packs `rows` values into `packed`, asking `fill` for those of one group after the other.
///
/// `fill(range, group)` writes the values of the rows `range` to the front of `group`; each is
/// below `2^width`. `packed` has [`packed_bytes`] bytes.
pub(crate) fn pack(
    flavour: Flavour,
    width: usize,
    rows: usize,
    packed: &mut [u8],
    mut fill: impl FnMut(Range<usize>, &mut Group),
) {
    if width == 0 {
        return;
    }
    let lines = packed.as_chunks_mut::<8>().0.as_chunks_mut::<LANES>().0;
    let mut group = [0; GROUP_ROWS];
    for (index, lines) in lines.chunks_exact_mut(width).enumerate() {
        let start = index * GROUP_ROWS;
        let end = rows.min(start + GROUP_ROWS);
        fill(start..end, &mut group);
        group[end - start..].fill(0);
        flavour.fill(Pack { width, group: &group }, lines);
    }
}

struct Pack<'a> {
    width: usize,
    group: &'a Group,
}

impl Fill for Pack<'_> {
    type Out = [Line];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, lines: &mut [Line]) {
        let mut words = [0_u64; LANES];
        let mut filled = 0;
        let mut lines = lines.iter_mut();
        for values in self.group.as_chunks::<LANES>().0 {
            for lane in 0..LANES {
                words[lane] |= values[lane] << filled;
            }
            filled += self.width;
            if filled < 64 {
                continue;
            }
            filled -= 64;
            if let Some(line) = lines.next() {
                *line = words.map(u64::to_le_bytes);
            }
            for lane in 0..LANES {
                let rest = values[lane].unbounded_shr((self.width - filled) as u32);
                words[lane] = if filled == 0 { 0 } else { rest };
            }
        }
    }
}

/// Packed values of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<'a> {
    width: usize,
    lines: &'a [Line],
}

impl<'a> Packed<'a> {
    /// Wraps `bytes`, which has [`packed_bytes`] bytes for this `width`.
    pub(crate) fn new(width: usize, bytes: &'a [u8]) -> Self {
        Self { width, lines: bytes.as_chunks::<8>().0.as_chunks::<LANES>().0 }
    }

    /// Returns the value of `row`, which the caller has checked to be in the block.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> u64 {
        if self.width == 0 {
            return 0;
        }
        let lane = row % LANES;
        let bit = row % GROUP_ROWS / LANES * self.width;
        let line = row / GROUP_ROWS * self.width + bit / 64;
        let shift = bit % 64;
        let mut value = u64::from_le_bytes(self.lines[line][lane]) >> shift;
        if shift + self.width > 64 {
            value |= u64::from_le_bytes(self.lines[line + 1][lane]) << (64 - shift);
        }
        value & mask(self.width)
    }

    /// Unpacks the rows `rows`, group by group: calls `each` with the values of the rows wanted.
    #[inline]
    pub(crate) fn for_each_group(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        mut each: impl FnMut(&[u64]),
    ) {
        let mut group = [0; GROUP_ROWS];
        let unpack = UNPACK[self.width];
        let mut row = rows.start;
        while row < rows.end {
            let index = row / GROUP_ROWS;
            let start = row % GROUP_ROWS;
            let end = GROUP_ROWS.min(start + rows.end - row);
            let lines = &self.lines[index * self.width..][..self.width];
            unpack(flavour, lines, &mut group);
            each(&group[start..end]);
            row += end - start;
        }
    }

    /// Appends the values of the rows `rows` to `out`, each added to `base`.
    #[allow(unsafe_code, reason = "zeroing the vector first would write every value twice")]
    pub(crate) fn decode<T: Integer>(
        &self,
        flavour: Flavour,
        base: i128,
        rows: Range<usize>,
        out: &mut Vec<T>,
    ) {
        let base = T::from_i128(base);
        if self.width == 0 {
            out.resize(out.len() + rows.len(), base);
            return;
        }
        let count = rows.len();
        out.reserve(count);
        let mut free = &mut out.spare_capacity_mut()[..count];
        self.for_each_group(flavour, rows, |differences| {
            let (now, later) = std::mem::take(&mut free).split_at_mut(differences.len());
            flavour.fill(AddBase { base, differences }, now);
            free = later;
        });
        assert!(free.is_empty(), "{} of {count} rows not decoded", free.len());
        // SAFETY: `reserve` made room for `count` more; `AddBase` wrote all of each part of `free`
        // that was split off, and the assertion says that these were all `count` elements.
        unsafe { out.set_len(out.len() + count) };
    }
}

struct AddBase<'a, T> {
    base: T,
    differences: &'a [u64],
}

impl<T: Integer> Fill for AddBase<'_, T> {
    type Out = [MaybeUninit<T>];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, out: &mut [MaybeUninit<T>]) {
        assert_eq!(self.differences.len(), out.len());
        for (out, difference) in out.iter_mut().zip(self.differences) {
            out.write(T::add(self.base, *difference));
        }
    }
}

/// What whole numbers decode to. All arithmetic wraps: a damaged block gives wrong numbers, which
/// its checksum tells, never a panic.
pub(crate) trait Integer: Copy {
    /// Name for messages.
    const NAME: &'static str;
    /// Least and greatest value.
    const RANGE: (i128, i128);

    /// Narrows `value`.
    fn from_i128(value: i128) -> Self;

    /// Narrows `value`.
    fn from_i64(value: i64) -> Self;

    /// Adds a difference to a base.
    fn add(base: Self, difference: u64) -> Self;
}

macro_rules! integer {
    ($type:ty) => {
        impl Integer for $type {
            const NAME: &'static str = stringify!($type);
            const RANGE: (i128, i128) = (<$type>::MIN as i128, <$type>::MAX as i128);

            #[inline(always)]
            fn from_i128(value: i128) -> Self {
                value as Self
            }

            #[inline(always)]
            fn from_i64(value: i64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn add(base: Self, difference: u64) -> Self {
                base.wrapping_add(difference as Self)
            }
        }
    };
}

integer!(i16);
integer!(i32);
integer!(i64);
integer!(i128);
integer!(u32);

impl Integer for bool {
    const NAME: &'static str = "bool";
    const RANGE: (i128, i128) = (0, 1);

    #[inline(always)]
    fn from_i128(value: i128) -> Self {
        value != 0
    }

    #[inline(always)]
    fn from_i64(value: i64) -> Self {
        value != 0
    }

    #[inline(always)]
    fn add(base: Self, difference: u64) -> Self {
        base | (difference != 0)
    }
}

const fn mask(width: usize) -> u64 {
    if width == 64 { u64::MAX } else { (1 << width) - 1 }
}

struct Unpack<'a, const WIDTH: usize> {
    lines: &'a [Line],
}

/// Expands to one step per position, so that every shift and line is a constant.
macro_rules! each_position {
    ($step:ident) => {
        $step!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30
            31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59
            60 61 62 63)
    };
}

impl<const WIDTH: usize> Fill for Unpack<'_, WIDTH> {
    type Out = Group;

    /// The outer loop runs over lanes, and its body is straight-line code for the 64 positions of
    /// one lane: this is the shape that the compiler turns into one register of neighbouring lanes.
    #[inline(always)]
    fn fill<S: Simd>(self, _: S, group: &mut Group) {
        if WIDTH == 0 {
            group.fill(0);
            return;
        }
        let lines = &self.lines[..WIDTH];
        for lane in 0..LANES {
            macro_rules! step {
                ($($position:literal)*) => {$(
                    group[$position * LANES + lane] = extract::<WIDTH, $position>(lines, lane);
                )*};
            }
            each_position!(step);
        }
    }
}

#[inline(always)]
fn extract<const WIDTH: usize, const POSITION: usize>(lines: &[Line], lane: usize) -> u64 {
    let bit = POSITION * WIDTH;
    let shift = bit % 64;
    let mut value = u64::from_le_bytes(lines[bit / 64][lane]) >> shift;
    if shift + WIDTH > 64 {
        value |= u64::from_le_bytes(lines[bit / 64 + 1][lane]) << (64 - shift);
    }
    value & mask(WIDTH)
}

fn unpack<const WIDTH: usize>(flavour: Flavour, lines: &[Line], group: &mut Group) {
    flavour.fill(Unpack::<WIDTH> { lines }, group);
}

macro_rules! unpack_table {
    ($($width:literal)*) => {
        /// Unpacks one group; by width.
        static UNPACK: [fn(Flavour, &[Line], &mut Group); 65] = [$(unpack::<$width>,)*];
    };
}

unpack_table!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
    32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    64);

const _: () = assert!(POSITIONS == 64, "a lane of `width` words has exactly 64 positions");

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random and repeat from run to run.
    fn values(width: usize, rows: usize) -> Vec<u64> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ width as u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state.rotate_left(32) & if width == 0 { 0 } else { mask(width) }
        };
        (0..rows).map(|_| next()).collect()
    }

    fn packed(width: usize, values: &[u64]) -> Vec<u8> {
        let mut packed = vec![0; packed_bytes(values.len(), width)];
        pack(Flavour::Scalar, width, values.len(), &mut packed, |rows, group| {
            group[..rows.len()].copy_from_slice(&values[rows]);
        });
        packed
    }

    #[test]
    fn every_width_unpacks_alike_in_every_flavour_and_by_row() {
        for width in 0..=64 {
            let values = values(width, 1_025);
            let bytes = packed(width, &values);
            let block = Packed::new(width, &bytes);
            for flavour in Flavour::available() {
                for rows in [0..1_025, 0..0, 1..2, 511..513, 512..1_024, 3..1_000] {
                    let mut out = vec![7_i128];
                    block.decode(flavour, 0, rows.clone(), &mut out);
                    let expected = values[rows].iter().map(|value| i128::from(*value));
                    assert!(out[1..].iter().copied().eq(expected), "width {width} {flavour}");
                }
            }
            for (row, value) in values.iter().enumerate() {
                assert_eq!(block.get(row), *value, "width {width} row {row}");
            }
        }
    }

    #[test]
    fn every_flavour_packs_the_same_bytes() {
        for width in 1..=64 {
            let values = values(width, 700);
            let expected = packed(width, &values);
            for flavour in Flavour::available() {
                let mut bytes = vec![0xaa; expected.len()];
                pack(flavour, width, values.len(), &mut bytes, |rows, group| {
                    group[..rows.len()].copy_from_slice(&values[rows]);
                });
                assert_eq!(bytes, expected, "width {width} {flavour}");
            }
        }
    }

    #[test]
    fn layout_is_the_one_drawn() {
        // Width 5: row 100 is lane 4, position 12, so bits 60..65 of lane 4: lines 0 and 1.
        let mut values = vec![0; 512];
        values[100] = 0b10110;
        let bytes = packed(5, &values);
        let mut expected = vec![0; 5 * 64];
        expected[4 * 8 + 7] = 0b0110 << 4;
        expected[64 + 4 * 8] = 1;
        assert_eq!(bytes, expected);
    }

    #[test]
    fn base_is_added_in_the_output_type() {
        let bytes = packed(3, &[0, 7, 1]);
        let block = Packed::new(3, &bytes);
        let mut out: Vec<i16> = Vec::new();
        block.decode(Flavour::active(), -5, 0..3, &mut out);
        assert_eq!(out, [-5, 2, -4]);
        let mut out: Vec<i64> = Vec::new();
        block.decode(Flavour::active(), i64::MAX.into(), 1..2, &mut out);
        assert_eq!(out, [i64::MIN + 6]);
    }
}
