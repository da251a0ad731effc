//! Where the members of a pool set lie in memory, prepared for the mechanisms.

use crate::error::Result;
use crate::flush::CACHE_LINE_BYTES;
use crate::stream::StreamFlavour;

use super::block::Lanes;
use super::large;
use super::routines::Cached;
use super::worker::Workers;

/// Most replicas of a master.
pub const REPLICA_COUNT_MAX: usize = 7;

/// The members that a mechanism writes to.
///
/// # Concurrency
/// One writer at a time: the mechanisms' contract forbids two calls of `write` at once.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Targets {
    /// In front, so that a scatter loads it from one line.
    lanes: Lanes,
    master: *mut u8,
    replica_count: usize,
    stream: StreamFlavour,
    workers: Option<Workers>,
}

// SAFETY: the addresses are only used in `Routines`, whose callers promise that the members are
// mapped and that nobody else writes; no field is bound to a thread.
unsafe impl Send for Targets {}
// SAFETY: a shared reference gives no access to the members' bytes but through the unsafe `write`.
unsafe impl Sync for Targets {}

impl Targets {
    /// Describes a master and its replicas by the addresses of their first bytes.
    ///
    /// # Panics
    /// If there are more than [`REPLICA_COUNT_MAX`] replicas, or an address is not a line's start.
    pub fn new(master: *mut u8, replicas: &[*mut u8], stream: StreamFlavour) -> Targets {
        assert!(replicas.len() <= REPLICA_COUNT_MAX, "{} replicas", replicas.len());
        let is_aligned = |base: &*mut u8| (*base as usize).is_multiple_of(CACHE_LINE_BYTES);
        assert!(
            is_aligned(&master) && replicas.iter().all(is_aligned),
            "a member starts inside a line"
        );
        let mut lanes = Lanes([std::ptr::null_mut(); 8]);
        lanes.0[..replicas.len()].copy_from_slice(replicas);
        Targets { lanes, master, replica_count: replicas.len(), stream, workers: None }
    }

    /// Starts a worker for each replica, unless they run already. They sleep between updates and
    /// end when this is dropped.
    ///
    /// # Errors
    /// `OutOfMemory` or `Io` if the system gives no thread.
    pub fn start_workers(&mut self) -> Result<()> {
        if self.workers.is_none() && self.replica_count > 0 {
            self.workers = Some(Workers::start(self.replica_count)?);
        }
        Ok(())
    }

    /// Asks for the lines that `bytes` bytes will be stored to at `offset` of the members in
    /// question soon; of long updates only for the first.
    #[inline(always)]
    pub fn prefetch(&self, offset: usize, bytes: usize, cached: Cached) {
        if cached == Cached::Nothing {
            return;
        }
        large::prefetch(self.master.wrapping_add(offset), bytes);
        if cached == Cached::All {
            for base in self.replicas() {
                large::prefetch(base.wrapping_add(offset), bytes);
            }
        }
    }

    /// Returns the address of the master's first byte.
    pub fn master(&self) -> *mut u8 {
        self.master
    }

    /// Returns the addresses of the replicas' first bytes.
    pub fn replicas(&self) -> &[*mut u8] {
        &self.lanes.0[..self.replica_count]
    }

    /// Returns how many replicas there are.
    pub fn replica_count(&self) -> usize {
        self.replica_count
    }

    #[inline(always)]
    pub(super) fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    #[inline(always)]
    pub(super) fn stream(&self) -> StreamFlavour {
        self.stream
    }

    #[inline(always)]
    pub(super) fn workers(&self) -> Option<&Workers> {
        self.workers.as_ref()
    }
}
