//! Numbers in memory that kernels read a register at a time, whatever they are stored as.

use nacre_simd::{Lane, Register, Simd};

/// Unsigned numbers. Those of signed columns are made so by flipping their top bit, which keeps
/// their order.
pub(crate) trait Numbers: Copy {
    /// What they are read as.
    type Lane: Lane;

    /// Returns how many there are.
    fn len(&self) -> usize;

    /// Returns number `at`, which there is.
    fn get(&self, at: usize) -> u64;

    /// Reads the register whose first lane is number `at`; lanes past the end are unspecified.
    fn read<S: Simd>(&self, simd: S, at: usize) -> Register<S, Self::Lane>;
}

impl<T: Lane> Numbers for &[T] {
    type Lane = T;

    #[inline(always)]
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    #[inline(always)]
    fn get(&self, at: usize) -> u64 {
        self[at].to_bits()
    }

    #[inline(always)]
    fn read<S: Simd>(&self, simd: S, at: usize) -> Register<S, T> {
        simd.load_front(&self[at..])
    }
}

/// Little-endian numbers at any address, as plain blocks have them.
#[derive(Clone, Copy)]
pub(crate) struct Plain<'a, T> {
    pub(crate) bytes: &'a [u8],
    /// What each is combined with by XOR.
    pub(crate) flip: T,
}

impl<T: Lane> Numbers for Plain<'_, T> {
    type Lane = T;

    #[inline(always)]
    fn len(&self) -> usize {
        self.bytes.len() / size_of::<T>()
    }

    #[inline(always)]
    fn get(&self, at: usize) -> u64 {
        let bytes = &self.bytes[at * size_of::<T>()..][..size_of::<T>()];
        let mut filled = [0; 8];
        filled[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(filled) ^ self.flip.to_bits()
    }

    #[inline(always)]
    fn read<S: Simd>(&self, simd: S, at: usize) -> Register<S, T> {
        let bytes = &self.bytes[at * size_of::<T>()..];
        let numbers = if bytes.len() >= S::BYTES {
            simd.load_le(bytes)
        } else {
            let mut filled = [0; 64];
            filled[..bytes.len()].copy_from_slice(bytes);
            simd.load_le(&filled)
        };
        numbers ^ simd.splat(self.flip)
    }
}

/// Evaluates `$work` with `$numbers` as the values of a plain block of whole numbers of at most 64
/// bits, `$bytes` of `$bytes_each` bytes.
macro_rules! with_plain {
    ($bytes:expr, $bytes_each:expr, $numbers:ident => $work:expr) => {{
        use $crate::kernel::numbers::Plain;
        let bytes = $bytes;
        match $bytes_each {
            1 => {
                let $numbers = Plain::<u8> { bytes, flip: 0 };
                $work
            }
            2 => {
                let $numbers = Plain::<u16> { bytes, flip: 1 << 15 };
                $work
            }
            4 => {
                let $numbers = Plain::<u32> { bytes, flip: 1 << 31 };
                $work
            }
            _ => {
                let $numbers = Plain::<u64> { bytes, flip: 1 << 63 };
                $work
            }
        }
    }};
}

/// Returns the value that number 0 of [`with_plain`] stands for, and the greatest number.
pub(crate) fn plain_range(bytes_each: usize) -> (i128, u64) {
    match bytes_each {
        1 => (0, u8::MAX.into()),
        2 => (i16::MIN.into(), u16::MAX.into()),
        4 => (i32::MIN.into(), u32::MAX.into()),
        _ => (i64::MIN.into(), u64::MAX),
    }
}

pub(crate) use with_plain;
