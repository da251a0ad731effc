//! The store as an engine of histories: a volatile database with one table.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use nacre_column::{ColumnBuffer, Restriction};
use nacre_store::{
    Error, IsolationLevel, OpenOptions, RowId, Store, Table, Transaction, Value, ValueRef,
};

use super::engine::{Client, Conflict, Engine, Level};
use super::model::{number_of_tag, restrictions, schema, tag};
use super::record::{COLUMNS, Cells, Filter, ID, Mask, TAG, has};

pub(crate) struct Stored {
    store: Store,
    table: Arc<Table>,
    /// Where rows were inserted; rows of loads are not in it, since they move when they change.
    inserted: Mutex<HashMap<i64, RowId>>,
    /// Whether rows are frozen whenever a transaction begins; then all move when they change.
    is_freezing: bool,
    frozen_rows: AtomicU64,
}

pub(crate) struct StoredClient<'a> {
    engine: &'a Stored,
    transaction: Transaction,
    /// Where the rows lie that this transaction found.
    found: HashMap<i64, RowId>,
}

impl Stored {
    pub(crate) fn new() -> Self {
        let store = Store::open(OpenOptions::default()).unwrap();
        let table = store.create_table(schema("t")).unwrap();
        let (inserted, frozen_rows) = (Mutex::default(), AtomicU64::new(0));
        Self { store, table, inserted, is_freezing: false, frozen_rows }
    }

    pub(crate) fn freezing() -> Self {
        Self { is_freezing: true, ..Self::new() }
    }

    pub(crate) fn frozen_rows(&self) -> u64 {
        self.frozen_rows.load(Ordering::Relaxed)
    }

    fn freeze(&self) {
        let frozen = self.store.checkpoint().unwrap().frozen_rows;
        self.frozen_rows.fetch_add(frozen, Ordering::Relaxed);
    }
}

fn level_of(level: Level) -> IsolationLevel {
    match level {
        Level::ReadCommitted => IsolationLevel::ReadCommitted,
        Level::RepeatableRead => IsolationLevel::RepeatableRead,
        Level::Serializable => IsolationLevel::Serializable,
    }
}

/// Other errors than conflicts have no place in these tests.
fn conflict(error: Error) -> Conflict {
    match error {
        Error::SerializationConflict { .. } => Conflict(error.to_string()),
        other => panic!("{other}"),
    }
}

fn value(column: usize, cell: i64) -> Value {
    match column {
        TAG => Value::Bytes(tag(cell).into_bytes()),
        _ => Value::Int(cell),
    }
}

fn cell(value: ValueRef<'_>) -> i64 {
    match value {
        ValueRef::Int(value) => value,
        ValueRef::Bytes(value) => number_of_tag(value),
        other => panic!("{other:?} in a table of numbers and tags"),
    }
}

fn wanted(columns: Mask) -> Vec<usize> {
    (0..COLUMNS).filter(|&column| column == ID || has(columns, column)).collect()
}

fn cells_of(columns: &[usize], values: &[ValueRef<'_>]) -> Cells {
    let mut cells = [0; COLUMNS];
    columns.iter().zip(values).for_each(|(&column, &value)| cells[column] = cell(value));
    cells
}

impl Engine for Stored {
    type Client<'a> = StoredClient<'a>;

    fn begin(&self, level: Level) -> StoredClient<'_> {
        if self.is_freezing {
            self.freeze();
        }
        let transaction = self.store.begin(level_of(level));
        StoredClient { engine: self, transaction, found: HashMap::new() }
    }

    fn load(&self, rows: &[Cells]) -> Option<u64> {
        let schema = self.table.schema();
        let mut columns: Vec<ColumnBuffer> =
            schema.columns.iter().map(|column| ColumnBuffer::new(column.column_type)).collect();
        for (index, column) in columns.iter_mut().enumerate() {
            rows.iter().for_each(|cells| value(index, cells[index]).as_ref().push_to(column));
        }
        let load = self.store.begin_load(&self.table).unwrap();
        load.append_chunk(0, &columns).unwrap();
        load.commit().unwrap();
        // Nobody else commits meanwhile.
        Some(self.store.begin(IsolationLevel::RepeatableRead).snapshot().start().0)
    }
}

