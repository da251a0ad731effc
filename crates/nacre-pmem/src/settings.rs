//! Forced choices: every decision this crate makes for a domain can be fixed from outside.
//!
//! | variable | values | default |
//! |---|---|---|
//! | `NACRE_DOMAIN_KIND` | `pmem` `file` `shm` | what was probed |
//! | `NACRE_GRANULARITY` | `byte` `cache_line` `page` | what the kind needs |
//! | `NACRE_FLUSH` | `clflush` `clflushopt` `clwb` `msync` `none` | best instruction, or `msync` |
//! | `NACRE_STREAM` | `none` `sse2` `avx` `avx512` | widest register |
//! | `NACRE_LARGE_PAGES` | `auto` `off` | `auto`: 2 MiB pages for memory-backed pools |
//! | `NACRE_PROFILE` | a file, or empty for none | `nacre/profile` where the user's settings are |
//!
//! They apply to domains with a path, when these are opened. `Settings::default()` forces nothing
//! and knows no profile, so that who gives settings (tests, the simulator) does not depend on what
//! was once measured on the machine.
//!
//! # Invariants
//! 1. A forced choice never makes a domain claim more durability than was probed.
//! 2. What the machine cannot do is an error that names the variable, never a silent fallback.
//!    An available flush instruction is accepted for a page-granular domain but has no effect
//!    there, because one process may have domains of several kinds.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;

use crate::durability::{Durability, Plan};
use crate::error::{Error, ErrorKind, Result};
use crate::flush::FlushFlavour;
use crate::granularity::{DomainKind, Granularity};
use crate::large_page::LargePages;
use crate::probe::Probe;
use crate::stream::StreamFlavour;
use crate::switch::Profile;

/// Choices to force when a domain is opened; `None` leaves a choice to the probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Treat the directory as this kind: `File` always works, `Shm` emulates anywhere.
    pub kind: Option<DomainKind>,
    /// What must be flushed: coarser than needed always works, finer only on an emulated domain.
    pub granularity: Option<Granularity>,
    /// How to flush at cache-line granularity; `None` inside turns durability off, for measuring.
    pub flush: Option<FlushFlavour>,
    /// How appends are streamed into a mapping.
    pub stream: Option<StreamFlavour>,
    /// Whether memory-backed pools are mapped by large pages.
    pub large_pages: Option<LargePages>,
    /// Profile by which pool sets choose the mechanism of an update; without one the built-in
    /// choice.
    pub profile: Option<&'static Path>,
}

impl Settings {
    /// Reads the `NACRE_` variables of this process.
    ///
    /// # Errors
    /// `Unsupported` for a value that is no name of a choice.
    pub fn from_env() -> Result<Settings> {
        let settings = Settings::from_lookup(|name| std::env::var_os(name))?;
        Ok(Settings { profile: user_profile(), ..settings })
    }

    fn from_lookup(lookup: impl Fn(&str) -> Option<OsString>) -> Result<Settings> {
        Ok(Settings {
            kind: parse("NACRE_DOMAIN_KIND", &DomainKind::ALL, &lookup)?,
            granularity: parse("NACRE_GRANULARITY", &Granularity::ALL, &lookup)?,
            flush: parse("NACRE_FLUSH", &FlushFlavour::ALL, &lookup)?,
            stream: parse("NACRE_STREAM", &StreamFlavour::ALL, &lookup)?,
            large_pages: parse("NACRE_LARGE_PAGES", &LargePages::ALL, &lookup)?,
            profile: None,
        })
    }

    /// Joins what was probed with what is forced.
    pub(crate) fn resolve(&self, probe: &Probe) -> Result<Plan> {
        let kind = self.resolve_kind(probe)?;
        let granularity = self.resolve_granularity(kind, probe)?;
        let flush = self.resolve_flush(granularity)?;
        let syncs = self.flush != Some(FlushFlavour::None);
        Ok(Plan {
            kind,
            granularity,
            flush,
            stream: self.resolve_stream()?,
            syncs,
            large_pages: kind == DomainKind::Shm && self.large_pages != Some(LargePages::Off),
            durability: Durability {
                survives_process_crash: true,
                survives_power_cut: syncs && kind != DomainKind::Shm && !probe.is_memory_backed,
                emulated: kind == DomainKind::Shm || probe.is_memory_backed,
            },
        })
    }

