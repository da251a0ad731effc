//! The formats that a block can be in, one module each.
//!
//! [`keys`] says what the integer formats store and how one is added; [`lanes`] and [`groups`] are
//! what those that pack bits have in common.
//!
//! | format | for | section `values` | sections `offsets`, `heap` |
//! |---|---|---|---|
//! | [`plain`] | all types | fixed-width values | the strings end to end |
//! | [`static_bp`] | whole numbers | keys, packed in one width | none |
//! | [`dictionary`] | strings | codes, packed in one width | the distinct strings, ascending |
//! | [`dynamic_bp`] | whole numbers | keys, a width for each 128 | where each 128 start |
//! | [`simd_bp128`] | whole numbers | keys, a width for each 128 | where each 2,048 start |
//! | [`simd_fastpfor`] | whole numbers | low bits, a width for each 128 | the same; high bits |
//! | [`delta_bp`] | whole numbers | deltas, a width for each 128 | the same; four of each 2,048 |
//! | [`for_bp`] | whole numbers | keys less the least of 128, a width each | the same; the least |
//! | [`rle`] | numbers | keys of the runs, packed | last rows of the runs, packed |
//! | [`lz4`], [`snappy`] | all types | numbers: [`frames`] | strings: where rows end, frames |
//! | [`fsst`] | strings | symbols | where rows end, codes |
//!
//! A dictionary of numbers has its entries in the heap and no offsets.

pub(crate) mod delta_bp;
pub(crate) mod dictionary;
pub(crate) mod dynamic_bp;
pub(crate) mod for_bp;
pub(crate) mod frames;
pub(crate) mod fsst;
pub(crate) mod groups;
pub(crate) mod integer;
pub(crate) mod keys;
pub(crate) mod lanes;
pub(crate) mod lz4;
pub(crate) mod narrow;
pub(crate) mod plain;
pub(crate) mod rle;
pub(crate) mod row_ends;
pub(crate) mod simd_bp128;
pub(crate) mod simd_fastpfor;
pub(crate) mod snappy;
pub(crate) mod static_bp;
pub(crate) mod texts;
pub(crate) mod visit;

use std::fmt;

use crate::{ColumnType, Physical};

/// Names the encoding of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// The values as they are, each in the bytes its type needs.
    Plain,
    /// Differences to a frame of reference in one bit width for the block.
    StaticBp,
    /// Ordered dictionary with bit-packed codes.
    Dictionary,
    /// Differences to a frame of reference, a bit width for each 128 rows.
    DynamicBp,
    /// As dynamic bit packing, with the widths in front of each 16 groups of 128 rows.
    SimdBp128,
    /// A bit width for most of 128 rows; what the others lack lies apart.
    SimdFastPfor,
    /// Differences to the row before, a bit width for each 128 rows.
    DeltaBp,
    /// A frame of reference and a bit width for each 128 rows.
    ForBp,
    /// Runs of equal values.
    Rle,
    /// LZ4, fastest compression.
    Lz4Fast,
    /// LZ4.
    Lz4,
    /// LZ4, smallest result.
    Lz4High,
    /// Snappy.
    Snappy,
    /// Strings with a table of frequent substrings.
    Fsst,
}

impl Format {
    /// Every format, in the order of the bytes that stand for them.
    pub const ALL: [Self; 14] = [
        Self::Plain,
        Self::StaticBp,
        Self::Dictionary,
        Self::DynamicBp,
        Self::SimdBp128,
        Self::SimdFastPfor,
        Self::DeltaBp,
        Self::ForBp,
        Self::Rle,
        Self::Lz4Fast,
        Self::Lz4,
        Self::Lz4High,
        Self::Snappy,
        Self::Fsst,
    ];

    /// Returns the name, as `SHOW` and `EXPLAIN` print it and policies name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::StaticBp => "static_bp",
            Self::Dictionary => "dict",
            Self::DynamicBp => "dynamic_bp",
            Self::SimdBp128 => "simd_bp128",
            Self::SimdFastPfor => "simd_fastpfor",
            Self::DeltaBp => "delta_bp",
            Self::ForBp => "for_bp",
            Self::Rle => "rle",
            Self::Lz4Fast => "lz4_fast",
            Self::Lz4 => "lz4",
            Self::Lz4High => "lz4_high",
            Self::Snappy => "snappy",
            Self::Fsst => "fsst",
        }
    }

    /// Returns the format of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Tells whether values of `column_type` can be stored in this format.
    ///
    /// A block of decimals of more than 18 digits whose greatest and least value lie 2^64 or more
    /// apart can only be plain all the same.
    pub fn can_hold(self, column_type: ColumnType) -> bool {
        let physical = column_type.physical();
        let is_bytes = physical == Physical::Bytes;
        match self {
            Self::Plain
            | Self::Dictionary
            | Self::Lz4Fast
            | Self::Lz4
            | Self::Lz4High
            | Self::Snappy => true,
            Self::StaticBp
            | Self::DynamicBp
            | Self::SimdBp128
            | Self::SimdFastPfor
            | Self::DeltaBp
            | Self::ForBp => matches!(physical, Physical::Int64 | Physical::Int128),
            Self::Rle => !is_bytes,
            Self::Fsst => is_bytes,
        }
    }

    /// Tells whether a single row can be read without decoding those before it.
    pub fn is_random_access(self) -> bool {
        match self {
            Self::Plain
            | Self::StaticBp
            | Self::Dictionary
            | Self::DynamicBp
            | Self::SimdBp128
            | Self::ForBp
            | Self::Rle
            | Self::Fsst => true,
            Self::SimdFastPfor
            | Self::DeltaBp
            | Self::Lz4Fast
            | Self::Lz4
            | Self::Lz4High
            | Self::Snappy => false,
        }
    }

    /// Returns the byte that stands for this format on media.
    pub fn tag(self) -> u8 {
        self as u8 + 1
    }

    /// Returns the format that `tag` stands for.
    pub fn from_tag(tag: u8) -> Option<Self> {
        Self::ALL.get(usize::from(tag).checked_sub(1)?).copied()
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_its_own_tag_and_name() {
        for (index, format) in Format::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(format.tag()), index + 1);
            assert_eq!(Format::from_tag(format.tag()), Some(format));
            assert_eq!(Format::from_name(format.name()), Some(format));
        }
        assert_eq!(Format::from_tag(0), None);
        assert_eq!(Format::from_tag(15), None);
        assert_eq!(Format::from_name("zip"), None);
    }
}
