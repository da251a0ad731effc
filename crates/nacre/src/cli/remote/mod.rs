//! The shell as a client of a running server: `nacre --connect`.
//!
//! [`Target`] says where the server is and who we are, from a URL and the `PG*` variables;
//! [`Remote`] is the session. A statement goes as one simple query; its rows come as text and are
//! shown by the same renderers as those of a database of our own. The messages are
//! `postgres-protocol`'s; any PostgreSQL server will do.

mod connect;
mod messages;
mod passfile;
mod ready;
mod rows;
mod session;
mod statement;
mod target;
mod trust;

pub(crate) use ready::readiness;
pub(crate) use session::Remote;
pub(crate) use statement::Said;
pub(crate) use target::Target;
