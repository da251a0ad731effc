//! Reading a replicated column beside its appender.
//!
//! A [`Snapshot`] is a list of blocks that everybody shares: taking one copies a pointer. A read
//! picks a replica of a block, verifies it when it is read for the first time, and falls back to
//! the next one if it is not good.
//!
//! # Concurrency
//! Any number of threads; an append that is under way changes no snapshot that was taken.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use nacre_pmem::{DomainKind, PoolSlice};

use super::choose::{AccessHint, Candidate, choose};
use super::error::ReplicatedError;
use super::wear::Wear;
use crate::{Block, BlockError, ColumnType, Format, FormatChoice};

/// State of a replica of a block: not verified since it was mapped, good, or bad.
const UNKNOWN: u8 = 0;
const GOOD: u8 = 1;
const LOST: u8 = 2;

/// A block in one replica.
pub(super) struct Stored {
    slice: PoolSlice,
    format: Option<Format>,
    state: AtomicU8,
}

/// A block in all of its replicas; `None` where it is missing.
pub(super) struct Entry {
    pub(super) rows: u32,
    pub(super) replicas: Vec<Option<Arc<Stored>>>,
}

/// What is known of a replica as a whole.
pub(super) struct Place {
    pub(super) domain: String,
    pub(super) kind: DomainKind,
    pub(super) node: Option<u32>,
    pub(super) format: FormatChoice,
    pub(super) readers: AtomicU32,
    pub(super) reads: AtomicU64,
    /// Whether writing to it failed.
    pub(super) has_failed: AtomicBool,
}

/// What appender and readers share.
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) column_type: ColumnType,
    pub(super) places: Vec<Place>,
    pub(super) blocks: RwLock<Arc<Vec<Arc<Entry>>>>,
    pub(super) wear: Wear<u32>,
}

/// Reads a column that may grow meanwhile.
#[derive(Clone)]
pub struct ColumnReader(pub(super) Arc<Shared>);

/// The blocks that were there when it was taken.
#[derive(Clone)]
pub struct Snapshot {
    shared: Arc<Shared>,
    blocks: Arc<Vec<Arc<Entry>>>,
}

/// One replica of a block, kept mapped.
pub struct BlockGuard {
    shared: Arc<Shared>,
    stored: Arc<Stored>,
    replica: usize,
}

/// What [`ColumnReader::replicas`] says of one replica.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaState {
    pub domain: String,
    pub kind: DomainKind,
    pub format: FormatChoice,
    /// Bytes of all blocks that it holds.
    pub bytes: u64,
    /// Blocks that it lacks, or that were found bad.
    pub lost: u64,
    /// Reads that it served.
    pub reads: u64,
    /// Whether writing to it failed, so that it gets no new blocks.
    pub has_failed: bool,
}

impl Stored {
    /// Keeps a block that was just written and had been verified before.
    pub(super) fn written(slice: PoolSlice, format: Format) -> Self {
        Self { slice, format: Some(format), state: AtomicU8::new(GOOD) }
    }

    /// Keeps a block that was found.
    pub(super) fn found(slice: PoolSlice, column_type: ColumnType) -> Self {
        let format = Block::open(&slice, column_type).ok().map(|block| block.format());
        Self { slice, format, state: AtomicU8::new(UNKNOWN) }
    }

    fn is_lost(&self) -> bool {
        // ORDERING: Relaxed, a hint: the bytes themselves never change.
        self.state.load(Ordering::Relaxed) == LOST
    }

    fn mark_lost(&self) {
        // ORDERING: as above.
        self.state.store(LOST, Ordering::Relaxed);
    }

    /// Verifies the block unless that was done since it was mapped.
    fn check(&self, column_type: ColumnType) -> Result<(), String> {
        // ORDERING: Relaxed, as above; at worst two threads verify.
        match self.state.load(Ordering::Relaxed) {
            LOST => return Err("it was found bad before".to_owned()),
            GOOD => {}
            _ => {
                Block::open(&self.slice, column_type)
                    .and_then(|block| block.verify())
                    .map_err(|error| error.to_string())?;
            }
        }
        self.check_pages().map_err(|error| error.to_string())?;
        // ORDERING: as above. Never over LOST: that came from a check like this one.
        let _ = self.state.compare_exchange(UNKNOWN, GOOD, Ordering::Relaxed, Ordering::Relaxed);
        Ok(())
    }

    /// Asks whether the mapping lost pages.
    fn check_pages(&self) -> nacre_pmem::Result<()> {
        match self.slice.pool().is_faulted() {
            true => self.slice.pool().check(),
            false => Ok(()),
        }
    }
}

impl Entry {
    /// Tells whether a replica does not hold this block, or not well.
    pub(super) fn lacks(&self, replica: usize) -> bool {
        self.replicas[replica].as_ref().is_none_or(|stored| stored.is_lost())
    }
}

