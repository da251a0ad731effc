//! Replica policies: how many replicas a column has, in which formats and where.
//!
//! ```text
//! static_bp@pmem0, dynamic_bp@pmem1, plain@dram      a policy: 1 to 8 replicas, in this order
//! auto, auto                                         the default: format by block, any domain
//! FORMAT[@PLACE]                                     a replica: FORMAT is a format's name or auto,
//!                                                    PLACE a domain's name, dram, or any (default)
//! ```
//!
//! # Invariants
//! 1. A [`ReplicaPolicy`] has 1 to [`REPLICAS_MAX`] replicas, at least one of them not in DRAM:
//!    otherwise a restart would lose the column.
//! 2. `text.parse::<ReplicaPolicy>()` of what [`ReplicaPolicy`] displays is that policy.
//!
//! Whether a domain of that name exists is for the store to say.
//!
//! # Source
//! [Zarubin22 section 4.2] polymorphic compressed replication. Differs: the format can be left to
//! each block (`auto`), and a policy may name more than two replicas.

use std::fmt;
use std::str::FromStr;

use crate::{ColumnType, Format};

/// Most replicas of a column.
pub const REPLICAS_MAX: usize = 8;

/// Name of the choice that is made for each block from its statistics.
const AUTO: &str = "auto";

/// Name of the place that leaves the domain to the store.
const ANY: &str = "any";

/// Name of the place that is DRAM.
const DRAM: &str = "dram";

/// The format of a replica's blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FormatChoice {
    /// Chosen for each block from its statistics; replicas get different ones where that helps.
    #[default]
    Auto,
    /// This one, for every block whose values it can hold; plain for the others.
    Fixed(Format),
}

/// Where a replica's blocks lie.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Place {
    /// Where the store puts it: replicas are spread over the domains there are.
    #[default]
    Any,
    /// The memory domain of this name.
    Domain(String),
    /// DRAM: rebuilt from another replica after a restart.
    Dram,
}

/// One replica of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReplicaSpec {
    pub format: FormatChoice,
    pub place: Place,
}

/// The replicas of a column, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReplicaPolicy(Vec<ReplicaSpec>);

/// Says why a text or a list of replicas is no policy, or not one for this column.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyError {
    /// No replica, or more than [`REPLICAS_MAX`].
    Count { found: usize },
    /// The text between two commas is not FORMAT or FORMAT@PLACE.
    Spec { spec: String },
    /// No format has this name.
    UnknownFormat { spec: String, name: String },
    /// All replicas are in DRAM.
    OnlyDram { policy: String },
    /// The format cannot hold the column's values.
    WrongFormat { spec: String, format: Format, column_type: ColumnType },
}

impl ReplicaPolicy {
    /// Makes a policy of these replicas.
    ///
    /// # Errors
    /// [`PolicyError::Count`] or [`PolicyError::OnlyDram`].
    pub fn new(replicas: Vec<ReplicaSpec>) -> Result<Self, PolicyError> {
        if !(1..=REPLICAS_MAX).contains(&replicas.len()) {
            return Err(PolicyError::Count { found: replicas.len() });
        }
        let policy = Self(replicas);
        if policy.0.iter().all(|replica| replica.place == Place::Dram) {
            return Err(PolicyError::OnlyDram { policy: policy.to_string() });
        }
        Ok(policy)
    }

    /// Returns the replicas, 1 to [`REPLICAS_MAX`].
    pub fn replicas(&self) -> &[ReplicaSpec] {
        &self.0
    }

    /// Returns the formats of the replicas, as [`crate::block::encode_replicas`] takes them.
    pub fn formats(&self) -> Vec<FormatChoice> {
        self.0.iter().map(|replica| replica.format).collect()
    }

    /// Checks that every format that is named can hold values of `column_type`.
    ///
    /// # Errors
    /// [`PolicyError::WrongFormat`] for the first that cannot.
    pub fn check(&self, column_type: ColumnType) -> Result<(), PolicyError> {
        for replica in &self.0 {
            if let FormatChoice::Fixed(format) = replica.format
                && !format.can_hold(column_type)
            {
                let spec = replica.to_string();
                return Err(PolicyError::WrongFormat { spec, format, column_type });
            }
        }
        Ok(())
    }
}

impl Default for ReplicaPolicy {
    /// Two replicas whose formats are chosen for each block, on different domains if there are.
    fn default() -> Self {
        Self(vec![ReplicaSpec::default(); 2])
    }
}

impl FromStr for ReplicaPolicy {
    type Err = PolicyError;

    /// Reads `FORMAT[@PLACE], ...`. Case and blanks around names do not matter, except in the
    /// names of domains.
    fn from_str(text: &str) -> Result<Self, PolicyError> {
        if text.trim().is_empty() {
            return Err(PolicyError::Count { found: 0 });
        }
        Self::new(text.split(',').map(str::parse).collect::<Result<_, _>>()?)
    }
}

impl FromStr for ReplicaSpec {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let spec = text.trim();
        let wrong = || PolicyError::Spec { spec: spec.to_owned() };
        let (format, place) = match spec.split_once('@') {
            Some((format, place)) => (format.trim_end(), Some(place.trim_start())),
            None => (spec, None),
        };
        if format.is_empty() {
            return Err(wrong());
        }
        let name = format.to_ascii_lowercase();
        let format = match Format::from_name(&name) {
            Some(format) => FormatChoice::Fixed(format),
            None if name == AUTO => FormatChoice::Auto,
            None => return Err(PolicyError::UnknownFormat { spec: spec.to_owned(), name }),
        };
        let place = match place {
            None => Place::Any,
            Some(place) if place.eq_ignore_ascii_case(ANY) => Place::Any,
            Some(place) if place.eq_ignore_ascii_case(DRAM) => Place::Dram,
            Some(place) if is_domain_name(place) => Place::Domain(place.to_owned()),
            Some(_) => return Err(wrong()),
        };
        Ok(Self { format, place })
    }
}

