//! Tables by name, and the recent changes of the names' meanings.
//!
//! # Invariants
//! 1. A change of what a name means has a commit timestamp, and is here before the clock shows
//!    that: a snapshot with the timestamp finds the new meaning, an older one finds the old one or
//!    is told that there is another.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::id::CommitTs;
use crate::manifest::TableId;
use crate::table::Table;

/// The list of changed names is pruned from this length on.
const CHANGED_MIN: usize = 64;

/// The tables that everybody finds.
#[derive(Debug, Default)]
pub(crate) struct NamedTables {
    tables: BTreeMap<String, Arc<Table>>,
    /// When names got another meaning, as long as a snapshot may be older.
    changed: BTreeMap<String, CommitTs>,
    /// The last one of these changes: most snapshots are newer.
    newest: CommitTs,
    /// Names in `changed` after the last look.
    kept: usize,
}

impl NamedTables {
    pub(super) fn new(tables: BTreeMap<String, Arc<Table>>) -> Self {
        Self { tables, ..Self::default() }
    }

    /// Returns the tables in name order.
    pub(super) fn all(&self) -> Vec<Arc<Table>> {
        self.tables.values().cloned().collect()
    }

    /// Returns the table called `name`.
    ///
    /// # Errors
    /// [`Error::DefinitionChanged`] if the meaning of the name has changed since `seen`.
    pub(super) fn find(&self, name: &str, seen: Option<CommitTs>) -> Result<Option<Arc<Table>>> {
        if let Some(seen) = seen.filter(|seen| *seen < self.newest)
            && self.changed.get(name).is_some_and(|changed| *changed > seen)
        {
            return Err(Error::DefinitionChanged { table: name.to_owned() });
        }
        Ok(self.tables.get(name).cloned())
    }

    /// Gives a table its name at a commit, and takes the name away that it had.
    pub(crate) fn bind(&mut self, table: &Arc<Table>, name: &str, commit: CommitTs) {
        self.unbind(table.id(), commit);
        self.tables.insert(name.to_owned(), Arc::clone(table));
        self.changed.insert(name.to_owned(), commit);
        self.newest = commit;
    }

    /// Takes a table's name away at a commit.
    pub(crate) fn unbind(&mut self, table: TableId, commit: CommitTs) {
        self.newest = commit;
        let changed = &mut self.changed;
        self.tables.retain(|name, other| {
            let stays = other.id() != table;
            if !stays {
                changed.insert(name.clone(), commit);
            }
            stays
        });
    }

    /// Forgets changes that all snapshots see, if there are many; `oldest` returns the oldest one.
    pub(super) fn forget_seen(&mut self, oldest: impl FnOnce() -> CommitTs) {
        if self.changed.len() < CHANGED_MIN.max(2 * self.kept) {
            return;
        }
        let oldest = oldest();
        self.changed.retain(|_, commit| *commit > oldest);
        self.kept = self.changed.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mvcc::IsolationLevel;
    use crate::schema::{ColumnDef, TableSchema};
    use crate::store::{OpenOptions, Store};

    fn create(store: &Store, name: &str) {
        let column = ColumnDef {
            name: "a".into(),
            column_type: nacre_column::ColumnType::Integer,
            is_nullable: true,
            replicas: None,
        };
        let schema = TableSchema {
            name: name.into(),
            columns: vec![column],
            primary_key: None,
            primary_key_name: String::new(),
            replicas: None,
        };
        store.create_table(schema).unwrap();
    }

    #[test]
    fn changes_are_kept_for_as_long_as_a_snapshot_is_older() {
        let store = Store::open(OpenOptions::default()).unwrap();
        create(&store, "kept");
        let old = store.begin(IsolationLevel::RepeatableRead);
        let names = |first: usize| (first..first + 300).map(|number| format!("t{number}"));
        for name in names(0) {
            create(&store, &name);
            store.drop_table(&name).unwrap();
        }
        for name in names(0) {
            let error = store.table_at(&name, &old.snapshot()).unwrap_err();
            assert!(matches!(error, Error::DefinitionChanged { .. }), "{name}: {error}");
            let error = store.table(&name).unwrap_err();
            assert!(matches!(error, Error::UnknownTable { .. }), "{name}: {error}");
        }
        store.table_at("kept", &old.snapshot()).unwrap();
        store.at(&old.snapshot()).table("t0").unwrap_err();
        old.rollback();
        for name in names(300) {
            create(&store, &name);
            store.drop_table(&name).unwrap();
        }
        let tables = store.named_tables();
        assert!(tables.changed.len() <= CHANGED_MIN, "{}", tables.changed.len());
    }
}
