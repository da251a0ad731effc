//! Values of one column of one chunk before they are encoded.
//!
//! Loaders fill a [`ColumnBuffer`] row by row; [`crate::block::encode`] turns it into a block.
//!
//! # Invariants
//! 1. A null row holds the value 0 or the empty string, so kernels may run over all rows.
//! 2. `validity` exists only once there was a null; a set bit means "not null".
//! 3. `len() <= CHUNK_ROWS` and the bytes of all strings together stay at or below
//!    [`STRING_BYTES_MAX`]; loaders cut chunks so that both hold.

use crate::{CHUNK_ROWS, ColumnType, Physical};

/// Bound on the string bytes of one block: offsets are 32 bits wide and Arrow's are signed.
pub const STRING_BYTES_MAX: usize = i32::MAX as usize;

/// Typed values, one physical class per column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    Int64(Vec<i64>),
    Int128(Vec<i128>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Bytes(ByteValues),
}

/// Byte strings laid end to end: value `i` is `data[offsets[i]..offsets[i + 1]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteValues {
    pub offsets: Vec<u32>,
    pub data: Vec<u8>,
}

impl Default for ByteValues {
    fn default() -> Self {
        Self { offsets: vec![0], data: Vec::new() }
    }
}

impl ByteValues {
    /// Appends one value. The caller keeps invariant 3.
    #[inline]
    pub fn push(&mut self, value: &[u8]) {
        self.data.extend_from_slice(value);
        debug_assert!(self.data.len() <= STRING_BYTES_MAX);
        self.offsets.push(self.data.len() as u32);
    }

    fn push_placed(&mut self, heap: &[u8], places: impl ExactSizeIterator<Item = (u32, u32)>) {
        let (mut run, mut end) = (0..0, self.data.len());
        let data = &mut self.data;
        self.offsets.extend(places.map(|(offset, len)| {
            let (offset, len) = (offset as usize, len as usize);
            if offset != run.end {
                data.extend_from_slice(&heap[run.clone()]);
                run = offset..offset;
            }
            run.end += len;
            end += len;
            end as u32
        }));
        self.data.extend_from_slice(&heap[run]);
        debug_assert!(end == self.data.len() && end <= STRING_BYTES_MAX);
    }

    /// Returns how many values there are.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Tells whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns value `row`.
    ///
    /// # Panics
    /// If `row >= len()`.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        &self.data[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }
}

/// A growing bitmap, least significant bit first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    len: usize,
}

impl Bitmap {
    /// Creates a bitmap of `len` set bits.
    pub fn all_set(len: usize) -> Self {
        let mut words = vec![u64::MAX; len.div_ceil(64)];
        if !len.is_multiple_of(64)
            && let Some(last) = words.last_mut()
        {
            *last = (1 << (len % 64)) - 1;
        }
        Self { words, len }
    }

    /// Appends one bit.
    #[inline]
    pub fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        let last = self.words.len() - 1;
        self.words[last] |= u64::from(bit) << (self.len % 64);
        self.len += 1;
    }

    /// Returns bit `index`.
    ///
    /// # Panics
    /// If `index >= len()`.
    #[inline]
    pub fn get(&self, index: usize) -> bool {
        assert!(index < self.len, "bit {index} of {}", self.len);
        self.words[index / 64] >> (index % 64) & 1 == 1
    }

    /// Returns how many bits there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Tells whether there is no bit.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns how many bits are zero.
    pub fn count_zeros(&self) -> usize {
        self.len - self.words.iter().map(|word| word.count_ones() as usize).sum::<usize>()
    }

    /// Returns the bits as words; bits at or past `len()` are zero.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

/// The values of one column for the rows of one chunk, in row order.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnBuffer {
    column_type: ColumnType,
    values: Values,
    validity: Option<Bitmap>,
}

impl ColumnBuffer {
    /// Creates an empty buffer for `column_type`.
    pub fn new(column_type: ColumnType) -> Self {
        let values = match column_type.physical() {
            Physical::Int64 => Values::Int64(Vec::new()),
            Physical::Int128 => Values::Int128(Vec::new()),
            Physical::Float32 => Values::Float32(Vec::new()),
            Physical::Float64 => Values::Float64(Vec::new()),
            Physical::Bytes => Values::Bytes(ByteValues::default()),
        };
        Self { column_type, values, validity: None }
    }

    /// Returns the type it was made for.
    pub fn column_type(&self) -> ColumnType {
        self.column_type
    }

