//! Predicates on strings that are no restriction: evaluated once for each entry of a dictionary,
//! or for each row of other formats.
//!
//! ```text
//! block        "ab" "b" null "ab"      dictionary "ab" "b", codes 0 1 - 0
//! starts_with("a")                     holds for entry 0
//! rows 0..4    bits 0b1001
//! ```

use std::ops::Range;

use nacre_simd::Flavour;

use super::select::{Matcher, append_strings_where, clear_tail, valid_words};
use crate::format::plain::Strings;
use crate::{Block, BlockError, ByteValues, VECTOR_ROWS};

/// The entries of a block's dictionary for which a predicate holds.
pub struct EntrySet(Matcher);

impl std::fmt::Debug for EntrySet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EntrySet")
    }
}

impl EntrySet {
    pub(super) fn matcher(&self) -> &Matcher {
        &self.0
    }

    /// Evaluates `predicate` once for each entry; `None` if the block has no dictionary of strings.
    ///
    /// # Errors
    /// [`BlockError::WrongOutput`] unless the column is of strings; [`BlockError::Contents`] if the
    /// block's bytes are damaged.
    pub fn new(
        block: &Block<'_>,
        predicate: &dyn Fn(&[u8]) -> bool,
    ) -> Result<Option<Self>, BlockError> {
        let Strings::Dictionary(entries) = block.strings()? else { return Ok(None) };
        let mut codes = Vec::new();
        for code in 0..entries.len() {
            if predicate(entries.get(code)?) {
                codes.push(code as u64);
            }
        }
        Ok(Some(Self(Matcher::set(codes))))
    }

    /// Tells which rows of `rows` hold one of the entries, as
    /// [`select_bits`](super::select_bits) does; `block` is the one that the set was made of.
    ///
    /// # Errors
    /// [`BlockError::RowRange`]; [`BlockError::WrongOutput`] if the block has no dictionary.
    pub fn select(
        &self,
        block: &Block<'_>,
        flavour: Flavour,
        rows: Range<usize>,
        bits: &mut Vec<u64>,
    ) -> Result<(), BlockError> {
        block.check_rows(&rows)?;
        bits.clear();
        self.0.append_keys(block, block.codes()?, flavour, &rows, bits);
        finish(block, &rows, bits);
        Ok(())
    }
}

/// Tells for which rows of `rows` the string is not null and `predicate` holds, whatever the
/// format; see [`EntrySet`] for dictionaries.
///
/// # Errors
/// As [`Block::decode_bytes`].
pub fn select_strings(
    block: &Block<'_>,
    flavour: Flavour,
    predicate: &dyn Fn(&[u8]) -> bool,
    rows: Range<usize>,
    bits: &mut Vec<u64>,
) -> Result<(), BlockError> {
    block.check_rows(&rows)?;
    bits.clear();
    if let Strings::Plain(values) = block.strings()? {
        append_strings_where(|row| values.get(row), &rows, bits, predicate)?;
        finish(block, &rows, bits);
        return Ok(());
    }
    let mut values = ByteValues::default();
    for start in rows.clone().step_by(VECTOR_ROWS) {
        let end = rows.end.min(start + VECTOR_ROWS);
        values.offsets.truncate(1);
        values.data.clear();
        block.decode_bytes(flavour, start..end, &mut values)?;
        append_strings_where(|row| Ok(values.get(row)), &(0..end - start), bits, predicate)?;
    }
    finish(block, &rows, bits);
    Ok(())
}

/// Takes null rows and what is past the last row out.
fn finish(block: &Block<'_>, rows: &Range<usize>, bits: &mut [u64]) {
    if block.null_count() > 0 {
        for (word, valid) in bits.iter_mut().zip(valid_words(block, rows)) {
            *word &= valid;
        }
    }
    clear_tail(bits, rows.len());
}
