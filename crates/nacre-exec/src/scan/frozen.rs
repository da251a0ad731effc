//! A morsel of a frozen chunk that is being read, vector by vector; columns are opened and decoded
//! when asked for.
//!
//! # Faults
//! A vector counts only if, after it was copied, no page of its block was lost and no value in it
//! was impossible. Otherwise the replica is reported and the same rows are read from the next
//! best one; the query sees an error when none is left.

use std::ops::Range;

use nacre_column::{Block, BlockError, BlockErrorKind, REPLICAS_MAX, kernel};
use nacre_store::{AccessHint, BlockHandle, Chunk};

use super::decode::{CodeMap, DecodeRoom, WantedRows, append_rows, code_map, select_strings_at};
use super::predicate::ScanPredicate;
use super::prepare::PreparedScan;
use super::reads::BlockNote;
use super::top::TopCondition;
use crate::error::{ExecError, ExecResult};
use crate::value::IntBounds;
use crate::vector::{BitVector, ColumnVector};

/// How often one vector is read again from another replica: each replica once, and once more if it
/// was mended in the meantime. More only happens if mended replicas fail at once.
const READS_MAX: usize = 2 * REPLICAS_MAX;

/// A morsel and its present vector.
#[derive(Debug)]
pub(super) struct FrozenMorsel {
    chunk: Chunk,
    /// Its place among all chunks.
    place: usize,
    /// By column of the table.
    opened: Vec<Option<OpenColumn>>,
    pub(super) vector: Range<usize>,
    room: DecodeRoom,
}

/// A replica of a column's block, and the note that it is read.
#[derive(Debug)]
struct OpenColumn {
    handle: BlockHandle,
    note: Option<BlockNote>,
    /// Whether values were taken from it.
    was_read: bool,
    /// Query-wide codes of its entries, for the output column that wants them.
    codes: Option<Option<CodeMap>>,
    /// The entries that satisfy a predicate on strings, by the filter's index.
    entries: Vec<(usize, Option<kernel::EntrySet>)>,
}

impl FrozenMorsel {
    pub(super) fn new(chunk: &Chunk, place: usize, column_count: usize, start: usize) -> Self {
        let opened = (0..column_count).map(|_| None).collect();
        let room = DecodeRoom::default();
        Self { chunk: chunk.clone(), place, opened, vector: start..start, room }
    }

    /// Returns which rows of the present vector the snapshot sees and the sample has; `None` if
    /// all.
    pub(super) fn visible(&self, scan: &PreparedScan) -> Option<BitVector> {
        let deleted = scan.snapshot.deleted_rows(&self.chunk, self.vector.clone());
        let visible = deleted.map(|deleted| {
            let words = deleted.words().iter().map(|word| !word).collect();
            BitVector::from_words(words, self.vector.len())
        });
        let Some(sampler) = &scan.sampler else { return visible };
        let mut chosen = sampler.select(self.place, self.vector.clone());
        if let Some(visible) = &visible {
            chosen.and_with(visible);
        }
        Some(chosen)
    }

    /// Puts a bit for each row of the present vector that satisfies a filter into `bits`.
    ///
    /// # Errors
    /// That of a block without a good replica.
    pub(super) fn select(
        &mut self,
        scan: &PreparedScan,
        filter: usize,
        bits: &mut Vec<u64>,
    ) -> ExecResult<()> {
        let (flavour, rows) = (scan.flavour, self.vector.clone());
        let predicate = &scan.filters[filter].predicate;
        self.read(scan, predicate.column, |open, _| {
            let block = open.handle.block()?;
            let strings = match &predicate.predicate {
                ScanPredicate::Restriction(restriction) => {
                    return kernel::select_bits(&block, flavour, restriction, rows.clone(), bits);
                }
                ScanPredicate::Strings(strings) => strings,
            };
            let known = open.entries.iter().position(|(index, _)| *index == filter);
            let at = match known {
                Some(at) => at,
                None => {
                    let entries = kernel::EntrySet::new(&block, &|value| (strings.test())(value))?;
                    open.entries.push((filter, entries));
                    open.entries.len() - 1
                }
            };
            match &open.entries[at].1 {
                Some(entries) => entries.select(&block, flavour, rows.clone(), bits),
                None => {
                    let test = |value: &[u8]| (strings.test())(value);
                    kernel::select_strings(&block, flavour, &test, rows.clone(), bits)
                }
            }
        })
    }

    /// As [`FrozenMorsel::select`], of the rows at `positions` alone: a predicate on strings that
    /// was not evaluated for the entries of the block is evaluated for these only.
    ///
    /// # Errors
    /// As there.
    pub(super) fn select_few(
        &mut self,
        scan: &PreparedScan,
        filter: usize,
        positions: &[u16],
        bits: &mut Vec<u64>,
    ) -> ExecResult<()> {
        let predicate = &scan.filters[filter].predicate;
        let open = self.opened[predicate.column].as_ref();
        let is_known = open.is_some_and(|open| {
            open.entries.iter().any(|(index, entries)| *index == filter && entries.is_some())
        });
        let ScanPredicate::Strings(strings) = &predicate.predicate else {
            return self.select(scan, filter, bits);
        };
        if is_known {
            return self.select(scan, filter, bits);
        }
        let (flavour, rows) = (scan.flavour, self.vector.clone());
        self.read(scan, predicate.column, |open, room| {
            let block = open.handle.block()?;
            select_strings_at(&block, flavour, rows.clone(), positions, strings, room, bits)
        })
    }

