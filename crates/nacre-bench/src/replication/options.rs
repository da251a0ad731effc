//! What is measured: the arguments, their names, and what stands for an argument that is not given.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use nacre_pmem::replicate::Mechanism;

use crate::error::{Error, Result};

/// Most replicas that are measured.
pub(super) const REPLICAS_MAX: usize = 3;

/// Largest update.
pub(super) const UPDATE_BYTES_MAX: usize = 64 << 10;

/// Sizes that are measured unless said otherwise: those of the papers' figures.
const UPDATE_BYTES: [usize; 6] = [4, 16, 64, 256, 4 << 10, UPDATE_BYTES_MAX];

/// Smallest pool that is worth measuring.
pub(super) const POOL_BYTES_MIN: u64 = 16 << 20;

/// Keys of the key-value store, if they fit.
const KEYS: u64 = 500_000;
const KEYS_QUICK: u64 = 20_000;

/// What is updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Workload {
    /// Column store: an array of 4-byte integers, updated in place.
    Cs,
    /// The same, each update a transaction.
    CsTx,
    /// Key-value store: a hybrid tree with 8-byte keys.
    Kv,
}

/// Which place is updated next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessPattern {
    /// Any, with equal probability.
    Uniform,
    /// The one behind the last one.
    Sequential,
}

/// The pages that the pools are mapped with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PageSize {
    /// 2 MiB.
    Large,
    /// 4 KiB.
    Small,
}

/// Arguments of the benchmark; what is empty or `None` is chosen by us.
#[derive(Clone, Debug, Default)]
pub struct ReplicationArgs {
    /// What is updated.
    pub workloads: Vec<Workload>,
    /// Names of mechanisms, or `switched`.
    pub mechanisms: Vec<String>,
    /// The mechanism of the runs without replicas; `None` is the switch. `SF` stores through the
    /// cache at every size, as the papers' baseline does.
    pub baseline: Option<String>,
    /// Numbers of replicas; runs without replicas are always there, as the baseline.
    pub replicas: Vec<usize>,
    /// Sizes of an update.
    pub update_bytes: Vec<usize>,
    /// Access patterns.
    pub accesses: Vec<AccessPattern>,
    /// Page sizes.
    pub pages: Vec<PageSize>,
    /// Bytes of each pool; 1 GiB, quick 64 MiB.
    pub pool_bytes: Option<u64>,
    /// Rounds, of which medians are taken; 5, quick 3.
    pub rounds: Option<usize>,
    /// Where to make the fresh directory for pools; `None` is `/dev/shm`.
    pub directory: Option<PathBuf>,
    /// A file for JSON lines.
    pub json: Option<PathBuf>,
    /// A file for a table of comma-separated values.
    pub csv: Option<PathBuf>,
    /// A subset with small pools that ends within 30 s.
    pub is_quick: bool,
}

/// One contestant of a cell beside the baselines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    /// The online switch chooses for each update.
    Switched,
    /// One mechanism for all updates.
    Static(Mechanism),
}

/// The arguments with every choice made.
#[derive(Clone, Debug)]
pub(super) struct Choices {
    pub(super) workloads: Vec<Workload>,
    pub(super) variants: Vec<Variant>,
    pub(super) baseline: Variant,
    pub(super) replicas: Vec<usize>,
    pub(super) update_bytes: Vec<usize>,
    pub(super) accesses: Vec<AccessPattern>,
    pub(super) pages: Vec<PageSize>,
    pub(super) pool_bytes: u64,
    pub(super) rounds: usize,
    /// Most keys of the key-value store.
    pub(super) keys: u64,
    pub(super) is_quick: bool,
}

impl Workload {
    /// All workloads.
    pub const ALL: [Workload; 3] = [Workload::Cs, Workload::CsTx, Workload::Kv];

    /// Returns the name in arguments and ids.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Cs => "cs",
            Workload::CsTx => "cs-tx",
            Workload::Kv => "kv",
        }
    }
}

impl AccessPattern {
    /// All access patterns.
    pub const ALL: [AccessPattern; 2] = [AccessPattern::Uniform, AccessPattern::Sequential];

