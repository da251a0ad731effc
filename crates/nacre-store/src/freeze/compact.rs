//! Compaction: the rows of loads with few of them left move, and then the loads go.
//!
//! 1. Whenever hot chunks are looked at, so are loads. One is worth it if at least half of its rows
//!    are deleted for everybody, or if its table has [`SMALL_LOADS`] of fewer than [`SMALL_ROWS`]
//!    rows and few bytes; nobody may have deleted rows of it since the last look, unless a
//!    checkpoint was asked for.
//! 2. Maintenance moves the rows that are left into hot chunks, a chunk of the load in each step
//!    and [`BATCH_ROWS`] in each transaction (`mvcc/moves.rs`). To the redo log and to recovery it
//!    is an update that changes nothing.
//! 3. A load without rows goes as any ([`super::emptied`]), and the hot chunk is frozen as any.
//!
//! Moves give way: if a transaction is in the way of one, the load is left alone until the next
//! look; and no step begins while a transaction is older than [`OLD_TRANSACTION`], which would keep
//! the rows in both places and may be about to write them, while the log has calls of procedures,
//! or while a load is published. Nothing moves if freezing failed, since what moves has to be
//! frozen again, nor if an index would get too many entries in memory.
//!
//! # Invariants
//! 1. For each row that was deleted, or moved before, at most one moves for the first reason. For
//!    the second one at most `SMALL_ROWS * n` rows move when a table has `n` small loads, which
//!    fill at most `n` / 4 hot chunks, so that there are fewer loads afterwards.
//! 2. A transaction waits for the locks that an update of one row takes, and for the copying of
//!    [`BATCH_BYTES`] into the log, some 20 microseconds; one that is durable, for what it would
//!    wait after another one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use nacre_column::{CHUNK_ROWS, ColumnBuffer};
use tracing::{debug, info};

use super::checkpoint::Choice;
use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::hot::HEAP_BYTES_FULL;
use crate::id::CommitTs;
use crate::maintenance::Progress;
use crate::manifest::LoadId;
use crate::mvcc::{IsolationLevel, NOBODY, Snapshot};
use crate::sequences::SEQUENCES_TABLE;
use crate::store::Store;
use crate::stored_load::StoredLoad;
use crate::table::Table;
use crate::value::ValueRef;

/// A load is small if it has fewer rows: an eighth of a chunk, where what each load costs, a file
/// of some pages for each domain and a record, is not spread over many.
const SMALL_ROWS: u64 = CHUNK_ROWS as u64 / 8;

/// Small loads of a table that are worth it: together they fit in one hot chunk.
const SMALL_LOADS: usize = 8;

/// A load is not small if its rows have more bytes of strings when nothing is encoded, an eighth of
/// what a column of a hot chunk holds: a few such loads fill several chunks, and these would be
/// small loads again.
const SMALL_STRING_BYTES: usize = HEAP_BYTES_FULL / SMALL_LOADS;

/// Rows that one transaction moves: some half a millisecond, for which who wants to write one of
/// them would have to wait.
const BATCH_ROWS: usize = 128;

/// Bytes of values after which a transaction moves no more rows; commits wait while they are copied
/// into the log.
const BATCH_BYTES: usize = 64 << 10;

/// No rows move while a transaction is older. One that is younger loses little if a move is in its
/// way.
pub(super) const OLD_TRANSACTION: Duration = Duration::from_secs(1);

/// Sees all loads.
const EVERYTHING: Snapshot = Snapshot { start: CommitTs(u64::MAX), tx: NOBODY };

/// A load whose rows move.
#[derive(Clone, Debug)]
struct Target {
    table: Arc<Table>,
    load: LoadId,
    /// The chunk that is next.
    chunk: u32,
    /// Rows that moved.
    rows: u64,
}

