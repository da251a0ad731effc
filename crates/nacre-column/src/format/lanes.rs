//! Bit lanes: how a group of keys is packed in one width, whatever the format around it.
//!
//! # Layout
//! A group of `ROWS` keys in `width` bits each is `width` *lines* of `ROWS / 8` bytes. Up to a
//! width of 32 a line is `ROWS / 32` words of 32 bits, one for each *lane*; above, it is
//! `ROWS / 64` words of 64 bits. Row `i` lies in lane `i % lanes` at position `i / lanes`; lane
//! `l` is the word `l` of every line, read as one string of bits, least significant first, in
//! which position `p` has bits `p * width` and on. With 128 rows and a width up to 32:
//!
//! ```text
//!            lane 0    lane 1    lane 2    lane 3
//! line 0    | word 0  | word 1  | word 2  | word 3  |   rows 0..4, 4..8, ... from bit 0 upwards
//! line 1    | word 4  | word 5  | word 6  | word 7  |   a key may straddle two lines of its lane
//! ...
//! line w-1  |         |         |         |         |   the last bits of position 31 end here
//! ```
//!
//! So one instruction shifts as many neighbouring rows as there are lanes, keys come out in row
//! order, and any row is found with two loads. Groups of 128 rows fill 128-bit registers, groups
//! of 512 rows those of 512 bits.
//!
//! # Source
//! [Zarubin22 section 3.3.1] the vertical layout of SIMD-BP128. Differs: widths above 32 have
//! lanes of 64 bits, and there is one more group size.

use std::mem::MaybeUninit;

use nacre_pmem::prefetch;
use nacre_simd::{Fill, Flavour, Register, Simd};

use super::integer::{Key, KeySlots, initialized};

/// Widest keys that lie in lanes of 32 bits.
pub(crate) const NARROW_WIDTH_MAX: usize = 32;

/// Greatest width.
pub(crate) const WIDTH_MAX: usize = 64;

/// Returns the bits that `max` needs.
#[inline]
pub(crate) fn width_of(max: u64) -> usize {
    (u64::BITS - max.leading_zeros()) as usize
}

/// Returns the greatest key of `width` bits.
#[inline]
pub(crate) const fn mask(width: usize) -> u64 {
    if width == 64 { u64::MAX } else { (1 << width) - 1 }
}

/// Where the groups of a block lie in its packed bytes, counted in lines.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Places<'a> {
    /// All have this width and lie end to end.
    Equal(usize),
    /// Group `i` lies from entry `i` to entry `i + 1`, 16 bits each; the difference is its width.
    Listed(&'a [[u8; 2]]),
    /// Each [`META_GROUPS`] groups have their widths in the line in front of them; the meta-blocks
    /// start where the list says.
    InMetaBlocks { starts: &'a [[u8; 2]], packed: &'a [u8] },
}

/// Groups of a meta-block.
pub(crate) const META_GROUPS: usize = 16;

impl Places<'_> {
    /// Returns first line and width of group `index`; 0 and 0 if the list does not have it.
    #[inline(always)]
    pub(crate) fn group(&self, index: usize) -> (usize, usize) {
        match self {
            Self::Equal(width) => (index * width, *width),
            Self::Listed(starts) => match starts.get(index..).and_then(|rest| rest.first_chunk()) {
                Some([start, end]) => {
                    let start = u16::from_le_bytes(*start);
                    let width = u16::from_le_bytes(*end).wrapping_sub(start);
                    (usize::from(start), usize::from(width))
                }
                None => (0, 0),
            },
            Self::InMetaBlocks { starts, packed } => {
                let (meta, group) = (index / META_GROUPS, index % META_GROUPS);
                let Some(start) = starts.get(meta).map(|start| u16::from_le_bytes(*start)) else {
                    return (0, 0);
                };
                let start = usize::from(start);
                let widths = packed.get(start * META_GROUPS..).and_then(|rest| rest.first_chunk());
                let widths: &[u8; META_GROUPS] = widths.unwrap_or(&[0; META_GROUPS]);
                let before = u128::from_le_bytes(*widths) & !(u128::MAX << (group * 8));
                (start + 1 + sum_of_bytes(before), usize::from(widths[group]))
            }
        }
    }
}