    /// Returns the name in arguments and ids.
    pub fn name(self) -> &'static str {
        match self {
            AccessPattern::Uniform => "uniform",
            AccessPattern::Sequential => "sequential",
        }
    }
}

impl PageSize {
    /// All page sizes.
    pub const ALL: [PageSize; 2] = [PageSize::Large, PageSize::Small];

    /// Returns the name in arguments and ids.
    pub fn name(self) -> &'static str {
        match self {
            PageSize::Large => "2m",
            PageSize::Small => "4k",
        }
    }
}

impl fmt::Display for PageSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PageSize::Large => "2 MiB pages",
            PageSize::Small => "4 KiB pages",
        })
    }
}

impl Variant {
    /// Returns the name in tables and ids.
    pub(super) fn name(self) -> &'static str {
        match self {
            Variant::Switched => "switched",
            Variant::Static(mechanism) => mechanism.name(),
        }
    }

    /// Returns the mechanism, none if it is switched.
    pub(super) fn mechanism(self) -> Option<Mechanism> {
        match self {
            Variant::Switched => None,
            Variant::Static(mechanism) => Some(mechanism),
        }
    }

    /// Returns the name of runs without replicas, in ids.
    pub(super) fn plain_name(self) -> String {
        match self {
            Variant::Switched => "none".to_string(),
            Variant::Static(mechanism) => format!("none-{}", mechanism.name()),
        }
    }
}

impl Choices {
    /// Makes every choice that the arguments leave open.
    ///
    /// # Errors
    /// [`Error::Usage`] for a value out of range.
    pub(super) fn make(args: &ReplicationArgs) -> Result<Self> {
        let is_quick = args.is_quick;
        let choices = Self {
            workloads: or(&args.workloads, &Workload::ALL),
            variants: variants(&args.mechanisms, is_quick)?,
            baseline: match &args.baseline {
                Some(name) => variant(name)?,
                None => Variant::Switched,
            },
            replicas: or(&args.replicas, &[1, 2, 3]),
            update_bytes: match is_quick {
                true => or(&args.update_bytes, &[4, 256, 4096]),
                false => or(&args.update_bytes, &UPDATE_BYTES),
            },
            accesses: match is_quick {
                true => or(&args.accesses, &[AccessPattern::Uniform]),
                false => or(&args.accesses, &AccessPattern::ALL),
            },
            pages: match is_quick {
                true => or(&args.pages, &[PageSize::Large]),
                false => or(&args.pages, &PageSize::ALL),
            },
            pool_bytes: args.pool_bytes.unwrap_or(if is_quick { 64 << 20 } else { 1 << 30 }),
            rounds: args.rounds.unwrap_or(if is_quick { 3 } else { 5 }),
            keys: if is_quick { KEYS_QUICK } else { KEYS },
            is_quick,
        };
        choices.check()?;
        Ok(choices)
    }

    fn check(&self) -> Result<()> {
        let usage = |message: String| Err(Error::Usage(message));
        if let Some(replicas) = self.replicas.iter().find(|count| **count > REPLICAS_MAX) {
            return usage(format!("{replicas} replicas: choose 0 to {REPLICAS_MAX}"));
        }
        let is_size =
            |bytes: &usize| (4..=UPDATE_BYTES_MAX).contains(bytes) && bytes.is_multiple_of(4);
        if let Some(bytes) = self.update_bytes.iter().find(|bytes| !is_size(bytes)) {
            return usage(format!(
                "updates of {bytes} bytes: choose a multiple of 4 up to {UPDATE_BYTES_MAX}"
            ));
        }
        if self.pool_bytes < POOL_BYTES_MIN {
            return usage(format!(
                "pools of {} bytes: choose at least {POOL_BYTES_MIN}",
                self.pool_bytes
            ));
        }
        if self.rounds == 0 {
            return usage("0 rounds: choose at least 1".into());
        }
        Ok(())
    }
}

fn or<T: Clone>(given: &[T], default: &[T]) -> Vec<T> {
    if given.is_empty() { default.to_vec() } else { given.to_vec() }
}

