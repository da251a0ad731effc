//! Loads that lost all their rows.
//!
//! Their deletes are durable, and everybody sees them, so nobody looks at the rows any more. The
//! manifest says that the load is gone before its files go; deletes of its rows that are still in
//! the redo log are passed over by recovery. What notes the deletes stays until the database is
//! closed, for scans that began before.

use std::sync::Arc;

use crate::error::Result;
use crate::index::remove_frozen_entries;
use crate::manifest::Record;
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
        for table in self.listed_tables() {
            for load in emptied(&table) {
                if self.awaits_copy(load.id()) {
                    continue;
                }
                if self.compaction().forget_entries(load.id()) {
                    remove_entries_of(&table, &load);
                }
                self.flush_redo()?;
                let gone = || Ok(vec![Record::LoadEmptied { load: load.id() }]);
                self.record(gone, || drop(table.remove_load(load.id())))?;
                load.doom();
            }
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
    let deletes = table.all_deletes();
    let is_empty = |load: &&Arc<StoredLoad>| {
        let of_load = deletes.iter().filter(|((of, _), _)| *of == load.id());
        let gone: u64 = of_load.map(|(_, deletes)| deletes.settled_count()).sum();
        gone == load.rows()
    };
    table.loads().iter().filter(is_empty).cloned().collect()
}
