//! Checkpoints: the redo log gets short.
//!
//! 1. What can be frozen is.
//! 2. A snapshot is taken, and the position of the log noted behind which the groups of all later
//!    commits are. Every row that is still hot is written to the log again, as the snapshot sees
//!    it, and so are the deleted rows of frozen chunks, in groups that are commits which change
//!    nothing; they say which snapshot it was.
//! 3. A record in the manifest names the snapshot's commit and the segment of that position.
//!    Opening then takes the groups of that snapshot first and skips all commits up to it. Without
//!    the record they are of no meaning.
//! 4. Segments before that one are removed. A segment that is large or half full is sealed before
//!    step 2, so that it is removed, too.
//!
//! Rows stay hot that somebody writes to often, so freezing them would be in vain, and those of
//! chunks that are not full. How much that is bounds how short the log can get.

use std::sync::{Arc, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use tracing::info;

use super::chunks::{freeze, rename_entries};
use crate::error::{Error, Result};
use crate::hot::{HotChunk, HotChunkRef};
use crate::id::{CommitTs, Lsn, RowId};
use crate::maintenance::Progress;
use crate::mvcc::{Change, IsolationLevel, NOBODY, Snapshot};
use crate::redo::{RedoBuffer, RedoLog};
use crate::store::Store;
use crate::table::Table;
use crate::value::ValueRef;

/// Chunks of one load: a million rows.
const LOAD_CHUNKS: usize = 16;

/// Bytes of a group of rows that stay hot; commits wait for as long as it takes to store it.
const GROUP_BYTES: usize = 128 << 10;

/// Rows that are copied under the latch of their chunk.
const LATCHED_ROWS: usize = 256;

/// How often, a millisecond apart, commits under way are waited for: a device that takes longer
/// than two seconds has the checkpoint come later.
const SETTLE_TRIES: usize = 2_000;

/// What a checkpoint did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointReport {
    /// Rows that were frozen.
    pub frozen_rows: u64,
    /// Rows that stay hot.
    pub hot_rows: u64,
    /// Bytes of the log that they take.
    pub hot_bytes: u64,
}

/// How the redo log is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedoInfo {
    /// Bytes of it that opening would have to read.
    pub bytes: u64,
    /// How long ago it was truncated; `None` if it was not since the database was opened.
    pub checkpoint_age: Option<Duration>,
}

/// Which chunks are frozen, and of which loads rows may move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Full ones that nobody wrote to of late; of loads, too.
    Cold,
    All,
}

impl Store {
    /// Freezes all rows that are in hot chunks, except those of chunks that somebody writes to or
    /// whose older versions an active transaction may need, and truncates the redo log. Others go
    /// on meanwhile. [`Store::maintain_step`] then moves the rows of loads with few rows left.
    ///
    /// # Errors
    /// No space, I/O: what was frozen until then is, and the log is truncated if it could be.
    /// [`Error::ReadOnly`].
    pub fn checkpoint(&self) -> Result<CheckpointReport> {
        self.require_writable()?;
        let _turn = self.maintenance_lock().lock().unwrap_or_else(PoisonError::into_inner);
        self.flush_redo()?;
        self.record_withdrawn()?;
        let mut report = CheckpointReport::default();
        let frozen = self.freeze_chunks(Choice::All, &mut report);
        let truncated = self.redo().map_or(Ok(()), |log| self.shorten(log, &mut report));
        rename_entries(self);
        self.listed_tables().iter().for_each(|table| self.cover_listed(table));
        let done = frozen.and(truncated).and(self.drop_emptied());
        self.choose_or_rest(&done, Choice::All);
        done.map(|()| report)
    }

    /// Returns how long the redo log is, and since when.
    pub fn redo_info(&self) -> RedoInfo {
        let bytes = self.redo().map_or(0, |log| log.end().0.saturating_sub(log.start().0));
        RedoInfo { bytes, checkpoint_age: self.pace().truncated_ago() }
    }