    fn resolve_kind(&self, probe: &Probe) -> Result<DomainKind> {
        let found = probe.kind;
        match self.kind {
            None => Ok(found),
            Some(kind) if kind == found => Ok(kind),
            Some(kind @ (DomainKind::File | DomainKind::Shm)) => Ok(kind),
            Some(kind @ (DomainKind::Pmem | DomainKind::Dram)) => Err(unsupported(
                "NACRE_DOMAIN_KIND",
                kind,
                format!("the directory is on {} and was probed as {found}", probe.file_system),
                "use shm to emulate persistent memory, or unset it",
            )),
        }
    }

    fn resolve_granularity(&self, kind: DomainKind, probe: &Probe) -> Result<Granularity> {
        let needed = match kind {
            DomainKind::Pmem if probe.caches_are_persistent => Granularity::Byte,
            _ => Granularity::natural(kind),
        };
        match self.granularity {
            None => Ok(needed),
            Some(forced) if forced >= needed => Ok(forced),
            // Nothing durable is at stake, so the emulation may be of any hardware.
            Some(forced) if kind == DomainKind::Shm => Ok(forced),
            Some(forced) => Err(unsupported(
                "NACRE_GRANULARITY",
                forced,
                format!("a {kind} domain needs {needed}"),
                "use a coarser one, or unset it",
            )),
        }
    }

    fn resolve_flush(&self, granularity: Granularity) -> Result<FlushFlavour> {
        if let Some(forced) = self.flush
            && !forced.is_available()
        {
            return Err(unsupported(
                "NACRE_FLUSH",
                forced,
                format!("this processor has {}", join(&FlushFlavour::available())),
                "use one of those, or unset it",
            ));
        }
        Ok(match (granularity, self.flush) {
            (_, Some(FlushFlavour::None)) | (Granularity::Byte, _) => FlushFlavour::None,
            (Granularity::Page, _) => FlushFlavour::Msync,
            (Granularity::CacheLine, Some(forced)) => forced,
            (Granularity::CacheLine, None) => FlushFlavour::best(),
        })
    }

    fn resolve_stream(&self) -> Result<StreamFlavour> {
        match self.stream {
            None => Ok(StreamFlavour::best()),
            Some(forced) if forced.is_available() => Ok(forced),
            Some(forced) => Err(unsupported(
                "NACRE_STREAM",
                forced,
                format!("this processor has {}", join(&StreamFlavour::available())),
                "use one of those, or unset it",
            )),
        }
    }
}

/// Returns [`Profile::path`] as it was when it was first asked for.
fn user_profile() -> Option<&'static Path> {
    static PATH: OnceLock<Option<PathBuf>> = OnceLock::new();
    PATH.get_or_init(Profile::path).as_deref()
}

