//! Finds every field of a window of text in one pass.
//!
//! # Layout
//! An entry is the position of a delimiter or terminator outside quotes and two flags. Entry 0 is
//! the byte before the first row, so field `k` lies between entries `k` and `k + 1`.
//!
//! | bits | meaning |
//! |---|---|
//! | 0..30 | position in the text |
//! | 30 | the byte ends a row |
//! | 31 | the field before it holds a quote (or backslash, in text format) |
//!
//! # Source
//! [Muehlbauer16 section 3.3.4] finds delimiters as bits of a mask ([`crate::mask`]). Differs:
//! quotes are resolved in the same masks by a prefix parity instead of branches.

use crate::{
    dialect::{Dialect, Quoting, State},
    mask::{self, BLOCK_BYTES, Classes, STRETCH_BYTES, Special},
};
use nacre_simd::{Flavour, Kernel, Simd};

/// Set in an entry that ends a row.
pub(crate) const ENDS_ROW: u32 = 1 << 30;

/// Set in an entry whose field must be unquoted.
pub(crate) const MARKED: u32 = 1 << 31;

/// Takes the position from an entry.
pub(crate) const POSITION: u32 = ENDS_ROW - 1;

/// The fields of a window.
#[derive(Debug, Default)]
pub(crate) struct FieldIndex {
    entries: Vec<u32>,
}

impl FieldIndex {
    /// Indexes the whole rows in `text[from..]`; the text after the last row end has no entry.
    ///
    /// # Panics
    /// If `from` is 0 or `text` is longer than 2^30 bytes.
    pub(crate) fn build(&mut self, dialect: &Dialect, text: &[u8], from: usize) {
        assert!(from > 0 && text.len() <= ENDS_ROW as usize, "window of {} bytes", text.len());
        let entries = &mut self.entries;
        let count = match dialect.quoting {
            Quoting::Doubled { quote } => {
                let (delimiter, terminator) = (dialect.delimiter, dialect.terminator());
                let special = Special { quote, delimiter, terminator };
                Flavour::active().run(IndexKernel { text, from, special, entries })
            }
            _ => step_index(dialect, text, from, entries),
        };
        let ends_row = |entry: &u32| entry & ENDS_ROW != 0;
        let last = entries[1..count].iter().rposition(ends_row).map_or(0, |index| index + 1);
        entries.truncate(last + 1);
    }

    /// Returns the entries; there is always the first.
    pub(crate) fn entries(&self) -> &[u32] {
        &self.entries
    }

    /// Counts up to `rows_max` rows if each has `fields` fields; `None` if one has not.
    pub(crate) fn count_regular(&self, fields: usize, rows_max: usize) -> Option<usize> {
        let mut rows = 0;
        let mut entries = &self.entries[1..];
        while rows < rows_max && !entries.is_empty() {
            let (row, rest) = entries.split_at_checked(fields)?;
            let (last, others) = row.split_last()?;
            let any = others.iter().fold(0, |any, entry| any | entry);
            if (!last | any) & ENDS_ROW != 0 {
                return None;
            }
            entries = rest;
            rows += 1;
        }
        Some(rows)
    }

    /// Returns the position after each row, for rows of any shape.
    pub(crate) fn row_ends(&self) -> impl Iterator<Item = usize> {
        let ends = self.entries[1..].iter().filter(|entry| **entry & ENDS_ROW != 0);
        ends.map(|entry| (entry & POSITION) as usize + 1)
    }

    /// Counts up to `rows_max` rows of any shape and returns the position after them.
    pub(crate) fn rows_end(&self, rows_max: usize) -> (usize, usize) {
        let begin = (self.entries[0] & POSITION) as usize + 1;
        self.row_ends().take(rows_max).fold((0, begin), |(rows, _), end| (rows + 1, end))
    }
}

/// Makes room for the entries of one more block.
#[inline(always)]
fn room(entries: &mut Vec<u32>, count: usize) -> &mut [u32] {
    if entries.len() < count + BLOCK_BYTES {
        entries.resize((count + BLOCK_BYTES).max(entries.len() * 2), 0);
    }
    &mut entries[count..]
}

struct IndexKernel<'a> {
    text: &'a [u8],
    from: usize,
    special: Special,
    entries: &'a mut Vec<u32>,
}

impl Kernel for IndexKernel<'_> {
    type Output = usize;

    /// Returns how many entries are valid.
    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> usize {
        let Self { text, from, special, entries } = self;
        let mut classes: Classes = [[0; BLOCK_BYTES]; STRETCH_BYTES / BLOCK_BYTES];
        room(entries, 0)[0] = from as u32 - 1;
        let mut count = 1;
        let mut base = from as u32;
        let mut inside = 0u64;
        // The field that is open at the block's begin has a quote in an earlier block.
        let mut is_open_marked = false;
        for stretch in text[from..].chunks(STRETCH_BYTES) {
            for block in mask::classify(stretch, special, &mut classes) {
                let ends = mask::mask_of(block, mask::ENDS_FIELD);
                let room = room(entries, count);
                if inside == 0 && !is_open_marked && !mask::has_any(block, mask::IS_QUOTE) {
                    count += put_plain(room, base, block, ends);
                } else {
                    let quotes = mask::mask_of(block, mask::IS_QUOTE);
                    let quoted = mask::prefix_parity(quotes) ^ inside;
                    let ends = ends & !quoted;
                    count += put_marked(room, base, block, ends, quotes, &mut is_open_marked);
                    inside = mask::spread_last(quoted);
                }
                base = base.wrapping_add(BLOCK_BYTES as u32);
            }
        }
        count
    }
}

