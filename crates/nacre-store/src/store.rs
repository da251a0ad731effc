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

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{SystemTime, UNIX_EPOCH};

use nacre_pmem::{Access, DirectoryLock, Domain};

use crate::error::{Error, Result};
use crate::load::Load;
use crate::manifest::{
    DatabaseId, LoadId, Manifest, Opened, Place, Record, TableId, replica_in_progress,
};
use crate::schema::{TableSchema, check_name};
use crate::table::{LoadPool, Table};

/// Name of the domain that is the database directory itself.
pub const MAIN_DOMAIN: &str = "main";

/// File names of the two manifest replicas in the database directory.
const MANIFEST_FILES: [&str; 2] = ["manifest.0", "manifest.1"];

/// File name of the manifest replica in each further domain.
const MANIFEST_FILE_ELSEWHERE: &str = "manifest.2";

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

/// What the manifest's records add up to.
#[derive(Debug, Default)]
struct Replayed {
    domains: BTreeMap<String, PathBuf>,
    tables: BTreeMap<TableId, TableSchema>,
    loads: Vec<crate::manifest::LoadRecord>,
    next_table: u64,
    next_load: u64,
}

impl Store {
    /// Opens a database, creating it if the directory is absent or empty.
    ///
    /// # Errors
    /// The directory is in use, not a database, not permitted, or damaged beyond its replicas.
    pub fn open(options: OpenOptions) -> Result<Self> {
        for (name, _) in &options.domains {
            check_name("domain", name).map_err(|reason| Error::InvalidDefinition { reason })?;
            if name == MAIN_DOMAIN {
                let reason = format!("domain name \"{MAIN_DOMAIN}\" is the directory itself");
                return Err(Error::InvalidDefinition { reason });
            }
        }
        if options.directory.is_none() && (options.is_read_only || !options.domains.is_empty()) {
            let reason = "a volatile database is neither read-only nor in further domains".into();
            return Err(Error::InvalidDefinition { reason });
        }
        let access = if options.is_read_only { Access::ReadOnly } else { Access::ReadWrite };
        let (main, lock) = open_main(options.directory.as_deref(), access)?;
        let places = MANIFEST_FILES
            .map(|file_name| Place { domain: main.clone(), file_name: file_name.into() });
        let mut exists = false;
        for place in &places {
            exists |= place.domain.exists(&place.file_name)?;
        }
        let Opened { manifest, records, notes } = if exists {
            Manifest::open(&places, access)?
        } else {
            if options.is_read_only {
                let path = options.directory.unwrap_or_default();
                let reason = "it holds no manifest".into();
                return Err(Error::NotADatabase { path, reason });
            }
            let manifest = Manifest::create(new_database_id()?, now_micros(), &places)?;
            Opened { manifest, records: Vec::new(), notes: Vec::new() }
        };
        let mut opening = Opening { main, manifest, notes, access, domains: BTreeMap::new() };
        let replayed = replay(&records)?;
        opening.open_domains(&replayed.domains, &options.domains)?;
        opening.finish(replayed, lock)
    }

