//! Counts the rows of a piece of a file whose beginning may be inside quotes.
//!
//! # Source
//! [Muehlbauer16 section 3.3.3] splits a file at row ends in a fast mode that forbids line ends
//! inside quotes, or in a safe mode with one sequential task. Here every piece is counted once for
//! each state it may begin in, so all pieces go in parallel and a prefix over their outcomes gives
//! the exact row and line number of each, whatever is quoted.

use crate::{
    dialect::{Dialect, Quoting, State},
    mask::{self, BLOCK_BYTES, Classes, STRETCH_BYTES, Special},
};
use memchr::{memchr, memchr_iter};
use nacre_simd::{Flavour, Kernel, Simd};

/// What a piece of a file does when entered in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// State after the last byte.
    pub(crate) state: State,
    /// Rows that end in the piece.
    pub(crate) rows: u64,
    /// The last byte ends a row.
    pub(crate) ends_row: bool,
}

/// A counted piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentScan {
    /// Line ends, also those inside quotes.
    pub(crate) lines: u64,
    outcomes: [Outcome; 3],
}

impl SegmentScan {
    /// Returns what happens when the piece is entered in `state`.
    pub(crate) fn outcome(&self, state: State) -> Outcome {
        self.outcomes[state as usize]
    }
}

/// Counts `bytes` for every state it may begin in.
pub(crate) fn scan_segment(dialect: &Dialect, bytes: &[u8]) -> SegmentScan {
    let lines = dialect.count_lines(bytes);
    let quoting = dialect.quoting;
    let nothing = Outcome { state: State::Outside, rows: 0, ends_row: false };
    let mut outcomes = [nothing; 3];
    if let Quoting::Doubled { .. } = quoting {
        let outside = count_rows(dialect, bytes, State::Outside, u64::MAX);
        outcomes[0] = outside.outcome();
        // The other hypothesis is the complement: what was outside is inside.
        let is_terminator = bytes.last() == Some(&dialect.terminator());
        outcomes[1] = Outcome {
            state: if outside.state == State::Outside { State::Inside } else { State::Outside },
            rows: lines - outside.rows,
            ends_row: is_terminator && !outside.ends_row,
        };
    } else {
        for state in State::ALL.into_iter().filter(|state| quoting.has_state(*state)) {
            outcomes[state as usize] = count_rows(dialect, bytes, state, u64::MAX).outcome();
        }
    }
    SegmentScan { lines, outcomes }
}

/// How far [`count_rows`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) rows: u64,
    /// Bytes looked at: all, or up to and including the last terminator asked for.
    pub(crate) bytes: usize,
    pub(crate) state: State,
    /// The last byte looked at ends a row.
    pub(crate) ends_row: bool,
}

impl Counted {
    fn outcome(self) -> Outcome {
        Outcome { state: self.state, rows: self.rows, ends_row: self.ends_row }
    }
}

/// Counts row ends from `state` on and stops after `rows_max` of them.
pub(crate) fn count_rows(dialect: &Dialect, bytes: &[u8], state: State, rows_max: u64) -> Counted {
    if rows_max == 0 {
        return Counted { rows: 0, bytes: 0, state, ends_row: false };
    }
    if let Quoting::Doubled { quote } = dialect.quoting {
        let terminator = dialect.terminator();
        if rows_max == u64::MAX && memchr(quote, bytes).is_none() {
            let is_outside = state == State::Outside;
            let rows = if is_outside { memchr_iter(terminator, bytes).count() } else { 0 };
            let ends_row = is_outside && bytes.last() == Some(&terminator);
            return Counted { rows: rows as u64, bytes: bytes.len(), state, ends_row };
        }
        // The delimiter does not matter here.
        let special = Special { quote, delimiter: terminator, terminator };
        return Flavour::active().run(CountKernel { bytes, special, state, rows_max });
    }
    step_rows(dialect, bytes, state, rows_max)
}

