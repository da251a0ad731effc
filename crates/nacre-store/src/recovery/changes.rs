//! Changes of rows, made again as the log has them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::id::{RowId, RowPlace};
use crate::manifest::TableId;
use crate::redo::RedoRecord;
use crate::table::Table;
use crate::value::ValueRef;

/// The tables that records name.
#[derive(Debug)]
pub(super) struct Tables {
    by_id: BTreeMap<TableId, Arc<Table>>,
    /// Tables from this one on were never created.
    next_table: u64,
}

impl Tables {
    pub(super) fn new(tables: Vec<Arc<Table>>, next_table: u64) -> Self {
        let by_id = tables.into_iter().map(|table| (table.id(), table)).collect();
        Self { by_id, next_table }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.by_id.values()
    }

    pub(super) fn get(&self, id: TableId) -> Option<&Arc<Table>> {
        self.by_id.get(&id)
    }

    /// Makes a change of rows; what concerns a table that was dropped is passed over, and so is
    /// what changes no row. Index entries are left alone: who changes a key moves the row.
    ///
    /// # Errors
    /// Why the record does not fit what is there.
    pub(super) fn change(&self, record: RedoRecord<'_>) -> Result<(), String> {
        match record {
            RedoRecord::Insert { table, row, values } => {
                self.with(table, |table| insert(table, row, values))
            }
            RedoRecord::Update { table, row, changes } => {
                self.with(table, |table| update(table, row, changes))
            }
            RedoRecord::Delete { table, row } => self.with(table, |table| delete(table, row)),
            RedoRecord::Deleted { table, first, rows } => self.with(table, |table| {
                rows.iter().try_for_each(|row| delete(table, RowId(first.0 | u64::from(*row))))
            }),
            RedoRecord::Checkpoint { .. } | RedoRecord::Definitions | RedoRecord::Call { .. } => {
                Ok(())
            }
        }
    }

    /// Runs `change` on a table, unless it was dropped.
    fn with(
        &self,
        id: TableId,
        change: impl FnOnce(&Table) -> Result<(), String>,
    ) -> Result<(), String> {
        match self.get(id) {
            Some(table) => change(table),
            None if id.0 < self.next_table => Ok(()),
            None => Err(format!("table {} was never created", id.0)),
        }
    }
}

fn insert(table: &Table, row: RowId, values: &[ValueRef<'_>]) -> Result<(), String> {
    let schema = table.definition();
    let RowPlace::Hot { chunk, offset } = row.place() else {
        return Err(format!("insert into {:?} at {row}, which is frozen", schema.name));
    };
    if values.len() != schema.columns.len() {
        let (count, columns) = (values.len(), schema.columns.len());
        return Err(format!("{count} values for the {columns} columns of {:?}", schema.name));
    }
    for (column, value) in values.iter().enumerate() {
        value.fit(schema, column).map_err(|error| error.to_string())?;
    }
    let chunk = table.hot().get_or_add(chunk).map_err(|error| error.to_string())?;
    chunk
        .change(|rows| rows.put(usize::from(offset), values))
        .map_err(|error| format!("{row} of {:?}: {error}", schema.name))
}

fn update(table: &Table, row: RowId, changes: &[(usize, ValueRef<'_>)]) -> Result<(), String> {
    let schema = table.definition();
    let missing = || format!("{row} of {:?} changes before it is there", schema.name);
    let RowPlace::Hot { chunk, offset } = row.place() else {
        return Err(format!("{row} of {:?} is frozen and cannot change", schema.name));
    };
    for (column, value) in changes {
        if *column >= schema.columns.len() {
            return Err(format!("{:?} has no column {column}", schema.name));
        }
        value.fit(schema, *column).map_err(|error| error.to_string())?;
    }
    let chunk = table.hot().get(chunk).ok_or_else(missing)?;
    let is_done = chunk
        .change(|rows| rows.replace(usize::from(offset), changes))
        .map_err(|error| format!("{row} of {:?}: {error}", schema.name))?;
    if is_done { Ok(()) } else { Err(missing()) }
}

fn delete(table: &Table, row: RowId) -> Result<(), String> {
    let name = &table.definition().name;
    let missing = || format!("{row} of {name:?} is deleted before it is there");
    let is_done = match row.place() {
        RowPlace::Hot { chunk, offset } => {
            let chunk = table.hot().get(chunk).ok_or_else(missing)?;
            chunk.change(|rows| rows.remove(usize::from(offset)))
        }
        RowPlace::Frozen { load, chunk, offset } => {
            let loads = table.loads();
            let found = loads.iter().find(|one| one.id() == load);
            found.filter(|found| chunk < found.chunk_count()).ok_or_else(missing)?;
            table.frozen_deletes(load, chunk).settle(offset)
        }
    };
    if is_done { Ok(()) } else { Err(missing()) }
}
