//! Updates of more than a line.
//!
//! Here the blocks of a mechanism are tested at run time: a few predicted branches beside hundreds
//! of nanoseconds, for a sixteenth of the code.

use crate::prefetch;
use crate::sim;
use crate::stream::{self, StreamFlavour};

use super::block::{Flush, fence, flush_range};
use super::mechanism::{Copying, Steps};
use super::piece;
use super::targets::Targets;

/// Bytes that a mechanism with one final fence brings to all members before it goes on, so that
/// the source is read from the first-level cache for each.
const STRIDE_BYTES: usize = 4096;

/// Bytes of each member that are prefetched. The processor follows the stores of longer updates by
/// itself; to this size all lines of all members are asked for before the first store waits for
/// its line (Emerald Rapids, 256 bytes, one replica: 465 ns without, 441 ns with the first line of
/// each member, 178 ns with all).
const PREFETCH_BYTES: usize = 512;

/// Asks for the lines of one member that `bytes` bytes will be stored to.
#[inline(always)]
pub(super) fn prefetch(target: *const u8, bytes: usize) {
    prefetch::range_for_write(target, bytes.min(PREFETCH_BYTES));
}

/// Stores `bytes` bytes in every member and starts, or with fences between ends, their write-back.
///
/// # Safety
/// As for `Routines::write`.
#[inline(never)]
pub(super) unsafe fn write<F: Flush>(
    steps: Steps,
    targets: &Targets,
    offset: usize,
    source: *const u8,
    bytes: usize,
) {
    if steps.prefetches {
        if !steps.streams_master {
            prefetch(targets.master().wrapping_add(offset), bytes);
        }
        if steps.copying != Copying::NonTemporal {
            for &base in targets.replicas() {
                prefetch(base.wrapping_add(offset), bytes);
            }
        }
    }
    let stride = if steps.is_async { STRIDE_BYTES } else { bytes };
    let mut at = 0;
    while at < bytes {
        let length =
            (bytes - at).min(stride - (offset + at) % stride * usize::from(steps.is_async));
        // SAFETY: `at + length <= bytes`, so this is a part of the caller's ranges.
        unsafe { write_part::<F>(steps, targets, offset + at, source.add(at), length) };
        at += length;
    }
}

/// # Safety
/// As for [`write`].
unsafe fn write_part<F: Flush>(
    steps: Steps,
    targets: &Targets,
    offset: usize,
    source: *const u8,
    bytes: usize,
) {
    let master = targets.master().wrapping_add(offset);
    if steps.streams_master {
        // SAFETY: the range of the master, writable; flavours available by the caller's contract.
        unsafe { stream_range::<F>(targets.stream(), master, source, bytes) };
        step_fence::<F>(steps, true);
    } else {
        // SAFETY: the range of the master, writable by the caller's contract.
        unsafe { copy_cached(master, source, bytes) };
    }
    if !steps.master_last && !steps.streams_master {
        // SAFETY: the range just stored; the flavour is available by the caller's contract.
        unsafe { flush_range::<F>(master, bytes) };
        step_fence::<F>(steps, false);
    }
    let replicas = targets.replicas();
    if steps.copying == Copying::Scatter {
        // SAFETY: writable in each replica, and the processor can scatter, by the contract.
        unsafe { piece::scatter(targets.lanes(), replicas.len(), offset, source, bytes) };
    }
    for &base in replicas {
        let target = base.wrapping_add(offset);
        // SAFETY: the range of a replica, writable; flavours available by the contract.
        unsafe {
            match steps.copying {
                Copying::Cached => copy_and_flush::<F>(target, source, bytes),
                Copying::NonTemporal => {
                    stream_range::<F>(targets.stream(), target, source, bytes);
                }
                Copying::Scatter => flush_range::<F>(target, bytes),
            }
        }
        step_fence::<F>(steps, steps.copying == Copying::NonTemporal);
    }
    if steps.master_last {
        // SAFETY: the range stored first; the flavour is available by the contract.
        unsafe { flush_range::<F>(master, bytes) };
        step_fence::<F>(steps, false);
    }
}

/// Ends a step that flushed, or streamed, if the mechanism fences each.
#[inline(always)]
fn step_fence<F: Flush>(steps: Steps, has_streamed: bool) {
    if !steps.is_async && (F::IS_WEAK || has_streamed) {
        fence();
    }
}

/// # Safety
/// `bytes` bytes are readable at `source`, writable at `target`, and do not overlap.
pub(super) unsafe fn copy_cached(target: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller's contract; bytes need no alignment.
    unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) };
    sim::stored(target, bytes, sim::Store::Temporal);
}

/// # Safety
/// As for [`copy_cached`], and the flavour is available.
pub(super) unsafe fn copy_and_flush<F: Flush>(target: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        copy_cached(target, source, bytes);
        flush_range::<F>(target, bytes);
    }
}

/// Copies whole lines past the cache, and the partial lines at both ends past it too if they are
/// made of aligned words, else through it.
///
/// # Safety
/// As for [`copy_and_flush`], and `stream` is available.
pub(super) unsafe fn stream_range<F: Flush>(
    stream: StreamFlavour,
    target: *mut u8,
    source: *const u8,
    bytes: usize,
) {
    if stream == StreamFlavour::None {
        // SAFETY: the caller's contract.
        return unsafe { copy_and_flush::<F>(target, source, bytes) };
    }
    let head = (target as usize).wrapping_neg() % 64;
    let head = head.min(bytes);
    let body = (bytes - head) & !63;
    let tail = head + body;
    // SAFETY: three parts of the caller's ranges; the middle one starts at a line and holds whole
    // lines, because `head` reaches to a line's start or is all there is.
    unsafe {
        stream_end::<F>(stream, target, source, head);
        let lines = std::slice::from_raw_parts(source.add(head), body);
        stream::stream_lines(stream, target.add(head), lines);
        sim::stored(target.add(head), body, sim::Store::NonTemporal);
        stream_end::<F>(stream, target.add(tail), source.add(tail), bytes - tail);
    }
}

/// # Safety
/// As for [`stream_range`]; less than a line.
unsafe fn stream_end<F: Flush>(
    stream: StreamFlavour,
    target: *mut u8,
    source: *const u8,
    bytes: usize,
) {
    if bytes == 0 {
        return;
    }
    // SAFETY: the caller's contract.
    unsafe {
        if piece::can_stream(target as usize, bytes) {
            piece::store_nt(stream, target, source, bytes);
        } else {
            copy_and_flush::<F>(target, source, bytes);
        }
    }
}
