//! A mapped pool: read in place, updated in place, made durable by `flush` and `drain`.
//!
//! # Invariants
//! 1. `bytes()` is the size of the mapping; every range is checked against it before an access.
//! 2. A pool opened for writing has all its space allocated.
//! 3. After a failed write-back the pool refuses to drain: the kernel may have dropped the pages,
//!    so a second, successful attempt would prove nothing.
//! 4. A pool whose mapping lost pages refuses to drain, publish and grow until it is mapped afresh
//!    ([`crate::fault`]).
//!
//! # Durability
//! | call | on return |
//! |---|---|
//! | `write` | visible to other mappings; durable only by chance |
//! | `write_nt` | as `write` and `flush`; other threads see it after `drain` |
//! | `flush` | write-back of the range has begun (page granularity: is noted) |
//! | `drain` | what this thread flushed before is durable |
//! | `persist` | the range is durable |
//! | `publish_u64` | the word is durable, and was never visible in part |
//! | `grow` | the new size is durable, the new bytes are zeros |
//!
//! # Concurrency
//! Reading and flushing take `&self`; changing bytes takes `&mut self`. A fence waits for the
//! instructions of its own thread only, so flush and drain on the same thread.
//!
//! # Source
//! [Zarubin22 2.1.3] flush and fence; the split into three verbs follows libpmem2.

use std::fmt;
use std::fs::File;
use std::ops::{Deref, Range};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rustix::io::Errno;

use crate::domain::Access;
use crate::durability::Plan;
use crate::error::{Error, ErrorKind, Result};
use crate::flush::{self, FlushFlavour};
use crate::granularity::{DomainKind, Granularity};
use crate::map::{MapMode, Mapping};
use crate::prefetch;
use crate::sim;
use crate::space::{self, Fallback};

/// A mapped pool, updated in place or read only.
pub struct Pool {
    /// `pool PATH`, for messages.
    pub(crate) object: String,
    /// `None` in DRAM.
    pub(crate) path: Option<PathBuf>,
    pub(crate) mapping: Mapping,
    /// When the file had been changed last before it was mapped.
    pub(crate) modified: Option<SystemTime>,
    /// Kept open only for writing: a database may have more pools than file descriptors. A memory
    /// file is open anyway.
    pub(crate) file: Option<Arc<File>>,
    pub(crate) access: Access,
    pub(crate) plan: Plan,
    /// Smallest range that covers what was flushed but not drained, at page granularity.
    pending: Mutex<Option<Range<usize>>>,
    /// Set by a failed drain, read by every drain (invariant 3).
    pub(crate) has_failed: AtomicBool,
}

impl Pool {
    /// Maps `file`, allocating its holes if it will be written.
    pub(crate) fn map(
        object: String,
        path: Option<PathBuf>,
        file: Arc<File>,
        access: Access,
        plan: Plan,
    ) -> Result<Pool> {
        let metadata =
            file.metadata().map_err(|error| Error::os(&object, "cannot read its size", error))?;
        let bytes = metadata.len();
        let mapping = map(&object, &file, bytes, access, &plan)?;
        if plan.large_pages {
            mapping.advise_large(0..mapping.bytes(), false);
        }
        let file = match access {
            Access::ReadOnly => Some(file).filter(|_| path.is_none()),
            Access::ReadWrite => {
                space::fill_holes(&file, bytes).map_err(|error| {
                    let action = format!("cannot allocate its {bytes} bytes");
                    Error::allocating(&object, &action, (&*file, bytes), error)
                })?;
                Some(file)
            }
        };
        Ok(Pool {
            object,
            path,
            mapping,
            modified: metadata.modified().ok(),
            file,
            access,
            plan,
            pending: Mutex::new(None),
            has_failed: AtomicBool::new(false),
        })
    }

    /// Returns the size of the pool.
    pub fn bytes(&self) -> u64 {
        self.mapping.bytes() as u64
    }

    /// Returns the address of the first byte.
    pub(crate) fn base(&self) -> *mut u8 {
        self.mapping.base()
    }

    /// Whether the pool was opened for writing.
    pub fn is_writable(&self) -> bool {
        self.access == Access::ReadWrite
    }

    /// Returns the bytes of the pool that are mapped by large pages now, as the kernel counts them.
    /// It reads `/proc`, so ask seldom.
    pub fn large_page_bytes(&self) -> u64 {
        self.mapping.large_page_bytes()
    }

    /// Returns a range of the pool without copying it.
    ///
    /// # Errors
    /// `OutOfRange` if the pool is shorter.
    pub fn read(&self, offset: u64, bytes: u64) -> Result<&[u8]> {
        Ok(self.mapping.read(self.range(offset, bytes)?))
    }

