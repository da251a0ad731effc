//! Tables, their chunks, and the way from a chunk to the bytes of a block.
//!
//! A [`Table`] changes only by gaining loads; a [`TableSnapshot`] is the list of loads at one
//! moment and stays readable for as long as somebody holds it, also past `DROP TABLE`.
//!
//! # Invariants
//! 1. A pool is mapped, and its directory read, when its first chunk is asked for: opening a
//!    database costs nothing per block and nothing per mapped byte.
//! 2. A block is handed out only after its checksum was verified since the pool was mapped.
//!    Verification happens on first use, because verifying all blocks at open would make restart
//!    time grow with the data. Blocks are immutable, so once is enough until the scrubber exists.
//! 3. What was read from a block counts only if [`Chunk::check`] finds afterwards that no page of
//!    it was lost meanwhile ([`nacre_pmem::fault`]). A pool that lost pages, or whose file another
//!    program changed, is mapped afresh when its chunks are next asked for; its blocks are verified
//!    again then, so a repaired file is used again.
//! 4. The file of a dropped table goes when the last snapshot that names it goes.
//! # Concurrency
//! Everything here may be used from any thread. Two threads that meet at an unverified block may
//! both verify it; one result is kept.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use nacre_column::block::ALIGNMENT;
use nacre_column::{Block, BlockError, ColumnType, Sma};
use nacre_pmem::{Access, Domain, Pool, PoolSlice};

use crate::directory::{self, BlockEntry, ChunkEntry, KeyRange, POOL_HEADER_BYTES};
use crate::error::{Error, Result};
use crate::manifest::{DatabaseId, LoadId, LoadRecord, TableId};
use crate::schema::TableSchema;

/// A verified block that keeps its pool mapped.
#[derive(Clone, Debug)]
pub struct BlockHandle {
    bytes: PoolSlice,
    column_type: ColumnType,
}

impl BlockHandle {
    /// Opens the block, in constant time.
    ///
    /// # Errors
    /// None that the verification would have let pass, unless the bytes changed since.
    pub fn block(&self) -> std::result::Result<Block<'_>, BlockError> {
        Block::open(&self.bytes, self.column_type)
    }

    /// Returns the block's bytes, for arrays that share them.
    pub fn bytes(&self) -> &PoolSlice {
        &self.bytes
    }
}

/// A table of an open database.
#[derive(Debug)]
pub struct Table {
    id: TableId,
    schema: TableSchema,
    loads: RwLock<Arc<Vec<Arc<LoadPool>>>>,
    is_dropped: AtomicBool,
    /// Held from the check of a load's keys to its publication.
    pub(crate) commit_lock: Mutex<()>,
}

impl Table {
    pub(crate) fn new(id: TableId, schema: TableSchema) -> Self {
        Self {
            id,
            schema,
            loads: RwLock::default(),
            is_dropped: AtomicBool::new(false),
            commit_lock: Mutex::new(()),
        }
    }

    /// Returns the table's id.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// Returns the table's definition.
    pub fn schema(&self) -> &TableSchema {
        &self.schema
    }

    /// Returns the loads published so far.
    pub fn snapshot(self: &Arc<Self>) -> TableSnapshot {
        let loads = Arc::clone(&self.loads.read().unwrap_or_else(PoisonError::into_inner));
        TableSnapshot { table: Arc::clone(self), loads }
    }

    pub(crate) fn add_load(&self, load: Arc<LoadPool>) {
        let mut loads = self.loads.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut loads).push(load);
    }

    pub(crate) fn is_dropped(&self) -> bool {
        // ORDERING: pairs with the release store in `drop_loads`; commits of loads also hold
        // the manifest's mutex, which orders them against drops.
        self.is_dropped.load(Ordering::Acquire)
    }

    /// Marks the table and its pools for removal.
    pub(crate) fn drop_loads(&self) {
        // ORDERING: pairs with the acquire load in `is_dropped`.
        self.is_dropped.store(true, Ordering::Release);
        let mut loads = self.loads.write().unwrap_or_else(PoisonError::into_inner);
        for load in std::mem::take(&mut *loads).iter() {
            // ORDERING: read in `LoadPool::drop`, after the last reference has gone.
            load.is_doomed.store(true, Ordering::Release);
        }
    }
}

