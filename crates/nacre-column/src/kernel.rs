//! Kernels: loops over values and blocks, in the SIMD flavour that the caller names.
//!
//! Each works on the encoded values of every format: on packed keys in registers, on plain values
//! in the lanes that they have, on those of other formats through runs decoded in the L1 cache.

pub(crate) mod aggregate;
mod fold;
pub(crate) mod in_range;
mod numbers;
pub(crate) mod project;
pub(crate) mod select;
pub(crate) mod totals;

pub use fold::{Aggregate, aggregate, aggregate_selected, sum};
pub use project::project;
pub use select::{positions, select, select_bits};
