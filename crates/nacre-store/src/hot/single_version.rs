//! Transactions on rows of one version: what concurrency control costs is measured against this.
//!
//! The same tables, arrays, latches, indexes, key checks and checks of values; each change is made
//! at once for everybody. Kept are what a rollback needs, and nothing else: no versions, stamps,
//! snapshots, predicates and redo records. One client at a time, on tables without frozen rows that
//! no transaction changes.
//!
//! # Source
//! [Muehlbauer16 2.4] the single-version system that the paper compares with.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::hot::HotRows;
use crate::hot::column::Image;
use crate::id::{CommitTs, RowId, RowPlace};
use crate::index::{
    Direction, KEY_VALUES_INLINE, Reader, SearchRoom, TableIndex, ValueBounds, add_entries,
    check_rows, insert_entries, keys_in, remove_entries,
};
use crate::mvcc::{NOBODY, Snapshot};
use crate::table::Table;
use crate::value::{VALUES_INLINE, ValueRef, slots};

/// Sees whatever is there.
const EVERYTHING: Snapshot = Snapshot { start: CommitTs(u64::MAX), tx: NOBODY };

/// A transaction of the only client; it commits by [`SingleVersion::commit`].
#[derive(Debug, Default)]
pub struct SingleVersion {
    tables: Vec<Arc<Table>>,
    undo: Vec<Undo>,
    room: SearchRoom,
}

/// How to take a change back.
#[derive(Debug)]
struct Undo {
    table: u32,
    row: RowId,
    change: Change,
}

#[derive(Debug)]
enum Change {
    Insert,
    Delete,
    Update { column: u16, image: Image },
}

