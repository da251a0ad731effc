//! The log of a transaction: per table, the predicates of its accesses.
//!
//! Most accesses are lookups of one key, and most transactions end without anybody having written
//! meanwhile. So a lookup leaves only a few words, which become a predicate when somebody asks.

use super::coarsen::coarsen;
use super::column_set::ColumnSet;
use super::predicate::{Predicate, ROW, Subject, is_never, row_test};
use super::summary::Summary;
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

/// Words of lookups whose memory is kept: 4 KiB.
const POINT_WORDS_KEPT: usize = 512;

/// Ways of looking keys up that are told apart; further ones are logged as any other access.
const SHAPES_MAX: usize = 16;

/// Most columns of a key that is logged as words.
const POINT_COLUMNS_MAX: usize = 4;

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

    /// Logs a lookup of one key, of the index over `columns`, that reads the columns `read`.
    ///
    /// # Panics
    /// If there are more values than columns.
    #[inline]
    pub fn log_key(
        &mut self,
        table: TableId,
        columns: &[usize],
        key: &[ValueRef<'_>],
        read: &[usize],
    ) {
        assert!(key.len() <= columns.len(), "{} values, {} columns", key.len(), columns.len());
        let log = self.table_mut(table);
        if !log.push_point(&columns[..key.len()], key, read) {
            log.push_key(columns, key, read);
        }
    }

    /// Logs that a row was read by its id.
    #[inline]
    pub fn log_row(&mut self, table: TableId, row: RowId, read: &ColumnSet) {
        self.table_mut(table).push_row(row, read);
    }

    /// Returns what was logged for a table.
    pub fn table(&mut self, table: TableId) -> Option<&TableLog> {
        self.unfold();
        self.unfolded(table)
    }

    /// Makes predicates of all that was logged.
    pub(crate) fn unfold(&mut self) {
        self.tables.iter_mut().for_each(|(_, log)| log.unfold());
    }

    /// As [`PredicateLog::table`], after [`PredicateLog::unfold`].
    pub(crate) fn unfolded(&self, table: TableId) -> Option<&TableLog> {
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
    /// Lookups that are no predicates yet: the number of a shape, then the summaries of the key.
    points: Vec<u64>,
    point_count: usize,
    /// Where the last of them begins.
    last_point: usize,
    /// Outlives what was logged: the next transaction may look keys up in the same ways.
    shapes: Vec<Shape>,
}

/// A way of looking keys up: columns of the key and what is read of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    columns: [Subject; POINT_COLUMNS_MAX],
    count: usize,
    /// A bit for each column that is read, all below 64.
    read: u64,
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
        Self {
            tests: Vec::new(),
            entries: Vec::new(),
            words: 0,
            limits,
            points: Vec::new(),
            point_count: 0,
            last_point: 0,
            shapes: Vec::new(),
        }
    }

    /// Builds the tree that rows are checked against.
    pub fn tree(&self) -> PredicateTree<'_> {
        PredicateTree::build(self)
    }

    /// Returns how many predicates there are.
    pub fn len(&self) -> usize {
        self.entries.len() + self.point_count
    }

    /// Tells whether there is no predicate.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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

    /// Logs a lookup as words; `false` if that cannot be: nothing is logged then.
    #[inline]
    fn push_point(&mut self, columns: &[usize], key: &[ValueRef<'_>], read: &[usize]) -> bool {
        let Some(shape) = self.shape(columns, read) else {
            return false;
        };
        let start = self.points.len();
        self.points.push(shape);
        for value in key {
            match Summary::of(*value) {
                Some(Summary { ordered, is_exact: true }) => self.points.push(ordered),
                _ => {
                    self.points.truncate(start);
                    return false;
                }
            }
        }
        // One that repeats the last one adds nothing.
        if self.points[self.last_point..start] == self.points[start..] {
            self.points.truncate(start);
            return true;
        }
        self.last_point = start;
        self.point_count += 1;
        if self.len() > self.limits.predicates {
            self.unfold();
        }
        true
    }

    /// Returns the number of a shape, which is noted; `None` if it is none or there are too many.
    #[inline]
    fn shape(&mut self, columns: &[usize], read: &[usize]) -> Option<u64> {
        let is_same = |shape: &Shape, bits: u64| {
            let there = &shape.columns[..shape.count];
            shape.read == bits
                && there.len() == columns.len()
                && there.iter().zip(columns).all(|(one, other)| usize::from(*one) == *other)
        };
        let mut bits = 0_u64;
        for &column in read {
            bits |= 1_u64.checked_shl(column as u32)?;
        }
        match self.shapes.iter().position(|shape| is_same(shape, bits)) {
            Some(number) => Some(number as u64),
            None => self.add_shape(columns, bits),
        }
    }

    #[cold]
    fn add_shape(&mut self, columns: &[usize], read: u64) -> Option<u64> {
        if self.shapes.len() == SHAPES_MAX || columns.len() > POINT_COLUMNS_MAX {
            return None;
        }
        let mut shape = Shape { columns: [0; POINT_COLUMNS_MAX], count: columns.len(), read };
        for (slot, &column) in shape.columns.iter_mut().zip(columns) {
            *slot = Subject::try_from(column).ok()?;
        }
        self.shapes.push(shape);
        Some(self.shapes.len() as u64 - 1)
    }

    /// Makes predicates of the lookups that are none yet.
    fn unfold(&mut self) {
        let points = std::mem::take(&mut self.points);
        // What is unfolded counts as predicates from here on.
        self.point_count = 0;
        let mut rest = points.iter();
        while let Some(&number) = rest.next() {
            let shape = self.shapes[number as usize];
            let start = self.tests.len();
            let mut touched: ColumnSet =
                (0..64).filter(|column| shape.read >> column & 1 == 1).collect();
            for (&column, &ordered) in shape.columns[..shape.count].iter().zip(rest.by_ref()) {
                touched.insert(column.into());
                let test = Test::Range { low: ordered, high: ordered, or_null: false };
                self.tests.push((column, test));
            }
            self.end_entry(start, touched);
        }
        self.points = points;
        self.clear_points();
    }

    fn clear_points(&mut self) {
        self.points.clear();
        (self.point_count, self.last_point) = (0, 0);
    }

    fn push_key(&mut self, columns: &[usize], key: &[ValueRef<'_>], read: &[usize]) {
        let start = self.tests.len();
        let mut touched: ColumnSet = read.iter().copied().collect();
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
        self.clear_points();
        self.points.shrink_to(POINT_WORDS_KEPT);
        if self.shapes.len() == SHAPES_MAX {
            self.shapes.clear();
        }
    }
}
