//! Loads that lost all their rows.
//!
//! Their deletes are durable, and everybody sees them, so nobody looks at the rows any more. The
//! manifest says that the load is gone before its files go; deletes of its rows that are still in
//! the redo log are passed over by recovery. What notes the deletes stays until the database is
//! closed, for scans that began before.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::Result;
use crate::index::remove_frozen_entries;
use crate::manifest::{LoadId, Record};
use crate::store::Store;
use crate::stored_load::StoredLoad;
use crate::table::Table;

impl Store {
    /// Takes out loads all of whose rows are deleted for everybody, except those that the archive
    /// does not have yet. The caller holds the maintenance lock.
    ///
    /// # Errors
    /// No space, I/O.
    pub(super) fn drop_emptied(&self) -> Result<()> {
        // A call that is run again may read the rows.
        if self.calls().are_pending() {
            return Ok(());
        }
        let tables = self.listed_tables().into_iter();
        let loads: Vec<(Arc<Table>, Arc<StoredLoad>)> = tables
            .flat_map(|table| emptied(&table).into_iter().map(move |load| (table.clone(), load)))
            .collect();
        // The archive hears of a load before it goes; one that cannot be written says so itself.
        if loads.is_empty() || self.archive_step().is_err() {
            return Ok(());
        }
        for (table, load) in loads {
            if self.awaits_copy(load.id()) {
                continue;
            }
            if self.compaction().has_entries(load.id()) {
                remove_entries_of(&table, &load);
            }
            self.flush_redo()?;
            let gone = || Ok(vec![Record::LoadEmptied { load: load.id() }]);
            self.record(gone, || drop(table.remove_load(load.id())))?;
            self.compaction().note_gone(load.id());
            load.doom();
        }
        Ok(())
    }
}

/// Takes the entries of the old places of rows that moved out of the indexes.
fn remove_entries_of(table: &Arc<Table>, load: &StoredLoad) {
    let rows: Vec<u16> = (0..=u16::MAX).collect();
    for index in 0..load.chunk_count() {
        // A chunk that cannot be read keeps its entries, which do no harm.
        let count = load.open().map_or(0, |open| open.chunks[index as usize].rows as usize);
        remove_frozen_entries(table, (load.id(), index), &rows[..count]);
    }
}

/// Returns the loads of a table all of whose rows are deleted for everybody.
fn emptied(table: &Table) -> Vec<Arc<StoredLoad>> {
    let mut gone: BTreeMap<LoadId, u64> = BTreeMap::new();
    for ((load, _), deletes) in table.all_deletes() {
        *gone.entry(load).or_default() += deletes.settled_count();
    }
    let is_empty = |load: &&Arc<StoredLoad>| gone.get(&load.id()) == Some(&load.rows());
    table.loads().iter().filter(is_empty).cloned().collect()
}
