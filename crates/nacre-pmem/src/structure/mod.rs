//! NVRAM-centric structures: column store and hybrid tree.
mod column_store;
mod hybrid_tree;
mod prefetch;

pub use column_store::{COLUMN_HEADER_BYTES, ColumnStore};
