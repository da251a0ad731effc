//! Columns as bytes.
//!
//! # Layout
//! | part of a column | bytes |
//! |---|---|
//! | number of values | 4 |
//! | whether some are null | 1 |
//! | bits of those that are not, if some are | 8 for 64 |
//! | truth values | 8 for 64 |
//! | other values of a fixed width | that, little-endian |
//! | strings | 4 each for their lengths, then their bytes |
//!
//! Types and dictionaries are not written: whoever reads has empty columns that have them.

use crate::error::{ExecError, ExecResult};
use crate::pipeline::SlotInfo;
use crate::vector::{BitVector, ColumnVector, VectorValues};

/// Takes parts of a block from its front.
#[derive(Debug)]
pub(crate) struct BlockReader<'b> {
    rest: &'b [u8],
}

/// Makes empty columns with types and dictionaries of slots.
pub(crate) fn empty_columns<'i>(infos: impl Iterator<Item = &'i SlotInfo>) -> Vec<ColumnVector> {
    infos.map(SlotInfo::empty_column).collect()
}

/// Appends a number.
pub(crate) fn put_u32(value: usize, out: &mut Vec<u8>) {
    debug_assert!(u32::try_from(value).is_ok(), "blocks are small");
    out.extend_from_slice(&(value as u32).to_le_bytes());
}

/// Appends words.
pub(crate) fn put_words(words: &[u64], out: &mut Vec<u8>) {
    out.reserve(words.len() * 8);
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

/// Appends columns.
pub(crate) fn put_columns(columns: &[ColumnVector], out: &mut Vec<u8>) {
    columns.iter().for_each(|column| put_column(column, out));
}

fn put_column(column: &ColumnVector, out: &mut Vec<u8>) {
    use VectorValues as V;
    let len = column.values.len();
    put_u32(len, out);
    out.push(column.validity.is_some().into());
    if let Some(validity) = &column.validity {
        debug_assert_eq!(validity.len(), len);
        put_words(validity.words(), out);
    }
    macro_rules! put {
        ($values:expr) => {
            $values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()))
        };
    }
    match &column.values {
        V::Bool(bits) => put_words(bits.words(), out),
        V::Int16(values) => put!(values),
        V::Int32(values) => put!(values),
        V::Int64(values) => put!(values),
        V::Int128(values) => put!(values),
        V::Float32(values) => put!(values),
        V::Float64(values) => put!(values),
        V::Code(values) => put!(values),
        V::Bytes(values) => {
            values.views().iter().for_each(|view| put_u32(view.len(), out));
            for row in 0..values.len() {
                values.with(row, |value| out.extend_from_slice(value));
            }
        }
    }
}

impl<'b> BlockReader<'b> {
    pub(crate) fn new(block: &'b [u8]) -> Self {
        Self { rest: block }
    }

    /// Takes bytes.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if the block ends before.
    pub(crate) fn bytes(&mut self, len: usize) -> ExecResult<&'b [u8]> {
        let ended = || ExecError::internal("a block of a temporary file ends early");
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(ended)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Takes a number.
    ///
    /// # Errors
    /// As [`BlockReader::bytes`].
    pub(crate) fn u32(&mut self) -> ExecResult<usize> {
        Ok(self.array::<4>(1)?.next().map_or(0, u32::from_le_bytes) as usize)
    }

    /// Takes words.
    ///
    /// # Errors
    /// As [`BlockReader::bytes`].
    pub(crate) fn words(&mut self, count: usize) -> ExecResult<Vec<u64>> {
        Ok(self.array::<8>(count)?.map(u64::from_le_bytes).collect())
    }

    /// Takes columns; `models` are empty and have their types and dictionaries.
    ///
    /// # Errors
    /// As [`BlockReader::bytes`].
    pub(crate) fn columns(&mut self, models: &[ColumnVector]) -> ExecResult<Vec<ColumnVector>> {
        models.iter().map(|model| self.column(model)).collect()
    }

    fn array<const N: usize>(
        &mut self,
        count: usize,
    ) -> ExecResult<impl Iterator<Item = [u8; N]> + use<'b, N>> {
        let (values, _) = self.bytes(count * N)?.as_chunks::<N>();
        Ok(values.iter().copied())
    }

    fn bits(&mut self, len: usize) -> ExecResult<BitVector> {
        Ok(BitVector::from_words(self.words(len.div_ceil(64))?, len))
    }

    fn column(&mut self, model: &ColumnVector) -> ExecResult<ColumnVector> {
        use VectorValues as V;
        let len = self.u32()?;
        let has_nulls = self.bytes(1)?[0] == 1;
        let validity = has_nulls.then(|| self.bits(len)).transpose()?;
        let mut column = model.clone();
        column.validity = validity;
        macro_rules! take {
            ($values:expr, $type:ty) => {
                $values.extend(self.array(len)?.map(<$type>::from_le_bytes))
            };
        }
        match &mut column.values {
            V::Bool(bits) => *bits = self.bits(len)?,
            V::Int16(values) => take!(values, i16),
            V::Int32(values) => take!(values, i32),
            V::Int64(values) => take!(values, i64),
            V::Int128(values) => take!(values, i128),
            V::Float32(values) => take!(values, f32),
            V::Float64(values) => take!(values, f64),
            V::Code(values) => take!(values, u32),
            V::Bytes(values) => {
                for len in self.array(len)?.map(u32::from_le_bytes) {
                    values.push(self.bytes(len as usize)?);
                }
            }
        }
        Ok(column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{IntWidth, VectorType};

    #[test]
    fn columns_of_every_type_come_back() {
        let types = [
            VectorType::Bool,
            VectorType::Int(IntWidth::I16),
            VectorType::Int(IntWidth::I32),
            VectorType::Int(IntWidth::I64),
            VectorType::Int(IntWidth::I128),
            VectorType::Float32,
            VectorType::Float64,
            VectorType::Code,
            VectorType::Bytes,
        ];
        for rows in [0, 1, 63, 64, 65, 1_000] {
            let models: Vec<_> = types.into_iter().map(ColumnVector::new).collect();
            let mut columns = models.clone();
            for row in 0..rows {
                for (at, column) in columns.iter_mut().enumerate() {
                    match &mut column.values {
                        VectorValues::Bool(bits) => bits.push(row % 3 == 0),
                        VectorValues::Float32(values) => values.push(row as f32 / 3.0),
                        VectorValues::Float64(values) => values.push(-(row as f64) / 3.0),
                        VectorValues::Code(values) => values.push(row as u32),
                        VectorValues::Bytes(values) => values.push(&vec![row as u8; row % 40]),
                        values => values.push_int(5 - row as i128),
                    }
                    if (row + at) % 7 == 0 && at % 2 == 0 {
                        column.mark_last_null();
                    }
                }
            }
            columns.iter_mut().for_each(ColumnVector::fill_validity);
            let mut block = Vec::new();
            put_columns(&columns, &mut block);
            let mut reader = BlockReader::new(&block);
            let found = reader.columns(&models).unwrap();
            for (found, column) in found.iter().zip(&columns) {
                assert_eq!(found.values.len(), rows);
                (0..rows).for_each(|row| assert_eq!(found.scalar(row), column.scalar(row)));
            }
            assert!(reader.bytes(1).is_err(), "nothing is left over");
            if rows > 0 {
                let mut cut = BlockReader::new(&block[..block.len() - 1]);
                assert!(cut.columns(&models).is_err());
            }
        }
    }
}
