//! The quick way into all live members: mechanisms over their addresses.
//!
//! It exists while all live members are made durable by the same instruction and are at most 8;
//! members of mixed kinds take the slow way, one pool after the other.
//!
//! # Invariants
//! 1. Every address belongs to a mapped pool of the set: whoever unmaps one calls `refresh` or
//!    drops the engine first.

use crate::error::Result;
use crate::fault::FaultCell;
use crate::flush::{self, FlushFlavour};
use crate::pool::Pool;
use crate::replicate::{Mechanism, REPLICA_COUNT_MAX, Routines, Targets, routines};
use crate::set::member::Member;
use crate::set::pool_set::PoolSet;

/// Largest update that is copied through the cache: longer ones are streamed to the replicas.
const CACHED_BYTES_MAX: usize = 64;

/// Addresses and code for the members as they are now.
#[derive(Debug)]
pub(crate) struct Engine {
    targets: Targets,
    small: Routines,
    large: Routines,
    cells: Vec<&'static FaultCell>,
}

impl Engine {
    /// Stores in every live member and starts write-back.
    ///
    /// # Safety
    /// `offset + source.len()` is at most the end of every live member, `source` lies in none, and
    /// the caller has the set for itself.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, offset: u64, source: &[u8]) -> &Routines {
        let routines = if source.len() <= CACHED_BYTES_MAX { &self.small } else { &self.large };
        // SAFETY: the routines were chosen for these targets, in `build`; range, exclusiveness and
        // `source` by the caller's contract; the members are mapped by invariant 1.
        unsafe {
            (routines.write)(&self.targets, offset as usize, source.as_ptr(), source.len());
        }
        routines
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
        let (small, large) = (mechanism(forced, 0), mechanism(forced, CACHED_BYTES_MAX + 1));
        if small.needs_workers() || large.needs_workers() {
            targets.start_workers()?;
        }
        Ok(Some(Engine {
            small: routines(small, flush, replicas.len())?,
            large: routines(large, flush, replicas.len())?,
            targets,
            cells: pools.iter().map(|(_, pool)| pool.mapping.faults()).collect(),
        }))
    }
}

/// Returns the mechanism for updates of `bytes` bytes.
fn mechanism(forced: Option<Mechanism>, bytes: usize) -> Mechanism {
    match forced {
        Some(forced) => forced,
        None if bytes <= CACHED_BYTES_MAX => Mechanism::SF_PF,
        None => Mechanism::MOVNT_SF,
    }
}

impl PoolSet {
    /// Fixes the mechanism by which updates reach the replicas, or leaves it to the size of each
    /// update (`None`).
    ///
    /// # Errors
    /// `Unsupported` if this processor cannot run it, `OutOfMemory` if it needs threads and there
    /// are none; the mechanism stays as it was.
    pub fn set_mechanism(&mut self, mechanism: Option<Mechanism>) -> Result<()> {
        let engine = Engine::build(&self.members, self.serving_position(), mechanism)?;
        self.forced = mechanism;
        self.engine = engine.filter(|_| self.engine.is_some());
        Ok(())
    }

    /// Returns the mechanism that an update of `bytes` bytes takes, or `None` while the members are
    /// of mixed kinds or written back by the kernel, and so written one after the other.
    pub fn mechanism_in_use(&self, bytes: usize) -> Option<Mechanism> {
        self.engine.as_ref().map(|_| mechanism(self.forced, bytes))
    }

    /// Looks at the live members again.
    pub(crate) fn refresh(&mut self) {
        let engine = Engine::build(&self.members, self.serving_position(), self.forced);
        // Without threads or instructions the slow way is as good.
        self.engine = engine.ok().flatten();
    }
}