impl Places<'_> {
    /// Writes what `make` makes of first line and width of the groups from `first` on over `out`.
    pub(crate) fn each(&self, first: usize, out: &mut [u32], make: impl Fn(usize, usize) -> u32) {
        if let Self::Listed(starts) = self {
            // Without a look for each: this is done in registers.
            let starts = starts.get(first..).unwrap_or_default();
            let known = out.len().min(starts.len().saturating_sub(1));
            let (known, unknown) = out.split_at_mut(known);
            for (out, pair) in known.iter_mut().zip(starts.windows(2)) {
                let [start, end] = [pair[0], pair[1]].map(u16::from_le_bytes);
                *out = make(start.into(), end.wrapping_sub(start).into());
            }
            unknown.fill(make(0, 0));
            return;
        }
        for (index, out) in out.iter_mut().enumerate() {
            let (line, width) = self.group(first + index);
            *out = make(line, width);
        }
    }
}

/// Adds up the bytes of `word` without a loop.
#[inline(always)]
fn sum_of_bytes(word: u128) -> usize {
    const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
    // Sums of four bytes fit 16 bits, as that of all does; the product has it at the top.
    let (lower, upper) = (word as u64, (word >> 64) as u64);
    let pairs = (lower & EVEN) + (lower >> 8 & EVEN) + (upper & EVEN) + (upper >> 8 & EVEN);
    (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48) as usize
}

/// What the keys of each group are added to besides the base of all.
#[derive(Clone, Copy, Debug)]
pub(crate) enum References<'a> {
    None,
    Narrow(&'a [[u8; 4]]),
    Wide(&'a [[u8; 8]]),
}

impl References<'_> {
    /// Returns that of group `index`; 0 if there is none.
    #[inline(always)]
    pub(crate) fn of(&self, index: usize) -> u64 {
        match self {
            Self::None => 0,
            Self::Narrow(all) => {
                all.get(index).map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes)))
            }
            Self::Wide(all) => all.get(index).map_or(0, |bytes| u64::from_le_bytes(*bytes)),
        }
    }
}

/// Groups of `NARROW * 32 == WIDE * 64` rows in the packed bytes of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups<'a, const NARROW: usize, const WIDE: usize> {
    pub(crate) packed: &'a [u8],
    pub(crate) places: Places<'a>,
    pub(crate) references: References<'a>,
}

/// Groups of 128 rows.
pub(crate) type Groups128<'a> = Groups<'a, 4, 2>;

/// Groups of 512 rows.
pub(crate) type Groups512<'a> = Groups<'a, 16, 8>;

impl<const NARROW: usize, const WIDE: usize> Groups<'_, NARROW, WIDE> {
    /// Rows of a group.
    pub(crate) const ROWS: usize = {
        assert!(NARROW * 32 == WIDE * 64);
        NARROW * 32
    };

    /// Bytes of a line.
    pub(crate) const LINE_BYTES: usize = Self::ROWS / 8;

    /// Returns the bytes of `rows` keys in one width.
    pub(crate) fn bytes(rows: usize, width: usize) -> usize {
        rows.div_ceil(Self::ROWS) * width * Self::LINE_BYTES
    }

    /// Returns the bytes of group `index` and its width; none and 0 if it lies elsewhere.
    #[inline(always)]
    pub(crate) fn group(&self, index: usize) -> (&[u8], usize) {
        let (line, width) = self.places.group(index);
        let start = line * Self::LINE_BYTES;
        match self.packed.get(start..start + width * Self::LINE_BYTES) {
            Some(bytes) if width <= WIDTH_MAX => (bytes, width),
            _ => (&[], 0),
        }
    }

    /// As [`Groups::get`], of groups without references that all have one width of at most 32 bits.
    ///
    /// Of two words the second is the first once more if the key ends there: which of them it is
    /// cannot be predicted, and what is above the key is masked either way.
    #[inline(always)]
    pub(crate) fn get_equal(packed: &[u8], width: usize, row: usize) -> u64 {
        let (at, bit) = Self::place_equal(width, row);
        let word = |at: usize| {
            let bytes = packed.get(at..).and_then(|rest| rest.first_chunk());
            bytes.map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes)))
        };
        let next = usize::from(bit + width > 32) * Self::LINE_BYTES;
        let (low, high) = (word(at), word(at + next));
        (low >> bit | high << (32 - bit)) & mask(width)
    }

    /// Returns the offset of the word that the key of `row` begins in, and at which of its bits, in
    /// groups that all have one width of at most 32 bits.
    #[inline(always)]
    pub(crate) fn place_equal(width: usize, row: usize) -> (usize, usize) {
        let (index, row) = (row / Self::ROWS, row % Self::ROWS);
        let (lane, bit) = (row % NARROW, row / NARROW * width);
        ((index * width + bit / 32) * Self::LINE_BYTES + lane * 4, bit % 32)
    }

    /// Starts to load the words of these rows, in groups that all have one width of at most 32
    /// bits.
    pub(crate) fn prefetch_equal(packed: &[u8], width: usize, rows: &[u32]) {
        for row in rows {
            let (at, bit) = Self::place_equal(width, *row as usize);
            let word = packed.as_ptr().wrapping_add(at);
            prefetch::line(word);
            prefetch::line(word.wrapping_add(usize::from(bit + width > 32) * Self::LINE_BYTES));
        }
    }

    /// Returns the key of `row`; any number if the bytes do not have it.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> u64 {
        let index = row / Self::ROWS;
        let (bytes, width) = self.group(index);
        let row = row % Self::ROWS;
        let reference = self.references.of(index);
        if width == 0 {
            return reference;
        }
        let key = if width <= NARROW_WIDTH_MAX {
            let lines = bytes.as_chunks::<4>().0.as_chunks::<NARROW>().0;
            let (lane, bit) = (row % NARROW, row / NARROW * width);
            let word = |line: usize| u64::from(u32::from_le_bytes(lines[line][lane]));
            let low = word(bit / 32) >> (bit % 32);
            // Only the last line has none after it, and there no key straddles.
            let high = if bit % 32 + width > 32 { word(bit / 32 + 1) } else { 0 };
            low | high << (32 - bit % 32)
        } else {
            let lines = bytes.as_chunks::<8>().0.as_chunks::<WIDE>().0;
            let (lane, bit) = (row % WIDE, row / WIDE * width);
            let word = |line: usize| u64::from_le_bytes(lines[line][lane]);
            let high = if bit % 64 + width > 64 { word(bit / 64 + 1) } else { 0 };
            word(bit / 64) >> (bit % 64) | high.unbounded_shl((64 - bit % 64) as u32)
        };
        (key & mask(width)).wrapping_add(reference)
    }

    /// Unpacks with shifts that depend on the width at run time: see [`Unpack`].
    #[inline]
    fn unpack_shifting<K: Key>(
        &self,
        flavour: Flavour,
        base: K,
        first: usize,
        out: &mut [MaybeUninit<K>],
    ) {
        flavour.fill(Unpack { groups: self, base, first }, out);
    }
}

