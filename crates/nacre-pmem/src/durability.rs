//! How durable a domain is, in words, and the plan by which its pools become so.
//!
//! # Media assumptions
//! 1. `pmem`: an aligned 8-byte store reaches the medium whole or not at all; a line whose flush
//!    was followed by a fence is durable; a mapping accepted with `MAP_SYNC` never needs `fsync`
//!    for block addresses.
//! 2. `file`: after `msync(MS_SYNC)`, `fdatasync` or `fsync` returned success the bytes are on the
//!    medium (the device honours cache flushes); an aligned 8-byte word lies in one sector, and a
//!    sector is written whole or not at all. A failed write-back is final: the kernel may drop the
//!    pages, so the pool refuses further work instead of trying again.
//! 3. `shm`: page contents outlive the process and end with the power.
//! 4. All kinds: after a kill of the process every store that was executed is visible to the next
//!    process that maps the file.
//! 5. A directory entry is durable once the directory was synchronised.

use std::fmt;

use crate::flush::FlushFlavour;
use crate::granularity::{DomainKind, Granularity};
use crate::stream::StreamFlavour;

/// What a persisted byte survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Durability {
    /// The bytes are there for the next process after this one died at any instruction.
    pub survives_process_crash: bool,
    /// The bytes are there after the power failed.
    pub survives_power_cut: bool,
    /// Durability is only imitated, so that its code can run without the hardware.
    pub emulated: bool,
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.survives_process_crash, self.survives_power_cut) {
            (true, true) => "survives a process crash and a power cut",
            (true, false) => "survives a process crash, not a power cut",
            (false, _) => "volatile: survives neither a process crash nor a power cut",
        })?;
        if self.emulated {
            f.write_str(" (emulated)")?;
        }
        Ok(())
    }
}

/// How pools of one domain are made durable. Resolved once, when the domain is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) kind: DomainKind,
    pub(crate) granularity: Granularity,
    pub(crate) flush: FlushFlavour,
    pub(crate) stream: StreamFlavour,
    /// Whether files and directories are synchronised. Off for DRAM and if flushing is forced off.
    pub(crate) syncs: bool,
    /// Whether mappings ask for large pages: memory-backed kinds do.
    pub(crate) large_pages: bool,
    pub(crate) durability: Durability,
}

impl Plan {
    /// Returns the plan of volatile memory.
    pub(crate) fn dram() -> Plan {
        Plan {
            kind: DomainKind::Dram,
            granularity: Granularity::Byte,
            flush: FlushFlavour::None,
            stream: StreamFlavour::None,
            syncs: false,
            large_pages: true,
            durability: Durability {
                survives_process_crash: false,
                survives_power_cut: false,
                emulated: false,
            },
        }
    }

    /// Whether appends go through a mapping instead of through `pwrite`.
    pub(crate) fn appends_mapped(&self) -> bool {
        self.kind != DomainKind::Dram && self.granularity != Granularity::Page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emulation_is_always_said() {
        let shm =
            Durability { survives_process_crash: true, survives_power_cut: false, emulated: true };
        assert_eq!(shm.to_string(), "survives a process crash, not a power cut (emulated)");
        assert!(Plan::dram().durability.to_string().starts_with("volatile"));
    }
}
