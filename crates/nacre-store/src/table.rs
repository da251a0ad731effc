//! Tables and the loads they consist of.
//!
//! A [`Table`] changes by gaining loads, and its replica policies can be set; a [`TableSnapshot`]
//! is the list of loads at one moment and stays readable for as long as somebody holds it, also
//! past `DROP TABLE`.
//!
//! # Concurrency
//! Everything here may be used from any thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use nacre_column::REPLICAS_MAX;
use nacre_column::{ColumnType, ReplicaPolicy};

use crate::chunk::Chunk;
use crate::error::Result;
use crate::manifest::TableId;
use crate::schema::TableSchema;
use crate::stored_load::StoredLoad;
use crate::waker::Waker;

/// What messages call a table and its columns.
#[derive(Debug)]
pub(crate) struct TableNames {
    pub(crate) table: String,
    pub(crate) columns: Vec<String>,
}

impl TableNames {
    pub(crate) fn of(schema: &TableSchema) -> Self {
        let columns = schema.columns.iter().map(|column| column.name.clone()).collect();
        Self { table: schema.name.clone(), columns }
    }

    /// Returns how messages name a block.
    pub(crate) fn object(&self, column: usize, chunk: u64) -> String {
        let column = self.columns.get(column).map_or("?", String::as_str);
        format!("table \"{}\", column \"{column}\", chunk {chunk}", self.table)
    }
}

/// A table of an open database.
#[derive(Debug)]
pub struct Table {
    id: TableId,
    names: Arc<TableNames>,
    column_types: Vec<ColumnType>,
    /// Replaced when a policy is set.
    schema: RwLock<Arc<TableSchema>>,
    loads: RwLock<Arc<Vec<Arc<StoredLoad>>>>,
    /// Blocks handed out, at `column * REPLICAS_MAX + replica`.
    reads: Vec<AtomicU64>,
    is_dropped: AtomicBool,
    waker: Arc<Waker>,
    /// Held from the check of a load's keys to its publication.
    pub(crate) commit_lock: Mutex<()>,
}

impl Table {
    pub(crate) fn new(id: TableId, schema: TableSchema, waker: &Arc<Waker>) -> Self {
        let counters = schema.columns.len() * REPLICAS_MAX;
        Self {
            id,
            names: Arc::new(TableNames::of(&schema)),
            column_types: schema.columns.iter().map(|column| column.column_type).collect(),
            schema: RwLock::new(Arc::new(schema)),
            loads: RwLock::default(),
            reads: (0..counters).map(|_| AtomicU64::new(0)).collect(),
            is_dropped: AtomicBool::new(false),
            waker: Arc::clone(waker),
            commit_lock: Mutex::new(()),
        }
    }

    /// Returns the table's id.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// Returns the table's definition as it is now.
    pub fn schema(&self) -> Arc<TableSchema> {
        Arc::clone(&self.schema.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the type of `column`.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn column_type(&self, column: usize) -> ColumnType {
        self.column_types[column]
    }

    /// Returns the loads published so far.
    pub fn snapshot(self: &Arc<Self>) -> TableSnapshot {
        TableSnapshot { table: Arc::clone(self), loads: self.loads() }
    }

    pub(crate) fn loads(&self) -> Arc<Vec<Arc<StoredLoad>>> {
        Arc::clone(&self.loads.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn names(&self) -> &Arc<TableNames> {
        &self.names
    }

    pub(crate) fn add_load(&self, load: Arc<StoredLoad>) {
        let mut loads = self.loads.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut loads).push(load);
    }

    /// Changes the policy of a column, or that of the table; all loads are compared with it.
    pub(crate) fn change_policy(&self, column: Option<usize>, policy: Option<ReplicaPolicy>) {
        let mut schema = self.schema.write().unwrap_or_else(PoisonError::into_inner);
        let changed = Arc::make_mut(&mut schema);
        match column {
            Some(column) => changed.columns[column].replicas = policy,
            None => changed.replicas = policy,
        }
        drop(schema);
        for load in self.loads().iter() {
            load.set_needs_care(true);
        }
    }

    /// Counts a block that is handed out.
    #[inline]
    pub(crate) fn count_read(&self, column: usize, replica: u8) {
        // ORDERING: a count; nothing depends on its order.
        self.reads[column * REPLICAS_MAX + usize::from(replica)].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many blocks of a replica were handed out.
    pub(crate) fn reads(&self, column: usize, replica: u8) -> u64 {
        // ORDERING: as in `count_read`.
        self.reads[column * REPLICAS_MAX + usize::from(replica)].load(Ordering::Relaxed)
    }

    /// Tells whoever keeps the database up that there is work.
    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    pub(crate) fn is_dropped(&self) -> bool {
        // ORDERING: pairs with the release store in `drop_loads`; commits of loads also hold
        // the manifest's mutex, which orders them against drops.
        self.is_dropped.load(Ordering::Acquire)
    }

    /// Marks the table and its files for removal.
    pub(crate) fn drop_loads(&self) {
        // ORDERING: pairs with the acquire load in `is_dropped`.
        self.is_dropped.store(true, Ordering::Release);
        let mut loads = self.loads.write().unwrap_or_else(PoisonError::into_inner);
        let gone = std::mem::take(&mut *loads);
        // Files are removed without the lock.
        drop(loads);
        gone.iter().for_each(|load| load.doom());
    }
}

/// The loads of a table at one moment.
#[derive(Clone, Debug)]
pub struct TableSnapshot {
    table: Arc<Table>,
    loads: Arc<Vec<Arc<StoredLoad>>>,
}

impl TableSnapshot {
    /// Returns the table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Returns the number of rows; touches no pool.
    pub fn rows(&self) -> u64 {
        self.loads.iter().map(|load| load.rows()).sum()
    }

    /// Tells whether for every load the domain of at least one part is there.
    pub fn is_reachable(&self) -> bool {
        self.loads.iter().all(|load| load.is_reachable())
    }

    /// Returns the number of chunks; touches no pool.
    pub fn chunk_count(&self) -> u64 {
        self.loads.iter().map(|load| u64::from(load.chunk_count())).sum()
    }

    /// Returns the bytes of all replicas; touches no pool.
    pub fn pool_bytes(&self) -> u64 {
        self.loads.iter().map(|load| load.pool_bytes()).sum()
    }

    /// Returns all chunks in row order; maps the pools that are not mapped yet.
    ///
    /// # Errors
    /// [`crate::Error::LoadDamaged`] if no part of a load tells what its chunks are.
    pub fn chunks(&self) -> Result<Vec<Chunk>> {
        let mut chunks = Vec::with_capacity(self.chunk_count() as usize);
        for load in self.loads.iter() {
            let open = load.open()?;
            for index in 0..open.chunks.len() {
                let number = chunks.len() as u64;
                chunks.push(Chunk::new(&self.table, load, &open, index, number));
            }
        }
        Ok(chunks)
    }
}
