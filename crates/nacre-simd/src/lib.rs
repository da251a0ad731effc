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
//! Where that is not enough, the kernel uses the registers that its [`Simd`] gives it: see
//! [`Register`] and [`Mask`], which every flavour has for every [`Lane`].
//!
//! # Invariants
//! 1. This crate knows nothing of columns, blocks or memory domains and holds no kernel of its own.
//! 2. Safe code cannot run an instruction that the processor lacks: [`Flavour::run`] and
//!    [`Flavour::fill`] fall back, and only they make the tokens that registers come from.
//! 3. No other crate names an intrinsic. What an instruction set lacks is emulated here, so that
//!    every operation gives the same answer in every flavour.
//! 4. It starts no thread.
//!
//! # Source
//! [Zarubin22 section 4.3] lets each worker choose its instruction set. Differs: a register is one
//! generic type over (flavour, lane), not a trait for each pair; kernels that the compiler
//! vectorizes well stay loops.

mod dispatch;
mod flavour;
mod isa;
mod lane;
mod register;

pub use dispatch::{Fill, FillApart, Kernel};
pub use flavour::{Flavour, FlavourError, SIMD_VARIABLE};
#[cfg(target_arch = "aarch64")]
pub use isa::Neon;
pub use isa::Scalar;
#[cfg(target_arch = "x86_64")]
pub use isa::{Avx2, Avx512, Sse42};
pub use lane::{Lane, Narrow};
pub use register::{IndexedBy, Mask, Register, Simd};
