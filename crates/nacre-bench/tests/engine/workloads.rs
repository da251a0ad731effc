//! The 35 queries of TPC-H and SSB over few rows, loaded in several chunks.

use std::path::Path;
use std::sync::Arc;

use nacre_bench::workload::{Answer, CsvFile, Query, Table, compare};
use nacre_bench::{Engine, ssb, tpch};

const SCALE_FACTOR: f64 = 0.01;

/// Loads that a table is cut into: each makes chunks of its own.
const LOADS: usize = 3;

/// Tables of fewer rows are one load.
const CUT_ROWS_MIN: u64 = 1_000;

/// A workload and its data.
pub(crate) struct LoadedWorkload {
    pub(crate) engine: Engine,
    pub(crate) tables: &'static [Table],
    pub(crate) queries: &'static [Query],
}

impl LoadedWorkload {
    pub(crate) async fn tpch(directory: &Path) -> Self {
        let files = tpch::generate(SCALE_FACTOR, directory, 2).unwrap();
        Self::of(directory, &files, &tpch::TABLES, &tpch::QUERIES).await
    }

    pub(crate) async fn ssb(directory: &Path) -> Self {
        let files = ssb::generate(SCALE_FACTOR, directory, 2).unwrap();
        Self::of(directory, &files, &ssb::TABLES, &ssb::QUERIES).await
    }

    async fn of(
        directory: &Path,
        files: &[CsvFile],
        tables: &'static [Table],
        queries: &'static [Query],
    ) -> Self {
        let engine = Engine::open(&directory.join("database"), Some(2)).await.unwrap();
        for file in files {
            let name = file.table.name;
            engine.query(&file.table.create_statement(name)).await.unwrap();
            for part in parts(file, directory) {
                engine.load(name, &part, Arc::default()).await.unwrap();
            }
        }
        engine.query("SET nacre.engine = nacre").await.unwrap();
        Self { engine, tables, queries }
    }

    pub(crate) fn sql(&self, query: &Query) -> String {
        query.sql(SCALE_FACTOR).into_owned()
    }

    /// Asserts that a query answers what it did.
    pub(crate) async fn assert_answer(&self, query: &Query, wanted: &Answer, what: &str) {
        let found = self.engine.query(&self.sql(query)).await.unwrap();
        assert_eq!(compare(&found, wanted, query.order_by), Ok(()), "{}: {what}", query.name);
    }

    /// Returns the tables that a query names, with the columns of them by index.
    pub(crate) fn columns(&self, query: &Query) -> Vec<(&'static Table, Vec<usize>)> {
        let sql = self.sql(query).to_lowercase();
        let is_of_name = |one: char| one.is_ascii_alphanumeric() || one == '_';
        let names: Vec<&str> = sql.split(|one| !is_of_name(one)).collect();
        let tables = self.tables.iter().filter(|table| names.contains(&table.name));
        let columns = |table: &Table| {
            let named = table.columns.iter().enumerate();
            let named = named.filter(|(_, column)| names.contains(&column.name));
            named.map(|(index, _)| index).collect()
        };
        tables.map(|table| (table, columns(table))).collect()
    }
}

/// Cuts a file with a header into some.
fn parts(file: &CsvFile, directory: &Path) -> Vec<std::path::PathBuf> {
    let loads = if file.rows < CUT_ROWS_MIN { 1 } else { LOADS };
    let text = std::fs::read_to_string(&file.path).unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let part = |(number, rows): (usize, &[&str])| {
        let path = directory.join(format!("{}.{number}.csv", file.table.name));
        std::fs::write(&path, format!("{header}\n{}\n", rows.join("\n"))).unwrap();
        path
    };
    rows.chunks(rows.len().div_ceil(loads)).enumerate().map(part).collect()
}
