//! Small materialized aggregates: what is known of a block without decoding it.
//!
//! # Invariants
//! 1. `min` and `max` bound the rows that are neither null nor NaN; `None` if there is none.
//! 2. A bound of a string is its first [`PREFIX_BYTES`] bytes at most; `is_exact` tells whether
//!    that is all of it. The value itself starts with the prefix.
//! 3. `sum` is that of all non-null rows of a whole-number column (true counts as 1), and `None`
//!    for other columns or if it overflows.
//! 4. Floats are ordered as in PostgreSQL: -0 = 0, and NaN equals itself and is above all others.
//!
//! # Layout
//! Drawn in `docs/layout.md`, section "Small materialized aggregates"; a test compares.
//!
//! # Source
//! [Muehlbauer16 section 3] skips blocks by these. Differs: strings too, by prefixes.

use std::fmt;

use crate::{BlockError, Physical};

/// Most bytes of a string bound that are kept.
pub const PREFIX_BYTES: usize = 24;

/// Bytes of an [`Sma`] on media.
pub const SMA_BYTES: usize = 80;

const KIND_NONE: u8 = 0;
const KIND_INT: u8 = 1;
const KIND_FLOAT: u8 = 2;
const KIND_BYTES: u8 = 3;

const FLAG_MIN: u8 = 1;
const FLAG_MAX: u8 = 1 << 1;
const FLAG_SUM: u8 = 1 << 2;
const FLAG_NAN: u8 = 1 << 3;
const FLAG_MIN_EXACT: u8 = 1 << 4;
const FLAG_MAX_EXACT: u8 = 1 << 5;

pub(crate) const ROWS: usize = 0;
pub(crate) const NULL_COUNT: usize = 4;
pub(crate) const FLAGS: usize = 8;
pub(crate) const KIND: usize = 9;
pub(crate) const MIN_BYTES: usize = 10;
pub(crate) const MAX_BYTES: usize = 11;
pub(crate) const RESERVED: usize = 12;
pub(crate) const MIN: usize = 16;
pub(crate) const MAX: usize = MIN + PREFIX_BYTES;
pub(crate) const SUM: usize = MAX + PREFIX_BYTES;

const _: () = assert!(SUM + size_of::<i128>() == SMA_BYTES);

/// The first bytes of a string.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    bytes: [u8; PREFIX_BYTES],
    len: u8,
}

impl Prefix {
    /// Keeps the first [`PREFIX_BYTES`] bytes of `value`.
    pub fn new(value: &[u8]) -> Self {
        let len = value.len().min(PREFIX_BYTES);
        let mut bytes = [0; PREFIX_BYTES];
        bytes[..len].copy_from_slice(&value[..len]);
        Self { bytes, len: len as u8 }
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

/// The least or greatest value of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Of a whole-number column; booleans are 0 and 1, decimals unscaled.
    Int(i128),
    /// Of a `real` or `double precision` column; never NaN.
    Float(f64),
    /// Of a string column.
    Bytes { prefix: Prefix, is_exact: bool },
}

impl Bound {
    /// Makes the bound for a string.
    pub fn of_bytes(value: &[u8]) -> Self {
        Self::Bytes { prefix: Prefix::new(value), is_exact: value.len() <= PREFIX_BYTES }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Int(_) => KIND_INT,
            Self::Float(_) => KIND_FLOAT,
            Self::Bytes { .. } => KIND_BYTES,
        }
    }

    /// Returns the bound's bytes on media, their number and whether they are the whole value.
    fn to_bytes(self) -> ([u8; PREFIX_BYTES], u8, bool) {
        let mut bytes = [0; PREFIX_BYTES];
        match self {
            Self::Int(value) => {
                bytes[..16].copy_from_slice(&value.to_le_bytes());
                (bytes, 16, true)
            }
            Self::Float(value) => {
                bytes[..8].copy_from_slice(&value.to_le_bytes());
                (bytes, 8, true)
            }
            Self::Bytes { prefix, is_exact } => (prefix.bytes, prefix.len, is_exact),
        }
    }

