//! What a domain is and what must be flushed in it.
//!
//! # Source
//! [Zarubin22 2.1.3] access methods (DAXFS, SHM) and the persistence domain. Differs: an ordinary
//! file system is a kind of its own, so the same code runs where there is only an SSD; device DAX
//! without a file system is not supported.

use std::fmt;
use std::str::FromStr;

/// What kind of memory a domain is. Probed, never assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DomainKind {
    /// Volatile memory without a path.
    Dram,
    /// A DAX file system that accepts `MAP_SYNC`: a store is durable once its line is flushed.
    Pmem,
    /// Any other file system: a store is durable once its page is written back.
    File,
    /// tmpfs: behaves exactly as `Pmem`, but a power cut loses it. Always reported as emulated.
    Shm,
}

impl DomainKind {
    /// All kinds, in the order in which they are documented.
    pub const ALL: [DomainKind; 4] =
        [DomainKind::Dram, DomainKind::Pmem, DomainKind::File, DomainKind::Shm];

    fn name(self) -> &'static str {
        match self {
            DomainKind::Dram => "dram",
            DomainKind::Pmem => "pmem",
            DomainKind::File => "file",
            DomainKind::Shm => "shm",
        }
    }
}

impl fmt::Display for DomainKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DomainKind {
    type Err = ();

    fn from_str(text: &str) -> Result<DomainKind, ()> {
        DomainKind::ALL.into_iter().find(|kind| kind.name() == text).ok_or(())
    }
}

/// What must be flushed to be durable, finest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Granularity {
    /// Nothing: caches belong to the persistence domain, or nothing is durable anyway.
    Byte,
    /// The cache line, by instruction and fence.
    CacheLine,
    /// The page, by the kernel.
    Page,
}

impl Granularity {
    /// All granularities, finest first.
    pub const ALL: [Granularity; 3] =
        [Granularity::Byte, Granularity::CacheLine, Granularity::Page];

    fn name(self) -> &'static str {
        match self {
            Granularity::Byte => "byte",
            Granularity::CacheLine => "cache_line",
            Granularity::Page => "page",
        }
    }

    /// Returns what a kind needs where nothing better was probed.
    pub(crate) fn natural(kind: DomainKind) -> Granularity {
        match kind {
            DomainKind::Dram => Granularity::Byte,
            // Without a flush instruction that we know of, `msync` serves DAX mappings too.
            DomainKind::Pmem | DomainKind::Shm if cfg!(target_arch = "x86_64") => {
                Granularity::CacheLine
            }
            DomainKind::Pmem | DomainKind::Shm | DomainKind::File => Granularity::Page,
        }
    }
}

impl fmt::Display for Granularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Granularity {
    type Err = ();

    fn from_str(text: &str) -> Result<Granularity, ()> {
        Granularity::ALL.into_iter().find(|value| value.name() == text).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for kind in DomainKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        for granularity in Granularity::ALL {
            assert_eq!(granularity.to_string().parse(), Ok(granularity));
        }
        assert_eq!("disk".parse::<DomainKind>(), Err(()));
        assert_eq!("".parse::<Granularity>(), Err(()));
    }
}
