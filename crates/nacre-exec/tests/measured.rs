//! What measured operators count: the rows of joins, groups, sorts and limits, also when these end
//! early or write files, and their time; and that measuring changes neither a plan nor its answer.

#![allow(clippy::single_range_in_vec_init, reason = "a table has a chunk for each range")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use nacre_exec::counters::NodeReport;
use nacre_exec::dispatch::{QueryOptions, WorkerPool};
use nacre_exec::lower::{lower_measured_query, lower_query};
use nacre_exec::plan::{
    AggregateCall, AggregateFunction, AggregateNode, LimitNode, OperatorDescription, PairingKind,
    PhysicalPlan, PlanNode, SortKey, SortNode,
};
use nacre_exec::spill::SpillSpace;
use nacre_exec::value::IntLimit;
use nacre_plan::optimizer::{RowEstimates, optimize};
use nacre_store::Table;
use nacre_types::ValueSettings;
use support::joins::{KINDS, join, keys, node, store};
use support::statements::TestDatabase;
use support::{ID, MODE, SMALL, TEXT, pool, scan, spilling_pool, table};

/// An operator with what it counted, and those below it.
#[derive(Debug)]
struct CountedOperator {
    name: &'static str,
    expected: Option<u64>,
    report: Option<NodeReport>,
    inputs: Vec<CountedOperator>,
}

impl CountedOperator {
    fn of(described: &OperatorDescription) -> Self {
        Self {
            name: described.name,
            expected: described.rows_expected,
            report: described.counters.as_ref().map(|counters| counters.report()),
            inputs: described.inputs.iter().map(Self::of).collect(),
        }
    }

    fn rows(&self) -> u64 {
        self.report.as_ref().unwrap().rows
    }

    /// Returns the names and rows of all operators, from the top down.
    fn all(&self) -> Vec<(&'static str, u64)> {
        let below = self.inputs.iter().flat_map(Self::all);
        std::iter::once((self.name, self.rows())).chain(below).collect()
    }
}

/// Returns the time of an operator and of all below it.
fn times(counted: &CountedOperator) -> Vec<Duration> {
    let below = counted.inputs.iter().flat_map(times);
    std::iter::once(counted.report.as_ref().unwrap().time).chain(below).collect()
}

/// Runs a plan to its end; returns how many rows it answers, and what its operators counted.
fn run_counted(pool: &WorkerPool, root: PlanNode, options: QueryOptions) -> (u64, CountedOperator) {
    let described = root.describe();
    let mut stream = pool.execute(PhysicalPlan { root }, options).unwrap();
    let batches = stream.collect_batches().unwrap();
    stream.report();
    let rows = batches.iter().map(|batch| batch.rows as u64).sum();
    (rows, CountedOperator::of(&described))
}

fn little(memory_bytes_max: u64) -> QueryOptions {
    QueryOptions { memory_bytes_max, ..QueryOptions::default() }
}

fn measured_scan(table: &Arc<Table>, columns: &[usize]) -> PlanNode {
    scan(&table.snapshot(), columns, Vec::new()).measured(None)
}

#[test]
fn joins_count_the_rows_that_they_hand_on() {
    let store = store();
    let probe = table(&store, "probe", &[0..400, 400..900], 1);
    let build = table(&store, "build", &[300..1_000], 2);
    for kind in KINDS {
        // A value with two partners is an error.
        let column = if kind == PairingKind::Single { ID } else { SMALL };
        for workers in [1, 3] {
            let sides = [&probe, &build].map(|table| measured_scan(table, &[ID, SMALL]));
            let [left, right] = sides;
            let key = keys(&[usize::from(column == SMALL)]);
            let root = node(join(kind, left, right, key)).measured(Some(7.0));
            let (rows, counted) = run_counted(&pool(workers), root, QueryOptions::default());
            assert!(rows > 0, "{kind:?}");
            assert_eq!((counted.rows(), counted.expected), (rows, Some(7)), "{kind:?}");
            assert!(counted.report.as_ref().unwrap().bytes > 0, "{kind:?}");
            assert_eq!(counted.inputs[1].rows(), 700, "{kind:?}");
            // The scan leaves out rows that no join wants.
            assert!(counted.inputs[0].rows() <= 900, "{kind:?}");
        }
    }
}

