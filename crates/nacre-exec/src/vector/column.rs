//! The values of one column of a batch.

use std::sync::Arc;

use super::{BitVector, DictionaryReader, QueryDictionary, StringColumn};
use nacre_types::ValueError;

use crate::error::{ExecError, ExecResult};
use crate::value::{IntWidth, ScalarValue, VectorType};

/// Refuses more bytes of strings in a vector than its 32-bit offsets reach.
///
/// # Errors
/// 54000.
pub(crate) fn require_string_room(bytes: usize, more: usize) -> ExecResult<()> {
    if bytes + more <= u32::MAX as usize {
        return Ok(());
    }
    let message = "values of one vector have more than 4 GB";
    Err(ExecError::of_value(ValueError::limit_exceeded(message)))
}

/// Values of one physical type.
#[derive(Clone, Debug)]
pub enum VectorValues {
    Bool(BitVector),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Int128(Vec<i128>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    Code(Vec<u32>),
    Bytes(StringColumn),
}

/// Values and which of them are not null.
#[derive(Clone, Debug)]
pub struct ColumnVector {
    pub values: VectorValues,
    /// Set bits are not null; `None` if nothing is.
    pub validity: Option<BitVector>,
    /// The strings of codes.
    pub dictionary: Option<Arc<QueryDictionary>>,
}

/// Evaluates `$work` with `$values` as the values, whatever their type.
macro_rules! with_values {
    ($vector:expr, $values:ident => $work:expr) => {
        match $vector {
            VectorValues::Bool($values) => $work,
            VectorValues::Int16($values) => $work,
            VectorValues::Int32($values) => $work,
            VectorValues::Int64($values) => $work,
            VectorValues::Int128($values) => $work,
            VectorValues::Float32($values) => $work,
            VectorValues::Float64($values) => $work,
            VectorValues::Code($values) => $work,
            VectorValues::Bytes($values) => $work,
        }
    };
}

impl VectorValues {
    /// Makes no values of a type.
    pub fn new(vector_type: VectorType) -> Self {
        match vector_type {
            VectorType::Bool => Self::Bool(BitVector::default()),
            VectorType::Int(IntWidth::I16) => Self::Int16(Vec::new()),
            VectorType::Int(IntWidth::I32) => Self::Int32(Vec::new()),
            VectorType::Int(IntWidth::I64) => Self::Int64(Vec::new()),
            VectorType::Int(IntWidth::I128) => Self::Int128(Vec::new()),
            VectorType::Float32 => Self::Float32(Vec::new()),
            VectorType::Float64 => Self::Float64(Vec::new()),
            VectorType::Code => Self::Code(Vec::new()),
            VectorType::Bytes => Self::Bytes(StringColumn::default()),
        }
    }

    /// Returns how the values lie.
    pub fn vector_type(&self) -> VectorType {
        match self {
            Self::Bool(_) => VectorType::Bool,
            Self::Int16(_) => VectorType::Int(IntWidth::I16),
            Self::Int32(_) => VectorType::Int(IntWidth::I32),
            Self::Int64(_) => VectorType::Int(IntWidth::I64),
            Self::Int128(_) => VectorType::Int(IntWidth::I128),
            Self::Float32(_) => VectorType::Float32,
            Self::Float64(_) => VectorType::Float64,
            Self::Code(_) => VectorType::Code,
            Self::Bytes(_) => VectorType::Bytes,
        }
    }

    /// Returns how many values there are.
    pub fn len(&self) -> usize {
        with_values!(self, values => values.len())
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops all values and keeps the memory.
    pub fn clear(&mut self) {
        with_values!(self, values => values.clear());
    }

    /// Drops values from the end.
    pub fn truncate(&mut self, len: usize) {
        with_values!(self, values => values.truncate(len));
    }

    /// Returns the whole number at `row`; `None` in other types.
    #[inline]
    pub fn int(&self, row: usize) -> Option<i128> {
        match self {
            Self::Int16(values) => Some(values[row].into()),
            Self::Int32(values) => Some(values[row].into()),
            Self::Int64(values) => Some(values[row].into()),
            Self::Int128(values) => Some(values[row]),
            _ => None,
        }
    }

    /// Appends a whole number, cut down to the width.
    #[inline]
    pub fn push_int(&mut self, value: i128) {
        match self {
            Self::Int16(values) => values.push(value as i16),
            Self::Int32(values) => values.push(value as i32),
            Self::Int64(values) => values.push(value as i64),
            Self::Int128(values) => values.push(value),
            _ => debug_assert!(false, "a whole number for other values"),
        }
    }

    /// Appends what stands for a null.
    pub fn push_default(&mut self) {
        match self {
            Self::Bool(values) => values.push(false),
            Self::Int16(values) => values.push(0),
            Self::Int32(values) => values.push(0),
            Self::Int64(values) => values.push(0),
            Self::Int128(values) => values.push(0),
            Self::Float32(values) => values.push(0.0),
            Self::Float64(values) => values.push(0.0),
            Self::Code(values) => values.push(0),
            Self::Bytes(values) => values.push(b""),
        }
    }

    /// Returns the values at `positions`.
    pub fn gathered(&self, positions: &[u16]) -> Self {
        fn pick<T: Copy>(values: &[T], positions: &[u16]) -> Vec<T> {
            positions.iter().map(|position| values[usize::from(*position)]).collect()
        }
        match self {
            Self::Bool(values) => {
                let mut bits = BitVector::default();
                bits.extend_gathered(values, positions);
                Self::Bool(bits)
            }
            Self::Int16(values) => Self::Int16(pick(values, positions)),
            Self::Int32(values) => Self::Int32(pick(values, positions)),
            Self::Int64(values) => Self::Int64(pick(values, positions)),
            Self::Int128(values) => Self::Int128(pick(values, positions)),
            Self::Float32(values) => Self::Float32(pick(values, positions)),
            Self::Float64(values) => Self::Float64(pick(values, positions)),
            Self::Code(values) => Self::Code(pick(values, positions)),
            Self::Bytes(values) => Self::Bytes(values.gathered(positions)),
        }
    }
}

impl Default for ColumnVector {
    fn default() -> Self {
        Self::new(VectorType::Bool)
    }
}

impl ColumnVector {
    /// Makes no values of a type.
    pub fn new(vector_type: VectorType) -> Self {
        Self { values: VectorValues::new(vector_type), validity: None, dictionary: None }
    }

