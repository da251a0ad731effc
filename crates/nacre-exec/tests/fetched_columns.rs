//! Columns that are fetched at the end of a top-k above joins and groups: the answer is that of a
//! whole sort, which carries them, and blocks are read of the rows of the answer alone.

#![allow(clippy::single_range_in_vec_init, reason = "a table has a chunk for each range")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::sync::Arc;

use nacre_column::CompareOp;
use nacre_exec::expression::{ArithmeticOp, ExpressionGraph, ExpressionNode};
use nacre_exec::lower::lower_query;
use nacre_exec::plan::{
    AggregateCall, AggregateFunction, AggregateNode, FilterNode, JoinKey, MapNode, PairingKind,
    PlanNode, SampleSeed, ScanSample, SortKey, SortNode,
};
use nacre_exec::value::{IntLimit, ScalarValue};
use nacre_plan::definition::RelationDefinition;
use nacre_plan::optimizer::optimize;
use nacre_store::{Store, Table};
use nacre_types::ValueSettings;
use support::benchmarks::{TPCH_QUERIES, tpch_tables};
use support::joins::{ALL, KINDS, class_of, join, node, store};
use support::statements::TestDatabase;
use support::tops::{mixed_table, run_reported, sort_key, top, top_facts};
use support::{ID, MODE, MONEY, SMALL, TEXT, WIDE, key, pool, run, scan, table};

/// The column behind those of a table that [`probe_of`] adds.
const KEY: usize = ALL.len();

/// The first column of the build side of a join of [`probe_of`].
const BUILD: usize = KEY + 1;

/// All columns of a table, and ids of another one as a key: many rows have one key, and there is no
/// row for some keys.
fn probe_of(table: &Arc<Table>) -> PlanNode {
    let input = scan(&table.snapshot(), &ALL, Vec::new());
    let mut graph = ExpressionGraph::default();
    let mut outputs: Vec<_> =
        ALL.iter().map(|at| graph.column(*at, class_of(*at)).unwrap()).collect();
    let mut value = outputs[ID];
    for (op, operand) in
        [(ArithmeticOp::Remainder, 51), (ArithmeticOp::Multiply, 280), (ArithmeticOp::Add, 3)]
    {
        let operand = graph.int(operand).unwrap();
        value = graph.arithmetic(op, value, operand, IntLimit::BIGINT).unwrap();
    }
    outputs.push(value);
    PlanNode::Map(Box::new(MapNode { input, graph, outputs }))
}

/// Tables of different rows, frozen and hot ones.
fn tables(store: &Store) -> [Arc<Table>; 3] {
    [("a", 5), ("b", 6), ("c", 7)].map(|(name, seed)| mixed_table(store, name, seed).0)
}

fn all_of(table: &Arc<Table>) -> PlanNode {
    scan(&table.snapshot(), &ALL, Vec::new())
}

fn joined(kind: PairingKind, probe: &Arc<Table>, build: &Arc<Table>) -> PlanNode {
    let keys = vec![JoinKey { probe: KEY, build: ID }];
    node(join(kind, probe_of(probe), all_of(build), keys))
}

/// Groups by a column with dependents; counts rows and adds up a column.
fn grouped(input: PlanNode, keys: &[usize], dependents: &[usize], argument: usize) -> PlanNode {
    let call = |function, argument| AggregateCall::new(function, argument, IntLimit::NUMERIC);
    let aggregates = vec![
        call(AggregateFunction::CountRows, None),
        call(AggregateFunction::Sum, Some(argument)),
    ];
    let (keys, dependents) = (keys.to_vec(), dependents.to_vec());
    PlanNode::Aggregate(Box::new(AggregateNode { input, keys, dependents, aggregates }))
}

