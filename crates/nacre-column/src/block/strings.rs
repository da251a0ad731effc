//! Encodes columns of strings.

use std::cell::OnceCell;

use super::ALIGNMENT;
use super::encode::{EncodedBlock, Source, too_large};
use super::header::Section;
use crate::buffer::ByteValues;
use crate::format::dictionary::{self, Dictionary};
use crate::format::keys::Sections;
use crate::format::plain::{self, Strings};
use crate::format::{keys, static_bp, texts};
use crate::kernel::aggregate;
use crate::{BlockError, Bound, Format, STRING_BYTES_MAX, Sma, VECTOR_ROWS};

/// A column of strings, ready to be encoded.
pub(super) struct Texts<'s, 'a> {
    source: &'s Source<'a>,
    values: &'s ByteValues,
    /// The dictionary if it is worth while, made when it is first asked for.
    dictionary: OnceCell<Option<Dictionary>>,
    range: OnceCell<Option<(Bound, Bound)>>,
}

impl<'s, 'a> Texts<'s, 'a> {
    /// # Errors
    /// [`BlockError::TooLarge`] if the strings have more bytes than a block can hold.
    pub(super) fn new(source: &'s Source<'a>, values: &'s ByteValues) -> Result<Self, BlockError> {
        if values.data.len() > STRING_BYTES_MAX {
            return Err(too_large("bytes of strings", values.data.len(), STRING_BYTES_MAX));
        }
        Ok(Self { source, values, dictionary: OnceCell::new(), range: OnceCell::new() })
    }

    /// Returns the formats for these values, best first; at least one.
    ///
    /// A dictionary is taken only if at most half of the rows hold distinct strings: above that,
    /// sorting costs loads more than the bytes are worth. Where it takes a quarter of plain or less
    /// it is the second too: any other format is several times as large, slower to read, and
    /// costs loads more than everything else they do.
    pub(super) fn ranking(&self) -> Vec<Format> {
        use Format::{Dictionary, Fsst, Lz4Fast, Plain};
        let plain_bytes = self.plain_bytes();
        match self.dictionary().map(|dictionary| self.dictionary_bytes(dictionary)) {
            Some(bytes) if bytes <= plain_bytes / 4 => {
                vec![Dictionary, Dictionary, Fsst, Plain, Lz4Fast]
            }
            Some(bytes) if bytes < plain_bytes => vec![Dictionary, Fsst, Plain, Lz4Fast],
            _ => vec![Plain, Fsst, Lz4Fast],
        }
    }

    /// Returns the dictionary if there are few distinct strings.
    fn dictionary(&self) -> Option<&Dictionary> {
        let entries_max = self.source.rows.div_ceil(2);
        let build = || dictionary::build(self.values, self.source.validity, entries_max, true);
        self.dictionary.get_or_init(build).as_ref()
    }

    fn dictionary_bytes(&self, dictionary: &Dictionary) -> usize {
        let entries = dictionary.first_rows.len();
        let codes = static_bp::packed_bytes(self.source.rows, dictionary::code_width(entries));
        aligned([codes, (entries + 1) * 4, dictionary.heap_bytes])
    }

    fn plain_bytes(&self) -> usize {
        aligned([(self.source.rows + 1) * 4, self.values.data.len(), 0])
    }

    /// Encodes the strings in `format`.
    pub(super) fn encode(&self, format: Format) -> Result<EncodedBlock, BlockError> {
        match format {
            Format::Plain => self.encode_plain(),
            Format::Dictionary => {
                if let Some(dictionary) = self.dictionary() {
                    return self.encode_dictionary(dictionary);
                }
                let (validity, rows) = (self.source.validity, self.source.rows);
                match dictionary::build(self.values, validity, rows, false) {
                    Some(dictionary) => self.encode_dictionary(&dictionary),
                    // Strings chosen to collide in its hash table.
                    None => self.encode_plain(),
                }
            }
            format => {
                let encoded = texts::encode(format, self.source.flavour, self.values);
                let Some((sections, width)) = encoded else {
                    let column_type = self.source.column_type;
                    return Err(BlockError::WrongFormat { column_type, format });
                };
                let mut header = self.source.header(format, self.sma());
                header.width = width as u8;
                header.entries = sections.entries;
                self.source.seal(header, &sections)
            }
        }
    }

