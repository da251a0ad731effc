//! What an instruction set lacks, done with what every set has: lane by lane in memory that the
//! compiler keeps in registers where it can, or with the operations of other lanes.

use super::Raw;
use crate::{Lane, Narrow};

/// Lanes of the widest register that is divided most finely.
const LANES_MAX: usize = 64;

/// The first lane of a register, and all that follow it.
type Lanes<T> = [T; LANES_MAX];

const fn lanes<S: Raw, T: Lane>() -> usize {
    S::BYTES * 8 / T::BITS as usize
}

/// Writes the lanes out.
#[inline(always)]
pub(crate) fn lanes_of<S: Raw, T: Lane>(simd: S, bits: S::Bits) -> Lanes<T> {
    let mut out = [T::default(); LANES_MAX];
    // SAFETY: `LANES_MAX` lanes are as many bytes as any register has, or more.
    unsafe { simd.write(bits, out.as_mut_ptr().cast()) };
    out
}

/// Makes a register; `lane(i)` is lane `i`.
#[inline(always)]
pub(super) fn generate<S: Raw, T: Lane>(simd: S, lane: impl Fn(usize) -> T) -> S::Bits {
    let mut out = [T::default(); LANES_MAX];
    for (index, out) in out[..lanes::<S, T>()].iter_mut().enumerate() {
        *out = lane(index);
    }
    // SAFETY: `LANES_MAX` lanes are as many bytes as any register has, or more.
    unsafe { simd.read(out.as_ptr().cast()) }
}

#[inline(always)]
pub(super) fn map<S: Raw, T: Lane>(simd: S, bits: S::Bits, each: impl Fn(T) -> T) -> S::Bits {
    let lanes = lanes_of::<S, T>(simd, bits);
    generate(simd, |lane| each(lanes[lane]))
}

#[inline(always)]
pub(super) fn zip<S: Raw, T: Lane>(
    simd: S,
    left: S::Bits,
    right: S::Bits,
    each: impl Fn(T, T) -> T,
) -> S::Bits {
    let (left, right) = (lanes_of::<S, T>(simd, left), lanes_of::<S, T>(simd, right));
    generate(simd, |lane| each(left[lane], right[lane]))
}

/// Compares lane by lane; the answer as bits.
#[inline(always)]
pub(super) fn compare<S: Raw, T: Lane>(
    simd: S,
    left: S::Bits,
    right: S::Bits,
    holds: impl Fn(&T, &T) -> bool,
) -> u64 {
    let (left, right) = (lanes_of::<S, T>(simd, left), lanes_of::<S, T>(simd, right));
    (0..lanes::<S, T>())
        .fold(0, |bits, lane| bits | u64::from(holds(&left[lane], &right[lane])) << lane)
}

/// Folds all lanes.
#[inline(always)]
pub(crate) fn reduce<S: Raw, T: Lane>(
    simd: S,
    bits: S::Bits,
    start: T,
    each: impl Fn(T, T) -> T,
) -> T {
    let values = lanes_of::<S, T>(simd, bits);
    values[..lanes::<S, T>()].iter().fold(start, |folded, value| each(folded, *value))
}

#[inline(always)]
pub(super) fn mul<S: Raw, T: Lane>(simd: S, left: S::Bits, right: S::Bits) -> S::Bits {
    zip(simd, left, right, T::times)
}

#[inline(always)]
pub(super) fn min<S: Raw, T: Lane>(simd: S, left: S::Bits, right: S::Bits) -> S::Bits {
    simd.blend::<T>(simd.gt::<T>(left, right), right, left)
}

#[inline(always)]
pub(super) fn max<S: Raw, T: Lane>(simd: S, left: S::Bits, right: S::Bits) -> S::Bits {
    simd.blend::<T>(simd.gt::<T>(left, right), left, right)
}

/// Comparison of unsigned lanes by signed instructions: the lowest bit pattern becomes the lowest
/// number when the top bits are flipped.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn gt<S: Raw, T: Lane>(simd: S, left: S::Bits, right: S::Bits) -> S::Mask {
    let top = simd.fill(T::from_bits(1 << (T::BITS - 1)));
    let (left, right) = (simd.xor(left, top), simd.xor(right, top));
    match T::BITS {
        8 => simd.gt::<i8>(left, right),
        16 => simd.gt::<i16>(left, right),
        32 => simd.gt::<i32>(left, right),
        _ => simd.gt::<i64>(left, right),
    }
}

/// Sets all bits of the lanes that `bits` has.
#[inline(always)]
pub(super) fn mask_register<S: Raw, T: Lane>(simd: S, bits: u64) -> S::Bits {
    generate(simd, |lane| T::from_bits((bits >> lane & 1).wrapping_neg()))
}

