//! Tables and the loads they consist of.
//!
//! A [`Table`] changes by gaining loads, by hot chunks that become loads, by transactions that
//! write its hot chunks or delete rows of frozen ones, and its replica policies can be set; a
//! [`TableSnapshot`] lists what there is at one moment and stays readable for as long as somebody
//! holds it, also past `DROP TABLE`.
//!
//! # Concurrency
//! Everything here may be used from any thread.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use nacre_column::{Bitmap, ColumnType, REPLICAS_MAX, ReplicaPolicy};

use crate::chunk::Chunk;
use crate::error::{Error, Result};
use crate::foreign_key::Links;
use crate::freeze::Forwards;
use crate::hot::{FrozenDeletes, HotChunkRef, HotList};
use crate::id::{CommitTs, TxId};
use crate::index::TableIndexes;
use crate::manifest::{LoadId, TableId};
use crate::mvcc::{Snapshot, Stamps};
use crate::rules::TableRules;
use crate::schema::TableSchema;
use crate::statistics::StatisticsCache;
use crate::stored_load::{OpenLoad, StoredLoad};
use crate::uniqueness::COMMITTED;
use crate::value::{ValueRef, whole_numbers};
use crate::waker::Waker;

/// What messages call a table and its columns.
#[derive(Debug)]
pub(crate) struct TableNames {
    column_count: usize,
    /// Replaced when the table or a column is renamed.
    schema: RwLock<Arc<TableSchema>>,
}

impl TableNames {
    pub(crate) fn of(schema: &Arc<TableSchema>) -> Self {
        let column_count = schema.columns.len();
        Self { column_count, schema: RwLock::new(Arc::clone(schema)) }
    }

