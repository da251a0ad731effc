//! Hybrid tree: keys with values, leaves in a pool set and inner nodes in DRAM.
mod entry;
mod inner;
mod leaf;
mod separators;