/// Shifts bytes in lanes of 16 bits and drops what crossed over.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn shl<S: Raw, T: Lane>(simd: S, bits: S::Bits, amount: u32) -> S::Bits {
    debug_assert_eq!(T::BITS, 8, "other lanes have the instruction");
    simd.and(simd.shl::<u16>(bits, amount), simd.fill(u8::MAX.unbounded_shl(amount)))
}

/// As [`shl`], to the right. Copies of the sign are made by flipping it before and subtracting it
/// after.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn shr<S: Raw, T: Lane>(simd: S, bits: S::Bits, amount: u32) -> S::Bits {
    if T::IS_SIGNED {
        let amount = amount.min(T::BITS - 1);
        let shifted = match T::BITS {
            8 => simd.shr::<u8>(bits, amount),
            _ => simd.shr::<u64>(bits, amount),
        };
        let sign = simd.fill(T::from_bits(1 << (T::BITS - 1 - amount)));
        return simd.sub::<T>(simd.xor(shifted, sign), sign);
    }
    debug_assert_eq!(T::BITS, 8, "other unsigned lanes have the instruction");
    simd.and(simd.shr::<u16>(bits, amount), simd.fill(u8::MAX.unbounded_shr(amount)))
}

#[inline(always)]
pub(super) fn shl_each<S: Raw, T: Lane>(simd: S, bits: S::Bits, amounts: S::Bits) -> S::Bits {
    zip(simd, bits, amounts, |lane: T, amount| lane.shifted_left(amount.to_bits()))
}

#[inline(always)]
pub(super) fn shr_each<S: Raw, T: Lane>(simd: S, bits: S::Bits, amounts: S::Bits) -> S::Bits {
    zip(simd, bits, amounts, |lane: T, amount| lane.shifted_right(amount.to_bits()))
}

#[inline(always)]
pub(super) fn compress<S: Raw, T: Lane>(simd: S, mask: S::Mask, bits: S::Bits) -> S::Bits {
    let mut rest = simd.bits_of_mask::<T>(mask);
    let lanes = lanes_of::<S, T>(simd, bits);
    let mut out = [T::default(); LANES_MAX];
    for out in &mut out {
        if rest == 0 {
            break;
        }
        *out = lanes[rest.trailing_zeros() as usize];
        rest &= rest - 1;
    }
    // SAFETY: `LANES_MAX` lanes are as many bytes as any register has, or more.
    unsafe { simd.read(out.as_ptr().cast()) }
}

#[inline(always)]
pub(super) fn permute<S: Raw, T: Lane>(simd: S, bits: S::Bits, indices: S::Bits) -> S::Bits {
    let (values, indices) = (lanes_of::<S, T>(simd, bits), lanes_of::<S, T>(simd, indices));
    generate(simd, |lane| values[indices[lane].to_bits() as usize % lanes::<S, T>()])
}

/// For every set of eight lanes, which lanes are in it, in order; then zeros.
#[cfg(target_arch = "x86_64")]
static LANES_IN_SET: [[u8; 8]; 256] = table_of_lanes();

const fn table_of_lanes() -> [[u8; 8]; 256] {
    let mut table = [[0; 8]; 256];
    let mut set = 0;
    while set < 256 {
        let (mut lane, mut count) = (0, 0);
        while lane < 8 {
            if set >> lane & 1 == 1 {
                table[set][count] = lane;
                count += 1;
            }
            lane += 1;
        }
        set += 1;
    }
    table
}

/// For every set of four lanes of four bytes, which bytes are in it, in order; then zeros.
static BYTES_IN_SET: [[u8; 16]; 16] = table_of_bytes();

const fn table_of_bytes() -> [[u8; 16]; 16] {
    let lanes = table_of_lanes();
    let mut table = [[0; 16]; 16];
    let mut set = 0;
    while set < 16 {
        let mut byte = 0;
        while byte < 16 {
            table[set][byte] = lanes[set][byte / 4] * 4 + byte as u8 % 4;
            byte += 1;
        }
        set += 1;
    }
    table
}

/// Returns the set of 32-bit halves of lanes that `mask` has, if lanes have 32 or 64 bits.
#[inline(always)]
fn set_of_words<S: Raw, T: Lane>(simd: S, mask: S::Mask) -> Option<usize> {
    const DOUBLED: [u8; 16] = [
        0x00, 0x03, 0x0c, 0x0f, 0x30, 0x33, 0x3c, 0x3f, 0xc0, 0xc3, 0xcc, 0xcf, 0xf0, 0xf3, 0xfc,
        0xff,
    ];
    let bits = simd.bits_of_mask::<T>(mask) as usize;
    match T::BITS {
        32 => Some(bits % 256),
        64 => Some(DOUBLED[bits % 16].into()),
        _ => None,
    }
}

