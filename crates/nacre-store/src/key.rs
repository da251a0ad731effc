//! Keys in a form whose byte order is the key order: those of primary keys and of indexes.
//!
//! Each key column becomes bytes that compare like its values: whole numbers big-endian with the
//! sign bit flipped, floats likewise after ordering their bits, strings with each zero byte
//! followed by 0xFF and ended by two zero bytes. A column that may be null has a byte before that,
//! 0 for a value and 1, without anything after it, for null: nulls come last. Concatenated, columns
//! compare like the key.
//!
//! Chunks' key ranges are stored in this form (`docs/layout.md`).
//!
//! # Invariants
//! 1. Two keys are equal exactly when their bytes are equal; -0 and 0 are one key, all NaNs too,
//!    and, other than in SQL, all nulls.
//! 2. No key is the beginning of another one of the same columns.

use nacre_column::{ColumnBuffer, ColumnType};

use crate::codec::Encoder;
use crate::schema::TableSchema;
use crate::value::ValueRef;

/// Bytes before a column that may be null.
const PRESENT: u8 = 0;
const NULL: u8 = 1;

/// One column of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyColumn {
    pub(crate) column: usize,
    column_type: ColumnType,
    is_nullable: bool,
}

/// The columns of a key, in its order, and how they become bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyColumns(Vec<KeyColumn>);

impl KeyColumns {
    /// Makes a key of `columns`, which the table has.
    pub(crate) fn new(schema: &TableSchema, columns: &[usize]) -> Self {
        let key_column = |&column: &usize| {
            let definition = &schema.columns[column];
            let (column_type, is_nullable) = (definition.column_type, definition.is_nullable);
            KeyColumn { column, column_type, is_nullable }
        };
        Self(columns.iter().map(key_column).collect())
    }

    pub(crate) fn columns(&self) -> impl ExactSizeIterator<Item = usize> {
        self.0.iter().map(|column| column.column)
    }

    pub(crate) fn contains(&self, column: usize) -> bool {
        self.columns().any(|there| there == column)
    }

    /// Returns a number that says what bytes keys become: other numbers are of other bytes.
    pub(crate) fn shape(&self) -> u32 {
        let mut encoder = Encoder::default();
        for column in &self.0 {
            encoder.put_u16(column.column as u16);
            encoder.put_raw(&column.column_type.to_bytes());
            encoder.put_u8(column.is_nullable.into());
        }
        crc32c::crc32c(encoder.bytes())
    }

    /// Appends the bytes of a key, or of its first columns, whose values fit their columns. Returns
    /// whether one of them is null.
    pub(crate) fn encode<'a>(
        &self,
        values: impl IntoIterator<Item = ValueRef<'a>>,
        out: &mut Vec<u8>,
    ) -> bool {
        let mut has_null = false;
        for (column, value) in self.0.iter().zip(values) {
            if column.is_nullable {
                out.push(if value.is_null() { NULL } else { PRESENT });
            }
            has_null |= value.is_null();
            push_value(value, column.column_type, out);
        }
        has_null
    }
}

/// Makes of `prefix` the first byte string after all that begin with it; `false` if there is none.
pub(crate) fn make_end_of_prefix(prefix: &mut Vec<u8>) -> bool {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX);
    prefix.truncate(last.map_or(0, |last| last + 1));
    match prefix.last_mut() {
        Some(byte) => {
            *byte += 1;
            true
        }
        None => false,
    }
}

/// The primary keys of the rows of one chunk, in row order. Their columns are never null.
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
                push_value(ValueRef::of(column, row), column.column_type(), &mut keys.data);
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

#[inline]
fn push_value(value: ValueRef<'_>, column_type: ColumnType, out: &mut Vec<u8>) {
    match value {
        ValueRef::Null => {}
        ValueRef::Int(value) => push_int(value, column_type, out),
        ValueRef::Int128(value) => out.extend_from_slice(&(value ^ i128::MIN).to_be_bytes()),
        ValueRef::Float32(value) => {
            out.extend_from_slice(&ordered_bits(f64::from(value)).to_be_bytes());
        }
        ValueRef::Float64(value) => out.extend_from_slice(&ordered_bits(value).to_be_bytes()),
        ValueRef::Bytes(value) => push_bytes(value, out),
    }
}

#[inline]
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
    let mut rest = value;
    while let Some(zero) = rest.iter().position(|&byte| byte == 0) {
        out.extend_from_slice(&rest[..=zero]);
        out.push(0xff);
        rest = &rest[zero + 1..];
    }
    out.extend_from_slice(rest);
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
    fn nulls_come_last_and_are_told_apart_from_values() {
        let definition = |name: &str, column_type| crate::schema::ColumnDef {
            name: name.into(),
            column_type,
            is_nullable: true,
            replicas: None,
        };
        let schema = TableSchema {
            name: "t".into(),
            columns: vec![
                definition("a", ColumnType::Integer),
                definition("b", ColumnType::Varchar { max_chars: None }),
            ],
            primary_key: None,
            primary_key_name: String::new(),
            replicas: None,
        };
        let columns = KeyColumns::new(&schema, &[1, 0]);
        let encode = |values: [ValueRef<'_>; 2]| {
            let mut key = Vec::new();
            let has_null = columns.encode(values, &mut key);
            assert_eq!(has_null, values.iter().any(|value| value.is_null()));
            key
        };
        let (null, text, number) =
            (ValueRef::Null, ValueRef::Bytes(b"\xff\xff"), ValueRef::Int(-1));
        let keys = [[text, number], [text, null], [null, number], [null, null]].map(encode);
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        let mut prefix = Vec::new();
        columns.encode([text], &mut prefix);
        let mut end = prefix.clone();
        assert!(make_end_of_prefix(&mut end));
        assert!(keys[..2].iter().all(|key| *key >= prefix && *key < end) && keys[2] >= end);
        assert!(columns.columns().eq([1, 0]) && columns.contains(0) && !columns.contains(2));
    }

    #[test]
    fn end_of_a_prefix_is_past_all_its_keys() {
        let end = |prefix: &[u8]| {
            let mut end = prefix.to_vec();
            make_end_of_prefix(&mut end).then_some(end)
        };
        assert_eq!(end(b"a"), Some(b"b".to_vec()));
        assert_eq!(end(b"a\xff\xff"), Some(b"b".to_vec()));
        assert_eq!(end(b"\xff"), None);
        assert_eq!(end(b""), None);
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
