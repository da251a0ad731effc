//! Opening and creating a database.
//!
//! 1. A directory that holds something else is refused before anything touches it; then it is
//!    locked.
//! 2. The manifest is opened with the members in the main domain; its records name the further
//!    domains, and it is opened again with the members there. What is missing is rebuilt.
//! 3. New and moved domains are recorded, and pools that no record names are removed.
//!
//! If the main domain lost its manifest but still has pools, these name the database, and the
//! members in the further domains that the user names stand in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use nacre_pmem::{Access, DirectoryLock, Domain};

use crate::directory::{POOL_HEADER_BYTES, database_of};
use crate::error::{Error, Result};
use crate::manifest::{
    DatabaseId, LoadRecord, Manifest, Record, TableId, is_member_file, is_unfinished_file,
    remove_unfinished,
};
use crate::schema::{TableSchema, check_name};
use crate::store::{MAIN_DOMAIN, OpenOptions};
use crate::table::{LoadPool, Table};

/// A database that is being opened, and in the end what is known of it.
#[derive(Debug)]
pub(crate) struct Opening {
    access: Access,
    pub(crate) domains: BTreeMap<String, Domain>,
    /// Further domains that the user named.
    named: Vec<(String, PathBuf)>,
    /// Known further domains that are not there.
    absent: BTreeSet<String>,
    /// Domains that the manifest does not know, or not there.
    unrecorded: Vec<(String, PathBuf)>,
    pub(crate) notes: Vec<String>,
    replayed: Replayed,
    /// Whether the main domain lost its manifest.
    is_stand_in: bool,
    /// Held before anything is read.
    pub(crate) lock: Option<DirectoryLock>,
}

/// What the manifest's records add up to.
#[derive(Debug, Default)]
struct Replayed {
    domains: BTreeMap<String, PathBuf>,
    tables: BTreeMap<TableId, TableSchema>,
    loads: Vec<LoadRecord>,
    next_table: u64,
    next_load: u64,
}

impl Opening {
    /// Checks what was asked for, and opens and locks the main domain.
    pub(crate) fn begin(options: &OpenOptions) -> Result<Opening> {
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
        let (main, lock) = open_main(options, access)?;
        Ok(Opening {
            access,
            domains: BTreeMap::from([(MAIN_DOMAIN.to_string(), main)]),
            named: options.domains.clone(),
            absent: BTreeSet::new(),
            unrecorded: Vec::new(),
            notes: Vec::new(),
            replayed: Replayed { next_table: 1, next_load: 1, ..Replayed::default() },
            is_stand_in: false,
            lock,
        })
    }

    /// Opens or creates the manifest, repairs it, and records new domains in it.
    pub(crate) fn open_manifest(&mut self) -> Result<Manifest> {
        let main = self.domains[MAIN_DOMAIN].clone();
        let files = main.list_pools()?;
        let mut manifest = if files.iter().any(|name| is_member_file(name)) {
            match self.find_manifest(vec![main.clone()]) {
                Err(Error::ManifestDamaged { reasons }) => {
                    let stand_ins = self.stand_ins(&main, &files);
                    if stand_ins.len() == 1 {
                        return Err(Error::ManifestDamaged { reasons });
                    }
                    self.find_manifest(stand_ins)?
                }
                found => found?,
            }
        } else {
            let stand_ins = self.stand_ins(&main, &files);
            let has_pools = files.iter().any(|name| LoadPool::is_file_name(name));
            if stand_ins.len() > 1 {
                self.find_manifest(stand_ins)?
            } else if has_pools || self.access == Access::ReadOnly {
                let path = main.path().map(Path::to_path_buf).unwrap_or_default();
                let reason = "it holds no manifest".into();
                return Err(Error::NotADatabase { path, reason });
            } else {
                let manifest = Manifest::create(new_database_id()?, now_micros(), &main)?;
                self.learn(manifest.database(), &[])?;
                manifest
            }
        };
        let are_all_here = self.absent.is_empty();
        if self.access == Access::ReadOnly {
            manifest.note_unusable(are_all_here);
            return Ok(manifest);
        }
        if files.iter().any(|name| is_unfinished_file(name)) {
            remove_unfinished(&main)?;
        }
        for (name, path) in std::mem::take(&mut self.unrecorded) {
            let path = path.to_string_lossy().into_owned();
            manifest.append(&Record::Domain { name, path })?;
        }
        manifest.repair(&main, &self.further(), are_all_here);
        Ok(manifest)
    }

    fn find_manifest(&mut self, domains: Vec<Domain>) -> Result<Manifest> {
        let learn = |database, records: &[Record]| self.learn(database, records);
        let access = domains[0].access();
        Manifest::open(&domains, access, learn)
    }

    fn further(&self) -> Vec<Domain> {
        let is_further = |domain: &&Domain| domain.name() != MAIN_DOMAIN;
        self.domains.values().filter(is_further).cloned().collect()
    }

