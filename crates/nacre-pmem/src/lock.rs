//! One writer or many readers for a directory: `flock` on the directory itself.
//!
//! 1. No file stands for the lock, so nothing is created, written or left behind, and no deletion
//!    in the directory lets a second writer in. A directory that cannot be written can be locked.
//! 2. The kernel ends the lock with its holder, however that dies.
//! 3. The loser names a holder: this process knows what it has locked itself, others are looked up
//!    in `/proc/locks`. Holders in other process namespaces have no number there, and some file
//!    systems (btrfs, overlayfs) show other device or inode numbers there than in `stat`: the
//!    message then says "another process".
//!
//! # Concurrency
//! Two locks taken in one process exclude each other as those of two processes do. The lock
//! belongs to the directory, not to its path: who renames or removes the directory takes the lock
//! along. On a network file system it may exclude only processes of the same machine.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::directory::open_directory;
use crate::error::{Error, ErrorKind, Result};

/// Attempts to take the lock: a holder that cannot be named has usually just let go.
const ATTEMPTS_MAX: usize = 3;

/// What to do about a holder in another process.
const REMEDY: &str = "end that process, or open it read-only when all others do";

/// Device and inode of what this process holds locks on, once for each lock.
static OWN: Mutex<Vec<Identity>> = Mutex::new(Vec::new());

/// Device and inode.
type Identity = (u64, u64);

/// A lock on a directory, held until it is dropped.
#[derive(Debug)]
pub struct DirectoryLock {
    directory: File,
}

impl DirectoryLock {
    /// Locks the directory `path` against every other holder; it need not be writable.
    ///
    /// # Errors
    /// `Locked` with the process id of a holder if that is known; `NotFound`, `NotADirectory`,
    /// `PermissionDenied` if the directory cannot be opened for reading.
    pub fn exclusive(path: &Path) -> Result<DirectoryLock> {
        take(path, FlockOperation::NonBlockingLockExclusive)
    }

    /// Locks the directory `path` against exclusive holders.
    ///
    /// # Errors
    /// As for [`DirectoryLock::exclusive`].
    pub fn shared(path: &Path) -> Result<DirectoryLock> {
        take(path, FlockOperation::NonBlockingLockShared)
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        unlock(&self.directory);
    }
}

/// A lock on a file, held until it is dropped.
#[derive(Debug)]
pub(crate) struct FileLock {
    file: File,
}

impl FileLock {
    /// Locks a file that nothing else opened with the same call: exclusively, or shared with
    /// other shared holders.
    pub(crate) fn take(file: File, is_exclusive: bool, object: &str) -> Result<FileLock> {
        let operation = match is_exclusive {
            true => FlockOperation::NonBlockingLockExclusive,
            false => FlockOperation::NonBlockingLockShared,
        };
        lock(&file, operation, object)?;
        Ok(FileLock { file })
    }

    /// Returns the locked file.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        unlock(&self.file);
    }
}

fn take(path: &Path, operation: FlockOperation) -> Result<DirectoryLock> {
    let object = format!("directory {}", path.display());
    let directory =
        open_directory(path).map_err(|error| Error::os(&object, "cannot lock", error))?;
    lock(&directory, operation, &object)?;
    Ok(DirectoryLock { directory })
}

fn lock(file: &File, operation: FlockOperation, object: &str) -> Result<()> {
    let mut holder = None;
    for _ in 0..ATTEMPTS_MAX {
        match rustix::fs::flock(file, operation) {
            Ok(()) => {
                own().extend(identity(file));
                return Ok(());
            }
            Err(Errno::WOULDBLOCK) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(Error::os(object, "cannot lock", error)),
        }
        holder = holder_pid(file);
        if holder.is_some() {
            break;
        }
    }
    let (problem, remedy) = match holder {
        Some(pid) if pid == std::process::id() => (
            format!("already open in this process ({pid})"),
            "close it there first, or open it read-only everywhere",
        ),
        Some(pid) => (format!("locked by process {pid}"), REMEDY),
        None => ("locked by another process".to_string(), REMEDY),
    };
    Err(Error::new(ErrorKind::Locked { pid: holder }, object, problem, remedy))
}

