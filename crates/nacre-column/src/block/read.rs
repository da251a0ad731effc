//! Reads blocks where they lie.

use std::borrow::Cow;
use std::ops::Range;

use nacre_simd::{Flavour, Kernel, Simd};

use super::header::{BlockHeader, Section, checksum};
use crate::format::integer::Integer;
use crate::format::keys::{KeyFormat, Keys, SectionBytes, Shape, wrong_size};
use crate::format::plain::{self, StringValues, Strings};
use crate::format::static_bp::StaticBp;
use crate::format::texts::Texts;
use crate::{
    BlockError, Bound, ByteValues, ColumnType, Format, Physical, STRING_BYTES_MAX, Sma, VECTOR_ROWS,
};

/// Rows of encoded text that are checked at a time.
const CHECK_ROWS: usize = VECTOR_ROWS;

/// An encoded column of a chunk, in bytes that someone else holds.
///
/// [`Block::open`] costs the reading of a header; open it for each vector if that is convenient.
/// [`Block::verify`] reads all bytes: do it once after the bytes were mapped.
///
/// ```
/// use nacre_column::{Block, ColumnBuffer, ColumnType, Flavour, block};
///
/// let mut column = ColumnBuffer::new(ColumnType::Integer);
/// column.push_int(40);
/// column.push_null();
/// column.push_int(42);
/// let encoded = block::encode(&column, Flavour::active())?;
///
/// let block = Block::open(&encoded.bytes, ColumnType::Integer)?;
/// block.verify()?;
/// let mut values = Vec::new();
/// block.decode_i32(Flavour::active(), 0..3, &mut values)?;
/// assert_eq!((values[0], values[2]), (40, 42));
/// assert_eq!(block.get_int(1)?, None);
/// # Ok::<(), nacre_column::BlockError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Block<'a> {
    bytes: &'a [u8],
    header: BlockHeader,
    encoded: Encoded<'a>,
}

