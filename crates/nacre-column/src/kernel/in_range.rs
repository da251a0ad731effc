//! Which numbers lie in a range: one subtraction and one comparison for each register.
//!
//! Packed keys are compared while they are in registers, by code that knows their width: shifts are
//! constants, and keys that do not straddle need one load. With a width that is known at run time
//! only it took 1.4 times as long (bench `decode`, row `select_bits/static_bp`, AVX2).

use std::cell::RefCell;
use std::ops::Range;

use nacre_simd::{Fill, Flavour, Kernel, Lane, Simd};

use super::numbers::Numbers;
use crate::format::keys::KeyReader;
use crate::format::lanes::{Groups512, NARROW_WIDTH_MAX, mask};
use crate::format::visit::split;

/// Keys from `low` to `low + span`, or all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyRange {
    pub(crate) low: u64,
    pub(crate) span: u64,
    pub(crate) is_inside: bool,
}

/// Writes a bit for each number, 64 to a word, set if it is in the range; bits past the last number
/// are unspecified. Numbers and range fit the lanes.
pub(crate) fn in_range<N: Numbers>(
    flavour: Flavour,
    range: KeyRange,
    numbers: N,
    words: &mut [u64],
) {
    assert_eq!(words.len(), numbers.len().div_ceil(64));
    flavour.fill(InRange { numbers, range }, words);
}

struct InRange<N> {
    numbers: N,
    range: KeyRange,
}

impl<N: Numbers> Fill for InRange<N> {
    type Out = [u64];

    #[inline(always)]
    fn fill<S: Simd>(self, simd: S, words: &mut [u64]) {
        let low = simd.splat(N::Lane::from_bits(self.range.low));
        let span = simd.splat(N::Lane::from_bits(self.range.span));
        let flip = if self.range.is_inside { u64::MAX } else { 0 };
        let len = self.numbers.len();
        for (index, out) in words.iter_mut().enumerate() {
            let mut outside = 0;
            for bit in (0..64).step_by(S::lanes::<N::Lane>()) {
                let at = index * 64 + bit;
                if at < len {
                    let numbers = self.numbers.read(simd, at);
                    outside |= (numbers - low).gt(span).to_bits() << bit;
                }
            }
            *out = outside ^ flip;
        }
    }
}

/// As [`in_range`], for the keys of the rows `rows`, which start at a multiple of 64; the block's
/// greatest key has `width` bits.
pub(crate) fn keys_in_range<R: KeyReader>(
    reader: &R,
    flavour: Flavour,
    range: KeyRange,
    width: usize,
    rows: Range<usize>,
    words: &mut [u64],
) {
    let start = rows.start;
    let words = RefCell::new(words);
    let decoded = |rows: Range<usize>| {
        let mut word = (rows.start - start) / 64;
        macro_rules! run {
            ($key:ty) => {
                reader.for_each_run::<$key>(flavour, rows, |keys| {
                    let count = keys.len().div_ceil(64);
                    in_range(flavour, range, keys, &mut words.borrow_mut()[word..word + count]);
                    word += count;
                })
            };
        }
        if width <= NARROW_WIDTH_MAX { run!(u32) } else { run!(u64) }
    };
    let Some(packed) = reader.groups() else { return decoded(rows) };
    let range = NarrowRange::new(range);
    let compare = |groups: Range<usize>| {
        let words = &mut words.borrow_mut()[(groups.start * Groups512::ROWS - start) / 64..];
        flavour.run(GroupsInRange { packed, groups, range, words })
    };
    split(rows, compare, decoded);
}

/// Words of the answer for a group.
const GROUP_WORDS: usize = Groups512::ROWS / 64;

/// Keys of at most 32 bits from `low` to `low + span`, or all others.
#[derive(Clone, Copy)]
struct NarrowRange {
    low: u32,
    span: u32,
    /// All ones if the other keys are wanted: XOR with the bits of the keys inside.
    flip: u64,
}

impl NarrowRange {
    fn new(KeyRange { low, span, is_inside }: KeyRange) -> Self {
        let flip = if is_inside { 0 } else { u64::MAX };
        match u32::try_from(low) {
            Ok(low) => Self { low, span: span.min((u32::MAX - low).into()) as u32, flip },
            // Narrow keys are all below the range: outside of what has everything inside.
            Err(_) => Self { low: 0, span: u32::MAX, flip: !flip },
        }
    }
}

/// Compares the keys of whole groups; returns the first that it leaves: one with wider keys, or any
/// in a flavour without registers.
struct GroupsInRange<'g, 'a> {
    packed: &'g Groups512<'a>,
    groups: Range<usize>,
    range: NarrowRange,
    /// Of these groups, and perhaps more.
    words: &'g mut [u64],
}

