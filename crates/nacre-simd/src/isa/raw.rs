//! The operations of an instruction set on untyped registers, and the macros that fill them in.

use std::fmt::Debug;

use super::emulate;
use crate::{Flavour, Lane, Narrow};

/// Registers of one flavour. What a lane is, each operation is told by its type parameter.
///
/// Provided methods are emulated; a flavour overrides those that it has instructions for.
pub trait Raw: Copy + Debug + Send + Sync + 'static {
    /// The flavour.
    const FLAVOUR: Flavour;
    /// Bytes of a register.
    const BYTES: usize;
    /// What a register holds.
    type Bits: Copy;
    /// A yes or no for each lane.
    type Mask: Copy;

    /// Reads a register.
    ///
    /// # Safety
    /// `from` is valid for reading [`Raw::BYTES`] bytes. It need not be aligned.
    unsafe fn read(self, from: *const u8) -> Self::Bits;

    /// Writes a register.
    ///
    /// # Safety
    /// `to` is valid for writing [`Raw::BYTES`] bytes. It need not be aligned.
    unsafe fn write(self, bits: Self::Bits, to: *mut u8);

    /// Writes a register past the caches where the flavour can.
    ///
    /// # Safety
    /// As [`Raw::write`], and `to` is a multiple of [`Raw::BYTES`]. [`Raw::fence_streaming`] runs
    /// in this thread before another one may read what was written.
    #[inline(always)]
    unsafe fn write_streaming(self, bits: Self::Bits, to: *mut u8) {
        // SAFETY: the caller's promise is more than is needed.
        unsafe { self.write(bits, to) }
    }

    /// Makes what [`Raw::write_streaming`] wrote visible before any later store.
    #[inline(always)]
    fn fence_streaming(self) {}

    /// Reads the lanes that `mask` has; the others are zero and not touched.
    ///
    /// # Safety
    /// `from` is valid for reading the lanes that `mask` has.
    #[inline(always)]
    unsafe fn read_masked<T: Lane>(self, mask: Self::Mask, from: *const T) -> Self::Bits {
        // SAFETY: the caller's promise.
        unsafe { emulate::read_masked(self, mask, from) }
    }

    /// Writes the lanes that `mask` has; the others are not touched.
    ///
    /// # Safety
    /// `to` is valid for writing the lanes that `mask` has.
    #[inline(always)]
    unsafe fn write_masked<T: Lane>(self, mask: Self::Mask, bits: Self::Bits, to: *mut T) {
        // SAFETY: the caller's promise.
        unsafe { emulate::write_masked(self, mask, bits, to) }
    }

    /// Reads `from[i]` for each lane `i` of `indices`, which has as many bits as `T`: 32 or 64.
    ///
    /// # Safety
    /// Every index is below 2^31, and `from` is valid for reading all of these elements.
    #[inline(always)]
    unsafe fn read_at<T: Lane>(self, from: *const T, indices: Self::Bits) -> Self::Bits {
        // SAFETY: the caller's promise.
        unsafe { emulate::read_at(self, from, indices) }
    }

    /// Writes each lane to `to[i]`, in ascending order of lanes; indices as for [`Raw::read_at`].
    ///
    /// # Safety
    /// As [`Raw::read_at`], for writing.
    #[inline(always)]
    unsafe fn write_at<T: Lane>(self, bits: Self::Bits, to: *mut T, indices: Self::Bits) {
        // SAFETY: the caller's promise.
        unsafe { emulate::write_at(self, bits, to, indices) }
    }

    /// Puts `value` into every lane.
    #[inline(always)]
    fn fill<T: Lane>(self, value: T) -> Self::Bits {
        emulate::generate(self, |_| value)
    }

    fn and(self, left: Self::Bits, right: Self::Bits) -> Self::Bits;
    fn or(self, left: Self::Bits, right: Self::Bits) -> Self::Bits;
    fn xor(self, left: Self::Bits, right: Self::Bits) -> Self::Bits;
    /// Returns the bits of `right` that `left` lacks.
    fn andnot(self, left: Self::Bits, right: Self::Bits) -> Self::Bits;

    #[inline(always)]
    fn add<T: Lane>(self, left: Self::Bits, right: Self::Bits) -> Self::Bits {
        emulate::zip(self, left, right, T::plus)
    }

    #[inline(always)]
    fn sub<T: Lane>(self, left: Self::Bits, right: Self::Bits) -> Self::Bits {
        emulate::zip(self, left, right, T::minus)
    }

    /// Multiplies and keeps the lower half.
    #[inline(always)]
    fn mul<T: Lane>(self, left: Self::Bits, right: Self::Bits) -> Self::Bits {
        emulate::mul::<Self, T>(self, left, right)
    }

    #[inline(always)]
    fn min<T: Lane>(self, left: Self::Bits, right: Self::Bits) -> Self::Bits {
        emulate::zip(self, left, right, T::min)
    }

    #[inline(always)]
    fn max<T: Lane>(self, left: Self::Bits, right: Self::Bits) -> Self::Bits {
        emulate::zip(self, left, right, T::max)
    }

    /// Shifts every lane to the left; 0 from the lane's bits on.
    #[inline(always)]
    fn shl<T: Lane>(self, bits: Self::Bits, amount: u32) -> Self::Bits {
        emulate::map(self, bits, |lane: T| lane.shifted_left(amount.into()))
    }

    /// Shifts every lane to the right, signed lanes with copies of their sign.
    #[inline(always)]
    fn shr<T: Lane>(self, bits: Self::Bits, amount: u32) -> Self::Bits {
        emulate::map(self, bits, |lane: T| lane.shifted_right(amount.into()))
    }

    /// Shifts each lane to the left by the unsigned number in the same lane of `amounts`.
    #[inline(always)]
    fn shl_each<T: Lane>(self, bits: Self::Bits, amounts: Self::Bits) -> Self::Bits {
        emulate::shl_each::<Self, T>(self, bits, amounts)
    }

    /// As [`Raw::shl_each`], to the right as [`Raw::shr`].
    #[inline(always)]
    fn shr_each<T: Lane>(self, bits: Self::Bits, amounts: Self::Bits) -> Self::Bits {
        emulate::shr_each::<Self, T>(self, bits, amounts)
    }

    fn eq<T: Lane>(self, left: Self::Bits, right: Self::Bits) -> Self::Mask;
    fn gt<T: Lane>(self, left: Self::Bits, right: Self::Bits) -> Self::Mask;

    fn mask_and(self, left: Self::Mask, right: Self::Mask) -> Self::Mask;
    fn mask_or(self, left: Self::Mask, right: Self::Mask) -> Self::Mask;
    fn mask_not(self, mask: Self::Mask) -> Self::Mask;

    /// Returns bit `i` for lane `i`; those past the last lane are zero.
    fn bits_of_mask<T: Lane>(self, mask: Self::Mask) -> u64;

    /// Makes a mask; bits past the last lane are ignored.
    fn mask_of_bits<T: Lane>(self, bits: u64) -> Self::Mask;

    /// Takes the lanes of `set` where `mask` has the lane, those of `clear` elsewhere.
    fn blend<T: Lane>(self, mask: Self::Mask, set: Self::Bits, clear: Self::Bits) -> Self::Bits;

    /// Moves the lanes that `mask` has to the front, in order; the others come out unspecified.
    #[inline(always)]
    fn compress<T: Lane>(self, mask: Self::Mask, bits: Self::Bits) -> Self::Bits {
        emulate::compress::<Self, T>(self, mask, bits)
    }

    /// Takes lane `indices[i]`, modulo the lanes of a register, for each lane `i`; indices have as
    /// many bits as `T`: 32 or 64.
    #[inline(always)]
    fn permute<T: Lane>(self, bits: Self::Bits, indices: Self::Bits) -> Self::Bits {
        emulate::permute::<Self, T>(self, bits, indices)
    }

    /// Widens the lower half of the lanes.
    #[inline(always)]
    fn widen_low<T: Narrow>(self, bits: Self::Bits) -> Self::Bits {
        emulate::widen::<Self, T>(self, bits, 0)
    }

    /// Widens the upper half of the lanes.
    #[inline(always)]
    fn widen_high<T: Narrow>(self, bits: Self::Bits) -> Self::Bits {
        emulate::widen::<Self, T>(self, bits, Self::BYTES * 8 / T::BITS as usize / 2)
    }

    /// Cuts the lanes of `low`, then those of `high`, down to `T`.
    #[inline(always)]
    fn narrow<T: Narrow>(self, low: Self::Bits, high: Self::Bits) -> Self::Bits {
        emulate::narrow::<Self, T>(self, low, high)
    }
}

