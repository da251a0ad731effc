//! Predicate trees: which written rows conflict with a table's predicates?
//!
//! 1. A predicate is a path of tests, those for single values first. Predicates whose first tests
//!    are equal share the path's beginning; where one ends, its columns are kept.
//! 2. The tests that follow a node are grouped by subject and kind, and sorted. Tests for single
//!    values, of which there may be a thousand, are found by binary search; ranges by binary search
//!    for the last that begins at or before the value and from there back, as long as an earlier
//!    one may still reach it.
//! 3. A row goes down all paths that it satisfies; the end of one is a conflict, unless only
//!    columns were changed that the predicate neither read nor tested.
//!
//! # Source
//! [Muehlbauer16 section 2.2.3] predicate trees, figure 2.4.

use std::collections::VecDeque;
use std::ops::Range;

use super::column_set::ColumnSet;
use super::log::TableLog;
use super::predicate::{ROW, Subject, describe};
use super::summary::{Summary, hash};
use super::test::Test;
use crate::id::RowId;
use crate::schema::TableSchema;
use crate::value::ValueRef;

/// A row as it was before or is after a write.
pub trait RowImage {
    /// Returns the row's id.
    fn row(&self) -> RowId;

    /// Returns a value of the row.
    fn value(&self, column: usize) -> ValueRef<'_>;
}

/// What a transaction that committed did to a row.
#[derive(Clone, Copy)]
pub enum RowChange<'a> {
    Insert(&'a dyn RowImage),
    Delete(&'a dyn RowImage),
    Update { before: &'a dyn RowImage, after: &'a dyn RowImage, changed: &'a ColumnSet },
}

/// What counts as a conflict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ValidationLevel {
    /// Any update of a row that was read.
    Record,
    /// An update of columns that were read or tested.
    #[default]
    Attribute,
}

/// The predicates of a table, merged where they begin alike.
#[derive(Debug)]
pub struct PredicateTree<'a> {
    log: &'a TableLog,
    nodes: Vec<Node>,
    groups: Vec<Group>,
    branches: Vec<Branch>,
    ends: Vec<End>,
    /// All columns that some predicate read or tested.
    touched: ColumnSet,
}

#[derive(Debug, Default)]
struct Node {
    groups: Range<usize>,
    /// Index of the end of the predicates that have no more tests.
    end: Option<usize>,
}

/// Branches of a node that test one subject in one way, sorted by `low`.
#[derive(Debug)]
struct Group {
    subject: Subject,
    kind: Kind,
    branches: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The summary is `low`.
    Point,
    /// The hash is `low`.
    Hash,
    Null,
    /// The summary is from `low` to `high`.
    Range,
}

#[derive(Debug)]
struct Branch {
    low: u64,
    high: u64,
    /// Greatest `high` of this branch and those before it in its group.
    high_max: u64,
    node: usize,
}

/// Where predicates end: the first of them, and the columns of all.
#[derive(Debug)]
struct End {
    predicate: usize,
    touched: ColumnSet,
}

/// A branch before it has its place.
type Loose = (Subject, Kind, u64, u64, usize);

/// A node to be: predicates in the sorted order, and how many of their tests lie above it.
struct Pending {
    node: usize,
    predicates: Range<usize>,
    depth: usize,
}

/// A predicate with its tests in the order of the tree.
struct Path<'a> {
    tests: Vec<&'a (Subject, Test)>,
    predicate: usize,
}

impl<'a> PredicateTree<'a> {
    pub(super) fn build(log: &'a TableLog) -> Self {
        let mut touched = ColumnSet::default();
        let mut paths: Vec<Path<'a>> = Vec::with_capacity(log.len());
        for predicate in 0..log.len() {
            touched.extend_from(log.touched(predicate));
            let mut tests: Vec<_> = log.tests_of(predicate).iter().collect();
            tests.sort_by_key(|(subject, test)| (!test.is_point(), *subject));
            paths.push(Path { tests, predicate });
        }
        paths.sort_by(|left, right| left.tests.cmp(&right.tests));
        let (groups, branches, ends) = (Vec::new(), Vec::new(), Vec::new());
        let mut tree = Self { log, nodes: vec![Node::default()], groups, branches, ends, touched };
        let root = Pending { node: 0, predicates: 0..paths.len(), depth: 0 };
        let mut pending = VecDeque::from([root]);
        while let Some(next) = pending.pop_front() {
            tree.grow(&paths, next, &mut pending);
        }
        tree
    }

