//! Where temporary files lie, and how many bytes they may take.
//!
//! A file is made without a name if the file system can do that. Else its name is removed at once;
//! names that a killed process left in between are removed when the space is opened. Another
//! process's file loses no more than a name that it is about to remove.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};

use super::file::SpillFile;
use super::share::SpillCounters;
use crate::error::{ExecError, ExecResult};

/// Begin of the names of files that have one for a moment.
const NAME_PREFIX: &str = "nacre-spill-";

/// Makes files.
pub trait SpillMedium: Send + Sync + fmt::Debug {
    /// Returns where the files lie, for messages.
    fn place(&self) -> String;

    /// Makes an empty file, which is gone when the handle is dropped.
    ///
    /// # Errors
    /// Those of the system.
    fn create(&self) -> io::Result<Box<dyn SpillHandle>>;
}

/// A file.
pub trait SpillHandle: Send + Sync + fmt::Debug {
    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// Those of the system.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Fills `bytes`.
    ///
    /// # Errors
    /// Those of the system, and of an end that comes too early.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
}

/// Temporary files of all queries of a database.
#[derive(Debug)]
pub struct SpillSpace {
    medium: Box<dyn SpillMedium>,
    /// The setting that an error names.
    setting: &'static str,
    bytes_max: u64,
    bytes_used: AtomicU64,
    files: AtomicU64,
}

/// Files in a directory.
#[derive(Debug)]
struct SpillDirectory {
    path: PathBuf,
    /// Names that were used.
    names: AtomicU64,
}

impl SpillSpace {
    /// Opens a directory, whose files may take `bytes_max`, which `setting` gives.
    pub fn open(directory: &Path, setting: &'static str, bytes_max: u64) -> Arc<Self> {
        remove_leftovers(directory);
        let medium = SpillDirectory { path: directory.to_owned(), names: AtomicU64::new(0) };
        Self::with_medium(Box::new(medium), setting, bytes_max)
    }

    /// As [`SpillSpace::open`], of any medium.
    pub fn with_medium(
        medium: Box<dyn SpillMedium>,
        setting: &'static str,
        bytes_max: u64,
    ) -> Arc<Self> {
        let (bytes_used, files) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Self { medium, setting, bytes_max, bytes_used, files })
    }

    /// Returns the bytes on disk.
    pub fn bytes_used(&self) -> u64 {
        // ORDERING: a figure for reports.
        self.bytes_used.load(Ordering::Relaxed)
    }

    /// Returns how many files are open.
    pub fn files(&self) -> u64 {
        // ORDERING: as above.
        self.files.load(Ordering::Relaxed)
    }

    /// Makes a file.
    pub(super) fn create(
        self: &Arc<Self>,
        counters: &Arc<SpillCounters>,
    ) -> ExecResult<Arc<SpillFile>> {
        let handle = self.medium.create().map_err(|error| self.failed("make", error))?;
        // ORDERING: a figure for reports.
        self.files.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(SpillFile::new(self, handle, counters)))
    }

    /// Takes so many bytes of the limit.
    pub(super) fn take_bytes(&self, bytes: u64) -> ExecResult<()> {
        // ORDERING: the counter guards nothing but itself.
        let after = self.bytes_used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if after > self.bytes_max {
            self.give_back(bytes);
            return Err(self.full(after, Some(self.bytes_max)));
        }
        Ok(())
    }

    pub(super) fn give_back(&self, bytes: u64) {
        // ORDERING: as above.
        self.bytes_used.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn note_closed(&self) {
        // ORDERING: a figure for reports.
        self.files.fetch_sub(1, Ordering::Relaxed);
    }

    /// Makes the error of an action that failed.
    #[cold]
    pub(super) fn failed(&self, action: &'static str, error: io::Error) -> ExecError {
        let full =
            [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge];
        if full.contains(&error.kind()) {
            return self.full(self.bytes_used(), None);
        }
        ExecError::SpillFailed { place: self.medium.place(), action, error }
    }

    fn full(&self, bytes: u64, bytes_max: Option<u64>) -> ExecError {
        let (place, setting) = (self.medium.place(), self.setting);
        ExecError::DiskFull { place, setting, bytes, bytes_max }
    }
}

/// Removes names that a killed process left behind; one that stays takes no bytes.
fn remove_leftovers(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(NAME_PREFIX) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

impl SpillDirectory {
    /// Makes a file that has a name for a moment.
    fn create_named(&self) -> io::Result<File> {
        // ORDERING: a number of its own for each; no more.
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        let name = format!("{NAME_PREFIX}{}-{:p}-{number}", std::process::id(), self);
        let path = self.path.join(name);
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(file),
        }
    }
}

impl SpillMedium for SpillDirectory {
    fn place(&self) -> String {
        self.path.display().to_string()
    }

    fn create(&self) -> io::Result<Box<dyn SpillHandle>> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file = match rustix::fs::open(&self.path, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR) => self.create_named()?,
            Err(error) => return Err(error.into()),
        };
        Ok(Box::new(file))
    }
}

impl SpillHandle for File {
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(bytes, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_no_names_and_leftovers_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("nacre-spill-1-2"), b"left").unwrap();
        std::fs::write(directory.path().join("other"), b"kept").unwrap();
        let path = directory.path().to_owned();
        let space = SpillSpace::open(&path, "a setting", 100);
        let names = || std::fs::read_dir(&path).unwrap().count();
        assert_eq!(names(), 1, "no more than the file of somebody else");
        let medium = SpillDirectory { path: path.clone(), names: AtomicU64::new(0) };
        for file in [medium.create().unwrap(), Box::new(medium.create_named().unwrap())] {
            file.write_at(b"text", 3).unwrap();
            let mut read = [0; 4];
            file.read_at(&mut read, 3).unwrap();
            assert_eq!((&read, names()), (b"text", 1));
            let error = file.read_at(&mut read, 4).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
        assert_eq!((space.bytes_used(), space.files()), (0, 0));
    }

    #[test]
    fn directory_that_is_not_there_is_named() {
        let space = SpillSpace::open(Path::new("/not/there"), "a setting", 100);
        let error = space.create(&Arc::default()).unwrap_err();
        assert_eq!(error.kind(), crate::ExecErrorKind::SpillFailed);
        assert!(error.to_string().contains("/not/there"), "{error}");
    }
}
