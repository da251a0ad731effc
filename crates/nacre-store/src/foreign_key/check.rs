//! Checks of what a transaction wrote, and what follows for rows that refer to it.
//!
//! 1. For each key that went, the rows of the child that refer to it are found. ON DELETE and ON
//!    UPDATE say what becomes of them; what that changes is noted as any write is.
//! 2. A row that is changed that way has to meet the rules of its table, which SQL evaluates
//!    ([`RowRules`]), at once.
//! 3. When nothing more follows, all rows that refer to something have to have it, and nobody may
//!    refer to what is gone.
//!
//! What the transaction cannot see decides, too: a row that another transaction inserted or deleted
//! and has not committed, or committed since the snapshot, is a conflict.

use std::ops::Bound;
use std::sync::Arc;

use super::definition::ForeignKeyAction;
use super::links::ForeignKey;
use super::queue::Event;
use crate::error::{Error, ForeignKeyViolation, Result};
use crate::hot::KeyClaim;
use crate::id::RowId;
use crate::index::{KeySearch, SearchedLoads};
use crate::mvcc::Transaction;
use crate::table::Table;
use crate::value::{Value, ValueRef};

/// Rules of tables, for the rows that foreign keys change; the store keeps them and does not know
/// what they say.
pub trait RowRules {
    /// Returns what `columns` of a table hold in a row that does not say.
    ///
    /// # Errors
    /// Those of evaluating.
    fn defaults(&mut self, table: &Arc<Table>, columns: &[usize]) -> Result<Vec<Value>>;

    /// Refuses a row that a rule forbids; `values` are those of all columns.
    ///
    /// # Errors
    /// [`Error::RowRefused`]; those of evaluating.
    fn check(&mut self, table: &Arc<Table>, values: &[Value]) -> Result<()>;
}

/// Rules where nobody can evaluate them.
struct NoRules;

impl RowRules for NoRules {
    fn defaults(&mut self, table: &Arc<Table>, columns: &[usize]) -> Result<Vec<Value>> {
        let rules = table.rules();
        let ruled = columns.iter().find(|column| rules.defaults.contains_key(column));
        match ruled {
            None => Ok(vec![Value::Null; columns.len()]),
            Some(&column) => {
                let schema = table.schema();
                let (table, column) = (&schema.name, &schema.columns[column].name);
                let what = format!("DEFAULT of column {column:?} of table {table:?} without SQL");
                Err(Error::NotSupported { what })
            }
        }
    }

    fn check(&mut self, table: &Arc<Table>, _: &[Value]) -> Result<()> {
        let name = &table.schema().name;
        let what = format!("changes by a foreign key without SQL in table {name:?}, with CHECK");
        Err(Error::NotSupported { what })
    }
}

/// Whether a key is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Present,
    Absent,
    /// Another transaction is taking it away.
    Going,
}

impl Transaction {
    /// Checks the foreign keys of all rows written so far, and deletes or changes rows that refer
    /// to what is gone as the keys say; a statement ends with it, and [`Transaction::commit`]
    /// begins with it. After an error the caller rolls back, to where it began or altogether.
    ///
    /// # Errors
    /// [`Error::ForeignKeyViolation`]; [`Error::SerializationConflict`] if it depends on another
    /// transaction; those of deleting and updating; [`Error::NotSupported`] if a row that is to be
    /// changed has to meet a rule, or to get a default.
    pub fn check_constraints(&mut self) -> Result<()> {
        self.check_constraints_by(&mut NoRules)
    }

    /// As [`Transaction::check_constraints`], with the rules of tables.
    ///
    /// # Errors
    /// As there, but that rules are supported; those of `rules`.
    pub fn check_constraints_by(&mut self, rules: &mut dyn RowRules) -> Result<()> {
        if self.queue().is_settled() {
            return Ok(());
        }
        self.require_open()?;
        let first = self.queue().checked();
        let mut next = first;
        // Each round deletes or changes rows, which takes memory of the transaction: this ends.
        while next < self.queue().len() {
            let events = self.queue().since(next);
            next += events.len();
            for event in &events {
                if let Event::Lost { key, old, new } = event {
                    self.follow(key, old, new.as_deref(), rules)?;
                }
            }
        }
        for event in self.queue().since(first) {
            match event {
                Event::Refers { key, row } => self.check_child(&key, row)?,
                Event::Lost { key, old, new } => self.check_parent(&key, &old, new.is_some())?,
            }
        }
        self.queue().settle();
        Ok(())
    }

