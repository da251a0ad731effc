//! What connects tables by foreign keys.
//!
//! # Invariants
//! 1. A key is in the list of its child and in that of its parent, until one of them is dropped.
//! 2. The indexes of a key are ready as long as it is in a list.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};

use super::definition::ForeignKeyDef;
use crate::error::{Error, Result};
use crate::index::{IndexOrigin, TableIndex};
use crate::table::Table;
use crate::value::{Value, ValueRef};

/// A foreign key between two tables that are there.
#[derive(Debug)]
pub(crate) struct ForeignKey {
    definition: ForeignKeyDef,
    child: Weak<Table>,
    parent: Weak<Table>,
    /// Its first columns are the referring ones.
    child_index: Arc<TableIndex>,
    /// Its columns are the referenced ones, maybe in another order.
    parent_index: Arc<TableIndex>,
}

impl ForeignKey {
    /// Connects two tables.
    ///
    /// # Errors
    /// [`Error::InvalidDefinition`] if an index is missing.
    pub(crate) fn new(
        definition: ForeignKeyDef,
        child: &Arc<Table>,
        parent: &Arc<Table>,
    ) -> Result<Self> {
        let name = &definition.name;
        let missing = |of: &Arc<Table>, columns: &str| Error::InvalidDefinition {
            reason: format!(
                "foreign key {name:?}: table {:?} has no index for its {columns} columns",
                of.schema().name
            ),
        };
        let child_index = child
            .indexes()
            .into_iter()
            .find(|index| serves_child(index, &definition))
            .ok_or_else(|| missing(child, "referring"))?;
        let parent_index = parent
            .indexes()
            .into_iter()
            .find(|index| serves_parent(index, &definition))
            .ok_or_else(|| missing(parent, "referenced"))?;
        let (child, parent) = (Arc::downgrade(child), Arc::downgrade(parent));
        Ok(Self { definition, child, parent, child_index, parent_index })
    }

    pub(crate) fn definition(&self) -> &ForeignKeyDef {
        &self.definition
    }

    /// Returns the child; `None` if it was dropped.
    pub(crate) fn child(&self) -> Option<Arc<Table>> {
        self.child.upgrade().filter(|table| !table.is_dropped())
    }

    /// Returns the parent; `None` if it was dropped.
    pub(crate) fn parent(&self) -> Option<Arc<Table>> {
        self.parent.upgrade().filter(|table| !table.is_dropped())
    }

    /// Returns the child and the parent, even if dropped.
    ///
    /// # Errors
    /// [`Error::DefinitionChanged`] if one was freed.
    pub(crate) fn tables(&self) -> Result<(Arc<Table>, Arc<Table>)> {
        let (child, parent) = (self.child.upgrade(), self.parent.upgrade());
        match (child, parent) {
            (Some(child), Some(parent)) => Ok((child, parent)),
            (Some(table), None) | (None, Some(table)) => Err(table.closed_error()),
            (None, None) => Err(Error::DefinitionChanged { table: self.definition.name.clone() }),
        }
    }

    pub(crate) fn child_index(&self) -> &Arc<TableIndex> {
        &self.child_index
    }

    pub(crate) fn parent_index(&self) -> &Arc<TableIndex> {
        &self.parent_index
    }

    /// Returns the key of the parent's index for the values of the referring columns, as the parent
    /// stores them; `None` if it cannot have such a key.
    pub(crate) fn parent_key<'a>(
        &self,
        parent: &Table,
        values: &[ValueRef<'a>],
    ) -> Option<Vec<ValueRef<'a>>> {
        let referenced = &self.definition.referenced_columns;
        let value = |column: usize| {
            let position = referenced.iter().position(|other| *other == column)?;
            values.get(position)?.fit(parent.definition(), column).ok()
        };
        self.parent_index.key().columns().map(value).collect()
    }

    /// Returns the values of the referring columns for those of the referenced ones, as the child
    /// stores them; `None` if it cannot have such values.
    pub(crate) fn child_key<'a>(
        &self,
        child: &Table,
        values: &'a [Value],
    ) -> Option<Vec<ValueRef<'a>>> {
        let columns = self.definition.columns.iter().zip(values);
        columns
            .map(|(&column, value)| value.as_ref().fit(child.definition(), column).ok())
            .collect()
    }
}

/// Whether an index finds rows by the referring columns, and is there as long as they are.
pub(super) fn serves_child(index: &TableIndex, definition: &ForeignKeyDef) -> bool {
    let there = index.definition();
    match there.origin {
        IndexOrigin::PrimaryKey => there.columns.starts_with(&definition.columns),
        IndexOrigin::ForeignKey => there.columns == definition.columns,
        _ => false,
    }
}

/// Whether an index is unique over the referenced columns.
fn serves_parent(index: &TableIndex, definition: &ForeignKeyDef) -> bool {
    let there = index.definition();
    let mut columns = there.columns.iter();
    there.is_unique
        && there.columns.len() == definition.referenced_columns.len()
        && columns.all(|column| definition.referenced_columns.contains(column))
}

/// The foreign keys of a table.
#[derive(Debug, Default)]
pub(crate) struct Links {
    /// Whether there are any; changes with the lists.
    are_any: AtomicBool,
    lists: RwLock<Arc<LinkLists>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct LinkLists {
    /// Where the table is the child.
    pub(crate) outgoing: Vec<Arc<ForeignKey>>,
    /// Where it is the parent.
    pub(crate) incoming: Vec<Arc<ForeignKey>>,
}

impl Links {
    /// Returns the lists, `None` if they are empty.
    #[inline]
    pub(crate) fn get(&self) -> Option<Arc<LinkLists>> {
        // ORDERING: pairs with the store in `change`: a write that begins after a foreign key was
        // made sees it.
        match self.are_any.load(Ordering::Acquire) {
            true => Some(self.lists()),
            false => None,
        }
    }

    pub(crate) fn lists(&self) -> Arc<LinkLists> {
        Arc::clone(&self.lists.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, change: impl FnOnce(&mut LinkLists)) {
        let mut lists = self.lists.write().unwrap_or_else(PoisonError::into_inner);
        let changed = Arc::make_mut(&mut lists);
        change(changed);
        let are_any = !changed.outgoing.is_empty() || !changed.incoming.is_empty();
        // ORDERING: pairs with the load in `get`.
        self.are_any.store(are_any, Ordering::Release);
    }
}

impl Table {
    /// Whether a foreign key leads from or to the table.
    pub fn has_foreign_keys(&self) -> bool {
        self.links().get().is_some()
    }

    /// Returns the foreign keys whose child the table is.
    pub fn foreign_keys(&self) -> Vec<ForeignKeyDef> {
        let links = self.links().lists();
        links.outgoing.iter().map(|key| key.definition().clone()).collect()
    }
}

/// Puts a key into the lists of its tables.
pub(crate) fn connect(key: &Arc<ForeignKey>) {
    if let Some(child) = key.child() {
        child.links().change(|lists| lists.outgoing.push(Arc::clone(key)));
    }
    if let Some(parent) = key.parent() {
        parent.links().change(|lists| lists.incoming.push(Arc::clone(key)));
    }
}

/// Takes a key out of the lists of its tables, also of one that is being dropped.
pub(crate) fn disconnect(key: &Arc<ForeignKey>) {
    let is_other = |other: &Arc<ForeignKey>| !Arc::ptr_eq(other, key);
    if let Some(child) = key.child.upgrade() {
        child.links().change(|lists| lists.outgoing.retain(is_other));
    }
    if let Some(parent) = key.parent.upgrade() {
        parent.links().change(|lists| lists.incoming.retain(is_other));
    }
}
