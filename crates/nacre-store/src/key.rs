//! Primary keys in a form whose byte order is the key order.
//!
//! Each key column becomes bytes that compare like its values: whole numbers big-endian with the
//! sign bit flipped, floats likewise after ordering their bits, strings with each zero byte
//! followed by 0xFF and ended by two zero bytes. Concatenated, they compare like the key.
//!
//! # Invariants
//! 1. Two keys are equal exactly when their bytes are equal; -0 and 0 are one key, all NaNs too.

use nacre_column::{ColumnBuffer, ColumnType, Values};

/// The primary keys of the rows of one chunk, in row order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys {
    offsets: Vec<u32>,
    data: Vec<u8>,
}

impl Keys {
    /// Builds the keys of all rows from the key columns, in key order.
    pub(crate) fn new(columns: &[&ColumnBuffer]) -> Self {
        let rows = columns.first().map_or(0, |column| column.len());
        let widths = columns.iter().map(|column| fixed_bytes(column.column_type())).sum::<usize>();
        let mut keys = Self { offsets: vec![0], data: Vec::with_capacity(rows * widths) };
        keys.offsets.reserve(rows);
        for row in 0..rows {
            for column in columns {
                push_value(column, row, &mut keys.data);
            }
            keys.offsets.push(keys.data.len() as u32);
        }
        keys
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(crate) fn get(&self, row: usize) -> &[u8] {
        &self.data[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Finds a row whose key stands in an earlier row too; returns the later row.
    ///
    /// Keys that ascend strictly, as most loaded files have them, cost one pass.
    pub(crate) fn first_duplicate(&self) -> Option<usize> {
        if (1..self.len()).all(|row| self.get(row - 1) < self.get(row)) {
            return None;
        }
        let mut rows: Vec<u32> = (0..self.len() as u32).collect();
        rows.sort_unstable_by(|&a, &b| {
            self.get(a as usize).cmp(self.get(b as usize)).then(a.cmp(&b))
        });
        rows.windows(2)
            .filter(|pair| self.get(pair[0] as usize) == self.get(pair[1] as usize))
            .map(|pair| pair[1] as usize)
            .min()
    }
}

fn fixed_bytes(column_type: ColumnType) -> usize {
    match column_type.plain_bytes() {
        0 => 16,
        bytes => bytes,
    }
}

fn push_value(column: &ColumnBuffer, row: usize, out: &mut Vec<u8>) {
    match column.values() {
        Values::Int64(values) => push_int(values[row], column.column_type(), out),
        Values::Int128(values) => {
            out.extend_from_slice(&(values[row] ^ i128::MIN).to_be_bytes());
        }
        Values::Float32(values) => {
            out.extend_from_slice(&ordered_bits(f64::from(values[row])).to_be_bytes());
        }
        Values::Float64(values) => {
            out.extend_from_slice(&ordered_bits(values[row]).to_be_bytes());
        }
        Values::Bytes(values) => push_bytes(values.get(row), out),
    }
}

fn push_int(value: i64, column_type: ColumnType, out: &mut Vec<u8>) {
    let ordered = (value ^ i64::MIN).to_be_bytes();
    match column_type.plain_bytes() {
        1 => out.push(value as u8),
        2 => out.extend_from_slice(&(value as i16 ^ i16::MIN).to_be_bytes()),
        4 => out.extend_from_slice(&(value as i32 ^ i32::MIN).to_be_bytes()),
        _ => out.extend_from_slice(&ordered),
    }
}

/// Maps a float to a whole number of the same order, NaN above everything, -0 equal to 0.
pub(crate) fn ordered_bits(value: f64) -> u64 {
    let canonical = if value.is_nan() { f64::NAN.abs() } else { value + 0.0 };
    let bits = canonical.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

fn push_bytes(value: &[u8], out: &mut Vec<u8>) {
    for &byte in value {
        out.push(byte);
        if byte == 0 {
            out.push(0xff);
        }
    }
    out.extend_from_slice(&[0, 0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(column_type: ColumnType, values: &[i64]) -> ColumnBuffer {
        let mut column = ColumnBuffer::new(column_type);
        values.iter().for_each(|&value| column.push_int(value));
        column
    }

    fn assert_ascending(column: &ColumnBuffer) {
        let keys = Keys::new(&[column]);
        for row in 1..keys.len() {
            assert!(keys.get(row - 1) < keys.get(row), "{column:?} row {row}");
        }
    }

    #[test]
    fn byte_order_is_value_order() {
        assert_ascending(&ints(ColumnType::SmallInt, &[-32_768, -1, 0, 1, 32_767]));
        assert_ascending(&ints(ColumnType::Integer, &[i64::from(i32::MIN), -1, 0, 7]));
        assert_ascending(&ints(ColumnType::BigInt, &[i64::MIN, -1, 0, i64::MAX]));
        assert_ascending(&ints(ColumnType::Boolean, &[0, 1]));
        let mut wide = ColumnBuffer::new(ColumnType::Decimal { precision: 38, scale: 0 });
        [i128::MIN, -1, 0, i128::MAX].into_iter().for_each(|value| wide.push_int128(value));
        assert_ascending(&wide);
        let mut double = ColumnBuffer::new(ColumnType::Double);
        [f64::NEG_INFINITY, -1.5, -0.0, 1e-300, 2.0, f64::INFINITY, f64::NAN]
            .into_iter()
            .for_each(|value| double.push_float64(value));
        assert_ascending(&double);
        let mut text = ColumnBuffer::new(ColumnType::Bytea);
        [&b""[..], b"\0", b"\0\0", b"\0a", b"a", b"a\0", b"ab"]
            .into_iter()
            .for_each(|value| text.push_bytes(value));
        assert_ascending(&text);
    }

    #[test]
    fn first_column_of_a_composite_key_decides() {
        let mut text = ColumnBuffer::new(ColumnType::Varchar { max_chars: None });
        [&b"a"[..], b"a", b"ab"].into_iter().for_each(|value| text.push_bytes(value));
        let number = ints(ColumnType::Integer, &[1, 2, 0]);
        let keys = Keys::new(&[&text, &number]);
        assert!(keys.get(0) < keys.get(1) && keys.get(1) < keys.get(2));
    }

    #[test]
    fn duplicate_is_found_wherever_it_stands() {
        let find =
            |values: &[i64]| Keys::new(&[&ints(ColumnType::BigInt, values)]).first_duplicate();
        assert_eq!(find(&[]), None);
        assert_eq!(find(&[3, 1, 2]), None);
        assert_eq!(find(&[1, 2, 2]), Some(2));
        assert_eq!(find(&[5, 1, 9, 1, 5]), Some(3));
    }

    #[test]
    fn zeros_of_both_signs_are_one_key() {
        let mut double = ColumnBuffer::new(ColumnType::Double);
        double.push_float64(0.0);
        double.push_float64(-0.0);
        assert_eq!(Keys::new(&[&double]).first_duplicate(), Some(1));
    }
}
