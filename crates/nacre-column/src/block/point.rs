//! Single values of a block whose header was read before.
//!
//! Opening a block reads and checks a header of 192 bytes, which takes several times as long as
//! finding one value. A [`PointReader`] is what opening found out, without the bytes: whoever
//! keeps the bytes mapped keeps it beside them, and hands them in with each row.
//!
//! # Invariants
//! 1. Whatever the bytes are, a reader stays within them and does not panic, also if they changed
//!    since it was made; then it gives an error or a wrong value, as [`Block`] does.
//! # See
//! Bench `rows` of `nacre-store`.

use super::header::{Extent, Section};
use super::read::Block;
use crate::format::integer::Integer;
use crate::format::keys::{self, KeyFormat, KeyReader, SectionBytes, Shape};
use crate::format::lanes::Groups512;
use crate::format::plain::{self, StringValues};
use crate::format::static_bp::StaticBp;
use crate::format::texts::Texts;
use crate::{BlockError, Format, Physical};

/// Finds single values in the bytes of one block.
#[derive(Clone, Debug)]
pub struct PointReader {
    block_bytes: usize,
    physical: Physical,
    format: Format,
    has_nulls: bool,
    /// Bytes of a value in plain.
    plain_bytes: usize,
    shape: Shape,
    base: i128,
    sections: [Extent; 4],
}

/// A value of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum PointValue {
    #[default]
    Null,
    Int(i64),
    Int128(i128),
    Float32(f32),
    Float64(f64),
    /// Where the string lies in the buffer that it was appended to.
    Bytes {
        start: usize,
        end: usize,
    },
}

impl PointReader {
    /// Makes the reader for a block; `None` if its format has no access to single rows.
    pub fn new(block: &Block<'_>) -> Option<Self> {
        let header = block.header();
        header.format.is_random_access().then_some(Self {
            block_bytes: block.bytes().len(),
            physical: header.column_type.physical(),
            format: header.format,
            has_nulls: header.null_count > 0,
            plain_bytes: header.column_type.plain_bytes(),
            shape: block.shape(),
            base: header.base,
            sections: header.sections,
        })
    }

    /// Returns the value in `row` of the block, whose bytes are `block`. A string is appended to
    /// `text`.
    ///
    /// # Errors
    /// [`BlockError::RowRange`]; [`BlockError::Length`] if these are not the bytes of the block;
    /// [`BlockError::Contents`] if they are damaged. Part of a string may have been appended.
    #[inline]
    pub fn value(
        &self,
        block: &[u8],
        row: usize,
        text: &mut Vec<u8>,
    ) -> Result<PointValue, BlockError> {
        if block.len() != self.block_bytes || row >= self.shape.rows {
            return Err(self.refusal(block, row));
        }
        if self.has_nulls && self.is_null(block, row) {
            return Ok(PointValue::Null);
        }
        let is_plain = self.format == Format::Plain;
        Ok(match self.physical {
            Physical::Int64 if is_plain => {
                PointValue::Int(plain::int_at(self.plain_value(block, row)))
            }
            Physical::Int64 => PointValue::Int(i64::add(self.base as i64, self.key(block, row)?)),
            Physical::Int128 if is_plain => {
                let bytes = self.plain_value(block, row).first_chunk().copied();
                PointValue::Int128(bytes.map_or(0, i128::from_le_bytes))
            }
            Physical::Int128 => PointValue::Int128(i128::add(self.base, self.key(block, row)?)),
            Physical::Float32 => {
                PointValue::Float32(f32::from_bits(self.float_bits(block, row)? as u32))
            }
            Physical::Float64 => PointValue::Float64(f64::from_bits(self.float_bits(block, row)?)),
            Physical::Bytes => {
                let start = text.len();
                self.append_text(block, row, text)?;
                PointValue::Bytes { start, end: text.len() }
            }
        })
    }

