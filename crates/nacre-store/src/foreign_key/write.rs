//! Writes of a transaction, with a note of what they mean for foreign keys.

use std::sync::Arc;

use super::links::LinkLists;
use super::queue::Event;
use crate::error::Result;
use crate::id::RowId;
use crate::mvcc::Transaction;
use crate::table::Table;
use crate::value::{Value, ValueRef};

impl Transaction {
    /// Inserts a row and returns its id.
    ///
    /// # Errors
    /// [`crate::Error::NullViolation`], [`crate::Error::InvalidValue`];
    /// [`crate::Error::DuplicateKey`], or [`crate::Error::SerializationConflict`] if it depends on
    /// another transaction whether the key is there; [`crate::Error::InvalidDefinition`] if there
    /// are more or fewer values than columns; [`crate::Error::UnknownTable`] if it was dropped;
    /// [`crate::Error::ReadOnly`], [`crate::Error::TransactionTooLarge`],
    /// [`crate::Error::TransactionEnded`]. Foreign keys are checked later, by
    /// [`Transaction::check_constraints`].
    #[inline]
    pub fn insert(&mut self, table: &Arc<Table>, values: &[ValueRef<'_>]) -> Result<RowId> {
        let row = self.insert_row(table, values)?;
        if let Some(links) = table.links().get() {
            for key in &links.outgoing {
                let refers = !key.definition().columns.iter().any(|&at| values[at].is_null());
                if refers {
                    self.queue().push(Event::Refers { key: Arc::clone(key), row });
                }
            }
        }
        Ok(row)
    }

    /// Changes columns of a row and returns its id, which may be another one afterwards.
    ///
    /// # Errors
    /// [`crate::Error::SerializationConflict`] if another transaction changed the row since this
    /// one's snapshot, or has not ended; [`crate::Error::UnknownRow`] if the row does not exist for
    /// this one; [`crate::Error::UnknownColumn`]; and as for [`Transaction::insert`].
    #[inline]
    pub fn update(
        &mut self,
        table: &Arc<Table>,
        row: RowId,
        changes: &[(usize, ValueRef<'_>)],
    ) -> Result<RowId> {
        match table.links().get() {
            None => self.update_row(table, row, changes),
            Some(links) => self.update_linked(table, row, changes, &links),
        }
    }

    /// Deletes a row.
    ///
    /// # Errors
    /// As for [`Transaction::update`].
    #[inline]
    pub fn delete(&mut self, table: &Arc<Table>, row: RowId) -> Result<()> {
        match table.links().get().filter(|links| !links.incoming.is_empty()) {
            None => self.delete_row(table, row),
            Some(links) => self.delete_linked(table, row, &links),
        }
    }

    fn update_linked(
        &mut self,
        table: &Arc<Table>,
        row: RowId,
        changes: &[(usize, ValueRef<'_>)],
        links: &LinkLists,
    ) -> Result<RowId> {
        let is_changed = |columns: &[usize]| changes.iter().any(|(at, _)| columns.contains(at));
        let mut outgoing = Vec::new();
        for key in links.outgoing.iter().filter(|key| is_changed(&key.definition().columns)) {
            let columns = &key.definition().columns;
            outgoing.push((key, self.values_of(table, row, columns)?));
        }
        let mut incoming = Vec::new();
        for key in &links.incoming {
            let columns = &key.definition().referenced_columns;
            if is_changed(columns) {
                incoming.push((key, self.values_of(table, row, columns)?));
            }
        }
        let moved = self.update_row(table, row, changes)?;
        for (key, old) in outgoing {
            let new = self.values_of(table, moved, &key.definition().columns)?;
            if new != old {
                self.queue().push(Event::Refers { key: Arc::clone(key), row: moved });
            }
        }
        for (key, old) in incoming {
            let new = self.values_of(table, moved, &key.definition().referenced_columns)?;
            if let Some(old) = old.filter(|old| new.as_ref() != Some(old)) {
                self.queue().push(Event::Lost { key: Arc::clone(key), old, new });
            }
        }
        Ok(moved)
    }

    fn delete_linked(&mut self, table: &Arc<Table>, row: RowId, links: &LinkLists) -> Result<()> {
        let mut lost = Vec::new();
        for key in &links.incoming {
            lost.push(self.values_of(table, row, &key.definition().referenced_columns)?);
        }
        self.delete_row(table, row)?;
        for (key, old) in links.incoming.iter().zip(lost) {
            if let Some(old) = old {
                self.queue().push(Event::Lost { key: Arc::clone(key), old, new: None });
            }
        }
        Ok(())
    }

    /// Returns columns of a row, `None` if the transaction does not see it.
    fn values_of(
        &self,
        table: &Arc<Table>,
        row: RowId,
        columns: &[usize],
    ) -> Result<Option<Vec<Value>>> {
        self.require_open()?;
        table.read_at(row, self.snapshot(), columns, |values| {
            values.iter().map(|value| value.to_value()).collect()
        })
    }
}
