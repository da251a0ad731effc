//! From hot chunks to a load.

use std::sync::{Arc, PoisonError};

use nacre_column::{ColumnBuffer, Values};

use super::forward::Forward;
use crate::error::{Error, Result};
use crate::hot::{HotChunk, Settled};
use crate::id::RowId;
use crate::index::keys_in;
use crate::load::Load;
use crate::manifest::{FrozenRecord, LoadRecord};
use crate::store::Store;
use crate::stored_load::StoredLoad;
use crate::table::Table;

/// Rows whose index entries get other ids before others get the index: some 50 microseconds.
const RENAMED_ROWS: usize = 128;

/// A chunk that was copied.
#[derive(Debug)]
struct Copied {
    chunk: Arc<HotChunk>,
    settled: Settled,
    /// Its number in the load; `None` if no row is left.
    index: Option<u32>,
}

/// Freezes those of some hot chunks that nobody needs versions of, as one load, and returns how
/// many rows they have; none if somebody wrote to one of them meanwhile.
///
/// # Errors
/// No space, I/O; [`Error::UnknownTable`] if it was dropped: all chunks are as they were.
pub(super) fn freeze(store: &Store, table: &Arc<Table>, chunks: &[Arc<HotChunk>]) -> Result<u64> {
    let mut load = None;
    let (copied, string_bytes) = copy(store, table, chunks, &mut load)?;
    if copied.is_empty() {
        return Ok(0);
    }
    let finished = match &mut load {
        Some(load) => load.finish()?,
        None => None,
    };
    let (stored, record) = match finished {
        Some((stored, record)) => (Some(stored), record),
        None => (None, empty_record(store, table)),
    };
    let published = publish(store, table, copied, stored.as_ref(), &record);
    if let (Some(load), Some(stored)) = (&load, &stored) {
        match &published {
            // What was published and does not count has a record to go with its files.
            Ok(Outcome::Withdrawn) => {}
            Ok(outcome) => load.note_published(stored, matches!(outcome, Outcome::Frozen)),
            Err(_) => load.note_published(stored, false),
        }
    }
    match published? {
        Outcome::Frozen => {
            store.compaction().note_frozen(record.load, record.rows, string_bytes);
            table.wake_for_runs();
            Ok(record.rows)
        }
        Outcome::Withdrawn => store.record_withdrawn().map(|()| 0),
        Outcome::GivenUp => Ok(0),
    }
}

/// Copies chunks without versions into a load, which it begins if a row is left; returns them, and
/// the bytes of their strings.
fn copy(
    store: &Store,
    table: &Arc<Table>,
    chunks: &[Arc<HotChunk>],
    load: &mut Option<Load>,
) -> Result<(Vec<Copied>, usize)> {
    let (mut copied, mut string_bytes, mut next) = (Vec::new(), 0, 0);
    for chunk in chunks {
        if store.is_closing() {
            return Ok((Vec::new(), 0));
        }
        let Some(settled) = chunk.settled() else {
            continue;
        };
        let mut index = None;
        if settled.rows() > 0 {
            let Some(columns) = chunk.copy(&settled) else {
                continue;
            };
            let load = match load {
                Some(load) => load,
                None => load.insert(store.begin_freeze(table)?),
            };
            if RowId::frozen(load.id(), next, 0).is_none() {
                let reason = format!("load {} is too late for rows that change", load.id().0);
                return Err(Error::Internal { reason });
            }
            load.append_chunk(next.into(), &columns)?;
            string_bytes += columns.iter().map(string_bytes_of).sum::<usize>();
            index = Some(next);
            next += 1;
        }
        copied.push(Copied { chunk: Arc::clone(chunk), settled, index });
    }
    Ok((copied, string_bytes))
}

fn string_bytes_of(column: &ColumnBuffer) -> usize {
    match column.values() {
        Values::Bytes(strings) => strings.data.len(),
        _ => 0,
    }
}

