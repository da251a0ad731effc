//! The tree flattened for one pool set: a decision is a shift, an addition and a load.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::flush::FlushFlavour;
use crate::granularity::DomainKind;
use crate::replicate::{Mechanism, Routines, routines};

use super::profile::{Machine, Pattern, Profile, Situation};
use super::tree::DecisionTree;

/// Classes of sizes: 0 or 1 byte, then up to each power of two; the last has all the rest.
const CLASS_COUNT: usize = 32;
/// Access pattern x transaction or not x class of sizes.
const ENTRY_COUNT: usize = 2 * 2 * CLASS_COUNT;

/// The mechanisms of one pool set, by what an update is.
#[derive(Clone, Debug)]
pub struct Switch {
    code: Box<[Routines; ENTRY_COUNT]>,
    names: Box<[Mechanism; ENTRY_COUNT]>,
}

impl Switch {
    /// Resolves a tree for a pool set of `replica_count` replicas in memory of `kind`.
    ///
    /// # Errors
    /// As for [`routines`].
    pub fn resolve(
        tree: &DecisionTree,
        kind: DomainKind,
        flush: FlushFlavour,
        replica_count: usize,
    ) -> Result<Switch> {
        Switch::build(flush, replica_count, |pattern, is_transactional, bytes_max| {
            let situation = Situation { kind, pattern, is_transactional, replica_count };
            tree.choose(&situation, bytes_max)
        })
    }

    /// Takes one mechanism for everything.
    ///
    /// # Errors
    /// As for [`routines`].
    pub fn fixed(
        mechanism: Mechanism,
        flush: FlushFlavour,
        replica_count: usize,
    ) -> Result<Switch> {
        Switch::build(flush, replica_count, |_, _, _| mechanism)
    }

    fn build(
        flush: FlushFlavour,
        replica_count: usize,
        choose: impl Fn(Pattern, bool, u64) -> Mechanism,
    ) -> Result<Switch> {
        let first = routines(Mechanism::PMDK, flush, replica_count)?;
        let mut code = Box::new([first; ENTRY_COUNT]);
        let mut names = Box::new([Mechanism::PMDK; ENTRY_COUNT]);
        for pattern in Pattern::ALL {
            for is_transactional in [false, true] {
                for class in 0..CLASS_COUNT {
                    let bytes_max = if class + 1 < CLASS_COUNT { 1 << class } else { u64::MAX };
                    let mechanism = choose(pattern, is_transactional, bytes_max);
                    let start = start_of(pattern == Pattern::Sequential, is_transactional);
                    code[start + class] = routines(mechanism, flush, replica_count)?;
                    names[start + class] = mechanism;
                }
            }
        }
        Ok(Switch { code, names })
    }

    /// Returns the code for an update of `bytes` bytes.
    #[inline]
    pub fn choose(&self, is_sequential: bool, is_transactional: bool, bytes: usize) -> Routines {
        self.code[entry(is_sequential, is_transactional, bytes)]
    }

    /// Returns the mechanism whose code [`Switch::choose`] returns.
    pub fn mechanism(
        &self,
        is_sequential: bool,
        is_transactional: bool,
        bytes: usize,
    ) -> Mechanism {
        self.names[entry(is_sequential, is_transactional, bytes)]
    }

    /// Whether an update may take a mechanism that needs workers.
    pub fn needs_workers(&self) -> bool {
        self.names.iter().any(|mechanism| mechanism.needs_workers())
    }
}

#[inline(always)]
fn start_of(is_sequential: bool, is_transactional: bool) -> usize {
    (usize::from(is_sequential) * 2 + usize::from(is_transactional)) * CLASS_COUNT
}

/// Always below `ENTRY_COUNT`, so that the compiler drops the test of the bound.
#[inline(always)]
fn entry(is_sequential: bool, is_transactional: bool, bytes: usize) -> usize {
    let class = (usize::BITS - bytes.saturating_sub(1).leading_zeros()) as usize;
    start_of(is_sequential, is_transactional) + class.min(CLASS_COUNT - 1)
}

/// Which tree is in use, and why.
#[derive(Clone, Debug)]
pub struct SwitchReport {
    /// The machine that the tree is for.
    pub machine: Machine,
    /// The profile that was looked for.
    pub path: Option<PathBuf>,
    /// Why the built-in tree is used; `None` if the profile is.
    pub reason: Option<String>,
    /// The tree.
    pub tree: DecisionTree,
}

impl SwitchReport {
    /// Reads the profile at `path` and derives its tree; takes the built-in tree if there is no
    /// such file, or if it is of another processor or flush flavour.
    ///
    /// # Errors
    /// As for [`Profile::read`], except `NotFound`.
    pub fn load(path: Option<&Path>, flush: FlushFlavour) -> Result<SwitchReport> {
        match SwitchReport::try_load(path, flush) {
            (report, None) => Ok(report),
            (_, Some(error)) => Err(error),
        }
    }

