//! Encodes columns of numbers: plain, or as keys in one of the key formats.

use std::cell::OnceCell;
use std::mem::MaybeUninit;

use nacre_simd::{Fill, Flavour, Kernel, Simd};

use super::choose;
use super::encode::{EncodedBlock, Source};
use super::read::Block;
use crate::buffer::Bitmap;
use crate::format::integer::Key;
use crate::format::keys::Keys;
use crate::format::{keys, lanes, plain};
use crate::kernel::aggregate::{self, IntAggregates};
use crate::{BlockError, Bound, Format, Sma, Values};

/// Rows compared at a time when a plain block is verified: the decoded values stay in the L1
/// cache.
const VERIFY_ROWS: usize = 2_048;

/// A column of numbers with its aggregates, ready to be encoded.
pub(super) struct Numbers<'s, 'a> {
    source: &'s Source<'a>,
    values: &'s Values,
    sma: Sma,
    /// What keys are differences to.
    base: i128,
    /// Bits of the greatest key; `None` if it has more than 64.
    width: Option<usize>,
    /// Made when a format first needs them.
    keys: OnceCell<Vec<u64>>,
}

impl<'s, 'a> Numbers<'s, 'a> {
    /// Aggregates the values.
    ///
    /// # Errors
    /// [`BlockError::OutOfRange`] if one is outside of its type's range.
    pub(super) fn new(source: &'s Source<'a>, values: &'s Values) -> Result<Self, BlockError> {
        let validity = source.validity;
        let (sma, base, width) = match values {
            Values::Int64(values) => {
                int_sma(source, aggregate::ints(source.flavour, values, validity))?
            }
            Values::Int128(values) => int_sma(source, aggregate::wide_ints(values, validity))?,
            Values::Float32(values) => {
                let values = values.iter().map(|value| f64::from(*value));
                (float_sma(source, values), 0, Some(32))
            }
            Values::Float64(values) => (float_sma(source, values.iter().copied()), 0, Some(64)),
            // Not reached: strings are encoded by `Texts`.
            Values::Bytes(_) => (source.sma(), 0, None),
        };
        Ok(Self { source, values, sma, base, width, keys: OnceCell::new() })
    }

    fn keys(&self) -> &[u64] {
        self.keys.get_or_init(|| {
            let base = self.base;
            let mut keys: Vec<u64> = match self.values {
                Values::Int64(values) => subtract(self.source.flavour, values, base as i64),
                Values::Int128(values) => {
                    values.iter().map(|value| value.wrapping_sub(base) as u64).collect()
                }
                Values::Float32(values) => {
                    values.iter().map(|value| u64::from(value.to_bits())).collect()
                }
                Values::Float64(values) => values.iter().map(|value| value.to_bits()).collect(),
                Values::Bytes(_) => Vec::new(),
            };
            if let Some(bits) = self.source.validity {
                fill_nulls(&mut keys, bits);
            }
            keys
        })
    }

    /// Returns the formats for these values, best first; at least one.
    pub(super) fn ranking(&self) -> Vec<Format> {
        let column_type = self.source.column_type;
        let Some(width) = self.width else { return vec![Format::Plain] };
        let ranking = choose::rank_keys(self.source.flavour, column_type, self.keys(), width);
        if column_type.int_range().is_some() {
            return ranking;
        }
        // Floats are handed on where they lie, and few formats do more for them than that.
        let others = ranking.into_iter().filter(|format| *format != Format::Plain);
        std::iter::once(Format::Plain).chain(others).collect()
    }

