//! Builds an immutable pool from many threads.
//!
//! 1. An append reserves its range under a lock: it aligns the end, and extends the file if the
//!    range passes what is allocated. Space is taken in steps that double, so the lock is rarely
//!    held for a system call; near a full disk a step shrinks to what the append needs.
//! 2. It copies outside the lock: at page granularity and in DRAM with `pwrite`, which reports a
//!    full disk or a fault as an error; at cache-line granularity with streaming stores into a
//!    mapping of each step, which leave the caches to others.
//! 3. [`PoolAppender::finish`] trims the file and makes bytes, size and directory entry durable.
//!
//! # Invariants
//! 1. Ranges handed out never overlap and never move. Gaps left by alignment are zeros.
//! 2. A pool whose copy failed cannot be finished, nor one whose file was cut or whose pages were
//!    lost while it was built ([`crate::fault`]).
//! 3. Dropped without `finish`, the file is removed. After a kill it may stay: a pool exists only
//!    if the manifest names it, so whoever opens the directory for writing removes the others.
//!
//! # Source
//! [Zarubin22 2.1.3] MOVNT with SFENCE for bytes that are written once.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::Domain;
use crate::durability::Plan;
use crate::error::{Error, ErrorKind, Result};
use crate::fault::FaultCause;
use crate::flush;
use crate::granularity::DomainKind;
use crate::map::{MapMode, Mapping};
use crate::sim;
use crate::space::{self, Fallback};

/// First step of reserved space: some 100 blocks of a chunk's column.
const STEP_BYTES_MIN: u64 = 16 << 20;

/// Largest step: bounds both what a small pool wastes while it is built and the time the lock is
/// held for one allocation.
const STEP_BYTES_MAX: u64 = 256 << 20;

/// Steps begin and end on multiples of this, the largest page size of Linux on our processors,
/// so that each can be mapped.
const STEP_ALIGN_BYTES: u64 = 64 << 10;

/// Largest offset that a file can have.
const POOL_BYTES_MAX: u64 = i64::MAX as u64 - STEP_ALIGN_BYTES;

const REMEDY: &str = "append everything to a new pool";

/// Builds an immutable pool; shared by reference among threads.
pub struct PoolAppender {
    domain: Domain,
    file_name: String,
    object: String,
    file: Arc<File>,
    plan: Plan,
    state: Mutex<State>,
    /// Set by any append whose copy failed, read by `finish`.
    has_failed: AtomicBool,
    is_finished: bool,
}

/// What the lock protects. `bytes <= reserved_bytes`.
struct State {
    bytes: u64,
    reserved_bytes: u64,
    step_bytes: u64,
    segments: Vec<Arc<Segment>>,
}

/// A mapped step of the file. Empty list where appends go through `pwrite`.
struct Segment {
    offset: u64,
    mapping: Mapping,
}

impl Segment {
    fn end(&self) -> u64 {
        self.offset + self.mapping.bytes() as u64
    }
}

impl PoolAppender {
    pub(crate) fn new(
        domain: Domain,
        file_name: String,
        object: String,
        file: Arc<File>,
        plan: Plan,
    ) -> PoolAppender {
        PoolAppender {
            domain,
            file_name,
            object,
            file,
            plan,
            state: Mutex::new(State {
                bytes: 0,
                reserved_bytes: 0,
                step_bytes: STEP_BYTES_MIN,
                segments: Vec::new(),
            }),
            has_failed: AtomicBool::new(false),
            is_finished: false,
        }
    }

