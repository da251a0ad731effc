//! A small engine over one latch, with all levels and with flaws on demand.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use nacre_column::{ColumnType, CompareOp, Constant, Restriction};
use nacre_store::{
    ColumnDef, ColumnSet, Predicate, RowChange, RowId, RowImage, TableLog, TableSchema,
    ValidationLevel, ValueRef,
};

use super::engine::{Client, Conflict, Engine, Level};
use super::record::{COLUMNS, Cells, Filter, ID, Mask, NAMES, TAG, difference, has};

/// What the model does wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    None,
    /// Reads see what runs.
    DirtyRead,
    /// Writers overwrite what others committed since.
    LostUpdate,
    /// Validation forgets inserts.
    Phantom,
    /// Validation forgets the state before an update.
    BeforeImage,
    /// A commit shows one row earlier than the others.
    TornCommit,
    /// A snapshot is taken one commit too early.
    StaleSnapshot,
}

pub(crate) struct Model {
    flaw: Flaw,
    level: ValidationLevel,
    schema: TableSchema,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    clock: u64,
    transactions: u64,
    rows: BTreeMap<i64, RowVersions>,
    commits: Vec<Committed>,
}

#[derive(Default)]
struct RowVersions {
    committed: Vec<(u64, Option<Cells>)>,
    running: Option<(u64, Option<Cells>)>,
}

struct Committed {
    at: u64,
    writes: Vec<(i64, Option<Cells>, Option<Cells>)>,
}

pub(crate) struct Transaction<'a> {
    model: &'a Model,
    id: u64,
    level: Level,
    snapshot: u64,
    log: TableLog,
    written: Vec<i64>,
    is_open: bool,
}

impl Model {
    pub(crate) fn new(flaw: Flaw, level: ValidationLevel) -> Self {
        Self { flaw, level, schema: schema("t"), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no client panicked")
    }
}

/// The table of all histories: `id` to `b`, whole numbers but for the text `tag`.
pub(crate) fn schema(name: &str) -> TableSchema {
    let column = |index: usize| ColumnDef {
        name: NAMES[index].into(),
        column_type: match index {
            TAG => ColumnType::Varchar { max_chars: None },
            _ => ColumnType::BigInt,
        },
        is_nullable: false,
        replicas: None,
    };
    TableSchema {
        name: name.into(),
        columns: (0..COLUMNS).map(column).collect(),
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    }
}

/// The text of a tag, in the order of the numbers; tags from 5 on are long and begin alike.
pub(crate) fn tag(number: i64) -> String {
    assert!((0..10).contains(&number), "tag {number}");
    match number {
        0..5 => format!("t{number}"),
        _ => format!("tag with more bytes: {number}"),
    }
}

pub(crate) fn number_of_tag(tag: &[u8]) -> i64 {
    i64::from(tag.last().expect("tags are not empty") - b'0')
}

/// Returns the conditions that a filter stands for.
pub(crate) fn restrictions(filter: &Filter) -> Vec<(usize, Restriction)> {
    let constant = |column: usize, value: i64| match column {
        TAG => Constant::Bytes(tag(value).into_bytes()),
        _ => Constant::Int(value.into()),
    };
    let one = |&(column, low, high): &(usize, i64, i64)| {
        let restriction = match low == high {
            true => Restriction::Compare { op: CompareOp::Eq, value: constant(column, low) },
            false => {
                Restriction::Between { low: constant(column, low), high: constant(column, high) }
            }
        };
        (column, restriction)
    };
    filter.0.iter().map(one).collect()
}

struct Image<'a> {
    cells: &'a Cells,
    tag: String,
}

impl<'a> Image<'a> {
    fn new(cells: &'a Cells) -> Self {
        Self { cells, tag: tag(cells[TAG]) }
    }
}

impl RowImage for Image<'_> {
    fn row(&self) -> RowId {
        RowId(self.cells[ID] as u64)
    }

    fn value(&self, column: usize) -> ValueRef<'_> {
        match column {
            TAG => ValueRef::Bytes(self.tag.as_bytes()),
            _ => ValueRef::Int(self.cells[column]),
        }
    }
}

impl RowVersions {
    fn at(&self, snapshot: u64) -> Option<Cells> {
        self.committed.iter().rev().find(|(at, _)| *at <= snapshot).and_then(|(_, cells)| *cells)
    }
}

impl Engine for Model {
    type Client<'a> = Transaction<'a>;

    fn begin(&self, level: Level) -> Transaction<'_> {
        let mut state = self.state();
        state.transactions += 1;
        let late =
            u64::from(self.flaw == Flaw::StaleSnapshot && state.transactions.is_multiple_of(7));
        let (id, snapshot) = (state.transactions, state.clock.saturating_sub(late));
        let (log, written) = (TableLog::default(), Vec::new());
        Transaction { model: self, id, level, snapshot, log, written, is_open: true }
    }
}

