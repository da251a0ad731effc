//! Keys: what the integer formats store, and what each of them implements.
//!
//! A column of whole numbers is a base and a sequence of unsigned 64-bit *keys*: key = value -
//! base. A null row has the key of the row before it that is not null, or 0 at the start. The keys
//! of floats are their IEEE 754 bits, with base 0. Codes of a dictionary of strings are keys too.
//!
//! # How to add a format
//! 1. One file that draws the layout and implements [`KeyFormat`] and [`KeyReader`].
//! 2. One arm in [`Keys`] and [`with_reader`], one in [`Keys::open`], one in [`encode`], and one in
//!    [`get`] if it has access to single rows.
//!
//! # Invariants
//! 1. Opening costs constant time and checks sizes only; [`KeyReader::check`] looks inside.
//! 2. Whatever the bytes are, a reader stays in bounds, does not panic, and writes every element
//!    that it is given: wrong bytes give wrong keys.

use std::mem::MaybeUninit;
use std::ops::Range;

use nacre_simd::{Fill, Flavour, Simd};

use super::integer::{Integer, Key, KeySlots, initialized};
use super::lanes::{Groups128, Groups512};
use super::{
    delta_bp, dictionary, dynamic_bp, for_bp, frames, groups, rle, simd_bp128, simd_fastpfor,
    static_bp,
};
use crate::kernel::in_range::{KeyRange, keys_in_range};
use crate::kernel::project::{GatherListed, gather_narrow};
use crate::kernel::totals::{Totals, Wanted, totals_of_keys};
use crate::{BlockError, Format};

/// Rows that are decoded at a time where they are not decoded into their place: they stay in the
/// L1 cache.
const RUN_ROWS: usize = 1_024;

/// Rows gathered at a time: as many words as are on their way to the L1 cache before they are read.
const GATHER_ROWS: usize = 128;

/// Greatest [`KeyReader::STEP`].
pub(crate) const STEP_MAX: usize = 8_192;

/// The sections of a block but its null bits, ready to be written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sections {
    pub(crate) values: Vec<u8>,
    pub(crate) offsets: Vec<u8>,
    pub(crate) heap: Vec<u8>,
    /// Goes into the header's field `entries`.
    pub(crate) entries: u32,
}

/// The sections of a block but its null bits, where they lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SectionBytes<'a> {
    pub(crate) values: &'a [u8],
    pub(crate) offsets: &'a [u8],
    pub(crate) heap: &'a [u8],
}

/// What the header of a block says that leads its reader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) version: u16,
    pub(crate) rows: usize,
    /// Bits of the greatest key, at most 64.
    pub(crate) width: usize,
    pub(crate) entries: usize,
}

/// A way to store keys.
pub(crate) trait KeyFormat {
    /// Reads keys where they lie.
    type Reader<'a>: KeyReader;

    /// Encodes keys of at most `width` bits.
    fn encode(flavour: Flavour, keys: &[u64], width: usize) -> Sections;

    /// Opens the sections of a block of this shape, in constant time.
    ///
    /// # Errors
    /// [`BlockError::Field`] if a section has another size than a block of this shape can have.
    fn open(shape: Shape, sections: SectionBytes<'_>) -> Result<Self::Reader<'_>, BlockError>;
}

/// Reads the keys of a block.
pub(crate) trait KeyReader {
    /// Rows that are decoded together: a power of two from 128 to [`STEP_MAX`].
    const STEP: usize;

    /// Rows that are decoded in about the time of one [`KeyReader::get`].
    const ROWS_PER_GET: usize = 16;

    /// Writes the keys of the rows from `first` on, each added to `base`, over all of `out`.
    ///
    /// `first` and the length of `out` are multiples of [`KeyReader::STEP`]. Every element is
    /// written, whatever the bytes are; those past the last row get any number. `K` of 32 bits is
    /// asked for if keys have no more, or if more do not matter.
    fn unpack<K: Key>(&self, flavour: Flavour, base: K, first: usize, out: &mut [MaybeUninit<K>]);

    /// Returns the key of `row`, which the block has; `None` if the format is sequential only.
    fn get(&self, row: usize) -> Option<u64>;

    /// Checks everything inside of the sections that readers follow.
    ///
    /// # Errors
    /// [`BlockError::Contents`] or [`BlockError::Field`] with what is wrong.
    fn check(&self, flavour: Flavour) -> Result<(), BlockError>;

