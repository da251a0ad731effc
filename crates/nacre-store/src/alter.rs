//! Changes of a table's definition.
//!
//! Names and defaults change in the definition alone ([`Store::redefine_table`]). Whatever changes
//! what rows are, or must be, writes the table anew ([`Rewrite`]): into a table of its own, that
//! nobody sees, by a bulk load; one record of the manifest then puts it in the old one's place.
//!
//! # Invariants
//! 1. While a table is rewritten it takes no writes: transactions that wrote it before and have
//!    not committed are refused at commit, others when they write. So no change is lost.
//! 2. A crash leaves the old table or the new one. What was loaded for a new one that was not
//!    published belongs to no table, and its files are removed when the database is next opened.
//! 3. Readers never wait: they go on with the table that they have. A snapshot from before a
//!    change of what a name means, or of the names of columns, is told so when it looks the name up
//!    (`store/named_tables.rs`); one from before a table was made, when it uses the table.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::foreign_key::{ForeignKey, ForeignKeyDef, attach_again, connect, disconnect};
use crate::id::TxId;
use crate::index::IndexDef;
use crate::load::Load;
use crate::manifest::Record;
use crate::mvcc::{Change, NOBODY};
use crate::rules::TableRules;
use crate::schema::TableSchema;
use crate::store::Store;
use crate::table::Table;

/// A table that is being written anew; dropping it leaves the old one as it was.
#[derive(Debug)]
pub struct Rewrite {
    store: Store,
    old: Arc<Table>,
    new: Arc<Table>,
    rules: TableRules,
    /// The transaction that it is a part of, if it is of one.
    tx: Option<TxId>,
    /// What is to be recorded of indexes.
    attached: Vec<Record>,
    /// Where the columns of the old table are in the new one.
    places: Vec<Option<usize>>,
    /// Whether the old table is to take writes again if nothing comes of it.
    reopens: bool,
    is_published: bool,
}

impl Rewrite {
    /// Begins to load the new table.
    ///
    /// # Errors
    /// As for [`Store::begin_load`].
    pub fn begin_load(&self) -> Result<Load> {
        self.store.begin_load(&self.new)
    }

    /// Puts the new table, whose load is committed, in the place of the old one.
    ///
    /// # Errors
    /// [`Error::DefinitionChanged`] if the old one was dropped meanwhile;
    /// [`Error::DependentObjects`] if a foreign key of another table refers to a column that goes;
    /// [`Error::InvalidDefinition`] if it cannot refer to what the column becomes; no space, I/O.
    pub fn publish(mut self) -> Result<()> {
        if let Some(tx) = self.tx {
            let definitions = self.store.definitions().unwrap_or_default();
            let is_cut = |key: &Arc<ForeignKey>| definitions.cuts(key);
            let moved = Moved::of(&self.old, &self.new, &self.places, is_cut)?;
            moved.connect();
            self.store.draft_replacement(tx, (&self.old, &self.new), self.reopens, &moved);
            // That is up to whoever ends the transaction.
            self.reopens = false;
            self.tx = None;
            self.is_published = true;
            return Ok(());
        }
        let handle = self.store.clone();
        let _fence = handle.fence_calls()?;
        let Self { store, old, new, .. } = &self;
        store.record_with(
            || {
                old.require_undropped()?;
                let moved = Moved::of(old, new, &self.places, |_| false)?;
                Ok((self.records(&moved), moved))
            },
            |moved| {
                // A delete in the new table has to find the keys from the start.
                moved.connect();
                store.publish_tables(std::slice::from_ref(old), |tables, commit| {
                    new.set_visible_from(commit);
                    tables.unbind(old.id(), commit);
                    tables.bind(new, &new.definition().name, commit);
                });
                store.with_access(|access| access.replace_table(old.id(), new.id()));
                let links = old.links().lists();
                links.outgoing.iter().chain(&links.incoming).for_each(disconnect);
                old.drop_loads();
            },
        )?;
        self.store.cover_loads(&self.new);
        self.is_published = true;
        Ok(())
    }