    /// Returns the values; null rows hold 0 or the empty string.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Returns the set-if-valid bits, `None` when no row is null.
    pub fn validity(&self) -> Option<&Bitmap> {
        self.validity.as_ref()
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Int64(values) => values.len(),
            Values::Int128(values) => values.len(),
            Values::Float32(values) => values.len(),
            Values::Float64(values) => values.len(),
            Values::Bytes(values) => values.len(),
        }
    }

    /// Tells whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of null rows.
    pub fn null_count(&self) -> usize {
        self.validity.as_ref().map_or(0, Bitmap::count_zeros)
    }

    /// Tells whether `row` is null.
    ///
    /// # Panics
    /// If `row >= len()` and there are nulls.
    pub fn is_null(&self, row: usize) -> bool {
        self.validity.as_ref().is_some_and(|bits| !bits.get(row))
    }

    /// Drops all rows and keeps the memory.
    pub fn clear(&mut self) {
        self.validity = None;
        match &mut self.values {
            Values::Int64(values) => values.clear(),
            Values::Int128(values) => values.clear(),
            Values::Float32(values) => values.clear(),
            Values::Float64(values) => values.clear(),
            Values::Bytes(values) => {
                values.offsets.truncate(1);
                values.data.clear();
            }
        }
    }

    /// Appends a null.
    pub fn push_null(&mut self) {
        let len = self.len();
        debug_assert!(len < CHUNK_ROWS);
        self.validity.get_or_insert_with(|| Bitmap::all_set(len)).push(false);
        match &mut self.values {
            Values::Int64(values) => values.push(0),
            Values::Int128(values) => values.push(0),
            Values::Float32(values) => values.push(0.0),
            Values::Float64(values) => values.push(0.0),
            Values::Bytes(values) => values.push(b""),
        }
    }

    /// Appends a whole number to a column of class `Int64` or `Int128`.
    ///
    /// # Panics
    /// If the column is of another class.
    #[inline]
    pub fn push_int(&mut self, value: i64) {
        match &mut self.values {
            Values::Int64(values) => values.push(value),
            Values::Int128(values) => values.push(i128::from(value)),
            _ => wrong_class(self.column_type),
        }
        self.push_valid();
    }

    /// Appends whole numbers to a column of class `Int64` or `Int128`, none of them null.
    ///
    /// # Panics
    /// If the column is of another class.
    pub fn push_ints(&mut self, values: &[i64]) {
        match &mut self.values {
            Values::Int64(target) => target.extend_from_slice(values),
            Values::Int128(target) => target.extend(values.iter().copied().map(i128::from)),
            _ => wrong_class(self.column_type),
        }
        debug_assert!(self.len() <= CHUNK_ROWS);
        if let Some(bits) = &mut self.validity {
            values.iter().for_each(|_| bits.push(true));
        }
    }

    /// Appends a whole number to a column of class `Int128`.
    ///
    /// # Panics
    /// If the column is of another class.
    #[inline]
    pub fn push_int128(&mut self, value: i128) {
        match &mut self.values {
            Values::Int128(values) => values.push(value),
            _ => wrong_class(self.column_type),
        }
        self.push_valid();
    }

    /// Appends a `real`.
    ///
    /// # Panics
    /// If the column is of another class.
    #[inline]
    pub fn push_float32(&mut self, value: f32) {
        match &mut self.values {
            Values::Float32(values) => values.push(value),
            _ => wrong_class(self.column_type),
        }
        self.push_valid();
    }

    /// Appends a `double precision`.
    ///
    /// # Panics
    /// If the column is of another class.
    #[inline]
    pub fn push_float64(&mut self, value: f64) {
        match &mut self.values {
            Values::Float64(values) => values.push(value),
            _ => wrong_class(self.column_type),
        }
        self.push_valid();
    }

    /// Appends a byte string. Text must be valid UTF-8: the caller has checked it.
    ///
    /// # Panics
    /// If the column is of another class.
    #[inline]
    pub fn push_bytes(&mut self, value: &[u8]) {
        match &mut self.values {
            Values::Bytes(values) => values.push(value),
            _ => wrong_class(self.column_type),
        }
        self.push_valid();
    }

    /// Appends strings of a heap by offset and length. Adjacent ones are copied together.
    ///
    /// # Panics
    /// As [`ColumnBuffer::push_bytes`]; if a string lies outside of the heap.
    pub fn push_placed_bytes(
        &mut self,
        heap: &[u8],
        places: impl ExactSizeIterator<Item = (u32, u32)>,
    ) {
        let Values::Bytes(values) = &mut self.values else { wrong_class(self.column_type) };
        let count = places.len();
        values.push_placed(heap, places);
        if let Some(bits) = &mut self.validity {
            (0..count).for_each(|_| bits.push(true));
        }
    }

    #[inline]
    fn push_valid(&mut self) {
        if let Some(bits) = &mut self.validity {
            bits.push(true);
        }
    }
}

#[cold]
fn wrong_class(column_type: ColumnType) -> ! {
    panic!("value of another physical class pushed to a column of type {column_type}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placed_strings_are_those_of_the_heap() {
        let heap = b"abcdefgh";
        let places = [(0, 1), (1, 2), (3, 0), (3, 2), (1, 3), (0, 0), (6, 2), (6, 2)];
        let mut buffer = ColumnBuffer::new(ColumnType::Varchar { max_chars: None });
        buffer.push_null();
        buffer.push_placed_bytes(heap, places.into_iter());
        let Values::Bytes(values) = buffer.values() else { panic!("no strings") };
        let found: Vec<&[u8]> = (0..values.len()).map(|row| values.get(row)).collect();
        let expected = ["", "a", "bc", "", "de", "bcd", "", "gh", "gh"];
        assert_eq!(found, expected.map(str::as_bytes));
        let validity = buffer.validity().map(|bits| (bits.len(), bits.words().to_vec()));
        assert_eq!(validity, Some((9, vec![0x1fe])));
    }
}
