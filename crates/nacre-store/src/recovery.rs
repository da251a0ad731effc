//! Recovery: the committed changes of the redo log, made again in fresh hot chunks.
//!
//! A row gets the place that it had, since later records and others' row ids name it. Places whose
//! rows were never committed stay holes. Nothing is written, so a crash meanwhile changes nothing,
//! and memory is that of the rows and of the largest transaction.
//!
//! 1. The rows of the last checkpoint come behind commits that change them. The log is read up to
//!    the group that ends the checkpoint, and its rows are taken.
//! 2. Then later commits are made again, from the first of them on: what was committed while the
//!    checkpoint was written is read twice, the rest of the log once.
//! 3. A call of a procedure is run again (`procedure/replay.rs`).
//! 4. A freeze that is not older than the checkpoint may have been about to be taken back: the log
//!    names one of its chunks later. Rows of such chunks are taken like others, and at the end
//!    either they go or the load does.
//! 5. Indexes get the entries of the rows behind the first answer (`index/fill.rs`), unless
//!    procedures read by them.
//!
//! # Invariants
//! 1. After it, tables hold what the commits in the log left, in their order, and no versions;
//!    indexes have the entries of their hot rows, or are behind by all of them.
//! 2. Groups of transactions that defined something, of which the manifest has no record, were
//!    never committed and are skipped. So are records of tables that were dropped since, of commits
//!    up to the last checkpoint, of hot chunks that were frozen, and of loads that lost all rows;
//!    any other record that does not fit what is there is an error, since a change would be lost.
//! # Source
//! [Muehlbauer16 4.3.1] physical redo records are replayed without reads, logical ones by running
//! their procedures. Differs: rows keep their places, so no index is needed to find them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::freeze::Frozen;
use crate::id::{CommitTs, Lsn, RowId, RowPlace};
use crate::index::defer_hot_rows;
use crate::manifest::{FrozenRecord, LoadId, TableId};
use crate::procedure::{Live, replay_call};
use crate::redo::{GroupRecords, RedoLog, RedoRecord};
use crate::store::Store;
use crate::table::Table;
use crate::value::ValueRef;

/// What recovery brings its changes to.
struct Recovery<'a> {
    store: &'a Store,
    tables: BTreeMap<TableId, Arc<Table>>,
    /// Tables from this one on were never created.
    next_table: u64,
    frozen: Frozen,
    /// Commits that defined something of which the manifest knows.
    defined: BTreeSet<CommitTs>,
    withdrawn: Vec<FrozenRecord>,
    /// Where the first commit after the checkpoint begins.
    later: Option<Lsn>,
    /// Where the first call after it is, and its commit.
    first_call: Option<(Lsn, CommitTs)>,
    /// From there on.
    live: Option<Live>,
}

/// Makes the changes in the log of a store again, before there are transactions; `next_table` is
/// the id that the next table gets. Returns the freezes that do not count, whose loads are taken
/// out of their tables.
///
/// # Errors
/// [`Error::RedoDamaged`], [`Error::UnknownProcedure`], [`Error::ProcedureChanged`].
pub(crate) fn recover(
    store: &Store,
    log: &RedoLog,
    next_table: u64,
    (frozen, defined): (Frozen, BTreeSet<CommitTs>),
) -> Result<Vec<FrozenRecord>> {
    let tables = store.listed_tables().into_iter().map(|table| (table.id(), table)).collect();
    let (withdrawn, later, first_call, live) = (Vec::new(), None, None, None);
    let mut recovery =
        Recovery { store, tables, next_table, frozen, defined, withdrawn, later, first_call, live };
    if recovery.frozen.checkpoint > CommitTs::default() {
        let mut end = Lsn(0);
        log.visit(Lsn(0), &mut |group| {
            end = group.end;
            recovery.take_checkpoint(group)
        })?;
        recovery.later.get_or_insert(end);
    }
    log.visit(recovery.later.unwrap_or_default(), &mut |group| recovery.take_later(group))?;
    if let Some((start, commit)) = recovery.first_call {
        recovery.go_live(log, start, commit)?;
        log.visit(start, &mut |group| recovery.take_later(group))?;
    }
    log.release();
    match recovery.live.take() {
        Some(live) => live.finish(),
        None => {
            recovery.settle_freezes();
            recovery.tables.values().try_for_each(|table| defer_hot_rows(table))?;
        }
    }
    Ok(recovery.withdrawn)
}