/// The loads of a table at one moment.
#[derive(Clone, Debug)]
pub struct TableSnapshot {
    table: Arc<Table>,
    loads: Arc<Vec<Arc<LoadPool>>>,
}

impl TableSnapshot {
    /// Returns the table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Returns the number of rows; touches no pool.
    pub fn rows(&self) -> u64 {
        self.loads.iter().map(|load| load.record.rows).sum()
    }

    /// Tells whether the domains of all pools are open.
    pub fn is_reachable(&self) -> bool {
        self.loads.iter().all(|load| load.domain.is_some())
    }

    /// Returns the number of chunks; touches no pool.
    pub fn chunk_count(&self) -> u64 {
        self.loads.iter().map(|load| u64::from(load.record.chunk_count)).sum()
    }

    /// Returns the bytes of all pools; touches none.
    pub fn pool_bytes(&self) -> u64 {
        self.loads.iter().map(|load| load.record.pool_bytes).sum()
    }

    /// Returns all chunks in row order; maps the pools that are not mapped yet.
    ///
    /// # Errors
    /// [`Error::LoadDamaged`] or [`Error::Pmem`] if a pool or its directory cannot be read.
    pub fn chunks(&self) -> Result<Vec<Chunk>> {
        let mut chunks = Vec::with_capacity(self.chunk_count() as usize);
        for load in self.loads.iter() {
            let open = load.open(&self.table)?;
            for index in 0..open.chunks.len() {
                let number = chunks.len() as u64;
                let (table, load) = (Arc::clone(&self.table), Arc::clone(&open));
                chunks.push(Chunk { table, load, index, number });
            }
        }
        Ok(chunks)
    }
}

/// The pool that one load wrote.
#[derive(Debug)]
pub(crate) struct LoadPool {
    record: LoadRecord,
    database: DatabaseId,
    /// `None` if the domain could not be opened.
    domain: Option<Domain>,
    open: Mutex<Option<Arc<OpenLoad>>>,
    is_doomed: AtomicBool,
}

impl LoadPool {
    pub(crate) fn new(record: LoadRecord, database: DatabaseId, domain: Option<Domain>) -> Self {
        let is_doomed = AtomicBool::new(false);
        Self { record, database, domain, open: Mutex::new(None), is_doomed }
    }

    /// Returns the name of the pool of `record`.
    pub(crate) fn file_name(load: LoadId) -> String {
        format!("load-{:016x}.pool", load.0)
    }

    /// Tells whether `name` is that of a load's pool.
    pub(crate) fn is_file_name(name: &str) -> bool {
        name.strip_prefix("load-")
            .and_then(|rest| rest.strip_suffix(".pool"))
            .is_some_and(|id| id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
    }

    pub(crate) fn record(&self) -> &LoadRecord {
        &self.record
    }

    /// Has the file removed when the last reference goes.
    pub(crate) fn doom(&self) {
        // ORDERING: read in `drop`, after the last reference has gone.
        self.is_doomed.store(true, Ordering::Release);
    }

    /// Maps the pool and reads its directory, once, and again if it lost pages.
    pub(crate) fn open(&self, table: &Arc<Table>) -> Result<Arc<OpenLoad>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let load = match &*open {
            Some(load) if load.pool.check_unchanged().is_ok() => return Ok(Arc::clone(load)),
            // What is not lost can still be read if the file was not repaired.
            Some(load) => match self.map(table) {
                Ok(load) => Arc::new(load),
                Err(_) => return Ok(Arc::clone(load)),
            },
            None => Arc::new(self.map(table)?),
        };
        *open = Some(Arc::clone(&load));
        Ok(load)
    }

