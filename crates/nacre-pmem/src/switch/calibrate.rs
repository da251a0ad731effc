//! Measures the mechanisms on this machine.
//!
//! 1. In each domain a master and replicas are made, touched, and removed at the end.
//! 2. For each situation and size every mechanism runs twice; those more than half slower than the
//!    best are given up, the others run in turn until each has run [`Calibration::rounds`] times,
//!    so that whatever else the machine does hits all alike. A run is shorter than a time slice.
//! 3. Places go on from run to run: a run that began where the last one did would find its lines
//!    in the cache. Each round has another order, and a run begins with a part that is not counted,
//!    so that nobody gains or loses by what ran before.
//! 4. A run is timed in pieces of a few updates. Pieces that took many times as long as the median
//!    one were stopped by what else the machine does, and are left out; the mean of the others
//!    counts, since some mechanisms are slow now and then by themselves. The median of a
//!    mechanism's runs is its figure.
//!
//! A transactional update is measured as the transaction log stores: the update's lines are asked
//! for if they go through the cache, a record of the new bytes, a fence, the update, for which the
//! next fence waits; both take the mechanism. One word is stored without a log.

use std::time::{Duration, Instant};

use crate::domain::Domain;
use crate::error::{Error, ErrorKind, Result};
use crate::pool::Pool;
use crate::replicate::{Mechanism, REPLICA_COUNT_MAX, Routines, Targets, routines};

use super::profile::{Machine, Measurement, Pattern, Profile, Situation};

/// A mechanism this much slower than the best of the first two rounds is not measured again.
const HOPELESS: f64 = 1.5;
/// The part of a run that is counted lasts so many times as long as the part before it.
const WARM_UP_SHARE: u32 = 5;
/// Bytes of a record of the transaction log in front of the new bytes.
const RECORD_BYTES: usize = 40;
/// Updates of words are transactions by themselves.
const WORD_BYTES: [usize; 2] = [4, 8];
/// Updates between two looks at the clock, and the bytes that end such a piece earlier.
const PIECE_UPDATES_MAX: usize = 16;
const PIECE_BYTES: usize = 16 << 10;
/// A piece that took this many times as long as the median one was stopped by something else.
const DISTURBED: f64 = 8.0;
/// Bytes in front of each member that stand for the transaction log; its two halves alternate.
const LOG_BYTES: usize = 1 << 20;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Sizes of updates, at most half a member each.
    pub update_bytes: Vec<u64>,
    /// Numbers of replicas, 0 to 7 each. Without replicas only the ways to the master differ.
    pub replica_counts: Vec<usize>,
    /// Mechanisms; those that cannot run here are left out.
    pub mechanisms: Vec<Mechanism>,
    /// Size of a member, at least 4 MiB; should be far larger than the caches.
    pub member_bytes: u64,
    /// Runs of a mechanism whose median counts.
    pub rounds: usize,
    /// Length of a run, without the part before it that is not counted.
    pub run: Duration,
}

impl Default for Calibration {
    /// All mechanisms, 0 to 3 replicas of 1 GiB, 4 bytes to 64 KiB: about half a minute a domain.
    fn default() -> Calibration {
        Calibration {
            update_bytes: [4, 16, 64, 256, 1024, 4096, 16384, 65536].to_vec(),
            replica_counts: vec![0, 1, 2, 3],
            mechanisms: Mechanism::ALL.to_vec(),
            member_bytes: 1 << 30,
            rounds: 9,
            run: Duration::from_millis(1),
        }
    }
}

/// How far a calibration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Situations and sizes that were measured.
    pub done: usize,
    /// Situations and sizes in all.
    pub all: usize,
}

