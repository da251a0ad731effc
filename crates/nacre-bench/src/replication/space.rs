//! Whether a directory has room for the pools, asked before they are created.

use std::path::Path;

use nacre_pmem::{Access, Domain, DomainKind};

use crate::error::{Error, Result};
use crate::format;

/// Memory that is left to everything else on the machine.
const MEMORY_RESERVE_BYTES: u64 = 512 << 20;

/// The way out where the size of the pools is an argument.
pub(crate) const SMALLER_POOLS: &str = "choose another --dir, or smaller --pool-bytes";

/// Returns an error with the way out if `bytes` bytes do not fit.
///
/// # Errors
/// [`Error::Usage`] if there is no room; if the directory cannot be used.
pub(crate) fn check(directory: &Path, bytes: u64, way_out: &str) -> Result<()> {
    let domain = Domain::open("bench", directory, Access::ReadWrite)
        .map_err(Error::pmem(format_args!("use {}", directory.display())))?;
    let free = domain.free_bytes().map_err(Error::pmem("look for room"))?;
    let mut room = free.unwrap_or(u64::MAX);
    if domain.kind() == DomainKind::Shm {
        // A file system in memory may promise more than the memory can hold.
        let memory = memory_available_bytes().unwrap_or(u64::MAX);
        room = room.min(memory.saturating_sub(MEMORY_RESERVE_BYTES));
    }
    if bytes <= room {
        return Ok(());
    }
    Err(Error::Usage(format!(
        "the pools need {} MB in {}, which has room for {} MB: {way_out}",
        format::megabytes(bytes),
        directory.display(),
        format::megabytes(room)
    )))
}

fn memory_available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_room_is_told_with_the_way_out() {
        let directory = tempfile::tempdir().unwrap();
        check(directory.path(), 1 << 20, SMALLER_POOLS).unwrap();
        let error = check(directory.path(), 1 << 60, SMALLER_POOLS).unwrap_err().to_string();
        assert!(error.ends_with(SMALLER_POOLS), "{error}");
    }
}