    /// As [`SwitchReport::load`], but whatever is wrong with the file becomes the reason why the
    /// built-in tree is used.
    pub fn load_or_built_in(path: Option<&Path>, flush: FlushFlavour) -> SwitchReport {
        SwitchReport::try_load(path, flush).0
    }

    /// Returns the report, and the error if the profile cannot be read.
    fn try_load(path: Option<&Path>, flush: FlushFlavour) -> (SwitchReport, Option<Error>) {
        let machine = Machine::this(flush);
        let path = path.map(Path::to_path_buf);
        let mut broken = None;
        let found = match path.as_deref().map(Profile::read) {
            None => Err("no profile is configured".to_string()),
            Some(Err(error)) if error.kind() == ErrorKind::NotFound => {
                Err("there is no such file; `nacre calibrate` makes it".to_string())
            }
            Some(Err(error)) => {
                let reason = error.to_string();
                broken = Some(error);
                Err(reason)
            }
            Some(Ok(profile)) => match profile.mismatch(&machine) {
                Some(mismatch) => Err(format!("{mismatch}; `nacre calibrate` measures again")),
                None => DecisionTree::derive(&profile)
                    .ok_or_else(|| "it has no measurement".to_string()),
            },
        };
        let (tree, reason) = match found {
            Ok(tree) => (tree, None),
            Err(reason) => (DecisionTree::built_in(&machine), Some(reason)),
        };
        (SwitchReport { machine, path, reason, tree }, broken)
    }
}

impl fmt::Display for SwitchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { cpu, flush } = &self.machine;
        writeln!(f, "replication on {cpu}, {flush}")?;
        let path = self.path.as_ref().map_or("none".to_string(), |path| path.display().to_string());
        match &self.reason {
            None => writeln!(f, "profile {path}")?,
            Some(reason) => writeln!(f, "profile {path} not used: {reason}; built-in choice")?,
        }
        write!(f, "{}", self.tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_table_agrees_with_the_tree_at_every_class() {
        let machine = Machine { cpu: "Intel".into(), flush: FlushFlavour::best() };
        let tree = DecisionTree::built_in(&machine);
        let switch = Switch::resolve(&tree, DomainKind::Shm, machine.flush, 2).unwrap();
        for bytes in [0, 1, 2, 63, 64, 65, 255, 256, 4096, 1 << 40] {
            for (is_sequential, is_transactional) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                let pattern = Pattern::ALL[usize::from(is_sequential)];
                let situation = Situation {
                    kind: DomainKind::Shm,
                    pattern,
                    is_transactional,
                    replica_count: 2,
                };
                assert_eq!(
                    switch.mechanism(is_sequential, is_transactional, bytes),
                    tree.choose(&situation, bytes as u64),
                    "{bytes} bytes"
                );
            }
        }
        assert!(!switch.needs_workers());
    }

    #[test]
    fn fixed_switch_takes_one_mechanism() {
        let mechanism: Mechanism = "Threads".parse().unwrap();
        let switch = Switch::fixed(mechanism, FlushFlavour::best(), 1).unwrap();
        assert!(switch.needs_workers());
        assert_eq!(switch.mechanism(true, true, 77), mechanism);
        assert!(Switch::fixed(mechanism, FlushFlavour::best(), 9).is_err());
    }

    #[test]
    fn profile_that_does_not_fit_is_ignored_with_its_reason() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("profile");
        let flush = FlushFlavour::best();
        let reason = |path: Option<&Path>| SwitchReport::load(path, flush).unwrap().reason;
        assert!(reason(None).unwrap().contains("no profile"));
        assert!(reason(Some(&path)).unwrap().contains("no such file"));
        let row = "shm uniform plain 1 4 PMDK 1\n";
        let write = |cpu: &str| {
            let text = format!("nacre-profile 1\ncpu {cpu}\nflush {flush}\n{row}");
            std::fs::write(&path, text).unwrap();
        };
        write("other");
        assert!(reason(Some(&path)).unwrap().contains("`other`"));
        write(&Machine::this(flush).cpu);
        let report = SwitchReport::load(Some(&path), flush).unwrap();
        assert_eq!(report.reason, None);
        assert!(report.to_string().ends_with("any size: PMDK\n"), "{report}");
        std::fs::write(&path, "nonsense").unwrap();
        assert_eq!(SwitchReport::load(Some(&path), flush).unwrap_err().kind(), ErrorKind::Corrupt);
        let report = SwitchReport::load_or_built_in(Some(&path), flush);
        assert!(report.reason.unwrap().contains("profile"));
        assert_eq!(report.tree, DecisionTree::built_in(&report.machine));
    }
}
