//! The hooks that primitives call; empty without the feature `sim`.

use std::fs::File;
use std::os::fd::BorrowedFd;

/// How bytes were stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    /// Through the cache.
    Temporal,
    /// Past the cache, weakly ordered.
    NonTemporal,
}

#[cfg(feature = "sim")]
use super::registry;

/// Calls the recorder; nothing without the feature, and one load while nothing is simulated.
macro_rules! hook {
    ($name:ident($($argument:expr),*)) => {
        #[cfg(feature = "sim")]
        if registry::is_active() {
            registry::$name($($argument),*);
        }
        #[cfg(not(feature = "sim"))]
        let _ = ($($argument,)*);
    };
}

/// Notes that `bytes` bytes at `address` were just stored.
#[inline(always)]
pub(crate) fn stored(address: *const u8, bytes: usize, how: Store) {
    hook!(stored(address, bytes, how));
}

/// Notes that write-back of the lines that the range touches was just started by instruction.
#[inline(always)]
pub(crate) fn flushed(address: *const u8, bytes: usize) {
    hook!(flushed(address, bytes));
}

/// Notes that this thread just fenced.
#[inline(always)]
pub(crate) fn fenced() {
    hook!(fenced());
}

/// Notes that the kernel wrote the range back and waited (`msync`).
#[inline(always)]
pub(crate) fn synced(address: *const u8, bytes: usize) {
    hook!(synced(address, bytes));
}

/// Notes that `bytes` bytes of `file` from `offset` were mapped at `address`.
#[inline(always)]
pub(crate) fn mapped(file: BorrowedFd<'_>, offset: u64, address: *const u8, bytes: usize) {
    hook!(mapped(file, offset, address, bytes));
}

/// Notes that the mapping at `address` is about to end.
#[inline(always)]
pub(crate) fn unmapped(address: *const u8) {
    hook!(unmapped(address));
}

/// Notes that `source` was just written to `file` through the kernel.
#[inline(always)]
pub(crate) fn written(file: &File, offset: u64, source: &[u8]) {
    hook!(written(file, offset, source));
}

/// Notes that the size of `file` may just have changed.
#[inline(always)]
pub(crate) fn resized(file: &File) {
    hook!(resized(file));
}

/// Notes that bytes and size of `file` are durable (`fsync`).
#[inline(always)]
pub(crate) fn file_synced(file: &File) {
    hook!(file_synced(file));
}

/// Notes that the memory domain `domain` just got `file` as `name`.
#[inline(always)]
pub(crate) fn created(domain: usize, name: &str, file: &File) {
    hook!(created(domain, name, file));
}

/// Notes that a name in the memory domain `domain` was just changed.
#[inline(always)]
pub(crate) fn renamed(domain: usize, from: &str, to: &str) {
    hook!(renamed(domain, from, to));
}

/// Notes that a name in the memory domain `domain` was just removed.
#[inline(always)]
pub(crate) fn removed(domain: usize, name: &str) {
    hook!(removed(domain, name));
}

/// Notes that the names in the memory domain `domain` are durable.
#[inline(always)]
pub(crate) fn directory_synced(domain: usize) {
    hook!(directory_synced(domain));
}
