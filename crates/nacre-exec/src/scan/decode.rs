//! From a block to a vector: whole vectors decoded, or the rows that are left gathered.
//!
//! Values are decoded in the query's width, which the block's own aggregates have to allow; the
//! codes of a block's dictionary become query-wide ones.

use std::ops::Range;

use nacre_column::{Block, BlockError, ByteValues, Restriction, Strings, kernel};
use nacre_simd::Flavour;

use super::predicate::StringPredicate;
use crate::vector::{BitVector, ColumnVector, QueryDictionary, VectorValues};

/// Buffers that decoding goes through, kept from vector to vector.
#[derive(Debug, Default)]
pub(super) struct DecodeRoom {
    flags: Vec<bool>,
    codes: Vec<u32>,
    numbers: Vec<i16>,
    words: Vec<u64>,
    strings: ByteValues,
}

/// What of a block is wanted.
#[derive(Clone)]
pub(super) enum WantedRows<'p> {
    All,
    /// Those at these positions, counted from the start of the vector.
    At(&'p [u16]),
}

/// The query-wide codes of a block's entries.
#[derive(Debug)]
pub(super) struct CodeMap {
    codes: Vec<u32>,
    /// Whether they are the block's own codes, as for all blocks with the entries of the first one.
    is_identity: bool,
}

impl DecodeRoom {
    /// Sets the bits of rows that are null.
    ///
    /// # Errors
    /// As [`kernel::select_bits`].
    pub(super) fn select_nulls(
        &mut self,
        block: &Block<'_>,
        flavour: Flavour,
        rows: Range<usize>,
        bits: &mut [u64],
    ) -> Result<(), BlockError> {
        kernel::select_bits(block, flavour, &Restriction::IsNull, rows, &mut self.words)?;
        bits.iter_mut().zip(&self.words).for_each(|(bits, nulls)| *bits |= nulls);
        Ok(())
    }
}

/// Puts a bit for each row of a vector into `bits` that is at one of `positions`, not null, and
/// satisfies a predicate.
///
/// # Errors
/// [`BlockError::Contents`] if the block's bytes are damaged.
pub(super) fn select_strings_at(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
    positions: &[u16],
    predicate: &StringPredicate,
    room: &mut DecodeRoom,
    bits: &mut Vec<u64>,
) -> Result<(), BlockError> {
    clear_strings(&mut room.strings);
    kernel::project_bytes(block, flavour, rows.clone(), positions, &mut room.strings)?;
    bits.clear();
    bits.resize(rows.len().div_ceil(64), 0);
    for (at, position) in positions.iter().enumerate() {
        let row = usize::from(*position);
        bits[row / 64] |= u64::from((predicate.test())(room.strings.get(at))) << (row % 64);
    }
    if block.null_count() > 0 {
        kernel::select_bits(block, flavour, &Restriction::IsNotNull, rows, &mut room.words)?;
        bits.iter_mut().zip(&room.words).for_each(|(bits, valid)| *bits &= valid);
    }
    Ok(())
}

/// Returns the query-wide codes of a block's entries; `None` if it has no dictionary.
///
/// # Errors
/// [`BlockError::Contents`] if the block's bytes are damaged.
pub(super) fn code_map(
    block: &Block<'_>,
    dictionary: &QueryDictionary,
) -> Result<Option<CodeMap>, BlockError> {
    let Strings::Dictionary(entries) = block.strings()? else { return Ok(None) };
    let values = (0..entries.len()).map(|code| entries.get(code));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let codes = dictionary.intern(values.into_iter());
    let is_identity = codes.iter().zip(0..).all(|(code, own)| *code == own);
    Ok(Some(CodeMap { codes, is_identity }))
}

/// Appends rows of a vector of a block to `out`.
///
/// # Errors
/// [`BlockError::Contents`] if the block's bytes are damaged, [`BlockError::WrongOutput`] if its
/// values do not fit the vector; `out` then holds some of them.
pub(super) fn append_rows(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
    wanted: &WantedRows<'_>,
    codes: Option<&CodeMap>,
    room: &mut DecodeRoom,
    out: &mut ColumnVector,
) -> Result<(), BlockError> {
    let before = out.values.len();
    match wanted {
        WantedRows::All => append_all(block, flavour, rows.clone(), codes, room, out)?,
        WantedRows::At(positions) => {
            append_at(block, flavour, rows.clone(), positions, codes, room, out)?;
        }
    }
    if block.null_count() == 0 {
        out.fill_validity();
        return Ok(());
    }
    kernel::select_bits(block, flavour, &Restriction::IsNotNull, rows.clone(), &mut room.words)?;
    let validity = out.validity.get_or_insert_with(|| BitVector::filled(before, true));
    validity.resize(before, true);
    match wanted {
        WantedRows::All => validity.extend_from_words(&room.words, rows.len()),
        WantedRows::At(positions) => {
            let bits = BitVector::from_words(std::mem::take(&mut room.words), rows.len());
            validity.extend_gathered(&bits, positions);
        }
    }
    Ok(())
}

