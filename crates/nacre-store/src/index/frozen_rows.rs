//! Rows of loads that are searched, in the order of their keys.

use std::collections::{BTreeSet, VecDeque};

use super::frozen::KeySearch;
use super::{Direction, TableIndex};
use crate::chunk::Chunk;
use crate::error::Result;
use crate::id::RowId;
use crate::key::KeyColumns;

/// The frozen rows of a search in the order of their keys. Chunks are read when their turn comes.
pub(super) struct FrozenRows<'a> {
    search: &'a KeySearch,
    columns: &'a KeyColumns,
    direction: Direction,
    /// With the key before which no row of the chunk comes, if that is known; in that order.
    chunks: VecDeque<(Option<Vec<u8>>, Chunk)>,
    /// Rows of chunks that were read.
    rows: BTreeSet<(Vec<u8>, RowId)>,
}

impl<'a> FrozenRows<'a> {
    pub(super) fn new(
        search: &'a KeySearch,
        index: &'a TableIndex,
        chunks: Vec<Chunk>,
        direction: Direction,
    ) -> Self {
        let start = |chunk: &Chunk| {
            let range = chunk.key_range().filter(|_| index.is_primary(chunk.table()));
            range.map(|range| match direction {
                Direction::Ascending => range.min.clone(),
                Direction::Descending => range.max.clone(),
            })
        };
        let mut chunks: Vec<(Option<Vec<u8>>, Chunk)> =
            chunks.into_iter().map(|chunk| (start(&chunk), chunk)).collect();
        // Chunks without a known start come first either way.
        chunks.sort_by(|(a, _), (b, _)| match direction {
            Direction::Ascending => a.cmp(b),
            Direction::Descending => (b.is_none(), b).cmp(&(a.is_none(), a)),
        });
        let columns = index.key();
        Self { search, columns, direction, chunks: chunks.into(), rows: BTreeSet::new() }
    }

    /// Whether `a` comes before `b`.
    fn precedes(&self, a: &[u8], b: &[u8]) -> bool {
        match self.direction {
            Direction::Ascending => a < b,
            Direction::Descending => a > b,
        }
    }

    fn first(&self) -> Option<&[u8]> {
        let first = match self.direction {
            Direction::Ascending => self.rows.first(),
            Direction::Descending => self.rows.last(),
        };
        first.map(|(key, _)| key.as_slice())
    }

    /// Takes out the next row if it comes before `limit`.
    pub(super) fn next_before(&mut self, limit: Option<&[u8]>) -> Result<Option<(Vec<u8>, RowId)>> {
        loop {
            // Chunks that may begin before what is known to be next are to be read first.
            let next = match (self.first(), limit) {
                (Some(first), Some(limit)) if !self.precedes(first, limit) => Some(limit),
                (None, limit) => limit,
                (first, _) => first,
            };
            let is_due = match (self.chunks.front(), next) {
                (Some((Some(start), _)), Some(next)) => !self.precedes(next, start),
                (front, _) => front.is_some(),
            };
            match self.chunks.pop_front_if(|_| is_due) {
                Some((_, chunk)) => {
                    self.rows.extend(self.search.rows_in(&chunk, self.columns)?);
                }
                None => break,
            }
        }
        let is_next =
            self.first().is_some_and(|first| limit.is_none_or(|limit| self.precedes(first, limit)));
        Ok(match (is_next, self.direction) {
            (false, _) => None,
            (true, Direction::Ascending) => self.rows.pop_first(),
            (true, Direction::Descending) => self.rows.pop_last(),
        })
    }
}
