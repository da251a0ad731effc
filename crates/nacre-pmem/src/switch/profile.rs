//! What was measured on a machine: one text file, a line for each measurement.
//!
//! # Layout
//! ```text
//! nacre-profile 1
//! cpu AMD EPYC 9R14
//! flush clwb
//! # kind pattern transaction replicas bytes mechanism ns
//! shm uniform plain 1 4 SF+PF 187.2
//! ```
//! Blank lines and lines that begin with `#` mean nothing.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result};
use crate::flush::FlushFlavour;
use crate::granularity::DomainKind;
use crate::replicate::{Mechanism, REPLICA_COUNT_MAX};

const MAGIC: &str = "nacre-profile";
const VERSION: u32 = 1;
/// A profile of everything that can be measured has about 10,000 lines of 60 bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;
const REMEDY: &str = "correct the line, or calibrate again";

/// How the offsets of successive updates relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pattern {
    /// Anywhere.
    Uniform,
    /// Each behind the one before.
    Sequential,
}

impl Pattern {
    /// Both patterns.
    pub const ALL: [Pattern; 2] = [Pattern::Uniform, Pattern::Sequential];

    fn name(self) -> &'static str {
        match self {
            Pattern::Uniform => "uniform",
            Pattern::Sequential => "sequential",
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What decides which mechanism is best, but for the size of the update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Situation {
    /// Kind of memory of the members.
    pub kind: DomainKind,
    /// How the updates follow each other.
    pub pattern: Pattern,
    /// Whether the update belongs to a transaction.
    pub is_transactional: bool,
    /// Number of replicas, not counting the master.
    pub replica_count: usize,
}

/// One measured figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// Where it was measured.
    pub situation: Situation,
    /// Bytes of an update.
    pub update_bytes: u64,
    /// What was measured.
    pub mechanism: Mechanism,
    /// Time of an update: the median of some runs.
    pub ns: f64,
}

/// What a profile must have in common with the machine that uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The processor as it names itself.
    pub cpu: String,
    /// The flush flavour that was in use.
    pub flush: FlushFlavour,
}

impl Machine {
    /// Describes this machine when it flushes with `flush`.
    pub fn this(flush: FlushFlavour) -> Machine {
        Machine { cpu: cpu_name(), flush }
    }
}

/// Measurements of one machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Where they were made.
    pub machine: Machine,
    /// The figures, in no order.
    pub measurements: Vec<Measurement>,
}

impl Profile {
    /// Returns where the profile of this user lies: the file that `NACRE_PROFILE` names, none if
    /// that is empty; else `nacre/profile` in `$XDG_CONFIG_HOME`, else in `~/.config`.
    pub fn path() -> Option<PathBuf> {
        Profile::path_from(|name| std::env::var_os(name))
    }

    fn path_from(lookup: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        if let Some(path) = lookup("NACRE_PROFILE") {
            return (!path.is_empty()).then(|| PathBuf::from(path));
        }
        let absolute = |path: OsString| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
        let home = || Some(absolute(lookup("HOME")?)?.join(".config"));
        let directory = lookup("XDG_CONFIG_HOME").and_then(absolute).or_else(home)?;
        Some(directory.join("nacre").join("profile"))
    }

    /// Reads a profile.
    ///
    /// # Errors
    /// `NotFound`; `Corrupt` naming file, line and column: correct it or calibrate again; `TooNew`;
    /// what the system says.
    pub fn read(path: &Path) -> Result<Profile> {
        let object = format!("profile {}", path.display());
        let failed = |error| Error::os(&object, "cannot read", error);
        let bytes = fs::metadata(path).map_err(failed)?.len();
        if bytes > FILE_BYTES_MAX {
            let problem = format!("{bytes} bytes, a profile has at most {FILE_BYTES_MAX}");
            return Err(Error::new(ErrorKind::Corrupt, object, problem, "calibrate again"));
        }
        let content = fs::read(path).map_err(failed)?;
        Profile::parse(&object, &String::from_utf8_lossy(&content))
    }

    /// Writes the profile in place of the file, whole or not at all.
    ///
    /// # Errors
    /// What the system says; the earlier file stays.
    pub fn write(&self, path: &Path) -> Result<()> {
        let object = format!("profile {}", path.display());
        let mut name = path.as_os_str().to_os_string();
        name.push(format!(".{}.new", std::process::id()));
        let temporary = PathBuf::from(name);
        let stored = File::create(&temporary).and_then(|mut file| {
            file.write_all(self.to_string().as_bytes())?;
            file.sync_all()?;
            fs::rename(&temporary, path)
        });
        stored.map_err(|error| {
            let _ = fs::remove_file(&temporary);
            Error::os(object, "cannot write", error)
        })
    }

