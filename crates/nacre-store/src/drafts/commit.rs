//! Commit of a transaction that defined something.
//!
//! 1. Rows of sequences are written, like others.
//! 2. New indexes of tables that others see are built, as `CREATE INDEX` of its own does.
//! 3. With the manifest held, what is defined is compared with what there is.
//! 4. Under the lock of commits the redo group, which says that it is one of definitions, becomes
//!    durable, then the records, of which the last names the group, then what others see changes.
//! 5. Foreign keys and indexes that are gone are taken out, and files of dropped tables removed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::definitions::Definitions;
use crate::error::{Error, Result};
use crate::foreign_key::{ForeignKey, disconnect, leftover_indexes};
use crate::id::CommitTs;
use crate::index::{IndexOrigin, TableIndex};
use crate::manifest::{Record, TableId};
use crate::mvcc::Transaction;
use crate::rules::TableRules;
use crate::schema::TableSchema;
use crate::sequences::{delete_row, insert_row};
use crate::store::Store;
use crate::table::Table;
use crate::views::ViewDef;

impl Transaction {
    /// Commits what the transaction defined together with the rows that it changed.
    ///
    /// # Errors
    /// As for [`Transaction::commit`].
    pub(crate) fn commit_definitions(&mut self) -> Result<CommitTs> {
        let drafting = self.store().clone();
        let Some(definitions) = drafting.definitions().filter(|some| !some.is_empty()) else {
            return self.commit_rows(None);
        };
        let store = drafting.for_everybody();
        let tx = self.snapshot().tx;
        let _fence = store.fence_calls()?;
        let commit = || match definitions.has_names() {
            false => self.publish(&store, &definitions),
            true => store.with_sequences(|all| {
                for name in definitions.new_names() {
                    let is_dropped = definitions.dropped_sequences.contains_key(&name);
                    if all.contains_key(&name) && !is_dropped {
                        return Err(changed(&name));
                    }
                }
                let dropped = definitions.dropped_sequences.values();
                // Nobody draws from them until it is decided.
                let mut held: Vec<_> = dropped.map(|sequence| sequence.hold()).collect();
                for (old, state) in definitions.dropped_sequences.values().zip(&held) {
                    let new = definitions.sequences.get(&old.def().name);
                    if new.is_some_and(|new| new.missed(old, state)) {
                        return Err(changed(&old.def().name));
                    }
                }
                let mut gone = definitions.dropped_sequences.values();
                gone.try_for_each(|sequence| delete_row(&store, self, sequence.def()))?;
                let mut new = definitions.sequences.values();
                new.try_for_each(|sequence| insert_row(&store, self, sequence))?;
                let ts = self.publish(&store, &definitions)?;
                held.iter_mut().for_each(|state| state.drop_sequence());
                definitions.sequences.values().for_each(|sequence| sequence.hold().settle());
                definitions.change_sequences(all);
                Ok(ts)
            }),
        };
        let ts = store.with_indexes(&definitions.indexes, tx, commit)?;
        drafting.close_draft(tx);
        Ok(ts)
    }

    /// Makes rows and definitions durable together, and others see both.
    fn publish(&mut self, store: &Store, definitions: &Definitions) -> Result<CommitTs> {
        if self.has_writes() {
            // Its creation is a record, too.
            store.redo_log()?;
        }
        store.record_in_commit(definitions, |define| self.commit_rows(Some(define)))
    }
}

