//! AVX-512 F, BW, CD, DQ and VL: registers of 512 bits; a mask is a number, one bit for each lane.

use std::arch::x86_64::*;

use super::raw::{bit_masks, operations, token};
use super::x86::{conversions, memory, shifts};
use super::{Raw, emulate};
use crate::{Flavour, Lane};

token!(
    /// AVX-512 F, BW, CD, DQ and VL: 512-bit registers.
    Avx512
);

/// # Safety
/// The caller has the flavour's token, as for all functions below.
#[inline(always)]
unsafe fn upper_half(bits: __m512i) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe { _mm512_extracti64x4_epi64::<1>(bits) }
}

/// Puts two halves together.
#[inline(always)]
unsafe fn join(low: __m256i, high: __m256i) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe { _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high) }
}

#[inline(always)]
unsafe fn narrow8(low: __m512i, high: __m512i) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe { join(_mm512_cvtepi16_epi8(low), _mm512_cvtepi16_epi8(high)) }
}

#[inline(always)]
unsafe fn narrow16(low: __m512i, high: __m512i) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe { join(_mm512_cvtepi32_epi16(low), _mm512_cvtepi32_epi16(high)) }
}

#[inline(always)]
unsafe fn narrow32(low: __m512i, high: __m512i) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe { join(_mm512_cvtepi64_epi32(low), _mm512_cvtepi64_epi32(high)) }
}

shifts!(
    __m512i;
    sll16 = _mm512_sll_epi16, sll32 = _mm512_sll_epi32, sll64 = _mm512_sll_epi64,
    srl16 = _mm512_srl_epi16, srl32 = _mm512_srl_epi32, srl64 = _mm512_srl_epi64,
    sra16 = _mm512_sra_epi16, sra32 = _mm512_sra_epi32, sra64 = _mm512_sra_epi64,
);

/// Calls the intrinsic for the lane with a mask of as many bits as it has lanes.
macro_rules! with_mask {
    ($mask:expr, [$op8:ident $op16:ident $op32:ident $op64:ident] $args:tt) => {
        match T::BITS {
            8 => with_mask!(@ $op8 ($mask) $args),
            16 => with_mask!(@ $op16 ($mask as u32) $args),
            32 => with_mask!(@ $op32 ($mask as u16) $args),
            _ => with_mask!(@ $op64 ($mask as u8) $args),
        }
    };
    (@ $op:ident ($mask:expr) ($($before:expr),*; $($after:expr),*)) => {
        $op($($before,)* $mask, $($after),*)
    };
}

/// Makes comparisons that return masks.
macro_rules! comparisons {
    ($($name:ident = [$($op:ident)*];)*) => {
        $(
            #[inline(always)]
            fn $name<T: Lane>(self, left: __m512i, right: __m512i) -> u64 {
                comparisons!(@ left right $($op)*)
            }
        )*
    };
    (@ $left:ident $right:ident $u8:ident $u16:ident $u32:ident $u64:ident
        $i8:ident $i16:ident $i32:ident $i64:ident) => {
        // SAFETY: `self` proves the flavour.
        unsafe {
            match (T::BITS, T::IS_SIGNED) {
                (8, false) => $u8($left, $right),
                (16, false) => $u16($left, $right).into(),
                (32, false) => $u32($left, $right).into(),
                (_, false) => $u64($left, $right).into(),
                (8, true) => $i8($left, $right),
                (16, true) => $i16($left, $right).into(),
                (32, true) => $i32($left, $right).into(),
                (_, true) => $i64($left, $right).into(),
            }
        }
    };
}

impl Raw for Avx512 {
    const FLAVOUR: Flavour = Flavour::Avx512;
    const BYTES: usize = 64;
    type Bits = __m512i;
    type Mask = u64;

    memory!(
        __m512i;
        _mm512_loadu_si512 _mm512_storeu_si512 _mm512_stream_si512;
        _mm512_set1_epi8 _mm512_set1_epi16 _mm512_set1_epi32 _mm512_set1_epi64
    );

    operations! {
        and(left: __m512i, right: __m512i) -> __m512i = (_mm512_and_si512);
        or(left: __m512i, right: __m512i) -> __m512i = (_mm512_or_si512);
        xor(left: __m512i, right: __m512i) -> __m512i = (_mm512_xor_si512);
        andnot(left: __m512i, right: __m512i) -> __m512i = (_mm512_andnot_si512);
        add(left: __m512i, right: __m512i) -> __m512i =
            [_mm512_add_epi8 _mm512_add_epi16 _mm512_add_epi32 _mm512_add_epi64];
        sub(left: __m512i, right: __m512i) -> __m512i =
            [_mm512_sub_epi8 _mm512_sub_epi16 _mm512_sub_epi32 _mm512_sub_epi64];
        mul(left: __m512i, right: __m512i) -> __m512i =
            [- _mm512_mullo_epi16 _mm512_mullo_epi32 _mm512_mullo_epi64];
        min(left: __m512i, right: __m512i) -> __m512i =
            [_mm512_min_epu8 _mm512_min_epu16 _mm512_min_epu32 _mm512_min_epu64
             _mm512_min_epi8 _mm512_min_epi16 _mm512_min_epi32 _mm512_min_epi64];
        max(left: __m512i, right: __m512i) -> __m512i =
            [_mm512_max_epu8 _mm512_max_epu16 _mm512_max_epu32 _mm512_max_epu64
             _mm512_max_epi8 _mm512_max_epi16 _mm512_max_epi32 _mm512_max_epi64];
        shl(bits: __m512i, amount: u32) -> __m512i = [- sll16 sll32 sll64];
        shr(bits: __m512i, amount: u32) -> __m512i = [- srl16 srl32 srl64 - sra16 sra32 sra64];
        shl_each(bits: __m512i, amounts: __m512i) -> __m512i =
            [- _mm512_sllv_epi16 _mm512_sllv_epi32 _mm512_sllv_epi64];
        shr_each(bits: __m512i, amounts: __m512i) -> __m512i =
            [- _mm512_srlv_epi16 _mm512_srlv_epi32 _mm512_srlv_epi64
             - _mm512_srav_epi16 _mm512_srav_epi32 _mm512_srav_epi64];
    }

