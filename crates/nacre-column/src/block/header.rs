//! The first 192 bytes of a block, and where its sections must lie.
//!
//! # Layout
//! Drawn in `docs/layout.md`, section "Block"; a test compares it with the constants here.
//!
//! # Invariants
//! 1. Sections come in the order of [`Section::ALL`], each on the first multiple of [`ALIGNMENT`]
//!    after the one before; an absent section is all zeros in the header.
//! 2. A header that passes [`BlockHeader::from_bytes`] cannot lead a reader outside of the block.
//!    Whether the sections have the bytes that the format needs is checked by who reads the
//!    format, in [`Block::open`](super::Block::open).

use super::ALIGNMENT;
use crate::column_type::COLUMN_TYPE_BYTES;
use crate::format::dictionary;
use crate::format::lanes::WIDTH_MAX;
use crate::format::row_ends;
use crate::sma::SMA_BYTES;
use crate::{BlockError, CHUNK_ROWS, ColumnType, Format, Physical, Sma};

/// Bytes of a block's header.
pub const HEADER_BYTES: usize = 192;

/// Version of the layout that this program writes, and the newest that it reads.
pub const BLOCK_VERSION: u16 = 2;

/// The first eight bytes of every block.
pub const BLOCK_MAGIC: u64 = u64::from_le_bytes(*b"NacreBlk");

/// A header field: where its little-endian bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

const fn field(name: &'static str, offset: usize, bytes: usize) -> Field {
    Field { name, offset, bytes }
}

pub(crate) const MAGIC: Field = field("magic", 0, 8);
pub(crate) const VERSION: Field = field("version", 8, 2);
pub(crate) const HEADER_SIZE: Field = field("header_bytes", 10, 2);
pub(crate) const CRC32C: Field = field("crc32c", 12, 4);
pub(crate) const BLOCK_BYTES: Field = field("block_bytes", 16, 8);
pub(crate) const ROWS: Field = field("rows", 24, 4);
pub(crate) const NULL_COUNT: Field = field("null_count", 28, 4);
pub(crate) const COLUMN_TYPE: Field = field("column_type", 32, COLUMN_TYPE_BYTES);
pub(crate) const FORMAT_TAG: Field = field("format_tag", 40, 1);
pub(crate) const WIDTH: Field = field("width", 41, 1);
pub(crate) const RESERVED_1: Field = field("reserved_1", 42, 2);
pub(crate) const ENTRIES: Field = field("entries", 44, 4);
pub(crate) const BASE: Field = field("base", 48, 16);
pub(crate) const SMA: Field = field("sma", 64, SMA_BYTES);
pub(crate) const NULLS_OFFSET: Field = field("nulls_offset", 144, 4);
pub(crate) const NULLS_BYTES: Field = field("nulls_bytes", 148, 4);
pub(crate) const VALUES_OFFSET: Field = field("values_offset", 152, 4);
pub(crate) const VALUES_BYTES: Field = field("values_bytes", 156, 4);
pub(crate) const OFFSETS_OFFSET: Field = field("offsets_offset", 160, 4);
pub(crate) const OFFSETS_BYTES: Field = field("offsets_bytes", 164, 4);
pub(crate) const HEAP_OFFSET: Field = field("heap_offset", 168, 4);
pub(crate) const HEAP_BYTES: Field = field("heap_bytes", 172, 4);
pub(crate) const RESERVED_2: Field = field("reserved_2", 176, 16);

/// Every field, in the order of the bytes.
#[cfg(test)]
pub(crate) const FIELDS: [Field; 23] = [
    MAGIC,
    VERSION,
    HEADER_SIZE,
    CRC32C,
    BLOCK_BYTES,
    ROWS,
    NULL_COUNT,
    COLUMN_TYPE,
    FORMAT_TAG,
    WIDTH,
    RESERVED_1,
    ENTRIES,
    BASE,
    SMA,
    NULLS_OFFSET,
    NULLS_BYTES,
    VALUES_OFFSET,
    VALUES_BYTES,
    OFFSETS_OFFSET,
    OFFSETS_BYTES,
    HEAP_OFFSET,
    HEAP_BYTES,
    RESERVED_2,
];

