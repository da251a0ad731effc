//! AVX2: registers of 256 bits; a mask is a register with all bits of a lane set or clear.
//!
//! Many of its instructions work within halves of 128 bits; what is built of them here puts the
//! lanes into ascending order again.

use std::arch::x86_64::*;

use super::raw::{operations, register_masks, token};
use super::x86::{conversions, memory, shifts};
use super::{Raw, emulate};
use crate::{Flavour, Lane};

token!(
    /// AVX2, BMI and LZCNT: 256-bit registers.
    Avx2
);

/// Takes 64-bit lanes 0 and 2 of what was made of two registers within halves, then 1 and 3.
///
/// # Safety
/// The caller has the flavour's token, as for all functions below.
#[inline(always)]
unsafe fn across(bits: __m256i) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { _mm256_permute4x64_epi64::<0b11_01_10_00>(bits) }
}

#[inline(always)]
unsafe fn upper_half(bits: __m256i) -> __m128i {
    // SAFETY: the caller's promise.
    unsafe { _mm256_extracti128_si256::<1>(bits) }
}

#[inline(always)]
unsafe fn narrow8(low: __m256i, high: __m256i) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        let kept = _mm256_set1_epi16(0xff);
        across(_mm256_packus_epi16(_mm256_and_si256(low, kept), _mm256_and_si256(high, kept)))
    }
}

#[inline(always)]
unsafe fn narrow16(low: __m256i, high: __m256i) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        let kept = _mm256_set1_epi32(0xffff);
        across(_mm256_packus_epi32(_mm256_and_si256(low, kept), _mm256_and_si256(high, kept)))
    }
}

#[inline(always)]
unsafe fn narrow32(low: __m256i, high: __m256i) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        let (low, high) = (_mm256_castsi256_ps(low), _mm256_castsi256_ps(high));
        across(_mm256_castps_si256(_mm256_shuffle_ps::<0x88>(low, high)))
    }
}

shifts!(
    __m256i;
    sll16 = _mm256_sll_epi16, sll32 = _mm256_sll_epi32, sll64 = _mm256_sll_epi64,
    srl16 = _mm256_srl_epi16, srl32 = _mm256_srl_epi32, srl64 = _mm256_srl_epi64,
    sra16 = _mm256_sra_epi16, sra32 = _mm256_sra_epi32,
);

impl Raw for Avx2 {
    const FLAVOUR: Flavour = Flavour::Avx2;
    const BYTES: usize = 32;
    type Bits = __m256i;
    type Mask = __m256i;

    memory!(
        __m256i;
        _mm256_loadu_si256 _mm256_storeu_si256 _mm256_stream_si256;
        _mm256_set1_epi8 _mm256_set1_epi16 _mm256_set1_epi32 _mm256_set1_epi64x
    );

    operations! {
        and(left: __m256i, right: __m256i) -> __m256i = (_mm256_and_si256);
        or(left: __m256i, right: __m256i) -> __m256i = (_mm256_or_si256);
        xor(left: __m256i, right: __m256i) -> __m256i = (_mm256_xor_si256);
        andnot(left: __m256i, right: __m256i) -> __m256i = (_mm256_andnot_si256);
        add(left: __m256i, right: __m256i) -> __m256i =
            [_mm256_add_epi8 _mm256_add_epi16 _mm256_add_epi32 _mm256_add_epi64];
        sub(left: __m256i, right: __m256i) -> __m256i =
            [_mm256_sub_epi8 _mm256_sub_epi16 _mm256_sub_epi32 _mm256_sub_epi64];
        mul(left: __m256i, right: __m256i) -> __m256i =
            [- _mm256_mullo_epi16 _mm256_mullo_epi32 -];
        min(left: __m256i, right: __m256i) -> __m256i =
            [_mm256_min_epu8 _mm256_min_epu16 _mm256_min_epu32 -
             _mm256_min_epi8 _mm256_min_epi16 _mm256_min_epi32 -];
        max(left: __m256i, right: __m256i) -> __m256i =
            [_mm256_max_epu8 _mm256_max_epu16 _mm256_max_epu32 -
             _mm256_max_epi8 _mm256_max_epi16 _mm256_max_epi32 -];
        shl(bits: __m256i, amount: u32) -> __m256i = [- sll16 sll32 sll64];
        shr(bits: __m256i, amount: u32) -> __m256i = [- srl16 srl32 srl64 - sra16 sra32 -];
        shl_each(bits: __m256i, amounts: __m256i) -> __m256i =
            [- - _mm256_sllv_epi32 _mm256_sllv_epi64];
        shr_each(bits: __m256i, amounts: __m256i) -> __m256i =
            [- - _mm256_srlv_epi32 _mm256_srlv_epi64 - - _mm256_srav_epi32 -];
        eq(left: __m256i, right: __m256i) -> __m256i =
            [_mm256_cmpeq_epi8 _mm256_cmpeq_epi16 _mm256_cmpeq_epi32 _mm256_cmpeq_epi64];
        gt(left: __m256i, right: __m256i) -> __m256i =
            [- - - - _mm256_cmpgt_epi8 _mm256_cmpgt_epi16 _mm256_cmpgt_epi32 _mm256_cmpgt_epi64];
    }

