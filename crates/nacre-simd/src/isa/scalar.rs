//! Scalar: general-purpose registers of eight bytes, so one lane of 64 bits, or several narrower
//! ones that are worked on one after the other.

use super::raw::{bit_masks, token};
use super::{Raw, emulate};
use crate::{Flavour, Lane};

token!(
    /// What every processor has.
    Scalar
);

impl Raw for Scalar {
    const FLAVOUR: Flavour = Flavour::Scalar;
    const BYTES: usize = 8;
    type Bits = u64;
    /// Bit `i` for lane `i`.
    type Mask = u64;

    #[inline(always)]
    unsafe fn read(self, from: *const u8) -> u64 {
        // SAFETY: the caller vouches for eight bytes.
        unsafe { from.cast::<u64>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn write(self, bits: u64, to: *mut u8) {
        // SAFETY: the caller vouches for eight bytes.
        unsafe { to.cast::<u64>().write_unaligned(bits) }
    }

    #[inline(always)]
    fn and(self, left: u64, right: u64) -> u64 {
        left & right
    }

    #[inline(always)]
    fn or(self, left: u64, right: u64) -> u64 {
        left | right
    }

    #[inline(always)]
    fn xor(self, left: u64, right: u64) -> u64 {
        left ^ right
    }

    #[inline(always)]
    fn andnot(self, left: u64, right: u64) -> u64 {
        !left & right
    }

    #[inline(always)]
    fn eq<T: Lane>(self, left: u64, right: u64) -> u64 {
        emulate::compare(self, left, right, T::eq)
    }

    #[inline(always)]
    fn gt<T: Lane>(self, left: u64, right: u64) -> u64 {
        emulate::compare(self, left, right, T::gt)
    }

    bit_masks!();

    #[inline(always)]
    fn blend<T: Lane>(self, mask: u64, set: u64, clear: u64) -> u64 {
        let set = emulate::lanes_of::<Self, T>(self, set);
        let clear = emulate::lanes_of::<Self, T>(self, clear);
        emulate::generate(self, |lane| if mask >> lane & 1 == 1 { set[lane] } else { clear[lane] })
    }
}