    /// Returns what is to be recorded. The caller holds the manifest, so foreign keys stay as they
    /// are.
    fn records(&self, moved: &Moved) -> Vec<Record> {
        let Self { old, new, rules, .. } = self;
        let mut records = vec![Record::TableReplaced {
            old: old.id(),
            table: new.id(),
            schema: TableSchema::clone(&new.schema()),
            rules: rules.clone(),
        }];
        records.extend(self.attached.iter().cloned());
        let keys = new.foreign_keys();
        if !keys.is_empty() {
            records.push(Record::ForeignKeys { table: new.id(), keys });
        }
        for child in moved.children() {
            let is_gone = |key: &Arc<ForeignKey>| moved.old.iter().any(|old| Arc::ptr_eq(old, key));
            let mut keys: Vec<ForeignKeyDef> = Vec::new();
            let links = child.links().lists();
            keys.extend(
                links.outgoing.iter().filter(|k| !is_gone(k)).map(|k| k.definition().clone()),
            );
            keys.extend(moved.of_child(&child).map(|key| key.definition().clone()));
            records.push(Record::ForeignKeys { table: child.id(), keys });
        }
        records
    }
}

/// Foreign keys of other tables that refer to a table that is replaced.
#[derive(Debug, Default)]
pub(crate) struct Moved {
    pub(crate) old: Vec<Arc<ForeignKey>>,
    /// What takes their places, in the same order.
    new: Vec<Arc<ForeignKey>>,
}

impl Moved {
    /// Makes the foreign keys to a new table that replace those to the old one, except cut ones;
    /// `places` maps old columns to new ones.
    fn of(
        old: &Arc<Table>,
        new: &Arc<Table>,
        places: &[Option<usize>],
        is_cut: impl Fn(&Arc<ForeignKey>) -> bool,
    ) -> Result<Self> {
        let mut moved = Self::default();
        for key in old.links().lists().incoming.iter().filter(|key| !is_cut(key)) {
            let Some(child) = key.child().filter(|child| child.id() != old.id()) else {
                continue;
            };
            let mut definition = key.definition().clone();
            definition.referenced = Some(new.id());
            for column in &mut definition.referenced_columns {
                let place = places.get(*column).copied().flatten();
                *column = place.ok_or_else(|| Error::DependentObjects {
                    what: format!("column of table {}", old.schema().name),
                    reasons: vec![format!(
                        "constraint {} on table {} depends on it",
                        definition.name,
                        child.schema().name
                    )],
                })?;
            }
            let check = definition.validate(child.definition(), new.definition());
            check.map_err(|reason| Error::InvalidDefinition { reason })?;
            moved.new.push(Arc::new(ForeignKey::new(definition, &child, new)?));
            moved.old.push(Arc::clone(key));
        }
        Ok(moved)
    }

    /// Lets the tables know of the new ones.
    fn connect(&self) {
        self.new.iter().for_each(connect);
    }

    /// Returns the tables that refer to the table.
    fn children(&self) -> Vec<Arc<Table>> {
        let mut children: Vec<Arc<Table>> = self.new.iter().filter_map(|key| key.child()).collect();
        children.sort_by_key(|child| child.id());
        children.dedup_by_key(|child| child.id());
        children
    }

    fn of_child(&self, child: &Table) -> impl Iterator<Item = &Arc<ForeignKey>> {
        let id = child.id();
        self.new.iter().filter(move |key| key.child().is_some_and(|child| child.id() == id))
    }
}

impl Drop for Rewrite {
    fn drop(&mut self) {
        if let Some(tx) = self.tx {
            self.old.give_up_drop(tx);
        }
        if !self.is_published {
            self.new.links().lists().outgoing.iter().for_each(disconnect);
        }
        if self.reopens {
            // One that was replaced is dropped by now, and takes no writes for that.
            self.old.set_closed(false);
        }
    }
}