impl SingleVersion {
    /// Inserts a row.
    ///
    /// # Errors
    /// That of a value that does not fit; [`Error::DuplicateKey`].
    pub fn insert(&mut self, table: &Arc<Table>, values: &[ValueRef<'_>]) -> Result<RowId> {
        let (mut inline, mut spilled) = ([ValueRef::Null; VALUES_INLINE], Vec::new());
        let fitted = slots(values.len(), &mut inline, &mut spilled);
        for (column, (slot, value)) in fitted.iter_mut().zip(values).enumerate() {
            *slot = table.fit(*value, column)?;
        }
        let fitted = &*fitted;
        let indexes = table.table_indexes().hold();
        self.room.key.clear();
        let row = insert_entries(
            &indexes,
            fitted,
            &mut self.room.key,
            &|index, rows| check_rows(table, index, fitted, rows, EVERYTHING),
            &mut || table.hot().insert(fitted, None, |chunk, row| RowId::hot(chunk.id(), row)),
        )?;
        self.note(table, row, Change::Insert);
        Ok(row)
    }

    /// Changes columns of a row, none of which belongs to a key.
    ///
    /// # Errors
    /// That of a value that does not fit; [`Error::UnknownRow`].
    pub fn update(
        &mut self,
        table: &Arc<Table>,
        row: RowId,
        changes: &[(usize, ValueRef<'_>)],
    ) -> Result<()> {
        let schema = table.definition();
        let (mut inline, mut spilled) = ([(0, ValueRef::Null); VALUES_INLINE], Vec::new());
        let fitted = slots(changes.len(), &mut inline, &mut spilled);
        for (slot, (column, value)) in fitted.iter_mut().zip(changes) {
            *slot = (*column, table.fit(*value, *column)?);
        }
        let indexes = table.table_indexes().hold();
        let is_key = |column: usize| indexes.iter().any(|index| index.key().contains(column));
        if fitted.iter().any(|(column, _)| is_key(*column)) {
            let reason = format!("an update of a key of {:?} without versions", schema.name);
            return Err(Error::InvalidDefinition { reason });
        }
        drop(indexes);
        let number = self.number_of(table);
        let undo = &mut self.undo;
        change_row(table, row, |rows, offset| {
            for (column, value) in &*fitted {
                let image = rows.column(*column).image(offset);
                rows.overwrite(offset, &[(*column, *value)])?;
                let change = Change::Update { column: *column as u16, image };
                undo.push(Undo { table: number, row, change });
            }
            Ok(())
        })
    }

    /// Deletes a row.
    ///
    /// # Errors
    /// [`Error::UnknownRow`].
    pub fn delete(&mut self, table: &Arc<Table>, row: RowId) -> Result<()> {
        let indexes = table.table_indexes().hold();
        let chunk = row.chunk_number();
        let entries = change_row(table, row, |rows, offset| {
            rows.erase(offset);
            Ok(keys_in(&indexes, rows, (chunk, &[row.offset()])))
        })?;
        remove_entries(&indexes, &entries);
        drop(indexes);
        self.note(table, row, Change::Delete);
        Ok(())
    }

    /// As [`crate::Transaction::lookup`], for whole keys.
    ///
    /// # Errors
    /// Those of values that do not fit.
    pub fn lookup(
        &mut self,
        table: &Arc<Table>,
        index: &TableIndex,
        key: &[ValueRef<'_>],
        columns: &[usize],
        mut on_row: impl FnMut(RowId, &[ValueRef<'_>]),
    ) -> Result<()> {
        let (mut inline, mut spilled) = ([ValueRef::Null; KEY_VALUES_INLINE], Vec::new());
        let fitted = slots(key.len(), &mut inline, &mut spilled);
        for ((slot, column), value) in fitted.iter_mut().zip(index.key().columns()).zip(key) {
            *slot = table.fit(*value, column)?;
        }
        let reader = Reader { table, index, snapshot: EVERYTHING, columns };
        reader.point(fitted, &mut self.room.key, &mut |row, values| {
            on_row(row, values);
            ControlFlow::Continue(())
        })
    }

    /// As [`crate::Transaction::range`], for values that fit.
    ///
    /// # Errors
    /// As there.
    pub fn range(
        &mut self,
        table: &Arc<Table>,
        index: &TableIndex,
        bounds: ValueBounds<'_>,
        direction: Direction,
        columns: &[usize],
        mut on_row: impl FnMut(RowId, &[ValueRef<'_>]) -> ControlFlow<()>,
    ) -> Result<()> {
        let reader = Reader { table, index, snapshot: EVERYTHING, columns };
        reader.range(bounds, direction, &mut self.room, &mut on_row)
    }

    /// Keeps all changes.
    pub fn commit(&mut self) {
        self.undo.clear();
    }

    /// Takes all changes back.
    ///
    /// # Errors
    /// [`Error::Internal`] if an index is full.
    pub fn rollback(&mut self) -> Result<()> {
        while let Some(Undo { table, row, change }) = self.undo.pop() {
            let table = Arc::clone(&self.tables[table as usize]);
            let indexes = table.table_indexes().hold();
            let entries = change_slot(&table, row, |rows, offset| {
                let keys =
                    |rows: &HotRows| keys_in(&indexes, rows, (row.chunk_number(), &[row.offset()]));
                match &change {
                    Change::Insert => {
                        rows.erase(offset);
                        keys(rows)
                    }
                    Change::Delete => {
                        rows.revive(offset);
                        keys(rows)
                    }
                    Change::Update { column, image } => {
                        rows.put_back(offset, usize::from(*column), *image);
                        Vec::new()
                    }
                }
            })?;
            match change {
                Change::Insert => remove_entries(&indexes, &entries),
                Change::Delete => add_entries(&indexes, &entries)?,
                Change::Update { .. } => {}
            }
        }
        Ok(())
    }

    fn note(&mut self, table: &Arc<Table>, row: RowId, change: Change) {
        let table = self.number_of(table);
        self.undo.push(Undo { table, row, change });
    }

    fn number_of(&mut self, table: &Arc<Table>) -> u32 {
        let known = self.tables.iter().position(|one| Arc::ptr_eq(one, table));
        known.unwrap_or_else(|| {
            self.tables.push(Arc::clone(table));
            self.tables.len() - 1
        }) as u32
    }
}

/// Runs `change` on a row that is there, under its latch.
fn change_row<T>(
    table: &Table,
    row: RowId,
    change: impl FnOnce(&mut HotRows, usize) -> Result<T>,
) -> Result<T> {
    change_slot(table, row, |rows, offset| match rows.exists(offset) {
        true => change(rows, offset),
        false => Err(unknown(table, row)),
    })?
}

/// Runs `change` on the place of a row, under its latch.
fn change_slot<T>(
    table: &Table,
    row: RowId,
    change: impl FnOnce(&mut HotRows, usize) -> T,
) -> Result<T> {
    let RowPlace::Hot { chunk, offset } = row.place() else {
        return Err(unknown(table, row));
    };
    let changed =
        table.hot().with(chunk, |chunk| chunk.change(|rows| change(rows, usize::from(offset))));
    changed.ok_or_else(|| unknown(table, row))
}

fn unknown(table: &Table, row: RowId) -> Error {
    Error::UnknownRow { table: table.schema().name.clone(), row }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{ColumnDef, TableSchema};
    use crate::store::{OpenOptions, Store};
    use nacre_column::ColumnType;

    fn rows(single: &mut SingleVersion, table: &Arc<Table>) -> Vec<(i64, i64)> {
        let index = table.index("t_pkey").unwrap();
        let mut rows = Vec::new();
        let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
        let direction = Direction::Ascending;
        single
            .range(table, &index, all, direction, &[0, 1], |_, values| {
                if let [ValueRef::Int(key), ValueRef::Int(value)] = values {
                    rows.push((*key, *value));
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        rows
    }

    #[test]
    fn changes_are_there_at_once_and_can_be_taken_back() {
        let column = |name: &str| ColumnDef {
            name: name.into(),
            column_type: ColumnType::Integer,
            is_nullable: false,
            replicas: None,
        };
        let schema = TableSchema {
            name: "t".into(),
            columns: vec![column("a"), column("b")],
            primary_key: Some(vec![0]),
            primary_key_name: "t_pkey".into(),
            replicas: None,
        };
        let store = Store::open(OpenOptions::default()).unwrap();
        let table = store.create_table(schema).unwrap();
        let mut single = SingleVersion::default();
        let row = |key: i64, value: i64| [ValueRef::Int(key), ValueRef::Int(value)];
        let ids: Vec<RowId> =
            (0..3).map(|key| single.insert(&table, &row(key, 10)).unwrap()).collect();
        assert!(matches!(single.insert(&table, &row(1, 0)), Err(Error::DuplicateKey(_))));
        single.commit();
        single.update(&table, ids[0], &[(1, ValueRef::Int(11))]).unwrap();
        single.update(&table, ids[0], &[(1, ValueRef::Int(12))]).unwrap();
        single.delete(&table, ids[1]).unwrap();
        single.insert(&table, &row(1, 13)).unwrap();
        assert!(single.update(&table, ids[1], &[(1, ValueRef::Int(0))]).is_err());
        assert!(single.update(&table, ids[2], &[(0, ValueRef::Int(0))]).is_err());
        assert_eq!(rows(&mut single, &table), [(0, 12), (1, 13), (2, 10)]);
        single.rollback().unwrap();
        assert_eq!(rows(&mut single, &table), [(0, 10), (1, 10), (2, 10)]);
        let index = table.index("t_pkey").unwrap();
        let mut found = Vec::new();
        single
            .lookup(&table, &index, &[ValueRef::Int(1)], &[1], |id, values| {
                found.push((id, values[0].to_value()));
            })
            .unwrap();
        assert_eq!(found, [(ids[1], ValueRef::Int(10).to_value())]);
    }
}