/// Which loads are being compacted.
#[derive(Debug, Default)]
pub(crate) struct Compaction(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    targets: VecDeque<Target>,
    /// How many rows of each load were deleted for everybody at the last look.
    seen: BTreeMap<LoadId, u64>,
    /// Loads of which rows moved since the database was opened, and whether the entries of these
    /// are still in the indexes.
    moved: BTreeMap<LoadId, bool>,
    /// Loads of few rows that were frozen since the database was opened and are not small.
    wide: BTreeSet<LoadId>,
}

/// What is known of a load.
struct Candidate {
    load: LoadId,
    rows: u64,
    deleted: u64,
    /// Of all replicas.
    bytes: u64,
}

/// What became of a step.
enum Step {
    Moved(u64),
    /// There was no chunk left.
    Finished,
    /// Another load may have more luck.
    GivenUp,
    /// No load would.
    NotNow,
}

impl Compaction {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether rows of a load moved, so that one that is missing may be elsewhere.
    pub(crate) fn has_moved_rows_of(&self, load: LoadId) -> bool {
        self.state().moved.contains_key(&load)
    }

    /// Whether rows of some load moved that is still there.
    pub(super) fn has_moved(&self) -> bool {
        self.state().moved.values().any(|has_entries| *has_entries)
    }

    /// Whether rows of a load moved that still have entries there.
    pub(super) fn has_entries(&self, load: LoadId) -> bool {
        self.state().moved.get(&load).is_some_and(|has_entries| *has_entries)
    }

    /// Notes that a load is gone, with all entries.
    pub(super) fn note_gone(&self, load: LoadId) {
        let mut state = self.state();
        if let Some(has_entries) = state.moved.get_mut(&load) {
            *has_entries = false;
        }
        state.wide.remove(&load);
        state.targets.retain(|target| target.load != load);
    }

    /// Notes a load that was frozen, and the bytes of strings of its rows.
    pub(super) fn note_frozen(&self, load: LoadId, rows: u64, string_bytes: usize) {
        if rows < SMALL_ROWS && string_bytes > SMALL_STRING_BYTES {
            self.state().wide.insert(load);
        }
    }

    /// Has no rows move until loads are chosen again.
    pub(super) fn rest(&self) {
        self.state().targets.clear();
    }
}

impl Store {
    /// Chooses the loads whose rows are to move, beside those that were chosen before. The caller
    /// holds the maintenance lock.
    pub(super) fn choose_loads(&self, choice: Choice) {
        let mut state = self.compaction().state();
        let seen = std::mem::take(&mut state.seen);
        for table in self.listed_tables() {
            // It has a row for each sequence, which whoever takes values of it writes to.
            if table.names().table() == SEQUENCES_TABLE {
                continue;
            }
            let candidates: Vec<Candidate> = candidates(&table).collect();
            state.seen.extend(candidates.iter().map(|one| (one.load, one.deleted)));
            let is_still = |one: &&Candidate| {
                choice == Choice::All || seen.get(&one.load) == Some(&one.deleted)
            };
            let still = candidates.iter().filter(is_still);
            let still: Vec<&Candidate> = still.filter(|one| !self.awaits_copy(one.load)).collect();
            for load in worth_it(&still, &state.wide) {
                if !state.targets.iter().any(|target| target.load == load) {
                    let table = Arc::clone(&table);
                    state.targets.push_back(Target { table, load, chunk: 0, rows: 0 });
                }
            }
        }
        let has_targets = !state.targets.is_empty();
        drop(state);
        if has_targets {
            self.wake();
        }
    }

    pub(crate) fn is_compaction_due(&self) -> bool {
        !self.compaction().state().targets.is_empty()
    }

    /// Moves the rows of one chunk of a load, if there is one whose rows are to move. The caller
    /// holds the maintenance lock.
    ///
    /// # Errors
    /// No space, I/O, a damaged block: rows that did not move are where they were.
    pub(crate) fn compact_step(&self) -> Result<Progress> {
        if self.is_compaction_due() && self.has_old_transaction() {
            self.compaction().rest();
        }
        self.move_next()
    }

