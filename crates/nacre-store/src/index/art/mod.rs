//! The adaptive radix tree: an inner node for each byte at which keys part.
//!
//! 1. Inner nodes come in four sizes (4, 16, 48 and 256 children) and grow and shrink with what
//!    they hold. What all keys of a node have in common lies in the node (path compression), and a
//!    subtree with one key is a leaf (lazy expansion).
//! 2. A leaf has the rows of one key and only those bytes of it that the way down does not tell; a
//!    walk puts keys together from the way. Dense numbers have leaves without any bytes.
//! 3. A key that ends where others go on hangs at the node itself (`own`).
//!
//! # Invariants
//! 1. An inner node has two children or more, its own leaf counted.
//! 2. Prefixes and suffixes are whole, so no key is ever compared with one that lies elsewhere.
//! # Layout
//! Nodes lie in one arena for each size and name each other by 29 bits of place and 3 of size, half
//! the bytes of pointers. Without pointers no `unsafe` is needed.
//! # Source
//! [Muehlbauer16 2.2.5, 2.4] the index of the engine is an adaptive radix tree. Differs: keys are
//! not looked up in the table, because frozen rows would have to be decoded for it.
//! # See
//! `benches/index.rs`.

mod node;
mod tree;
mod walk;

pub use tree::ArtIndex;
pub use walk::Direction;
pub(super) use walk::WalkRoom;
