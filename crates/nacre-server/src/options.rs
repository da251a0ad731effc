//! What can be chosen for a server.

use std::time::Duration;

use crate::access::AccessOptions;

/// How to serve a database.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Addresses to listen on, each `HOST:PORT`; port 0 is a free one.
    pub listen: Vec<String>,
    /// Where metrics and health are told over HTTP, `HOST:PORT`.
    pub metrics: Option<String>,
    /// Who may connect.
    pub access: AccessOptions,
    /// Sessions at a time.
    pub connections_max: usize,
    /// Of these, those that only superusers get; one at least is for everybody.
    pub connections_reserved: usize,
    /// Bytes of a message of a client, so of a statement with its parameters.
    pub message_bytes_max: usize,
    /// Bytes that `COPY ... FROM STDIN` takes.
    pub copy_bytes_max: usize,
    /// Bytes of rows that a portal keeps when other statements run before all were fetched.
    pub portal_bytes_max: usize,
    /// How long a client may take to say who it is.
    pub startup_timeout: Duration,
    /// How long a session looks for the next message of a quick client before it sleeps; zero for
    /// not at all.
    pub busy_poll: Duration,
    /// How long the thread of a session waits for the client's next message before it ends, and
    /// the session rests without one.
    pub rest_after: Duration,
    /// Called some seconds after sessions went to rest or ended: has the allocator give memory back
    /// that it keeps.
    pub release_memory: Option<fn()>,
    /// Statements that take at least that long are logged.
    pub log_min_duration: Option<Duration>,
    /// How long statements may go on after the server was asked to shut down.
    pub shutdown_timeout: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            listen: vec!["127.0.0.1:5432".to_owned()],
            metrics: None,
            access: AccessOptions::default(),
            connections_max: 100,
            connections_reserved: 3,
            message_bytes_max: 256 << 20,
            copy_bytes_max: 4 << 30,
            portal_bytes_max: 256 << 20,
            startup_timeout: Duration::from_secs(60),
            busy_poll: Duration::from_micros(50),
            rest_after: Duration::from_millis(500),
            release_memory: None,
            log_min_duration: None,
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}
