//! The handle of an open database, and what it is made of.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use nacre_column::ReplicaPolicy;
use nacre_column::replicated::{Wear, WearCause};
use nacre_pmem::{DirectoryLock, Domain};

use crate::access::{AccessState, BOOTSTRAP_ROLE_OID, Securable};
use crate::accounting::WearOwner;
use crate::archive::Keeper;
use crate::domains::Domains;
use crate::drafts::DraftSlot;
use crate::error::{Error, Result};
use crate::foreign_key::{TableKeys, attach};
use crate::freeze::{CHECKPOINT_BYTES, Compaction, Frozen, Pace};
use crate::id::{CommitTs, Lsn, Moment, now_micros};
use crate::index::RunId;
use crate::load::Load;
use crate::manifest::{DatabaseId, FrozenRecord, LoadId, Manifest, Record, TableId};
use crate::mvcc::{
    EndWatch, GoneTable, IsolationLevel, Snapshot, Transaction, TransactionInfo, Transactions,
};
use crate::opening::Opening;
use crate::places::LiveParts;
use crate::procedure::{Calls, Procedures};
use crate::recovery::recover;
use crate::redo::{RedoLog, RedoOptions};
use crate::rules::TableRules;
use crate::running_loads::{RunningLoad, RunningLoads};
use crate::schema::{TableSchema, named_domains};
use crate::sequences::{SEQUENCES_TABLE, Sequences};
use crate::store::named_tables::NamedTables;
use crate::table::Table;
use crate::views::ViewDef;
use crate::waker::Waker;

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
    /// How the redo log is written.
    pub redo: RedoOptions,
    /// Bytes by which the redo log may grow before what it holds is frozen or written to it again,
    /// so that it can be truncated; `None` is 128 MiB, 0 leaves it to [`Store::checkpoint`].
    pub checkpoint_bytes: Option<u64>,
    /// What [`Store::call`] can call. Opening runs those again that the redo log has calls of.
    pub procedures: Procedures,
    /// Threads that make the changes of the redo log again; `None` is as many as the machine runs
    /// at once, up to 8, and only that of the caller if there is little to do.
    pub replay_threads: Option<NonZeroUsize>,
}

/// An open database; clones share it.
#[derive(Clone, Debug)]
pub struct Store {
    pub(super) shared: Arc<Shared>,
    /// What the transaction of a session defines; `None` if this is no handle of a session.
    draft: Option<Arc<DraftSlot>>,
    /// The snapshot of name lookups through this handle; `None` is the newest state.
    seen: Option<CommitTs>,
}

/// Records what a transaction has defined, and shows it to everybody; gets the commit, and whether
/// there are changed rows, and returns the tables that are gone.
pub(crate) type Define<'a> = &'a mut dyn FnMut(CommitTs, bool) -> Result<Vec<GoneTable>>;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) database: DatabaseId,
    pub(super) is_read_only: bool,
    pub(super) is_volatile: bool,
    pub(super) domains: Arc<Domains>,
    pub(super) notes: Mutex<Vec<String>>,
    pub(super) manifest: Mutex<ManifestState>,
    /// Bytes written since the database was opened.
    pub(super) wear: Wear<WearOwner>,
    pub(super) waker: Arc<Waker>,
    /// Held during a unit of maintenance.
    pub(super) maintenance: Mutex<()>,
    /// Which load maintenance looks at first.
    pub(super) first_job: AtomicUsize,
    pub(super) running_loads: RunningLoads,
    /// Set when maintenance shall end soon.
    pub(super) is_closing: AtomicBool,
    pub(super) tables: RwLock<NamedTables>,
    pub(super) views: Mutex<BTreeMap<String, Arc<ViewDef>>>,
    pub(super) access: Mutex<Arc<AccessState>>,
    /// Another number whenever somebody may find other tables, views or columns.
    pub(super) definitions_version: AtomicU64,
    /// Another number whenever somebody may find other roles, owners or grants.
    pub(super) access_version: AtomicU64,
    pub(super) sequences: Sequences,
    pub(super) transactions: Transactions,
    /// Created by the first commit; stays empty if the database is volatile or read-only.
    pub(super) redo: OnceLock<RedoLog>,
    pub(super) redo_options: RedoOptions,
    pub(super) pace: Pace,
    pub(super) compaction: Compaction,
    pub(super) keeper: Keeper,
    pub(super) procedures: Procedures,
    pub(super) calls: Calls,
    /// Dropped last, when all pools are closed.
    pub(super) _lock: Option<DirectoryLock>,
}

