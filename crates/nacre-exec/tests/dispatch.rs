//! Workers: cancel, deadlines, panics, budgets, back-pressure and fairness.

#![allow(clippy::single_range_in_vec_init, reason = "a table has a chunk for each range")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nacre_exec::dispatch::{QueryOptions, ResultStream, WorkerPool};
use nacre_exec::expression::{
    ExpressionGraph, ExpressionNode, ForeignCall, ForeignFunction, ForeignKernel,
};
use nacre_exec::plan::{
    AggregateCall, AggregateFunction, AggregateNode, LimitNode, MapNode, PhysicalPlan, PlanNode,
    SeriesColumn, SeriesNode, SortKey, SortNode,
};
use nacre_exec::value::{IntBounds, IntLimit, ScalarValue, ValueClass};
use nacre_exec::vector::ColumnVector;
use nacre_exec::{ExecErrorKind, ExecResult};
use nacre_store::{OpenOptions, Store, Table};
use support::{ID, TEXT, pool, run, scan, table};

fn copy(call: &ForeignCall<'_>, out: &mut ColumnVector) {
    for row in 0..call.rows {
        out.values.push_int(call.arguments[0].values.int(row).unwrap_or(0));
    }
}

/// Takes 20 milliseconds for a vector, so that a query takes seconds: bounds below are wide, since
/// a busy machine runs the tests, and still far from that.
fn slow(call: &ForeignCall<'_>, out: &mut ColumnVector) -> ExecResult<()> {
    std::thread::sleep(Duration::from_millis(20));
    copy(call, out);
    Ok(())
}

fn panics(_: &ForeignCall<'_>, _: &mut ColumnVector) -> ExecResult<()> {
    panic!("a bug in a function")
}

fn with_function(table: &Arc<Table>, kernel: ForeignKernel) -> PlanNode {
    sum_of_calls(scan(&table.snapshot(), &[ID], Vec::new()), kernel)
}

/// Sums what a function gives for the first column of the rows.
fn sum_of_calls(input: PlanNode, kernel: ForeignKernel) -> PlanNode {
    let mut graph = ExpressionGraph::default();
    let id = graph.column(0, ValueClass::Int).unwrap();
    let function = ForeignFunction::new("f", kernel, ValueClass::Int, IntBounds::I64, false);
    let arguments = vec![id];
    let value = graph.add(ExpressionNode::Foreign { function, arguments }).unwrap();
    let map = PlanNode::Map(Box::new(MapNode { input, graph, outputs: vec![value] }));
    let sum = AggregateCall::new(AggregateFunction::Sum, Some(0), IntLimit::NUMERIC);
    let node = AggregateNode {
        input: map,
        keys: Vec::new(),
        dependents: Vec::new(),
        aggregates: vec![sum],
    };
    PlanNode::Aggregate(Box::new(node))
}

fn many_chunks(store: &Store) -> Arc<Table> {
    let chunks: Vec<_> = (0..300).map(|at| at * 100..(at + 1) * 100).collect();
    table(store, "t", &chunks, 5)
}

fn store() -> Store {
    Store::open(OpenOptions::default()).unwrap()
}

fn begin(pool: &WorkerPool, root: PlanNode, options: QueryOptions) -> ResultStream {
    pool.execute(PhysicalPlan { root }, options).unwrap()
}

#[test]
fn canceled_query_ends_soon_with_its_error() {
    let store = store();
    let table = many_chunks(&store);
    let pool = pool(2);
    let mut stream = begin(&pool, with_function(&table, slow), QueryOptions::default());
    let control = stream.control();
    std::thread::sleep(Duration::from_millis(20));
    let start = Instant::now();
    control.cancel();
    let error = stream.next_batch().unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::Canceled);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    assert!(stream.next_batch().unwrap().is_none(), "an error comes once");
}

#[test]
fn query_past_its_deadline_ends_soon_with_its_error() {
    let store = store();
    let table = many_chunks(&store);
    let pool = pool(1);
    let start = Instant::now();
    let deadline = Some(start + Duration::from_millis(30));
    let options = QueryOptions { deadline, ..QueryOptions::default() };
    let error = begin(&pool, with_function(&table, slow), options).next_batch().unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::DeadlineExceeded);
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

static CALLS: AtomicUsize = AtomicUsize::new(0);

fn counted(call: &ForeignCall<'_>, out: &mut ColumnVector) -> ExecResult<()> {
    CALLS.fetch_add(1, Ordering::Relaxed);
    slow(call, out)
}

#[test]
fn dropping_the_stream_cancels() {
    let store = store();
    let table = many_chunks(&store);
    let pool = pool(2);
    drop(begin(&pool, with_function(&table, counted), QueryOptions::default()));
    // Waits for the workers, which end what they have begun.
    drop(pool);
    assert!(CALLS.load(Ordering::Relaxed) < 100);
}

#[test]
fn panic_in_a_worker_is_an_error_of_its_query_alone() {
    let store = store();
    let table = many_chunks(&store);
    let pool = pool(2);
    for _ in 0..3 {
        let error = run(&pool, with_function(&table, panics)).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::Internal);
        assert!(error.to_string().contains("a bug in a function"), "{error}");
    }
    assert_eq!(run(&pool, scan(&table.snapshot(), &[ID], Vec::new())).unwrap().len(), 30_000);
}

