//! Creating and dropping indexes while transactions go on.
//!
//! 1. The empty index is added to the table's list: writes from then on add their entries, and
//!    delete and re-insert a row instead of changing its key in place; those before are done.
//! 2. The entries of all hot rows that somebody may see are added. Rows whose key was changed in
//!    place have another key in an older version; they are left until no snapshot needs that.
//! 3. If the index is unique, writes begin to check their keys; then all keys are compared.
//! 4. One record makes the index last, and from then on it is used.
//!
//! # Invariants
//! 1. Whatever fails, the table's list is without the index afterwards and the manifest too.
//! 2. The entries of an index that is ready are right for every snapshot, also for older ones.
//! # Concurrency
//! The table's commit lock is held all the while, so loads wait to be published, and frozen and
//! hot rows stay what they are. Transactions never wait.
//! # Source
//! [Muehlbauer16 2.2.5] indexes refer to all records that a transaction may see.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nacre_column::CHUNK_ROWS;

use super::fill::FILL_ROWS;
use super::{IndexDef, IndexOrigin, IndexState, TableIndex, keys_in};
use crate::error::{Error, Result};
use crate::foreign_key::ForeignKey;
use crate::hot::{HotChunk, HotRows, VersionKind};
use crate::id::TxId;
use crate::manifest::Record;
use crate::mvcc::{IsolationLevel, NOBODY};
use crate::store::Store;
use crate::table::Table;
use crate::uniqueness;

/// How long a new index waits for transactions that have not ended, before it gives up: enough for
/// those that are short.
const WAIT: Duration = Duration::from_secs(2);

/// Time between two looks at them.
const PAUSE: Duration = Duration::from_millis(2);

/// What [`Store::indexes`] tells of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexInfo {
    pub table: String,
    /// Names of the columns in key order.
    pub columns: Vec<String>,
    pub definition: IndexDef,
    /// Entries, those included of rows that only old snapshots see.
    pub entries: usize,
    /// Bytes of memory that they take.
    pub bytes: usize,
}

impl Store {
    /// Creates an index of a table, while others read and write it.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] if it is to be unique and is not; [`Error::SerializationConflict`]
    /// if transactions that have not ended see older keys, or decide whether it is unique;
    /// [`Error::TableExists`] if a table or index has the name; [`Error::InvalidDefinition`],
    /// [`Error::DefinitionChanged`] if the table was dropped; [`Error::ReadOnly`]; that of a
    /// damaged block; no space, I/O.
    pub fn create_index(&self, table: &Arc<Table>, definition: IndexDef) -> Result<()> {
        self.require_writable()?;
        let schema = table.definition();
        definition.validate(schema).map_err(|reason| Error::InvalidDefinition { reason })?;
        if let Some((tx, _)) = self.draft() {
            return self.draft_index(tx, table, definition);
        }
        table.require_unclaimed()?;
        let index = Arc::new(TableIndex::new(schema, definition, IndexState::Filling));
        self.build_index(table, &index)?;
        self.cover_loads(table);
        Ok(())
    }

    fn build_index(&self, table: &Arc<Table>, index: &Arc<TableIndex>) -> Result<()> {
        let _fence = self.fence_calls()?;
        let _commit = table.commit_lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.check_new_name(&index.definition().name)?;
        // Under the commit lock no other loads come.
        index.set_searched(&table.loads());
        table.table_indexes().add(index);
        let built =
            build(self, table, index, NOBODY).and_then(|()| self.publish_index(table, index));
        if built.is_err() {
            table.table_indexes().remove(index);
        }
        built
    }

    /// Builds new indexes for a transaction, which may have written their tables, runs `with`, and
    /// has the indexes be ready then. Loads into the tables wait to be published meanwhile.
    ///
    /// # Errors
    /// As for [`Store::create_index`], and those of `with`: then the indexes are gone.
    pub(crate) fn with_indexes<T>(
        &self,
        indexes: &[(Arc<Table>, Arc<TableIndex>)],
        tx: TxId,
        with: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let tables: BTreeMap<_, _> = indexes.iter().map(|(table, _)| (table.id(), table)).collect();
        let mut loads_wait = Vec::with_capacity(tables.len());
        for table in tables.values() {
            loads_wait.push(table.commit_lock.lock().unwrap_or_else(PoisonError::into_inner));
        }
        for (table, index) in indexes {
            index.set_searched(&table.loads());
            table.table_indexes().add(index);
        }
        let built = indexes.iter().try_for_each(|(table, index)| build(self, table, index, tx));
        let done = built.and_then(|()| with());
        for (table, index) in indexes {
            match done.is_ok() {
                true => table.table_indexes().set_state(index, IndexState::Ready),
                false => table.table_indexes().remove(index),
            }
        }
        drop(loads_wait);
        done
    }