const _: () = assert!(RESERVED_2.offset + RESERVED_2.bytes == HEADER_BYTES);
const _: () = assert!(HEADER_BYTES.is_multiple_of(ALIGNMENT));

/// Names a part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// The set-if-valid bits, whole 64-bit words.
    Nulls,
    /// Fixed-width values, or bit-packed differences or codes.
    Values,
    /// Where the strings end in the heap, 32 bits each, after a leading 0.
    Offsets,
    /// The strings end to end.
    Heap,
}

impl Section {
    pub(crate) const ALL: [Self; 4] = [Self::Nulls, Self::Values, Self::Offsets, Self::Heap];

    fn fields(self) -> (&'static str, Field, Field) {
        match self {
            Self::Nulls => ("nulls", NULLS_OFFSET, NULLS_BYTES),
            Self::Values => ("values", VALUES_OFFSET, VALUES_BYTES),
            Self::Offsets => ("offsets", OFFSETS_OFFSET, OFFSETS_BYTES),
            Self::Heap => ("heap", HEAP_OFFSET, HEAP_BYTES),
        }
    }
}

/// Where one section lies, from the start of the block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
}

impl Extent {
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.offset as usize..self.offset as usize + self.bytes as usize
    }
}

/// What a block's header says.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockHeader {
    /// Version of the layout; see `docs/layout.md` for what version 1 did otherwise.
    pub version: u16,
    /// Type of the column.
    pub column_type: ColumnType,
    /// How the values are encoded.
    pub format: Format,
    /// Rows, null or not; at most [`CHUNK_ROWS`].
    pub rows: u32,
    /// Rows that are null.
    pub null_count: u32,
    /// Bytes of the block, header included; a multiple of [`ALIGNMENT`].
    pub bytes: u64,
    /// CRC-32C of all bytes of the block but these four.
    pub crc32c: u32,
    /// Bits of the greatest key or code, 0 to 64; 0 in formats without keys.
    pub width: u8,
    /// Distinct values in a dictionary; what other formats count.
    pub entries: u32,
    /// What keys are added to; 0 for floats and strings.
    pub base: i128,
    /// Aggregates over the rows.
    pub sma: Sma,
    pub(crate) sections: [Extent; 4],
}

/// Places sections of these sizes after the header; returns them and the size of the block.
/// Each size fits 32 bits: the encoder and the header see to it.
pub(crate) fn place(section_bytes: [usize; 4]) -> ([Extent; 4], usize) {
    let mut end = HEADER_BYTES;
    let sections = section_bytes.map(|bytes| {
        if bytes == 0 {
            return Extent::default();
        }
        let extent = Extent { offset: end as u32, bytes: bytes as u32 };
        end = (end + bytes).next_multiple_of(ALIGNMENT);
        extent
    });
    (sections, end)
}

impl BlockHeader {
    /// Writes the header into the first [`HEADER_BYTES`] of `block`.
    pub(crate) fn write(&self, block: &mut [u8]) {
        let mut put = |field: Field, value: &[u8]| {
            block[field.offset..field.offset + field.bytes].copy_from_slice(value);
        };
        put(MAGIC, &BLOCK_MAGIC.to_le_bytes());
        put(VERSION, &self.version.to_le_bytes());
        put(HEADER_SIZE, &(HEADER_BYTES as u16).to_le_bytes());
        put(CRC32C, &self.crc32c.to_le_bytes());
        put(BLOCK_BYTES, &self.bytes.to_le_bytes());
        put(ROWS, &self.rows.to_le_bytes());
        put(NULL_COUNT, &self.null_count.to_le_bytes());
        put(COLUMN_TYPE, &self.column_type.to_bytes());
        put(FORMAT_TAG, &[self.format.tag()]);
        put(WIDTH, &[self.width]);
        put(RESERVED_1, &[0; 2]);
        put(ENTRIES, &self.entries.to_le_bytes());
        put(BASE, &self.base.to_le_bytes());
        put(SMA, &self.sma.to_bytes());
        for (section, extent) in Section::ALL.into_iter().zip(self.sections) {
            let (_, offset, bytes) = section.fields();
            put(offset, &extent.offset.to_le_bytes());
            put(bytes, &extent.bytes.to_le_bytes());
        }
        put(RESERVED_2, &[0; 16]);
    }