/// Returns the contestants by name; by default `switched` and every mechanism, quick a few.
fn variants(names: &[String], is_quick: bool) -> Result<Vec<Variant>> {
    if names.is_empty() {
        let quick = ["PMDK", "SF+PF", "SF+SCA+PF", "MOVNT+SF+POST", "Threads"];
        let all = Mechanism::ALL.into_iter();
        let chosen = all.filter(|mechanism| !is_quick || quick.contains(&mechanism.name()));
        return Ok([Variant::Switched].into_iter().chain(chosen.map(Variant::Static)).collect());
    }
    names.iter().map(|name| variant(name)).collect()
}

fn variant(name: &str) -> Result<Variant> {
    if name == Variant::Switched.name() {
        return Ok(Variant::Switched);
    }
    match name.parse() {
        Ok(mechanism) => Ok(Variant::Static(mechanism)),
        Err(_) => {
            let known: Vec<_> = Mechanism::ALL.iter().map(|mechanism| mechanism.name()).collect();
            Err(Error::Usage(format!(
                "there is no mechanism {name}: choose switched or one of {}",
                known.join(", ")
            )))
        }
    }
}

/// Finds a value by its name.
fn named<T: Copy>(
    text: &str,
    all: &[T],
    name: impl Fn(T) -> &'static str,
) -> std::result::Result<T, String> {
    let found = all.iter().copied().find(|value| name(*value) == text);
    found.ok_or_else(|| {
        let known: Vec<_> = all.iter().map(|value| name(*value)).collect();
        format!("choose one of {}", known.join(", "))
    })
}

impl FromStr for Workload {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        named(text, &Self::ALL, Self::name)
    }
}

impl FromStr for AccessPattern {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        named(text, &Self::ALL, Self::name)
    }
}

impl FromStr for PageSize {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        named(text, &Self::ALL, Self::name)
    }
}

/// Parses a size such as `4`, `64K`, `256M` or `1G`; the units are powers of 1024.
///
/// # Errors
/// What to write instead.
pub fn parse_bytes(text: &str) -> std::result::Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text[digits.len()..].trim_end_matches("iB") {
        "" => 0,
        "K" | "k" => 10,
        "M" | "m" => 20,
        "G" | "g" => 30,
        _ => return Err("write bytes, or a number with K, M or G, such as 64K".into()),
    };
    let number: u64 = digits.parse().map_err(|_| "write a number, such as 64K".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "this is more than 2^64 bytes".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_parsed_with_their_units() {
        let sizes = ["4", "64K", "256MiB", "1G", "2k"].map(|text| parse_bytes(text).unwrap());
        assert_eq!(sizes, [4, 64 << 10, 256 << 20, 1 << 30, 2 << 10]);
        for text in ["", "K", "1X", "1.5K", "99999999999G", "-4"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn names_lead_back_to_their_values() {
        assert!(Workload::ALL.iter().all(|value| value.name().parse() == Ok(*value)));
        assert!(AccessPattern::ALL.iter().all(|value| value.name().parse() == Ok(*value)));
        assert!(PageSize::ALL.iter().all(|value| value.name().parse() == Ok(*value)));
        assert_eq!("fast".parse::<Workload>(), Err("choose one of cs, cs-tx, kv".into()));
    }

    #[test]
    fn everything_is_measured_unless_said_otherwise() {
        let choices = Choices::make(&ReplicationArgs::default()).unwrap();
        assert_eq!(choices.update_bytes.len(), 6);
        assert_eq!(choices.variants.len(), 1 + Mechanism::ALL.len());
        assert_eq!((choices.pool_bytes, choices.rounds), (1 << 30, 5));
    }

    #[test]
    fn arguments_out_of_range_are_refused_with_the_range() {
        let bad = [
            ReplicationArgs { replicas: vec![4], ..Default::default() },
            ReplicationArgs { update_bytes: vec![6], ..Default::default() },
            ReplicationArgs { pool_bytes: Some(1), ..Default::default() },
            ReplicationArgs { rounds: Some(0), ..Default::default() },
            ReplicationArgs { mechanisms: vec!["fast".into()], ..Default::default() },
        ];
        for args in bad {
            assert!(matches!(Choices::make(&args), Err(Error::Usage(message)) if
                message.contains("choose")));
        }
    }
}
