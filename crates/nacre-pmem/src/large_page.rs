//! Large pages: mappings of memory-backed pools by 2 MiB instead of 4 KiB.
//!
//! 1. A mapping of 2 MiB or more begins at a multiple of 2 MiB, so that the kernel can use large
//!    pages at all.
//! 2. `MADV_HUGEPAGE` asks for them. Where a pool is created or grows, `MADV_COLLAPSE` makes them
//!    at once, on any tmpfs and whatever its mount options say; they stay as long as the file.
//!
//! Both are wishes: memory may be too fragmented, or the kernel older than 6.1. What came of them
//! is counted by [`crate::Pool::large_page_bytes`].
//!
//! # Source
//! [Zarubin22 3.2.1] maps pools by large pages: with 4 KiB pages address translation of every
//! replica weighs as much as its store.

use std::fmt;
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::str::FromStr;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

/// Bytes of a large page.
pub(crate) const LARGE_PAGE_BYTES: usize = 2 << 20;
/// `MADV_COLLAPSE` of Linux 6.1.
const MADV_COLLAPSE: libc::c_int = 25;
/// Where the kernel says that it knows large pages.
const KERNEL_SWITCH: &str = "/sys/kernel/mm/transparent_hugepage/enabled";

/// Whether memory-backed pools are mapped by large pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LargePages {
    /// Wherever the kernel can.
    #[default]
    Auto,
    /// Never asked for.
    Off,
}

impl LargePages {
    /// All choices.
    pub const ALL: [LargePages; 2] = [LargePages::Auto, LargePages::Off];

    fn name(self) -> &'static str {
        match self {
            LargePages::Auto => "auto",
            LargePages::Off => "off",
        }
    }
}

impl fmt::Display for LargePages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for LargePages {
    type Err = ();

    fn from_str(text: &str) -> Result<LargePages, ()> {
        LargePages::ALL.into_iter().find(|choice| choice.name() == text).ok_or(())
    }
}

/// Whether this kernel knows large pages.
pub(crate) fn are_known() -> bool {
    std::path::Path::new(KERNEL_SWITCH).exists()
}

/// Maps `bytes` bytes of a file where the kernel likes, at a multiple of 2 MiB if it is that long.
pub(crate) fn map(
    file: BorrowedFd<'_>,
    offset: u64,
    bytes: usize,
    protection: ProtFlags,
    flags: MapFlags,
) -> io::Result<*mut u8> {
    if bytes >= LARGE_PAGE_BYTES
        && let Some(base) = reserve(bytes)
    {
        // SAFETY: `base .. base + bytes` was reserved by this call and nobody else knows it, so
        // MAP_FIXED replaces nothing but the reservation.
        let mapped = unsafe {
            rustix::mm::mmap(base, bytes, protection, flags | MapFlags::FIXED, file, offset)
        };
        return match mapped {
            Ok(base) => Ok(base.cast()),
            Err(error) => {
                // SAFETY: reserved above, and nobody has seen it.
                let _ = unsafe { rustix::mm::munmap(base, bytes) };
                Err(error.into())
            }
        };
    }
    // SAFETY: without MAP_FIXED the kernel chooses a free range, so no mapping is replaced.
    let base =
        unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, protection, flags, file, offset)? };
    Ok(base.cast())
}

/// Reserves address space for `bytes` bytes that begins at a multiple of 2 MiB.
fn reserve(bytes: usize) -> Option<*mut core::ffi::c_void> {
    let page = rustix::param::page_size();
    let needed = bytes.checked_next_multiple_of(page)?;
    let reserved = needed.checked_add(LARGE_PAGE_BYTES)?;
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: without MAP_FIXED the kernel chooses a free range, so no mapping is replaced.
    let start = unsafe {
        rustix::mm::mmap_anonymous(std::ptr::null_mut(), reserved, ProtFlags::empty(), flags)
    };
    let start = start.ok()?.cast::<u8>();
    let head = start.align_offset(LARGE_PAGE_BYTES);
    let base = start.wrapping_add(head);
    let tail = reserved - head - needed;
    // SAFETY: head and tail are parts of the reservation in whole pages, outside
    // `base .. base + needed`; nobody uses them.
    unsafe {
        if head > 0 {
            let _ = rustix::mm::munmap(start.cast(), head);
        }
        if tail > 0 {
            let _ = rustix::mm::munmap(base.wrapping_add(needed).cast(), tail);
        }
    }
    Some(base.cast())
}

/// Asks for large pages in the whole large pages of `base + range`, and makes them now if
/// `collapses`.
pub(crate) fn advise(base: *mut u8, range: Range<usize>, collapses: bool) {
    let start = range.start.next_multiple_of(LARGE_PAGE_BYTES);
    let end = range.end & !(LARGE_PAGE_BYTES - 1);
    if start >= end || base.align_offset(LARGE_PAGE_BYTES) != 0 {
        return;
    }
    let ask = |advice| {
        // SAFETY: the caller's range is mapped; both kinds of advice change no byte.
        unsafe { libc::madvise(base.wrapping_add(start).cast(), end - start, advice) }
    };
    if ask(libc::MADV_HUGEPAGE) == 0 && collapses {
        // Best effort, as the module says.
        let _ = ask(MADV_COLLAPSE);
    }
}

/// Returns how many bytes of `[start, start + bytes)` are mapped by large pages now.
pub(crate) fn count(start: usize, bytes: usize) -> io::Result<u64> {
    if bytes < LARGE_PAGE_BYTES {
        // Reading the list of all mappings takes a millisecond.
        return Ok(0);
    }
    let smaps = std::fs::read_to_string("/proc/self/smaps")?;
    count_in(&smaps, start..start.saturating_add(bytes)).ok_or_else(|| Errno::INVAL.into())
}

/// Adds up the lines `ShmemPmdMapped: 2048 kB` of the mappings inside a range. A mapping begins
/// with a line such as `7f00-7f20 rw-s 00000000 00:1a 11 /dev/shm/x`.
fn count_in(smaps: &str, range: Range<usize>) -> Option<u64> {
    let mut is_inside = false;
    let mut kib = 0;
    for line in smaps.lines() {
        let mut words = line.split_whitespace();
        let first = words.next()?;
        if let Some((from, to)) = first.split_once('-')
            && let (Ok(from), Ok(to)) =
                (usize::from_str_radix(from, 16), usize::from_str_radix(to, 16))
        {
            // The last page of a mapping reaches past its bytes.
            is_inside = from >= range.start && from < range.end && to > from;
        } else if is_inside && matches!(first, "FilePmdMapped:" | "ShmemPmdMapped:") {
            kib += words.next()?.parse::<u64>().ok()?;
        }
    }
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_mapped_bytes_of_the_range_are_added_up() {
        let smaps = "1000-200000 rw-s 0 00:1a 11 /x\nShmemPmdMapped:  2048 kB\n\
                     200000-600000 rw-s 0 00:1a 11 /x\nSize: 4096 kB\nFilePmdMapped: 2048 kB\n\
                     ShmemPmdMapped: 2048 kB\nVmFlags: rd wr\n\
                     600000-800000 r--p 0 00:00 0\nShmemPmdMapped: 4 kB\n";
        assert_eq!(count_in(smaps, 0x200000..0x600000), Some(4 << 20));
        assert_eq!(count_in(smaps, 0x800000..0x900000), Some(0));
    }

    #[test]
    fn names_read_back() {
        for choice in LargePages::ALL {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert_eq!("on".parse::<LargePages>(), Err(()));
    }
}
