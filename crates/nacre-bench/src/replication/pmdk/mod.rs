//! `libpmemobj` as a contestant: its own pool sets, with its own replication.
//!
//! The library decides by `PMEM_IS_PMEM_FORCE` whether a mapping on tmpfs is flushed by
//! instructions, as persistent memory would be, or by `msync`. [`prepare`] sees to it.

mod ffi;
mod pool;
mod store;
mod tree;

pub(super) use store::{PmdkColumn, PmdkKeyValue, prepare};