    register_masks!();

    conversions!(
        __m256i;
        _mm256_castsi256_si128 upper_half;
        _mm256_cvtepu8_epi16 _mm256_cvtepu16_epi32 _mm256_cvtepu32_epi64
        _mm256_cvtepi8_epi16 _mm256_cvtepi16_epi32 _mm256_cvtepi32_epi64;
        narrow8 narrow16 narrow32
    );

    #[inline(always)]
    fn bits_of_mask<T: Lane>(self, mask: __m256i) -> u64 {
        // SAFETY: `self` proves the flavour.
        let bits = unsafe {
            match T::BITS {
                8 => _mm256_movemask_epi8(mask),
                16 => {
                    _mm256_movemask_epi8(across(_mm256_packs_epi16(mask, _mm256_setzero_si256())))
                }
                32 => _mm256_movemask_ps(_mm256_castsi256_ps(mask)),
                _ => _mm256_movemask_pd(_mm256_castsi256_pd(mask)),
            }
        };
        u64::from(bits as u32)
    }

    #[inline(always)]
    fn blend<T: Lane>(self, mask: __m256i, set: __m256i, clear: __m256i) -> __m256i {
        // SAFETY: `self` proves the flavour.
        unsafe { _mm256_blendv_epi8(clear, set, mask) }
    }

    #[inline(always)]
    fn compress<T: Lane>(self, mask: __m256i, bits: __m256i) -> __m256i {
        let Some(lanes) = emulate::words_to_front::<Self, T>(self, mask) else {
            return emulate::compress::<Self, T>(self, mask, bits);
        };
        // SAFETY: `self` proves the flavour.
        unsafe {
            let lanes = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(lanes as i64));
            _mm256_permutevar8x32_epi32(bits, lanes)
        }
    }

    #[inline(always)]
    fn permute<T: Lane>(self, bits: __m256i, indices: __m256i) -> __m256i {
        match T::BITS {
            // SAFETY: `self` proves the flavour.
            32 => unsafe { _mm256_permutevar8x32_epi32(bits, indices) },
            _ => emulate::permute::<Self, T>(self, bits, indices),
        }
    }

    #[inline(always)]
    unsafe fn read_masked<T: Lane>(self, mask: __m256i, from: *const T) -> __m256i {
        // SAFETY: `self` proves the flavour; the caller vouches for the lanes that `mask` has, and
        // the instruction touches no others.
        unsafe {
            match T::BITS {
                32 => _mm256_maskload_epi32(from.cast(), mask),
                64 => _mm256_maskload_epi64(from.cast(), mask),
                _ => emulate::read_masked(self, mask, from),
            }
        }
    }

    #[inline(always)]
    unsafe fn read_at<T: Lane>(self, from: *const T, indices: __m256i) -> __m256i {
        // SAFETY: `self` proves the flavour; the caller vouches for the indices, which are not
        // negative as signed numbers either.
        unsafe {
            match T::BITS {
                32 => _mm256_i32gather_epi32::<4>(from.cast(), indices),
                64 => _mm256_i64gather_epi64::<8>(from.cast(), indices),
                _ => emulate::read_at(self, from, indices),
            }
        }
    }
}
