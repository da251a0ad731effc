//! Primary keys across chunks: is a key of a new load in any other chunk?
//!
//! 1. Each chunk's smallest and largest key are in its directory. Only keys in a range that two
//!    chunks share, one of them new, can be doubles; for loads in key order these ranges are
//!    empty or hold a handful of rows, and no block is read at all.
//! 2. The rows whose keys lie in such a range are collected, from the blocks of the key columns,
//!    and sorted by key; equal neighbours are doubles.
//!
//! Memory is bounded: keys are collected in passes over disjoint parts of the key's hash space,
//! so that about [`PASS_ROWS_MAX`] rows are held at a time.

use std::cmp::Ordering;
use std::sync::Arc;

use nacre_column::ColumnBuffer;

use crate::chunk::Chunk;
use crate::directory::KeyRange;
use crate::error::Result;
use crate::key::Keys;
use crate::load::duplicate_key;
use crate::stored_load::StoredLoad;
use crate::table::Table;

/// Rows held in one pass; with short keys about 64 bytes each, 256 MiB together.
const PASS_ROWS_MAX: u64 = 4 << 20;

/// One candidate row. Rows of the table sort before rows of the load.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    key: Box<[u8]>,
    is_new: bool,
    chunk: usize,
    row: usize,
}

/// Checks the keys of the unpublished `load` against each other and against `table`.
///
/// # Errors
/// [`crate::Error::DuplicateKey`] naming the first such row of the load, or a damaged block.
pub(crate) fn check(table: &Arc<Table>, load: &Arc<StoredLoad>) -> Result<()> {
    check_with_limit(table, load, PASS_ROWS_MAX)
}

fn check_with_limit(table: &Arc<Table>, load: &Arc<StoredLoad>, pass_rows_max: u64) -> Result<()> {
    if table.schema().primary_key.is_none() {
        return Ok(());
    }
    let old = table.snapshot().chunks()?;
    let open = load.open()?;
    let new: Vec<Chunk> = (0..open.chunks.len())
        .map(|index| Chunk::new(table, load, &open, index, index as u64))
        .collect();
    let shared = shared_ranges(&old, &new);
    let affected: Vec<(bool, usize, &Chunk)> = [(false, &old), (true, &new)]
        .into_iter()
        .flat_map(|(is_new, chunks)| {
            chunks.iter().enumerate().map(move |(index, chunk)| (is_new, index, chunk))
        })
        .filter(|(_, _, chunk)| chunk.key_range().is_some_and(|range| overlaps(&shared, range)))
        .collect();
    let rows: u64 = affected.iter().map(|(_, _, chunk)| chunk.rows() as u64).sum();
    let passes = rows.div_ceil(pass_rows_max).max(1);
    let mut first: Option<(usize, usize)> = None;
    for pass in 0..passes {
        let mut candidates = Vec::new();
        for &(is_new, index, chunk) in &affected {
            let keys = Keys::new(&key_columns(table, chunk)?.iter().collect::<Vec<_>>());
            for (row, key) in keys.iter().enumerate() {
                if covers(&shared, key) && hash(key) % passes == pass {
                    candidates.push(Candidate { key: key.into(), is_new, chunk: index, row });
                }
            }
        }
        candidates.sort_unstable();
        let later = candidates.windows(2).filter(|pair| pair[0].key == pair[1].key);
        let doubles = later.map(|pair| (pair[1].chunk, pair[1].row));
        first = first.into_iter().chain(doubles).min();
    }
    match first {
        None => Ok(()),
        Some((chunk, row)) => {
            let columns = key_columns(table, &new[chunk])?;
            let columns: Vec<&ColumnBuffer> = columns.iter().collect();
            Err(duplicate_key(table, &columns, chunk as u64, row))
        }
    }
}

/// Decodes the key columns of `chunk`, in key order.
fn key_columns(table: &Table, chunk: &Chunk) -> Result<Vec<ColumnBuffer>> {
    let schema = table.schema();
    let key = schema.primary_key.as_deref().unwrap_or_default();
    key.iter().map(|&column| chunk.decode(column)).collect()
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
fn hash(key: &[u8]) -> u64 {
    let mixed = key.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    mixed >> 17
}