/// Makes the token of a flavour.
macro_rules! token {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(());

        impl $name {
            /// Makes the token.
            ///
            /// # Safety
            /// The processor has the flavour.
            #[inline(always)]
            pub(crate) unsafe fn new() -> Self {
                Self(())
            }
        }
    };
}

/// Picks the intrinsic for the lane `T` from a table of four (u8 to u64; the sign does not matter)
/// or eight (then i8 to i64); a dash picks the routine of that name in `emulate`.
macro_rules! pick {
    ($op:ident $args:tt [$u8:tt $u16:tt $u32:tt $u64:tt]) => {
        $crate::isa::raw::pick!($op $args [$u8 $u16 $u32 $u64 $u8 $u16 $u32 $u64])
    };
    ($op:ident $args:tt [$u8:tt $u16:tt $u32:tt $u64:tt $i8:tt $i16:tt $i32:tt $i64:tt]) => {
        match (T::BITS, T::IS_SIGNED) {
            (8, false) => $crate::isa::raw::call!($op $args $u8),
            (16, false) => $crate::isa::raw::call!($op $args $u16),
            (32, false) => $crate::isa::raw::call!($op $args $u32),
            (_, false) => $crate::isa::raw::call!($op $args $u64),
            (8, true) => $crate::isa::raw::call!($op $args $i8),
            (16, true) => $crate::isa::raw::call!($op $args $i16),
            (32, true) => $crate::isa::raw::call!($op $args $i32),
            (_, true) => $crate::isa::raw::call!($op $args $i64),
        }
    };
}

