//! All mappings of the process, for the handler to find the one that an address lies in.
//!
//! 1. Cells lie in segments, each twice as large as the one before. Segments are never moved or
//!    freed, so the handler walks them without a lock; `USED` says how far.
//! 2. Registering takes a free cell or the next unused one, under a lock that no handler takes.
//! 3. The handler asks the cell that was hit last, then all: a scan of 10,000 cells takes some 100
//!    microseconds, and a fault is the rare case. It runs through a truncated pool page by page,
//!    which is why the last hit comes first.
//!
//! # Invariants
//! 1. Cells in use do not overlap: a mapping is entered after it was made and taken out before it
//!    is unmapped.
//! 2. `retire` returns when no handler works on the mapping; only then it is unmapped. A handler
//!    that comes later finds `base` cleared and touches nothing ([`FaultCell`]).

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::cell::{FaultCause, FaultCell};
use super::{handler, spare};

/// Cells of the first segment.
const FIRST_CELLS: usize = 64;

/// More segments than an address space has room for: 64 x 2^32 cells.
const SEGMENT_COUNT: usize = 32;

/// What stands for a mapping of no bytes, which cannot fault.
pub(crate) static NOTHING: FaultCell = FaultCell::new();

/// Segment `k` has `FIRST_CELLS << k` cells. Written under `FREE`, read by handlers.
static SEGMENTS: [AtomicPtr<FaultCell>; SEGMENT_COUNT] =
    [const { AtomicPtr::new(ptr::null_mut()) }; SEGMENT_COUNT];

/// Cells that were ever in use. Written under `FREE`, read by handlers.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Cells that are out of use again.
static FREE: Mutex<Vec<&'static FaultCell>> = Mutex::new(Vec::new());

/// Index of the cell that was hit last. Written and read by handlers, only a hint.
static LAST_HIT: AtomicUsize = AtomicUsize::new(0);

/// Bytes of a page; 0 before the first registration. A handler must not ask the system.
static PAGE_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Returns the size of a page. Not 0 once a mapping was registered.
pub(super) fn page_bytes() -> usize {
    PAGE_BYTES.load(Ordering::SeqCst)
}

/// Enters the mapping of `bytes` bytes, not 0, at `base`; installs the handler first.
pub(crate) fn register(
    base: *const u8,
    bytes: usize,
    is_writable: bool,
) -> io::Result<&'static FaultCell> {
    PAGE_BYTES.store(rustix::param::page_size(), Ordering::SeqCst);
    handler::install()?;
    spare::keep();
    let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
    let cell = match free.pop() {
        Some(cell) => cell,
        None => {
            let used = USED.load(Ordering::SeqCst);
            let cell = add(used);
            USED.store(used + 1, Ordering::SeqCst);
            cell
        }
    };
    cell.occupy(base.expose_provenance(), bytes, is_writable);
    Ok(cell)
}

/// Takes a mapping out. The caller unmaps it afterwards.
pub(crate) fn retire(cell: &'static FaultCell) {
    cell.vacate();
    FREE.lock().unwrap_or_else(PoisonError::into_inner).push(cell);
}

/// Handler: replaces the page of `address` if it lies in a mapping. Returns whether it did.
pub(super) fn contain(address: usize, cause: FaultCause) -> bool {
    let used = USED.load(Ordering::SeqCst);
    let last = LAST_HIT.load(Ordering::SeqCst);
    if last < used && try_cell(last, address, cause) {
        return true;
    }
    for index in 0..used {
        if try_cell(index, address, cause) {
            LAST_HIT.store(index, Ordering::SeqCst);
            return true;
        }
    }
    false
}

fn try_cell(index: usize, address: usize, cause: FaultCause) -> bool {
    cell(index).is_some_and(|cell| cell.may_contain(address) && cell.contain(address, cause))
}

/// Returns segment and position of a cell.
fn place(index: usize) -> (usize, usize) {
    let segment = (index / FIRST_CELLS + 1).ilog2() as usize;
    (segment, index - FIRST_CELLS * ((1 << segment) - 1))
}

fn cell(index: usize) -> Option<&'static FaultCell> {
    let (segment, position) = place(index);
    let cells = SEGMENTS.get(segment)?.load(Ordering::SeqCst);
    if cells.is_null() {
        return None;
    }
    // SAFETY: the segment was leaked with `FIRST_CELLS << segment` cells, `position` is less by
    // `place`; cells are initialised, only changed atomically, and never freed.
    Some(unsafe { &*cells.add(position) })
}

/// Returns the cell `index`, the first that is not used yet, making its segment if need be.
fn add(index: usize) -> &'static FaultCell {
    let (segment, position) = place(index);
    assert!(segment < SEGMENT_COUNT, "more mappings than an address space holds");
    if position == 0 {
        let cells: Vec<FaultCell> = (0..FIRST_CELLS << segment).map(|_| FaultCell::new()).collect();
        SEGMENTS[segment].store(cells.leak().as_mut_ptr(), Ordering::SeqCst);
    }
    let cells = SEGMENTS[segment].load(Ordering::SeqCst);
    // SAFETY: as in `cell`; indexes are given out in order, so the segment was made above or
    // earlier.
    unsafe { &*cells.add(position) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_placed_one_after_the_other() {
        let mut expected = (0, 0);
        for index in 0..10_000 {
            assert_eq!(place(index), expected, "{index}");
            expected.1 += 1;
            if expected.1 == FIRST_CELLS << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
    }
}
