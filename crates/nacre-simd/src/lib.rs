//! SIMD flavours and their run-time choice for Nacre.
//!
//! A kernel is written once, as ordinary loops in a type that implements [`Kernel`]
//! (or [`Fill`]); [`Flavour::run`] runs the copy of it that was compiled for one instruction set:
//!
//! ```
//! use nacre_simd::{Flavour, Kernel, Simd};
//!
//! struct Sum<'a>(&'a [u32]);
//!
//! impl Kernel for Sum<'_> {
//!     type Output = u32;
//!
//!     #[inline(always)]
//!     fn run<S: Simd>(self, _: S) -> u32 {
//!         self.0.iter().fold(0, |sum, value| sum.wrapping_add(*value))
//!     }
//! }
//!
//! for flavour in Flavour::available() {
//!     assert_eq!(flavour.run(Sum(&[1, 2, 3])), 6);
//! }
//! ```
//!
//! # Invariants
//! 1. This crate knows nothing of columns, blocks or memory domains and holds no kernel of its own.
//! 2. Safe code cannot run an instruction that the processor lacks: [`Flavour::run`] and
//!    [`Flavour::fill`] fall back.
//! 3. It starts no thread.
//!
//! # Source
//! [Zarubin22 section 4.3] lets each worker choose its instruction set. Differs: registers are not
//! written out; kernels are loops over fixed lanes that the compiler vectorizes per flavour (the
//! bench of `nacre-column` shows that it does).

mod dispatch;
mod flavour;
mod isa;

pub use dispatch::{Fill, Kernel};
pub use flavour::{Flavour, FlavourError, SIMD_VARIABLE};
#[cfg(target_arch = "aarch64")]
pub use isa::Neon;
#[cfg(target_arch = "x86_64")]
pub use isa::{Avx2, Avx512, Sse42};
pub use isa::{Scalar, Simd};