    /// Does what is due. The caller holds the maintenance lock.
    pub(crate) fn freeze_step(&self) -> Result<Progress> {
        self.record_withdrawn()?;
        rename_entries(self);
        let Some(log) = self.redo().filter(|log| self.pace().is_due(log.end())) else {
            return Ok(Progress::default());
        };
        let is_checkpoint = self.pace().is_checkpoint_due(log.end());
        self.pace().next_look(log.end());
        let mut report = CheckpointReport::default();
        let mut done = self.freeze_chunks(Choice::Cold, &mut report);
        if is_checkpoint {
            done = done.and(self.shorten(log, &mut report));
        }
        if is_checkpoint || self.compaction().has_moved() {
            done = done.and(self.drop_emptied());
        }
        self.choose_or_rest(&done, Choice::Cold);
        rename_entries(self);
        done?;
        let done_bytes = report.hot_bytes + report.frozen_rows;
        Ok(Progress { done_bytes, total_bytes: done_bytes })
    }

    /// Chooses loads whose rows move; none while rows cannot be frozen, which would fill memory.
    fn choose_or_rest(&self, frozen: &Result<()>, choice: Choice) {
        match frozen {
            Ok(()) => self.choose_loads(choice),
            Err(_) => self.compaction().rest(),
        }
    }

    pub(crate) fn is_freeze_due(&self) -> bool {
        self.redo().is_some_and(|log| self.pace().is_due(log.end()))
    }

    /// Freezes chunks of all tables; a table that fails does not keep others from it.
    fn freeze_chunks(&self, choice: Choice, report: &mut CheckpointReport) -> Result<()> {
        let mut outcome = Ok(());
        for table in self.listed_tables() {
            let all = table.hot().all();
            let (last, others) = match all.split_last() {
                None => continue,
                Some(split) => split,
            };
            let is_cold = |chunk: &&Arc<HotChunk>| chunk.note_writes();
            let mut chunks: Vec<Arc<HotChunk>> = match choice {
                Choice::Cold => others.iter().filter(is_cold).cloned().collect(),
                Choice::All => others.to_vec(),
            };
            if choice == Choice::All {
                chunks.push(Arc::clone(last));
            }
            for some in chunks.chunks(LOAD_CHUNKS) {
                match freeze(self, &table, some) {
                    Ok(rows) => report.frozen_rows += rows,
                    Err(Error::DefinitionChanged { .. }) => break,
                    Err(error) => {
                        outcome = outcome.and(Err(error));
                        break;
                    }
                }
            }
        }
        outcome
    }

    /// Freezes what can be, and leaves the log as it is.
    #[cfg(test)]
    pub(crate) fn freeze_only(&self) -> Result<()> {
        let _turn = self.maintenance_lock().lock().unwrap_or_else(PoisonError::into_inner);
        let frozen = self.freeze_chunks(Choice::All, &mut CheckpointReport::default());
        rename_entries(self);
        frozen
    }

    /// Has no commit until now be replayed, if that can be. The caller holds the maintenance lock.
    pub(crate) fn shorten_redo(&self) -> Result<()> {
        self.flush_redo()?;
        self.record_withdrawn()?;
        let shorten = |log| self.shorten(log, &mut CheckpointReport::default());
        self.redo().map_or(Ok(()), shorten)
    }

    /// Writes what is hot to the log again and truncates it.
    fn shorten(&self, log: &RedoLog, report: &mut CheckpointReport) -> Result<()> {
        let outcome = self.write_hot(log, report);
        match &outcome {
            Ok(true) => {
                self.pace().next_checkpoint(log.end(), report.hot_bytes);
                self.pace().note_truncated();
                let CheckpointReport { frozen_rows, hot_rows, hot_bytes } = *report;
                info!(frozen_rows, hot_rows, hot_bytes, "checkpoint");
            }
            _ => self.pace().postpone_checkpoint(log.end()),
        }
        outcome.map(|_| ())
    }

