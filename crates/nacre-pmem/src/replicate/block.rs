//! Instructions that the building blocks are made of, each with its hook for the simulator.

use crate::flush::{self, CACHE_LINE_BYTES, FlushFlavour};
use crate::sim;

/// A flush flavour that is known when the code is generated.
pub(super) trait Flush {
    const FLAVOUR: FlushFlavour;
    /// Write-back is done only after a fence.
    const IS_WEAK: bool;
    /// Worth own code for each mechanism; not where the instruction is slow anyway.
    const IS_MONOMORPHIC: bool = true;

    /// Starts write-back of the line that holds `address`.
    ///
    /// # Safety
    /// The line is mapped and the flavour available.
    unsafe fn line(address: *const u8);
}

pub(super) struct Clflush;
pub(super) struct Clflushopt;
pub(super) struct Clwb;
pub(super) struct NoFlush;

impl Flush for Clflush {
    const FLAVOUR: FlushFlavour = FlushFlavour::Clflush;
    const IS_WEAK: bool = false;
    const IS_MONOMORPHIC: bool = false;

    #[inline(always)]
    unsafe fn line(address: *const u8) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the line is mapped by the caller's contract; every x86-64 processor has the
        // instruction. The block is not `nomem`, so the compiler keeps earlier stores before it.
        unsafe {
            std::arch::asm!("clflush [{}]", in(reg) address, options(nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = address;
    }
}

impl Flush for Clflushopt {
    const FLAVOUR: FlushFlavour = FlushFlavour::Clflushopt;
    const IS_WEAK: bool = true;

    #[inline(always)]
    unsafe fn line(address: *const u8) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: mapped and available by the caller's contract; ordered as for clflush.
        unsafe {
            std::arch::asm!("clflushopt [{}]", in(reg) address, options(nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = address;
    }
}

impl Flush for Clwb {
    const FLAVOUR: FlushFlavour = FlushFlavour::Clwb;
    const IS_WEAK: bool = true;

    #[inline(always)]
    unsafe fn line(address: *const u8) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: mapped and available by the caller's contract; ordered as for clflush.
        unsafe {
            std::arch::asm!("clwb [{}]", in(reg) address, options(nostack, preserves_flags));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = address;
    }
}

impl Flush for NoFlush {
    const FLAVOUR: FlushFlavour = FlushFlavour::None;
    const IS_WEAK: bool = false;

    #[inline(always)]
    unsafe fn line(_address: *const u8) {}
}

/// Tells the simulator that write-back of a range was started.
#[inline(always)]
pub(super) fn note_flushed<F: Flush>(start: *const u8, bytes: usize) {
    if F::FLAVOUR.is_instruction() {
        sim::flushed(start, bytes);
    }
    if matches!(F::FLAVOUR, FlushFlavour::Clflush) {
        // Ordered with all later stores and flushes of the thread: nothing waits for a fence.
        sim::synced(start, bytes);
    }
}

/// Starts write-back of the one or two lines that `bytes` bytes (1 to 64) touch.
///
/// # Safety
/// The range is mapped and the flavour available.
#[inline(always)]
pub(super) unsafe fn flush_small<F: Flush>(start: *mut u8, bytes: usize) {
    // SAFETY: the first line of a range that is mapped by the caller's contract.
    unsafe { F::line(start) };
    let last = start.wrapping_add(bytes - 1);
    if bytes > 1 && (start as usize ^ last as usize) >= CACHE_LINE_BYTES {
        // SAFETY: the last line of the same range.
        unsafe { F::line(last) };
    }
    note_flushed::<F>(start, bytes);
}

/// Starts write-back of every line that a range touches.
///
/// # Safety
/// The range is mapped and the flavour available.
#[inline(always)]
pub(super) unsafe fn flush_range<F: Flush>(start: *mut u8, bytes: usize) {
    if !F::FLAVOUR.is_instruction() || bytes == 0 {
        return;
    }
    let past = start as usize & (CACHE_LINE_BYTES - 1);
    let mut distance = 0;
    while distance < past + bytes {
        // SAFETY: a line that the caller's range touches, so in a mapped page.
        unsafe { F::line(start.wrapping_sub(past).wrapping_add(distance)) };
        distance += CACHE_LINE_BYTES;
    }
    note_flushed::<F>(start, bytes);
}

/// Waits for what this thread flushed and streamed.
#[inline(always)]
pub(super) fn fence() {
    // PERSIST: the flushes and non-temporal stores of this step are durable behind this point;
    // the caller goes to the next step, or acknowledges.
    flush::fence();
}

/// Addresses of the replicas' first bytes as a scatter takes them; unused lanes are null.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes(pub(super) [*mut u8; 8]);

/// A value that a scatter stores: 4 or 8 bytes.
pub(super) trait Scattered: Copy {
    /// Stores the value at `offset` behind the first `count` addresses of `lanes`.
    ///
    /// The address vector is loaded whole, never assembled, and the offset enters as the base
    /// register. Narrow registers for few replicas: a scatter takes time for each lane it has.
    /// Registers 16 and up need no `vzeroupper`.
    ///
    /// # Safety
    /// The processor has AVX-512F and VL; each of the `count` (1 to 7) targets is writable.
    unsafe fn scatter(self, lanes: &Lanes, count: usize, offset: usize);
}

#[cfg(target_arch = "x86_64")]
macro_rules! scatter {
    ($lanes:expr, $mask:expr, $offset:expr, $value:expr, $load:literal, $fill:literal,
     $store:literal) => {
        std::arch::asm!(
            "kmovw k1, {mask:e}",
            $load,
            $fill,
            $store,
            mask = in(reg) $mask,
            lanes = in(reg) $lanes,
            value = in(reg) $value,
            offset = in(reg) $offset,
            out("k1") _,
            out("xmm16") _,
            out("xmm17") _,
            options(nostack, preserves_flags)
        )
    };
}

#[cfg(target_arch = "x86_64")]
impl Scattered for u32 {
    #[inline(always)]
    unsafe fn scatter(self, lanes: &Lanes, count: usize, offset: usize) {
        let mask = (1u32 << count) - 1;
        let lanes = lanes.0.as_ptr();
        // SAFETY: reads 16 aligned bytes of `lanes` and stores to the masked addresses, which are
        // writable; the instructions exist, both by the caller's contract.
        let narrow = || unsafe {
            scatter!(
                lanes,
                mask,
                offset,
                self,
                "vmovdqa64 xmm16, [{lanes}]",
                "vpbroadcastd xmm17, {value:e}",
                "vpscatterqd [{offset} + xmm16]{{k1}}, xmm17"
            )
        };
        // SAFETY: as above, 32 bytes of `lanes`.
        let middle = || unsafe {
            scatter!(
                lanes,
                mask,
                offset,
                self,
                "vmovdqa64 ymm16, [{lanes}]",
                "vpbroadcastd xmm17, {value:e}",
                "vpscatterqd [{offset} + ymm16]{{k1}}, xmm17"
            )
        };
        // SAFETY: as above, all 64 bytes of `lanes`.
        let wide = || unsafe {
            scatter!(
                lanes,
                mask,
                offset,
                self,
                "vmovdqa64 zmm16, [{lanes}]",
                "vpbroadcastd ymm17, {value:e}",
                "vpscatterqd [{offset} + zmm16]{{k1}}, ymm17"
            )
        };
        match count {
            1 | 2 => narrow(),
            3 | 4 => middle(),
            _ => wide(),
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Scattered for u64 {
    #[inline(always)]
    unsafe fn scatter(self, lanes: &Lanes, count: usize, offset: usize) {
        let mask = (1u32 << count) - 1;
        let lanes = lanes.0.as_ptr();
        // SAFETY: reads 16 aligned bytes of `lanes` and stores to the masked addresses, which are
        // writable; the instructions exist, both by the caller's contract.
        let narrow = || unsafe {
            scatter!(
                lanes,
                mask,
                offset,
                self,
                "vmovdqa64 xmm16, [{lanes}]",
                "vpbroadcastq xmm17, {value}",
                "vpscatterqq [{offset} + xmm16]{{k1}}, xmm17"
            )
        };
        // SAFETY: as above, 32 bytes of `lanes`.
        let middle = || unsafe {
            scatter!(
                lanes,
                mask,
                offset,
                self,
                "vmovdqa64 ymm16, [{lanes}]",
                "vpbroadcastq ymm17, {value}",
                "vpscatterqq [{offset} + ymm16]{{k1}}, ymm17"
            )
        };
        // SAFETY: as above, all 64 bytes of `lanes`.
        let wide = || unsafe {
            scatter!(
                lanes,
                mask,
                offset,
                self,
                "vmovdqa64 zmm16, [{lanes}]",
                "vpbroadcastq zmm17, {value}",
                "vpscatterqq [{offset} + zmm16]{{k1}}, zmm17"
            )
        };
        match count {
            1 | 2 => narrow(),
            3 | 4 => middle(),
            _ => wide(),
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl<T: Copy> Scattered for T {
    unsafe fn scatter(self, lanes: &Lanes, count: usize, offset: usize) {
        for &base in &lanes.0[..count] {
            // SAFETY: writable by the caller's contract.
            unsafe { base.add(offset).cast::<T>().write_unaligned(self) };
        }
    }
}
