//! Turns buffers into blocks.
//!
//! 1. Aggregate the values; check them against the column type's range.
//! 2. Choose the format that takes fewest bytes; plain wins a tie, since it needs no decoding.
//! 3. Place the sections, fill them, write header and checksum.
//! 4. Open the block, decode it, compare.

use nacre_simd::Flavour;

use super::ALIGNMENT;
use super::header::{BlockHeader, Extent, Section, checksum, place, section_bytes};
use super::read::Block;
use crate::buffer::{Bitmap, ByteValues};
use crate::format::dictionary::{self, Dictionary};
use crate::format::{plain, static_bp};
use crate::kernel::aggregate;
use crate::{
    BlockError, Bound, CHUNK_ROWS, ColumnBuffer, ColumnType, Format, FormatChoice,
    STRING_BYTES_MAX, Sma, Values,
};

/// Rows compared at a time when a block is verified: the decoded values stay in the L1 cache.
const VERIFY_ROWS: usize = 2_048;

/// A block ready to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedBlock {
    /// The block's bytes, header first; a multiple of [`ALIGNMENT`].
    pub bytes: Vec<u8>,
    /// What the header in `bytes` says.
    pub header: BlockHeader,
}

/// Encodes `column` in the format that takes fewest bytes.
///
/// A dictionary is taken only if at most half of the rows hold distinct strings: above that,
/// sorting costs loads more than the bytes are worth. Booleans are always bit-packed.
///
/// # Errors
/// Of kind `Misuse` if the buffer holds more than a block can or values outside of its type's
/// range; of kind `Internal` if the block does not decode to the buffer. Nothing panics.
pub fn encode(column: &ColumnBuffer, flavour: Flavour) -> Result<EncodedBlock, BlockError> {
    encode_with(column, flavour, None)
}

/// Encodes `column` in the format that has this rank for it: rank 0 is [`encode`]'s, rank 1 the
/// smallest different one that still scans well, and so on. After the last format, ranks begin
/// again with 0.
///
/// # Errors
/// As [`encode`].
pub fn encode_ranked(
    column: &ColumnBuffer,
    rank: usize,
    flavour: Flavour,
) -> Result<EncodedBlock, BlockError> {
    let mut replicas = encode_replicas(column, &vec![FormatChoice::Auto; rank + 1], flavour)?;
    Ok(replicas.swap_remove(rank))
}

/// Encodes `column` once for each of `choices`, in that order.
///
/// The first [`FormatChoice::Auto`] gets the format of rank 0, the second that of rank 1, and so
/// on. [`FormatChoice::Fixed`] is followed if the values can be stored so, which
/// [`Format::can_hold`] tells but for decimals that lie 2^64 or more apart: they become plain.
///
/// # Errors
/// As [`encode`]; [`BlockError::WrongFormat`] if a format cannot hold the column's type.
pub fn encode_replicas(
    column: &ColumnBuffer,
    choices: &[FormatChoice],
    flavour: Flavour,
) -> Result<Vec<EncodedBlock>, BlockError> {
    let encode_choice = |choice: &FormatChoice| match choice {
        FormatChoice::Auto => encode(column, flavour),
        FormatChoice::Fixed(format) => encode_as(column, flavour, *format),
    };
    choices.iter().map(encode_choice).collect()
}

/// Encodes `column` in `format`, whatever it takes.
///
/// # Errors
/// As [`encode`]; [`BlockError::WrongFormat`] if the column's values cannot be stored so.
pub fn encode_as(
    column: &ColumnBuffer,
    flavour: Flavour,
    format: Format,
) -> Result<EncodedBlock, BlockError> {
    let column_type = column.column_type();
    if !format.can_hold(column_type) {
        return Err(BlockError::WrongFormat { column_type, format });
    }
    if !format.is_supported(column_type) {
        return Err(BlockError::UnsupportedFormat { column_type, format });
    }
    encode_with(column, flavour, Some(format))
}

