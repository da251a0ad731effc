//! How long do TPC-H Q1 and Q6 take as hand-written physical plans, on one worker and on two?
//!
//! The table has the seven columns of lineitem that these want, with the distributions of the
//! benchmark's specification, from a seeded generator; the store holds it in DRAM. The baseline is
//! a loop over plain arrays of 64-bit numbers on one thread, in turn with the plans, whose answers
//! are compared. Ids are `<query>/workers=<n>`; figures are the best of several rounds.
//!
//! `cargo bench -p nacre-exec --bench tpch [-- ROWS]`, 6,001,215 rows (scale factor 1) without it.
//! As a test it runs with few rows.
#![allow(clippy::expect_used, reason = "a bench that cannot run may panic where it stands")]

#[path = "../tests/support/lineitem.rs"]
mod lineitem;

use std::time::Instant;

use lineitem::{LineItem, q1_plan, q1_reference, q6_plan, q6_reference};
use nacre_exec::dispatch::{QueryOptions, WorkerPool, WorkerPoolOptions};
use nacre_exec::plan::PhysicalPlan;
use nacre_exec::vector::ResultBatch;
use nacre_simd::Flavour;

/// A query as a loop over plain arrays.
type PlainLoop = fn(&LineItem) -> Vec<Vec<i128>>;

/// Repetitions of which the best counts.
const ROUNDS: usize = 9;

fn pool(threads: usize) -> WorkerPool {
    let memory_bytes_max = 1 << 30;
    let flavour = Flavour::active();
    let is_pinned = false;
    let options = WorkerPoolOptions { threads, is_pinned, memory_bytes_max, flavour, spill: None };
    WorkerPool::new(&options).expect("there are threads")
}

/// Returns the milliseconds of a run and its answer.
fn run(pool: &WorkerPool, plan: &PhysicalPlan, is_verbose: bool) -> (f64, Vec<ResultBatch>) {
    let start = Instant::now();
    let mut stream = pool.execute(plan.clone(), QueryOptions::default()).expect("prepares");
    let batches = stream.collect_batches().expect("runs");
    let time = start.elapsed().as_secs_f64() * 1e3;
    if is_verbose {
        let report = stream.report();
        for operator in report.pipelines.iter().flatten() {
            println!(
                "  {:<16} rows in {:>9} out {:>9} {:>9.3} ms",
                operator.name,
                operator.rows_in,
                operator.rows_out,
                operator.time.as_secs_f64() * 1e3
            );
        }
        println!("  {:?}", report.scans);
    }
    (time, batches)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let rows = arguments.iter().find_map(|argument| argument.parse().ok());
    let rows: usize = rows.unwrap_or(if is_bench { 6_001_215 } else { 20_000 });
    let rounds = if is_bench { ROUNDS } else { 1 };
    let items = LineItem::generate(rows, 7);
    let (_store, table) = items.load();
    let pools = [pool(1), pool(2)];
    let queries: [(&str, PhysicalPlan, PlainLoop); 2] = [
        ("q6", q6_plan(&table.snapshot()).expect("is well-formed"), q6_reference),
        ("q1", q1_plan(&table.snapshot()).expect("is well-formed"), q1_reference),
    ];
    for (name, plan, reference) in &queries {
        let mut best = [f64::INFINITY; 3];
        for round in 0..rounds {
            let start = Instant::now();
            let expected = reference(&items);
            best[0] = best[0].min(start.elapsed().as_secs_f64() * 1e3);
            for (at, pool) in pools.iter().enumerate() {
                let (time, batches) = run(pool, plan, is_bench && round + 1 == rounds);
                best[at + 1] = best[at + 1].min(time);
                assert_eq!(lineitem::numbers(&batches), expected, "{name}");
            }
        }
        let [plain, one, two] = best;
        let checksum = reference(&items).iter().flatten().fold(0, |all, value| all ^ value);
        for (workers, time) in [(1, one), (2, two)] {
            println!(
                "{name}/workers={workers:<2} {time:>8.2} ms {:>6.2} ns/row, {:.2} x plain loop \
                 ({plain:.2} ms), {:.2} x one worker, checksum {checksum:x}",
                time * 1e6 / rows as f64,
                time / plain,
                one / time,
            );
        }
    }
}
