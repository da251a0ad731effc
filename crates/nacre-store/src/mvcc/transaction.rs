//! A transaction of one client.
//!
//! # Invariants
//! 1. What a call that fails had changed is taken back before it returns; the transaction can go
//!    on, except after [`Error::TransactionTooLarge`], which rolls it back.
//! 2. A transaction that is dropped is rolled back.
//! # Concurrency
//! One thread at a time; others may read through its [`Snapshot`] meanwhile.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::hot::{HotChunk, WriteProblem};
use crate::id::{CommitTs, RowId, RowPlace};
use crate::index::{Rows, TableIndex, check_frozen, check_rows, insert_entries};
use crate::manifest::{LoadId, TableId};
use crate::mvcc::transactions::Change;
use crate::mvcc::undo::{Touched, TouchedChunk, UNDO_RECORD_BYTES, UndoBuffer, Writes};
use crate::mvcc::validation::Validator;
use crate::mvcc::{IsolationLevel, Snapshot};
use crate::predicate_log::{ColumnSet, Predicate, PredicateLog, ValidationLevel};
use crate::redo::RedoBuffer;
use crate::store::Store;
use crate::table::{Table, TableSnapshot};
use crate::value::{Value, ValueRef};

/// Bytes of one version of a row.
const VERSION_BYTES: usize = 32;

/// Values that lie on the stack; tables with more columns have them on the heap.
const VALUES_INLINE: usize = 16;

/// A transaction that has not ended.
#[derive(Debug)]
pub struct Transaction {
    store: Store,
    level: IsolationLevel,
    snapshot: Snapshot,
    /// Drawn with the first change.
    stamp: Option<u32>,
    undo: UndoBuffer,
    /// What the redo log gets at commit.
    redo: RedoBuffer,
    /// Whether commit waits until it is durable.
    is_synchronous: bool,
    /// What a SERIALIZABLE transaction has read.
    reads: PredicateLog,
    /// Memory that the changes take.
    bytes: u64,
    has_ended: bool,
    /// Where the last row was inserted.
    tail: Option<(TableId, Arc<HotChunk>)>,
    /// Room for keys.
    key: Vec<u8>,
}

/// A moment of a transaction that it can be rolled back to.
#[derive(Clone, Copy, Debug)]
pub struct Savepoint {
    changes: usize,
    redo_bytes: usize,
    bytes: u64,
}

impl Transaction {
    pub(crate) fn new(store: &Store, level: IsolationLevel) -> Self {
        Self {
            store: store.clone(),
            level,
            snapshot: store.all_transactions().begin(level),
            stamp: None,
            undo: UndoBuffer::default(),
            redo: RedoBuffer::default(),
            is_synchronous: true,
            reads: PredicateLog::default(),
            bytes: 0,
            has_ended: false,
            tail: None,
            key: Vec::new(),
        }
    }

