//! What the manifest knows of frozen hot chunks, and how far the redo log is of no concern.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::CommitTs;
use crate::manifest::{FrozenRecord, LoadId, TableId};

/// Sums of the records of freezes and checkpoints.
#[derive(Debug, Default)]
pub(crate) struct Frozen {
    /// All records that were not taken back, by load.
    records: BTreeMap<LoadId, FrozenRecord>,
    /// Load of each frozen chunk.
    loads: BTreeMap<(TableId, u64), LoadId>,
    /// By table, above the ids of all chunks that were ever to be frozen.
    next_chunks: BTreeMap<TableId, u64>,
    /// Loads that went when all their rows were deleted.
    emptied: BTreeSet<LoadId>,
    /// Changes of commits up to here are in loads, or in the log as parts of this checkpoint.
    pub(crate) checkpoint: CommitTs,
    /// The last commit that any record names.
    last_commit: CommitTs,
}

impl Frozen {
    pub(crate) fn add(&mut self, record: &FrozenRecord) {
        let load = record.load.load;
        self.last_commit = self.last_commit.max(record.as_of);
        self.withdraw(load);
        if record.chunks.is_empty() {
            return;
        }
        let table = record.load.table;
        let next = self.next_chunks.entry(table).or_default();
        for &chunk in &record.chunks {
            *next = chunk.saturating_add(1).max(*next);
            self.loads.insert((table, chunk), load);
        }
        self.records.insert(load, record.clone());
    }

    /// Notes that a load went when all its rows were deleted.
    pub(crate) fn note_emptied(&mut self, load: LoadId) {
        self.emptied.insert(load);
    }

    /// Whether a load went when all its rows were deleted.
    pub(crate) fn is_emptied(&self, load: LoadId) -> bool {
        self.emptied.contains(&load)
    }

    /// Forgets a freeze that does not count, and returns its record.
    pub(crate) fn withdraw(&mut self, load: LoadId) -> Option<FrozenRecord> {
        let record = self.records.remove(&load)?;
        for &chunk in &record.chunks {
            // A later freeze of the chunk stays.
            if self.loads.get(&(record.load.table, chunk)) == Some(&load) {
                self.loads.remove(&(record.load.table, chunk));
            }
        }
        Some(record)
    }

    /// Returns the freeze of a chunk.
    pub(crate) fn freeze_of(&self, table: TableId, chunk: u64) -> Option<&FrozenRecord> {
        self.records.get(self.loads.get(&(table, chunk))?)
    }

    /// Whether a freeze may not count: checkpoints come when all others were taken back.
    pub(crate) fn is_in_doubt(&self, freeze: &FrozenRecord) -> bool {
        freeze.as_of >= self.checkpoint
    }

    /// Returns the freezes that might not have counted, and do.
    pub(crate) fn doubted(&self) -> impl Iterator<Item = &FrozenRecord> {
        self.records.values().filter(|freeze| self.is_in_doubt(freeze))
    }

    /// Returns an id above those of all chunks of a table that were frozen.
    pub(crate) fn next_chunk(&self, table: TableId) -> u64 {
        self.next_chunks.get(&table).copied().unwrap_or(0)
    }

    /// Returns the last commit that is known without the log.
    pub(crate) fn last_commit(&self) -> CommitTs {
        self.last_commit.max(self.checkpoint)
    }
}
