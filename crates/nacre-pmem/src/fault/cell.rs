//! What is known of one mapping: where it lies, and which of its pages were lost.
//!
//! # Concurrency
//! `occupy` and `vacate` are called by the owner of the mapping, `contain` by the handler on any
//! thread, everything else by readers. All fields are atomic; cells live forever.
//!
//! A handler *enters* the cell before it looks at it closely and leaves when it is done. `vacate`
//! first clears `base`, then waits for those inside. So whoever entered and still finds `base` set
//! works on a mapping that is not unmapped before it leaves.

use std::ops::Range;
use std::ptr;
use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

use rustix::mm::{MapFlags, ProtFlags};

use super::registry::page_bytes;
use super::spare;

/// Why a page was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultCause {
    /// Nothing lies behind the address: the file was truncated, or there is no space for a hole.
    Missing,
    /// The memory failed (machine check).
    Poison,
}

impl FaultCause {
    fn bit(self) -> u32 {
        match self {
            FaultCause::Missing => 1,
            FaultCause::Poison => 2,
        }
    }
}

/// `first_offset` as long as nothing was lost.
const NO_OFFSET: u64 = u64::MAX;

/// Mappings on a file system of large pages are replaced by whole large pages.
const LARGE_PAGE_BYTES: usize = 2 << 20;

/// One mapping in the registry. Its own cache line, since readers ask for `causes` all the time.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct FaultCell {
    /// Bits of `FaultCause`, 0 as long as nothing was lost. Written by handlers, first of all that
    /// they write; read by everybody.
    causes: AtomicU32,
    /// Handlers that are inside. Written by handlers, awaited by `vacate`.
    handlers: AtomicU32,
    /// Distinct pages lost, for messages.
    lost_pages: AtomicU64,
    /// First address, 0 if the cell is not in use. Written by the owner, read by handlers.
    base: AtomicUsize,
    /// Length in bytes, whole pages. As `base`.
    bytes: AtomicUsize,
    is_writable: AtomicBool,
    /// The kernel had no room to replace a single page.
    is_all_lost: AtomicBool,
    /// Offset of the page that was lost first.
    first_offset: AtomicU64,
    /// One bit a page; mapped by the first handler that needs it.
    bits: AtomicPtr<AtomicU64>,
}