    /// Reads and checks the header of `block`, which must be the whole block.
    ///
    /// # Errors
    /// Of kind `Damaged` or `Unsupported`, naming the field and the numbers.
    pub fn from_bytes(block: &[u8]) -> Result<Self, BlockError> {
        let Some(header) = block.first_chunk::<HEADER_BYTES>() else {
            let bytes = block.len() as u64;
            return Err(BlockError::Length { bytes, expected: HEADER_BYTES as u64 });
        };
        check_identity(header, block.len())?;
        let format_tag = header[FORMAT_TAG.offset];
        let format = Format::from_tag(format_tag)
            .ok_or_else(|| bad(FORMAT_TAG, format_tag.into(), "1 to 14"))?;
        let this = Self {
            version: u16::from_le_bytes(get(header, VERSION)),
            column_type: ColumnType::from_bytes(get(header, COLUMN_TYPE))?,
            format,
            rows: u32::from_le_bytes(get(header, ROWS)),
            null_count: u32::from_le_bytes(get(header, NULL_COUNT)),
            bytes: block.len() as u64,
            crc32c: u32::from_le_bytes(get(header, CRC32C)),
            width: header[WIDTH.offset],
            entries: u32::from_le_bytes(get(header, ENTRIES)),
            base: i128::from_le_bytes(get(header, BASE)),
            sma: Sma::from_bytes(&get(header, SMA))?,
            sections: Section::ALL.map(|section| {
                let (_, offset, bytes) = section.fields();
                Extent {
                    offset: u32::from_le_bytes(get(header, offset)),
                    bytes: u32::from_le_bytes(get(header, bytes)),
                }
            }),
        };
        this.check_fields()?;
        this.check_sections()?;
        Ok(this)
    }

    /// Checks that the fields agree with each other.
    fn check_fields(&self) -> Result<(), BlockError> {
        if self.rows as usize > CHUNK_ROWS {
            return Err(bad(ROWS, self.rows.into(), "at most 65536"));
        }
        if self.null_count > self.rows {
            return Err(bad(NULL_COUNT, self.null_count.into(), "at most rows"));
        }
        if self.sma.rows != self.rows || self.sma.null_count != self.null_count {
            let found = self.sma.rows.into();
            return Err(bad(
                SMA,
                found,
                format!("of {} rows, {} null", self.rows, self.null_count),
            ));
        }
        if !self.sma.fits(self.column_type.physical()) {
            return Err(bad(SMA, 0, format!("bounds of {}", self.column_type)));
        }
        if !self.format.can_hold(self.column_type) {
            let tag = self.format.tag().into();
            return Err(bad(FORMAT_TAG, tag, format!("one for {}", self.column_type)));
        }
        self.check_numbers()
    }

