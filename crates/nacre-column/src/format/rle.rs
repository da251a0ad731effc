//! Run-length: each run of equal neighbouring keys once, with the row that ends it.
//!
//! # Invariants
//! 1. Neighbouring runs have different keys; the last rows of the runs ascend strictly, and the
//!    last of them is the block's last row.
//!
//! # Layout
//! The header's `entries` is the number of runs, its `width` the bits of a key. Section `values`:
//! the keys of the runs; section `offsets`: the last row of each run, in as many bits as the
//! block's last row needs. Both are packed as in [`static_bp`].
//!
//! A row is found by binary search in the last rows. Damaged last rows give wrong numbers: every
//! run read ends at or after the row at which it begins and before the end of what was asked for.
//!
//! # Source
//! [Zarubin22 section 2.1.4] run-length encoding. Differs: cumulative ends in the place of
//! lengths, which gives random access; both parts are null-suppressed.

use std::mem::MaybeUninit;
use std::ops::Range;

use nacre_simd::Flavour;

use super::integer::Key;
use super::keys::{KeyFormat, KeyReader, SectionBytes, Sections, Shape, check_entries, wrong_size};
use super::{lanes, static_bp};
use crate::BlockError;
use crate::kernel::in_range::{KeyRange, keys_in_range};
use crate::kernel::select::clear_tail;
use crate::kernel::totals::{RepeatTotals, Totals, Wanted};

/// Keys written at once where runs are short: no length of a run is then looked at twice.
const SPLAT: usize = 8;

/// Runs unpacked at a time.
const GROUP_RUNS: usize = 512;

/// Run-length encoding.
pub(crate) struct Rle;

/// Returns the bits of the last row of a run in a block of `rows` rows.
fn row_width(rows: usize) -> usize {
    lanes::width_of(rows.saturating_sub(1) as u64)
}

impl KeyFormat for Rle {
    type Reader<'a> = Reader<'a>;

    fn encode(flavour: Flavour, keys: &[u64], width: usize) -> Sections {
        let (mut run_keys, mut last_rows) = (Vec::new(), Vec::new());
        let ends = keys.windows(2).enumerate().filter(|(_, pair)| pair[0] != pair[1]);
        for row in ends.map(|(row, _)| row).chain(keys.len().checked_sub(1)) {
            run_keys.push(keys[row]);
            last_rows.push(row as u64);
        }
        Sections {
            values: static_bp::pack(flavour, &run_keys, width),
            offsets: static_bp::pack(flavour, &last_rows, row_width(keys.len())),
            heap: Vec::new(),
            entries: run_keys.len() as u32,
        }
    }

    fn open(shape: Shape, sections: SectionBytes<'_>) -> Result<Reader<'_>, BlockError> {
        check_entries(shape)?;
        if !sections.heap.is_empty() {
            return Err(wrong_size("heap_bytes", sections.heap.len(), 0));
        }
        let (runs, rows) = (shape.entries, shape.rows);
        let keys = static_bp::open_packed(runs, shape.width, ("values_bytes", sections.values))?;
        let last_rows = ("offsets_bytes", sections.offsets);
        let last_rows = static_bp::open_packed(runs, row_width(rows), last_rows)?;
        Ok(Reader { runs, rows, keys, last_rows })
    }
}

/// Sets a range of bits.
fn set_bits(words: &mut [u64], mut bits: Range<usize>) {
    while bits.start < bits.end {
        let at = bits.start % 64;
        let count = bits.len().min(64 - at);
        words[bits.start / 64] |= u64::MAX >> (64 - count) << at;
        bits.start += count;
    }
}

/// Reads a block's keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    runs: usize,
    rows: usize,
    keys: static_bp::Reader<'a>,
    last_rows: static_bp::Reader<'a>,
}