    fn from_bytes(
        kind: u8,
        bytes: &[u8; PREFIX_BYTES],
        len: u8,
        is_exact: bool,
    ) -> Result<Self, BlockError> {
        let wrong_len = |expected: &str| BlockError::Field {
            field: "sma bound bytes",
            found: i128::from(len),
            expected: expected.to_owned(),
        };
        match (kind, bytes.first_chunk::<16>(), bytes.first_chunk::<8>()) {
            (KIND_INT, Some(first), _) => {
                if len == 16 {
                    Ok(Self::Int(i128::from_le_bytes(*first)))
                } else {
                    Err(wrong_len("16"))
                }
            }
            (KIND_FLOAT, _, Some(first)) => {
                let value = f64::from_le_bytes(*first);
                if len == 8 && !value.is_nan() {
                    Ok(Self::Float(value))
                } else {
                    Err(wrong_len("8 of a number"))
                }
            }
            _ => match bytes.get(..usize::from(len)) {
                Some(prefix) => Ok(Self::Bytes { prefix: Prefix::new(prefix), is_exact }),
                None => Err(wrong_len("at most 24")),
            },
        }
    }
}

/// What is known of a block's rows without decoding it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sma {
    /// Rows, null or not.
    pub rows: u32,
    /// Rows that are null; at most `rows`.
    pub null_count: u32,
    /// The least value.
    pub min: Option<Bound>,
    /// The greatest value.
    pub max: Option<Bound>,
    /// The sum of the values.
    pub sum: Option<i128>,
    /// Whether some row is NaN.
    pub has_nan: bool,
}

impl Sma {
    /// Makes the aggregates of no rows.
    pub fn empty() -> Self {
        Self { rows: 0, null_count: 0, min: None, max: None, sum: None, has_nan: false }
    }

    /// Returns the bytes that stand for it on media.
    pub fn to_bytes(&self) -> [u8; SMA_BYTES] {
        let mut bytes = [0; SMA_BYTES];
        let mut flags = if self.has_nan { FLAG_NAN } else { 0 };
        bytes[ROWS..ROWS + 4].copy_from_slice(&self.rows.to_le_bytes());
        bytes[NULL_COUNT..NULL_COUNT + 4].copy_from_slice(&self.null_count.to_le_bytes());
        bytes[KIND] = self.min.or(self.max).map_or(KIND_NONE, |bound| bound.kind());
        let bounds = [
            (self.min, MIN, MIN_BYTES, FLAG_MIN, FLAG_MIN_EXACT),
            (self.max, MAX, MAX_BYTES, FLAG_MAX, FLAG_MAX_EXACT),
        ];
        for (bound, at, len_at, flag, flag_exact) in bounds {
            let Some(bound) = bound else { continue };
            let (value, len, is_exact) = bound.to_bytes();
            bytes[at..at + PREFIX_BYTES].copy_from_slice(&value);
            bytes[len_at] = len;
            flags |= flag | if is_exact { flag_exact } else { 0 };
        }
        if let Some(sum) = self.sum {
            bytes[SUM..].copy_from_slice(&sum.to_le_bytes());
            flags |= FLAG_SUM;
        }
        bytes[FLAGS] = flags;
        bytes
    }