impl Groups512<'_> {
    /// Unpacks the groups from `first` on over all of `out`, whose length is a multiple of
    /// [`Groups::ROWS`], each key added to `base`. Writes every element, whatever the bytes are.
    /// Keys of more than 32 bits become any number in 32.
    pub(crate) fn unpack<K: Key>(
        &self,
        flavour: Flavour,
        base: K,
        first: usize,
        out: &mut [MaybeUninit<K>],
    ) {
        self.unpack_shifting(flavour, base, first, out);
    }
}

impl Groups128<'_> {
    /// As [`Groups512::unpack`]. Groups wider than `width_max` may become any number.
    pub(crate) fn unpack<K: Key>(
        &self,
        flavour: Flavour,
        width_max: usize,
        base: K,
        first: usize,
        out: &mut [MaybeUninit<K>],
    ) {
        let narrow_flavour = if flavour == Flavour::Avx512 { Flavour::Avx2 } else { flavour };
        match K::as_keys(out) {
            KeySlots::Narrow(out) => {
                let base = base.to_u64() as u32;
                narrow_flavour.fill(UnpackNarrow { groups: self, base, first }, out);
            }
            KeySlots::Wide(out) if width_max <= NARROW_WIDTH_MAX => {
                let base = base.to_u64();
                flavour.fill(UnpackWidening { groups: self, base, first, narrow_flavour }, out);
            }
            KeySlots::Wide(out) => {
                self.unpack_shifting(flavour, base.to_u64(), first, out);
            }
            KeySlots::Other(out) => self.unpack_shifting(flavour, base, first, out),
        }
    }
}

/// Unpacks any groups into any keys. The shifts are the same for all lanes, but not constants:
/// with 16 lanes that costs little, and the code is small.
struct Unpack<'g, 'a, K, const NARROW: usize, const WIDE: usize> {
    groups: &'g Groups<'a, NARROW, WIDE>,
    base: K,
    first: usize,
}

