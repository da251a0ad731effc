//! Fault containment: a SIGBUS on a mapped page becomes an error value.
//!
//! Loading from or storing to a mapped page fails with SIGBUS if the file was truncated behind the
//! mapping, if a hole in it cannot be filled (full tmpfs), or if its memory failed (machine check).
//! The default is the end of the process. Instead:
//!
//! 1. Every mapping is entered in a registry. The first one installs the handler.
//! 2. The handler finds the mapping of the address, notes page and cause in the mapping's cell,
//!    maps a page of zeros over the faulting page, and returns: the access goes on with garbage.
//!    Stores into such a page are private to the process and lost.
//! 3. Whoever read asks afterwards ([`Pool::check_range`](crate::Pool::check_range)) and drops the
//!    result; whoever wrote gets `Lost` from `drain`, `persist` and `publish_u64`.
//! 4. [`Pool::remap`](crate::Pool::remap) maps the file afresh once it is repaired.
//!
//! Addresses outside every mapping, and signals that somebody sent, go to the handler that was
//! there before, in the way it asked for; where there was none, the process ends as it would have.
//!
//! # Invariants
//! 1. The handler neither allocates from the heap, nor locks, nor panics; it maps and stores
//!    atomics.
//! 2. A page's bit is set before the page is replaced: who has read a replaced page, on any thread,
//!    finds the bit set.
//! 3. No page outside a live mapping is replaced: see [`registry`] on how unmapping waits.
//!
//! # Limits
//! - A file that is truncated and grown again, or that has a hole the device can fill, reads as
//!   zeros without any signal. Checksums find that, as they find other changes from outside; for a
//!   pool that nobody changes any more [`Pool::check_unchanged`](crate::Pool::check_unchanged)
//!   finds it by the time of the last change, so that what was verified is verified again.
//! - So does the page that a cut goes through, behind the cut:
//!   [`Pool::check_file`](crate::Pool::check_file) finds that by the size of the file.
//! - A library that installs a SIGBUS handler *after* the first mapping gets our faults; it should
//!   hand on what it does not know (its earlier action is ours). One that does not ends
//!   containment.
//! - A thread that blocks SIGBUS is not helped: the kernel ends the process.
//! - Where the kernel has no mapping left for one more split, the whole mapping is given up (reads
//!   as zeros, is lost as a whole), with the help of a spare mapping. Only if that fails too the
//!   signal is handed on.

mod cell;
mod chain;
mod handler;
mod pool;
pub(crate) mod registry;
mod spare;

pub use cell::FaultCause;
pub(crate) use cell::FaultCell;