fn encode_with(
    column: &ColumnBuffer,
    flavour: Flavour,
    format: Option<Format>,
) -> Result<EncodedBlock, BlockError> {
    let rows = column.len();
    if rows > CHUNK_ROWS {
        return Err(too_large("rows", rows, CHUNK_ROWS));
    }
    column.column_type().check()?;
    let source = Source {
        column_type: column.column_type(),
        validity: column.validity().filter(|bits| bits.count_zeros() > 0),
        rows,
        flavour,
    };
    let block = match column.values() {
        Values::Int64(values) => source.encode_ints(values, format),
        Values::Int128(values) => source.encode_wide_ints(values, format),
        Values::Float32(values) => source
            .encode_floats(values.iter().map(|value| f64::from(*value)), |out| {
                plain::put(values, out, f32::to_le_bytes)
            }),
        Values::Float64(values) => source.encode_floats(values.iter().copied(), |out| {
            plain::put(values, out, f64::to_le_bytes);
        }),
        Values::Bytes(values) => source.encode_strings(values, format),
    }?;
    verify(column, &block, flavour)?;
    Ok(block)
}

/// What all encoders need to know of a buffer besides its values.
struct Source<'a> {
    column_type: ColumnType,
    /// `None` if no row is null.
    validity: Option<&'a Bitmap>,
    rows: usize,
    flavour: Flavour,
}