impl<K: Key, const NARROW: usize, const WIDE: usize> Fill for Unpack<'_, '_, K, NARROW, WIDE> {
    type Out = [MaybeUninit<K>];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, out: &mut [MaybeUninit<K>]) {
        let (groups, rest) = out.as_chunks_mut::<NARROW>().0.as_chunks_mut::<32>();
        assert!(rest.is_empty(), "{} rows are no whole groups", rest.len() * NARROW);
        for (index, out) in groups.iter_mut().enumerate() {
            let (bytes, width) = self.groups.group(self.first + index);
            let reference = K::from_u64(self.groups.references.of(self.first + index));
            let base = self.base.plus(reference);
            match width {
                0 => out.as_flattened_mut().fill(MaybeUninit::new(base)),
                1..=NARROW_WIDTH_MAX => shift_narrow::<K, NARROW>(bytes, width, base, out),
                _ => shift_wide::<K, WIDE>(bytes, width, base, out.as_flattened_mut()),
            }
        }
    }
}

/// Unpacks a group in lanes of 32 bits; `bytes` has `width` lines, at least one.
#[inline(always)]
fn shift_narrow<K: Key, const LANES: usize>(
    bytes: &[u8],
    width: usize,
    base: K,
    out: &mut [[MaybeUninit<K>; LANES]; 32],
) {
    let lines = &bytes.as_chunks::<4>().0.as_chunks::<LANES>().0[..width];
    let mask = mask(width) as u32;
    for (position, out) in out.iter_mut().enumerate() {
        let bit = position * width;
        let shift = bit as u32 % 32;
        // Behind the last line nothing straddles, and what comes from there is masked away.
        let (low, high) = (&lines[bit / 32], &lines[(bit / 32 + 1).min(width - 1)]);
        for lane in 0..LANES {
            let word = |line: &[[u8; 4]; LANES]| u32::from_le_bytes(line[lane]);
            let key = word(low) >> shift | word(high) << 1 << (31 - shift);
            out[lane].write(K::from_u32(key & mask).plus(base));
        }
    }
}

/// As [`shift_narrow`], in lanes of 64 bits.
#[inline(always)]
fn shift_wide<K: Key, const LANES: usize>(
    bytes: &[u8],
    width: usize,
    base: K,
    out: &mut [MaybeUninit<K>],
) {
    let lines = &bytes.as_chunks::<8>().0.as_chunks::<LANES>().0[..width];
    let mask = mask(width);
    for (position, out) in out.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
        let bit = position * width;
        let shift = bit as u32 % 64;
        let (low, high) = (&lines[bit / 64], &lines[(bit / 64 + 1).min(width - 1)]);
        for lane in 0..LANES {
            let word = |line: &[[u8; 8]; LANES]| u64::from_le_bytes(line[lane]);
            let key = word(low) >> shift | word(high) << 1 << (63 - shift);
            out[lane].write(K::from_u64(key & mask).plus(base));
        }
    }
}

/// Unpacks groups of 128 rows and at most 32 bits, the one kernel that is worth much code; others
/// go by way of it: straight-line code for each width, twice as fast as shifts by what is known at
/// run time.
///
/// Registers of two lines are the best: those of four cross a cache line with most of their loads
/// and stores, and took half as long again.
struct UnpackNarrow<'g, 'a> {
    groups: &'g Groups128<'a>,
    base: u32,
    first: usize,
}

impl Fill for UnpackNarrow<'_, '_> {
    type Out = [MaybeUninit<u32>];

    #[inline(always)]
    fn fill<S: Simd>(self, simd: S, out: &mut [MaybeUninit<u32>]) {
        let (groups, rest) = out.as_chunks_mut::<{ Groups128::ROWS }>();
        assert!(rest.is_empty(), "{} rows are no whole groups", rest.len());
        for (index, out) in groups.iter_mut().enumerate() {
            let (bytes, width) = self.groups.group(self.first + index);
            let reference = self.groups.references.of(self.first + index) as u32;
            unpack_narrow_group(simd, bytes, width, self.base.wrapping_add(reference), out);
        }
    }
}

/// Unpacks groups of 128 rows and at most 32 bits into keys of 64.
struct UnpackWidening<'g, 'a> {
    groups: &'g Groups128<'a>,
    base: u64,
    first: usize,
    narrow_flavour: Flavour,
}

impl Fill for UnpackWidening<'_, '_> {
    type Out = [MaybeUninit<u64>];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, out: &mut [MaybeUninit<u64>]) {
        let Self { groups, base, first, narrow_flavour } = self;
        // Eight groups at a time: they stay in the L1 cache.
        let mut keys = [MaybeUninit::new(0_u32); 8 * Groups128::ROWS];
        for (index, out) in out.chunks_mut(keys.len()).enumerate() {
            let keys = &mut keys[..out.len()];
            narrow_flavour.fill(UnpackNarrow { groups, base: 0, first: first + index * 8 }, keys);
            for (out, key) in out.iter_mut().zip(initialized(keys)) {
                out.write(base.wrapping_add(u64::from(*key)));
            }
        }
    }
}

