//! What is logged of a session: its beginning and end, statements that fail, and slow ones.
//!
//! # Invariants
//! A password is never logged: of statements that have one no literal is, nor is what an error says
//! about them. Values of parameters are not logged at all.

use std::borrow::Cow;
use std::time::Instant;

use nacre_sql::{Error, ErrorKind};
use pgwire::messages::extendedquery::{Describe, TARGET_TYPE_BYTE_STATEMENT};
use tracing::{error, info, warn};

use super::extended::Prepared;
use super::serving::Connection;
use crate::wire::frontend::Message;

/// Bytes of a statement in the log; what is longer is cut.
const STATEMENT_BYTES_MAX: usize = 8 << 10;

const FAILED: &str = "statement failed";

/// What stands for the rest of a statement with a password.
const REDACTED: &str = "<redacted>";

/// What a message of the extended protocol is about, to be looked up if there is something to say.
pub(super) enum Subject {
    Nothing,
    Query(String),
    Statement(Option<String>),
    Portal(Option<String>),
}

impl Subject {
    /// Of all messages but Bind, which says it by itself. Copies no name of a portal that has none.
    pub(super) fn of(message: &Message) -> Self {
        match message {
            Message::Parse(parse) => Self::Query(parse.query.clone()),
            Message::Describe(Describe {
                target_type: TARGET_TYPE_BYTE_STATEMENT, name, ..
            }) => Self::Statement(name.clone()),
            Message::Describe(describe) => Self::Portal(describe.name.clone()),
            Message::Execute(execute) => Self::Portal(execute.name.clone()),
            _ => Self::Nothing,
        }
    }

    /// The query that is parsed.
    pub(super) fn query(&self) -> Option<&str> {
        match self {
            Self::Query(query) => Some(query),
            _ => None,
        }
    }
}

impl Connection {
    /// Returns the text of what a message is about.
    pub(super) fn text_of<'a>(&'a self, subject: &'a Subject) -> Option<&'a str> {
        let prepared: &Prepared = match subject {
            Subject::Nothing => return None,
            Subject::Query(query) => return Some(query),
            Subject::Statement(None) => self.unnamed.as_deref()?,
            Subject::Statement(Some(name)) => self.named.get(name)?,
            Subject::Portal(name) => {
                &self.portals.get(name.as_deref().unwrap_or_default())?.prepared
            }
        };
        prepared.statement.as_ref().map(|statement| statement.sql())
    }

    /// Logs and counts a statement that failed.
    pub(super) fn log_failure(&self, error: &Error, sql: Option<&str>) {
        self.shared.counters.failure(error.sqlstate());
        let (session, user) = (self.registered.process_id, self.user.as_str());
        let sqlstate = error.sqlstate();
        let (statement, is_redacted) = sql.map_or((Cow::Borrowed(""), false), loggable);
        let message = if is_redacted { REDACTED } else { error.message() };
        let text = &*statement;
        match error.kind() {
            // Ours or the machine's.
            ErrorKind::Internal
            | ErrorKind::Io
            | ErrorKind::DiskFull
            | ErrorKind::DataCorrupted => {
                error!(session, user, sqlstate, error = message, statement = text, "{FAILED}");
            }
            _ => warn!(session, user, sqlstate, error = message, statement = text, "{FAILED}"),
        }
    }

    /// Returns when a statement begins, if anybody wants to know.
    pub(super) fn stopwatch(&self) -> Option<Instant> {
        self.shared.options.log_min_duration.map(|_| Instant::now())
    }

    /// Logs a statement if it was slow.
    pub(super) fn log_if_slow(&self, began: Option<Instant>, sql: Option<&str>) {
        let (Some(began), Some(limit)) = (began, self.shared.options.log_min_duration) else {
            return;
        };
        let spent = began.elapsed();
        if spent < limit {
            return;
        }
        let (session, user) = (self.registered.process_id, self.user.as_str());
        let duration_ms = spent.as_micros() as f64 / 1_000.0;
        let (statement, _) = sql.map_or((Cow::Borrowed(""), false), loggable);
        info!(session, user, duration_ms, statement = &*statement, "slow statement");
    }
}

/// Returns what of a statement may be logged, and whether something was left out for its secrecy.
fn loggable(sql: &str) -> (Cow<'_, str>, bool) {
    let shown = &sql[..sql.floor_char_boundary(STATEMENT_BYTES_MAX)];
    let is_cut = shown.len() < sql.len();
    if let Some(end) = secret_start(shown, is_cut) {
        return (Cow::Owned(format!("{}{REDACTED}", &shown[..end])), true);
    }
    match is_cut {
        false => (Cow::Borrowed(sql), false),
        true => (Cow::Owned(format!("{shown}...")), false),
    }
}

/// Returns where the first literal begins that may be a password: any of a statement about a role,
/// however it is misspelled, with what follows the word there, and any behind the word in others.
/// What was cut off may have one, too.
fn secret_start(shown: &str, is_cut: bool) -> Option<usize> {
    let lower = shown.to_ascii_lowercase();
    let words = lower.split(|one: char| !one.is_alphanumeric() && one != '_');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_about_role = words.windows(2).any(|pair| {
        matches!(pair[0], "create" | "alter") && matches!(pair[1], "role" | "user" | "group")
    });
    let word = lower.find("password").map(|at| at + "password".len());
    let from = if is_about_role { 0 } else { word? };
    let literal = lower[from..].find(['\'', '$']).map(|at| from + at);
    let bare = word.filter(|_| is_about_role);
    literal.into_iter().chain(bare).min().or_else(|| is_cut.then_some(shown.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_left_out_however_they_are_written() {
        for sql in [
            "ALTER ROLE a PASSWORD 'hunter2'",
            "create user a with encrypted password E'hunter2' valid until 'infinity'",
            "/* x */ alter role a password $$hunter2$$",
            "ALTER ROLE a PASWORD 'hunter2'",
            "CREATE USER a VALID UNTIL '2030-01-01' PASSWORD $x$hunter2$x$",
            "select set_password('a', 'hunter2')",
            "alter role a password \"hunter2\"",
            "alter user a PASSWORD hunter2 valid until '2030-01-01'",
            &format!("alter role a {}password 'hunter2'", " ".repeat(STATEMENT_BYTES_MAX)),
        ] {
            let (shown, is_redacted) = loggable(sql);
            assert!(is_redacted && !shown.contains("hunter2"), "{shown}");
        }
    }

    #[test]
    fn other_statements_are_whole_unless_they_are_long() {
        for sql in [
            "select 'a' from t",
            "create table user_events (a text default 'x')",
            "insert into users values ('x', $1)",
        ] {
            assert_eq!(loggable(sql), (Cow::Borrowed(sql), false));
        }
        let long = "\u{fc}".repeat(STATEMENT_BYTES_MAX);
        assert!(loggable(&long).0.len() <= STATEMENT_BYTES_MAX + 3);
    }
}