#[test]
fn operators_beyond_the_budget_name_themselves_and_the_setting() {
    let store = store();
    let table = table(&store, "t", &[0..60_000], 5);
    let pool = pool(2);
    let input = scan(&table.snapshot(), &[ID, TEXT], Vec::new());
    let count = AggregateCall::new(AggregateFunction::CountRows, None, IntLimit::BIGINT);
    let node = AggregateNode {
        input: input.clone(),
        keys: vec![0, 1],
        dependents: Vec::new(),
        aggregates: vec![count],
    };
    let key = SortKey { column: 1, is_descending: false, is_nulls_first: false };
    let sort = SortNode { input, keys: vec![key], rows_max: None };
    for (name, root) in [
        ("aggregate", PlanNode::Aggregate(Box::new(node))),
        ("sort", PlanNode::Sort(Box::new(sort))),
    ] {
        let options = QueryOptions { memory_bytes_max: 600_000, ..QueryOptions::default() };
        let error = begin(&pool, root.clone(), options).collect_batches().unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::OutOfMemory, "{error}");
        let text = error.to_string();
        assert!(text.starts_with(name) && text.contains("NACRE_QUERY_MEMORY_MIB"), "{text}");
        let rows: usize = begin(&pool, root, QueryOptions::default())
            .collect_batches()
            .unwrap()
            .iter()
            .map(|batch| batch.rows)
            .sum();
        assert_eq!(rows, 60_000);
    }
}

#[test]
fn full_channel_parks_the_query_and_not_the_worker() {
    let store = store();
    let table = many_chunks(&store);
    let pool = pool(1);
    let options = QueryOptions { result_bytes_max: 10_000, ..QueryOptions::default() };
    let root = scan(&table.snapshot(), &[ID, TEXT], Vec::new());
    let mut parked = begin(&pool, root.clone(), options);
    // Nothing is taken from the first query; the only worker is free for others.
    for _ in 0..3 {
        assert_eq!(run(&pool, root.clone()).unwrap().len(), 30_000);
    }
    let read = parked.report().scans[0].rows_read;
    assert!(read < 2_000, "{read} rows wait in 10 kB");
    let rows: usize = parked.collect_batches().unwrap().iter().map(|batch| batch.rows).sum();
    assert_eq!(rows, 30_000);
}

#[test]
fn short_query_does_not_wait_for_a_long_one() {
    let store = store();
    let table = many_chunks(&store);
    let pool = pool(1);
    let mut long = begin(&pool, with_function(&table, slow), QueryOptions::default());
    std::thread::sleep(Duration::from_millis(10));
    let start = Instant::now();
    let few = support::table(&store, "few", &[0..100], 5);
    assert_eq!(run(&pool, scan(&few.snapshot(), &[ID], Vec::new())).unwrap().len(), 100);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert!(long.try_next_batch().unwrap().is_none(), "the long one is still running");
    assert_eq!(long.collect_batches().unwrap().len(), 1);
}

/// The numbers from 0 on, the greatest first.
fn sorted_series(rows: u64) -> PlanNode {
    let columns = vec![SeriesColumn { start: 0, step: 1 }];
    let input = PlanNode::Series(SeriesNode { columns, rows });
    let key = SortKey { column: 0, is_descending: true, is_nulls_first: false };
    PlanNode::Sort(Box::new(SortNode { input, keys: vec![key], rows_max: None }))
}

static SORTED_CALLS: AtomicUsize = AtomicUsize::new(0);

fn counted_of_sorted(call: &ForeignCall<'_>, out: &mut ColumnVector) -> ExecResult<()> {
    SORTED_CALLS.fetch_add(1, Ordering::SeqCst);
    slow(call, out)
}

/// Sorted rows are one morsel, which the only worker puts aside.
#[test]
fn short_query_does_not_wait_for_the_end_of_a_morsel() {
    let store = store();
    let pool = pool(1);
    let few = table(&store, "few", &[0..100], 5);
    let root = sum_of_calls(sorted_series(500_000), counted_of_sorted);
    let mut long = begin(&pool, root, QueryOptions::default());
    while SORTED_CALLS.load(Ordering::SeqCst) == 0 {
        assert!(long.try_next_batch().unwrap().is_none());
    }
    for _ in 0..3 {
        let before = SORTED_CALLS.load(Ordering::SeqCst);
        assert_eq!(run(&pool, scan(&few.snapshot(), &[ID], Vec::new())).unwrap().len(), 100);
        let calls = SORTED_CALLS.load(Ordering::SeqCst) - before;
        assert!(calls <= 8, "{calls} vectors of the other query came first");
    }
    assert!(long.try_next_batch().unwrap().is_none(), "the long one is still running");
    assert_eq!(long.collect_batches().unwrap().len(), 1);
    assert_eq!(SORTED_CALLS.load(Ordering::SeqCst), 500_000_usize.div_ceil(8_192));
}

/// Rows of a morsel that was put aside stay behind those before them, in a sink that only collects.
#[test]
fn rows_of_queries_that_take_turns_keep_their_order() {
    const ROWS: u64 = 400_000;
    let pool = pool(3);
    let limit =
        LimitNode { input: sorted_series(ROWS), offset: 5, rows_max: Some(ROWS - 10), late: None };
    let limit = PlanNode::Limit(Box::new(limit));
    let root = PlanNode::Limit(Box::new(LimitNode {
        input: limit,
        offset: 5,
        rows_max: None,
        late: None,
    }));
    let mut streams: Vec<_> =
        (0..6).map(|_| begin(&pool, root.clone(), QueryOptions::default())).collect();
    for stream in &mut streams {
        let rows = support::rows_of(&stream.collect_batches().unwrap());
        let wanted = (5..ROWS - 10).rev().map(|one| vec![ScalarValue::Int(one.into())]);
        assert!(rows.into_iter().eq(wanted), "rows came in another order");
    }
}
