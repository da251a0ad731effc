//! Entries of a walk that do not lie in DRAM: those of runs, and rows of loads that are searched.
//!
//! # Invariants
//! 1. A run that turns out to be damaged is replaced, where the walk is, by a search of its loads:
//!    both have their rows in the same order, that of key and row.

use std::cmp::Ordering;
use std::sync::Arc;

use nacre_pmem::structure::KeyBounds;

use super::Direction;
use super::frozen::KeySearch;
use super::frozen_rows::FrozenRows;
use super::lookup::Reader;
use super::run::{RunCursor, RunDamage};
use super::runs::{LiveRun, Runs};
use super::searched::SearchedLoad;
use crate::error::Result;
use crate::id::RowId;
use crate::stored_load::StoredLoad;

/// A key with a row.
type Entry = (Vec<u8>, RowId);

/// What is left of a walk, in the order of keys.
pub(super) struct Others<'a> {
    reader: &'a Reader<'a>,
    search: &'a KeySearch,
    direction: Direction,
    runs: Vec<RunRows<'a>>,
    frozen: Vec<SearchedRows<'a>>,
}

/// The entries of a run.
struct RunRows<'a> {
    live: &'a LiveRun,
    cursor: std::result::Result<RunCursor, RunDamage>,
    head: Option<Entry>,
    /// The last entry that was a head.
    last: Option<Entry>,
}

/// Rows that are searched.
struct SearchedRows<'a> {
    rows: FrozenRows<'a>,
    head: Option<Entry>,
    /// What comes up to this entry was there before.
    after: Option<Entry>,
}

impl<'a> Others<'a> {
    /// Begins a walk over the keys of `search`.
    ///
    /// # Errors
    /// [`crate::Error::LoadDamaged`].
    pub(super) fn new(
        reader: &'a Reader<'a>,
        search: &'a KeySearch,
        direction: Direction,
        (searched, runs): (&[Arc<SearchedLoad>], &'a Runs),
    ) -> Result<Self> {
        let start = reader.snapshot.start();
        let visible = searched.iter().filter(|one| one.load().visible_from() <= start);
        let is_primary = reader.index.is_primary(reader.table);
        let chunks = search.chunks_of(reader.table, visible, is_primary)?;
        let rows = FrozenRows::new(search, reader.index, chunks, direction);
        let bounds: KeyBounds<'_> = search.bounds();
        let of_run = |live: &'a LiveRun| {
            let cursor = RunCursor::new(&live.run, bounds, direction);
            RunRows { live, cursor, head: None, last: None }
        };
        Ok(Self {
            reader,
            search,
            direction,
            runs: runs.iter().map(of_run).collect(),
            frozen: vec![SearchedRows { rows, head: None, after: None }],
        })
    }

    /// Takes out the next row if its key comes before `limit`.
    ///
    /// # Errors
    /// That of a damaged block.
    pub(super) fn next_before(&mut self, limit: Option<&[u8]>) -> Result<Option<Entry>> {
        self.fill_runs()?;
        let direction = self.direction;
        let earlier = |one: &Entry, other: &[u8]| precedes(direction, &one.0, other);
        let heads = self.runs.iter().filter_map(|run| run.head.as_ref());
        let first = heads.min_by(|one, other| order(direction, one, other));
        // Chunks are read only if they may have what comes before all that is known.
        let bound = match (first, limit) {
            (Some(first), Some(limit)) if !earlier(first, limit) => Some(limit),
            (None, limit) => limit,
            (Some(first), _) => Some(first.0.as_slice()),
        };
        for searched in &mut self.frozen {
            searched.fill(direction, bound)?;
        }
        let of_runs = self.runs.iter_mut().map(|run| &mut run.head);
        let of_frozen = self.frozen.iter_mut().map(|searched| &mut searched.head);
        let heads = of_frozen.chain(of_runs).filter(|head| head.is_some());
        let next = heads.min_by(|one, other| match (one, other) {
            (Some(one), Some(other)) => order(direction, one, other),
            _ => Ordering::Equal,
        });
        let is_due = |entry: &mut Entry| limit.is_none_or(|limit| earlier(entry, limit));
        Ok(next.and_then(|head| head.take_if(is_due)))
    }

    /// Sees to it that every run has its next entry ready, and that those that are damaged are
    /// replaced.
    fn fill_runs(&mut self) -> Result<()> {
        let mut at = 0;
        while let Some(run) = self.runs.get_mut(at) {
            match run.fill() {
                Ok(()) => at += 1,
                Err(_) => {
                    let RunRows { live, last, .. } = self.runs.remove(at);
                    self.reader.index.lose_run(&live.run);
                    self.search_instead(&live.loads, last)?;
                }
            }
        }
        Ok(())
    }

    /// Has loads searched behind an entry.
    fn search_instead(&mut self, loads: &[Arc<StoredLoad>], after: Option<Entry>) -> Result<()> {
        let Reader { table, index, snapshot, .. } = *self.reader;
        let start = snapshot.start();
        let visible = loads.iter().filter(|load| load.visible_from() <= start);
        let visible: Vec<Arc<StoredLoad>> = visible.cloned().collect();
        let chunks = self.search.pending_chunks(table, &visible, index.is_primary(table))?;
        let rows = FrozenRows::new(self.search, index, chunks, self.direction);
        self.frozen.push(SearchedRows { rows, head: None, after });
        Ok(())
    }
}

impl RunRows<'_> {
    fn fill(&mut self) -> std::result::Result<(), RunDamage> {
        if self.head.is_some() {
            return Ok(());
        }
        let cursor = self.cursor.as_mut().map_err(|damage| damage.clone())?;
        while let Some((key, row)) = cursor.peek()? {
            if self.live.has_row(row) {
                let (last, last_row) = self.last.get_or_insert_with(|| (Vec::new(), row));
                last.clear();
                last.extend_from_slice(key);
                *last_row = row;
                self.head = Some((key.to_vec(), row));
                cursor.advance();
                break;
            }
            cursor.advance();
        }
        Ok(())
    }
}

impl SearchedRows<'_> {
    fn fill(&mut self, direction: Direction, bound: Option<&[u8]>) -> Result<()> {
        while self.head.is_none()
            && let Some(entry) = self.rows.next_before(bound)?
        {
            let is_new = |after: &Entry| order(direction, after, &entry).is_lt();
            if self.after.as_ref().is_none_or(is_new) {
                self.head = Some(entry);
            }
        }
        Ok(())
    }
}

/// Whether a key comes before another one.
fn precedes(direction: Direction, one: &[u8], other: &[u8]) -> bool {
    match direction {
        Direction::Ascending => one < other,
        Direction::Descending => one > other,
    }
}

/// Compares in the order of a walk.
fn order(direction: Direction, one: &Entry, other: &Entry) -> Ordering {
    match direction {
        Direction::Ascending => one.cmp(other),
        Direction::Descending => other.cmp(one),
    }
}
