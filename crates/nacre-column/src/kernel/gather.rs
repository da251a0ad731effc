//! Gather: what [`project`](super::project()) does for 64-bit numbers, for every other output.
//!
//! Positions are those of rows that are left of a vector, counted from `rows.start`. A caller that
//! wants more than about a quarter of the rows decodes all of them faster.
//!
//! ```text
//! block        "b" "a" "b" "c"         dictionary "a" "b" "c", codes 1 0 1 2
//! rows 1..4    positions 0 2           codes 0 2, strings "a" "c"
//! ```
//!
//! # Source
//! [Muehlbauer16 section 7.3] unpacks only the matches of a vector.

use std::ops::Range;

use nacre_simd::Flavour;

use super::project::project_any;
use crate::format::plain::{self, Strings};
use crate::{Block, BlockError, ByteValues, Physical, STRING_BYTES_MAX};

/// As [`project`](super::project()), for values that fit 16 bits by the block's aggregates.
///
/// # Errors
/// As [`project`](super::project()).
pub fn project_i16(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
    positions: &[u16],
    out: &mut Vec<i16>,
) -> Result<(), BlockError> {
    project_any(block, flavour, rows, positions, out)
}

/// As [`project`](super::project()), for values that fit 32 bits by the block's aggregates.
///
/// # Errors
/// As [`project`](super::project()).
pub fn project_i32(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
    positions: &[u16],
    out: &mut Vec<i32>,
) -> Result<(), BlockError> {
    project_any(block, flavour, rows, positions, out)
}

/// As [`project`](super::project()), for all whole numbers.
///
/// # Errors
/// As [`project`](super::project()).
pub fn project_i128(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
    positions: &[u16],
    out: &mut Vec<i128>,
) -> Result<(), BlockError> {
    project_any(block, flavour, rows, positions, out)
}

/// As [`project`](super::project()), for a `real` column.
///
/// # Errors
/// As [`project`](super::project()); [`BlockError::WrongOutput`] for other columns.
pub fn project_f32(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
    positions: &[u16],
    out: &mut Vec<f32>,
) -> Result<(), BlockError> {
    check_positions(block, &rows, positions)?;
    if block.column_type().physical() != Physical::Float32 {
        return Err(block.wrong_output("f32"));
    }
    let Some(keys) = block.keys() else {
        let bytes = block.plain_bytes_of(rows, 4);
        plain::pick(bytes, positions, out, f32::from_le_bytes);
        return Ok(());
    };
    let mut bits: Vec<u32> = Vec::with_capacity(positions.len());
    if keys.gather(flavour, 0, rows.clone(), positions, &mut bits) {
        out.extend(bits.iter().map(|bits| f32::from_bits(*bits)));
        return Ok(());
    }
    keys.decode(flavour, 0, rows, &mut bits);
    out.extend(positions.iter().map(|position| f32::from_bits(bits[usize::from(*position)])));
    Ok(())
}

/// As [`project`](super::project()), for a `double precision` column.
///
/// # Errors
/// As [`project`](super::project()); [`BlockError::WrongOutput`] for other columns.
pub fn project_f64(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
    positions: &[u16],
    out: &mut Vec<f64>,
) -> Result<(), BlockError> {
    check_positions(block, &rows, positions)?;
    if block.column_type().physical() != Physical::Float64 {
        return Err(block.wrong_output("f64"));
    }
    let Some(keys) = block.keys() else {
        let bytes = block.plain_bytes_of(rows, 8);
        plain::pick(bytes, positions, out, f64::from_le_bytes);
        return Ok(());
    };
    let mut bits: Vec<u64> = Vec::with_capacity(positions.len());
    if keys.gather(flavour, 0, rows.clone(), positions, &mut bits) {
        out.extend(bits.iter().map(|bits| f64::from_bits(*bits)));
        return Ok(());
    }
    keys.decode(flavour, 0, rows, &mut bits);
    out.extend(positions.iter().map(|position| f64::from_bits(bits[usize::from(*position)])));
    Ok(())
}

/// As [`Block::decode_codes`], for the rows at `positions`.
///
/// # Errors
/// As [`Block::decode_codes`]; [`BlockError::RowRange`] if a position is outside of `rows`.
pub fn project_codes(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
    positions: &[u16],
    out: &mut Vec<u32>,
) -> Result<(), BlockError> {
    check_positions(block, &rows, positions)?;
    let keys = block.codes()?;
    let before = out.len();
    if !keys.gather(flavour, 0, rows.clone(), positions, out) {
        let mut all: Vec<u32> = Vec::with_capacity(rows.len());
        keys.decode(flavour, 0, rows.clone(), &mut all);
        out.extend(positions.iter().map(|position| all[usize::from(*position)]));
    }
    let row = |index: usize| rows.start + usize::from(positions[index]);
    let checked = block.check_code_range(flavour, &out[before..], row);
    if checked.is_err() {
        out.truncate(before);
    }
    checked
}

/// As [`Block::decode_bytes`], for the rows at `positions`.
///
/// # Errors
/// As [`Block::decode_bytes`]; [`BlockError::RowRange`] if a position is outside of `rows`.
pub fn project_bytes(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
    positions: &[u16],
    out: &mut ByteValues,
) -> Result<(), BlockError> {
    check_positions(block, &rows, positions)?;
    let mut push = |value: &[u8]| {
        let bytes = out.data.len() + value.len();
        if bytes > STRING_BYTES_MAX {
            let (found, max) = (bytes as u64, STRING_BYTES_MAX as u64);
            return Err(BlockError::TooLarge { what: "bytes of strings", found, max });
        }
        out.push(value);
        Ok(())
    };
    let row = |position: &u16| rows.start + usize::from(*position);
    match block.strings()? {
        Strings::Plain(values) => {
            positions.iter().try_for_each(|position| push(values.get(row(position))?))
        }
        Strings::Dictionary(entries) => {
            let mut codes = Vec::with_capacity(positions.len());
            project_codes(block, flavour, rows, positions, &mut codes)?;
            codes.iter().try_for_each(|code| push(entries.get(*code as usize)?))
        }
        Strings::Encoded => {
            let mut value = Vec::new();
            for (index, position) in positions.iter().enumerate() {
                value.clear();
                let is_read = match block.texts() {
                    Some(texts) => texts.get(row(position), &mut value)?,
                    None => false,
                };
                if !is_read {
                    return push_decoded(block, flavour, rows.clone(), &positions[index..], push);
                }
                push(&value)?;
            }
            Ok(())
        }
    }
}

/// Decodes all of `rows`, for a format without access to single rows.
fn push_decoded(
    block: &Block<'_>,
    flavour: Flavour,
    rows: Range<usize>,
    positions: &[u16],
    mut push: impl FnMut(&[u8]) -> Result<(), BlockError>,
) -> Result<(), BlockError> {
    let mut all = ByteValues::default();
    block.decode_bytes(flavour, rows, &mut all)?;
    positions.iter().try_for_each(|position| push(all.get(usize::from(*position))))
}

/// Checks that the block has the rows and that all positions are in them.
pub(super) fn check_positions(
    block: &Block<'_>,
    rows: &Range<usize>,
    positions: &[u16],
) -> Result<(), BlockError> {
    block.check_rows(rows)?;
    let greatest = positions.iter().fold(0, |greatest, position| *position.max(&greatest));
    if positions.is_empty() || usize::from(greatest) < rows.len() {
        return Ok(());
    }
    let start = rows.start + usize::from(greatest);
    Err(BlockError::RowRange { start, end: start + 1, rows: rows.end })
}
