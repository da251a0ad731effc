//! DuckDB as a contestant, if it happens to be there.
//!
//! Looked for at run time: the program `duckdb`, then a Python 3 with the module `duckdb`. Each run
//! is a process of its own; what it takes to start is not in the times of its statements.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::workload::CsvFile;
use crate::workspace::Workspace;

/// Runs the statements that come as JSON and prints the seconds of each.
const PYTHON: &str = "\
import duckdb, json, sys, time
with duckdb.connect(sys.argv[1]) as db:
    for statement in json.load(sys.stdin):
        begin = time.perf_counter()
        db.execute(statement)
        print(time.perf_counter() - begin)
";

/// How the program reports the seconds of a statement.
const TIMER_LINE: &str = "Run Time (s): real ";

/// A DuckDB that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DuckDb {
    Program,
    Python,
}

impl DuckDb {
    /// Finds a DuckDB and returns it with its version; `None` if there is none.
    pub(super) fn find() -> Option<(Self, String)> {
        [Self::Program, Self::Python].into_iter().find_map(|duckdb| {
            let mut command = Command::new(duckdb.program());
            match duckdb {
                Self::Program => command.arg("--version"),
                Self::Python => command.args(["-c", "import duckdb; print(duckdb.__version__)"]),
            };
            let output = command.stdin(Stdio::null()).output().ok()?;
            let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            output.status.success().then_some((duckdb, version))
        })
    }

    fn program(self) -> &'static str {
        match self {
            Self::Program => "duckdb",
            Self::Python => "python3",
        }
    }

    /// Runs statements in a database file, which is created if it is absent; returns how long
    /// each took.
    ///
    /// # Errors
    /// [`Error::Child`] with the last line that DuckDB printed; failing input and output.
    pub(super) fn run(self, file: &Path, statements: &[String]) -> Result<Vec<Duration>> {
        let program = Path::new(self.program());
        let mut command = Command::new(program);
        let input = match self {
            Self::Program => {
                command.arg(file);
                format!(".bail on\n.timer on\n{};\n", statements.join(";\n"))
            }
            Self::Python => {
                command.args(["-c", PYTHON]).arg(file);
                serde_json::json!(statements).to_string()
            }
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(Error::io("start", program))?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(input.as_bytes()).map_err(Error::io("write to", program))?;
        }
        let output = child.wait_with_output().map_err(Error::io("read from", program))?;
        let failure = |message: &str| Error::Child(format!("DuckDB failed: {message}"));
        if !output.status.success() {
            let messages = String::from_utf8_lossy(&output.stderr);
            return Err(failure(messages.lines().last().unwrap_or("no message")));
        }
        let times = self.times(&String::from_utf8_lossy(&output.stdout));
        if times.len() == statements.len() {
            Ok(times)
        } else {
            Err(failure(&format!("{} of {} statements ran", times.len(), statements.len())))
        }
    }

    /// Reads the seconds of the statements from what was printed.
    fn times(self, printed: &str) -> Vec<Duration> {
        let seconds = |line: &str| {
            let text = match self {
                Self::Program => line.strip_prefix(TIMER_LINE)?.split_whitespace().next()?,
                Self::Python => line,
            };
            Duration::try_from_secs_f64(text.parse().ok()?).ok()
        };
        printed.lines().filter_map(seconds).collect()
    }
}

/// Returns the statement that creates a file's table. It has no primary key: DuckDB's index would
/// make loading slower and the file larger.
pub(super) fn create_statement(file: &CsvFile) -> String {
    file.table.create_statement_without_key(file.table.name)
}

/// Returns the statement that loads a file into its table.
pub(super) fn load_statement(file: &CsvFile) -> String {
    copy_statement(file.table.name, &file.path, "FORMAT csv, HEADER")
}

/// Returns the statement that loads a file into a table with options of COPY.
pub(super) fn copy_statement(table: &str, path: &Path, options: &str) -> String {
    let path = path.to_string_lossy().replace('\'', "''");
    format!("COPY {table} FROM '{path}' ({options})")
}

/// Loads the files into a new DuckDB file and returns its bytes; `None` if there is no DuckDB.
pub(super) fn file_bytes(
    workspace: &Workspace,
    files: &[CsvFile],
    scale_factor: f64,
) -> Result<Option<u64>> {
    let Some((duckdb, _)) = DuckDb::find() else {
        return Ok(None);
    };
    let path = workspace.path().join(format!("duckdb-{scale_factor}.db"));
    let loads = files.iter().flat_map(|file| [create_statement(file), load_statement(file)]);
    let statements: Vec<String> = loads.chain(["CHECKPOINT".to_owned()]).collect();
    duckdb.run(&path, &statements)?;
    let metadata = std::fs::metadata(&path).map_err(Error::io("look at", &path))?;
    Ok(Some(metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_what_either_prints() {
        let program = "Run Time (s): real 1.250 user 0.1 sys 0.0\nother\n\
                       Run Time (s): real 0.003 user 0.0 sys 0.0\n";
        let times = [Duration::from_millis(1_250), Duration::from_millis(3)];
        assert_eq!(DuckDb::Program.times(program), times);
        assert_eq!(DuckDb::Python.times("1.25\n0.003\n"), times);
        assert!(DuckDb::Python.times("-1\nnan\n").is_empty());
    }
}