impl Definitions {
    /// Compares the definitions with what there is, and returns what is to be recorded. The caller
    /// holds the manifest.
    pub(crate) fn records(&self, store: &Store) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        self.record_dropped_indexes(&mut records)?;
        for (name, table) in &self.tables {
            self.require_free(store, name)?;
            let (schema, rules) = (TableSchema::clone(&table.schema()), table.rules());
            records.push(Record::of_table(table.id(), schema, TableRules::clone(&rules)));
        }
        for table in self.tables.values() {
            self.record_attached(store, table, &mut records)?;
        }
        self.sequences.keys().try_for_each(|name| self.require_free(store, name))?;
        self.record_dropped(&mut records)?;
        for (table, index) in &self.indexes {
            let definition = index.definition().clone();
            if table.is_dropped() {
                return Err(changed(&table.schema().name));
            }
            self.require_free(store, &definition.name)?;
            records.push(Record::IndexCreated { table: table.id(), definition });
        }
        for (name, view) in &self.views {
            let there = store.view(name);
            if there.as_ref().map(Arc::as_ptr) != view.before.as_ref().map(Arc::as_ptr) {
                return Err(changed(name));
            }
            match &view.now {
                Some(now) => {
                    if self.has_table_or_index(store, name) || self.tables.contains_key(name) {
                        return Err(changed(name));
                    }
                    records.push(Record::ViewDefined(ViewDef::clone(now)));
                }
                None if there.is_some() => {
                    records.push(Record::ViewDropped { name: name.clone() });
                }
                None => {}
            }
        }
        records.extend(self.access.records(store)?);
        Ok(records)
    }

    fn record_dropped_indexes(&self, records: &mut Vec<Record>) -> Result<()> {
        for (table, index) in &self.dropped_indexes {
            if table.is_draft() || self.drops(table) {
                continue;
            }
            let name = index.definition().name.clone();
            if table.is_dropped() || !index.is_ready() {
                return Err(changed(&name));
            }
            records.push(Record::IndexDropped { table: table.id(), name });
        }
        Ok(())
    }

    /// Records what goes: foreign keys of tables that stay and what was there for them, then
    /// tables.
    fn record_dropped(&self, records: &mut Vec<Record>) -> Result<()> {
        for (table, (child, left)) in self.children() {
            let keys = left.iter().map(|key| key.definition().clone()).collect();
            records.push(Record::ForeignKeys { table, keys });
            for index in leftover_indexes(&child, &left) {
                let name = index.definition().name.clone();
                records.push(Record::IndexDropped { table, name });
            }
        }
        for table in self.dropped.values().filter(|table| !table.is_draft()) {
            let links = table.links().lists();
            if table.is_dropped() || !links.incoming.iter().all(|key| self.cuts(key)) {
                return Err(changed(&table.schema().name));
            }
            records.push(Record::TableDropped { table: table.id() });
        }
        Ok(())
    }

    /// Returns the tables that others see of which foreign keys are cut, each with those that are
    /// left.
    fn children(&self) -> BTreeMap<TableId, (Arc<Table>, Vec<Arc<ForeignKey>>)> {
        let children = self.cut.iter().filter_map(|key| key.child());
        let stays = |child: &Arc<Table>| !child.is_draft() && !self.drops(child);
        let with_left = |child: Arc<Table>| (child.id(), (Arc::clone(&child), self.left(&child)));
        children.filter(stays).map(with_left).collect()
    }

    /// Returns the foreign keys that a table goes on to have.
    fn left(&self, child: &Table) -> Vec<Arc<ForeignKey>> {
        let mut left = child.links().lists().outgoing.clone();
        left.retain(|key| !self.cut.iter().any(|cut| Arc::ptr_eq(cut, key)));
        left
    }

    /// Records the indexes and foreign keys of a new table.
    fn record_attached(
        &self,
        store: &Store,
        table: &Arc<Table>,
        records: &mut Vec<Record>,
    ) -> Result<()> {
        let is_new = |index: &Arc<TableIndex>| {
            index.definition().origin != IndexOrigin::PrimaryKey && !self.drops_index(index)
        };
        for index in table.indexes().into_iter().filter(is_new) {
            let definition = index.definition().clone();
            self.require_free(store, &definition.name)?;
            records.push(Record::IndexCreated { table: table.id(), definition });
        }
        let left = self.left(table);
        for key in &left {
            if key.parent().is_none_or(|parent| self.drops(&parent)) {
                return Err(changed(&table.schema().name));
            }
        }
        if !left.is_empty() {
            let keys = left.iter().map(|key| key.definition().clone()).collect();
            records.push(Record::ForeignKeys { table: table.id(), keys });
        }
        Ok(())
    }

    /// Refuses a name that somebody has got meanwhile.
    fn require_free(&self, store: &Store, name: &str) -> Result<()> {
        let is_dropped = self.views.get(name).is_some_and(|view| view.now.is_none());
        let is_view = store.view(name).is_some() && !is_dropped;
        match is_view || self.has_table_or_index(store, name) {
            true => Err(changed(name)),
            false => Ok(()),
        }
    }

    /// Whether there is a table or an index of this name that stays.
    fn has_table_or_index(&self, store: &Store, name: &str) -> bool {
        let is_table = store.table(name).is_ok_and(|table| !self.drops(&table));
        let index = store.find_index(name);
        is_table
            || index.is_some_and(|(table, index)| !self.drops(&table) && !self.drops_index(&index))
    }

    /// Publishes the definitions at a commit; `gone` are the dropped and replaced tables.
    pub(crate) fn show(&self, store: &Store, gone: &[Arc<Table>], commit: CommitTs) {
        store.change_tables(commit, |tables, commit| {
            for table in gone {
                tables.unbind(table.id(), commit);
                table.mark_dropped();
            }
            for (name, table) in &self.tables {
                table.set_visible_from(commit);
                tables.bind(table, name, commit);
                table.publish();
            }
        });
        store.with_views(|views| self.change_views(views));
        store.bump_definitions();
        self.access.show(store);
    }

    /// Takes out what is gone, of which nothing is recorded any more.
    pub(crate) fn finish(&self) {
        let left: Vec<_> = self.children().into_values().collect();
        self.cut.iter().for_each(disconnect);
        for (child, keys) in left {
            for index in leftover_indexes(&child, &keys) {
                child.table_indexes().remove(&index);
            }
        }
        for (table, index) in &self.dropped_indexes {
            table.table_indexes().remove(index);
        }
        for table in self.dropped.values() {
            let links = table.links().lists();
            links.outgoing.iter().chain(&links.incoming).for_each(disconnect);
            table.drop_loads();
        }
    }
}

fn changed(name: &str) -> Error {
    let reason = "another transaction changed its definition".to_owned();
    Error::SerializationConflict { table: name.to_owned(), reason }
}
