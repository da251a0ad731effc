//! What a register is divided into: whole numbers of 8 to 64 bits.

use std::fmt::Debug;

/// A whole number that registers hold. All arithmetic wraps.
pub trait Lane: Copy + Ord + Debug + Default + sealed::Sealed + 'static {
    /// Bits of a lane.
    const BITS: u32;
    /// Whether shifts to the right and comparisons look at a sign.
    const IS_SIGNED: bool;
    /// Least value.
    const MIN: Self;
    /// Greatest value.
    const MAX: Self;

    /// Returns the bits, those above the lane zero.
    fn to_bits(self) -> u64;

    /// Takes the lowest bits.
    fn from_bits(bits: u64) -> Self;

    /// Adds.
    fn plus(self, other: Self) -> Self;

    /// Subtracts.
    fn minus(self, other: Self) -> Self;

    /// Multiplies.
    fn times(self, other: Self) -> Self;

    /// Shifts to the left; 0 if `amount` is [`Lane::BITS`] or more.
    fn shifted_left(self, amount: u64) -> Self;

    /// Shifts to the right, copies of the sign or zeros coming in.
    fn shifted_right(self, amount: u64) -> Self;
}

/// A lane of which there is one with twice the bits.
pub trait Narrow: Lane {
    /// The lane with twice the bits and the same signedness.
    type Wide: Lane;

    /// Returns the same number in the wider lane.
    fn widened(self) -> Self::Wide;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! lane {
    ($type:ident, $unsigned:ident $(, $wide:ident)?) => {
        impl sealed::Sealed for $type {}

        impl Lane for $type {
            const BITS: u32 = $type::BITS;
            const IS_SIGNED: bool = $type::MIN != 0;
            const MIN: Self = $type::MIN;
            const MAX: Self = $type::MAX;

            #[inline(always)]
            fn to_bits(self) -> u64 {
                u64::from(self as $unsigned)
            }

            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as $type
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn shifted_left(self, amount: u64) -> Self {
                self.unbounded_shl(amount.min(64) as u32)
            }

            #[inline(always)]
            fn shifted_right(self, amount: u64) -> Self {
                self.unbounded_shr(amount.min(64) as u32)
            }
        }

        $(impl Narrow for $type {
            type Wide = $wide;

            #[inline(always)]
            fn widened(self) -> $wide {
                self.into()
            }
        })?
    };
}

lane!(u8, u8, u16);
lane!(u16, u16, u32);
lane!(u32, u32, u64);
lane!(u64, u64);
lane!(i8, u8, i16);
lane!(i16, u16, i32);
lane!(i32, u32, i64);
lane!(i64, u64);
