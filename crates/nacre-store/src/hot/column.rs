//! One column of a hot chunk: an array of the type's width, updated in place.
//!
//! Strings lie end to end in a heap that is only appended to, and the array holds where: a
//! before-image is at most 16 bytes whatever the type, and stays readable after an update.
//!
//! # Invariants
//! 1. A null row holds 0 or the empty string.
//! 2. `nulls` is empty as long as no row is or was null; a set bit means null.
//! 3. `range` holds every number that was ever written, so also those of older versions, but NaN.
//!    It only widens.

use std::ops::Range;

use nacre_column::kernel::ValueSlice;
use nacre_column::{ColumnBuffer, ColumnType, Physical, STRING_BYTES_MAX};

use crate::error::{Error, Result};
use crate::value::ValueRef;

/// An insert does not begin in a chunk with more bytes of strings in a column, so that a chunk
/// can be frozen within the memory of a few blocks.
pub(crate) const HEAP_BYTES_FULL: usize = 64 << 20;

/// The values of one column.
#[derive(Debug)]
pub(crate) struct HotColumn {
    column_type: ColumnType,
    values: HotValues,
    nulls: Vec<u64>,
    range: WrittenRange,
}

/// Bounds of the numbers that were written to a column, floats by their [`float_rank`];
/// `min > max` before the first.
#[derive(Clone, Copy, Debug)]
struct WrittenRange {
    min: i128,
    max: i128,
}

/// What is known of the values of a column of a hot chunk without reading them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HotColumnRange {
    /// No snapshot sees a value other than null.
    Empty,
    /// All values that a snapshot may see lie between these, both included; there may be none at
    /// the bounds.
    Within { min: i128, max: i128 },
    /// The same of floats, but that there may be NaN.
    WithinFloats { min: f64, max: f64 },
    /// The column is of strings, or of floats of which none but NaN were written.
    Unknown,
}

#[derive(Debug)]
enum HotValues {
    I8(Vec<i8>),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    I128(Vec<i128>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bytes(HotStrings),
}

#[derive(Debug, Default)]
struct HotStrings {
    /// Offset and length in the heap.
    places: Vec<(u32, u32)>,
    heap: Vec<u8>,
}

/// What a row held before it was changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Image {
    /// The value's bits, or the place of a string.
    pub(crate) bits: [u64; 2],
    pub(crate) is_null: bool,
}

/// Returns a number that is ordered as floats are; -0 is below 0.
#[inline]
fn float_rank(value: f64) -> i128 {
    let bits = value.to_bits() as i64;
    // The bits of negative numbers rise as the numbers fall.
    (if bits < 0 { bits ^ i64::MAX } else { bits }).into()
}

/// Returns the float of a rank.
fn ranked_float(rank: i128) -> f64 {
    let rank = rank as i64;
    f64::from_bits((if rank < 0 { rank ^ i64::MAX } else { rank }) as u64)
}

impl WrittenRange {
    const EMPTY: Self = Self { min: i128::MAX, max: i128::MIN };

    /// Widens the range to a number; other values leave it as it is.
    #[inline]
    fn widen(&mut self, value: ValueRef<'_>) {
        let value = match value {
            ValueRef::Int(value) => value.into(),
            ValueRef::Int128(value) => value,
            ValueRef::Float32(value) if !value.is_nan() => float_rank(value.into()),
            ValueRef::Float64(value) if !value.is_nan() => float_rank(value),
            _ => return,
        };
        if value < self.min {
            self.min = value;
        }
        if value > self.max {
            self.max = value;
        }
    }
}

