//! The indexes of a table, and what a write does to them.
//!
//! 1. Every row of a hot chunk that somebody may see has an entry in every index of its table, from
//!    before its insert is known to anybody until nobody sees its delete any more.
//! 2. A row's key never changes: an update of an indexed column deletes the row and inserts it
//!    elsewhere. So an entry stays right as long as its row exists.
//! 3. So do rows of chunks that were frozen while the database is open, under the id that they had
//!    before or the one that they have now. Rows of other loads have entries once there was reason
//!    to make them (`searched.rs`); until then their loads are searched (`frozen.rs`).
//! 4. After a restart the entries of the hot rows that are there come behind the first answer: an
//!    index is behind until it has them (`fill.rs`), and nobody gets at its entries before.
//!
//! # Invariants
//! 1. An entry has the key that its row has in all versions. Whoever reads checks that the row is
//!    visible; an entry of a row that nobody sees any more does no harm.
//! 2. A write holds the list of indexes for reading, so an index that is added sees all writes
//!    that do not see it (`build.rs`).
//! 3. Entries are reached by [`TableIndex::read`] and [`TableIndex::write`] alone, which return
//!    when the index is not behind; [`TableIndex::read_lists`] and [`TableIndex::write_lists`] are
//!    for who looks at its loads and runs only, and for who fills it.
//! # Concurrency
//! One latch for each index. Lock order: the list of indexes, the latches in its order, each after
//! what the index is behind by, the latch of a chunk; nobody takes a latch of an index while
//! holding that of a chunk. So who fills an index waits for nobody who waits for the index.
//! # Source
//! [Muehlbauer16 2.2.5] deleted and re-inserted records are both in the index; entries go when
//! versions do.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use nacre_column::ColumnBuffer;
use nacre_pmem::structure::KeyBounds;

use super::art::WalkRoom;
use super::fill::Missing;
use super::run::{Run, RunId};
use super::runs::{LiveRun, Runs};
use super::searched::{SearchedLoad, SearchedLoads};
use super::{ArtIndex, Direction, HashIndex, IndexDef, IndexFull, IndexKind, IndexOrigin, Rows};
use crate::error::{Error, Result};
use crate::hot::HotRows;
use crate::id::{CommitTs, RowId};
use crate::key::KeyColumns;
use crate::load::key_text;
use crate::manifest::LoadId;
use crate::mvcc::Snapshot;
use crate::schema::TableSchema;
use crate::stored_load::StoredLoad;
use crate::table::Table;
use crate::value::ValueRef;

/// Most entries of an index that is to get more in memory for frozen rows, or for such that move:
/// about 2 GiB.
const UNASKED_ENTRIES_MAX: u64 = 32 << 20;

/// Keys that a walk collects under the latch before it looks at their rows: few at first, since
/// many walks end at their first row, then more and more.
pub(super) const BATCH_KEYS_FIRST: usize = 8;
pub(super) const BATCH_KEYS: usize = 256;

/// One index of a table.
#[derive(Debug)]
pub struct TableIndex {
    definition: IndexDef,
    key: KeyColumns,
    latched: RwLock<Latched>,
    /// Rows whose entries are to come; held by whoever adds them.
    pub(super) missing: Mutex<Missing>,
    /// An [`IndexState`]; changes while the list of indexes is held for writing, but from
    /// [`IndexState::Behind`], which is over when no row is missing.
    state: AtomicU8,
    /// The first commit from which on keys are unique, if they are to be; changes as the state.
    unique_from: AtomicU64,
}

/// How far an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum IndexState {
    /// Writes add their entries; those of older rows are being added.
    Filling,
    /// All entries are there and writes check their keys, if it is unique; whether older rows have
    /// the same key is not known yet.
    Checked,
    /// Whoever wants may use it, and waits until it has the entries of the rows that were there
    /// when the database was opened.
    Behind,
    /// Whoever wants may use it.
    Ready,
    /// Nobody adds entries any more.
    Dropped,
}

/// Entries of some keys, one behind the other in few allocations.
#[derive(Debug, Default)]
pub(super) struct Batch {
    keys: Vec<u8>,
    /// Where a row's key ends; several rows of one key have the same end, and the first of a batch
    /// begins at 0.
    rows: Vec<(usize, RowId)>,
    walk: WalkRoom,
}