/// What opening has made of the sections.
#[derive(Clone, Copy, Debug)]
enum Encoded<'a> {
    Plain,
    /// Keys of numbers, or codes of a dictionary of strings.
    Keys(Keys<'a>),
    Texts(Texts<'a>),
}

impl<'a> Block<'a> {
    /// Opens the block that is exactly `bytes`, in constant time.
    ///
    /// # Errors
    /// If the header is not that of a block of this size and of type `expected`.
    pub fn open(bytes: &'a [u8], expected: ColumnType) -> Result<Self, BlockError> {
        let header = BlockHeader::from_bytes(bytes)?;
        if header.column_type != expected {
            return Err(BlockError::WrongType { found: header.column_type, expected });
        }
        let mut this = Self { bytes, header, encoded: Encoded::Plain };
        this.encoded = this.open_sections()?;
        Ok(this)
    }

    /// Checks that the sections have the bytes that the format needs; opens what is encoded.
    fn open_sections(&self) -> Result<Encoded<'a>, BlockError> {
        let [_, values, offsets, heap] =
            Section::ALL.map(|section| &self.bytes[self.header.section(section)]);
        let check = |section, found: &[u8], expected: usize| match found.len() {
            found if found == expected => Ok(()),
            found => Err(wrong_size(section, found, expected)),
        };
        let is_bytes = self.column_type().physical() == Physical::Bytes;
        let shape = self.shape();
        if is_bytes && heap.len() > STRING_BYTES_MAX {
            return Err(wrong_size("heap_bytes", heap.len(), STRING_BYTES_MAX));
        }
        match self.header.format {
            Format::Plain if is_bytes => {
                check("values_bytes", values, 0)?;
                check("offsets_bytes", offsets, (shape.rows + 1) * 4)?;
                Ok(Encoded::Plain)
            }
            Format::Plain => {
                let bytes_each = self.column_type().plain_bytes();
                check("values_bytes", values, shape.rows * bytes_each)?;
                check("offsets_bytes", offsets, 0)?;
                check("heap_bytes", heap, 0)?;
                Ok(Encoded::Plain)
            }
            Format::Dictionary if is_bytes => {
                check("offsets_bytes", offsets, (shape.entries + 1) * 4)?;
                let codes = SectionBytes { values, offsets: &[], heap: &[] };
                Ok(Encoded::Keys(Keys::StaticBp(StaticBp::open(shape, codes)?)))
            }
            format => {
                let sections = SectionBytes { values, offsets, heap };
                let opened = if is_bytes {
                    Texts::open(format, shape, sections)?.map(Encoded::Texts)
                } else {
                    Keys::open(format, shape, sections)?.map(Encoded::Keys)
                };
                let column_type = self.column_type();
                opened.ok_or(BlockError::WrongFormat { column_type, format })
            }
        }
    }

    /// Returns what leads the reader of the sections.
    pub(super) fn shape(&self) -> Shape {
        Shape {
            version: self.header.version,
            rows: self.rows(),
            width: self.header.width.into(),
            entries: self.header.entries as usize,
        }
    }

    /// Checks every byte: the checksum, and then that what lies inside of the sections is what a
    /// block holds: null bits, offsets, dictionary order, codes, UTF-8 of text.
    ///
    /// After it has returned `Ok`, the sections may be handed to code that trusts them, such as
    /// Arrow arrays built without checks.
    ///
    /// # Errors
    /// [`BlockError::Checksum`] if a byte changed; [`BlockError::Contents`] if they were wrong
    /// when they were written.
    pub fn verify(&self) -> Result<(), BlockError> {
        let computed = checksum(self.bytes);
        if computed != self.header.crc32c {
            return Err(BlockError::Checksum { stored: self.header.crc32c, computed });
        }
        self.check_contents(Flavour::active())
    }

    /// Checks what lies inside of the sections, without the checksum.
    pub(crate) fn check_contents(&self, flavour: Flavour) -> Result<(), BlockError> {
        self.check_validity()?;
        match &self.encoded {
            Encoded::Plain => {}
            Encoded::Keys(keys) => keys.check(flavour)?,
            Encoded::Texts(texts) => {
                texts.check(flavour)?;
                return self.check_texts(flavour);
            }
        }
        if self.header.column_type.physical() != Physical::Bytes {
            return Ok(());
        }
        match self.strings()? {
            Strings::Plain(values) => values.check(self.header.column_type.is_text()),
            Strings::Dictionary(entries) => {
                entries.check(self.header.column_type.is_text())?;
                for index in 1..entries.len() {
                    if entries.get(index - 1)? >= entries.get(index)? {
                        return Err(BlockError::Contents {
                            what: "dictionary entry",
                            row: index,
                            found: index as u64,
                            expected: "above the one before".to_owned(),
                        });
                    }
                }
                self.check_codes(flavour)
            }
            // Checked above.
            Strings::Encoded => Ok(()),
        }
    }

    /// Checks that encoded text is UTF-8.
    fn check_texts(&self, flavour: Flavour) -> Result<(), BlockError> {
        if !self.header.column_type.is_text() {
            return Ok(());
        }
        let mut values = ByteValues::default();
        for start in (0..self.rows()).step_by(CHECK_ROWS) {
            values.offsets.truncate(1);
            values.data.clear();
            let end = self.rows().min(start + CHECK_ROWS);
            self.decode_bytes(flavour, start..end, &mut values)?;
            plain::check_utf8(&values.data, values.offsets.iter().copied())?;
        }
        Ok(())
    }

    /// Checks that the clear bits in `nulls` are as many as the header says, and in its rows.
    fn check_validity(&self) -> Result<(), BlockError> {
        let Some(bytes) = self.validity() else {
            return Ok(());
        };
        let mut words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word));
        let set: u32 = words.clone().map(u64::count_ones).sum();
        let expected = self.header.rows - self.header.null_count;
        let tail = words.next_back().unwrap_or(0).unbounded_shr((self.header.rows - 1) % 64 + 1);
        if set == expected && tail == 0 {
            return Ok(());
        }
        Err(BlockError::Contents {
            what: "count of set bits in section nulls of rows up to",
            row: self.rows(),
            found: set.into(),
            expected: format!("{expected}, none of them past the last row"),
        })
    }

    fn check_codes(&self, flavour: Flavour) -> Result<(), BlockError> {
        let mut codes = Vec::new();
        for start in (0..self.rows()).step_by(2_048) {
            codes.clear();
            self.decode_codes(flavour, start..self.rows().min(start + 2_048), &mut codes)?;
        }
        Ok(())
    }

    /// Returns the block's bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns what the header says.
    pub fn header(&self) -> &BlockHeader {
        &self.header
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.header.rows as usize
    }

    /// Returns the number of null rows.
    pub fn null_count(&self) -> usize {
        self.header.null_count as usize
    }

    /// Returns how the values are encoded.
    pub fn format(&self) -> Format {
        self.header.format
    }

    /// Returns the column's type.
    pub fn column_type(&self) -> ColumnType {
        self.header.column_type
    }

    /// Returns the aggregates over all rows.
    pub fn sma(&self) -> &Sma {
        &self.header.sma
    }

    /// Returns the set-if-valid bits, least significant first, in whole words of eight
    /// little-endian bytes; `None` if no row is null.
    pub fn validity(&self) -> Option<&'a [u8]> {
        self.validity_range().map(|range| &self.bytes[range])
    }

    /// Returns where the set-if-valid bits lie, from the start of the block.
    pub fn validity_range(&self) -> Option<Range<usize>> {
        (self.header.null_count > 0).then(|| self.header.section(Section::Nulls))
    }

    /// Returns the set-if-valid bits of 64 rows; bits past the last row are zero.
    #[inline]
    pub(crate) fn validity_word(&self, word: usize) -> u64 {
        let rows_before = word * 64;
        if rows_before >= self.rows() {
            return 0;
        }
        let in_rows = u64::MAX >> (rows_before + 64).saturating_sub(self.rows());
        let stored =
            self.validity().map_or(Some(&[0xff; 8]), |bytes| bytes.as_chunks().0.get(word));
        in_rows & u64::from_le_bytes(*stored.unwrap_or(&[0; 8]))
    }

    /// Tells whether `row` is null.
    ///
    /// # Errors
    /// [`BlockError::RowRange`] if there is no such row.
    #[inline]
    pub fn is_null(&self, row: usize) -> Result<bool, BlockError> {
        self.check_rows(&(row..row.saturating_add(1)))?;
        Ok(self.header.null_count > 0 && self.validity_word(row / 64) >> (row % 64) & 1 == 0)
    }

    /// Returns the fixed-width values of a plain block, little-endian; `None` for other blocks.
    pub fn plain_values(&self) -> Option<&'a [u8]> {
        self.plain_values_range().map(|range| &self.bytes[range])
    }

    /// Returns where the fixed-width values of a plain block lie, from the start of the block.
    pub fn plain_values_range(&self) -> Option<Range<usize>> {
        (self.header.format == Format::Plain && self.column_type().physical() != Physical::Bytes)
            .then(|| self.header.section(Section::Values))
    }

    /// Returns the strings of a string column.
    ///
    /// # Errors
    /// [`BlockError::WrongOutput`] for other columns.
    pub fn strings(&self) -> Result<Strings<'a>, BlockError> {
        if self.column_type().physical() != Physical::Bytes {
            return Err(self.wrong_output("strings"));
        }
        if let Encoded::Texts(_) = self.encoded {
            return Ok(Strings::Encoded);
        }
        let offsets = self.header.section(Section::Offsets);
        let values = StringValues::new(self.bytes, offsets, self.header.section(Section::Heap));
        Ok(match self.header.format {
            Format::Dictionary => Strings::Dictionary(values),
            _ => Strings::Plain(values),
        })
    }

    /// Returns the keys of numbers or the codes of a dictionary of strings; `None` in plain.
    pub(crate) fn keys(&self) -> Option<&Keys<'a>> {
        match &self.encoded {
            Encoded::Keys(keys) => Some(keys),
            Encoded::Plain | Encoded::Texts(_) => None,
        }
    }

    /// Appends the values of the rows `rows` to `out`. Those of null rows are unspecified.
    ///
    /// # Errors
    /// [`BlockError::RowRange`], or [`BlockError::WrongOutput`] unless all values of the column's
    /// type, or by [`Block::sma`] all of the block, fit 16 bits.
    pub fn decode_i16(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        out: &mut Vec<i16>,
    ) -> Result<(), BlockError> {
        self.decode_ints(flavour, rows, out)
    }

    /// As [`Block::decode_i16`], for values of 32 bits.
    ///
    /// # Errors
    /// As [`Block::decode_i16`].
    pub fn decode_i32(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        out: &mut Vec<i32>,
    ) -> Result<(), BlockError> {
        self.decode_ints(flavour, rows, out)
    }

    /// As [`Block::decode_i16`], for values of 64 bits.
    ///
    /// # Errors
    /// As [`Block::decode_i16`].
    pub fn decode_i64(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        out: &mut Vec<i64>,
    ) -> Result<(), BlockError> {
        self.decode_ints(flavour, rows, out)
    }

    /// As [`Block::decode_i64`], for all whole numbers.
    ///
    /// # Errors
    /// As [`Block::decode_i16`].
    pub fn decode_i128(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        out: &mut Vec<i128>,
    ) -> Result<(), BlockError> {
        self.decode_ints(flavour, rows, out)
    }

    /// Appends the values of the rows `rows` of a boolean column to `out`. Those of null rows are
    /// unspecified.
    ///
    /// # Errors
    /// [`BlockError::RowRange`], or [`BlockError::WrongOutput`] for other columns.
    pub fn decode_bool(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        out: &mut Vec<bool>,
    ) -> Result<(), BlockError> {
        self.decode_ints(flavour, rows, out)
    }

    fn decode_ints<T: Integer>(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        out: &mut Vec<T>,
    ) -> Result<(), BlockError> {
        self.check_int_output::<T>(&rows)?;
        match self.keys() {
            Some(keys) => keys.decode(flavour, self.header.base, rows, out),
            None => {
                let bytes_each = self.column_type().plain_bytes();
                plain::decode_ints(self.plain_bytes_of(rows, bytes_each), bytes_each, out);
            }
        }
        Ok(())
    }

    /// Checks that the block has the rows and that every value of its type, or by its aggregates
    /// every value that it has, is a `T`.
    pub(crate) fn check_int_output<T: Integer>(
        &self,
        rows: &Range<usize>,
    ) -> Result<(), BlockError> {
        self.check_rows(rows)?;
        let (min, max) = T::RANGE;
        let fits = |(least, greatest)| min <= least && greatest <= max;
        let Some(of_type) = self.column_type().int_range() else {
            return Err(self.wrong_output(T::NAME));
        };
        if fits(of_type) || T::IS_NUMBER && self.int_range().is_none_or(fits) {
            return Ok(());
        }
        Err(self.wrong_output(T::NAME))
    }

    /// Returns the least and the greatest value of a column of whole numbers, by the aggregates;
    /// `None` if all rows are null, or for other columns.
    pub fn int_range(&self) -> Option<(i128, i128)> {
        match (self.header.sma.min, self.header.sma.max) {
            (Some(Bound::Int(min)), Some(Bound::Int(max))) => Some((min, max)),
            _ => None,
        }
    }

    /// Returns the stored bytes of these rows, which `check_rows` has passed.
    pub(crate) fn plain_bytes_of(&self, rows: Range<usize>, bytes_each: usize) -> &'a [u8] {
        let values = &self.bytes[self.header.section(Section::Values)];
        &values[rows.start * bytes_each..rows.end * bytes_each]
    }

    /// Appends the values of the rows `rows` of a `real` column to `out`. Null rows hold 0.
    ///
    /// # Errors
    /// [`BlockError::RowRange`], or [`BlockError::WrongOutput`] for other columns.
    pub fn decode_f32(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        out: &mut Vec<f32>,
    ) -> Result<(), BlockError> {
        self.decode_f32_with(flavour, rows, out, |value| value)
    }

    pub(crate) fn decode_f32_with<T>(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        out: &mut Vec<T>,
        convert: impl Fn(f32) -> T,
    ) -> Result<(), BlockError> {
        self.check_rows(&rows)?;
        if self.column_type().physical() != Physical::Float32 {
            return Err(self.wrong_output("f32"));
        }
        match self.keys() {
            Some(keys) => keys.for_each_run::<u32>(flavour, rows, |keys| {
                out.extend(keys.iter().map(|key| convert(f32::from_bits(*key))));
            }),
            None => {
                plain::take(self.plain_bytes_of(rows, 4), out, |b| convert(f32::from_le_bytes(b)));
            }
        }
        Ok(())
    }

    /// Appends the values of the rows `rows` of a `double precision` or `real` column to `out`.
    /// Null rows hold 0.
    ///
    /// # Errors
    /// [`BlockError::RowRange`], or [`BlockError::WrongOutput`] for other columns.
    pub fn decode_f64(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        out: &mut Vec<f64>,
    ) -> Result<(), BlockError> {
        self.decode_f64_with(flavour, rows, out, |value| value)
    }

    pub(crate) fn decode_f64_with<T>(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        out: &mut Vec<T>,
        convert: impl Fn(f64) -> T,
    ) -> Result<(), BlockError> {
        match self.column_type().physical() {
            Physical::Float32 => {
                self.decode_f32_with(flavour, rows, out, |value| convert(value.into()))
            }
            Physical::Float64 => {
                self.check_rows(&rows)?;
                let Some(keys) = self.keys() else {
                    let bytes = self.plain_bytes_of(rows, 8);
                    plain::take(bytes, out, |b| convert(f64::from_le_bytes(b)));
                    return Ok(());
                };
                keys.for_each_run::<u64>(flavour, rows, |keys| {
                    out.extend(keys.iter().map(|key| convert(f64::from_bits(*key))));
                });
                Ok(())
            }
            _ => Err(self.wrong_output("f64")),
        }
    }

    /// Appends the places of the strings of the rows `rows` in the dictionary to `out`. All are
    /// below the number of its entries; that of a null row is unspecified.
    ///
    /// # Errors
    /// [`BlockError::RowRange`]; [`BlockError::WrongOutput`] unless the format is
    /// [`Format::Dictionary`]; [`BlockError::Contents`] if a code is too large, and then `out` is
    /// as it was.
    pub fn decode_codes(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        out: &mut Vec<u32>,
    ) -> Result<(), BlockError> {
        self.check_rows(&rows)?;
        let before = out.len();
        self.codes()?.decode(flavour, 0, rows.clone(), out);
        let checked = self.check_code_range(flavour, &out[before..], |index| rows.start + index);
        if checked.is_err() {
            out.truncate(before);
        }
        checked
    }

    /// Returns the whole number in `row`, or `None` if it is null.
    ///
    /// # Errors
    /// [`BlockError::RowRange`]; [`BlockError::WrongOutput`] unless the column is of whole numbers;
    /// [`BlockError::SequentialOnly`] if the format has no access to single rows.
    #[inline]
    pub fn get_int(&self, row: usize) -> Result<Option<i128>, BlockError> {
        if self.is_null(row)? {
            return Ok(None);
        }
        let is_wide = match self.column_type().physical() {
            Physical::Int64 => false,
            Physical::Int128 => true,
            _ => return Err(self.wrong_output("i128")),
        };
        if let Some(keys) = self.keys() {
            let key = keys.get(row).ok_or_else(|| self.sequential_only())?;
            return Ok(Some(if is_wide {
                i128::add(self.header.base, key)
            } else {
                i64::add(self.header.base as i64, key).into()
            }));
        }
        let bytes_each = self.column_type().plain_bytes();
        let bytes = self.plain_bytes_of(row..row + 1, bytes_each);
        let is_negative = bytes_each > 1 && bytes[bytes_each - 1] >> 7 == 1;
        let mut value = [if is_negative { 0xff } else { 0 }; 16];
        value[..bytes_each].copy_from_slice(bytes);
        Ok(Some(i128::from_le_bytes(value)))
    }

    /// Returns the float in `row`, or `None` if it is null.
    ///
    /// # Errors
    /// [`BlockError::RowRange`]; [`BlockError::WrongOutput`] unless the column is of floats;
    /// [`BlockError::SequentialOnly`] if the format has no access to single rows.
    pub fn get_float(&self, row: usize) -> Result<Option<f64>, BlockError> {
        let is_null = self.is_null(row)?;
        let is_narrow = match self.column_type().physical() {
            Physical::Float32 => true,
            Physical::Float64 => false,
            _ => return Err(self.wrong_output("f64")),
        };
        if is_null {
            return Ok(None);
        }
        let bits = match self.keys() {
            Some(keys) => keys.get(row).ok_or_else(|| self.sequential_only())?,
            None => {
                let bytes = self.plain_bytes_of(row..row + 1, self.column_type().plain_bytes());
                let mut value = [0; 8];
                value[..bytes.len()].copy_from_slice(bytes);
                u64::from_le_bytes(value)
            }
        };
        Ok(Some(match is_narrow {
            true => f32::from_bits(bits as u32).into(),
            false => f64::from_bits(bits),
        }))
    }

    /// Returns the string in `row`, or `None` if it is null.
    ///
    /// # Errors
    /// [`BlockError::RowRange`]; [`BlockError::WrongOutput`] unless the column is of strings;
    /// [`BlockError::SequentialOnly`] if the format has no access to single rows;
    /// [`BlockError::Contents`] if the block's bytes are damaged.
    #[inline]
    pub fn get_bytes(&self, row: usize) -> Result<Option<Cow<'a, [u8]>>, BlockError> {
        let is_null = self.is_null(row)?;
        let strings = self.strings()?;
        if is_null {
            return Ok(None);
        }
        let value = match strings {
            Strings::Plain(values) => values.get(row),
            Strings::Dictionary(entries) => {
                let code = self.keys().and_then(|codes| codes.get(row)).unwrap_or(u64::MAX);
                entries.get(usize::try_from(code).unwrap_or(usize::MAX - 1))
            }
            Strings::Encoded => return self.get_encoded(row),
        };
        value.map(|value| Some(Cow::Borrowed(value)))
    }

    fn get_encoded(&self, row: usize) -> Result<Option<Cow<'a, [u8]>>, BlockError> {
        let mut value = Vec::new();
        match &self.encoded {
            Encoded::Texts(texts) if texts.get(row, &mut value)? => Ok(Some(Cow::Owned(value))),
            _ => Err(self.sequential_only()),
        }
    }

    /// Returns encoded text; `None` in other formats.
    pub(crate) fn texts(&self) -> Option<&Texts<'a>> {
        match &self.encoded {
            Encoded::Texts(texts) => Some(texts),
            Encoded::Plain | Encoded::Keys(_) => None,
        }
    }

    /// Checks that codes are those of entries. `row` tells the row of the code at an index.
    pub(crate) fn check_code_range(
        &self,
        flavour: Flavour,
        codes: &[u32],
        row: impl Fn(usize) -> usize,
    ) -> Result<(), BlockError> {
        let greatest = flavour.run(Greatest { values: codes });
        if codes.is_empty() || greatest < self.header.entries {
            return Ok(());
        }
        let index = codes.iter().position(|code| *code == greatest).unwrap_or(0);
        Err(BlockError::Contents {
            what: "code of row",
            row: row(index),
            found: greatest.into(),
            expected: format!("below {}", self.header.entries),
        })
    }

    /// Returns the codes of a dictionary of strings.
    pub(crate) fn codes(&self) -> Result<&Keys<'a>, BlockError> {
        let is_dictionary = self.header.format == Format::Dictionary
            && self.column_type().physical() == Physical::Bytes;
        self.keys().filter(|_| is_dictionary).ok_or_else(|| self.wrong_output("codes"))
    }

    /// Appends the strings of the rows `rows` to `out`, whatever the format. Those of null rows
    /// are unspecified.
    ///
    /// # Errors
    /// [`BlockError::RowRange`]; [`BlockError::WrongOutput`] unless the column is of strings;
    /// [`BlockError::TooLarge`] if `out` would have more than [`STRING_BYTES_MAX`] bytes;
    /// [`BlockError::Contents`] if the block's bytes are damaged. `out` then holds some of them.
    pub fn decode_bytes(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        out: &mut ByteValues,
    ) -> Result<(), BlockError> {
        self.check_rows(&rows)?;
        if let Encoded::Texts(texts) = &self.encoded {
            return texts.decode(flavour, rows, out);
        }
        let mut push = |value: &[u8]| {
            let bytes = out.data.len() + value.len();
            if bytes > STRING_BYTES_MAX {
                let (found, max) = (bytes as u64, STRING_BYTES_MAX as u64);
                return Err(BlockError::TooLarge { what: "bytes of strings", found, max });
            }
            out.push(value);
            Ok(())
        };
        match self.strings()? {
            Strings::Plain(values) => {
                for row in rows {
                    push(values.get(row)?)?;
                }
            }
            Strings::Dictionary(entries) => {
                let mut codes = Vec::with_capacity(rows.len());
                self.decode_codes(flavour, rows, &mut codes)?;
                for code in codes {
                    push(entries.get(code as usize)?)?;
                }
            }
            // Decoded above.
            Strings::Encoded => {}
        }
        Ok(())
    }

    fn sequential_only(&self) -> BlockError {
        BlockError::SequentialOnly { format: self.header.format }
    }

    pub(crate) fn check_rows(&self, rows: &Range<usize>) -> Result<(), BlockError> {
        if rows.start <= rows.end && rows.end <= self.rows() {
            return Ok(());
        }
        Err(BlockError::RowRange { start: rows.start, end: rows.end, rows: self.rows() })
    }

    pub(crate) fn wrong_output(&self, output: &'static str) -> BlockError {
        BlockError::WrongOutput { column_type: self.column_type(), output }
    }
}

struct Greatest<'a> {
    values: &'a [u32],
}

impl Kernel for Greatest<'_> {
    type Output = u32;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> u32 {
        self.values.iter().fold(0, |greatest, value| greatest.max(*value))
    }
}