/// Returns what is recorded of chunks without rows.
fn empty_record(store: &Store, table: &Table) -> LoadRecord {
    let (load, table) = (store.take_load_id(), table.id());
    LoadRecord { load, table, rows: 0, chunk_count: 0, parts: Vec::new() }
}

/// What became of an attempt.
enum Outcome {
    Frozen,
    /// Nothing was published.
    GivenUp,
    /// What was published does not count.
    Withdrawn,
}

fn publish(
    store: &Store,
    table: &Arc<Table>,
    copied: Vec<Copied>,
    stored: Option<&Arc<StoredLoad>>,
    load: &LoadRecord,
) -> Result<Outcome> {
    // Commits up to here that concern the chunks are in the copies, if these are good now; who
    // writes to one after that commits later.
    let as_of = store.all_transactions().now();
    if !copied.iter().all(|one| one.chunk.is_still(&one.settled)) {
        return Ok(Outcome::GivenUp);
    }
    // A commit that did not wait until it is durable must not survive in part.
    store.flush_redo()?;
    let chunks = copied.iter().map(|one| one.chunk.id()).collect();
    let record = FrozenRecord { load: load.clone(), chunks, as_of };
    // A load that checks its keys sees the rows here or there.
    let _commit = table.commit_lock.lock().unwrap_or_else(PoisonError::into_inner);
    let switched = store.publish_frozen(table, &record, || switch(table, copied, stored))?;
    Ok(if switched { Outcome::Frozen } else { Outcome::Withdrawn })
}

/// Puts the load in the place of its chunks, unless somebody wrote to one.
fn switch(table: &Table, copied: Vec<Copied>, stored: Option<&Arc<StoredLoad>>) -> bool {
    let layout = table.write_layout();
    let sealed = copied.iter().take_while(|one| one.chunk.seal(&one.settled)).count();
    if sealed < copied.len() {
        copied[..sealed].iter().for_each(|one| one.chunk.unseal());
        return false;
    }
    let ids: Vec<u64> = copied.iter().map(|one| one.chunk.id()).collect();
    let forward = |one: Copied| {
        let place = stored.and_then(|stored| Some((stored.id(), one.index?)));
        Arc::new(Forward::new(one.chunk, place, one.settled.into_live()))
    };
    let forwards: Vec<Arc<Forward>> = copied.into_iter().map(forward).collect();
    // Readers of indexes take no lock: they find a row here, there, or by the way between.
    forwards.iter().for_each(|forward| table.forwards().add(forward));
    if let Some(stored) = stored {
        table.add_frozen(Arc::clone(stored));
    }
    table.hot().remove(&ids);
    drop(layout);
    true
}

/// Gives the index entries of frozen chunks the ids that their rows have now, and drops what is
/// left of these chunks. Nobody waits for it: both ids lead to a row.
pub(super) fn rename_entries(store: &Store) {
    for table in store.listed_tables() {
        for (forward, chunk) in table.forwards().unnamed() {
            rename_all(&table, &chunk);
            forward.drop_chunk();
        }
    }
}

/// Gives the entries of a chunk's rows their new ids.
fn rename_all(table: &Table, chunk: &HotChunk) {
    let rows = chunk.with(|rows| rows.len());
    for start in (0..rows).step_by(RENAMED_ROWS) {
        let indexes = table.table_indexes().hold();
        if indexes.is_empty() {
            return;
        }
        let entries = chunk.with(|latched| {
            let there = start..(start + RENAMED_ROWS).min(rows);
            let there = there.filter(|row| !latched.is_deleted(*row));
            let some: Vec<u16> = there.map(|row| row as u16).collect();
            keys_in(&indexes, latched, (chunk.id(), &some))
        });
        for (index, entries) in indexes.iter().zip(&entries) {
            index.rename(entries, |row| table.forwards().row(row));
        }
    }
}