impl Batch {
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.rows.clear();
    }

    /// Gives back memory beyond some bytes.
    pub(super) fn shrink(&mut self, kept_bytes: usize) {
        self.clear();
        self.keys.shrink_to(kept_bytes);
        self.rows.shrink_to(kept_bytes / size_of::<(usize, RowId)>());
        self.walk.shrink(kept_bytes);
    }

    /// Returns the entries in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], RowId)> {
        let (mut start, mut end) = (0, 0);
        self.rows.iter().map(move |&(key_end, row)| {
            if key_end != end {
                (start, end) = (end, key_end);
            }
            (&self.keys[start..end], row)
        })
    }

    /// Returns the last key.
    pub(super) fn last_key(&self) -> Option<&[u8]> {
        self.iter().last().map(|(key, _)| key)
    }
}

/// What the latch of an index protects.
#[derive(Debug)]
pub(super) struct Latched {
    pub(super) entries: Entries,
    /// Loads without entries.
    pub(super) searched: SearchedLoads,
    /// Runs with the entries of loads that have none here.
    pub(super) runs: Runs,
    /// Runs that are not used any more, but in the manifest.
    pub(super) lost: Vec<RunId>,
}

/// The index itself.
#[derive(Debug)]
pub(super) enum Entries {
    Art(ArtIndex),
    Hash(HashIndex),
}

impl Entries {
    fn new(kind: IndexKind) -> Self {
        match kind {
            IndexKind::Art | IndexKind::Hybrid => Self::Art(ArtIndex::new()),
            IndexKind::Hash => Self::Hash(HashIndex::new()),
        }
    }

    pub(super) fn get(&self, key: &[u8]) -> Rows<'_> {
        match self {
            Self::Art(index) => index.get(key),
            Self::Hash(index) => index.get(key),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Art(index) => index.len(),
            Self::Hash(index) => index.len(),
        }
    }

    fn keys(&self) -> usize {
        match self {
            Self::Art(index) => index.keys(),
            Self::Hash(index) => index.keys(),
        }
    }

    pub(super) fn insert(
        &mut self,
        key: &[u8],
        row: RowId,
    ) -> std::result::Result<bool, IndexFull> {
        match self {
            Self::Art(index) => index.insert(key, row),
            Self::Hash(index) => index.insert(key, row),
        }
    }

    fn remove(&mut self, key: &[u8], row: RowId) -> bool {
        match self {
            Self::Art(index) => index.remove(key, row),
            Self::Hash(index) => index.remove(key, row),
        }
    }
}

impl TableIndex {
    /// Makes an empty index of a definition that is valid.
    pub(crate) fn new(schema: &TableSchema, definition: IndexDef, state: IndexState) -> Self {
        let key = KeyColumns::new(schema, &definition.columns);
        let entries = Entries::new(definition.kind);
        let latched = RwLock::new(Latched {
            entries,
            searched: Arc::default(),
            runs: Arc::default(),
            lost: Vec::new(),
        });
        let (state, unique_from) = (AtomicU8::new(state as u8), AtomicU64::new(0));
        Self { definition, key, latched, missing: Mutex::default(), state, unique_from }
    }

    /// Makes that of a table's primary key, if it has one.
    pub(crate) fn of_primary_key(schema: &TableSchema) -> Option<Self> {
        let definition = IndexDef {
            name: schema.primary_key_name.clone(),
            columns: schema.primary_key.clone()?,
            is_unique: true,
            kind: IndexKind::Art,
            origin: IndexOrigin::PrimaryKey,
        };
        Some(Self::new(schema, definition, IndexState::Ready))
    }

    /// Returns what the index is.
    pub fn definition(&self) -> &IndexDef {
        &self.definition
    }

    /// Returns the bytes of memory that the index takes.
    pub fn bytes(&self) -> usize {
        match &self.read().entries {
            Entries::Art(index) => index.bytes(),
            Entries::Hash(index) => index.bytes(),
        }
    }

    /// Returns the number of entries, those included of rows that only old snapshots see, and those
    /// in files.
    pub fn entries(&self) -> usize {
        let latched = self.read();
        let in_runs: u64 = latched.runs.iter().map(LiveRun::entries).sum();
        in_runs as usize + latched.entries.len()
    }

    /// Whether entries of that many rows may come to memory that no statement asked for.
    pub(crate) fn has_room_for(&self, rows: u64) -> bool {
        self.read().entries.len() as u64 + rows <= UNASKED_ENTRIES_MAX
    }