    /// Copies `source` into the pool. Not durable until it is persisted.
    ///
    /// # Errors
    /// `ReadOnly`, or `OutOfRange` if the pool is shorter; then nothing is written.
    pub fn write(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        self.check_writable()?;
        let range = self.range(offset, source.len() as u64)?;
        self.mapping.write(range.start, source);
        Ok(())
    }

    /// Copies `source` into the pool past the caches where that is possible, and starts its
    /// write-back: durable after a [`drain`](Pool::drain) of this thread.
    ///
    /// # Errors
    /// As for [`Pool::write`].
    pub fn write_nt(&mut self, offset: u64, source: &[u8]) -> Result<()> {
        if !self.plan.flush.is_instruction() {
            self.write(offset, source)?;
            return self.flush(offset, source.len() as u64);
        }
        self.check_writable()?;
        let range = self.range(offset, source.len() as u64)?;
        // SAFETY: the mapping is writable (checked) and holds the range (checked); both flavours
        // were found available when the domain was opened; `&mut self` excludes readers of this
        // mapping, and `source`, being borrowed, does not lie in it.
        unsafe { self.mapping.stream(range.start, source, self.plan.stream, self.plan.flush) };
        Ok(())
    }

    /// Loads the word at `offset`, whole and together with all that was written before it was
    /// published.
    ///
    /// # Errors
    /// `NotAligned` if `offset` is no multiple of 8, `OutOfRange` if the pool is shorter.
    pub fn load_u64(&self, offset: u64) -> Result<u64> {
        Ok(self.mapping.load_u64(self.word(offset)?))
    }

    /// Stores the word at `offset` by one 8-byte store and persists it. What it makes reachable
    /// must be durable already.
    ///
    /// # Errors
    /// As for [`Pool::load_u64`], `ReadOnly`, and as for [`Pool::drain`].
    pub fn publish_u64(&mut self, offset: u64, value: u64) -> Result<()> {
        self.check_writable()?;
        let word = self.word(offset)?;
        self.check_faults()?;
        // PERSIST: the caller drained what the word refers to; this fence keeps streaming stores
        // of this thread before the word on every kind, and the store makes them reachable.
        flush::fence();
        self.mapping.store_u64(word, value);
        self.persist(offset, 8)
    }

    /// Starts write-back of a range.
    ///
    /// # Errors
    /// `ReadOnly`, `OutOfRange`.
    pub fn flush(&self, offset: u64, bytes: u64) -> Result<()> {
        self.check_writable()?;
        let range = self.range(offset, bytes)?;
        if range.is_empty() {
            return Ok(());
        }
        match self.plan.flush {
            FlushFlavour::None => {}
            FlushFlavour::Msync => {
                let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
                *pending = Some(match pending.take() {
                    None => range,
                    Some(old) => old.start.min(range.start)..old.end.max(range.end),
                });
            }
            FlushFlavour::Clflush | FlushFlavour::Clflushopt | FlushFlavour::Clwb => {
                self.mapping.flush(range, self.plan.flush);
            }
        }
        Ok(())
    }

    /// Waits until what this thread flushed is durable.
    ///
    /// # Errors
    /// `Io` or `NoSpace` if the device refuses the bytes, now or in an earlier drain: reopen the
    /// pool and recover. `Lost` if the mapping lost pages: what was stored there is gone.
    /// `ReadOnly`.
    pub fn drain(&self) -> Result<()> {
        self.check_writable()?;
        if self.plan.flush == FlushFlavour::Msync {
            self.drain_pages()?;
        } else {
            // PERSIST: lines flushed or streamed by this thread are durable after this fence (or
            // only ordered, where nothing is durable); the caller may now publish them.
            flush::fence();
        }
        self.check_faults()
    }

    fn drain_pages(&self) -> Result<()> {
        // The lock is held while the kernel writes, so that a second thread whose range was
        // merged into this one does not return early.
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        // ORDERING: Relaxed, both sides hold the lock.
        if self.has_failed.load(Ordering::Relaxed) {
            return Err(Error::new(
                ErrorKind::Io,
                &self.object,
                "an earlier write-back failed, so its bytes may be lost",
                "see the kernel's log, then open the database again",
            ));
        }
        let Some(range) = pending.take() else {
            return Ok(());
        };
        // PERSIST: the pages of all flushed ranges are on the medium when this returns; the
        // caller may now publish them.
        self.mapping.sync(range.clone()).map_err(|error| {
            // ORDERING: Relaxed, as above.
            self.has_failed.store(true, Ordering::Relaxed);
            let action = format!("cannot write back bytes {}..{}", range.start, range.end);
            Error::os(&self.object, &action, error)
        })
    }

