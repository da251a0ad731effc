//! Rows in hot chunks without versions, stamps and transactions.
//!
//! What concurrency control costs is measured against this: the same arrays, latches and checks of
//! values, and each change simply made.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::hot::HotList;
use crate::id::{RowId, RowPlace};
use crate::schema::TableSchema;
use crate::value::ValueRef;

/// A table of one version of each row.
#[derive(Debug)]
pub struct SingleVersion {
    schema: TableSchema,
    rows: HotList,
}

impl SingleVersion {
    /// Makes an empty table.
    pub fn new(schema: TableSchema) -> Self {
        let types: Vec<_> = schema.columns.iter().map(|column| column.column_type).collect();
        Self { schema, rows: HotList::new(&types, &Arc::default()) }
    }

    /// Inserts a row.
    ///
    /// # Errors
    /// That of a value that does not fit.
    pub fn insert(&self, values: &[ValueRef<'_>]) -> Result<RowId> {
        let mut fitted = Vec::with_capacity(values.len());
        for (column, value) in values.iter().enumerate() {
            fitted.push(value.fit(&self.schema, column)?);
        }
        let (chunk, row) = self.rows.insert(None, &fitted, None)?;
        Ok(RowId::hot(chunk.id(), row))
    }

    /// Changes columns of a row.
    ///
    /// # Errors
    /// That of a value that does not fit; [`Error::UnknownRow`].
    pub fn update(&self, row: RowId, changes: &[(usize, ValueRef<'_>)]) -> Result<()> {
        let mut fitted = Vec::with_capacity(changes.len());
        for (column, value) in changes {
            fitted.push((*column, value.fit(&self.schema, *column)?));
        }
        let unknown = || Error::UnknownRow { table: self.schema.name.clone(), row };
        let RowPlace::Hot { chunk, offset } = row.place() else {
            return Err(unknown());
        };
        let chunk = self.rows.get(chunk).ok_or_else(unknown)?;
        chunk.overwrite(offset, &fitted)
    }

    /// Deletes a row.
    ///
    /// # Errors
    /// [`Error::UnknownRow`].
    pub fn delete(&self, row: RowId) -> Result<()> {
        let unknown = || Error::UnknownRow { table: self.schema.name.clone(), row };
        let RowPlace::Hot { chunk, offset } = row.place() else {
            return Err(unknown());
        };
        self.rows.get(chunk).ok_or_else(unknown)?.erase(offset);
        Ok(())
    }
}