    /// Whether who reads it finds all that it is to have, and nothing that it is not to have.
    pub(crate) fn is_ready(&self) -> bool {
        // ORDERING: pairs with the store in `TableIndexes::set_state`.
        let state = self.state.load(Ordering::Acquire);
        state == IndexState::Ready as u8 || state == IndexState::Behind as u8
    }

    /// Whether entries of rows are to come that were there when the database was opened.
    #[inline]
    pub(super) fn is_behind(&self) -> bool {
        // ORDERING: pairs with the store in `end_behind`: who sees that it is over finds all
        // entries.
        self.state.load(Ordering::Acquire) == IndexState::Behind as u8
    }

    /// Notes that entries are to come, before there are transactions.
    pub(super) fn begin_behind(&self) {
        // ORDERING: whoever uses the index gets the store later.
        self.state.store(IndexState::Behind as u8, Ordering::Relaxed);
    }

    /// Notes that all entries are there; the caller holds what is missing.
    pub(super) fn end_behind(&self) {
        // ORDERING: pairs with the load in `is_behind`.
        self.state.store(IndexState::Ready as u8, Ordering::Release);
    }

    /// Whether an insert has to ask for rows with its key.
    #[inline]
    pub(crate) fn checks_keys(&self) -> bool {
        // ORDERING: as in `is_ready`.
        self.definition.is_unique && self.state.load(Ordering::Acquire) != IndexState::Filling as u8
    }

    /// Whether a snapshot sees at most one row of a key without nulls.
    #[inline]
    pub(crate) fn is_unique_at(&self, snapshot: Snapshot) -> bool {
        // ORDERING: written before the state that lets anybody use the index.
        self.definition.is_unique && self.unique_from.load(Ordering::Relaxed) <= snapshot.start().0
    }

    /// Notes that keys have been unique since a commit.
    pub(super) fn set_unique_from(&self, commit: CommitTs) {
        // ORDERING: as in `is_unique_at`.
        self.unique_from.store(commit.0, Ordering::Relaxed);
    }

    /// Whether chunks' key ranges are of this index.
    pub(crate) fn is_primary(&self, table: &Table) -> bool {
        table.definition().primary_key.as_ref() == Some(&self.definition.columns)
    }

    /// Returns the names of the columns, such as `a, b`.
    pub(crate) fn columns_text(&self, schema: &TableSchema) -> String {
        let name = |column: usize| schema.columns[column].name.as_str();
        self.key.columns().map(name).collect::<Vec<_>>().join(", ")
    }

