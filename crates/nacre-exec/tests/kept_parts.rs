//! Parts of called queries and of recursive sides that are the same in each run: computed once,
//! where a row needs them, within the memory of the query.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use nacre_exec::dispatch::{QueryOptions, WorkerPool};
use nacre_exec::lower::{PhysicalQuery, lower_measured_query, lower_query};
use nacre_exec::plan::OperatorDescription;
use nacre_exec::spill::SpillSpace;
use nacre_exec::{ExecError, ExecErrorKind};
use nacre_plan::optimizer::{RowEstimates, optimize};
use nacre_types::ValueSettings;
use support::statements::{TestDatabase, Texts, run_query, text_of};
use support::{pool, spilling_pool};

/// Rows of `t`, more than two vectors.
const ROWS: i64 = 20_000;

/// Called queries with their answers; their parts are build sides, groups and first rows.
const CALLED: [(&str, &str); 4] = [
    (
        "select count(*) from t where id not in (select id * 461168601842738 from t where id < \
         20000)",
        "19999",
    ),
    (
        "select count(*) from t where case when id >= 0 then (select 6 / (u.id + 1) from t u where \
         u.id = t.id) end = 2",
        "1",
    ),
    (
        "select count(*) from t where case when id >= 0 then (select 1 / (u.id + 1) + u.id from \
         (select id from t order by id desc limit 3) u where u.id = t.id) end > 0",
        "3",
    ),
    (
        "select count(*) from t where case when id >= 0 then (select 1 / (u.least + 1) + t.id from \
         (select min(id) as least from t) u) end > 10",
        "19990",
    ),
];

/// Called queries that look for partners by strings and numerics.
const BY_STRING: &str = "select count(*) from t where case when id >= 0 then (select 1 / \
                         (u.least + 1) + u.least from (select s, min(id) as least from t group by \
                         s) u where u.s = t.s) end >= 0";
const BY_NUMERIC: &str = "select count(*) from t where case when id >= 0 then (select 1 / (u.id + \
                          1) + u.id from t u where u.n + 0.5 = t.n + 0.5 and u.id < 4000) end >= 0";

/// Recursions with as many rows.
const RECURSIVE: [(&str, &str); 4] = [
    (
        "with recursive r (n) as (select 1::bigint union all select t.id from t join r on t.id = \
         r.n + 1 where r.n < 50) select count(*) from r",
        "50",
    ),
    (
        "with recursive r (n) as (select 1::bigint union all select t.id from r join t on t.id = \
         r.n + 1 where r.n < 50) select sum(n) from r",
        "1275",
    ),
    (
        "with recursive r (n) as (select 1::bigint union all select n + 1 from r where n < 30 and \
         n in (select id from t)) select count(*) from r",
        "30",
    ),
    (
        "with recursive r (n) as (select 0::bigint union all select n + least + 1 from r, (select \
         min(id) as least from t) s where n < 40) select count(*) from r",
        "41",
    ),
];

fn lowered(database: &TestDatabase, sql: &str) -> PhysicalQuery {
    let plan = optimize(database.bind(sql), database);
    lower_query(&plan, database, &ValueSettings::default()).unwrap()
}

/// Runs a statement of one value with so much memory.
fn run(
    database: &TestDatabase,
    pool: &WorkerPool,
    sql: &str,
    memory_bytes_max: u64,
) -> Result<String, ExecError> {
    let query = lowered(database, sql);
    let options = QueryOptions { memory_bytes_max, ..QueryOptions::default() };
    let batches = pool.execute(query.plan, options)?.collect_batches()?;
    let value = query.outputs[0].value(&batches[0], 0)?;
    Ok(text_of(&value, query.outputs[0].sql_type))
}

fn single(value: &str) -> Texts {
    vec![vec![value.to_owned()]]
}

/// Returns the rows that the scans below kept parts read.
fn kept_rows_read(described: &OperatorDescription, is_kept: bool) -> u64 {
    let is_kept = is_kept || described.name == "Kept rows";
    let is_read = is_kept && described.name == "Scan";
    let own = described.counters.as_ref().filter(|_| is_read);
    let below = described.inputs.iter().map(|input| kept_rows_read(input, is_kept));
    own.map_or(0, |counters| counters.report().scan.rows_read) + below.sum::<u64>()
}

/// Runs a statement; returns how many rows the scans of its kept parts read.
fn check_scans(database: &TestDatabase, workers: usize, sql: &str, expected: &str) -> u64 {
    let plan = optimize(database.bind(sql), database);
    let estimates = RowEstimates::of(&plan, database);
    let settings = ValueSettings::default();
    let query = lower_measured_query(&plan, database, &estimates, &settings).unwrap();
    let described = query.plan.root.describe();
    assert_eq!(run_query(&pool(workers), &query).unwrap(), single(expected), "{sql}");
    kept_rows_read(&described, false)
}

