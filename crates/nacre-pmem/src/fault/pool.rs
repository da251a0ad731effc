//! What a pool knows of lost pages, and how it gets rid of them.

use std::fs::{self, File, Metadata};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::fs::FallocateFlags;

use super::cell::FaultCause;
use crate::directory::open_regular;
use crate::error::{Error, ErrorKind, Result};
use crate::pool::{self, Pool};
use crate::space::{self, Fallback};

const REMEDY: &str = "restore the file from a copy, then open it again";

impl Pool {
    /// Whether the mapping lost a page since it was made. One load; what the caller read before
    /// this call is what was in the file if the answer is `false`.
    #[inline]
    pub fn is_faulted(&self) -> bool {
        self.mapping.faults().is_faulted()
    }

    /// Returns `Lost` if the mapping lost a page since it was made.
    ///
    /// # Errors
    /// `Lost`, naming pool, offset, number of pages and cause.
    #[inline]
    pub fn check(&self) -> Result<()> {
        self.check_faults()
    }

    /// Returns `Lost` if the mapping lost a page of a range. Call it after the range was read: if
    /// it returns `Ok`, what was read is what was in the file.
    ///
    /// # Errors
    /// `Lost` as for [`Pool::check`], but about the range alone; `OutOfRange` if the pool is
    /// shorter and lost pages.
    #[inline]
    pub fn check_range(&self, offset: u64, bytes: u64) -> Result<()> {
        match self.is_faulted() {
            true => self.check_lost_range(offset, bytes),
            false => Ok(()),
        }
    }

    #[cold]
    fn check_lost_range(&self, offset: u64, bytes: u64) -> Result<()> {
        let range = self.range(offset, bytes)?;
        let faults = self.mapping.faults();
        if !faults.is_lost(&range) {
            return Ok(());
        }
        let page_bytes = rustix::param::page_size();
        let lost = faults.lost_ranges().into_iter();
        let lost = lost.filter(|lost| lost.start < range.end && range.start < lost.end);
        let whole = range.start / page_bytes * page_bytes..range.end.next_multiple_of(page_bytes);
        let lost: Vec<_> =
            lost.map(|lost| lost.start.max(whole.start)..lost.end.min(whole.end)).collect();
        let first = lost.first().map_or(range.start, |lost| lost.start);
        let bytes: usize = lost.iter().map(Range::len).sum();
        Err(self.lost_pages_error(first as u64, (bytes / page_bytes) as u64))
    }

    /// Asks the file system whether the file became shorter than the mapping, and notes what it was
    /// cut by as lost. The page that the cut goes through reads as zeros behind it without any
    /// signal, so whoever must not miss that asks before and after.
    ///
    /// # Errors
    /// `Lost` as for [`Pool::check`], from whatever cause.
    pub fn check_file(&self) -> Result<()> {
        // A file that was removed or replaced lives on behind its mapping.
        if let Some(Ok(metadata)) = self.metadata()
            && metadata.len() < self.bytes()
        {
            self.mapping.faults().note_cut(metadata.len() as usize);
        }
        self.check_faults()
    }

    /// As [`Pool::check_file`], for a pool that nobody changes any more. A file that was changed
    /// since it was mapped, such as one that was cut and grown again, has lost everything: what was
    /// verified before may be something else now. Mapped afresh it can be verified again. In front
    /// of a cut, and where the file was removed, bytes may have changed as well
    /// ([`Pool::is_as_mapped`]): those can still be verified where they are.
    ///
    /// # Errors
    /// As for [`Pool::check_file`].
    pub fn check_unchanged(&self) -> Result<()> {
        if let Some(Ok(metadata)) = self.metadata() {
            if metadata.len() < self.bytes() {
                self.mapping.faults().note_cut(metadata.len() as usize);
            } else if metadata.modified().ok() != self.modified {
                self.mapping.faults().note_cut(0);
            }
        }
        self.check_faults()
    }

    /// Whether the file is there, as long as it was and not changed since it was mapped; a system
    /// call. If so, all that was read before is what was verified, but for what was lost.
    pub fn is_as_mapped(&self) -> bool {
        let is_same = |metadata: Metadata| {
            metadata.len() == self.bytes() && metadata.modified().ok() == self.modified
        };
        self.metadata().is_none_or(|metadata| metadata.is_ok_and(is_same))
    }

    fn metadata(&self) -> Option<io::Result<Metadata>> {
        match (&self.path, &self.file) {
            (_, Some(file)) => Some(file.metadata()),
            (Some(path), None) => Some(fs::metadata(path)),
            (None, None) => None,
        }
    }

    /// Returns the ranges that the mapping lost so far: whole pages, ascending, none adjacent. What
    /// nobody accessed yet is not among them, unless [`Pool::check_file`] found it cut off.
    pub fn lost_ranges(&self) -> Vec<Range<u64>> {
        let bytes = self.bytes();
        let ranges = self.mapping.faults().lost_ranges();
        ranges.into_iter().map(|range| range.start as u64..bytes.min(range.end as u64)).collect()
    }

    /// Makes the error for pages that the mapping lost.
    #[cold]
    pub fn lost_error(&self) -> Error {
        let faults = self.mapping.faults();
        self.lost_pages_error(faults.first_offset().unwrap_or(0), faults.lost_pages())
    }

