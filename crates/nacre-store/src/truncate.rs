//! TRUNCATE: empty tables take the places of the old ones, whatever the number of rows.
//!
//! 1. The transaction claims the table, as DROP does, and closes it to writers, as a rewrite does.
//! 2. A new table with the same definition, indexes and foreign keys replaces it in the draft of
//!    the transaction. What the transaction inserts from then on goes into the new one.
//! 3. Commit publishes the new table and drops the old one by the records of the draft; rolling
//!    back, also to a savepoint, opens the old one again.
//!
//! # Invariants
//! 1. Readers keep the table that they have: a snapshot from before the commit does not see the new
//!    table, and gets [`Error::SerializationConflict`] instead of no rows.
//! 2. A crash leaves the old tables or the new ones of a transaction.
//! # See
//! `drafts/crash_tests.rs`; `tests/truncate.rs`; `tests/sql/dml/truncate.slt`.

use std::sync::Arc;

use crate::alter::Moved;
use crate::error::{Error, Result};
use crate::foreign_key::{ForeignKeyDef, attach_again};
use crate::id::TxId;
use crate::index::{IndexDef, IndexOrigin};
use crate::manifest::TableId;
use crate::mvcc::{Change, Transaction};
use crate::rules::TableRules;
use crate::schema::TableSchema;
use crate::store::Store;
use crate::table::Table;

/// A table that is emptied, and what its successor has.
struct EmptiedTable {
    old: Arc<Table>,
    new: Arc<Table>,
    indexes: Vec<IndexDef>,
    keys: Vec<ForeignKeyDef>,
}

impl Transaction {
    /// Empties tables, which are different ones. All tables that refer to one of them are among
    /// them. What the store's handle defines belongs to the transaction from now on.
    ///
    /// # Errors
    /// [`Error::SerializationConflict`] if another transaction is about to drop, rewrite or empty
    /// one, or has since the snapshot; [`Error::UnknownTable`] if one was dropped;
    /// [`Error::DependentObjects`] if another table refers to one; [`Error::ReadOnly`]. No table is
    /// changed then.
    pub fn truncate_tables(&mut self, tables: &[Arc<Table>]) -> Result<()> {
        self.define()?;
        let snapshot = self.snapshot();
        tables.iter().try_for_each(|table| table.require_visible(&snapshot))?;
        let (store, before) = (self.store().clone(), self.savepoint());
        let done = store.draft_truncation(snapshot.tx, tables);
        if done.is_err() {
            self.rollback_to(before);
        }
        done
    }
}

impl Store {
    /// Empties tables in the draft of `tx`. Tables that are claimed before an error stay so until
    /// the draft is taken back.
    fn draft_truncation(&self, tx: TxId, tables: &[Arc<Table>]) -> Result<()> {
        for table in tables {
            self.require_unreferred(table, tables)?;
        }
        let emptied: Vec<EmptiedTable> =
            tables.iter().map(|table| self.draft_emptied(tx, table)).collect::<Result<_>>()?;
        let successor = |id: TableId| {
            let found = emptied.iter().find(|one| one.old.id() == id);
            found.map_or(id, |one| one.new.id())
        };
        for EmptiedTable { new, indexes, keys, .. } in &emptied {
            let mut keys = keys.clone();
            for key in &mut keys {
                key.referenced = key.referenced.map(successor);
            }
            attach_again(self, new, indexes.clone(), &keys)?.connect();
        }
        let mut others = tables.iter().filter(|table| !table.is_draft());
        others.try_for_each(|table| self.pass_writers(tx, table))
    }

    /// Returns the other tables whose rows refer to rows of `table`, as this handle sees them.
    pub fn referring_tables(&self, table: &Table) -> Vec<Arc<Table>> {
        let draft = self.draft();
        let is_gone = |key| draft.as_ref().is_some_and(|(_, definitions)| definitions.cuts(key));
        let is_hidden =
            |child: &Table| child.is_hidden_from(draft.as_ref().map_or(TxId(0), |(tx, _)| *tx));
        let links = table.links().lists();
        let mut children: Vec<Arc<Table>> = Vec::new();
        for child in links.incoming.iter().filter(|key| !is_gone(key)).filter_map(|k| k.child()) {
            let is_known = children.iter().any(|known| known.id() == child.id());
            if child.id() != table.id() && !is_known && !is_hidden(&child) {
                children.push(child);
            }
        }
        children
    }

    fn require_unreferred(&self, table: &Table, tables: &[Arc<Table>]) -> Result<()> {
        let is_other = |child: &Arc<Table>| !tables.iter().any(|one| one.id() == child.id());
        let reasons: Vec<String> = self
            .referring_tables(table)
            .iter()
            .filter(|child| is_other(child))
            .map(|child| format!("rows of table {} refer to it", child.schema().name))
            .collect();
        if reasons.is_empty() {
            return Ok(());
        }
        Err(Error::DependentObjects { what: format!("table {}", table.schema().name), reasons })
    }

    /// Claims and closes a table, and puts an empty one in its place.
    fn draft_emptied(&self, tx: TxId, old: &Arc<Table>) -> Result<EmptiedTable> {
        let (schema, rules) = (TableSchema::clone(&old.schema()), TableRules::clone(&old.rules()));
        let mut indexes: Vec<IndexDef> =
            self.indexes_of(old).iter().map(|index| index.definition().clone()).collect();
        indexes.retain(|index| index.origin != IndexOrigin::PrimaryKey);
        let keys = self.foreign_keys_of(old);
        old.claim_drop(tx)?;
        let is_closed = !old.is_draft();
        if is_closed && old.set_closed(true) {
            old.give_up_drop(tx);
            return Err(old.closed_error());
        }
        let new = self.new_table(schema, &rules);
        new.set_draft_of(tx);
        self.draft_replacement(tx, (old, &new), is_closed, &Moved::default());
        old.require_undropped()?;
        Ok(EmptiedTable { old: Arc::clone(old), new, indexes, keys })
    }

    /// Waits for commits that wrote the table before it was closed: they have their place among
    /// the commits, and this one is behind them. Who has read the table and writes as
    /// SERIALIZABLE is refused, but for the transaction itself.
    fn pass_writers(&self, tx: TxId, table: &Arc<Table>) -> Result<()> {
        self.behind_loads(|| {
            let order = |_| Ok((tx, Change::Load(Arc::clone(table)), None));
            self.all_transactions().commit(None, order, |()| Ok(()))
        })?;
        Ok(())
    }
}
