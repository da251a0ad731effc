//! The names of all mechanisms, and the building blocks behind each.

use std::fmt;
use std::str::FromStr;

/// How replicas get their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copying {
    Cached,
    NonTemporal,
    Scatter,
}

/// The building blocks of a mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Steps {
    pub(super) copying: Copying,
    /// `SF`: no fence but the last.
    pub(super) is_async: bool,
    /// `SM`: the master is written past the cache too; only with `NonTemporal`, never with `POST`,
    /// since nothing of it is left to flush.
    pub(super) streams_master: bool,
    /// `POST`: the master is flushed after the replicas.
    pub(super) master_last: bool,
    /// `PF`.
    pub(super) prefetches: bool,
    /// `Threads`.
    pub(super) has_workers: bool,
    /// `Trs`.
    pub(super) has_threshold: bool,
}

/// The parts of a name, in canonical order.
const PARTS: [&str; 8] = ["MOVNT", "SF", "SCA", "Threads", "Trs", "PF", "POST", "SM"];
/// The name of the mechanism without any part: the basic algorithm.
const BASIC: &str = "PMDK";
/// Bytes of the longest name that parts can form, and a few more.
const NAME_BYTES_MAX: usize = 32;
/// Paths through the template without workers: 3 copies x fences x order x prefetch; with `SM`
/// fences x prefetch.
const PLAIN_COUNT: usize = 3 * 2 * 2 * 2;
const SINGLE_COUNT: usize = PLAIN_COUNT + 2 * 2;
/// With workers: 2 copies x order x prefetch x threshold; with `SM` prefetch x threshold.
const WORKER_COUNT: usize = 2 * 2 * 2 * 2;
pub(super) const COUNT: usize = SINGLE_COUNT + WORKER_COUNT + 2 * 2;

/// A replication mechanism, known by its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mechanism(u8);

impl Mechanism {
    /// Every legal composition of the template; first those without workers.
    pub const ALL: [Mechanism; COUNT] = {
        let mut all = [Mechanism(0); COUNT];
        let mut index = 0;
        while index < COUNT {
            all[index] = Mechanism(index as u8);
            index += 1;
        }
        all
    };

    /// The basic algorithm: every step is flushed and fenced.
    pub const PMDK: Mechanism = Mechanism::composed(Copying::Cached, false, false, false);
    /// One fence at the end, all members prefetched.
    pub const SF_PF: Mechanism = Mechanism::composed(Copying::Cached, true, false, true);
    /// One fence at the end, all members prefetched, replicas stored by scatter.
    pub const SF_SCA_PF: Mechanism = Mechanism::composed(Copying::Scatter, true, false, true);
    /// One fence at the end, replicas stored past the cache.
    pub const MOVNT_SF: Mechanism = Mechanism::composed(Copying::NonTemporal, true, false, false);

    /// As `MOVNT+SF`, the master flushed after the replicas.
    pub const MOVNT_SF_POST: Mechanism =
        Mechanism::composed(Copying::NonTemporal, true, true, false);
    /// As `MOVNT+SF`, the master stored past the cache too.
    pub const MOVNT_SF_SM: Mechanism = Mechanism(PLAIN_COUNT as u8 + 1);

    const fn composed(
        copying: Copying,
        is_async: bool,
        master_last: bool,
        prefetches: bool,
    ) -> Mechanism {
        let flags = is_async as u8 | (prefetches as u8) << 1 | (master_last as u8) << 2;
        Mechanism(copying as u8 * 8 + flags)
    }