impl Source<'_> {
    fn sma(&self) -> Sma {
        let null_count = self.validity.map_or(0, Bitmap::count_zeros) as u32;
        Sma { rows: self.rows as u32, null_count, ..Sma::empty() }
    }

    /// Makes the header of a block with these aggregates; the encoder fills in what differs.
    fn header(&self, format: Format, sma: Sma) -> BlockHeader {
        BlockHeader {
            column_type: self.column_type,
            format,
            rows: sma.rows,
            null_count: sma.null_count,
            bytes: 0,
            crc32c: 0,
            width: 0,
            entries: 0,
            base: 0,
            sma,
            sections: [Extent::default(); 4],
        }
    }

    /// Places the sections, lets `fill` write each but `nulls`, and seals the block.
    fn build(
        &self,
        mut header: BlockHeader,
        heap_bytes: usize,
        mut fill: impl FnMut(Section, &mut [u8]),
    ) -> EncodedBlock {
        let (sections, block_bytes) = place(section_bytes(&header, heap_bytes));
        header.sections = sections;
        header.bytes = block_bytes as u64;
        let mut bytes = vec![0; block_bytes];
        if let Some(bits) = self.validity {
            let out = &mut bytes[header.section(Section::Nulls)];
            plain::put(bits.words(), out, u64::to_le_bytes);
        }
        for section in [Section::Values, Section::Offsets, Section::Heap] {
            let range = header.section(section);
            if !range.is_empty() {
                fill(section, &mut bytes[range]);
            }
        }
        header.write(&mut bytes);
        header.crc32c = checksum(&bytes);
        header.write(&mut bytes);
        EncodedBlock { bytes, header }
    }

    /// Checks the aggregates against the type's range and makes an [`Sma`] of them.
    fn int_sma(&self, found: aggregate::IntAggregates) -> Result<Sma, BlockError> {
        let column_type = self.column_type;
        if let (Some((least, greatest)), Some((min, max))) = (found.range, column_type.int_range())
        {
            let outside = [least, greatest].into_iter().find(|value| !(min..=max).contains(value));
            if let Some(value) = outside {
                return Err(BlockError::OutOfRange { column_type, value, min, max });
            }
        }
        let bound = |value| Some(Bound::Int(value));
        let (min, max) = found.range.map_or((None, None), |(min, max)| (bound(min), bound(max)));
        Ok(Sma { min, max, sum: found.sum, ..self.sma() })
    }

    fn encode_ints(
        &self,
        values: &[i64],
        format: Option<Format>,
    ) -> Result<EncodedBlock, BlockError> {
        let found = aggregate::ints(self.flavour, values, self.validity);
        let sma = self.int_sma(found)?;
        let bytes_each = self.column_type.plain_bytes();
        let Some(mut header) = self.packed_header(found.range, sma, format) else {
            return Ok(self.build(self.header(Format::Plain, sma), 0, |_, out| {
                plain::encode_ints(values, bytes_each, out);
            }));
        };
        header.width = static_bp::width_of(spread(found.range) as u64) as u8;
        let base = header.base as u64;
        let width = usize::from(header.width);
        Ok(self.build(header, 0, |_, out| {
            static_bp::pack(self.flavour, width, self.rows, out, |rows, group| {
                let values = values[rows.clone()].iter().map(|value| *value as u64);
                self.fill_differences(rows, values.map(|value| value.wrapping_sub(base)), group);
            });
        }))
    }

    fn encode_wide_ints(
        &self,
        values: &[i128],
        format: Option<Format>,
    ) -> Result<EncodedBlock, BlockError> {
        let found = aggregate::wide_ints(values, self.validity);
        let sma = self.int_sma(found)?;
        let Some(mut header) = self.packed_header(found.range, sma, format) else {
            if format == Some(Format::StaticBp) {
                let (column_type, format) = (self.column_type, Format::StaticBp);
                return Err(BlockError::WrongFormat { column_type, format });
            }
            return Ok(self.build(self.header(Format::Plain, sma), 0, |_, out| {
                plain::put(values, out, i128::to_le_bytes);
            }));
        };
        header.width = static_bp::width_of(spread(found.range) as u64) as u8;
        let base = header.base;
        let width = usize::from(header.width);
        Ok(self.build(header, 0, |_, out| {
            static_bp::pack(self.flavour, width, self.rows, out, |rows, group| {
                let values = values[rows.clone()].iter();
                let differences = values.map(|value| value.wrapping_sub(base) as u64);
                self.fill_differences(rows, differences, group);
            });
        }))
    }

    /// Writes differences to the front of `group`, zero for null rows.
    fn fill_differences(
        &self,
        rows: std::ops::Range<usize>,
        differences: impl Iterator<Item = u64>,
        group: &mut static_bp::Group,
    ) {
        for (out, difference) in group.iter_mut().zip(differences) {
            *out = difference;
        }
        let Some(bits) = self.validity else { return };
        for (word, out) in bits.words()[rows.start / 64..].iter().zip(group.chunks_mut(64)) {
            if *word != u64::MAX {
                for (bit, out) in out.iter_mut().enumerate() {
                    *out &= (word >> bit & 1).wrapping_neg();
                }
            }
        }
    }

    /// Makes the header of a bit-packed block; `None` if the column is to be plain.
    fn packed_header(
        &self,
        range: Option<(i128, i128)>,
        sma: Sma,
        format: Option<Format>,
    ) -> Option<BlockHeader> {
        let spread = u64::try_from(spread(range)).ok()?;
        let packed = static_bp::packed_bytes(self.rows, static_bp::width_of(spread));
        let plain = self.rows * self.column_type.plain_bytes();
        let is_packed = match format {
            Some(format) => format == Format::StaticBp,
            None if self.column_type == ColumnType::Boolean => true,
            None => packed.next_multiple_of(ALIGNMENT) < plain.next_multiple_of(ALIGNMENT),
        };
        let base = range.map_or(0, |(min, _)| min);
        is_packed.then(|| BlockHeader { base, ..self.header(Format::StaticBp, sma) })
    }

    fn encode_floats(
        &self,
        values: impl Iterator<Item = f64>,
        fill: impl Fn(&mut [u8]),
    ) -> Result<EncodedBlock, BlockError> {
        let (range, has_nan) = aggregate::floats(values, self.validity);
        let bound = |value| Some(Bound::Float(value));
        let (min, max) = range.map_or((None, None), |(min, max)| (bound(min), bound(max)));
        let sma = Sma { min, max, has_nan, ..self.sma() };
        Ok(self.build(self.header(Format::Plain, sma), 0, |_, out| fill(out)))
    }

    fn encode_strings(
        &self,
        values: &ByteValues,
        format: Option<Format>,
    ) -> Result<EncodedBlock, BlockError> {
        if values.data.len() > STRING_BYTES_MAX {
            return Err(too_large("bytes of strings", values.data.len(), STRING_BYTES_MAX));
        }
        let dictionary = match format {
            Some(Format::Dictionary) => dictionary::build(values, self.validity, self.rows, false)
                .ok_or_else(|| {
                    let (column_type, format) = (self.column_type, Format::Dictionary);
                    BlockError::WrongFormat { column_type, format }
                })?,
            Some(_) => return Ok(self.encode_plain_strings(values)),
            None => {
                let entries_max = self.rows.div_ceil(2);
                let built = dictionary::build(values, self.validity, entries_max, true);
                match built.filter(|dictionary| self.is_smaller_than_plain(dictionary, values)) {
                    Some(dictionary) => dictionary,
                    None => return Ok(self.encode_plain_strings(values)),
                }
            }
        };
        Ok(self.encode_dictionary(values, dictionary))
    }

    fn is_smaller_than_plain(&self, dictionary: &Dictionary, values: &ByteValues) -> bool {
        let entries = dictionary.first_rows.len();
        let codes = static_bp::packed_bytes(self.rows, dictionary::code_width(entries));
        let sizes = [codes, (entries + 1) * 4, dictionary.heap_bytes];
        let size: usize = sizes.into_iter().map(|bytes| bytes.next_multiple_of(ALIGNMENT)).sum();
        let plain = [(self.rows + 1) * 4, values.data.len()];
        size < plain.into_iter().map(|bytes| bytes.next_multiple_of(ALIGNMENT)).sum()
    }

    fn encode_plain_strings(&self, values: &ByteValues) -> EncodedBlock {
        let range = aggregate::strings(values, self.validity);
        let sma = Sma { min: range.map(|r| r.0), max: range.map(|r| r.1), ..self.sma() };
        let header = self.header(Format::Plain, sma);
        self.build(header, values.data.len(), |section, out| match section {
            Section::Offsets => plain::put(&values.offsets, out, u32::to_le_bytes),
            _ => out.copy_from_slice(&values.data),
        })
    }

    fn encode_dictionary(&self, values: &ByteValues, dictionary: Dictionary) -> EncodedBlock {
        let entry = |rank: &u32| values.get(*rank as usize);
        let ends = (dictionary.first_rows.first(), dictionary.first_rows.last());
        let bound = |row: Option<&u32>| row.map(|row| Bound::of_bytes(entry(row)));
        let mut sma = self.sma();
        if sma.null_count < sma.rows {
            sma = Sma { min: bound(ends.0), max: bound(ends.1), ..sma };
        }
        let mut header = self.header(Format::Dictionary, sma);
        header.entries = dictionary.first_rows.len() as u32;
        let width = dictionary::code_width(dictionary.first_rows.len());
        header.width = width as u8;
        self.build(header, dictionary.heap_bytes, |section, out| match section {
            Section::Values => {
                static_bp::pack(self.flavour, width, self.rows, out, |rows, group| {
                    for (out, code) in group.iter_mut().zip(&dictionary.codes[rows]) {
                        *out = u64::from(*code);
                    }
                });
            }
            Section::Offsets => {
                let mut end = 0;
                let ends = dictionary.first_rows.iter().map(|row| entry(row).len() as u32);
                let (first, rest) = out.split_at_mut(4);
                first.fill(0);
                for (out, len) in rest.as_chunks_mut().0.iter_mut().zip(ends) {
                    end += len;
                    *out = u32::to_le_bytes(end);
                }
            }
            _ => {
                let mut free = out;
                for row in &dictionary.first_rows {
                    let value = entry(row);
                    let (now, later) = free.split_at_mut(value.len());
                    now.copy_from_slice(value);
                    free = later;
                }
            }
        })
    }
}

