//! Finds out what a directory is: one attempt at a synchronous mapping, then the file system.
//!
//! 1. A mapping with `MAP_SHARED_VALIDATE | MAP_SYNC` is accepted only if stores can be made
//!    durable from user space: `pmem`. The probe maps an unnamed file (`O_TMPFILE`), so nothing is
//!    left behind even if the process is killed; where the file system has no unnamed files, a
//!    hidden file that is unlinked before it is mapped; and for a read-only domain a regular file
//!    that is already there.
//! 2. Else `statfs` decides: tmpfs or ramfs is `shm`, anything else `file`.
//!
//! A failed attempt (full disk, read-only directory) is no error: step 2 always works.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};

use crate::granularity::DomainKind;
use crate::map::{MapMode, Mapping};
use crate::sysfs;

const TMPFS_MAGIC: u64 = 0x0102_1994;
const RAMFS_MAGIC: u64 = 0x8584_58F6;

/// Names of file systems that people meet, for messages; from the kernel's `magic.h`.
const FILE_SYSTEMS: [(u64, &str); 12] = [
    (TMPFS_MAGIC, "tmpfs"),
    (RAMFS_MAGIC, "ramfs"),
    (0xEF53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683E, "btrfs"),
    (0x2FC1_2FC1, "zfs"),
    (0xF2F5_2010, "f2fs"),
    (0x794C_7630, "overlay"),
    (0x6969, "nfs"),
    (0x6573_5546, "fuse"),
    (0x0102_1997, "9p"),
    (0x4D44, "vfat"),
];

/// Most directory entries a read-only probe looks at for a file to map.
const CANDIDATES_MAX: usize = 64;

/// What was found out about a directory.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    pub(crate) kind: DomainKind,
    pub(crate) file_system: String,
    /// The file system keeps its files in volatile memory.
    pub(crate) is_memory_backed: bool,
    /// The platform flushes processor caches at a power cut.
    pub(crate) caches_are_persistent: bool,
    /// Device number of the directory's file system.
    pub(crate) device: Option<u64>,
}

/// Probes `directory`, writing to it only if `is_writable`.
pub(crate) fn probe(directory: &Path, is_writable: bool) -> io::Result<Probe> {
    let magic = rustix::fs::statfs(directory)?.f_type as u64;
    let device = fs::metadata(directory).ok().map(|metadata| metadata.dev());
    let is_memory_backed = matches!(magic, TMPFS_MAGIC | RAMFS_MAGIC);
    let accepts_sync = if is_writable {
        unnamed_file(directory).is_ok_and(|file| is_mapped_sync(&file, MapMode::WriteSync))
    } else {
        any_regular_file(directory).is_some_and(|file| is_mapped_sync(&file, MapMode::ReadSync))
    };
    let kind = match (accepts_sync, is_memory_backed) {
        (true, _) => DomainKind::Pmem,
        (false, true) => DomainKind::Shm,
        (false, false) => DomainKind::File,
    };
    let caches_are_persistent = kind == DomainKind::Pmem
        && device
            .is_some_and(|device| sysfs::caches_are_persistent(Path::new(sysfs::ROOT), device));
    let file_system = file_system_name(magic);
    Ok(Probe { kind, file_system, is_memory_backed, caches_are_persistent, device })
}

/// Whether the kernel accepts a synchronous mapping. It decides without touching a page, so the
/// file may be empty.
fn is_mapped_sync(file: &File, mode: MapMode) -> bool {
    Mapping::new(file.as_fd(), 0, 4096, mode).is_ok()
}

/// Opens a file without a name in `directory`.
fn unnamed_file(directory: &Path) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(directory, flags, Mode::from_raw_mode(0o600)) {
        Ok(descriptor) => Ok(File::from(descriptor)),
        Err(_) => unlinked_file(directory),
    }
}

/// Creates a hidden file in `directory` and unlinks it at once.
fn unlinked_file(directory: &Path) -> io::Result<File> {
    // ORDERING: Relaxed, the counter only makes names differ.
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = directory.join(format!(".nacre-probe-{}-{number}", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// Opens some regular file of `directory` for reading.
fn any_regular_file(directory: &Path) -> Option<File> {
    fs::read_dir(directory)
        .ok()?
        .take(CANDIDATES_MAX)
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.file_type().is_ok_and(|file_type| file_type.is_file()))
        .find_map(|entry| File::open(entry.path()).ok())
}

fn file_system_name(magic: u64) -> String {
    FILE_SYSTEMS
        .iter()
        .find(|(known, _)| *known == magic)
        .map_or_else(|| format!("a file system of type {magic:#x}"), |(_, name)| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probing_leaves_no_file_behind() {
        let directory = tempfile::tempdir().unwrap();
        for is_writable in [true, false] {
            probe(directory.path(), is_writable).unwrap();
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        }
        let file = unlinked_file(directory.path()).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        drop(file);
    }

    #[test]
    fn reading_and_writing_probes_agree() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("some"), b"bytes").unwrap();
        let writing = probe(directory.path(), true).unwrap();
        let reading = probe(directory.path(), false).unwrap();
        assert_eq!(writing.kind, reading.kind);
        assert_eq!(writing.file_system, reading.file_system);
    }

    #[test]
    fn tmpfs_is_shm() {
        let path = Path::new("/dev/shm");
        if !path.is_dir()
            || file_system_name(rustix::fs::statfs(path).unwrap().f_type as u64) != "tmpfs"
        {
            println!("skipped: /dev/shm is no tmpfs here");
            return;
        }
        let probe = probe(path, false).unwrap();
        assert_eq!(probe.kind, DomainKind::Shm);
        assert!(probe.is_memory_backed);
    }

    #[test]
    fn unknown_file_system_is_named_by_its_number() {
        assert_eq!(file_system_name(0x1234), "a file system of type 0x1234");
    }
}
