//! Other engines as contestants, if a Python has them: DuckDB and Hyper.
//!
//! Each is a process of its own that answers statements one by one with their seconds, so that
//! turns are kept and what it takes to start is in no time.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

use super::duckdb::{create_statement, load_statement};
use super::pgbench::python;
use crate::error::{Error, Result};
use crate::workload::CsvFile;

/// The program that runs the statements.
const PROGRAM: &str = include_str!("peer.py");

/// An engine next to which queries are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerEngine {
    DuckDb,
    Hyper,
}

/// A peer that runs, with the data.
pub(super) struct PeerProcess {
    engine: PeerEngine,
    pub(super) version: String,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl PeerEngine {
    /// Returns the name in arguments and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::DuckDb => "duckdb",
            Self::Hyper => "hyper",
        }
    }
}

impl FromStr for PeerEngine {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let found = [Self::DuckDb, Self::Hyper].into_iter().find(|peer| peer.name() == text);
        found.ok_or_else(|| format!("no such engine: {text} (duckdb, hyper)"))
    }
}

impl PeerProcess {
    /// Starts a peer and loads the files into a database below `directory`; `None` if there is no
    /// Python with its module.
    ///
    /// # Errors
    /// [`Error::Child`] with what it says if it refuses a statement; failing input and output.
    pub(super) fn start(
        engine: PeerEngine,
        files: &[CsvFile],
        directory: &Path,
        threads: usize,
    ) -> Result<Option<Self>> {
        let python = python();
        let mut command = Command::new(&python);
        let database = directory.join(format!("peer.{}", engine.name()));
        command.args(["-c", PROGRAM, engine.name()]).arg(database).arg(threads.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else { return Ok(None) };
        let stdin = child.stdin.take();
        let Some(stdout) = child.stdout.take() else {
            return Err(Error::Child(format!("{} has no output", engine.name())));
        };
        let stdout = BufReader::new(stdout);
        let mut peer = Self { engine, version: String::new(), child, stdin, stdout };
        let Some(version) = peer.read_line()? else { return Ok(None) };
        let version: serde_json::Value = serde_json::from_str(&version).unwrap_or_default();
        peer.version = version["version"].as_str().unwrap_or("of unknown version").to_owned();
        for file in files {
            peer.run(&create_statement(file))?;
            peer.run(&load_statement(file))?;
        }
        Ok(Some(peer))
    }

    /// Runs a statement, reads its rows and returns how long that took.
    ///
    /// # Errors
    /// As [`PeerProcess::start`].
    pub(super) fn run(&mut self, sql: &str) -> Result<Duration> {
        let name = self.engine.name();
        let failure = |message: &str| Error::Child(format!("{name} failed: {message}"));
        let program = PathBuf::from(name);
        if let Some(stdin) = &mut self.stdin {
            let line = format!("{}\n", serde_json::json!(sql));
            stdin
                .write_all(line.as_bytes())
                .and_then(|()| stdin.flush())
                .map_err(Error::io("write to", &program))?;
        }
        let answer = self.read_line()?.ok_or_else(|| failure("it ended"))?;
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap_or_default();
        let seconds = answer["seconds"].as_f64();
        seconds
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .ok_or_else(|| failure(answer["error"].as_str().unwrap_or("no time")))
    }

    /// Reads a line; `None` if the process has ended.
    fn read_line(&mut self) -> Result<Option<String>> {
        let mut line = String::new();
        let program = PathBuf::from(self.engine.name());
        let bytes = self.stdout.read_line(&mut line).map_err(Error::io("read from", &program))?;
        Ok((bytes > 0).then_some(line))
    }
}

impl Drop for PeerProcess {
    fn drop(&mut self) {
        // The end of its input ends it; a statement that still runs is not waited for.
        self.stdin = None;
        for _ in 0..50 {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_known_by_name() {
        assert_eq!("duckdb".parse(), Ok(PeerEngine::DuckDb));
        assert_eq!("hyper".parse(), Ok(PeerEngine::Hyper));
        let message = "no such engine: umbra (duckdb, hyper)";
        assert_eq!("umbra".parse::<PeerEngine>(), Err(message.to_owned()));
    }

    #[test]
    fn peers_that_are_there_load_and_answer() {
        let directory = tempfile::tempdir().unwrap();
        for engine in [PeerEngine::DuckDb, PeerEngine::Hyper] {
            let Some(mut peer) = PeerProcess::start(engine, &[], directory.path(), 1).unwrap()
            else {
                continue;
            };
            assert!(!peer.version.is_empty());
            peer.run("select 1").unwrap();
            let error = peer.run("select nothing from nowhere").unwrap_err().to_string();
            assert!(error.starts_with(&format!("{} failed: ", engine.name())), "{error}");
            if engine == PeerEngine::DuckDb {
                // What it prints itself is no answer.
                peer.run("copy (select 7) to '/dev/stdout' (format csv)").unwrap();
            }
            peer.run("select 2").unwrap();
        }
    }
}