fn step_rows(dialect: &Dialect, bytes: &[u8], mut state: State, rows_max: u64) -> Counted {
    let terminator = dialect.terminator();
    let (mut rows, mut ends_row) = (0, false);
    for (index, &byte) in bytes.iter().enumerate() {
        ends_row = byte == terminator && state == State::Outside;
        rows += u64::from(ends_row);
        state = dialect.quoting.step(state, byte);
        if rows == rows_max {
            return Counted { rows, bytes: index + 1, state, ends_row };
        }
    }
    Counted { rows, bytes: bytes.len(), state, ends_row }
}

/// Counts terminators at even quote parity.
struct CountKernel<'a> {
    bytes: &'a [u8],
    special: Special,
    state: State,
    rows_max: u64,
}

impl Kernel for CountKernel<'_> {
    type Output = Counted;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> Counted {
        let Self { bytes, special, state, rows_max } = self;
        let mut classes: Classes = [[0; BLOCK_BYTES]; STRETCH_BYTES / BLOCK_BYTES];
        let mut inside = if state == State::Inside { u64::MAX } else { 0 };
        let mut rows = 0;
        for (stretch, text) in bytes.chunks(STRETCH_BYTES).enumerate() {
            let blocks = mask::classify(text, special, &mut classes);
            for (index, block) in blocks.iter().enumerate() {
                let quoted = mask::prefix_parity(mask::mask_of(block, mask::IS_QUOTE)) ^ inside;
                let ends = mask::mask_of(block, mask::ENDS_ROW) & !quoted;
                let count = u64::from(ends.count_ones());
                if rows + count >= rows_max {
                    let bit = nth_bit(ends, (rows_max - rows - 1) as u32) as usize;
                    let bytes = stretch * STRETCH_BYTES + index * BLOCK_BYTES + bit + 1;
                    let state = State::Outside;
                    return Counted { rows: rows_max, bytes, state, ends_row: true };
                }
                rows += count;
                inside = mask::spread_last(quoted);
            }
        }
        let state = if inside == 0 { State::Outside } else { State::Inside };
        let ends_row = inside == 0 && bytes.last() == Some(&special.terminator);
        Counted { rows, bytes: bytes.len(), state, ends_row }
    }
}

/// Returns the position of set bit number `n`, counted from 0.
#[inline(always)]
fn nth_bit(mut mask: u64, n: u32) -> u32 {
    for _ in 0..n {
        mask &= mask - 1;
    }
    mask.trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::LineEnd;
    use proptest::prelude::*;

    fn dialects() -> Vec<Dialect> {
        let quotings = [
            Quoting::Doubled { quote: b'"' },
            Quoting::Escaped { quote: b'"', escape: b'\\' },
            Quoting::Escaped { quote: b'"', escape: b',' },
            Quoting::Backslash,
        ];
        let ends = [LineEnd::Lf, LineEnd::CrLf, LineEnd::Cr];
        let dialect = |quoting, line_end| Dialect { delimiter: b',', quoting, line_end };
        quotings.iter().flat_map(|q| ends.iter().map(move |end| dialect(*q, *end))).collect()
    }

    proptest! {
        #[test]
        fn scans_agree_with_stepping_from_every_state(
            text in "[ab,\"\\\\\r\n]{0,300}",
            repeats in 1usize..20,
        ) {
            let text = text.repeat(repeats);
            let bytes = text.as_bytes();
            for dialect in dialects() {
                let scan = scan_segment(&dialect, bytes);
                for state in State::ALL.into_iter().filter(|s| dialect.quoting.has_state(*s)) {
                    let mut now = state;
                    let (mut rows, mut ends_row) = (0, false);
                    for (index, &byte) in bytes.iter().enumerate() {
                        ends_row = byte == dialect.terminator() && now == State::Outside;
                        rows += u64::from(ends_row);
                        now = dialect.quoting.step(now, byte);
                        if ends_row && index % 97 == 0 {
                            let counted = count_rows(&dialect, bytes, state, rows);
                            prop_assert_eq!((counted.rows, counted.bytes), (rows, index + 1));
                        }
                    }
                    let expected = Outcome { state: now, rows, ends_row };
                    prop_assert_eq!(scan.outcome(state), expected);
                }
            }
        }
    }
}
