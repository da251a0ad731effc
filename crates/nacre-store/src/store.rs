//! An open database: its domains, its manifest and its tables.
//!
//! # Invariants
//! 1. What the manifest says exists, exists; pools it does not name are removed when the database
//!    is opened for writing (they are left over from a load that was cut off).
//! 2. A directory is open for writing in one process, or for reading in any number.
//! # Durability
//! `create_table`, `drop_table` and [`crate::Load::commit`] are durable when they return, as far
//! as the domains' kinds go.
//! # Concurrency
//! All calls may come from any thread. Lock order: a table's commit lock, the manifest, the
//! table map.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use nacre_pmem::{DirectoryLock, Domain};

use crate::error::{Error, Result};
use crate::load::Load;
use crate::manifest::{DatabaseId, LoadId, Manifest, Record, TableId};
use crate::opening::Opening;
use crate::schema::TableSchema;
use crate::table::{LoadPool, Table};

/// Name of the domain that is the database directory itself.
pub const MAIN_DOMAIN: &str = "main";

/// What to open and how.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The database directory, created if absent; `None` is a volatile database in DRAM.
    pub directory: Option<PathBuf>,
    /// Further memory domains by name. They are remembered; naming one again moves it.
    pub domains: Vec<(String, PathBuf)>,
    /// Refuse every change.
    pub is_read_only: bool,
}

/// An open database; clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    database: DatabaseId,
    is_read_only: bool,
    domains: BTreeMap<String, Domain>,
    notes: Vec<String>,
    manifest: Mutex<ManifestState>,
    tables: RwLock<BTreeMap<String, Arc<Table>>>,
    /// Dropped last, when all pools are closed.
    _lock: Option<DirectoryLock>,
}

#[derive(Debug)]
struct ManifestState {
    manifest: Manifest,
    next_table: u64,
    next_load: u64,
}

impl Store {
    /// Opens a database, creating it if the directory is absent or empty.
    ///
    /// # Errors
    /// The directory is in use, not a database, not permitted, or damaged beyond its replicas.
    pub fn open(options: OpenOptions) -> Result<Self> {
        let mut opening = Opening::begin(&options)?;
        let manifest = opening.open_manifest()?;
        let database = manifest.database();
        let tables = opening.finish(database)?;
        let (next_table, next_load) = opening.next_ids();
        let shared = Shared {
            database,
            is_read_only: options.is_read_only,
            domains: opening.domains,
            notes: opening.notes,
            manifest: Mutex::new(ManifestState { manifest, next_table, next_load }),
            tables: RwLock::new(tables),
            _lock: opening.lock,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Returns what opening repaired or found missing, and which replicas of the manifest failed
    /// since, for the user to read.
    pub fn notes(&self) -> Vec<String> {
        [&self.shared.notes, self.manifest().manifest.notes()].concat()
    }

    /// Returns the id that all pools of this database carry.
    pub fn database(&self) -> DatabaseId {
        self.shared.database
    }

    /// Tells whether the database refuses changes.
    pub fn is_read_only(&self) -> bool {
        self.shared.is_read_only
    }

    /// Returns the open memory domains, `main` first.
    pub fn domains(&self) -> Vec<Domain> {
        let (main, others): (Vec<_>, Vec<_>) =
            self.shared.domains.values().cloned().partition(|domain| domain.name() == MAIN_DOMAIN);
        main.into_iter().chain(others).collect()
    }

    /// Returns the open domain called `name`.
    pub fn domain(&self, name: &str) -> Option<Domain> {
        self.shared.domains.get(name).cloned()
    }

    /// Returns all tables in name order.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        let tables = self.shared.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.values().cloned().collect()
    }

    /// Returns the table called `name`.
    ///
    /// # Errors
    /// [`Error::UnknownTable`].
    pub fn table(&self, name: &str) -> Result<Arc<Table>> {
        let tables = self.shared.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.get(name).cloned().ok_or_else(|| Error::UnknownTable { table: name.into() })
    }

    /// Creates a table.
    ///
    /// # Errors
    /// [`Error::TableExists`], [`Error::InvalidDefinition`], [`Error::UnknownDomain`],
    /// [`Error::ReadOnly`], no space, I/O.
    pub fn create_table(&self, schema: TableSchema) -> Result<Arc<Table>> {
        self.require_writable()?;
        schema.validate().map_err(|reason| Error::InvalidDefinition { reason })?;
        if !self.shared.domains.contains_key(&schema.domain) {
            return Err(Error::UnknownDomain { domain: schema.domain, table: schema.name });
        }
        let mut state = self.manifest();
        if let Ok(table) = self.table(&schema.name) {
            return Err(Error::TableExists { table: table.schema().name.clone() });
        }
        let id = TableId(state.next_table);
        state.manifest.append(&Record::TableCreated { table: id, schema: schema.clone() })?;
        state.next_table += 1;
        let table = Arc::new(Table::new(id, schema));
        let mut tables = self.shared.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.insert(table.schema().name.clone(), Arc::clone(&table));
        Ok(table)
    }

    /// Drops the table called `name` and, once nobody reads them any more, its pools.
    ///
    /// # Errors
    /// [`Error::UnknownTable`], [`Error::ReadOnly`], I/O.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.require_writable()?;
        let mut state = self.manifest();
        let table = self.table(name)?;
        state.manifest.append(&Record::TableDropped { table: table.id() })?;
        self.shared.tables.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        table.drop_loads();
        Ok(())
    }

    /// Begins a bulk load into `table`.
    ///
    /// # Errors
    /// [`Error::ReadOnly`], [`Error::UnknownDomain`], no space, I/O.
    pub fn begin_load(&self, table: &Arc<Table>) -> Result<Load> {
        self.require_writable()?;
        let schema = table.schema();
        let domain = self.domain(&schema.domain).ok_or_else(|| Error::UnknownDomain {
            domain: schema.domain.clone(),
            table: schema.name.clone(),
        })?;
        let id = {
            let mut state = self.manifest();
            let id = LoadId(state.next_load);
            state.next_load += 1;
            id
        };
        let appender = domain.append_pool(&LoadPool::file_name(id))?;
        Load::new(self.clone(), Arc::clone(table), id, appender)
    }

    /// Publishes a durable load. The caller holds the table's commit lock.
    pub(crate) fn publish_load(&self, table: &Arc<Table>, load: &Arc<LoadPool>) -> Result<()> {
        let mut state = self.manifest();
        if table.is_dropped() {
            return Err(Error::UnknownTable { table: table.schema().name.clone() });
        }
        state.manifest.append(&Record::Load(load.record().clone()))?;
        table.add_load(Arc::clone(load));
        Ok(())
    }

    /// Tells whether the last change may or may not be there after a restart.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.manifest().manifest.is_in_doubt()
    }

    /// Has `fault` called before the next records are published.
    #[cfg(test)]
    pub(crate) fn inject_before_publish(&self, fault: crate::manifest::Injection) {
        self.manifest().manifest.before_publish = Some(fault);
    }

    fn manifest(&self) -> std::sync::MutexGuard<'_, ManifestState> {
        self.shared.manifest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn require_writable(&self) -> Result<()> {
        if self.shared.is_read_only { Err(Error::ReadOnly) } else { Ok(()) }
    }
}
