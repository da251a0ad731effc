//! Runs every file below `tests/sql/`, each in a volatile database of its own.
//!
//! In a file, `__DIR__` stands for a directory that the file may write to, and `connection NAME`
//! sends the next record to another session of the same database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nacre_sql::Error;
use sqllogictest::{DB, DBOutput, DefaultColumnType, Runner};

use crate::support::{Answer, Connection};

/// How many queries of the files Nacre's own engine takes; the number only grows.
const NACRE_QUERIES_MIN: u64 = 2_850;

struct Embedded {
    connection: Connection,
    directory: Arc<tempfile::TempDir>,
}

impl DB for Embedded {
    type Error = Error;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Error> {
        let directory = self.directory.path().to_str().unwrap();
        Ok(match self.connection.run(&sql.replace("__DIR__", directory))? {
            Answer::Tag(tag) => DBOutput::StatementComplete(rows_of(&tag)),
            Answer::Rows(letters, rows) => DBOutput::Rows {
                types: letters.into_iter().map(column_type).collect(),
                rows: rows.into_iter().map(|row| row.into_iter().map(shown).collect()).collect(),
            },
        })
    }

    fn error_sql_state(error: &Error) -> Option<String> {
        Some(error.sqlstate().to_owned())
    }
}

fn column_type(letter: char) -> DefaultColumnType {
    match letter {
        'I' => DefaultColumnType::Integer,
        'R' => DefaultColumnType::FloatingPoint,
        _ => DefaultColumnType::Text,
    }
}

/// Reads the number at the end of a command tag, such as `INSERT 0 3`.
fn rows_of(tag: &str) -> u64 {
    tag.rsplit(' ').next().and_then(|last| last.parse().ok()).unwrap_or(0)
}

fn shown(text: String) -> String {
    if text.is_empty() { "(empty)".into() } else { text }
}

fn files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "slt") {
            found.push(path);
        }
    }
}

#[test]
fn files_below_tests_sql_pass() {
    let mut found = Vec::new();
    files(Path::new("../../tests/sql"), &mut found);
    found.sort();
    assert!(found.len() >= 10, "{} files", found.len());
    let mut failures = Vec::new();
    let mut taken = (0, 0);
    for file in found {
        let first = Connection::open(None);
        let directory = Arc::new(tempfile::tempdir().unwrap());
        let mut runner = Runner::new(|| async {
            let directory = Arc::clone(&directory);
            Ok(Embedded { connection: first.another(), directory })
        });
        if let Err(error) = runner.run_file(&file) {
            failures.push(error.display(false).to_string());
        }
        let counts = first.database.engine_counts();
        taken = (taken.0 + counts.nacre, taken.1 + counts.datafusion);
    }
    let (nacre, datafusion) = taken;
    println!("queries of Nacre's own engine: {nacre}, of DataFusion: {datafusion}");
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(nacre >= NACRE_QUERIES_MIN, "only {nacre} queries ran in Nacre's own engine");
}