/// Calls the code for a width; without bits every key is `base`.
///
/// Flavours with wider registers than [`unpack_pairs`] wants are for callers to avoid, and not
/// worth code for each width.
#[inline(always)]
fn unpack_narrow_group<S: Simd>(
    simd: S,
    bytes: &[u8],
    width: usize,
    base: u32,
    out: &mut [MaybeUninit<u32>; Groups128::ROWS],
) {
    if const { S::BYTES > size_of::<[u32; PAIR_LANES]>() } && width > 0 {
        for out in out.as_chunks_mut::<4>().0.as_chunks_mut::<32>().0 {
            shift_narrow(bytes, width, base, out);
        }
        return;
    }
    macro_rules! by_width {
        ($($width:literal)*) => {
            match width {
                // A constant, so that flavours that do not come here have no code for it.
                $($width => if const { S::BYTES <= size_of::<[u32; PAIR_LANES]>() } {
                    simd.fill_apart(UnpackWidth::<$width> { bytes, base }, out);
                },)*
                _ => out.fill(MaybeUninit::new(base)),
            }
        };
    }
    by_width!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32);
}

/// Unpacks a group of 128 rows in `WIDTH` bits each: straight-line code.
struct UnpackWidth<'a, const WIDTH: usize> {
    bytes: &'a [u8],
    base: u32,
}

impl<const WIDTH: usize> Fill for UnpackWidth<'_, WIDTH> {
    type Out = [MaybeUninit<u32>; Groups128::ROWS];

    #[inline(always)]
    fn fill<S: Simd>(self, simd: S, out: &mut [MaybeUninit<u32>; Groups128::ROWS]) {
        // A constant, so that for each flavour only its own code is compiled.
        if const { S::BYTES == size_of::<[u32; PAIR_LANES]>() } {
            unpack_pairs::<S, WIDTH>(simd, self.bytes, self.base, out);
        } else {
            unpack_lines_of_width::<WIDTH>(self.bytes, self.base, out);
        }
    }
}

/// Words of a line of 128 rows.
type Line = [[u8; 4]; 4];

/// Four neighbouring rows at a time: the compiler makes each of these arrays one register.
///
/// Without closures over arrays: there would be one for each step of each width, and compiling them
/// took minutes.
#[inline(always)]
fn unpack_lines_of_width<const WIDTH: usize>(
    bytes: &[u8],
    base: u32,
    out: &mut [MaybeUninit<u32>; Groups128::ROWS],
) {
    let lines = &bytes.as_chunks::<4>().0.as_chunks::<4>().0[..WIDTH];
    let out = out.as_chunks_mut::<4>().0;
    macro_rules! steps {
        ($($position:literal)*) => {$({
            let bit = $position * WIDTH;
            let mut keys = shift_right(&lines[bit / 32], bit as u32 % 32);
            if bit % 32 + WIDTH > 32 {
                let high = shift_left(&lines[bit / 32 + 1], 32 - bit as u32 % 32);
                keys = [keys[0] | high[0], keys[1] | high[1], keys[2] | high[2], keys[3] | high[3]];
            }
            write_keys(keys, mask(WIDTH) as u32, base, &mut out[$position]);
        })*};
    }
    steps!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
}

#[inline(always)]
fn shift_right(line: &Line, by: u32) -> [u32; 4] {
    let word = u32::from_le_bytes;
    [word(line[0]) >> by, word(line[1]) >> by, word(line[2]) >> by, word(line[3]) >> by]
}

#[inline(always)]
fn shift_left(line: &Line, by: u32) -> [u32; 4] {
    let word = u32::from_le_bytes;
    [word(line[0]) << by, word(line[1]) << by, word(line[2]) << by, word(line[3]) << by]
}

#[inline(always)]
fn write_keys(keys: [u32; 4], kept: u32, base: u32, out: &mut [MaybeUninit<u32>; 4]) {
    out[0].write((keys[0] & kept).wrapping_add(base));
    out[1].write((keys[1] & kept).wrapping_add(base));
    out[2].write((keys[2] & kept).wrapping_add(base));
    out[3].write((keys[3] & kept).wrapping_add(base));
}

/// Lanes of a register of two lines.
const PAIR_LANES: usize = 8;

