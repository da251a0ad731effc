//! NVRAM-centric structures: column store and hybrid tree.
mod column_store;
mod hybrid_tree;

pub use column_store::{COLUMN_HEADER_BYTES, ColumnStore};
pub use hybrid_tree::{
    HybridTree, KEY_BYTES_MAX, KeyBounds, TreeSummary, TreeWriter, VALUE_BYTES_MAX,
};
