//! Definitions that go into a draft. What is checked of them here is what the transaction sees;
//! what others did meanwhile is looked at when it commits.

use std::sync::Arc;

use crate::access::{AccessChange, Securable};
use crate::alter::Moved;
use crate::error::Result;
use crate::foreign_key::{ForeignKey, TableKeys, attach};
use crate::id::TxId;
use crate::index::{IndexDef, IndexState, TableIndex, add_hot_rows_to};
use crate::rules::TableRules;
use crate::schema::TableSchema;
use crate::sequences::Sequence;
use crate::store::Store;
use crate::table::Table;
use crate::uniqueness;
use crate::views::ViewDef;

impl Store {
    /// Creates a table that `tx` alone sees; the definition is valid.
    ///
    /// # Errors
    /// As for [`Store::create_table_with`].
    pub(crate) fn draft_table(
        &self,
        tx: TxId,
        schema: TableSchema,
        rules: &TableRules,
        keys: &TableKeys,
    ) -> Result<Arc<Table>> {
        self.check_new_name(&schema.name)?;
        let table = self.new_table(schema, rules);
        table.set_draft_of(tx);
        let attached = attach(self, &table, keys)?;
        // Whoever deletes a row that is referred to shall notice.
        attached.connect();
        let name = table.schema().name.clone();
        self.change_draft(tx, |draft| {
            draft.tables.insert(name, Arc::clone(&table));
        });
        self.draft_ownership(tx, Securable::Table(table.id()));
        Ok(table)
    }

    /// Drops tables, which are different ones, and foreign keys of others that refer to them.
    ///
    /// # Errors
    /// [`crate::Error::SerializationConflict`] if another transaction is about to drop one.
    pub(crate) fn draft_drop(
        &self,
        tx: TxId,
        tables: &[Arc<Table>],
        cut: &[Arc<ForeignKey>],
    ) -> Result<()> {
        for table in tables {
            // Those claimed before an error stay so until the draft is taken back.
            table.claim_drop(tx)?;
            self.change_draft(tx, |draft| {
                draft.tables.retain(|_, new| new.id() != table.id());
                draft.indexes.retain(|(of, _)| of.id() != table.id());
                draft.dropped.insert(table.id(), Arc::clone(table));
            });
            self.draft_forget(tx, Securable::Table(table.id()));
        }
        self.change_draft(tx, |draft| draft.cut.extend_from_slice(cut));
        Ok(())
    }

    /// Puts a table that was written anew in the place of the one that it was made from, which
    /// `is_closed` to others unless `tx` made it, too. Foreign keys of others are `moved` to it.
    pub(crate) fn draft_replacement(
        &self,
        tx: TxId,
        (old, new): (&Arc<Table>, &Arc<Table>),
        is_closed: bool,
        moved: &Moved,
    ) {
        self.change_draft(tx, |draft| {
            draft.tables.retain(|_, other| other.id() != old.id());
            draft.indexes.retain(|(of, _)| of.id() != old.id());
            draft.dropped.insert(old.id(), Arc::clone(old));
            draft.cut.extend(moved.old.iter().cloned());
            draft.tables.insert(new.schema().name.clone(), Arc::clone(new));
            if is_closed {
                draft.closed.insert(old.id());
            }
        });
        let access = self.access().object(&Securable::Table(old.id())).clone();
        let moved = AccessChange::Object(Securable::Table(new.id()), access);
        self.draft_access(tx, &moved);
        self.draft_forget(tx, Securable::Table(old.id()));
    }

    /// Changes names and rules of a table that `tx` made.
    pub(crate) fn draft_redefinition(
        &self,
        tx: TxId,
        table: &Arc<Table>,
        schema: TableSchema,
        rules: TableRules,
    ) {
        self.change_draft(tx, |draft| {
            draft.redefined.push((Arc::clone(table), table.schema(), table.rules()));
            draft.tables.retain(|_, other| other.id() != table.id());
            draft.tables.insert(schema.name.clone(), Arc::clone(table));
            table.redefine(schema, rules);
        });
    }

    /// Creates an index, which is valid: that of a new table at once, another one when `tx`
    /// commits.
    ///
    /// # Errors
    /// As for [`Store::create_index`].
    pub(crate) fn draft_index(
        &self,
        tx: TxId,
        table: &Arc<Table>,
        definition: IndexDef,
    ) -> Result<()> {
        self.check_new_name(&definition.name)?;
        let schema = table.definition();
        if !table.is_draft() {
            let index = Arc::new(TableIndex::new(schema, definition, IndexState::Filling));
            self.change_draft(tx, |draft| draft.indexes.push((Arc::clone(table), index)));
            return Ok(());
        }
        // Nobody writes the table meanwhile, and older versions of its rows are for nobody.
        let index = Arc::new(TableIndex::new(schema, definition, IndexState::Ready));
        index.set_searched(&table.loads());
        add_hot_rows_to(table, std::slice::from_ref(&index))?;
        if index.definition().is_unique {
            uniqueness::check_all(table, &index, tx)?;
        }
        table.table_indexes().add(&index);
        self.change_draft(tx, |draft| draft.built.push((Arc::clone(table), index)));
        Ok(())
    }

    /// Drops an index; until `tx` commits it does what it did.
    pub(crate) fn draft_drop_index(&self, tx: TxId, table: &Arc<Table>, index: &Arc<TableIndex>) {
        self.change_draft(tx, |draft| {
            let before = draft.indexes.len();
            draft.indexes.retain(|(_, new)| !Arc::ptr_eq(new, index));
            if draft.indexes.len() == before {
                draft.dropped_indexes.push((Arc::clone(table), Arc::clone(index)));
            }
        });
    }

    /// Defines a view, or drops it; `before` is that of everybody.
    pub(crate) fn draft_view(
        &self,
        tx: TxId,
        name: &str,
        before: Option<Arc<ViewDef>>,
        now: Option<ViewDef>,
    ) {
        let object = Securable::View(name.to_owned());
        match (self.view(name).is_some(), now.is_some()) {
            (false, true) => self.draft_ownership(tx, object),
            (_, false) => self.draft_forget(tx, object),
            (true, true) => {}
        }
        let now = now.map(Arc::new);
        self.change_draft(tx, |draft| {
            let drafted = draft.views.entry(name.to_owned());
            let view = drafted.or_insert(super::definitions::ViewDraft { before, now: None });
            view.now = now;
        });
    }

    /// Creates a sequence.
    pub(crate) fn draft_sequence(&self, tx: TxId, sequence: Sequence) {
        let name = sequence.def().name.clone();
        self.change_draft(tx, |draft| {
            draft.sequences.insert(name, Arc::new(sequence));
        });
    }

    /// Drops a sequence.
    pub(crate) fn draft_drop_sequence(&self, tx: TxId, sequence: &Arc<Sequence>) {
        let name = sequence.def().name.clone();
        self.change_draft(tx, |draft| {
            if draft.sequences.remove(&name).is_none() {
                draft.dropped_sequences.insert(name, Arc::clone(sequence));
            }
        });
    }
}