/// A map of columns of these classes.
fn mapped(input: PlanNode, columns: &[(usize, usize)]) -> PlanNode {
    let mut graph = ExpressionGraph::default();
    let outputs = columns.iter().map(|(at, class)| graph.column(*at, class_of(*class)).unwrap());
    let outputs = outputs.collect();
    PlanNode::Map(Box::new(MapNode { input, graph, outputs }))
}

/// Returns the columns that a top-k says are fetched.
fn fetched_of(plan: &PlanNode) -> String {
    let facts = top_facts(&plan.describe());
    facts.into_iter().find(|(name, _)| *name == "fetched").map_or(String::new(), |(_, own)| own)
}

/// Checks first rows against those of a whole sort, by a total order; `fetched` are the columns
/// that are said to be fetched.
fn check(input: &PlanNode, keys: &[SortKey], fetched: &str) {
    let sorted = SortNode { input: input.clone(), keys: keys.to_vec(), rows_max: None };
    let all = run(&pool(2), PlanNode::Sort(Box::new(sorted))).unwrap();
    let all: Vec<String> = all.iter().map(|row| key(row)).collect();
    assert!(!all.is_empty());
    for (offset, rows) in [(0, 1), (3, 40), (0, 1_000)] {
        let plan = top(input.clone(), keys, offset, rows);
        assert_eq!(fetched_of(&plan), fetched);
        let wanted: Vec<_> = all.iter().skip(offset as usize).take(rows as usize).collect();
        for threads in [1, 4] {
            let found = run(&pool(threads), plan.clone()).unwrap();
            let found: Vec<String> = found.iter().map(|row| key(row)).collect();
            assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{fetched} {offset} {rows}");
        }
    }
}

#[test]
fn first_rows_of_joins_are_those_of_the_whole_order() {
    let store = store();
    let [left, right, _] = tables(&store);
    let own = "small, wide, float, flag, mode, text";
    // A second partner is an error of one kind; the rows of one key are equal in all.
    for kind in KINDS {
        let input = joined(kind, &left, &right);
        let mut keys = vec![sort_key(MONEY, true, true), sort_key(ID, false, false)];
        let mut fetched = own.to_owned();
        if kind.has_probe_columns() && kind.has_build_columns() {
            // The key of the build side is one of the join.
            keys.push(sort_key(BUILD, false, true));
            fetched = format!("{own}, small, money, wide, float, flag, mode, text");
        }
        check(&input, &keys, &fetched);
    }
}

#[test]
fn columns_that_conditions_and_expressions_read_are_carried() {
    let store = store();
    let [left, right, _] = tables(&store);
    let keys = [sort_key(0, true, true), sort_key(1, false, false)];
    let joined = joined(PairingKind::Inner, &left, &right);
    let mut graph = ExpressionGraph::default();
    let mode = graph.column(BUILD + MODE, class_of(MODE)).unwrap();
    let air = graph.add(ExpressionNode::Constant(ScalarValue::Bytes(b"AIR".to_vec()))).unwrap();
    let predicates = vec![graph.compare(CompareOp::Ne, mode, air).unwrap()];
    let filtered = FilterNode { input: joined, graph, predicates };
    let filtered = PlanNode::Filter(Box::new(filtered));
    // Columns come in another order, and one comes twice.
    let text = (BUILD + TEXT, TEXT);
    let columns =
        [(MONEY, MONEY), (ID, ID), text, (BUILD + MODE, MODE), (MODE, MODE), text, (KEY, ID)];
    check(&mapped(filtered, &columns), &keys, "text, mode, text");
}

