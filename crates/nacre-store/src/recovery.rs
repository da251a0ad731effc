//! Recovery: the committed changes of the redo log, made again in fresh hot chunks.
//!
//! A row gets the place that it had, since later records and others' row ids name it. Places whose
//! rows were never committed stay holes. Nothing is written, so a crash meanwhile changes nothing,
//! and memory is that of the rows and of the largest transaction.
//!
//! The log is read up to three times: for freezes that were about to be taken back, if one is not
//! older than the last checkpoint; for the rows of that checkpoint, which come behind commits that
//! change them; and for all later commits.
//!
//! # Invariants
//! 1. After it, tables hold what the commits in the log left, in their order, and no versions;
//!    indexes have the entries of their hot rows.
//! 2. Groups of transactions that defined something, of which the manifest has no record, were
//!    never committed and are skipped. So are records of tables that were dropped since, of commits
//!    up to the last checkpoint, and of hot chunks that were frozen; any other record that does not
//!    fit what is there is an error, since a change would be lost.
//! # Source
//! [Muehlbauer16 4.3.1] physical redo records are replayed without reads. Differs: rows keep their
//! places, so no index is needed to find them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::freeze::Frozen;
use crate::id::{CommitTs, RowId, RowPlace};
use crate::index::add_hot_rows;
use crate::manifest::{FrozenRecord, TableId};
use crate::redo::{RedoLog, RedoRecord};
use crate::table::Table;
use crate::value::ValueRef;

/// What recovery brings its changes to.
struct Recovery {
    tables: BTreeMap<TableId, Arc<Table>>,
    /// Tables from this one on were never created.
    next_table: u64,
    frozen: Frozen,
    /// Commits that defined something of which the manifest knows.
    defined: BTreeSet<CommitTs>,
    /// A commit of whose definitions the manifest does not know: its group does not count.
    void: Option<CommitTs>,
    /// The group at hand, and the checkpoint that it is a part of.
    part: Option<(CommitTs, CommitTs)>,
}

/// Makes the changes in `log` again; `next_table` is the id that the next table gets. Returns the
/// freezes that do not count, whose loads are taken out of their tables.
///
/// # Errors
/// [`Error::RedoDamaged`].
pub(crate) fn recover<'a>(
    log: &RedoLog,
    tables: impl Iterator<Item = &'a Arc<Table>>,
    next_table: u64,
    (frozen, defined): (Frozen, BTreeSet<CommitTs>),
) -> Result<Vec<FrozenRecord>> {
    let tables = tables.map(|table| (table.id(), Arc::clone(table))).collect();
    let mut recovery = Recovery { tables, next_table, frozen, defined, void: None, part: None };
    let fail = |commit: CommitTs, reason: String| Error::RedoDamaged {
        reasons: vec![format!("commit {}: {reason}", commit.0)],
    };
    let mut withdrawn = Vec::new();
    if recovery.frozen.may_be_withdrawn() {
        log.survey(&mut |commit, record| {
            recovery.look_for_withdrawn(commit, record, &mut withdrawn);
            Ok(())
        })?;
    }
    if recovery.frozen.checkpoint > CommitTs::default() {
        log.survey(&mut |commit, record| {
            let applied = recovery.apply_checkpoint(commit, record);
            applied.map_err(|reason| fail(commit, reason))
        })?;
    }
    log.replay(&mut |commit, record| {
        let applied = recovery.apply_later(commit, record);
        applied.map_err(|reason| fail(commit, reason))
    })?;
    recovery.tables.values().try_for_each(|table| add_hot_rows(table))?;
    Ok(withdrawn)
}

/// Returns the table and the hot chunk that a change of a transaction names.
fn hot_chunk_of(record: RedoRecord<'_>) -> Option<(TableId, u64)> {
    let (RedoRecord::Insert { table, row, .. }
    | RedoRecord::Update { table, row, .. }
    | RedoRecord::Delete { table, row }) = record
    else {
        return None;
    };
    match row.place() {
        RowPlace::Hot { chunk, .. } => Some((table, chunk)),
        RowPlace::Frozen { .. } => None,
    }
}

impl Recovery {
    /// Notes which checkpoint a group belongs to, and returns it if the record is part of one.
    fn checkpoint_of(&mut self, commit: CommitTs, record: RedoRecord<'_>) -> Option<CommitTs> {
        if let RedoRecord::Checkpoint { as_of } = record {
            self.part = Some((commit, as_of));
        }
        self.part.filter(|(group, _)| *group == commit).map(|(_, as_of)| as_of)
    }

    /// Whether a record is of a commit that happened.
    fn counts(&mut self, commit: CommitTs, record: RedoRecord<'_>) -> bool {
        if matches!(record, RedoRecord::Definitions) && !self.defined.contains(&commit) {
            self.void = Some(commit);
        }
        self.void != Some(commit)
    }

    /// Takes out the freeze of a chunk that was changed by a commit that the load does not have.
    fn look_for_withdrawn(
        &mut self,
        commit: CommitTs,
        record: RedoRecord<'_>,
        withdrawn: &mut Vec<FrozenRecord>,
    ) {
        let counts = self.counts(commit, record);
        let is_part = self.checkpoint_of(commit, record).is_some();
        let freeze = hot_chunk_of(record)
            .and_then(|(table, chunk)| self.frozen.freeze_of(table, chunk))
            .filter(|freeze| counts && !is_part && commit > freeze.as_of);
        let Some(load) = freeze.map(|freeze| freeze.load.load) else {
            return;
        };
        if let Some(record) = self.frozen.withdraw(load) {
            if let Some(table) = self.tables.get(&record.load.table) {
                table.remove_load(load);
            }
            withdrawn.push(record);
        }
    }

