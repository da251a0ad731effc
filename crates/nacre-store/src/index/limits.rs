//! How many keys an index can have.

use super::slab;

/// Most keys of an index: what handles of 29 bits can name.
pub const KEYS_MAX: usize = slab::ITEMS_MAX;

/// The index has [`KEYS_MAX`] keys already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexFull;
