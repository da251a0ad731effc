//! Turns buffers into blocks.
//!
//! 1. Aggregate the values; check them against the column type's range.
//! 2. Choose formats: `choose` ranks them by what their blocks would take (and strings by what
//!    their dictionary takes), from statistics of one pass.
//! 3. For each replica: encode the sections, place them, write header and checksum.
//! 4. Open the block, decode it, compare.
//!
//! What replicas share is made once: aggregates, keys, statistics and the dictionary.

use std::cell::Cell;

use nacre_simd::Flavour;

use super::header::{BLOCK_VERSION, BlockHeader, Extent, Section, checksum, place};
use super::numbers::Numbers;
use super::read::Block;
use super::strings::Texts;
use crate::buffer::Bitmap;
use crate::format::keys::Sections;
use crate::format::plain;
use crate::{BlockError, CHUNK_ROWS, ColumnBuffer, ColumnType, Format, FormatChoice, Sma, Values};

/// Bytes of the strings of a block from which on a load leaves FSST to later: less is encoded in
/// well under a millisecond.
const LONG_STRINGS_BYTES_MIN: usize = 64 << 10;

/// A block ready to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct EncodedBlock {
    /// The block's bytes, header first; a multiple of [`ALIGNMENT`](super::ALIGNMENT).
    pub bytes: Vec<u8>,
    /// What the header in `bytes` says.
    pub header: BlockHeader,
}

/// Encodes `column` in the format that suits it best: what scans and single rows are read from
/// fast, at a small size.
///
/// # Errors
/// Of kind `Misuse` if the buffer holds more than a block can or values outside of its type's
/// range; of kind `Internal` if the block does not decode to the buffer. Nothing panics.
pub fn encode(column: &ColumnBuffer, flavour: Flavour) -> Result<EncodedBlock, BlockError> {
    encode_ranked(column, 0, flavour)
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
    let source = Source::new(column, flavour)?;
    source.encode_one(column, &|ranking| {
        let ranking = ranking();
        ranking[rank % ranking.len()]
    })
}

/// Encodes `column` once for each of `choices`, in that order.
///
/// The replicas that leave the choice open get the formats of rank 0, 1, and so on, without those
/// that other replicas name. [`FormatChoice::Fixed`] is followed if the values can be stored so,
/// which [`Format::can_hold`] tells but for decimals that lie 2^64 or more apart: they become
/// plain.
///
/// # Errors
/// As [`encode`]; [`BlockError::WrongFormat`] if a format cannot hold the column's type.
pub fn encode_replicas(
    column: &ColumnBuffer,
    choices: &[FormatChoice],
    flavour: Flavour,
) -> Result<Vec<EncodedBlock>, BlockError> {
    check_choices(column.column_type(), choices)?;
    let source = Source::new(column, flavour)?;
    source.encode_all(column, &|ranking| choose_formats(choices, ranking))
}

/// A block of a load, and the choice that it was written for.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadBlock {
    pub block: EncodedBlock,
    /// [`FormatChoice::Fixed`] where the policy says [`FormatChoice::Auto`]: the block repeats the
    /// first replica, until it is encoded as [`encode_replicas`] does.
    pub choice: FormatChoice,
}

/// Encodes `column` as [`encode_replicas`] does, but for replicas that would cost a load more than
/// all others: of long strings of which the second replica would be [`Format::Fsst`], it is the
/// first one again.
///
/// ```text
/// choices     formats of encode_replicas    blocks here
/// auto, auto  plain, fsst                   plain for auto, plain for fixed plain
/// auto, fsst  plain, fsst                   plain for auto, fsst for fixed fsst
/// ```
///
/// # Errors
/// As [`encode_replicas`].
pub fn encode_for_load(
    column: &ColumnBuffer,
    choices: &[FormatChoice],
    flavour: Flavour,
) -> Result<Vec<LoadBlock>, BlockError> {
    check_choices(column.column_type(), choices)?;
    let source = Source::new(column, flavour)?;
    let is_long = match column.values() {
        Values::Bytes(values) => values.data.len() >= LONG_STRINGS_BYTES_MIN,
        _ => false,
    };
    let written_for = Cell::new(choices.to_vec());
    let blocks = source.encode_all(column, &|ranking| {
        let mut formats = choose_formats(choices, ranking);
        let mut written = choices.to_vec();
        for index in 1..formats.len() {
            if is_long && choices[index] == FormatChoice::Auto && formats[index] == Format::Fsst {
                formats[index] = formats[0];
                written[index] = FormatChoice::Fixed(formats[0]);
            }
        }
        written_for.set(written);
        formats
    })?;
    let choices = written_for.into_inner();
    Ok(blocks.into_iter().zip(choices).map(|(block, choice)| LoadBlock { block, choice }).collect())
}