impl Profile {
    /// Measures the mechanisms in each domain; its members are made there and removed again.
    ///
    /// # Errors
    /// `Unsupported` if `calibration` cannot be carried out or the domains flush differently;
    /// `NoSpace` and the like if the members cannot be made: free space, or make them smaller.
    pub fn calibrate(
        domains: &[Domain],
        calibration: &Calibration,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Profile> {
        let Some(first) = domains.first() else {
            return Err(refused("no domain is given", "give at least one"));
        };
        let flush = first.flush_flavour();
        if domains.iter().any(|domain| domain.flush_flavour() != flush) {
            return Err(refused("the domains flush differently", "calibrate each by itself"));
        }
        calibration.check()?;
        let situations = calibration.replica_counts.len() * Pattern::ALL.len() * 2;
        let all = domains.len() * situations * calibration.update_bytes.len();
        let mut measurements = Vec::new();
        let mut done = 0;
        for domain in domains {
            let mut site = Site::create(domain, calibration)?;
            site.settle()?;
            for &replica_count in &calibration.replica_counts {
                let targets = site.targets(replica_count)?;
                for (pattern, is_transactional) in [
                    (Pattern::Uniform, false),
                    (Pattern::Uniform, true),
                    (Pattern::Sequential, false),
                    (Pattern::Sequential, true),
                ] {
                    let kind = domain.kind();
                    let situation = Situation { kind, pattern, is_transactional, replica_count };
                    for &update_bytes in &calibration.update_bytes {
                        let times = site.measure(&targets, situation, update_bytes as usize)?;
                        measurements.extend(times.into_iter().map(|(mechanism, ns)| Measurement {
                            situation,
                            update_bytes,
                            mechanism,
                            ns,
                        }));
                        done += 1;
                        progress(Progress { done, all });
                    }
                }
            }
        }
        Ok(Profile { machine: Machine::this(flush), measurements })
    }
}

impl Calibration {
    fn check(&self) -> Result<()> {
        let data_bytes = self.member_bytes.saturating_sub(LOG_BYTES as u64);
        if self.member_bytes < 4 << 20 {
            return Err(refused("members of less than 4 MiB fit the caches", "make them larger"));
        }
        if self.update_bytes.iter().any(|&bytes| bytes == 0 || bytes > data_bytes / 2) {
            return Err(refused("an update is empty or larger than half a member", "change it"));
        }
        if self.replica_counts.iter().any(|&count| count > REPLICA_COUNT_MAX) {
            return Err(refused("a number of replicas is not from 0 to 7", "change it"));
        }
        if self.rounds == 0 || self.run.is_zero() {
            return Err(refused("no run is asked for", "ask for at least one round"));
        }
        Ok(())
    }
}

fn refused(problem: &str, remedy: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, "calibration", problem, remedy)
}

/// A domain with members to measure in.
struct Site<'a> {
    domain: &'a Domain,
    calibration: &'a Calibration,
    names: Vec<String>,
    members: Vec<Pool>,
    places: Places,
}

/// Where the next update goes.
#[derive(Clone, Copy, Debug)]
struct Places {
    random: u64,
    position: usize,
}

/// What a run does.
#[derive(Clone, Copy)]
struct Task<'a> {
    targets: &'a Targets,
    code: Routines,
    /// Whether a transaction log is written.
    needs_log: bool,
    pattern: Pattern,
    update_bytes: usize,
}