/// Returns which 32-bit words [`Raw::compress`] takes in registers of eight, a byte for each.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn words_to_front<S: Raw, T: Lane>(simd: S, mask: S::Mask) -> Option<u64> {
    set_of_words::<S, T>(simd, mask).map(|set| u64::from_le_bytes(LANES_IN_SET[set]))
}

/// Returns which bytes [`Raw::compress`] takes in registers of sixteen.
#[inline(always)]
pub(super) fn bytes_to_front<S: Raw, T: Lane>(simd: S, mask: S::Mask) -> Option<S::Bits> {
    const { assert!(S::BYTES == 16) };
    let set = set_of_words::<S, T>(simd, mask)?;
    // SAFETY: the table's entries are as long as registers.
    Some(unsafe { simd.read(BYTES_IN_SET[set % 16].as_ptr()) })
}

#[inline(always)]
pub(super) fn widen<S: Raw, T: Narrow>(simd: S, bits: S::Bits, first: usize) -> S::Bits {
    let lanes = lanes_of::<S, T>(simd, bits);
    generate(simd, |lane| lanes[first + lane].widened())
}

#[inline(always)]
pub(super) fn narrow<S: Raw, T: Narrow>(simd: S, low: S::Bits, high: S::Bits) -> S::Bits {
    let low = lanes_of::<S, T::Wide>(simd, low);
    let high = lanes_of::<S, T::Wide>(simd, high);
    let half = lanes::<S, T>() / 2;
    generate(simd, |lane| {
        let wide = if lane < half { low[lane] } else { high[lane - half] };
        T::from_bits(wide.to_bits())
    })
}

/// Calls `each` with every lane that `mask` has.
#[inline(always)]
fn for_each_set<S: Raw, T: Lane>(simd: S, mask: S::Mask, mut each: impl FnMut(usize)) {
    let bits = simd.bits_of_mask::<T>(mask);
    for lane in 0..lanes::<S, T>() {
        if bits >> lane & 1 == 1 {
            each(lane);
        }
    }
}

/// # Safety
/// `from` is valid for reading the lanes that `mask` has.
#[inline(always)]
pub(super) unsafe fn read_masked<S: Raw, T: Lane>(
    simd: S,
    mask: S::Mask,
    from: *const T,
) -> S::Bits {
    let mut out = [T::default(); LANES_MAX];
    for_each_set::<S, T>(simd, mask, |lane| {
        // SAFETY: `mask` has the lane.
        out[lane] = unsafe { from.add(lane).read_unaligned() };
    });
    // SAFETY: `LANES_MAX` lanes are as many bytes as any register has, or more.
    unsafe { simd.read(out.as_ptr().cast()) }
}

/// # Safety
/// `to` is valid for writing the lanes that `mask` has.
#[inline(always)]
pub(super) unsafe fn write_masked<S: Raw, T: Lane>(
    simd: S,
    mask: S::Mask,
    bits: S::Bits,
    to: *mut T,
) {
    let lanes = lanes_of::<S, T>(simd, bits);
    for_each_set::<S, T>(simd, mask, |lane| {
        // SAFETY: `mask` has the lane.
        unsafe { to.add(lane).write_unaligned(lanes[lane]) };
    });
}

/// # Safety
/// `from` is valid for reading at every index.
#[inline(always)]
pub(super) unsafe fn read_at<S: Raw, T: Lane>(
    simd: S,
    from: *const T,
    indices: S::Bits,
) -> S::Bits {
    let indices = lanes_of::<S, T>(simd, indices);
    // SAFETY: the caller's promise.
    generate(simd, |lane| unsafe { from.add(indices[lane].to_bits() as usize).read_unaligned() })
}

/// # Safety
/// `to` is valid for writing at every index.
#[inline(always)]
pub(super) unsafe fn write_at<S: Raw, T: Lane>(
    simd: S,
    bits: S::Bits,
    to: *mut T,
    indices: S::Bits,
) {
    let (values, indices) = (lanes_of::<S, T>(simd, bits), lanes_of::<S, T>(simd, indices));
    for lane in 0..lanes::<S, T>() {
        // SAFETY: the caller's promise.
        unsafe { to.add(indices[lane].to_bits() as usize).write_unaligned(values[lane]) };
    }
}
