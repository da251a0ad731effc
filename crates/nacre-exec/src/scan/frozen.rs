//! A morsel of a frozen chunk that is being read, vector by vector; columns are opened and decoded
//! when asked for.
//!
//! # Faults
//! A vector counts only if, after it was copied, no page of its block was lost and no value in it
//! was impossible. Otherwise the replica is reported and the same rows are read from the next
//! best one; the query sees an error when none is left.

use std::ops::Range;

use nacre_column::{Block, BlockError, BlockErrorKind, REPLICAS_MAX, Restriction, kernel};
use nacre_store::{AccessHint, BlockHandle, Chunk};

use super::decode::{CodeMap, DecodeRoom, WantedRows, append_rows, code_map};
use super::predicate::{ColumnPredicate, ScanPredicate, StringPredicate};
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
    /// The entries that satisfy a predicate on strings.
    entries: Vec<(StringPredicate, Option<kernel::EntrySet>)>,
}

/// How a predicate is evaluated on a block.
enum BlockTest<'p> {
    Restriction(&'p Restriction),
    /// A predicate on strings, evaluated for the entries of the block's dictionary.
    Entries(&'p kernel::EntrySet),
    Strings(&'p dyn Fn(&[u8]) -> bool),
}

impl FrozenMorsel {
    pub(super) fn new(chunk: &Chunk, place: usize, column_count: usize, start: usize) -> Self {
        let opened = (0..column_count).map(|_| None).collect();
        let room = DecodeRoom::default();
        Self { chunk: chunk.clone(), place, opened, vector: start..start, room }
    }

    /// Returns the id of the chunk's first row, whose last 16 bits are those of the row in it.
    ///
    /// # Errors
    /// [`ExecError::Internal`] if the load is too large for ids.
    pub(super) fn first_row_id(&self) -> ExecResult<i64> {
        let id = self.chunk.row_id(0);
        // All 64 bits count.
        id.map(|id| id.0 as i64).ok_or_else(|| ExecError::internal("rows of a load without ids"))
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

    /// Puts a bit for each row of the present vector that satisfies a predicate into `bits`.
    ///
    /// # Errors
    /// That of a block without a good replica.
    pub(super) fn select(
        &mut self,
        scan: &PreparedScan,
        predicate: &ColumnPredicate,
        bits: &mut Vec<u64>,
    ) -> ExecResult<()> {
        let (flavour, rows) = (scan.flavour, self.vector.clone());
        self.read_tested(scan, predicate, |block, test| match test {
            BlockTest::Restriction(restriction) => {
                kernel::select_bits(block, flavour, restriction, rows.clone(), bits)
            }
            BlockTest::Entries(entries) => entries.select(block, flavour, rows.clone(), bits),
            BlockTest::Strings(test) => {
                kernel::select_strings(block, flavour, test, rows.clone(), bits)
            }
        })
    }

    /// As [`FrozenMorsel::select`], for few rows: puts those of `positions` that satisfy the
    /// predicate into `kept`.
    ///
    /// # Errors
    /// That of a block without a good replica.
    pub(super) fn select_at(
        &mut self,
        scan: &PreparedScan,
        predicate: &ColumnPredicate,
        positions: &[u16],
        kept: &mut Vec<u16>,
    ) -> ExecResult<()> {
        let (flavour, rows) = (scan.flavour, self.vector.clone());
        self.read_tested(scan, predicate, |block, test| {
            let rows = rows.clone();
            match test {
                BlockTest::Restriction(restriction) => {
                    kernel::select_at(block, flavour, restriction, rows, positions, kept)
                }
                BlockTest::Entries(entries) => {
                    entries.select_at(block, flavour, rows, positions, kept)
                }
                BlockTest::Strings(test) => {
                    kernel::select_strings_at(block, flavour, test, rows, positions, kept)
                }
            }
        })
    }

    /// Reads the column of a predicate; `evaluate` gets its block and what is to be evaluated.
    fn read_tested(
        &mut self,
        scan: &PreparedScan,
        predicate: &ColumnPredicate,
        mut evaluate: impl FnMut(&Block<'_>, BlockTest<'_>) -> Result<(), BlockError>,
    ) -> ExecResult<()> {
        self.read(scan, predicate.column, |open, _| {
            let block = open.handle.block()?;
            let strings = match &predicate.predicate {
                ScanPredicate::Restriction(restriction) => {
                    return evaluate(&block, BlockTest::Restriction(restriction));
                }
                ScanPredicate::Strings(strings) => strings,
            };
            let known = open.entries.iter().position(|(known, _)| known == strings);
            let at = match known {
                Some(at) => at,
                None => {
                    let entries = kernel::EntrySet::new(&block, &|value| (strings.test())(value))?;
                    open.entries.push((strings.clone(), entries));
                    open.entries.len() - 1
                }
            };
            match &open.entries[at].1 {
                Some(entries) => evaluate(&block, BlockTest::Entries(entries)),
                None => evaluate(&block, BlockTest::Strings(&|value| (strings.test())(value))),
            }
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
