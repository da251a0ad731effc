//! File descriptors: how many the process may have, and whether connections leave enough of them.
//!
//! The store opens files when it makes loads, checkpoints, backups and segments of its log. If
//! connections took the last descriptor, writes of all sessions would fail. So a connection is
//! refused while fewer than [`STORE_RESERVE`] would be left.

use std::os::fd::{AsRawFd, RawFd};

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Descriptors that connections leave to the store, to refusals, and to requests for metrics.
const STORE_RESERVE: u64 = 64;

/// Descriptors of a connection besides its socket.
const CONNECTION_DESCRIPTORS: u64 = 1;

/// What connections are refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DescriptorShortage {
    pub(crate) open: u64,
    pub(crate) limit: u64,
}

/// Raises the soft limit of descriptors to the hard one; returns what the limit is then.
///
/// # Errors
/// The system does not tell or take it; the limit stays as it was.
pub fn raise_descriptor_limit() -> std::io::Result<u64> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(hard.max(soft))
}

/// Says whether there is room for a connection whose socket was accepted.
pub(crate) fn check_room(accepted: &impl AsRawFd) -> Result<(), DescriptorShortage> {
    let Ok((limit, _)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    let open = count_open(accepted.as_raw_fd());
    // Of a very small limit connections get half.
    let reserve = STORE_RESERVE.min(limit / 2);
    match open.saturating_add(CONNECTION_DESCRIPTORS + reserve) <= limit {
        true => Ok(()),
        false => Err(DescriptorShortage { open, limit }),
    }
}

/// Returns how many descriptors the process has, of which `newest` was opened last.
fn count_open(newest: RawFd) -> u64 {
    const DIRECTORY: &str = "/proc/self/fd";
    // Since Linux 6.2 the size of the directory is their number.
    let told = std::fs::metadata(DIRECTORY).map_or(0, |directory| directory.len());
    if told > 0 {
        return told;
    }
    // One is open to read the directory. Where there is none, a new descriptor is the least that
    // was free.
    let listed = std::fs::read_dir(DIRECTORY).map(|entries| entries.count() as u64 - 1);
    listed.unwrap_or_else(|_| u64::try_from(newest).map_or(0, |newest| newest + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_descriptors_are_counted() {
        let files: Vec<_> = (0..50).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        let with_files = count_open(files[49].as_raw_fd());
        assert!(with_files >= 50, "{with_files}");
        assert_eq!(check_room(&files[0]), Ok(()));
    }
}