fn parse<T: FromStr + fmt::Display>(
    name: &'static str,
    all: &[T],
    lookup: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<T>> {
    let Some(value) = lookup(name) else {
        return Ok(None);
    };
    let value = value.to_string_lossy();
    if value.is_empty() {
        return Ok(None);
    }
    match value.parse() {
        Ok(choice) => Ok(Some(choice)),
        Err(_) => Err(unsupported(
            name,
            value,
            format!("the choices are {}", join(all)),
            "use one of those, or unset it",
        )),
    }
}

fn unsupported(
    name: &'static str,
    value: impl fmt::Display,
    reason: String,
    remedy: &'static str,
) -> Error {
    let problem = format!("cannot use `{value}`: {reason}");
    Error::new(ErrorKind::Unsupported, format_args!("setting {name}"), problem, remedy)
}

/// Writes a list with commas.
pub(crate) fn join<T: fmt::Display>(values: &[T]) -> String {
    values.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(kind: DomainKind) -> Probe {
        Probe {
            kind,
            file_system: "testfs".to_string(),
            is_memory_backed: kind == DomainKind::Shm,
            caches_are_persistent: false,
            device: None,
        }
    }

    fn forced(name: &'static str, value: &'static str) -> Result<Settings> {
        Settings::from_lookup(|asked| (asked == name).then(|| value.into()))
    }

    #[test]
    fn unset_and_empty_variables_force_nothing() {
        assert_eq!(Settings::from_lookup(|_| None).unwrap(), Settings::default());
        assert_eq!(Settings::from_lookup(|_| Some("".into())).unwrap(), Settings::default());
    }

    #[test]
    fn unknown_value_names_variable_value_and_choices() {
        let error = forced("NACRE_FLUSH", "wbinvd").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let text = error.to_string();
        for part in ["NACRE_FLUSH", "`wbinvd`", "clflush, clflushopt, clwb, msync, none"] {
            assert!(text.contains(part), "{text}");
        }
        for name in ["NACRE_DOMAIN_KIND", "NACRE_GRANULARITY", "NACRE_STREAM", "NACRE_LARGE_PAGES"]
        {
            assert!(forced(name, "other").unwrap_err().to_string().contains(name));
        }
    }

    #[test]
    fn pmem_cannot_be_claimed_for_a_file() {
        for value in ["pmem", "dram"] {
            let settings = forced("NACRE_DOMAIN_KIND", value).unwrap();
            let error = settings.resolve(&probe(DomainKind::File)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains("testfs"), "{error}");
        }
    }

    #[test]
    fn forced_kind_never_claims_more_durability_than_was_probed() {
        for found in [DomainKind::Pmem, DomainKind::File, DomainKind::Shm] {
            let honest = Settings::default().resolve(&probe(found)).unwrap().durability;
            for value in ["file", "shm"] {
                let settings = forced("NACRE_DOMAIN_KIND", value).unwrap();
                let plan = settings.resolve(&probe(found)).unwrap();
                assert!(plan.durability.survives_power_cut <= honest.survives_power_cut);
            }
        }
        let settings = forced("NACRE_DOMAIN_KIND", "file").unwrap();
        let plan = settings.resolve(&probe(DomainKind::Shm)).unwrap();
        assert!(plan.durability.emulated && !plan.durability.survives_power_cut);
    }

    #[test]
    fn finer_granularity_than_the_kind_needs_is_refused_unless_emulated() {
        let settings = forced("NACRE_GRANULARITY", "byte").unwrap();
        for kind in [DomainKind::File, DomainKind::Pmem] {
            let error = settings.resolve(&probe(kind)).unwrap_err();
            assert!(error.to_string().contains("NACRE_GRANULARITY"), "{error}");
        }
        assert!(settings.resolve(&probe(DomainKind::Shm)).is_ok());
        let settings = forced("NACRE_GRANULARITY", "page").unwrap();
        let plan = settings.resolve(&probe(DomainKind::Pmem)).unwrap();
        assert_eq!(plan.flush, FlushFlavour::Msync);
    }

    #[test]
    fn flush_forced_off_is_said_in_the_durability() {
        let settings = forced("NACRE_FLUSH", "none").unwrap();
        for kind in [DomainKind::File, DomainKind::Pmem, DomainKind::Shm] {
            let plan = settings.resolve(&probe(kind)).unwrap();
            assert!(!plan.durability.survives_power_cut && !plan.syncs);
            assert_eq!(plan.flush, FlushFlavour::None);
        }
    }

    #[test]
    fn persistent_caches_need_no_flush() {
        let mut probe = probe(DomainKind::Pmem);
        probe.caches_are_persistent = true;
        let plan = Settings::default().resolve(&probe).unwrap();
        assert_eq!((plan.granularity, plan.flush), (Granularity::Byte, FlushFlavour::None));
        assert!(plan.durability.survives_power_cut && plan.syncs);
    }

    #[test]
    fn instruction_that_the_processor_lacks_is_an_error() {
        let missing: Vec<_> =
            FlushFlavour::ALL.into_iter().filter(|flavour| !flavour.is_available()).collect();
        for flavour in missing {
            let settings = Settings { flush: Some(flavour), ..Settings::default() };
            let error = settings.resolve(&probe(DomainKind::File)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
        }
    }
}
