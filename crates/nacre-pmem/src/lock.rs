//! One writer or many readers for a directory: `flock` on its file `lock`.
//!
//! 1. The kernel ends the lock with its holder, however that dies, so a stale file locks nothing.
//!    The file is never removed: a removed name could be locked twice.
//! 2. The exclusive holder writes its process id into the file, for people and for messages.
//! 3. The loser names the holder from `/proc/locks`, which also knows shared holders and is never
//!    stale, else from the file's text if that process is alive.
//!
//! # Concurrency
//! Two locks taken in one process exclude each other as those of two processes do. A reader of a
//! directory that it cannot write to and that has no `lock` file holds no lock: whoever may write
//! there creates the file when the directory is first opened for writing.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags};
use rustix::io::Errno;

use crate::error::{Error, ErrorKind, Result};

/// Name of the lock file. No pool can have it.
pub const LOCK_FILE: &str = "lock";

/// Attempts to take the lock: a holder that cannot be named has usually just let go.
const ATTEMPTS_MAX: usize = 3;

/// A lock on a directory, held until it is dropped.
#[derive(Debug)]
pub struct DirectoryLock {
    /// `None` for a reader where no lock file can be made.
    file: Option<File>,
    path: PathBuf,
    is_exclusive: bool,
}

impl DirectoryLock {
    /// Locks `directory` against every other holder.
    ///
    /// # Errors
    /// `Locked` with the process id of a holder; `NotFound`, `PermissionDenied`, `ReadOnly` if
    /// the lock file cannot be opened or created.
    pub fn exclusive(directory: &Path) -> Result<DirectoryLock> {
        let path = directory.join(LOCK_FILE);
        let file = open(&path, true).map_err(|error| cannot_open(directory, &path, error))?;
        take(&file, directory, FlockOperation::NonBlockingLockExclusive)?;
        // The text only helps people: a full disk must not keep a database from opening.
        let _ = write_pid(&file);
        Ok(DirectoryLock { file: Some(file), path, is_exclusive: true })
    }

    /// Locks `directory` against exclusive holders. Makes the lock file if it is absent, and works
    /// without one in a directory that cannot be written.
    ///
    /// # Errors
    /// As for [`DirectoryLock::exclusive`], without `ReadOnly`.
    pub fn shared(directory: &Path) -> Result<DirectoryLock> {
        let path = directory.join(LOCK_FILE);
        let file = match open(&path, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && directory.is_dir() => {
                match open(&path, true) {
                    Err(error) if cannot_write(&error) => None,
                    result => Some(result),
                }
            }
            result => Some(result),
        };
        let file = file.transpose().map_err(|error| cannot_open(directory, &path, error))?;
        if let Some(file) = &file {
            take(file, directory, FlockOperation::NonBlockingLockShared)?;
        }
        Ok(DirectoryLock { file, path, is_exclusive: false })
    }

    /// Returns the path of the lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this lock excludes readers.
    pub fn is_exclusive(&self) -> bool {
        self.is_exclusive
    }
}

impl Drop for DirectoryLock {
    fn drop(&mut self) {
        let Some(file) = &self.file else { return };
        if self.is_exclusive {
            // Best effort, as on taking it.
            let _ = file.set_len(0);
        }
        // Closing would do, but for a child of this process that has not reached its `exec` yet:
        // it shares the open file and would keep the lock.
        let _ = rustix::fs::flock(file, FlockOperation::Unlock);
    }
}

fn open(path: &Path, is_writable: bool) -> io::Result<File> {
    // Not blocking matters only if someone put a pipe there.
    let file = File::options()
        .read(true)
        .write(is_writable)
        .create(is_writable)
        .truncate(false)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(path)?;
    if file.metadata()?.is_dir() {
        return Err(Errno::ISDIR.into());
    }
    Ok(file)
}

