//! Workload generators, the demo and the benchmark drivers of Nacre.
//!
//! - [`tpch`]: the eight tables, their CSV files, the 22 queries, and two checks of the answers:
//!   DataFusion over the same CSV files, and the answers that the TPC publishes for scale factor 1.
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
pub mod demo;
mod engine;
mod error;
mod format;
mod interrupt;
pub mod process;
mod progress;
pub mod replication;
pub mod report;
pub mod tpch;
mod workspace;

pub use engine::{Engine, Loaded};
pub use error::{Error, Result};