    /// Returns where the bytes of the value in `row` lie in the block, or where those begin that
    /// lead to them: what to prefetch. In formats that do not tell without being read it is the
    /// first byte of all values.
    #[inline]
    pub fn offset(&self, row: usize) -> usize {
        let start = |section: Section| self.sections[section as usize].offset as usize;
        match (self.format, self.physical) {
            (Format::Plain, Physical::Bytes) => start(Section::Offsets) + row * 4,
            (Format::Plain, _) => start(Section::Values) + row * self.plain_bytes,
            (Format::StaticBp, _) | (Format::Dictionary, Physical::Bytes) => {
                start(Section::Values) + Groups512::place_equal(self.shape.width, row).0
            }
            _ => start(Section::Values),
        }
    }

    #[inline]
    fn section<'a>(&self, block: &'a [u8], section: Section) -> &'a [u8] {
        &block[self.sections[section as usize].range()]
    }

    /// Returns the sections that keys and encoded strings lie in.
    #[inline]
    fn section_bytes<'a>(&self, block: &'a [u8]) -> SectionBytes<'a> {
        let [values, offsets, heap] = [Section::Values, Section::Offsets, Section::Heap]
            .map(|section| self.section(block, section));
        SectionBytes { values, offsets, heap }
    }

    #[inline]
    fn is_null(&self, block: &[u8], row: usize) -> bool {
        let bits = self.section(block, Section::Nulls);
        bits.get(row / 8).is_none_or(|bits| bits >> (row % 8) & 1 == 0)
    }

    /// Returns the stored bytes of a row that the block has.
    #[inline]
    fn plain_value<'a>(&self, block: &'a [u8], row: usize) -> &'a [u8] {
        let values = self.section(block, Section::Values);
        let start = row * self.plain_bytes;
        values.get(start..start + self.plain_bytes).unwrap_or_default()
    }

    #[inline]
    fn key(&self, block: &[u8], row: usize) -> Result<u64, BlockError> {
        let key = keys::get(self.format, self.shape, self.section_bytes(block), row)?;
        key.ok_or_else(|| self.sequential_only())
    }

    fn float_bits(&self, block: &[u8], row: usize) -> Result<u64, BlockError> {
        if self.format != Format::Plain {
            return self.key(block, row);
        }
        let bytes = self.plain_value(block, row);
        Ok(match (bytes.first_chunk(), bytes.first_chunk()) {
            (Some(wide), _) => u64::from_le_bytes(*wide),
            (None, Some(narrow)) => u32::from_le_bytes(*narrow).into(),
            (None, None) => 0,
        })
    }

    #[inline]
    fn append_text(&self, block: &[u8], row: usize, text: &mut Vec<u8>) -> Result<(), BlockError> {
        let strings = || {
            let [offsets, heap] = [Section::Offsets, Section::Heap]
                .map(|section| self.sections[section as usize].range());
            StringValues::new(block, offsets, heap)
        };
        match self.format {
            Format::Plain => text.extend_from_slice(strings().get(row)?),
            Format::Dictionary => {
                let values = self.section(block, Section::Values);
                let codes = SectionBytes { values, offsets: &[], heap: &[] };
                let code = StaticBp::open(self.shape, codes)?.get(row).unwrap_or(u64::MAX);
                let code = usize::try_from(code).unwrap_or(usize::MAX - 1);
                text.extend_from_slice(strings().get(code)?);
            }
            format => {
                let texts = Texts::open(format, self.shape, self.section_bytes(block))?;
                if !texts.map_or(Ok(false), |texts| texts.get(row, text))? {
                    return Err(self.sequential_only());
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn sequential_only(&self) -> BlockError {
        BlockError::SequentialOnly { format: self.format }
    }

    #[cold]
    fn refusal(&self, block: &[u8], row: usize) -> BlockError {
        let (bytes, expected) = (block.len() as u64, self.block_bytes as u64);
        if bytes != expected {
            return BlockError::Length { bytes, expected };
        }
        BlockError::RowRange { start: row, end: row.saturating_add(1), rows: self.shape.rows }
    }
}
