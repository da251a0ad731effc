//! Kernels: loops over values and blocks, in the SIMD flavour that the caller names.

pub(crate) mod aggregate;
pub(crate) mod select;

pub use select::{positions, select, select_bits};
