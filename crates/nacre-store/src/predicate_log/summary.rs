//! 64-bit summaries of values.
//!
//! # Invariants
//! 1. Of two values of a class, the greater never has the smaller summary.
//! 2. An exact summary belongs to one value only.
//!
//! # Layout
//! | class | summary | exact |
//! |---|---|---|
//! | whole numbers of 64 bits | the number with its sign bit flipped | always |
//! | wider whole numbers | the nearest number of 64 bits, likewise | but for the ends |
//! | floats | ordered bits; -0 is 0, all NaNs are one | always |
//! | strings | 7 bytes, filled up with zeros, and the length, at most 8 | up to 7 bytes |

use std::hash::{DefaultHasher, Hasher};

use crate::key::ordered_bits;
use crate::value::ValueRef;

/// Bytes of a string in its summary; the eighth is its length.
const PREFIX_BYTES: usize = 7;

/// What a value is compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) ordered: u64,
    pub(super) is_exact: bool,
}

impl Summary {
    /// Returns the summary of a value; `None` if it is null.
    #[inline]
    pub(super) fn of(value: ValueRef<'_>) -> Option<Self> {
        let (ordered, is_exact) = match value {
            ValueRef::Null => return None,
            ValueRef::Int(value) => (ordered_int(value), true),
            ValueRef::Int128(value) => {
                let near = value.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                (ordered_int(near), near != i64::MIN && near != i64::MAX)
            }
            ValueRef::Float32(value) => (ordered_bits(value.into()), true),
            ValueRef::Float64(value) => (ordered_bits(value), true),
            ValueRef::Bytes(value) => (start_and_length(value), value.len() <= PREFIX_BYTES),
        };
        Some(Self { ordered, is_exact })
    }
}

/// Maps a number to a summary of the same order.
#[inline]
pub(super) fn ordered_int(value: i64) -> u64 {
    value as u64 ^ 1 << 63
}

/// Returns the number that has a summary.
pub(super) fn int_of(ordered: u64) -> i64 {
    (ordered ^ 1 << 63) as i64
}

#[inline]
fn start_and_length(value: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let count = value.len().min(PREFIX_BYTES);
    bytes[..count].copy_from_slice(&value[..count]);
    bytes[PREFIX_BYTES] = value.len().min(PREFIX_BYTES + 1) as u8;
    u64::from_be_bytes(bytes)
}

/// Hashes a value whose summary is not exact: a string or a number past 64 bits. Equal values of a
/// class have equal hashes in every process.
pub(super) fn hash(value: ValueRef<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        ValueRef::Bytes(value) => hasher.write(value),
        ValueRef::Int128(value) => hasher.write_i128(value),
        other => hasher.write_u64(Summary::of(other).map_or(0, |summary| summary.ordered)),
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_ascending(values: &[ValueRef<'_>]) {
        for pair in values.windows(2) {
            let [low, high] = [pair[0], pair[1]].map(|value| Summary::of(value).unwrap());
            let is_exact = low.is_exact || high.is_exact;
            assert!(low.ordered < high.ordered || low.ordered == high.ordered && !is_exact);
        }
    }

    #[test]
    fn order_of_summaries_is_order_of_values() {
        assert_ascending(&[i64::MIN, -1, 0, 1, i64::MAX].map(ValueRef::Int));
        let beyond = i128::from(i64::MAX) + 1;
        assert_ascending(&[i128::MIN, -beyond, 1 - beyond, 0, 7, beyond].map(ValueRef::Int128));
        let infinite = f64::INFINITY;
        assert_ascending(&[-infinite, -1.0, 0.0, 1e-9, infinite, f64::NAN].map(ValueRef::Float64));
        assert_ascending(&[-1.5_f32, 0.0, 0.1, f32::NAN].map(ValueRef::Float32));
        let texts: [&[u8]; 9] =
            [b"", b"\0", b"\0\0", b"a", b"a\0", b"a\0c", b"abcdefg", b"abcdefgh", b"abcdefz"];
        assert_ascending(&texts.map(ValueRef::Bytes));
    }

    #[test]
    fn zeros_and_nans_have_one_summary() {
        let of = |value| Summary::of(ValueRef::Float64(value));
        assert_eq!(of(0.0), of(-0.0));
        assert_eq!(of(f64::NAN), of(-f64::NAN));
        assert_eq!(Summary::of(ValueRef::Null), None);
    }

    #[test]
    fn numbers_come_back_from_their_summaries() {
        for value in [i64::MIN, -5, 0, 9, i64::MAX] {
            assert_eq!(int_of(ordered_int(value)), value);
        }
    }
}