    /// Encodes the values in `format`, or plain if their keys do not fit 64 bits.
    pub(super) fn encode(&self, format: Format) -> Result<EncodedBlock, BlockError> {
        if let Some(width) = self.width
            && format != Format::Plain
        {
            let sections = keys::encode(format, self.source.flavour, self.keys(), width);
            let Some(sections) = sections else {
                let column_type = self.source.column_type;
                return Err(BlockError::WrongFormat { column_type, format });
            };
            let mut header = self.source.header(format, self.sma);
            header.base = self.base;
            header.width = width as u8;
            header.entries = sections.entries;
            return self.source.seal(header, &sections);
        }
        let bytes_each = self.source.column_type.plain_bytes();
        let header = self.source.header(Format::Plain, self.sma);
        self.source.build(header, [self.source.rows * bytes_each, 0, 0], |_, out| {
            match self.values {
                Values::Int64(values) => plain::encode_ints(values, bytes_each, out),
                Values::Int128(values) => plain::put(values, out, i128::to_le_bytes),
                Values::Float32(values) => plain::put(values, out, f32::to_le_bytes),
                Values::Float64(values) => plain::put(values, out, f64::to_le_bytes),
                Values::Bytes(_) => {}
            }
        })
    }

    /// Decodes `block` and compares it with what it was made of.
    pub(super) fn verify(&self, block: &EncodedBlock) -> Result<(), BlockError> {
        let opened = self.source.open(block)?;
        match self.first_difference(&opened)? {
            None => Ok(()),
            Some(row) => Err(self.source.wrong_row(block, row)),
        }
    }

    /// Returns the first row that is not null and decodes to another value.
    fn first_difference(&self, block: &Block<'_>) -> Result<Option<usize>, BlockError> {
        let flavour = self.source.flavour;
        if let Some(keys) = block.keys() {
            if block.header().base != self.base {
                return Ok(Some(0));
            }
            // Null rows have keys too: they are the same in every format.
            let is_narrow = self.width.is_some_and(|width| width <= lanes::NARROW_WIDTH_MAX);
            return Ok(match is_narrow {
                true => first_wrong_key::<u32>(keys, flavour, self.keys()),
                false => first_wrong_key::<u64>(keys, flavour, self.keys()),
            });
        }
        let is_null = |row: usize| self.source.validity.is_some_and(|bits| !bits.get(row));
        match self.values {
            Values::Int64(values) => {
                first_difference(values, is_null, |rows, out| block.decode_i64(flavour, rows, out))
            }
            Values::Int128(values) => {
                first_difference(values, is_null, |rows, out| block.decode_i128(flavour, rows, out))
            }
            Values::Float32(values) => {
                let bits: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
                first_difference(&bits, is_null, |rows, out| {
                    block.decode_f32_with(flavour, rows, out, f32::to_bits)
                })
            }
            Values::Float64(values) => {
                let bits: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
                first_difference(&bits, is_null, |rows, out| {
                    block.decode_f64_with(flavour, rows, out, f64::to_bits)
                })
            }
            Values::Bytes(_) => Ok(None),
        }
    }
}

/// Checks the aggregates against the type's range; makes an [`Sma`], the base and the width.
fn int_sma(
    source: &Source<'_>,
    found: IntAggregates,
) -> Result<(Sma, i128, Option<usize>), BlockError> {
    let column_type = source.column_type;
    if let (Some((least, greatest)), Some((min, max))) = (found.range, column_type.int_range()) {
        let outside = [least, greatest].into_iter().find(|value| !(min..=max).contains(value));
        if let Some(value) = outside {
            return Err(BlockError::OutOfRange { column_type, value, min, max });
        }
    }
    let bound = |value| Some(Bound::Int(value));
    let (min, max) = found.range.map_or((None, None), |(min, max)| (bound(min), bound(max)));
    let sma = Sma { min, max, sum: found.sum, ..source.sma() };
    // The difference as bits, so of any size.
    let spread = found.range.map_or(0, |(min, max)| max.wrapping_sub(min) as u128);
    let width = u64::try_from(spread).ok().map(lanes::width_of);
    Ok((sma, found.range.map_or(0, |(min, _)| min), width))
}

fn float_sma(source: &Source<'_>, values: impl Iterator<Item = f64>) -> Sma {
    let (range, has_nan) = aggregate::floats(values, source.validity);
    let bound = |value| Some(Bound::Float(value));
    let (min, max) = range.map_or((None, None), |(min, max)| (bound(min), bound(max)));
    Sma { min, max, has_nan, ..source.sma() }
}