    /// Returns the name: parts joined by `+`, in the order copy, flush, scatter, threads,
    /// threshold, prefetch, order, streamed master.
    pub fn name(self) -> &'static str {
        // `NAMES` holds whole ASCII strings, so there is always a text.
        std::str::from_utf8(NAMES[self.index()].bytes()).unwrap_or(BASIC)
    }

    /// Returns the mechanism without `SM`.
    pub fn with_cached_master(self) -> Mechanism {
        if !self.steps().streams_master {
            return self;
        }
        let wanted = Steps { streams_master: false, ..self.steps() };
        Mechanism::ALL.into_iter().find(|one| one.steps() == wanted).unwrap_or(self)
    }

    /// Whether this processor has the instructions of the mechanism.
    pub fn is_available(self) -> bool {
        self.steps().copying != Copying::Scatter || has_scatter()
    }

    /// Whether the mechanism hands replicas to workers, which
    /// [`Targets::start_workers`](super::Targets::start_workers) must have started.
    pub fn needs_workers(self) -> bool {
        self.steps().has_workers
    }

    /// Whether all members are stored past the cache.
    pub fn streams_master(self) -> bool {
        self.steps().streams_master
    }

    /// Returns how many parts the name has; the basic algorithm has none.
    pub fn part_count(self) -> usize {
        present(self.steps()).into_iter().filter(|&is_present| is_present).count()
    }

    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }

    pub(super) const fn steps(self) -> Steps {
        let index = self.index();
        let has_workers = index >= SINGLE_COUNT;
        let rest = if has_workers { index - SINGLE_COUNT } else { index };
        let unstreamed = if has_workers { WORKER_COUNT } else { PLAIN_COUNT };
        let streams_master = rest >= unstreamed;
        // The same flags as for `MOVNT`; `POST` does not occur.
        let rest = if streams_master { 8 + rest - unstreamed } else { rest };
        let copying = match rest / 8 {
            0 => Copying::Cached,
            1 => Copying::NonTemporal,
            _ => Copying::Scatter,
        };
        Steps {
            copying,
            streams_master,
            is_async: !has_workers && rest & 1 != 0,
            master_last: rest & 4 != 0,
            prefetches: rest & 2 != 0,
            has_workers,
            has_threshold: has_workers && rest & 1 != 0,
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no mechanism.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMechanism {
    text: String,
}

impl fmt::Display for UnknownMechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no replication mechanism; the mechanisms are ", self.text)?;
        for (index, mechanism) in Mechanism::ALL.into_iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{mechanism}")?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownMechanism {}

impl FromStr for Mechanism {
    type Err = UnknownMechanism;

    /// Accepts the parts in any order and any case.
    fn from_str(text: &str) -> Result<Mechanism, UnknownMechanism> {
        let unknown = || UnknownMechanism { text: text.to_string() };
        let mut asked = [false; PARTS.len()];
        if !text.eq_ignore_ascii_case(BASIC) {
            for part in text.split('+') {
                let index = PARTS.iter().position(|name| name.eq_ignore_ascii_case(part.trim()));
                let index = index.ok_or_else(unknown)?;
                if std::mem::replace(&mut asked[index], true) {
                    return Err(unknown());
                }
            }
        }
        let found =
            Mechanism::ALL.into_iter().find(|mechanism| present(mechanism.steps()) == asked);
        found.ok_or_else(unknown)
    }
}

/// Which parts the name of a composition has, in the order of `PARTS`.
const fn present(steps: Steps) -> [bool; PARTS.len()] {
    [
        matches!(steps.copying, Copying::NonTemporal),
        steps.is_async,
        matches!(steps.copying, Copying::Scatter),
        steps.has_workers,
        steps.has_threshold,
        steps.prefetches,
        steps.master_last,
        steps.streams_master,
    ]
}

struct Name {
    text: [u8; NAME_BYTES_MAX],
    length: usize,
}

impl Name {
    const fn of(steps: Steps) -> Name {
        let mut name = Name { text: [0; NAME_BYTES_MAX], length: 0 };
        let present = present(steps);
        let mut index = 0;
        while index < PARTS.len() {
            if present[index] {
                if name.length > 0 {
                    name = name.with(b"+");
                }
                name = name.with(PARTS[index].as_bytes());
            }
            index += 1;
        }
        if name.length == 0 { name.with(BASIC.as_bytes()) } else { name }
    }

    const fn with(mut self, text: &[u8]) -> Name {
        let mut index = 0;
        while index < text.len() {
            self.text[self.length] = text[index];
            self.length += 1;
            index += 1;
        }
        self
    }

    fn bytes(&self) -> &[u8] {
        &self.text[..self.length]
    }
}

static NAMES: [Name; COUNT] = {
    let mut names = [const { Name { text: [0; NAME_BYTES_MAX], length: 0 } }; COUNT];
    let mut index = 0;
    while index < COUNT {
        names[index] = Name::of(Mechanism::ALL[index].steps());
        index += 1;
    }
    names
};

#[cfg(target_arch = "x86_64")]
pub(super) fn has_scatter() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl")
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn has_scatter() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_path_through_the_template_has_its_own_name() {
        let names: HashSet<_> = Mechanism::ALL.iter().map(|mechanism| mechanism.name()).collect();
        assert_eq!(names.len(), COUNT);
        for mechanism in Mechanism::ALL {
            assert_eq!(mechanism.name().parse(), Ok(mechanism));
        }
    }

    #[test]
    fn names_of_the_papers_and_our_own_are_known() {
        for name in [
            "PMDK",
            "MOVNT",
            "SF",
            "PF",
            "POST",
            "SCA",
            "SF+PF",
            "SF+SCA+PF",
            "MOVNT+SF+POST",
            "MOVNT+SF+SM",
            "Threads",
            "Threads+PF",
            "Threads+Trs",
            "SF+PF+POST",
            "SF+SCA+PF+POST",
        ] {
            assert_eq!(name.parse::<Mechanism>().unwrap().name(), name);
        }
        assert_eq!(Mechanism::PMDK.name(), "PMDK");
        assert_eq!(Mechanism::SF_PF.name(), "SF+PF");
        assert_eq!(Mechanism::SF_SCA_PF.name(), "SF+SCA+PF");
        assert_eq!(Mechanism::MOVNT_SF.name(), "MOVNT+SF");
        assert_eq!(Mechanism::MOVNT_SF_POST.name(), "MOVNT+SF+POST");
        assert_eq!(Mechanism::MOVNT_SF_SM.name(), "MOVNT+SF+SM");
    }

    #[test]
    fn streamed_master_can_be_taken_back() {
        for mechanism in Mechanism::ALL {
            let name = mechanism.with_cached_master().name();
            assert_eq!(name, mechanism.name().trim_end_matches("+SM"));
        }
    }

    #[test]
    fn parts_come_in_any_order() {
        for text in ["SF+PF+SCA+POST", "post + sf + sca + pf"] {
            assert_eq!(text.parse::<Mechanism>().unwrap().name(), "SF+SCA+PF+POST");
        }
    }

    #[test]
    fn illegal_compositions_are_refused_with_the_list() {
        for text in [
            "",
            "SF+SF",
            "MOVNT+SCA",
            "SF+Threads",
            "Trs",
            "SCA+Threads",
            "XX",
            "PMDK+PF",
            "SF+SM",
            "SM",
            "MOVNT+SF+POST+SM",
        ] {
            let message = text.parse::<Mechanism>().unwrap_err().to_string();
            assert!(message.contains("PMDK, SF, PF, SF+PF"), "{message}");
            assert!(message.contains("Threads+Trs"), "{message}");
        }
    }
}
