//! The flavours' tokens: who holds one runs on a processor that has the flavour's instructions.

use std::fmt::Debug;

use crate::Flavour;

/// A flavour as a type, of which only [`Flavour::run`] and [`Flavour::fill`] make values.
pub trait Simd: Copy + Debug + sealed::Sealed {
    /// The flavour.
    const FLAVOUR: Flavour;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! token {
    ($name:ident, $doc:literal) => {
        #[doc = $doc]
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

        impl sealed::Sealed for $name {}

        impl Simd for $name {
            const FLAVOUR: Flavour = Flavour::$name;
        }
    };
}

token!(Scalar, "What every processor has.");
#[cfg(target_arch = "x86_64")]
token!(Sse42, "SSE4.2: 128-bit registers.");
#[cfg(target_arch = "x86_64")]
token!(Avx2, "AVX2: 256-bit registers.");
#[cfg(target_arch = "x86_64")]
token!(Avx512, "AVX-512 F, BW, CD, DQ and VL: 512-bit registers and masks.");
#[cfg(target_arch = "aarch64")]
token!(Neon, "AArch64 Advanced SIMD: 128-bit registers.");
