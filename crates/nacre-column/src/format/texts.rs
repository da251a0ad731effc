//! Strings that have to be decoded before they can be looked at: FSST, LZ4 and Snappy.
//!
//! # How to add a format
//! One arm each in [`Texts`], [`encode`] and [`Texts::open`].
//!
//! # Invariants
//! As those of [`keys`](super::keys), but that a damaged block gives an error where it can.

use std::ops::Range;

use nacre_simd::Flavour;

use super::frames::{self, Codec};
use super::fsst::{self, train};
use super::keys::{SectionBytes, Sections, Shape, wrong_size};
use super::lz4::Effort;
use super::row_ends::{self, RowEnds};
use crate::{BlockError, ByteValues, Format, STRING_BYTES_MAX};

/// The strings of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Texts<'a> {
    Fsst(fsst::Reader<'a>),
    Frames(frames::strings::Reader<'a>),
}

fn codec(format: Format) -> Option<Codec> {
    Some(match format {
        Format::Lz4Fast => Codec::Lz4(Effort::Fast),
        Format::Lz4 => Codec::Lz4(Effort::Standard),
        Format::Lz4High => Codec::Lz4(Effort::High),
        Format::Snappy => Codec::Snappy,
        _ => return None,
    })
}

/// Encodes strings; returns the sections and the header's `width`. `None` if `format` is of
/// another kind.
pub(crate) fn encode(
    format: Format,
    flavour: Flavour,
    values: &ByteValues,
) -> Option<(Sections, usize)> {
    if format == Format::Fsst {
        let table = train::train(values);
        let codes = table.encode(values);
        let (offsets, width) = row_ends::encode(flavour, &codes.offsets);
        let (values, entries) = (table.to_section(), table.len() as u32);
        return Some((Sections { values, offsets, heap: codes.data, entries }, width));
    }
    let heap = frames::strings::encode(codec(format)?, &values.data);
    let (offsets, width) = row_ends::encode(flavour, &values.offsets);
    Some((Sections { values: Vec::new(), offsets, heap, entries: 0 }, width))
}

impl<'a> Texts<'a> {
    /// Opens the sections of a block, in constant time; `None` if `format` is of another kind.
    ///
    /// # Errors
    /// [`BlockError::Field`] if a section has another size than a block of this shape can have.
    pub(crate) fn open(
        format: Format,
        shape: Shape,
        sections: SectionBytes<'a>,
    ) -> Result<Option<Self>, BlockError> {
        let codec = codec(format);
        if codec.is_none() && format != Format::Fsst {
            return Ok(None);
        }
        let ends = RowEnds::open(shape.rows, shape.width, sections.offsets)?;
        let SectionBytes { values, heap, .. } = sections;
        if let Some(codec) = codec {
            if !values.is_empty() || shape.entries > 0 {
                return Err(wrong_size("values_bytes", values.len() + shape.entries, 0));
            }
            return Ok(Some(Self::Frames(frames::strings::Reader::new(codec, ends, heap))));
        }
        let expected = shape.entries.min(fsst::SYMBOLS_MAX) * fsst::SYMBOL_MEDIA_BYTES;
        if values.len() != expected || shape.entries > fsst::SYMBOLS_MAX {
            return Err(wrong_size("values_bytes", values.len(), expected));
        }
        Ok(Some(Self::Fsst(fsst::Reader::new(values, ends, heap))))
    }

    /// Appends the strings of `rows`, which the caller has checked to be in the block, to `out`.
    ///
    /// # Errors
    /// [`BlockError::Contents`] if the block's bytes are damaged; [`BlockError::TooLarge`] if `out`
    /// would have more than [`STRING_BYTES_MAX`] bytes. `out` is then as it was.
    pub(crate) fn decode(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        out: &mut ByteValues,
    ) -> Result<(), BlockError> {
        let (values, bytes) = (out.len(), out.data.len());
        let decoded = match self {
            Self::Fsst(reader) => reader.decode(flavour, rows, out),
            Self::Frames(reader) => reader.decode(flavour, rows, out),
        };
        let max = STRING_BYTES_MAX as u64;
        let found = out.data.len() as u64;
        let fits = || match found <= max {
            true => Ok(()),
            false => Err(BlockError::TooLarge { what: "bytes of strings", found, max }),
        };
        decoded.and_then(|()| fits()).inspect_err(|_| {
            out.offsets.truncate(values + 1);
            out.data.truncate(bytes);
        })
    }

    /// Appends the string in `row`, which the caller has checked to be in the block, to `out`;
    /// false if the format is sequential only.
    ///
    /// # Errors
    /// As [`Texts::decode`].
    pub(crate) fn get(&self, row: usize, out: &mut Vec<u8>) -> Result<bool, BlockError> {
        match self {
            Self::Fsst(reader) => reader.get(row, out).map(|()| true),
            Self::Frames(_) => Ok(false),
        }
    }

    /// Checks what lies inside of the sections.
    ///
    /// # Errors
    /// [`BlockError::Contents`] for the first thing that is wrong.
    pub(crate) fn check(&self, flavour: Flavour) -> Result<(), BlockError> {
        match self {
            Self::Fsst(reader) => reader.check(flavour),
            Self::Frames(reader) => reader.check(flavour),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: [Format; 5] =
        [Format::Fsst, Format::Lz4Fast, Format::Lz4, Format::Lz4High, Format::Snappy];

    fn values(rows: usize, repeat: usize) -> ByteValues {
        let mut values = ByteValues::default();
        (0..rows).for_each(|row| {
            values.push(format!("{} {row}", "carefully ".repeat(row % repeat)).as_bytes());
        });
        values
    }

    #[test]
    fn rows_of_every_format_come_back_behind_what_was_there() {
        for (rows, repeat) in [(0, 1), (1, 1), (3_000, 7), (300, 290)] {
            let values = values(rows, repeat);
            for format in FORMATS {
                let flavour = Flavour::active();
                let (sections, width) = encode(format, flavour, &values).unwrap();
                let shape = Shape { version: 2, rows, width, entries: sections.entries as usize };
                let Sections { values: first, offsets, heap, .. } = &sections;
                let bytes = SectionBytes { values: first, offsets, heap };
                let texts = Texts::open(format, shape, bytes).unwrap().unwrap();
                assert_eq!(texts.check(flavour), Ok(()), "{format}");
                for range in [0..rows, rows / 3..rows / 2, rows / 2..rows / 2] {
                    let mut out = ByteValues::default();
                    out.push(b"before");
                    texts.decode(flavour, range.clone(), &mut out).unwrap();
                    assert_eq!(out.len(), range.len() + 1);
                    let is_same = |(i, row)| out.get(i + 1) == values.get(row);
                    assert!(range.enumerate().all(is_same), "{format}");
                }
                let mut out = Vec::new();
                if rows > 0 && texts.get(rows / 2, &mut out).unwrap() {
                    assert_eq!(out, values.get(rows / 2));
                }
            }
        }
    }

    #[test]
    fn damaged_strings_are_an_error_and_leave_the_output_as_it_was() {
        let values = values(2_000, 9);
        for format in FORMATS {
            let flavour = Flavour::active();
            let (sections, width) = encode(format, flavour, &values).unwrap();
            let shape =
                Shape { version: 2, rows: 2_000, width, entries: sections.entries as usize };
            for at in 0..4 {
                let mut offsets = sections.offsets.clone();
                let middle = offsets.len() / 2 + at;
                offsets[middle] ^= 0xff;
                let (first, heap) = (&sections.values, &sections.heap);
                let bytes = SectionBytes { values: first, offsets: &offsets, heap };
                let texts = Texts::open(format, shape, bytes).unwrap().unwrap();
                assert!(texts.check(flavour).is_err(), "{format}");
                let mut out = ByteValues::default();
                out.push(b"before");
                if texts.decode(flavour, 0..2_000, &mut out).is_err() {
                    assert_eq!((out.len(), out.get(0)), (1, &b"before"[..]));
                }
            }
        }
    }
}