fn cannot_open(directory: &Path, path: &Path, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::NotFound {
        return Error::os(format_args!("directory {}", directory.display()), "cannot lock", error);
    }
    Error::os(format_args!("lock {}", path.display()), "cannot open", error)
}

fn cannot_write(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::ACCESS | Errno::PERM | Errno::ROFS))
}

fn take(file: &File, directory: &Path, operation: FlockOperation) -> Result<()> {
    let object = format!("directory {}", directory.display());
    let mut holder = None;
    for _ in 0..ATTEMPTS_MAX {
        match rustix::fs::flock(file, operation) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(Error::os(object, "cannot lock", error)),
        }
        holder = holder_pid(file);
        if holder.is_some() {
            break;
        }
    }
    let problem = match holder {
        Some(pid) if pid == std::process::id() => {
            format!("already open in this process ({pid})")
        }
        Some(pid) => format!("locked by process {pid}"),
        None => "locked by another process".to_string(),
    };
    let remedy = "end that process, or open the directory read-only when all others do";
    Err(Error::new(ErrorKind::Locked { pid: holder }, object, problem, remedy))
}

fn write_pid(mut file: &File) -> io::Result<()> {
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())
}

/// Returns the process id of a holder of the lock on `file`.
fn holder_pid(file: &File) -> Option<u32> {
    let metadata = file.metadata().ok()?;
    let device = metadata.dev();
    let identity = format!(
        "{:02x}:{:02x}:{}",
        rustix::fs::major(device),
        rustix::fs::minor(device),
        metadata.ino()
    );
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    parse_locks(&locks, &identity).or_else(|| pid_in_text(file))
}

/// Finds the holder of a file in the text of `/proc/locks`, whose lines read
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

/// Returns the process id in the lock file if that process is alive.
fn pid_in_text(file: &File) -> Option<u32> {
    let mut text = [0u8; 16];
    let bytes = std::os::unix::fs::FileExt::read_at(file, &mut text, 0).ok()?;
    let pid: u32 = std::str::from_utf8(&text[..bytes]).ok()?.trim().parse().ok()?;
    let is_dead =
        Path::new("/proc/self").exists() && !Path::new("/proc").join(pid.to_string()).exists();
    (!is_dead).then_some(pid)
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
        let text = fs::read_to_string(first.path()).unwrap();
        assert_eq!(text.trim(), std::process::id().to_string());
        for attempt in [DirectoryLock::exclusive, DirectoryLock::shared] {
            let error = attempt(directory.path()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Locked { pid: Some(std::process::id()) });
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
    fn text_of_a_dead_process_is_not_believed() {
        let file = tempfile::tempfile().unwrap();
        // Process ids end far below this.
        std::os::unix::fs::FileExt::write_all_at(&file, b"4294967294\n", 0).unwrap();
        assert_eq!(pid_in_text(&file), None);
        std::os::unix::fs::FileExt::write_all_at(&file, b"not a number\n", 0).unwrap();
        assert_eq!(pid_in_text(&file), None);
    }

    #[test]
    fn missing_or_odd_places_are_typed_errors() {
        let directory = tempfile::tempdir().unwrap();
        let missing = directory.path().join("missing");
        for attempt in [DirectoryLock::exclusive, DirectoryLock::shared] {
            assert_eq!(attempt(&missing).unwrap_err().kind(), ErrorKind::NotFound);
        }
        let file = directory.path().join("file");
        fs::write(&file, b"").unwrap();
        for attempt in [DirectoryLock::exclusive, DirectoryLock::shared] {
            assert_eq!(attempt(&file).unwrap_err().kind(), ErrorKind::NotADirectory);
        }
        fs::create_dir(directory.path().join(LOCK_FILE)).unwrap();
        for attempt in [DirectoryLock::exclusive, DirectoryLock::shared] {
            assert_eq!(attempt(directory.path()).unwrap_err().kind(), ErrorKind::IsDirectory);
        }
    }
}
