//! Space behind a pool, allocated before it is used.
//!
//! A store into a hole of a mapped file on a full disk is SIGBUS, and what was stored is lost. So
//! every byte behind a writable mapping is allocated first: with `fallocate`, or by writing zeros
//! where a file system cannot. A file system that never overwrites in place (btrfs, zfs) may still
//! want space for a store into allocated bytes; there a full disk shows as lost pages
//! ([`crate::fault`]), and nothing published is lost.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};

use rustix::fs::{FallocateFlags, SeekFrom};
use rustix::io::Errno;

use crate::sim;

/// Bytes of zeros written at once: large enough that the call does not count.
const ZEROS_BYTES: usize = 1 << 20;

/// What to do on a file system without `fallocate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fallback {
    /// Write zeros: the range must be safe to store into.
    Zeros,
    /// Only set the size: the range will be written by calls that can report a full disk.
    Size,
}

/// Extends `file` from `from` to `to` bytes, all allocated; on failure it has `from` bytes again.
pub(crate) fn extend(file: &File, from: u64, to: u64, fallback: Fallback) -> io::Result<()> {
    if from >= to {
        return Ok(());
    }
    let result = match allocate(file, from, to) {
        Err(error) if lacks_fallocate(&error) => match fallback {
            Fallback::Zeros => write_zeros(file, from, to),
            Fallback::Size => file.set_len(to),
        },
        result => result,
    };
    if result.is_err() {
        // A file system may have got part of the way. The first error is the one to report.
        let _ = file.set_len(from);
    }
    sim::resized(file);
    result
}

/// Allocates what a file of `bytes` bytes may have as holes, for instance after a sparse copy.
pub(crate) fn fill_holes(file: &File, bytes: u64) -> io::Result<()> {
    // Blocks are counted in 512 bytes whatever the file system's block size is.
    if bytes == 0 || file.metadata()?.blocks().saturating_mul(512) >= bytes {
        return Ok(());
    }
    match allocate(file, 0, bytes) {
        Err(error) if lacks_fallocate(&error) => fill_holes_with_zeros(file, bytes),
        result => result,
    }
}

fn allocate(file: &File, from: u64, to: u64) -> io::Result<()> {
    let (mut offset, mut piece_bytes) = (from, to - from);
    while offset < to {
        let bytes = piece_bytes.min(to - offset);
        match rustix::fs::fallocate(file, FallocateFlags::empty(), offset, bytes) {
            // tmpfs gives all of a piece back when a signal arrives, so under a steady timer only
            // pieces that are shorter than its period come through.
            Err(Errno::INTR) if bytes > ZEROS_BYTES as u64 => piece_bytes = bytes / 2,
            Err(Errno::INTR) => {}
            result => {
                result?;
                offset += bytes;
            }
        }
    }
    Ok(())
}

fn lacks_fallocate(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::OPNOTSUPP | Errno::NOSYS))
}

fn write_zeros(file: &File, from: u64, to: u64) -> io::Result<()> {
    let zeros = vec![0u8; ZEROS_BYTES.min((to - from) as usize)];
    let mut offset = from;
    while offset < to {
        let bytes = zeros.len().min((to - offset) as usize);
        file.write_all_at(&zeros[..bytes], offset)?;
        offset += bytes as u64;
    }
    Ok(())
}

fn fill_holes_with_zeros(file: &File, bytes: u64) -> io::Result<()> {
    let mut offset = 0;
    while offset < bytes {
        let hole = match rustix::fs::seek(file, SeekFrom::Hole(offset)) {
            Ok(hole) if hole < bytes => hole,
            Ok(_) | Err(Errno::NXIO) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let end = match rustix::fs::seek(file, SeekFrom::Data(hole)) {
            Ok(data) => data.min(bytes),
            Err(Errno::NXIO) => bytes,
            Err(error) => return Err(error.into()),
        };
        write_zeros(file, hole, end)?;
        offset = end;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocated(file: &File) -> u64 {
        file.metadata().unwrap().blocks() * 512
    }

    #[test]
    fn extended_file_has_all_its_blocks_and_reads_zeros() {
        let file = tempfile::tempfile().unwrap();
        extend(&file, 0, 100_000, Fallback::Zeros).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 100_000);
        assert!(allocated(&file) >= 100_000);
        let mut bytes = vec![1; 100_000];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert!(bytes.iter().all(|&byte| byte == 0));
        extend(&file, 100_000, 100_000, Fallback::Zeros).unwrap();
        extend(&file, 100_000, 50, Fallback::Zeros).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 100_000);
    }

    #[test]
    fn zeros_are_written_without_fallocate() {
        let file = tempfile::tempfile().unwrap();
        let bytes = ZEROS_BYTES as u64 * 2 + 17;
        write_zeros(&file, 5, bytes).unwrap();
        assert_eq!(file.metadata().unwrap().len(), bytes);
        file.sync_all().unwrap();
        assert!(allocated(&file) >= bytes - 5);
    }

    #[test]
    fn holes_are_filled_and_data_is_kept() {
        for fill in [fill_holes, fill_holes_with_zeros] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(1 << 20).unwrap();
            file.write_all_at(b"kept", 500_000).unwrap();
            fill(&file, 1 << 20).unwrap();
            file.sync_all().unwrap();
            assert!(allocated(&file) >= 1 << 20);
            let mut bytes = [1; 12];
            file.read_exact_at(&mut bytes, 496_004 + 3_992).unwrap();
            assert_eq!(&bytes, b"\0\0\0\0kept\0\0\0\0");
            assert_eq!(file.metadata().unwrap().len(), 1 << 20);
        }
    }
}
