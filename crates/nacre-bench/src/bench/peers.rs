//! Other engines next to which queries are measured, if a Python has them: DuckDB and Hyper.
//!
//! - `process`: a peer, a process of its own that answers statements.
//! - `contest`: the queries of a workload, run by Nacre and the peers in turn.

mod contest;
mod process;

pub(super) use contest::{PeerContest, PeerQuery, start_peers};
pub use process::PeerEngine;
pub(super) use process::PeerProcess;