    /// Appends `source` at the next multiple of `align` and returns its offset. Durable only
    /// after [`PoolAppender::finish`].
    ///
    /// # Errors
    /// `NoSpace` (nothing was appended; others may still fit), `NotAligned` if `align` is no
    /// power of two, `Io`, `OutOfMemory`; `Lost` if the file was cut or its memory failed.
    pub fn append(&self, source: &[u8], align: u64) -> Result<u64> {
        if !align.is_power_of_two() {
            return Err(Error::new(
                ErrorKind::NotAligned,
                &self.object,
                format!("alignment {align} is no power of two"),
                "",
            ));
        }
        let (offset, segments) = self.reserve(source.len() as u64, align)?;
        if self.plan.appends_mapped() {
            self.copy_mapped(source, offset, &segments);
            self.check_faults(&segments)?;
            return Ok(offset);
        }
        self.file.write_all_at(source, offset).map_err(|error| {
            // ORDERING: Relaxed, `finish` takes the appender by value, which orders it after.
            self.has_failed.store(true, Ordering::Relaxed);
            let action = format!("cannot write {} bytes at offset {offset}", source.len());
            Error::os(&self.object, &action, error)
        })?;
        sim::written(&self.file, offset, source);
        Ok(offset)
    }

    /// Returns the end of the last range that was handed out.
    pub fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// Makes all bytes and the directory entry durable and returns the size of the pool.
    ///
    /// # Errors
    /// `Io` if the device refuses the bytes or an append failed while it copied; `NoSpace`; `Lost`
    /// if the file was cut or its memory failed since it was begun. The pool is removed.
    pub fn finish(mut self) -> Result<u64> {
        let bytes = self.bytes();
        let segments = self.lock().segments.clone();
        self.check_faults(&segments)?;
        self.check_file_bytes()?;
        // ORDERING: Relaxed, this has the appender by value.
        if self.has_failed.load(Ordering::Relaxed) {
            return Err(Error::new(
                ErrorKind::Io,
                &self.object,
                "cannot be finished: an append failed",
                REMEDY,
            ));
        }
        let action = format!("cannot make {bytes} bytes durable");
        self.file.set_len(bytes).map_err(|error| Error::os(&self.object, &action, error))?;
        sim::resized(&self.file);
        if self.plan.syncs {
            // PERSIST: appended lines are durable (fence in `copy_mapped`) or in the page cache;
            // this adds pages, size and block addresses. Nothing can refer to the pool before
            // `finish` returns.
            self.file.sync_all().map_err(|error| Error::os(&self.object, &action, error))?;
            sim::file_synced(&self.file);
        }
        self.domain.sync_directory()?;
        self.is_finished = true;
        Ok(bytes)
    }

    /// Reserves a range and returns its offset with the mapped steps that it touches.
    fn reserve(&self, bytes: u64, align: u64) -> Result<(u64, Vec<Arc<Segment>>)> {
        let mut state = self.lock();
        let offset = state.bytes.checked_next_multiple_of(align);
        let end = offset.and_then(|offset| offset.checked_add(bytes));
        let (Some(offset), Some(end)) = (offset, end.filter(|&end| end <= POOL_BYTES_MAX)) else {
            let action = format!("cannot append {bytes} bytes aligned to {align}");
            return Err(Error::os(&self.object, &action, rustix::io::Errno::FBIG));
        };
        // DRAM needs no allocation ahead: `pwrite` takes pages as it goes and can say no.
        if end > state.reserved_bytes && self.plan.kind != DomainKind::Dram {
            self.extend(&mut state, end)?;
        }
        state.bytes = end;
        let segments = state
            .segments
            .iter()
            .rev()
            .take_while(|segment| segment.end() > offset)
            .filter(|segment| segment.offset < end)
            .cloned()
            .collect();
        Ok((offset, segments))
    }

