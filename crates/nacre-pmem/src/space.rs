//! Space behind a pool, allocated before it is used.
//!
//! A store into a hole of a mapped file on a full disk is SIGBUS, and what was stored is lost. So
//! every byte behind a writable mapping is allocated first: with `fallocate`, or by writing zeros
//! where a file system cannot. A file system that never overwrites in place (btrfs, zfs) may still
//! want space for a store into allocated bytes; there a full disk shows as lost pages
//! ([`crate::fault`]), and nothing published is lost.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

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

/// A range of a file: its first byte, and the byte behind its last.
pub(crate) type FileRange = (u64, u64);

/// Allocates what a file of `bytes` bytes has as holes, for instance after a sparse copy.
///
/// The count of a file's blocks does not tell: ext4 counts those of its extent tree, too, so that a
/// page can be missing of a file that has more blocks than bytes.
pub(crate) fn fill_holes(file: &File, bytes: u64) -> io::Result<()> {
    let holes = find_holes(file, bytes).unwrap_or_else(|_| vec![(0, bytes)]);
    for (from, to) in holes {
        match allocate(file, from, to) {
            Err(error) if lacks_fallocate(&error) => write_zeros(file, from, to)?,
            result => result?,
        }
    }
    Ok(())
}

/// Returns the ranges among the first `bytes` bytes that hold no data, in ascending order: holes,
/// and space that was allocated and never written, as long as its pages are not in memory.
///
/// # Errors
/// `EINVAL` of a file system that does not tell.
pub(crate) fn find_holes(file: &File, bytes: u64) -> io::Result<Vec<FileRange>> {
    let (mut holes, mut offset) = (Vec::new(), 0);
    while offset < bytes {
        let hole = match rustix::fs::seek(file, SeekFrom::Hole(offset)) {
            Ok(hole) if hole < bytes => hole,
            // Behind the last data there is a hole at the end of the file.
            Ok(_) | Err(Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        offset = match rustix::fs::seek(file, SeekFrom::Data(hole)) {
            Ok(data) => data.min(bytes),
            Err(Errno::NXIO) => bytes,
            Err(error) => return Err(error.into()),
        };
        if offset <= hole {
            break;
        }
        holes.push((hole, offset));
    }
    Ok(holes)
}

/// Returns the parts of `ranges` that are in none of `others`; both ascend.
pub(crate) fn subtract_ranges(ranges: &[FileRange], others: &[FileRange]) -> Vec<FileRange> {
    let mut left = Vec::new();
    for &(from, to) in ranges {
        let mut offset = from;
        let first = others.partition_point(|other| other.1 <= from);
        for &(start, end) in others[first..].iter().take_while(|other| other.0 < to) {
            if offset < start {
                left.push((offset, start));
            }
            offset = offset.max(end);
        }
        if offset < to {
            left.push((offset, to));
        }
    }
    left
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

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

    /// Files on the file system of temporary files, and in memory.
    fn files() -> [File; 2] {
        let memory =
            rustix::fs::memfd_create("nacre-space", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        [tempfile::tempfile().unwrap(), File::from(memory)]
    }

    #[test]
    fn holes_are_found_and_filled_and_data_is_kept() {
        for file in files() {
            let bytes = 1 << 20;
            file.set_len(bytes).unwrap();
            file.write_all_at(&[1; 4096], 40_960).unwrap();
            assert_eq!(find_holes(&file, bytes).unwrap(), [(0, 40_960), (45_056, bytes)]);
            assert_eq!(find_holes(&file, 4096).unwrap(), [(0, 4096)]);
            fill_holes(&file, bytes).unwrap();
            file.sync_all().unwrap();
            assert!(allocated(&file) >= bytes);
            let mut found = [1; 8192];
            file.read_exact_at(&mut found, 40_960).unwrap();
            assert_eq!(found[..4096], [1; 4096]);
            assert_eq!(found[4096..], [0; 4096]);
            assert_eq!(file.metadata().unwrap().len(), bytes);
            write_zeros(&file, 0, bytes).unwrap();
            assert_eq!(find_holes(&file, bytes).unwrap(), []);
        }
    }

    #[test]
    fn ranges_are_subtracted_at_every_edge() {
        let others = [(10, 20), (30, 40)];
        let cases: [(FileRange, &[FileRange]); 8] = [
            ((0, 10), &[(0, 10)]),
            ((0, 11), &[(0, 10)]),
            ((0, 50), &[(0, 10), (20, 30), (40, 50)]),
            ((10, 20), &[]),
            ((12, 18), &[]),
            ((15, 35), &[(20, 30)]),
            ((20, 30), &[(20, 30)]),
            ((39, 45), &[(40, 45)]),
        ];
        for (range, left) in cases {
            assert_eq!(subtract_ranges(&[range], &others), left, "{range:?}");
        }
        assert_eq!(subtract_ranges(&[(0, 15), (35, 50)], &others), [(0, 10), (40, 50)]);
        assert_eq!(subtract_ranges(&others, &[]), others);
    }
}
