//! A session of `psql` that answers one query after the other.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::compare::QueryAnswer;
use super::database::ANSWER_ROWS_MAX;
use super::server::TestServer;

/// What `psql` writes for null; no value of a test has it.
const NULL: &str = "\u{2205}";

const SETTINGS: &str = "\\set ON_ERROR_STOP off\n\\pset null '\u{2205}'\n\
    set client_min_messages = error;\nset jit = off;\nset timezone = 'UTC';\n\
    set max_parallel_workers_per_gather = 0;\nset statement_timeout = '4s';\n";

/// A running `psql`; it ends with this value.
pub(crate) struct PostgresSession {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl PostgresSession {
    pub(crate) fn new(server: &TestServer) -> Self {
        let mut psql = server.psql();
        psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = psql.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut session = Self { child, input, output };
        session.input.write_all(SETTINGS.as_bytes()).unwrap();
        session
    }

    /// Runs statements that succeed.
    pub(crate) fn define(&mut self, statements: &str) {
        match self.answer(statements) {
            QueryAnswer::Rows(_) => {}
            other => panic!("{statements}: {other:?}"),
        }
    }

    /// Runs a statement; lines of its text are none of its own.
    pub(crate) fn answer(&mut self, sql: &str) -> QueryAnswer {
        let text = format!("{sql};\n\\echo @= :SQLSTATE :LAST_ERROR_MESSAGE\n");
        self.input.write_all(text.as_bytes()).unwrap();
        self.input.flush().unwrap();
        let mut rows = Vec::new();
        loop {
            let mut line = String::new();
            let bytes = self.output.read_line(&mut line).unwrap();
            assert!(bytes > 0, "the server is gone: {sql}");
            let line = line.trim_end_matches('\n');
            let Some(end) = line.strip_prefix("@= ") else {
                let value = |text: &str| (text != NULL).then(|| text.to_owned());
                if rows.len() <= ANSWER_ROWS_MAX {
                    rows.push(line.split('\t').map(value).collect());
                }
                continue;
            };
            let (state, message) = end.split_at(5);
            return match state {
                "00000" if rows.len() > ANSWER_ROWS_MAX => QueryAnswer::Unanswered,
                "00000" => QueryAnswer::Rows(rows),
                // What it does not have, as FULL JOIN on other conditions than equalities.
                "57014" | "0A000" => QueryAnswer::Unanswered,
                _ => QueryAnswer::Error { state: state.to_owned(), message: message.to_owned() },
            };
        }
    }
}

impl Drop for PostgresSession {
    fn drop(&mut self) {
        let _ = self.input.write_all(b"\\q\n");
        let _ = self.child.wait();
    }
}