#[test]
fn groups_carry_the_places_of_columns_that_follow_from_keys() {
    let store = store();
    let [left, right, third] = tables(&store);
    let order = |sum: usize| [sort_key(sum, true, false), sort_key(0, false, true)];
    let dependents = [BUILD + TEXT, BUILD + MODE, BUILD + MONEY];
    for kind in [
        PairingKind::Inner,
        // There is a group of rows without a partner, whose place is null.
        PairingKind::ProbeOuter,
        PairingKind::BuildOuter,
        PairingKind::FullOuter,
    ] {
        let input = grouped(joined(kind, &left, &right), &[BUILD], &dependents, SMALL);
        check(&input, &order(5), "text, mode, money");
        // Groups of groups.
        let upper = grouped(input, &[0], &[1, 2], 4);
        check(&upper, &order(4), "text, mode");
    }
    // A column that is sorted by, or aggregated, is carried.
    let inner = || joined(PairingKind::Inner, &left, &right);
    let keys = [sort_key(2, true, true), sort_key(0, false, true)];
    check(&grouped(inner(), &[BUILD], &dependents, SMALL), &keys, "text, money");
    let input = grouped(inner(), &[BUILD], &dependents, BUILD + MONEY);
    check(&input, &order(5), "text, mode");
    // Two scans.
    let keys = vec![JoinKey { probe: KEY, build: ID }];
    let both = node(join(PairingKind::ProbeOuter, inner(), all_of(&third), keys));
    let last = BUILD + ALL.len();
    let dependents = [BUILD + TEXT, last + MODE, BUILD + WIDE, last + TEXT];
    let input = grouped(both, &[BUILD], &dependents, SMALL);
    check(&input, &order(6), "text, mode, wide, text");
    // Without a join.
    let input = grouped(all_of(&left), &[ID], &[MODE, TEXT], SMALL);
    check(&input, &order(4), "mode, text");
}

#[test]
fn rows_of_a_sample_are_fetched_as_others() {
    let store = store();
    let [left, right, _] = tables(&store);
    let sample = ScanSample {
        is_of_blocks: false,
        percent: Some(50.0),
        seed: SampleSeed::Repeatable(Some(3.0)),
    };
    let mut build = all_of(&right);
    if let PlanNode::Scan(scan) = &mut build {
        scan.sample = Some(sample);
    }
    let keys = vec![JoinKey { probe: KEY, build: ID }];
    let joined = node(join(PairingKind::ProbeOuter, probe_of(&left), build, keys));
    let keys = [sort_key(3, true, false), sort_key(0, false, true)];
    check(&grouped(joined, &[BUILD], &[BUILD + TEXT], SMALL), &keys, "text");
}

/// Returns the blocks that each scan has read, in the order of pipelines.
fn blocks_read(plan: &PlanNode) -> Vec<u64> {
    let (_, report) = run_reported(&pool(1), plan.clone());
    let scans = report.scans.iter();
    scans.map(|one| one.blocks.iter().map(|blocks| blocks.count).sum()).collect()
}

#[test]
fn blocks_of_fetched_columns_are_read_for_the_rows_of_the_answer() {
    let store = store();
    let chunks: Vec<_> = (0..6).map(|at| at * 2_000..(at + 1) * 2_000).collect();
    let (facts, partners) = (table(&store, "a", &chunks, 5), table(&store, "b", &chunks, 6));
    let sides = || {
        let probe = scan(&facts.snapshot(), &[ID, SMALL], Vec::new());
        let build = scan(&partners.snapshot(), &[ID, TEXT, MODE, WIDE], Vec::new());
        node(join(PairingKind::Inner, probe, build, vec![JoinKey { probe: 0, build: 0 }]))
    };
    // The last ids, which lie in one chunk: ids of all chunks, other columns of this one.
    let keys = [sort_key(0, true, false)];
    let plain = top(sides(), &keys, 0, 3);
    assert_eq!(fetched_of(&plain), "text, mode, wide");
    assert_eq!(blocks_read(&plain)[0], 6 + 3);
    let groups = top(grouped(sides(), &[0], &[3, 4, 5], 1), &keys, 0, 3);
    assert_eq!(fetched_of(&groups), "text, mode, wide");
    assert_eq!(blocks_read(&groups)[0], 6 + 3);
    // More rows than are fetched one by one.
    let many = top(grouped(sides(), &[0], &[3, 4, 5], 1), &keys, 0, 1_025);
    assert_eq!((fetched_of(&many).as_str(), blocks_read(&many)[0]), ("", 6 * 4));
}

