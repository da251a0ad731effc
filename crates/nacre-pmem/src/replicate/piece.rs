//! Updates of 1 to 64 bytes: held in registers between the load and the stores.
//!
//! A length is covered by one exact piece, or by two or four pieces of equal size that overlap, so
//! that no length needs a loop: 5 bytes are the words at 0 and 1, 40 bytes are the 16-byte pieces
//! at 0, 16, 8 and 24.

use crate::sim;
use crate::stream::StreamFlavour;

use super::block::{Lanes, Scattered};

#[cfg(target_arch = "x86_64")]
pub(super) type Wide = std::arch::x86_64::__m128i;
#[cfg(not(target_arch = "x86_64"))]
pub(super) type Wide = u128;

/// The bytes of a small update, in registers.
pub(super) trait Piece: Copy {
    /// # Safety
    /// `bytes` bytes are readable at `source`, a length that the type covers.
    unsafe fn load(source: *const u8, bytes: usize) -> Self;

    /// Stores through the cache.
    ///
    /// # Safety
    /// `bytes` as for [`Piece::load`], writable at `target`.
    unsafe fn store(self, target: *mut u8, bytes: usize);

    /// Stores past the cache.
    ///
    /// # Safety
    /// As for [`Piece::store`]; `can_stream(target, bytes)`; `stream` is available; `source` is
    /// where the bytes were loaded.
    unsafe fn store_nt(
        self,
        stream: StreamFlavour,
        target: *mut u8,
        source: *const u8,
        bytes: usize,
    );

    /// Stores in the first `count` replicas at once.
    ///
    /// # Safety
    /// As for [`scatter`]; `source` is where the bytes were loaded.
    unsafe fn scatter(
        self,
        lanes: &Lanes,
        count: usize,
        offset: usize,
        source: *const u8,
        bytes: usize,
    );
}

/// The common case: exactly 4 bytes.
impl Piece for u32 {
    #[inline(always)]
    unsafe fn load(source: *const u8, _bytes: usize) -> u32 {
        // SAFETY: the caller's contract; an unaligned read.
        unsafe { source.cast::<u32>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut u8, bytes: usize) {
        // SAFETY: the caller's contract; an unaligned write.
        unsafe { target.cast::<u32>().write_unaligned(self) };
        sim::stored(target, bytes, sim::Store::Temporal);
    }

    #[inline(always)]
    unsafe fn store_nt(
        self,
        _stream: StreamFlavour,
        target: *mut u8,
        _source: *const u8,
        bytes: usize,
    ) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: writable, and 4-aligned because `can_stream`; SSE2 is always there.
        unsafe {
            std::arch::x86_64::_mm_stream_si32(target.cast(), self as i32);
        }
        #[cfg(not(target_arch = "x86_64"))]
        // SAFETY: writable by the caller's contract.
        unsafe {
            target.cast::<u32>().write_unaligned(self);
        }
        sim::stored(target, bytes, sim::Store::NonTemporal);
    }

    #[inline(always)]
    unsafe fn scatter(
        self,
        lanes: &Lanes,
        count: usize,
        offset: usize,
        _source: *const u8,
        bytes: usize,
    ) {
        // SAFETY: the caller's contract.
        unsafe { Scattered::scatter(self, lanes, count, offset) };
        note_scattered(lanes, count, offset, bytes);
    }
}

/// `COUNT` (1, 2 or 4) pieces that together cover a length; both ends are covered exactly.
#[derive(Clone, Copy)]
pub(super) struct Pieces<T, const COUNT: usize>([T; COUNT]);

impl<T: Copy, const COUNT: usize> Pieces<T, COUNT> {
    /// Where piece `index` starts in an update of `bytes` bytes: the first half counted from the
    /// front, the others from the end.
    #[inline(always)]
    const fn start(index: usize, bytes: usize) -> usize {
        let size = size_of::<T>();
        if index < COUNT / 2 || COUNT == 1 { index * size } else { bytes - (COUNT - index) * size }
    }
}

/// `bytes` is the size of a piece if `COUNT == 1`, else between `COUNT / 2` and `COUNT` pieces.
impl<T: Copy, const COUNT: usize> Piece for Pieces<T, COUNT> {
    #[inline(always)]
    unsafe fn load(source: *const u8, bytes: usize) -> Self {
        Pieces(std::array::from_fn(|index| {
            // SAFETY: `start + size <= bytes` for each piece; unaligned reads.
            unsafe { source.add(Self::start(index, bytes)).cast::<T>().read_unaligned() }
        }))
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut u8, bytes: usize) {
        for (index, piece) in self.0.into_iter().enumerate() {
            // SAFETY: `start + size <= bytes` for each piece; unaligned writes.
            unsafe { target.add(Self::start(index, bytes)).cast::<T>().write_unaligned(piece) };
        }
        sim::stored(target, bytes, sim::Store::Temporal);
    }

    #[inline(always)]
    unsafe fn store_nt(
        self,
        stream: StreamFlavour,
        target: *mut u8,
        source: *const u8,
        bytes: usize,
    ) {
        // SAFETY: the caller's contract.
        unsafe { store_nt(stream, target, source, bytes) };
    }

    #[inline(always)]
    unsafe fn scatter(
        self,
        lanes: &Lanes,
        count: usize,
        offset: usize,
        source: *const u8,
        bytes: usize,
    ) {
        // SAFETY: the caller's contract.
        unsafe { scatter(lanes, count, offset, source, bytes) };
    }
}