    comparisons! {
        eq = [_mm512_cmpeq_epu8_mask _mm512_cmpeq_epu16_mask
              _mm512_cmpeq_epu32_mask _mm512_cmpeq_epu64_mask
              _mm512_cmpeq_epi8_mask _mm512_cmpeq_epi16_mask
              _mm512_cmpeq_epi32_mask _mm512_cmpeq_epi64_mask];
        gt = [_mm512_cmpgt_epu8_mask _mm512_cmpgt_epu16_mask
              _mm512_cmpgt_epu32_mask _mm512_cmpgt_epu64_mask
              _mm512_cmpgt_epi8_mask _mm512_cmpgt_epi16_mask
              _mm512_cmpgt_epi32_mask _mm512_cmpgt_epi64_mask];
    }

    bit_masks!();

    conversions!(
        __m512i;
        _mm512_castsi512_si256 upper_half;
        _mm512_cvtepu8_epi16 _mm512_cvtepu16_epi32 _mm512_cvtepu32_epi64
        _mm512_cvtepi8_epi16 _mm512_cvtepi16_epi32 _mm512_cvtepi32_epi64;
        narrow8 narrow16 narrow32
    );

    #[inline(always)]
    fn blend<T: Lane>(self, mask: u64, set: __m512i, clear: __m512i) -> __m512i {
        // SAFETY: `self` proves the flavour.
        unsafe {
            with_mask!(
                mask,
                [_mm512_mask_blend_epi8 _mm512_mask_blend_epi16
                 _mm512_mask_blend_epi32 _mm512_mask_blend_epi64] (; clear, set)
            )
        }
    }

    #[inline(always)]
    fn compress<T: Lane>(self, mask: u64, bits: __m512i) -> __m512i {
        // SAFETY: `self` proves the flavour.
        unsafe {
            match T::BITS {
                32 => _mm512_maskz_compress_epi32(mask as u16, bits),
                64 => _mm512_maskz_compress_epi64(mask as u8, bits),
                _ => emulate::compress::<Self, T>(self, mask, bits),
            }
        }
    }

    #[inline(always)]
    fn permute<T: Lane>(self, bits: __m512i, indices: __m512i) -> __m512i {
        // SAFETY: `self` proves the flavour.
        unsafe {
            match T::BITS {
                32 => _mm512_permutexvar_epi32(indices, bits),
                64 => _mm512_permutexvar_epi64(indices, bits),
                _ => emulate::permute::<Self, T>(self, bits, indices),
            }
        }
    }

    #[inline(always)]
    unsafe fn read_masked<T: Lane>(self, mask: u64, from: *const T) -> __m512i {
        // SAFETY: `self` proves the flavour; the caller vouches for the lanes that `mask` has, and
        // the instruction touches no others.
        unsafe {
            with_mask!(
                mask,
                [_mm512_maskz_loadu_epi8 _mm512_maskz_loadu_epi16
                 _mm512_maskz_loadu_epi32 _mm512_maskz_loadu_epi64] (; from.cast())
            )
        }
    }

    #[inline(always)]
    unsafe fn write_masked<T: Lane>(self, mask: u64, bits: __m512i, to: *mut T) {
        // SAFETY: as for `read_masked`.
        unsafe {
            with_mask!(
                mask,
                [_mm512_mask_storeu_epi8 _mm512_mask_storeu_epi16
                 _mm512_mask_storeu_epi32 _mm512_mask_storeu_epi64] (to.cast(); bits)
            )
        }
    }

    #[inline(always)]
    unsafe fn read_at<T: Lane>(self, from: *const T, indices: __m512i) -> __m512i {
        // SAFETY: `self` proves the flavour; the caller vouches for the indices, which are not
        // negative as signed numbers either.
        unsafe {
            match T::BITS {
                32 => _mm512_i32gather_epi32::<4>(indices, from.cast()),
                64 => _mm512_i64gather_epi64::<8>(indices, from.cast()),
                _ => emulate::read_at(self, from, indices),
            }
        }
    }

    #[inline(always)]
    unsafe fn write_at<T: Lane>(self, bits: __m512i, to: *mut T, indices: __m512i) {
        // SAFETY: as for `read_at`; the instruction writes lanes in ascending order.
        unsafe {
            match T::BITS {
                32 => _mm512_i32scatter_epi32::<4>(to.cast(), indices, bits),
                64 => _mm512_i64scatter_epi64::<8>(to.cast(), indices, bits),
                _ => emulate::write_at(self, bits, to, indices),
            }
        }
    }
}