    fn publish_index(&self, table: &Arc<Table>, index: &TableIndex) -> Result<()> {
        let definition = index.definition();
        let check = || {
            table.require_undropped()?;
            self.check_new_name(&definition.name)?;
            let definition = definition.clone();
            Ok(vec![Record::IndexCreated { table: table.id(), definition }])
        };
        self.record(check, || table.table_indexes().set_state(index, IndexState::Ready))
    }

    /// Returns the index called `name` with its table.
    pub fn find_index(&self, name: &str) -> Option<(Arc<Table>, Arc<TableIndex>)> {
        let Some(definitions) = self.definitions() else {
            return self.tables().into_iter().find_map(|table| {
                let index = table.table_indexes().get(name)?;
                Some((table, index))
            });
        };
        let mut new = definitions.new_indexes().iter();
        let found = new.find(|(_, index)| index.definition().name == name);
        found.cloned().or_else(|| {
            self.tables().into_iter().find_map(|table| {
                let is_it = |index: &Arc<TableIndex>| {
                    index.definition().name == name && !definitions.drops_index(index)
                };
                let index = table.indexes().into_iter().find(is_it)?;
                Some((table, index))
            })
        })
    }

    /// Lists all indexes, those of a table together, tables in name order.
    pub fn indexes(&self) -> Vec<IndexInfo> {
        let of_table = |table: Arc<Table>| {
            let schema = Arc::clone(table.definition());
            let indexes = self.indexes_of(&table);
            let info = move |index: Arc<TableIndex>| IndexInfo {
                table: schema.name.clone(),
                columns: index.key().columns().map(|at| schema.columns[at].name.clone()).collect(),
                definition: index.definition().clone(),
                entries: index.entries(),
                bytes: index.bytes(),
            };
            indexes.into_iter().map(info)
        };
        self.tables().into_iter().flat_map(of_table).collect()
    }

    /// Returns the indexes of a table, those included that the transaction at work is to build.
    pub fn indexes_of(&self, table: &Table) -> Vec<Arc<TableIndex>> {
        let mut indexes = table.indexes();
        if let Some(definitions) = self.definitions() {
            indexes.retain(|index| !definitions.drops_index(index));
            let new = definitions.new_indexes().iter().filter(|(of, _)| of.id() == table.id());
            indexes.extend(new.map(|(_, index)| Arc::clone(index)));
        }
        indexes
    }

    /// Checks that no table, index or view is called `name`: they share their names.
    pub(crate) fn check_new_name(&self, name: &str) -> Result<()> {
        match self.has_table_or_index(name) || self.view(name).is_some() {
            true => Err(Error::TableExists { table: name.to_owned() }),
            false => Ok(()),
        }
    }

    /// Whether a table or an index has the name.
    pub(crate) fn has_table_or_index(&self, name: &str) -> bool {
        self.table(name).is_ok() || self.find_index(name).is_some()
    }

    /// Drops an index that a statement created.
    ///
    /// # Errors
    /// [`Error::UnknownIndex`]; [`Error::DependentObjects`] if it belongs to a constraint;
    /// [`Error::ReadOnly`], I/O.
    pub fn drop_index(&self, table: &Arc<Table>, name: &str) -> Result<()> {
        self.require_writable()?;
        let index = self.index_of(table, name)?;
        if index.definition().origin != IndexOrigin::Statement {
            let what = format!("index {name}");
            let table = &table.schema().name;
            let reasons = vec![format!("constraint {name} on table {table} requires index {name}")];
            return Err(Error::DependentObjects { what, reasons });
        }
        self.drop_index_of(table, &index)
    }

    /// Drops the index of a UNIQUE constraint, and so the constraint.
    ///
    /// # Errors
    /// [`Error::UnknownIndex`]; [`Error::DependentObjects`] if a foreign key needs it;
    /// [`Error::ReadOnly`], I/O.
    pub fn drop_constraint_index(&self, table: &Arc<Table>, name: &str) -> Result<()> {
        self.require_writable()?;
        let index = self.index_of(table, name)?;
        match index.definition().origin {
            IndexOrigin::Unique => self.drop_index_of(table, &index),
            _ => Err(Error::UnknownIndex {
                index: name.to_owned(),
                table: table.schema().name.clone(),
            }),
        }
    }

    /// Returns the index of a table called `name`.
    fn index_of(&self, table: &Table, name: &str) -> Result<Arc<TableIndex>> {
        match self.find_index(name) {
            Some((of, index)) if of.id() == table.id() => Ok(index),
            _ => table.index(name),
        }
    }