    /// Takes the rows of the last checkpoint.
    fn apply_checkpoint(
        &mut self,
        commit: CommitTs,
        record: RedoRecord<'_>,
    ) -> std::result::Result<(), String> {
        match self.checkpoint_of(commit, record) {
            Some(as_of) if as_of == self.frozen.checkpoint => self.apply(record),
            _ => Ok(()),
        }
    }

    /// Makes a change again that is neither in a load nor in the last checkpoint.
    fn apply_later(
        &mut self,
        commit: CommitTs,
        record: RedoRecord<'_>,
    ) -> std::result::Result<(), String> {
        let counts = self.counts(commit, record);
        let is_part = self.checkpoint_of(commit, record).is_some();
        if !counts || is_part || commit <= self.frozen.checkpoint {
            return Ok(());
        }
        self.apply(record)
    }

    fn apply(&self, record: RedoRecord<'_>) -> std::result::Result<(), String> {
        let chunk = hot_chunk_of(record);
        if chunk.is_some_and(|(table, chunk)| self.frozen.is_frozen(table, chunk)) {
            return Ok(());
        }
        match record {
            RedoRecord::Insert { table, row, values } => match self.table(table)? {
                Some(table) => insert(table, row, values),
                None => Ok(()),
            },
            RedoRecord::Update { table, row, changes } => match self.table(table)? {
                Some(table) => update(table, row, changes),
                None => Ok(()),
            },
            RedoRecord::Delete { table, row } => match self.table(table)? {
                Some(table) => delete(table, row),
                None => Ok(()),
            },
            RedoRecord::Deleted { table, first, rows } => match self.table(table)? {
                Some(table) => {
                    rows.iter().try_for_each(|row| delete(table, RowId(first.0 | u64::from(*row))))
                }
                None => Ok(()),
            },
            RedoRecord::Checkpoint { .. } | RedoRecord::Definitions => Ok(()),
            RedoRecord::Call { procedure, .. } => {
                Err(format!("procedure {procedure:?} is not known"))
            }
        }
    }

    /// Returns a table, `None` if it was dropped.
    fn table(&self, id: TableId) -> std::result::Result<Option<&Arc<Table>>, String> {
        match self.tables.get(&id) {
            Some(table) => Ok(Some(table)),
            None if id.0 < self.next_table => Ok(None),
            None => Err(format!("table {} was never created", id.0)),
        }
    }
}

fn insert(table: &Table, row: RowId, values: &[ValueRef<'_>]) -> std::result::Result<(), String> {
    let schema = table.definition();
    let RowPlace::Hot { chunk, offset } = row.place() else {
        return Err(format!("insert into {:?} at {row}, which is frozen", schema.name));
    };
    if values.len() != schema.columns.len() {
        let (count, columns) = (values.len(), schema.columns.len());
        return Err(format!("{count} values for the {columns} columns of {:?}", schema.name));
    }
    for (column, value) in values.iter().enumerate() {
        value.fit(schema, column).map_err(|error| error.to_string())?;
    }
    let chunk = table.hot().get_or_add(chunk).map_err(|error| error.to_string())?;
    chunk
        .change(|rows| rows.put(usize::from(offset), values))
        .map_err(|error| format!("{row} of {:?}: {error}", schema.name))
}

fn update(
    table: &Table,
    row: RowId,
    changes: &[(usize, ValueRef<'_>)],
) -> std::result::Result<(), String> {
    let schema = table.definition();
    let missing = || format!("{row} of {:?} changes before it is there", schema.name);
    let RowPlace::Hot { chunk, offset } = row.place() else {
        return Err(format!("{row} of {:?} is frozen and cannot change", schema.name));
    };
    for (column, value) in changes {
        if *column >= schema.columns.len() {
            return Err(format!("{:?} has no column {column}", schema.name));
        }
        value.fit(schema, *column).map_err(|error| error.to_string())?;
    }
    let chunk = table.hot().get(chunk).ok_or_else(missing)?;
    let is_done = chunk
        .change(|rows| rows.replace(usize::from(offset), changes))
        .map_err(|error| format!("{row} of {:?}: {error}", schema.name))?;
    if is_done { Ok(()) } else { Err(missing()) }
}

fn delete(table: &Table, row: RowId) -> std::result::Result<(), String> {
    let name = &table.definition().name;
    let missing = || format!("{row} of {name:?} is deleted before it is there");
    let is_done = match row.place() {
        RowPlace::Hot { chunk, offset } => {
            let chunk = table.hot().get(chunk).ok_or_else(missing)?;
            chunk.change(|rows| rows.remove(usize::from(offset)))
        }
        RowPlace::Frozen { load, chunk, offset } => {
            let loads = table.loads();
            let found = loads.iter().find(|one| one.id() == load);
            found.filter(|found| chunk < found.chunk_count()).ok_or_else(missing)?;
            table.frozen_deletes(load, chunk).settle(offset)
        }
    };
    if is_done { Ok(()) } else { Err(missing()) }
}
