//! Other engines as contestants, if a Python has them: DuckDB and Hyper.
//!
//! Each is a process of its own that answers statements one by one with their seconds, so that
//! turns are kept and what it takes to start is in no time.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::duckdb::{copy_statement, create_statement};
use crate::bench::pgbench::python;
use crate::error::{Error, Result};
use crate::workload::{Answer, Cell, CsvFile};

/// The program that runs the statements.
const PROGRAM: &str = include_str!("peer.py");

/// An engine next to which queries are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerEngine {
    DuckDb,
    Hyper,
}

/// A peer that runs, with the data.
pub(in crate::bench) struct PeerProcess {
    engine: PeerEngine,
    pub(in crate::bench) version: String,
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

    /// Options of COPY by which a quoted field without characters is an empty text, not a null.
    fn csv_options(self) -> &'static str {
        match self {
            Self::DuckDb => "FORMAT csv, HEADER, ALLOW_QUOTED_NULLS false",
            Self::Hyper => "FORMAT csv, HEADER",
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
    /// Starts a peer with an empty database below `directory`; `None` if there is no Python with
    /// its module.
    ///
    /// # Errors
    /// Failing input and output.
    pub(in crate::bench) fn start(
        engine: PeerEngine,
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
        let version: Value = serde_json::from_str(&version).unwrap_or_default();
        peer.version = version["version"].as_str().unwrap_or("of unknown version").to_owned();
        Ok(Some(peer))
    }

    /// Returns the engine's name in reports.
    pub(in crate::bench) fn name(&self) -> &'static str {
        self.engine.name()
    }

    /// Creates the tables of CSV files and loads them.
    ///
    /// # Errors
    /// As [`PeerProcess::run`].
    pub(in crate::bench) fn load(&mut self, files: &[CsvFile]) -> Result<()> {
        for file in files {
            self.run(&create_statement(file))?;
            self.copy(file.table.name, &file.path)?;
        }
        Ok(())
    }

    /// Loads a CSV file with a header into a table.
    ///
    /// # Errors
    /// As [`PeerProcess::run`].
    pub(in crate::bench) fn copy(&mut self, table: &str, path: &Path) -> Result<()> {
        self.run(&copy_statement(table, path, self.engine.csv_options())).map(drop)
    }

    /// Runs a statement, reads its rows and returns how long that took.
    ///
    /// # Errors
    /// [`Error::Child`] with what it says if it refuses a statement; failing input and output.
    pub(in crate::bench) fn run(&mut self, sql: &str) -> Result<Duration> {
        let answer = self.ask(sql, false)?;
        let seconds = answer["seconds"].as_f64();
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        time.ok_or_else(|| self.failure("no time"))
    }

    /// Runs a query and returns its rows.
    ///
    /// # Errors
    /// As [`PeerProcess::run`].
    pub(in crate::bench) fn answer(&mut self, sql: &str) -> Result<Answer> {
        let answer = self.ask(sql, true)?;
        read_answer(&answer).ok_or_else(|| self.failure("no rows"))
    }

    /// Sends a statement and returns the object that it is answered with.
    fn ask(&mut self, sql: &str, wants_rows: bool) -> Result<Value> {
        if let Some(stdin) = &mut self.stdin {
            let line = format!("{}\n", json!({ "sql": sql, "rows": wants_rows }));
            stdin
                .write_all(line.as_bytes())
                .and_then(|()| stdin.flush())
                .map_err(Error::io("write to", Path::new(self.engine.name())))?;
        }
        let line = self.read_line()?.ok_or_else(|| self.failure("it ended"))?;
        let answer: Value = serde_json::from_str(&line).unwrap_or_default();
        match answer["error"].as_str() {
            Some(message) => Err(self.failure(message)),
            None => Ok(answer),
        }
    }

    fn failure(&self, message: &str) -> Error {
        Error::Child(format!("{} failed: {message}", self.engine.name()))
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

/// Reads the columns and rows of an answer; `None` if it has none.
fn read_answer(answer: &Value) -> Option<Answer> {
    let texts = answer["columns"].as_array()?.iter().map(|name| name.as_str());
    let columns = texts.map(|name| name.unwrap_or_default().to_owned()).collect();
    let row = |row: &Value| row.as_array()?.iter().map(read_cell).collect();
    let rows = answer["rows"].as_array()?.iter().map(row).collect::<Option<_>>()?;
    Some(Answer { columns, rows })
}

/// Reads a value as `peer.py` writes it.
fn read_cell(value: &Value) -> Option<Cell> {
    Some(match value {
        Value::Null => Cell::Null,
        Value::Bool(value) => Cell::Boolean(*value),
        Value::String(text) => Cell::Text(text.clone()),
        Value::Object(object) => {
            let (kind, value) = object.iter().next()?;
            match kind.as_str() {
                "number" => Cell::of_numeric_text(value.as_str()?),
                "float" => Cell::Float(value.as_str()?.parse().ok()?),
                "date" => Cell::Date(i32::try_from(value.as_i64()?).ok()?),
                "timestamp" => Cell::Timestamp(value.as_i64()?),
                _ => return None,
            }
        }
        _ => return None,
    })
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
            let Some(mut peer) = PeerProcess::start(engine, directory.path(), 1).unwrap() else {
                continue;
            };
            assert!(!peer.version.is_empty());
            peer.run("select 1").unwrap();
            let error = peer.run("select nothing from nowhere").unwrap_err().to_string();
            assert!(error.starts_with(&format!("{} failed: ", engine.name())), "{error}");
            let sql = "select 2, 'a', cast(null as integer), date '1970-01-03', cast(1.50 as \
                       decimal(15,2)), cast(0.5 as double precision), timestamp '1970-01-01 \
                       00:00:01'";
            let answer = peer.answer(sql).unwrap();
            assert_eq!(answer.to_line(), "2 a NULL 1970-01-03 1.5 0.5 1000000 us");
        }
    }

    #[test]
    fn answers_are_read_as_the_program_writes_them() {
        let line = r#"{"seconds": 1.0, "columns": ["a", "b"],
            "rows": [[{"number": "-12.50"}, {"float": "inf"}], [true, null]]}"#;
        let answer = read_answer(&serde_json::from_str(line).unwrap()).unwrap();
        assert_eq!(answer.columns, ["a", "b"]);
        assert_eq!(answer.to_line(), "-12.5 inf, true NULL");
        assert!(read_answer(&json!({ "seconds": 1.0 })).is_none());
        assert!(read_answer(&json!({ "columns": ["a"], "rows": [[{ "what": 1 }]] })).is_none());
    }
}