    /// Does to the rows that refer to a key that is gone what the foreign key says.
    fn follow(
        &mut self,
        key: &Arc<ForeignKey>,
        old: &[Value],
        new: Option<&[Value]>,
        rules: &mut dyn RowRules,
    ) -> Result<()> {
        let definition = key.definition();
        let action = if new.is_some() { definition.on_update } else { definition.on_delete };
        if matches!(action, ForeignKeyAction::NoAction | ForeignKeyAction::Restrict) {
            return Ok(());
        }
        let Some((child, _)) = self.tables_of(key)? else {
            return Ok(());
        };
        let columns = &definition.columns;
        for row in self.children(key, &child, old)? {
            let values = match (action, new) {
                (ForeignKeyAction::Cascade, None) => {
                    self.delete(&child, row)?;
                    continue;
                }
                (ForeignKeyAction::Cascade, Some(new)) => new.to_vec(),
                (ForeignKeyAction::SetDefault, _) => rules.defaults(&child, columns)?,
                _ => vec![Value::Null; columns.len()],
            };
            let changes: Vec<(usize, ValueRef<'_>)> =
                columns.iter().copied().zip(values.iter().map(Value::as_ref)).collect();
            let changed = self.update(&child, row, &changes)?;
            self.check_row(&child, changed, rules)?;
        }
        Ok(())
    }

    /// Has a row that was changed meet the rules of its table.
    fn check_row(&self, table: &Arc<Table>, row: RowId, rules: &mut dyn RowRules) -> Result<()> {
        if table.rules().checks.is_empty() {
            return Ok(());
        }
        let columns: Vec<usize> = (0..table.definition().columns.len()).collect();
        let values = table.read_at(row, self.snapshot(), &columns, |values| {
            values.iter().map(|value| value.to_value()).collect::<Vec<Value>>()
        })?;
        values.map_or(Ok(()), |values| rules.check(table, &values))
    }

    /// Returns the child and the parent of a foreign key, unless the transaction drops one of them.
    ///
    /// # Errors
    /// [`Error::DefinitionChanged`] if one was dropped or replaced since the write, or made since
    /// the snapshot: a lookup would miss rows then.
    fn tables_of(&self, key: &ForeignKey) -> Result<Option<(Arc<Table>, Arc<Table>)>> {
        let (child, parent) = key.tables()?;
        let snapshot = self.snapshot();
        if child.is_dropped_by(snapshot.tx) || parent.is_dropped_by(snapshot.tx) {
            return Ok(None);
        }
        for table in [&child, &parent] {
            table.require_visible(&snapshot)?;
            table.require_undropped()?;
        }
        Ok(Some((child, parent)))
    }

    /// Checks that nobody refers to a key that is gone, unless it is there again.
    fn check_parent(&self, key: &ForeignKey, old: &[Value], is_update: bool) -> Result<()> {
        let Some((child, parent)) = self.tables_of(key)? else {
            return Ok(());
        };
        let definition = key.definition();
        let action = if is_update { definition.on_update } else { definition.on_delete };
        if self.children(key, &child, old)?.is_empty() {
            return Ok(());
        }
        let values: Vec<ValueRef<'_>> = old.iter().map(Value::as_ref).collect();
        if action != ForeignKeyAction::Restrict
            && self.parent_presence(key, &parent, &values)? == Presence::Present
        {
            return Ok(());
        }
        Err(violation(key, &child, &parent, &values, true))
    }

    /// Checks that a row of the child, if it is there, has its parent.
    fn check_child(&self, key: &ForeignKey, row: RowId) -> Result<()> {
        let Some((child, parent)) = self.tables_of(key)? else {
            return Ok(());
        };
        let columns = &key.definition().columns;
        let values = child.read_at(row, self.snapshot(), columns, |values| {
            values.iter().map(|value| value.to_value()).collect::<Vec<Value>>()
        })?;
        let Some(values) = values else {
            return Ok(());
        };
        let values: Vec<ValueRef<'_>> = values.iter().map(Value::as_ref).collect();
        if values.iter().any(|value| value.is_null()) {
            return Ok(());
        }
        match self.parent_presence(key, &parent, &values)? {
            Presence::Present => Ok(()),
            Presence::Absent => Err(violation(key, &child, &parent, &values, false)),
            Presence::Going => Err(conflict(key, &parent, "deleted the row that is referred to")),
        }
    }

    /// Looks for the row of the parent that values of the referring columns refer to.
    fn parent_presence(
        &self,
        key: &ForeignKey,
        parent: &Arc<Table>,
        values: &[ValueRef<'_>],
    ) -> Result<Presence> {
        let Some(values) = key.parent_key(parent, values) else {
            return Ok(Presence::Absent);
        };
        let index = key.parent_index();
        let search = KeySearch::point(index.key(), &values);
        let (mut presence, mut searched) = (Presence::Absent, SearchedLoads::default());
        if let (Bound::Included(bytes), _) = search.bounds() {
            let rows;
            (rows, searched) = index.rows_and_searched(bytes);
            for row in rows {
                match self.presence_of(parent, row)? {
                    Presence::Present => return Ok(Presence::Present),
                    Presence::Going => presence = Presence::Going,
                    Presence::Absent => {}
                }
            }
        }
        for chunk in search.chunks_of(parent, searched.iter(), index.is_primary(parent))? {
            for (_, row) in search.rows_in(&chunk, index.key())? {
                match self.presence_of(parent, row)? {
                    Presence::Present => return Ok(Presence::Present),
                    Presence::Going => presence = Presence::Going,
                    Presence::Absent => {}
                }
            }
        }
        parent.require_undropped()?;
        Ok(presence)
    }

    fn presence_of(&self, parent: &Arc<Table>, row: RowId) -> Result<Presence> {
        // Whoever deletes the row from here on finds the one that refers to it.
        let claim = parent.claim(row, self.snapshot());
        let Some(claim) = claim else {
            return Ok(Presence::Absent);
        };
        let is_visible = parent.read_at(row, self.snapshot(), &[], |_| ())?.is_some();
        Ok(match (claim, is_visible) {
            (_, false) => Presence::Absent,
            (KeyClaim::Taken, true) => Presence::Present,
            (KeyClaim::Uncommitted | KeyClaim::DeletedSince, true) => Presence::Going,
        })
    }

    /// Returns the rows of the child that refer to the values of the referenced columns.
    ///
    /// # Errors
    /// [`Error::SerializationConflict`] if another transaction inserted or deleted such a row and
    /// this one does not see it; that of a damaged block.
    fn children(
        &self,
        key: &ForeignKey,
        child: &Arc<Table>,
        values: &[Value],
    ) -> Result<Vec<RowId>> {
        let values = key.child_key(child, values);
        // A null is referred to by nobody.
        let Some(values) = values.filter(|values| !values.iter().any(|value| value.is_null()))
        else {
            return Ok(Vec::new());
        };
        let index = key.child_index();
        let search = KeySearch::point(index.key(), &values);
        let mut found = Vec::new();
        // A load that is not pending any more is published.
        let pending = child.pending_loads();
        let (rows, searched) = index.rows_within(search.bounds());
        for row in rows {
            self.take_child(key, child, row, &mut found)?;
        }
        let is_primary = index.is_primary(child);
        for chunk in search.chunks_of(child, searched.iter(), is_primary)? {
            for (_, row) in search.rows_in(&chunk, index.key())? {
                self.take_child(key, child, row, &mut found)?;
            }
        }
        for chunk in search.pending_chunks(child, &pending, is_primary)? {
            if !search.rows_in(&chunk, index.key())?.is_empty() {
                return Err(conflict(key, child, "is loading rows that refer to the key"));
            }
        }
        child.require_undropped()?;
        // One whose entries are being made was found twice.
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Takes a row of the child if it is there.
    fn take_child(
        &self,
        key: &ForeignKey,
        child: &Arc<Table>,
        row: RowId,
        found: &mut Vec<RowId>,
    ) -> Result<()> {
        let row = child.forwards().row(row).unwrap_or(row);
        match child.claim(row, self.snapshot()) {
            None => Ok(()),
            Some(KeyClaim::Taken)
                if child.read_at(row, self.snapshot(), &[], |_| ())?.is_some() =>
            {
                found.push(row);
                Ok(())
            }
            Some(_) => {
                Err(conflict(key, child, "inserted or deleted a row that refers to the key"))
            }
        }
    }
}

fn conflict(key: &ForeignKey, table: &Table, what: &str) -> Error {
    let name = &key.definition().name;
    let reason = format!(
        "a transaction that has not ended, or committed since, {what} (constraint \"{name}\")"
    );
    Error::SerializationConflict { table: table.schema().name.clone(), reason }
}

/// Makes the error for values of the referring columns, or of the referenced ones if the parent was
/// changed.
pub(super) fn violation(
    key: &ForeignKey,
    child: &Table,
    parent: &Table,
    values: &[ValueRef<'_>],
    is_parent_changed: bool,
) -> Error {
    let definition = key.definition();
    let (of, columns) = match is_parent_changed {
        true => (parent, &definition.referenced_columns),
        false => (child, &definition.columns),
    };
    let schema = of.schema();
    let names: Vec<&str> = columns.iter().map(|&at| schema.columns[at].name.as_str()).collect();
    Error::ForeignKeyViolation(Box::new(ForeignKeyViolation {
        table: child.schema().name.clone(),
        constraint: definition.name.clone(),
        referenced: parent.schema().name.clone(),
        columns: names.join(", "),
        key: crate::index::key_text_of(of, columns, values),
        is_parent_changed,
    }))
}