/// Tells whether a policy can name this domain: what it writes must read back.
fn is_domain_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c == '@' || c == ',' || c.is_whitespace())
}

impl fmt::Display for FormatChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad(AUTO),
            Self::Fixed(format) => format.fmt(f),
        }
    }
}

impl fmt::Display for ReplicaSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Any => self.format.fmt(f),
            Place::Domain(name) => write!(f, "{}@{name}", self.format),
            Place::Dram => write!(f, "{}@{DRAM}", self.format),
        }
    }
}

impl fmt::Display for ReplicaPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, replica) in self.0.iter().enumerate() {
            write!(f, "{}{replica}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { found } => {
                write!(f, "a policy has 1 to {REPLICAS_MAX} replicas, not {found}")
            }
            Self::Spec { spec } => {
                write!(f, "replica {spec:?} is not FORMAT or FORMAT@PLACE, such as {AUTO}@{DRAM}")
            }
            Self::UnknownFormat { spec, name } => {
                write!(f, "replica {spec:?}: no format is called {name:?}; use {AUTO}")?;
                list(f, Format::ALL.into_iter())
            }
            Self::OnlyDram { policy } => {
                write!(f, "policy {policy:?} keeps nothing over a restart: all replicas are in ")?;
                f.write_str(DRAM)
            }
            Self::WrongFormat { spec, format, column_type } => {
                write!(f, "replica {spec:?}: a column of type {column_type} cannot be stored in ")?;
                write!(f, "format {format}; use {AUTO}")?;
                list(f, Format::ALL.into_iter().filter(|format| format.can_hold(*column_type)))
            }
        }
    }
}

/// Writes the names of formats after another choice, the last after "or".
fn list(f: &mut fmt::Formatter<'_>, formats: impl Iterator<Item = Format>) -> fmt::Result {
    let mut formats = formats.peekable();
    while let Some(format) = formats.next() {
        let separator = if formats.peek().is_some() { ", " } else { " or " };
        write!(f, "{separator}{format}")?;
    }
    Ok(())
}

impl std::error::Error for PolicyError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ReplicaPolicy, String> {
        text.parse().map_err(|error: PolicyError| error.to_string())
    }

    #[test]
    fn policy_reads_back_as_displayed() {
        let texts = [
            "static_bp@pmem0, dynamic_bp@pmem1, plain@dram",
            "auto, auto",
            "auto@far, lz4_high, dict@near-1",
            "rle",
        ];
        for text in texts {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        for format in Format::ALL {
            let spec = ReplicaSpec { format: FormatChoice::Fixed(format), place: Place::Any };
            assert_eq!(spec.to_string().parse(), Ok(spec));
        }
    }

    #[test]
    fn case_and_blanks_do_not_matter_but_in_domains() {
        let policy = parse("  STATIC_BP @ Pmem0,Auto@ANY ,plain@DRAM").unwrap();
        assert_eq!(policy.to_string(), "static_bp@Pmem0, auto, plain@dram");
        assert_eq!(policy.replicas()[2].place, Place::Dram);
    }

    #[test]
    fn default_is_two_replicas_of_chosen_formats() {
        assert_eq!(ReplicaPolicy::default().to_string(), "auto, auto");
        assert_eq!(ReplicaPolicy::default().formats(), [FormatChoice::Auto; 2]);
    }

    #[test]
    fn wrong_texts_are_refused_by_name() {
        let wrong = |text: &str| parse(text).unwrap_err();
        assert_eq!(wrong(" "), "a policy has 1 to 8 replicas, not 0");
        assert_eq!(wrong(&["auto"; 9].join(",")), "a policy has 1 to 8 replicas, not 9");
        for text in ["", "@pmem0", "auto@", "auto@a b", "auto@a@b"] {
            let error = wrong(&format!("auto, {text}"));
            let named = format!("replica {text:?} is not FORMAT or FORMAT@PLACE");
            assert!(error.starts_with(&named), "{error}");
        }
        assert_eq!(
            wrong("auto, zip@pmem0"),
            "replica \"zip@pmem0\": no format is called \"zip\"; use auto, plain, static_bp, dict, \
             dynamic_bp, simd_bp128, simd_fastpfor, delta_bp, for_bp, rle, lz4_fast, lz4, \
             lz4_high, snappy or fsst"
        );
        assert_eq!(
            wrong("plain@dram, auto@dram"),
            "policy \"plain@dram, auto@dram\" keeps nothing over a restart: \
             all replicas are in dram"
        );
    }

    #[test]
    fn format_that_cannot_hold_the_type_is_refused_with_those_that_can() {
        let policy = parse("auto, static_bp@pmem0").unwrap();
        assert_eq!(policy.check(ColumnType::Integer), Ok(()));
        assert_eq!(
            policy.check(ColumnType::Bytea).map_err(|error| error.to_string()),
            Err("replica \"static_bp@pmem0\": a column of type bytea cannot be stored in format \
                 static_bp; use auto, plain, dict, lz4_fast, lz4, lz4_high, snappy or fsst"
                .to_owned())
        );
    }
}