/// Returns the formats for these choices.
fn choose_formats(choices: &[FormatChoice], ranking: Ranking<'_>) -> Vec<Format> {
    let is_fixed = |format: &Format| choices.contains(&FormatChoice::Fixed(*format));
    let has_auto = choices.contains(&FormatChoice::Auto);
    let ranking = if has_auto { ranking() } else { Vec::new() };
    let mut free: Vec<Format> = ranking.iter().copied().filter(|f| !is_fixed(f)).collect();
    if free.is_empty() {
        free = ranking;
    }
    let mut chosen = free.into_iter().cycle();
    let choose = |choice: &FormatChoice| match choice {
        FormatChoice::Auto => chosen.next().unwrap_or(Format::Plain),
        FormatChoice::Fixed(format) => *format,
    };
    choices.iter().map(choose).collect()
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
    check_format(column_type, format)?;
    let source = Source::new(column, flavour)?;
    let block = source.encode_one(column, &|_| format)?;
    if block.header.format == format {
        return Ok(block);
    }
    Err(BlockError::WrongFormat { column_type, format })
}

fn check_choices(column_type: ColumnType, choices: &[FormatChoice]) -> Result<(), BlockError> {
    for choice in choices {
        if let FormatChoice::Fixed(format) = choice {
            check_format(column_type, *format)?;
        }
    }
    Ok(())
}

fn check_format(column_type: ColumnType, format: Format) -> Result<(), BlockError> {
    if !format.can_hold(column_type) {
        return Err(BlockError::WrongFormat { column_type, format });
    }
    Ok(())
}

/// Ranks formats for the values, which costs a pass over them: asked for only if it is needed.
type Ranking<'r> = &'r dyn Fn() -> Vec<Format>;

/// What all encoders need to know of a buffer besides its values.
pub(super) struct Source<'a> {
    pub(super) column_type: ColumnType,
    /// `None` if no row is null.
    pub(super) validity: Option<&'a Bitmap>,
    pub(super) rows: usize,
    pub(super) flavour: Flavour,
}

impl<'a> Source<'a> {
    fn new(column: &'a ColumnBuffer, flavour: Flavour) -> Result<Self, BlockError> {
        let rows = column.len();
        if rows > CHUNK_ROWS {
            return Err(too_large("rows", rows, CHUNK_ROWS));
        }
        column.column_type().check()?;
        let validity = column.validity().filter(|bits| bits.count_zeros() > 0);
        Ok(Self { column_type: column.column_type(), validity, rows, flavour })
    }