    fn drop_index_of(&self, table: &Arc<Table>, index: &Arc<TableIndex>) -> Result<()> {
        let name = index.definition().name.as_str();
        let reason = |key: &Arc<ForeignKey>| {
            let (constraint, child) = (&key.definition().name, key.child());
            let child = child.map_or_else(String::new, |child| child.schema().name.clone());
            format!("constraint {constraint} on table {child} depends on index {name}")
        };
        let check = || {
            let links = table.links().lists();
            let needs = |key: &&Arc<ForeignKey>| Arc::ptr_eq(key.parent_index(), index);
            let reasons: Vec<String> = links.incoming.iter().filter(needs).map(reason).collect();
            if !reasons.is_empty() {
                return Err(Error::DependentObjects { what: format!("index {name}"), reasons });
            }
            Ok(vec![Record::IndexDropped { table: table.id(), name: name.to_owned() }])
        };
        // It is to be full when it goes; better now than when others wait for that.
        index.catch_up();
        if let Some((tx, _)) = self.draft() {
            check()?;
            self.draft_drop_index(tx, table, index);
            return Ok(());
        }
        let _fence = self.fence_calls()?;
        let check = || {
            table.require_undropped()?;
            table.require_unclaimed()?;
            // Another statement may have dropped it meanwhile.
            table.index(name)?;
            check()
        };
        self.record(check, || table.table_indexes().remove(index))
    }
}

/// Gives an index all entries that it is to have, and checks that it may have them, for a
/// transaction or [`NOBODY`].
fn build(store: &Store, table: &Arc<Table>, index: &Arc<TableIndex>, tx: TxId) -> Result<()> {
    let deadline = Instant::now() + WAIT;
    let mut left = fill(table, index)?;
    loop {
        left = add_settled(index, left)?;
        if left.is_empty() {
            break;
        }
        let others = "transactions that have not ended see or made other keys of rows";
        pause(store, deadline, conflict(table, index, others))?;
    }
    if !index.definition().is_unique {
        return Ok(());
    }
    table.table_indexes().set_state(index, IndexState::Checked);
    loop {
        match uniqueness::check_all(table, index, tx) {
            Err(error @ Error::SerializationConflict { .. }) => pause(store, deadline, error)?,
            checked => {
                checked?;
                index.set_unique_from(
                    store.begin(IsolationLevel::RepeatableRead).snapshot().start(),
                );
                return Ok(());
            }
        }
    }
}

/// A row of a hot chunk.
type Place = (Arc<HotChunk>, u16);

/// Adds the entries of hot rows and returns the rows that have older keys.
fn fill(table: &Table, index: &Arc<TableIndex>) -> Result<Vec<Place>> {
    let mut left = Vec::new();
    for chunk in table.hot().all().iter() {
        for start in (0..CHUNK_ROWS).step_by(FILL_ROWS) {
            let entries = chunk.with(|rows| {
                let end = (start + FILL_ROWS).min(rows.len());
                let mut some = Vec::new();
                for row in (start..end).filter(|&row| rows.may_be_seen(row)) {
                    match has_other_keys(index, rows, row) {
                        false => some.push(row as u16),
                        true => left.push((Arc::clone(chunk), row as u16)),
                    }
                }
                keys_in(std::slice::from_ref(index), rows, (chunk.id(), &some))
            });
            entries.iter().try_for_each(|entries| index.add(entries))?;
        }
    }
    Ok(left)
}

/// Adds the entries of rows that have one key by now, and returns the other rows.
fn add_settled(index: &Arc<TableIndex>, places: Vec<Place>) -> Result<Vec<Place>> {
    let mut left = Vec::new();
    for (chunk, row) in places {
        let entries = chunk.with(|rows| {
            let at = usize::from(row);
            if has_other_keys(index, rows, at) {
                return None;
            }
            let some: &[u16] = if rows.may_be_seen(at) { &[row] } else { &[] };
            Some(keys_in(std::slice::from_ref(index), rows, (chunk.id(), some)))
        });
        match entries {
            Some(entries) => entries.iter().try_for_each(|entries| index.add(entries))?,
            None => left.push((chunk, row)),
        }
    }
    Ok(left)
}

/// Whether a row has another key in an older version.
fn has_other_keys(index: &TableIndex, rows: &HotRows, row: usize) -> bool {
    rows.changes(row)
        .any(|entry| entry.kind == VersionKind::Update && index.key().contains(entry.column.into()))
}

/// Lets others end, and versions go that nobody needs; after the deadline returns `error`.
fn pause(store: &Store, deadline: Instant, error: Error) -> Result<()> {
    if Instant::now() >= deadline {
        return Err(error);
    }
    thread::sleep(PAUSE);
    // Whoever ends collects versions.
    store.begin(IsolationLevel::RepeatableRead).rollback();
    Ok(())
}

fn conflict(table: &Table, index: &TableIndex, others: &str) -> Error {
    let reason = format!("{others} that index \"{}\" is to have", index.definition().name);
    Error::SerializationConflict { table: table.schema().name.clone(), reason }
}
