//! The log of a transaction: per table, the predicates of its accesses.

use super::coarsen::coarsen;
use super::column_set::ColumnSet;
use super::predicate::{Predicate, ROW, Subject, is_never, row_test};
use super::test::Test;
use super::tree::PredicateTree;
use crate::id::RowId;
use crate::manifest::TableId;
use crate::value::ValueRef;

/// Most predicates of a table that a transaction remembers one by one.
pub const PREDICATES_MAX: usize = 1_024;

/// Most words of 8 bytes that the tests of a table's predicates take: 512 KiB.
pub const WORDS_MAX: usize = 65_536;

/// Tables, and predicates of each, whose memory a log keeps when it is cleared.
const TABLES_KEPT: usize = 16;
const PREDICATES_KEPT: usize = 64;

/// Bounds of a table's log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) predicates: usize,
    pub(super) words: usize,
}

const LIMITS: Limits = Limits { predicates: PREDICATES_MAX, words: WORDS_MAX };

/// What a transaction has read, table by table.
#[derive(Debug, Default)]
pub struct PredicateLog {
    /// In order of first access; a transaction touches few tables.
    tables: Vec<(TableId, TableLog)>,
}

impl PredicateLog {
    /// Logs an access.
    pub fn log(&mut self, table: TableId, predicate: Predicate) {
        self.table_mut(table).log(predicate);
    }

    /// Logs a lookup of one key that reads the columns `read`.
    ///
    /// # Panics
    /// If there are more values than columns.
    #[inline]
    pub fn log_key(
        &mut self,
        table: TableId,
        columns: &[usize],
        key: &[ValueRef<'_>],
        read: &ColumnSet,
    ) {
        assert!(key.len() <= columns.len(), "{} values, {} columns", key.len(), columns.len());
        self.table_mut(table).push_key(columns, key, read);
    }

    /// Logs that a row was read by its id.
    #[inline]
    pub fn log_row(&mut self, table: TableId, row: RowId, read: &ColumnSet) {
        self.table_mut(table).push_row(row, read);
    }

    /// Returns what was logged for a table.
    pub fn table(&self, table: TableId) -> Option<&TableLog> {
        self.tables.iter().find(|(id, log)| *id == table && !log.is_empty()).map(|(_, log)| log)
    }

    /// Tells whether nothing was logged.
    pub fn is_empty(&self) -> bool {
        self.tables.iter().all(|(_, log)| log.is_empty())
    }

    /// Forgets everything and keeps the memory that a short transaction needs.
    pub fn clear(&mut self) {
        self.tables.truncate(TABLES_KEPT);
        self.tables.iter_mut().for_each(|(_, log)| log.clear());
    }

    fn table_mut(&mut self, table: TableId) -> &mut TableLog {
        let known = self.tables.iter().position(|(id, _)| *id == table);
        let index = known.unwrap_or_else(|| {
            self.tables.push((table, TableLog::default()));
            self.tables.len() - 1
        });
        &mut self.tables[index].1
    }
}

/// The predicates of one table.
#[derive(Debug)]
pub struct TableLog {
    /// The tests of all predicates, one predicate behind the other.
    tests: Vec<(Subject, Test)>,
    entries: Vec<Entry>,
    words: usize,
    limits: Limits,
}

#[derive(Debug)]
struct Entry {
    /// Where the predicate's tests end.
    tests_end: usize,
    touched: ColumnSet,
}

impl Default for TableLog {
    fn default() -> Self {
        Self::new(LIMITS)
    }
}

impl TableLog {
    pub(super) fn new(limits: Limits) -> Self {
        Self { tests: Vec::new(), entries: Vec::new(), words: 0, limits }
    }

    /// Builds the tree that rows are checked against.
    pub fn tree(&self) -> PredicateTree<'_> {
        PredicateTree::build(self)
    }

    /// Returns how many predicates there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Tells whether there is no predicate.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Logs an access.
    pub fn log(&mut self, predicate: Predicate) {
        if predicate.is_never() {
            return;
        }
        let start = self.tests.len();
        self.tests.extend(predicate.tests);
        self.end_entry(start, predicate.touched);
    }

    #[inline]
    fn push_key(&mut self, columns: &[usize], key: &[ValueRef<'_>], read: &ColumnSet) {
        let start = self.tests.len();
        let mut touched = read.clone();
        for (&column, &value) in columns.iter().zip(key) {
            touched.insert(column);
            self.tests.push((column as Subject, Test::equal(value)));
        }
        self.end_entry(start, touched);
    }

    #[inline]
    fn push_row(&mut self, row: RowId, read: &ColumnSet) {
        let start = self.tests.len();
        self.tests.push((ROW, row_test(row)));
        self.end_entry(start, read.clone());
    }

    /// Makes an entry of the tests from `start` on, but for one that repeats the last entry.
    fn end_entry(&mut self, start: usize, touched: ColumnSet) {
        debug_assert!(self.tests[start..].iter().all(|(_, test)| !is_never(test)));
        if let Some(last) = self.entries.len().checked_sub(1)
            && self.tests_of(last) == &self.tests[start..]
        {
            self.tests.truncate(start);
            self.entries[last].touched.extend_from(&touched);
            return;
        }
        self.words += touched.words();
        self.words += self.tests[start..].iter().map(|test| test.1.words()).sum::<usize>();
        self.entries.push(Entry { tests_end: self.tests.len(), touched });
        if self.entries.len() > self.limits.predicates || self.words > self.limits.words {
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        let limits = self.limits;
        let mut ends = 0;
        let mut tests = std::mem::take(&mut self.tests).into_iter();
        let predicates = self.entries.drain(..).map(|entry| {
            let count = entry.tests_end - ends;
            ends = entry.tests_end;
            Predicate { tests: tests.by_ref().take(count).collect(), touched: entry.touched }
        });
        let coarse = coarsen(predicates.collect(), limits);
        self.words = 0;
        for predicate in coarse {
            self.words += predicate.touched.words();
            self.words += predicate.tests.iter().map(|test| test.1.words()).sum::<usize>();
            self.tests.extend(predicate.tests);
            self.entries.push(Entry { tests_end: self.tests.len(), touched: predicate.touched });
        }
    }

    /// Returns the tests of a predicate.
    pub(super) fn tests_of(&self, index: usize) -> &[(Subject, Test)] {
        let start = index.checked_sub(1).map_or(0, |last| self.entries[last].tests_end);
        &self.tests[start..self.entries[index].tests_end]
    }

    /// Returns the columns that a predicate read or tested.
    pub(super) fn touched(&self, index: usize) -> &ColumnSet {
        &self.entries[index].touched
    }

    fn clear(&mut self) {
        self.tests.clear();
        self.tests.shrink_to(PREDICATES_KEPT);
        self.entries.clear();
        self.entries.shrink_to(PREDICATES_KEPT);
        self.words = 0;
    }
}
