//! Runs a kernel in a flavour.
//!
//! Each flavour has one generic wrapper that enables its instructions; the kernel's code is inlined
//! into it and compiled for them.

#[cfg(target_arch = "aarch64")]
use crate::isa::Neon;
use crate::isa::Scalar;
#[cfg(target_arch = "x86_64")]
use crate::isa::{Avx2, Avx512, Sse42};
use crate::{Flavour, Simd};

/// A computation that is compiled once per flavour.
///
/// Mark `run` and every helper that it calls in a loop `#[inline(always)]`: only what is inlined
/// into the flavour's wrapper is compiled for its instructions. Anything else is still right, but
/// as slow as [`Flavour::Scalar`].
pub trait Kernel {
    /// What the computation returns.
    type Output;

    /// Does the computation. `simd` gives access to the registers of the flavour; loops that the
    /// compiler vectorizes need not use it.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// A [`Kernel`] that writes into memory of its caller.
///
/// The output is a parameter of its own because the compiler then knows that it overlaps nothing
/// that the kernel reads. Inside of the kernel it would not, and every store would force loads
/// again: unpacking bits took 1.7 times as long.
pub trait Fill {
    /// What is written.
    type Out: ?Sized;

    /// Writes `out`; `simd` as for [`Kernel::run`].
    fn fill<S: Simd>(self, simd: S, out: &mut Self::Out);
}

impl Flavour {
    /// Runs `kernel` with this flavour's instructions, or with those of [`Flavour::best`] if this
    /// processor lacks them. Costs a few nanoseconds: call it per group of values, not per value.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.or_best() {
            // SAFETY: `or_best` is available, so the processor has the target features.
            #[cfg(target_arch = "x86_64")]
            Self::Sse42 => unsafe { run_sse42(kernel) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { run_avx2(kernel) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { run_avx512(kernel) },
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            Self::Neon => unsafe { run_neon(kernel) },
            // SAFETY: needs no feature.
            _ => unsafe { run_scalar(kernel) },
        }
    }

    /// As [`Flavour::run`], for kernels that write into `out`.
    #[inline]
    pub fn fill<K: Fill>(self, kernel: K, out: &mut K::Out) {
        match self.or_best() {
            // SAFETY: `or_best` is available, so the processor has the target features.
            #[cfg(target_arch = "x86_64")]
            Self::Sse42 => unsafe { fill_sse42(kernel, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { fill_avx2(kernel, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => unsafe { fill_avx512(kernel, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "aarch64")]
            Self::Neon => unsafe { fill_neon(kernel, out) },
            // SAFETY: needs no feature.
            _ => unsafe { fill_scalar(kernel, out) },
        }
    }
}

/// How code of a flavour calls more code of it.
pub trait FillApart: Copy {
    /// Runs `kernel` in this flavour, in a function of its own: a call, and nothing to look up.
    ///
    /// For a kernel that has much code in each of many forms: inlined, they make one function, and
    /// compilers take time by the square of its size.
    fn fill_apart<K: Fill>(self, kernel: K, out: &mut K::Out);
}

/// Makes a flavour's two wrappers, which create its token.
///
/// None is inlined, that of the scalar flavour as the others, which cannot be: what is known of
/// `out` would be lost.
macro_rules! wrappers {
    ($run:ident, $fill:ident, $token:ident $(, $features:literal)*) => {
        /// # Safety
        /// The processor has the flavour.
        $(#[target_feature(enable = $features)])*
        #[inline(never)]
        unsafe fn $run<K: Kernel>(kernel: K) -> K::Output {
            // SAFETY: the caller vouches for the flavour.
            kernel.run(unsafe { $token::new() })
        }

        /// # Safety
        /// The processor has the flavour.
        $(#[target_feature(enable = $features)])*
        #[inline(never)]
        unsafe fn $fill<K: Fill>(kernel: K, out: &mut K::Out) {
            // SAFETY: the caller vouches for the flavour.
            kernel.fill(unsafe { $token::new() }, out);
        }

        impl FillApart for $token {
            #[inline(always)]
            fn fill_apart<K: Fill>(self, kernel: K, out: &mut K::Out) {
                // SAFETY: there are tokens only where the processor has the flavour.
                unsafe { $fill(kernel, out) }
            }
        }
    };
}

wrappers!(run_scalar, fill_scalar, Scalar);
#[cfg(target_arch = "x86_64")]
wrappers!(run_sse42, fill_sse42, Sse42, "sse3,ssse3,sse4.1,sse4.2,popcnt");
#[cfg(target_arch = "x86_64")]
wrappers!(run_avx2, fill_avx2, Avx2, "sse3,ssse3,sse4.1,sse4.2,popcnt", "avx,avx2,bmi1,bmi2,lzcnt");
#[cfg(target_arch = "x86_64")]
wrappers!(
    run_avx512,
    fill_avx512,
    Avx512,
    "sse3,ssse3,sse4.1,sse4.2,popcnt",
    "avx,avx2,bmi1,bmi2,lzcnt",
    "avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
);
#[cfg(target_arch = "aarch64")]
wrappers!(run_neon, fill_neon, Neon, "neon");

#[cfg(test)]
mod tests {
    use super::*;

    struct Dot<'a> {
        left: &'a [i64],
        right: &'a [i64],
    }

    impl Kernel for Dot<'_> {
        type Output = i64;

        #[inline(always)]
        fn run<S: Simd>(self, _: S) -> i64 {
            let pairs = self.left.iter().zip(self.right);
            pairs.fold(0, |sum, (left, right)| sum.wrapping_add(left.wrapping_mul(*right)))
        }
    }

    struct Twice<'a>(&'a [u16]);

    impl Fill for Twice<'_> {
        type Out = [u16];

        #[inline(always)]
        fn fill<S: Simd>(self, _: S, out: &mut [u16]) {
            for (out, value) in out.iter_mut().zip(self.0) {
                *out = value.wrapping_mul(2);
            }
        }
    }

    struct TwiceApart<'a>(&'a [u16]);

    impl Fill for TwiceApart<'_> {
        type Out = [u16];

        #[inline(always)]
        fn fill<S: Simd>(self, simd: S, out: &mut [u16]) {
            simd.fill_apart(Twice(self.0), out);
        }
    }

    #[test]
    fn a_kernel_calls_another_one_in_its_flavour() {
        let values: Vec<u16> = (0..999).collect();
        for &flavour in Flavour::ALL {
            let mut out = vec![0; values.len()];
            flavour.fill(TwiceApart(&values), &mut out);
            assert!(out.iter().zip(&values).all(|(out, value)| *out == value * 2), "{flavour}");
        }
    }

    #[test]
    fn all_flavours_fill_alike() {
        let values: Vec<u16> = (0..999).map(|i| i * 61).collect();
        for &flavour in Flavour::ALL {
            let mut out = vec![0; values.len()];
            flavour.fill(Twice(&values), &mut out);
            let expected = values.iter().map(|value| value.wrapping_mul(2));
            assert!(out.iter().copied().eq(expected), "{flavour}");
        }
    }

    #[test]
    fn all_flavours_give_the_scalar_answer() {
        let left: Vec<i64> = (0..1_000).map(|i| i * 7 - 31).collect();
        let right: Vec<i64> = (0..1_000).map(|i| i * i).collect();
        let expected = Flavour::Scalar.run(Dot { left: &left, right: &right });
        for &flavour in Flavour::ALL {
            assert_eq!(flavour.run(Dot { left: &left, right: &right }), expected, "{flavour}");
        }
    }
}