impl HotColumn {
    pub(crate) fn new(column_type: ColumnType) -> Self {
        let values = match (column_type.physical(), column_type.plain_bytes()) {
            (Physical::Int64, 1) => HotValues::I8(Vec::new()),
            (Physical::Int64, 2) => HotValues::I16(Vec::new()),
            (Physical::Int64, 4) => HotValues::I32(Vec::new()),
            (Physical::Int64, _) => HotValues::I64(Vec::new()),
            (Physical::Int128, _) => HotValues::I128(Vec::new()),
            (Physical::Float32, _) => HotValues::F32(Vec::new()),
            (Physical::Float64, _) => HotValues::F64(Vec::new()),
            (Physical::Bytes, _) => HotValues::Bytes(HotStrings::default()),
        };
        Self { column_type, values, nulls: Vec::new(), range: WrittenRange::EMPTY }
    }

    pub(super) fn column_type(&self) -> ColumnType {
        self.column_type
    }

    /// Returns bounds of the values of all versions.
    pub(crate) fn range(&self) -> HotColumnRange {
        let WrittenRange { min, max } = self.range;
        match &self.values {
            HotValues::Bytes(_) => HotColumnRange::Unknown,
            HotValues::F32(_) | HotValues::F64(_) if min > max => HotColumnRange::Unknown,
            HotValues::F32(_) | HotValues::F64(_) => {
                HotColumnRange::WithinFloats { min: ranked_float(min), max: ranked_float(max) }
            }
            _ if min > max => HotColumnRange::Empty,
            _ => HotColumnRange::Within { min, max },
        }
    }

    /// Gives back all memory; no row is read any more.
    pub(super) fn clear(&mut self) {
        *self = Self::new(self.column_type);
    }

    /// Whether a row with this value may begin here.
    pub(crate) fn has_room(&self, value: ValueRef<'_>) -> bool {
        match (&self.values, value) {
            (HotValues::Bytes(strings), ValueRef::Bytes(value)) => {
                strings.heap.is_empty() || strings.heap.len() + value.len() <= HEAP_BYTES_FULL
            }
            _ => true,
        }
    }

    /// Whether a row of the chunk may get this value.
    pub(crate) fn can_hold(&self, value: ValueRef<'_>) -> bool {
        match (&self.values, value) {
            (HotValues::Bytes(strings), ValueRef::Bytes(value)) => {
                strings.heap.len() + value.len() <= STRING_BYTES_MAX
            }
            _ => true,
        }
    }

    /// Appends a value that fits the type.
    ///
    /// # Errors
    /// [`Error::Internal`] if it is of another class.
    #[inline]
    pub(crate) fn push(&mut self, row: usize, value: ValueRef<'_>) -> Result<()> {
        match (&mut self.values, value) {
            (HotValues::I8(values), ValueRef::Int(value)) => values.push(value as i8),
            (HotValues::I16(values), ValueRef::Int(value)) => values.push(value as i16),
            (HotValues::I32(values), ValueRef::Int(value)) => values.push(value as i32),
            (HotValues::I64(values), ValueRef::Int(value)) => values.push(value),
            (HotValues::I128(values), ValueRef::Int128(value)) => values.push(value),
            (HotValues::F32(values), ValueRef::Float32(value)) => values.push(value),
            (HotValues::F64(values), ValueRef::Float64(value)) => values.push(value),
            (HotValues::Bytes(strings), ValueRef::Bytes(value)) => {
                let place = strings.append(value);
                strings.places.push(place);
            }
            (_, ValueRef::Null) => return self.push_null(row),
            _ => return Err(self.wrong_class()),
        }
        self.range.widen(value);
        if !self.nulls.is_empty() {
            self.set_null(row, false);
        }
        Ok(())
    }

    #[cold]
    fn push_null(&mut self, row: usize) -> Result<()> {
        match &mut self.values {
            HotValues::I8(values) => values.push(0),
            HotValues::I16(values) => values.push(0),
            HotValues::I32(values) => values.push(0),
            HotValues::I64(values) => values.push(0),
            HotValues::I128(values) => values.push(0),
            HotValues::F32(values) => values.push(0.0),
            HotValues::F64(values) => values.push(0.0),
            HotValues::Bytes(strings) => strings.places.push((0, 0)),
        }
        self.set_null(row, true);
        Ok(())
    }

