//! The error of this crate: which object, what went wrong with which numbers, and the way out.

use std::fmt;
use std::fs::File;
use std::io;

use rustix::io::Errno;

/// Result of every fallible call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What a caller can react to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The directory or pool does not exist: create it or correct the name.
    NotFound,
    /// A pool of that name exists: choose another name or remove it.
    AlreadyExists,
    /// The user may not do this: change the mode or the user.
    PermissionDenied,
    /// Writing through something that was opened for reading or cannot be written.
    ReadOnly,
    /// Disk full, quota used up, or file size limit reached: make room and retry.
    NoSpace,
    /// No memory or address space for a mapping.
    OutOfMemory,
    /// The process has too many files open.
    TooManyOpenFiles,
    /// The range lies outside the pool: the file is truncated, or an offset is wrong.
    OutOfRange,
    /// Another process holds the directory; `pid` is absent if it could not be found out.
    Locked {
        /// Process id of a holder.
        pid: Option<u32>,
    },
    /// An offset or an alignment is not what the operation needs.
    NotAligned,
    /// The name cannot be the name of a pool.
    InvalidName,
    /// A directory stands where a file was expected.
    IsDirectory,
    /// Something else stands where a directory was expected.
    NotADirectory,
    /// A socket, pipe or device stands where a regular file was expected.
    NotAFile,
    /// A setting asks for what this machine or file system cannot do.
    Unsupported,
    /// The device or kernel reports a fault.
    Io,
    /// Bytes on media contradict their checksum or their magic number: restore or rebuild them.
    Corrupt,
    /// A file belongs to another pool set, or is none of ours: take it away or name the right one.
    Foreign,
    /// The creation of a pool set did not end, so nothing was acknowledged: create it again, which
    /// replaces what is there.
    Unfinished,
    /// A newer version of this software wrote the file: use that version.
    TooNew,
    /// Memory failed or the file was cut behind the mapping: read another replica, rebuild.
    Lost,
    /// Fewer good members than the operation needs.
    NoReplica,
    /// An extent was freed that is not allocated: a bug of the caller, nothing was changed.
    DoubleFree,
    /// The extent that was to be freed is the root of its heap: clear or move the root first.
    IsRoot,
    /// A transaction changes more bytes than the log holds: split it or make the log larger.
    TransactionTooLarge,
    /// A key or value is longer than the structure takes: shorten it.
    TooLong,
    /// The persistent heap has no room for the extent: grow the pool set.
    HeapFull,
}

/// An error that names its object, the numbers, and the way out.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    object: String,
    problem: String,
    remedy: &'static str,
    shortage: Option<SpaceShortage>,
    source: Option<io::Error>,
}

/// Bytes that a full file system refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceShortage {
    pub wanted_bytes: u64,
    /// Free space at that time.
    pub free_bytes: u64,
}

impl Error {
    pub(crate) fn new(
        kind: ErrorKind,
        object: impl fmt::Display,
        problem: impl Into<String>,
        remedy: &'static str,
    ) -> Error {
        Error(Box::new(Inner {
            kind,
            object: object.to_string(),
            problem: problem.into(),
            remedy,
            shortage: None,
            source: None,
        }))
    }

    /// Makes another error that says the same, without its source.
    pub fn again(error: &Error) -> Error {
        let Inner { kind, object, problem, remedy, shortage, .. } = &*error.0;
        let mut again = Error::new(*kind, object, problem.as_str(), remedy);
        again.0.shortage = *shortage;
        again
    }

    /// As [`Error::os`], for an attempt to allocate `wanted_bytes` for `file`: says how much its
    /// file system has if that is too little.
    pub(crate) fn allocating(
        object: impl fmt::Display,
        action: &str,
        (file, wanted_bytes): (&File, u64),
        source: io::Error,
    ) -> Error {
        let is_full = Errno::from_io_error(&source) == Some(Errno::NOSPC);
        let mut error = Error::os(object, action, source);
        if is_full && let Ok(found) = rustix::fs::fstatvfs(file) {
            let free_bytes = found.f_bavail.saturating_mul(found.f_frsize);
            error
                .0
                .problem
                .push_str(&format!(" ({wanted_bytes} bytes are wanted, {free_bytes} are free)"));
            error.0.shortage = Some(SpaceShortage { wanted_bytes, free_bytes });
        }
        error
    }

