//! Who may connect: what `nacre-access` knows, with the files and the roles of this database.
//!
//! [`Access`] is opened once and decides about connections; how a client is asked is the matter of
//! `connection/authentication.rs`.
//!
//! # Invariants
//! A server that other machines reach has TLS, and its superuser a password.
//! # See
//! `docs/access.md`.

mod options;
mod policy;

pub use options::{AccessOptions, TlsMode};
pub(crate) use policy::{Access, Demand};