    /// Makes a range durable: flushes and drains.
    ///
    /// # Errors
    /// As for [`Pool::flush`] and [`Pool::drain`].
    pub fn persist(&self, offset: u64, bytes: u64) -> Result<()> {
        self.flush(offset, bytes)?;
        self.drain()
    }

    /// Extends the pool to `bytes` bytes, allocated and durable; new bytes are zeros. A pool that
    /// is large enough stays as it is.
    ///
    /// # Errors
    /// `NoSpace`, `OutOfMemory`, `ReadOnly`, `Io`; `Lost` if pages were lost or the file was cut,
    /// which growing would hide; the pool is as before.
    pub fn grow(&mut self, bytes: u64) -> Result<()> {
        let old = self.bytes();
        let file = self.writable_file()?;
        if bytes <= old {
            return Ok(());
        }
        self.check_file()?;
        let grown = self.grow_file(file, old, bytes);
        if grown.is_err() {
            // The mapping does not reach past `old`. The first error is the one to report.
            let _ = file.set_len(old);
            sim::resized(file);
        }
        self.mapping = grown?;
        Ok(())
    }

    /// Takes back what [`Pool::grow`] did to a pool of `bytes` bytes. Nothing refers to the bytes
    /// that go.
    pub(crate) fn shrink(&mut self, bytes: u64) -> Result<()> {
        let file = self.writable_file()?;
        let mapping = map(&self.object, file, bytes, Access::ReadWrite, &self.plan)?;
        self.mapping = mapping;
        let file = self.writable_file()?;
        let cut = file.set_len(bytes);
        sim::resized(file);
        cut.map_err(|error| Error::os(&self.object, "cannot take back its growth", error))
    }

    fn grow_file(&self, file: &File, old: u64, bytes: u64) -> Result<Mapping> {
        let action = format!("cannot grow from {old} to {bytes} bytes");
        space::extend(file, old, bytes, Fallback::Zeros).map_err(|error| {
            Error::allocating(&self.object, &action, (file, bytes.saturating_sub(old)), error)
        })?;
        if self.plan.syncs {
            // PERSIST: size and allocation are durable before anything in the new part can be
            // published.
            file.sync_all().map_err(|error| Error::os(&self.object, &action, error))?;
            sim::file_synced(file);
        }
        let mapping = map(&self.object, file, bytes, Access::ReadWrite, &self.plan)?;
        if self.plan.large_pages {
            mapping.advise_large(0..mapping.bytes(), false);
            mapping.advise_large(old as usize..mapping.bytes(), true);
        }
        Ok(mapping)
    }

    /// Makes large pages of all that can be one, for a pool that was just created.
    pub(crate) fn collapse(&self) {
        if self.plan.large_pages {
            self.mapping.advise_large(0..self.mapping.bytes(), true);
        }
    }

    /// Returns an owned range that keeps the pool mapped. While it lives nobody can have the pool
    /// mutably, so its bytes do not change.
    ///
    /// # Errors
    /// `OutOfRange` if the pool is shorter.
    pub fn whole(self: &Arc<Pool>, offset: u64, bytes: u64) -> Result<PoolSlice> {
        let slice = self.read(offset, bytes)?;
        let (start, bytes) = (NonNull::from(slice).cast::<u8>(), slice.len());
        Ok(PoolSlice { pool: Arc::clone(self), start, bytes })
    }

    fn writable_file(&self) -> Result<&File> {
        self.file.as_deref().filter(|_| self.is_writable()).ok_or_else(|| {
            Error::new(
                ErrorKind::ReadOnly,
                &self.object,
                "it was opened read-only",
                "open it for writing",
            )
        })
    }

    fn check_writable(&self) -> Result<()> {
        self.writable_file().map(|_| ())
    }

    pub(crate) fn range(&self, offset: u64, bytes: u64) -> Result<Range<usize>> {
        match offset.checked_add(bytes) {
            // Both lie within the mapping, so both fit `usize`.
            Some(end) if end <= self.bytes() => Ok(offset as usize..end as usize),
            _ => Err(self.out_of_range(offset, bytes)),
        }
    }