/// Returns the keys of `values`.
#[allow(unsafe_code, reason = "zeroing the vector first would write every key twice")]
fn subtract(flavour: Flavour, values: &[i64], base: i64) -> Vec<u64> {
    let mut keys = Vec::with_capacity(values.len());
    flavour.fill(Subtract { values, base }, &mut keys.spare_capacity_mut()[..values.len()]);
    // SAFETY: there is room for one key for each value, and `Subtract` wrote them.
    unsafe { keys.set_len(values.len()) };
    keys
}

struct Subtract<'a> {
    values: &'a [i64],
    base: i64,
}

impl Fill for Subtract<'_> {
    type Out = [MaybeUninit<u64>];

    #[inline(always)]
    fn fill<S: Simd>(self, _: S, out: &mut [MaybeUninit<u64>]) {
        assert_eq!(self.values.len(), out.len());
        for (out, value) in out.iter_mut().zip(self.values) {
            out.write(value.wrapping_sub(self.base) as u64);
        }
    }
}

/// Returns the first row whose key is not the one expected.
fn first_wrong_key<K: Key>(keys: &Keys<'_>, flavour: Flavour, expected: &[u64]) -> Option<usize> {
    let mut rest = expected;
    let mut wrong = None;
    keys.for_each_run::<K>(flavour, 0..expected.len(), |found| {
        let (now, later) = rest.split_at(found.len());
        if wrong.is_none() && flavour.run(Differ { found, expected: now }) {
            let differs = found.iter().zip(now).position(|(found, key)| found.to_u64() != *key);
            wrong = differs.map(|row| expected.len() - rest.len() + row);
        }
        rest = later;
    });
    wrong
}

/// Tells whether any key is not the one expected.
struct Differ<'a, K> {
    found: &'a [K],
    expected: &'a [u64],
}

impl<K: Key> Kernel for Differ<'_, K> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> bool {
        let pairs = self.found.iter().zip(self.expected);
        pairs.fold(0, |bits, (found, expected)| bits | (found.to_u64() ^ expected)) != 0
    }
}

/// Gives null rows the key of the row before, 0 at the start: no format has to widen for them.
fn fill_nulls(keys: &mut [u64], validity: &Bitmap) {
    let mut last = 0;
    for (keys, word) in keys.chunks_mut(64).zip(validity.words()) {
        if *word == u64::MAX {
            last = keys.last().copied().unwrap_or(last);
            continue;
        }
        for (bit, key) in keys.iter_mut().enumerate() {
            if word >> bit & 1 == 0 {
                *key = last;
            }
            last = *key;
        }
    }
}

/// Returns the first row that is not null and decodes to another value.
fn first_difference<T: PartialEq>(
    values: &[T],
    is_null: impl Fn(usize) -> bool,
    mut decode: impl FnMut(std::ops::Range<usize>, &mut Vec<T>) -> Result<(), BlockError>,
) -> Result<Option<usize>, BlockError> {
    let mut decoded = Vec::with_capacity(VERIFY_ROWS);
    for start in (0..values.len()).step_by(VERIFY_ROWS) {
        let end = values.len().min(start + VERIFY_ROWS);
        decoded.clear();
        decode(start..end, &mut decoded)?;
        if decoded == values[start..end] {
            continue;
        }
        let differs = |row: &usize| !is_null(*row) && decoded[row - start] != values[*row];
        if let Some(row) = (start..end).find(differs) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_rows_have_the_key_before() {
        let mut validity = Bitmap::default();
        (0..130).for_each(|row| validity.push(row > 1 && row % 3 != 0));
        let mut keys: Vec<u64> = (100..230).collect();
        fill_nulls(&mut keys, &validity);
        assert_eq!(keys[..5], [0, 0, 102, 102, 104]);
        assert_eq!(keys[126..], [225, 227, 228, 228]);
    }
}
