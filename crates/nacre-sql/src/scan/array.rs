//! From a block to Arrow arrays.
//!
//! Every value is copied out of the mapped pool, most while it is unpacked, a vector at a time, so
//! that the copy stays in the cache until the next operator wants it. Nothing above the scan
//! points into a pool: what is lost there later is lost to nobody, and Arrow's own checks (offsets,
//! UTF-8) hold for bytes that cannot change under them.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BinaryViewArray, BooleanArray, Decimal128Array,
    PrimitiveArray, StringArray, StringViewArray, UInt32Array,
};
use datafusion::arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{
    Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use datafusion::common::DataFusionError;
use nacre_column::kernel::select_bits;
use nacre_column::{
    Block, BlockError, BlockErrorKind, ByteValues, ColumnType, Flavour, Restriction, StringValues,
    Strings,
};
use nacre_store::BlockHandle;

use crate::from_store::from_store;
use crate::types::UTC;

/// Reads one replica of one column of one chunk.
#[derive(Debug)]
pub(super) struct ColumnReader {
    handle: BlockHandle,
    /// The distinct values of a dictionary block.
    dictionary: Option<ArrayRef>,
    flavour: Flavour,
}

/// Why a vector could not be read.
#[derive(Debug)]
pub(super) enum ReadError {
    Block(BlockError),
    /// The values are none that Arrow takes.
    Array(ArrowError),
}

type Result<T> = std::result::Result<T, ReadError>;

impl ColumnReader {
    /// Prepares to read the block of `handle`.
    pub(super) fn new(handle: BlockHandle, flavour: Flavour) -> Self {
        Self { handle, dictionary: None, flavour }
    }

    /// Returns the block that is read.
    pub(super) fn handle(&self) -> &BlockHandle {
        &self.handle
    }

    /// Returns the values of `rows` of the chunk.
    pub(super) fn read(&mut self, rows: Range<usize>) -> Result<ArrayRef> {
        let handle = self.handle.clone();
        let block = handle.block()?;
        let nulls = nulls(&block, &rows);
        let flavour = self.flavour;
        let column_type = block.column_type();
        Ok(match column_type {
            ColumnType::Boolean => {
                let mut values = Vec::with_capacity(rows.len());
                block.decode_bool(flavour, rows, &mut values)?;
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
            ColumnType::TimestampTz => {
                let mut values = Vec::with_capacity(rows.len());
                block.decode_i64(flavour, rows, &mut values)?;
                let array = PrimitiveArray::<TimestampMicrosecondType>::new(values.into(), nulls);
                Arc::new(array.with_timezone(UTC))
            }
            ColumnType::Real => {
                self.primitive::<Float32Type>(&block, rows, nulls, Block::decode_f32)?
            }
            ColumnType::Double => {
                self.primitive::<Float64Type>(&block, rows, nulls, Block::decode_f64)?
            }
            ColumnType::Decimal { precision, scale } => {
                let mut values = Vec::with_capacity(rows.len());
                block.decode_i128(flavour, rows, &mut values)?;
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
        let (block, count) = (self.handle.block()?, rows.len());
        let mut words = Vec::with_capacity(count.div_ceil(64));
        select_bits(&block, self.flavour, restriction, rows, &mut words)?;
        Ok(BooleanBuffer::new(Buffer::from_vec(words), 0, count))
    }

    fn primitive<'b, T: ArrowPrimitiveType>(
        &self,
        block: &Block<'b>,
        rows: Range<usize>,
        nulls: Option<NullBuffer>,
        decode: Decode<'b, T::Native>,
    ) -> Result<ArrayRef> {
        let mut values = Vec::with_capacity(rows.len());
        decode(block, self.flavour, rows, &mut values)?;
        Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), nulls)))
    }

    fn strings(
        &mut self,
        block: &Block<'_>,
        rows: Range<usize>,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let is_text = block.column_type().is_text();
        match block.strings()? {
            Strings::Dictionary(values) => {
                let mut codes = Vec::with_capacity(rows.len());
                block.decode_codes(self.flavour, rows, &mut codes)?;
                let codes = UInt32Array::new(codes.into(), nulls);
                let dictionary = match &self.dictionary {
                    Some(dictionary) => Arc::clone(dictionary),
                    None => {
                        let (offsets, data) = copy_strings(&values, 0..values.len())?;
                        let array = string_array(offsets, data, is_text, None)?;
                        Arc::clone(self.dictionary.insert(array))
                    }
                };
                Ok(take(&dictionary, &codes, None)?)
            }
            Strings::Plain(values) => {
                let (offsets, data) = copy_strings(&values, rows)?;
                string_array(offsets, data, is_text, nulls)
            }
            Strings::Encoded => {
                let mut strings = ByteValues::default();
                block.decode_bytes(self.flavour, rows, &mut strings)?;
                string_array(strings.offsets, strings.data, is_text, nulls)
            }
        }
    }
}