    /// Returns what opening repaired or found missing, for the user to read.
    pub fn notes(&self) -> &[String] {
        &self.shared.notes
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

    fn manifest(&self) -> std::sync::MutexGuard<'_, ManifestState> {
        self.shared.manifest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn require_writable(&self) -> Result<()> {
        if self.shared.is_read_only { Err(Error::ReadOnly) } else { Ok(()) }
    }
}

/// A database between finding its manifest and being open.
struct Opening {
    main: Domain,
    manifest: Manifest,
    notes: Vec<String>,
    access: Access,
    domains: BTreeMap<String, Domain>,
}

impl Opening {
    /// Opens the remembered domains and those the user named, and remembers the latter.
    fn open_domains(
        &mut self,
        known: &BTreeMap<String, PathBuf>,
        named: &[(String, PathBuf)],
    ) -> Result<()> {
        self.domains.insert(MAIN_DOMAIN.into(), self.main.clone());
        let mut wanted = known.clone();
        wanted.extend(named.iter().cloned());
        for (name, path) in &wanted {
            // Databases may share a domain's path, so each has its own directory in it.
            let directory = path.join(format!("nacre-{}", self.manifest.database()));
            let is_remembered = known.get(name) == Some(path);
            let opened = match self.access {
                // A domain that moves must be there: a wrong path would get an empty directory.
                Access::ReadWrite if !known.contains_key(name) => Domain::create(name, &directory),
                access => Domain::open(name, &directory, access),
            };
            let domain = match opened {
                Ok(domain) => domain,
                Err(error) if is_remembered => {
                    self.notes.push(format!("memory domain \"{name}\" is missing: {error}"));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if self.access == Access::ReadWrite {
                if !is_remembered {
                    let path = path.to_string_lossy().into_owned();
                    self.manifest.append(&Record::Domain { name: name.clone(), path })?;
                }
                self.manifest.add_replica(Place {
                    domain: domain.clone(),
                    file_name: MANIFEST_FILE_ELSEWHERE.into(),
                })?;
            }
            self.domains.insert(name.clone(), domain);
        }
        Ok(())
    }

    fn finish(self, replayed: Replayed, lock: Option<DirectoryLock>) -> Result<Store> {
        let database = self.manifest.database();
        let mut tables: BTreeMap<TableId, Arc<Table>> = replayed
            .tables
            .into_iter()
            .map(|(id, schema)| (id, Arc::new(Table::new(id, schema))))
            .collect();
        let mut live = BTreeSet::new();
        for record in replayed.loads {
            if let Some(table) = tables.get(&record.table) {
                live.insert(LoadPool::file_name(record.load));
                let domain = self.domains.get(&record.domain).cloned();
                table.add_load(Arc::new(LoadPool::new(record, database, domain)));
            }
        }
        if self.access == Access::ReadWrite {
            for domain in self.domains.values() {
                remove_leftovers(domain, &live)?;
            }
        }
        let tables = std::mem::take(&mut tables)
            .into_values()
            .map(|table| (table.schema().name.clone(), table))
            .collect();
        let manifest = ManifestState {
            manifest: self.manifest,
            next_table: replayed.next_table,
            next_load: replayed.next_load,
        };
        let shared = Shared {
            database,
            is_read_only: self.access == Access::ReadOnly,
            domains: self.domains,
            notes: self.notes,
            manifest: Mutex::new(manifest),
            tables: RwLock::new(tables),
            _lock: lock,
        };
        Ok(Store { shared: Arc::new(shared) })
    }
}

/// Opens or creates the main domain and locks its directory.
fn open_main(directory: Option<&Path>, access: Access) -> Result<(Domain, Option<DirectoryLock>)> {
    let Some(path) = directory else {
        return Ok((Domain::dram(MAIN_DOMAIN), None));
    };
    refuse_foreign(path)?;
    if access == Access::ReadOnly {
        let lock = DirectoryLock::shared(path)?;
        return Ok((Domain::open(MAIN_DOMAIN, path, access)?, Some(lock)));
    }
    let domain = Domain::create(MAIN_DOMAIN, path)?;
    let lock = DirectoryLock::exclusive(path)?;
    Ok((domain, Some(lock)))
}

/// Refuses a path that is neither a database nor empty nor absent, before anything touches it.
fn refuse_foreign(path: &Path) -> Result<()> {
    let refuse = |reason: String| Err(Error::NotADatabase { path: path.to_path_buf(), reason });
    if path.is_file() {
        return refuse("it is a file, a database is a directory".into());
    }
    // A directory that cannot be listed is reported by opening it.
    let Ok(entries) = std::fs::read_dir(path) else {
        return Ok(());
    };
    let names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    if names.iter().any(|name| MANIFEST_FILES.contains(&name.as_str())) {
        return Ok(());
    }
    let is_ours = |name: &str| MANIFEST_FILES.iter().any(|file| name == replica_in_progress(file));
    match names.iter().find(|name| !is_ours(name)) {
        None => Ok(()),
        Some(name) => refuse(format!(
            "it holds no manifest, but {name:?}; name a new or an empty directory to create one"
        )),
    }
}

/// Removes pools of loads that were cut off before they were published.
fn remove_leftovers(domain: &Domain, live: &BTreeSet<String>) -> Result<()> {
    for name in domain.list_pools()? {
        if LoadPool::is_file_name(&name) && !live.contains(&name) {
            domain.remove_pool(&name)?;
        }
    }
    Ok(())
}

/// Adds up the manifest's records.
fn replay(records: &[Record]) -> Result<Replayed> {
    let mut replayed = Replayed { next_table: 1, next_load: 1, ..Replayed::default() };
    for record in records {
        match record {
            Record::Domain { name, path } => {
                replayed.domains.insert(name.clone(), PathBuf::from(path));
            }
            Record::TableCreated { table, schema } => {
                schema.validate().map_err(|reason| Error::ManifestDamaged {
                    reasons: vec![format!("table {}: {reason}", table.0)],
                })?;
                replayed.next_table = replayed.next_table.max(table.0.saturating_add(1));
                replayed.tables.insert(*table, schema.clone());
            }
            Record::TableDropped { table } => {
                replayed.tables.remove(table);
            }
            Record::Load(load) => {
                replayed.next_load = replayed.next_load.max(load.load.0.saturating_add(1));
                replayed.loads.push(load.clone());
            }
        }
    }
    Ok(replayed)
}

/// Draws a database id from the operating system's random numbers.
fn new_database_id() -> Result<DatabaseId> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| Error::Internal {
        reason: format!("the system gives no random numbers: {error}"),
    })?;
    Ok(DatabaseId(id))
}

fn now_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as u64)
}
