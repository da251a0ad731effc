//! Plain: the values as they are.
//!
//! # Layout
//! Whole numbers and floats: `rows` little-endian values of the bytes that
//! [`ColumnType::plain_bytes`](crate::ColumnType::plain_bytes) gives; two's complement, IEEE 754,
//! booleans 0 and 1. Strings: `rows + 1` offsets of 32 bits, the first 0, then the strings end to
//! end; string `i` is `heap[offsets[i]..offsets[i + 1]]`. These are Arrow's own layouts.

use std::ops::Range;

use super::integer::Integer;
use crate::BlockError;

/// Writes whole numbers, each narrowed to `bytes_each` bytes, over `out`.
pub(crate) fn encode_ints(values: &[i64], bytes_each: usize, out: &mut [u8]) {
    match bytes_each {
        1 => put(values, out, |value| (value as u8).to_le_bytes()),
        2 => put(values, out, |value| (value as u16).to_le_bytes()),
        4 => put(values, out, |value| (value as u32).to_le_bytes()),
        _ => put(values, out, i64::to_le_bytes),
    }
}

/// Writes values over `out`, in as many bytes each as `to_bytes` gives.
pub(crate) fn put<T: Copy, const N: usize>(
    values: &[T],
    out: &mut [u8],
    to_bytes: impl Fn(T) -> [u8; N],
) {
    for (out, value) in out.as_chunks_mut().0.iter_mut().zip(values) {
        *out = to_bytes(*value);
    }
}

/// Appends the whole numbers in `bytes`, which have `bytes_each` bytes each, to `out`.
pub(crate) fn decode_ints<T: Integer>(bytes: &[u8], bytes_each: usize, out: &mut Vec<T>) {
    match bytes_each {
        1 => take(bytes, out, |[value]| T::from_i64(value.into())),
        2 => take(bytes, out, |value| T::from_i64(i16::from_le_bytes(value).into())),
        4 => take(bytes, out, |value| T::from_i64(i32::from_le_bytes(value).into())),
        8 => take(bytes, out, |value| T::from_i64(i64::from_le_bytes(value))),
        _ => take(bytes, out, |value| T::from_i128(i128::from_le_bytes(value))),
    }
}

/// Returns the whole number that is `bytes`, 1, 2, 4 or 8 of them.
#[inline]
pub(crate) fn int_at(bytes: &[u8]) -> i64 {
    match *bytes {
        [value] => value.into(),
        [a, b] => i16::from_le_bytes([a, b]).into(),
        [a, b, c, d] => i32::from_le_bytes([a, b, c, d]).into(),
        _ => bytes.first_chunk().map_or(0, |value| i64::from_le_bytes(*value)),
    }
}

/// Appends the values in `bytes`, of `N` bytes each, to `out`.
pub(crate) fn take<T, const N: usize>(
    bytes: &[u8],
    out: &mut Vec<T>,
    from_bytes: impl Fn([u8; N]) -> T,
) {
    out.extend(bytes.as_chunks().0.iter().map(|value| from_bytes(*value)));
}

/// Appends the whole numbers at these positions to `out`: see [`decode_ints`].
pub(crate) fn gather_ints<T: Integer>(
    bytes: &[u8],
    bytes_each: usize,
    positions: &[u16],
    out: &mut Vec<T>,
) {
    match bytes_each {
        1 => pick(bytes, positions, out, |[value]| T::from_i64(value.into())),
        2 => pick(bytes, positions, out, |value| T::from_i64(i16::from_le_bytes(value).into())),
        4 => pick(bytes, positions, out, |value| T::from_i64(i32::from_le_bytes(value).into())),
        8 => pick(bytes, positions, out, |value| T::from_i64(i64::from_le_bytes(value))),
        _ => pick(bytes, positions, out, |value| T::from_i128(i128::from_le_bytes(value))),
    }
}

/// Appends the values at these positions, of `N` bytes each, to `out`.
pub(crate) fn pick<T, const N: usize>(
    bytes: &[u8],
    positions: &[u16],
    out: &mut Vec<T>,
    from_bytes: impl Fn([u8; N]) -> T,
) {
    let values = bytes.as_chunks().0;
    out.extend(positions.iter().map(|position| from_bytes(values[usize::from(*position)])));
}

/// Strings laid end to end in a block: value `i` is `data[offsets[i]..offsets[i + 1]]`.
///
/// Offsets and data have Arrow's layout, so both sections can become Arrow buffers as they are,
/// once [`Block::verify`](crate::Block::verify) has checked them.
#[derive(Clone, Debug)]
pub struct StringValues<'a> {
    pub(crate) offsets: &'a [[u8; 4]],
    pub(crate) data: &'a [u8],
    pub(crate) offsets_range: Range<usize>,
    pub(crate) data_range: Range<usize>,
}

