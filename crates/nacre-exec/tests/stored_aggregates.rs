//! Aggregates of whole tables: chunks that come out as a whole are answered by their aggregates,
//! with the values that their rows have, and only what the snapshot sees counts.

#![allow(clippy::single_range_in_vec_init, reason = "a table has a chunk for each range")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::sync::Arc;

use nacre_column::{CompareOp, Constant, Restriction};
use nacre_exec::counters::ScanReport;
use nacre_exec::dispatch::{QueryOptions, WorkerPool};
use nacre_exec::plan::{
    AggregateCall, AggregateFunction, AggregateNode, AppendNode, ColumnPredicate, PhysicalPlan,
    PlanNode, SampleSeed, ScanNode, ScanSample,
};
use nacre_exec::value::{IntLimit, ScalarValue};
use nacre_store::{IsolationLevel, OpenOptions, Store, Table, TableSnapshot, Value};
use support::{
    FLAG, FLOAT, ID, MODE, MONEY, Row, SMALL, TEXT, WIDE, buffers, key, pool, row, rows_of, run,
    scan, schema, table,
};

const ALL: [usize; 8] = [ID, SMALL, MONEY, WIDE, FLOAT, FLAG, MODE, TEXT];

fn store() -> Store {
    Store::open(OpenOptions::default()).unwrap()
}

fn call(function: AggregateFunction, column: usize) -> AggregateCall {
    AggregateCall::new(function, Some(column), IntLimit::NUMERIC)
}

/// Aggregates that those of chunks tell, of tables of [`support::row`].
fn told() -> Vec<AggregateCall> {
    use AggregateFunction as F;
    let mut calls = vec![AggregateCall::new(F::CountRows, None, IntLimit::BIGINT)];
    calls.extend(ALL.map(|column| call(F::Count, column)));
    for column in [ID, SMALL, MONEY, WIDE] {
        calls.extend([F::Sum, F::AverageState].map(|function| call(function, column)));
    }
    for column in [ID, SMALL, MONEY, WIDE, FLOAT, FLAG] {
        calls.extend([F::Min, F::Max].map(|function| call(function, column)));
    }
    calls.push(call(F::Min, MODE));
    calls
}

fn aggregate(input: PlanNode, aggregates: &[AggregateCall]) -> PlanNode {
    let (keys, dependents, aggregates) = (Vec::new(), Vec::new(), aggregates.to_vec());
    PlanNode::Aggregate(Box::new(AggregateNode { input, keys, dependents, aggregates }))
}

/// Runs an aggregation of a scan; returns its row and what the scan counted.
fn run_counted(
    pool: &WorkerPool,
    input: PlanNode,
    calls: &[AggregateCall],
) -> (String, ScanReport) {
    let root = aggregate(input.measured(None), calls);
    let described = root.describe();
    let mut stream = pool.execute(PhysicalPlan { root }, QueryOptions::default()).unwrap();
    let rows = rows_of(&stream.collect_batches().unwrap());
    assert_eq!(rows.len(), 1);
    let counters = described.inputs[0].counters.clone().unwrap();
    (key(&rows[0]), counters.report().scan)
}

/// Compares aggregates of a scan with those of its rows, and returns how many chunks were answered
/// and how many rows were read.
fn check(
    snapshot: &TableSnapshot,
    predicates: &[ColumnPredicate],
    calls: &[AggregateCall],
) -> (u64, u64) {
    let input = || scan(snapshot, &ALL, predicates.to_vec());
    let by_rows = PlanNode::Append(AppendNode { inputs: vec![input()] });
    let expected = run(&pool(1), aggregate(by_rows, calls)).unwrap();
    let reports = [1, 3].map(|workers| {
        let (found, report) = run_counted(&pool(workers), input(), calls);
        assert_eq!(found, key(&expected[0]), "{predicates:?}");
        (report.chunks_answered, report.rows_read)
    });
    assert_eq!(reports[0], reports[1]);
    reports[0]
}