    /// Drops all values and keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.validity = None;
    }

    /// Tells whether `row` is null.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.validity.as_ref().is_some_and(|bits| !bits.get(row))
    }

    /// Appends a value of this column's class, or null.
    ///
    /// # Errors
    /// [`ExecError::Internal`] for a value of another class, 54000 for strings beyond 4 GiB.
    pub(crate) fn push_scalar(&mut self, scalar: &ScalarValue) -> ExecResult<()> {
        match (scalar, &mut self.values) {
            (ScalarValue::Null(_), values) => {
                values.push_default();
                self.mark_last_null();
            }
            (ScalarValue::Bool(value), VectorValues::Bool(bits)) => bits.push(*value),
            (ScalarValue::Float32(value), VectorValues::Float32(all)) => all.push(*value),
            (ScalarValue::Float64(value), VectorValues::Float64(all)) => all.push(*value),
            (ScalarValue::Int(value), values) => values.push_int(*value),
            (ScalarValue::Bytes(value), VectorValues::Bytes(all)) => {
                require_string_room(all.heap().len(), value.len())?;
                all.push(value);
            }
            _ => return Err(ExecError::internal("a value of another class")),
        }
        Ok(())
    }

    /// Makes the last value null, which was appended just now.
    pub fn mark_last_null(&mut self) {
        let len = self.values.len();
        let validity = self.validity.get_or_insert_with(|| BitVector::filled(len, true));
        validity.resize(len, true);
        validity.set(len - 1, false);
    }

    /// Appends valid bits for values that were appended since.
    pub fn fill_validity(&mut self) {
        let len = self.values.len();
        if let Some(validity) = &mut self.validity {
            validity.resize(len, true);
        }
    }

    /// Returns the values at `positions`.
    pub fn gathered(&self, positions: &[u16]) -> Self {
        let validity = self.validity.as_ref().map(|bits| {
            let mut gathered = BitVector::default();
            gathered.extend_gathered(bits, positions);
            gathered
        });
        let values = self.values.gathered(positions);
        Self { values, validity, dictionary: self.dictionary.clone() }
    }

    /// Returns the strings of codes, to be looked up for a whole vector.
    pub fn dictionary_reader(&self) -> Option<DictionaryReader<'_>> {
        self.dictionary.as_deref().map(QueryDictionary::read)
    }

    /// Gives `with` the string at `row`, which is of a string column; `reader` is that of
    /// [`ColumnVector::dictionary_reader`].
    #[inline]
    pub fn with_bytes<T>(
        &self,
        row: usize,
        reader: Option<&DictionaryReader<'_>>,
        with: impl FnOnce(&[u8]) -> T,
    ) -> T {
        match (&self.values, reader) {
            (VectorValues::Bytes(values), _) => values.with(row, with),
            (VectorValues::Code(codes), Some(reader)) => with(reader.get(codes[row])),
            _ => with(b""),
        }
    }

    /// Returns the value at `row`.
    pub fn scalar(&self, row: usize) -> ScalarValue {
        if self.is_null(row) {
            return ScalarValue::Null(self.values.vector_type().class());
        }
        match &self.values {
            VectorValues::Bool(values) => ScalarValue::Bool(values.get(row)),
            VectorValues::Float32(values) => ScalarValue::Float32(values[row]),
            VectorValues::Float64(values) => ScalarValue::Float64(values[row]),
            VectorValues::Code(_) | VectorValues::Bytes(_) => {
                let reader = self.dictionary_reader();
                let bytes = self.with_bytes(row, reader.as_ref(), <[u8]>::to_vec);
                ScalarValue::Bytes(bytes)
            }
            values => ScalarValue::Int(values.int(row).unwrap_or(0)),
        }
    }

    /// Returns about how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let rows = self.values.len();
        let values = match &self.values {
            VectorValues::Bool(_) => rows.div_ceil(8),
            VectorValues::Int16(_) => rows * 2,
            VectorValues::Int32(_) | VectorValues::Float32(_) | VectorValues::Code(_) => rows * 4,
            VectorValues::Int64(_) | VectorValues::Float64(_) => rows * 8,
            VectorValues::Int128(_) => rows * 16,
            VectorValues::Bytes(values) => values.bytes(),
        };
        values + self.validity.as_ref().map_or(0, |bits| bits.len().div_ceil(8))
    }
}