/// Returns the greatest difference to the base, 0 for no values; as bits, so of any size.
fn spread(range: Option<(i128, i128)>) -> u128 {
    range.map_or(0, |(min, max)| max.wrapping_sub(min) as u128)
}

fn too_large(what: &'static str, found: usize, max: usize) -> BlockError {
    BlockError::TooLarge { what, found: found as u64, max: max as u64 }
}

/// Decodes `block` and compares it with what it was made of.
fn verify(column: &ColumnBuffer, block: &EncodedBlock, flavour: Flavour) -> Result<(), BlockError> {
    let opened = Block::open(&block.bytes, column.column_type())?;
    opened.check_contents(flavour)?;
    let is_null = |row: usize| column.is_null(row);
    let wrong = match column.values() {
        Values::Int64(values) => {
            first_difference(values, is_null, |rows, out| opened.decode_i64(flavour, rows, out))
        }
        Values::Int128(values) => {
            first_difference(values, is_null, |rows, out| opened.decode_i128(flavour, rows, out))
        }
        Values::Float32(values) => {
            let bits: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
            first_difference(&bits, is_null, |rows, out| {
                opened.decode_f32_with(rows, out, f32::to_bits)
            })
        }
        Values::Float64(values) => {
            let bits: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
            first_difference(&bits, is_null, |rows, out| {
                opened.decode_f64_with(rows, out, f64::to_bits)
            })
        }
        Values::Bytes(values) => first_string_difference(values, is_null, &opened, flavour),
    }?;
    let is_right_validity = (0..column.len().div_ceil(64)).all(|word| {
        let expected = column.validity().map_or_else(
            || u64::MAX >> (64 * (word + 1)).saturating_sub(column.len()),
            |bits| bits.words()[word],
        );
        opened.validity_word(word) == expected
    });
    match wrong {
        None if is_right_validity => Ok(()),
        row => Err(BlockError::Verification {
            column_type: column.column_type(),
            format: block.header.format,
            row: row.unwrap_or(0),
        }),
    }
}

