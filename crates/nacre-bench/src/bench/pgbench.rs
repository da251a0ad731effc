//! Programs of PostgreSQL and its users that measure a server from outside: `pgbench`, `psql`, and
//! `psycopg` if a Python has it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Fetches a table by psycopg 3 and prints the seconds that it took.
const FETCH: &str = include_str!("fetch.py");

/// Variable of the environment with a Python that has psycopg and other engines.
const PYTHON: &str = "NACRE_BENCH_PYTHON";

/// Where a server listens.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// A host, or the directory of a socket.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: &'static str,
    pub(super) database: &'static str,
}

/// A run of `pgbench`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Without this each transaction is TPC-B's.
    pub(super) is_select_only: bool,
    /// `simple` or `prepared`.
    pub(super) mode: &'static str,
    /// Isolation level, with blanks.
    pub(super) isolation: &'static str,
    pub(super) clients: usize,
    pub(super) seconds: u64,
}

/// What a run of `pgbench` says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// Transactions a second, without those that failed.
    pub(super) rate: f64,
    /// Transactions that were tried again after a serialization failure.
    pub(super) retried: u64,
}

/// The programs, and where they are.
pub(super) struct Programs(pub(super) PathBuf);

impl Programs {
    fn command(&self, program: &str, address: &Address) -> Command {
        let mut command = Command::new(self.0.join(program));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.args(["-h", &address.host, "-p", &address.port.to_string(), "-U", address.user]);
        command
    }

    /// Creates and fills the tables of `pgbench`.
    pub(super) fn fill(&self, address: &Address, scale: u64) -> Result<()> {
        let mut command = self.command("pgbench", address);
        command.args(["-i", "-q", "-s", &scale.to_string(), address.database]);
        run_program(&mut command).map(drop)
    }

    /// Runs transactions for a time.
    ///
    /// # Errors
    /// [`Error::Child`] if a client is given up, or a figure is not told.
    pub(super) fn load(&self, address: &Address, load: Load) -> Result<Outcome> {
        let mut command = self.command("pgbench", address);
        let clients = load.clients.to_string();
        let isolation = load.isolation.replace(' ', "\\ ");
        command.env("PGOPTIONS", format!("-c default_transaction_isolation={isolation}"));
        command.stdout(Stdio::piped());
        command.args(["-n", "-M", load.mode, "-c", &clients, "--max-tries=1000000"]);
        command.args(["-j", &load.clients.min(2).to_string(), "-T", &load.seconds.to_string()]);
        if load.is_select_only {
            command.arg("-S");
        }
        let output = run_program(command.arg(address.database))?;
        let text = String::from_utf8_lossy(&output.stdout);
        parse(&text).ok_or_else(|| Error::Child(format!("pgbench tells no rate: {text}")))
    }

    /// Runs a statement and forgets what it answers; returns how long that took.
    ///
    /// # Errors
    /// [`Error::Child`] with the server's message if it fails.
    pub(super) fn statement(&self, address: &Address, sql: &str) -> Result<Duration> {
        let mut command = self.psql(address);
        command.args(["-v", "ON_ERROR_STOP=1", "-c", sql]);
        let start = Instant::now();
        run_program(&mut command)?;
        Ok(start.elapsed())
    }

    /// Runs one statement and returns its only value as text.
    ///
    /// # Errors
    /// As [`Programs::statement`].
    pub(super) fn value(&self, address: &Address, sql: &str) -> Result<String> {
        let mut command = self.psql(address);
        command.stdout(Stdio::piped()).args(["-v", "ON_ERROR_STOP=1", "-At", "-c", sql]);
        let output = run_program(&mut command)?;
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Runs the statements of a file; returns what was printed to standard error, one line for
    /// each statement that failed.
    ///
    /// # Errors
    /// [`Error::Child`] if the client fails as a whole.
    pub(super) fn file(&self, address: &Address, path: &Path) -> Result<String> {
        let output = run_program(self.psql(address).arg("-f").arg(path))?;
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    fn psql(&self, address: &Address) -> Command {
        let mut command = self.command("psql", address);
        command.args(["-X", "-q", "-v", "VERBOSITY=terse", "-d", address.database]);
        command
    }
}

/// Returns the Python that has the modules of benchmarks, if any has.
pub(super) fn python() -> PathBuf {
    std::env::var_os(PYTHON).map_or_else(|| "python3".into(), PathBuf::from)
}

/// Returns a Python that has psycopg, if there is one.
pub(super) fn python_with_psycopg() -> Option<PathBuf> {
    let python = python();
    let mut command = Command::new(&python);
    command.args(["-c", "import psycopg"]).stdin(Stdio::null()).stdout(Stdio::null());
    run_program(&mut command).ok().map(|_| python)
}

/// Fetches all rows of a table by psycopg, in binary or as text; returns how long that took.
pub(super) fn fetch(
    python: &Path,
    address: &Address,
    table: &str,
    is_binary: bool,
) -> Result<Duration> {
    let place = format!(
        "host={} port={} user={} dbname={}",
        address.host, address.port, address.user, address.database
    );
    let format = if is_binary { "binary" } else { "text" };
    let mut command = Command::new(python);
    command.args(["-c", FETCH, &place, table, format]).stdin(Stdio::null()).stdout(Stdio::piped());
    let output = run_program(&mut command)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let seconds: Option<f64> = text.trim().parse().ok();
    seconds
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| Error::Child(format!("psycopg tells no time: {text}")))
}

/// Runs a program to its end.
///
/// # Errors
/// [`Error::Child`] with the last line that it printed to standard error if it fails.
pub(super) fn run_program(command: &mut Command) -> Result<Output> {
    let program = PathBuf::from(command.get_program());
    let output = command.stderr(Stdio::piped()).output().map_err(Error::io("start", &program))?;
    if output.status.success() {
        return Ok(output);
    }
    let message = String::from_utf8_lossy(&output.stderr);
    let last = message.lines().last().unwrap_or("no message");
    Err(Error::Child(format!("{} failed: {last}", program.display())))
}

/// Reads what `pgbench` says; `None` if it says no rate, or that clients were given up.
fn parse(text: &str) -> Option<Outcome> {
    let after = |beginning: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(beginning))?;
        line.split_whitespace().next()
    };
    if text.contains("Run was aborted") {
        return None;
    }
    let rate = after("tps = ")?.parse().ok()?;
    let retried = after("number of transactions retried: ").and_then(|word| word.parse().ok());
    Some(Outcome { rate, retried: retried.unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_and_repetitions_are_read() {
        let text = "number of failed transactions: 0 (0.000%)\n\
                    number of transactions retried: 71 (2.0%)\n\
                    tps = 1234.500000 (without initial connection time)\n";
        assert_eq!(parse(text), Some(Outcome { rate: 1234.5, retried: 71 }));
        assert_eq!(parse("tps = 10.0 (without)\n"), Some(Outcome { rate: 10.0, retried: 0 }));
        assert_eq!(parse("tps = 10.0 (x)\nRun was aborted; the above results"), None);
        assert_eq!(parse("nothing"), None);
    }
}
