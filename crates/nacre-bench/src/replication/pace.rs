//! Makes a quick run end in time where an update waits for a device.
//!
//! A flush instruction takes a fraction of a microsecond, a system call that waits for a disk up to
//! many milliseconds, so that filling pools and one update of each contestant take minutes. A few
//! updates are timed, and what the arguments leave open is cut until the estimate fits: size of the
//! pools and number of keys, then rounds, sizes, replicas, contestants, workloads. What the
//! estimate misses is left out at the end.

use std::time::{Duration, Instant};

use nacre_pmem::{Domain, FlushFlavour};

use super::library;
use super::options::{Choices, POOL_BYTES_MIN, ReplicationArgs, Workload};
use crate::error::{Error, Result};

/// Time that a quick run may wait for the device, beside the time of its slices.
const WAIT_BUDGET: Duration = Duration::from_secs(3);

/// After this time nothing more is begun.
const LATE: Duration = Duration::from_secs(14);

/// Updates that are timed.
const PROBES: u32 = 8;
const PROBE_BYTES: u64 = 1 << 20;

/// Waits of an update or an insertion: the bytes, a log or a word that publishes them.
const WAITS_PER_UPDATE: f64 = 3.0;

/// Fewest keys that are worth measuring.
const KEYS_MIN: u64 = 16;

/// What was found and done about it.
pub(super) struct Pace {
    /// Time of one update of one pool.
    pub(super) update: Duration,
    /// When nothing more is begun.
    pub(super) deadline: Instant,
}

/// Cuts `choices` to what fits, if it is a quick run in a domain that waits for a device.
pub(super) fn fit(
    choices: &mut Choices,
    args: &ReplicationArgs,
    domain: &Domain,
) -> Result<Option<Pace>> {
    if !choices.is_quick || domain.flush_flavour() != FlushFlavour::Msync {
        return Ok(None);
    }
    let deadline = Instant::now() + LATE;
    let update = time_update(domain)?;
    cut(choices, args, update.as_secs_f64());
    Ok(Some(Pace { update, deadline }))
}

fn time_update(domain: &Domain) -> Result<Duration> {
    let failed = || Error::pmem("time an update");
    let mut pool = domain.create_pool("probe", PROBE_BYTES).map_err(failed())?;
    let start = Instant::now();
    for probe in 0..u64::from(PROBES) {
        pool.write(probe * PROBE_BYTES / u64::from(PROBES), &[1]).map_err(failed())?;
        pool.drain().map_err(failed())?;
    }
    let update = start.elapsed() / PROBES;
    drop(pool);
    domain.remove_pool("probe").map_err(failed())?;
    Ok(update)
}

/// Cuts what `args` leaves open until updates that take `update` seconds fit.
fn cut(choices: &mut Choices, args: &ReplicationArgs, update: f64) {
    if args.pool_bytes.is_none() {
        choices.pool_bytes = POOL_BYTES_MIN;
    }
    loop {
        let waiting = slices_seconds(choices, update);
        let budget = WAIT_BUDGET.as_secs_f64();
        // Half of the time is for filling.
        let keys = budget / 2.0 / key_seconds(choices, update).max(1e-9);
        // A float is cut to the range of the integer.
        choices.keys = choices.keys.min((keys as u64).max(KEYS_MIN));
        let filling = choices.keys as f64 * key_seconds(choices, update);
        if waiting + filling <= budget || !cut_once(choices, args) {
            return;
        }
    }
}

/// Cuts the next thing that was not asked for; returns whether there was one.
fn cut_once(choices: &mut Choices, args: &ReplicationArgs) -> bool {
    if args.rounds.is_none() && choices.rounds > 1 {
        choices.rounds -= 1;
    } else if args.update_bytes.is_empty() && choices.update_bytes.len() > 1 {
        choices.update_bytes.pop();
    } else if args.replicas.is_empty() && choices.replicas.len() > 1 {
        choices.replicas.pop();
    } else if args.mechanisms.is_empty() && choices.variants.len() > 2 {
        choices.variants.pop();
    } else if args.workloads.is_empty() && choices.workloads.len() > 1 {
        choices.workloads.pop();
    } else {
        return false;
    }
    true
}

/// Returns how long the slices wait at least: each has one update, and one to warm up.
fn slices_seconds(choices: &Choices, update: f64) -> f64 {
    let groups = choices.replicas.len().max(1) as f64;
    let slices = choices.slice_count(library::IS_BUILT_IN) as f64 / groups;
    let members: usize = choices.replicas.iter().map(|replicas| replicas + 1).sum();
    slices * members as f64 * update * WAITS_PER_UPDATE * 2.0
}

/// Returns how long one key takes in all key-value stores of the run.
fn key_seconds(choices: &Choices, update: f64) -> f64 {
    if !choices.workloads.contains(&Workload::Kv) {
        return 0.0;
    }
    let engines = if library::IS_BUILT_IN { 2 } else { 1 };
    let members: usize = choices.replicas.iter().map(|replicas| replicas + 2).sum();
    let stores = members * choices.update_bytes.len() * choices.pages.len() * engines;
    stores as f64 * update * WAITS_PER_UPDATE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quick() -> ReplicationArgs {
        ReplicationArgs { is_quick: true, ..Default::default() }
    }

    #[test]
    fn slow_updates_are_cut_to_what_fits() {
        for update in [1e-6, 1e-4, 1e-3, 5e-3, 2e-2] {
            let mut choices = Choices::make(&quick()).unwrap();
            cut(&mut choices, &quick(), update);
            let waiting = slices_seconds(&choices, update);
            let filling = choices.keys as f64 * key_seconds(&choices, update);
            let budget = WAIT_BUDGET.as_secs_f64();
            assert!(waiting + filling <= budget * 1.001, "{update}: {waiting} {filling}");
            assert!(choices.rounds > 0 && choices.keys >= KEYS_MIN, "{update}: {choices:?}");
        }
    }

    #[test]
    fn what_was_asked_for_is_not_cut() {
        let args = ReplicationArgs {
            rounds: Some(7),
            replicas: vec![3, 2],
            pool_bytes: Some(1 << 30),
            ..quick()
        };
        let mut choices = Choices::make(&args).unwrap();
        cut(&mut choices, &args, 1.0);
        assert_eq!((choices.rounds, choices.pool_bytes), (7, 1 << 30));
        assert_eq!(choices.replicas, [3, 2]);
        assert_eq!((choices.update_bytes.len(), choices.workloads.len()), (1, 1));
    }
}
