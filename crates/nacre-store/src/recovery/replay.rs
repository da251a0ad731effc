//! Reads the log and decides which changes count; see the module's header.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::thread;

use super::changes::Tables;
use super::workers::{Workers, misfit, worker_count};
use crate::error::Result;
use crate::freeze::Frozen;
use crate::id::{CommitTs, Lsn, RowPlace};
use crate::index::defer_hot_rows;
use crate::manifest::{FrozenRecord, LoadId, TableId};
use crate::procedure::{Live, replay_call};
use crate::redo::{GroupRecords, RedoLog, RedoRecord};
use crate::store::Store;

/// What recovery brings its changes to.
struct Recovery<'a> {
    store: &'a Store,
    tables: &'a Tables,
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

/// Makes the changes in the log of a store again, before there are transactions, with so many
/// `workers`, if somebody asks for a number. Returns the freezes that do not count, whose loads are
/// taken out of their tables.
///
/// # Errors
/// [`crate::Error::RedoDamaged`], [`crate::Error::UnknownProcedure`],
/// [`crate::Error::ProcedureChanged`].
pub(crate) fn recover(
    store: &Store,
    log: &RedoLog,
    (frozen, defined): (Frozen, BTreeSet<CommitTs>),
    (next_table, workers): (u64, Option<NonZeroUsize>),
) -> Result<Vec<FrozenRecord>> {
    let tables = &Tables::new(store.listed_tables(), next_table);
    let (withdrawn, later, first_call, live) = (Vec::new(), None, None, None);
    let mut recovery =
        Recovery { store, tables, frozen, defined, withdrawn, later, first_call, live };
    let count = worker_count(log.end().0.saturating_sub(log.start().0), workers);
    let has_failed = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut workers = Workers::start(scope, count, tables, &has_failed);
        let read = recovery.read(log, &mut workers);
        // What was handed out came before what stopped who read.
        workers.finish().and(read)
    })?;
    if let Some((start, commit)) = recovery.first_call {
        recovery.go_live(log, start, commit)?;
        let mut nobody = Workers::none(&has_failed);
        log.visit(start, &mut |group| recovery.take_later(group, &mut nobody))?;
    }
    log.release();
    match recovery.live.take() {
        Some(live) => live.finish(),
        None => {
            recovery.settle_freezes();
            tables.all().try_for_each(|table| defer_hot_rows(table))?;
        }
    }
    Ok(recovery.withdrawn)
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
    /// Reads the log up to the first call.
    fn read(&mut self, log: &RedoLog, workers: &mut Workers<'_>) -> Result<()> {
        if self.frozen.checkpoint > CommitTs::default() {
            let mut end = Lsn(0);
            log.visit(Lsn(0), &mut |group| {
                end = group.end;
                self.take_checkpoint(group, workers)
            })?;
            self.later.get_or_insert(end);
        }
        let later = self.later.unwrap_or_default();
        log.visit(later, &mut |group| self.take_later(group, workers))
    }

    /// Takes the rows of the last checkpoint; breaks off behind its last group, which has none.
    fn take_checkpoint(
        &mut self,
        mut group: GroupRecords<'_>,
        workers: &mut Workers<'_>,
    ) -> Result<ControlFlow<()>> {
        if workers.has_failed() {
            return Ok(ControlFlow::Break(()));
        }
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
            let taken = self.take(record, workers).map_err(|reason| misfit(commit, &reason))?;
            if let Some(worker) = taken {
                workers.hand(worker, commit, group.last_bytes());
            }
        }
        Ok(if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Makes the changes of a commit again that are neither in a load nor in the last checkpoint;
    /// breaks off before the first call of a procedure unless procedures can read.
    fn take_later(
        &mut self,
        mut group: GroupRecords<'_>,
        workers: &mut Workers<'_>,
    ) -> Result<ControlFlow<()>> {
        if workers.has_failed() {
            return Ok(ControlFlow::Break(()));
        }
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
            let taken = self.take(record, workers).map_err(|reason| misfit(commit, &reason))?;
            if let Some(worker) = taken {
                workers.hand(worker, commit, group.last_bytes());
            }
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
            freezes.filter_map(|freeze| Some((freeze, self.tables.get(freeze.load.table)?)));
        self.live = Some(Live::begin(self.tables.all(), freezes, commit)?);
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
            if let Some(table) = self.tables.get(record.load.table) {
                table.remove_load(load);
            }
            self.withdrawn.push(record);
        }
    }

    /// Drops the rows of chunks whose freezes count after all.
    fn settle_freezes(&self) {
        for freeze in self.frozen.doubted() {
            if let Some(table) = self.tables.get(freeze.load.table) {
                table.hot().remove(&freeze.chunks);
            }
        }
    }

    /// Makes a change again, or returns the worker that is to do so; neither if what it changed is
    /// in a load or gone.
    ///
    /// # Errors
    /// Why it does not fit what is there.
    fn take(
        &self,
        record: RedoRecord<'_>,
        workers: &Workers<'_>,
    ) -> std::result::Result<Option<usize>, String> {
        let chunk = hot_chunk_of(record);
        let freeze = chunk.and_then(|(table, chunk)| self.frozen.freeze_of(table, chunk));
        let is_frozen = freeze.is_some_and(|freeze| !self.frozen.is_in_doubt(freeze));
        if is_frozen || load_of(record).is_some_and(|load| self.frozen.is_emptied(load)) {
            return Ok(None);
        }
        match chunk.and_then(|(table, chunk)| workers.of_chunk(table, chunk)) {
            Some(worker) => Ok(Some(worker)),
            None => self.change(record).map(|()| None),
        }
    }

    /// Makes a change again, with its index entries if procedures can read.
    fn change(&self, record: RedoRecord<'_>) -> std::result::Result<(), String> {
        if self.live.is_none() {
            return self.tables.change(record);
        }
        if let RedoRecord::Delete { table, row } = record
            && let Some(table) = self.tables.get(table)
        {
            Live::remove(table, row);
        }
        self.tables.change(record)?;
        match record {
            RedoRecord::Insert { table, row, .. } => match self.tables.get(table) {
                Some(table) => Live::add(table, row).map_err(|error| error.to_string()),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
