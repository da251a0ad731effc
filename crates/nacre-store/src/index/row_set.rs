//! The rows of a key: one in place, more in a sorted list, many in a tree.
//!
//! # Layout
//! A set is one word: the id of its only row, or, if the two top bits are set, the handle of a
//! list. No row id has both bits: those of hot rows stop before (`HOT_CHUNKS_MAX`).

use std::collections::{BTreeSet, btree_set};
use std::slice;

use super::slab::Slab;
use crate::id::{HOT_CHUNKS_MAX, RowId};

/// Marks a handle.
const LIST: u64 = 0b11 << 62;

const _: () = assert!(HOT_CHUNKS_MAX <= 1 << 46, "bit 62 of a hot row's id is never set");

/// Most rows of a list; adding one moves half of them.
const LIST_ROWS_MAX: usize = 64;

/// Bytes for a row in a tree, about: nodes are two thirds full.
const TREE_ROW_BYTES: usize = 12;

/// The rows of one key.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowSet(u64);

/// The lists of sets with more than one row.
#[derive(Debug, Default)]
pub(super) struct RowLists {
    lists: Slab<List>,
    /// Of what lies outside of the slab.
    bytes: usize,
}

#[derive(Debug)]
enum List {
    Sorted(Vec<RowId>),
    Tree(BTreeSet<RowId>),
}

/// What became of a set that a row was to be taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removed {
    /// The row was not in it.
    No,
    Yes,
    /// It was the only one: the set is to be dropped.
    Last,
}

/// The rows of a key in ascending order.
#[derive(Clone, Debug)]
pub struct Rows<'a>(Inner<'a>);

#[derive(Clone, Debug)]
enum Inner<'a> {
    One(Option<RowId>),
    Sorted(slice::Iter<'a, RowId>),
    Tree(btree_set::Iter<'a, RowId>),
}

impl Rows<'_> {
    /// Returns no rows.
    pub(super) fn none() -> Self {
        Self(Inner::One(None))
    }
}

impl Iterator for Rows<'_> {
    type Item = RowId;

    #[inline]
    fn next(&mut self) -> Option<RowId> {
        match &mut self.0 {
            Inner::One(row) => row.take(),
            Inner::Sorted(rows) => rows.next().copied(),
            Inner::Tree(rows) => rows.next().copied(),
        }
    }
}

impl RowSet {
    #[inline]
    pub(super) fn one(row: RowId) -> Self {
        debug_assert!(row.0 & LIST != LIST);
        Self(row.0)
    }

    #[inline]
    fn list(self) -> Option<u32> {
        (self.0 & LIST == LIST).then_some(self.0 as u32)
    }
}

impl List {
    /// Returns the bytes outside of the list itself.
    fn bytes(&self) -> usize {
        match self {
            Self::Sorted(rows) => rows.capacity() * size_of::<RowId>(),
            Self::Tree(rows) => rows.len() * TREE_ROW_BYTES,
        }
    }

    fn insert(&mut self, row: RowId) -> bool {
        match self {
            Self::Sorted(rows) => {
                let Err(position) = rows.binary_search(&row) else {
                    return false;
                };
                rows.insert(position, row);
                if rows.len() > LIST_ROWS_MAX {
                    *self = Self::Tree(rows.iter().copied().collect());
                }
                true
            }
            Self::Tree(rows) => rows.insert(row),
        }
    }

    fn remove(&mut self, row: RowId) -> bool {
        match self {
            Self::Sorted(rows) => match rows.binary_search(&row) {
                Ok(position) => {
                    rows.remove(position);
                    true
                }
                Err(_) => false,
            },
            Self::Tree(rows) => {
                let is_removed = rows.remove(&row);
                // Well below the limit, so that a set at the limit does not go back and forth.
                if rows.len() <= LIST_ROWS_MAX / 2 {
                    *self = Self::Sorted(rows.iter().copied().collect());
                }
                is_removed
            }
        }
    }

    /// Returns the row if it is the only one.
    fn only(&self) -> Option<RowId> {
        match self {
            Self::Sorted(rows) if rows.len() == 1 => Some(rows[0]),
            _ => None,
        }
    }
}

impl RowLists {
    /// Returns the bytes that the lists take.
    pub(super) fn bytes(&self) -> usize {
        self.lists.bytes() + self.bytes
    }

    /// Adds a row; `false` if it was there.
    #[inline]
    pub(super) fn insert(&mut self, set: &mut RowSet, row: RowId) -> bool {
        let Some(handle) = set.list() else {
            let only = RowId(set.0);
            if only == row {
                return false;
            }
            let list = List::Sorted(vec![only.min(row), only.max(row)]);
            self.bytes += list.bytes();
            set.0 = LIST | u64::from(self.lists.insert(list));
            return true;
        };
        let list = self.lists.get_mut(handle);
        self.bytes -= list.bytes();
        let is_new = list.insert(row);
        self.bytes += list.bytes();
        is_new
    }

    /// Takes a row out.
    #[inline]
    pub(super) fn remove(&mut self, set: &mut RowSet, row: RowId) -> Removed {
        let Some(handle) = set.list() else {
            return if RowId(set.0) == row { Removed::Last } else { Removed::No };
        };
        let list = self.lists.get_mut(handle);
        self.bytes -= list.bytes();
        let is_removed = list.remove(row);
        self.bytes += list.bytes();
        if let Some(only) = list.only() {
            let gone = self.lists.remove(handle, List::Sorted(Vec::new()));
            self.bytes -= gone.bytes();
            set.0 = only.0;
        }
        if is_removed { Removed::Yes } else { Removed::No }
    }

    #[inline]
    pub(super) fn rows(&self, set: RowSet) -> Rows<'_> {
        Rows(match set.list() {
            None => Inner::One(Some(RowId(set.0))),
            Some(handle) => match self.lists.get(handle) {
                List::Sorted(rows) => Inner::Sorted(rows.iter()),
                List::Tree(rows) => Inner::Tree(rows.iter()),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_grows_to_a_tree_and_shrinks_to_one_row() {
        let mut lists = RowLists::default();
        let row = |number: u64| RowId(number * 7 % 331);
        let mut set = RowSet::one(row(0));
        for number in 1..331 {
            assert!(lists.insert(&mut set, row(number)));
            assert!(!lists.insert(&mut set, row(number / 2)));
            assert_eq!(lists.rows(set).count() as u64, number + 1);
        }
        assert!(lists.rows(set).map(|row| row.0).eq(0..331));
        for number in 1..331 {
            assert_eq!(lists.remove(&mut set, row(number)), Removed::Yes);
            assert_eq!(lists.remove(&mut set, row(number)), Removed::No);
            assert!(lists.rows(set).any(|left| left == row(0)));
        }
        assert_eq!(lists.remove(&mut set, row(0)), Removed::Last);
        assert_eq!((lists.lists.len(), lists.bytes), (0, 0));
    }
}
