//! A transaction of one client.
//!
//! # Invariants
//! 1. What a call that fails had changed is taken back before it returns; the transaction can go
//!    on, except after [`Error::TransactionTooLarge`], which rolls it back.
//! 2. A transaction that is dropped is rolled back.
//! # Concurrency
//! One thread at a time; others may read through its [`Snapshot`] meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::foreign_key::{Queue, QueueMark};
use crate::hot::WriteProblem;
use crate::id::{CommitTs, RowId, RowPlace};
use crate::index::{Rows, SearchRoom, TableIndex, check_frozen, check_rows, insert_entries};
use crate::manifest::LoadId;
use crate::mvcc::scratch::Scratch;
use crate::mvcc::transactions::Change;
use crate::mvcc::undo::{Touched, TouchedChunk, UNDO_RECORD_BYTES, Writes};
use crate::mvcc::validation::Validator;
use crate::mvcc::{IsolationLevel, Snapshot, Transactions};
use crate::predicate_log::{ColumnSet, Predicate, PredicateLog, ValidationLevel};
use crate::procedure::CallTrace;
use crate::store::{Define, Store};
use crate::table::{Table, TableSnapshot};
use crate::value::{RowCopy, VALUES_INLINE, ValueRef, slots};

/// Bytes of one version of a row.
const VERSION_BYTES: usize = 32;

/// A transaction that has not ended.
#[derive(Debug)]
pub struct Transaction {
    store: Store,
    level: IsolationLevel,
    snapshot: Snapshot,
    /// Where it is noted that the transaction is active.
    slot: usize,
    /// Drawn with the first change.
    stamp: Option<u32>,
    /// What it changed and read, in memory that goes to the next transaction; there until it ends.
    scratch: Option<Box<Scratch>>,
    /// Whether commit waits until it is durable.
    is_synchronous: bool,
    /// How closely what was read is compared with what others wrote.
    validation: ValidationLevel,
    /// Memory that the changes take.
    bytes: u64,
    has_ended: bool,
    /// Whether what the store's handle defines belongs to the transaction.
    defines: bool,
    /// The version at the last check of the written tables.
    definitions_version: AtomicU64,
    /// The call of a procedure that it is, if it is one that is noted or replayed.
    call: Option<Box<CallTrace>>,
}

/// A moment of a transaction that it can be rolled back to.
#[derive(Clone, Copy, Debug)]
pub struct Savepoint {
    changes: usize,
    redo_bytes: usize,
    bytes: u64,
    queue: QueueMark,
    /// Number of a note of what was defined; 0 if nothing was.
    draft: usize,
}

impl Transaction {
    pub(crate) fn new(store: &Store, level: IsolationLevel) -> Self {
        let (slot, snapshot) = store.all_transactions().begin(level);
        Self {
            store: store.clone(),
            level,
            snapshot,
            slot,
            stamp: None,
            scratch: Some(Scratch::take()),
            is_synchronous: true,
            validation: ValidationLevel::default(),
            bytes: 0,
            has_ended: false,
            defines: false,
            definitions_version: AtomicU64::new(store.definitions_version()),
            call: None,
        }
    }

