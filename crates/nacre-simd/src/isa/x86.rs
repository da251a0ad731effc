//! What the flavours of x86-64 write alike: only the names of the intrinsics differ.

/// Moves between memory and registers, and constants.
macro_rules! memory {
    (
        $bits:ty;
        $load:ident $store:ident $stream:ident;
        $set8:ident $set16:ident $set32:ident $set64:ident
    ) => {
        #[inline(always)]
        unsafe fn read(self, from: *const u8) -> $bits {
            // SAFETY: the caller vouches for the bytes, `self` for the flavour.
            unsafe { $load(from.cast()) }
        }

        #[inline(always)]
        unsafe fn write(self, bits: $bits, to: *mut u8) {
            // SAFETY: the caller vouches for the bytes, `self` for the flavour.
            unsafe { $store(to.cast(), bits) }
        }

        #[inline(always)]
        unsafe fn write_streaming(self, bits: $bits, to: *mut u8) {
            // SAFETY: the caller vouches for the aligned bytes, `self` for the flavour.
            unsafe { $stream(to.cast(), bits) }
        }

        #[inline(always)]
        fn fence_streaming(self) {
            // SAFETY: every processor of the architecture has it.
            unsafe { _mm_sfence() }
        }

        #[inline(always)]
        fn fill<T: $crate::Lane>(self, value: T) -> $bits {
            let value = value.to_bits();
            // SAFETY: `self` proves the flavour.
            unsafe {
                match T::BITS {
                    8 => $set8(value as i8),
                    16 => $set16(value as i16),
                    32 => $set32(value as i32),
                    _ => $set64(value as i64),
                }
            }
        }
    };
}

/// Makes shifts that take their amount as a number from those that take it in a register; a
/// constant amount ends up in the instruction.
macro_rules! shifts {
    ($bits:ty; $($name:ident = $intrinsic:ident),* $(,)?) => {
        $(
            /// # Safety
            /// The caller has the flavour's token.
            #[inline(always)]
            unsafe fn $name(bits: $bits, amount: u32) -> $bits {
                // SAFETY: the caller's promise.
                unsafe { $intrinsic(bits, _mm_cvtsi32_si128(amount as i32)) }
            }
        )*
    };
}

/// Conversions, from the two halves of a register and the routines that narrow two registers.
macro_rules! conversions {
    (
        $bits:ty;
        $low:ident $high:ident;
        $u8:ident $u16:ident $u32:ident $i8:ident $i16:ident $i32:ident;
        $to8:ident $to16:ident $to32:ident
    ) => {
        $crate::isa::x86::conversions!(@ widen_low $bits; $low; $u8 $u16 $u32 $i8 $i16 $i32);
        $crate::isa::x86::conversions!(@ widen_high $bits; $high; $u8 $u16 $u32 $i8 $i16 $i32);

        #[inline(always)]
        fn narrow<T: $crate::Narrow>(self, low: $bits, high: $bits) -> $bits {
            // SAFETY: `self` proves the flavour.
            unsafe {
                match T::BITS {
                    8 => $to8(low, high),
                    16 => $to16(low, high),
                    _ => $to32(low, high),
                }
            }
        }
    };
    (
        @ $name:ident $bits:ty; $half:ident;
        $u8:ident $u16:ident $u32:ident $i8:ident $i16:ident $i32:ident
    ) => {
        #[inline(always)]
        fn $name<T: $crate::Narrow>(self, bits: $bits) -> $bits {
            // SAFETY: `self` proves the flavour.
            unsafe {
                let half = $half(bits);
                match (T::BITS, T::IS_SIGNED) {
                    (8, false) => $u8(half),
                    (16, false) => $u16(half),
                    (_, false) => $u32(half),
                    (8, true) => $i8(half),
                    (16, true) => $i16(half),
                    (_, true) => $i32(half),
                }
            }
        }
    };
}

pub(super) use {conversions, memory, shifts};