    /// Makes the branches of one node.
    fn grow(&mut self, paths: &[Path<'_>], at: Pending, pending: &mut VecDeque<Pending>) {
        let Pending { node, predicates, depth } = at;
        let mut loose: Vec<Loose> = Vec::new();
        let mut start = predicates.start;
        while start < predicates.end {
            let Some(&test) = paths[start].tests.get(depth) else {
                self.end_at(node, paths[start].predicate);
                start += 1;
                continue;
            };
            let same = paths[start..predicates.end]
                .iter()
                .take_while(|path| path.tests.get(depth).is_some_and(|other| *other == test));
            let end = start + same.count();
            let child = self.nodes.len();
            self.nodes.push(Node::default());
            pending.push_back(Pending { node: child, predicates: start..end, depth: depth + 1 });
            add_branches(test, child, &mut loose);
            start = end;
        }
        loose.sort_unstable();
        let first_group = self.groups.len();
        for run in loose.chunk_by(|left, right| (left.0, left.1) == (right.0, right.1)) {
            let first = self.branches.len();
            let mut high_max = 0;
            for &(_, _, low, high, node) in run {
                high_max = high_max.max(high);
                self.branches.push(Branch { low, high, high_max, node });
            }
            let branches = first..self.branches.len();
            self.groups.push(Group { subject: run[0].0, kind: run[0].1, branches });
        }
        self.nodes[node].groups = first_group..self.groups.len();
    }

    fn end_at(&mut self, node: usize, predicate: usize) {
        let touched = self.log.touched(predicate);
        match self.nodes[node].end {
            Some(end) => self.ends[end].touched.extend_from(touched),
            None => {
                self.nodes[node].end = Some(self.ends.len());
                self.ends.push(End { predicate, touched: touched.clone() });
            }
        }
    }

    /// Returns all columns that were read or tested.
    pub(crate) fn touched(&self) -> &ColumnSet {
        &self.touched
    }

    /// Returns the number of a predicate that conflicts with what was done to a row, for
    /// [`PredicateTree::describe`].
    pub fn conflict(&self, change: RowChange<'_>, level: ValidationLevel) -> Option<usize> {
        match change {
            RowChange::Insert(image) | RowChange::Delete(image) => self.conflict_of(image, None),
            RowChange::Update { before, after, changed } => {
                let changed = match level {
                    ValidationLevel::Record => None,
                    ValidationLevel::Attribute if !self.touched.intersects(changed) => return None,
                    ValidationLevel::Attribute => Some(changed),
                };
                self.conflict_of(before, changed).or_else(|| self.conflict_of(after, changed))
            }
        }
    }

    fn conflict_of(&self, image: &dyn RowImage, changed: Option<&ColumnSet>) -> Option<usize> {
        let mut open = vec![0];
        while let Some(node) = open.pop() {
            let node = &self.nodes[node];
            if let Some(end) = node.end.map(|end| &self.ends[end])
                && changed.is_none_or(|changed| changed.intersects(&end.touched))
            {
                return Some(end.predicate);
            }
            for group in &self.groups[node.groups.clone()] {
                self.follow(group, image, &mut open);
            }
        }
        None
    }

    /// Adds the nodes behind the tests of a group that the row satisfies.
    fn follow(&self, group: &Group, image: &dyn RowImage, open: &mut Vec<usize>) {
        let branches = &self.branches[group.branches.clone()];
        let summary = match group.subject {
            ROW => Some(Summary { ordered: image.row().0, is_exact: true }),
            column => Summary::of(image.value(column.into())),
        };
        let equal = |branches: &[Branch], wanted: u64, open: &mut Vec<usize>| {
            let first = branches.partition_point(|branch| branch.low < wanted);
            let equal = branches[first..].iter().take_while(|branch| branch.low == wanted);
            open.extend(equal.map(|branch| branch.node));
        };
        match (group.kind, summary) {
            (Kind::Null, None) => open.extend(branches.iter().map(|branch| branch.node)),
            (Kind::Null, Some(_)) | (_, None) => {}
            (Kind::Point, Some(summary)) => equal(branches, summary.ordered, open),
            // A value whose summary is exact is not equal to one whose summary is not.
            (Kind::Hash, Some(summary)) if summary.is_exact => {}
            (Kind::Hash, Some(_)) => {
                equal(branches, hash(image.value(group.subject.into())), open);
            }
            (Kind::Range, Some(Summary { ordered, .. })) => {
                let end = branches.partition_point(|branch| branch.low <= ordered);
                let may_reach =
                    branches[..end].iter().rev().take_while(|branch| branch.high_max >= ordered);
                let reach = may_reach.filter(|branch| branch.high >= ordered);
                open.extend(reach.map(|branch| branch.node));
            }
        }
    }

    /// Describes a predicate for a message, such as `a = 1 and b >= 6`.
    pub fn describe(&self, predicate: usize, schema: &TableSchema) -> String {
        describe(self.log.tests_of(predicate), schema)
    }
}

fn add_branches((subject, test): &(Subject, Test), node: usize, loose: &mut Vec<Loose>) {
    if test.or_null() {
        loose.push((*subject, Kind::Null, 0, 0, node));
    }
    match test {
        Test::Hash { hash, .. } => loose.push((*subject, Kind::Hash, *hash, *hash, node)),
        Test::Hashes { hashes, .. } => {
            loose.extend(hashes.iter().map(|&hash| (*subject, Kind::Hash, hash, hash, node)));
        }
        Test::Range { .. } | Test::Ranges(_) => {
            for (low, high) in test.ranges().into_iter().filter(|range| range.0 <= range.1) {
                let kind = if low == high { Kind::Point } else { Kind::Range };
                loose.push((*subject, kind, low, high, node));
            }
        }
    }
}