    /// Whether a transaction has been running for long.
    fn has_old_transaction(&self) -> bool {
        self.transactions().iter().any(|info| info.age > OLD_TRANSACTION)
    }

    /// Moves all rows that are to move now, whoever else is active; returns how many.
    #[cfg(test)]
    pub(crate) fn compact_all(&self) -> Result<u64> {
        let _turn = self.maintenance_lock().lock().unwrap_or_else(PoisonError::into_inner);
        self.choose_loads(Choice::All);
        let mut rows = 0;
        while self.is_compaction_due() {
            rows += self.move_next()?.done_bytes / size_of::<u64>() as u64;
        }
        Ok(rows)
    }

    fn move_next(&self) -> Result<Progress> {
        let Some(target) = self.compaction().state().targets.front().cloned() else {
            return Ok(Progress::default());
        };
        let step = self.move_chunk(&target);
        let mut state = self.compaction().state();
        let rows = match &step {
            Ok(Step::Moved(rows)) => {
                if let Some(first) = state.targets.front_mut() {
                    (first.chunk, first.rows) = (first.chunk + 1, first.rows + rows);
                }
                *rows
            }
            Ok(Step::NotNow) => {
                state.targets.clear();
                return Ok(Progress::default());
            }
            Ok(Step::Finished | Step::GivenUp) | Err(_) => {
                state.targets.pop_front();
                0
            }
        };
        drop(state);
        if matches!(step?, Step::Finished) {
            let (table, load, rows) = (target.table.names().table(), target.load.0, target.rows);
            info!(table, load, rows, "moved the rows of a load");
            self.drop_emptied()?;
        }
        // A step that moved nothing was one, too.
        let done_bytes = (rows * size_of::<u64>() as u64).max(1);
        Ok(Progress { done_bytes, total_bytes: done_bytes })
    }

    fn move_chunk(&self, target: &Target) -> Result<Step> {
        let Target { table, load, chunk: index, .. } = target;
        if table.is_dropped() || self.awaits_copy(*load) {
            return Ok(Step::GivenUp);
        }
        let Some(chunk) = table.frozen_chunk(*load, *index, &EVERYTHING)? else {
            return Ok(Step::Finished);
        };
        let deletes = table.deletes_of(*load, *index);
        let is_gone = |row: &u16| deletes.as_ref().is_some_and(|deletes| deletes.is_gone(*row));
        let rows: Vec<u16> =
            (0..chunk.rows()).map(|row| row as u16).filter(|row| !is_gone(row)).collect();
        if !table.indexes().iter().all(|index| index.has_room_for(rows.len() as u64)) {
            return Ok(Step::GivenUp);
        }
        let columns = match rows.is_empty() {
            true => Vec::new(),
            false => (0..table.definition().columns.len())
                .map(|column| chunk.decode(column))
                .collect::<Result<Vec<ColumnBuffer>>>()?,
        };
        let (mut rest, mut moved) = (rows.as_slice(), 0);
        while !rest.is_empty() {
            if self.is_closing() {
                return Ok(Step::NotNow);
            }
            let (some, others) = rest.split_at(batch_len(&columns, rest));
            match self.move_batch(table, &chunk, &columns, some) {
                Ok(Step::Moved(rows)) => moved += rows,
                // It is somebody's, who comes first.
                Err(Error::SerializationConflict { reason, .. }) => {
                    debug!(table = table.names().table(), reason, "rows of a load do not move");
                    return Ok(Step::GivenUp);
                }
                Err(Error::DefinitionChanged { .. }) => return Ok(Step::GivenUp),
                other => return other,
            }
            rest = others;
        }
        Ok(Step::Moved(moved))
    }