    /// Returns the values of a key as text, such as `1, x`.
    pub(crate) fn key_text(&self, table: &Table, key: &[ValueRef<'_>]) -> String {
        key_text_of(table, &self.definition.columns, key)
    }

    pub(crate) fn key(&self) -> &KeyColumns {
        &self.key
    }

    /// Takes the latch for reading, when no entry is missing.
    #[inline]
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Latched> {
        if self.is_behind() {
            self.catch_up();
        }
        self.read_lists()
    }

    /// Takes the latch for writing, when no entry is missing.
    #[inline]
    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Latched> {
        if self.is_behind() {
            self.catch_up();
        }
        self.write_lists()
    }

    /// Takes the latch for reading, for who does not look at the entries.
    #[inline]
    pub(super) fn read_lists(&self) -> RwLockReadGuard<'_, Latched> {
        self.latched.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the latch for writing, for who does not look at the entries, or adds those that are
    /// missing.
    #[inline]
    pub(super) fn write_lists(&self) -> RwLockWriteGuard<'_, Latched> {
        self.latched.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the loads that the index has no entries of.
    pub(crate) fn searched(&self) -> SearchedLoads {
        Arc::clone(&self.read_lists().searched)
    }

    /// As [`TableIndex::searched`], with the runs, if there are any.
    pub(super) fn searched_and_runs(&self) -> Option<(SearchedLoads, Runs)> {
        let latched = self.read();
        let has_any = !latched.searched.is_empty() || !latched.runs.is_empty();
        has_any.then(|| (Arc::clone(&latched.searched), Arc::clone(&latched.runs)))
    }

    /// Notes which loads a new index has no entries of.
    pub(crate) fn set_searched(&self, loads: &[Arc<StoredLoad>]) {
        self.write_lists().searched = Arc::new(loads.iter().map(SearchedLoad::new).collect());
    }

    /// Notes a load that there are no entries of, but maybe a run.
    fn add_searched(&self, load: &Arc<StoredLoad>) {
        let mut latched = self.write_lists();
        if !latched.take_into_run(load) {
            Arc::make_mut(&mut latched.searched).push(SearchedLoad::new(load));
        }
    }

    /// Notes that all entries of a load are there.
    pub(crate) fn remove_searched(&self, load: LoadId) {
        let mut latched = self.write_lists();
        Arc::make_mut(&mut latched.searched).retain(|one| one.id() != load);
    }

    /// Whether rows of a load have their entries here.
    pub(super) fn has_entries_of(&self, load: LoadId) -> bool {
        let latched = self.read_lists();
        !latched.searched.iter().any(|one| one.id() == load)
            && !latched.runs.iter().any(|run| run.has(load))
    }

    /// Whether there are entries within `bounds`; for a hash index, whether there are any.
    pub(crate) fn has_keys(&self, bounds: KeyBounds<'_>) -> bool {
        match &self.read().entries {
            Entries::Art(index) => {
                let mut has_keys = false;
                index.range(bounds, Direction::Ascending, |_, _| {
                    has_keys = true;
                    ControlFlow::Break(())
                });
                has_keys
            }
            Entries::Hash(index) => !index.is_empty(),
        }
    }

    /// Returns the rows of `key` that have an entry here, visible or not; those in runs are left
    /// out.
    pub(crate) fn rows_of(&self, key: &[u8]) -> Vec<RowId> {
        self.read().entries.get(key).collect()
    }

    /// Returns the rows of `key`, visible or not, and the loads that have to be searched besides.
    pub(crate) fn rows_and_searched(&self, key: &[u8]) -> (Vec<RowId>, SearchedLoads) {
        loop {
            let latched = self.read();
            let mut rows = latched.entries.get(key).collect();
            let (searched, runs) = (Arc::clone(&latched.searched), Arc::clone(&latched.runs));
            drop(latched);
            // Each turn returns or takes one run out.
            if self.add_rows_in(&runs, key, &mut rows) {
                return (rows, searched);
            }
        }
    }

    /// Returns the rows of all keys within `bounds`, visible or not, and the loads that have to be
    /// searched besides. A hash index has no order and returns no rows.
    pub(crate) fn rows_within(&self, bounds: KeyBounds<'_>) -> (Vec<RowId>, SearchedLoads) {
        loop {
            let mut found = Vec::new();
            let latched = self.read();
            if let Entries::Art(index) = &latched.entries {
                index.range(bounds, Direction::Ascending, |_, rows| {
                    found.extend(rows);
                    ControlFlow::Continue(())
                });
            }
            let (searched, runs) = (Arc::clone(&latched.searched), Arc::clone(&latched.runs));
            drop(latched);
            // Each turn returns or takes one run out.
            if self.add_rows_within(&runs, bounds, &mut found) {
                return (found, searched);
            }
        }
    }

    /// Returns the rows of `key`, visible or not: in `few` if they fit, else in `many`; and the
    /// loads that have to be searched besides, if there are any.
    #[inline]
    pub(super) fn rows_into<'a>(
        &self,
        key: &[u8],
        few: &'a mut [RowId],
        many: &'a mut Vec<RowId>,
    ) -> (&'a [RowId], Option<SearchedLoads>) {
        let latched = self.read();
        if !latched.runs.is_empty() {
            drop(latched);
            let searched = self.rows_in_runs_too(key, many);
            return (many.as_slice(), searched);
        }
        let searched = (!latched.searched.is_empty()).then(|| Arc::clone(&latched.searched));
        let mut count = 0;
        for row in latched.entries.get(key) {
            match few.get_mut(count) {
                Some(slot) => *slot = row,
                None => {
                    if many.is_empty() {
                        many.extend_from_slice(few);
                    }
                    many.push(row);
                }
            }
            count += 1;
        }
        (if many.is_empty() { &few[..count] } else { many }, searched)
    }

