//! The definitions of one transaction, and how they change what is found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::access::AccessChanges;
use crate::error::Result;
use crate::foreign_key::{ForeignKey, disconnect};
use crate::id::TxId;
use crate::index::TableIndex;
use crate::manifest::TableId;
use crate::rules::TableRules;
use crate::schema::TableSchema;
use crate::sequences::Sequence;
use crate::table::Table;
use crate::views::ViewDef;

/// An index and its table.
pub(crate) type IndexOf = (Arc<Table>, Arc<TableIndex>);

/// A view that a transaction defines, replaces or drops.
#[derive(Clone, Debug)]
pub(super) struct ViewDraft {
    /// What others had under the name at first.
    pub(super) before: Option<Arc<ViewDef>>,
    pub(super) now: Option<Arc<ViewDef>>,
}

/// What is different for a transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Definitions {
    /// New tables.
    pub(super) tables: BTreeMap<String, Arc<Table>>,
    /// Tables that are gone, those included that were new.
    pub(super) dropped: BTreeMap<TableId, Arc<Table>>,
    /// Those of them that are replaced, and take no writes of others.
    pub(super) closed: BTreeSet<TableId>,
    /// New tables that were redefined, as they were before, in that order.
    pub(super) redefined: Vec<(Arc<Table>, Arc<TableSchema>, Arc<TableRules>)>,
    /// Foreign keys of other tables that go with them.
    pub(super) cut: Vec<Arc<ForeignKey>>,
    /// New indexes of tables that others see.
    pub(super) indexes: Vec<IndexOf>,
    /// New indexes of new tables, which are in the tables' lists.
    pub(super) built: Vec<IndexOf>,
    pub(super) dropped_indexes: Vec<IndexOf>,
    pub(super) views: BTreeMap<String, ViewDraft>,
    pub(super) sequences: BTreeMap<String, Arc<Sequence>>,
    /// Sequences of everybody that are gone.
    pub(super) dropped_sequences: BTreeMap<String, Arc<Sequence>>,
    /// Roles, owners and grants.
    pub(crate) access: AccessChanges,
}

impl Definitions {
    pub(super) fn is_empty(&self) -> bool {
        self.tables.is_empty()
            && self.dropped.is_empty()
            && self.indexes.is_empty()
            && self.dropped_indexes.is_empty()
            && self.views.is_empty()
            && self.access.is_empty()
            && !self.has_sequences()
    }

    fn has_sequences(&self) -> bool {
        !self.sequences.is_empty() || !self.dropped_sequences.is_empty()
    }

    /// Whether there is something that a sequence of others may have the name of, or a sequence.
    pub(super) fn has_names(&self) -> bool {
        self.has_sequences() || self.new_names().next().is_some()
    }

    /// Returns the names of all that is new.
    pub(super) fn new_names(&self) -> impl Iterator<Item = String> {
        let indexes = self.indexes.iter().chain(&self.built);
        let indexes = indexes.map(|(_, index)| index.definition().name.clone());
        let views = self.views.iter().filter(|(_, view)| view.now.is_some());
        let named = self.tables.keys().chain(self.sequences.keys());
        named.cloned().chain(indexes).chain(views.map(|(name, _)| name.clone()))
    }

    /// Returns the table called `name`; `find` looks among those of everybody.
    ///
    /// # Errors
    /// Those of `find`.
    pub(crate) fn table(
        &self,
        name: &str,
        find: impl FnOnce() -> Result<Option<Arc<Table>>>,
    ) -> Result<Option<Arc<Table>>> {
        match self.tables.get(name) {
            Some(new) => Ok(Some(Arc::clone(new))),
            None => Ok(find()?.filter(|table| !self.drops(table))),
        }
    }

    /// Returns the tables of everybody that are gone.
    pub(crate) fn gone(&self) -> Vec<Arc<Table>> {
        self.dropped.values().filter(|table| !table.is_draft()).cloned().collect()
    }

