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

use nacre_column::ReplicaPolicy;
use nacre_pmem::{Access, DirectoryLock, Domain};

use crate::access::{AccessState, Securable};
use crate::directory::{POOL_HEADER_BYTES, database_of};
use crate::domains::{DRAM_DOMAIN, Domains, is_empty_directory};
use crate::error::{Error, Result};
use crate::foreign_key::{ForeignKeyDef, connect_all};
use crate::freeze::Frozen;
use crate::id::{CommitTs, now_micros};
use crate::index::{IndexDef, Run, RunId, RunOwner, RunRecord, is_run_file_name, run_file_name};
use crate::manifest::{
    DatabaseId, FrozenRecord, LoadId, LoadRecord, Manifest, PartsChange, Record, TableId,
    is_member_file, is_unfinished_file, remove_unfinished,
};
use crate::mvcc::Stamps;
use crate::part::Part;
use crate::places::{LiveParts, Places, directory_of, is_same};
use crate::redo::{RedoLog, RedoOptions, segment_of};
use crate::rules::TableRules;
use crate::schema::{TableSchema, check_name};
use crate::store::{MAIN_DOMAIN, OpenOptions};
use crate::stored_load::StoredLoad;
use crate::table::Table;
use crate::views::ViewDef;
use crate::waker::Waker;

/// A database that is being opened, and in the end what is known of it.
#[derive(Debug)]
pub(crate) struct Opening {
    access: Access,
    pub(crate) domains: BTreeMap<String, Domain>,
    /// Further domains that the user named.
    named: BTreeMap<String, PathBuf>,
    /// Known further domains that are not there, and why.
    absent: BTreeMap<String, String>,
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
    /// Of tables that have any.
    rules: BTreeMap<TableId, TableRules>,
    /// Indexes other than that of the primary key, in the order of their creation.
    indexes: BTreeMap<TableId, Vec<IndexDef>>,
    /// By the table and the name of the index.
    runs: BTreeMap<(TableId, String), Vec<RunRecord>>,
    foreign_keys: BTreeMap<TableId, Vec<ForeignKeyDef>>,
    views: BTreeMap<String, Arc<ViewDef>>,
    access: AccessState,
    /// In the order in which they were published, each with the next number of a part.
    loads: Vec<(LoadRecord, u32)>,
    next_table: u64,
    next_load: u64,
    next_run: u64,
    /// The oldest segment of the redo log that is needed, once there is one.
    oldest_segment: Option<u64>,
    frozen: Frozen,
    /// Commits of the redo log that defined something.
    defined: BTreeSet<CommitTs>,
    /// Where the log is archived, empty if it is not.
    archive: String,
}

impl Opening {
    /// Checks what was asked for, and opens and locks the main domain.
    pub(crate) fn begin(options: &OpenOptions) -> Result<Opening> {
        let named = named_domains(options).map_err(|reason| Error::InvalidDefinition { reason })?;
        if options.directory.is_none() && (options.is_read_only || !options.domains.is_empty()) {
            let reason = "a volatile database is neither read-only nor in further domains".into();
            return Err(Error::InvalidDefinition { reason });
        }
        let access = if options.is_read_only { Access::ReadOnly } else { Access::ReadWrite };
        let (main, lock) = open_main(options, access)?;
        Ok(Self::with_main(main, lock, named))
    }

