//! Crash simulation: what the code did to media, event by event.
//!
//! The hooks are called by the primitives that store, flush and fence. Without the feature `sim`
//! they are empty and vanish.

/// How bytes were stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    /// Through the cache.
    Temporal,
    /// Past the cache, weakly ordered.
    NonTemporal,
}

/// Notes that `bytes` bytes at `address` were just stored.
#[inline(always)]
pub(crate) fn stored(address: *const u8, bytes: usize, how: Store) {
    let _ = (address, bytes, how);
}

/// Notes that write-back of the lines that the range touches was just started by instruction.
#[inline(always)]
pub(crate) fn flushed(address: *const u8, bytes: usize) {
    let _ = (address, bytes);
}

/// Notes that this thread just fenced.
#[inline(always)]
pub(crate) fn fenced() {}

/// Notes that the kernel wrote the range back and waited (`msync`).
#[inline(always)]
pub(crate) fn synced(address: *const u8, bytes: usize) {
    let _ = (address, bytes);
}