#[test]
fn rows_without_partners_are_counted_if_scans_do_not_leave_them_out() {
    let store = store();
    let probe = table(&store, "probe", &[0..2_000, 2_000..4_000], 1);
    let build = table(&store, "build", &[0..10], 1);
    let root = || {
        let [left, right] = [&probe, &build].map(|table| measured_scan(table, &[ID]));
        node(join(PairingKind::Inner, left, right, keys(&[ID]))).measured(None)
    };
    let of_probe = |filters_keys: bool| {
        let options = QueryOptions { filters_keys, ..QueryOptions::default() };
        let (rows, counted) = run_counted(&pool(1), root(), options);
        assert_eq!(rows, 10);
        counted.inputs[0].rows()
    };
    // No row of the second chunk has one of the keys.
    assert!((10..=2_000).contains(&of_probe(true)));
    assert_eq!(of_probe(false), 4_000);
}

#[test]
fn scans_count_what_they_read_and_hand_on() {
    let store = store();
    let table = table(&store, "t", &[0..3_000, 3_000..5_000], 1);
    let (rows, counted) =
        run_counted(&pool(2), measured_scan(&table, &[ID, TEXT]), QueryOptions::default());
    let report = counted.report.unwrap();
    assert_eq!((rows, report.rows), (5_000, 5_000));
    let scan = report.scan;
    assert_eq!((scan.chunks, scan.chunks_pruned, scan.rows_read), (2, 0, 5_000));
    let count: u64 = scan.blocks.iter().map(|blocks| blocks.count).sum();
    assert_eq!(count, 4, "{:?}", scan.blocks);
    for blocks in &scan.blocks {
        assert!(blocks.bytes > 100 * blocks.count && blocks.format != "unknown", "{blocks:?}");
    }
}

#[test]
fn limits_count_what_they_let_through_and_end_scans_early() {
    let store = store();
    let chunks: Vec<_> = (0..6).map(|chunk| chunk * 5_000..(chunk + 1) * 5_000).collect();
    let table = table(&store, "t", &chunks, 1);
    for (offset, rows_max) in [(0, 10), (3, 1), (4_990, 20)] {
        let input = measured_scan(&table, &[ID]);
        let limit = LimitNode { input, offset, rows_max: Some(rows_max), late: None };
        let root = PlanNode::Limit(Box::new(limit)).measured(None);
        let (rows, counted) = run_counted(&pool(1), root, QueryOptions::default());
        assert_eq!((rows, counted.rows()), (rows_max, rows_max));
        let below = counted.inputs[0].rows();
        assert!((offset + rows_max..30_000).contains(&below), "{below}");
    }
}

fn groups_of(input: PlanNode, key: usize) -> PlanNode {
    let aggregates = vec![AggregateCall::new(AggregateFunction::CountRows, None, IntLimit::BIGINT)];
    let (keys, dependents) = (vec![key], Vec::new());
    PlanNode::Aggregate(Box::new(AggregateNode { input, keys, dependents, aggregates }))
}

fn sorted_by(input: PlanNode, column: usize, rows_max: Option<u64>) -> PlanNode {
    let keys = vec![SortKey { column, is_descending: false, is_nulls_first: false }];
    PlanNode::Sort(Box::new(SortNode { input, keys, rows_max }))
}

#[test]
fn groups_and_sorts_count_what_comes_out_and_what_they_hold() {
    let store = store();
    let table = table(&store, "t", &[0..4_000, 4_000..9_000], 1);
    let groups = groups_of(measured_scan(&table, &[MODE]), 0).measured(Some(5.0));
    let root = sorted_by(groups, 1, Some(4)).measured(Some(5.0));
    let (rows, counted) = run_counted(&pool(3), root, QueryOptions::default());
    assert_eq!(rows, 4);
    // Five values and null.
    assert_eq!(counted.all(), [("Top-k", 4), ("Aggregate", 6), ("Scan", 9_000)]);
    assert_eq!((counted.expected, counted.inputs[0].expected), (Some(4), Some(5)));
    for operator in [&counted, &counted.inputs[0]] {
        let report = operator.report.as_ref().unwrap();
        assert!(report.bytes > 0 && report.spilled_bytes == 0, "{operator:?}");
    }
}