    /// Returns whether the log was truncated.
    fn write_hot(&self, log: &RedoLog, report: &mut CheckpointReport) -> Result<bool> {
        log.begin_segment()?;
        let Some(start) = self.settled_position(log) else {
            return Ok(false);
        };
        // It keeps the versions that are written.
        let reader = self.begin(IsolationLevel::RepeatableRead);
        let snapshot = reader.snapshot();
        let order = |group: &RedoBuffer| {
            let order = |ts| Ok((NOBODY, Change::Nothing, Some(log.append(ts, group)?)));
            self.all_transactions().commit(None, order, |lsn| log.persist(lsn)).map(|_| ())
        };
        let mut writer = HotWriter::new(Some(snapshot.start()), order);
        for table in self.listed_tables() {
            if !writer.table(&table, snapshot, &|| !self.is_closing())? {
                return Ok(false);
            }
        }
        writer.finish()?;
        report.hot_rows += writer.rows;
        report.hot_bytes += writer.bytes;
        log.flush()?;
        self.truncate_redo(log, snapshot.start(), log.segment_at(start))?;
        Ok(true)
    }

    /// Returns a position behind which all groups are that a snapshot taken now may not see;
    /// `None` if commits take long.
    fn settled_position(&self, log: &RedoLog) -> Option<Lsn> {
        let transactions = self.all_transactions();
        let (last, start) = transactions.last_ordered(|| log.end());
        for _ in 0..SETTLE_TRIES {
            if transactions.has_settled(last) {
                return Some(start);
            }
            sleep(Duration::from_millis(1));
        }
        None
    }
}

/// Writes rows as records of a redo log, as a snapshot sees them.
pub(crate) struct HotWriter<S> {
    /// The checkpoint that the groups are of, if they are.
    checkpoint: Option<CommitTs>,
    /// Where each group goes.
    sink: S,
    group: RedoBuffer,
    pub(crate) rows: u64,
    bytes: u64,
}

impl<S: FnMut(&RedoBuffer) -> Result<()>> HotWriter<S> {
    pub(crate) fn new(checkpoint: Option<CommitTs>, sink: S) -> Self {
        Self { checkpoint, sink, group: RedoBuffer::default(), rows: 0, bytes: 0 }
    }

    /// Writes the hot rows of a table, and which frozen ones are deleted, as long as `goes_on` says
    /// so; returns whether it was until the end.
    pub(crate) fn table(
        &mut self,
        table: &Arc<Table>,
        snapshot: Snapshot,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<bool> {
        for chunk in table.hot().all().iter() {
            if !goes_on() {
                return Ok(false);
            }
            self.chunk(table, &HotChunkRef::new(chunk, snapshot))?;
        }
        let stamps = table.hot().stamps();
        let loads = table.loads();
        for ((load, index), deletes) in table.all_deletes() {
            if !loads.iter().any(|one| one.id() == load) {
                continue;
            }
            let rows = deletes.rows(snapshot, stamps);
            if let Some(first) = RowId::frozen(load, index, 0).filter(|_| !rows.is_empty()) {
                self.begin_record();
                self.group.deleted(table.id(), first, &rows);
                self.end_record()?;
            }
        }
        Ok(true)
    }

    fn chunk(&mut self, table: &Table, chunk: &HotChunkRef) -> Result<()> {
        let columns: Vec<usize> = (0..table.definition().columns.len()).collect();
        for start in (0..chunk.rows()).step_by(LATCHED_ROWS) {
            let (buffers, offsets) = chunk.read(start..start + LATCHED_ROWS, &columns);
            for (at, offset) in offsets.iter().enumerate() {
                let values: Vec<ValueRef<'_>> =
                    buffers.iter().map(|buffer| ValueRef::of(buffer, at)).collect();
                self.begin_record();
                self.group.insert(table.id(), chunk.row_id(*offset), &values);
                self.end_record()?;
            }
            self.rows += offsets.len() as u64;
        }
        Ok(())
    }

    /// Hands on what is gathered; a checkpoint ends with a group that says so and nothing else.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.store()?;
        self.begin_record();
        self.store()
    }

    fn begin_record(&mut self) {
        if let Some(as_of) = self.checkpoint.filter(|_| self.group.is_empty()) {
            self.group.checkpoint(as_of);
        }
    }

    fn end_record(&mut self) -> Result<()> {
        match self.group.position() >= GROUP_BYTES {
            true => self.store(),
            false => Ok(()),
        }
    }

    /// Hands on what is gathered.
    fn store(&mut self) -> Result<()> {
        if self.group.is_empty() {
            return Ok(());
        }
        (self.sink)(&self.group)?;
        self.bytes += self.group.position() as u64;
        self.group.truncate(0);
        Ok(())
    }
}
