//! SSE4.2: registers of 128 bits; a mask is a register with all bits of a lane set or clear.

use std::arch::x86_64::*;

use super::raw::{operations, register_masks, token};
use super::x86::{conversions, memory, shifts};
use super::{Raw, emulate};
use crate::{Flavour, Lane};

token!(
    /// SSE4.2 and POPCNT: 128-bit registers.
    Sse42
);

/// # Safety
/// The caller has the flavour's token, as for all functions below.
#[inline(always)]
unsafe fn lower_half(bits: __m128i) -> __m128i {
    bits
}

#[inline(always)]
unsafe fn upper_half(bits: __m128i) -> __m128i {
    // SAFETY: the caller's promise.
    unsafe { _mm_srli_si128::<8>(bits) }
}

#[inline(always)]
unsafe fn narrow8(low: __m128i, high: __m128i) -> __m128i {
    // SAFETY: the caller's promise.
    unsafe {
        let lower_bytes = _mm_set1_epi16(0xff);
        _mm_packus_epi16(_mm_and_si128(low, lower_bytes), _mm_and_si128(high, lower_bytes))
    }
}

#[inline(always)]
unsafe fn narrow16(low: __m128i, high: __m128i) -> __m128i {
    // SAFETY: the caller's promise.
    unsafe {
        let lower_words = _mm_set1_epi32(0xffff);
        _mm_packus_epi32(_mm_and_si128(low, lower_words), _mm_and_si128(high, lower_words))
    }
}

#[inline(always)]
unsafe fn narrow32(low: __m128i, high: __m128i) -> __m128i {
    // SAFETY: the caller's promise.
    unsafe {
        let (low, high) = (_mm_castsi128_ps(low), _mm_castsi128_ps(high));
        _mm_castps_si128(_mm_shuffle_ps::<0x88>(low, high))
    }
}

shifts!(
    __m128i;
    sll16 = _mm_sll_epi16, sll32 = _mm_sll_epi32, sll64 = _mm_sll_epi64,
    srl16 = _mm_srl_epi16, srl32 = _mm_srl_epi32, srl64 = _mm_srl_epi64,
    sra16 = _mm_sra_epi16, sra32 = _mm_sra_epi32,
);

impl Raw for Sse42 {
    const FLAVOUR: Flavour = Flavour::Sse42;
    const BYTES: usize = 16;
    type Bits = __m128i;
    type Mask = __m128i;

    memory!(
        __m128i;
        _mm_loadu_si128 _mm_storeu_si128 _mm_stream_si128;
        _mm_set1_epi8 _mm_set1_epi16 _mm_set1_epi32 _mm_set1_epi64x
    );

    operations! {
        and(left: __m128i, right: __m128i) -> __m128i = (_mm_and_si128);
        or(left: __m128i, right: __m128i) -> __m128i = (_mm_or_si128);
        xor(left: __m128i, right: __m128i) -> __m128i = (_mm_xor_si128);
        andnot(left: __m128i, right: __m128i) -> __m128i = (_mm_andnot_si128);
        add(left: __m128i, right: __m128i) -> __m128i =
            [_mm_add_epi8 _mm_add_epi16 _mm_add_epi32 _mm_add_epi64];
        sub(left: __m128i, right: __m128i) -> __m128i =
            [_mm_sub_epi8 _mm_sub_epi16 _mm_sub_epi32 _mm_sub_epi64];
        mul(left: __m128i, right: __m128i) -> __m128i =
            [- _mm_mullo_epi16 _mm_mullo_epi32 -];
        min(left: __m128i, right: __m128i) -> __m128i =
            [_mm_min_epu8 _mm_min_epu16 _mm_min_epu32 - _mm_min_epi8 _mm_min_epi16 _mm_min_epi32 -];
        max(left: __m128i, right: __m128i) -> __m128i =
            [_mm_max_epu8 _mm_max_epu16 _mm_max_epu32 - _mm_max_epi8 _mm_max_epi16 _mm_max_epi32 -];
        shl(bits: __m128i, amount: u32) -> __m128i = [- sll16 sll32 sll64];
        shr(bits: __m128i, amount: u32) -> __m128i = [- srl16 srl32 srl64 - sra16 sra32 -];
        eq(left: __m128i, right: __m128i) -> __m128i =
            [_mm_cmpeq_epi8 _mm_cmpeq_epi16 _mm_cmpeq_epi32 _mm_cmpeq_epi64];
        gt(left: __m128i, right: __m128i) -> __m128i =
            [- - - - _mm_cmpgt_epi8 _mm_cmpgt_epi16 _mm_cmpgt_epi32 _mm_cmpgt_epi64];
    }

    register_masks!();

    conversions!(
        __m128i;
        lower_half upper_half;
        _mm_cvtepu8_epi16 _mm_cvtepu16_epi32 _mm_cvtepu32_epi64
        _mm_cvtepi8_epi16 _mm_cvtepi16_epi32 _mm_cvtepi32_epi64;
        narrow8 narrow16 narrow32
    );

    #[inline(always)]
    fn bits_of_mask<T: Lane>(self, mask: __m128i) -> u64 {
        // SAFETY: `self` proves the flavour.
        let bits = unsafe {
            match T::BITS {
                8 => _mm_movemask_epi8(mask),
                16 => _mm_movemask_epi8(_mm_packs_epi16(mask, _mm_setzero_si128())),
                32 => _mm_movemask_ps(_mm_castsi128_ps(mask)),
                _ => _mm_movemask_pd(_mm_castsi128_pd(mask)),
            }
        };
        bits as u64
    }

    #[inline(always)]
    fn blend<T: Lane>(self, mask: __m128i, set: __m128i, clear: __m128i) -> __m128i {
        // SAFETY: `self` proves the flavour.
        unsafe { _mm_blendv_epi8(clear, set, mask) }
    }

    #[inline(always)]
    fn compress<T: Lane>(self, mask: __m128i, bits: __m128i) -> __m128i {
        let Some(places) = emulate::bytes_to_front::<Self, T>(self, mask) else {
            return emulate::compress::<Self, T>(self, mask, bits);
        };
        // SAFETY: `self` proves the flavour.
        unsafe { _mm_shuffle_epi8(bits, places) }
    }
}