    /// Wraps what the operating system said while `action` was tried on `object`.
    pub(crate) fn os(
        object: impl fmt::Display,
        action: &str,
        source: impl Into<io::Error>,
    ) -> Error {
        let source = source.into();
        let (kind, cause, remedy) = classify(&source);
        let problem = match cause {
            Some(cause) => format!("{action}: {cause}"),
            None => format!("{action}: {source}"),
        };
        Error(Box::new(Inner {
            kind,
            object: object.to_string(),
            problem,
            remedy,
            shortage: None,
            source: Some(source),
        }))
    }

    /// Returns what a caller can react to.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the object the error is about, for instance `pool /db/manifest`.
    pub fn object(&self) -> &str {
        &self.0.object
    }

    /// Returns how many bytes were wanted of a full file system, and how many it had.
    pub fn shortage(&self) -> Option<SpaceShortage> {
        self.0.shortage
    }

    /// Returns the way out, empty if there is none to recommend.
    pub fn remedy(&self) -> &'static str {
        self.0.remedy
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.object, self.0.problem)?;
        if !self.0.remedy.is_empty() {
            write!(f, "; {}", self.0.remedy)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ({self})", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

/// Returns kind, our own words for the cause (`None`: use the system's), and the way out.
fn classify(error: &io::Error) -> (ErrorKind, Option<&'static str>, &'static str) {
    use ErrorKind as Kind;
    let Some(errno) = Errno::from_io_error(error) else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                (Kind::OutOfRange, Some("the file is shorter"), "the file may be truncated")
            }
            _ => (Kind::Io, None, ""),
        };
    };
    match errno {
        Errno::NOENT => (Kind::NotFound, Some("no such file or directory"), "check the path"),
        Errno::EXIST => {
            (Kind::AlreadyExists, Some("it exists"), "use another name or remove it first")
        }
        Errno::ACCESS | Errno::PERM => (
            Kind::PermissionDenied,
            Some("permission denied"),
            "change the mode of the path or the user who runs this",
        ),
        Errno::ROFS => (
            Kind::ReadOnly,
            Some("read-only file system"),
            "open it read-only, or mount the file system writable",
        ),
        Errno::NOSPC => {
            (Kind::NoSpace, Some("no space left"), "free space in this file system and retry")
        }
        Errno::DQUOT => (
            Kind::NoSpace,
            Some("the disk quota is used up"),
            "free space of this user, or ask for a larger quota",
        ),
        Errno::FBIG => (
            Kind::NoSpace,
            Some("the file size limit is reached"),
            "raise the limit (ulimit -f), or use a file system that allows larger files",
        ),
        Errno::ISDIR => (Kind::IsDirectory, Some("it is a directory"), "check the path"),
        Errno::NOTDIR => (Kind::NotADirectory, Some("not a directory"), "check the path"),
        Errno::NAMETOOLONG => (Kind::InvalidName, Some("the name is too long"), "shorten it"),
        Errno::NOMEM => (
            Kind::OutOfMemory,
            Some("no memory or address space"),
            "free memory, or raise the limits (ulimit -v, vm.max_map_count)",
        ),
        Errno::MFILE | Errno::NFILE => {
            (Kind::TooManyOpenFiles, Some("too many open files"), "raise the limit (ulimit -n)")
        }
        Errno::NXIO => (Kind::NotAFile, Some("not a regular file"), "check the path"),
        Errno::IO => (Kind::Io, None, "the device reports a fault: see the kernel's log"),
        _ => (Kind::Io, None, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_quota_and_size_limit_are_one_kind_with_own_ways_out() {
        let mut texts = Vec::new();
        for errno in [Errno::NOSPC, Errno::DQUOT, Errno::FBIG] {
            let error = Error::os("pool /d/x", "cannot reserve 4096 bytes", errno);
            assert_eq!(error.kind(), ErrorKind::NoSpace);
            let text = error.to_string();
            assert!(text.starts_with("pool /d/x: cannot reserve 4096 bytes: "), "{text}");
            texts.push(text);
        }
        texts.dedup();
        assert_eq!(texts.len(), 3);
    }

    #[test]
    fn unknown_cause_keeps_the_words_of_the_system() {
        let error = Error::os("directory /d", "cannot open", Errno::LOOP);
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.to_string().contains("os error"), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }

    #[test]
    fn size_of_the_error_keeps_results_in_registers() {
        assert_eq!(std::mem::size_of::<Result<u64>>(), 16);
    }
}