impl<'a> Site<'a> {
    fn create(domain: &'a Domain, calibration: &'a Calibration) -> Result<Site<'a>> {
        let places = Places { random: 0x9E37_79B9_7F4A_7C15, position: 0 };
        let (names, members) = (Vec::new(), Vec::new());
        let mut site = Site { domain, calibration, names, members, places };
        let replica_count = calibration.replica_counts.iter().copied().max().unwrap_or(0);
        for index in 0..=replica_count {
            let name = format!("calibration-{}.{index}", std::process::id());
            let mut member = domain.create_pool(&name, calibration.member_bytes)?;
            site.names.push(name);
            // Every page is there before the first measurement.
            for offset in (0..calibration.member_bytes).step_by(4096) {
                member.write(offset, &[1])?;
            }
            site.members.push(member);
        }
        Ok(site)
    }

    fn targets(&self, replica_count: usize) -> Result<Targets> {
        let bases: Vec<_> = self.members[..=replica_count].iter().map(Pool::base).collect();
        let mut targets = Targets::new(bases[0], &bases[1..], self.domain.stream_flavour());
        if self.calibration.mechanisms.iter().any(|mechanism| mechanism.needs_workers()) {
            targets.start_workers()?;
        }
        Ok(targets)
    }

    /// Measures something that is not counted: after gigabytes of new memory the machine is busy
    /// for some milliseconds, in which an update took a hundred times as long as it does.
    fn settle(&mut self) -> Result<()> {
        let (kind, pattern) = (self.domain.kind(), Pattern::Uniform);
        let situation = Situation { kind, pattern, is_transactional: false, replica_count: 0 };
        let targets = self.targets(0)?;
        for &update_bytes in &self.calibration.update_bytes {
            self.measure(&targets, situation, update_bytes as usize)?;
        }
        Ok(())
    }

    /// Returns the time of an update by each mechanism that is worth it.
    fn measure(
        &mut self,
        targets: &Targets,
        situation: Situation,
        update_bytes: usize,
    ) -> Result<Vec<(Mechanism, f64)>> {
        let mut runs = Vec::new();
        let flush = self.domain.flush_flavour();
        let needs_log = situation.is_transactional && !WORD_BYTES.contains(&update_bytes);
        let all = &self.calibration.mechanisms[..];
        // Without replicas the others are the same as these.
        let masters = [Mechanism::SF_PF, Mechanism::MOVNT_SF_SM];
        let mechanisms = if situation.replica_count == 0 { &masters } else { all };
        for &mechanism in mechanisms.iter().filter(|one| one.is_available()) {
            let code = routines(mechanism, flush, situation.replica_count)?;
            runs.push((mechanism, code, Vec::new()));
        }
        for round in 0..self.calibration.rounds {
            for index in order(runs.len(), round) {
                let (_, code, times) = &mut runs[index];
                let (code, pattern) = (*code, situation.pattern);
                let task = Task { targets, code, needs_log, pattern, update_bytes };
                times.push(self.run(&task));
            }
            if round == 1 {
                let fastest = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
                let best =
                    runs.iter().map(|(_, _, times)| fastest(times)).fold(f64::INFINITY, f64::min);
                runs.retain(|(_, _, times)| fastest(times) <= best * HOPELESS);
            }
        }
        Ok(runs.into_iter().map(|(mechanism, _, times)| (mechanism, median(times))).collect())
    }

    /// Updates for the length of a run and returns the mean time of an update.
    fn run(&mut self, task: &Task<'_>) -> f64 {
        let bytes = task.update_bytes;
        let mut source = vec![0x5A; bytes];
        let mut record = vec![0x5A; (bytes + RECORD_BYTES).next_multiple_of(64)];
        self.update_for(task, self.calibration.run / WARM_UP_SHARE, &mut source, &mut record);
        self.update_for(task, self.calibration.run, &mut source, &mut record)
    }

    /// Updates for as long as `time` and returns the time of an update in nanoseconds; `source` and
    /// `record` are room for the bytes of an update and of a record of the log.
    fn update_for(
        &mut self,
        task: &Task<'_>,
        time: Duration,
        source: &mut [u8],
        record: &mut [u8],
    ) -> f64 {
        let Task { targets, code, needs_log, pattern, update_bytes: bytes } = *task;
        let slots = (self.calibration.member_bytes as usize - LOG_BYTES) / bytes;
        let mut count = 0usize;
        let piece_updates = (PIECE_BYTES / bytes).clamp(1, PIECE_UPDATES_MAX);
        let mut pieces = Vec::new();
        let start = Instant::now();
        let mut before = Duration::ZERO;
        while before < time {
            for _ in 0..piece_updates {
                source[0] = count as u8;
                let offset = LOG_BYTES + self.places.next(pattern, slots) * bytes;
                if needs_log {
                    targets.prefetch(offset, bytes, code.cached);
                    record[RECORD_BYTES..RECORD_BYTES + bytes].copy_from_slice(source);
                    let slot_bytes = LOG_BYTES / 2;
                    let length = record.len().min(slot_bytes);
                    // SAFETY: as below; the record lies in front of the data: the second slot ends
                    // at `LOG_BYTES`.
                    unsafe {
                        (code.write)(targets, count % 2 * slot_bytes, record.as_ptr(), length)
                    };
                    (code.drain)();
                }
                // SAFETY: the members of `targets` are mapped writable while `self` is borrowed,
                // `offset + bytes` is at most their size, and nobody else has them; the code is for
                // this flush flavour and number of replicas; `source` is long enough and apart.
                unsafe { (code.write)(targets, offset, source.as_ptr(), bytes) };
                if !needs_log {
                    (code.drain)();
                }
                count += 1;
            }
            let after = start.elapsed();
            pieces.push((after - before).as_nanos() as f64 / piece_updates as f64);
            before = after;
        }
        undisturbed_mean(pieces)
    }
}