/// Tells the simulator of a scatter.
#[inline(always)]
fn note_scattered(lanes: &Lanes, count: usize, offset: usize, bytes: usize) {
    for &base in &lanes.0[..count] {
        sim::stored(base.wrapping_add(offset), bytes, sim::Store::Temporal);
    }
}

/// Whether [`store_nt`] can write `bytes` bytes at `offset` of a member.
#[inline(always)]
pub(super) fn can_stream(offset: usize, bytes: usize) -> bool {
    cfg!(target_arch = "x86_64") && (offset | bytes) & 3 == 0
}

/// Stores 4 to 64 bytes past the cache, in the widest aligned pieces.
///
/// # Safety
/// `can_stream(target, bytes)`; `stream` is available; the ranges are readable and writable.
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(super) unsafe fn store_nt(
    stream: StreamFlavour,
    target: *mut u8,
    source: *const u8,
    bytes: usize,
) {
    use std::arch::x86_64::_mm_stream_si64;
    let is_aligned = |align: usize| (target as usize | bytes) & (align - 1) == 0;
    // SAFETY: unaligned loads from the readable range; stores inside the writable range, aligned
    // as tested; `movnti` is SSE2, which every x86-64 processor has.
    unsafe {
        if bytes == 8 && is_aligned(8) {
            _mm_stream_si64(target.cast(), source.cast::<i64>().read_unaligned());
        } else if is_aligned(16) {
            stream_wide(stream, target, source, bytes);
        } else {
            stream_words(target, source, bytes);
        }
    }
    sim::stored(target, bytes, sim::Store::NonTemporal);
}

/// Stores a multiple of 16 bytes, at most 64, to a 16-aligned target.
///
/// # Safety
/// As for [`store_nt`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn stream_wide(stream: StreamFlavour, target: *mut u8, source: *const u8, bytes: usize) {
    if stream == StreamFlavour::Avx512 && bytes == 64 && (target as usize).is_multiple_of(64) {
        // SAFETY: AVX-512F is available; 64 bytes are readable, and writable at an aligned
        // address. Register 16 needs no `vzeroupper`.
        return unsafe {
            std::arch::asm!(
                "vmovdqu64 zmm16, [{}]",
                "vmovntdq [{}], zmm16",
                in(reg) source,
                in(reg) target,
                out("xmm16") _,
                options(nostack, preserves_flags)
            );
        };
    }
    let mut at = 0;
    while at < bytes {
        // SAFETY: `at + 16 <= bytes`; the target is 16-aligned.
        unsafe {
            let piece = source.add(at).cast::<Wide>().read_unaligned();
            std::arch::x86_64::_mm_stream_si128(target.add(at).cast(), piece);
        }
        at += 16;
    }
}

/// Stores a multiple of 4 bytes to a 4-aligned target, in 8-byte words between its ends.
///
/// # Safety
/// As for [`store_nt`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn stream_words(target: *mut u8, source: *const u8, bytes: usize) {
    use std::arch::x86_64::{_mm_stream_si32, _mm_stream_si64};
    let mut at = 0;
    // SAFETY: each store ends at most at `bytes` and is aligned to its size: `at` is 4 past a
    // word's start only before the first and after the last 8-byte store.
    unsafe {
        if target as usize & 4 != 0 {
            _mm_stream_si32(target.cast(), source.cast::<i32>().read_unaligned());
            at = 4;
        }
        while at + 8 <= bytes {
            let word = source.add(at).cast::<i64>().read_unaligned();
            _mm_stream_si64(target.add(at).cast(), word);
            at += 8;
        }
        if at < bytes {
            let word = source.add(at).cast::<i32>().read_unaligned();
            _mm_stream_si32(target.add(at).cast(), word);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn store_nt(
    _stream: StreamFlavour,
    target: *mut u8,
    source: *const u8,
    bytes: usize,
) {
    // SAFETY: both ranges by the caller's contract.
    unsafe { std::ptr::copy_nonoverlapping(source, target, bytes) };
    sim::stored(target, bytes, sim::Store::NonTemporal);
}

/// Stores `bytes` bytes in the first `count` replicas by scatters of 8, then 4 bytes, and plain
/// stores of what remains.
///
/// # Safety
/// The processor can scatter; `bytes` bytes are readable at `source`, and writable at `offset`
/// behind each of the `count` (1 to 7) addresses.
#[inline(never)]
pub(super) unsafe fn scatter(
    lanes: &Lanes,
    count: usize,
    offset: usize,
    source: *const u8,
    bytes: usize,
) {
    let mut at = 0;
    // SAFETY: each piece ends at most at `bytes`, in each member; unaligned accesses.
    unsafe {
        while at + 8 <= bytes {
            let piece = source.add(at).cast::<u64>().read_unaligned();
            Scattered::scatter(piece, lanes, count, offset + at);
            at += 8;
        }
        if at + 4 <= bytes {
            let piece = source.add(at).cast::<u32>().read_unaligned();
            Scattered::scatter(piece, lanes, count, offset + at);
            at += 4;
        }
        while at < bytes {
            let piece = source.add(at).read();
            for &base in &lanes.0[..count] {
                base.add(offset + at).write(piece);
            }
            at += 1;
        }
    }
    note_scattered(lanes, count, offset, bytes);
}
