//! Creating and dropping tables with their unique keys and foreign keys.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::definition::{ForeignKeyDef, TableKeys};
use super::links::{ForeignKey, connect, disconnect, serves_child};
use crate::access::Securable;
use crate::error::{Error, Result};
use crate::index::{IndexDef, IndexKind, IndexOrigin, TableIndex};
use crate::manifest::{Record, TableId};
use crate::schema::NAME_BYTES_MAX;
use crate::store::Store;
use crate::table::Table;

/// What belongs to a table that is being created.
pub(crate) struct Attached {
    pub(crate) records: Vec<Record>,
    keys: Vec<Arc<ForeignKey>>,
}

impl Attached {
    /// Lets the tables know of their foreign keys.
    pub(crate) fn connect(&self) {
        self.keys.iter().for_each(connect);
    }
}

/// Gives a table that nobody knows yet its indexes, and says what is to be recorded. The caller
/// holds the manifest.
///
/// # Errors
/// [`Error::TableExists`], [`Error::UnknownTable`], [`Error::InvalidDefinition`].
pub(crate) fn attach(store: &Store, table: &Arc<Table>, keys: &TableKeys) -> Result<Attached> {
    let mut attached = Attached { records: Vec::new(), keys: Vec::new() };
    for definition in &keys.unique {
        add_index(store, table, definition.clone(), &mut attached)?;
    }
    attach_foreign(store, table, &keys.foreign, &mut attached)?;
    Ok(attached)
}

/// As [`attach`], for a table that is to take the place of another one, whose indexes it has.
///
/// # Errors
/// As for [`attach`].
pub(crate) fn attach_again(
    store: &Store,
    table: &Arc<Table>,
    indexes: Vec<IndexDef>,
    keys: &[ForeignKeyDef],
) -> Result<Attached> {
    let mut attached = Attached { records: Vec::new(), keys: Vec::new() };
    let schema = table.definition();
    for definition in indexes {
        definition.validate(schema).map_err(|reason| Error::InvalidDefinition { reason })?;
        table.table_indexes().add_empty(schema, definition.clone(), Vec::new());
        attached.records.push(Record::IndexCreated { table: table.id(), definition });
    }
    attach_foreign(store, table, keys, &mut attached)?;
    Ok(attached)
}

fn attach_foreign(
    store: &Store,
    table: &Arc<Table>,
    keys: &[ForeignKeyDef],
    attached: &mut Attached,
) -> Result<()> {
    let schema = table.definition();
    for definition in keys {
        let parent = match definition.referenced {
            None => Arc::clone(table),
            Some(id) => find_parent(store, table, id)?,
        };
        definition
            .validate(schema, parent.definition())
            .map_err(|reason| Error::InvalidDefinition { reason })?;
        if !table.indexes().iter().any(|index| serves_child(index, definition)) {
            let index = IndexDef {
                name: free_name(store, table, &definition.name),
                columns: definition.columns.clone(),
                is_unique: false,
                kind: IndexKind::Art,
                origin: IndexOrigin::ForeignKey,
            };
            add_index(store, table, index, attached)?;
        }
        let key = ForeignKey::new(definition.clone(), table, &parent)?;
        attached.keys.push(Arc::new(key));
    }
    if !keys.is_empty() {
        let record = Record::ForeignKeys { table: table.id(), keys: keys.to_vec() };
        attached.records.push(record);
    }
    Ok(())
}

fn add_index(
    store: &Store,
    table: &Arc<Table>,
    definition: IndexDef,
    attached: &mut Attached,
) -> Result<()> {
    let name = &definition.name;
    let schema = table.definition();
    definition.validate(schema).map_err(|reason| Error::InvalidDefinition { reason })?;
    store.check_new_name(name)?;
    if *name == schema.name || table.index(name).is_ok() {
        return Err(Error::TableExists { table: name.clone() });
    }
    table.table_indexes().add_empty(schema, definition.clone(), Vec::new());
    attached.records.push(Record::IndexCreated { table: table.id(), definition });
    Ok(())
}

