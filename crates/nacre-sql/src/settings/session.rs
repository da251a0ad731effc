//! What a program tells a session of its client and asks of its settings.

use std::net::SocketAddr;
use std::time::Duration;

use crate::error::Result;
use crate::notices::Notice;
use crate::session::Session;

/// Who a session is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// The name of the role that the session begins as.
    pub user: String,
    /// Its number, for who found it already; `None` is that of the role of that name.
    pub role: Option<u32>,
    /// What `current_database()` answers.
    pub database: String,
    /// What `pg_backend_pid()` answers.
    pub process_id: i32,
    /// What `inet_client_addr()` and `inet_client_port()` answer.
    pub client: Option<SocketAddr>,
    /// What `inet_server_addr()` and `inet_server_port()` answer.
    pub server: Option<SocketAddr>,
}

impl Default for SessionInfo {
    fn default() -> Self {
        let process_id = i32::try_from(std::process::id()).unwrap_or(i32::MAX);
        Self {
            user: "nacre".into(),
            role: None,
            database: "nacre".into(),
            process_id,
            client: None,
            server: None,
        }
    }
}

/// A setting of a session, as `pg_settings` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingInfo {
    pub name: String,
    /// The value in `unit`.
    pub value: String,
    /// The value as SHOW has it.
    pub shown: String,
    pub unit: Option<&'static str>,
    pub description: &'static str,
    /// Who may set it: `user`, `internal` or `postmaster`.
    pub context: &'static str,
    /// `bool`, `integer`, `real`, `enum` or `string`.
    pub kind: &'static str,
    /// Where the value is from: `default`, `client` or `session`.
    pub source: &'static str,
    /// The least and the largest number.
    pub bounds: Option<(String, String)>,
    /// The words that there are to choose from.
    pub choices: &'static [&'static str],
    /// The value of a session that says nothing.
    pub default: String,
    /// The value that RESET goes back to.
    pub reset: String,
}

impl Session {
    /// Returns who the session is of.
    pub fn info(&self) -> &SessionInfo {
        self.settings().info()
    }

    /// Returns the value of a setting as SHOW answers it; `None` if there is none of that name.
    pub fn setting(&self, name: &str) -> Option<String> {
        self.settings().shown(name)
    }

    /// Gives a setting the value that the client named when it connected, which RESET goes back
    /// to. A time zone that Nacre does not work in is not set: the client is to be told the warning
    /// that is returned.
    ///
    /// # Errors
    /// 42704 if there is none of that name, 22023 if the value is none of it, 55P02 if it cannot be
    /// set; `not supported` for values that would not hold.
    pub fn set_setting(&self, name: &str, value: &str) -> Result<Option<Notice>> {
        self.settings().set_initial(name, value)
    }

    /// Returns the settings that PostgreSQL tells its clients of and whose values changed since the
    /// last call: all of them at the first.
    pub fn reported_changes(&self) -> Vec<(String, String)> {
        self.settings().reported_changes()
    }

    /// Returns all settings, in the order of their names.
    pub fn all_settings(&self) -> Vec<SettingInfo> {
        self.settings().list()
    }

    /// Returns how long a statement may run; `None` is without bound.
    pub fn statement_timeout(&self) -> Option<Duration> {
        self.settings().statement_timeout()
    }

    /// Returns how long a block may wait for its next statement; `None` is without bound.
    pub fn idle_in_transaction_timeout(&self) -> Option<Duration> {
        self.settings().idle_in_transaction_timeout()
    }

    /// Returns how long a session without a block may wait for its next statement; `None` is
    /// without bound.
    pub fn idle_timeout(&self) -> Option<Duration> {
        self.settings().idle_timeout()
    }
}
