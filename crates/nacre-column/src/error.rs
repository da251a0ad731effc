//! What can be wrong with a block, or with a request to one.

use std::fmt;

use crate::{ColumnType, Format};

/// Says what is wrong, with the numbers; the caller adds which table, column and chunk it is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BlockError {
    /// Fewer bytes than a header has, or another number than the header says.
    Length { bytes: u64, expected: u64 },
    /// The first bytes are not a block's.
    Magic { found: u64, expected: u64 },
    /// A newer version wrote this block.
    Version { found: u16, known: u16 },
    /// The bytes are not those that were written.
    Checksum { stored: u32, computed: u32 },
    /// The block holds another type than the schema says.
    WrongType { found: ColumnType, expected: ColumnType },
    /// A header field has a value that no block can have.
    Field { field: &'static str, found: i128, expected: String },
    /// A section lies elsewhere than the header's other fields demand.
    Section { section: &'static str, offset: u64, bytes: u64, expected_offset: u64, expected: u64 },
    /// A value inside a section contradicts the header.
    Contents { what: &'static str, row: usize, found: u64, expected: String },
    /// Rows were asked for that the block does not have.
    RowRange { start: usize, end: usize, rows: usize },
    /// Values were asked for in a Rust type that cannot hold the column's.
    WrongOutput { column_type: ColumnType, output: &'static str },
    /// The column's values cannot be stored in the format.
    WrongFormat { column_type: ColumnType, format: Format },
    /// A single row was asked for of a format that decodes rows in order only.
    SequentialOnly { format: Format },
    /// A restriction compares the column with a constant of another class.
    WrongConstant { column_type: ColumnType, constant: String },
    /// The buffer holds more than a block can.
    TooLarge { what: &'static str, found: u64, max: u64 },
    /// The buffer holds a value outside of its column type's range.
    OutOfRange { column_type: ColumnType, value: i128, min: i128, max: i128 },
    /// Decoding a block just encoded gave other values: a bug of ours; nothing was written.
    Verification { column_type: ColumnType, format: Format, row: usize },
}

/// What the caller can do about a [`BlockError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockErrorKind {
    /// The bytes are not a good block: read another replica, or restore.
    Damaged,
    /// A newer program wrote the block, or is needed to write it: use that one.
    Unsupported,
    /// The request does not fit the block or its column: a bug of the caller.
    Misuse,
    /// A bug of this crate.
    Internal,
}

impl BlockError {
    /// Returns what the caller can do about it.
    pub fn kind(&self) -> BlockErrorKind {
        match self {
            Self::Length { .. }
            | Self::Magic { .. }
            | Self::Checksum { .. }
            | Self::WrongType { .. }
            | Self::Field { .. }
            | Self::Section { .. }
            | Self::Contents { .. } => BlockErrorKind::Damaged,
            Self::Version { .. } => BlockErrorKind::Unsupported,
            Self::RowRange { .. }
            | Self::WrongOutput { .. }
            | Self::WrongFormat { .. }
            | Self::SequentialOnly { .. }
            | Self::WrongConstant { .. }
            | Self::TooLarge { .. }
            | Self::OutOfRange { .. } => BlockErrorKind::Misuse,
            Self::Verification { .. } => BlockErrorKind::Internal,
        }
    }
}

impl fmt::Display for BlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { bytes, expected } => {
                write!(f, "block has {bytes} bytes, not the {expected} that it should")
            }
            Self::Magic { found, expected } => {
                write!(f, "not a block: it starts with {found:#018x}, not {expected:#018x}")
            }
            Self::Version { found, known } => write!(
                f,
                "block version {found} is newer than {known}, the newest that this program reads"
            ),
            Self::Checksum { stored, computed } => {
                write!(f, "checksum {stored:#010x} does not match {computed:#010x}")
            }
            Self::WrongType { found, expected } => {
                write!(f, "block holds type {found}, not the column's {expected}")
            }
            Self::Field { field, found, expected } => {
                write!(f, "header field {field} is {found}, not {expected}")
            }
            Self::Section { section, offset, bytes, expected_offset, expected } => write!(
                f,
                "section {section} has {bytes} bytes at offset {offset}, \
                 not {expected} at {expected_offset}"
            ),
            Self::Contents { what, row, found, expected } => {
                write!(f, "{what} {row} is {found}, not {expected}")
            }
            _ => self.fmt_request(f),
        }
    }
}

impl BlockError {
    /// Writes what is wrong with a request, or with our answer to it.
    fn fmt_request(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RowRange { start, end, rows } => {
                write!(f, "rows {start} to {end} asked for, the block has {rows}")
            }
            Self::WrongOutput { column_type, output } => {
                write!(f, "a column of type {column_type} does not decode to {output}")
            }
            Self::WrongFormat { column_type, format } => {
                write!(f, "a column of type {column_type} cannot be stored in format {format}")
            }
            Self::SequentialOnly { format } => {
                write!(f, "format {format} is sequential only: it has no access to single rows")
            }
            Self::WrongConstant { column_type, constant } => {
                write!(f, "a column of type {column_type} does not compare with {constant}")
            }
            Self::TooLarge { what, found, max } => {
                write!(f, "{found} {what} are more than the {max} of a block")
            }
            Self::OutOfRange { column_type, value, min, max } => {
                write!(f, "value {value} is outside of {column_type}: {min} to {max}")
            }
            Self::Verification { column_type, format, row } => write!(
                f,
                "internal error: row {row} of a block of type {column_type} in format {format} \
                 does not decode to what was encoded"
            ),
            // Not reached: `fmt` writes the others itself.
            other => write!(f, "{other:?}"),
        }
    }
}

impl std::error::Error for BlockError {}
