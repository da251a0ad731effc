//! Sort keys as bytes in the order of the rows.
//!
//! | part | bytes |
//! |---|---|
//! | null or not, if the column may be null | 1 |
//! | truth value, whole number, float | 1 to 16, big-endian, sign flipped |
//! | string | 0 becomes 0 255; ends in 0 0 |
//!
//! All but the first are inverted for a descending column.

use crate::plan::SortKey;
use crate::value::{IntWidth, VectorType};
use crate::vector::{ColumnVector, DictionaryReader, VectorValues};

/// Maps a float to a number ordered as PostgreSQL orders floats.
fn float_order(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    // Adding 0 turns -0 into 0.
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// Appends a column's part of the key of `row` to `out`.
pub(super) fn append_part(
    key: &SortKey,
    column: &ColumnVector,
    is_nullable: bool,
    reader: Option<&DictionaryReader<'_>>,
    row: usize,
    out: &mut Vec<u8>,
) {
    let is_null = is_nullable && column.is_null(row);
    if is_nullable {
        out.push(u8::from(is_null != key.is_nulls_first));
    }
    if is_null {
        return;
    }
    let start = out.len();
    match &column.values {
        VectorValues::Bool(bits) => out.push(bits.get(row).into()),
        VectorValues::Int16(values) => {
            out.extend_from_slice(&(values[row] as u16 ^ 1 << 15).to_be_bytes());
        }
        VectorValues::Int32(values) => {
            out.extend_from_slice(&(values[row] as u32 ^ 1 << 31).to_be_bytes());
        }
        VectorValues::Int64(values) => {
            out.extend_from_slice(&(values[row] as u64 ^ 1 << 63).to_be_bytes());
        }
        VectorValues::Int128(values) => {
            out.extend_from_slice(&(values[row] as u128 ^ 1 << 127).to_be_bytes());
        }
        VectorValues::Float32(values) => {
            out.extend_from_slice(&float_order(values[row].into()).to_be_bytes());
        }
        VectorValues::Float64(values) => {
            out.extend_from_slice(&float_order(values[row]).to_be_bytes());
        }
        VectorValues::Code(_) | VectorValues::Bytes(_) => {
            column.with_bytes(row, reader, |value| {
                for byte in value {
                    out.push(*byte);
                    if *byte == 0 {
                        out.push(255);
                    }
                }
            });
            out.extend_from_slice(&[0, 0]);
        }
    }
    if key.is_descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// A column's part of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyPart {
    pub(crate) key: SortKey,
    pub(crate) vector_type: VectorType,
    pub(crate) is_nullable: bool,
}

impl KeyPart {
    /// Returns the bytes of this part, which `bytes` begin with.
    fn len(self, bytes: &[u8]) -> usize {
        let flag = usize::from(self.is_nullable);
        if self.is_nullable && (bytes[0] == 1) != self.key.is_nulls_first {
            return flag;
        }
        flag + match self.vector_type {
            VectorType::Bool => 1,
            VectorType::Int(IntWidth::I16) => 2,
            VectorType::Int(IntWidth::I32) => 4,
            VectorType::Int(IntWidth::I64) | VectorType::Float32 | VectorType::Float64 => 8,
            VectorType::Int(IntWidth::I128) => 16,
            VectorType::Code | VectorType::Bytes => {
                let zero = if self.key.is_descending { 255 } else { 0 };
                let mut at = flag;
                while bytes[at] != zero || bytes[at + 1] != zero {
                    at += if bytes[at] == zero { 2 } else { 1 };
                }
                at + 2 - flag
            }
        }
    }

    /// Returns how many of the first `parts` two keys have in common.
    pub(crate) fn common_parts(parts: &[Self], left: &[u8], right: &[u8]) -> usize {
        let mut pairs = left.iter().zip(right);
        let Some(different) = pairs.position(|(left, right)| left != right) else {
            return parts.len();
        };
        let mut end = 0;
        let is_common = |part: &&Self| {
            end += part.len(&left[end..]);
            end <= different
        };
        parts.iter().take_while(is_common).count()
    }
}

/// Returns the first eight bytes of a key as a number in the same order.
pub(super) fn prefix_of(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = key.len().min(8);
    first[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use nacre_column::compare_floats;

    use super::*;
    use crate::value::VectorType;
    use crate::vector::BitVector;

    fn keys(column: &ColumnVector, key: SortKey) -> Vec<Vec<u8>> {
        let part = |row| {
            let mut out = Vec::new();
            append_part(&key, column, column.validity.is_some(), None, row, &mut out);
            out
        };
        (0..column.values.len()).map(part).collect()
    }

    fn key(is_descending: bool, is_nulls_first: bool) -> SortKey {
        SortKey { column: 0, is_descending, is_nulls_first }
    }

    #[test]
    fn bytes_are_ordered_as_floats_and_strings() {
        let floats = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN];
        let mut column = ColumnVector::new(VectorType::Float64);
        column.values = VectorValues::Float64(floats.to_vec());
        let found = keys(&column, key(false, false));
        for (at, left) in floats.iter().enumerate() {
            for (other, right) in floats.iter().enumerate() {
                assert_eq!(found[at].cmp(&found[other]), compare_floats(*left, *right));
            }
        }
        let strings: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"\0a", b"a", b"a\0"];
        let mut column = ColumnVector::new(VectorType::Bytes);
        if let VectorValues::Bytes(values) = &mut column.values {
            strings.iter().for_each(|value| values.push(value));
        }
        assert!(keys(&column, key(false, false)).is_sorted());
        let mut descending = keys(&column, key(true, false));
        descending.reverse();
        assert!(descending.is_sorted());
    }

    #[test]
    fn keys_have_parts_in_common_up_to_the_first_that_differs() {
        let strings: [&[u8]; 5] = [b"", b"\0", b"\0\xff", b"a\0\0", b"a"];
        let mut first = ColumnVector::new(VectorType::Bytes);
        let mut second = ColumnVector::new(VectorType::Int(IntWidth::I32));
        let numbers = [0, 1, -1, 1 << 24];
        for one in strings {
            for number in numbers {
                if let VectorValues::Bytes(values) = &mut first.values {
                    values.push(one);
                }
                second.values.push_int(number);
            }
        }
        for number in numbers {
            if let VectorValues::Bytes(values) = &mut first.values {
                values.push(b"");
            }
            first.mark_last_null();
            second.values.push_int(number);
        }
        for sort_key in [key(false, false), key(true, false), key(false, true), key(true, true)] {
            let of = |vector_type, is_nullable| KeyPart { key: sort_key, vector_type, is_nullable };
            let parts = [of(VectorType::Bytes, true), of(VectorType::Int(IntWidth::I32), false)];
            let bytes = |row| {
                let mut out = Vec::new();
                append_part(&sort_key, &first, true, None, row, &mut out);
                append_part(&sort_key, &second, false, None, row, &mut out);
                out
            };
            for (left, right) in (0..24).flat_map(|left| (0..24).map(move |right| (left, right))) {
                let expected = match (left / 4 == right / 4, left % 4 == right % 4) {
                    (true, true) => 2,
                    (true, false) => 1,
                    (false, _) => 0,
                };
                let found = KeyPart::common_parts(&parts, &bytes(left), &bytes(right));
                assert_eq!(found, expected, "rows {left} and {right}");
            }
        }
    }

    #[test]
    fn nulls_come_where_they_are_wanted() {
        let mut column = ColumnVector::new(VectorType::Int(crate::value::IntWidth::I16));
        column.values = VectorValues::Int16(vec![-5, 0, 7]);
        column.validity = Some(BitVector::from_words(vec![0b101], 3));
        for is_descending in [false, true] {
            for is_nulls_first in [false, true] {
                let found = keys(&column, key(is_descending, is_nulls_first));
                assert_eq!(found[1] < found[0] && found[1] < found[2], is_nulls_first);
                assert_eq!(found[2] < found[0], is_descending);
            }
        }
    }
}
