//! Workload generators, the demo and the benchmark drivers of Nacre.
//!
//! - [`workload`]: what workloads share: tables, CSV files, queries, and the oracle that answers
//!   are checked by, DataFusion over the same CSV files.
//! - [`tpch`]: the eight tables, the 22 queries, the answers that the TPC publishes.
//! - [`ssb`]: the star schema benchmark, with a generator of our own.
//! - [`clickbench`]: the shapes of ClickBench's queries, with a generator of our own.
//! - `limits`: kernels by hand for eight queries of TPC-H.
//! - [`dataset`]: sequences of numbers for the benchmarks of formats and replicated columns.
//! - [`demo`]: what `nacre demo` runs.
//! - [`bench`]: what `nacre bench NAME` runs; [`report`] is how measurements are written down.
//! - [`replication`] and [`calibrate`]: what `nacre bench replication` and `nacre calibrate` run.
//! - [`process`] and [`child`]: processes of our own, started to be killed or timed.
//!
//! # Invariants
//! 1. Nothing here is needed to run a database: no other crate but the command line uses it.
//! 2. Whatever is written lies in a fresh subdirectory that is removed at the end, also after an
//!    error or a signal.
//! 3. The oracle shares no code with Nacre's loading and scans. It does share DataFusion's planner
//!    and operators; that is why the published answers are there as well.

#![deny(unsafe_code)]

pub mod bench;
pub mod calibrate;
pub mod child;
pub mod clickbench;
pub mod dataset;
pub mod demo;
mod engine;
mod error;
mod format;
mod interrupt;
mod limits;
mod memory;
mod oltp;
pub mod process;
mod progress;
pub mod replication;
pub mod report;
pub mod ssb;
pub mod tpch;
pub mod workload;
mod workspace;

pub use engine::{Engine, Loaded};
pub use error::{Error, Result};