fn load(store: &Store, chunks: &[Vec<Row>]) -> Arc<Table> {
    let table = store.create_table(schema("t")).unwrap();
    let load = store.begin_load(&table).unwrap();
    for (index, rows) in chunks.iter().enumerate() {
        load.append_chunk(index as u64, &buffers(rows)).unwrap();
    }
    load.commit().unwrap();
    table
}

fn restrict(column: usize, op: CompareOp, value: i128) -> ColumnPredicate {
    let value = Constant::Int(value);
    ColumnPredicate::restriction(column, Restriction::Compare { op, value })
}

#[test]
fn frozen_chunks_are_answered_and_hot_rows_are_read() {
    let store = store();
    let table = table(&store, "t", &[0..20_000, 20_000..20_100, 20_100..29_000], 5);
    assert_eq!(check(&table.snapshot(), &[], &told()), (3, 0));
    let mut transaction = store.begin(IsolationLevel::RepeatableRead);
    for id in -70..-20 {
        let row = row(id, 8);
        let values: Vec<_> = row.iter().map(Value::as_ref).collect();
        transaction.insert(&table, &values).unwrap();
    }
    transaction.commit().unwrap();
    let reader = store.begin(IsolationLevel::RepeatableRead);
    assert_eq!(check(&reader.table_snapshot(&table), &[], &told()), (3, 50));
}

#[test]
fn chunks_count_as_the_snapshot_sees_them() {
    let store = store();
    let table = table(&store, "t", &[0..3_000, 3_000..5_000, 5_000..9_000], 5);
    let row_id =
        |chunk: usize, row: u16| table.snapshot().chunks().unwrap()[chunk].row_id(row).unwrap();
    let before = store.begin(IsolationLevel::RepeatableRead);
    let mut writer = store.begin(IsolationLevel::RepeatableRead);
    // The greatest id, and a row that moves to a hot chunk.
    writer.delete(&table, row_id(2, 3_999)).unwrap();
    let new = row(1, 99);
    let money = (MONEY, new[MONEY].as_ref());
    writer.update(&table, row_id(0, 1), &[money, (SMALL, Value::Int(4_000).as_ref())]).unwrap();
    assert_eq!(check(&before.table_snapshot(&table), &[], &told()).0, 3);
    let (answered, read) = check(&writer.table_snapshot(&table), &[], &told());
    assert_eq!((answered, read), (1, 7_001));
    writer.commit().unwrap();
    assert_eq!(check(&before.table_snapshot(&table), &[], &told()).0, 3);
    let after = store.begin(IsolationLevel::RepeatableRead);
    assert_eq!(check(&after.table_snapshot(&table), &[], &told()), (1, 7_001));
    let mut other = store.begin(IsolationLevel::RepeatableRead);
    other.delete(&table, row_id(1, 0)).unwrap();
    other.rollback();
    assert_eq!(check(&after.table_snapshot(&table), &[], &told()), (1, 7_001));
}

#[test]
fn chunks_within_a_range_are_answered_and_those_across_its_ends_are_read() {
    let store = store();
    let chunks: Vec<_> = (0..5).map(|chunk| chunk * 1_000..(chunk + 1) * 1_000).collect();
    let table = table(&store, "t", &chunks, 5);
    let range = |low, high| [restrict(ID, CompareOp::Ge, low), restrict(ID, CompareOp::Lt, high)];
    assert_eq!(check(&table.snapshot(), &range(1_000, 3_000), &told()), (2, 0));
    assert_eq!(check(&table.snapshot(), &range(1_500, 3_001), &told()), (1, 2_000));
    // Some rows are null.
    let all = [restrict(SMALL, CompareOp::Ge, -10)];
    assert_eq!(check(&table.snapshot(), &all, &told()), (0, 5_000));
    let all = [ColumnPredicate::restriction(ID, Restriction::IsNotNull)];
    assert_eq!(check(&table.snapshot(), &all, &told()), (5, 0));
}