    /// Replaces the value of a row by one that fits the type.
    ///
    /// # Errors
    /// [`Error::Internal`] if it is of another class; nothing is changed then.
    #[inline]
    pub(crate) fn set(&mut self, row: usize, value: ValueRef<'_>) -> Result<()> {
        match (&mut self.values, value) {
            (HotValues::I8(values), ValueRef::Int(value)) => values[row] = value as i8,
            (HotValues::I16(values), ValueRef::Int(value)) => values[row] = value as i16,
            (HotValues::I32(values), ValueRef::Int(value)) => values[row] = value as i32,
            (HotValues::I64(values), ValueRef::Int(value)) => values[row] = value,
            (HotValues::I128(values), ValueRef::Int128(value)) => values[row] = value,
            (HotValues::F32(values), ValueRef::Float32(value)) => values[row] = value,
            (HotValues::F64(values), ValueRef::Float64(value)) => values[row] = value,
            (HotValues::Bytes(strings), ValueRef::Bytes(value)) => {
                strings.places[row] = strings.append(value);
            }
            (_, ValueRef::Null) => {
                self.restore(row, Image { bits: [0; 2], is_null: true });
                return Ok(());
            }
            _ => return Err(self.wrong_class()),
        }
        self.range.widen(value);
        if !self.nulls.is_empty() {
            self.set_null(row, false);
        }
        Ok(())
    }

