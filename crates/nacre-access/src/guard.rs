//! A limit on guessing passwords.
//!
//! Failures are counted by address and by role, those of this machine's own addresses, which all
//! its users and what stands between share, by role only. After some that cost nothing each further
//! attempt waits, twice as long as the one before; waits add up, so that many connections at once
//! gain nothing. An address that would wait too long is refused. A role's wait stays short: nobody
//! can shut out somebody else by failing in his name.
//!
//! # Invariants
//! Memory is bounded: [`ENTRIES_MAX`] counters of each kind, names are kept as hashes.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Counters of each kind.
const ENTRIES_MAX: usize = 4096;

/// A counter without failures for so long is forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(15 * 60);

/// How a kind of counter grows.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Failures that cost nothing.
    free: u32,
    first_wait: Duration,
    wait_max: Duration,
}

const BY_ADDRESS: Limits =
    // libpq tries again without TLS, so that one mistake is two failures.
    Limits {
        free: 10,
        first_wait: Duration::from_millis(500),
        wait_max: Duration::from_secs(30),
    };

const BY_ROLE: Limits =
    Limits { free: 20, first_wait: Duration::from_millis(250), wait_max: Duration::from_secs(2) };

/// What an attempt has to do first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Wait, often not at all, then try.
    After(Duration),
    /// Come back later.
    Refused,
}

/// The failures of the last minutes.
#[derive(Debug, Default)]
pub struct Guard {
    counters: Mutex<Counters>,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Counters {
    addresses: HashMap<IpAddr, Counter>,
    roles: HashMap<u64, Counter>,
}

#[derive(Clone, Copy, Debug)]
struct Counter {
    failures: u32,
    last_failure: Instant,
    /// When the next attempt may be made.
    next: Instant,
}

impl Guard {
    /// Says how long an attempt to be `role` has to wait. Asked once for each attempt: the next one
    /// has to wait for this one's turn too.
    pub fn admit(&self, address: IpAddr, role: &str, now: Instant) -> Verdict {
        let mut counters = self.counters();
        let address = network(address).and_then(|key| counters.addresses.get_mut(&key));
        let by_address = address.map(|counter| (counter.wait(now), counter));
        if by_address.as_ref().is_some_and(|(wait, _)| *wait > BY_ADDRESS.wait_max) {
            return Verdict::Refused;
        }
        let by_address = by_address.map(|(wait, counter)| {
            counter.next = now + wait + BY_ADDRESS.step(counter.failures);
            wait
        });
        let role = counters.roles.get(&self.hasher.hash_one(role));
        let by_role = role.map(|counter| counter.wait(now));
        Verdict::After(by_address.max(by_role).unwrap_or_default())
    }

    /// Counts an attempt that failed.
    pub fn failed(&self, address: IpAddr, role: &str, now: Instant) {
        let mut counters = self.counters();
        if let Some(network) = network(address) {
            count(&mut counters.addresses, network, BY_ADDRESS, now);
        }
        count(&mut counters.roles, self.hasher.hash_one(role), BY_ROLE, now);
    }

    /// Forgets the failures of an address, whose user knows a password. Those of the role stay:
    /// they may be another's.
    pub fn succeeded(&self, address: IpAddr) {
        if let Some(network) = network(address) {
            self.counters().addresses.remove(&network);
        }
    }

    fn counters(&self) -> MutexGuard<'_, Counters> {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Limits {
    /// Returns the wait that so many failures cost.
    fn step(self, failures: u32) -> Duration {
        match failures.checked_sub(self.free) {
            None | Some(0) => Duration::ZERO,
            Some(beyond) => {
                self.first_wait.saturating_mul(1 << (beyond - 1).min(16)).min(self.wait_max)
            }
        }
    }
}

impl Counter {
    fn wait(&self, now: Instant) -> Duration {
        self.next.saturating_duration_since(now)
    }

    fn is_forgotten(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.last_failure.max(self.next)) >= FORGOTTEN_AFTER
    }
}

fn count<K: std::hash::Hash + Eq + Copy>(
    counters: &mut HashMap<K, Counter>,
    key: K,
    limits: Limits,
    now: Instant,
) {
    if counters.len() >= ENTRIES_MAX && !counters.contains_key(&key) {
        counters.retain(|_, counter| !counter.is_forgotten(now));
        if counters.len() >= ENTRIES_MAX {
            // Whoever failed least: many addresses that fail once push out no busy one.
            let least = counters.iter().min_by_key(|(_, one)| (one.failures, one.last_failure));
            let least = least.map(|(key, _)| *key);
            least.map(|key| counters.remove(&key));
        }
    }
    let counter =
        counters.entry(key).or_insert(Counter { failures: 0, last_failure: now, next: now });
    if counter.is_forgotten(now) {
        counter.failures = 0;
    }
    counter.failures = counter.failures.saturating_add(1);
    counter.last_failure = now;
    counter.next = counter.next.max(now + limits.step(counter.failures));
}