    #[cold]
    #[inline(never)]
    fn out_of_range(&self, offset: u64, bytes: u64) -> Error {
        let problem = match bytes {
            0 => format!("offset {offset} lies behind its {} bytes", self.bytes()),
            _ => format!("needs {bytes} bytes at offset {offset}, but has {} bytes", self.bytes()),
        };
        let remedy = "the file is truncated or foreign: restore it from a copy";
        Error::new(ErrorKind::OutOfRange, &self.object, problem, remedy)
    }

    fn word(&self, offset: u64) -> Result<usize> {
        if !offset.is_multiple_of(8) {
            return Err(Error::new(
                ErrorKind::NotAligned,
                &self.object,
                format!("offset {offset} of an 8-byte word is no multiple of 8"),
                "",
            ));
        }
        Ok(self.range(offset, 8)?.start)
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} bytes)", self.object, self.bytes())
    }
}

/// Maps a whole file.
pub(crate) fn map(
    object: &str,
    file: &File,
    bytes: u64,
    access: Access,
    plan: &Plan,
) -> Result<Mapping> {
    let needs_sync = plan.kind == DomainKind::Pmem && plan.granularity != Granularity::Page;
    let mode = match access {
        Access::ReadOnly => MapMode::Read,
        Access::ReadWrite if needs_sync => MapMode::WriteSync,
        Access::ReadWrite => MapMode::Write,
    };
    Mapping::new(file.as_fd(), 0, bytes, mode).map_err(|error| {
        if needs_sync && Errno::from_io_error(&error) == Some(Errno::OPNOTSUPP) {
            return Error::new(
                ErrorKind::Unsupported,
                object,
                "this file cannot be mapped synchronously, although its directory can",
                "copy it within the directory, or set NACRE_DOMAIN_KIND=file",
            );
        }
        Error::os(object, &format!("cannot map its {bytes} bytes"), error)
    })
}

/// An owned range of a pool. Cloning it copies no byte.
#[derive(Clone)]
pub struct PoolSlice {
    pool: Arc<Pool>,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the slice is a shared reference into a mapping that its `Arc` keeps alive, and both
// `Pool` and `[u8]` may be sent and shared.
unsafe impl Send for PoolSlice {}
// SAFETY: as above; only `&[u8]` is handed out.
unsafe impl Sync for PoolSlice {}

impl PoolSlice {
    /// Returns a part of this slice, or `None` if it reaches past the end.
    pub fn slice(&self, offset: usize, bytes: usize) -> Option<PoolSlice> {
        let part = self.get(offset..offset.checked_add(bytes)?)?;
        let start = NonNull::from(part).cast::<u8>();
        Some(PoolSlice { pool: Arc::clone(&self.pool), start, bytes })
    }

    /// Starts to load the line of a byte, if the slice has it. Changes nothing but time.
    #[inline]
    pub fn prefetch(&self, offset: usize) {
        if offset < self.bytes {
            prefetch::line(self.start.as_ptr().wrapping_add(offset));
        }
    }

    /// Returns the pool that the slice is a part of.
    pub fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }
}

impl Deref for PoolSlice {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `start` and `bytes` come from a slice of the pool's mapping, which lives as
        // long as the `Arc`; while an `Arc` is shared nobody has the pool mutably, so the mapping
        // is not replaced and its bytes do not change.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }
}

impl AsRef<[u8]> for PoolSlice {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for PoolSlice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {:?}", self.bytes, self.pool)
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::Domain;
    use crate::settings::Settings;

    use super::*;

    #[test]
    fn failed_write_back_is_final() {
        let directory = tempfile::tempdir().unwrap();
        let settings = Settings { kind: Some(DomainKind::File), ..Settings::default() };
        let domain = Domain::create_with("test", directory.path(), &settings).unwrap();
        let pool = domain.create_pool("root", 64).unwrap();
        pool.has_failed.store(true, Ordering::Relaxed);
        for _ in 0..2 {
            let error = pool.persist(0, 8).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(error.to_string().contains("earlier write-back"), "{error}");
        }
    }

    #[test]
    fn flushed_ranges_are_joined_until_they_are_drained() {
        let directory = tempfile::tempdir().unwrap();
        let settings = Settings { kind: Some(DomainKind::File), ..Settings::default() };
        let domain = Domain::create_with("test", directory.path(), &settings).unwrap();
        let pool = domain.create_pool("root", 20_000).unwrap();
        pool.flush(9_000, 8).unwrap();
        pool.flush(100, 50).unwrap();
        pool.flush(5_000, 0).unwrap();
        assert_eq!(*pool.pending.lock().unwrap(), Some(100..9_008));
        pool.drain().unwrap();
        assert_eq!(*pool.pending.lock().unwrap(), None);
    }
}