impl FaultCell {
    pub(crate) const fn new() -> FaultCell {
        FaultCell {
            causes: AtomicU32::new(0),
            handlers: AtomicU32::new(0),
            lost_pages: AtomicU64::new(0),
            base: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            is_writable: AtomicBool::new(false),
            is_all_lost: AtomicBool::new(false),
            first_offset: AtomicU64::new(NO_OFFSET),
            bits: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Puts the cell, which is not in use, in charge of a mapping.
    pub(super) fn occupy(&self, base: usize, bytes: usize, is_writable: bool) {
        self.bytes.store(bytes.next_multiple_of(page_bytes()), Ordering::SeqCst);
        self.is_writable.store(is_writable, Ordering::SeqCst);
        self.base.store(base, Ordering::SeqCst);
    }

    /// Takes the cell out of use. On return no handler touches the mapping any more.
    pub(super) fn vacate(&self) {
        self.base.store(0, Ordering::SeqCst);
        // Bounded by a few system calls of a handler that was entered before the line above.
        while self.handlers.load(Ordering::SeqCst) != 0 {
            std::thread::yield_now();
        }
        let bits = self.bits.swap(ptr::null_mut(), Ordering::SeqCst);
        if !bits.is_null() {
            // SAFETY: mapped with this length by `bitmap`, since `bytes` is unchanged; no handler
            // is inside and the owner, who alone reads it else, is here.
            let result = unsafe { rustix::mm::munmap(bits.cast(), self.bitmap_bytes()) };
            debug_assert!(result.is_ok(), "munmap: {result:?}");
        }
        self.is_all_lost.store(false, Ordering::SeqCst);
        self.causes.store(0, Ordering::SeqCst);
        self.first_offset.store(NO_OFFSET, Ordering::SeqCst);
        self.lost_pages.store(0, Ordering::SeqCst);
    }

    /// Whether the mapping lost a page so far.
    #[inline]
    pub(crate) fn is_faulted(&self) -> bool {
        // ORDERING: pairs with the store in `replace`, which precedes the replacement of the page:
        // the fence keeps this load behind the caller's earlier loads from the mapping. On x86-64
        // it is no instruction.
        fence(Ordering::Acquire);
        self.causes.load(Ordering::Relaxed) != 0
    }

    /// Returns how many pages were lost.
    pub(crate) fn lost_pages(&self) -> u64 {
        self.lost_pages.load(Ordering::SeqCst)
    }

    /// Returns the offset of the page that was lost first.
    pub(crate) fn first_offset(&self) -> Option<u64> {
        Some(self.first_offset.load(Ordering::SeqCst)).filter(|&offset| offset != NO_OFFSET)
    }

    /// Whether a page was lost for this cause.
    pub(crate) fn has_cause(&self, cause: FaultCause) -> bool {
        self.causes.load(Ordering::SeqCst) & cause.bit() != 0
    }

    /// Returns the lost ranges in order, as offsets in the mapping; whole pages, none adjacent.
    pub(crate) fn lost_ranges(&self) -> Vec<Range<usize>> {
        let bytes = self.bytes.load(Ordering::SeqCst);
        let bits = self.bits.load(Ordering::SeqCst);
        let mut ranges: Vec<Range<usize>> = Vec::new();
        if self.is_all_lost.load(Ordering::SeqCst) {
            ranges.push(0..bytes);
            return ranges;
        }
        if bits.is_null() {
            return ranges;
        }
        let page_bytes = page_bytes();
        for word in 0..self.bitmap_bytes() / 8 {
            let mut value = self.word(bits, word).load(Ordering::SeqCst);
            while value != 0 {
                let page = word * 64 + value.trailing_zeros() as usize;
                value &= value - 1;
                let range = page * page_bytes..(page + 1) * page_bytes;
                match ranges.last_mut() {
                    Some(last) if last.end == range.start => last.end = range.end,
                    _ => ranges.push(range),
                }
            }
        }
        ranges
    }

    /// Whether a page of `range` was lost.
    pub(crate) fn is_lost(&self, range: &Range<usize>) -> bool {
        if range.is_empty() || !self.is_faulted() {
            return false;
        }
        let bits = self.bits.load(Ordering::SeqCst);
        if self.is_all_lost.load(Ordering::SeqCst) || bits.is_null() {
            return true;
        }
        let page_bytes = page_bytes();
        (range.start / page_bytes..=(range.end - 1) / page_bytes)
            .any(|page| self.word(bits, page / 64).load(Ordering::SeqCst) >> (page % 64) & 1 != 0)
    }

    /// Notes that the file ends at `end`, so that the page with that byte and all later ones are
    /// lost. The caller keeps the mapping alive.
    pub(crate) fn note_cut(&self, end: usize) {
        let bytes = self.bytes.load(Ordering::SeqCst);
        let start = end & !(page_bytes() - 1);
        if start < bytes {
            self.causes.fetch_or(FaultCause::Missing.bit(), Ordering::SeqCst);
            self.record(start, bytes - start);
        }
    }

    /// Whether the mapping contains `address`, as a first guess.
    pub(super) fn may_contain(&self, address: usize) -> bool {
        let base = self.base.load(Ordering::SeqCst);
        let bytes = self.bytes.load(Ordering::SeqCst);
        base != 0 && address.wrapping_sub(base) < bytes
    }

    /// Handler: if the mapping contains `address`, notes the loss of its page and replaces the page
    /// by zeros. Returns whether it did.
    pub(super) fn contain(&self, address: usize, cause: FaultCause) -> bool {
        self.handlers.fetch_add(1, Ordering::SeqCst);
        // From here to the end the cell and the mapping stay, if they are in use now.
        let is_contained = self.may_contain(address) && self.replace(address, cause);
        self.handlers.fetch_sub(1, Ordering::SeqCst);
        is_contained
    }

    fn replace(&self, address: usize, cause: FaultCause) -> bool {
        let base = self.base.load(Ordering::SeqCst);
        let bytes = self.bytes.load(Ordering::SeqCst);
        let end = base.wrapping_add(bytes);
        self.causes.fetch_or(cause.bit(), Ordering::SeqCst);
        let page_bytes = page_bytes();
        for size in [page_bytes, LARGE_PAGE_BYTES] {
            let start = address & !(size - 1);
            if start < base || end.wrapping_sub(start) < size {
                continue;
            }
            self.record(start.wrapping_sub(base), size);
            if self.map_zeros(start, size) {
                return true;
            }
        }
        self.is_all_lost.store(true, Ordering::SeqCst);
        self.lost_pages.store((bytes / page_bytes) as u64, Ordering::SeqCst);
        // Replaces exactly what is mapped, so that no mapping has to be split.
        if self.map_zeros(base, bytes) {
            return true;
        }
        spare::give_back();
        let is_mapped = self.map_zeros(base, bytes);
        spare::keep();
        is_mapped
    }

    /// Notes that the whole pages at `offset` are lost.
    fn record(&self, offset: usize, bytes: usize) {
        // The first one stays; a failed exchange is what shall happen later.
        let _ = self.first_offset.compare_exchange(
            NO_OFFSET,
            offset as u64,
            Ordering::SeqCst,
            Ordering::SeqCst,
        );
        let Some(bits) = self.bitmap() else {
            // No memory to tell pages apart.
            self.is_all_lost.store(true, Ordering::SeqCst);
            self.lost_pages.fetch_max(1, Ordering::SeqCst);
            return;
        };
        let page_bytes = page_bytes();
        for page in offset / page_bytes..offset.wrapping_add(bytes) / page_bytes {
            let bit = 1 << (page % 64);
            if self.word(bits, page / 64).fetch_or(bit, Ordering::SeqCst) & bit == 0 {
                self.lost_pages.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// Maps zeros over whole pages of the mapping.
    fn map_zeros(&self, start: usize, bytes: usize) -> bool {
        let mut protection = ProtFlags::READ;
        if self.is_writable.load(Ordering::SeqCst) {
            protection |= ProtFlags::WRITE;
        }
        let flags = MapFlags::PRIVATE | MapFlags::FIXED | MapFlags::NORESERVE;
        let start = ptr::with_exposed_provenance_mut(start);
        // SAFETY: the range lies in the mapping (callers), which is not unmapped while a handler is
        // inside. References to the bytes stay valid: they are mapped and initialised as before,
        // only with other values, which this module's users account for.
        unsafe { rustix::mm::mmap_anonymous(start, bytes, protection, flags).is_ok() }
    }

    /// Returns the bitmap, mapping it first if need be.
    fn bitmap(&self) -> Option<*mut AtomicU64> {
        let bits = self.bits.load(Ordering::SeqCst);
        if !bits.is_null() {
            return Some(bits);
        }
        let (bytes, protection) = (self.bitmap_bytes(), ProtFlags::READ | ProtFlags::WRITE);
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: without MAP_FIXED the kernel chooses a free range.
        let mapped =
            unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, protection, flags) };
        let mapped = mapped.ok()?.cast::<AtomicU64>();
        let exchanged =
            self.bits.compare_exchange(ptr::null_mut(), mapped, Ordering::SeqCst, Ordering::SeqCst);
        let Err(earlier) = exchanged else {
            return Some(mapped);
        };
        // SAFETY: mapped above and seen by nobody else.
        let _ = unsafe { rustix::mm::munmap(mapped.cast(), bytes) };
        Some(earlier)
    }

    /// Returns the size of the bitmap: one bit a page, in whole words.
    fn bitmap_bytes(&self) -> usize {
        (self.bytes.load(Ordering::SeqCst) / page_bytes()).div_ceil(64) * 8
    }

    fn word(&self, bits: *mut AtomicU64, word: usize) -> &AtomicU64 {
        debug_assert!(word < self.bitmap_bytes() / 8);
        // SAFETY: `bits` is this cell's bitmap and `word` lies in it, since callers derive it from
        // pages of the mapping; page-aligned; zeros from the kernel are initialised; it stays
        // until `vacate`, which waits for handlers and which no reader outlives.
        unsafe { &*bits.add(word) }
    }
}