    /// Moves a few rows of a chunk in one transaction.
    fn move_batch(
        &self,
        table: &Arc<Table>,
        chunk: &Chunk,
        columns: &[ColumnBuffer],
        rows: &[u16],
    ) -> Result<Step> {
        // A call that began before would be replayed with the rows elsewhere.
        let Some(_fence) = self.fence_if_no_calls() else {
            return Ok(Step::NotNow);
        };
        let tables = tables_of_keys(table);
        let Some(_loads_wait) = hold_loads(&tables) else {
            return Ok(Step::GivenUp);
        };
        let mut tx = self.for_everybody().begin(IsolationLevel::RepeatableRead);
        let moved = tx.move_rows(table, chunk, columns, rows)?;
        // From here on the row may have entries under both ids.
        self.compaction().state().moved.insert(chunk.load_id(), true);
        tx.commit()?;
        Ok(Step::Moved(moved))
    }
}

/// Returns the loads of a table that have rows and no versions.
fn candidates(table: &Table) -> impl Iterator<Item = Candidate> {
    let mut deleted: BTreeMap<LoadId, (u64, bool)> = BTreeMap::new();
    for ((load, _), deletes) in table.all_deletes() {
        let (count, has_versions) = deleted.entry(load).or_default();
        *count += deletes.settled_count();
        *has_versions |= deletes.version_count() > 0;
    }
    let loads: Vec<Arc<StoredLoad>> = table.loads().to_vec();
    loads.into_iter().filter_map(move |load| {
        let (deleted, has_versions) = deleted.get(&load.id()).copied().unwrap_or_default();
        let (rows, bytes) = (load.rows(), load.pool_bytes());
        let is_one = !has_versions && deleted < rows;
        is_one.then_some(Candidate { load: load.id(), rows, deleted, bytes })
    })
}

/// Returns those of some loads of a table whose rows are to move; `wide` ones are not small.
fn worth_it(loads: &[&Candidate], wide: &BTreeSet<LoadId>) -> Vec<LoadId> {
    let is_half = |one: &Candidate| 2 * one.deleted >= one.rows;
    let is_small = |one: &Candidate| {
        let is_few = one.rows - one.deleted < SMALL_ROWS;
        // What was frozen before the database was opened is judged by the bytes that it takes.
        let is_wide = one.bytes > SMALL_STRING_BYTES as u64 || wide.contains(&one.load);
        !is_half(one) && is_few && !is_wide
    };
    let are_many = loads.iter().filter(|one| is_small(one)).count() >= SMALL_LOADS;
    let chosen = loads.iter().filter(|one| is_half(one) || are_many && is_small(one));
    chosen.map(|one| one.load).collect()
}

/// Returns how many of some rows of a chunk one transaction moves.
fn batch_len(columns: &[ColumnBuffer], rows: &[u16]) -> usize {
    let mut bytes = 0;
    let is_full = |row: &u16| {
        for column in columns {
            bytes += match ValueRef::of(column, usize::from(*row)) {
                ValueRef::Bytes(value) => value.len(),
                _ => size_of::<u64>(),
            };
        }
        bytes >= BATCH_BYTES
    };
    let most = &rows[..rows.len().min(BATCH_ROWS)];
    most.iter().position(is_full).map_or(most.len(), |last| last + 1)
}

/// Returns a table and those whose loads look for keys in it.
fn tables_of_keys(table: &Arc<Table>) -> Vec<Arc<Table>> {
    let links = table.links().lists();
    let children = links.incoming.iter().filter_map(|key| key.child());
    let tables: BTreeMap<_, _> =
        children.chain([Arc::clone(table)]).map(|one| (one.id(), one)).collect();
    tables.into_values().collect()
}

/// Has loads into some tables wait to be published, which look for a row in one place after the
/// other; `None` if one is at it.
fn hold_loads(tables: &[Arc<Table>]) -> Option<Vec<MutexGuard<'_, ()>>> {
    tables
        .iter()
        .map(|table| match table.commit_lock.try_lock() {
            Ok(held) => Some(held),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        })
        .collect()
}
