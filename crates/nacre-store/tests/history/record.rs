//! What clients record.

use std::collections::BTreeMap;

/// Columns of a row: `ID` names the row for ever, `KEY`, `GROUP` and `TAG` are tested by
/// predicates, `A` and `B` hold values that are written once in a history.
pub(crate) const ID: usize = 0;
pub(crate) const KEY: usize = 1;
pub(crate) const GROUP: usize = 2;
pub(crate) const TAG: usize = 3;
pub(crate) const A: usize = 4;
pub(crate) const B: usize = 5;
pub(crate) const COLUMNS: usize = 6;

pub(crate) const NAMES: [&str; COLUMNS] = ["id", "key", "grp", "tag", "a", "b"];

pub(crate) type Cells = [i64; COLUMNS];

/// A set of columns, one bit each.
pub(crate) type Mask = u8;

pub(crate) fn mask(columns: &[usize]) -> Mask {
    columns.iter().fold(0, |mask, column| mask | 1 << column)
}

pub(crate) fn has(mask: Mask, column: usize) -> bool {
    mask >> column & 1 == 1
}

/// The columns in which two rows differ.
pub(crate) fn difference(left: &Cells, right: &Cells) -> Mask {
    (0..COLUMNS).filter(|&column| left[column] != right[column]).fold(0, |m, c| m | 1 << c)
}

/// A conjunction of ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter(pub(crate) Vec<(usize, i64, i64)>);

impl Filter {
    pub(crate) fn equal(column: usize, value: i64) -> Self {
        Self(vec![(column, value, value)])
    }

    pub(crate) fn between(column: usize, low: i64, high: i64) -> Self {
        Self(vec![(column, low, high)])
    }

    pub(crate) fn matches(&self, cells: &Cells) -> bool {
        self.0.iter().all(|&(column, low, high)| (low..=high).contains(&cells[column]))
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Read(Read),
    Write(Write),
}

#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) filter: Filter,
    /// Columns that were looked at; `ID` always is.
    pub(crate) columns: Mask,
    /// The moment whose state was read.
    pub(crate) snapshot: u64,
    /// Cells that were not looked at are 0.
    pub(crate) rows: Vec<Cells>,
}

#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) id: i64,
    /// The moment whose state was changed.
    pub(crate) snapshot: u64,
    /// The row from now on, `None` if deleted. In an update only `changed` cells count.
    pub(crate) after: Option<Cells>,
    /// `None` if the row was inserted.
    pub(crate) changed: Option<Mask>,
}

impl Write {
    /// Applies the write to a row.
    pub(crate) fn apply(&self, before: Option<&Cells>) -> Option<Cells> {
        let after = self.after?;
        let Some(changed) = self.changed else {
            return Some(after);
        };
        let mut cells = *before.unwrap_or_else(|| panic!("update of row {} from nothing", self.id));
        (0..COLUMNS).filter(|&c| has(changed, c)).for_each(|column| cells[column] = after[column]);
        Some(cells)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With the timestamp, if anything was written.
    Committed(Option<u64>),
    Aborted,
}

/// One transaction from begin to end.
#[derive(Clone, Debug)]
pub(crate) struct Transaction {
    pub(crate) name: String,
    /// Moments of a clock that all clients share: before begin was called, after the end returned.
    pub(crate) began: u64,
    pub(crate) ended: u64,
    pub(crate) snapshot: u64,
    pub(crate) ops: Vec<Op>,
    pub(crate) outcome: Outcome,
}

impl Transaction {
    pub(crate) fn is_committed(&self) -> bool {
        self.outcome != Outcome::Aborted
    }

    /// Returns where the transaction claims to stand in the serial order: by its commit, or by its
    /// snapshot after the commit with the same number.
    pub(crate) fn position(&self) -> (u64, bool) {
        match self.outcome {
            Outcome::Committed(Some(commit)) => (commit, false),
            _ => (self.snapshot, true),
        }
    }

    pub(crate) fn reads(&self) -> impl Iterator<Item = &Read> {
        self.ops.iter().filter_map(|op| match op {
            Op::Read(read) => Some(read),
            Op::Write(_) => None,
        })
    }

    pub(crate) fn writes(&self) -> impl Iterator<Item = &Write> {
        self.ops.iter().filter_map(|op| match op {
            Op::Read(_) => None,
            Op::Write(write) => Some(write),
        })
    }
}

/// All transactions of a run, in any order.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) transactions: Vec<Transaction>,
}

impl History {
    pub(crate) fn committed(&self) -> usize {
        self.transactions.iter().filter(|transaction| transaction.is_committed()).count()
    }

    pub(crate) fn aborted(&self) -> usize {
        self.transactions.len() - self.committed()
    }
}

/// Rows as a transaction left them, by id.
pub(crate) type Rows = BTreeMap<i64, Cells>;

/// Returns what a read must find in `rows`.
pub(crate) fn answer(rows: &Rows, read: &Read) -> Vec<Cells> {
    rows.values()
        .filter(|cells| read.filter.matches(cells))
        .map(|cells| seen(cells, read))
        .collect()
}

/// Returns the cells of a row that a read looks at.
pub(crate) fn seen(cells: &Cells, read: &Read) -> Cells {
    let mut seen = [0; COLUMNS];
    (0..COLUMNS)
        .filter(|&column| column == ID || has(read.columns, column))
        .for_each(|column| seen[column] = cells[column]);
    seen
}