    /// Replaces `out` by the entries of the first `keys_max` keys within `bounds` in `direction`
    /// and returns whether these were all. A hash index has no order and returns nothing.
    pub(super) fn batch(
        &self,
        bounds: KeyBounds<'_>,
        direction: Direction,
        keys_max: usize,
        out: &mut Batch,
    ) -> bool {
        out.clear();
        let latched = self.read();
        let Entries::Art(index) = &latched.entries else {
            return true;
        };
        let (mut keys, mut is_all) = (0, true);
        let Batch { keys: key_bytes, rows: found, walk } = out;
        index.range_in(walk, bounds, direction, |key, rows| {
            if keys == keys_max {
                is_all = false;
                return ControlFlow::Break(());
            }
            keys += 1;
            key_bytes.extend_from_slice(key);
            let end = key_bytes.len();
            found.extend(rows.map(|row| (end, row)));
            ControlFlow::Continue(())
        });
        is_all
    }

    /// Adds the entries of rows that are there already.
    ///
    /// # Errors
    /// [`Error::Internal`] if the index is full.
    pub(super) fn add(&self, entries: &[(Vec<u8>, RowId)]) -> Result<()> {
        let mut latched = self.write();
        for (key, row) in entries {
            latched.entries.insert(key, *row).map_err(|IndexFull| self.full())?;
        }
        Ok(())
    }

    /// Gives entries that are there the ids that their rows have now.
    pub(crate) fn rename(&self, entries: &[(Vec<u8>, RowId)], id: impl Fn(RowId) -> Option<RowId>) {
        let Latched { entries: index, .. } = &mut *self.write();
        for (key, row) in entries {
            // Under its old id the row is found all the same.
            if index.get(key).any(|there| there == *row)
                && let Some(id) = id(*row)
                && index.insert(key, id).is_ok()
            {
                index.remove(key, *row);
            }
        }
    }

    #[cold]
    fn full(&self) -> Error {
        Error::Internal { reason: format!("index \"{}\" is full", self.definition.name) }
    }
}