/// Calls an intrinsic, or the emulation for a dash. Registers of one flavour are all of one size,
/// whatever type the intrinsics give them.
macro_rules! call {
    ($op:ident ($simd:ident $(, $arg:ident)*) -) => {
        $crate::isa::emulate::$op::<Self, T>($simd $(, $arg)*)
    };
    ($op:ident ($simd:ident $(, $arg:ident)*) $intrinsic:ident) => {{
        use std::mem::transmute;

        #[allow(clippy::useless_transmute, reason = "some intrinsics take just this type")]
        // SAFETY: `$simd` is the token of this flavour, so the processor has the instruction; the
        // types on both sides are registers of the flavour, for which any bits are valid.
        unsafe {
            transmute($intrinsic($(transmute($arg)),*))
        }
    }};
}

/// Writes the methods of [`Raw`] that take registers, each from its table for [`pick`], or from one
/// intrinsic where lanes do not matter.
macro_rules! operations {
    ($($op:ident($($arg:ident: $type:ty),*) -> $result:ty = $table:tt;)*) => {
        $($crate::isa::raw::operations!(@ $op($($arg: $type),*) -> $result = $table);)*
    };
    (@ $op:ident($($arg:ident: $type:ty),*) -> $result:ty = ($intrinsic:ident)) => {
        #[inline(always)]
        fn $op(self, $($arg: $type),*) -> $result {
            $crate::isa::raw::call!($op (self $(, $arg)*) $intrinsic)
        }
    };
    (@ $op:ident($($arg:ident: $type:ty),*) -> $result:ty = $table:tt) => {
        #[inline(always)]
        fn $op<T: $crate::Lane>(self, $($arg: $type),*) -> $result {
            $crate::isa::raw::pick!($op (self $(, $arg)*) $table)
        }
    };
}

/// The methods on masks of the flavours whose masks are registers with all bits of a lane set or
/// clear.
macro_rules! register_masks {
    () => {
        #[inline(always)]
        fn mask_and(self, left: Self::Mask, right: Self::Mask) -> Self::Mask {
            self.and(left, right)
        }

        #[inline(always)]
        fn mask_or(self, left: Self::Mask, right: Self::Mask) -> Self::Mask {
            self.or(left, right)
        }

        #[inline(always)]
        fn mask_not(self, mask: Self::Mask) -> Self::Mask {
            self.xor(mask, self.fill(u64::MAX))
        }

        #[inline(always)]
        fn mask_of_bits<T: $crate::Lane>(self, bits: u64) -> Self::Mask {
            $crate::isa::emulate::mask_register::<Self, T>(self, bits)
        }
    };
}

/// The methods on masks of the flavours whose masks are numbers with a bit for each lane.
macro_rules! bit_masks {
    () => {
        #[inline(always)]
        fn mask_and(self, left: u64, right: u64) -> u64 {
            left & right
        }

        #[inline(always)]
        fn mask_or(self, left: u64, right: u64) -> u64 {
            left | right
        }

        #[inline(always)]
        fn mask_not(self, mask: u64) -> u64 {
            !mask
        }

        #[inline(always)]
        fn bits_of_mask<T: $crate::Lane>(self, mask: u64) -> u64 {
            mask & u64::MAX >> (64 - Self::BYTES * 8 / T::BITS as usize)
        }

        #[inline(always)]
        fn mask_of_bits<T: $crate::Lane>(self, bits: u64) -> u64 {
            bits
        }
    };
}

pub(super) use {bit_masks, call, operations, pick, register_masks, token};