impl Transaction<'_> {
    fn refresh(&mut self, state: &State) {
        if self.level == Level::ReadCommitted {
            self.snapshot = state.clock;
        }
    }

    /// Returns a row as this transaction sees it.
    fn row(&self, row: &RowVersions) -> Option<Cells> {
        match &row.running {
            Some((writer, cells)) if *writer == self.id => *cells,
            Some((_, Some(cells))) if self.model.flaw == Flaw::DirtyRead => Some(*cells),
            _ => row.at(self.snapshot),
        }
    }

    fn write(
        &mut self,
        id: i64,
        change: impl Fn(Cells) -> Option<Cells>,
    ) -> Result<bool, Conflict> {
        let mut state = self.model.state();
        self.refresh(&state);
        let row = state.rows.get_mut(&id).expect("the row was read");
        let last = row.committed.last().map_or(0, |version| version.0);
        match &row.running {
            Some((writer, _)) if *writer != self.id => {
                return Err(Conflict(format!("row {id} is being written")));
            }
            None if last > self.snapshot && self.model.flaw != Flaw::LostUpdate => {
                return Err(Conflict(format!("row {id} was written")));
            }
            _ => {}
        }
        let before = match &row.running {
            Some((_, cells)) => *cells,
            None => row.at(u64::MAX),
        };
        let Some(before) = before else {
            return Ok(false);
        };
        row.running = Some((self.id, change(before)));
        self.written.push(id);
        Ok(true)
    }

    fn validate(&self, state: &State) -> Result<(), Conflict> {
        let tree = self.log.tree();
        let flaw = self.model.flaw;
        for commit in state.commits.iter().filter(|commit| commit.at > self.snapshot) {
            for (_, before, after) in &commit.writes {
                let [before, after] = [before, after].map(|cells| cells.as_ref().map(Image::new));
                let changed: ColumnSet;
                let change = match (&before, &after) {
                    (None, None) => continue,
                    (None, Some(_)) if flaw == Flaw::Phantom => continue,
                    (None, Some(after)) => RowChange::Insert(after),
                    (Some(before), None) => RowChange::Delete(before),
                    (Some(before), Some(after)) => {
                        let mask = difference(before.cells, after.cells);
                        changed = (0..COLUMNS).filter(|&column| has(mask, column)).collect();
                        let before = if flaw == Flaw::BeforeImage { after } else { before };
                        RowChange::Update { before, after, changed: &changed }
                    }
                };
                if let Some(predicate) = tree.conflict(change, self.model.level) {
                    return Err(Conflict(tree.describe(predicate, &self.model.schema)));
                }
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        self.is_open = false;
        let mut state = self.model.state();
        for id in self.written.drain(..) {
            if let Some(row) = state.rows.get_mut(&id) {
                row.running = None;
            }
        }
    }
}

impl Client for Transaction<'_> {
    fn snapshot(&self) -> u64 {
        self.snapshot
    }

    fn read(&mut self, filter: &Filter, columns: Mask) -> Result<Vec<Cells>, Conflict> {
        let state = self.model.state();
        self.refresh(&state);
        if self.level == Level::Serializable {
            let read = (0..COLUMNS).filter(|&column| has(columns, column)).collect();
            let predicate = restrictions(filter).iter().fold(
                Predicate::new(read),
                |predicate, (column, restriction)| {
                    predicate.with(&self.model.schema, *column, restriction)
                },
            );
            self.log.log(predicate);
        }
        let rows = state.rows.values().filter_map(|row| self.row(row));
        let matching = rows.filter(|cells| filter.matches(cells)).map(|mut cells| {
            (0..COLUMNS)
                .filter(|&column| column != ID && !has(columns, column))
                .for_each(|column| cells[column] = 0);
            cells
        });
        Ok(matching.collect())
    }

    fn insert(&mut self, cells: &Cells) -> Result<(), Conflict> {
        let mut state = self.model.state();
        self.refresh(&state);
        state.rows.entry(cells[ID]).or_default().running = Some((self.id, Some(*cells)));
        self.written.push(cells[ID]);
        Ok(())
    }

    fn update(&mut self, id: i64, changes: &[(usize, i64)]) -> Result<bool, Conflict> {
        self.write(id, |mut cells| {
            changes.iter().for_each(|&(column, value)| cells[column] = value);
            Some(cells)
        })
    }

    fn delete(&mut self, id: i64) -> Result<bool, Conflict> {
        self.write(id, |_| None)
    }

    fn commit(mut self) -> Result<Option<u64>, Conflict> {
        let model = self.model;
        let mut state = model.state();
        if self.written.is_empty() {
            drop(state);
            self.end();
            return Ok(None);
        }
        if let Err(conflict) = self.validate(&state) {
            drop(state);
            self.end();
            return Err(conflict);
        }
        let at = state.clock + 2;
        let mut writes = Vec::new();
        self.written.sort_unstable();
        self.written.dedup();
        for (place, id) in self.written.iter().enumerate() {
            let row = state.rows.get_mut(id).expect("the row was written");
            let (_, after) = row.running.take().expect("the row is being written");
            let before = row.at(u64::MAX);
            let is_torn = model.flaw == Flaw::TornCommit && place > 0;
            row.committed.push((if is_torn { at + 2 } else { at }, after));
            writes.push((*id, before, after));
        }
        self.written.clear();
        state.commits.push(Committed { at, writes });
        state.clock = at;
        self.is_open = false;
        Ok(Some(at))
    }

    fn rollback(mut self) {
        self.end();
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.end();
        }
    }
}
