//! Histories of concurrent transactions, and what decides whether they are serializable.
//!
//! 1. Clients run random or scripted transactions over an [`Engine`](engine::Engine) and record
//!    what they read, wrote and were told ([`record`]). Every written cell of the columns `A` and
//!    `B` has a value that nobody else writes, so a value that was read tells who wrote it.
//! 2. [`graph`] builds the dependency graph: ww, wr and rw edges between cells, those by
//!    predicates too, and the order in which transactions followed each other. A cycle is named
//!    and classified.
//! 3. [`replay`] repeats all committed transactions one after the other in commit order and
//!    compares every answer: a second opinion that shares no code with the graph.
//!
//! [`model`] is a small engine with every level and some planted flaws, to judge the judges;
//! [`stored`] is the store.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub(crate) mod engine;
pub(crate) mod graph;
pub(crate) mod model;
pub(crate) mod random;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod stored;
pub(crate) mod workload;