/// Returns values of some columns as text, such as `1, x`; they may be those of another table.
pub(crate) fn key_text_of(table: &Table, columns: &[usize], values: &[ValueRef<'_>]) -> String {
    let one_row = |(&column, value): (&usize, &ValueRef<'_>)| {
        let mut buffer = ColumnBuffer::new(table.column_type(column));
        let fitting = value.fit(table.definition(), column).unwrap_or(ValueRef::Null);
        fitting.push_to(&mut buffer);
        buffer
    };
    let buffers: Vec<ColumnBuffer> = columns.iter().zip(values).map(one_row).collect();
    key_text(&buffers.iter().collect::<Vec<_>>(), 0)
}

/// All indexes of a table, that of the primary key first.
#[derive(Debug, Default)]
pub(crate) struct TableIndexes(RwLock<Vec<Arc<TableIndex>>>);

/// The indexes of a table during a write.
pub(crate) type IndexList<'a> = RwLockReadGuard<'a, Vec<Arc<TableIndex>>>;

impl TableIndexes {
    pub(crate) fn new(schema: &TableSchema) -> Self {
        let primary = TableIndex::of_primary_key(schema).map(Arc::new);
        Self(RwLock::new(primary.into_iter().collect()))
    }

    /// Returns the list, which does not change while it is held. Nobody may ask for it twice.
    #[inline]
    pub(crate) fn hold(&self) -> IndexList<'_> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all indexes that may be used.
    pub(crate) fn all(&self) -> Vec<Arc<TableIndex>> {
        self.hold().iter().filter(|index| index.is_ready()).cloned().collect()
    }

    /// Returns the index called `name`, if it may be used.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<TableIndex>> {
        let is_it = |index: &&Arc<TableIndex>| index.definition.name == name && index.is_ready();
        self.hold().iter().find(is_it).cloned()
    }

    /// Adds an index: writes that begin from now on add their entries to it, and those before are
    /// done when it returns.
    pub(crate) fn add(&self, index: &Arc<TableIndex>) {
        self.change().push(Arc::clone(index));
    }

    /// Notes a load that no index has entries of.
    pub(crate) fn add_searched(&self, load: &Arc<StoredLoad>) {
        self.hold().iter().for_each(|index| index.add_searched(load));
    }

    /// Notes that a load is none of the table any more.
    pub(crate) fn forget_load(&self, load: LoadId) {
        self.hold().iter().for_each(|index| index.forget_load(load));
    }

    /// Forgets all loads of a table that is dropped, so that their files can go.
    pub(crate) fn forget_loads(&self) {
        self.hold().iter().for_each(|index| index.forget_loads());
    }

    /// Whether maintenance is to write runs.
    pub(crate) fn has_hybrid(&self) -> bool {
        self.hold().iter().any(|index| index.definition.kind == IndexKind::Hybrid)
    }

    /// Adds an index of a table without rows, with its runs.
    pub(crate) fn add_empty(&self, schema: &TableSchema, definition: IndexDef, runs: Vec<Run>) {
        let index = TableIndex::new(schema, definition, IndexState::Ready);
        index.set_runs(runs);
        self.add(&Arc::new(index));
    }

    /// Takes an index out.
    pub(crate) fn remove(&self, index: &Arc<TableIndex>) {
        // Who found it in the list before goes on to read, and rows may then get other keys.
        index.catch_up();
        let mut list = self.change();
        list.retain(|other| !Arc::ptr_eq(other, index));
        // ORDERING: as in `set_state`.
        index.state.store(IndexState::Dropped as u8, Ordering::Release);
        drop(list);
        index.forget_runs();
    }

    /// Says how far an index is; writes that began before are done when it returns.
    pub(crate) fn set_state(&self, index: &TableIndex, state: IndexState) {
        let _writes_wait = self.change();
        // ORDERING: pairs with the loads in `TableIndex`: who sees the state sees the entries.
        index.state.store(state as u8, Ordering::Release);
    }

    fn change(&self) -> RwLockWriteGuard<'_, Vec<Arc<TableIndex>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs `insert`, which makes a row of `values`, with all latches of `indexes` held, and adds its
/// entries: until both are done nobody else can look for the row's keys. `check` gets each unique
/// index with the rows of the key there and refuses the insert if one of them stands in the way;
/// `key` is room for keys.
///
/// # Errors
/// What `check` and `insert` return; [`Error::Internal`] if an index is full. Then there is no
/// entry.
pub(crate) fn insert_entries(
    indexes: &[Arc<TableIndex>],
    values: &[ValueRef<'_>],
    key: &mut Vec<u8>,
    check: &dyn Fn(&TableIndex, Rows<'_>) -> Result<()>,
    insert: &mut dyn FnMut() -> Result<RowId>,
) -> Result<RowId> {
    let Some((index, others)) = indexes.split_first() else {
        return insert();
    };
    let start = key.len();
    let has_null = index.key.encode(index.key.columns().map(|column| values[column]), key);
    let end = key.len();
    let Latched { entries: latched, .. } = &mut *index.write();
    if latched.keys() >= super::KEYS_MAX {
        return Err(index.full());
    }
    if index.checks_keys() && !has_null {
        check(index, latched.get(&key[start..end]))?;
    }
    let row = insert_entries(others, values, key, check, insert)?;
    latched.insert(&key[start..end], row).map_err(|IndexFull| index.full())?;
    Ok(row)
}

/// Returns for each of the indexes the keys of rows of a hot chunk, as they stand there.
pub(crate) fn keys_in(
    indexes: &[Arc<TableIndex>],
    rows: &HotRows,
    (chunk, some): (u64, &[u16]),
) -> Vec<Vec<(Vec<u8>, RowId)>> {
    let key_of = |index: &TableIndex, row: u16| {
        let mut key = Vec::new();
        let value = |column| rows.column(column).get(row.into());
        index.key.encode(index.key.columns().map(value), &mut key);
        (key, RowId::hot(chunk, row))
    };
    indexes.iter().map(|index| some.iter().map(|&row| key_of(index, row)).collect()).collect()
}

/// Takes out what [`keys_in`] returned.
pub(crate) fn remove_entries(indexes: &[Arc<TableIndex>], entries: &[Vec<(Vec<u8>, RowId)>]) {
    for (index, entries) in indexes.iter().zip(entries) {
        if !entries.is_empty() {
            let mut latched = index.write();
            for (key, row) in entries {
                latched.entries.remove(key, *row);
            }
        }
    }
}

/// Puts back what [`remove_entries`] took out.
///
/// # Errors
/// [`Error::Internal`] if an index is full.
pub(crate) fn add_entries(
    indexes: &[Arc<TableIndex>],
    entries: &[Vec<(Vec<u8>, RowId)>],
) -> Result<()> {
    indexes.iter().zip(entries).try_for_each(|(index, entries)| index.add(entries))
}
