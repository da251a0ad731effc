//! `nacre bench replication`: what replicas cost, by mechanism, next to `libpmemobj`.
//!
//! Question: how much slower is an update that returns when all replicas are durable than one
//! without replicas? Baseline: the same engine without replicas, in turn in the same process. The
//! same is asked of `libpmemobj`, with its own pool sets, if the feature `pmdk` is on.
//!
//! Kept equal: the loop and its keys and values, directory, pool size, page size (checked against
//! what the kernel says), flush instruction. The writer is one thread. Each cell is run in rounds
//! (a round lets every contestant run once, the baseline every few of them, in another order each
//! time); an overhead is the median over the rounds of the baseline's rate divided by that of the
//! contestant, minus one. Whether the switch keeps up is found out by runs of its own. After each
//! group of runs the members are compared byte by byte.
//!
//! | file | what |
//! |---|---|
//! | `options` | arguments and their defaults |
//! | `session` | what the parts share; ids, progress |
//! | `measure` | the loop, medians |
//! | `contestant` `nacre` `library` `pmdk` | what is measured |
//! | `group` `rounds` | pools; rounds and finals over them |
//! | `table` `csv` `verdict` | the tables; whether the switch keeps up |
//! | `extra` `decision` | batches; what switching costs |
//! | `pages` `space` | what the kernel gives |
//! | `pace` | cuts of quick runs on slow devices |
//!
//! # Source
//! [Zarubin22 3.1, 3.2] Figures 3.3, 3.4, 3.8, 3.11; [DaMoN18 5]. Differs: DRAM-emulated only, no
//! binomial keys.

mod contestant;
mod csv;
mod decision;
mod extra;
mod group;
mod library;
mod measure;
mod nacre;
mod options;
mod pace;
mod pages;
#[cfg(feature = "pmdk")]
#[allow(unsafe_code, reason = "libpmemobj is a C library")]
mod pmdk;
mod rounds;
mod run;
mod session;
pub(crate) mod space;
mod table;
mod verdict;

pub use options::{AccessPattern, PageSize, ReplicationArgs, Workload, parse_bytes};
pub(crate) use run::memory_directory;
pub use run::run;
