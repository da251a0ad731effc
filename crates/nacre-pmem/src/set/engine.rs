//! The quick way into all live members: mechanisms over their addresses.
//!
//! It exists while all live members are made durable by the same instruction and are at most 8;
//! members of mixed kinds take the slow way, one pool after the other.
//!
//! # Invariants
//! 1. Every address belongs to a mapped pool of the set: whoever unmaps one calls `refresh` or
//!    drops the engine first.

use crate::domain::Domain;
use crate::error::Result;
use crate::fault::FaultCell;
use crate::flush::{self, CACHE_LINE_BYTES, FlushFlavour};
use crate::pool::Pool;
use crate::replicate::{Mechanism, REPLICA_COUNT_MAX, Routines, Targets, routines};
use crate::set::member::Member;
use crate::set::pool_set::PoolSet;
use crate::switch::{DecisionTree, Machine, PatternDetector, Switch, SwitchReport};

/// How many updates of a batch are prefetched ahead.
const PREFETCH_DISTANCE: usize = 8;

/// Longest update that keeps the master's lines if it is near: past that, streaming saves more
/// than reading the lines back costs.
pub(crate) const NEAR_BYTES_MAX: usize = 256;

/// Addresses and code for the members as they are now.
#[derive(Debug)]
pub(crate) struct Engine {
    targets: Targets,
    switch: Switch,
    /// The code for near updates: what the switch takes for a word, since longer ones too begin and
    /// end within lines, which are slow to stream; the master is stored through the cache.
    near: Routines,
    /// Whether no update of a word is handed to a worker, which copies without regard to words.
    stores_words_whole: bool,
    /// The set has one writer, so one detector sees all its updates.
    detector: PatternDetector,
    /// Whether the newest update of the data area continued an earlier one.
    is_sequential: bool,
    cells: Vec<&'static FaultCell>,
}

impl Engine {
    /// Stores in every live member and starts write-back.
    ///
    /// # Safety
    /// `offset + source.len()` is at most the end of every live member, `source` lies in none, and
    /// the caller has the set for itself.
    #[inline(always)]
    pub(crate) unsafe fn write(
        &mut self,
        offset: u64,
        source: &[u8],
        is_transactional: bool,
    ) -> Routines {
        self.is_sequential = self.detector.observe(offset, source.len() as u64);
        let code = self.switch.choose(self.is_sequential, is_transactional, source.len());
        // SAFETY: the code was chosen for these targets, in `build`; range, exclusiveness and
        // `source` by the caller's contract; the members are mapped by invariant 1.
        unsafe { (code.write)(&self.targets, offset as usize, source.as_ptr(), source.len()) };
        code
    }

    /// As [`Engine::write`] for bytes of the transaction log, whose place says nothing about the
    /// updates to come. It takes what such an update takes: one fence waits for a record and the
    /// update before it, and it waits longest for some of each kind.
    ///
    /// # Safety
    /// As for [`Engine::write`].
    #[inline(always)]
    pub(crate) unsafe fn write_log(&self, offset: u64, source: &[u8]) -> Routines {
        // About half of a record of one or two lines is the update.
        let code = self.switch.choose(self.is_sequential, true, source.len() / 2);
        // SAFETY: as in `write`.
        unsafe { (code.write)(&self.targets, offset as usize, source.as_ptr(), source.len()) };
        code
    }

    /// As [`Engine::write`] for up to [`NEAR_BYTES_MAX`] bytes that are read back soon: the lines
    /// of the master stay in the cache.
    ///
    /// # Safety
    /// As for [`Engine::write`].
    #[inline(always)]
    pub(crate) unsafe fn write_near(&self, offset: u64, source: &[u8]) -> Routines {
        debug_assert!(source.len() <= NEAR_BYTES_MAX);
        // SAFETY: as in `write`.
        unsafe { (self.near.write)(&self.targets, offset as usize, source.as_ptr(), source.len()) };
        self.near
    }

    /// Starts to load the lines that a transaction will store to in place, if through the cache:
    /// the loads then run beside the log's fence.
    #[inline]
    pub(crate) fn prefetch_transactional(&self, offset: u64, bytes: usize) {
        let cached = self.switch.choose(self.is_sequential, true, bytes).cached;
        self.targets.prefetch(offset as usize, bytes, cached);
    }

    /// Starts to load the lines of a near update to come, where it will store through the cache.
    #[inline]
    pub(crate) fn prefetch_near(&self, offset: u64, bytes: usize) {
        self.targets.prefetch(offset as usize, bytes, self.near.cached);
    }

    /// Whether a store of an aligned word of 4 or 8 bytes is one instruction in each member.
    #[inline(always)]
    pub(crate) fn stores_words_whole(&self) -> bool {
        self.stores_words_whole
    }

    /// Stores several updates and starts their write-back, each with its lines prefetched
    /// while those before it are stored.
    ///
    /// All take the code for the longest, so that of two updates of a word the later is never
    /// durable without the earlier: streamed and cached stores of one line have no order.
    ///
    /// # Safety
    /// As for [`Engine::write`], for each of the `count` updates that `update` returns.
    #[inline(always)]
    pub(crate) unsafe fn write_all<'a>(
        &self,
        count: usize,
        update: impl Fn(usize) -> (u64, &'a [u8]),
    ) {
        let longest = (0..count).map(|index| update(index).1.len()).max().unwrap_or(0);
        let code = match longest < CACHE_LINE_BYTES {
            // The lines of the master are prefetched, so nothing is saved by streaming it.
            true => self.near,
            false => self.switch.choose(false, false, longest),
        };
        let prefetch = |index| {
            let (offset, source) = update(index);
            self.targets.prefetch(offset as usize, source.len(), code.cached);
        };
        (0..count.min(PREFETCH_DISTANCE)).for_each(prefetch);
        for index in 0..count {
            if index + PREFETCH_DISTANCE < count {
                prefetch(index + PREFETCH_DISTANCE);
            }
            let (offset, source) = update(index);
            let (start, bytes) = (source.as_ptr(), source.len());
            // SAFETY: as in `write`.
            unsafe { (code.write)(&self.targets, offset as usize, start, bytes) };
        }
    }