    /// Adds up the records, opens the domains that they and the user name, and returns the
    /// further ones.
    fn learn(&mut self, database: DatabaseId, records: &[Record]) -> Result<Vec<Domain>> {
        self.replayed = replay(records)?;
        if self.is_stand_in {
            self.refuse_older_stand_in()?;
        }
        self.unrecorded.clear();
        let mut wanted = self.replayed.domains.clone();
        wanted.extend(self.named.iter().cloned());
        for (name, path) in &wanted {
            let known = self.replayed.domains.get(name);
            let is_recorded = known == Some(path);
            if !is_recorded && self.access == Access::ReadWrite {
                self.unrecorded.push((name.clone(), path.clone()));
            }
            if self.domains.contains_key(name) || self.absent.contains(name) {
                continue;
            }
            let directory = directory_of(path, database);
            let opened = match self.access {
                // A domain that moves must be there: a wrong path would get an empty directory.
                Access::ReadWrite if known.is_none() => Domain::create(name, &directory),
                access => Domain::open(name, &directory, access),
            };
            match opened {
                Ok(domain) => {
                    self.domains.insert(name.clone(), domain);
                }
                Err(error) if is_recorded => {
                    self.notes.push(format!("memory domain \"{name}\" is missing: {error}"));
                    self.absent.insert(name.clone());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.further())
    }

    /// Returns the main domain, and those of the named ones that have members of the manifest of
    /// the database whose pools are in the main domain.
    fn stand_ins(&mut self, main: &Domain, files: &[String]) -> Vec<Domain> {
        let mut domains = vec![main.clone()];
        let pools = files.iter().filter(|name| LoadPool::is_file_name(name));
        let header_of = |name: &String| {
            let pool = main.open_pool(name, Access::ReadOnly).ok()?;
            let header = pool.read(0, POOL_HEADER_BYTES as u64).ok()?;
            database_of(header)
        };
        let Some(database) = pools.filter(|_| !self.named.is_empty()).find_map(header_of) else {
            return domains;
        };
        for (name, path) in &self.named {
            let opened = Domain::open(name, &directory_of(path, database), self.access);
            let has_member = |domain: &Domain| {
                domain.list_pools().is_ok_and(|names| names.iter().any(|name| is_member_file(name)))
            };
            if let Some(domain) = opened.ok().filter(has_member) {
                self.notes.push(format!(
                    "the manifest in {} is lost, that of memory domain \"{name}\" counts",
                    main.path().unwrap_or(Path::new(MAIN_DOMAIN)).display()
                ));
                self.domains.insert(name.clone(), domain.clone());
                domains.push(domain);
            }
        }
        self.is_stand_in = domains.len() > 1;
        domains
    }

    /// Refuses a manifest that does not know a pool in the main domain: it may be older than the
    /// one that was lost, and the pool would be removed.
    fn refuse_older_stand_in(&self) -> Result<()> {
        let live = self.live_files();
        let names = self.domains[MAIN_DOMAIN].list_pools()?;
        let unknown =
            names.iter().find(|name| LoadPool::is_file_name(name) && !live.contains(*name));
        match unknown {
            None => Ok(()),
            Some(name) => {
                let reason = format!(
                    "the one in the further domain does not know {name} and may be older than the \
                     lost ones: restore these from a copy, or take {name} away"
                );
                Err(Error::ManifestDamaged { reasons: vec![reason] })
            }
        }
    }

    /// Returns the file names of the pools of loads that count.
    fn live_files(&self) -> BTreeSet<String> {
        let is_live = |load: &&LoadRecord| self.replayed.tables.contains_key(&load.table);
        let loads = self.replayed.loads.iter().filter(is_live);
        loads.map(|load| LoadPool::file_name(load.load)).collect()
    }

    /// Removes pools of loads that were cut off before they were published, and returns the tables.
    pub(crate) fn finish(&mut self, database: DatabaseId) -> Result<BTreeMap<String, Arc<Table>>> {
        let live = self.live_files();
        let mut tables: BTreeMap<TableId, Arc<Table>> = std::mem::take(&mut self.replayed.tables)
            .into_iter()
            .map(|(id, schema)| (id, Arc::new(Table::new(id, schema))))
            .collect();
        for record in std::mem::take(&mut self.replayed.loads) {
            if let Some(table) = tables.get(&record.table) {
                let domain = self.domains.get(&record.domain).cloned();
                table.add_load(Arc::new(LoadPool::new(record, database, domain)));
            }
        }
        if self.access == Access::ReadWrite {
            for domain in self.domains.values() {
                remove_leftovers(domain, &live)?;
            }
        }
        let by_name = |table: Arc<Table>| (table.schema().name.clone(), table);
        Ok(std::mem::take(&mut tables).into_values().map(by_name).collect())
    }

    /// Returns the ids of the next table and the next load.
    pub(crate) fn next_ids(&self) -> (u64, u64) {
        (self.replayed.next_table, self.replayed.next_load)
    }
}

/// Returns a database's own directory in the path of a domain, which databases may share.
fn directory_of(path: &Path, database: DatabaseId) -> PathBuf {
    path.join(format!("nacre-{database}"))
}

/// Opens or creates the main domain and locks its directory.
fn open_main(options: &OpenOptions, access: Access) -> Result<(Domain, Option<DirectoryLock>)> {
    let Some(path) = options.directory.as_deref() else {
        return Ok((Domain::dram(MAIN_DOMAIN), None));
    };
    refuse_foreign(path, !options.domains.is_empty())?;
    if access == Access::ReadOnly {
        let lock = DirectoryLock::shared(path)?;
        return Ok((Domain::open(MAIN_DOMAIN, path, access)?, Some(lock)));
    }
    let domain = Domain::create(MAIN_DOMAIN, path)?;
    let lock = DirectoryLock::exclusive(path)?;
    Ok((domain, Some(lock)))
}

/// Refuses a path that is neither a database nor empty nor absent, before anything touches it. If
/// further domains are named, a database without a manifest may have one there.
fn refuse_foreign(path: &Path, has_further_domains: bool) -> Result<()> {
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
    if names.iter().any(|name| is_member_file(name)) {
        return Ok(());
    }
    let is_ours = |name: &str| {
        is_unfinished_file(name) || (has_further_domains && LoadPool::is_file_name(name))
    };
    match names.iter().find(|name| !is_ours(name)) {
        None => Ok(()),
        Some(name) if LoadPool::is_file_name(name) => refuse(format!(
            "it holds no manifest, but {name:?}; if a further memory domain has one, name that \
             domain too"
        )),
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
