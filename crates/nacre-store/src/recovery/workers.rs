//! Threads that make changes of hot chunks again, for whoever reads the log.
//!
//! Records are copied into batches, one for each worker, which go to it when they are full. A chunk
//! belongs to one worker, which gets its records in the order of the log.
//!
//! # Invariants
//! 1. No more than [`WORKERS_MAX`] * ([`BATCHES_QUEUED`] + 2) * [`BATCH_BYTES`] are copied at a
//!    time, 33 MiB, but for records that are larger than a batch: who reads waits for a worker that
//!    has enough to do.
//! 2. A worker makes all changes that it gets up to the first one that fails. So of all that fail
//!    the one that is first in the log is among them.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, Scope, ScopedJoinHandle, available_parallelism};

use super::changes::Tables;
use crate::error::{Error, Result};
use crate::id::CommitTs;
use crate::manifest::TableId;
use crate::redo::RedoReader;

/// Most workers that are used unless more are asked for: more would wait for who reads.
const WORKERS_MAX: usize = 8;

/// Bytes of a log that are made again before threads would be there.
const SHARED_BYTES_MIN: u64 = 1 << 20;

/// Bytes of records that are handed over at once: some 50 microseconds of work.
const BATCH_BYTES: usize = 64 << 10;

/// Batches that a worker has still to begin: about the rows of a chunk, since a checkpoint has
/// chunk after chunk.
const BATCHES_QUEUED: usize = 64;

/// Records for one worker, in the order of the log.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    runs: Vec<Run>,
}

/// Records that follow each other in one group of the log.
#[derive(Debug)]
struct Run {
    commit: CommitTs,
    /// Number of the first of them among all that workers get.
    first: u64,
    count: u64,
    /// Where they end in the batch.
    end: usize,
}

/// Why a change cannot be made, and the number of its record.
#[derive(Debug)]
struct Failure {
    number: u64,
    error: Error,
}

/// One worker, as who reads the log sees it.
#[derive(Debug)]
struct Lane<'scope> {
    batch: Batch,
    queue: SyncSender<Batch>,
    thread: ScopedJoinHandle<'scope, Option<Failure>>,
}

/// All workers; none if who reads makes all changes itself.
#[derive(Debug)]
pub(super) struct Workers<'scope> {
    lanes: Vec<Lane<'scope>>,
    /// Set when a worker cannot go on.
    has_failed: &'scope AtomicBool,
    /// Number of the next record.
    next: u64,
}

/// Returns how many workers make the changes of so many bytes of a log again, if nobody `asked` for
/// a number.
pub(super) fn worker_count(log_bytes: u64, asked: Option<NonZeroUsize>) -> usize {
    let usual = || match log_bytes < SHARED_BYTES_MIN {
        true => 1,
        false => available_parallelism().map_or(1, usize::from).min(WORKERS_MAX),
    };
    asked.map_or_else(usual, usize::from)
}

/// Returns the error for a record that does not fit what is there.
pub(super) fn misfit(commit: CommitTs, reason: &str) -> Error {
    Error::RedoDamaged { reasons: vec![format!("commit {}: {reason}", commit.0)] }
}

impl<'scope> Workers<'scope> {
    /// Returns none at all.
    pub(super) fn none(has_failed: &'scope AtomicBool) -> Self {
        Self { lanes: Vec::new(), has_failed, next: 0 }
    }

    /// Starts so many threads; for one it starts none. With fewer than asked for it takes longer
    /// and is as right.
    pub(super) fn start(
        scope: &'scope Scope<'scope, '_>,
        count: usize,
        tables: &'scope Tables,
        has_failed: &'scope AtomicBool,
    ) -> Self {
        let numbers = if count > 1 { 0..count } else { 0..0 };
        let lane = |number: usize| {
            let (queue, batches) = sync_channel(BATCHES_QUEUED);
            let builder = Builder::new().name(format!("nacre-replay-{number}"));
            let work = move || work(tables, &batches, has_failed);
            let thread = builder.spawn_scoped(scope, work).ok()?;
            Some(Lane { batch: Batch::default(), queue, thread })
        };
        Self { lanes: numbers.map_while(lane).collect(), ..Self::none(has_failed) }
    }

    /// Returns which worker a chunk belongs to; none if there are none.
    pub(super) fn of_chunk(&self, table: TableId, chunk: u64) -> Option<usize> {
        // Chunks of a table follow each other in a checkpoint.
        let number = table.0.wrapping_add(chunk).checked_rem(self.lanes.len() as u64)?;
        Some(number as usize)
    }

    /// Hands the bytes of a record to a worker.
    pub(super) fn hand(&mut self, worker: usize, commit: CommitTs, record: &[u8]) {
        let number = self.next;
        self.next += 1;
        let Lane { batch, queue, .. } = &mut self.lanes[worker];
        batch.bytes.extend_from_slice(record);
        let end = batch.bytes.len();
        match batch.runs.last_mut() {
            Some(run) if run.commit == commit && run.first + run.count == number => {
                (run.count, run.end) = (run.count + 1, end);
            }
            _ => batch.runs.push(Run { commit, first: number, count: 1, end }),
        }
        if batch.bytes.len() + batch.runs.len() * size_of::<Run>() >= BATCH_BYTES {
            // One that takes nothing any more has panicked, which ends what is handed out.
            let _ = queue.send(std::mem::take(batch));
        }
    }

    /// Whether it makes no sense to go on, since a record that was handed out does not fit.
    pub(super) fn has_failed(&self) -> bool {
        // ORDERING: what failed is read when the threads have ended.
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Waits until all is done that was handed out.
    ///
    /// # Errors
    /// That of the first record that does not fit.
    pub(super) fn finish(self) -> Result<()> {
        let ended = self.lanes.into_iter().map(|Lane { batch, queue, thread }| {
            let _ = queue.send(batch);
            drop(queue);
            thread
        });
        let threads: Vec<_> = ended.collect();
        let ended = threads.into_iter().map(|thread| match thread.join() {
            Ok(failure) => failure,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        match ended.flatten().min_by_key(|failure| failure.number) {
            Some(failure) => Err(failure.error),
            None => Ok(()),
        }
    }
}

/// What a worker does: makes changes until there are no more, or one fails.
fn work(tables: &Tables, batches: &Receiver<Batch>, has_failed: &AtomicBool) -> Option<Failure> {
    let mut failure = None;
    for batch in batches {
        // Who reads is not to wait for one that has failed.
        if failure.is_none() {
            failure = apply(tables, &batch).err();
        }
        if failure.is_some() {
            // ORDERING: as in `Workers::has_failed`.
            has_failed.store(true, Ordering::Relaxed);
        }
    }
    failure
}

fn apply(tables: &Tables, batch: &Batch) -> std::result::Result<(), Failure> {
    let mut start = 0;
    for run in &batch.runs {
        let mut reader = RedoReader::new(&batch.bytes[start..run.end]);
        start = run.end;
        for number in run.first..run.first + run.count {
            let failed = |reason: &str| Failure { number, error: misfit(run.commit, reason) };
            let record = reader.next_record().map_err(|problem| failed(&problem.to_string()))?;
            record.map_or(Ok(()), |record| tables.change(record)).map_err(|why| failed(&why))?;
        }
    }
    Ok(())
}
