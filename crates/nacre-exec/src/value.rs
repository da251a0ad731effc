//! Physical types and what is known of values before they are computed.
//!
//! # Source
//! `docs` of this crate; Gubner and Boncz 2017 call it overflow prevention: bounds of inputs bound
//! results, so that most arithmetic runs narrow and unchecked.

mod bounds;
mod constant;
mod exact;
mod once;
mod packed;
mod physical;

pub use bounds::{IntBounds, IntLimit};
pub use constant::ScalarValue;
pub(crate) use exact::{
    RoundedTo, decode_exact, encode_exact, encode_failure, encode_scaled, exact_key, round_exact,
};
pub(crate) use once::HeldError;
pub use once::OnceValue;
pub(crate) use packed::{
    KeyDirection, append_sort_key, decode_packed, encode_packed, has_keys, is_packed_type,
    packed_key,
};
pub use physical::{IntWidth, ValueClass, VectorType};