    fn map(&self, table: &Table) -> Result<OpenLoad> {
        let record = &self.record;
        let file_name = Self::file_name(record.load);
        let domain = self.domain.as_ref().ok_or_else(|| Error::UnknownDomain {
            domain: record.domain.clone(),
            table: table.schema.name.clone(),
        })?;
        let damaged = |reason: String| Error::LoadDamaged {
            object: format!("pool {file_name} of table \"{}\"", table.schema.name),
            reason,
        };
        let pool = match domain.open_pool(&file_name, Access::ReadOnly) {
            Err(error) if error.kind() == nacre_pmem::ErrorKind::NotFound => {
                return Err(damaged(error.to_string()));
            }
            opened => opened?,
        };
        if pool.bytes() < record.pool_bytes {
            return Err(damaged(format!(
                "it has {} bytes, {} were written",
                pool.bytes(),
                record.pool_bytes
            )));
        }
        let path = domain.path().map(|path| path.join(&file_name));
        let decoded = self.read_directory(&pool, table.schema.columns.len());
        pool.check().map_err(|source| Error::Lost {
            object: format!("directory of table \"{}\"", table.schema.name),
            source,
        })?;
        let chunks = decoded?.map_err(damaged)?;
        let columns = table.schema.columns.len();
        let blocks = (0..chunks.len() * columns).map(|_| OnceLock::new()).collect();
        Ok(OpenLoad { pool: Arc::new(pool), path, chunks, columns, blocks })
    }

    /// Returns the chunks of the load, or what is wrong with its pool.
    fn read_directory(
        &self,
        pool: &Pool,
        columns: usize,
    ) -> Result<std::result::Result<Vec<ChunkEntry>, String>> {
        let record = &self.record;
        let header = pool.read(0, POOL_HEADER_BYTES as u64)?;
        let header = directory::check_pool_header(header, self.database, record.table, record.load);
        if let Err(reason) = header {
            return Ok(Err(reason));
        }
        let bytes = pool.read(record.directory_offset, record.directory_bytes)?;
        let computed = crc32c::crc32c(bytes);
        if computed != record.directory_crc32c {
            return Ok(Err(format!(
                "directory: checksum {computed:#010x} does not match {:#010x}",
                record.directory_crc32c
            )));
        }
        let chunks = directory::decode(bytes, record.chunk_count, columns, record.directory_offset);
        Ok(chunks.map_err(|reason| format!("directory: {reason}")))
    }
}

impl Drop for LoadPool {
    fn drop(&mut self) {
        // ORDERING: pairs with the release stores in `doom` and `Table::drop_loads`.
        if self.is_doomed.load(Ordering::Acquire)
            && let Some(domain) = &self.domain
        {
            // A file that stays is removed when the database is next opened for writing.
            let _ = domain.remove_pool(&Self::file_name(self.record.load));
        }
    }
}

/// A mapped pool with its directory.
#[derive(Debug)]
pub(crate) struct OpenLoad {
    pool: Arc<Pool>,
    path: Option<PathBuf>,
    pub(crate) chunks: Vec<ChunkEntry>,
    columns: usize,
    /// Verified blocks, at `chunk * columns + column`.
    blocks: Vec<OnceLock<BlockHandle>>,
}

/// Where a block lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockLocation {
    /// The pool's file; `None` in DRAM.
    pub pool_path: Option<PathBuf>,
    pub offset: u64,
    pub bytes: u64,
}

/// Up to 65,536 consecutive rows of a table.
#[derive(Clone, Debug)]
pub struct Chunk {
    table: Arc<Table>,
    load: Arc<OpenLoad>,
    index: usize,
    number: u64,
}

impl Chunk {
    /// Makes a chunk of a load that is not published yet; `number` counts within the load.
    pub(crate) fn of_load(table: &Arc<Table>, load: &Arc<OpenLoad>, index: usize) -> Self {
        let (table, load) = (Arc::clone(table), Arc::clone(load));
        Self { table, load, index, number: index as u64 }
    }

    /// Returns the chunk's number in its table, from 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of rows, 1 to 65,536.
    pub fn rows(&self) -> usize {
        self.entry().rows as usize
    }