#[derive(Debug)]
pub(super) struct ManifestState {
    pub(super) manifest: Manifest,
    pub(super) next_table: u64,
    pub(super) next_load: u64,
    pub(super) next_run: u64,
    /// Loads of hot chunks that somebody wrote to meanwhile; a record is to take them back.
    pub(super) withdrawn: Vec<FrozenRecord>,
}

impl Store {
    /// Opens a database, creating it if the directory is absent or empty. Indexes get the entries
    /// of rows that the redo log had by [`Store::maintain_step`], or when somebody needs them.
    ///
    /// # Errors
    /// The directory is in use, not a database, not permitted, or damaged beyond its replicas.
    pub fn open(options: OpenOptions) -> Result<Self> {
        let opening = Opening::begin(&options)?;
        Self::finish_open(opening, &options, options.directory.is_none())
    }

    /// Opens what lies in a main domain that is there, for tests.
    #[cfg(test)]
    pub(crate) fn open_in(main: Domain, redo: RedoOptions) -> Result<Self> {
        Self::open_in_with(main, OpenOptions { redo, ..OpenOptions::default() })
    }

    /// As [`Store::open_in`], with other options too.
    #[cfg(test)]
    pub(crate) fn open_in_with(main: Domain, options: OpenOptions) -> Result<Self> {
        let is_read_only = main.access() == nacre_pmem::Access::ReadOnly;
        let options = OpenOptions { is_read_only, ..options };
        Self::finish_open(Opening::with_main(main, None, BTreeMap::new()), &options, false)
    }

    fn finish_open(mut opening: Opening, options: &OpenOptions, is_volatile: bool) -> Result<Self> {
        let manifest = opening.open_manifest()?;
        let database = manifest.database();
        opening.remove_leftovers()?;
        let domains = Arc::new(opening.all_domains(database));
        let waker = Arc::default();
        let transactions = Transactions::default();
        let tables = opening.tables(database, &domains, &waker, transactions.stamps())?;
        let (next_table, next_load, next_run) = opening.next_ids();
        let (views, access) = (opening.views(), opening.roles_and_grants());
        let keeper = Keeper::new(opening.archive());
        let (frozen, defined) = (opening.frozen(), opening.defined());
        let checkpoint_bytes = options.checkpoint_bytes.unwrap_or(CHECKPOINT_BYTES);
        let redo_options = options.redo.for_checkpoints(checkpoint_bytes);
        let log = opening.open_redo(&domains, database, redo_options)?;
        let withdrawn = Vec::new();
        let state = ManifestState { manifest, next_table, next_load, next_run, withdrawn };
        let shared = Shared {
            database,
            is_read_only: options.is_read_only,
            is_volatile,
            domains,
            notes: Mutex::new(opening.notes),
            manifest: Mutex::new(state),
            wear: Wear::default(),
            waker,
            maintenance: Mutex::new(()),
            first_job: AtomicUsize::new(0),
            running_loads: RunningLoads::default(),
            is_closing: AtomicBool::new(false),
            tables: RwLock::new(NamedTables::new(tables)),
            views: Mutex::new(views),
            access: Mutex::new(Arc::new(access)),
            definitions_version: AtomicU64::new(1),
            access_version: AtomicU64::new(1),
            sequences: Sequences::default(),
            transactions,
            redo: OnceLock::new(),
            redo_options,
            pace: Pace::new(checkpoint_bytes),
            compaction: Compaction::default(),
            keeper,
            procedures: options.procedures.clone(),
            calls: Calls::default(),
            _lock: opening.lock,
        };
        let store = Self { shared: Arc::new(shared), draft: None, seen: None };
        store.recover_log(log, (frozen, defined), options.replay_threads)?;
        Ok(store)
    }

