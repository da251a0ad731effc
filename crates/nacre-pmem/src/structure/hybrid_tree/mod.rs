//! Hybrid tree: keys with values, leaves in a pool set and inner nodes in DRAM.
//!
//! The leaves form a linked list in the data area, allocated by the [`Heap`](crate::heap::Heap);
//! each is larger than all before it. The inner nodes are rebuilt from the list when the tree is
//! opened. Keys and values are byte strings; keys are ordered byte by byte.
//!
//! # Invariants
//! 1. A key has one live entry at most: an update clears the old and sets the new live bit by one
//!    8-byte store.
//! 2. An entry that is live does not change but for its value word, which changes by one 8-byte
//!    store, and its reference, which a transaction changes. Space of an entry is used again only
//!    after its live bit is durably clear.
//! 3. Reads tolerate any bytes: what is damaged in one member is read from another, part by part
//!    (see `mend`), and repaired by the next writer; damage in all is a typed error that names the
//!    leaf. Everything has a check but the value words: an absent key is absent by a first line
//!    that was verified.
//!
//! # Layout
//! The heap's root is the header:
//!
//! | offset | bytes | field |
//! |---|---|---|
//! | 0 | 8 | magic |
//! | 8 | 4 | version |
//! | 12 | 4 | CRC-32C of bytes 0..12 |
//! | 16 | 16 | link to the first leaf: see `link` |
//!
//! Leaves: see `leaf` and `first_line`, entries: see `entry`. A value of more than 512 bytes lies
//! in an extent of its own, that is nothing but its bytes: the entry has their checksum.
//!
//! # Concurrency
//! One writer at a time, any number of readers; a lock for the whole tree, held for one key, or for
//! the copy of one leaf in a range read.
//!
//! # Source
//! [Zarubin22 3.1.1, Fig. 3.1] key-value store (KV). Differs: most changes need no transaction, but
//! one 8-byte publish; all but words of values has checksums; values of a word are replaced in
//! place.
mod check;
mod entry;
mod extent;
mod first_line;
mod inner;
mod leaf;
mod link;
mod list;
mod mend;
mod read;
mod room;
mod separators;
mod tree;
mod write;

pub use check::TreeSummary;
pub use entry::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
pub use read::KeyBounds;
pub use tree::HybridTree;
pub use write::TreeWriter;