    fn now(&self) -> Arc<TableSchema> {
        Arc::clone(&self.schema.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, schema: &Arc<TableSchema>) {
        *self.schema.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(schema);
    }

    pub(crate) fn column_count(&self) -> usize {
        self.column_count
    }

    pub(crate) fn table(&self) -> String {
        self.now().name.clone()
    }

    pub(crate) fn column(&self, column: usize) -> Option<String> {
        self.now().columns.get(column).map(|column| column.name.clone())
    }

    /// Returns how messages name a block.
    pub(crate) fn object(&self, column: usize, chunk: u64) -> String {
        let schema = self.now();
        let column = schema.columns.get(column).map_or("?", |column| column.name.as_str());
        format!("table \"{}\", column \"{column}\", chunk {chunk}", schema.name)
    }
}

/// A table of an open database.
#[derive(Debug)]
pub struct Table {
    id: TableId,
    names: Arc<TableNames>,
    column_types: Vec<ColumnType>,
    /// The first and the last whole number of each column: most values are checked by these alone.
    whole_numbers: Vec<(i64, i64)>,
    /// Replaced when a policy is set.
    schema: RwLock<Arc<TableSchema>>,
    rules: RwLock<Arc<TableRules>>,
    /// As the table was created; other names and policies may hold now.
    definition: Arc<TableSchema>,
    loads: RwLock<Arc<Vec<Arc<StoredLoad>>>>,
    hot: HotList,
    statistics: StatisticsCache,
    /// Where the rows of hot chunks are that were frozen.
    forwards: Forwards,
    /// Held for writing while hot chunks become a load.
    layout: RwLock<()>,
    /// Deletes by load and number of the chunk in it; most chunks have none.
    deletes: RwLock<BTreeMap<(LoadId, u32), Arc<FrozenDeletes>>>,
    indexes: TableIndexes,
    links: Links,
    /// Loads that are about to be published.
    pending: Mutex<Vec<Arc<StoredLoad>>>,
    /// Blocks handed out, at `column * REPLICAS_MAX + replica`.
    reads: Vec<AtomicU64>,
    is_dropped: AtomicBool,
    /// The transaction that made the table, until it commits; else 0.
    draft_of: AtomicU64,
    /// The transaction that is about to drop the table, or 0.
    dropped_by: AtomicU64,
    /// Set while the table is written anew.
    is_closed: AtomicBool,
    /// The commit that created the table; older snapshots do not see it.
    visible_from: AtomicU64,
    /// Set before the first load is announced or published, and never reset: as long as it is
    /// not, no row is frozen.
    has_frozen: AtomicBool,
    waker: Arc<Waker>,
    /// Held from the check of a load's keys to its publication.
    pub(crate) commit_lock: Mutex<()>,
}

impl Table {
    pub(crate) fn new(
        id: TableId,
        schema: TableSchema,
        waker: &Arc<Waker>,
        stamps: &Arc<Stamps>,
    ) -> Self {
        let counters = schema.columns.len() * REPLICAS_MAX;
        let column_types: Vec<ColumnType> =
            schema.columns.iter().map(|column| column.column_type).collect();
        let whole_numbers = column_types.iter().copied().map(whole_numbers).collect();
        let definition = Arc::new(schema);
        Self {
            id,
            whole_numbers,
            names: Arc::new(TableNames::of(&definition)),
            hot: HotList::new(&column_types, stamps),
            statistics: StatisticsCache::default(),
            forwards: Forwards::default(),
            layout: RwLock::default(),
            column_types,
            schema: RwLock::new(Arc::clone(&definition)),
            rules: RwLock::default(),
            indexes: TableIndexes::new(&definition),
            links: Links::default(),
            definition,
            loads: RwLock::default(),
            deletes: RwLock::default(),
            pending: Mutex::default(),
            reads: (0..counters).map(|_| AtomicU64::new(0)).collect(),
            is_dropped: AtomicBool::new(false),
            draft_of: AtomicU64::new(0),
            dropped_by: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            visible_from: AtomicU64::new(0),
            has_frozen: AtomicBool::new(false),
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

    /// Returns what rows have to meet and what columns hold unless a row says. Whoever inserts
    /// rows sees to it.
    pub fn rules(&self) -> Arc<TableRules> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets the rules, which the manifest has.
    pub(crate) fn set_rules(&self, rules: TableRules) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
    }

    /// Returns the type of `column`.
    ///
    /// # Panics
    /// If the table has no such column.
    pub fn column_type(&self, column: usize) -> ColumnType {
        self.column_types[column]
    }

    /// Returns the loads published so far, without regard to transactions: no hot chunk, and no
    /// deleted row is left out.
    pub fn snapshot(self: &Arc<Self>) -> TableSnapshot {
        TableSnapshot {
            table: Arc::clone(self),
            loads: self.loads(),
            moment: None,
            hot: Arc::default(),
        }
    }

    /// Returns the table with all that is committed by now, and nothing of a transaction that has
    /// not ended.
    pub fn committed(self: &Arc<Self>) -> TableSnapshot {
        self.snapshot_at(&COMMITTED)
    }

    /// Returns the table as a snapshot sees it.
    ///
    /// # Errors
    /// [`Error::DefinitionChanged`] if the table was made or dropped since the snapshot.
    pub fn seen_at(self: &Arc<Self>, moment: &Snapshot) -> Result<TableSnapshot> {
        self.require_visible(moment)?;
        let seen = self.snapshot_at(moment);
        // A drop after this check leaves the collected loads as they are.
        self.require_undropped()?;
        Ok(seen)
    }

    /// As [`Table::seen_at`], without the checks.
    pub fn snapshot_at(self: &Arc<Self>, moment: &Snapshot) -> TableSnapshot {
        let _layout = self.read_layout();
        let mut loads = self.loads();
        let sees = |load: &Arc<StoredLoad>| load.visible_from() <= moment.start;
        if !loads.iter().all(sees) {
            loads = Arc::new(loads.iter().filter(|load| sees(load)).cloned().collect());
        }
        let hot = self.hot.all().iter().map(|chunk| HotChunkRef::new(chunk, *moment)).collect();
        let moment = Some(*moment);
        TableSnapshot { table: Arc::clone(self), loads, moment, hot: Arc::new(hot) }
    }

    /// Has chunks that are made from now on note for so many rows each where versions are, for
    /// measurements of what suits.
    ///
    /// # Panics
    /// A new chunk, if this is no power of two up to 32,768.
    #[doc(hidden)]
    pub fn set_position_rows(&self, rows: usize) {
        self.hot.set_range_rows(rows);
    }

    /// Brings a value into the form of its column.
    ///
    /// # Errors
    /// As for [`ValueRef::fit`], with the names that the table and the column have now.
    ///
    /// # Panics
    /// If the table has no such column.
    #[inline(always)]
    pub(crate) fn fit<'a>(&self, value: ValueRef<'a>, column: usize) -> Result<ValueRef<'a>> {
        if let ValueRef::Int(number) = value {
            let (first, last) = self.whole_numbers[column];
            if first <= number && number <= last {
                return Ok(value);
            }
        }
        self.fit_any(value, column)
    }