    /// Returns the aggregates, by comparing all strings.
    fn sma(&self) -> Sma {
        let find = || aggregate::strings(self.values, self.source.validity);
        let range = self.range.get_or_init(find);
        Sma { min: range.map(|r| r.0), max: range.map(|r| r.1), ..self.source.sma() }
    }

    fn encode_plain(&self) -> Result<EncodedBlock, BlockError> {
        let header = self.source.header(Format::Plain, self.sma());
        let offsets = self.values.offsets.len() * 4;
        self.source.build(
            header,
            [0, offsets, self.values.data.len()],
            |section, out| match section {
                Section::Offsets => plain::put(&self.values.offsets, out, u32::to_le_bytes),
                _ => out.copy_from_slice(&self.values.data),
            },
        )
    }

    fn encode_dictionary(&self, dictionary: &Dictionary) -> Result<EncodedBlock, BlockError> {
        let entry = |rank: &u32| self.values.get(*rank as usize);
        let ends = (dictionary.first_rows.first(), dictionary.first_rows.last());
        let bound = |row: Option<&u32>| row.map(|row| Bound::of_bytes(entry(row)));
        let mut sma = self.source.sma();
        if sma.null_count < sma.rows {
            sma = Sma { min: bound(ends.0), max: bound(ends.1), ..sma };
        }
        let mut header = self.source.header(Format::Dictionary, sma);
        header.entries = dictionary.first_rows.len() as u32;
        let width = dictionary::code_width(dictionary.first_rows.len());
        header.width = width as u8;
        let codes: Vec<u64> = dictionary.codes.iter().map(|code| u64::from(*code)).collect();
        let packed = keys::encode(Format::StaticBp, self.source.flavour, &codes, width);
        let mut sections = Sections {
            offsets: Vec::with_capacity((dictionary.first_rows.len() + 1) * 4),
            heap: Vec::with_capacity(dictionary.heap_bytes),
            ..packed.unwrap_or_default()
        };
        sections.offsets.extend_from_slice(&[0; 4]);
        for row in &dictionary.first_rows {
            sections.heap.extend_from_slice(entry(row));
            sections.offsets.extend_from_slice(&(sections.heap.len() as u32).to_le_bytes());
        }
        self.source.seal(header, &sections)
    }

    /// Decodes `block` and compares it with what it was made of.
    pub(super) fn verify(&self, block: &EncodedBlock) -> Result<(), BlockError> {
        let opened = self.source.open(block)?;
        let is_null = |row: usize| self.source.validity.is_some_and(|bits| !bits.get(row));
        match opened.strings()? {
            Strings::Plain(stored) => {
                let offsets = stored.offsets().iter().map(|offset| u32::from_le_bytes(*offset));
                let is_same = stored.data() == self.values.data
                    && offsets.eq(self.values.offsets.iter().copied());
                if is_same { Ok(()) } else { Err(self.source.wrong_row(block, 0)) }
            }
            Strings::Dictionary(entries) => {
                let mut codes = Vec::with_capacity(self.source.rows);
                opened.decode_codes(self.source.flavour, 0..self.source.rows, &mut codes)?;
                for (row, code) in codes.iter().enumerate() {
                    let is_same = entries.get(*code as usize)? == self.values.get(row);
                    if !is_same && !is_null(row) {
                        return Err(self.source.wrong_row(block, row));
                    }
                }
                Ok(())
            }
            Strings::Encoded => {
                // Null rows hold the empty string before and after.
                for start in (0..self.source.rows).step_by(VECTOR_ROWS) {
                    let rows = start..self.source.rows.min(start + VECTOR_ROWS);
                    let mut found = ByteValues::default();
                    opened.decode_bytes(self.source.flavour, rows.clone(), &mut found)?;
                    let mut same = rows.clone().zip(0..);
                    if !same.all(|(row, index)| found.get(index) == self.values.get(row)) {
                        return Err(self.source.wrong_row(block, start));
                    }
                }
                Ok(())
            }
        }
    }
}

/// Returns the bytes of three sections, each rounded up.
fn aligned(sections: [usize; 3]) -> usize {
    sections.into_iter().map(|bytes| bytes.next_multiple_of(ALIGNMENT)).sum()
}
