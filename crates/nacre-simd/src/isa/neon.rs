//! AArch64 Advanced SIMD: registers of 128 bits; a mask is a register with all bits of a lane set
//! or clear.

use std::arch::aarch64::*;

use super::raw::{call, operations, register_masks, token};
use super::{Raw, emulate};
use crate::{Flavour, Lane, Narrow};

token!(
    /// AArch64 Advanced SIMD: 128-bit registers.
    Neon
);

/// Makes shifts by a number from those by a register of signed amounts: negative ones shift to the
/// right. Amounts past the lane's bits shift everything out; 127 is the most that a byte holds.
macro_rules! shifts {
    ($($name:ident = $intrinsic:ident($bits:ty, $set:ident, $amount:ty, $sign:literal);)*) => {
        $(
            /// # Safety
            /// The caller has the flavour's token.
            #[inline(always)]
            unsafe fn $name(bits: $bits, amount: u32) -> $bits {
                // SAFETY: the caller's promise.
                unsafe { $intrinsic(bits, $set($sign * amount.min(127) as $amount)) }
            }
        )*
    };
}

shifts! {
    shl8 = vshlq_u8(uint8x16_t, vdupq_n_s8, i8, 1);
    shl16 = vshlq_u16(uint16x8_t, vdupq_n_s16, i16, 1);
    shl32 = vshlq_u32(uint32x4_t, vdupq_n_s32, i32, 1);
    shl64 = vshlq_u64(uint64x2_t, vdupq_n_s64, i64, 1);
    shr8 = vshlq_u8(uint8x16_t, vdupq_n_s8, i8, -1);
    shr16 = vshlq_u16(uint16x8_t, vdupq_n_s16, i16, -1);
    shr32 = vshlq_u32(uint32x4_t, vdupq_n_s32, i32, -1);
    shr64 = vshlq_u64(uint64x2_t, vdupq_n_s64, i64, -1);
    sar8 = vshlq_s8(int8x16_t, vdupq_n_s8, i8, -1);
    sar16 = vshlq_s16(int16x8_t, vdupq_n_s16, i16, -1);
    sar32 = vshlq_s32(int32x4_t, vdupq_n_s32, i32, -1);
    sar64 = vshlq_s64(int64x2_t, vdupq_n_s64, i64, -1);
}

impl Raw for Neon {
    const FLAVOUR: Flavour = Flavour::Neon;
    const BYTES: usize = 16;
    type Bits = uint8x16_t;
    type Mask = uint8x16_t;

    #[inline(always)]
    unsafe fn read(self, from: *const u8) -> uint8x16_t {
        // SAFETY: the caller vouches for the bytes, `self` for the flavour.
        unsafe { vld1q_u8(from) }
    }

    #[inline(always)]
    unsafe fn write(self, bits: uint8x16_t, to: *mut u8) {
        // SAFETY: the caller vouches for the bytes, `self` for the flavour.
        unsafe { vst1q_u8(to, bits) }
    }

    operations! {
        and(left: uint8x16_t, right: uint8x16_t) -> uint8x16_t = (vandq_u8);
        or(left: uint8x16_t, right: uint8x16_t) -> uint8x16_t = (vorrq_u8);
        xor(left: uint8x16_t, right: uint8x16_t) -> uint8x16_t = (veorq_u8);
        add(left: uint8x16_t, right: uint8x16_t) -> uint8x16_t =
            [vaddq_u8 vaddq_u16 vaddq_u32 vaddq_u64];
        sub(left: uint8x16_t, right: uint8x16_t) -> uint8x16_t =
            [vsubq_u8 vsubq_u16 vsubq_u32 vsubq_u64];
        mul(left: uint8x16_t, right: uint8x16_t) -> uint8x16_t =
            [vmulq_u8 vmulq_u16 vmulq_u32 -];
        min(left: uint8x16_t, right: uint8x16_t) -> uint8x16_t =
            [vminq_u8 vminq_u16 vminq_u32 - vminq_s8 vminq_s16 vminq_s32 -];
        max(left: uint8x16_t, right: uint8x16_t) -> uint8x16_t =
            [vmaxq_u8 vmaxq_u16 vmaxq_u32 - vmaxq_s8 vmaxq_s16 vmaxq_s32 -];
        shl(bits: uint8x16_t, amount: u32) -> uint8x16_t = [shl8 shl16 shl32 shl64];
        shr(bits: uint8x16_t, amount: u32) -> uint8x16_t =
            [shr8 shr16 shr32 shr64 sar8 sar16 sar32 sar64];
        eq(left: uint8x16_t, right: uint8x16_t) -> uint8x16_t =
            [vceqq_u8 vceqq_u16 vceqq_u32 vceqq_u64];
        gt(left: uint8x16_t, right: uint8x16_t) -> uint8x16_t =
            [vcgtq_u8 vcgtq_u16 vcgtq_u32 vcgtq_u64 vcgtq_s8 vcgtq_s16 vcgtq_s32 vcgtq_s64];
    }

