//! How much memory queries may take, all of a database's together.
//!
//! Operators ask before they grow. Those of Nacre's engine, and of the other those that sort or
//! group, spill to temporary files when there is no more; a statement that needs what is not there
//! ends with 53200, and the others go on.
//!
//! The address space of the process may end before the budget does. A failing allocation aborts the
//! process, so large requests are first tried out against the system.

use std::fmt;
use std::sync::Arc;

use datafusion::common::{DataFusionError, Result as PlannerResult};
use datafusion::execution::memory_pool::{
    GreedyMemoryPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use nacre_exec::spill::SpillSpace;

use crate::error::{Error, ErrorKind, Result};
use crate::from_datafusion::from_datafusion;

/// Variable that bounds the memory of queries, in MiB; 0 is as much as there is.
const QUERY_MEMORY_MIB_VARIABLE: &str = "NACRE_QUERY_MEMORY_MIB";

/// Variable that bounds the temporary files of queries, in MiB; 0 is as much as the disk has.
const SPILL_MIB_VARIABLE: &str = "NACRE_SPILL_MIB";

/// Bytes of temporary files without that variable.
const SPILL_BYTES: usize = 100 << 30;

/// Requests that are smaller are not tried out.
const PROBED_BYTES: usize = 16 << 20;

/// Reserve beside a request: for the answer, and for other sessions.
const SPARE_BYTES: usize = 64 << 20;

/// A budget that gives only what the system has.
#[derive(Debug)]
struct ProbingPool {
    budget: GreedyMemoryPool,
}

impl fmt::Display for ProbingPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.budget, f)
    }
}

impl MemoryPool for ProbingPool {
    fn name(&self) -> &str {
        "probing"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.budget.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.budget.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.budget.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.budget.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> PlannerResult<()> {
        // Keeps the sum with the used bytes from overflowing.
        let additional = additional.min(usize::MAX / 4);
        self.budget.try_grow(reservation, additional)?;
        let available = check_available(additional);
        if available.is_err() {
            self.budget.shrink(reservation, additional);
        }
        available
    }

    fn reserved(&self) -> usize {
        self.budget.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.budget.memory_limit()
    }
}

/// Tries whether the system has so many bytes and some spare ones. Nothing is written to them.
///
/// # Errors
/// `ResourcesExhausted`.
pub(crate) fn check_available(bytes: usize) -> PlannerResult<()> {
    if bytes < PROBED_BYTES {
        return Ok(());
    }
    let wanted = bytes.saturating_add(SPARE_BYTES);
    Vec::<u8>::new().try_reserve_exact(wanted).map_err(|_| {
        let message = format!("the system does not give {bytes} bytes more");
        DataFusionError::ResourcesExhausted(message)
    })
}

/// Returns the bytes that queries may take; `bytes` is as in `OpenOptions`.
///
/// # Errors
/// [`ErrorKind::Open`] if the setting is no number.
pub(crate) fn query_bytes(bytes: Option<usize>) -> Result<usize> {
    let setting = std::env::var(QUERY_MEMORY_MIB_VARIABLE).ok();
    Ok(match bytes {
        Some(bytes) => bytes,
        None => setting_bytes(QUERY_MEMORY_MIB_VARIABLE, setting.as_deref())?
            .unwrap_or_else(default_bytes),
    })
}

/// Returns where queries of Nacre's own engine write what does not fit in memory: as those of the
/// other, in the system's directory for temporary files.
///
/// # Errors
/// [`ErrorKind::Open`] if the setting is no number.
pub(crate) fn spill_space() -> Result<Arc<SpillSpace>> {
    let setting = std::env::var(SPILL_MIB_VARIABLE).ok();
    let bytes = setting_bytes(SPILL_MIB_VARIABLE, setting.as_deref())?.unwrap_or(SPILL_BYTES);
    Ok(SpillSpace::open(&std::env::temp_dir(), SPILL_MIB_VARIABLE, bytes as u64))
}

/// Makes what the planner's queries of a database share, who may take so many bytes.
///
/// # Errors
/// [`ErrorKind::Open`] if there is no place for temporary files.
pub(crate) fn runtime(bytes: usize) -> Result<Arc<RuntimeEnv>> {
    let pool = ProbingPool { budget: GreedyMemoryPool::new(bytes) };
    let builder = RuntimeEnvBuilder::new().with_memory_pool(Arc::new(pool));
    builder.build_arc().map_err(from_datafusion)
}

/// Two thirds of the machine's memory: the rest is for rows, indexes and the page cache.
fn default_bytes() -> usize {
    let info = rustix::system::sysinfo();
    let total = (info.totalram as usize).saturating_mul(info.mem_unit as usize);
    total / 3 * 2
}

fn setting_bytes(variable: &str, setting: Option<&str>) -> Result<Option<usize>> {
    let Some(text) = setting.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let mib: u32 = text.parse().map_err(|_| {
        let message = format!("setting {variable}: {text:?} is no number of MiB");
        Error::new(ErrorKind::Open, message).with_hint("0 is as much as there is.")
    })?;
    Ok(Some(if mib == 0 { usize::MAX } else { (mib as usize) << 20 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_does_not_have_is_refused_and_given_back() {
        let pool: Arc<dyn MemoryPool> =
            Arc::new(ProbingPool { budget: GreedyMemoryPool::new(usize::MAX) });
        let reservation = MemoryConsumer::new("test").register(&pool);
        // More than any address space.
        let error = reservation.try_grow(usize::MAX / 2).unwrap_err();
        assert!(matches!(error, DataFusionError::ResourcesExhausted(_)), "{error}");
        assert_eq!(pool.reserved(), 0);
        reservation.try_grow(PROBED_BYTES).unwrap();
        assert_eq!(pool.reserved(), PROBED_BYTES);
    }

    #[test]
    fn setting_is_a_number_of_mebibytes() {
        assert_eq!(setting_bytes(QUERY_MEMORY_MIB_VARIABLE, None).unwrap(), None);
        assert_eq!(setting_bytes(QUERY_MEMORY_MIB_VARIABLE, Some("")).unwrap(), None);
        assert_eq!(setting_bytes(QUERY_MEMORY_MIB_VARIABLE, Some("3")).unwrap(), Some(3 << 20));
        assert_eq!(setting_bytes(QUERY_MEMORY_MIB_VARIABLE, Some("0")).unwrap(), Some(usize::MAX));
        let error = setting_bytes(QUERY_MEMORY_MIB_VARIABLE, Some("lots")).unwrap_err();
        assert!(error.message().contains("NACRE_QUERY_MEMORY_MIB"), "{error}");
        assert!(default_bytes() > 0);
    }
}
