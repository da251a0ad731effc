//! Keys of a load, or of a new index: is one of them in any other row?
//!
//! 1. Each chunk's smallest and largest primary key are in its directory. Only keys in a range that
//!    two chunks share, one of them new, can be doubles; for loads in key order these ranges are
//!    empty or hold a handful of rows, and no block is read at all. Of other unique keys no ranges
//!    are known: all are looked at.
//! 2. The rows whose keys lie in such a range are collected, from the blocks of the key columns,
//!    and sorted by key; equal neighbours are doubles.
//! 3. Hot rows are asked through their index, as for an insert.
//!
//! Memory is bounded: keys are collected in passes over disjoint parts of the key's hash space,
//! so that about [`PASS_ROWS_MAX`] rows are held at a time.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use nacre_column::{CHUNK_ROWS, ColumnBuffer};

use crate::chunk::Chunk;
use crate::directory::KeyRange;
use crate::error::{Error, Result};
use crate::hot::{HotRows, KeyClaim};
use crate::id::{CommitTs, RowId, TX_ID_FIRST, TxId};
use crate::index::{TableIndex, claimed};
use crate::load::duplicate_key;
use crate::mvcc::Snapshot;
use crate::stored_load::StoredLoad;
use crate::table::Table;
use crate::value::{Value, ValueRef};

/// Rows held in one pass; with short keys about 64 bytes each, 256 MiB together.
pub(crate) const PASS_ROWS_MAX: u64 = 4 << 20;

/// Hot rows whose keys are collected before a chunk's latch is given to others.
const HOT_ROWS: usize = 1_024;

/// What a load sees: all that is committed. No transaction has this id.
pub(crate) const COMMITTED: Snapshot =
    Snapshot { start: CommitTs(TX_ID_FIRST - 1), tx: TxId(u64::MAX) };

/// One candidate row. Rows of the table sort before rows of the load.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    key: Box<[u8]>,
    is_new: bool,
    chunk: usize,
    row: usize,
}

/// Checks the keys of the announced `load` against each other and against `table`.
///
/// # Errors
/// [`Error::DuplicateKey`] naming the first such row of the load; [`Error::SerializationConflict`]
/// if a transaction that has not ended inserted or deleted such a row; a damaged block.
pub(crate) fn check(table: &Arc<Table>, load: &Arc<StoredLoad>) -> Result<()> {
    check_with_limit(table, load, PASS_ROWS_MAX)
}

fn check_with_limit(table: &Arc<Table>, load: &Arc<StoredLoad>, pass_rows_max: u64) -> Result<()> {
    let indexes = table.table_indexes().all();
    let mut unique = indexes.iter().filter(|index| index.definition().is_unique).peekable();
    if unique.peek().is_none() {
        return Ok(());
    }
    let old = table.snapshot().chunks()?;
    let open = load.open()?;
    let new: Vec<Chunk> = (0..open.chunks.len())
        .map(|index| Chunk::new(table, load, &open, index, index as u64))
        .collect();
    for index in unique {
        if let Some((chunk, row)) = first_double(table, index, (&old, &new), pass_rows_max)? {
            let columns = key_columns(index, &new[chunk])?;
            let columns: Vec<&ColumnBuffer> = columns.iter().collect();
            return Err(duplicate_key(table, index, &columns, (chunk as u64, row)));
        }
        check_hot(table, index, &new)?;
    }
    Ok(())
}

/// Checks the keys of all rows of a table against each other, for an index that has the entries of
/// all hot rows. The caller holds the table's commit lock.
///
/// # Errors
/// [`Error::DuplicateKey`]; [`Error::SerializationConflict`] if it depends on a transaction that
/// has not ended; a damaged block.
pub(crate) fn check_all(table: &Arc<Table>, index: &TableIndex, tx: TxId) -> Result<()> {
    let snapshot = Snapshot { tx, ..COMMITTED };
    let chunks = table.snapshot().chunks()?;
    if let Some((chunk, row)) = first_double(table, index, (&chunks, &[]), PASS_ROWS_MAX)? {
        let columns = key_columns(index, &chunks[chunk])?;
        let key: Vec<ValueRef<'_>> =
            columns.iter().map(|column| ValueRef::of(column, row)).collect();
        return Err(claimed(table, index, &key, KeyClaim::Taken));
    }
    for hot in table.hot().all().iter() {
        for start in (0..CHUNK_ROWS).step_by(HOT_ROWS) {
            let keys = hot.with(|rows| keys_of(index, rows, start..start + HOT_ROWS));
            for (key, values) in keys {
                let rows = index.rows_of(&key);
                if rows.len() > 1 {
                    check_claims(table, index, &values, (&rows, snapshot))?;
                }
            }
        }
    }
    if !index.has_keys((Bound::Unbounded, Bound::Unbounded)) {
        return Ok(());
    }
    for chunk in &chunks {
        for_each_key(index, chunk, |row, key, columns| {
            let mut rows = index.rows_of(key);
            if rows.is_empty() {
                return Ok(());
            }
            rows.extend(chunk.row_id(row as u16));
            let values: Vec<Value> =
                columns.iter().map(|column| ValueRef::of(column, row).to_value()).collect();
            check_claims(table, index, &values, (&rows, snapshot))
        })?;
    }
    Ok(())
}