/// Unpacks with registers of two lines: one holds two positions, each moved to its place and
/// shifted by its own amount.
#[inline(always)]
fn unpack_pairs<S: Simd, const WIDTH: usize>(
    simd: S,
    bytes: &[u8],
    base: u32,
    out: &mut [MaybeUninit<u32>; Groups128::ROWS],
) {
    let bytes = &bytes[..WIDTH * Groups128::LINE_BYTES];
    let out = out.as_chunks_mut::<PAIR_LANES>().0;
    let base = simd.splat(base);
    let kept = simd.splat(mask(WIDTH) as u32);
    macro_rules! steps {
        ($($step:literal)*) => {$({
            let moves = const { &Moves::new(WIDTH, $step * 2) };
            let mut keys = moves.low.take(simd, bytes).shr_each(simd.load(&moves.low.shifts));
            if const { Moves::new(WIDTH, $step * 2).straddles } {
                let high = moves.high.take(simd, bytes);
                keys = keys | high.shl_each(simd.load(&moves.high.shifts));
            }
            ((keys & kept) + base).store_uninit(&mut out[$step]);
        })*};
    }
    steps!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
}

#[derive(Clone, Copy)]
struct Moves {
    /// Where the lowest bits of the keys come from.
    low: Half,
    /// Where the bits that lie in the next line come from.
    high: Half,
    /// Whether there are such bits.
    straddles: bool,
}

/// Words of neighbouring lines, each to be moved to the lane of its key and shifted there.
#[derive(Clone, Copy)]
struct Half {
    /// For each lane, the word counted from the first line read.
    words: [u32; PAIR_LANES],
    shifts: [u32; PAIR_LANES],
    /// Where the first line read begins.
    offset: usize,
}

impl Moves {
    /// Plans the positions from `position` on, as many as a register holds.
    const fn new(width: usize, position: usize) -> Self {
        let (mut low, mut high) = ([0; PAIR_LANES], [0; PAIR_LANES]);
        let (mut right, mut left) = ([0; PAIR_LANES], [0; PAIR_LANES]);
        // From the last lane on, so that one whose key does not straddle takes the line of the next
        // that does, or any.
        let mut next = 0;
        let mut straddles = false;
        let mut lane = PAIR_LANES;
        while lane > 0 {
            lane -= 1;
            let bit = (position + lane / 4) * width;
            low[lane] = bit / 32;
            right[lane] = bit as u32 % 32;
            // Where nothing straddles, the shift by 32 makes any word zero.
            left[lane] = 32;
            if bit % 32 + width > 32 {
                next = bit / 32 + 1;
                left[lane] = 32 - right[lane];
                straddles = true;
            }
            high[lane] = next;
        }
        let (low, high) = (Half::new(low, right, width), Half::new(high, left, width));
        Self { low, high, straddles }
    }
}

impl Half {
    /// Reads the words into the lanes of their keys.
    #[inline(always)]
    fn take<S: Simd>(&self, simd: S, bytes: &[u8]) -> Register<S, u32> {
        simd.load_front_le::<u32>(&bytes[self.offset..]).permute(simd.load(&self.words))
    }

    const fn new(lines: [usize; PAIR_LANES], shifts: [u32; PAIR_LANES], width: usize) -> Self {
        // The last lines are read by the register that ends with them.
        let last = width.saturating_sub(PAIR_LANES / 4);
        let line = if lines[0] < last { lines[0] } else { last };
        let mut words = [0; PAIR_LANES];
        let mut lane = 0;
        while lane < PAIR_LANES {
            words[lane] = (lines[lane].saturating_sub(line) * 4 + lane % 4) as u32;
            lane += 1;
        }
        Self { words, shifts, offset: line * Groups128::LINE_BYTES }
    }
}

/// Packs keys into groups, one after the other; the last is filled up with zeros. Of a key that is
/// wider than its group, the lowest bits are taken.
///
/// The output has exactly the bytes of all groups.
pub(crate) struct Pack<'a, const NARROW: usize, const WIDE: usize> {
    pub(crate) keys: &'a [u64],
    /// Gives each group its width.
    pub(crate) places: Places<'a>,
    pub(crate) references: References<'a>,
}

/// As [`Pack`], for groups of 128 rows.
pub(crate) type Pack128<'a> = Pack<'a, 4, 2>;

/// As [`Pack`], for groups of 512 rows.
pub(crate) type Pack512<'a> = Pack<'a, 16, 8>;