    /// Allocates and maps a step that reaches at least `end`.
    fn extend(&self, state: &mut State, end: u64) -> Result<()> {
        let from = state.reserved_bytes;
        let needed = end.next_multiple_of(STEP_ALIGN_BYTES);
        let wanted = needed.max(from.saturating_add(state.step_bytes));
        let fallback = match self.plan.appends_mapped() {
            true => Fallback::Zeros,
            false => Fallback::Size,
        };
        let to = match space::extend(&self.file, from, wanted, fallback) {
            Ok(()) => wanted,
            Err(_) => {
                space::extend(&self.file, from, needed, fallback).map_err(|error| {
                    let action = format!("cannot reserve bytes {from}..{needed}");
                    let wanted = (&*self.file, needed - from);
                    Error::allocating(&self.object, &action, wanted, error)
                })?;
                needed
            }
        };
        if self.plan.appends_mapped() {
            let mode = match self.plan.kind {
                DomainKind::Pmem => MapMode::WriteSync,
                DomainKind::Shm | DomainKind::File | DomainKind::Dram => MapMode::Write,
            };
            let mapping =
                Mapping::new(self.file.as_fd(), from, to - from, mode).map_err(|error| {
                    Error::os(&self.object, &format!("cannot map bytes {from}..{to}"), error)
                })?;
            state.segments.push(Arc::new(Segment { offset: from, mapping }));
        }
        state.reserved_bytes = to;
        state.step_bytes = (state.step_bytes * 2).min(STEP_BYTES_MAX);
        Ok(())
    }

    fn copy_mapped(&self, source: &[u8], offset: u64, segments: &[Arc<Segment>]) {
        let end = offset + source.len() as u64;
        for segment in segments {
            let (from, to) = (segment.offset.max(offset), segment.end().min(end));
            let part = &source[(from - offset) as usize..(to - offset) as usize];
            let target = (from - segment.offset) as usize;
            // SAFETY: segments are mapped writable; flavours were found available when the domain
            // was opened; `offset..end` was handed to this call alone (invariant 1) and the file
            // is not readable as a pool before `finish`, so no other thread accesses it;
            // `source` is not in this mapping, which hands out no reference.
            unsafe { segment.mapping.stream(target, part, self.plan.stream, self.plan.flush) };
        }
        // PERSIST: the lines of this append are durable after the fence. It must be here: a fence
        // in `finish`, on another thread, would not wait for this thread's stores.
        flush::fence();
    }

    /// Returns an error if one of `segments` lost pages.
    fn check_faults(&self, segments: &[Arc<Segment>]) -> Result<()> {
        let Some(segment) = segments.iter().find(|segment| segment.mapping.faults().is_faulted())
        else {
            return Ok(());
        };
        // ORDERING: Relaxed, as in `append`.
        self.has_failed.store(true, Ordering::Relaxed);
        let faults = segment.mapping.faults();
        let offset = segment.offset + faults.first_offset().unwrap_or(0);
        let pages = faults.lost_pages().max(1);
        let problem =
            format!("lost {pages} pages while it was built, the first at offset {offset}");
        if faults.has_cause(FaultCause::Poison) {
            let problem = format!("{problem}: its memory failed");
            return Err(Error::new(ErrorKind::Lost, &self.object, problem, REMEDY));
        }
        self.check_file_bytes()?;
        // The file reaches that far, so what is missing is space for a hole.
        let problem = format!("{problem}: no space left on device");
        Err(Error::new(ErrorKind::NoSpace, &self.object, problem, "make room and retry"))
    }

    /// Returns an error if the file is shorter than what was reserved.
    fn check_file_bytes(&self) -> Result<()> {
        let state = self.lock();
        let metadata = self.file.metadata();
        let bytes =
            metadata.map_err(|error| Error::os(&self.object, "cannot read its size", error))?.len();
        if bytes >= state.reserved_bytes {
            return Ok(());
        }
        let problem = format!(
            "its file was truncated from {} to {bytes} bytes while it was built",
            state.reserved_bytes
        );
        Err(Error::new(ErrorKind::Lost, &self.object, problem, REMEDY))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PoolAppender {
    fn drop(&mut self) {
        if !self.is_finished {
            // Best effort: a file that stays is not named by any manifest.
            let _ = self.domain.remove_pool(&self.file_name);
        }
    }
}

impl std::fmt::Debug for PoolAppender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "appender of {} ({} bytes)", self.object, self.bytes())
    }
}
