//! What whole numbers decode to, and the unsigned keys that they are packed as.

use std::mem::MaybeUninit;

use nacre_simd::Lane;

/// What whole numbers decode to. All arithmetic wraps: a damaged block gives wrong numbers, which
/// its checksum tells, never a panic.
pub(crate) trait Integer: Copy {
    /// Name for messages.
    const NAME: &'static str;
    /// Least and greatest value.
    const RANGE: (i128, i128);
    /// Whether keys of 32 bits have all of it.
    const IS_NARROW: bool;
    /// Whether any number in the range is a value of it, so that the values of a block decide
    /// whether it decodes to this, not its type.
    const IS_NUMBER: bool;

    /// Narrows `value`.
    fn from_i128(value: i128) -> Self;

    /// Narrows `value`.
    fn from_i64(value: i64) -> Self;

    /// Adds a key to a base.
    fn add(base: Self, key: u64) -> Self;

    /// Returns the same memory as keys of the same size, if there are such.
    fn as_keys(out: &mut [MaybeUninit<Self>]) -> KeySlots<'_, Self>;
}

/// Memory to be filled with numbers.
pub(crate) enum KeySlots<'a, T> {
    Narrow(&'a mut [MaybeUninit<u32>]),
    Wide(&'a mut [MaybeUninit<u64>]),
    /// No key has the size of a `T`.
    Other(&'a mut [MaybeUninit<T>]),
}

/// An unsigned number of a register's lane that stands for a value.
pub(crate) trait Key: Integer + Lane {
    /// Widens `value`.
    fn from_u32(value: u32) -> Self;

    /// Narrows `value`.
    fn from_u64(value: u64) -> Self;

    /// Widens.
    fn to_u64(self) -> u64;
}

macro_rules! key {
    ($type:ty) => {
        impl Key for $type {
            #[inline(always)]
            fn from_u32(value: u32) -> Self {
                value as Self
            }

            #[inline(always)]
            fn from_u64(value: u64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn to_u64(self) -> u64 {
                self as u64
            }
        }
    };
}

key!(u32);
key!(u64);

/// Implements [`Integer`] for a primitive; `$slots` makes [`KeySlots`] of memory for it.
macro_rules! integer {
    ($type:ty, $is_narrow:literal, $slots:expr) => {
        impl Integer for $type {
            const NAME: &'static str = stringify!($type);
            const RANGE: (i128, i128) = (<$type>::MIN as i128, <$type>::MAX as i128);
            const IS_NARROW: bool = $is_narrow;
            const IS_NUMBER: bool = true;

            #[inline(always)]
            fn from_i128(value: i128) -> Self {
                value as Self
            }

            #[inline(always)]
            fn from_i64(value: i64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn add(base: Self, key: u64) -> Self {
                base.wrapping_add(key as Self)
            }

            #[inline(always)]
            fn as_keys(out: &mut [MaybeUninit<Self>]) -> KeySlots<'_, Self> {
                $slots(out)
            }
        }
    };
}

integer!(i16, true, KeySlots::Other);
integer!(i32, true, |out| KeySlots::Narrow(unsigned_32(out)));
integer!(i64, false, |out| KeySlots::Wide(unsigned_64(out)));
integer!(i128, false, KeySlots::Other);
integer!(u32, true, KeySlots::Narrow);
integer!(u64, false, KeySlots::Wide);

#[allow(unsafe_code, reason = "signed and unsigned numbers are the same to kernels that pack them")]
fn unsigned_32(out: &mut [MaybeUninit<i32>]) -> &mut [MaybeUninit<u32>] {
    // SAFETY: the pointer and length are those of one live, exclusively borrowed slice; both
    // element types have 4 bytes, the same alignment, and every bit pattern is a value of both.
    unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), out.len()) }
}

#[allow(unsafe_code, reason = "signed and unsigned numbers are the same to kernels that pack them")]
fn unsigned_64(out: &mut [MaybeUninit<i64>]) -> &mut [MaybeUninit<u64>] {
    // SAFETY: as above, with 8 bytes.
    unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), out.len()) }
}

impl Integer for bool {
    const NAME: &'static str = "bool";
    const RANGE: (i128, i128) = (0, 1);
    const IS_NARROW: bool = true;
    const IS_NUMBER: bool = false;

    #[inline(always)]
    fn from_i128(value: i128) -> Self {
        value != 0
    }

    #[inline(always)]
    fn from_i64(value: i64) -> Self {
        value != 0
    }

    #[inline(always)]
    fn add(base: Self, key: u64) -> Self {
        base | (key != 0)
    }

    #[inline(always)]
    fn as_keys(out: &mut [MaybeUninit<Self>]) -> KeySlots<'_, Self> {
        KeySlots::Other(out)
    }
}

/// Returns the keys that an `unpack` has written.
#[inline(always)]
#[allow(unsafe_code, reason = "zeroing buffers first would cost as much as decoding")]
pub(crate) fn initialized<K: Key>(run: &[MaybeUninit<K>]) -> &[K] {
    // SAFETY: every `unpack` writes every element of what it is given, whatever the block's bytes
    // are: its contract demands it, and the tests of each format unpack damaged bytes.
    unsafe { run.assume_init_ref() }
}

/// As [`initialized`], to be changed.
#[inline(always)]
#[allow(unsafe_code, reason = "as above")]
pub(crate) fn initialized_mut<K: Key>(run: &mut [MaybeUninit<K>]) -> &mut [K] {
    // SAFETY: as above.
    unsafe { run.assume_init_mut() }
}
