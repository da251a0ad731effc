//! Hand-written kernels for eight queries of TPC-H: what the machine allows.
//!
//! Each kernel is the plan that a person would write for one query and one set of parameters:
//! tight loops over plain arrays in DRAM ([`TpchArrays`]), no query compiler, no transactions, no
//! checks for overflow. It runs on one thread or on several that get equal ranges of rows.
//!
//! Held as an engine must hold them: decimals are 64-bit integers of cents whatever their values,
//! strings are bytes, nothing is compressed, sorted, partitioned or computed before. What the
//! kernels may do and an engine may not: they know that customers and parts have dense keys, and
//! for each primary key that they look up a [`PrimaryKeyIndex`] is made before.
//!
//! # Source
//! [Muehlbauer16 8.3]: the eight queries and their plans. Differs: integers instead of floating
//! point, keys of indexes hash to themselves (8.3.5 finds that as fast as crc32), no instructions
//! beyond those that the compiler chooses.

mod arrays;
mod bandwidth;
mod cycles;
mod kernel;
mod key_index;
mod q01;
mod q06;
mod q09;
mod q13;
mod q14;
mod q17;
mod q18;
mod q19;
mod split;
mod texts;

pub(crate) use arrays::TpchArrays;
pub(crate) use bandwidth::read_bandwidth;
pub(crate) use cycles::CycleCounter;
pub(crate) use kernel::{KERNELS, KernelRun, QueryKernel};
use key_index::PrimaryKeyIndex;