    /// Returns the packed groups, if the keys lie in some of 512 rows and without references:
    /// kernels then unpack in registers.
    fn groups(&self) -> Option<&Groups512<'_>> {
        None
    }

    /// Returns the packed groups, if the keys have at most 32 bits and lie in some of 128 rows.
    fn narrow_groups(&self) -> Option<&Groups128<'_>> {
        None
    }

    /// Returns the totals of the keys of the rows `rows` if they follow from less than all keys.
    fn totals(&self, _: Flavour, _: Wanted, _: Range<usize>) -> Option<Totals> {
        None
    }

    /// Gives `each` the keys of the rows `rows`, in order, in runs that stay in the cache. Every
    /// run but the first starts at a multiple of [`KeyReader::STEP`].
    fn for_each_run<K: Key>(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        mut each: impl FnMut(&[K]),
    ) {
        let mut buffer = [MaybeUninit::uninit(); STEP_MAX];
        let mut row = rows.start;
        while row < rows.end {
            let first = row - row % Self::STEP;
            let last =
                (first + Self::STEP.max(RUN_ROWS)).min(rows.end.next_multiple_of(Self::STEP));
            let run = &mut buffer[..last - first];
            self.unpack(flavour, K::default(), first, run);
            let end = last.min(rows.end);
            each(&initialized(run)[row - first..end - first]);
            row = end;
        }
    }

    /// Writes the keys of the rows `rows`, each added to `base`, over all of `out`, which has as
    /// many elements.
    fn unpack_rows<K: Key>(
        &self,
        flavour: Flavour,
        base: K,
        rows: Range<usize>,
        out: &mut [MaybeUninit<K>],
    ) {
        assert_eq!(rows.len(), out.len());
        let whole = rows.start.next_multiple_of(Self::STEP)..rows.end - rows.end % Self::STEP;
        if whole.start >= whole.end {
            return self.unpack_part(flavour, base, rows, out);
        }
        let (head, rest) = out.split_at_mut(whole.start - rows.start);
        let (body, tail) = rest.split_at_mut(whole.len());
        self.unpack_part(flavour, base, rows.start..whole.start, head);
        self.unpack(flavour, base, whole.start, body);
        self.unpack_part(flavour, base, whole.end..rows.end, tail);
    }

    /// As [`KeyReader::unpack_rows`], by way of a buffer.
    fn unpack_part<K: Key>(
        &self,
        flavour: Flavour,
        base: K,
        rows: Range<usize>,
        mut out: &mut [MaybeUninit<K>],
    ) {
        self.for_each_run::<K>(flavour, rows, |keys| {
            let (now, later) = std::mem::take(&mut out).split_at_mut(keys.len());
            for (out, key) in now.iter_mut().zip(keys) {
                out.write(key.plus(base));
            }
            out = later;
        });
    }
}

