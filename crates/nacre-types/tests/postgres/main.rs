//! Compares this crate with a PostgreSQL 15 server.
//!
//! 1. A server is started in a temporary directory; without its programs every test prints a line
//!    and passes.
//! 2. Generators make texts, values and expressions from a seed. `NACRE_TYPES_SEED` repeats a run,
//!    `NACRE_TYPES_CASES` sets how many cases each generator makes (default 400).
//! 3. A batch of expressions is run by one `psql`; each answer is a text, or SQLSTATE, message and
//!    detail, and must be ours.

#![allow(clippy::expect_used, reason = "a failed test may panic where it stands")]

mod arithmetic;
mod casts;
mod catalogs;
mod forms;
mod generators;
mod server;
mod texts;

use std::cell::Cell;
use std::sync::LazyLock;

use nacre_types::ValueError;
use server::PostgresServer;

/// Differences of a batch that are printed.
const DIFFERENCES_SHOWN: usize = 40;

/// The server of all tests of this process; `None` without PostgreSQL.
static SERVER: LazyLock<Option<PostgresServer>> = LazyLock::new(|| {
    let server = PostgresServer::start();
    server.as_ref().inspect(|server| server::stop_at_exit(server));
    server
});

/// Returns the server, or says that the test is skipped.
fn server() -> Option<&'static PostgresServer> {
    let server = SERVER.as_ref();
    if server.is_none() {
        println!("skipped: no programs of PostgreSQL 15 were found");
    }
    server
}

/// Returns how many cases a generator makes.
fn case_count() -> usize {
    let asked = std::env::var("NACRE_TYPES_CASES").ok().and_then(|count| count.parse().ok());
    asked.unwrap_or(400)
}

/// A question: an expression for the server, and our answer.
struct OracleCase {
    expression: String,
    ours: String,
}

impl OracleCase {
    fn new(expression: String, ours: Result<Option<String>, ValueError>) -> Self {
        Self { expression, ours: answer_text(ours) }
    }
}

/// Writes an answer as the server's function does.
fn answer_text(answer: Result<Option<String>, ValueError>) -> String {
    match answer {
        Ok(text) => format!("={}", text.unwrap_or_default()),
        Err(error) => {
            let detail = error.text().detail.clone().unwrap_or_default();
            format!("{}|{}|{detail}", error.sql_state(), error.message())
        }
    }
}

/// Quotes a literal.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

thread_local! {
    /// Differences that the test of this thread has found.
    static DIFFERENCES: Cell<usize> = const { Cell::new(0) };
}

/// Fails a test at its end if there were differences.
struct DifferenceGuard;

impl Drop for DifferenceGuard {
    fn drop(&mut self) {
        let differences = DIFFERENCES.get();
        if !std::thread::panicking() {
            assert_eq!(differences, 0, "differences from PostgreSQL");
        }
    }
}

/// Asks the server all questions under some settings, compares and prints what differs.
fn check(settings: &str, cases: &[OracleCase]) {
    let Some(server) = server() else { return };
    let expressions: Vec<&str> = cases.iter().map(|case| case.expression.as_str()).collect();
    let answers = server.evaluate(settings, &expressions);
    assert_eq!(answers.len(), cases.len());
    let mut differences = 0;
    for (case, theirs) in cases.iter().zip(&answers) {
        if *theirs == case.ours {
            continue;
        }
        differences += 1;
        if differences <= DIFFERENCES_SHOWN {
            let OracleCase { expression, ours } = case;
            println!("{settings} {expression}\n   ours   {ours}\n   theirs {theirs}");
        }
    }
    println!("{} cases, {differences} differences", cases.len());
    DIFFERENCES.set(DIFFERENCES.get() + differences);
}