    /// Makes the changes in the redo log again, if there is one, and goes on behind them.
    fn recover_log(
        &self,
        log: Option<RedoLog>,
        (frozen, defined): (Frozen, BTreeSet<CommitTs>),
        threads: Option<NonZeroUsize>,
    ) -> Result<()> {
        let (transactions, known) = (self.all_transactions(), frozen.last_commit());
        transactions.resume(known);
        self.calls().note_checkpoint(frozen.checkpoint);
        let Some(log) = log else {
            return Ok(());
        };
        let next_table = self.manifest().next_table;
        let withdrawn = recover(self, &log, (frozen, defined), (next_table, threads))?;
        self.manifest().withdrawn = withdrawn;
        transactions.resume(log.last_commit().max(known));
        log.notes().into_iter().for_each(|note| self.note(note));
        self.pace().begin(log.start());
        if !self.is_read_only() {
            self.shared.redo.get_or_init(|| log);
        }
        Ok(())
    }

    /// Returns a handle for one session: what it and its clones define while a transaction of it
    /// is at that ([`Transaction::define`]) belongs to the transaction.
    pub fn for_session(&self) -> Self {
        let (shared, draft) = (Arc::clone(&self.shared), Some(Arc::default()));
        let session = Self { shared, draft, seen: None };
        session.set_creator(self.creator());
        session
    }

    /// Says which role owns what is made through this handle of a session and its clones.
    pub fn set_creator(&self, role: u32) {
        if let Some(slot) = self.draft_slot() {
            slot.set_creator(role);
        }
    }

    /// Returns the role that owns what is made through this handle.
    pub(crate) fn creator(&self) -> u32 {
        self.draft_slot().map_or(BOOTSTRAP_ROLE_OID, DraftSlot::creator)
    }