    /// Checks width, base and entries.
    fn check_numbers(&self) -> Result<(), BlockError> {
        let physical = self.column_type.physical();
        let width_max = match (self.format, physical) {
            (Format::Plain, _) => 0,
            (Format::Dictionary, Physical::Bytes) => dictionary::code_width(self.entries as usize),
            (_, Physical::Bytes) => row_ends::WIDTH_MAX,
            _ => WIDTH_MAX,
        };
        if usize::from(self.width) > width_max {
            return Err(bad(WIDTH, self.width.into(), format!("at most {width_max}")));
        }
        let base_bits = match (self.format, physical) {
            (Format::Plain, _) => 0,
            (_, Physical::Int64) => 64,
            (_, Physical::Int128) => 128,
            _ => 0,
        };
        let is_base = match base_bits {
            0 => self.base == 0,
            64 => i64::try_from(self.base).is_ok(),
            _ => true,
        };
        if !is_base {
            return Err(bad(BASE, self.base, format!("a number of {base_bits} bits")));
        }
        let entries = match self.format {
            Format::Plain | Format::StaticBp => 0..=0,
            Format::Dictionary => self.rows.min(1)..=self.rows,
            _ => 0..=u32::MAX,
        };
        if !entries.contains(&self.entries) {
            let range = format!("{} to {}", entries.start(), entries.end());
            return Err(bad(ENTRIES, self.entries.into(), range));
        }
        Ok(())
    }

    /// Checks that the sections lie in order, one behind the other.
    fn check_sections(&self) -> Result<(), BlockError> {
        let mut sizes = self.sections.map(|extent| extent.bytes as usize);
        let has_nulls = self.null_count > 0;
        sizes[0] = if has_nulls { (self.rows as usize).div_ceil(64) * 8 } else { 0 };
        let (expected, end) = place(sizes);
        for (section, (found, expected)) in
            Section::ALL.into_iter().zip(self.sections.into_iter().zip(expected))
        {
            if found != expected {
                return Err(BlockError::Section {
                    section: section.fields().0,
                    offset: found.offset.into(),
                    bytes: found.bytes.into(),
                    expected_offset: expected.offset.into(),
                    expected: expected.bytes.into(),
                });
            }
        }
        if self.bytes != end as u64 {
            return Err(BlockError::Length { bytes: self.bytes, expected: end as u64 });
        }
        Ok(())
    }

    pub(crate) fn section(&self, section: Section) -> std::ops::Range<usize> {
        self.sections[section as usize].range()
    }
}

/// Computes the checksum of a whole block: all bytes but those of the checksum itself.
pub(crate) fn checksum(block: &[u8]) -> u32 {
    let (before, after) = block.split_at(CRC32C.offset);
    crc32c::crc32c_append(crc32c::crc32c(before), &after[CRC32C.bytes..])
}

/// Checks magic, version, sizes and reserved bytes.
fn check_identity(header: &[u8; HEADER_BYTES], block_bytes: usize) -> Result<(), BlockError> {
    let magic = u64::from_le_bytes(get(header, MAGIC));
    if magic != BLOCK_MAGIC {
        return Err(BlockError::Magic { found: magic, expected: BLOCK_MAGIC });
    }
    let version = u16::from_le_bytes(get(header, VERSION));
    if version > BLOCK_VERSION {
        return Err(BlockError::Version { found: version, known: BLOCK_VERSION });
    }
    if version == 0 {
        return Err(bad(VERSION, 0, "at least 1"));
    }
    let header_bytes = u16::from_le_bytes(get(header, HEADER_SIZE));
    if usize::from(header_bytes) != HEADER_BYTES {
        return Err(bad(HEADER_SIZE, header_bytes.into(), "192"));
    }
    let expected = u64::from_le_bytes(get(header, BLOCK_BYTES));
    if expected != block_bytes as u64 {
        return Err(BlockError::Length { bytes: block_bytes as u64, expected });
    }
    for reserved in [RESERVED_1, RESERVED_2] {
        let bytes = &header[reserved.offset..reserved.offset + reserved.bytes];
        if let Some(byte) = bytes.iter().find(|byte| **byte != 0) {
            return Err(bad(reserved, i128::from(*byte), "all zeros"));
        }
    }
    Ok(())
}

fn bad(field: Field, found: i128, expected: impl Into<String>) -> BlockError {
    BlockError::Field { field: field.name, found, expected: expected.into() }
}

/// Copies a field of `N` bytes.
fn get<const N: usize>(header: &[u8; HEADER_BYTES], field: Field) -> [u8; N] {
    let mut value = [0; N];
    value.copy_from_slice(&header[field.offset..field.offset + field.bytes]);
    value
}