impl Store {
    /// Changes names and defaults of a table, and takes checks from it.
    ///
    /// # Errors
    /// [`Error::TableExists`] if another table has the new name; [`Error::DefinitionChanged`] if
    /// the table was dropped; [`Error::InvalidDefinition`], also for other changes;
    /// [`Error::ReadOnly`], no space, I/O.
    pub fn redefine_table(
        &self,
        table: &Arc<Table>,
        schema: TableSchema,
        rules: TableRules,
    ) -> Result<()> {
        self.require_writable()?;
        let invalid = |reason| Error::InvalidDefinition { reason };
        schema.validate().and_then(|()| rules.validate(&schema)).map_err(invalid)?;
        let old = table.schema();
        if !is_same_but_for_names(&old, &schema) {
            return Err(invalid(format!("table {:?} has to be written anew for that", old.name)));
        }
        let record = Record::TableDefined {
            table: table.id(),
            schema: schema.clone(),
            rules: rules.clone(),
        };
        let is_renamed = old.name != schema.name;
        // Other changes leave the results of name lookups as they are.
        let are_names_changed = is_renamed || old.columns != schema.columns;
        if let Some((tx, _)) = self.draft() {
            if !table.is_draft() {
                let name = &old.name;
                return Err(invalid(format!("table {name:?} is to be written anew in a block")));
            }
            if is_renamed {
                self.check_new_name(&schema.name)?;
            }
            self.draft_redefinition(tx, table, schema, rules);
            return Ok(());
        }
        let _fence = self.fence_calls()?;
        let check = || match self.table(&schema.name) {
            Ok(_) if is_renamed => Err(Error::TableExists { table: schema.name.clone() }),
            _ => {
                table.require_undropped()?;
                table.require_unclaimed().map(|()| vec![record])
            }
        };
        self.record(check, || {
            if are_names_changed {
                self.publish_tables(&[], |tables, commit| {
                    tables.bind(table, &schema.name, commit);
                    table.redefine(schema.clone(), rules);
                });
            } else {
                table.redefine(schema.clone(), rules);
                self.bump_definitions();
            }
        })
    }

    /// Begins to write a table anew, with another definition, these indexes beside that of the
    /// primary key, and these foreign keys; `places` says where the columns of the old table are in
    /// the new one. From now on until it ends the table takes no writes; what a transaction that
    /// begins now sees of it is all there is, and what the transaction changed that it belongs to.
    ///
    /// # Errors
    /// [`Error::DefinitionChanged`] if it is being rewritten, or was dropped;
    /// [`Error::InvalidDefinition`], [`Error::ReadOnly`].
    pub fn begin_rewrite(
        &self,
        table: &Arc<Table>,
        schema: TableSchema,
        rules: TableRules,
        (indexes, keys): (Vec<IndexDef>, &[ForeignKeyDef]),
        places: Vec<Option<usize>>,
    ) -> Result<Rewrite> {
        self.require_writable()?;
        schema
            .validate()
            .and_then(|()| rules.validate(&schema))
            .map_err(|reason| Error::InvalidDefinition { reason })?;
        let new = self.new_table(schema, &rules);
        let attached = attach_again(self, &new, indexes, keys)?;
        let tx = self.draft().map(|(tx, _)| tx);
        match tx {
            None => table.require_unclaimed()?,
            Some(tx) => {
                new.set_draft_of(tx);
                table.claim_drop(tx)?;
            }
        }
        let (store, old) = (self.clone(), Arc::clone(table));
        // Whoever deletes a row that is referred to shall notice.
        attached.connect();
        let mut attached = attached.records;
        // Those are looked at when it is published.
        attached.retain(|record| !matches!(record, Record::ForeignKeys { .. }));
        let (reopens, is_published) = (false, false);
        let mut rewrite =
            Rewrite { store, old, new, rules, tx, attached, places, reopens, is_published };
        if table.is_draft() {
            return Ok(rewrite);
        }
        if table.set_closed(true) {
            return Err(table.closed_error());
        }
        rewrite.reopens = true;
        // Who wrote the table and looked before it was closed has a place among the commits by
        // now, or one among the loads; a commit behind them waits until they are seen.
        self.behind_loads(|| {
            let order = |_| Ok((NOBODY, Change::Nothing, None));
            self.all_transactions().commit(None, order, |()| Ok(()))
        })?;
        table.require_undropped()?;
        Ok(rewrite)
    }
}

/// Whether rows of one definition are rows of the other.
fn is_same_but_for_names(old: &TableSchema, new: &TableSchema) -> bool {
    let is_same = |(old, new): (&crate::schema::ColumnDef, &crate::schema::ColumnDef)| {
        old.column_type == new.column_type
            && old.is_nullable == new.is_nullable
            && old.replicas == new.replicas
    };
    old.columns.len() == new.columns.len()
        && old.columns.iter().zip(&new.columns).all(is_same)
        && old.primary_key == new.primary_key
        && old.replicas == new.replicas
}
