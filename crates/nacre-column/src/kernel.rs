//! Kernels: loops over values and blocks, in the SIMD flavour that the caller names.
//!
//! Each works on the encoded values of every format: on packed keys in registers, on plain values
//! in the lanes that they have, on those of other formats through runs decoded in the L1 cache.

pub(crate) mod aggregate;
mod entries;
mod fold;
mod gather;
pub(crate) mod in_range;
mod numbers;
pub(crate) mod project;
pub(crate) mod select;
mod select_at;
mod select_values;
pub(crate) mod totals;

pub use entries::{EntrySet, select_strings};
pub use fold::{Aggregate, aggregate, aggregate_selected, sum};
pub use gather::{
    project_bytes, project_codes, project_f32, project_f64, project_i16, project_i32, project_i128,
};
pub use project::project;
pub use select::{positions, select, select_bits};
pub use select_at::{select_at, select_strings_at};
pub use select_values::{ValueSlice, select_values};