    /// Reads what [`Sma::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`BlockError::Field`] if no aggregates have these bytes.
    pub fn from_bytes(bytes: &[u8; SMA_BYTES]) -> Result<Self, BlockError> {
        let flags = bytes[FLAGS];
        let kind = bytes[KIND];
        let field = |field, found: u32, expected: &str| BlockError::Field {
            field,
            found: i128::from(found),
            expected: expected.to_owned(),
        };
        let rows = u32::from_le_bytes(array(bytes, ROWS));
        let null_count = u32::from_le_bytes(array(bytes, NULL_COUNT));
        if null_count > rows {
            return Err(field("sma null_count", null_count, "at most sma rows"));
        }
        if flags >> 6 != 0 || array::<4>(bytes, RESERVED) != [0; 4] {
            return Err(field("sma flags", u32::from(flags), "below 64 with reserved bytes 0"));
        }
        let has_bound = flags & (FLAG_MIN | FLAG_MAX) != 0;
        if kind > KIND_BYTES || (kind == KIND_NONE) == has_bound {
            return Err(field("sma kind", u32::from(kind), "0 without bounds, 1 to 3 with"));
        }
        let bound = |at, len_at: usize, flag, flag_exact| {
            let is_exact = flags & flag_exact != 0;
            (flags & flag != 0)
                .then(|| Bound::from_bytes(kind, &array(bytes, at), bytes[len_at], is_exact))
                .transpose()
        };
        Ok(Self {
            rows,
            null_count,
            min: bound(MIN, MIN_BYTES, FLAG_MIN, FLAG_MIN_EXACT)?,
            max: bound(MAX, MAX_BYTES, FLAG_MAX, FLAG_MAX_EXACT)?,
            sum: (flags & FLAG_SUM != 0).then(|| i128::from_le_bytes(array(bytes, SUM))),
            has_nan: flags & FLAG_NAN != 0,
        })
    }

    /// Tells whether the bounds are of the class that columns of class `physical` have.
    pub(crate) fn fits(&self, physical: Physical) -> bool {
        let fits = |bound: Option<Bound>| {
            bound.is_none_or(|bound| match physical {
                Physical::Int64 | Physical::Int128 => matches!(bound, Bound::Int(_)),
                Physical::Float32 | Physical::Float64 => matches!(bound, Bound::Float(_)),
                Physical::Bytes => matches!(bound, Bound::Bytes { .. }),
            })
        };
        fits(self.min) && fits(self.max)
    }
}

/// Copies `N` bytes from offset `at`, which all callers keep inside.
fn array<const N: usize>(bytes: &[u8; SMA_BYTES], at: usize) -> [u8; N] {
    let mut value = [0; N];
    value.copy_from_slice(&bytes[at..at + N]);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> Vec<Sma> {
        let empty = Sma::empty();
        let bytes = |value: &[u8]| Some(Bound::of_bytes(value));
        vec![
            empty,
            Sma {
                rows: 65_536,
                null_count: 3,
                min: Some(Bound::Int(i128::MIN)),
                max: Some(Bound::Int(i128::MAX)),
                sum: Some(-1),
                has_nan: false,
            },
            Sma {
                rows: 2,
                min: Some(Bound::Float(f64::NEG_INFINITY)),
                max: Some(Bound::Float(1.5)),
                has_nan: true,
                ..empty
            },
            Sma { rows: 9, min: bytes(b""), max: bytes(&[b'x'; 25]), ..empty },
            Sma { rows: 9, min: bytes(&[b'x'; 24]), max: bytes(&[0xff; 24]), ..empty },
        ]
    }

    #[test]
    fn every_sma_reads_back_as_written() {
        for sma in samples() {
            assert_eq!(Sma::from_bytes(&sma.to_bytes()), Ok(sma));
        }
    }

    #[test]
    fn no_byte_pattern_panics() {
        for sma in samples() {
            for at in 0..SMA_BYTES {
                for flip in [1, 0x10, 0x80, 0xff] {
                    let mut bytes = sma.to_bytes();
                    bytes[at] ^= flip;
                    let _ = Sma::from_bytes(&bytes);
                }
            }
        }
    }

    #[test]
    fn more_nulls_than_rows_are_refused() {
        let sma = Sma { rows: 1, null_count: 2, ..Sma::empty() };
        assert_eq!(
            Sma::from_bytes(&sma.to_bytes()).map_err(|error| error.to_string()),
            Err("header field sma null_count is 2, not at most sma rows".to_owned())
        );
    }

    #[test]
    fn bound_is_exact_up_to_24_bytes() {
        assert!(matches!(Bound::of_bytes(&[b'a'; 24]), Bound::Bytes { is_exact: true, .. }));
        assert!(matches!(Bound::of_bytes(&[b'a'; 25]), Bound::Bytes { is_exact: false, .. }));
    }
}
