//! A mapping held in reserve.
//!
//! Linux bounds the number of mappings of a process (65,530 by default), and replacing one page
//! splits a mapping. When the bound is reached nothing can be mapped any more, not even over a
//! whole mapping, which would not change their number. Then the handler gives the spare one back,
//! replaces the whole mapping, and takes a new spare one.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use rustix::mm::{MapFlags, ProtFlags};

/// Null if there is none. Taken and given back by whoever exchanges it.
static SPARE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Takes a spare mapping unless there is one. Async-signal-safe; may fail, then there is none.
pub(super) fn keep() {
    if !SPARE.load(Ordering::SeqCst).is_null() {
        return;
    }
    // Shared, so that the kernel does not join it with a neighbour.
    let flags = MapFlags::SHARED | MapFlags::NORESERVE;
    let bytes = super::registry::page_bytes();
    // SAFETY: without MAP_FIXED the kernel chooses a free range.
    let mapped =
        unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::READ, flags) };
    let Ok(mapped) = mapped else {
        return;
    };
    let empty = ptr::null_mut();
    if SPARE.compare_exchange(empty, mapped, Ordering::SeqCst, Ordering::SeqCst).is_err() {
        unmap(mapped);
    }
}

/// Gives the spare mapping back. Async-signal-safe.
pub(super) fn give_back() {
    let spare = SPARE.swap(ptr::null_mut(), Ordering::SeqCst);
    if !spare.is_null() {
        unmap(spare);
    }
}

fn unmap(spare: *mut c_void) {
    // SAFETY: mapped by `keep` with this length and taken out by the caller, who alone has it; no
    // reference into it exists. Removing a whole mapping cannot fail.
    let _ = unsafe { rustix::mm::munmap(spare, super::registry::page_bytes()) };
}