#[test]
fn no_moment_of_a_worker_is_the_time_of_two_operators() {
    let store = store();
    let table = table(&store, "t", &[0..10_000, 10_000..20_000], 1);
    // Each join asks the one below for rows.
    let joined = (0..6).fold(measured_scan(&table, &[ID, SMALL]), |probe, _| {
        let build = measured_scan(&table, &[ID]);
        node(join(PairingKind::Inner, probe, build, keys(&[ID]))).measured(None)
    });
    let root = sorted_by(groups_of(joined, 1).measured(None), 1, None).measured(None);
    for workers in [1, 3] {
        let pool = pool(workers);
        let start = Instant::now();
        let (_, counted) = run_counted(&pool, root.clone(), QueryOptions::default());
        // The thread that takes the rows may be at work beside the workers.
        let all = start.elapsed() * u32::try_from(workers + 1).unwrap();
        let times = times(&counted);
        assert_eq!(times.len(), 15);
        assert!(times.iter().all(|time| !time.is_zero()), "{times:?}");
        assert!(times.iter().sum::<Duration>() <= all, "{times:?} of {all:?}");
    }
}

#[test]
fn files_are_those_of_the_operator_that_wrote_them() {
    let directory = tempfile::tempdir().unwrap();
    let space = SpillSpace::open(directory.path(), "the limit of files", u64::MAX);
    let store = store();
    let table = table(&store, "t", &[0..9_000, 9_000..30_000], 5);
    let all = || measured_scan(&table, &[ID, SMALL, TEXT]);
    let joined = node(join(PairingKind::Inner, all(), all(), keys(&[ID])));
    let plans = [sorted_by(all(), 2, None), groups_of(all(), 2), joined];
    for (plan, name) in plans.into_iter().zip(["Sort", "Aggregate", "Join"]) {
        // Counted once more above: sorting what comes out of memory.
        let pool = spilling_pool(2, &space);
        let (rows, counted) = run_counted(&pool, plan.measured(None), little(600_000));
        assert_eq!((counted.name, counted.rows(), rows), (name, 30_000, 30_000));
        let report = counted.report.unwrap();
        assert!(report.spilled_bytes > 100_000 && report.spilled_files > 0, "{name}: {report:?}");
        for input in counted.inputs {
            let report = input.report.unwrap();
            assert_eq!((report.rows, report.spilled_bytes), (30_000, 0), "{name}");
        }
    }
}

/// Statements with each kind of operator.
const STATEMENTS: [&str; 17] = [
    "select id from t where a > 3 and id % 2 = 0 order by id limit 5",
    "select a, count(*), sum(n) from t group by a order by a",
    "select x.id from t x join t y on x.a = y.a and x.id < y.id where y.k > 2 order by 1",
    "select id from t x where exists (select 1 from t y where y.k = x.a) order by id",
    "select id from t x where not exists (select 1 from t y where y.k = x.id) order by id",
    "select id, (select max(id) from t) from t order by id limit 3 offset 2",
    "select a from t intersect select k from t order by 1",
    "select a from t except all select k from t order by 1",
    "select a from t union all select k from t order by 1 limit 7",
    "select id, row_number() over (partition by a order by id) from t order by id limit 9",
    "with c as materialized (select a, s from t) select count(*) from c x join c y on x.a = y.a",
    "with recursive r as (select 1 as i union all select i + 1 from r where i < 50) \
     select count(*) from r",
    "select a, k, count(*) from t group by grouping sets ((a), (k), ()) order by 1, 2, 3",
    "select id, generate_series(1, 3) from t order by 1, 2 limit 8",
    "values (1), (2), (3) order by 1",
    "select 10 / id from t where 1 = 0 order by 1",
    "select id, case when id < 5 then (select 10 / (u.id - 7) from t u where u.id = t.id + 1) end \
     from t where id < 9 order by 1",
];