impl Reader<'_> {
    /// Returns the run that holds `row`; the last one if none ends that late.
    fn run_of(&self, row: usize) -> usize {
        let (mut low, mut high) = (0, self.runs.saturating_sub(1));
        while low < high {
            let middle = (low + high) / 2;
            if self.last_rows.get(middle).is_some_and(|last_row| last_row < row as u64) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Returns the row after those of the runs before `run`.
    fn start_of(&self, run: usize) -> usize {
        let last_row = run.checked_sub(1).and_then(|before| self.last_rows.get(before));
        last_row.map_or(0, |last_row| (last_row as usize).saturating_add(1))
    }

    /// As [`keys_in_range`]. Keys are compared once a run, where they are packed; where rows end is
    /// looked at only next to runs that match.
    pub(crate) fn in_range(
        &self,
        flavour: Flavour,
        range: KeyRange,
        width: usize,
        rows: Range<usize>,
        words: &mut [u64],
    ) {
        words.fill(0);
        let mut run = self.run_of(rows.start);
        run -= run % GROUP_RUNS;
        while run < self.runs && self.start_of(run) < rows.end {
            let end = self.runs.min(run + GROUP_RUNS);
            let mut matches = [0; GROUP_RUNS / 64];
            let matches = &mut matches[..(end - run).div_ceil(64)];
            keys_in_range(&self.keys, flavour, range, width, run..end, matches);
            clear_tail(matches, end - run);
            if matches.iter().any(|word| *word != 0) {
                self.set_rows(flavour, run..end, matches, &rows, words);
            }
            run = end;
        }
    }

    /// Sets the bits of those of `rows` whose run matches.
    fn set_rows(
        &self,
        flavour: Flavour,
        runs: Range<usize>,
        matches: &[u64],
        rows: &Range<usize>,
        words: &mut [u64],
    ) {
        // The row that each run starts at, then the one after the last run.
        let mut starts = [0; GROUP_RUNS + 1];
        starts[0] = self.start_of(runs.start);
        self.last_rows.for_each_run::<u32>(flavour, runs, |last_rows| {
            for (start, last_row) in starts[1..].iter_mut().zip(last_rows) {
                *start = *last_row as usize + 1;
            }
        });
        for (first, word) in (0..).step_by(64).zip(matches) {
            let mut rest = *word;
            while rest != 0 {
                let run = first + rest.trailing_zeros() as usize;
                let start = starts[run].clamp(rows.start, rows.end);
                let end = starts[run + 1].clamp(start, rows.end);
                set_bits(words, start - rows.start..end - rows.start);
                rest &= rest - 1;
            }
        }
    }

    /// Calls `each(key, count)` for the runs in `rows`, in order. The counts add up to
    /// `rows.len()`, whatever the block holds; none is 0.
    #[inline]
    pub(crate) fn for_each_repeat<K: Key>(
        &self,
        flavour: Flavour,
        rows: Range<usize>,
        mut each: impl FnMut(K, usize),
    ) {
        let mut row = rows.start;
        let mut run = self.run_of(row);
        let mut last_rows = [0; GROUP_RUNS];
        while row < rows.end && run < self.runs {
            let end = self.runs.min(run - run % GROUP_RUNS + GROUP_RUNS);
            self.last_rows.for_each_run::<u32>(flavour, run..end, |unpacked| {
                last_rows[..unpacked.len()].copy_from_slice(unpacked);
            });
            self.keys.for_each_run::<K>(flavour, run..end, |keys| {
                for (key, last_row) in keys.iter().zip(&last_rows) {
                    let end = (*last_row as usize + 1).clamp(row, rows.end);
                    if end > row {
                        each(*key, end - row);
                        row = end;
                    }
                }
            });
            run = end;
        }
        if row < rows.end {
            each(K::default(), rows.end - row);
        }
    }
}

impl KeyReader for Reader<'_> {
    const STEP: usize = 1_024;

    // A binary search among the runs.
    const ROWS_PER_GET: usize = 128;

    fn unpack<K: Key>(&self, flavour: Flavour, base: K, first: usize, out: &mut [MaybeUninit<K>]) {
        let mut filled = 0;
        let rows = first..first + out.len();
        self.for_each_repeat::<K>(flavour, rows, |key, count| {
            let out = &mut out[filled..];
            let value = MaybeUninit::new(key.plus(base));
            match out.first_chunk_mut::<SPLAT>() {
                Some(out) if count <= SPLAT => *out = [value; SPLAT],
                _ => out[..count].fill(value),
            }
            filled += count;
        });
    }

    fn totals(&self, flavour: Flavour, _: Wanted, rows: Range<usize>) -> Option<Totals> {
        let mut totals = RepeatTotals::NONE;
        self.for_each_repeat::<u64>(flavour, rows, |key, count| totals.add(key, count));
        Some(totals.totals())
    }

    #[inline]
    fn get(&self, row: usize) -> Option<u64> {
        if self.runs == 0 { Some(0) } else { self.keys.get(self.run_of(row)) }
    }

    fn check(&self, flavour: Flavour) -> Result<(), BlockError> {
        let (mut run, mut wrong) = (0, None);
        let mut next = 0;
        self.last_rows.for_each_run::<u64>(flavour, 0..self.runs, |last_rows| {
            for last_row in last_rows {
                let is_last = run + 1 == self.runs;
                let is_right = *last_row >= next && (*last_row + 1 < self.rows as u64) != is_last;
                let is_in_block = *last_row < self.rows as u64;
                if wrong.is_none() && !(is_right && is_in_block) {
                    wrong = Some((run, *last_row, next));
                }
                next = last_row + 1;
                run += 1;
            }
        });
        let Some((run, found, least)) = wrong else {
            return Ok(());
        };
        let last = self.rows - 1;
        let expected = format!("from {least} to {last}, {last} for the last run alone");
        Err(BlockError::Contents { what: "last row of run", row: run, found, expected })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::keys::tests::{Encoded, assert_reads_back};

    /// Runs of lengths 1, 2, ... that begin anew after `length_max`.
    fn sawtooth(rows: usize, length_max: usize) -> Vec<u64> {
        let lengths = (1..=length_max).cycle().enumerate();
        let keys = lengths.flat_map(|(run, length)| std::iter::repeat_n(run as u64 * 7, length));
        keys.take(rows).collect()
    }

    #[test]
    fn any_rows_come_back_in_every_flavour() {
        for length_max in [1, 3, 20, 3_000] {
            assert_reads_back::<Rle>(&sawtooth(5_000, length_max));
        }
    }

    #[test]
    fn neighbouring_runs_differ() {
        let encoded = Encoded::new::<Rle>(&[5, 5, 6, 5]);
        assert_eq!(encoded.sections.entries, 3);
        let reader = encoded.open::<Rle>();
        let mut repeats = Vec::new();
        reader.for_each_repeat::<u32>(Flavour::active(), 1..4, |key, count| {
            repeats.push((key, count));
        });
        assert_eq!(repeats, [(5, 1), (6, 1), (5, 1)]);
    }

    #[test]
    fn runs_in_a_range_give_the_bits_of_their_rows() {
        for length_max in [1, 3, 20, 700, 3_000] {
            let keys = sawtooth(5_000, length_max);
            let encoded = Encoded::new::<Rle>(&keys);
            let reader = encoded.open::<Rle>();
            let width = lanes::width_of(keys.iter().copied().max().unwrap());
            for (rows, low, span) in [
                (0..5_000, 0, 6),
                (64..2_112, 14, 700),
                (4_992..5_000, 7, 35_000),
                (640..641, 0, 0),
            ] {
                let flavours = Flavour::available().into_iter();
                for (flavour, is_inside) in
                    flavours.flat_map(|flavour| [(flavour, true), (flavour, false)])
                {
                    let range = KeyRange { low, span, is_inside };
                    // What was there before does not count.
                    let mut words = vec![u64::MAX; rows.len().div_ceil(64)];
                    reader.in_range(flavour, range, width, rows.clone(), &mut words);
                    for (at, key) in keys[rows.clone()].iter().enumerate() {
                        let is_set = words[at / 64] >> (at % 64) & 1 == 1;
                        let is_wanted = (low..=low + span).contains(key) == is_inside;
                        assert_eq!(is_set, is_wanted, "{length_max} {rows:?} {range:?} {at}");
                    }
                }
            }
        }
    }

    #[test]
    fn damaged_ends_give_as_many_keys_as_asked_for() {
        let mut encoded = Encoded::new::<Rle>(&[1, 2, 2, 3, 3, 3, 4, 4, 4, 4]);
        for last_rows in [[9, 3, 6, 9], [0, 0, 0, 0], [15, 15, 15, 15], [1, 3, 4, 5]] {
            encoded.sections.offsets = static_bp::pack(Flavour::active(), &last_rows, 4);
            let reader = encoded.open::<Rle>();
            for (start, end) in [(0, 10), (2, 7), (9, 10)] {
                let mut count = 0;
                reader.for_each_run::<u32>(Flavour::active(), start..end, |keys| {
                    count += keys.len();
                });
                assert_eq!(count, end - start);
                assert!(reader.get(start).is_some_and(|key| key <= 4));
                let range = KeyRange { low: 0, span: 2, is_inside: false };
                reader.in_range(Flavour::active(), range, 3, start..end, &mut [0]);
            }
            assert!(reader.check(Flavour::active()).is_err());
        }
    }
}
