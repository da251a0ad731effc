//! Loads a source into a stored table, all rows or none.

use crate::{
    error::{Error, Result},
    layout::{Target, TargetColumn},
    load::{ChunkSink, Loader},
    options::CsvOptions,
    progress::Progress,
    source::Source,
};
use nacre_column::ColumnBuffer;
use nacre_store::{Error as StoreError, Load, Store, Table};
use std::sync::Arc;

impl ChunkSink for Load {
    type Error = StoreError;

    fn append_chunk(
        &self,
        index: u64,
        columns: &[ColumnBuffer],
    ) -> std::result::Result<(), StoreError> {
        Self::append_chunk(self, index, columns)
    }
}

/// Loads all rows of `source` into `table` with `threads` workers; returns their number.
///
/// `columns` names the columns that the fields of a row are for, by index; the others become
/// null. The rows are visible, and durable, when this returns `Ok`; otherwise the table is as it
/// was.
///
/// # Errors
/// The first fault in file order with its place in the file, whichever worker met it; a repeated
/// key with the place of the later row; what the store reports, as kind `Store`; `Cancelled`.
pub fn copy_from(
    store: &Store,
    table: &Arc<Table>,
    columns: Option<&[usize]>,
    source: Source,
    options: &CsvOptions,
    threads: usize,
    progress: &Progress,
) -> Result<u64> {
    // The file first: if it cannot be read, the store need not hear of it.
    let mut loader = Loader::open(source, target(table, columns), options, progress)?;
    let load = store.begin_load(table).map_err(Error::sink)?;
    loader.run(threads, progress, &load).map_err(|error| located(error, &loader))?;
    progress.check()?;
    load.commit().map_err(|error| located(Error::sink(error), &loader))
}

fn target(table: &Table, columns: Option<&[usize]>) -> Target {
    let schema = table.schema();
    let column = |column: &nacre_store::ColumnDef| TargetColumn {
        name: column.name.clone(),
        column_type: column.column_type,
        is_nullable: column.is_nullable,
    };
    Target {
        relation: schema.name.clone(),
        columns: schema.columns.iter().map(column).collect(),
        fields: columns.map_or_else(|| (0..schema.columns.len()).collect(), <[usize]>::to_vec),
    }
}

/// Adds to a repeated key where in the file the later row stands.
fn located(error: Error, loader: &Loader) -> Error {
    let Some(StoreError::DuplicateKey(duplicate)) = error.store_error() else {
        return error;
    };
    let Some((chunk, row)) = duplicate.loaded_at else {
        return error;
    };
    match loader.locate(chunk, u64::from(row)) {
        Ok(location) => error.with_location(location),
        // The file cannot be read any more: the key alone has to do.
        Err(_) => error,
    }
}