fn append_all(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
    codes: Option<&CodeMap>,
    room: &mut DecodeRoom,
    out: &mut ColumnVector,
) -> Result<(), BlockError> {
    match &mut out.values {
        VectorValues::Bool(values) => {
            room.flags.clear();
            block.decode_bool(flavour, rows, &mut room.flags)?;
            append_flags(&room.flags, values);
        }
        VectorValues::Int16(values) => block.decode_i16(flavour, rows, values)?,
        VectorValues::Int32(values) => block.decode_i32(flavour, rows, values)?,
        VectorValues::Int64(values) => block.decode_i64(flavour, rows, values)?,
        VectorValues::Int128(values) => block.decode_i128(flavour, rows, values)?,
        VectorValues::Float32(values) => block.decode_f32(flavour, rows, values)?,
        VectorValues::Float64(values) => block.decode_f64(flavour, rows, values)?,
        VectorValues::Code(values) => match codes {
            Some(map) if map.is_identity => block.decode_codes(flavour, rows, values)?,
            Some(map) => {
                room.codes.clear();
                block.decode_codes(flavour, rows, &mut room.codes)?;
                append_mapped(&room.codes, map, values);
            }
            None => {
                clear_strings(&mut room.strings);
                block.decode_bytes(flavour, rows, &mut room.strings)?;
                append_interned(&room.strings, out.dictionary.as_deref(), values);
            }
        },
        VectorValues::Bytes(values) => {
            clear_strings(&mut room.strings);
            block.decode_bytes(flavour, rows, &mut room.strings)?;
            values.extend((0..room.strings.len()).map(|row| room.strings.get(row)));
        }
    }
    Ok(())
}

fn append_at(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
    at: &[u16],
    codes: Option<&CodeMap>,
    room: &mut DecodeRoom,
    out: &mut ColumnVector,
) -> Result<(), BlockError> {
    match &mut out.values {
        VectorValues::Bool(values) => {
            room.numbers.clear();
            kernel::project_i16(block, flavour, rows, at, &mut room.numbers)?;
            room.numbers.iter().for_each(|number| values.push(*number != 0));
        }
        VectorValues::Int16(values) => kernel::project_i16(block, flavour, rows, at, values)?,
        VectorValues::Int32(values) => kernel::project_i32(block, flavour, rows, at, values)?,
        VectorValues::Int64(values) => kernel::project(block, flavour, rows, at, values)?,
        VectorValues::Int128(values) => kernel::project_i128(block, flavour, rows, at, values)?,
        VectorValues::Float32(values) => kernel::project_f32(block, flavour, rows, at, values)?,
        VectorValues::Float64(values) => kernel::project_f64(block, flavour, rows, at, values)?,
        VectorValues::Code(values) => match codes {
            Some(map) if map.is_identity => {
                kernel::project_codes(block, flavour, rows, at, values)?;
            }
            Some(map) => {
                room.codes.clear();
                kernel::project_codes(block, flavour, rows, at, &mut room.codes)?;
                append_mapped(&room.codes, map, values);
            }
            None => {
                clear_strings(&mut room.strings);
                kernel::project_bytes(block, flavour, rows, at, &mut room.strings)?;
                append_interned(&room.strings, out.dictionary.as_deref(), values);
            }
        },
        VectorValues::Bytes(values) => {
            clear_strings(&mut room.strings);
            kernel::project_bytes(block, flavour, rows, at, &mut room.strings)?;
            values.extend((0..room.strings.len()).map(|row| room.strings.get(row)));
        }
    }
    Ok(())
}

pub(super) fn clear_strings(strings: &mut ByteValues) {
    strings.offsets.truncate(1);
    strings.data.clear();
}

fn append_flags(flags: &[bool], out: &mut BitVector) {
    for some in flags.chunks(64) {
        let bit = |(at, flag): (usize, &bool)| u64::from(*flag) << at;
        let word = some.iter().enumerate().map(bit).fold(0, |word, bit| word | bit);
        out.extend_from_words(&[word], some.len());
    }
}

/// Appends query-wide codes. Codes past the map, which a checked block does not have, become 0.
fn append_mapped(codes: &[u32], map: &CodeMap, out: &mut Vec<u32>) {
    out.extend(codes.iter().map(|code| map.codes.get(*code as usize).copied().unwrap_or(0)));
}

pub(super) fn append_interned(
    strings: &ByteValues,
    dictionary: Option<&QueryDictionary>,
    out: &mut Vec<u32>,
) {
    if let Some(dictionary) = dictionary {
        out.extend(dictionary.intern((0..strings.len()).map(|row| strings.get(row))));
    }
}