    register_masks!();

    #[inline(always)]
    fn andnot(self, left: uint8x16_t, right: uint8x16_t) -> uint8x16_t {
        // SAFETY: `self` proves the flavour.
        unsafe { vbicq_u8(right, left) }
    }

    #[inline(always)]
    fn fill<T: Lane>(self, value: T) -> uint8x16_t {
        let value = value.to_bits();
        let (byte, half, word) = (value as u8, value as u16, value as u32);
        match T::BITS {
            8 => call!(fill(self, byte) vdupq_n_u8),
            16 => call!(fill(self, half) vdupq_n_u16),
            32 => call!(fill(self, word) vdupq_n_u32),
            _ => call!(fill(self, value) vdupq_n_u64),
        }
    }

    #[inline(always)]
    fn bits_of_mask<T: Lane>(self, mask: uint8x16_t) -> u64 {
        let weights = emulate::generate(self, |lane| T::from_bits(1 << (lane % 8)));
        let bits = self.and(mask, weights);
        // SAFETY: `self` proves the flavour.
        unsafe {
            match T::BITS {
                8 => {
                    let high: u64 = vaddv_u8(vget_high_u8(bits)).into();
                    u64::from(vaddv_u8(vget_low_u8(bits))) | high << 8
                }
                16 => vaddvq_u16(vreinterpretq_u16_u8(bits)).into(),
                32 => vaddvq_u32(vreinterpretq_u32_u8(bits)).into(),
                _ => vaddvq_u64(vreinterpretq_u64_u8(bits)),
            }
        }
    }

    #[inline(always)]
    fn blend<T: Lane>(self, mask: uint8x16_t, set: uint8x16_t, clear: uint8x16_t) -> uint8x16_t {
        // SAFETY: `self` proves the flavour.
        unsafe { vbslq_u8(mask, set, clear) }
    }

    #[inline(always)]
    fn compress<T: Lane>(self, mask: uint8x16_t, bits: uint8x16_t) -> uint8x16_t {
        let Some(places) = emulate::bytes_to_front::<Self, T>(self, mask) else {
            return emulate::compress::<Self, T>(self, mask, bits);
        };
        // SAFETY: `self` proves the flavour.
        unsafe { vqtbl1q_u8(bits, places) }
    }

    #[inline(always)]
    fn widen_low<T: Narrow>(self, bits: uint8x16_t) -> uint8x16_t {
        // SAFETY: `self` proves the flavour.
        let half = unsafe { vget_low_u8(bits) };
        match (T::BITS, T::IS_SIGNED) {
            (8, false) => call!(widen_low(self, half) vmovl_u8),
            (16, false) => call!(widen_low(self, half) vmovl_u16),
            (_, false) => call!(widen_low(self, half) vmovl_u32),
            (8, true) => call!(widen_low(self, half) vmovl_s8),
            (16, true) => call!(widen_low(self, half) vmovl_s16),
            (_, true) => call!(widen_low(self, half) vmovl_s32),
        }
    }

    #[inline(always)]
    fn widen_high<T: Narrow>(self, bits: uint8x16_t) -> uint8x16_t {
        // SAFETY: `self` proves the flavour.
        self.widen_low::<T>(unsafe { vextq_u8::<8>(bits, bits) })
    }

    #[inline(always)]
    fn narrow<T: Narrow>(self, low: uint8x16_t, high: uint8x16_t) -> uint8x16_t {
        match T::BITS {
            8 => call!(narrow(self, low, high) vuzp1q_u8),
            16 => call!(narrow(self, low, high) vuzp1q_u16),
            _ => call!(narrow(self, low, high) vuzp1q_u32),
        }
    }
}
