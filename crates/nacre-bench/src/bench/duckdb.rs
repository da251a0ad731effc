//! The size of DuckDB's file for the same data, if DuckDB happens to be there.
//!
//! Looked for at run time: the program `duckdb`, then a Python 3 with the module `duckdb`. The
//! tables are created without primary keys, because their indexes would make the file larger.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Error, Result};
use crate::workload::CsvFile;
use crate::workspace::Workspace;

/// What runs a script in DuckDB: a program, and its arguments before file and script.
struct Runner {
    program: &'static str,
    before_file: &'static [&'static str],
    before_script: &'static [&'static str],
}

const RUNNERS: [Runner; 2] = [
    Runner { program: "duckdb", before_file: &[], before_script: &["-c"] },
    Runner {
        program: "python3",
        before_file: &[
            "-c",
            "import duckdb, sys\nwith duckdb.connect(sys.argv[1]) as db: db.execute(sys.argv[2])",
        ],
        before_script: &[],
    },
];

/// Loads the files into a new DuckDB file and returns its bytes; `None` if there is no DuckDB.
pub(super) fn file_bytes(
    workspace: &Workspace,
    files: &[CsvFile],
    scale_factor: f64,
) -> Result<Option<u64>> {
    let probe = workspace.path().join("duckdb-probe.db");
    let Some(runner) = RUNNERS.iter().find(|runner| runner.run(&probe, "SELECT 1").is_ok()) else {
        return Ok(None);
    };
    let path: PathBuf = workspace.path().join(format!("duckdb-{scale_factor}.db"));
    runner.run(&path, &script(files))?;
    let metadata = std::fs::metadata(&path).map_err(Error::io("look at", &path))?;
    Ok(Some(metadata.len()))
}

fn script(files: &[CsvFile]) -> String {
    let mut script = String::new();
    for file in files {
        let name = file.table.name;
        let path = file.path.to_string_lossy().replace('\'', "''");
        script.push_str(&file.table.create_statement_without_key(name));
        script.push_str(&format!(";\nCOPY {name} FROM '{path}' (FORMAT csv, HEADER);\n"));
    }
    script.push_str("CHECKPOINT;\n");
    script
}

impl Runner {
    fn run(&self, file: &Path, script: &str) -> Result<()> {
        let mut command = Command::new(self.program);
        command.args(self.before_file).arg(file).args(self.before_script).arg(script);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let output = command.output().map_err(Error::io("start", Path::new(self.program)))?;
        if output.status.success() {
            return Ok(());
        }
        let message = String::from_utf8_lossy(&output.stderr);
        let last = message.lines().last().unwrap_or("no message");
        Err(Error::Child(format!("DuckDB ({}) failed: {last}", self.program)))
    }
}
