//! Queries that are cancelled from another thread in the midst of what takes long: they end within
//! a tenth of a second, wherever they are. So does lowering that is stopped.
//!
//! `NACRE_CANCEL_SCALE` multiplies the rows; what the slowest end took is printed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use nacre_exec::ExecErrorKind;
use nacre_exec::dispatch::{QueryOptions, WorkerPool};
use nacre_exec::lower::lower_query;
use nacre_exec::plan::PhysicalPlan;
use nacre_exec::spill::SpillSpace;
use nacre_plan::control::{PlanningStopped, until_stopped};
use nacre_plan::optimizer::optimize;
use nacre_types::ValueSettings;
use support::statements::TestDatabase;
use support::{pool, spilling_pool};

/// What a query may take to end. A share of its time is added, as a busy machine gives it less.
const END_MAX: Duration = Duration::from_millis(100);

/// Points in time at which a query is cancelled, as shares of what it takes.
const POINTS: u32 = 8;

/// Tries at a point: a machine that is busy may not run a thread for long.
const TRIES: usize = 8;

/// Queries over `{n}` rows, named by what takes long in them.
const LONG: &[(&str, u64, &str)] = &[
    (
        "finish of a join's build",
        400_000,
        "select count(*) from generate_series(1, {n}) a join generate_series(1, {n}) b on a.a * 3 \
         = b.b",
    ),
    (
        "join of one key",
        1_000,
        "select count(*) from generate_series(1, {n}) a join generate_series(1, {n}) b on a.a % 1 \
         = b.b % 1 and a.a + b.b < 0",
    ),
    (
        "join without keys",
        2_000,
        "select count(*) from generate_series(1, {n}) a, generate_series(1, {n}) b where a.a + b.b \
         < 0",
    ),
    (
        "full join",
        300_000,
        "select count(*) from generate_series(1, {n}) a full join generate_series(1, {n}) b on a.a \
         * 3 = b.b",
    ),
    (
        "merge of sorted runs",
        300_000,
        "select count(s.x) from (select a::bigint * 7919 % 1000003 as x \
         from generate_series(1, {n}) a order by 1 offset 3) s",
    ),
    (
        "sums of a window",
        150_000,
        "select max(s.x) from (select sum(a) over (order by a % 9 rows between 9 preceding and \
         current row) as x from generate_series(1, {n}) a) s",
    ),
    (
        "extremes of a window",
        100_000,
        "select max(s.x) from (select max(a) over (order by a % 1000 range between \
         unbounded preceding and current row exclude current row) as x \
         from generate_series(1, {n}) a) s",
    ),
    (
        "partitions of a window",
        150_000,
        "select max(s.x) from (select rank() over (partition by a % 999 order by a) as x from \
         generate_series(1, {n}) a) s",
    ),
    (
        "merge of groups",
        300_000,
        "select count(*), max(s.x) from (select count(*) as x from generate_series(1, {n}) a \
         group by a) s",
    ),
    (
        "distinct values",
        300_000,
        "select count(distinct a), sum(distinct a % 1000) from generate_series(1, {n}) a",
    ),
    (
        "fold of a group",
        100_000,
        "select length(string_agg(a::text, ',' order by a desc)) from generate_series(1, {n}) a",
    ),
    (
        "operation on sets",
        150_000,
        "select count(*) from (select a from generate_series(1, {n}) a except all select b * 2 \
         from generate_series(1, {n}) b) s",
    ),
    (
        "recursion of many steps",
        3_000,
        "with recursive r (n) as (select 1 union all select n + 1 from r where n < {n}) select \
         count(*) from r",
    ),
    (
        "recursion of few steps",
        100_000,
        "with recursive r (n, m) as (select 1, 0 union select a, m + 1 from r, generate_series(1, \
         {n}) a where n < 2 and m < 2) select count(*) from r",
    ),
    ("series", 4_000_000, "select count(*), sum(a) from generate_series(1, {n}) a"),
    (
        "series of each row",
        4_000,
        "select count(*) from generate_series(1, {n}) a, generate_series(1, a) b where b < 0",
    ),
    (
        "series of times",
        100_000,
        "select count(*) from generate_series(timestamp '2000-01-01', timestamp '2000-01-01' + \
         {n} * interval '1 minute', interval '1 minute') a",
    ),
    (
        "rows that are dear",
        300,
        "select count(md5(repeat('text ', 20000) || a)) from generate_series(1, {n}) a",
    ),
];

/// Those of which the other ways through temporary files take long.
const SPILLING: [&str; 7] = [
    "finish of a join's build",
    "full join",
    "merge of sorted runs",
    "partitions of a window",
    "merge of groups",
    "distinct values",
    "operation on sets",
];

fn plan_of(database: &TestDatabase, sql: &str) -> PhysicalPlan {
    let plan = optimize(database.bind(sql), database);
    lower_query(&plan, database, &ValueSettings::default()).unwrap().plan
}

