//! From a block to Arrow arrays, copying nothing that can be shared.
//!
//! Null bits, plain fixed-width values and the bytes of strings are handed on where they lie in
//! the mapped pool; packed numbers and dictionary codes are unpacked vector by vector.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BinaryViewArray, BooleanArray, Decimal128Array,
    PrimitiveArray, StringArray, StringViewArray, UInt32Array,
};
use datafusion::arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{
    Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use datafusion::common::{DataFusionError, Result};
use nacre_column::kernel::select_bits;
use nacre_column::{Block, BlockError, ColumnType, Flavour, Restriction, StringValues, Strings};
use nacre_store::{AccessHint, BlockHandle, Chunk};

use crate::from_store::from_store;

/// Reads one column of one chunk.
#[derive(Debug)]
pub(super) struct ColumnReader {
    handle: BlockHandle,
    /// The block's bytes, shared with every array made of them.
    bytes: Buffer,
    /// The distinct values of a dictionary block.
    dictionary: Option<ArrayRef>,
    flavour: Flavour,
}

impl ColumnReader {
    pub(super) fn new(chunk: &Chunk, column: usize, flavour: Flavour) -> Result<Self> {
        let handle = chunk.read(column, AccessHint::Sequential).map_err(external)?;
        let bytes = Buffer::from(Bytes::from_owner(handle.bytes().clone()));
        let mut reader = Self { handle, bytes, dictionary: None, flavour };
        let block = reader.block()?;
        if block.column_type().plain_bytes() == 0
            && let Strings::Dictionary(values) = block.strings().map_err(|e| reader.damaged(e))?
        {
            let values =
                reader.string_array(&values, 0..values.len(), block.column_type(), None)?;
            reader.dictionary = Some(values);
        }
        Ok(reader)
    }

    /// Returns the block that is read.
    pub(super) fn handle(&self) -> &BlockHandle {
        &self.handle
    }

    /// Returns an error if a page of the block was lost.
    pub(super) fn check(&self) -> Result<()> {
        self.handle.check().map_err(external)
    }

    /// Returns the values of `rows` of the chunk.
    pub(super) fn read(&self, rows: Range<usize>) -> Result<ArrayRef> {
        let block = self.block()?;
        let nulls = self.nulls(&block, &rows);
        let column_type = block.column_type();
        Ok(match column_type {
            ColumnType::Boolean => {
                let mut values = Vec::with_capacity(rows.len());
                block
                    .decode_bool(self.flavour, rows, &mut values)
                    .map_err(|error| self.damaged(error))?;
                Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls))
            }
            ColumnType::SmallInt => {
                self.primitive::<Int16Type>(&block, rows, nulls, Block::decode_i16)?
            }
            ColumnType::Integer => {
                self.primitive::<Int32Type>(&block, rows, nulls, Block::decode_i32)?
            }
            ColumnType::BigInt => {
                self.primitive::<Int64Type>(&block, rows, nulls, Block::decode_i64)?
            }
            ColumnType::Date => {
                self.primitive::<Date32Type>(&block, rows, nulls, Block::decode_i32)?
            }
            ColumnType::Timestamp => {
                self.primitive::<TimestampMicrosecondType>(&block, rows, nulls, Block::decode_i64)?
            }
            ColumnType::Real => {
                self.primitive::<Float32Type>(&block, rows, nulls, Block::decode_f32)?
            }
            ColumnType::Double => {
                self.primitive::<Float64Type>(&block, rows, nulls, Block::decode_f64)?
            }
            ColumnType::Decimal { precision, scale } => {
                let mut values = Vec::with_capacity(rows.len());
                block
                    .decode_i128(self.flavour, rows, &mut values)
                    .map_err(|error| self.damaged(error))?;
                let array = Decimal128Array::new(values.into(), nulls);
                Arc::new(array.with_precision_and_scale(precision, scale as i8)?)
            }
            ColumnType::Varchar { .. } | ColumnType::Char { .. } | ColumnType::Bytea => {
                self.strings(&block, rows, nulls)?
            }
        })
    }

    /// Returns which of `rows` of the chunk match, evaluated on the encoded values.
    pub(super) fn select(
        &self,
        restriction: &Restriction,
        rows: Range<usize>,
    ) -> Result<BooleanBuffer> {
        let (block, count) = (self.block()?, rows.len());
        let mut words = Vec::with_capacity(count.div_ceil(64));
        select_bits(&block, self.flavour, restriction, rows, &mut words)
            .map_err(|error| self.damaged(error))?;
        Ok(BooleanBuffer::new(Buffer::from_vec(words), 0, count))
    }

    fn block(&self) -> Result<Block<'_>> {
        self.handle.block().map_err(|error| self.damaged(error))
    }

    fn damaged(&self, error: BlockError) -> DataFusionError {
        external(self.handle.damaged(&error))
    }

    fn nulls(&self, block: &Block<'_>, rows: &Range<usize>) -> Option<NullBuffer> {
        let section = block.validity_range()?;
        let bits = self.bytes.slice_with_length(section.start, section.len());
        touch(&bits[rows.start / 8..bits.len().min(rows.end.div_ceil(8))]);
        Some(NullBuffer::new(BooleanBuffer::new(bits, rows.start, rows.len())))
    }

    fn primitive<'b, T: ArrowPrimitiveType>(
        &self,
        block: &Block<'b>,
        rows: Range<usize>,
        nulls: Option<NullBuffer>,
        decode: Decode<'b, T::Native>,
    ) -> Result<ArrayRef> {
        let width = size_of::<T::Native>();
        let values = match block.plain_values_range() {
            // Plain values have the width of their type, as Arrow's have.
            Some(section) if section.len() == block.rows() * width => {
                touch(&self.bytes[section.start..][rows.start * width..rows.end * width]);
                ScalarBuffer::new(self.bytes.slice(section.start), rows.start, rows.len())
            }
            _ => {
                let mut values = Vec::with_capacity(rows.len());
                decode(block, self.flavour, rows, &mut values)
                    .map_err(|error| self.damaged(error))?;
                values.into()
            }
        };
        Ok(Arc::new(PrimitiveArray::<T>::new(values, nulls)))
    }

    fn strings(
        &self,
        block: &Block<'_>,
        rows: Range<usize>,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        if let Some(dictionary) = &self.dictionary {
            let mut codes = Vec::with_capacity(rows.len());
            block
                .decode_codes(self.flavour, rows, &mut codes)
                .map_err(|error| self.damaged(error))?;
            return Ok(take(dictionary, &UInt32Array::new(codes.into(), nulls), None)?);
        }
        match block.strings().map_err(|error| self.damaged(error))? {
            Strings::Plain(values) | Strings::Dictionary(values) => {
                self.string_array(&values, rows, block.column_type(), nulls)
            }
        }
    }

    /// Makes an array of the strings `range` of `values` over the block's own bytes.
    fn string_array(
        &self,
        values: &StringValues<'_>,
        range: Range<usize>,
        column_type: ColumnType,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        // Offsets are stored as u32 below 2^31, so they are Arrow's i32 offsets as they lie. They
        // are copied all the same: Arrow relies on them after it has looked at them once, which is
        // not safe with memory that can be lost in between.
        let offsets = self.bytes.slice(values.offsets_range().start);
        let offsets = ScalarBuffer::<i32>::new(offsets, range.start, range.len() + 1).to_vec();
        let data_range = values.data_range();
        let mut last = 0;
        let is_ascending =
            offsets.iter().all(|&offset| std::mem::replace(&mut last, offset) <= offset);
        if !is_ascending || last as usize > data_range.len() {
            let reason = format!("string offsets of rows {range:?} do not ascend");
            return Err(external(self.handle.damage(reason)));
        }
        let offsets = OffsetBuffer::new(offsets.into());
        let data = self.bytes.slice_with_length(data_range.start, data_range.len());
        Ok(if column_type.is_text() {
            let array = StringArray::try_new(offsets, data, nulls)?;
            Arc::new(StringViewArray::from(&array))
        } else {
            let array = BinaryArray::try_new(offsets, data, nulls)?;
            Arc::new(BinaryViewArray::from(&array))
        })
    }
}

/// Loads a byte of every page of what is handed on unread, so that a page that is gone is noticed
/// here and not by whoever uses it.
fn touch(bytes: &[u8]) {
    // The smallest page of any machine that we run on.
    for page in bytes.chunks(4096) {
        std::hint::black_box(page[0]);
    }
    std::hint::black_box(bytes.last());
}

/// Unpacks rows of a block into values of an Arrow type.
type Decode<'b, T> =
    fn(&Block<'b>, Flavour, Range<usize>, &mut Vec<T>) -> std::result::Result<(), BlockError>;

/// Wraps an error of the store so that it comes out of DataFusion unchanged.
pub(super) fn external(error: nacre_store::Error) -> DataFusionError {
    DataFusionError::External(Box::new(from_store(error)))
}