/// Checks that at most one of rows with the same key is there for good.
fn check_claims(
    table: &Table,
    index: &TableIndex,
    key: &[Value],
    (rows, snapshot): (&[RowId], Snapshot),
) -> Result<()> {
    let claims = rows.iter().filter_map(|row| table.claim(*row, snapshot));
    let claims: Vec<KeyClaim> = claims.collect();
    if claims.len() < 2 {
        return Ok(());
    }
    let there = claims.iter().filter(|claim| **claim == KeyClaim::Taken).count();
    let claim = if there > 1 { KeyClaim::Taken } else { KeyClaim::Uncommitted };
    let key: Vec<ValueRef<'_>> = key.iter().map(Value::as_ref).collect();
    Err(claimed(table, index, &key, claim))
}

/// Returns the keys of hot rows that somebody may see, with their values; those with a null are
/// left out.
fn keys_of(
    index: &TableIndex,
    rows: &HotRows,
    some: std::ops::Range<usize>,
) -> Vec<(Vec<u8>, Vec<Value>)> {
    let there = (some.start..some.end.min(rows.len())).filter(|&row| rows.may_be_seen(row));
    let mut keys = Vec::new();
    for row in there {
        let values = || index.key().columns().map(|column| rows.column(column).get(row));
        let mut key = Vec::new();
        if !index.key().encode(values(), &mut key) {
            keys.push((key, values().map(ValueRef::to_value).collect()));
        }
    }
    keys
}

/// Looks for keys of frozen chunks that are there twice, one of them in a new chunk unless there
/// are none, and returns the chunk and row of the first of them: the later one of its key.
fn first_double(
    table: &Arc<Table>,
    index: &TableIndex,
    (old, new): (&[Chunk], &[Chunk]),
    pass_rows_max: u64,
) -> Result<Option<(usize, usize)>> {
    let is_primary = index.is_primary(table);
    // Keys of old chunks are known to differ only for the primary key.
    let is_primary = is_primary && !new.is_empty();
    let shared = if is_primary { shared_ranges(old, new) } else { Vec::new() };
    let is_shared = |chunk: &Chunk| match chunk.key_range() {
        Some(range) if is_primary => overlaps(&shared, range),
        _ => !is_primary,
    };
    let affected: Vec<(bool, usize, &Chunk)> = [(false, old), (true, new)]
        .into_iter()
        .flat_map(|(is_new, chunks)| {
            chunks.iter().enumerate().map(move |(index, chunk)| (is_new, index, chunk))
        })
        .filter(|(_, _, chunk)| is_shared(chunk))
        .collect();
    let rows: u64 = affected.iter().map(|(_, _, chunk)| chunk.rows() as u64).sum();
    let passes = rows.div_ceil(pass_rows_max).max(1);
    let mut first: Option<(usize, usize)> = None;
    for pass in 0..passes {
        let mut candidates = Vec::new();
        for &(is_new, number, chunk) in &affected {
            for_each_key(index, chunk, |row, key, _| {
                let is_candidate = (!is_primary || covers(&shared, key))
                    && hash(key) % passes == pass
                    && (is_new || claim(table, chunk, row).is_some());
                if is_candidate {
                    candidates.push(Candidate { key: key.into(), is_new, chunk: number, row });
                }
                Ok(())
            })?;
        }
        candidates.sort_unstable();
        let later = candidates.windows(2).filter(|pair| pair[0].key == pair[1].key);
        let doubles = later.map(|pair| (pair[1].chunk, pair[1].row));
        first = first.into_iter().chain(doubles).min();
    }
    Ok(first)
}

/// Returns what an old row says to another one with its key. Deletes that are not committed count
/// as if they did not happen, so that a load that is published is right whatever becomes of them.
fn claim(table: &Table, chunk: &Chunk, row: usize) -> Option<KeyClaim> {
    match chunk.row_id(row as u16) {
        Some(id) => table.claim(id, COMMITTED),
        None => Some(KeyClaim::Taken),
    }
}