    /// Returns what the transaction sees.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot
    }

    /// Returns a snapshot of all that is committed and of the transaction's own changes. Versions
    /// that it sees are kept only of tables that nobody else writes meanwhile.
    pub fn latest_snapshot(&self) -> Snapshot {
        Snapshot { start: self.store.last_commit(), ..self.snapshot }
    }

    /// Returns the transaction's isolation level.
    pub fn level(&self) -> IsolationLevel {
        self.level
    }

    /// Refuses to continue if a table that this transaction wrote is dropped: COMMIT would fail.
    ///
    /// # Errors
    /// [`Error::SerializationConflict`].
    pub fn require_written_tables(&self) -> Result<()> {
        let version = self.store.definitions_version();
        // ORDERING: only the transaction's own statements use it, one after the other.
        if version == self.definitions_version.load(Ordering::Relaxed) {
            return Ok(());
        }
        let is_gone = |table: &Table| {
            table.is_dropped() && !table.is_draft() && !table.is_dropped_by(self.snapshot.tx)
        };
        let undo = self.scratch.as_ref().map(|scratch| &scratch.undo);
        let touched = undo.iter().flat_map(|undo| undo.touched());
        let mut gone = touched.filter(|one| is_gone(&one.table));
        let gone = gone.find(|one| undo.is_some_and(|undo| undo.has_rows_of(&one.table)));
        if let Some(Touched { table, .. }) = gone {
            let reason = "its definition changed since this transaction wrote it".to_owned();
            return Err(Error::SerializationConflict { table: table.names().table(), reason });
        }
        // ORDERING: as above.
        self.definitions_version.store(version, Ordering::Relaxed);
        Ok(())
    }

    /// Refuses a table that others have written since the snapshot, except under READ COMMITTED.
    ///
    /// # Errors
    /// [`Error::SerializationConflict`].
    pub fn require_unwritten(&self, table: &Table) -> Result<()> {
        if self.level == IsolationLevel::ReadCommitted {
            return Ok(());
        }
        let commits = self.store.all_transactions().commits_since(self.snapshot.start);
        let is_written = commits.iter().any(|committed| committed.change.writes_to(table));
        if is_written {
            let reason = "a transaction that committed since changed its rows".to_owned();
            return Err(Error::SerializationConflict { table: table.names().table(), reason });
        }
        Ok(())
    }

    /// Whether it has changed anything.
    pub fn has_writes(&self) -> bool {
        self.scratch.as_ref().is_some_and(|scratch| !scratch.undo.is_empty())
    }

    /// Sets whether commit returns only when the changes are durable, as it does unless set. If
    /// not, a crash may undo the newest commits of such transactions: whole ones, and none before
    /// a commit that waited.
    pub fn set_synchronous_commit(&mut self, is_synchronous: bool) {
        self.is_synchronous = is_synchronous;
    }

    /// Sets how closely what a SERIALIZABLE transaction read is compared with what others wrote.
    pub fn set_validation_level(&mut self, level: ValidationLevel) {
        self.validation = level;
    }

    /// Takes a new snapshot, for the next statement of a READ COMMITTED transaction; does nothing
    /// at the other levels.
    pub fn refresh(&mut self) {
        if self.level == IsolationLevel::ReadCommitted && !self.has_ended {
            self.snapshot = self.store.all_transactions().refresh(self.slot, self.snapshot);
        }
    }

    /// Notes that rows were read which were found without this transaction's help, such as by a
    /// scan of its [`Transaction::table_snapshot`].
    pub fn log_predicate(&mut self, table: &Arc<Table>, predicate: Predicate) {
        if self.logs_reads() {
            room(&mut self.scratch).reads.log(table.id(), predicate);
        }
    }

    /// Returns the log of what was read, if the transaction keeps one.
    pub fn predicate_log(&mut self) -> Option<&mut PredicateLog> {
        self.logs_reads().then(|| &mut room(&mut self.scratch).reads)
    }

    /// Notes that all changes only move rows; see [`crate::mvcc::UndoBuffer::note_moves`].
    pub(super) fn note_moves(&mut self) {
        room(&mut self.scratch).undo.note_moves();
    }

    /// Returns what is to be checked of foreign keys.
    pub(crate) fn queue(&mut self) -> &mut Queue {
        &mut room(&mut self.scratch).queue
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Whether definitions belong to the transaction.
    pub fn is_defining(&self) -> bool {
        self.defines
    }

    /// Has what the store's handle defines belong to the transaction.
    pub(crate) fn set_defines(&mut self) {
        self.defines = true;
    }

    /// Makes the transaction the call of a procedure, before it changes anything.
    pub(crate) fn trace_call(&mut self, call: Box<CallTrace>) {
        self.call = Some(call);
    }

    fn is_replay(&self) -> bool {
        self.call.as_ref().is_some_and(|call| call.is_replay())
    }

    /// Notes in the trace of a call that a write failed.
    #[cold]
    fn note_failure(&mut self) {
        if let Some(call) = &mut self.call {
            call.note_failure();
        }
    }

    fn logs_reads(&self) -> bool {
        self.level == IsolationLevel::Serializable
    }

    /// Returns a table as the transaction sees it; what is read of it has to be logged.
    pub fn table_snapshot(&self, table: &Arc<Table>) -> TableSnapshot {
        table.snapshot_at(&self.snapshot)
    }

    /// As [`Transaction::insert`], without foreign keys.
    pub(crate) fn insert_row(
        &mut self,
        table: &Arc<Table>,
        values: &[ValueRef<'_>],
    ) -> Result<RowId> {
        self.insert_beside(table, values, true)
    }

    /// As [`Transaction::insert_row`]; whether a frozen row has one of the keys is asked only if
    /// there may be one.
    pub(super) fn insert_beside(
        &mut self,
        table: &Arc<Table>,
        values: &[ValueRef<'_>],
        may_be_frozen: bool,
    ) -> Result<RowId> {
        let stamp = self.prepare_write(table)?;
        let schema = table.definition();
        if values.len() != schema.columns.len() {
            return Err(Error::InvalidDefinition {
                reason: format!(
                    "{} values for the {} columns of table {:?}",
                    values.len(),
                    schema.columns.len(),
                    schema.name
                ),
            });
        }
        let (mut inline, mut spilled) = ([ValueRef::Null; VALUES_INLINE], Vec::new());
        let fitted = slots(values.len(), &mut inline, &mut spilled);
        let mut bytes = VERSION_BYTES + UNDO_RECORD_BYTES;
        for (column, (slot, value)) in fitted.iter_mut().zip(values).enumerate() {
            *slot = table.fit(*value, column)?;
            bytes += value_bytes(*slot);
        }
        let id = self.insert_indexed(table, fitted, stamp).inspect_err(|_| self.note_failure())?;
        let Scratch { undo, room: SearchRoom { key, .. }, .. } = room(&mut self.scratch);
        if may_be_frozen
            && table.may_have_frozen()
            && let Err(error) = check_frozen(table, fitted, self.snapshot, key)
        {
            undo.undo_to(undo.len() - 1);
            self.note_failure();
            return Err(error);
        }
        if let Some(call) = &mut self.call {
            call.note_insert(table.id(), id, room(&mut self.scratch).undo.len() - 1);
        }
        if self.store.is_durable() {
            room(&mut self.scratch).redo.insert(table.id(), id, fitted);
        }
        self.count_bytes(bytes)?;
        Ok(id)
    }

    /// Inserts a row that fits, with its entries, unless its keys are taken by hot rows.
    fn insert_indexed(
        &mut self,
        table: &Arc<Table>,
        values: &[ValueRef<'_>],
        stamp: u32,
    ) -> Result<RowId> {
        let snapshot = self.snapshot;
        let place = self.call.as_ref().map_or(Ok(None), |call| call.next_place(table.id()))?;
        let Scratch { undo, room: SearchRoom { key, .. }, .. } = room(&mut self.scratch);
        let indexes = table.table_indexes().hold();
        let check =
            |index: &TableIndex, rows: Rows<'_>| check_rows(table, index, values, rows, snapshot);
        let mut insert = || {
            if let Some(row) = place {
                let chunk = table.hot().get_or_add(row.chunk_number())?;
                chunk.insert_at(row.offset(), values, stamp)?;
                undo.push(table, row, 1, || TouchedChunk::Hot(chunk));
                return Ok(row);
            }
            table.hot().insert(values, Some(stamp), |chunk, row| {
                let id = RowId::hot(chunk.id(), row);
                undo.push(table, id, 1, || TouchedChunk::Hot(Arc::clone(chunk)));
                id
            })
        };
        key.clear();
        insert_entries(&indexes, values, key, &check, &mut insert)
    }

    /// As [`Transaction::update`], without foreign keys.
    pub(crate) fn update_row(
        &mut self,
        table: &Arc<Table>,
        row: RowId,
        changes: &[(usize, ValueRef<'_>)],
    ) -> Result<RowId> {
        let stamp = self.prepare_write(table)?;
        let schema = table.definition();
        let (mut inline, mut spilled) = ([(0, ValueRef::Null); VALUES_INLINE], Vec::new());
        let fitted = slots(changes.len(), &mut inline, &mut spilled);
        let mut bytes = UNDO_RECORD_BYTES;
        for (slot, (column, value)) in fitted.iter_mut().zip(changes) {
            if *column >= schema.columns.len() {
                return Err(Error::UnknownColumn {
                    table: schema.name.clone(),
                    column: format!("{column}"),
                });
            }
            *slot = (*column, table.fit(*value, *column)?);
            bytes += VERSION_BYTES + value_bytes(slot.1);
        }
        let RowPlace::Hot { chunk, offset } = row.place() else {
            return self.move_row(table, row, fitted);
        };
        let indexes = table.table_indexes().hold();
        let has_moved = self.call.as_ref().is_some_and(|call| call.has_moved());
        if has_moved || self.changes_key(table, &indexes, row, fitted)? {
            drop(indexes);
            return self.move_row(table, row, fitted);
        }
        let (snapshot, undo) = (self.snapshot, &mut room(&mut self.scratch).undo);
        let updated = table.hot().with(chunk, |chunk| {
            chunk.update(offset, (snapshot, stamp), fitted)?;
            if !fitted.is_empty() {
                undo.push(table, row, fitted.len(), || TouchedChunk::Hot(Arc::clone(chunk)));
            }
            Ok(())
        });
        drop(indexes);
        let Some(updated) = updated else {
            return self.move_row(table, frozen_row(table, row)?, fitted);
        };
        match updated {
            Ok(()) if fitted.is_empty() => {}
            Ok(()) => {
                if self.store.is_durable() {
                    room(&mut self.scratch).redo.update(table.id(), row, fitted);
                }
                if let Some(call) = &mut self.call {
                    call.note_change();
                }
                self.count_bytes(bytes)?;
            }
            Err(WriteProblem::Full) => {
                if let Some(call) = &mut self.call {
                    call.note_move();
                }
                return self.move_row(table, row, fitted);
            }
            Err(WriteProblem::Frozen) => {
                drop(table.read_layout());
                return self.update(table, row, changes);
            }
            Err(problem) => return Err(self.write_error(problem, table, row)),
        }
        Ok(row)
    }

    /// Whether changes of a row, which fit, give it another key in one of the indexes.
    fn changes_key(
        &self,
        table: &Arc<Table>,
        indexes: &[Arc<TableIndex>],
        row: RowId,
        changes: &[(usize, ValueRef<'_>)],
    ) -> Result<bool> {
        for (column, value) in changes {
            if indexes.iter().any(|index| index.key().contains(*column)) {
                let snapshot = self.snapshot;
                let same = table.read_at(row, snapshot, &[*column], |old| old[0] == *value)?;
                if same == Some(false) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// As [`Transaction::delete`], without foreign keys.
    pub(crate) fn delete_row(&mut self, table: &Arc<Table>, row: RowId) -> Result<()> {
        self.delete_row_at(table, row, self.snapshot)
    }

    /// As [`Transaction::delete_row`], for a row as another snapshot of the transaction sees it.
    pub(crate) fn delete_row_at(
        &mut self,
        table: &Arc<Table>,
        row: RowId,
        snapshot: Snapshot,
    ) -> Result<()> {
        let stamp = self.prepare_write(table)?;
        let undo = &mut room(&mut self.scratch).undo;
        let deleted = match row.place() {
            RowPlace::Hot { chunk, offset } => {
                let deleted = table.hot().with(chunk, |chunk| {
                    chunk.delete(offset, (snapshot, stamp))?;
                    undo.push_delete(table, row, || TouchedChunk::Hot(Arc::clone(chunk)));
                    Ok(())
                });
                match deleted {
                    None => {
                        return self.delete_row_at(table, frozen_row(table, row)?, snapshot);
                    }
                    Some(Err(WriteProblem::Frozen)) => {
                        drop(table.read_layout());
                        return self.delete_row_at(table, row, snapshot);
                    }
                    Some(deleted) => deleted,
                }
            }
            RowPlace::Frozen { load, chunk: index, offset } => {
                require_frozen(table, row, (load, index), snapshot)
                    .map_err(|error| explain_missing(&self.store, error, table, row))?;
                let deletes = table.frozen_deletes(load, index);
                let deleted = deletes.delete(offset, (snapshot, stamp), table.hot().stamps());
                deleted.map(|()| {
                    let chunk = || TouchedChunk::Frozen { load, index, deletes };
                    undo.push_delete(table, row, chunk);
                })
            }
        };
        deleted.map_err(|problem| self.write_error(problem, table, row))?;
        if self.store.is_durable() {
            room(&mut self.scratch).redo.delete(table.id(), row);
        }
        if let Some(call) = &mut self.call {
            call.note_change();
        }
        self.count_bytes(VERSION_BYTES + UNDO_RECORD_BYTES)
    }

    /// Passes `columns` of a row to `with`, or returns `None` if the transaction sees no such row.
    /// `with` must not use the store: it may run under a latch.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`]; [`Error::TransactionEnded`]; that of a damaged block.
    pub fn read<T>(
        &mut self,
        table: &Arc<Table>,
        row: RowId,
        columns: &[usize],
        with: impl FnOnce(&[ValueRef<'_>]) -> T,
    ) -> Result<Option<T>> {
        self.require_open()?;
        table.require_visible(&self.snapshot)?;
        table.check_columns(columns)?;
        if self.logs_reads() {
            let read = columns.iter().copied().collect();
            room(&mut self.scratch).reads.log_row(table.id(), row, &read);
        }
        let read = table.read_at(row, self.snapshot, columns, with)?;
        table.require_undropped()?;
        Ok(read)
    }

    /// Returns a moment that [`Transaction::rollback_to`] goes back to.
    pub fn savepoint(&mut self) -> Savepoint {
        let draft = if self.defines { self.store.save_draft(self.snapshot.tx) } else { 0 };
        let Scratch { undo, redo, queue, .. } = room(&mut self.scratch);
        Savepoint {
            changes: undo.len(),
            redo_bytes: redo.position(),
            bytes: self.bytes,
            queue: queue.mark(),
            draft,
        }
    }

    /// Takes back all changes since `savepoint`; later savepoints are gone.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        room(&mut self.scratch).undo.undo_to(savepoint.changes);
        room(&mut self.scratch).redo.truncate(savepoint.redo_bytes);
        room(&mut self.scratch).queue.back_to(savepoint.queue);
        if let Some(call) = &mut self.call {
            call.take_back(savepoint.changes);
        }
        self.bytes = savepoint.bytes.min(self.bytes);
        if self.defines {
            self.store.restore_draft(self.snapshot.tx, savepoint.draft);
        }
    }

    /// Makes the changes visible to transactions that begin from now on, and returns the moment; a
    /// transaction without changes commits at its start.
    ///
    /// # Errors
    /// Those of [`Transaction::check_constraints`];
    /// [`Error::SerializationConflict`] if the transaction is SERIALIZABLE, has changes, and
    /// another one that committed since its start changed what it read; [`Error::UnknownTable`] if
    /// a table that was changed has been dropped; [`Error::TransactionEnded`]; no space. The
    /// transaction is then rolled back. After [`Error::RedoFailed`] it may or may not be there
    /// after a restart.
    pub fn commit(mut self) -> Result<CommitTs> {
        self.require_open()?;
        self.check_constraints()?;
        let ts = if self.defines { self.commit_definitions()? } else { self.commit_rows(None)? };
        self.end();
        Ok(ts)
    }

    /// Takes all changes back.
    pub fn rollback(mut self) {
        self.end();
    }

    /// Commits the rows that were changed, if there are any, and has `define` record what was
    /// defined.
    pub(crate) fn commit_rows(&mut self, define: Option<Define<'_>>) -> Result<CommitTs> {
        let has_rows = self.has_writes();
        match (self.stamp.filter(|_| has_rows), define) {
            (Some(stamp), define) => self.commit_writes(stamp, define),
            (None, Some(define)) => self.commit_defined(define),
            (None, None) => Ok(self.snapshot.start),
        }
    }

    /// Commits definitions without rows.
    fn commit_defined(&mut self, define: Define<'_>) -> Result<CommitTs> {
        let (snapshot, level) = (self.snapshot, self.validation);
        let transactions = self.store.all_transactions();
        let reads = &mut room(&mut self.scratch).reads;
        let order = |ts| {
            validate(transactions, reads, snapshot, level)?;
            // PERSIST: this commit makes all before it visible, so they are durable before.
            self.store.flush_redo()?;
            Ok((snapshot.tx, Change::Gone(define(ts, false)?), None::<()>))
        };
        transactions.commit(Some(self.slot), order, Ok).map(|(ts, _)| ts)
    }

    fn commit_writes(&mut self, stamp: u32, define: Option<Define<'_>>) -> Result<CommitTs> {
        // What is replayed is in the log.
        let log = if self.is_replay() { None } else { self.store.redo_log()? };
        let Scratch { undo, redo, reads, .. } = room(&mut self.scratch);
        let call = self.call.as_mut().filter(|_| define.is_none());
        let call = call.map_or(Ok(None), |call| call.finish(undo, redo))?;
        let calls = self.store.calls();
        if define.is_some() {
            redo.mark_definitions();
        }
        let (snapshot, level, is_synchronous) =
            (self.snapshot, self.validation, self.is_synchronous);
        let transactions = self.store.all_transactions();
        let mut end = None;
        let order = |ts| {
            // What the transaction made or drops itself, nobody else changes.
            let is_others =
                |one: &&Touched| !one.table.is_draft() && !one.table.is_dropped_by(snapshot.tx);
            for Touched { table, .. } in undo.touched().iter().filter(is_others) {
                let checked = table.require_open(snapshot.start);
                // The changes of the table may have been taken back.
                checked
                    .or_else(|error| if undo.has_rows_of(table) { Err(error) } else { Ok(()) })?;
            }
            validate(transactions, reads, snapshot, level)?;
            let group = match &call {
                Some((call, raised)) if calls.admits(ts, *raised) => call,
                _ => &*redo,
            };
            let lsn = log.map(|log| log.append(ts, group)).transpose()?;
            end = lsn;
            let gone = match define {
                None => Vec::new(),
                Some(define) => {
                    if let (Some(log), Some(lsn)) = (log, lsn) {
                        // PERSIST: the group is durable before the record that lets it count.
                        log.persist(lsn)?;
                    }
                    define(ts, true)?
                }
            };
            let undo = std::mem::take(undo);
            let waits = log.zip(lsn).filter(|_| is_synchronous);
            Ok((snapshot.tx, Change::Writes(Writes { undo, stamp, gone }), waits))
        };
        let outcome = transactions.commit(Some(self.slot), order, |(log, lsn)| log.persist(lsn));
        if !is_synchronous || end.is_some_and(|end| self.store.wakes_upkeep(end)) {
            self.store.wake();
        }
        if room(&mut self.scratch).undo.is_empty() {
            // The stamp went with the versions.
            self.stamp = None;
        }
        let (ts, spare) = outcome?;
        room(&mut self.scratch).undo.take_memory(spare);
        Ok(ts)
    }

    /// Takes back what is not committed and leaves the list of active transactions.
    fn end(&mut self) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        let transactions = self.store.all_transactions();
        let mut scratch = self.scratch.take();
        if let Some(scratch) = &mut scratch {
            scratch.undo.undo_to(0);
        }
        if self.defines {
            self.store.discard_draft(self.snapshot.tx);
        }
        if let Some(stamp) = self.stamp.take() {
            transactions.give_back_stamp(Some(self.slot), stamp);
        }
        let spare = transactions.end(self.slot);
        if let Some(mut scratch) = scratch {
            scratch.undo.take_memory(spare);
            scratch.give_back();
        }
    }

    /// Deletes a row and inserts it with changes elsewhere.
    fn move_row(
        &mut self,
        table: &Arc<Table>,
        row: RowId,
        changes: &[(usize, ValueRef<'_>)],
    ) -> Result<RowId> {
        let mut copy = std::mem::take(&mut room(&mut self.scratch).moved);
        let moved = self.move_by(table, row, changes, &mut copy);
        if let Some(scratch) = &mut self.scratch {
            scratch.moved = copy;
        }
        moved
    }

    fn move_by(
        &mut self,
        table: &Arc<Table>,
        row: RowId,
        changes: &[(usize, ValueRef<'_>)],
        copy: &mut RowCopy,
    ) -> Result<RowId> {
        let count = table.definition().columns.len();
        let (mut inline, mut spilled) = ([0; VALUES_INLINE], Vec::new());
        let columns = slots(count, &mut inline, &mut spilled);
        columns.iter_mut().enumerate().for_each(|(column, slot)| *slot = column);
        let before = self.read(table, row, columns, |values| copy.set(values))?;
        let before = before.ok_or_else(|| unknown_row(table, row));
        let savepoint = self.savepoint();
        // A conflict explains better than the absence that it causes.
        self.delete_row(table, row)?;
        before?;
        let (mut inline, mut spilled) = ([ValueRef::Null; VALUES_INLINE], Vec::new());
        let values = slots(count, &mut inline, &mut spilled);
        values.iter_mut().zip(copy.values()).for_each(|(slot, value)| *slot = value);
        for (column, value) in changes {
            values[*column] = *value;
        }
        let inserted = self.insert_row(table, values);
        if inserted.is_err() && !self.has_ended {
            self.rollback_to(savepoint);
        }
        inserted
    }

    /// Checks that the transaction may change the table, and returns its stamp.
    #[inline]
    fn prepare_write(&mut self, table: &Arc<Table>) -> Result<u32> {
        self.require_open()?;
        let transactions = self.store.all_transactions();
        // The stamps of another database mean something else.
        let is_foreign = !Arc::ptr_eq(table.hot().stamps(), transactions.stamps());
        if is_foreign || table.is_hidden_from(self.snapshot.tx) {
            return Err(Error::UnknownTable { table: table.schema().name.clone() });
        }
        table.require_open(self.snapshot.start)?;
        match self.stamp {
            Some(stamp) => Ok(stamp),
            None => {
                if !self.is_replay() {
                    self.store.require_writable()?;
                }
                let stamp = transactions.take_stamp(self.slot, self.snapshot.tx)?;
                self.stamp = Some(stamp);
                Ok(stamp)
            }
        }
    }

    /// Returns what is seen, and room for a search.
    pub(crate) fn view_and_room(&mut self) -> (Snapshot, &mut SearchRoom) {
        (self.snapshot, &mut room(&mut self.scratch).room)
    }

    pub(crate) fn require_open(&self) -> Result<()> {
        if self.has_ended { Err(Error::TransactionEnded) } else { Ok(()) }
    }

    #[cold]
    fn write_error(&mut self, problem: WriteProblem, table: &Table, row: RowId) -> Error {
        self.note_failure();
        if matches!(problem, WriteProblem::Missing) && self.logs_reads() {
            // Who is told that a row does not exist has read that.
            room(&mut self.scratch).reads.log_row(table.id(), row, &ColumnSet::default());
        }
        explain_missing(&self.store, write_error(problem, table, row), table, row)
    }

    /// Counts memory; if it is too much the transaction is rolled back.
    fn count_bytes(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes as u64;
        let bytes_max = self.store.all_transactions().bytes_max();
        // What was not too much once is not when it is replayed.
        if self.bytes <= bytes_max || self.is_replay() {
            return Ok(());
        }
        self.end();
        Err(Error::TransactionTooLarge { bytes_max })
    }
}

/// Validates the logged reads against all commits since the snapshot.
///
/// # Errors
/// [`Error::SerializationConflict`].
fn validate(
    transactions: &Transactions,
    reads: &mut PredicateLog,
    snapshot: Snapshot,
    level: ValidationLevel,
) -> Result<()> {
    if reads.is_empty() {
        return Ok(());
    }
    let others = transactions.commits_since(snapshot.start);
    if others.is_empty() {
        return Ok(());
    }
    let mut validator = Validator::new(reads, snapshot.start, level);
    // Tables that the transaction closed itself are no conflict with its reads.
    let mut others = others.iter().filter(|other| other.tx != snapshot.tx);
    others.try_for_each(|other| validator.check(other))
}

/// Returns the buffers of a transaction, which are there until it ends.
#[inline]
fn room(scratch: &mut Option<Box<Scratch>>) -> &mut Scratch {
    scratch.get_or_insert_default()
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns an error unless the snapshot sees a chunk with that row.
fn require_frozen(
    table: &Arc<Table>,
    row: RowId,
    (load, chunk): (LoadId, u32),
    snapshot: Snapshot,
) -> Result<()> {
    let found = table.frozen_load(load, chunk, &snapshot)?;
    match found.filter(|found| usize::from(row.offset()) < found.rows(chunk)) {
        Some(_) => Ok(()),
        None => Err(unknown_row(table, row)),
    }
}

fn value_bytes(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Bytes(bytes) => 8 + bytes.len(),
        _ => 8,
    }
}

/// Returns where a row of a hot chunk is that is none any more.
fn frozen_row(table: &Table, row: RowId) -> Result<RowId> {
    table.forwards().row(row).ok_or_else(|| unknown_row(table, row))
}

fn unknown_row(table: &Table, row: RowId) -> Error {
    Error::UnknownRow { table: table.schema().name.clone(), row }
}

#[cold]
fn write_error(problem: WriteProblem, table: &Table, row: RowId) -> Error {
    let reason = match problem {
        WriteProblem::Failed(error) => return error,
        WriteProblem::Missing | WriteProblem::Full | WriteProblem::Frozen => {
            return unknown_row(table, row);
        }
        WriteProblem::Uncommitted => "a transaction that has not ended changed the row",
        WriteProblem::Committed => "a transaction that committed since changed the row",
    };
    Error::SerializationConflict {
        table: table.schema().name.clone(),
        reason: format!("{reason} at {row}"),
    }
}

/// Makes a conflict of the absence of a row that may only have moved since it was read.
#[cold]
fn explain_missing(store: &Store, error: Error, table: &Table, row: RowId) -> Error {
    let may_be_elsewhere = match (&error, row.place()) {
        (Error::UnknownRow { .. }, RowPlace::Frozen { load, .. }) => {
            store.compaction().has_moved_rows_of(load)
        }
        _ => false,
    };
    if !may_be_elsewhere {
        return error;
    }
    let reason = format!("the row at {row} was moved or deleted since its place was read");
    Error::SerializationConflict { table: table.schema().name.clone(), reason }
}