/// Makes the entry for byte `bit` of a block without the mark.
#[inline(always)]
fn entry_at(base: u32, block: &[u8; BLOCK_BYTES], bit: u32) -> u32 {
    const SHIFT: u32 = ENDS_ROW.trailing_zeros() - mask::ENDS_ROW.trailing_zeros();
    (base + bit) | u32::from(block[bit as usize % BLOCK_BYTES] & mask::ENDS_ROW) << SHIFT
}

#[inline(always)]
fn put_plain(room: &mut [u32], base: u32, block: &[u8; BLOCK_BYTES], mut ends: u64) -> usize {
    let count = ends.count_ones() as usize;
    for entry in &mut room[..count] {
        *entry = entry_at(base, block, ends.trailing_zeros());
        ends &= ends.wrapping_sub(1);
    }
    count
}

#[inline(always)]
fn put_marked(
    room: &mut [u32],
    base: u32,
    block: &[u8; BLOCK_BYTES],
    mut ends: u64,
    mut quotes: u64,
    is_open_marked: &mut bool,
) -> usize {
    let count = ends.count_ones() as usize;
    for entry in &mut room[..count] {
        let below = (ends & ends.wrapping_neg()).wrapping_sub(1);
        let is_marked = *is_open_marked | (quotes & below != 0);
        *entry = entry_at(base, block, ends.trailing_zeros()) | (u32::from(is_marked) * MARKED);
        quotes &= !below;
        *is_open_marked = false;
        ends &= ends.wrapping_sub(1);
    }
    *is_open_marked |= quotes != 0;
    count
}

/// Indexes byte by byte, for dialects in which parity does not tell.
fn step_index(dialect: &Dialect, text: &[u8], from: usize, entries: &mut Vec<u32>) -> usize {
    let terminator = dialect.terminator();
    entries.clear();
    entries.push(from as u32 - 1);
    let mut state = State::Outside;
    let mut mark = 0;
    for (index, &byte) in text.iter().enumerate().skip(from) {
        if state == State::Outside && (byte == dialect.delimiter || byte == terminator) {
            let ends_row = u32::from(byte == terminator) * ENDS_ROW;
            entries.push(index as u32 | ends_row | mark);
            mark = 0;
        } else if dialect.quoting.marks_field(byte) {
            mark = MARKED;
        }
        state = dialect.quoting.step(state, byte);
    }
    entries.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::LineEnd;
    use proptest::prelude::*;

    fn index_of(text: &str) -> FieldIndex {
        let quoting = Quoting::Doubled { quote: b'"' };
        let dialect = Dialect { delimiter: b',', quoting, line_end: LineEnd::Lf };
        let mut index = FieldIndex::default();
        index.build(&dialect, format!("#{text}").as_bytes(), 1);
        index
    }

    #[test]
    fn entries_stand_at_delimiters_outside_quotes() {
        let index = index_of("a,\",\"\nb");
        assert_eq!(index.entries(), [0, 2, 6 | ENDS_ROW | MARKED]);
        assert_eq!(index_of("").entries(), [0]);
        assert_eq!(index_of("\"\n").entries(), [0]);
    }

    #[test]
    fn only_rows_of_the_right_shape_are_regular() {
        let index = index_of("1,2\n3,4\n5\n6,7\n");
        assert_eq!(index.count_regular(2, 2), Some(2));
        assert_eq!(index.count_regular(2, 3), None);
        assert_eq!(index.rows_end(3), (3, 11));
        assert_eq!(index.rows_end(9), (4, 15));
        assert_eq!(index_of("1,2\n3,4,5\n6\n").count_regular(2, 3), None);
    }

    proptest! {
        #[test]
        fn masks_agree_with_stepping(
            text in "[ab,\"\r\n]{0,400}",
            repeats in 1usize..20,
            from in 1usize..70,
        ) {
            let text = text.repeat(repeats);
            let text = format!("{:#<from$}{text}", "");
            for line_end in [LineEnd::Lf, LineEnd::CrLf, LineEnd::Cr] {
                let quoting = Quoting::Doubled { quote: b'"' };
                let dialect = Dialect { delimiter: b',', quoting, line_end };
                let mut index = FieldIndex::default();
                index.build(&dialect, text.as_bytes(), from);
                let mut expected = Vec::new();
                let count = step_index(&dialect, text.as_bytes(), from, &mut expected);
                expected.truncate(count);
                while expected.len() > 1 && expected.last().is_some_and(|e| e & ENDS_ROW == 0) {
                    expected.pop();
                }
                prop_assert_eq!(index.entries(), &expected[..]);
            }
        }
    }
}
