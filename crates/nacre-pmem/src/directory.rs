//! Operations on the directory behind a domain, as the operating system reports them.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, OFlags};
use rustix::io::Errno;

use crate::domain::Access;

/// Makes `path` and its missing parents, each durable in its parent and closed to other users.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|ancestor| !ancestor.exists()).collect();
    // What lies in it is for whoever made it.
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    for parent in missing.iter().rev().filter_map(|created| created.parent()) {
        // PERSIST: each new directory is durable before anything is created in it.
        sync_entries(&File::open(parent)?)?;
    }
    Ok(())
}

/// Synchronises a directory; file systems that cannot do so keep entries durable themselves.
pub(crate) fn sync_entries(handle: &File) -> io::Result<()> {
    match handle.sync_all() {
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => Ok(()),
        result => result,
    }
}

/// Opens a directory, and nothing else.
pub(crate) fn open_directory(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NONBLOCK;
    File::options().read(true).custom_flags(flags.bits() as i32).open(path)
}

/// Whether the effective user may enter a directory, and write in it.
pub(crate) fn check_access(path: &Path, is_writable: bool) -> io::Result<()> {
    let mut access = rustix::fs::Access::EXEC_OK;
    if is_writable {
        access |= rustix::fs::Access::WRITE_OK;
    }
    Ok(rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS)?)
}

/// Opens a regular file; does not wait if it is something else, such as a pipe.
pub(crate) fn open_regular(path: &Path, access: Access) -> io::Result<File> {
    let file = File::options()
        .read(true)
        .write(access == Access::ReadWrite)
        .custom_flags(OFlags::NONBLOCK.bits() as i32)
        .open(path)?;
    regular(file.metadata()?)?;
    Ok(file)
}

/// Refuses what is no regular file.
pub(crate) fn regular(metadata: Metadata) -> io::Result<Metadata> {
    if metadata.is_dir() {
        return Err(Errno::ISDIR.into());
    }
    if !metadata.is_file() {
        return Err(Errno::NXIO.into());
    }
    Ok(metadata)
}

/// Returns the names in a directory that a pool can have, in order.
pub(crate) fn list_files(path: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        // A name that is not text cannot be a pool's; neither can a hidden one.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        if !name.starts_with('.') && entry.file_type()?.is_file() {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}