/// The keys of a block, in whatever format they are.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::enum_variant_names, reason = "named as the formats are")]
pub(crate) enum Keys<'a> {
    StaticBp(static_bp::Reader<'a>),
    DynamicBp(groups::Reader<'a>),
    SimdBp128(simd_bp128::Reader<'a>),
    SimdFastPfor(simd_fastpfor::Reader<'a>),
    DeltaBp(delta_bp::Reader<'a>),
    ForBp(groups::Reader<'a>),
    Dictionary(dictionary::keys::Reader<'a>),
    Rle(rle::Reader<'a>),
    Frames(frames::keys::Reader<'a>),
}

/// Evaluates an expression with the reader that a [`Keys`] holds.
macro_rules! with_reader {
    ($keys:expr, $reader:ident => $work:expr) => {
        match $keys {
            Keys::StaticBp($reader) => $work,
            Keys::DynamicBp($reader) => $work,
            Keys::SimdBp128($reader) => $work,
            Keys::SimdFastPfor($reader) => $work,
            Keys::DeltaBp($reader) => $work,
            Keys::ForBp($reader) => $work,
            Keys::Dictionary($reader) => $work,
            Keys::Rle($reader) => $work,
            Keys::Frames($reader) => $work,
        }
    };
}

/// Encodes keys of at most `width` bits; `None` if `format` does not store keys.
pub(crate) fn encode(
    format: Format,
    flavour: Flavour,
    keys: &[u64],
    width: usize,
) -> Option<Sections> {
    Some(match format {
        Format::StaticBp => static_bp::StaticBp::encode(flavour, keys, width),
        Format::DynamicBp => dynamic_bp::DynamicBp::encode(flavour, keys, width),
        Format::SimdBp128 => simd_bp128::SimdBp128::encode(flavour, keys, width),
        Format::SimdFastPfor => simd_fastpfor::SimdFastPfor::encode(flavour, keys, width),
        Format::DeltaBp => delta_bp::DeltaBp::encode(flavour, keys, width),
        Format::ForBp => for_bp::ForBp::encode(flavour, keys, width),
        Format::Dictionary => dictionary::keys::KeyDictionary::encode(flavour, keys, width),
        Format::Rle => rle::Rle::encode(flavour, keys, width),
        Format::Lz4Fast => frames::keys::Lz4Fast::encode(flavour, keys, width),
        Format::Lz4 => frames::keys::Lz4::encode(flavour, keys, width),
        Format::Lz4High => frames::keys::Lz4High::encode(flavour, keys, width),
        Format::Snappy => frames::keys::Snappy::encode(flavour, keys, width),
        _ => return None,
    })
}

/// Returns the key of `row`, which the block has; `None` if `format` does not store keys or is
/// sequential only. As [`Keys::open`] and [`Keys::get`], but the compiler sees both at once: what
/// one row does not need is not looked at.
///
/// # Errors
/// As [`KeyFormat::open`].
#[inline]
pub(crate) fn get(
    format: Format,
    shape: Shape,
    sections: SectionBytes<'_>,
    row: usize,
) -> Result<Option<u64>, BlockError> {
    Ok(match format {
        Format::StaticBp => static_bp::StaticBp::open(shape, sections)?.get(row),
        Format::DynamicBp => dynamic_bp::DynamicBp::open(shape, sections)?.get(row),
        Format::SimdBp128 => simd_bp128::SimdBp128::open(shape, sections)?.get(row),
        Format::ForBp => for_bp::ForBp::open(shape, sections)?.get(row),
        Format::Dictionary => dictionary::keys::KeyDictionary::open(shape, sections)?.get(row),
        Format::Rle => rle::Rle::open(shape, sections)?.get(row),
        _ => None,
    })
}

impl<'a> Keys<'a> {
    /// Opens the keys of a block; `None` if `format` does not store keys.
    ///
    /// # Errors
    /// As [`KeyFormat::open`].
    pub(crate) fn open(
        format: Format,
        shape: Shape,
        sections: SectionBytes<'a>,
    ) -> Result<Option<Self>, BlockError> {
        Ok(Some(match format {
            Format::StaticBp => Self::StaticBp(static_bp::StaticBp::open(shape, sections)?),
            Format::DynamicBp => Self::DynamicBp(dynamic_bp::DynamicBp::open(shape, sections)?),
            Format::SimdBp128 => Self::SimdBp128(simd_bp128::SimdBp128::open(shape, sections)?),
            Format::SimdFastPfor => {
                Self::SimdFastPfor(simd_fastpfor::SimdFastPfor::open(shape, sections)?)
            }
            Format::DeltaBp => Self::DeltaBp(delta_bp::DeltaBp::open(shape, sections)?),
            Format::ForBp => Self::ForBp(for_bp::ForBp::open(shape, sections)?),
            Format::Dictionary => {
                Self::Dictionary(dictionary::keys::KeyDictionary::open(shape, sections)?)
            }
            Format::Rle => Self::Rle(rle::Rle::open(shape, sections)?),
            Format::Lz4Fast => Self::Frames(frames::keys::Lz4Fast::open(shape, sections)?),
            Format::Lz4 => Self::Frames(frames::keys::Lz4::open(shape, sections)?),
            Format::Lz4High => Self::Frames(frames::keys::Lz4High::open(shape, sections)?),
            Format::Snappy => Self::Frames(frames::keys::Snappy::open(shape, sections)?),
            _ => return Ok(None),
        }))
    }

    /// Returns the key of `row`, which the block has; `None` if the format is sequential only.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<u64> {
        with_reader!(self, reader => reader.get(row))
    }

    /// Checks what lies inside of the sections.
    ///
    /// # Errors
    /// As [`KeyReader::check`].
    pub(crate) fn check(&self, flavour: Flavour) -> Result<(), BlockError> {
        with_reader!(self, reader => reader.check(flavour))
    }

    /// Gives `each` the keys of the rows `rows`: see [`KeyReader::for_each_run`].
    #[inline]
    pub(crate) fn for_each_run<K: Key>(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        each: impl FnMut(&[K]),
    ) {
        with_reader!(self, reader => reader.for_each_run(flavour, rows, each));
    }

    /// Returns the totals of the keys of the rows `rows`: see [`totals_of_keys`].
    pub(crate) fn totals(
        &self,
        flavour: Flavour,
        wanted: Wanted,
        width: usize,
        rows: Range<usize>,
    ) -> Totals {
        with_reader!(self, reader => totals_of_keys(reader, flavour, wanted, width, rows))
    }

    /// Tells which keys of the rows `rows` are in a range: see [`keys_in_range`].
    pub(crate) fn in_range(
        &self,
        flavour: Flavour,
        range: KeyRange,
        width: usize,
        rows: Range<usize>,
        words: &mut [u64],
    ) {
        if let Self::Rle(reader) = self {
            return reader.in_range(flavour, range, width, rows, words);
        }
        with_reader!(self, reader => keys_in_range(reader, flavour, range, width, rows, words));
    }

    /// Appends the values of the rows of `rows` at these positions, counted from its start, to
    /// `out`: keys added to `base`. Returns false, with `out` as it was, if decoding all of `rows`
    /// is faster or the format is sequential only.
    pub(crate) fn gather<T: Integer>(
        &self,
        flavour: Flavour,
        base: i128,
        rows: Range<usize>,
        positions: &[u16],
        out: &mut Vec<T>,
    ) -> bool {
        with_reader!(self, reader => gather(reader, flavour, base, rows, positions, out))
    }

    /// Appends the values of the rows `rows` to `out`: keys added to `base`.
    #[allow(unsafe_code, reason = "zeroing the vector first would write every value twice")]
    pub(crate) fn decode<T: Integer>(
        &self,
        flavour: Flavour,
        base: i128,
        rows: Range<usize>,
        out: &mut Vec<T>,
    ) {
        let count = rows.len();
        out.reserve(count);
        let free = &mut out.spare_capacity_mut()[..count];
        match T::as_keys(free) {
            KeySlots::Narrow(free) => {
                with_reader!(self, reader => reader.unpack_rows(flavour, base as u32, rows, free));
            }
            KeySlots::Wide(free) => {
                with_reader!(self, reader => reader.unpack_rows(flavour, base as u64, rows, free));
            }
            KeySlots::Other(free) if T::IS_NARROW => {
                self.convert::<u32, T>(flavour, base, rows, free);
            }
            KeySlots::Other(free) => self.convert::<u64, T>(flavour, base, rows, free),
        }
        // SAFETY: `reserve` made room for `count` more, and each of the arms has written all
        // `count` elements of `free`: `unpack_rows` and `convert` do, whatever the bytes are.
        unsafe { out.set_len(out.len() + count) };
    }

    /// Writes the values of the rows `rows` over all of `out`.
    fn convert<K: Key, T: Integer>(
        &self,
        flavour: Flavour,
        base: i128,
        rows: Range<usize>,
        mut out: &mut [MaybeUninit<T>],
    ) {
        let base = T::from_i128(base);
        self.for_each_run::<K>(flavour, rows, |keys| {
            let (now, later) = std::mem::take(&mut out).split_at_mut(keys.len());
            flavour.fill(AddBase { base, keys }, now);
            out = later;
        });
        assert!(out.is_empty(), "{} rows not decoded", out.len());
    }
}

fn gather<R: KeyReader, T: Integer>(
    reader: &R,
    flavour: Flavour,
    base: i128,
    rows: Range<usize>,
    positions: &[u16],
    out: &mut Vec<T>,
) -> bool {
    let first = rows.start;
    if positions
        .first()
        .is_some_and(|position| reader.get(first + usize::from(*position)).is_none())
    {
        return false;
    }
    let base = T::from_i128(base);
    out.reserve(positions.len());
    let greatest = positions.iter().fold(0, |greatest, position| *position.max(&greatest));
    let listed = reader.narrow_groups().and_then(|groups| {
        let rows = first..first + usize::from(greatest) + 1;
        GatherListed::new(groups, rows, positions.len())
    });
    let is_direct = listed.is_some() || reader.groups().is_some();
    if !is_direct && positions.len() * R::ROWS_PER_GET > rows.len() {
        return false;
    }
    let (mut rows, mut keys) = ([0; GATHER_ROWS], [0; GATHER_ROWS]);
    for positions in positions.chunks(GATHER_ROWS) {
        let (rows, keys) = (&mut rows[..positions.len()], &mut keys[..positions.len()]);
        for (row, position) in rows.iter_mut().zip(positions) {
            *row = first as u32 + u32::from(*position);
        }
        let is_gathered = match (reader.groups(), &listed) {
            (Some(groups), _) => gather_narrow(flavour, groups, rows, keys),
            (_, Some(listed)) => {
                listed.gather(flavour, rows, keys);
                true
            }
            _ => false,
        };
        if is_gathered {
            out.extend(keys.iter().map(|key| T::add(base, u64::from(*key))));
        } else {
            let key = |row: &u32| reader.get(*row as usize).unwrap_or(0);
            out.extend(rows.iter().map(|row| T::add(base, key(row))));
        }
    }
    true
}

struct AddBase<'a, K, T> {
    base: T,
    keys: &'a [K],
}

impl<K: Key, T: Integer> Fill for AddBase<'_, K, T> {
    type Out = [MaybeUninit<T>];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, out: &mut [MaybeUninit<T>]) {
        assert_eq!(self.keys.len(), out.len());
        for (out, key) in out.iter_mut().zip(self.keys) {
            out.write(T::add(self.base, key.to_u64()));
        }
    }
}

/// Checks that a block of this shape has entries, at most one for each row.
pub(crate) fn check_entries(shape: Shape) -> Result<(), BlockError> {
    let expected = shape.rows.min(1)..=shape.rows;
    if expected.contains(&shape.entries) {
        return Ok(());
    }
    Err(BlockError::Field {
        field: "entries",
        found: shape.entries as i128,
        expected: format!("{} to {}", expected.start(), expected.end()),
    })
}

/// Says that a section has the wrong size.
pub(crate) fn wrong_size(section: &'static str, found: usize, expected: usize) -> BlockError {
    BlockError::Field { field: section, found: found as i128, expected: expected.to_string() }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Keys encoded in some format, for the tests of the formats.
    #[derive(Clone)]
    pub(crate) struct Encoded {
        pub(crate) shape: Shape,
        pub(crate) sections: Sections,
    }

    impl Encoded {
        pub(crate) fn new<F: KeyFormat>(keys: &[u64]) -> Self {
            let width = super::super::lanes::width_of(keys.iter().copied().max().unwrap_or(0));
            let sections = F::encode(Flavour::active(), keys, width);
            let entries = sections.entries as usize;
            let version = crate::block::BLOCK_VERSION;
            Self { shape: Shape { version, rows: keys.len(), width, entries }, sections }
        }

        pub(crate) fn open<F: KeyFormat>(&self) -> F::Reader<'_> {
            let Sections { values, offsets, heap, .. } = &self.sections;
            F::open(self.shape, SectionBytes { values, offsets, heap }).unwrap()
        }
    }

    /// Asserts that `keys` come back from format `F` in ranges, one by one, and in every flavour.
    pub(crate) fn assert_reads_back<F: KeyFormat>(keys: &[u64]) {
        let encoded = Encoded::new::<F>(keys);
        let reader = encoded.open::<F>();
        let rows = keys.len();
        for flavour in Flavour::available() {
            assert_eq!(F::encode(flavour, keys, encoded.shape.width), encoded.sections);
            assert_eq!(reader.check(flavour), Ok(()));
            for range in [0..rows, rows / 3..rows, rows / 2..rows / 2, rows / 7..rows / 2 + 1] {
                let range = range.start..range.end.min(rows);
                let mut found: Vec<u64> = Vec::new();
                reader.for_each_run::<u64>(flavour, range.clone(), |keys| found.extend(keys));
                assert!(found == keys[range.clone()], "{range:?} {flavour}");
                let mut found: Vec<u32> = Vec::new();
                reader.for_each_run::<u32>(flavour, range.clone(), |keys| found.extend(keys));
                assert!(found.iter().zip(&keys[range]).all(|(f, key)| *f == *key as u32));
            }
        }
        for row in (0..rows).step_by(1 + rows / 500) {
            assert!(reader.get(row).is_none_or(|key| key == keys[row]), "row {row}");
        }
    }
}