impl Places {
    /// Returns the next slot, below `slots`. All of a member is used: with half of it the lines
    /// would be in a large cache more often than they are for whoever updates.
    #[inline(always)]
    fn next(&mut self, pattern: Pattern, slots: usize) -> usize {
        match pattern {
            Pattern::Uniform => {
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                ((u128::from(self.random) * slots as u128) >> 64) as usize
            }
            Pattern::Sequential => {
                self.position += 1;
                if self.position >= slots {
                    self.position = 0;
                }
                self.position
            }
        }
    }
}

/// Returns `0..count` in the order of a round: every other one backwards, each from elsewhere.
fn order(count: usize, round: usize) -> impl Iterator<Item = usize> {
    let start = round * (count / 3 + 1);
    (0..count).map(move |position| {
        let position = if round.is_multiple_of(2) { position } else { count - 1 - position };
        (start + position) % count
    })
}

/// Returns the mean of the times that are not far above the median.
fn undisturbed_mean(mut times: Vec<f64>) -> f64 {
    let limit = median(times.clone()) * DISTURBED;
    times.retain(|time| *time <= limit);
    times.iter().sum::<f64>() / times.len().max(1) as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let at = |index: usize| times.get(index).copied().unwrap_or_default();
    (at(times.len().saturating_sub(1) / 2) + at(times.len() / 2)) / 2.0
}

impl Drop for Site<'_> {
    fn drop(&mut self) {
        self.members.clear();
        for name in &self.names {
            // A member that cannot be removed stays behind under a name that tells what it is.
            let _ = self.domain.remove_pool(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switch::DecisionTree;

    fn small() -> Calibration {
        Calibration {
            update_bytes: vec![4, 4096],
            replica_counts: vec![1, 2],
            mechanisms: ["PMDK", "SF+PF", "MOVNT+SF", "Threads", "SF+SCA+PF"]
                .map(|name| name.parse().unwrap())
                .to_vec(),
            member_bytes: 4 << 20,
            rounds: 1,
            run: Duration::from_micros(50),
        }
    }

    #[test]
    fn calibration_measures_everything_and_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let domain = Domain::create("d", directory.path()).unwrap();
        let mut seen = Vec::new();
        let profile =
            Profile::calibrate(std::slice::from_ref(&domain), &small(), &mut |progress| {
                seen.push(progress.done);
                assert_eq!(progress.all, 2 * 2 * 4);
            })
            .unwrap();
        assert_eq!(seen, (1..=16).collect::<Vec<_>>());
        assert!(domain.list_pools().unwrap().is_empty());
        assert!(profile.measurements.len() >= 16);
        let tree = DecisionTree::derive(&profile).unwrap();
        assert!(tree.to_string().contains("any size"));
    }

    #[test]
    fn pieces_that_were_stopped_do_not_count() {
        assert_eq!(undisturbed_mean(vec![1.0, 1.0, 4.0, 900.0]), 2.0);
        assert_eq!(undisturbed_mean(vec![7.0]), 7.0);
        assert_eq!(undisturbed_mean(Vec::new()), 0.0);
    }

    #[test]
    fn what_cannot_be_measured_is_an_error() {
        let domains = [Domain::dram("d")];
        for wrong in [
            Calibration { member_bytes: 1, ..small() },
            Calibration { update_bytes: vec![0], ..small() },
            Calibration { replica_counts: vec![8], ..small() },
            Calibration { rounds: 0, ..small() },
        ] {
            let error = Profile::calibrate(&domains, &wrong, &mut |_| {}).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
        }
        assert!(Profile::calibrate(&[], &small(), &mut |_| {}).is_err());
    }
}