    fn lost_pages_error(&self, offset: u64, pages: u64) -> Error {
        let pages = match pages {
            0 | 1 => "1 page".to_string(),
            pages => format!("{pages} pages"),
        };
        let cause = match self.mapping.faults().has_cause(FaultCause::Poison) {
            true => "its memory failed".to_string(),
            false => self.missing_cause(offset),
        };
        Error::new(
            ErrorKind::Lost,
            &self.object,
            format!("lost {pages}, the first at offset {offset}: {cause}"),
            REMEDY,
        )
    }

    /// Says why nothing lies behind `offset`, as far as the file still shows it.
    fn missing_cause(&self, offset: u64) -> String {
        let page_bytes = rustix::param::page_size() as u64;
        let Some(metadata) = self.metadata() else {
            return "its file was truncated".to_string();
        };
        match metadata.map(|metadata| metadata.len()) {
            Ok(bytes) if bytes < self.bytes().min(offset + page_bytes) => {
                format!("its file was truncated from {} to {bytes} bytes", self.bytes())
            }
            Ok(_) => "its file was truncated for a while or changed by another program, or has a \
                      hole there that the device has no space for"
                .to_string(),
            Err(error) => format!("its file was truncated or removed ({error})"),
        }
    }

    #[inline]
    pub(crate) fn check_faults(&self) -> Result<()> {
        match self.is_faulted() {
            true => Err(self.lost_error()),
            false => Ok(()),
        }
    }

    /// Maps the file afresh, as it is now, and forgets what was lost. Returns the ranges whose
    /// bytes may differ from what was stored: those that were lost and, at the end, what the file
    /// had been cut by. The caller verifies or rewrites them.
    ///
    /// A pool opened for writing gets its size back, allocated; failed memory is given back to the
    /// system first. Lost ranges read as zeros, if nobody repaired the file.
    ///
    /// # Errors
    /// `OutOfRange` if the file is shorter than the pool and was opened for reading only: repair it
    /// first. As for [`Domain::open_pool`](crate::Domain::open_pool); the pool is as before.
    pub fn remap(&mut self) -> Result<Vec<Range<u64>>> {
        let file = self.reopen()?;
        let bytes = self.bytes();
        let metadata = file
            .metadata()
            .map_err(|error| Error::os(&self.object, "cannot read its size", error))?;
        let found = metadata.len();
        let mut lost = self.lost_ranges();
        if self.is_writable() {
            self.repair_space(&file, &lost, found)?;
        } else if found < bytes {
            return Err(Error::new(
                ErrorKind::OutOfRange,
                &self.object,
                format!("its file has {found} bytes, {bytes} were mapped"),
                REMEDY,
            ));
        }
        // The old mapping notes losses up to the moment it is replaced, and nobody else has the
        // pool: what was lost is complete.
        self.mapping = pool::map(&self.object, &file, bytes, self.access, &self.plan)?;
        self.modified = metadata.modified().ok();
        self.file = Some(file).filter(|_| self.is_writable() || self.path.is_none());
        // ORDERING: Relaxed, `&mut self` orders it.
        self.has_failed.store(false, Ordering::Relaxed);
        cut(&mut lost, found.min(bytes)..bytes);
        Ok(lost)
    }

    fn reopen(&self) -> Result<Arc<File>> {
        // By name, since repairing a file often means putting another one in its place. A file
        // that was renamed since is still known by its handle.
        let opened = self.path.as_ref().map(|path| open_regular(path, self.access));
        match (opened, &self.file) {
            (Some(Ok(file)), _) => Ok(Arc::new(file)),
            (_, Some(file)) => Ok(Arc::clone(file)),
            (Some(Err(error)), None) => Err(Error::os(&self.object, "cannot open", error)),
            (None, None) => Err(self.lost_error()),
        }
    }

    /// Gives the file its size and all its space back.
    fn repair_space(&self, file: &File, lost: &[Range<u64>], found: u64) -> Result<()> {
        let bytes = self.bytes();
        let action = format!("cannot allocate its {bytes} bytes again");
        let os = |error| Error::os(&self.object, &action, error);
        if self.mapping.faults().has_cause(FaultCause::Poison) {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            for range in lost {
                // Where the file system cannot, writing the range is the only way, and is the
                // caller's to do anyway.
                let _ = rustix::fs::fallocate(file, flags, range.start, range.end - range.start);
            }
        }
        space::extend(file, found, bytes, Fallback::Zeros).map_err(os)?;
        space::fill_holes(file, bytes).map_err(os)?;
        if self.plan.syncs {
            // PERSIST: size and allocation are durable before the ranges are written again.
            file.sync_all().map_err(os)?;
        }
        Ok(())
    }
}

/// Adds the end of the pool, which the file had been cut by, to `ranges`.
fn cut(ranges: &mut Vec<Range<u64>>, end: Range<u64>) {
    if end.is_empty() {
        return;
    }
    ranges.retain(|range| range.start < end.start);
    match ranges.last_mut() {
        Some(last) if last.end >= end.start => last.end = end.end,
        _ => ranges.push(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::single_range_in_vec_init)]
    fn cut_end_is_joined_with_what_was_lost() {
        let join = |ranges: &[Range<u64>], end| {
            let mut ranges = ranges.to_vec();
            cut(&mut ranges, end);
            ranges
        };
        assert_eq!(join(&[], 5..5), []);
        assert_eq!(join(&[], 5..9), [5..9]);
        assert_eq!(join(&[0..4, 6..8], 5..9), [0..4, 5..9]);
        assert_eq!(join(&[0..4, 6..8], 7..9), [0..4, 6..9]);
    }
}