impl<'a> StringValues<'a> {
    pub(crate) fn new(block: &'a [u8], offsets: Range<usize>, data: Range<usize>) -> Self {
        Self {
            offsets: block[offsets.clone()].as_chunks().0,
            data: &block[data.clone()],
            offsets_range: offsets,
            data_range: data,
        }
    }

    /// Returns how many strings there are.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Tells whether there is no string.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the `len() + 1` offsets as little-endian bytes.
    pub fn offsets(&self) -> &'a [[u8; 4]] {
        self.offsets
    }

    /// Returns the strings end to end.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// Returns where the offsets lie, from the start of the block; the start is 64-byte aligned.
    pub fn offsets_range(&self) -> Range<usize> {
        self.offsets_range.clone()
    }

    /// Returns where the strings lie, from the start of the block; the start is 64-byte aligned.
    pub fn data_range(&self) -> Range<usize> {
        self.data_range.clone()
    }

    /// Returns string `index`.
    ///
    /// # Errors
    /// [`BlockError::RowRange`] if there is none; [`BlockError::Contents`] if the offsets do not
    /// lie in the data.
    #[inline]
    pub fn get(&self, index: usize) -> Result<&'a [u8], BlockError> {
        let (Some(start), Some(end)) = (self.offsets.get(index), self.offsets.get(index + 1))
        else {
            return Err(BlockError::RowRange { start: index, end: index + 1, rows: self.len() });
        };
        let start = u32::from_le_bytes(*start);
        let end = u32::from_le_bytes(*end);
        self.data.get(start as usize..end as usize).ok_or_else(|| BlockError::Contents {
            what: "end of string",
            row: index,
            found: end.into(),
            expected: format!("from {start} to {}", self.data.len()),
        })
    }

    /// Checks that offsets ascend from 0 to the end of the data, and that text is UTF-8.
    pub(crate) fn check(&self, is_text: bool) -> Result<(), BlockError> {
        let offset = |index: usize| u32::from_le_bytes(self.offsets[index]);
        let wrong = |row, expected: String| BlockError::Contents {
            what: "string offset",
            row,
            found: offset(row).into(),
            expected,
        };
        let Some(last) = self.offsets.len().checked_sub(1) else {
            return Ok(());
        };
        if offset(0) != 0 {
            return Err(wrong(0, "0".to_owned()));
        }
        if offset(last) as usize != self.data.len() {
            return Err(wrong(last, format!("the heap's {} bytes", self.data.len())));
        }
        let ascends = |pair: &[[u8; 4]]| u32::from_le_bytes(pair[0]) <= u32::from_le_bytes(pair[1]);
        // The fold has no branch, so it is done in registers; the position is sought only if wrong.
        if !self.offsets.windows(2).fold(true, |all, pair| all & ascends(pair)) {
            // Bytes that change meanwhile may be in order by now.
            let place = self.offsets.windows(2).position(|pair| !ascends(pair));
            let row = place.map_or(last, |row| row + 1);
            return Err(wrong(row, format!("at least {}", offset(row - 1))));
        }
        if !is_text {
            return Ok(());
        }
        check_utf8(self.data, self.offsets.iter().map(|offset| u32::from_le_bytes(*offset)))
    }
}

/// Checks that strings end to end, which start and end at `offsets`, are each UTF-8.
pub(crate) fn check_utf8(
    data: &[u8],
    offsets: impl Iterator<Item = u32>,
) -> Result<(), BlockError> {
    if data.is_ascii() {
        return Ok(());
    }
    let wrong = |at: usize, expected: &str| BlockError::Contents {
        what: "heap byte",
        row: at,
        found: data.get(at).copied().unwrap_or(0).into(),
        expected: expected.to_owned(),
    };
    let text = std::str::from_utf8(data).map_err(|error| wrong(error.valid_up_to(), "UTF-8"))?;
    for at in offsets {
        if !text.is_char_boundary(at as usize) {
            return Err(wrong(at as usize, "the first of a character"));
        }
    }
    Ok(())
}

/// How the strings of a block are stored.
#[derive(Clone, Debug)]
pub enum Strings<'a> {
    /// One string per row; null rows hold the empty string.
    Plain(StringValues<'a>),
    /// Distinct strings in ascending byte order;
    /// [`Block::decode_codes`](crate::Block::decode_codes) gives each row's place among them.
    Dictionary(StringValues<'a>),
    /// Neither: [`Block::decode_bytes`](crate::Block::decode_bytes) decodes them.
    Encoded,
}