/// Returns what stands for an address: one host has a whole /64 of IPv6. `None` for this machine.
fn network(address: IpAddr) -> Option<IpAddr> {
    match address.to_canonical() {
        address if address.is_loopback() => None,
        IpAddr::V4(address) => Some(address.into()),
        IpAddr::V6(address) => {
            Some(std::net::Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn fail(guard: &Guard, from: &str, role: &str, times: usize, now: Instant) {
        (0..times).for_each(|_| guard.failed(address(from), role, now));
    }

    #[test]
    fn first_failures_cost_nothing_and_later_ones_more_and_more() {
        let (guard, now) = (Guard::default(), Instant::now());
        fail(&guard, "10.0.0.1", "a", 10, now);
        assert_eq!(guard.admit(address("10.0.0.1"), "a", now), Verdict::After(Duration::ZERO));
        let mut waits = Vec::new();
        let mut later = now;
        for _ in 0..8 {
            fail(&guard, "10.0.0.1", "a", 1, later);
            let Verdict::After(wait) = guard.admit(address("10.0.0.1"), "a", later) else {
                panic!()
            };
            waits.push(wait.as_millis());
            later += wait + BY_ADDRESS.wait_max;
        }
        assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
        assert_eq!(guard.admit(address("10.0.0.2"), "b", later), Verdict::After(Duration::ZERO));
    }

    #[test]
    fn attempts_at_once_queue_up_and_are_refused_in_the_end() {
        let (guard, now) = (Guard::default(), Instant::now());
        fail(&guard, "10.0.0.1", "a", 14, now);
        let verdicts: Vec<_> =
            (0..20).map(|_| guard.admit(address("10.0.0.1"), "a", now)).collect();
        assert_eq!(verdicts[0], Verdict::After(Duration::from_secs(4)));
        assert_eq!(verdicts[1], Verdict::After(Duration::from_secs(8)));
        assert_eq!(verdicts[19], Verdict::Refused);
        let later = now + Duration::from_secs(60);
        assert_eq!(guard.admit(address("10.0.0.1"), "a", later), Verdict::After(Duration::ZERO));
    }

    #[test]
    fn nobody_is_shut_out_by_failures_in_his_name() {
        let (guard, now) = (Guard::default(), Instant::now());
        (0..500).for_each(|n| fail(&guard, &format!("10.0.{}.{}", n / 250, n % 250), "a", 1, now));
        let Verdict::After(wait) = guard.admit(address("10.9.9.9"), "a", now) else { panic!() };
        assert!(wait > Duration::ZERO && wait <= BY_ROLE.wait_max, "{wait:?}");
    }

    #[test]
    fn users_of_one_machine_do_not_shut_out_each_other() {
        let (guard, now) = (Guard::default(), Instant::now());
        fail(&guard, "127.0.0.1", "a", 500, now);
        assert_eq!(guard.admit(address("127.0.0.1"), "b", now), Verdict::After(Duration::ZERO));
        let Verdict::After(wait) = guard.admit(address("::1"), "a", now) else { panic!() };
        assert_eq!(wait, BY_ROLE.wait_max);
    }

    #[test]
    fn right_password_and_time_make_forget() {
        let (guard, now) = (Guard::default(), Instant::now());
        fail(&guard, "10.0.0.1", "a", 14, now);
        guard.succeeded(address("10.0.0.1"));
        assert_eq!(guard.admit(address("10.0.0.1"), "a", now), Verdict::After(Duration::ZERO));
        fail(&guard, "10.0.0.1", "a", 9, now);
        let later = now + FORGOTTEN_AFTER + Duration::from_secs(60);
        fail(&guard, "10.0.0.1", "a", 1, later);
        assert_eq!(guard.admit(address("10.0.0.1"), "a", later), Verdict::After(Duration::ZERO));
    }

    #[test]
    fn memory_is_bounded_and_one_host_is_one_network() {
        let (guard, now) = (Guard::default(), Instant::now());
        fail(&guard, "10.0.0.1", "a", 9, now);
        for n in 0..ENTRIES_MAX as u32 + 100 {
            let address = IpAddr::V4(std::net::Ipv4Addr::from_bits(0x0b00_0000 + n));
            guard.failed(address, &n.to_string(), now);
        }
        let counters = guard.counters();
        assert_eq!(counters.addresses.len(), ENTRIES_MAX);
        assert_eq!(counters.roles.len(), ENTRIES_MAX);
        assert!(counters.addresses.contains_key(&address("10.0.0.1")));
        assert_eq!(network(address("fd00::1:2")), network(address("fd00::9")));
        assert_eq!(network(address("::ffff:10.0.0.1")), Some(address("10.0.0.1")));
    }
}
