//! The folder that TPC-DS comes from: nothing of it belongs to this project.
//!
//! | file | what |
//! |---|---|
//! | `scale_factor` | of the rows, as text |
//! | `tables/NAME.sql` | the `CREATE TABLE` statement |
//! | `tables/NAME.csv` | the rows, with a header |
//! | `queries/qNN.sql` | a query, numbered from 01 |
//!
//! `nacre bench tpcds --prepare` fills it from DuckDB's extension, by a Python program.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::bench::Setup;
use crate::bench::pgbench::python;
use crate::engine::Engine;
use crate::error::{Error, Result};

/// The program that fills a folder.
const PROGRAM: &str = include_str!("prepare.py");

/// What a folder holds.
#[derive(Debug)]
pub(in crate::bench) struct DsFolder {
    pub(in crate::bench) scale_factor: String,
    pub(in crate::bench) tables: Vec<DsTable>,
    pub(in crate::bench) queries: Vec<DsQuery>,
}

/// A table.
#[derive(Debug)]
pub(in crate::bench) struct DsTable {
    pub(in crate::bench) name: String,
    pub(in crate::bench) create_statement: String,
    pub(in crate::bench) csv: PathBuf,
}

/// A query.
#[derive(Debug)]
pub(in crate::bench) struct DsQuery {
    /// Such as `q01`.
    pub(in crate::bench) name: String,
    pub(in crate::bench) sql: String,
}

impl DsFolder {
    /// Reads what a folder holds, but the rows.
    ///
    /// # Errors
    /// [`Error::Usage`] if it holds no tables or no queries; failing input and output.
    pub(in crate::bench) fn read(folder: &Path) -> Result<Self> {
        let tables = statements_below(&folder.join("tables"))?.into_iter().map(|found| DsTable {
            csv: folder.join("tables").join(format!("{}.csv", found.0)),
            name: found.0,
            create_statement: found.1,
        });
        let queries = statements_below(&folder.join("queries"))?.into_iter();
        let queries = queries.map(|(name, sql)| DsQuery { name, sql });
        let (tables, queries): (Vec<_>, Vec<_>) = (tables.collect(), queries.collect());
        if tables.is_empty() || queries.is_empty() {
            return Err(Error::Usage(format!(
                "{} holds no tables or no queries: fill it by --prepare",
                folder.display()
            )));
        }
        let path = folder.join("scale_factor");
        let text = std::fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        Ok(Self { scale_factor: text.trim().to_owned(), tables, queries })
    }

    /// Creates its tables in a database and loads the rows.
    ///
    /// # Errors
    /// Those of the statements.
    pub(in crate::bench) async fn load(&self, setup: &Setup, nacre: &Engine) -> Result<()> {
        for table in &self.tables {
            setup.interrupt.check()?;
            nacre.query(&table.create_statement).await?;
            nacre.load(&table.name, &table.csv, Arc::default()).await?;
        }
        nacre.finish_replicas(&setup.interrupt)
    }

    /// Fills a folder, which is created if absent, with rows of a scale factor.
    ///
    /// # Errors
    /// [`Error::Child`] if no Python has DuckDB and its extension, with what it says.
    pub(in crate::bench) fn prepare(folder: &Path, scale_factor: f64) -> Result<()> {
        let python = python();
        let mut command = Command::new(&python);
        command.args(["-c", PROGRAM]).arg(folder).arg(scale_factor.to_string());
        command.stdin(Stdio::null());
        let output = command.output().map_err(Error::io("start", &python))?;
        if output.status.success() {
            return Ok(());
        }
        let messages = String::from_utf8_lossy(&output.stderr);
        let message = messages.lines().last().unwrap_or("no message").to_owned();
        Err(Error::Child(format!("{} could not prepare TPC-DS: {message}", python.display())))
    }
}

/// Reads the files that end in `.sql`: their names without that and their statements, by name. A
/// folder that is absent has none.
fn statements_below(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    if !folder.is_dir() {
        return Ok(found);
    }
    for entry in std::fs::read_dir(folder).map_err(Error::io("list directory", folder))? {
        let path = entry.map_err(Error::io("list directory", folder))?.path();
        if path.extension().is_some_and(|extension| extension == "sql")
            && let Some(name) = path.file_stem()
        {
            let text = std::fs::read_to_string(&path).map_err(Error::io("read", &path))?;
            let statement = text.trim().trim_end_matches(';').to_owned();
            found.push((name.to_string_lossy().into_owned(), statement));
        }
    }
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_gives_tables_and_queries_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path();
        let error = DsFolder::read(folder).unwrap_err();
        assert!(matches!(error, Error::Usage(message) if message.ends_with("by --prepare")));
        for (name, text) in [
            ("tables/b.sql", "CREATE TABLE b (i integer);"),
            ("tables/a.sql", "CREATE TABLE a (i integer);\n"),
            ("tables/a.csv", "i\n1\n"),
            ("queries/q02.sql", "SELECT 2\n;\n"),
            ("queries/q01.sql", "SELECT 1"),
            ("scale_factor", "0.5\n"),
        ] {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let read = DsFolder::read(folder).unwrap();
        assert_eq!(read.scale_factor, "0.5");
        let tables = read.tables.iter().map(|table| table.name.as_str());
        assert!(tables.eq(["a", "b"]));
        assert_eq!(read.tables[0].create_statement, "CREATE TABLE a (i integer)");
        assert!(read.tables[0].csv.is_file());
        let queries = read.queries.iter().map(|query| (query.name.as_str(), query.sql.trim()));
        assert!(queries.eq([("q01", "SELECT 1"), ("q02", "SELECT 2")]));
    }
}