/// Returns a name for the index of a constraint: its own, or that with a number.
fn free_name(store: &Store, table: &Table, constraint: &str) -> String {
    let is_free = |name: &String| store.check_new_name(name).is_ok() && table.index(name).is_err();
    let cut = constraint.floor_char_boundary(NAME_BYTES_MAX - 8);
    // Ends, since the database has finitely many names.
    let numbered = (1_u32..).map(|number| format!("{}{number}", &constraint[..cut]));
    std::iter::once(constraint.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
}

/// Returns the parent table of a child.
fn find_parent(store: &Store, child: &Table, id: TableId) -> Result<Arc<Table>> {
    let table = store.tables().into_iter().find(|table| table.id() == id);
    // Replaced or dropped since the keys were read.
    table.ok_or_else(|| Error::DefinitionChanged { table: child.names().table() })
}

/// Connects the tables of a database that is being opened.
///
/// # Errors
/// [`Error::InvalidDefinition`] if an index is missing.
pub(crate) fn connect_all(
    tables: &BTreeMap<TableId, Arc<Table>>,
    keys: BTreeMap<TableId, Vec<ForeignKeyDef>>,
) -> Result<()> {
    for (child, definition) in
        keys.iter().flat_map(|(id, keys)| keys.iter().map(move |key| (id, key)))
    {
        let parent = definition.referenced.unwrap_or(*child);
        if let (Some(child), Some(parent)) = (tables.get(child), tables.get(&parent)) {
            connect(&Arc::new(ForeignKey::new(definition.clone(), child, parent)?));
        }
    }
    Ok(())
}

/// What goes with tables that are dropped.
#[derive(Default)]
struct Dropped {
    tables: Vec<Arc<Table>>,
    /// Foreign keys of other tables that refer to them.
    cut: Vec<Arc<ForeignKey>>,
    /// Indexes that were there for these.
    indexes: Vec<(Arc<Table>, Arc<TableIndex>)>,
}

impl Store {
    /// Returns the outgoing foreign keys of a table, except keys dropped by this transaction and
    /// keys to uncommitted tables of other transactions.
    pub fn foreign_keys_of(&self, table: &Table) -> Vec<ForeignKeyDef> {
        let definitions = self.definitions().unwrap_or_default();
        let is_there = |key: &&Arc<ForeignKey>| {
            let parent = key.parent();
            let is_hidden = parent.is_some_and(|one| one.is_draft() && !definitions.makes(&one));
            !is_hidden && !definitions.cuts(key)
        };
        let links = table.links().lists();
        let there = links.outgoing.iter().filter(is_there);
        there.map(|key| key.definition().clone()).collect()
    }

    /// Drops tables together and, once nobody reads them any more, their pools; with `cascade`
    /// also the foreign keys of other tables that refer to them.
    ///
    /// # Errors
    /// [`Error::UnknownTable`]; [`Error::DependentObjects`] if there are such foreign keys;
    /// [`Error::ReadOnly`], I/O.
    pub fn drop_tables(&self, names: &[&str], cascade: bool) -> Result<()> {
        self.require_writable()?;
        if let Some((tx, definitions)) = self.draft() {
            let mut dropped = Dropped::of(self, names)?;
            dropped.find_cut(cascade, |key| definitions.cuts(key))?;
            return self.draft_drop(tx, &dropped.tables, &dropped.cut);
        }
        let _fence = self.fence_calls()?;
        self.record_with(
            || {
                let mut dropped = Dropped::of(self, names)?;
                dropped.find_cut(cascade, |key| key.child().is_none())?;
                dropped.tables.iter().try_for_each(|table| table.require_unclaimed())?;
                Ok((dropped.records(), dropped))
            },
            |dropped| {
                self.publish_tables(&dropped.tables, |tables, commit| {
                    dropped.tables.iter().for_each(|table| tables.unbind(table.id(), commit));
                });
                dropped.cut.iter().for_each(disconnect);
                for (child, index) in &dropped.indexes {
                    child.table_indexes().remove(index);
                }
                for table in &dropped.tables {
                    let links = table.links().lists();
                    links.outgoing.iter().chain(&links.incoming).for_each(disconnect);
                    self.forget_access(&Securable::Table(table.id()));
                    table.drop_loads();
                }
            },
        )
    }
}

impl Dropped {
    /// Finds the tables called `names`, each once.
    fn of(store: &Store, names: &[&str]) -> Result<Self> {
        let mut dropped = Self::default();
        for name in names {
            let table = store.table(name)?;
            if !dropped.tables.iter().any(|other| other.id() == table.id()) {
                dropped.tables.push(table);
            }
        }
        Ok(dropped)
    }

    /// Finds the foreign keys that go, too, except those that are `gone` already.
    ///
    /// # Errors
    /// [`Error::DependentObjects`] if there are any, unless it is a `cascade`.
    fn find_cut(
        &mut self,
        cascade: bool,
        is_gone: impl Fn(&Arc<ForeignKey>) -> bool,
    ) -> Result<()> {
        let mut reasons = Vec::new();
        for table in &self.tables {
            for key in table.links().lists().incoming.iter().filter(|key| !is_gone(key)) {
                let Some(child) = key.child() else {
                    continue;
                };
                if self.tables.iter().any(|dropped| dropped.id() == child.id()) {
                    continue;
                }
                let (constraint, name) = (&key.definition().name, &table.schema().name);
                reasons.push(format!(
                    "constraint {constraint} on table {} depends on table {name}",
                    child.schema().name
                ));
                self.cut.push(Arc::clone(key));
            }
        }
        if !cascade && !reasons.is_empty() {
            let names: Vec<String> =
                self.tables.iter().map(|table| table.schema().name.clone()).collect();
            return Err(Error::DependentObjects {
                what: format!("table {}", names.join(", ")),
                reasons,
            });
        }
        Ok(())
    }

    /// Returns what is to be recorded.
    fn records(&mut self) -> Vec<Record> {
        let children: BTreeMap<TableId, Arc<Table>> = self
            .cut
            .iter()
            .filter_map(|key| key.child())
            .map(|child| (child.id(), child))
            .collect();
        let mut records = Vec::new();
        for (table, child) in children {
            let mut left = child.links().lists().outgoing.clone();
            left.retain(|key| !self.cut.iter().any(|cut| Arc::ptr_eq(cut, key)));
            let keys = left.iter().map(|key| key.definition().clone()).collect();
            records.push(Record::ForeignKeys { table, keys });
            for index in leftover_indexes(&child, &left) {
                let name = index.definition().name.clone();
                records.push(Record::IndexDropped { table, name });
                self.indexes.push((Arc::clone(&child), index));
            }
        }
        let dropped = self.tables.iter().map(|table| Record::TableDropped { table: table.id() });
        records.extend(dropped);
        records
    }
}

/// Returns the indexes of a table that were there for foreign keys other than those that are left.
pub(crate) fn leftover_indexes(child: &Table, left: &[Arc<ForeignKey>]) -> Vec<Arc<TableIndex>> {
    let mut indexes = child.indexes();
    indexes.retain(|index| {
        let is_own = index.definition().origin == IndexOrigin::ForeignKey;
        is_own && !left.iter().any(|key| Arc::ptr_eq(key.child_index(), index))
    });
    indexes
}