fn options(memory_bytes_max: u64) -> QueryOptions {
    QueryOptions { memory_bytes_max, ..QueryOptions::default() }
}

/// Cancels a query after a while; returns how long it took to end then, nothing if it had ended.
fn end_after(pool: &WorkerPool, plan: &PhysicalPlan, memory: u64, delay: Duration) -> Duration {
    let mut stream = pool.execute(plan.clone(), options(memory)).unwrap();
    let control = stream.control();
    let canceler = std::thread::spawn(move || {
        std::thread::sleep(delay);
        control.cancel();
        Instant::now()
    });
    let outcome = stream.collect_batches();
    let end = Instant::now();
    let canceled = canceler.join().unwrap();
    let Err(error) = outcome else { return Duration::ZERO };
    assert_eq!(error.kind(), ExecErrorKind::Canceled, "{error}");
    end.saturating_duration_since(canceled)
}

/// Cancels a query at several points; the query takes `whole` if it is not.
fn check_points(what: &str, pool: &WorkerPool, plan: &PhysicalPlan, memory: u64, whole: Duration) {
    let limit = END_MAX + whole / 5;
    let mut slowest = Duration::ZERO;
    for point in 0..POINTS {
        let mut least = Duration::MAX;
        for _ in 0..TRIES {
            least = least.min(end_after(pool, plan, memory, whole * point / POINTS));
            if least <= limit {
                break;
            }
        }
        slowest = slowest.max(least);
        assert!(least <= limit, "{what}, {point} of {POINTS}: {least:?}, all takes {whole:?}");
    }
    println!("{what}: {whole:?}, ends within {slowest:?}");
}

fn scale() -> u64 {
    std::env::var("NACRE_CANCEL_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

fn long_plan(database: &TestDatabase, rows: u64, sql: &str) -> PhysicalPlan {
    plan_of(database, &sql.replace("{n}", &(rows * scale()).to_string()))
}

#[test]
fn queries_end_soon_wherever_they_are() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let pool = pool(2);
    for (what, rows, sql) in LONG {
        let plan = long_plan(&database, *rows, sql);
        let start = Instant::now();
        pool.execute(plan.clone(), options(4 << 30)).unwrap().collect_batches().unwrap();
        check_points(what, &pool, &plan, 4 << 30, start.elapsed());
    }
}

#[test]
fn queries_with_little_memory_end_soon_wherever_they_are() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let directory = tempfile::tempdir().unwrap();
    let space = SpillSpace::open(directory.path(), "the limit of files", u64::MAX);
    let pool = spilling_pool(2, &space);
    let memory = (4 << 20) * scale();
    for (what, rows, sql) in LONG.iter().filter(|(what, ..)| SPILLING.contains(what)) {
        let plan = long_plan(&database, *rows, sql);
        let start = Instant::now();
        let mut stream = pool.execute(plan.clone(), options(memory)).unwrap();
        stream.collect_batches().unwrap();
        let whole = start.elapsed();
        let report = stream.report();
        let bytes: u64 = report.pipelines.iter().flatten().map(|one| one.spilled_bytes).sum();
        assert!(bytes > 0, "{what} has memory enough");
        drop(stream);
        check_points(&format!("{what} in files"), &pool, &plan, memory, whole);
    }
    drop(pool);
    assert_eq!((space.bytes_used(), space.files()), (0, 0));
}

/// Returns a query of so many conditions on two columns.
fn many_conditions(count: usize) -> String {
    let columns = ["a", "k"];
    let condition = |number: usize| format!(" and {} <> {}", columns[number % 2], 1_000 + number);
    let conditions: String = (0..count).map(condition).collect();
    format!("select sum(k) from t where a > 0{conditions}")
}

#[test]
fn lowering_ends_soon_wherever_it_is_stopped() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let plan = optimize(database.bind(&many_conditions(4_000)), &database);
    let lower_until = |asked_max: usize| {
        let (asked, told) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(None)));
        let (count, time) = (Rc::clone(&asked), Rc::clone(&told));
        let should_stop = move || {
            count.set(count.get() + 1);
            if count.get() == asked_max {
                time.set(Some(Instant::now()));
            }
            count.get() >= asked_max
        };
        let lowered = until_stopped(should_stop, || {
            lower_query(&plan, &database, &ValueSettings::default()).map(|_| ())
        });
        (lowered, asked.get(), told.get().map_or(Duration::ZERO, |told| told.elapsed()))
    };
    let (lowered, asked, _) = lower_until(usize::MAX);
    assert_eq!(lowered, Ok(Ok(())));
    assert!(asked > 10, "asked {asked} times");
    for asked_max in (1..asked).step_by(asked / 10) {
        let mut least = Duration::MAX;
        for _ in 0..TRIES {
            let (lowered, asked, took) = lower_until(asked_max);
            assert_eq!((lowered, asked), (Err(PlanningStopped), asked_max));
            least = least.min(took);
        }
        assert!(least < END_MAX, "{least:?}");
    }
}