    /// Returns why the profile does not hold for `machine`, `None` if it does.
    pub fn mismatch(&self, machine: &Machine) -> Option<String> {
        let own = &self.machine;
        if own.cpu != machine.cpu {
            return Some(format!("it was measured on `{}`, this is `{}`", own.cpu, machine.cpu));
        }
        if own.flush != machine.flush {
            return Some(format!("it was measured with {}, this is {}", own.flush, machine.flush));
        }
        None
    }

    fn parse(object: &str, text: &str) -> Result<Profile> {
        let mut lines = text.lines().enumerate().map(|(index, line)| Line {
            object,
            number: index + 1,
            text: line,
        });
        let mut header = |word: &str| {
            let line = lines.next().unwrap_or(Line { object, number: 1, text: "" });
            line.header(word).map(|value| (line, value))
        };
        let (line, version) = header(MAGIC)?;
        let version: u32 = line.parse(MAGIC.len() + 1, version, "a version number")?;
        if version > VERSION {
            let problem = format!("version {version}, this software knows {VERSION}");
            let remedy = "calibrate again with this version, or use a newer one";
            return Err(Error::new(ErrorKind::TooNew, object, problem, remedy));
        }
        let cpu = header("cpu")?.1.to_string();
        let (line, flush) = header("flush")?;
        let flush = line.parse(6, flush, "a flush flavour")?;
        let measurements = lines
            .filter(|line| !line.text.trim().is_empty() && !line.text.starts_with('#'))
            .map(|line| line.measurement())
            .collect::<Result<_>>()?;
        Ok(Profile { machine: Machine { cpu, flush }, measurements })
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{MAGIC} {VERSION}")?;
        writeln!(f, "cpu {}", self.machine.cpu)?;
        writeln!(f, "flush {}", self.machine.flush)?;
        writeln!(f, "# kind pattern transaction replicas bytes mechanism ns")?;
        for measurement in &self.measurements {
            let Situation { kind, pattern, is_transactional, replica_count } =
                measurement.situation;
            let transaction = transaction_name(is_transactional);
            writeln!(
                f,
                "{kind} {pattern} {transaction} {replica_count} {} {} {:.1}",
                measurement.update_bytes, measurement.mechanism, measurement.ns
            )?;
        }
        Ok(())
    }
}

pub(super) fn transaction_name(is_transactional: bool) -> &'static str {
    if is_transactional { "transaction" } else { "plain" }
}

/// A line of the file, for errors that say where.
#[derive(Clone, Copy)]
struct Line<'a> {
    object: &'a str,
    number: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn error(&self, column: usize, problem: impl fmt::Display) -> Error {
        let problem = format!("line {}, column {}: {problem}", self.number, column + 1);
        Error::new(ErrorKind::Corrupt, self.object, problem, REMEDY)
    }

    fn header(&self, word: &str) -> Result<&'a str> {
        let rest = self.text.strip_prefix(word).and_then(|rest| rest.strip_prefix(' '));
        rest.map(str::trim).ok_or_else(|| self.error(0, format_args!("`{word} ...` is missing")))
    }

    fn parse<T: FromStr>(&self, column: usize, text: &str, what: &str) -> Result<T> {
        text.parse().map_err(|_| self.error(column, format_args!("`{text}` is not {what}")))
    }

    fn measurement(&self) -> Result<Measurement> {
        let mut words = self
            .text
            .split_whitespace()
            .map(|word| (word.as_ptr() as usize - self.text.as_ptr() as usize, word));
        let mut next = |what: &str| {
            let missing = || self.error(self.text.len(), format_args!("{what} is missing"));
            words.next().ok_or_else(missing)
        };
        let (column, word) = next("the memory kind")?;
        let kind = self.parse(column, word, "a memory kind (dram, pmem, file, shm)")?;
        let (column, word) = next("the access pattern")?;
        let pattern = Pattern::ALL.into_iter().find(|pattern| pattern.name() == word);
        let pattern = pattern.ok_or_else(|| {
            self.error(column, format_args!("`{word}` is not `uniform` or `sequential`"))
        })?;
        let (column, word) = next("`plain` or `transaction`")?;
        let is_transactional =
            [false, true].into_iter().find(|&is| transaction_name(is) == word).ok_or_else(
                || self.error(column, format_args!("`{word}` is not `plain` or `transaction`")),
            )?;
        let (column, word) = next("the number of replicas")?;
        let replica_count = self.parse(column, word, "a number of replicas")?;
        if replica_count > REPLICA_COUNT_MAX {
            let problem = format_args!("{replica_count} replicas, 0 to {REPLICA_COUNT_MAX} exist");
            return Err(self.error(column, problem));
        }
        let (column, word) = next("the size of the update")?;
        let update_bytes = self.parse(column, word, "a number of bytes")?;
        let (column, word) = next("the mechanism")?;
        let mechanism = word.parse().map_err(|error| self.error(column, error))?;
        let (column, word) = next("the time")?;
        let ns: f64 = self.parse(column, word, "a time in nanoseconds")?;
        if !(ns.is_finite() && ns > 0.0) {
            return Err(self.error(column, format_args!("`{word}` is not a time")));
        }
        if let Some((column, word)) = words.next() {
            return Err(self.error(column, format_args!("`{word}` is one word too many")));
        }
        let situation = Situation { kind, pattern, is_transactional, replica_count };
        Ok(Measurement { situation, update_bytes, mechanism, ns })
    }
}

