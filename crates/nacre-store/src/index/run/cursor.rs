//! Walks the entries of a run in the order of their keys, or backwards.

use std::ops::Bound;
use std::sync::Arc;

use nacre_pmem::structure::KeyBounds;

use super::file::{OpenRun, Path, Run, RunDamage};
use super::page::{Page, PageRef};
use crate::id::RowId;
use crate::index::Direction;

/// Where a walk is. A leaf is copied when the walk comes to it.
#[derive(Debug)]
pub(crate) struct RunCursor {
    open: Arc<OpenRun>,
    direction: Direction,
    path: Path,
    /// Keys of the leaf, one behind the other, with their ends and rows, in the order of the walk.
    keys: Vec<u8>,
    entries: Vec<(usize, RowId)>,
    /// The entry that is next.
    at: usize,
    /// The other end of the walk.
    end: Bound<Vec<u8>>,
    is_done: bool,
}

impl RunCursor {
    /// Goes to the first entry within `bounds`, or to the last one.
    pub(crate) fn new(
        run: &Run,
        bounds: KeyBounds<'_>,
        direction: Direction,
    ) -> Result<Self, RunDamage> {
        let open = run.open()?;
        let is_ascending = direction == Direction::Ascending;
        let (start, end) = if is_ascending { bounds } else { (bounds.1, bounds.0) };
        let before = |page: &Page<'_>| match (start, is_ascending) {
            // How many keys the walk passes over, or how many it has before it.
            (Bound::Unbounded, true) => 0,
            (Bound::Unbounded, false) => page.count(),
            (Bound::Included(key), is_ascending) => page.count_below(key, !is_ascending),
            (Bound::Excluded(key), is_ascending) => page.count_below(key, is_ascending),
        };
        let (path, page) = open.descend(before)?;
        let mut cursor = Self {
            open,
            direction,
            path,
            keys: Vec::new(),
            entries: Vec::new(),
            at: 0,
            end: end.map(<[u8]>::to_vec),
            is_done: false,
        };
        cursor.copy(page, before)?;
        Ok(cursor)
    }

    /// Copies a leaf; `before` says how many entries come before the start of the walk.
    fn copy(
        &mut self,
        page: PageRef,
        before: impl Fn(&Page<'_>) -> usize,
    ) -> Result<(), RunDamage> {
        self.at = 0;
        let Self { open, direction, keys, entries, .. } = self;
        keys.clear();
        entries.clear();
        let mut key = Vec::new();
        open.with_leaf(page, |leaf| {
            let mut add = |item: usize| {
                leaf.key_into(item, &mut key);
                keys.extend_from_slice(&key);
                entries.push((keys.len(), leaf.row(item)));
            };
            match direction {
                Direction::Ascending => (before(&leaf)..leaf.count()).for_each(&mut add),
                Direction::Descending => (0..before(&leaf)).rev().for_each(&mut add),
            }
        })
    }

    /// Goes on to a leaf with entries if that at hand has none left, and returns the next entry.
    pub(crate) fn peek(&mut self) -> Result<Option<(&[u8], RowId)>, RunDamage> {
        while self.at == self.entries.len() && !self.is_done {
            let step = if self.direction == Direction::Ascending { 1 } else { -1 };
            match self.open.next(&mut self.path, step)? {
                Some(page) if self.direction == Direction::Ascending => self.copy(page, |_| 0)?,
                Some(page) => self.copy(page, |leaf| leaf.count())?,
                None => self.is_done = true,
            }
        }
        if self.is_done {
            return Ok(None);
        }
        let start = if self.at == 0 { 0 } else { self.entries[self.at - 1].0 };
        let (end, row) = self.entries[self.at];
        let key = &self.keys[start..end];
        let is_within = match (&self.end, self.direction) {
            (Bound::Unbounded, _) => true,
            (Bound::Included(end), Direction::Ascending) => key <= end.as_slice(),
            (Bound::Excluded(end), Direction::Ascending) => key < end.as_slice(),
            (Bound::Included(end), Direction::Descending) => key >= end.as_slice(),
            (Bound::Excluded(end), Direction::Descending) => key > end.as_slice(),
        };
        if !is_within {
            self.is_done = true;
            return Ok(None);
        }
        Ok(Some((key, row)))
    }

    /// Goes past the entry that is next.
    pub(crate) fn advance(&mut self) {
        self.at = self.entries.len().min(self.at + 1);
    }
}