#[test]
fn parts_are_computed_once_however_many_runs_there_are() {
    let (database, rows) = TestDatabase::of_rows(ROWS, 18_000, 5_000);
    let with_string = rows.iter().filter(|row| row.s.is_some()).count().to_string();
    let numbers: HashSet<i64> = rows[..4_000].iter().filter_map(|row| row.n).collect();
    let is_partner = |n: i64| numbers.contains(&n);
    let with_number = rows.iter().filter(|row| row.n.is_some_and(is_partner)).count().to_string();
    let all = CALLED.iter().chain(&RECURSIVE).copied();
    for (sql, expected) in all.chain([(BY_STRING, &*with_string), (BY_NUMERIC, &*with_number)]) {
        assert_eq!(database.run_optimized(sql), Ok(single(expected)), "{sql}");
        for workers in [1, 3] {
            let read = check_scans(&database, workers, sql, expected);
            // NOT IN keeps the table of rows that are computed before.
            let is_before = sql.contains("not in");
            assert!(is_before || read > 0 && read <= ROWS as u64, "{sql}: {read} rows");
        }
    }
}

#[test]
fn parts_that_do_not_fit_in_memory_are_read_from_files() {
    let (database, _) = TestDatabase::of_rows(ROWS, 18_000, 5_000);
    let directory = tempfile::tempdir().unwrap();
    let space = SpillSpace::open(directory.path(), "the limit of files", 1 << 30);
    for workers in [1, 3] {
        let pool = spilling_pool(workers, &space);
        let called = CALLED[..2].iter().map(|one| (one, 1_000_000));
        let recursive = RECURSIVE[..2].iter().map(|one| (one, 400_000));
        for ((sql, expected), memory_bytes_max) in called.chain(recursive) {
            let query = lowered(&database, sql);
            let options = QueryOptions { memory_bytes_max, ..QueryOptions::default() };
            let mut stream = pool.execute(query.plan, options).unwrap();
            let mut files = 0;
            let batches = loop {
                match stream.try_next_batch().unwrap_or_else(|error| panic!("{sql}: {error}")) {
                    Some(batch) => break batch.into_iter().collect::<Vec<_>>(),
                    None => files = files.max(space.files()),
                }
                std::thread::sleep(Duration::from_micros(200));
            };
            let value = query.outputs[0].value(&batches[0], 0).unwrap();
            assert_eq!(text_of(&value, query.outputs[0].sql_type), *expected, "{sql}");
            assert!(files > 0, "{sql}: no files");
        }
    }
    assert_eq!((space.bytes_used(), space.files()), (0, 0));
}

#[test]
fn kept_parts_count_against_the_memory_of_their_query() {
    let (database, _) = TestDatabase::of_rows(ROWS, 18_000, 5_000);
    for (sql, expected) in [CALLED[1], RECURSIVE[0]] {
        let workers = pool(2);
        let error = run(&database, &workers, sql, 200_000).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::OutOfMemory, "{sql}");
        assert_eq!(run(&database, &workers, sql, 100_000_000).unwrap(), expected, "{sql}");
    }
}

#[test]
fn errors_of_parts_are_raised_where_a_row_needs_them_alone() {
    let (database, _) = TestDatabase::of_rows(300, 200, 100);
    for part in [
        "(select u.most from (select k, max(1 / (k - k)) as most from t group by k) u where u.k = \
         t.id) = 1",
        "(select u.q from (select 1 / (id - 7) as q from t order by id limit 20) u where u.q = \
         t.id) = 1",
    ] {
        let sql = |rows: &str| {
            format!("select count(*) from t where case when {rows} then {part} else true end")
        };
        assert_eq!(database.run_optimized(&sql("id < 0")), Ok(single("300")), "{part}");
        let error = database.run_optimized(&sql("id > 250")).unwrap_err();
        assert_eq!(error, "division by zero", "{part}");
    }
}

#[test]
fn volatile_functions_have_other_values_in_each_run() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let sql = "with recursive r (n, x) as (select 1, 0::double precision union all select n + 1, \
               s.x from r, (select random() as x from t where id = 7 offset 0) s where n < 40) \
               select count(*), count(distinct x) > 30 from r";
    assert_eq!(database.run_optimized(sql).unwrap(), [["40", "t"]]);
}

#[test]
fn a_part_that_takes_long_is_cancelled() {
    let (database, _) = TestDatabase::of_rows(ROWS, 18_000, 5_000);
    for sql in [
        "select count(*) from t where case when id >= 0 then (select u.m from (select x.a % 7 + \
         y.a % 7 + z.a % 7 as m from t x, t y, t z group by 1) u where u.m = t.id) end > 0",
        "with recursive r (n) as (select 1 union all select n + 1 from r where n in (select x.a + \
         y.a + z.a from t x, t y, t z group by 1)) select count(*) from r",
    ] {
        let workers = pool(2);
        let query = lowered(&database, sql);
        let mut stream = workers.execute(query.plan, QueryOptions::default()).unwrap();
        let control = stream.control();
        let canceled = std::thread::scope(|scope| {
            let canceled = scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(300));
                control.cancel();
                Instant::now()
            });
            let error = stream.collect_batches().unwrap_err();
            assert_eq!(error.kind(), ExecErrorKind::Canceled, "{sql}");
            canceled.join().unwrap()
        });
        // Far less than the part takes, on a machine that has other things to do.
        assert!(canceled.elapsed() < Duration::from_secs(5), "{sql}");
    }
}
