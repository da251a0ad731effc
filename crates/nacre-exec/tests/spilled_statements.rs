//! Statements that need more memory than they have: windows and aggregates over one large group.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::sync::Arc;

use nacre_exec::dispatch::QueryOptions;
use nacre_exec::lower::lower_query;
use nacre_exec::spill::SpillSpace;
use nacre_exec::{ExecErrorKind, ExecResult};
use nacre_types::ValueSettings;
use support::spilling_pool;
use support::statements::{TestDatabase, Texts, sorted, texts_of};

const ROWS: i64 = 40_000;

/// Less than the rows of a query take.
const LITTLE: u64 = 2_500_000;

/// The database, and a directory for temporary files.
struct SpilledStatements {
    database: TestDatabase,
    _directory: tempfile::TempDir,
    space: Arc<SpillSpace>,
}

impl SpilledStatements {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let space = SpillSpace::open(directory.path(), "the limit of files", u64::MAX);
        let (database, _) = TestDatabase::of_rows(ROWS, 30_000, 10_000);
        Self { database, _directory: directory, space }
    }

    /// Runs a statement; returns its rows, and whether files were written.
    fn run(&self, sql: &str, workers: usize, bytes_max: u64) -> ExecResult<(Texts, bool)> {
        let settings = ValueSettings::default();
        let query = lower_query(&self.database.bind(sql), &self.database, &settings).unwrap();
        let options = QueryOptions { memory_bytes_max: bytes_max, ..QueryOptions::default() };
        let pool = spilling_pool(workers, &self.space);
        let mut stream = pool.execute(query.plan.clone(), options)?;
        let rows = texts_of(&query, &stream.collect_batches()?)?;
        let report = stream.report();
        let has_files = report.pipelines.iter().flatten().any(|one| one.spilled_files > 0);
        Ok((sorted(rows), has_files))
    }

    /// Checks that a statement writes files if it has little memory, and gives the same rows.
    fn assert_same(&self, sql: &str) {
        let (wanted, has_files) = self.run(sql, 1, 1 << 30).unwrap();
        assert!(!has_files && !wanted.is_empty(), "{sql}");
        for workers in [1, 3] {
            let found = self.run(sql, workers, LITTLE);
            let (found, has_files) = found.unwrap_or_else(|error| panic!("{sql}: {error}"));
            assert!(has_files, "{sql}, {workers} workers: no files");
            let differs = found.iter().zip(&wanted).find(|(found, wanted)| found != wanted);
            assert!(found.len() == wanted.len() && differs.is_none(), "{sql}: {differs:?}");
        }
        assert_eq!((self.space.bytes_used(), self.space.files()), (0, 0));
    }
}

#[test]
fn windows_over_one_partition_are_in_files() {
    let statements = SpilledStatements::new();
    for sql in [
        "select id, row_number() over (order by id desc), sum(n) over () from t",
        "select id, ntile(7) over (order by n, id), cume_dist() over (order by n) from t",
        "select id, lag(s, 3) over (order by id), max(s) over (order by id) from t",
        "select id, avg(f) over (order by id rows between 20 preceding and 20 following) from t",
        "select id, count(*) over (order by d range between '9 days' preceding and current row), \
                max(n) over (order by d) from t where d is not null",
    ] {
        statements.assert_same(sql);
    }
}

#[test]
fn aggregates_of_one_group_are_in_files() {
    let statements = SpilledStatements::new();
    for sql in [
        "select percentile_cont(0.5) within group (order by f), count(f) from t",
        "select percentile_cont(array[0.1, 0.9, null]) within group (order by id), sum(a) from t",
        "select percentile_disc(0.3) within group (order by n desc) from t",
        "select percentile_disc(0.3) within group (order by s) from t where f is not null",
        "select mode() within group (order by a), mode() within group (order by s) from t",
        "select rank(5) within group (order by id), cume_dist(-1) within group (order by n) from t",
        "select avg(distinct f), sum(distinct n), count(distinct id) from t",
        "select bool_and(id >= 0), bit_or(id), bool_or(id is null) from t",
        // Most rows are in one group.
        "select id < 39000, percentile_cont(0.5) within group (order by n::float8), \
                mode() within group (order by d), count(*) from t group by 1",
        "select k, percentile_cont(0.25) within group (order by id::float8) from t group by k",
        "select percentile_disc(0.5) within group (order by id) from t where id < 0 or o",
        // Results of the finest set are no input of the others.
        "select o, max(s), mode() within group (order by a), avg(f) from t group by rollup (o)",
    ] {
        statements.assert_same(sql);
    }
}

#[test]
fn best_rows_are_in_files() {
    let statements = SpilledStatements::new();
    statements.assert_same("select id, n, s, d from t order by n desc, id limit 30000");
    statements.assert_same("select id from t order by s, id desc limit 25000 offset 5000");
}

#[test]
fn results_that_do_not_fit_name_what_needs_memory() {
    let statements = SpilledStatements::new();
    let error = |sql: &str| {
        let error = statements.run(sql, 2, LITTLE).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::OutOfMemory, "{sql}: {error}");
        error.to_string()
    };
    let text = error("select length(string_agg(s, ',' order by id)) from t");
    assert!(text.starts_with("aggregate needs"), "{text}");
    let text = error("select length(repeat(s, 2000)) from t where s is not null");
    assert!(text.starts_with("expression of repeat needs"), "{text}");
    assert_eq!((statements.space.bytes_used(), statements.space.files()), (0, 0));
}