    /// Begins with a main domain that is open and locked, and the further ones that are named.
    pub(crate) fn with_main(
        main: Domain,
        lock: Option<DirectoryLock>,
        named: BTreeMap<String, PathBuf>,
    ) -> Opening {
        Opening {
            access: main.access(),
            domains: BTreeMap::from([(MAIN_DOMAIN.to_string(), main)]),
            named,
            absent: BTreeMap::new(),
            unrecorded: Vec::new(),
            notes: Vec::new(),
            replayed: Replayed::begin(),
            is_stand_in: false,
            lock,
        }
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
            let has_pools = files.iter().any(|name| Part::is_file_name(name));
            if stand_ins.len() > 1 {
                self.find_manifest(stand_ins)?
            } else if has_pools || self.access == Access::ReadOnly {
                let path = main.path().map(Path::to_path_buf).unwrap_or_default();
                let reason = "it holds no manifest".into();
                return Err(Error::NotADatabase { path, reason });
            } else {
                self.refuse_second(&main)?;
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
        wanted.extend(self.named.clone());
        let live = self.live_parts();
        let places = Places::new(self.domains[MAIN_DOMAIN].path(), &wanted, database);
        if let Some(problem) = places.problem(MAIN_DOMAIN, wanted.keys(), &live) {
            let path = self.domains[MAIN_DOMAIN].path().map(Path::to_path_buf).unwrap_or_default();
            return Err(Error::NotADatabase { path, reason: problem });
        }
        for (name, path) in &wanted {
            let is_recorded = self.replayed.domains.get(name) == Some(path);
            if !is_recorded && self.access == Access::ReadWrite {
                self.unrecorded.push((name.clone(), path.clone()));
            }
            // Of two that were recorded for one directory the first one stays.
            let others = wanted.keys().filter(|other| !is_recorded || *other < name);
            let problem = places.problem(name, others, &live);
            if let Some(problem) = problem.as_ref().filter(|_| !is_recorded) {
                let reason = format!("memory domain \"{name}\": {problem}");
                return Err(Error::InvalidDefinition { reason });
            }
            if self.domains.contains_key(name) || self.absent.contains_key(name) {
                continue;
            }
            let opened = match problem {
                Some(problem) => Err(problem),
                None => match self.open_further(name, path, database) {
                    Err(error) if !is_recorded => return Err(error),
                    opened => opened.map_err(|error| error.to_string()),
                },
            };
            match opened {
                Ok(domain) => {
                    self.domains.insert(name.clone(), domain);
                }
                Err(problem) => {
                    self.notes.push(format!("memory domain \"{name}\" is missing: {problem}"));
                    self.absent.insert(name.clone(), problem);
                }
            }
        }
        Ok(self.further())
    }

    /// Opens a further domain, and makes it if it is new or moves.
    fn open_further(&self, name: &str, path: &Path, database: DatabaseId) -> Result<Domain> {
        let directory = directory_of(path, database);
        let known = self.replayed.domains.get(name);
        let is_same_path = known.is_some_and(|known| known == path);
        if is_same_path || directory.exists() {
            return Ok(Domain::open(name, &directory, self.access)?);
        }
        let shown = path.display();
        let is_known = known.is_some();
        let has_parent = path.parent().is_none_or(Path::is_dir);
        let problem = match self.access {
            // A wrong path would get an empty directory.
            Access::ReadOnly if is_known => format!("{shown} has no replica of this database"),
            Access::ReadOnly => "the database has none of that name".to_owned(),
            Access::ReadWrite if !path.exists() && is_known => {
                format!("{shown} is not there: to move it, make an empty directory of that name")
            }
            Access::ReadWrite if is_known && !is_empty_directory(path) => {
                format!("{shown} is neither empty nor has it a replica of this database")
            }
            Access::ReadWrite if !has_parent => {
                format!("{shown} cannot be made: the directory that it is to lie in is not there")
            }
            Access::ReadWrite => return Ok(Domain::create(name, &directory)?),
        };
        let reason = format!("memory domain \"{name}\": {problem}");
        Err(Error::InvalidDefinition { reason })
    }

    /// Refuses to create a database if a domain that is named has one: it may be this one, whose
    /// directory was lost with all that tells it.
    fn refuse_second(&self, main: &Domain) -> Result<()> {
        for (name, path) in &self.named {
            let directories = std::fs::read_dir(path).into_iter().flatten().flatten();
            let databases = directories
                .filter(|entry| entry.file_name().to_string_lossy().starts_with("nacre-"));
            let files = databases.flat_map(|entry| std::fs::read_dir(entry.path()));
            let mut files = files.flatten().flatten();
            let is_member =
                |entry: &std::fs::DirEntry| is_member_file(&entry.file_name().to_string_lossy());
            let Some(member) = files.find(is_member) else {
                continue;
            };
            let path = main.path().map(Path::to_path_buf).unwrap_or_default();
            let (member, shown) = (member.path(), path.display());
            let reason = format!(
                "it is empty, but memory domain \"{name}\" holds a manifest replica that may be \
                 its own: to restore it, move {} to {shown}; for a new database that shares the \
                 domain, create it first and name the domain then",
                member.display()
            );
            return Err(Error::NotADatabase { path, reason });
        }
        Ok(())
    }

    /// Returns the main domain, and those of the named ones that have members of the manifest of
    /// the database whose pools are in the main domain.
    fn stand_ins(&mut self, main: &Domain, files: &[String]) -> Vec<Domain> {
        let mut domains = vec![main.clone()];
        let pools = files.iter().filter(|name| Part::is_file_name(name));
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
        let live = self.live_parts();
        let names = self.domains[MAIN_DOMAIN].list_pools()?;
        let knows_log = self.replayed.oldest_segment.is_some();
        let is_unknown = |name: &&String| match Part::is_file_name(name) {
            true => !live.contains(name),
            false => !knows_log && segment_of(name).is_some(),
        };
        let unknown = names.iter().find(is_unknown);
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

    /// Returns the files that count.
    fn live_parts(&self) -> LiveParts {
        let mut live = LiveParts::default();
        for (load, _) in &self.replayed.loads {
            if self.replayed.tables.contains_key(&load.table) {
                load.parts.iter().for_each(|part| live.add(load.load, part));
            }
        }
        live
    }

    /// Removes files that do not count: parts that were cut off before they were published, or were
    /// replaced.
    pub(crate) fn remove_leftovers(&self) -> Result<()> {
        if self.access == Access::ReadWrite {
            let live = self.live_parts();
            for domain in self.domains.values() {
                live.remove_leftovers(domain)?;
            }
            self.remove_leftover_runs()?;
        }
        Ok(())
    }

    /// Removes the files of runs that no index has.
    fn remove_leftover_runs(&self) -> Result<()> {
        let runs = self.replayed.runs.values().flatten();
        let live: BTreeSet<String> = runs.map(|run| run_file_name(run.run)).collect();
        let main = &self.domains[MAIN_DOMAIN];
        for file in main.list_pools()? {
            if is_run_file_name(&file) && !live.contains(&file) {
                main.remove_pool(&file)?;
            }
        }
        Ok(())
    }

    /// Opens the redo log, if there is one, and mends it. Without one, what is left of a creation
    /// that was cut off stays until the next one.
    pub(crate) fn open_redo(
        &self,
        domains: &Domains,
        database: DatabaseId,
        options: RedoOptions,
    ) -> Result<Option<RedoLog>> {
        let Some(oldest) = self.replayed.oldest_segment else {
            return Ok(None);
        };
        let domains = domains.reachable();
        let log = RedoLog::open(&domains, self.access, database, oldest, options)?;
        log.repair(&domains, self.absent.is_empty());
        Ok(Some(log))
    }

    /// Returns the domains, those that are there and those that are not.
    pub(crate) fn all_domains(&self, database: DatabaseId) -> Domains {
        let domains = Domains::new(self.domains[MAIN_DOMAIN].clone());
        let mut places = self.replayed.domains.clone();
        places.extend(self.named.clone());
        for (name, path) in &places {
            let directory = directory_of(path, database);
            let opened = match (self.domains.get(name), self.absent.get(name)) {
                (Some(domain), _) => Ok(domain.clone()),
                (None, Some(problem)) => Err(problem.clone()),
                (None, None) => continue,
            };
            domains.add(name, path, &directory, opened);
        }
        domains
    }

    /// Returns the tables with their indexes, foreign keys and loads.
    ///
    /// # Errors
    /// [`Error::InvalidDefinition`] if a foreign key has no index.
    pub(crate) fn tables(
        &mut self,
        database: DatabaseId,
        domains: &Arc<Domains>,
        waker: &Arc<Waker>,
        stamps: &Arc<Stamps>,
    ) -> Result<BTreeMap<String, Arc<Table>>> {
        let tables: BTreeMap<TableId, Arc<Table>> = std::mem::take(&mut self.replayed.tables)
            .into_iter()
            .map(|(id, schema)| (id, Arc::new(Table::new(id, schema, waker, stamps))))
            .collect();
        for (id, rules) in std::mem::take(&mut self.replayed.rules) {
            if let Some(table) = tables.get(&id) {
                table.set_rules(rules);
            }
        }
        for (id, definitions) in std::mem::take(&mut self.replayed.indexes) {
            if let Some(table) = tables.get(&id) {
                for definition in definitions {
                    let runs = self.replayed.runs.remove(&(id, definition.name.clone()));
                    let owner = RunOwner { database, table: id };
                    let runs = runs.into_iter().flatten();
                    let runs = runs.map(|record| Run::new(owner, record, domains)).collect();
                    table.table_indexes().add_empty(table.definition(), definition, runs);
                }
            }
        }
        for (id, table) in &tables {
            table.hot().note_used_before(self.replayed.frozen.next_chunk(*id));
        }
        connect_all(&tables, std::mem::take(&mut self.replayed.foreign_keys))?;
        for (record, next_part) in std::mem::take(&mut self.replayed.loads) {
            // One without chunks was taken back, or had no row.
            if record.chunk_count > 0
                && let Some(table) = tables.get(&record.table)
            {
                let names = table.names();
                let load = StoredLoad::new(&record, next_part, database, names, domains);
                table.add_load(Arc::new(load));
            }
        }
        Ok(tables.into_values().map(|table| (table.schema().name.clone(), table)).collect())
    }

    /// Returns where the redo log is archived, if it is.
    pub(crate) fn archive(&mut self) -> Option<PathBuf> {
        let path = std::mem::take(&mut self.replayed.archive);
        (!path.is_empty()).then(|| PathBuf::from(path))
    }

    /// Returns which hot chunks were frozen.
    pub(crate) fn frozen(&mut self) -> Frozen {
        std::mem::take(&mut self.replayed.frozen)
    }

    /// Returns the commits of the redo log that count although they defined something.
    pub(crate) fn defined(&mut self) -> BTreeSet<CommitTs> {
        std::mem::take(&mut self.replayed.defined)
    }

    /// Hands out the views.
    pub(crate) fn views(&mut self) -> BTreeMap<String, Arc<ViewDef>> {
        std::mem::take(&mut self.replayed.views)
    }

    /// Hands out roles, owners and grants.
    pub(crate) fn roles_and_grants(&mut self) -> AccessState {
        std::mem::take(&mut self.replayed.access)
    }

    /// Returns the ids of the next table, the next load and the next run.
    pub(crate) fn next_ids(&self) -> (u64, u64, u64) {
        (self.replayed.next_table, self.replayed.next_load, self.replayed.next_run)
    }
}

/// Returns the further domains that the user names: each has a directory of its own.
fn named_domains(options: &OpenOptions) -> std::result::Result<BTreeMap<String, PathBuf>, String> {
    let mut named: BTreeMap<String, PathBuf> = BTreeMap::new();
    for (name, path) in &options.domains {
        check_name("domain", name)?;
        if name == MAIN_DOMAIN {
            return Err(format!("domain name \"{MAIN_DOMAIN}\" is the directory itself"));
        }
        if name == DRAM_DOMAIN {
            return Err(format!("domain name \"{DRAM_DOMAIN}\" is plain memory"));
        }
        let path = std::path::absolute(path)
            .map_err(|error| format!("memory domain \"{name}\": {error}"))?;
        let shown = path.display();
        if path.to_str().is_none() {
            return Err(format!("memory domain \"{name}\": {shown} is not in UTF-8"));
        }
        if options.directory.as_ref().is_some_and(|main| is_same(main, &path)) {
            return Err(format!(
                "memory domain \"{name}\": {shown} is the database itself, and each needs a \
                 directory of its own"
            ));
        }
        if let Some(earlier) = named.get(name) {
            let earlier = earlier.display();
            return Err(format!("memory domain \"{name}\" is named twice: {earlier} and {shown}"));
        }
        if let Some((other, _)) = named.iter().find(|(_, other)| is_same(other, &path)) {
            return Err(format!(
                "memory domains \"{other}\" and \"{name}\" would both lie in {shown}, and each \
                 needs a directory of its own"
            ));
        }
        named.insert(name.clone(), path);
    }
    Ok(named)
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
    let is_ours = |name: &str| is_unfinished_file(name) || (has_further_domains && is_pool(name));
    match names.iter().find(|name| !is_ours(name)) {
        None => Ok(()),
        Some(name) if Part::is_file_name(name) => refuse(format!(
            "it holds no manifest, but {name:?}; if a further memory domain has one, name that \
             domain too"
        )),
        Some(name) => refuse(format!(
            "it holds no manifest, but {name:?}; name a new or an empty directory to create one"
        )),
    }
}

/// Whether a file is one of those that the manifest is about.
fn is_pool(file_name: &str) -> bool {
    Part::is_file_name(file_name) || segment_of(file_name).is_some() || is_run_file_name(file_name)
}

impl Replayed {
    fn begin() -> Self {
        Self { next_table: 1, next_load: 1, next_run: 1, ..Self::default() }
    }

    fn add_load(&mut self, load: &LoadRecord) {
        self.next_load = self.next_load.max(load.load.0.saturating_add(1));
        // It may be for a table that a rewrite was to make.
        self.next_table = self.next_table.max(load.table.0.saturating_add(1));
        let next_part = next_part(0, load.parts.iter().map(|part| part.number));
        self.loads.push((load.clone(), next_part));
    }

    /// Notes where a domain is; an empty path says that it was forgotten.
    fn set_domain(&mut self, name: &str, path: &str) {
        match path.is_empty() {
            true => self.domains.remove(name),
            false => self.domains.insert(name.to_owned(), PathBuf::from(path)),
        };
    }

    /// Notes what a record says that is about no table.
    fn note(&mut self, record: &Record) -> Result<()> {
        match record {
            Record::Archive { path } => self.archive.clone_from(path),
            Record::RoleDefined(role) => {
                role.validate().map_err(|reason| {
                    let reasons = vec![format!("role {:?}: {reason}", role.name)];
                    Error::ManifestDamaged { reasons }
                })?;
                self.access.set_role(role.oid, Some(Arc::new(role.clone())));
            }
            Record::RoleDropped { oid } => self.access.set_role(*oid, None),
            Record::AccessChanged { object, access } => {
                self.access.set_object(object, Arc::new(access.clone()));
            }
            Record::ViewDropped { name } => {
                self.views.remove(name);
                self.access.forget(&Securable::View(name.clone()));
            }
            _ => {}
        }
        Ok(())
    }

    /// Drops a table.
    fn forget(&mut self, table: TableId) {
        self.tables.remove(&table);
        self.rules.remove(&table);
        self.indexes.remove(&table);
        self.runs.retain(|(of, _), _| *of != table);
        self.foreign_keys.remove(&table);
        self.access.forget(&Securable::Table(table));
    }

    /// Takes an index out.
    fn drop_index(&mut self, table: TableId, name: &str) {
        if let Some(indexes) = self.indexes.get_mut(&table) {
            indexes.retain(|index| index.name != *name);
        }
        self.runs.remove(&(table, name.to_owned()));
    }

    /// Changes the runs of an index; one that was dropped has none.
    fn change_runs(
        &mut self,
        (table, index): (TableId, &String),
        added: Option<&RunRecord>,
        removed: &[RunId],
    ) {
        if let Some(run) = added {
            self.next_run = self.next_run.max(run.run.0.saturating_add(1));
        }
        let indexes = self.indexes.get(&table).into_iter().flatten();
        if indexes.into_iter().any(|there| there.name == *index) {
            let runs = self.runs.entry((table, index.clone())).or_default();
            runs.retain(|run| !removed.contains(&run.run));
            runs.extend(added.cloned());
        }
    }

    /// Creates a view, or replaces it.
    fn define_view(&mut self, view: &ViewDef) -> Result<()> {
        view.validate().map_err(|reason| Error::ManifestDamaged {
            reasons: vec![format!("view {:?}: {reason}", view.name)],
        })?;
        self.views.insert(view.name.clone(), Arc::new(view.clone()));
        Ok(())
    }

    /// Creates a table, or replaces its definition.
    fn define(&mut self, table: TableId, schema: &TableSchema, rules: &TableRules) -> Result<()> {
        check_schema(table, schema)?;
        check_rules(table, schema, rules)?;
        self.next_table = self.next_table.max(table.0.saturating_add(1));
        self.tables.insert(table, schema.clone());
        self.rules.insert(table, rules.clone());
        Ok(())
    }
}

/// Adds up the manifest's records.
fn replay(records: &[Record]) -> Result<Replayed> {
    let mut replayed = Replayed::begin();
    let mut positions: BTreeMap<LoadId, usize> = BTreeMap::new();
    for record in records {
        match record {
            Record::Domain { name, path } => replayed.set_domain(name, path),
            Record::TableCreated { table, schema } => {
                check_schema(*table, schema)?;
                replayed.next_table = replayed.next_table.max(table.0.saturating_add(1));
                replayed.tables.insert(*table, schema.clone());
            }
            Record::TableReplaced { old, table, schema, rules } => {
                replayed.define(*table, schema, rules)?;
                replayed.access.replace_table(*old, *table);
                replayed.forget(*old);
            }
            Record::TableDefined { table, schema, rules } => {
                replayed.define(*table, schema, rules)?;
            }
            Record::ViewDefined(view) => replayed.define_view(view)?,
            Record::TableDropped { table } => replayed.forget(*table),
            Record::DefinitionsCommitted { commit, next_table } => {
                replayed.next_table = replayed.next_table.max(*next_table);
                replayed.defined.insert(*commit);
            }
            Record::Load(load) => {
                positions.insert(load.load, replayed.loads.len());
                replayed.add_load(load);
            }
            Record::PolicyChanged { table, column, policy } => {
                // A table that is dropped later may be gone already.
                if let Some(schema) = replayed.tables.get_mut(table) {
                    change_policy(schema, *column, policy.clone());
                    check_schema(*table, schema)?;
                }
            }
            Record::RedoSegments { oldest } => replayed.oldest_segment = Some(*oldest),
            Record::IndexCreated { table, definition } => {
                if let Some(schema) = replayed.tables.get(table) {
                    check_index(*table, schema, definition)?;
                    replayed.indexes.entry(*table).or_default().push(definition.clone());
                }
            }
            Record::ForeignKeys { table, keys } => set_foreign_keys(&mut replayed, *table, keys)?,
            Record::IndexDropped { table, name } => replayed.drop_index(*table, name),
            Record::IndexRuns { table, index, added, removed } => {
                replayed.change_runs((*table, index), added.as_ref(), removed);
            }
            Record::Frozen(frozen) => freeze(&mut replayed, &mut positions, frozen),
            Record::Checkpoint { as_of, oldest } => {
                replayed.oldest_segment = Some(*oldest);
                replayed.frozen.checkpoint = *as_of;
            }
            Record::Archive { .. }
            | Record::Moment(_)
            | Record::RoleDefined(_)
            | Record::RoleDropped { .. }
            | Record::AccessChanged { .. }
            | Record::ViewDropped { .. } => replayed.note(record)?,
            Record::LoadEmptied { load } => empty(&mut replayed, positions.get(load), *load)?,
            Record::PartsChanged { load, change } => {
                change_parts(&mut replayed, positions.get(load), *load, change)?;
            }
        }
    }
    Ok(replayed)
}

/// Changes the parts of a load.
fn change_parts(
    replayed: &mut Replayed,
    position: Option<&usize>,
    load: LoadId,
    change: &PartsChange,
) -> Result<()> {
    let found = position.and_then(|&position| replayed.loads.get_mut(position));
    let (record, next) = found.ok_or_else(|| Error::ManifestDamaged {
        reasons: vec![format!("load {} changes before it is there", load.0)],
    })?;
    record.parts.retain(|part| !change.removed.contains(&part.number));
    record.parts.extend(change.added.iter().cloned());
    *next = next_part(*next, change.added.iter().map(|part| part.number));
    Ok(())
}

/// Takes out a load without rows.
fn empty(replayed: &mut Replayed, position: Option<&usize>, load: LoadId) -> Result<()> {
    let found = position.and_then(|&position| replayed.loads.get_mut(position));
    let (record, _) = found.ok_or_else(|| Error::ManifestDamaged {
        reasons: vec![format!("load {} loses its rows before it is there", load.0)],
    })?;
    (record.rows, record.chunk_count, record.parts) = (0, 0, Vec::new());
    replayed.frozen.note_emptied(load);
    Ok(())
}

/// Adds hot chunks that were frozen, or takes that back.
fn freeze(replayed: &mut Replayed, positions: &mut BTreeMap<LoadId, usize>, frozen: &FrozenRecord) {
    let id = frozen.load.load;
    replayed.next_load = replayed.next_load.max(id.0.saturating_add(1));
    match positions.get(&id).and_then(|&at| replayed.loads.get_mut(at)) {
        Some((load, _)) => *load = frozen.load.clone(),
        None => {
            positions.insert(id, replayed.loads.len());
            let next_part = next_part(0, frozen.load.parts.iter().map(|part| part.number));
            replayed.loads.push((frozen.load.clone(), next_part));
        }
    }
    replayed.frozen.add(frozen);
}

fn next_part(least: u32, numbers: impl Iterator<Item = u32>) -> u32 {
    numbers.fold(least, |next, number| next.max(number.saturating_add(1)))
}

fn change_policy(schema: &mut TableSchema, column: Option<u16>, policy: Option<ReplicaPolicy>) {
    match column.map(usize::from) {
        None => schema.replicas = policy,
        Some(column) => {
            if let Some(column) = schema.columns.get_mut(column) {
                column.replicas = policy;
            }
        }
    }
}

fn check_schema(table: TableId, schema: &TableSchema) -> Result<()> {
    schema.validate().map_err(|reason| Error::ManifestDamaged {
        reasons: vec![format!("table {}: {reason}", table.0)],
    })
}

fn check_rules(table: TableId, schema: &TableSchema, rules: &TableRules) -> Result<()> {
    rules.validate(schema).map_err(|reason| Error::ManifestDamaged {
        reasons: vec![format!("table {}: {reason}", table.0)],
    })
}

fn check_index(table: TableId, schema: &TableSchema, index: &IndexDef) -> Result<()> {
    index.validate(schema).map_err(|reason| Error::ManifestDamaged {
        reasons: vec![format!("table {}: {reason}", table.0)],
    })
}

/// Notes which foreign keys a table has, if it is there.
fn set_foreign_keys(replayed: &mut Replayed, table: TableId, keys: &[ForeignKeyDef]) -> Result<()> {
    let Some(schema) = replayed.tables.get(&table) else {
        return Ok(());
    };
    for key in keys {
        let parent = replayed.tables.get(&key.referenced.unwrap_or(table));
        let parent = parent.ok_or_else(|| format!("foreign key {:?} has no parent", key.name));
        parent.and_then(|parent| key.validate(schema, parent)).map_err(|reason| {
            Error::ManifestDamaged { reasons: vec![format!("table {}: {reason}", table.0)] }
        })?;
    }
    replayed.foreign_keys.insert(table, keys.to_vec());
    Ok(())
}

/// Draws a database id from the operating system's random numbers.
fn new_database_id() -> Result<DatabaseId> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| Error::Internal {
        reason: format!("the system gives no random numbers: {error}"),
    })?;
    Ok(DatabaseId(id))
}
