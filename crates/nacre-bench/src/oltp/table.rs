//! Tables of a workload.

use std::sync::Arc;

use nacre_column::ColumnType;
use nacre_store::index::{IndexDef, IndexKind, IndexOrigin, TableIndex};
use nacre_store::{ColumnDef, Result, Store, Table, TableSchema, ValueRef};

use crate::oltp::work::{System, Work};

/// Rows that a load commits together.
const LOAD_ROWS: usize = 5_000;

/// A table and the index of its primary key.
#[derive(Clone, Debug)]
pub(crate) struct Indexed {
    pub(crate) table: Arc<Table>,
    pub(crate) index: Arc<TableIndex>,
}

/// A column that has a value in every row.
pub(crate) fn column(name: &str, column_type: ColumnType) -> ColumnDef {
    ColumnDef { name: name.into(), column_type, is_nullable: false, replicas: None }
}

/// A column that may be null.
pub(crate) fn nullable(name: &str, column_type: ColumnType) -> ColumnDef {
    ColumnDef { is_nullable: true, ..column(name, column_type) }
}

/// Creates a table without a primary key.
pub(crate) fn create(store: &Store, name: &str, columns: Vec<ColumnDef>) -> Result<Arc<Table>> {
    store.create_table(TableSchema {
        name: name.into(),
        columns,
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    })
}

impl Indexed {
    /// Creates a table whose primary key is its first `key_columns` columns.
    pub(crate) fn create(
        store: &Store,
        name: &str,
        columns: Vec<ColumnDef>,
        key_columns: usize,
    ) -> Result<Self> {
        let table = store.create_table(TableSchema {
            name: name.into(),
            columns,
            primary_key: Some((0..key_columns).collect()),
            primary_key_name: key_name(name),
            replicas: None,
        })?;
        Self::of(table)
    }

    /// Finds a table that is there.
    pub(crate) fn open(store: &Store, name: &str) -> Result<Self> {
        Self::of(store.table(name)?)
    }

    /// Creates a further index of the table.
    pub(crate) fn by(&self, store: &Store, name: &str, columns: &[usize]) -> Result<Self> {
        let definition = IndexDef {
            name: name.into(),
            columns: columns.to_vec(),
            is_unique: false,
            kind: IndexKind::Art,
            origin: IndexOrigin::Statement,
        };
        store.create_index(&self.table, definition)?;
        self.with(name)
    }

    /// Finds a further index of the table.
    pub(crate) fn with(&self, name: &str) -> Result<Self> {
        Ok(Self { table: Arc::clone(&self.table), index: self.table.index(name)? })
    }

    /// Finds the index of a table's primary key.
    pub(crate) fn of(table: Arc<Table>) -> Result<Self> {
        let index = table.index(&key_name(&table.schema().name))?;
        Ok(Self { table, index })
    }
}

fn key_name(table: &str) -> String {
    format!("{table}_pkey")
}

/// Inserts many rows, some in each transaction.
pub(crate) struct Loader<'a, S: System> {
    system: &'a mut S,
    work: S::Work,
    rows: usize,
}

impl<'a, S: System> Loader<'a, S> {
    pub(crate) fn new(system: &'a mut S) -> Self {
        let work = system.begin();
        Self { system, work, rows: 0 }
    }

    pub(crate) fn insert(&mut self, table: &Arc<Table>, values: &[ValueRef<'_>]) -> Result<()> {
        self.work.insert(table, values)?;
        self.rows += 1;
        if self.rows.is_multiple_of(LOAD_ROWS) {
            let next = self.system.begin();
            let full = std::mem::replace(&mut self.work, next);
            self.system.commit(full)?;
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.system.commit(self.work)
    }
}

/// Returns a whole number, 0 for anything else.
#[inline]
pub(crate) fn int(value: ValueRef<'_>) -> i64 {
    match value {
        ValueRef::Int(value) => value,
        _ => 0,
    }
}

/// Returns a text, the empty one for anything else.
#[inline]
pub(crate) fn bytes(value: ValueRef<'_>) -> &[u8] {
    match value {
        ValueRef::Bytes(value) => value,
        _ => &[],
    }
}