impl Kernel for GroupsInRange<'_, '_> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> usize {
        let Self { packed, groups, range, words } = self;
        for (index, words) in groups.clone().zip(words.as_chunks_mut::<GROUP_WORDS>().0) {
            let (bytes, width) = packed.group(index);
            macro_rules! by_width {
                ($($width:literal)*) => {
                    match width {
                        0 => words.fill(range.flip ^ if range.low == 0 { u64::MAX } else { 0 }),
                        // A constant, so that the scalar flavour has no code for it.
                        $($width if const { S::BYTES >= 16 } => {
                            simd.fill_apart(WidthInRange::<$width> { bytes, range }, words);
                        })*
                        _ => return index,
                    }
                };
            }
            by_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28
                29 30 31 32);
        }
        groups.end
    }
}

/// Compares the keys of a group whose keys have `WIDTH` bits.
struct WidthInRange<'g, const WIDTH: usize> {
    /// `WIDTH` lines.
    bytes: &'g [u8],
    range: NarrowRange,
}

impl<const WIDTH: usize> Fill for WidthInRange<'_, WIDTH> {
    type Out = [u64; GROUP_WORDS];

    #[inline(always)]
    fn fill<S: Simd>(self, simd: S, words: &mut [u64; GROUP_WORDS]) {
        /// Keys with one place in the words of all lanes.
        const LANES: usize = Groups512::ROWS / 32;

        let bytes = &self.bytes[..WIDTH * Groups512::LINE_BYTES];
        let (low, span) = (simd.splat(self.range.low), simd.splat(self.range.span));
        let kept = simd.splat(mask(WIDTH) as u32);
        macro_rules! positions {
            ($($word:literal: $($position:literal)*;)*) => {$({
                let mut inside = 0;
                $({
                    let (line, shift) = const { (WIDTH * $position / 32, WIDTH * $position % 32) };
                    for lane in (0..LANES).step_by(S::lanes::<u32>()) {
                        let word = |line: usize| {
                            simd.load_le::<u32>(&bytes[line * Groups512::LINE_BYTES + lane * 4..])
                        };
                        let mut keys = word(line) >> shift as u32;
                        if shift + WIDTH > 32 {
                            keys = keys | word(line + 1) << (32 - shift) as u32;
                        }
                        if shift + WIDTH != 32 {
                            keys = keys & kept;
                        }
                        let above = keys - low;
                        let bits = above.min(span).eq(above).to_bits();
                        inside |= bits << ($position % 4 * LANES + lane);
                    }
                })*
                words[$word] = inside ^ self.range.flip;
            })*};
        }
        positions! {
            0: 0 1 2 3; 1: 4 5 6 7; 2: 8 9 10 11; 3: 12 13 14 15;
            4: 16 17 18 19; 5: 20 21 22 23; 6: 24 25 26 27; 7: 28 29 30 31;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::kernel::select_bits;
    use crate::{
        Block, ColumnBuffer, ColumnType, CompareOp, Constant, Flavour, Format, Restriction, block,
    };

    /// Two whole groups, from the second word on, and a part of one.
    const ROWS: usize = 2 * 512 + 70;

    fn column(width: u32) -> ColumnBuffer {
        let mut column = ColumnBuffer::new(ColumnType::BigInt);
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for row in 0..ROWS {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let greatest = u64::MAX.unbounded_shr(64 - width);
            let key = if row % 100 == 7 { greatest } else { state.rotate_left(32) & greatest };
            column.push_int(key as i64 - 5);
        }
        column
    }

    #[test]
    fn packed_keys_of_every_width_are_compared_alike_in_every_flavour() {
        for width in 0..=33 {
            let column = column(width);
            let encoded = block::encode_as(&column, Flavour::Scalar, Format::StaticBp).unwrap();
            let block = Block::open(&encoded.bytes, ColumnType::BigInt).unwrap();
            let mut values = Vec::new();
            block.decode_i64(Flavour::Scalar, 0..ROWS, &mut values).unwrap();
            let greatest = (1_i128 << width) - 6;
            let tries = [-6, -5, greatest / 3, greatest - 1, greatest, greatest + 1];
            for (op, value) in [CompareOp::Lt, CompareOp::Ge, CompareOp::Eq, CompareOp::Ne]
                .into_iter()
                .flat_map(|op| tries.map(|value| (op, value)))
            {
                let restriction = Restriction::Compare { op, value: Constant::Int(value) };
                for (flavour, start) in Flavour::available()
                    .into_iter()
                    .flat_map(|flavour| [(flavour, 0), (flavour, 64)])
                {
                    let mut bits = Vec::new();
                    select_bits(&block, flavour, &restriction, start..ROWS, &mut bits).unwrap();
                    let found = (start..ROWS).all(|row| {
                        let is_set = bits[(row - start) / 64] >> ((row - start) % 64) & 1 == 1;
                        is_set == op.holds(i128::from(values[row]).cmp(&value))
                    });
                    assert!(found, "width {width} {flavour} from row {start}: {op:?} {value}");
                }
            }
        }
    }
}
