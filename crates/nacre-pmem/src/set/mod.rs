//! Pool sets: a master pool and its replicas, byte-identical after every commit.
mod pool_set;

pub use pool_set::{DATA_OFFSET, PoolSet, PoolSetOptions};
