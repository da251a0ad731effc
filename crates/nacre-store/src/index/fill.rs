//! Filling indexes with rows that are there already.
//!
//! Recovery makes rows again and leaves their index entries for later, so that whoever needs no
//! index is answered at once:
//!
//! 1. Each index of a table with hot rows notes their chunks and is behind ([`defer_hot_rows`]).
//! 2. Maintenance has one index after the other catch up ([`Store::fill_step`]).
//! 3. Whoever needs an index first adds what is missing, or waits for who is at that: the latch of
//!    an index is not to be had before (`table_index.rs`).
//!
//! # Invariants
//! 1. As long as an index is behind, all its entries are of rows that it is behind by: who inserts
//!    a row, takes an entry out or gives it another id waits for all of them.
//! 2. So the chunks that are noted have the keys of all rows whose entries are missing, also when
//!    they are frozen or their rows are deleted meanwhile: a version goes after the entry does, and
//!    a chunk that was frozen is kept as it was. No key changes, since the index is in the list.
//! # Concurrency
//! Who fills holds the index's list of chunks, and latches of chunks and of the index for some rows
//! at a time; never one while it waits for the other.
//! # Source
//! [Muehlbauer16 2.2.5] indexes refer to all records that a transaction may see. Differs: after a
//! restart they do so before anybody looks, not before anybody may.

use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard, PoisonError};

use nacre_column::CHUNK_ROWS;

use super::{KEYS_MAX, TableIndex, keys_in};
use crate::error::Result;
use crate::hot::HotChunk;
use crate::id::RowId;
use crate::maintenance::Progress;
use crate::store::Store;
use crate::table::Table;

/// Rows whose keys are collected before a chunk's latch is given to others.
pub(super) const FILL_ROWS: usize = 1_024;

/// Chunks whose rows have no entries in an index.
pub(super) type Missing = VecDeque<Arc<HotChunk>>;

/// Adds the entries of all hot rows of a table, which have no versions, as recovery leaves them.
///
/// # Errors
/// [`crate::Error::Internal`] if an index is full.
pub(crate) fn add_hot_rows(table: &Table) -> Result<()> {
    add_hot_rows_to(table, &table.table_indexes().all())
}

/// As [`add_hot_rows`], to some indexes. Rows may have versions that nobody sees through these.
///
/// # Errors
/// [`crate::Error::Internal`] if an index is full.
pub(crate) fn add_hot_rows_to(table: &Table, indexes: &[Arc<TableIndex>]) -> Result<()> {
    if indexes.is_empty() {
        return Ok(());
    }
    for chunk in table.hot().all().iter() {
        for start in (0..CHUNK_ROWS).step_by(FILL_ROWS) {
            let entries = chunk.with(|rows| {
                let end = (start + FILL_ROWS).min(rows.len());
                let there = (start..end).filter(|&row| !rows.is_deleted(row));
                let some: Vec<u16> = there.map(|row| row as u16).collect();
                keys_in(indexes, rows, (chunk.id(), &some))
            });
            for (index, entries) in indexes.iter().zip(&entries) {
                index.add(entries)?;
            }
        }
    }
    Ok(())
}

/// Has all indexes of a table be behind by its hot rows, which have no versions. There are no
/// transactions yet.
///
/// # Errors
/// As for [`add_hot_rows`], which it does if an index may get full.
pub(crate) fn defer_hot_rows(table: &Table) -> Result<()> {
    let chunks = table.hot().all();
    if chunks.len() > KEYS_MAX / CHUNK_ROWS {
        return add_hot_rows(table);
    }
    if !chunks.is_empty() {
        for index in table.table_indexes().all() {
            index.missing().extend(chunks.iter().cloned());
            index.begin_behind();
        }
    }
    Ok(())
}

impl TableIndex {
    /// Adds what is missing, if anything is, or waits for who is at that.
    #[cold]
    #[inline(never)]
    pub(super) fn catch_up(&self) {
        self.add_missing(&|| true);
    }

    /// Adds what is missing, as long as `goes_on` says so, and returns how many entries that were.
    fn add_missing(&self, goes_on: &dyn Fn() -> bool) -> usize {
        let (mut missing, mut keys, mut added) = (self.missing(), Keys::default(), 0);
        while let Some(chunk) = missing.front() {
            if !goes_on() {
                return added;
            }
            for start in (0..CHUNK_ROWS).step_by(FILL_ROWS) {
                keys.collect(self, chunk, start);
                let mut latched = self.write_lists();
                for (key, row) in keys.iter() {
                    let is_added = latched.entries.insert(key, row);
                    debug_assert!(is_added.is_ok(), "there are fewer rows than keys can be");
                    added += 1;
                }
            }
            missing.pop_front();
        }
        if self.is_behind() {
            self.end_behind();
        }
        added
    }

    /// Keeps others from filling the index, so that who needs it waits.
    pub(super) fn missing(&self) -> MutexGuard<'_, Missing> {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keys of some rows, one behind the other.
#[derive(Default)]
struct Keys {
    bytes: Vec<u8>,
    /// Where the key of a row ends.
    ends: Vec<(usize, RowId)>,
}

impl Keys {
    /// Takes the keys of those of the next [`FILL_ROWS`] rows of a chunk that somebody may see.
    fn collect(&mut self, index: &TableIndex, chunk: &HotChunk, start: usize) {
        let Self { bytes, ends } = self;
        bytes.clear();
        ends.clear();
        chunk.with(|rows| {
            let end = (start + FILL_ROWS).min(rows.len());
            for row in (start..end).filter(|&row| rows.may_be_seen(row)) {
                let value = |column| rows.column(column).get(row);
                index.key().encode(index.key().columns().map(value), bytes);
                ends.push((bytes.len(), RowId::hot(chunk.id(), row as u16)));
            }
        });
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], RowId)> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, row)| {
            let key = &self.bytes[start..end];
            start = end;
            (key, row)
        })
    }
}

impl Store {
    /// Has an index catch up that is behind, if there is one.
    ///
    /// # Errors
    /// None; it is a step as others are.
    pub(crate) fn fill_step(&self) -> Result<Progress> {
        for table in self.listed_tables() {
            let goes_on = || !self.is_closing() && !table.is_dropped();
            for index in table.indexes().into_iter().filter(|index| index.is_behind()) {
                let entries = index.add_missing(&goes_on);
                if entries > 0 {
                    let bytes = (entries * size_of::<RowId>()) as u64;
                    return Ok(Progress { done_bytes: bytes, total_bytes: bytes });
                }
            }
        }
        Ok(Progress::default())
    }

    /// Whether [`Store::fill_step`] has something to do.
    pub(crate) fn is_fill_due(&self) -> bool {
        let is_behind = |index: &Arc<TableIndex>| index.is_behind();
        self.listed_tables().iter().any(|table| table.indexes().iter().any(is_behind))
    }
}
