//! What a query that spills takes of the process's memory: its budget, and little more.
//!
//! The test is alone in its process, whose greatest resident size the system tells.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::fs;

use nacre_exec::dispatch::{QueryOptions, WorkerPool};
use nacre_exec::lower::lower_query;
use nacre_exec::plan::PhysicalPlan;
use nacre_exec::spill::SpillSpace;
use nacre_plan::optimizer::optimize;
use nacre_types::ValueSettings;
use support::spilling_pool;
use support::statements::TestDatabase;

/// Memory of a query.
const BUDGET: u64 = 16 << 20;

/// Resident bytes beyond the budget: vectors that are under way, pieces that are written or read,
/// tables that have doubled before they are counted, and what the allocator keeps.
const BEYOND: u64 = 16 << 20;

const WORKERS: usize = 2;

/// Each holds more than four times the budget if it does not spill.
const QUERIES: &[(&str, &str)] = &[
    (
        "sort",
        "select count(s.x), max(s.y) from (select 'text ' || a as x, a::bigint * 7919 % 1000003 \
         as y from generate_series(1, 1200000) a order by 2, 1 offset 1) s",
    ),
    (
        "groups",
        "select count(*), max(s.x) from (select 'text ' || a::bigint * 7919 % 1000003 as x, \
         count(*), sum(a) from generate_series(1, 1200000) a group by 1) s",
    ),
    (
        "distinct values",
        "select count(distinct 'text ' || a::bigint * 7919 % 1000003) from \
         generate_series(1, 1200000) a",
    ),
    (
        "window",
        "select count(*), max(s.z) from (select max(x) over (partition by y) as z from (select \
         'text ' || a as x, a::bigint * 7919 % 100003 as y from generate_series(1, 900000) a) q) s",
    ),
    (
        "set operation",
        "select count(*) from (select 'text ' || a from generate_series(1, 900000) a except \
         select 'text ' || a * 2 from generate_series(1, 900000) a) s",
    ),
    (
        "rows of a common query",
        "with w as materialized (select 'text of the row ' || a as x, a from generate_series(1, \
         1200000) a) select count(*), max(v.x) from w v join w u on v.a = u.a + 1199990",
    ),
];

fn plan_of(database: &TestDatabase, sql: &str) -> PhysicalPlan {
    let plan = optimize(database.bind(sql), database);
    lower_query(&plan, database, &ValueSettings::default()).unwrap().plan
}

/// Returns bytes of `/proc/self/status`.
fn status_bytes(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    let kib: u64 = line.trim_matches(|one: char| !one.is_ascii_digit()).parse().unwrap();
    kib << 10
}

/// Runs a query; returns how far the resident size rose at most, and the bytes in files.
fn rise_of(pool: &WorkerPool, plan: PhysicalPlan, memory: u64) -> (u64, u64) {
    // Begins the greatest size anew.
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status_bytes("VmRSS:");
    let options = QueryOptions { memory_bytes_max: memory, ..QueryOptions::default() };
    let mut stream = pool.execute(plan, options).unwrap();
    stream.collect_batches().unwrap();
    let rise = status_bytes("VmHWM:").saturating_sub(before);
    let report = stream.report();
    (rise, report.pipelines.iter().flatten().map(|one| one.spilled_bytes).sum())
}

#[test]
fn query_that_spills_takes_its_budget_and_little_more() {
    if fs::write("/proc/self/clear_refs", "5").is_err() {
        println!("the system does not tell the greatest size");
        return;
    }
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    let directory = tempfile::tempdir().unwrap();
    let space = SpillSpace::open(directory.path(), "the limit of files", u64::MAX);
    for (what, sql) in QUERIES {
        let plan = plan_of(&database, sql);
        // Threads of its own, with whose end the allocator gives memory back.
        let pool = spilling_pool(WORKERS, &space);
        let (rise, spilled) = rise_of(&pool, plan, BUDGET);
        println!("{what}: {} KiB, {} KiB in files", rise >> 10, spilled >> 10);
        assert!(spilled > 2 * BUDGET, "{what}: {spilled} bytes in files");
        assert!(rise <= BUDGET + BEYOND, "{what}: {rise} bytes");
    }
}