fn unlock(file: &File) {
    if let Some(identity) = identity(file) {
        let mut own = own();
        let found = own.iter().position(|held| *held == identity);
        found.map(|position| own.swap_remove(position));
    }
    // Closing would do, but for a child of this process that has not reached its `exec` yet: it
    // shares the open file and would keep the lock.
    let _ = rustix::fs::flock(file, FlockOperation::Unlock);
}

fn own() -> std::sync::MutexGuard<'static, Vec<Identity>> {
    // A list of numbers is whole whatever its last holder did.
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn identity(file: &File) -> Option<Identity> {
    file.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Returns the process id of a holder of the lock on `file`.
fn holder_pid(file: &File) -> Option<u32> {
    if identity(file).is_some_and(|identity| own().contains(&identity)) {
        return Some(std::process::id());
    }
    let metadata = file.metadata().ok()?;
    let device = metadata.dev();
    let identity = format!(
        "{:02x}:{:02x}:{}",
        rustix::fs::major(device),
        rustix::fs::minor(device),
        metadata.ino()
    );
    parse_locks(&fs::read_to_string("/proc/locks").ok()?, &identity)
}

/// Finds a holder of what `identity` names in the text of `/proc/locks`, whose lines read
/// `1: FLOCK  ADVISORY  WRITE 4711 fd:01:1234 0 EOF`. Waiting processes have `->` after the
/// number, holders in other process namespaces a process id that is not positive.
fn parse_locks(locks: &str, identity: &str) -> Option<u32> {
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, pid, file, ..] = fields[..] else {
            return None;
        };
        let pid = pid.parse().ok().filter(|&pid| pid > 0)?;
        (file == identity).then_some(pid)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holder_is_found_among_other_locks() {
        let locks = "1: POSIX  ADVISORY  READ 10 fd:01:77 128 128\n\
                     2: FLOCK  ADVISORY  WRITE 11 fd:01:78 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 12 fd:01:77 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE -1 fd:01:77 0 EOF\n\
                     4: FLOCK  ADVISORY  READ 13 fd:01:77 0 EOF\n\
                     garbage\n";
        assert_eq!(parse_locks(locks, "fd:01:77"), Some(13));
        assert_eq!(parse_locks(locks, "fd:01:78"), Some(11));
        assert_eq!(parse_locks(locks, "fd:01:79"), None);
    }

    #[test]
    fn second_exclusive_lock_in_one_process_is_refused_until_the_first_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let first = DirectoryLock::exclusive(directory.path()).unwrap();
        for attempt in [DirectoryLock::exclusive, DirectoryLock::shared] {
            let error = attempt(directory.path()).unwrap_err();
            let pid = Some(std::process::id());
            assert_eq!(holder_pid(&first.directory), pid);
            assert_eq!(error.kind(), ErrorKind::Locked { pid });
            let text = error.to_string();
            assert!(text.contains("in this process") && text.contains("close it"), "{text}");
        }
        drop(first);
        let readers = (
            DirectoryLock::shared(directory.path()).unwrap(),
            DirectoryLock::shared(directory.path()).unwrap(),
        );
        let error = DirectoryLock::exclusive(directory.path()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Locked { .. }), "{error}");
        drop(readers);
        DirectoryLock::exclusive(directory.path()).unwrap();
    }

    #[test]
    fn nothing_is_left_behind() {
        let directory = tempfile::tempdir().unwrap();
        for attempt in [DirectoryLock::exclusive, DirectoryLock::shared] {
            let lock = attempt(directory.path()).unwrap();
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
            drop(lock);
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn missing_or_odd_places_are_typed_errors() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        let file = directory.path().join("file");
        fs::write(&file, b"").unwrap();
        for attempt in [DirectoryLock::exclusive, DirectoryLock::shared] {
            assert_eq!(attempt(&missing).unwrap_err().kind(), ErrorKind::NotFound);
            assert_eq!(attempt(&file).unwrap_err().kind(), ErrorKind::NotADirectory);
        }
    }
}
