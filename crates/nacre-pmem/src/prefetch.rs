//! Prefetch of memory that will be read or written soon. Changes nothing but time.

use crate::flush::CACHE_LINE_BYTES;

/// Starts to load the lines of `bytes` bytes from `start` on; any address is allowed.
#[inline]
pub fn range(start: *const u8, bytes: usize) {
    for offset in (0..bytes).step_by(CACHE_LINE_BYTES) {
        line(start.wrapping_add(offset));
    }
}

/// Starts to load the line at `address`; any address is allowed.
#[inline]
pub fn line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction, which accesses nothing architecturally
    // and faults on no address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Starts to load the lines of `bytes` bytes from `start` on for stores; any address is allowed.
#[inline(always)]
pub(crate) fn range_for_write(start: *const u8, bytes: usize) {
    let mut offset = 0;
    // From the second on these are the first bytes of their lines.
    while offset < bytes {
        line_for_write(start.wrapping_add(offset));
        offset += CACHE_LINE_BYTES - (start as usize + offset) % CACHE_LINE_BYTES;
    }
}

/// Starts to load the line at `address` for a store; any address is allowed.
#[inline(always)]
pub(crate) fn line_for_write(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch never faults and changes no register; processors without it ignore it.
    unsafe {
        std::arch::asm!(
            "prefetchw [{}]",
            in(reg) address,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