    /// Returns all tables in name order; `listed` are those of everybody.
    pub(crate) fn all_tables(&self, listed: Vec<Arc<Table>>) -> Vec<Arc<Table>> {
        let mut all: Vec<Arc<Table>> =
            listed.into_iter().filter(|table| !self.drops(table)).collect();
        all.extend(self.tables.values().cloned());
        all.sort_by(|one, other| one.schema().name.cmp(&other.schema().name));
        all
    }

    /// Whether a table is gone.
    pub(crate) fn drops(&self, table: &Table) -> bool {
        self.dropped.contains_key(&table.id())
    }

    /// Whether a table is new.
    pub(crate) fn makes(&self, table: &Table) -> bool {
        self.made().any(|made| made.id() == table.id())
    }

    /// Whether a foreign key is gone, or one of its tables is.
    pub(crate) fn cuts(&self, key: &Arc<ForeignKey>) -> bool {
        self.cut.iter().any(|cut| Arc::ptr_eq(cut, key))
            || key.child().is_none_or(|child| self.drops(&child))
    }

    /// Whether an index is gone.
    pub(crate) fn drops_index(&self, index: &Arc<TableIndex>) -> bool {
        self.dropped_indexes.iter().any(|(_, dropped)| Arc::ptr_eq(dropped, index))
    }

    /// Returns the new indexes of tables that others see.
    pub(crate) fn new_indexes(&self) -> &[IndexOf] {
        &self.indexes
    }

    /// Returns the view called `name` if it is another one than that of everybody: `None` if that
    /// one is meant, an inner `None` if there is none.
    pub(crate) fn view(&self, name: &str) -> Option<Option<Arc<ViewDef>>> {
        self.views.get(name).map(|draft| draft.now.clone())
    }

    /// Changes the views of everybody to those of the transaction.
    pub(crate) fn change_views(&self, views: &mut BTreeMap<String, Arc<ViewDef>>) {
        for (name, draft) in &self.views {
            match &draft.now {
                Some(view) => views.insert(name.clone(), Arc::clone(view)),
                None => views.remove(name),
            };
        }
    }

    /// As [`Definitions::view`], for a sequence.
    pub(crate) fn sequence(&self, name: &str) -> Option<Option<Arc<Sequence>>> {
        match self.sequences.get(name) {
            Some(sequence) => Some(Some(Arc::clone(sequence))),
            None => self.dropped_sequences.contains_key(name).then_some(None),
        }
    }

    /// Changes the sequences of everybody to those of the transaction.
    pub(crate) fn change_sequences(&self, all: &mut BTreeMap<String, Arc<Sequence>>) {
        all.retain(|name, _| !self.dropped_sequences.contains_key(name));
        let new = self.sequences.iter();
        all.extend(new.map(|(name, sequence)| (name.clone(), Arc::clone(sequence))));
    }

    /// Returns all tables that the transaction made, those included that are gone.
    fn made(&self) -> impl Iterator<Item = &Arc<Table>> {
        let gone = self.dropped.values().filter(|table| table.is_draft());
        self.tables.values().chain(gone)
    }

    /// Takes back what these definitions did to tables that others see, and to new ones that stay,
    /// except what `kept` did, which came before.
    pub(super) fn take_back(&self, kept: &Definitions, tx: TxId) {
        let stays = |table: &Table| kept.made().any(|made| made.id() == table.id());
        for table in self.made().filter(|table| !stays(table)) {
            let links = table.links().lists();
            links.outgoing.iter().chain(&links.incoming).for_each(disconnect);
            table.drop_loads();
        }
        for (table, schema, rules) in self.redefined.iter().skip(kept.redefined.len()).rev() {
            table.redefine(TableSchema::clone(schema), TableRules::clone(rules));
        }
        for table in self.dropped.values().filter(|table| !kept.drops(table)) {
            table.give_up_drop(tx);
            if self.closed.contains(&table.id()) {
                table.set_closed(false);
            }
        }
        for (table, index) in &self.built {
            if !kept.built.iter().any(|(_, built)| Arc::ptr_eq(built, index)) {
                table.table_indexes().remove(index);
            }
        }
    }
}