    /// Returns a handle that sees what everybody sees.
    pub(crate) fn for_everybody(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), draft: None, seen: None }
    }

    /// Returns a handle that looks names up with a snapshot: a name whose meaning changed since is
    /// [`Error::DefinitionChanged`].
    #[must_use]
    pub fn at(&self, snapshot: &Snapshot) -> Self {
        Self { seen: Some(snapshot.start()), ..self.clone() }
    }

    pub(crate) fn draft_slot(&self) -> Option<&DraftSlot> {
        self.draft.as_deref()
    }

    /// Returns what opening repaired or found missing, and what failed since, for the user to read.
    pub fn notes(&self) -> Vec<String> {
        let notes = self.shared.notes.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut redo = self.shared.redo.get().map(RedoLog::notes).unwrap_or_default();
        redo.retain(|note| !notes.contains(note));
        [notes.as_slice(), self.manifest().manifest.notes(), redo.as_slice()].concat()
    }

    /// Adds to [`Store::notes`], unless it is there already.
    pub(crate) fn note(&self, note: String) {
        let mut notes = self.shared.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// Has `wake` called whenever there is background work for [`Store::maintain_step`]. It must
    /// return soon and not call the store.
    pub fn set_waker(&self, wake: Box<dyn Fn() + Send + Sync>) {
        self.shared.waker.set(wake);
    }

    /// Has maintenance end after the block at hand, and do nothing from now on: the database is
    /// about to be closed. What was written of a unit is kept if it is much, and left to the next
    /// opening if it is little.
    pub fn prepare_to_close(&self) {
        // ORDERING: nothing else is read by whoever sees it.
        self.shared.is_closing.store(true, Ordering::Relaxed);
    }

    /// Whether maintenance shall end.
    pub(crate) fn is_closing(&self) -> bool {
        // ORDERING: pairs with nothing; it is seen a block later at most.
        self.shared.is_closing.load(Ordering::Relaxed)
    }

    /// Returns the id that all pools of this database carry.
    pub fn database(&self) -> DatabaseId {
        self.shared.database
    }

    /// Tells whether the database refuses changes.
    pub fn is_read_only(&self) -> bool {
        self.shared.is_read_only
    }

    /// Returns the memory domains that are there, `main` first.
    pub fn domains(&self) -> Vec<Domain> {
        self.shared.domains.reachable()
    }

    /// Returns the names of the further memory domains that are not there now.
    pub fn missing_domains(&self) -> Vec<String> {
        self.shared.domains.missing()
    }

    /// Returns the path that is known of a further memory domain, also of one that is not there.
    pub fn domain_path(&self, name: &str) -> Option<PathBuf> {
        self.shared.domains.path_of(name)
    }

    /// Returns the domain called `name` if it is there.
    pub fn domain(&self, name: &str) -> Option<Domain> {
        self.shared.domains.get(name).ok().map(|there| there.domain)
    }

    pub(crate) fn all_domains(&self) -> &Arc<Domains> {
        &self.shared.domains
    }

    /// Returns all tables in name order.
    pub fn tables(&self) -> Vec<Arc<Table>> {
        let listed = self.listed_tables();
        match self.definitions() {
            Some(definitions) => definitions.all_tables(listed),
            None => listed,
        }
    }

    /// Returns all tables that everybody sees, in name order.
    pub(crate) fn listed_tables(&self) -> Vec<Arc<Table>> {
        self.named_tables().all()
    }

    pub(super) fn named_tables(&self) -> RwLockReadGuard<'_, NamedTables> {
        self.shared.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the table called `name`.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::DefinitionChanged`] through a handle of [`Store::at`].
    pub fn table(&self, name: &str) -> Result<Arc<Table>> {
        self.table_seen(name, self.seen)
    }

    /// Returns the table that a snapshot finds under `name`.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::DefinitionChanged`] if the name has got another meaning
    /// since the snapshot.
    pub fn table_at(&self, name: &str, snapshot: &Snapshot) -> Result<Arc<Table>> {
        self.table_seen(name, Some(snapshot.start()))
    }

    fn table_seen(&self, name: &str, seen: Option<CommitTs>) -> Result<Arc<Table>> {
        let listed = || self.named_tables().find(name, seen);
        let found = match self.definitions() {
            Some(definitions) => definitions.table(name, listed)?,
            None => listed()?,
        };
        found.ok_or_else(|| Error::UnknownTable { table: name.into() })
    }

    /// Creates a table without further constraints.
    ///
    /// # Errors
    /// As for [`Store::create_table_with`].
    pub fn create_table(&self, schema: TableSchema) -> Result<Arc<Table>> {
        self.create_table_with(schema, TableRules::default(), &TableKeys::default())
    }

    /// Creates a table.
    ///
    /// # Errors
    /// [`Error::TableExists`] if a table or index has its name or that of one of its indexes;
    /// [`Error::UnknownTable`] if a foreign key refers to none; [`Error::InvalidDefinition`],
    /// [`Error::UnknownDomain`], [`Error::ReadOnly`], no space, I/O.
    pub fn create_table_with(
        &self,
        schema: TableSchema,
        rules: TableRules,
        keys: &TableKeys,
    ) -> Result<Arc<Table>> {
        self.require_writable()?;
        schema
            .validate()
            .and_then(|()| rules.validate(&schema))
            .map_err(|reason| Error::InvalidDefinition { reason })?;
        self.check_domains(&schema.name, schema.named_domains())?;
        if let Some((tx, _)) = self.draft() {
            return self.draft_table(tx, schema, &rules, keys);
        }
        let mut state = self.manifest();
        self.check_new_name(&schema.name)?;
        let id = TableId(state.next_table);
        let table = Arc::new(Table::new(
            id,
            schema.clone(),
            &self.shared.waker,
            self.shared.transactions.stamps(),
        ));
        let attached = attach(self, &table, keys)?;
        let mut records = vec![Record::of_table(id, schema, rules.clone())];
        records.extend(attached.records.iter().cloned());
        self.record_ownership(Securable::Table(id), &mut records);
        self.append_all(&mut state, &records)?;
        state.next_table += 1;
        self.show_ownership(Securable::Table(id));
        table.set_rules(rules);
        attached.connect();
        self.publish_tables(&[], |tables, commit| {
            let name = &table.definition().name;
            if name != SEQUENCES_TABLE {
                // That one comes into being when a transaction first needs it.
                table.set_visible_from(commit);
            }
            tables.bind(&table, name, commit);
        });
        Ok(table)
    }

    /// Drops the table called `name` and, once nobody reads them any more, its pools.
    ///
    /// # Errors
    /// As for [`Store::drop_tables`].
    pub fn drop_table(&self, name: &str) -> Result<()> {
        self.drop_tables(&[name], false)
    }

    /// Sets the replica policy of a column, or of the table if no column is named; `None` resets
    /// it to what holds without one. Replicas are converted by [`Store::maintain_step`]; readers
    /// and loads go on meanwhile.
    ///
    /// # Errors
    /// [`Error::UnknownTable`], [`Error::UnknownColumn`], [`Error::UnknownDomain`];
    /// [`Error::InvalidDefinition`] if a format cannot hold the column; [`Error::ReadOnly`], I/O.
    pub fn set_policy(
        &self,
        table: &str,
        column: Option<&str>,
        policy: Option<ReplicaPolicy>,
    ) -> Result<()> {
        self.require_writable()?;
        let mut state = self.manifest();
        let table = self.table(table)?;
        let mut schema = TableSchema::clone(&table.schema());
        let index = match column {
            None => None,
            Some(name) => Some(schema.column_index(name).ok_or_else(|| Error::UnknownColumn {
                table: schema.name.clone(),
                column: name.to_owned(),
            })?),
        };
        self.check_domains(&schema.name, policy.iter().flat_map(named_domains))?;
        match index {
            Some(index) => schema.columns[index].replicas = policy.clone(),
            None => schema.replicas = policy.clone(),
        }
        schema.check_policies().map_err(|reason| Error::InvalidDefinition { reason })?;
        let record = Record::PolicyChanged {
            table: table.id(),
            column: index.map(|index| index as u16),
            policy: policy.clone(),
        };
        self.append(&mut state, &record)?;
        table.change_policy(index, policy);
        self.shared.waker.wake();
        Ok(())
    }

    /// Refuses domains that the database does not know. One that is known but missing is accepted:
    /// it is expected back.
    fn check_domains<'a>(
        &self,
        table: &str,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<()> {
        match names.into_iter().find(|name| !self.shared.domains.is_known(name)) {
            None => Ok(()),
            Some(name) => {
                Err(Error::UnknownDomain { domain: name.to_owned(), table: table.to_owned() })
            }
        }
    }

    /// Begins a transaction.
    pub fn begin(&self, level: IsolationLevel) -> Transaction {
        Transaction::new(self, level)
    }

    /// Whether changes of rows are to outlive the process.
    #[inline]
    pub(crate) fn is_durable(&self) -> bool {
        !self.shared.is_volatile
    }

    /// Whether making a commit durable waits for a device.
    pub fn commits_wait(&self) -> bool {
        let is_file = |domain: &Domain| domain.kind() == nacre_pmem::DomainKind::File;
        self.is_durable() && self.domains().iter().any(is_file)
    }

    /// Returns the redo log, creating it if there is none yet; `None` if nothing is to be durable.
    ///
    /// # Errors
    /// No space, I/O.
    pub(crate) fn redo_log(&self) -> Result<Option<&RedoLog>> {
        let redo = &self.shared.redo;
        if redo.get().is_some() || self.shared.is_volatile {
            return Ok(redo.get());
        }
        let mut state = self.manifest();
        if redo.get().is_none() {
            let (domains, options) = (self.domains(), self.shared.redo_options);
            let log = RedoLog::create(&domains, self.shared.database, options)?;
            self.append(&mut state, &Record::RedoSegments { oldest: 1 })?;
            redo.get_or_init(|| log);
        }
        Ok(redo.get())
    }

    /// Makes commits durable that did not wait for it.
    pub(crate) fn flush_redo(&self) -> Result<()> {
        self.shared.redo.get().map_or(Ok(()), RedoLog::flush)
    }

    /// Whether there are commits that did not wait until they are durable.
    pub(crate) fn has_unflushed_commits(&self) -> bool {
        self.shared.redo.get().is_some_and(|log| log.durable() < log.end())
    }

    pub(crate) fn wake(&self) {
        self.shared.waker.wake();
    }

    /// Returns the last commit that transactions see which begin now.
    pub fn last_commit(&self) -> CommitTs {
        self.shared.transactions.now()
    }

    /// Lists the transactions that have not ended, the oldest snapshot first.
    pub fn transactions(&self) -> Vec<TransactionInfo> {
        self.shared.transactions.list()
    }

    /// Sets how many bytes the changes of one transaction may take, 1 GiB unless set; one that
    /// needs more is rolled back.
    pub fn set_transaction_bytes_max(&self, bytes_max: u64) {
        self.shared.transactions.set_bytes_max(bytes_max);
    }

    /// Returns how many versions of rows are kept for snapshots.
    pub fn version_count(&self) -> usize {
        self.listed_tables().iter().map(|table| table.version_count()).sum()
    }

    /// Begins to watch for the end of transactions, one of which is in the way of somebody who may
    /// wait for it, but not for ever: it may wait for them in turn.
    pub fn watch_transactions(&self) -> EndWatch<'_> {
        self.all_transactions().watch()
    }

    pub(crate) fn all_transactions(&self) -> &Transactions {
        &self.shared.transactions
    }

    /// Begins a bulk load into `table`.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::UnknownDomain`], no space or I/O if they leave a column
    /// without a replica.
    pub fn begin_load(&self, table: &Arc<Table>) -> Result<Load> {
        self.require_writable()?;
        let running = Some(RunningLoad::begin(self));
        Load::new(self.clone(), Arc::clone(table), self.take_load_id(), running)
    }

    /// Begins a load of chunks that are frozen, to which nothing gives way.
    ///
    /// # Errors
    /// As for [`Store::begin_load`].
    pub(crate) fn begin_freeze(&self, table: &Arc<Table>) -> Result<Load> {
        self.require_writable()?;
        Load::new(self.clone(), Arc::clone(table), self.take_load_id(), None)
    }

    pub(crate) fn running_loads(&self) -> &RunningLoads {
        &self.shared.running_loads
    }

    /// Returns an id that no load has had.
    pub(crate) fn take_load_id(&self) -> LoadId {
        let mut state = self.manifest();
        let id = LoadId(state.next_load);
        state.next_load += 1;
        id
    }

    /// Returns an id that no run of an index has had.
    pub(crate) fn take_run_id(&self) -> RunId {
        let mut state = self.manifest();
        let id = RunId(state.next_run);
        state.next_run += 1;
        id
    }

    pub(crate) fn redo(&self) -> Option<&RedoLog> {
        self.shared.redo.get()
    }

    /// Returns where the log is now, or would be.
    pub(crate) fn moment(&self) -> Moment {
        let without = || Moment { time: now_micros(), ..Moment::default() };
        self.redo().map_or_else(without, RedoLog::moment)
    }

    pub(crate) fn keeper(&self) -> &Keeper {
        &self.shared.keeper
    }

    /// Whether whoever has brought the log to `end` is to wake maintenance.
    #[inline]
    pub(crate) fn wakes_upkeep(&self, end: Lsn) -> bool {
        self.shared.pace.wakes(end) | self.shared.keeper.wakes(end)
    }

    pub(crate) fn pace(&self) -> &Pace {
        &self.shared.pace
    }

    pub(crate) fn compaction(&self) -> &Compaction {
        &self.shared.compaction
    }

    /// Calls `with` with the views.
    pub(crate) fn with_views<T>(
        &self,
        with: impl FnOnce(&mut BTreeMap<String, Arc<ViewDef>>) -> T,
    ) -> T {
        with(&mut self.shared.views.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the roles, owners and grants that everybody finds.
    pub(crate) fn listed_access(&self) -> Arc<AccessState> {
        Arc::clone(&self.shared.access.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls `with` with the roles, owners and grants, which says whether it changed them.
    pub(crate) fn with_access(&self, with: impl FnOnce(&mut AccessState) -> bool) {
        let mut access = self.shared.access.lock().unwrap_or_else(PoisonError::into_inner);
        if with(Arc::make_mut(&mut access)) {
            drop(access);
            self.bump_access();
        }
    }

    /// Returns a number that is another one when somebody may find other roles, owners or grants
    /// than before.
    #[inline]
    pub fn access_version(&self) -> u64 {
        // ORDERING: pairs with `bump_access`: who sees the new number finds what it is for.
        self.shared.access_version.load(Ordering::Acquire)
    }

    pub(crate) fn bump_access(&self) {
        // ORDERING: comes after what was changed.
        self.shared.access_version.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns a number that is another one when somebody may find other tables, views or columns
    /// than before.
    #[inline]
    pub fn definitions_version(&self) -> u64 {
        // ORDERING: pairs with `bump_definitions`: who sees the new number finds what it is for.
        self.shared.definitions_version.load(Ordering::Acquire)
    }

    pub(crate) fn bump_definitions(&self) {
        // ORDERING: comes after what was changed.
        self.shared.definitions_version.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn all_procedures(&self) -> &Procedures {
        &self.shared.procedures
    }

    pub(crate) fn calls(&self) -> &Calls {
        &self.shared.calls
    }

    pub(crate) fn all_sequences(&self) -> &Sequences {
        &self.shared.sequences
    }

    /// Makes a table that has an id of its own and that nobody finds yet.
    pub(crate) fn new_table(&self, schema: TableSchema, rules: &TableRules) -> Arc<Table> {
        let mut state = self.manifest();
        let id = TableId(state.next_table);
        state.next_table += 1;
        drop(state);
        let stamps = self.shared.transactions.stamps();
        let table = Arc::new(Table::new(id, schema, &self.shared.waker, stamps));
        table.set_rules(rules.clone());
        table
    }

    /// Has everybody find other tables, by a commit, which `change` gets; the caller is at that.
    pub(crate) fn change_tables(
        &self,
        commit: CommitTs,
        change: impl FnOnce(&mut NamedTables, CommitTs),
    ) {
        let mut tables = self.shared.tables.write().unwrap_or_else(PoisonError::into_inner);
        tables.forget_seen(|| self.all_transactions().oldest_start());
        change(&mut tables, commit);
        drop(tables);
        self.bump_definitions();
    }

    pub(crate) fn maintenance_lock(&self) -> &Mutex<()> {
        &self.shared.maintenance
    }

    /// Returns which load maintenance looks at first, and moves on by `step`.
    pub(crate) fn next_job(&self, step: usize) -> usize {
        // ORDERING: the caller holds the maintenance lock.
        self.shared.first_job.fetch_add(step, Ordering::Relaxed)
    }

    /// Looks for domains that have gone or are there again; these get a replica of the manifest,
    /// and all loads are compared with the policies. With `replaces` an empty directory in the
    /// place of a missing domain is taken for its replacement. The caller holds the maintenance
    /// lock.
    pub(crate) fn look_for_domains(&self, replaces: bool) {
        let live = || self.live_parts();
        let changes = self.shared.domains.refresh(replaces, self.database(), live);
        changes.notes.into_iter().for_each(|note| self.note(note));
        if changes.returned.is_empty() {
            return;
        }
        self.repair_manifest();
        self.repair_redo();
        for table in self.listed_tables() {
            table.loads().iter().for_each(|load| load.set_needs_care(true));
        }
    }

    /// Returns the files of all parts that records name.
    fn live_parts(&self) -> LiveParts {
        let mut live = LiveParts::default();
        for load in self.listed_tables().iter().flat_map(|table| table.loads().to_vec()) {
            load.parts().iter().for_each(|part| live.add(load.id(), part.record()));
        }
        live
    }

    /// Counts bytes written for a column, for all of a table, or for no table.
    pub(crate) fn count_wear(
        &self,
        domain: &str,
        owner: Option<(&Table, Option<usize>)>,
        cause: WearCause,
        bytes: u64,
    ) {
        let owner = owner.map(|(table, column)| (table.id(), column));
        self.shared.wear.add(domain, owner, cause, bytes);
    }

    pub(crate) fn wear_counts(&self) -> Vec<(String, WearOwner, WearCause, u64)> {
        self.shared.wear.counts()
    }

    pub(super) fn manifest(&self) -> std::sync::MutexGuard<'_, ManifestState> {
        self.shared.manifest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn require_writable(&self) -> Result<()> {
        if self.shared.is_read_only { Err(Error::ReadOnly) } else { Ok(()) }
    }
}