#[test]
fn measuring_changes_neither_plans_nor_answers() {
    let (database, _) = TestDatabase::of_rows(500, 300, 100);
    let pool = pool(2);
    for sql in STATEMENTS {
        let plan = optimize(database.bind(sql), &database);
        let settings = ValueSettings::default();
        let plain = lower_query(&plan, &database, &settings).unwrap();
        let estimates = RowEstimates::of(&plan, &database);
        let measured = lower_measured_query(&plan, &database, &estimates, &settings).unwrap();
        let described = |root: &PlanNode| shape(&root.describe());
        assert_eq!(described(&measured.plan.root), described(&plain.plan.root), "{sql}");
        let answers = [&plain, &measured].map(|query| {
            let options = QueryOptions::default();
            let mut stream = pool.execute(query.plan.clone(), options).unwrap();
            let mut rows = support::rows_of(&stream.collect_batches().unwrap());
            // Rows of equal keys come in any order, and differ in columns that only the plan has.
            rows.sort_by_cached_key(|row| format!("{row:?}"));
            rows
        });
        assert_eq!(answers[0], answers[1], "{sql}");
        let counted = CountedOperator::of(&measured.plan.root.describe());
        assert_eq!(counted.rows(), answers[0].len() as u64, "{sql}");
        assert_all_counted(&counted, sql);
    }
}

/// Returns the operators of a plan with their properties.
fn shape(described: &OperatorDescription) -> String {
    let inputs: Vec<_> = described.inputs.iter().map(shape).collect();
    format!("{} {:?} <- [{}]", described.name, described.facts, inputs.join(", "))
}

#[test]
fn operators_are_described_by_names_of_columns() {
    let (database, _) = TestDatabase::of_rows(50, 30, 20);
    // Properties that some operator has.
    let cases: [(&str, &[&str]); 4] = [
        (
            "select k, sum(id * 2) filter (where a > 3) from t where id + a > 1 group by 1",
            &[
                "keys: k",
                "columns: k, a > ?, case when (a > ?) then (id * ?) else null end",
                "conditions: (id + a) > ?",
                "columns: k, id, a",
            ],
        ),
        (
            "select u.id from t join t u on t.k = u.a and t.id < u.id order by u.id desc",
            &[
                "keys: id desc",
                "keys: k = a",
                "conditions: id < id",
                "columns: k, id",
                "columns: id, a",
            ],
        ),
        (
            "select sum(id) over (partition by k order by a), rank() over () from t",
            &[
                "keys: k, a",
                "window: sum(id) over (partition by k order by a)",
                "window: rank() over ()",
                "columns: k, a, id",
            ],
        ),
        (
            "select k, a, count(*) from t group by rollup (k, a)",
            &[
                "sets: (k, a), (k), ()",
                "aggregates: sum(count(*))",
                "keys: k, a",
                "aggregates: count(*)",
                "columns: k, a",
            ],
        ),
    ];
    for (sql, expected) in cases {
        let bound = optimize(database.bind(sql), &database);
        let query = lower_query(&bound, &database, &ValueSettings::default()).unwrap();
        let mut facts = Vec::new();
        put_facts(&query.plan.root.describe(), &mut facts);
        for own in expected {
            assert!(facts.iter().any(|fact| fact == own), "{sql}: {own} is not in {facts:?}");
        }
    }
}

fn put_facts(described: &OperatorDescription, facts: &mut Vec<String>) {
    facts.extend(described.facts.iter().map(|(name, value)| format!("{name}: {value}")));
    described.inputs.iter().for_each(|input| put_facts(input, facts));
}

fn assert_all_counted(counted: &CountedOperator, sql: &str) {
    // The rows of a recursion are counted where they are read.
    assert!(counted.report.is_some() || counted.name == "Recursion", "{sql}: {counted:?}");
    counted.inputs.iter().for_each(|input| assert_all_counted(input, sql));
}

#[test]
fn scans_expect_what_their_own_conditions_leave() {
    let (database, _) = TestDatabase::of_rows(500, 300, 100);
    // Nothing is known of the table: 1,000 rows, a tenth of the values.
    let sql = "select id from t where a = 3 and id % 2 = 0";
    let plan = optimize(database.bind(sql), &database);
    let estimates = RowEstimates::of(&plan, &database);
    let settings = ValueSettings::default();
    let query = lower_measured_query(&plan, &database, &estimates, &settings).unwrap();
    let described = query.plan.root.describe();
    let mut filter = &described;
    while filter.name != "Filter" {
        filter = &filter.inputs[0];
    }
    let (above, below) = (filter.rows_expected.unwrap(), filter.inputs[0].rows_expected.unwrap());
    assert_eq!((filter.inputs[0].name, below), ("Scan", 10));
    assert!((1..10).contains(&above), "{above}");
}
