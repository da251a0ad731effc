//! Bulk loads: chunks are encoded by many workers and become visible together.
//!
//! 1. [`Load::append_chunk`] encodes a chunk's columns and appends the blocks to the load's pool.
//! 2. [`Load::commit`] writes the directory, makes the pool durable, checks the primary key
//!    against the table and within the load, and publishes the load by one manifest record.
//!
//! # Invariants
//! 1. Until the manifest record is published nobody sees the load, and a crash leaves only a
//!    file that the next open removes.
//! 2. Chunks are numbered by the caller, so the order of rows does not depend on timing.
//! # Concurrency
//! `append_chunk` may be called from any number of threads at once.
//! # Source
//! [Muehlbauer16 3.3] bulk loading in chunks. Differs: chunks go straight to compressed blocks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use nacre_column::{ColumnBuffer, block, text};
use nacre_pmem::PoolAppender;
use nacre_simd::Flavour;

use crate::directory::{self, BlockEntry, ChunkEntry, KeyRange};
use crate::error::{DuplicateKey, Error, Result};
use crate::key::Keys;
use crate::manifest::{LoadId, LoadRecord};
use crate::store::Store;
use crate::table::{LoadPool, Table};
use crate::uniqueness;

/// Alignment of blocks and directories in a pool.
const BLOCK_ALIGN: u64 = 64;

/// A load that is under way; dropping it leaves nothing behind.
#[derive(Debug)]
pub struct Load {
    store: Store,
    table: Arc<Table>,
    id: LoadId,
    appender: PoolAppender,
    chunks: Mutex<BTreeMap<u64, ChunkEntry>>,
    flavour: Flavour,
}

impl Load {
    pub(crate) fn new(
        store: Store,
        table: Arc<Table>,
        id: LoadId,
        appender: PoolAppender,
    ) -> Result<Self> {
        let header = directory::pool_header(store.database(), table.id(), id);
        appender.append(&header, BLOCK_ALIGN)?;
        let (chunks, flavour) = (Mutex::default(), Flavour::active());
        Ok(Self { store, table, id, appender, chunks, flavour })
    }

    /// Returns the table that is loaded.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Encodes and writes chunk `index` of this load: one buffer per column, equally long.
    ///
    /// # Errors
    /// [`Error::NullViolation`], [`Error::DuplicateKey`] within the chunk, no space, I/O. The load
    /// cannot be committed afterwards without that chunk.
    ///
    /// # Panics
    /// If the buffers do not fit the table's columns or hold no row.
    pub fn append_chunk(&self, index: u64, columns: &[ColumnBuffer]) -> Result<()> {
        let schema = self.table.schema();
        assert_eq!(columns.len(), schema.columns.len(), "columns of table {:?}", schema.name);
        let rows = columns[0].len();
        assert!(rows > 0 && columns.iter().all(|column| column.len() == rows));
        for (definition, column) in schema.columns.iter().zip(columns) {
            if !definition.is_nullable && column.null_count() > 0 {
                return Err(Error::NullViolation {
                    table: schema.name.clone(),
                    column: definition.name.clone(),
                });
            }
        }
        let key_range = self.check_keys(index, columns)?;
        let mut blocks = Vec::with_capacity(columns.len());
        for (definition, column) in schema.columns.iter().zip(columns) {
            let encoded = block::encode(column, self.flavour).map_err(|error| Error::Internal {
                reason: format!("{}.{}, chunk {index}: {error}", schema.name, definition.name),
            })?;
            let offset = self.appender.append(&encoded.bytes, BLOCK_ALIGN)?;
            let bytes = encoded.bytes.len() as u64;
            blocks.push(BlockEntry { offset, bytes, sma: encoded.header.sma });
        }
        let entry = ChunkEntry { rows: rows as u32, key_range, blocks };
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner).insert(index, entry);
        Ok(())
    }

    /// Publishes all chunks at once and returns the number of rows.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`], [`Error::UnknownTable`] if the table was dropped meanwhile, no
    /// space, I/O; then nothing of the load is visible and its file is removed.
    pub fn commit(self) -> Result<u64> {
        let chunks = self.chunks.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some((position, _)) = (0..).zip(chunks.keys()).find(|(want, have)| want != *have) {
            return Err(Error::Internal {
                reason: format!("chunk {position} of a load is missing"),
            });
        }
        let chunks: Vec<ChunkEntry> = chunks.into_values().collect();
        let rows = chunks.iter().map(|chunk| u64::from(chunk.rows)).sum();
        if rows == 0 {
            return Ok(0);
        }
        let directory = directory::encode(&chunks, self.table.schema().columns.len());
        let directory_offset = self.appender.append(&directory, BLOCK_ALIGN)?;
        // PERSIST: blocks and directory are durable when `finish` returns; the manifest record
        // appended by `publish` below makes them reachable.
        let pool_bytes = self.appender.finish()?;
        let record = LoadRecord {
            load: self.id,
            table: self.table.id(),
            domain: self.table.schema().domain.clone(),
            rows,
            chunk_count: chunks.len() as u32,
            pool_bytes,
            directory_offset,
            directory_bytes: directory.len() as u64,
            directory_crc32c: crc32c::crc32c(&directory),
        };
        let domain = self.store.domain(&record.domain);
        let pool = Arc::new(LoadPool::new(record, self.store.database(), domain));
        let published = publish(&self.store, &self.table, &pool);
        // If the record may have been published, the pool must stay: opening decides.
        if published.is_err() && !self.store.is_in_doubt() {
            pool.doom();
        }
        published.map(|()| rows)
    }

    /// Checks the keys within the chunk and returns their range.
    fn check_keys(&self, index: u64, columns: &[ColumnBuffer]) -> Result<Option<KeyRange>> {
        let schema = self.table.schema();
        let Some(key) = &schema.primary_key else {
            return Ok(None);
        };
        let key_columns: Vec<&ColumnBuffer> = key.iter().map(|&column| &columns[column]).collect();
        let keys = Keys::new(&key_columns);
        if let Some(row) = keys.first_duplicate() {
            return Err(duplicate_key(&self.table, &key_columns, index, row));
        }
        let (min, max) = (keys.iter().min(), keys.iter().max());
        Ok(min.zip(max).map(|(min, max)| KeyRange { min: min.to_vec(), max: max.to_vec() }))
    }
}

fn publish(store: &Store, table: &Arc<Table>, pool: &Arc<LoadPool>) -> Result<()> {
    let _commit = table.commit_lock.lock().unwrap_or_else(PoisonError::into_inner);
    uniqueness::check(table, pool)?;
    store.publish_load(table, pool)
}

/// Builds the error for a repeated key in `row` of chunk `chunk` of a load.
pub(crate) fn duplicate_key(
    table: &Table,
    key_columns: &[&ColumnBuffer],
    chunk: u64,
    row: usize,
) -> Error {
    let schema = table.schema();
    let key = schema.primary_key.as_deref().unwrap_or_default();
    let names: Vec<&str> = key.iter().map(|&index| schema.columns[index].name.as_str()).collect();
    let values: Vec<String> = key_columns.iter().map(|column| value_text(column, row)).collect();
    Error::DuplicateKey(Box::new(DuplicateKey {
        table: schema.name.clone(),
        constraint: schema.primary_key_name.clone(),
        columns: names.join(", "),
        key: values.join(", "),
        chunk,
        row: row as u32,
    }))
}

fn value_text(column: &ColumnBuffer, row: usize) -> String {
    let mut bytes = Vec::new();
    text::write_value(column, row, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