/// Checks the keys of new chunks against those of hot rows.
fn check_hot(table: &Table, index: &TableIndex, new: &[Chunk]) -> Result<()> {
    for (number, chunk) in new.iter().enumerate() {
        let bounds = match chunk.key_range() {
            Some(range) if index.is_primary(table) => {
                (Bound::Included(range.min.as_slice()), Bound::Included(range.max.as_slice()))
            }
            _ => (Bound::Unbounded, Bound::Unbounded),
        };
        if !index.has_keys(bounds) {
            continue;
        }
        for_each_key(index, chunk, |row, key, columns| {
            let mut claims = index.rows_of(key).into_iter();
            match claims.find_map(|there| table.claim(there, COMMITTED)) {
                None => Ok(()),
                Some(KeyClaim::Taken) => {
                    let columns: Vec<&ColumnBuffer> = columns.iter().collect();
                    Err(duplicate_key(table, index, &columns, (number as u64, row)))
                }
                Some(_) => {
                    let (table, name) = (table.schema().name.clone(), &index.definition().name);
                    let reason = format!(
                        "a transaction that has not ended inserted or deleted a key of constraint \
                         \"{name}\" that the load has"
                    );
                    Err(Error::SerializationConflict { table, reason })
                }
            }
        })?;
    }
    Ok(())
}

/// Decodes the key columns of `chunk`, in key order.
fn key_columns(index: &TableIndex, chunk: &Chunk) -> Result<Vec<ColumnBuffer>> {
    index.key().columns().map(|column| chunk.decode(column)).collect()
}

/// Calls `visit` with the rows of a chunk, their keys and all key columns. Rows with a null in
/// their key are left out: they are equal to none.
pub(crate) fn for_each_key(
    index: &TableIndex,
    chunk: &Chunk,
    mut visit: impl FnMut(usize, &[u8], &[ColumnBuffer]) -> Result<()>,
) -> Result<()> {
    let columns = key_columns(index, chunk)?;
    let mut key = Vec::new();
    for row in 0..chunk.rows() {
        key.clear();
        let values = columns.iter().map(|column| ValueRef::of(column, row));
        if !index.key().encode(values, &mut key) {
            visit(row, &key, &columns)?;
        }
    }
    Ok(())
}

/// Returns the ranges that a new chunk shares with any other chunk, disjoint and ascending.
fn shared_ranges(old: &[Chunk], new: &[Chunk]) -> Vec<KeyRange> {
    let ranges = |chunks: &[Chunk], is_new: bool| {
        chunks
            .iter()
            .filter_map(Chunk::key_range)
            .map(|range| (range.clone(), is_new))
            .collect::<Vec<_>>()
    };
    let mut all = ranges(old, false);
    all.extend(ranges(new, true));
    all.sort_by(|(a, _), (b, _)| a.min.cmp(&b.min));
    let mut shared: Vec<KeyRange> = Vec::new();
    // The farthest reaching range so far among all chunks and among the new ones.
    let (mut reach_any, mut reach_new): (Option<Vec<u8>>, Option<Vec<u8>>) = (None, None);
    for (range, is_new) in all {
        let reach = if is_new { &reach_any } else { &reach_new };
        if let Some(reach) = reach
            && *reach >= range.min
        {
            let max = reach.min(&range.max).clone();
            merge(&mut shared, KeyRange { min: range.min.clone(), max });
        }
        if is_new {
            reach_new = reach_new.max(Some(range.max.clone()));
        }
        reach_any = reach_any.max(Some(range.max));
    }
    shared
}

/// Adds a range whose `min` is at or past that of the last one.
fn merge(ranges: &mut Vec<KeyRange>, range: KeyRange) {
    match ranges.last_mut() {
        Some(last) if last.max >= range.min => {
            if last.max < range.max {
                last.max = range.max;
            }
        }
        _ => ranges.push(range),
    }
}

/// Tells whether one of the disjoint, ascending `ranges` contains `key`.
fn covers(ranges: &[KeyRange], key: &[u8]) -> bool {
    ranges
        .binary_search_by(|range| {
            if range.max.as_slice() < key {
                Ordering::Less
            } else if range.min.as_slice() > key {
                Ordering::Greater
            } else {
                Ordering::Equal
            }
        })
        .is_ok()
}

/// Tells whether one of the disjoint, ascending `ranges` meets `range`.
fn overlaps(ranges: &[KeyRange], range: &KeyRange) -> bool {
    let first = ranges.partition_point(|candidate| candidate.max < range.min);
    ranges.get(first).is_some_and(|candidate| candidate.min <= range.max)
}

/// Spreads keys over passes: FNV-1a, whose quality is enough to divide work.
pub(crate) fn hash(key: &[u8]) -> u64 {
    let mixed = key.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    mixed >> 17
}
