//! What the fuzz targets have in common; each target is one file beside this folder.
//!
//! A workspace of its own; `crates/nacre-store/tests/fuzz_targets.rs` includes this file, so that
//! what the targets do is built and tested with everything else. `docs/fuzzing.md` says how to run
//! them.

#![forbid(unsafe_code)]

mod blocks;
mod database;
mod input;
#[path = "../../crates/nacre-column/tests/support/probe.rs"]
mod probe;
mod redo;

pub use blocks::{any_block, numbers, strings};
pub use database::{manifest_record, pool_set, store_directory};
pub use nacre_column::Format;
pub use redo::{redo_log, redo_records};