impl Shared {
    pub(super) fn snapshot(self: &Arc<Self>) -> Snapshot {
        let blocks = Arc::clone(&self.blocks.read().unwrap_or_else(PoisonError::into_inner));
        Snapshot { shared: Arc::clone(self), blocks }
    }

    fn candidate(&self, entry: &Entry, replica: usize) -> Option<(usize, Candidate)> {
        let stored = entry.replicas[replica].as_ref().filter(|stored| !stored.is_lost())?;
        let place = &self.places[replica];
        let candidate = Candidate {
            kind: place.kind,
            node: place.node,
            format: stored.format,
            rows: entry.rows,
            bytes: stored.slice.len() as u64,
            // ORDERING: Relaxed, an estimate.
            readers: place.readers.load(Ordering::Relaxed),
        };
        Some((replica, candidate))
    }
}

impl ColumnReader {
    /// Returns the blocks that are committed now.
    pub fn snapshot(&self) -> Snapshot {
        self.0.snapshot()
    }

    /// Returns what there is to say of each replica.
    pub fn replicas(&self) -> Vec<ReplicaState> {
        let snapshot = self.snapshot();
        let state = |(replica, place): (usize, &Place)| {
            let stored = snapshot.blocks.iter().flat_map(|entry| &entry.replicas[replica]);
            let bytes = stored.map(|stored| stored.slice.len() as u64).sum();
            let lost = snapshot.blocks.iter().filter(|entry| entry.lacks(replica));
            ReplicaState {
                domain: place.domain.clone(),
                kind: place.kind,
                format: place.format,
                bytes,
                lost: lost.count() as u64,
                // ORDERING: Relaxed, figures to look at.
                reads: place.reads.load(Ordering::Relaxed),
                has_failed: place.has_failed.load(Ordering::Relaxed),
            }
        };
        self.0.places.iter().enumerate().map(state).collect()
    }
}

impl Snapshot {
    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.blocks.iter().map(|entry| u64::from(entry.rows)).sum()
    }

    /// Returns the number of blocks; all but those that a commit cut short have as many rows.
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns the number of rows of a block.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn block_rows(&self, block: usize) -> usize {
        self.blocks[block].rows as usize
    }

    pub(super) fn entries(&self) -> &[Arc<Entry>] {
        &self.blocks
    }

    /// Returns the best good replica of a block for a reader of this kind.
    ///
    /// # Errors
    /// [`ReplicatedError::NoReplica`] if none is good.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn read(&self, block: usize, hint: AccessHint) -> Result<BlockGuard, ReplicatedError> {
        let entry = &self.blocks[block];
        let mut reasons = Vec::new();
        loop {
            let all = 0..entry.replicas.len();
            let candidates = all.filter_map(|replica| self.shared.candidate(entry, replica));
            let best = choose(candidates, hint, None);
            let Some((replica, stored)) =
                best.and_then(|best| Some((best, entry.replicas[best].as_ref()?)))
            else {
                return Err(self.no_replica(block, reasons));
            };
            match stored.check(self.shared.column_type) {
                Ok(()) => {
                    let place = &self.shared.places[replica];
                    // ORDERING: Relaxed, figures and an estimate.
                    place.reads.fetch_add(1, Ordering::Relaxed);
                    place.readers.fetch_add(1, Ordering::Relaxed);
                    let (shared, stored) = (Arc::clone(&self.shared), Arc::clone(stored));
                    return Ok(BlockGuard { shared, stored, replica });
                }
                Err(reason) => {
                    // One candidate less: the loop ends.
                    stored.mark_lost();
                    let domain = &self.shared.places[replica].domain;
                    reasons.push(format!("replica {replica} in {domain}: {reason}"));
                }
            }
        }
    }

    fn no_replica(&self, block: usize, mut reasons: Vec<String>) -> ReplicatedError {
        if reasons.is_empty() {
            reasons.push("all are missing or were found bad before".to_owned());
        }
        let column = self.shared.name.clone();
        ReplicatedError::NoReplica { column, block, reasons: reasons.join("; ") }
    }
}

impl BlockGuard {
    /// Opens the block.
    ///
    /// # Errors
    /// The header is damaged; it was verified, so its pages were lost meanwhile.
    pub fn block(&self) -> Result<Block<'_>, BlockError> {
        Block::open(&self.stored.slice, self.shared.column_type)
    }

    /// Returns which replica this is.
    pub fn replica(&self) -> usize {
        self.replica
    }

    /// Tells whether what was read from it can be used; if not, the replica is lost: read again.
    pub fn is_good(&self) -> bool {
        let is_good = self.stored.check_pages().is_ok();
        if !is_good {
            self.stored.mark_lost();
        }
        is_good
    }
}

impl Drop for BlockGuard {
    fn drop(&mut self) {
        // ORDERING: Relaxed, an estimate.
        self.shared.places[self.replica].readers.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} blocks of column {}", self.blocks.len(), self.shared.name)
    }
}