/// Copies the strings `range` of `values`: their offsets, from 0 on, and their bytes.
fn copy_strings(values: &StringValues<'_>, range: Range<usize>) -> Result<(Vec<u32>, Vec<u8>)> {
    let at = |offset: &[u8; 4]| u32::from_le_bytes(*offset);
    if range.is_empty() {
        return Ok((vec![0], Vec::new()));
    }
    let offsets = values.offsets().get(range.start..=range.end).unwrap_or_default();
    let (first, last) = (offsets.first().map_or(0, at), offsets.last().map_or(0, at));
    let data = values.data().get(first as usize..last as usize).ok_or_else(|| {
        let data_bytes = values.data().len();
        let reason = format!("strings {range:?} lie at {first}..{last} of {data_bytes} bytes");
        ArrowError::InvalidArgumentError(reason)
    })?;
    // What lies below the first is wrong, and too large once it is counted from there.
    Ok((offsets.iter().map(|offset| at(offset).wrapping_sub(first)).collect(), data.to_vec()))
}

/// Copies the null bits of `rows`; `None` if the block has no null.
fn nulls(block: &Block<'_>, rows: &Range<usize>) -> Option<NullBuffer> {
    let bits = block.validity()?;
    let bytes = Buffer::from(&bits[rows.start / 8..rows.end.div_ceil(8)]);
    Some(NullBuffer::new(BooleanBuffer::new(bytes, rows.start % 8, rows.len())))
}

/// Makes an array of the strings between `offsets` in `data`.
pub(super) fn string_array(
    offsets: Vec<u32>,
    data: Vec<u8>,
    is_text: bool,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let mut last = 0;
    let is_ascending = offsets.iter().all(|&offset| std::mem::replace(&mut last, offset) <= offset);
    let is_in_data = i32::try_from(last).is_ok() && last as usize <= data.len();
    if offsets.is_empty() || !is_ascending || !is_in_data {
        let reason = format!("offsets of {} strings do not ascend", offsets.len());
        return Err(ArrowError::InvalidArgumentError(reason).into());
    }
    // All are below 2^31, so they are Arrow's signed offsets as they lie.
    let count = offsets.len();
    let offsets = OffsetBuffer::new(ScalarBuffer::new(Buffer::from_vec(offsets), 0, count));
    Ok(if is_text {
        let array = StringArray::try_new(offsets, data.into(), nulls)?;
        Arc::new(StringViewArray::from(&array))
    } else {
        let array = BinaryArray::try_new(offsets, data.into(), nulls)?;
        Arc::new(BinaryViewArray::from(&array))
    })
}

/// Unpacks rows of a block into values of an Arrow type.
type Decode<'b, T> =
    fn(&Block<'b>, Flavour, Range<usize>, &mut Vec<T>) -> std::result::Result<(), BlockError>;

impl ReadError {
    /// Tells whether the bytes are to blame, so that another replica may do better.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::Block(error) => error.kind() == BlockErrorKind::Damaged,
            Self::Array(_) => true,
        }
    }

    /// Makes the error for a block that has no better replica.
    pub(super) fn of(&self, handle: &BlockHandle) -> DataFusionError {
        external(match self {
            Self::Block(error) => handle.damaged(error),
            Self::Array(error) => handle.damage(error.to_string()),
        })
    }
}

impl From<BlockError> for ReadError {
    fn from(error: BlockError) -> Self {
        Self::Block(error)
    }
}

impl From<ArrowError> for ReadError {
    fn from(error: ArrowError) -> Self {
        Self::Array(error)
    }
}

/// Wraps an error of the store so that it comes out of DataFusion unchanged.
pub(super) fn external(error: nacre_store::Error) -> DataFusionError {
    DataFusionError::External(Box::new(from_store(error)))
}