    #[inline(never)]
    fn fit_any<'a>(&self, value: ValueRef<'a>, column: usize) -> Result<ValueRef<'a>> {
        value.fit(&self.definition, column).or_else(|_| value.fit(&self.schema(), column))
    }

    /// Returns the definition; its names and replica policies may be old ones.
    #[inline]
    pub(crate) fn definition(&self) -> &Arc<TableSchema> {
        &self.definition
    }

    #[inline]
    pub(crate) fn hot(&self) -> &HotList {
        &self.hot
    }

    pub(crate) fn statistics(&self) -> &StatisticsCache {
        &self.statistics
    }

    #[inline]
    pub(crate) fn forwards(&self) -> &Forwards {
        &self.forwards
    }

    /// Keeps hot chunks from becoming a load; waits for one that is about to, which takes about a
    /// microsecond.
    pub(crate) fn read_layout(&self) -> RwLockReadGuard<'_, ()> {
        self.layout.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps others from asking what the table consists of.
    pub(crate) fn write_layout(&self) -> RwLockWriteGuard<'_, ()> {
        self.layout.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn table_indexes(&self) -> &TableIndexes {
        &self.indexes
    }

    /// Returns the foreign keys from and to the table.
    #[inline]
    pub(crate) fn links(&self) -> &Links {
        &self.links
    }

    /// Returns the loads that are about to be published. Who wants all loads asks for these first:
    /// one that is not among them has yet to look at the indexes, or is published.
    pub(crate) fn pending_loads(&self) -> Vec<Arc<StoredLoad>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether there may be frozen rows, or are about to be. Whoever asks holds or has held the
    /// latch of an index: a load that is announced later looks at that index later.
    #[inline]
    pub(crate) fn may_have_frozen(&self) -> bool {
        // ORDERING: pairs with the stores in `announce_load` and `add_load`.
        self.has_frozen.load(Ordering::Acquire)
    }

    /// Notes a load that is about to be published.
    pub(crate) fn announce_load(&self, load: &Arc<StoredLoad>) {
        // ORDERING: pairs with the load in `may_have_frozen`.
        self.has_frozen.store(true, Ordering::Release);
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.push(Arc::clone(load));
    }

    /// Notes that a load is published, or never will be.
    pub(crate) fn withdraw_load(&self, load: &Arc<StoredLoad>) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.retain(|other| !Arc::ptr_eq(other, load));
    }

    /// Checks that the table has these columns.
    pub(crate) fn check_columns(&self, columns: &[usize]) -> Result<()> {
        let count = self.column_types.len();
        match columns.iter().find(|column| **column >= count) {
            None => Ok(()),
            Some(column) => {
                Err(Error::UnknownColumn { table: self.names.table(), column: column.to_string() })
            }
        }
    }

    /// Returns a frozen chunk if the snapshot sees its load.
    pub(crate) fn frozen_chunk(
        self: &Arc<Self>,
        load: LoadId,
        index: u32,
        moment: &Snapshot,
    ) -> Result<Option<Chunk>> {
        let loads = self.loads();
        let Some(position) = position_of(&loads, load) else {
            return Ok(None);
        };
        let found = &loads[position];
        if found.visible_from() > moment.start || index >= found.chunk_count() {
            return Ok(None);
        }
        let number = chunks_in(&loads[..position]) + u64::from(index);
        Ok(Some(Chunk::new(self, found, &found.mapped()?, index as usize, number)))
    }

    /// Returns the load of a frozen chunk, mapped, if the snapshot sees it.
    ///
    /// # Errors
    /// [`Error::LoadDamaged`].
    #[inline]
    pub(crate) fn frozen_load(
        &self,
        load: LoadId,
        index: u32,
        moment: &Snapshot,
    ) -> Result<Option<Arc<OpenLoad>>> {
        let loads = self.loads.read().unwrap_or_else(PoisonError::into_inner);
        let Some(position) = position_of(&loads, load) else {
            return Ok(None);
        };
        let found = &loads[position];
        if found.visible_from() > moment.start || index >= found.chunk_count() {
            return Ok(None);
        }
        if let Some(known) = found.known() {
            return Ok(Some(known));
        }
        let found = Arc::clone(found);
        // Parts are mapped without the lock.
        drop(loads);
        found.mapped().map(Some)
    }

    /// Returns how many chunks come before those of a load.
    pub(crate) fn chunks_before(&self, load: LoadId) -> u64 {
        let loads = self.loads();
        let position = position_of(&loads, load);
        position.map_or(0, |position| chunks_in(&loads[..position]))
    }

    /// Returns where the deletes of a frozen chunk are noted.
    pub(crate) fn frozen_deletes(&self, load: LoadId, index: u32) -> Arc<FrozenDeletes> {
        if let Some(deletes) = self.deletes_of(load, index) {
            return deletes;
        }
        let mut all = self.deletes.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry((load, index)).or_default())
    }

    /// Returns the deletes of a frozen chunk if there were any.
    pub(crate) fn deletes_of(&self, load: LoadId, index: u32) -> Option<Arc<FrozenDeletes>> {
        let all = self.deletes.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&(load, index)).cloned()
    }

    /// Returns all that was deleted of frozen chunks, by load and number of the chunk in it.
    pub(crate) fn all_deletes(&self) -> Vec<((LoadId, u32), Arc<FrozenDeletes>)> {
        let all = self.deletes.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().map(|(place, deletes)| (*place, Arc::clone(deletes))).collect()
    }

    /// Returns how many versions the table has.
    pub(crate) fn version_count(&self) -> usize {
        let hot: usize = self.hot.all().iter().map(|chunk| chunk.version_count()).sum();
        let deletes = self.deletes.read().unwrap_or_else(PoisonError::into_inner);
        hot + deletes.values().map(|deletes| deletes.version_count()).sum::<usize>()
    }

    pub(crate) fn loads(&self) -> Arc<Vec<Arc<StoredLoad>>> {
        Arc::clone(&self.loads.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn names(&self) -> &Arc<TableNames> {
        &self.names
    }

    /// Adds a load that the indexes have no entries of.
    pub(crate) fn add_load(&self, load: Arc<StoredLoad>) {
        self.indexes.add_searched(&load);
        self.add_frozen(load);
        self.wake_for_runs();
    }

    /// Has maintenance write runs for new loads, if the table has a hybrid index.
    pub(crate) fn wake_for_runs(&self) {
        if self.indexes.has_hybrid() {
            self.wake();
        }
    }

    /// Adds a load of hot chunks, whose entries are there.
    pub(crate) fn add_frozen(&self, load: Arc<StoredLoad>) {
        // ORDERING: as in `announce_load`.
        self.has_frozen.store(true, Ordering::Release);
        let mut loads = self.loads.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut loads).push(load);
    }

    /// Takes a load out whose rows are elsewhere.
    pub(crate) fn remove_load(&self, id: LoadId) -> Option<Arc<StoredLoad>> {
        self.indexes.forget_load(id);
        let mut loads = self.loads.write().unwrap_or_else(PoisonError::into_inner);
        let position = loads.iter().position(|load| load.id() == id)?;
        Some(Arc::make_mut(&mut loads).remove(position))
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
        // ORDERING: pairs with the release store in `mark_dropped`; commits of loads also hold
        // the manifest's mutex, which orders them against drops.
        self.is_dropped.load(Ordering::Acquire)
    }

    /// Has nobody but a transaction write the table, until it commits.
    pub(crate) fn set_draft_of(&self, tx: TxId) {
        // ORDERING: nobody else has the table yet.
        self.draft_of.store(tx.0, Ordering::Relaxed);
    }

    /// Lets everybody write the table, which is committed.
    pub(crate) fn publish(&self) {
        // ORDERING: pairs with the load in `is_hidden_from`.
        self.draft_of.store(0, Ordering::Release);
    }

    /// Whether the transaction that made the table has not committed.
    pub fn is_draft(&self) -> bool {
        // ORDERING: as in `is_hidden_from`.
        self.draft_of.load(Ordering::Acquire) != 0
    }

    /// Returns what a load into the table sees of others: what is committed, and what the
    /// transaction did that made the table.
    pub(crate) fn load_view(&self) -> Snapshot {
        // ORDERING: as in `is_hidden_from`.
        match self.draft_of.load(Ordering::Acquire) {
            0 => COMMITTED,
            tx => Snapshot { tx: TxId(tx), ..COMMITTED },
        }
    }

    /// Whether another transaction than `tx` made the table and has not committed.
    #[inline]
    pub(crate) fn is_hidden_from(&self, tx: TxId) -> bool {
        // ORDERING: pairs with the store in `publish`.
        let draft_of = self.draft_of.load(Ordering::Acquire);
        draft_of != 0 && draft_of != tx.0
    }

    /// Has `tx` be the one that is about to drop the table.
    ///
    /// # Errors
    /// [`Error::DefinitionChanged`] if another transaction is.
    pub(crate) fn claim_drop(&self, tx: TxId) -> Result<()> {
        // ORDERING: who is refused does nothing; the commit that follows orders the rest.
        let claimed =
            self.dropped_by.compare_exchange(0, tx.0, Ordering::AcqRel, Ordering::Acquire);
        match claimed {
            Err(other) if other != tx.0 => Err(self.closed_error()),
            _ => Ok(()),
        }
    }

    /// Refuses to change the definition of a table that another transaction is about to drop.
    ///
    /// # Errors
    /// [`Error::SerializationConflict`].
    pub(crate) fn require_unclaimed(&self) -> Result<()> {
        // ORDERING: as in `claim_drop`.
        match self.dropped_by.load(Ordering::Acquire) {
            0 => Ok(()),
            _ => Err(self.closed_error()),
        }
    }

    /// Whether a transaction is about to drop the table.
    #[inline]
    pub(crate) fn is_dropped_by(&self, tx: TxId) -> bool {
        // ORDERING: only the transaction itself sets and resets it.
        self.dropped_by.load(Ordering::Relaxed) == tx.0
    }

    /// Has a transaction not drop the table after all.
    pub(crate) fn give_up_drop(&self, tx: TxId) {
        // ORDERING: as in `claim_drop`.
        let _ = self.dropped_by.compare_exchange(tx.0, 0, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Opens the table for writers, or closes it; returns what held before.
    pub(crate) fn set_closed(&self, is_closed: bool) -> bool {
        // ORDERING: pairs with the acquire load in `require_open`; the commit that follows it
        // orders it against other commits.
        self.is_closed.swap(is_closed, Ordering::AcqRel)
    }

    /// Refuses to write a table that is being rewritten, was made after `start`, or is dropped.
    ///
    /// # Errors
    /// [`Error::DefinitionChanged`].
    #[inline]
    pub(crate) fn require_open(&self, start: CommitTs) -> Result<()> {
        // ORDERING: pairs with `set_closed` and `set_visible_from`.
        let is_open = !self.is_closed.load(Ordering::Acquire) && self.is_visible_at(start);
        if is_open { self.require_undropped() } else { Err(self.closed_error()) }
    }

    /// Refuses results of a read if the table is dropped: its loads may have been missing.
    ///
    /// # Errors
    /// [`Error::DefinitionChanged`].
    #[inline]
    pub(crate) fn require_undropped(&self) -> Result<()> {
        if self.is_dropped() { Err(self.closed_error()) } else { Ok(()) }
    }

    /// Returns the error for a table that is rewritten or dropped, or a snapshot from before it.
    #[cold]
    pub(crate) fn closed_error(&self) -> Error {
        Error::DefinitionChanged { table: self.schema().name.clone() }
    }

    /// Refuses to read with a snapshot from before the table was made.
    ///
    /// # Errors
    /// [`Error::DefinitionChanged`].
    #[inline]
    pub(crate) fn require_visible(&self, snapshot: &Snapshot) -> Result<()> {
        match self.is_visible_at(snapshot.start) {
            true => Ok(()),
            false => Err(self.closed_error()),
        }
    }

    #[inline]
    fn is_visible_at(&self, start: CommitTs) -> bool {
        // ORDERING: pairs with `set_visible_from`.
        self.visible_from.load(Ordering::Acquire) <= start.0
    }

    /// Sets from when on snapshots belong to this table.
    pub(crate) fn set_visible_from(&self, moment: CommitTs) {
        // ORDERING: pairs with `is_visible_at`; the table is not in the map of tables yet.
        self.visible_from.store(moment.0, Ordering::Release);
    }

    /// Replaces names and rules, which the manifest has.
    pub(crate) fn redefine(&self, schema: TableSchema, rules: TableRules) {
        let schema = Arc::new(schema);
        self.names.set(&schema);
        *self.schema.write().unwrap_or_else(PoisonError::into_inner) = schema;
        self.set_rules(rules);
    }

    /// Refuses further writes and reads of the table.
    pub(crate) fn mark_dropped(&self) {
        // ORDERING: pairs with the acquire load in `is_dropped`.
        self.is_dropped.store(true, Ordering::Release);
    }

    /// Marks the table and its files for removal.
    pub(crate) fn drop_loads(&self) {
        self.mark_dropped();
        let mut loads = self.loads.write().unwrap_or_else(PoisonError::into_inner);
        let gone = std::mem::take(&mut *loads);
        // Files are removed without the lock.
        drop(loads);
        self.indexes.forget_loads();
        gone.iter().for_each(|load| load.doom());
    }
}

/// Returns where a load is in the list: nearly always in the order of the ids, but loads that are
/// made at the same time are published in any.
#[inline]
fn position_of(loads: &[Arc<StoredLoad>], id: LoadId) -> Option<usize> {
    let found = loads.binary_search_by_key(&id, |load| load.id()).ok();
    found.or_else(|| loads.iter().position(|load| load.id() == id))
}

fn chunks_in(loads: &[Arc<StoredLoad>]) -> u64 {
    loads.iter().map(|load| u64::from(load.chunk_count())).sum()
}

/// What a table consists of at one moment.
#[derive(Clone, Debug)]
pub struct TableSnapshot {
    table: Arc<Table>,
    loads: Arc<Vec<Arc<StoredLoad>>>,
    /// Whose view it is; without one all loads are seen and nothing else.
    moment: Option<Snapshot>,
    hot: Arc<Vec<HotChunkRef>>,
}

impl TableSnapshot {
    /// Returns the table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    pub(crate) fn loads(&self) -> &Arc<Vec<Arc<StoredLoad>>> {
        &self.loads
    }

    /// Returns the number of rows; touches no pool.
    pub fn rows(&self) -> u64 {
        let frozen: u64 = self.loads.iter().map(|load| load.rows()).sum();
        let hot: u64 = self.hot.iter().map(|chunk| chunk.count() as u64).sum();
        frozen.saturating_sub(self.deleted_count()) + hot
    }

    fn deleted_count(&self) -> u64 {
        let Some(moment) = self.moment else {
            return 0;
        };
        let deletes = self.table.deletes.read().unwrap_or_else(PoisonError::into_inner);
        let stamps = self.table.hot.stamps();
        let is_seen = |load: &LoadId| self.loads.iter().any(|seen| seen.id() == *load);
        let seen = deletes.iter().filter(|((load, _), _)| is_seen(load));
        seen.map(|(_, deletes)| deletes.count(moment, stamps) as u64).sum()
    }

    /// Tells whether a row of a frozen chunk is deleted for the snapshot; touches no pool.
    pub fn has_deleted(&self) -> bool {
        self.deleted_count() > 0
    }

    /// Returns the hot chunks, whose rows come after those of all frozen chunks.
    pub fn hot_chunks(&self) -> &[HotChunkRef] {
        &self.hot
    }

    /// Returns a bit for each of some rows of a frozen chunk, set if it is deleted; `None` if none
    /// of them is.
    pub fn deleted_rows(&self, chunk: &Chunk, rows: Range<usize>) -> Option<Bitmap> {
        let moment = self.moment?;
        let deletes = self.table.deletes_of(chunk.load_id(), chunk.index() as u32)?;
        deletes.bits(rows, moment, self.table.hot.stamps())
    }

    /// Tells whether for every load the domain of at least one part is there.
    pub fn is_reachable(&self) -> bool {
        self.loads.iter().all(|load| load.is_reachable())
    }

    /// Returns the number of frozen chunks; touches no pool.
    pub fn chunk_count(&self) -> u64 {
        self.loads.iter().map(|load| u64::from(load.chunk_count())).sum()
    }

    /// Returns the bytes of all replicas; touches no pool.
    pub fn pool_bytes(&self) -> u64 {
        self.loads.iter().map(|load| load.pool_bytes()).sum()
    }

    /// Returns all frozen chunks in row order; maps the pools that are not mapped yet.
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