    /// Returns the type of `column`.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn column_type(&self, column: usize) -> ColumnType {
        self.table.schema.columns[column].column_type
    }

    /// Returns the aggregates of `column`; touches no block.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn sma(&self, column: usize) -> &Sma {
        &self.block_entry(column).sma
    }

    /// Returns where the block of `column` lies.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn location(&self, column: usize) -> BlockLocation {
        let BlockEntry { offset, bytes, .. } = *self.block_entry(column);
        BlockLocation { pool_path: self.load.path.clone(), offset, bytes }
    }

    /// Returns the verified block of `column`.
    ///
    /// # Errors
    /// [`Error::Damaged`] naming table, column and chunk if the block's checksum or structure is
    /// wrong, [`Error::Lost`] if a page of it is gone; other blocks are not affected.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn block(&self, column: usize) -> Result<BlockHandle> {
        let slot = &self.load.blocks[self.index * self.load.columns + column];
        if let Some(block) = slot.get() {
            self.check(column)?;
            return Ok(block.clone());
        }
        let verified = self.verify(column);
        // A checksum over lost bytes says nothing about those on media.
        self.check(column)?;
        let block = verified?;
        Ok(slot.get_or_init(|| block).clone())
    }

    /// Whether the pool of this chunk lost a page so far; one load. What was read from the chunk
    /// before this call is what was stored if the answer is `false`.
    #[inline]
    pub fn is_faulted(&self) -> bool {
        self.load.pool.is_faulted()
    }

    /// Returns an error if a page of the chunk's pool was lost or its file was changed, also where
    /// no signal tells ([`Pool::check_unchanged`]). [`Chunk::check`] then tells which columns it
    /// concerns.
    ///
    /// # Errors
    /// [`Error::Pmem`].
    pub fn check_pool(&self) -> Result<()> {
        Ok(self.load.pool.check_unchanged()?)
    }

    /// Whether both chunks lie in the same mapping of a pool.
    pub fn shares_pool(&self, other: &Chunk) -> bool {
        Arc::ptr_eq(&self.load, &other.load)
    }

    /// Returns an error if a page of the block of `column` was lost: what was read from the block
    /// before this call must be dropped then.
    ///
    /// # Errors
    /// [`Error::Lost`] naming table, column, chunk, pool and offset.
    ///
    /// # Panics
    /// If the table has no such column.
    #[inline]
    pub fn check(&self, column: usize) -> Result<()> {
        match self.is_faulted() {
            true => self.check_lost(column),
            false => Ok(()),
        }
    }

    #[cold]
    fn check_lost(&self, column: usize) -> Result<()> {
        let BlockEntry { offset, bytes, .. } = *self.block_entry(column);
        let checked = self.load.pool.check_range(offset, bytes);
        checked.map_err(|source| Error::Lost { object: self.object(column), source })
    }

    /// Makes the error for a block of `column` that turned out to be unreadable.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn damaged(&self, column: usize, error: &BlockError) -> Error {
        self.damage(column, error.to_string())
    }

    /// As [`Chunk::damaged`], for what the reader of the block found out itself.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn damage(&self, column: usize, reason: String) -> Error {
        Error::Damaged { object: self.object(column), reason }
    }

    /// Returns how messages name the block of `column`.
    fn object(&self, column: usize) -> String {
        let schema = &self.table.schema;
        format!(
            "table \"{}\", column \"{}\", chunk {}",
            schema.name, schema.columns[column].name, self.number
        )
    }

    pub(crate) fn key_range(&self) -> Option<&KeyRange> {
        self.entry().key_range.as_ref()
    }

    fn verify(&self, column: usize) -> Result<BlockHandle> {
        let entry = self.block_entry(column);
        if !entry.offset.is_multiple_of(ALIGNMENT as u64) {
            return Err(self.damage(column, format!("its offset {} is not aligned", entry.offset)));
        }
        let handle = BlockHandle {
            bytes: self.load.pool.whole(entry.offset, entry.bytes)?,
            column_type: self.table.schema.columns[column].column_type,
        };
        let block = handle.block().map_err(|error| self.damaged(column, &error))?;
        block.verify().map_err(|error| self.damaged(column, &error))?;
        if block.rows() != self.rows() {
            let reason = format!("the block has {} rows, its chunk {}", block.rows(), self.rows());
            return Err(self.damage(column, reason));
        }
        Ok(handle)
    }

    fn entry(&self) -> &ChunkEntry {
        &self.load.chunks[self.index]
    }

    fn block_entry(&self, column: usize) -> &BlockEntry {
        &self.entry().blocks[column]
    }
}