/// Returns the processor's own name for itself.
#[cfg(target_arch = "x86_64")]
fn cpu_name() -> String {
    use std::arch::x86_64::__cpuid;
    const FIRST: u32 = 0x8000_0002;
    if __cpuid(0x8000_0000).eax < FIRST + 2 {
        return "unnamed".to_string();
    }
    let mut name = Vec::with_capacity(48);
    for leaf in FIRST..FIRST + 3 {
        let part = __cpuid(leaf);
        for register in [part.eax, part.ebx, part.ecx, part.edx] {
            name.extend_from_slice(&register.to_le_bytes());
        }
    }
    let text = String::from_utf8_lossy(&name);
    text.trim_matches(['\0', ' ']).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(not(target_arch = "x86_64"))]
fn cpu_name() -> String {
    std::env::consts::ARCH.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "nacre-profile 1\ncpu A B\nflush clwb\n# text\n\n\
        shm uniform plain 1 4 SF+PF 187.2\npmem sequential transaction 3 64 MOVNT+SF 9\n";

    fn refused(text: &str) -> Error {
        Profile::parse("profile /p", text).unwrap_err()
    }

    #[test]
    fn text_round_trips() {
        let profile = Profile::parse("profile /p", GOOD).unwrap();
        assert_eq!(profile.machine, Machine { cpu: "A B".into(), flush: FlushFlavour::Clwb });
        assert_eq!(profile.measurements.len(), 2);
        assert_eq!(profile.measurements[1].mechanism, Mechanism::MOVNT_SF);
        assert_eq!(Profile::parse("again", &profile.to_string()).unwrap(), profile);
    }

    #[test]
    fn profile_lies_where_the_environment_says() {
        let path = |variables: &[(&str, &str)]| {
            Profile::path_from(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let home = ("HOME", "/home/u");
        assert_eq!(path(&[home]), Some(PathBuf::from("/home/u/.config/nacre/profile")));
        assert_eq!(path(&[home, ("XDG_CONFIG_HOME", "/x")]), Some("/x/nacre/profile".into()));
        assert_eq!(path(&[home, ("NACRE_PROFILE", "p")]), Some("p".into()));
        assert_eq!(path(&[home, ("NACRE_PROFILE", "")]), None);
        assert_eq!(path(&[]), None);
    }

    #[test]
    fn file_is_replaced_whole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("profile");
        let profile = Profile::parse("profile /p", GOOD).unwrap();
        for _ in 0..2 {
            profile.write(&path).unwrap();
            assert_eq!(Profile::read(&path).unwrap(), profile);
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert_eq!(
            Profile::read(&directory.path().join("none")).unwrap_err().kind(),
            ErrorKind::NotFound
        );
    }

    #[test]
    fn errors_name_line_and_column() {
        for (from, to, place) in [
            ("nacre-profile", "profile", "line 1, column 1"),
            ("profile 1", "profile x", "line 1, column 15"),
            ("cpu", "core", "line 2, column 1"),
            ("clwb", "wbinvd", "line 3, column 7"),
            ("shm", "disk", "line 6, column 1"),
            ("uniform", "zipf", "line 6, column 5"),
            ("plain", "plane", "line 6, column 13"),
            ("plain 1", "plain 8", "line 6, column 19"),
            ("1 4", "1 four", "line 6, column 21"),
            ("SF+PF", "XX", "line 6, column 23"),
            ("187.2", "-1", "line 6, column 29"),
            ("187.2", "NaN", "line 6, column 29"),
            ("187.2", "1 2", "line 6, column 31"),
            (" 187.2", "", "line 6, column 28"),
        ] {
            let error = refused(&GOOD.replacen(from, to, 1));
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{to}");
            let text = error.to_string();
            assert!(text.contains("/p") && text.contains(place), "{to}: {text}");
        }
        assert_eq!(refused("").kind(), ErrorKind::Corrupt);
        assert_eq!(refused(&GOOD.replace("profile 1", "profile 2")).kind(), ErrorKind::TooNew);
    }

    #[test]
    fn profile_of_another_machine_says_what_differs() {
        let profile = Profile::parse("profile /p", GOOD).unwrap();
        assert_eq!(profile.mismatch(&profile.machine), None);
        let other = Machine { cpu: "C".into(), ..profile.machine.clone() };
        assert!(profile.mismatch(&other).unwrap().contains("`A B`, this is `C`"));
        let other = Machine { flush: FlushFlavour::Clflush, ..profile.machine.clone() };
        assert!(profile.mismatch(&other).unwrap().contains("clwb, this is clflush"));
        assert!(!Machine::this(FlushFlavour::best()).cpu.is_empty());
    }
}
