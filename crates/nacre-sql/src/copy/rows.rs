//! `COPY ... FROM` in a transaction block: the rows become changes of the transaction, like those
//! of INSERT, instead of a load, which is a transaction of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nacre_column::ColumnBuffer;
use nacre_ingest::{ChunkSink, CsvOptions, Destination, Progress, Source, copy_into};
use nacre_store::{Error as StoreError, Table, Transaction, ValueRef};

/// Writes the rows that it is handed.
struct Rows<'a> {
    table: &'a Arc<Table>,
    transaction: Mutex<&'a mut Transaction>,
    /// Written by the one worker, read when it is done.
    count: AtomicU64,
}

impl ChunkSink for Rows<'_> {
    type Error = StoreError;

    fn append_chunk(&self, index: u64, columns: &mut [ColumnBuffer]) -> Result<(), StoreError> {
        let mut transaction = self.transaction.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = columns.first().map_or(0, ColumnBuffer::len);
        let mut values = Vec::with_capacity(columns.len());
        for row in 0..rows {
            values.clear();
            values.extend(columns.iter().map(|column| ValueRef::of(column, row)));
            let inserted = transaction.insert(self.table, &values);
            inserted.map_err(|error| placed(error, (index, row as u32)))?;
        }
        // ORDERING: a count; the end of the worker orders it.
        self.count.fetch_add(rows as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// Inserts all rows of `source`; returns their number. After an error none of them is there.
///
/// # Errors
/// Those of reading the source, with the place; those of inserting rows.
pub(super) fn copy_rows(
    transaction: &mut Transaction,
    to: Destination<'_>,
    source: Source,
    options: &CsvOptions,
    progress: &Progress,
) -> nacre_ingest::Result<u64> {
    let before = transaction.savepoint();
    let sink = Rows {
        table: to.table,
        transaction: Mutex::new(&mut *transaction),
        count: AtomicU64::new(0),
    };
    let end = |sink: Rows<'_>| {
        let transaction = sink.transaction.into_inner().unwrap_or_else(PoisonError::into_inner);
        transaction.check_constraints().map(|()| sink.count.into_inner())
    };
    // One worker, so that rows are inserted in the order of the file.
    let copied = copy_into(to, source, options, 1, progress, || Ok(sink), end);
    if copied.is_err() {
        transaction.rollback_to(before);
    }
    copied
}

/// Says in which row of the file a key is there twice.
fn placed(error: StoreError, place: (u64, u32)) -> StoreError {
    match error {
        StoreError::DuplicateKey(mut duplicate) => {
            duplicate.loaded_at = Some(place);
            StoreError::DuplicateKey(duplicate)
        }
        other => other,
    }
}
