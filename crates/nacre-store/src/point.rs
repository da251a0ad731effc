//! Single rows of frozen chunks.
//!
//! A scan pays for a block once and takes thousands of values from it; a transaction wants one
//! row. So what it takes to find a value stays beside the mapped parts of a load: which replica
//! suits single rows, its bytes, and what its header says. The first row of a block pays for that,
//! later ones read a few pointers and the value itself.
//!
//! Where that fails, because a replica was lost or no replica lets single rows be found,
//! [`Chunk::value`](crate::Chunk) reads the row as if nothing were kept.
//!
//! # Invariants
//! 1. What is kept is of blocks that were verified since they were mapped, and goes with their
//!    [`OpenLoad`]: parts that are replaced come with another one.
//! 2. A value counts only if, after it was read, its block was not noted as lost and no page of it
//!    was lost. Strings are copied before, so nobody looks at mapped bytes afterwards.
//! # Concurrency
//! Any thread reads; what is kept is written once. Which replica is read is a hint: whether it is
//! good is asked of its block each time.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use nacre_column::replicated::AccessHint;
use nacre_column::{Block, PointReader, PointValue};
use nacre_pmem::PoolSlice;

use crate::part::{BlockState, MappedPart};
use crate::stored_load::OpenLoad;
use crate::table::Table;

/// What is kept of the blocks of a load.
#[derive(Debug)]
pub(crate) struct Points {
    /// By chunk and column, the place of the replica that is read and one more; 0 if that has to be
    /// chosen.
    chosen: Vec<AtomicU32>,
    /// By place.
    blocks: Vec<OnceLock<Box<PointBlock>>>,
}

/// A verified block whose single values can be found.
#[derive(Debug)]
struct PointBlock {
    reader: PointReader,
    bytes: PoolSlice,
    part: Arc<MappedPart>,
    slot: usize,
}

impl PointBlock {
    #[inline]
    fn is_verified(&self) -> bool {
        self.part.slots[self.slot].state() == BlockState::Verified
    }

    /// Whether no page of the block was lost, and it was not found bad.
    #[cold]
    fn is_whole(&self) -> bool {
        let entry = &self.part.slots[self.slot].entry;
        self.part.pool().check_range(entry.offset, entry.bytes).is_ok() && self.is_verified()
    }
}

impl Points {
    /// Makes room for so many pairs of chunk and column, and places of replicas.
    pub(crate) fn new(pairs: usize, places: usize) -> Self {
        let chosen = (0..pairs).map(|_| AtomicU32::new(0)).collect();
        Self { chosen, blocks: (0..places).map(|_| OnceLock::new()).collect() }
    }
}

impl OpenLoad {
    /// Reads `columns` of a row of a chunk into `values`, as many, and strings into `text`, which
    /// is empty. Returns false if that cannot be done with what is kept.
    ///
    /// # Panics
    /// If the load has no such chunk, or the table no such column.
    #[inline]
    pub(crate) fn read_row(
        &self,
        table: &Table,
        (chunk, row): (usize, usize),
        columns: &[usize],
        values: &mut [PointValue],
        text: &mut Vec<u8>,
    ) -> bool {
        // Values of a row lie far apart: they are loaded at the same time.
        for &column in columns {
            if let Some(block) = self.known_point(self.pair(chunk, column)) {
                block.bytes.prefetch(block.reader.offset(row));
            }
        }
        columns.iter().zip(values).all(|(&column, slot)| {
            let value = self.read_point(table, (chunk, column), row, text);
            value.is_some_and(|value| {
                *slot = value;
                true
            })
        })
    }

    /// Returns the block that single rows of a chunk's column are read from, if one was chosen.
    #[inline]
    fn known_point(&self, pair: usize) -> Option<&PointBlock> {
        // ORDERING: a hint; the block's own lock orders what is read through it.
        let chosen = self.points.chosen[pair].load(Ordering::Relaxed) as usize;
        self.points.blocks[chosen.checked_sub(1)?].get().map(|block| &**block)
    }

    #[inline]
    fn read_point(
        &self,
        table: &Table,
        (chunk, column): (usize, usize),
        row: usize,
        text: &mut Vec<u8>,
    ) -> Option<PointValue> {
        let pair = self.pair(chunk, column);
        let block = match self.known_point(pair) {
            Some(block) => block,
            None => self.open_point(table, (chunk, column))?,
        };
        match block.reader.value(&block.bytes, row, text) {
            // In this order: what was lost or noted before the value was read is seen.
            Ok(value)
                if (!block.part.pool().is_faulted() && block.is_verified()) || block.is_whole() =>
            {
                Some(value)
            }
            _ => {
                // ORDERING: as in `known_point`.
                self.points.chosen[pair].store(0, Ordering::Relaxed);
                None
            }
        }
    }

    /// Chooses the replica that suits single rows best, verifies it and keeps what finds values in
    /// it; `None` if there is none, or none that lets single rows be found.
    #[cold]
    fn open_point(&self, table: &Table, (chunk, column): (usize, usize)) -> Option<&PointBlock> {
        let column_type = table.column_type(column);
        let hint = AccessHint::Random;
        let (place, bytes) = self.best((chunk, column), column_type, hint, || table.wake())?;
        let reader = PointReader::new(&Block::open(&bytes, column_type).ok()?)?;
        let at = self.place(place);
        let make = || {
            let (part, entry) = self.part_and_entry(&at);
            table.count_read(column, entry.replica);
            Box::new(PointBlock { reader, bytes, part: Arc::clone(part), slot: at.slot as usize })
        };
        let block = self.points.blocks[place].get_or_init(make);
        // Where nodes matter each row asks again who is near.
        if !self.has_nodes() {
            // ORDERING: as in `known_point`.
            let pair = self.pair(chunk, column);
            self.points.chosen[pair].store(place as u32 + 1, Ordering::Relaxed);
        }
        Some(block)
    }
}
