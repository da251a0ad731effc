//! The flavours' tokens and what each instruction set does with a register.
//!
//! Each flavour is one file: a token, the types of its registers and masks, and a table of the
//! instruction for each operation and lane. A dash in a table, or a method left out, means that
//! the set lacks the instruction, and that [`emulate`] does the work.
//!
//! # Invariants
//! 1. Only [`Flavour::run`](crate::Flavour::run) and [`Flavour::fill`](crate::Flavour::fill) make
//!    tokens, on a processor that has the flavour; every operation takes one. That is why the
//!    operations are safe to call.
//! 2. Every operation is `#[inline(always)]`: it is compiled for the instructions of the wrapper
//!    that it ends up in.

mod emulate;
mod raw;
mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;
#[cfg(target_arch = "x86_64")]
mod sse42;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
pub use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub use avx512::Avx512;
pub(crate) use emulate::{lanes_of, reduce};
#[cfg(target_arch = "aarch64")]
pub use neon::Neon;
pub(crate) use raw::Raw;
pub use scalar::Scalar;
#[cfg(target_arch = "x86_64")]
pub use sse42::Sse42;