#[test]
fn what_aggregates_of_chunks_do_not_tell_is_computed_of_rows() {
    use AggregateFunction as F;
    let store = store();
    let table = table(&store, "t", &[0..2_000, 2_000..3_000], 5);
    let filtered = AggregateCall { filter: Some(FLAG), ..call(F::Count, ID) };
    for untold in [
        filtered,
        call(F::CountDistinct, SMALL),
        call(F::Sum, FLOAT),
        // Longer than what is kept of bounds.
        call(F::Max, MODE),
    ] {
        let calls = [told(), vec![untold.clone()]].concat();
        assert_eq!(check(&table.snapshot(), &[], &calls), (0, 3_000), "{untold:?}");
    }
    // A sample has a part of the rows.
    let sample = ScanSample {
        is_of_blocks: true,
        percent: Some(50.0),
        seed: SampleSeed::Repeatable(Some(3.0)),
    };
    let node = ScanNode {
        snapshot: table.snapshot(),
        columns: ALL.to_vec(),
        predicates: Vec::new(),
        has_row_ids: false,
        sample: Some(sample),
    };
    let (_, report) = run_counted(&pool(1), PlanNode::Scan(node), &told());
    assert_eq!((report.chunks_answered, report.rows_read), (0, 3_000));
}

#[test]
fn chunks_of_nulls_and_tables_without_rows_have_no_extremes() {
    let nulls = |ids: std::ops::Range<i64>| -> Vec<Row> {
        let of = |id| {
            let row = row(id, 5);
            let is_kept = |column: usize| column == ID || column == TEXT;
            let value = |(column, value): (usize, &Value)| {
                if is_kept(column) { value.clone() } else { Value::Null }
            };
            row.iter().enumerate().map(value).collect()
        };
        ids.map(of).collect()
    };
    let store = store();
    let table = load(&store, &[nulls(0..40), (40..60).map(|id| row(id, 5)).collect()]);
    assert_eq!(check(&table.snapshot(), &[], &told()), (2, 0));
    let store = self::store();
    let table = load(&store, &[nulls(0..40), nulls(40..50)]);
    assert_eq!(check(&table.snapshot(), &[], &told()), (2, 0));
    let store = self::store();
    let table = store.create_table(schema("t")).unwrap();
    assert_eq!(check(&table.snapshot(), &[], &told()), (0, 0));
}

/// Zeros of both signs are equal, and NaN is above all others.
#[test]
fn extremes_of_floats_are_those_of_rows() {
    let floats = |values: &[f64]| -> Vec<Row> {
        let of = |(id, value): (i64, &f64)| {
            let mut row = row(id, 5);
            row[FLOAT] = Value::Float64(*value);
            row
        };
        (0..).zip(values).map(of).collect()
    };
    let calls = [AggregateFunction::Min, AggregateFunction::Max].map(|one| call(one, FLOAT));
    for (values, answered) in [
        (&[1.5, -2.5, 7.0][..], 1),
        (&[f64::NAN, f64::NAN], 1),
        (&[f64::NAN, 3.0, f64::NEG_INFINITY], 1),
        (&[-0.0, -0.0], 0),
        (&[0.0, -0.0, 4.0], 0),
    ] {
        let store = store();
        let table = load(&store, &[floats(values)]);
        assert_eq!(check(&table.snapshot(), &[], &calls).0, answered, "{values:?}");
    }
}

#[test]
fn sums_beyond_64_bits_are_exact() {
    let store = store();
    let rows = |count: i64| -> Vec<Row> {
        let of = |id| {
            let mut row = row(id, 5);
            row[ID] = Value::Int(i64::MAX - id);
            row
        };
        (0..count).map(of).collect()
    };
    let table = load(&store, &[rows(5), rows(7)]);
    let calls = [call(AggregateFunction::Sum, ID)];
    assert_eq!(check(&table.snapshot(), &[], &calls), (2, 0));
    let found = run(&pool(2), aggregate(scan(&table.snapshot(), &ALL, Vec::new()), &calls));
    assert_eq!(found.unwrap()[0][0], ScalarValue::Int(12 * i128::from(i64::MAX) - 10 - 21));
}
