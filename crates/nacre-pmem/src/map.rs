//! One mapped range of a file, and every access to it that needs `unsafe`.
//!
//! # Invariants
//! 1. `base .. base + bytes` is mapped from construction to drop, or `bytes == 0`.
//! 2. A mapping made with a `Write` mode has its space allocated (see `space`), so stores cannot
//!    fail for want of it.
//! 3. Bytes under a shared reference are not changed: a change needs `&mut self`, or goes to a
//!    range that its caller owns alone ([`Mapping::stream`]). Other mappings of the same file obey
//!    the rule of one writer that the crate's root states.
//!
//! Whoever truncates a mapped file from outside makes accesses to it fail with SIGBUS; every
//! mapping is registered with [`crate::fault`], which puts zeros in place of what is gone.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use rustix::io::Errno;
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags};

use crate::fault::{FaultCell, registry};
use crate::flush::{self, FlushFlavour};
use crate::large_page;
use crate::sim;
use crate::stream::{self, StreamFlavour};

/// How a file is mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapMode {
    Read,
    /// Read with `MAP_SYNC`, only to find out whether it is accepted.
    ReadSync,
    Write,
    /// Write with `MAP_SYNC`.
    WriteSync,
}

/// A mapped range of a file.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    /// Where the fault handler notes what was lost.
    faults: &'static FaultCell,
}