impl<const NARROW: usize, const WIDE: usize> Fill for Pack<'_, NARROW, WIDE> {
    type Out = [u8];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, mut packed: &mut [u8]) {
        let mut filled = [[0; NARROW]; 32];
        for (index, keys) in self.keys.chunks(Groups::<NARROW, WIDE>::ROWS).enumerate() {
            let width = self.places.group(index).1;
            let reference = self.references.of(index);
            let bytes = width * Groups::<NARROW, WIDE>::LINE_BYTES;
            let (now, later) = std::mem::take(&mut packed).split_at_mut(bytes);
            packed = later;
            match keys.as_chunks::<NARROW>().0.as_chunks::<32>().0 {
                [whole] if reference == 0 => pack_group::<NARROW, WIDE>(whole, width, now),
                _ => {
                    let (used, free) = filled.as_flattened_mut().split_at_mut(keys.len());
                    for (out, key) in used.iter_mut().zip(keys) {
                        *out = key.wrapping_sub(reference);
                    }
                    free.fill(0);
                    pack_group::<NARROW, WIDE>(&filled, width, now);
                }
            }
        }
    }
}

#[inline(always)]
fn pack_group<const NARROW: usize, const WIDE: usize>(
    keys: &[[u64; NARROW]; 32],
    width: usize,
    out: &mut [u8],
) {
    match width {
        0 => {}
        1..=NARROW_WIDTH_MAX => pack_narrow::<NARROW>(keys, width, out),
        _ => pack_wide::<WIDE>(keys.as_flattened(), width, out),
    }
}

#[inline(always)]
fn pack_narrow<const LANES: usize>(keys: &[[u64; LANES]; 32], width: usize, out: &mut [u8]) {
    let mut lines = out.as_chunks_mut::<4>().0.as_chunks_mut::<LANES>().0.iter_mut();
    let mut words = [0_u32; LANES];
    let mut filled = 0;
    let mask = mask(width) as u32;
    for keys in keys {
        let keys = keys.map(|key| key as u32 & mask);
        for lane in 0..LANES {
            words[lane] |= keys[lane] << filled;
        }
        filled += width;
        if filled >= 32 {
            filled -= 32;
            if let Some(line) = lines.next() {
                *line = words.map(u32::to_le_bytes);
            }
            for lane in 0..LANES {
                words[lane] = keys[lane].unbounded_shr((width - filled) as u32);
            }
        }
    }
}

