//! What can be chosen about access.

use std::path::PathBuf;

/// Whether connections are encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsMode {
    /// No connection is.
    Off,
    /// Those from other machines are whose clients ask for it. What stays on this machine nobody
    /// reads on the way who could not read the memory of the server.
    #[default]
    Remote,
    /// Those are whose clients ask for it.
    Prefer,
    /// All are; others are refused.
    Require,
}

/// Where the rules and secrets lie, and what is asked for.
#[derive(Clone, Debug, Default)]
pub struct AccessOptions {
    /// Directory of the database, with `access.conf` if there is one. Without a directory there
    /// are no rules but the safe ones, and no certificate but one that is given.
    pub directory: Option<PathBuf>,
    /// Whether connections are encrypted.
    pub tls: TlsMode,
    /// A certificate and its key, both PEM.
    pub certificate: Option<(PathBuf, PathBuf)>,
}