/// Returns the first row that is not null and decodes to another value.
fn first_difference<T: PartialEq>(
    values: &[T],
    is_null: impl Fn(usize) -> bool,
    mut decode: impl FnMut(std::ops::Range<usize>, &mut Vec<T>) -> Result<(), BlockError>,
) -> Result<Option<usize>, BlockError> {
    let mut decoded = Vec::with_capacity(VERIFY_ROWS);
    for start in (0..values.len()).step_by(VERIFY_ROWS) {
        let end = values.len().min(start + VERIFY_ROWS);
        decoded.clear();
        decode(start..end, &mut decoded)?;
        if decoded == values[start..end] {
            continue;
        }
        let differs = |row: &usize| !is_null(*row) && decoded[row - start] != values[*row];
        if let Some(row) = (start..end).find(differs) {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

fn first_string_difference(
    values: &ByteValues,
    is_null: impl Fn(usize) -> bool,
    block: &Block<'_>,
    flavour: Flavour,
) -> Result<Option<usize>, BlockError> {
    use crate::format::plain::Strings;
    match block.strings()? {
        Strings::Plain(stored) => {
            let is_same = stored.data() == values.data
                && stored
                    .offsets()
                    .iter()
                    .map(|o| u32::from_le_bytes(*o))
                    .eq(values.offsets.iter().copied());
            Ok((!is_same).then_some(0))
        }
        Strings::Dictionary(entries) => {
            let mut codes = Vec::with_capacity(values.len());
            block.decode_codes(flavour, 0..values.len(), &mut codes)?;
            for (row, code) in codes.iter().enumerate() {
                if entries.get(*code as usize)? != values.get(row) && !is_null(row) {
                    return Ok(Some(row));
                }
            }
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<ColumnBuffer> {
        let types = [
            ColumnType::Integer,
            ColumnType::Decimal { precision: 38, scale: 0 },
            ColumnType::Real,
            ColumnType::Double,
            ColumnType::Bytea,
        ];
        let column = |column_type: ColumnType| {
            let mut column = ColumnBuffer::new(column_type);
            for row in 0..200 {
                match column_type.physical() {
                    _ if row % 9 == 4 => column.push_null(),
                    crate::Physical::Float32 => column.push_float32(row as f32),
                    crate::Physical::Float64 => column.push_float64(row.into()),
                    crate::Physical::Bytes => column.push_bytes(&[1, (row % 11) as u8]),
                    _ => column.push_int(row.into()),
                }
            }
            column
        };
        types.map(column).to_vec()
    }

    #[test]
    fn verification_finds_every_wrong_value_and_null() {
        let flavour = Flavour::active();
        for column in columns() {
            for format in Format::ALL.into_iter().filter(|f| {
                f.can_hold(column.column_type()) && f.is_supported(column.column_type())
            }) {
                let good = encode_as(&column, flavour, format).unwrap();
                let sections = [Section::Nulls, Section::Values, Section::Offsets, Section::Heap];
                for section in sections.map(|section| good.header.section(section)) {
                    // The first two rows of a section are not null in any of these columns.
                    for at in section.take(2) {
                        let mut wrong = good.clone();
                        wrong.bytes[at] ^= 1;
                        let error = verify(&column, &wrong, flavour);
                        assert!(error.is_err(), "{} {format} {at}", column.column_type());
                    }
                }
            }
        }
    }

    #[test]
    fn verification_error_says_whose_bug_it_is() {
        let column = &columns()[0];
        let mut wrong = encode_as(column, Flavour::active(), Format::Plain).unwrap();
        let row_7 = wrong.header.section(Section::Values).start + 7 * 4;
        wrong.bytes[row_7] ^= 1;
        let error = verify(column, &wrong, Flavour::active()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "internal error: row 7 of a block of type integer in format plain \
             does not decode to what was encoded"
        );
        assert_eq!(error.kind(), crate::BlockErrorKind::Internal);
    }
}