    fn encode_one(
        &self,
        column: &ColumnBuffer,
        choose: &dyn Fn(Ranking<'_>) -> Format,
    ) -> Result<EncodedBlock, BlockError> {
        let mut blocks = self.encode_all(column, &|ranking| vec![choose(ranking)])?;
        Ok(blocks.swap_remove(0))
    }

    /// Encodes and verifies a block for each format that `choose` makes of the ranking.
    fn encode_all(
        &self,
        column: &ColumnBuffer,
        choose: &dyn Fn(Ranking<'_>) -> Vec<Format>,
    ) -> Result<Vec<EncodedBlock>, BlockError> {
        match column.values() {
            Values::Bytes(values) => {
                let texts = Texts::new(self, values)?;
                self.each_format(&choose(&|| texts.ranking()), |format| {
                    let block = texts.encode(format)?;
                    texts.verify(&block)?;
                    Ok(block)
                })
            }
            values => {
                let numbers = Numbers::new(self, values)?;
                self.each_format(&choose(&|| numbers.ranking()), |format| {
                    let block = numbers.encode(format)?;
                    numbers.verify(&block)?;
                    Ok(block)
                })
            }
        }
    }

    /// Encodes each different format once.
    fn each_format(
        &self,
        formats: &[Format],
        mut encode: impl FnMut(Format) -> Result<EncodedBlock, BlockError>,
    ) -> Result<Vec<EncodedBlock>, BlockError> {
        let mut blocks: Vec<EncodedBlock> = Vec::with_capacity(formats.len());
        for (index, format) in formats.iter().enumerate() {
            let block = match formats[..index].iter().position(|before| before == format) {
                Some(same) => blocks[same].clone(),
                None => encode(*format)?,
            };
            blocks.push(block);
        }
        Ok(blocks)
    }

    /// Returns the aggregates that are known without the values.
    pub(super) fn sma(&self) -> Sma {
        let null_count = self.validity.map_or(0, Bitmap::count_zeros) as u32;
        Sma { rows: self.rows as u32, null_count, ..Sma::empty() }
    }

    /// Makes the header of a block with these aggregates; the encoder fills in what differs.
    pub(super) fn header(&self, format: Format, sma: Sma) -> BlockHeader {
        BlockHeader {
            version: BLOCK_VERSION,
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

    /// Places the sections and seals the block.
    ///
    /// # Errors
    /// [`BlockError::TooLarge`] if a section does not fit the header's 32 bits.
    pub(super) fn seal(
        &self,
        header: BlockHeader,
        sections: &Sections,
    ) -> Result<EncodedBlock, BlockError> {
        let sizes = [sections.values.len(), sections.offsets.len(), sections.heap.len()];
        self.build(header, sizes, |section, out| {
            out.copy_from_slice(match section {
                Section::Offsets => &sections.offsets,
                Section::Heap => &sections.heap,
                _ => &sections.values,
            });
        })
    }

    /// Places sections `values`, `offsets` and `heap` of these sizes, lets `fill` write each that
    /// is not empty, and seals the block.
    ///
    /// # Errors
    /// [`BlockError::TooLarge`] if a section does not fit the header's 32 bits.
    pub(super) fn build(
        &self,
        mut header: BlockHeader,
        sizes: [usize; 3],
        mut fill: impl FnMut(Section, &mut [u8]),
    ) -> Result<EncodedBlock, BlockError> {
        let max = i32::MAX as usize;
        if let Some(size) = sizes.into_iter().find(|size| *size > max) {
            return Err(too_large("bytes of a section", size, max));
        }
        let nulls = if header.null_count > 0 { self.rows.div_ceil(64) * 8 } else { 0 };
        let (sections, block_bytes) = place([nulls, sizes[0], sizes[1], sizes[2]]);
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
        Ok(EncodedBlock { bytes, header })
    }

    /// Opens `block` and checks what lies inside and its null bits. The caller compares values.
    pub(super) fn open<'b>(&self, block: &'b EncodedBlock) -> Result<Block<'b>, BlockError> {
        let opened = Block::open(&block.bytes, self.column_type)?;
        opened.check_contents(self.flavour)?;
        let is_right_validity = match self.validity {
            None => opened.header().null_count == 0,
            Some(bits) => bits
                .words()
                .iter()
                .enumerate()
                .all(|(word, expected)| opened.validity_word(word) == *expected),
        };
        if is_right_validity { Ok(opened) } else { Err(self.wrong_row(block, 0)) }
    }

    /// Says that `row` does not decode to what was encoded.
    pub(super) fn wrong_row(&self, block: &EncodedBlock, row: usize) -> BlockError {
        let (column_type, format) = (self.column_type, block.header.format);
        BlockError::Verification { column_type, format, row }
    }
}

pub(super) fn too_large(what: &'static str, found: usize, max: usize) -> BlockError {
    BlockError::TooLarge { what, found: found as u64, max: max as u64 }
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

    /// Verifies `block` as the encoder does.
    fn verify(column: &ColumnBuffer, block: &EncodedBlock) -> Result<(), BlockError> {
        let source = Source::new(column, Flavour::active())?;
        match column.values() {
            Values::Bytes(values) => Texts::new(&source, values)?.verify(block),
            values => Numbers::new(&source, values)?.verify(block),
        }
    }

    #[test]
    fn verification_finds_every_wrong_value_and_null() {
        let flavour = Flavour::active();
        for column in columns() {
            let column_type = column.column_type();
            for format in Format::ALL.into_iter().filter(|f| check_format(column_type, *f).is_ok())
            {
                let good = encode_as(&column, flavour, format).unwrap();
                verify(&column, &good).unwrap();
                let mut sections = vec![Section::Nulls, Section::Offsets, Section::Heap];
                // The first symbols of FSST may be ones that no row uses.
                sections.extend((format != Format::Fsst).then_some(Section::Values));
                for section in sections.into_iter().map(|section| good.header.section(section)) {
                    // The first two rows of a section are not null in any of these columns.
                    for at in section.take(2) {
                        let mut wrong = good.clone();
                        wrong.bytes[at] ^= 1;
                        let error = verify(&column, &wrong);
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
        let error = verify(column, &wrong).unwrap_err();
        assert_eq!(
            error.to_string(),
            "internal error: row 7 of a block of type integer in format plain \
             does not decode to what was encoded"
        );
        assert_eq!(error.kind(), crate::BlockErrorKind::Internal);
    }

    #[test]
    fn few_strings_have_two_dictionaries_and_many_none() {
        let formats = |distinct: u64| -> Vec<Format> {
            let mut column = ColumnBuffer::new(ColumnType::Varchar { max_chars: None });
            for row in 0..5_000 {
                column.push_bytes(format!("string number {}", row % distinct).as_bytes());
            }
            let choices = [FormatChoice::Auto, FormatChoice::Auto, FormatChoice::Auto];
            let blocks = encode_replicas(&column, &choices, Flavour::active()).unwrap();
            blocks.into_iter().map(|block| block.header.format).collect()
        };
        use Format::{Dictionary, Fsst, Lz4Fast, Plain};
        assert_eq!(formats(7), [Dictionary, Dictionary, Fsst]);
        assert_eq!(formats(1_500), [Dictionary, Fsst, Plain]);
        assert_eq!(formats(5_000), [Plain, Fsst, Lz4Fast]);
    }

    #[test]
    fn load_repeats_first_replica_of_long_strings() {
        use FormatChoice::{Auto, Fixed};
        let encoded = |rows: u64, choices: &[FormatChoice]| -> Vec<(Format, FormatChoice)> {
            let mut column = ColumnBuffer::new(ColumnType::Varchar { max_chars: None });
            (0..rows).for_each(|row| column.push_bytes(format!("a long string {row}").as_bytes()));
            let blocks = encode_for_load(&column, choices, Flavour::active()).unwrap();
            blocks.into_iter().map(|one| (one.block.header.format, one.choice)).collect()
        };
        use Format::{Fsst, Plain};
        let (many, few) = (5_000, 500);
        assert_eq!(encoded(few, &[Auto, Auto]), [(Plain, Auto), (Fsst, Auto)]);
        assert_eq!(encoded(many, &[Auto, Auto]), [(Plain, Auto), (Plain, Fixed(Plain))]);
        assert_eq!(encoded(many, &[Auto, Fixed(Fsst)]), [(Plain, Auto), (Fsst, Fixed(Fsst))]);
        assert_eq!(encoded(many, &[Fixed(Plain), Auto])[1], (Plain, Fixed(Plain)));
        assert_eq!(encoded(many, &[Auto])[0], (Plain, Auto));
    }

    #[test]
    fn replicas_get_different_formats_and_fixed_ones_are_followed() {
        let mut column = ColumnBuffer::new(ColumnType::Integer);
        (0..5_000).for_each(|row| column.push_int(row % 100));
        let formats = |choices: &[FormatChoice]| -> Vec<Format> {
            let blocks = encode_replicas(&column, choices, Flavour::active()).unwrap();
            blocks.into_iter().map(|block| block.header.format).collect()
        };
        let auto = formats(&[FormatChoice::Auto, FormatChoice::Auto]);
        assert_ne!(auto[0], auto[1]);
        let fixed = FormatChoice::Fixed(auto[0]);
        assert_eq!(formats(&[fixed, FormatChoice::Auto, fixed]), [auto[0], auto[1], auto[0]]);
        for (rank, format) in auto.into_iter().enumerate() {
            let block = encode_ranked(&column, rank, Flavour::active()).unwrap();
            assert_eq!(block.header.format, format);
        }
    }
}
