//! Select at positions: which of a few rows of a vector match, decided on their encoded values.
//!
//! Where other restrictions have left few rows, fetching the keys of those takes less time than
//! comparing the keys of all: of numbers less than about a twelfth, of strings a quarter.
//!
//! ```text
//! block        10 12 null 17 12        bit-packed: base 10, differences 0 2 0 7 2
//! restriction  >= 12                   differences from 2 upwards
//! rows 1..5    positions 1 2 3         differences 0 7 2; positions 2 3 are kept
//! ```
//!
//! # Source
//! [Muehlbauer16 section 7.3] a further predicate looks at the matches of those before alone.

use std::ops::Range;

use nacre_simd::Flavour;

use super::entries::{EntrySet, select_strings};
use super::gather::{check_positions, project_bytes};
use super::select::{key_matcher, select_bits};
use crate::format::plain::Strings;
use crate::{Block, BlockError, ByteValues, Restriction};

/// Puts those of `positions`, counted from `rows.start`, whose rows match into `kept`, in their
/// order. What `kept` held before is dropped.
///
/// # Errors
/// As [`select`](super::select()); [`BlockError::RowRange`] if a position is outside of `rows`.
pub fn select_at(
    block: &Block<'_>,
    flavour: Flavour,
    restriction: &Restriction,
    rows: Range<usize>,
    positions: &[u16],
    kept: &mut Vec<u16>,
) -> Result<(), BlockError> {
    check_positions(block, &rows, positions)?;
    kept.clear();
    if let Restriction::IsNull | Restriction::IsNotNull = restriction {
        kept.extend_from_slice(positions);
        let is_null_wanted = matches!(restriction, Restriction::IsNull);
        retain_null(block, rows.start, is_null_wanted, kept);
        return Ok(());
    }
    let is_kept = match key_matcher(block, restriction)? {
        Some((matcher, keys)) => {
            matcher.append_positions(block, keys, flavour, (rows.clone(), positions), kept)
        }
        None => false,
    };
    if is_kept {
        retain_null(block, rows.start, false, kept);
        return Ok(());
    }
    let mut bits = Vec::new();
    select_bits(block, flavour, restriction, rows, &mut bits)?;
    keep_marked(&bits, positions, kept);
    Ok(())
}

/// As [`select_at`], for a predicate on strings that holds for no null; see [`EntrySet`] for
/// dictionaries.
///
/// # Errors
/// As [`project_bytes`].
pub fn select_strings_at(
    block: &Block<'_>,
    flavour: Flavour,
    predicate: &dyn Fn(&[u8]) -> bool,
    rows: Range<usize>,
    positions: &[u16],
    kept: &mut Vec<u16>,
) -> Result<(), BlockError> {
    check_positions(block, &rows, positions)?;
    kept.clear();
    if let Strings::Encoded = block.strings()?
        && block.texts().is_none()
    {
        let mut bits = Vec::new();
        select_strings(block, flavour, predicate, rows, &mut bits)?;
        keep_marked(&bits, positions, kept);
        return Ok(());
    }
    let mut values = ByteValues::default();
    project_bytes(block, flavour, rows.clone(), positions, &mut values)?;
    let is_kept = |(index, _): &(usize, &u16)| predicate(values.get(*index));
    kept.extend(positions.iter().enumerate().filter(is_kept).map(|(_, position)| *position));
    retain_null(block, rows.start, false, kept);
    Ok(())
}

impl EntrySet {
    /// As [`select_at`]; `block` is the one that the set was made of.
    ///
    /// # Errors
    /// As [`EntrySet::select`]; [`BlockError::RowRange`] if a position is outside of `rows`.
    pub fn select_at(
        &self,
        block: &Block<'_>,
        flavour: Flavour,
        rows: Range<usize>,
        positions: &[u16],
        kept: &mut Vec<u16>,
    ) -> Result<(), BlockError> {
        check_positions(block, &rows, positions)?;
        kept.clear();
        let wanted = (rows.clone(), positions);
        if self.matcher().append_positions(block, block.codes()?, flavour, wanted, kept) {
            retain_null(block, rows.start, false, kept);
            return Ok(());
        }
        let mut bits = Vec::new();
        self.select(block, flavour, rows, &mut bits)?;
        keep_marked(&bits, positions, kept);
        Ok(())
    }
}

/// Leaves rows that are null, or those that are not.
fn retain_null(block: &Block<'_>, first: usize, is_null_wanted: bool, kept: &mut Vec<u16>) {
    if block.null_count() == 0 {
        if is_null_wanted {
            kept.clear();
        }
        return;
    }
    kept.retain(|position| {
        let row = first + usize::from(*position);
        let is_valid = block.validity_word(row / 64) >> (row % 64) & 1 == 1;
        is_valid != is_null_wanted
    });
}

fn keep_marked(bits: &[u64], positions: &[u16], kept: &mut Vec<u16>) {
    let is_marked = |position: &u16| {
        let at = usize::from(*position);
        bits.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    };
    kept.extend(positions.iter().copied().filter(is_marked));
}