    /// Returns the value of a row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> ValueRef<'_> {
        if !self.nulls.is_empty() && self.is_null(row) {
            return ValueRef::Null;
        }
        match &self.values {
            HotValues::I8(values) => ValueRef::Int(values[row].into()),
            HotValues::I16(values) => ValueRef::Int(values[row].into()),
            HotValues::I32(values) => ValueRef::Int(values[row].into()),
            HotValues::I64(values) => ValueRef::Int(values[row]),
            HotValues::I128(values) => ValueRef::Int128(values[row]),
            HotValues::F32(values) => ValueRef::Float32(values[row]),
            HotValues::F64(values) => ValueRef::Float64(values[row]),
            HotValues::Bytes(strings) => ValueRef::Bytes(strings.get(strings.places[row])),
        }
    }

    /// Returns what has to be kept of a row before it is changed.
    #[inline]
    pub(crate) fn image(&self, row: usize) -> Image {
        let bits = match &self.values {
            HotValues::I8(values) => [values[row] as u64, 0],
            HotValues::I16(values) => [values[row] as u64, 0],
            HotValues::I32(values) => [values[row] as u64, 0],
            HotValues::I64(values) => [values[row] as u64, 0],
            HotValues::I128(values) => [values[row] as u64, (values[row] >> 64) as u64],
            HotValues::F32(values) => [values[row].to_bits().into(), 0],
            HotValues::F64(values) => [values[row].to_bits(), 0],
            HotValues::Bytes(strings) => {
                let (offset, len) = strings.places[row];
                [offset.into(), len.into()]
            }
        };
        Image { bits, is_null: !self.nulls.is_empty() && self.is_null(row) }
    }

    /// Puts a row back to what it was.
    pub(crate) fn restore(&mut self, row: usize, image: Image) {
        let [low, high] = image.bits;
        match &mut self.values {
            HotValues::I8(values) => values[row] = low as i8,
            HotValues::I16(values) => values[row] = low as i16,
            HotValues::I32(values) => values[row] = low as i32,
            HotValues::I64(values) => values[row] = low as i64,
            HotValues::I128(values) => values[row] = wide(image.bits),
            HotValues::F32(values) => values[row] = f32::from_bits(low as u32),
            HotValues::F64(values) => values[row] = f64::from_bits(low),
            HotValues::Bytes(strings) => strings.places[row] = (low as u32, high as u32),
        }
        if image.is_null || !self.nulls.is_empty() {
            self.set_null(row, image.is_null);
        }
    }

    /// Returns the value that an image of this column stands for.
    pub(crate) fn value_of(&self, image: Image) -> ValueRef<'_> {
        if image.is_null {
            return ValueRef::Null;
        }
        let [low, high] = image.bits;
        match &self.values {
            HotValues::I8(_) | HotValues::I16(_) | HotValues::I32(_) | HotValues::I64(_) => {
                ValueRef::Int(low as i64)
            }
            HotValues::I128(_) => ValueRef::Int128(wide(image.bits)),
            HotValues::F32(_) => ValueRef::Float32(f32::from_bits(low as u32)),
            HotValues::F64(_) => ValueRef::Float64(f64::from_bits(low)),
            HotValues::Bytes(strings) => ValueRef::Bytes(strings.get((low as u32, high as u32))),
        }
    }

    /// Appends the values of some rows to a buffer of the column's type.
    pub(crate) fn copy_to(&self, rows: Range<usize>, out: &mut ColumnBuffer) {
        let has_nulls = !self.nulls.is_empty() && rows.clone().any(|row| self.is_null(row));
        if has_nulls {
            rows.for_each(|row| self.get(row).push_to(out));
            return;
        }
        match &self.values {
            HotValues::I8(values) => extend_ints(&values[rows], out),
            HotValues::I16(values) => extend_ints(&values[rows], out),
            HotValues::I32(values) => extend_ints(&values[rows], out),
            HotValues::I64(values) => out.push_ints(&values[rows]),
            HotValues::Bytes(strings) => {
                out.push_placed_bytes(&strings.heap, strings.places[rows].iter().copied());
            }
            _ => rows.for_each(|row| self.get(row).push_to(out)),
        }
    }

    /// Appends the values of the rows at `positions`, counted from `start`, to a buffer of the
    /// column's type.
    pub(super) fn gather_to(&self, start: usize, positions: &[u16], out: &mut ColumnBuffer) {
        let row = |position: &u16| start + usize::from(*position);
        if self.has_nulls() {
            positions.iter().for_each(|position| self.get(row(position)).push_to(out));
            return;
        }
        match &self.values {
            HotValues::I8(values) => gather_ints(&values[start..], positions, out),
            HotValues::I16(values) => gather_ints(&values[start..], positions, out),
            HotValues::I32(values) => gather_ints(&values[start..], positions, out),
            HotValues::I64(values) => gather_ints(&values[start..], positions, out),
            HotValues::Bytes(strings) => {
                let places = &strings.places[start..];
                let place = |position: &u16| places[usize::from(*position)];
                out.push_placed_bytes(&strings.heap, positions.iter().map(place));
            }
            _ => positions.iter().for_each(|position| self.get(row(position)).push_to(out)),
        }
    }

    /// Returns the numbers of some rows where they lie; `None` for strings.
    pub(super) fn slice(&self, rows: Range<usize>) -> Option<ValueSlice<'_>> {
        Some(match &self.values {
            HotValues::I8(values) => ValueSlice::Int8(&values[rows]),
            HotValues::I16(values) => ValueSlice::Int16(&values[rows]),
            HotValues::I32(values) => ValueSlice::Int32(&values[rows]),
            HotValues::I64(values) => ValueSlice::Int64(&values[rows]),
            HotValues::I128(values) => ValueSlice::Int128(&values[rows]),
            HotValues::F32(values) => ValueSlice::Float32(&values[rows]),
            HotValues::F64(values) => ValueSlice::Float64(&values[rows]),
            HotValues::Bytes(_) => return None,
        })
    }

    /// Returns offset and length in the heap of all strings; none of a column of numbers. Nulls
    /// are empty.
    pub(super) fn string_places(&self) -> &[(u32, u32)] {
        match &self.values {
            HotValues::Bytes(strings) => &strings.places,
            _ => &[],
        }
    }

    /// Returns the string of a row; `None` of a null or a number.
    #[inline]
    pub(super) fn string(&self, row: usize) -> Option<&[u8]> {
        match self.get(row) {
            ValueRef::Bytes(value) => Some(value),
            _ => None,
        }
    }

    /// Whether values are strings.
    pub(super) fn has_strings(&self) -> bool {
        matches!(self.values, HotValues::Bytes(_))
    }

    /// Whether some row may be null.
    pub(super) fn has_nulls(&self) -> bool {
        !self.nulls.is_empty()
    }

    /// Returns the 64-bit numbers of the column if it is of such numbers.
    pub(crate) fn as_i64(&self) -> Option<&[i64]> {
        match &self.values {
            HotValues::I64(values) => Some(values),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.nulls.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    fn set_null(&mut self, row: usize, is_null: bool) {
        let word = row / 64;
        if word >= self.nulls.len() {
            if !is_null {
                return;
            }
            self.nulls.resize(word + 1, 0);
        }
        let bit = 1 << (row % 64);
        match is_null {
            true => self.nulls[word] |= bit,
            false => self.nulls[word] &= !bit,
        }
    }

    #[cold]
    fn wrong_class(&self) -> Error {
        Error::Internal {
            reason: format!("a value of another class for a column of type {}", self.column_type),
        }
    }
}

impl HotStrings {
    fn append(&mut self, value: &[u8]) -> (u32, u32) {
        let offset = self.heap.len() as u32;
        self.heap.extend_from_slice(value);
        (offset, value.len() as u32)
    }

    fn get(&self, (offset, len): (u32, u32)) -> &[u8] {
        &self.heap[offset as usize..offset as usize + len as usize]
    }
}

fn wide([low, high]: [u64; 2]) -> i128 {
    (u128::from(high) << 64 | u128::from(low)) as i128
}

/// Numbers that are widened at a time: 2 KiB on the stack.
const WIDENED: usize = 256;

fn extend_ints<T: Copy + Into<i64>>(values: &[T], out: &mut ColumnBuffer) {
    let mut wide = [0; WIDENED];
    for some in values.chunks(WIDENED) {
        for (target, value) in wide.iter_mut().zip(some) {
            *target = (*value).into();
        }
        out.push_ints(&wide[..some.len()]);
    }
}

fn gather_ints<T: Copy + Into<i64>>(values: &[T], positions: &[u16], out: &mut ColumnBuffer) {
    let mut wide = [0; WIDENED];
    for some in positions.chunks(WIDENED) {
        for (target, position) in wide.iter_mut().zip(some) {
            *target = values[usize::from(*position)].into();
        }
        out.push_ints(&wide[..some.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Value;

    #[test]
    fn image_of_every_type_restores_the_value() {
        let text = |text: &str| Value::Bytes(text.as_bytes().to_vec());
        let wide = ColumnType::Decimal { precision: 38, scale: 0 };
        let cases = [
            (ColumnType::Boolean, Value::Int(1), Value::Int(0)),
            (ColumnType::SmallInt, Value::Int(-32_768), Value::Int(7)),
            (ColumnType::Integer, Value::Int(-1), Value::Int(i64::from(i32::MAX))),
            (ColumnType::BigInt, Value::Int(i64::MIN), Value::Int(-5)),
            (wide, Value::Int128(-(10_i128.pow(37))), Value::Int128(3)),
            (ColumnType::Real, Value::Float32(-0.0), Value::Float32(1.5)),
            (ColumnType::Double, Value::Float64(-1e300), Value::Float64(f64::MIN_POSITIVE)),
            (ColumnType::Bytea, text("before"), text("")),
        ];
        for (column_type, before, after) in cases {
            for (before, after) in
                [(&before, &after), (&Value::Null, &after), (&before, &Value::Null)]
            {
                let mut column = HotColumn::new(column_type);
                column.push(0, after.as_ref()).unwrap();
                column.push(1, before.as_ref()).unwrap();
                let image = column.image(1);
                column.set(1, after.as_ref()).unwrap();
                assert_eq!(column.get(1), after.as_ref());
                assert_eq!(column.value_of(image), before.as_ref(), "{column_type}");
                column.restore(1, image);
                assert_eq!(column.get(1), before.as_ref());
                assert_eq!(column.get(0), after.as_ref());
                let mut buffer = ColumnBuffer::new(column_type);
                column.copy_to(0..2, &mut buffer);
                assert_eq!(ValueRef::of(&buffer, 1), before.as_ref());
            }
        }
    }

    #[test]
    fn range_holds_what_older_versions_hold() {
        let mut column = HotColumn::new(ColumnType::Integer);
        assert_eq!(column.range(), HotColumnRange::Empty);
        column.push(0, ValueRef::Null).unwrap();
        assert_eq!(column.range(), HotColumnRange::Empty, "a null is no value");
        column.push(1, ValueRef::Int(7)).unwrap();
        let before = column.image(1);
        column.set(1, ValueRef::Int(-3)).unwrap();
        assert_eq!(column.range(), HotColumnRange::Within { min: -3, max: 7 });
        column.restore(1, before);
        column.set(1, ValueRef::Null).unwrap();
        assert_eq!(column.range(), HotColumnRange::Within { min: -3, max: 7 });
        column.clear();
        assert_eq!(column.range(), HotColumnRange::Empty);
        let mut wide = HotColumn::new(ColumnType::Decimal { precision: 38, scale: 0 });
        wide.push(0, ValueRef::Int128(i128::MIN)).unwrap();
        assert_eq!(wide.range(), HotColumnRange::Within { min: i128::MIN, max: i128::MIN });
    }

    #[test]
    fn range_of_floats_only_widens() {
        for column_type in [ColumnType::Double, ColumnType::Real] {
            let value = |number: f64| match column_type {
                ColumnType::Real => ValueRef::Float32(number as f32),
                _ => ValueRef::Float64(number),
            };
            let mut column = HotColumn::new(column_type);
            assert_eq!(column.range(), HotColumnRange::Unknown);
            column.push(0, value(f64::NAN)).unwrap();
            assert_eq!(column.range(), HotColumnRange::Unknown, "NaN lies within no bounds");
            let mut wanted = (f64::INFINITY, f64::NEG_INFINITY);
            for (row, number) in (1..).zip([2.0, -0.0, -1.5, f64::INFINITY, f64::from(-1e30_f32)]) {
                column.push(row, value(number)).unwrap();
                wanted = (wanted.0.min(number), wanted.1.max(number));
                let (min, max) = wanted;
                assert_eq!(column.range(), HotColumnRange::WithinFloats { min, max });
                column.set(row, value(2.0)).unwrap();
                assert_eq!(column.range(), HotColumnRange::WithinFloats { min, max });
            }
        }
        assert_eq!(
            HotColumn::new(ColumnType::Varchar { max_chars: None }).range(),
            HotColumnRange::Unknown
        );
    }

    #[test]
    fn value_of_another_class_is_an_error() {
        let mut column = HotColumn::new(ColumnType::Integer);
        assert!(column.push(0, ValueRef::Float64(1.0)).is_err());
        column.push(0, ValueRef::Int(1)).unwrap();
        assert!(column.set(0, ValueRef::Bytes(b"x")).is_err());
        assert_eq!(column.get(0), ValueRef::Int(1));
    }

    #[test]
    fn full_heap_takes_no_more_rows() {
        let mut column = HotColumn::new(ColumnType::Bytea);
        let long = vec![0; HEAP_BYTES_FULL];
        assert!(column.has_room(ValueRef::Bytes(&[0; 1])));
        column.push(0, ValueRef::Bytes(&long)).unwrap();
        assert!(!column.has_room(ValueRef::Bytes(b"x")) && column.can_hold(ValueRef::Bytes(b"x")));
    }
}
