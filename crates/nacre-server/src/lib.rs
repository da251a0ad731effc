//! Nacre as a server that any PostgreSQL client talks to.
//!
//! [`Ports`] are taken before the database is open, [`Server::over`] has them serve it, and
//! [`Server::run`] serves until [`Shutdown`] says so; [`Server::bind`] is for a database that is
//! open. Each connection has a session of its own, and a thread while its client is busy
//! ([`connection`]); [`wire`] decodes and encodes messages, [`values`] their values;
//! [`access`] says who may connect; [`descriptors`] says whether there is room for one more;
//! [`sessions`] knows all of them, to cancel, to count and to end them; [`metrics`] tells others
//! what was counted. What happens is logged by `tracing`, whose subscriber the program chooses.
//!
//! # Invariants
//! 1. Nothing that a client sends ends the server or another client's session; it ends at most its
//!    own connection, with an error that says why.
//! 2. Memory of a connection is bounded by [`ServerOptions`].
//! # See
//! `docs/server.md`; `docs/decisions/0013-own-protocol-loop.md` says why the loop is ours.

#![forbid(unsafe_code)]

mod access;
mod connection;
mod descriptors;
mod metrics;
mod options;
mod ports;
mod report;
mod server;
mod sessions;
mod values;
mod wire;

pub use access::{AccessOptions, TlsMode};
pub use descriptors::raise_descriptor_limit;
pub use options::ServerOptions;
pub use ports::Ports;
pub use server::{Server, Shutdown};
pub use wire::{decode_frames, decode_opening};