/// The tables of TPC-H with their primary keys.
fn tpch() -> TestDatabase {
    let store = store();
    let mut database = TestDatabase::new(store.clone(), &tpch_tables(&store));
    for (_, definition) in &mut database.tables {
        let keys = match definition.name.as_str() {
            "lineitem" => Vec::new(),
            "partsupp" => vec![0, 1],
            _ => vec![0],
        };
        let known = RelationDefinition::clone(definition);
        *definition = Arc::new(RelationDefinition { primary_key: keys, ..known });
    }
    database
}

/// Returns the names of the columns that the top-k of a statement says are fetched, in order.
fn names_fetched(database: &TestDatabase, sql: &str) -> Vec<String> {
    let plan = optimize(database.bind(sql), database);
    let query = lower_query(&plan, database, &ValueSettings::default()).unwrap();
    names(&fetched_of(&query.plan.root))
}

fn names(columns: &str) -> Vec<String> {
    let mut names: Vec<_> = columns.split(", ").map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn queries_of_tpch_fetch_what_follows_from_keys() {
    let database = tpch();
    for (name, sql) in TPCH_QUERIES {
        let fetched = match name {
            "Q2" => "p_mfgr, s_address, s_phone, s_comment",
            "Q10" => "c_name, c_acctbal, n_name, c_address, c_phone, c_comment",
            "Q18" => "c_name",
            _ => "",
        };
        assert_eq!(names_fetched(&database, sql), names(fetched), "{name}");
    }
}

#[test]
fn answers_of_tpch_are_those_of_whole_sorts() {
    let database = tpch();
    for (sql, fetched) in [
        // As Q10, Q18, Q2 and Q3, with orders in which no rows are equal.
        (
            "select c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) as revenue, \
             c_acctbal, n_name, c_address, c_phone, c_comment from customer, orders, lineitem, \
             nation where c_custkey = o_custkey and l_orderkey = o_orderkey and l_returnflag = 'R' \
             and c_nationkey = n_nationkey group by c_custkey, c_name, c_acctbal, c_phone, n_name, \
             c_address, c_comment order by revenue desc, c_custkey",
            "c_name, c_acctbal, n_name, c_address, c_phone, c_comment",
        ),
        (
            "select c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) from \
             customer, orders, lineitem where o_orderkey in (select l_orderkey from lineitem group \
             by l_orderkey having sum(l_quantity) > 100) and c_custkey = o_custkey and o_orderkey \
             = l_orderkey group by c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice order \
             by o_totalprice desc, o_orderdate, o_orderkey",
            "c_name",
        ),
        (
            "select s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment \
             from part, supplier, partsupp, nation where p_partkey = ps_partkey and s_suppkey = \
             ps_suppkey and s_nationkey = n_nationkey and p_size > 10 order by s_acctbal desc, \
             n_name, s_name, p_partkey",
            "p_mfgr, s_address, s_phone, s_comment",
        ),
        // A single number that follows is no reason.
        (
            "select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, \
             o_shippriority from customer, orders, lineitem where c_mktsegment = 'BUILDING' and \
             c_custkey = o_custkey and l_orderkey = o_orderkey group by l_orderkey, o_orderdate, \
             o_shippriority order by revenue desc, o_orderdate, l_orderkey",
            "",
        ),
    ] {
        let few = format!("{sql} limit 20 offset 2");
        assert_eq!(names_fetched(&database, &few), names(fetched), "{sql}");
        let all = database.run_optimized(sql).unwrap();
        let wanted: Vec<_> = all.iter().skip(2).take(20).cloned().collect();
        assert_eq!(wanted.len(), 20, "{sql}");
        assert_eq!(database.run_optimized(&few).unwrap(), wanted, "{sql}");
    }
}