#[inline(always)]
fn pack_wide<const LANES: usize>(keys: &[u64], width: usize, out: &mut [u8]) {
    let mut lines = out.as_chunks_mut::<8>().0.as_chunks_mut::<LANES>().0.iter_mut();
    let mut words = [0_u64; LANES];
    let mut filled = 0;
    let mask = mask(width);
    for keys in keys.as_chunks::<LANES>().0 {
        let keys = keys.map(|key| key & mask);
        for lane in 0..LANES {
            words[lane] |= keys[lane] << filled;
        }
        filled += width;
        if filled >= 64 {
            filled -= 64;
            if let Some(line) = lines.next() {
                *line = words.map(u64::to_le_bytes);
            }
            for lane in 0..LANES {
                words[lane] = keys[lane].unbounded_shr((width - filled) as u32);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random and repeat from run to run.
    fn keys(width: usize, rows: usize) -> Vec<u64> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ width as u64;
        let mut next = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            state.rotate_left(32) & mask(width)
        };
        (0..rows).map(|_| next()).collect()
    }

    fn pack<const N: usize, const W: usize>(
        flavour: Flavour,
        width: usize,
        keys: &[u64],
    ) -> Vec<u8> {
        let mut packed = vec![0xaa; Groups::<N, W>::bytes(keys.len(), width)];
        let (places, references) = (Places::Equal(width), References::None);
        flavour.fill(Pack::<N, W> { keys, places, references }, &mut packed);
        packed
    }

    /// Unpacks `rows` rows in each way that there is; all must give the same.
    fn unpack<K: Key + std::fmt::Debug, const N: usize, const W: usize>(
        flavour: Flavour,
        groups: &Groups<'_, N, W>,
        base: K,
        rows: usize,
    ) -> Vec<K> {
        let rows_unpacked = rows.next_multiple_of(Groups::<N, W>::ROWS);
        let mut out = vec![MaybeUninit::new(K::from_u64(0x5555)); rows_unpacked];
        groups.unpack_shifting(flavour, base, 0, &mut out);
        let shifted = initialized(&out)[..rows].to_vec();
        if N != 4 {
            return shifted;
        }
        let Groups { packed, places, references } = *groups;
        let groups = Groups128 { packed, places, references };
        let width_max = (0..rows.div_ceil(128)).map(|group| groups.group(group).1).max();
        out.fill(MaybeUninit::new(K::from_u64(0x5555)));
        groups.unpack(flavour, width_max.unwrap_or(0), base, 0, &mut out);
        let is_truncated = K::IS_NARROW && width_max > Some(NARROW_WIDTH_MAX);
        assert!(is_truncated || initialized(&out)[..rows] == shifted);
        shifted
    }

    fn every_width<const N: usize, const W: usize>() {
        let rows = 2 * Groups::<N, W>::ROWS + 3;
        for width in 0..=WIDTH_MAX {
            let keys = keys(width, rows);
            let packed = pack::<N, W>(Flavour::Scalar, width, &keys);
            let groups = Groups::<N, W> {
                packed: &packed,
                places: Places::Equal(width),
                references: References::None,
            };
            for flavour in Flavour::available() {
                assert_eq!(pack::<N, W>(flavour, width, &keys), packed, "width {width} {flavour}");
                let wide: Vec<u64> = unpack(flavour, &groups, 5, rows);
                let expected = keys.iter().map(|key| key.wrapping_add(5));
                assert!(wide.into_iter().eq(expected), "width {width} {flavour}");
                if width <= NARROW_WIDTH_MAX {
                    let narrow: Vec<u32> = unpack(flavour, &groups, 7, rows);
                    let expected = keys.iter().map(|key| (*key as u32).wrapping_add(7));
                    assert!(narrow.into_iter().eq(expected), "width {width} {flavour}");
                }
            }
            for (row, key) in keys.iter().enumerate() {
                assert_eq!(groups.get(row), *key, "width {width} row {row}");
            }
        }
    }

    #[test]
    fn every_width_unpacks_alike_in_every_flavour_and_by_row() {
        every_width::<4, 2>();
        every_width::<16, 8>();
    }

    #[test]
    fn groups_of_own_width_and_reference_unpack_alike() {
        let widths = [3_u16, 0, 40, 64, 32, 1];
        let references = [7_u64, 9, 1 << 50, 0, 5, u64::MAX - 1];
        let mut starts = vec![0_u16.to_le_bytes()];
        let mut rows: Vec<u64> = Vec::new();
        let mut line = 0;
        for (width, reference) in widths.into_iter().zip(references) {
            line += width;
            starts.push(line.to_le_bytes());
            let keys = keys(width.into(), 128);
            rows.extend(keys.iter().map(|key| key.wrapping_add(reference)));
        }
        let places = Places::Listed(&starts);
        let references = references.map(u64::to_le_bytes);
        let references = References::Wide(&references);
        let mut packed = vec![0; usize::from(line) * 16];
        for flavour in Flavour::available() {
            flavour.fill(Pack128 { keys: &rows, places, references }, &mut packed);
            let groups = Groups128 { packed: &packed, places, references };
            assert_eq!(unpack::<u64, 4, 2>(flavour, &groups, 0, rows.len()), rows);
            assert!((0..rows.len()).all(|row| groups.get(row) == rows[row]));
        }
    }

    #[test]
    fn damaged_places_lead_nowhere() {
        let packed = [0xff; 160];
        let starts = [[0, 0], [0xff, 0xff], [3, 0], [70, 0], [9, 0]];
        let groups = Groups128 {
            packed: &packed,
            places: Places::Listed(&starts),
            references: References::Narrow(&[[1, 0, 0, 0]]),
        };
        for flavour in Flavour::available() {
            assert_eq!(unpack::<u32, 4, 2>(flavour, &groups, 4, 1)[0], 5);
            assert_eq!(unpack::<u64, 4, 2>(flavour, &groups, 4, 1_024).len(), 1_024);
        }
        assert!((0..1_024).all(|row| groups.get(row) <= 1 << 32));
    }

    #[test]
    fn layout_is_the_one_drawn() {
        // 128 rows, width 5: row 27 is lane 3, position 6, so bits 30..35: lines 0 and 1.
        let mut keys = vec![0; 128];
        keys[27] = 0b10110;
        let mut expected = vec![0; 5 * 16];
        expected[3 * 4 + 3] = 0b10 << 6;
        expected[16 + 3 * 4] = 0b101;
        assert_eq!(pack::<4, 2>(Flavour::active(), 5, &keys), expected);
        // 512 rows, width 33: row 9 is lane 1, position 1, so bits 33..66: lines 0 and 1.
        let mut keys = vec![0; 512];
        keys[9] = 1 << 32 | 1;
        let mut expected = vec![0; 33 * 64];
        expected[8 + 4] = 2;
        expected[64 + 8] = 2;
        assert_eq!(pack::<16, 8>(Flavour::active(), 33, &keys), expected);
    }
}