fn fail(commit: CommitTs, reason: &str) -> Error {
    Error::RedoDamaged { reasons: vec![format!("commit {}: {reason}", commit.0)] }
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

/// Returns the load of the frozen rows that a record deletes.
fn load_of(record: RedoRecord<'_>) -> Option<LoadId> {
    let (RedoRecord::Delete { row, .. } | RedoRecord::Deleted { first: row, .. }) = record else {
        return None;
    };
    match row.place() {
        RowPlace::Hot { .. } => None,
        RowPlace::Frozen { load, .. } => Some(load),
    }
}

impl Recovery<'_> {
    /// Takes the rows of the last checkpoint; breaks off behind its last group, which has none.
    fn take_checkpoint(&mut self, mut group: GroupRecords<'_>) -> Result<ControlFlow<()>> {
        let commit = group.commit;
        let part_of = match group.next_record()? {
            Some(RedoRecord::Checkpoint { as_of }) => Some(as_of),
            _ => None,
        };
        if part_of.is_none() && commit > self.frozen.checkpoint {
            self.later.get_or_insert(group.start);
        }
        if part_of != Some(self.frozen.checkpoint) {
            return Ok(ControlFlow::Continue(()));
        }
        let mut is_last = true;
        while let Some(record) = group.next_record()? {
            is_last = false;
            self.apply(record).map_err(|reason| fail(commit, &reason))?;
        }
        Ok(if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Makes the changes of a commit again that are neither in a load nor in the last checkpoint;
    /// breaks off before the first call of a procedure unless procedures can read.
    fn take_later(&mut self, mut group: GroupRecords<'_>) -> Result<ControlFlow<()>> {
        let (commit, start) = (group.commit, group.start);
        if commit <= self.frozen.checkpoint {
            return Ok(ControlFlow::Continue(()));
        }
        if let Some(live) = &mut self.live {
            live.advance(commit);
        }
        while let Some(record) = group.next_record()? {
            if self.is_void(commit, record) {
                break;
            }
            if let RedoRecord::Call { procedure, arguments, effects } = record {
                if self.live.is_none() {
                    self.first_call = Some((start, commit));
                    return Ok(ControlFlow::Break(()));
                }
                replay_call(self.store, commit, (procedure, arguments), effects)?;
                continue;
            }
            if let Some((table, chunk)) = hot_chunk_of(record) {
                self.withdraw(commit, table, chunk);
            }
            self.apply(record).map_err(|reason| fail(commit, &reason))?;
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether a record says that those behind it in its group do not count.
    fn is_void(&self, commit: CommitTs, record: RedoRecord<'_>) -> bool {
        match record {
            // Its rows are those of a snapshot.
            RedoRecord::Checkpoint { .. } => true,
            // The manifest does not know what it defined: it did not happen.
            RedoRecord::Definitions => !self.defined.contains(&commit),
            _ => false,
        }
    }

    /// Finds out which freezes count, and lets procedures read from the first call on.
    fn go_live(&mut self, log: &RedoLog, start: Lsn, commit: CommitTs) -> Result<()> {
        if self.frozen.doubted().next().is_some() {
            log.visit(start, &mut |group| self.find_withdrawn(group))?;
        }
        let freezes = self.frozen.doubted();
        let freezes =
            freezes.filter_map(|freeze| Some((freeze, self.tables.get(&freeze.load.table)?)));
        self.live = Some(Live::begin(self.tables.values(), freezes, commit)?);
        Ok(())
    }

    /// Takes out the freezes of chunks that a group changes.
    fn find_withdrawn(&mut self, mut group: GroupRecords<'_>) -> Result<ControlFlow<()>> {
        let commit = group.commit;
        while let Some(record) = group.next_record()? {
            if self.is_void(commit, record) {
                break;
            }
            if let RedoRecord::Call { effects, .. } = record {
                for (table, chunk) in effects.chunks {
                    self.withdraw(commit, *table, *chunk);
                }
            } else if let Some((table, chunk)) = hot_chunk_of(record) {
                self.withdraw(commit, table, chunk);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Takes out the freeze of a chunk that is changed by a commit that the load does not have.
    fn withdraw(&mut self, commit: CommitTs, table: TableId, chunk: u64) {
        let freeze = self
            .frozen
            .freeze_of(table, chunk)
            .filter(|freeze| self.frozen.is_in_doubt(freeze) && commit > freeze.as_of);
        let Some(load) = freeze.map(|freeze| freeze.load.load) else {
            return;
        };
        if let Some(record) = self.frozen.withdraw(load) {
            if let Some(table) = self.tables.get(&record.load.table) {
                table.remove_load(load);
            }
            self.withdrawn.push(record);
        }
    }

    /// Drops the rows of chunks whose freezes count after all.
    fn settle_freezes(&self) {
        for freeze in self.frozen.doubted() {
            if let Some(table) = self.tables.get(&freeze.load.table) {
                table.hot().remove(&freeze.chunks);
            }
        }
    }

    fn apply(&self, record: RedoRecord<'_>) -> std::result::Result<(), String> {
        let freeze =
            hot_chunk_of(record).and_then(|(table, chunk)| self.frozen.freeze_of(table, chunk));
        if freeze.is_some_and(|freeze| !self.frozen.is_in_doubt(freeze)) {
            return Ok(());
        }
        if load_of(record).is_some_and(|load| self.frozen.is_emptied(load)) {
            return Ok(());
        }
        match record {
            RedoRecord::Insert { table, row, values } => match self.table(table)? {
                Some(table) => {
                    insert(table, row, values)?;
                    self.add_entries(table, row)
                }
                None => Ok(()),
            },
            // Who changes a key moves the row, so entries stay.
            RedoRecord::Update { table, row, changes } => match self.table(table)? {
                Some(table) => update(table, row, changes),
                None => Ok(()),
            },
            RedoRecord::Delete { table, row } => match self.table(table)? {
                Some(table) => {
                    if self.live.is_some() {
                        Live::remove(table, row);
                    }
                    delete(table, row)
                }
                None => Ok(()),
            },
            RedoRecord::Deleted { table, first, rows } => match self.table(table)? {
                Some(table) => {
                    rows.iter().try_for_each(|row| delete(table, RowId(first.0 | u64::from(*row))))
                }
                None => Ok(()),
            },
            RedoRecord::Checkpoint { .. } | RedoRecord::Definitions | RedoRecord::Call { .. } => {
                Ok(())
            }
        }
    }

    /// Adds the index entries of a new row, if procedures can read.
    fn add_entries(&self, table: &Table, row: RowId) -> std::result::Result<(), String> {
        match self.live.is_some() {
            true => Live::add(table, row).map_err(|error| error.to_string()),
            false => Ok(()),
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