impl StoredClient<'_> {
    /// Reads one row by where it lies, if that is known.
    fn read_by_id(&mut self, id: i64, columns: Mask) -> Option<Vec<Cells>> {
        let row = match self.found.get(&id) {
            Some(row) => *row,
            None if self.engine.is_freezing => return None,
            None => *self.engine.inserted.lock().unwrap().get(&id)?,
        };
        let wanted = wanted(columns);
        let copy = |values: &[ValueRef<'_>]| cells_of(&wanted, values);
        let cells = self.transaction.read(&self.engine.table, row, &wanted, copy).unwrap();
        if cells.is_some() {
            self.found.insert(id, row);
        }
        Some(cells.into_iter().collect())
    }
}

impl Client for StoredClient<'_> {
    fn snapshot(&self) -> u64 {
        self.transaction.snapshot().start().0
    }

    fn read(&mut self, filter: &Filter, columns: Mask) -> Result<Vec<Cells>, Conflict> {
        self.transaction.refresh();
        if let [(ID, low, high)] = filter.0[..]
            && low == high
            && let Some(rows) = self.read_by_id(low, columns)
        {
            return Ok(rows);
        }
        let (wanted, conditions): (Vec<usize>, Vec<(usize, Restriction)>) =
            (wanted(columns), restrictions(filter));
        let (mut rows, found) = (Vec::new(), &mut self.found);
        let on_row = |row: RowId, values: &[ValueRef<'_>]| {
            let cells = cells_of(&wanted, values);
            found.insert(cells[ID], row);
            rows.push(cells);
        };
        self.transaction
            .scan(&self.engine.table, &conditions, &wanted, on_row)
            .map_err(conflict)?;
        Ok(rows)
    }

    fn insert(&mut self, cells: &Cells) -> Result<(), Conflict> {
        self.transaction.refresh();
        let values: Vec<Value> = (0..COLUMNS).map(|column| value(column, cells[column])).collect();
        let values: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
        let row = self.transaction.insert(&self.engine.table, &values).map_err(conflict)?;
        self.engine.inserted.lock().unwrap().insert(cells[ID], row);
        self.found.insert(cells[ID], row);
        Ok(())
    }

    fn update(&mut self, id: i64, changes: &[(usize, i64)]) -> Result<bool, Conflict> {
        self.transaction.refresh();
        let row = self.found[&id];
        let values: Vec<(usize, Value)> =
            changes.iter().map(|&(column, cell)| (column, value(column, cell))).collect();
        let values: Vec<(usize, ValueRef<'_>)> =
            values.iter().map(|(column, value)| (*column, value.as_ref())).collect();
        match self.transaction.update(&self.engine.table, row, &values) {
            Ok(row) => {
                self.found.insert(id, row);
                Ok(true)
            }
            Err(Error::UnknownRow { .. }) => Ok(false),
            Err(error) => Err(conflict(error)),
        }
    }

    fn delete(&mut self, id: i64) -> Result<bool, Conflict> {
        self.transaction.refresh();
        match self.transaction.delete(&self.engine.table, self.found[&id]) {
            Ok(()) => Ok(true),
            Err(Error::UnknownRow { .. }) => Ok(false),
            Err(error) => Err(conflict(error)),
        }
    }

    fn commit(self) -> Result<Option<u64>, Conflict> {
        let has_writes = self.transaction.has_writes();
        let commit = self.transaction.commit().map_err(conflict)?;
        Ok(has_writes.then_some(commit.0))
    }

    fn rollback(self) {
        self.transaction.rollback();
    }
}