    /// Waits for everything written, and returns whether no live member lost a page.
    #[inline(always)]
    pub(crate) fn drain(&self) -> bool {
        // PERSIST: all lines flushed or streamed by this thread, whatever the mechanism, are
        // durable after this fence; workers fenced theirs before `write` returned.
        flush::fence();
        self.are_sound()
    }

    /// Whether no live member lost a page.
    #[inline(always)]
    pub(crate) fn are_sound(&self) -> bool {
        self.cells.iter().all(|cell| !cell.is_faulted())
    }

    fn build(
        members: &[Member],
        serving: usize,
        report: &SwitchReport,
        forced: Option<Mechanism>,
    ) -> Result<Option<Engine>> {
        let live = members.iter().enumerate().filter(|(_, member)| member.is_live());
        let mut pools: Vec<(usize, &Pool)> =
            live.filter_map(|(position, member)| Some((position, member.pool.as_ref()?))).collect();
        pools.sort_by_key(|(position, _)| *position != serving);
        let Some((_, master)) = pools.first() else {
            return Ok(None);
        };
        let flush = master.plan.flush;
        let is_uniform = pools.iter().all(|(_, pool)| pool.plan.flush == flush);
        if !is_uniform || flush == FlushFlavour::Msync || pools.len() > REPLICA_COUNT_MAX + 1 {
            return Ok(None);
        }
        let replicas: Vec<*mut u8> = pools[1..].iter().map(|(_, pool)| pool.base()).collect();
        let mut targets = Targets::new(master.base(), &replicas, master.plan.stream);
        let switch = match forced {
            Some(mechanism) => Switch::fixed(mechanism, flush, replicas.len())?,
            None if flush == report.machine.flush => {
                Switch::resolve(&report.tree, master.plan.kind, flush, replicas.len())?
            }
            None => {
                // The serving member moved to where another instruction is in use.
                let tree = DecisionTree::built_in(&Machine::this(flush));
                Switch::resolve(&tree, master.plan.kind, flush, replicas.len())?
            }
        };
        if switch.needs_workers() {
            targets.start_workers()?;
        }
        let word = switch.mechanism(false, false, size_of::<u64>()).with_cached_master();
        let near = routines(forced.unwrap_or(word), flush, replicas.len())?;
        Ok(Some(Engine {
            near,
            stores_words_whole: !hands_words_over(&switch),
            switch,
            detector: PatternDetector::new(),
            is_sequential: false,
            targets,
            cells: pools.iter().map(|(_, pool)| pool.mapping.faults()).collect(),
        }))
    }
}

/// Whether an update of 4 or 8 bytes may take a mechanism with workers.
fn hands_words_over(switch: &Switch) -> bool {
    let sizes = [4, 8].into_iter();
    sizes
        .flat_map(|bytes| [(false, bytes), (true, bytes)])
        .any(|(is_sequential, bytes)| switch.mechanism(is_sequential, false, bytes).needs_workers())
}

/// Finds out by which tree a set with members in `domains` chooses mechanisms: from the profile in
/// the settings of the first that has one.
pub(crate) fn report(domains: &[Domain]) -> SwitchReport {
    let profile = domains.iter().find_map(Domain::profile);
    let flush = domains.first().map_or(FlushFlavour::None, Domain::flush_flavour);
    SwitchReport::load_or_built_in(profile, flush)
}

impl PoolSet {
    /// Fixes the mechanism by which updates reach the replicas; `None` leaves it to the switch.
    ///
    /// # Errors
    /// `Unsupported` if this processor cannot run it, `OutOfMemory` if it needs threads and there
    /// are none; the mechanism stays as it was.
    pub fn set_mechanism(&mut self, mechanism: Option<Mechanism>) -> Result<()> {
        let engine =
            Engine::build(&self.members, self.serving_position(), &self.report, mechanism)?;
        self.forced = mechanism;
        self.engine = engine.filter(|_| self.engine.is_some());
        Ok(())
    }

    /// Returns the mechanism that an update of `bytes` bytes takes, or `None` while the members are
    /// of mixed kinds or written back by the kernel, and so written one after the other.
    pub fn mechanism_in_use(
        &self,
        is_sequential: bool,
        is_transactional: bool,
        bytes: usize,
    ) -> Option<Mechanism> {
        let engine = self.engine.as_ref()?;
        Some(engine.switch.mechanism(is_sequential, is_transactional, bytes))
    }

    /// Returns by which tree mechanisms are chosen, and why; from when the set was opened.
    pub fn switch_report(&self) -> &SwitchReport {
        &self.report
    }

    /// Looks at the live members again.
    pub(crate) fn refresh(&mut self) {
        let serving = self.serving_position();
        let engine = Engine::build(&self.members, serving, &self.report, self.forced);
        // Without threads or instructions the slow way is as good.
        self.engine = engine.ok().flatten();
    }
}