    /// Puts a bit for each row of the present vector that has what a top-k wants of a column into
    /// `bits`.
    ///
    /// # Errors
    /// That of a block without a good replica.
    pub(super) fn select_wanted(
        &mut self,
        scan: &PreparedScan,
        column: usize,
        wanted: &TopCondition,
        bits: &mut Vec<u64>,
    ) -> ExecResult<()> {
        let (flavour, rows) = (scan.flavour, self.vector.clone());
        self.read(scan, column, |open, room| {
            let block = open.handle.block()?;
            kernel::select_bits(&block, flavour, &wanted.values, rows.clone(), bits)?;
            if wanted.takes_nulls && block.null_count() > 0 {
                room.select_nulls(&block, flavour, rows.clone(), bits)?;
            }
            Ok(())
        })
    }

    /// Appends the wanted rows of the present vector of an output column to `out`.
    ///
    /// # Errors
    /// That of a block without a good replica.
    pub(super) fn append(
        &mut self,
        scan: &PreparedScan,
        output: usize,
        wanted: &WantedRows<'_>,
        out: &mut ColumnVector,
    ) -> ExecResult<()> {
        let (flavour, rows) = (scan.flavour, self.vector.clone());
        let column = &scan.columns[output];
        let before = out.values.len();
        let had_validity = out.validity.is_some();
        self.read(scan, column.column, |open, room| {
            // What a replica that failed has left behind.
            out.values.truncate(before);
            if had_validity {
                out.validity.iter_mut().for_each(|bits| bits.truncate(before));
            } else {
                out.validity = None;
            }
            let block = open.handle.block()?;
            let codes = match (&column.dictionary, &mut open.codes) {
                (Some(dictionary), codes @ None) => {
                    codes.insert(code_map(&block, dictionary)?).as_ref()
                }
                (_, codes) => codes.as_ref().and_then(Option::as_ref),
            };
            append_rows(&block, flavour, rows.clone(), wanted, codes, room, out)
        })?;
        debug_assert!(is_within(column.bounds, out, before), "bounds of column {}", column.column);
        Ok(())
    }

    /// Reads from the best replica of a column that is whole.
    fn read(
        &mut self,
        scan: &PreparedScan,
        column: usize,
        mut read: impl FnMut(&mut OpenColumn, &mut DecodeRoom) -> Result<(), BlockError>,
    ) -> ExecResult<()> {
        for _ in 0..READS_MAX {
            let mut room = std::mem::take(&mut self.room);
            let open = self.open(scan, column)?;
            let outcome = read(open, &mut room);
            // Lost bytes look like damaged ones, and may look like whole ones.
            let lost = scan.reads.check(&open.handle);
            let is_good = outcome.is_ok() && lost.is_ok();
            open.was_read |= is_good;
            self.room = room;
            if is_good {
                return Ok(());
            }
            if let (Err(error), Ok(())) = (&outcome, &lost)
                && self.is_misuse(column, error)
            {
                return Err(ExecError::internal(error.to_string()));
            }
            self.give_up(scan, column);
        }
        // Names the object and what is wrong with each replica.
        let handle = self.chunk.read(column, AccessHint::Sequential)?;
        Err(handle.damage(format!("no vector could be read in {READS_MAX} tries")).into())
    }

    /// Whether an error is a bug of ours: the request does not fit a block that is what the
    /// directory says.
    fn is_misuse(&self, column: usize, error: &BlockError) -> bool {
        let is_as_told = |block: Block<'_>| block.sma() == self.chunk.sma(column);
        error.kind() != BlockErrorKind::Damaged
            && self.opened[column]
                .as_ref()
                .is_some_and(|open| open.handle.block().is_ok_and(is_as_told))
    }

    /// Reports the replica at hand of `column` and forgets it.
    fn give_up(&mut self, scan: &PreparedScan, column: usize) {
        let Some(open) = self.opened[column].take() else { return };
        self.chunk.report_lost(column, &open.handle);
        if let Some(note) = open.note {
            scan.reads.forget(note, &open.handle, open.was_read);
        }
    }

    fn open(&mut self, scan: &PreparedScan, column: usize) -> ExecResult<&mut OpenColumn> {
        let slot = &mut self.opened[column];
        if slot.is_none() {
            let handle = self.chunk.read(column, AccessHint::Sequential)?;
            let bytes = handle.bytes().len();
            scan.counters.note_block(handle.format(), handle.replica(), bytes);
            let note = Some(scan.reads.note(&self.chunk, column, &handle));
            let (codes, entries) = (None, Vec::new());
            *slot = Some(OpenColumn { handle, note, was_read: false, codes, entries });
        }
        slot.as_mut().ok_or_else(|| ExecError::internal("a column that was opened is not there"))
    }
}

/// Whether the values from row `before` on that are not null lie within bounds.
fn is_within(bounds: Option<IntBounds>, vector: &ColumnVector, before: usize) -> bool {
    let Some(bounds) = bounds else { return true };
    (before..vector.values.len()).filter(|row| !vector.is_null(*row)).all(|row| {
        vector.values.int(row).is_some_and(|value| bounds.contains(IntBounds::of(value)))
    })
}