    /// Returns what the transaction sees.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot
    }

    /// Returns the transaction's isolation level.
    pub fn level(&self) -> IsolationLevel {
        self.level
    }

    /// Whether it has changed anything.
    pub fn has_writes(&self) -> bool {
        !self.undo.is_empty()
    }

    /// Sets whether commit returns only when the changes are durable, as it does unless set. If
    /// not, a crash may undo the newest commits of such transactions: whole ones, and none before
    /// a commit that waited.
    pub fn set_synchronous_commit(&mut self, is_synchronous: bool) {
        self.is_synchronous = is_synchronous;
    }

    /// Takes a new snapshot, for the next statement of a READ COMMITTED transaction; does nothing
    /// at the other levels.
    pub fn refresh(&mut self) {
        if self.level == IsolationLevel::ReadCommitted && !self.has_ended {
            self.snapshot = self.store.all_transactions().refresh(self.snapshot);
        }
    }

    /// Notes that rows were read which were found without this transaction's help, such as by a
    /// scan of its [`Transaction::table_snapshot`].
    pub fn log_predicate(&mut self, table: &Arc<Table>, predicate: Predicate) {
        if self.logs_reads() {
            self.reads.log(table.id(), predicate);
        }
    }

    /// Returns the log of what was read, if the transaction keeps one.
    pub fn predicate_log(&mut self) -> Option<&mut PredicateLog> {
        self.logs_reads().then_some(&mut self.reads)
    }

    fn logs_reads(&self) -> bool {
        self.level == IsolationLevel::Serializable
    }

    /// Returns a table as the transaction sees it; what is read of it has to be logged.
    pub fn table_snapshot(&self, table: &Arc<Table>) -> TableSnapshot {
        table.snapshot_at(&self.snapshot)
    }

    /// Inserts a row and returns its id.
    ///
    /// # Errors
    /// [`Error::NullViolation`], [`Error::InvalidValue`]; [`Error::DuplicateKey`], or
    /// [`Error::SerializationConflict`] if it depends on another transaction whether the key is
    /// there; [`Error::InvalidDefinition`] if there are
    /// more or fewer values than columns; [`Error::UnknownTable`] if it was dropped;
    /// [`Error::ReadOnly`], [`Error::TransactionTooLarge`], [`Error::TransactionEnded`].
    pub fn insert(&mut self, table: &Arc<Table>, values: &[ValueRef<'_>]) -> Result<RowId> {
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
            *slot = value.fit(schema, column)?;
            bytes += value_bytes(*slot);
        }
        let tail = self.tail.take().filter(|(id, _)| *id == table.id());
        let tail = tail.map(|(_, chunk)| chunk);
        let (id, chunk) = self.insert_indexed(table, tail.as_ref(), fitted, stamp)?;
        self.tail = Some((table.id(), Arc::clone(&chunk)));
        let touched = Touched { table: Arc::clone(table), chunk: TouchedChunk::Hot(chunk) };
        self.undo.push(touched, id.offset(), 1);
        if let Err(error) = check_frozen(table, fitted, self.snapshot) {
            self.undo.undo_to(self.undo.len() - 1);
            return Err(error);
        }
        if self.store.is_durable() {
            self.redo.insert(table.id(), id, fitted);
        }
        self.count_bytes(bytes)?;
        Ok(id)
    }

    /// Inserts a row that fits, with its entries, unless its keys are taken by hot rows.
    fn insert_indexed(
        &mut self,
        table: &Arc<Table>,
        tail: Option<&Arc<HotChunk>>,
        values: &[ValueRef<'_>],
        stamp: u32,
    ) -> Result<(RowId, Arc<HotChunk>)> {
        let snapshot = self.snapshot;
        let indexes = table.table_indexes().hold();
        let check =
            |index: &TableIndex, rows: Rows<'_>| check_rows(table, index, values, rows, snapshot);
        let mut insert = || {
            let (chunk, row) = table.hot().insert(tail, values, Some(stamp))?;
            Ok((RowId::hot(chunk.id(), row), chunk))
        };
        self.key.clear();
        insert_entries(&indexes, values, &mut self.key, &check, &mut insert)
    }

    /// Changes columns of a row and returns its id, which may be another one afterwards.
    ///
    /// # Errors
    /// [`Error::SerializationConflict`] if another transaction changed the row since this one's
    /// snapshot, or has not ended; [`Error::UnknownRow`] if the row does not exist for this one;
    /// [`Error::UnknownColumn`]; and as for [`Transaction::insert`].
    pub fn update(
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
            *slot = (*column, value.fit(schema, *column)?);
            bytes += VERSION_BYTES + value_bytes(slot.1);
        }
        let RowPlace::Hot { chunk, offset } = row.place() else {
            return self.move_row(table, row, fitted);
        };
        let chunk = table.hot().get(chunk).ok_or_else(|| unknown_row(table, row))?;
        let indexes = table.table_indexes().hold();
        if self.changes_key(table, &indexes, row, fitted)? {
            drop(indexes);
            return self.move_row(table, row, fitted);
        }
        let updated = chunk.update(offset, (self.snapshot, stamp), fitted);
        drop(indexes);
        match updated {
            Ok(()) if fitted.is_empty() => {}
            Ok(()) => {
                let touched = Touched { table: Arc::clone(table), chunk: TouchedChunk::Hot(chunk) };
                self.undo.push(touched, offset, fitted.len());
                if self.store.is_durable() {
                    self.redo.update(table.id(), row, fitted);
                }
                self.count_bytes(bytes)?;
            }
            Err(WriteProblem::Full) => return self.move_row(table, row, fitted),
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
                let same = self.read_version(table, row, &[*column], |old| old[0] == *value)?;
                if same == Some(false) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Deletes a row.
    ///
    /// # Errors
    /// As for [`Transaction::update`].
    pub fn delete(&mut self, table: &Arc<Table>, row: RowId) -> Result<()> {
        let stamp = self.prepare_write(table)?;
        let (chunk, bytes) = match row.place() {
            RowPlace::Hot { chunk, offset } => {
                let chunk = table.hot().get(chunk).ok_or_else(|| unknown_row(table, row))?;
                chunk
                    .delete(offset, (self.snapshot, stamp))
                    .map_err(|problem| self.write_error(problem, table, row))?;
                (TouchedChunk::Hot(chunk), VERSION_BYTES)
            }
            RowPlace::Frozen { load, chunk, offset } => {
                self.require_frozen(table, row, load, chunk)?;
                let deletes = table.frozen_deletes(load, chunk);
                deletes
                    .delete(offset, (self.snapshot, stamp), table.hot().stamps())
                    .map_err(|problem| self.write_error(problem, table, row))?;
                (TouchedChunk::Frozen { load, index: chunk, deletes }, VERSION_BYTES)
            }
        };
        self.undo.push(Touched { table: Arc::clone(table), chunk }, row.offset(), 1);
        if self.store.is_durable() {
            self.redo.delete(table.id(), row);
        }
        self.count_bytes(bytes + UNDO_RECORD_BYTES)
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
        table.check_columns(columns)?;
        if self.logs_reads() {
            let read = columns.iter().copied().collect();
            self.reads.log_row(table.id(), row, &read);
        }
        self.read_version(table, row, columns, with)
    }

    /// As [`Transaction::read`], for columns that are there.
    pub(crate) fn read_version<T>(
        &self,
        table: &Arc<Table>,
        row: RowId,
        columns: &[usize],
        with: impl FnOnce(&[ValueRef<'_>]) -> T,
    ) -> Result<Option<T>> {
        let RowPlace::Hot { chunk, offset } = row.place() else {
            let values = self.read_frozen(table, row, columns)?;
            return Ok(values.map(|values| {
                with(&values.iter().map(Value::as_ref).collect::<Vec<ValueRef<'_>>>())
            }));
        };
        let Some(chunk) = table.hot().get(chunk) else {
            return Ok(None);
        };
        Ok(chunk.with(|rows| {
            let view = rows.view(usize::from(offset), self.snapshot, chunk.stamps())?;
            let (mut inline, mut spilled) = ([ValueRef::Null; VALUES_INLINE], Vec::new());
            let values = slots(columns.len(), &mut inline, &mut spilled);
            for (slot, column) in values.iter_mut().zip(columns) {
                *slot = view.value(*column);
            }
            Some(with(values))
        }))
    }

    /// Returns a moment that [`Transaction::rollback_to`] goes back to.
    pub fn savepoint(&self) -> Savepoint {
        let redo_bytes = self.redo.position();
        Savepoint { changes: self.undo.len(), redo_bytes, bytes: self.bytes }
    }

    /// Takes back all changes since `savepoint`; later savepoints are gone.
    pub fn rollback_to(&mut self, savepoint: Savepoint) {
        self.undo.undo_to(savepoint.changes);
        self.redo.truncate(savepoint.redo_bytes);
        self.bytes = savepoint.bytes.min(self.bytes);
    }

    /// Makes the changes visible to transactions that begin from now on, and returns the moment; a
    /// transaction without changes commits at its start.
    ///
    /// # Errors
    /// [`Error::SerializationConflict`] if the transaction is SERIALIZABLE, has changes, and
    /// another one that committed since its start changed what it read; [`Error::UnknownTable`] if
    /// a table that was changed has been dropped; [`Error::TransactionEnded`]; no space. The
    /// transaction is then rolled back. After [`Error::RedoFailed`] it may or may not be there
    /// after a restart.
    pub fn commit(mut self) -> Result<CommitTs> {
        self.require_open()?;
        let ts = match self.stamp.filter(|_| !self.undo.is_empty()) {
            None => self.snapshot.start,
            Some(stamp) => self.commit_writes(stamp)?,
        };
        self.end();
        Ok(ts)
    }

    /// Takes all changes back.
    pub fn rollback(mut self) {
        self.end();
    }

    fn commit_writes(&mut self, stamp: u32) -> Result<CommitTs> {
        let log = self.store.redo_log()?;
        let (undo, redo) = (&mut self.undo, &self.redo);
        let (reads, snapshot) = (&self.reads, self.snapshot);
        let transactions = self.store.all_transactions();
        let order = |ts| {
            if let Some(touched) = undo.touched().iter().find(|one| one.table.is_dropped()) {
                let table = touched.table.definition().name.clone();
                return Err(Error::UnknownTable { table });
            }
            if !reads.is_empty() {
                let mut validator =
                    Validator::new(reads, snapshot.start, ValidationLevel::default());
                let others = transactions.commits_since(snapshot.start);
                others.iter().try_for_each(|other| validator.check(other))?;
            }
            let lsn = log.map(|log| log.append(ts, redo)).transpose()?;
            let undo = std::mem::take(undo);
            Ok((snapshot.tx, Change::Writes(Writes { undo, stamp }), lsn))
        };
        let is_synchronous = self.is_synchronous;
        let outcome = transactions.commit(order, |lsn| match (log, lsn) {
            (Some(log), Some(lsn)) if is_synchronous => log.persist(lsn),
            _ => Ok(()),
        });
        if !is_synchronous {
            self.store.wake();
        }
        if self.undo.is_empty() {
            // The stamp went with the versions.
            self.stamp = None;
        }
        outcome
    }

    /// Takes back what is not committed and leaves the list of active transactions.
    fn end(&mut self) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        self.undo.undo_to(0);
        let transactions = self.store.all_transactions();
        if let Some(stamp) = self.stamp.take() {
            transactions.stamps().give_back(stamp);
        }
        self.tail = None;
        transactions.end(self.snapshot);
    }

    /// Deletes a row and inserts it with changes elsewhere.
    fn move_row(
        &mut self,
        table: &Arc<Table>,
        row: RowId,
        changes: &[(usize, ValueRef<'_>)],
    ) -> Result<RowId> {
        let columns: Vec<usize> = (0..table.definition().columns.len()).collect();
        let copy = |values: &[ValueRef<'_>]| {
            values.iter().map(|value| value.to_value()).collect::<Vec<Value>>()
        };
        let before = self.read(table, row, &columns, copy)?;
        let before = before.ok_or_else(|| unknown_row(table, row));
        let savepoint = self.savepoint();
        // A conflict explains better than the absence that it causes.
        self.delete(table, row)?;
        let before = before?;
        let mut values: Vec<ValueRef<'_>> = before.iter().map(Value::as_ref).collect();
        for (column, value) in changes {
            values[*column] = *value;
        }
        let inserted = self.insert(table, &values);
        if inserted.is_err() && !self.has_ended {
            self.rollback_to(savepoint);
        }
        inserted
    }

    fn read_frozen(
        &self,
        table: &Arc<Table>,
        row: RowId,
        columns: &[usize],
    ) -> Result<Option<Vec<Value>>> {
        let RowPlace::Frozen { load, chunk, offset } = row.place() else {
            return Ok(None);
        };
        let Some(found) = table.frozen_chunk(load, chunk, &self.snapshot)? else {
            return Ok(None);
        };
        let deletes = table.deletes_of(load, chunk);
        let stamps = table.hot().stamps();
        let is_deleted = deletes
            .is_some_and(|deletes| deletes.is_deleted(offset, self.snapshot, stamps))
            || usize::from(offset) >= found.rows();
        if is_deleted {
            return Ok(None);
        }
        columns
            .iter()
            .map(|&column| found.value(column, usize::from(offset)))
            .collect::<Result<_>>()
            .map(Some)
    }

    /// Returns an error unless the snapshot sees a chunk with that row.
    fn require_frozen(
        &self,
        table: &Arc<Table>,
        row: RowId,
        load: LoadId,
        chunk: u32,
    ) -> Result<()> {
        let found = table.frozen_chunk(load, chunk, &self.snapshot)?;
        match found.filter(|found| usize::from(row.offset()) < found.rows()) {
            Some(_) => Ok(()),
            None => Err(unknown_row(table, row)),
        }
    }

    /// Checks that the transaction may change the table, and returns its stamp.
    #[inline]
    fn prepare_write(&mut self, table: &Arc<Table>) -> Result<u32> {
        self.require_open()?;
        let transactions = self.store.all_transactions();
        // The stamps of another database mean something else.
        let is_foreign = !Arc::ptr_eq(table.hot().stamps(), transactions.stamps());
        if table.is_dropped() || is_foreign {
            return Err(Error::UnknownTable { table: table.definition().name.clone() });
        }
        match self.stamp {
            Some(stamp) => Ok(stamp),
            None => {
                self.store.require_writable()?;
                let stamp = transactions.stamps().take(self.snapshot.tx)?;
                self.stamp = Some(stamp);
                Ok(stamp)
            }
        }
    }

    pub(crate) fn require_open(&self) -> Result<()> {
        if self.has_ended { Err(Error::TransactionEnded) } else { Ok(()) }
    }

    #[cold]
    fn write_error(&mut self, problem: WriteProblem, table: &Table, row: RowId) -> Error {
        if matches!(problem, WriteProblem::Missing) && self.logs_reads() {
            // Who is told that a row does not exist has read that.
            self.reads.log_row(table.id(), row, &ColumnSet::default());
        }
        write_error(problem, table, row)
    }

    /// Counts memory; if it is too much the transaction is rolled back.
    fn count_bytes(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes as u64;
        let bytes_max = self.store.all_transactions().bytes_max();
        if self.bytes <= bytes_max {
            return Ok(());
        }
        self.end();
        Err(Error::TransactionTooLarge { bytes_max })
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.end();
    }
}

/// Returns `len` slots, on the stack if they fit.
fn slots<'a, T: Copy, const N: usize>(
    len: usize,
    inline: &'a mut [T; N],
    spilled: &'a mut Vec<T>,
) -> &'a mut [T] {
    if len <= N {
        return &mut inline[..len];
    }
    spilled.resize(len, inline[0]);
    spilled
}

fn value_bytes(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Bytes(bytes) => 8 + bytes.len(),
        _ => 8,
    }
}

fn unknown_row(table: &Table, row: RowId) -> Error {
    Error::UnknownRow { table: table.definition().name.clone(), row }
}

#[cold]
fn write_error(problem: WriteProblem, table: &Table, row: RowId) -> Error {
    let reason = match problem {
        WriteProblem::Failed(error) => return error,
        WriteProblem::Missing | WriteProblem::Full => return unknown_row(table, row),
        WriteProblem::Uncommitted => "a transaction that has not ended changed the row",
        WriteProblem::Committed => "a transaction that committed since changed the row",
    };
    Error::SerializationConflict {
        table: table.definition().name.clone(),
        reason: format!("{reason} at {row}"),
    }
}
