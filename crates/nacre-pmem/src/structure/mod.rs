//! NVRAM-centric structures: column store and hybrid tree.
mod column_store;

pub use column_store::{COLUMN_HEADER_BYTES, ColumnStore};
