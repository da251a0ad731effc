//! Tests of the SQL layer, in one binary because linking DataFusion takes seconds.
//!
//! `sqllogic` runs the files below `tests/sql/`; the other modules need files or faults.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod definition_changes;
mod definition_stress;
mod definitions;
mod depth;
mod engine;
mod faults;
mod interleavings;
mod joins;
mod loading;
mod memory;
mod messages;
mod notices;
mod prepared;
mod privileges;
mod pruning;
mod random_queries;
#[allow(dead_code, reason = "what other tests need of it")]
#[path = "../../../nacre-functions/tests/server/mod.rs"]
mod server;
mod settings;
mod short;
mod sqllogic;
mod support;
mod transactions;