// SAFETY: a mapping belongs to the process, not to a thread; nothing in it is thread-bound.
unsafe impl Send for Mapping {}
// SAFETY: methods on `&self` read, flush, load atomically, or write to a range that the caller of
// the unsafe `stream` owns alone (invariant 3).
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` bytes of `file` from the page-aligned `offset`. Zero bytes map nothing.
    pub(crate) fn new(
        file: BorrowedFd<'_>,
        offset: u64,
        bytes: u64,
        mode: MapMode,
    ) -> io::Result<Mapping> {
        if bytes == 0 {
            let faults = &registry::NOTHING;
            return Ok(Mapping { base: NonNull::dangling(), bytes: 0, faults });
        }
        // A slice may not be longer than `isize::MAX`.
        let Ok(length) = isize::try_from(bytes) else {
            return Err(Errno::NOMEM.into());
        };
        let protection = match mode {
            MapMode::Read | MapMode::ReadSync => ProtFlags::READ,
            MapMode::Write | MapMode::WriteSync => ProtFlags::READ | ProtFlags::WRITE,
        };
        let flags = match mode {
            MapMode::Read | MapMode::Write => MapFlags::SHARED,
            MapMode::ReadSync | MapMode::WriteSync => MapFlags::SHARED_VALIDATE | MapFlags::SYNC,
        };
        let length = length as usize;
        let base = large_page::map(file, offset, length, protection, flags)?;
        let base = NonNull::new(base).ok_or(Errno::NOMEM)?;
        let is_writable = matches!(mode, MapMode::Write | MapMode::WriteSync);
        match registry::register(base.as_ptr(), length, is_writable) {
            Ok(faults) => {
                sim::mapped(file, offset, base.as_ptr(), length);
                Ok(Mapping { base, bytes: length, faults })
            }
            Err(error) => {
                // SAFETY: mapped above with this length, and nobody has seen it.
                let _ = unsafe { rustix::mm::munmap(base.as_ptr().cast(), length) };
                Err(error)
            }
        }
    }

    /// Returns what is known of lost pages.
    #[inline]
    pub(crate) fn faults(&self) -> &'static FaultCell {
        self.faults
    }

    /// Returns the address of the first byte.
    pub(crate) fn base(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Returns the mapped bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the bytes that are mapped by large pages now.
    pub(crate) fn large_page_bytes(&self) -> u64 {
        // Without `/proc` nothing is known of any.
        large_page::count(self.base.as_ptr() as usize, self.bytes).unwrap_or(0)
    }

    /// Asks for large pages in a range, and makes them now if `collapses`.
    pub(crate) fn advise_large(&self, range: Range<usize>, collapses: bool) {
        self.check(&range);
        large_page::advise(self.base.as_ptr(), range, collapses);
    }

    /// Returns a range of the mapping.
    ///
    /// # Panics
    /// If the range is not inside: the caller checks it.
    pub(crate) fn read(&self, range: Range<usize>) -> &[u8] {
        self.check(&range);
        // SAFETY: the range is mapped (checked) and initialised, being a file's bytes; bytes need
        // no alignment; nobody writes to it while `self` is borrowed (invariant 3); the mapping
        // outlives the borrow.
        unsafe { std::slice::from_raw_parts(self.at(range.start), range.len()) }
    }

    /// Copies `source` to `offset` of a writable mapping.
    ///
    /// # Panics
    /// As for [`Mapping::read`].
    pub(crate) fn write(&mut self, offset: usize, source: &[u8]) {
        self.check(&(offset..offset + source.len()));
        // SAFETY: the target is mapped (checked) and writable (callers refuse read-only pools);
        // `source` does not overlap it, since `&mut self` excludes borrows of the mapping.
        unsafe {
            std::ptr::copy_nonoverlapping(source.as_ptr(), self.at(offset), source.len());
        }
        sim::stored(self.at(offset), source.len(), sim::Store::Temporal);
    }

    /// Copies `source` to `offset` of a writable mapping and starts its write-back. Durable after
    /// a fence of this thread.
    ///
    /// # Safety
    /// The mapping is writable, both flavours are available, and until this returns no other
    /// thread accesses `offset .. offset + source.len()`, nor does `source` overlap it.
    pub(crate) unsafe fn stream(
        &self,
        offset: usize,
        source: &[u8],
        stream: StreamFlavour,
        flush: FlushFlavour,
    ) {
        self.check(&(offset..offset + source.len()));
        // SAFETY: mapped (checked); writable, exclusive, disjoint and available by the caller's
        // contract.
        unsafe { stream::copy_nt(stream, flush, self.at(offset), source) };
    }

    /// Loads the 8-byte word at the aligned `offset`; pairs with [`Mapping::store_u64`].
    pub(crate) fn load_u64(&self, offset: usize) -> u64 {
        self.check(&(offset..offset + 8));
        assert!(offset.is_multiple_of(8));
        // SAFETY: mapped (checked) and 8-aligned, since `base` is page-aligned; only atomic
        // stores change it while it is shared. A relaxed 8-byte load is defined on read-only
        // pages too, which an acquire load is not.
        let word = unsafe { &*self.at(offset).cast::<AtomicU64>() };
        // ORDERING: this load and fence pair with the release store in `store_u64`: whoever sees
        // the value sees what was written before it.
        let value = word.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        value
    }

    /// Stores the 8-byte word at the aligned `offset` of a writable mapping, whole or not at all.
    pub(crate) fn store_u64(&mut self, offset: usize, value: u64) {
        self.check(&(offset..offset + 8));
        assert!(offset.is_multiple_of(8));
        // SAFETY: mapped (checked), writable (callers refuse read-only pools), 8-aligned since
        // `base` is page-aligned; other mappings of the file access it atomically.
        let word = unsafe { &*self.at(offset).cast::<AtomicU64>() };
        // ORDERING: release, pairs with the acquire fence in `load_u64`.
        word.store(value, Ordering::Release);
        sim::stored(self.at(offset), 8, sim::Store::Temporal);
    }

    /// Starts write-back of the lines that a range touches, by instruction.
    pub(crate) fn flush(&self, range: Range<usize>, flavour: FlushFlavour) {
        self.check(&range);
        // SAFETY: the range is mapped (checked); the flavour was found available when the domain
        // was opened.
        unsafe { flush::flush_lines(flavour, self.at(range.start), range.len()) };
    }

    /// Writes the pages that a range touches back and waits.
    pub(crate) fn sync(&self, range: Range<usize>) -> io::Result<()> {
        self.check(&range);
        let start = range.start & !(rustix::param::page_size() - 1);
        if range.is_empty() {
            return Ok(());
        }
        let bytes = range.end - start;
        // SAFETY: `start` is page-aligned and not after `range.start`, so the range is mapped;
        // MS_SYNC writes back and changes no byte.
        unsafe { rustix::mm::msync(self.at(start).cast(), bytes, MsyncFlags::SYNC)? };
        sim::synced(self.at(start), bytes);
        Ok(())
    }

    fn at(&self, offset: usize) -> *mut u8 {
        debug_assert!(offset <= self.bytes);
        // SAFETY: callers checked `offset <= bytes`, so this stays in (or one past) the mapping;
        // `bytes <= isize::MAX`.
        unsafe { self.base.as_ptr().add(offset) }
    }

    fn check(&self, range: &Range<usize>) {
        assert!(
            range.start <= range.end && range.end <= self.bytes,
            "range {range:?} outside a mapping of {} bytes",
            self.bytes
        );
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        sim::unmapped(self.base.as_ptr());
        registry::retire(self.faults);
        // SAFETY: `base .. base + bytes` was mapped by `new` and is unmapped only here; borrows
        // of it end before the drop, and no fault handler works on it after `retire`.
        let result = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.bytes) };
        debug_assert!(result.is_ok(), "munmap: {result:?}");
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn two_mappings_of_one_file_share_bytes() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8192).unwrap();
        let mut writer = Mapping::new(file.as_fd(), 0, 8192, MapMode::Write).unwrap();
        let reader = Mapping::new(file.as_fd(), 4096, 4096, MapMode::Read).unwrap();
        writer.write(4096, b"shared");
        writer.store_u64(4112, 7);
        writer.sync(4095..4120).unwrap();
        assert_eq!(reader.read(0..6), b"shared");
        assert_eq!(reader.load_u64(16), 7);
    }

    #[test]
    fn nothing_is_mapped_for_zero_bytes() {
        let file = tempfile::tempfile().unwrap();
        let mapping = Mapping::new(file.as_fd(), 0, 0, MapMode::Write).unwrap();
        assert_eq!(mapping.read(0..0), b"");
        mapping.sync(0..0).unwrap();
        mapping.flush(0..0, FlushFlavour::best());
    }

    #[test]
    fn more_than_the_address_space_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        for bytes in [1 << 62, i64::MAX as u64, u64::MAX] {
            let error = Mapping::new(file.as_fd(), 0, bytes, MapMode::Read).unwrap_err();
            assert_eq!(Errno::from_io_error(&error), Some(Errno::NOMEM), "{bytes}");
        }
    }

    #[test]
    #[should_panic(expected = "outside a mapping")]
    fn access_outside_is_a_broken_contract() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(100).unwrap();
        let mapping = Mapping::new(file.as_fd(), 0, 100, MapMode::Read).unwrap();
        mapping.read(90..101);
    }
}
