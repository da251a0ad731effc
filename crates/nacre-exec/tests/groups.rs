//! Filters, maps, groups, sorts and limits, against the same computed row by row.

#![allow(clippy::single_range_in_vec_init, reason = "a table has a chunk for each range")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use nacre_column::{CompareOp, Flavour, compare_floats};
use nacre_exec::dispatch::WorkerPool;
use nacre_exec::expression::{ArithmeticOp, ExpressionGraph, ExpressionNode};
use nacre_exec::plan::{
    AggregateCall, AggregateFunction, AggregateNode, AppendNode, FilterNode, GroupingSetsNode,
    LimitNode, MapNode, PlanNode, SortKey, SortNode,
};
use nacre_exec::value::{IntLimit, ScalarValue, ValueClass};
use nacre_store::{OpenOptions, Store};
use support::lineitem::{LineItem, numbers, q1_plan, q1_reference, q6_plan, q6_reference};
use support::{
    FLAG, FLOAT, ID, MODE, MONEY, SMALL, TEXT, WIDE, key, pool, pool_with, row, run, scalar, scan,
    sorted, table,
};

const ALL: [usize; 8] = [ID, SMALL, MONEY, WIDE, FLOAT, FLAG, MODE, TEXT];

type Scalars = Vec<ScalarValue>;

fn rows(ids: std::ops::Range<i64>) -> Vec<Scalars> {
    let scalars = |id| row(id, 5).iter().enumerate().map(|(at, value)| scalar(value, at)).collect();
    ids.map(scalars).collect()
}

fn pools() -> Vec<WorkerPool> {
    let flavours = Flavour::available().into_iter().map(|flavour| pool_with(1, flavour));
    flavours.chain([pool(2), pool(4)]).collect()
}

fn order(left: &ScalarValue, right: &ScalarValue) -> std::cmp::Ordering {
    match (left, right) {
        (ScalarValue::Bool(left), ScalarValue::Bool(right)) => left.cmp(right),
        (ScalarValue::Int(left), ScalarValue::Int(right)) => left.cmp(right),
        (ScalarValue::Float64(left), ScalarValue::Float64(right)) => compare_floats(*left, *right),
        (ScalarValue::Bytes(left), ScalarValue::Bytes(right)) => left.cmp(right),
        _ => panic!("{left:?} and {right:?} have no order"),
    }
}

/// One spelling for values that SQL groups together.
fn group_key(value: &ScalarValue) -> String {
    match value {
        ScalarValue::Float64(0.0) => "Float64(0.0)".to_owned(),
        value => format!("{value:?}"),
    }
}

fn aggregate(call: &AggregateCall, rows: &[&Scalars]) -> Scalars {
    let passes = |row: &&&Scalars| match call.filter {
        Some(filter) => row[filter] == ScalarValue::Bool(true),
        None => true,
    };
    let rows: Vec<&&Scalars> = rows.iter().filter(passes).collect();
    let count = |count: usize| ScalarValue::Int(count as i128);
    let Some(argument) = call.argument else { return vec![count(rows.len())] };
    let values: Vec<&ScalarValue> = rows
        .iter()
        .map(|row| &row[argument])
        .filter(|value| !matches!(value, ScalarValue::Null(_)))
        .collect();
    let class = rows.first().map_or(ValueClass::Int, |row| row[argument].class());
    let sum = match values.first() {
        None => ScalarValue::Null(class),
        Some(ScalarValue::Int(_)) => ScalarValue::Int(
            values
                .iter()
                .map(|value| match value {
                    ScalarValue::Int(value) => *value,
                    other => panic!("{other:?}"),
                })
                .sum(),
        ),
        Some(_) => ScalarValue::Null(class),
    };
    match call.function {
        AggregateFunction::CountRows => vec![count(rows.len())],
        AggregateFunction::Count => vec![count(values.len())],
        AggregateFunction::CountDistinct => {
            vec![count(values.iter().map(|value| group_key(value)).collect::<BTreeSet<_>>().len())]
        }
        AggregateFunction::Sum => vec![sum],
        AggregateFunction::CountSum => match sum {
            ScalarValue::Null(_) => vec![count(0)],
            sum => vec![sum],
        },
        AggregateFunction::AverageState => vec![sum, count(values.len())],
        // Statements have these, with answers of PostgreSQL.
        AggregateFunction::ExactMin
        | AggregateFunction::ExactMax
        | AggregateFunction::ExactSum
        | AggregateFunction::ExactState
        | AggregateFunction::Collect
        | AggregateFunction::Moments(_) => panic!("no numerics and folds here"),
        AggregateFunction::DistinctState => {
            let int = |value: &&ScalarValue| match value {
                ScalarValue::Int(value) => *value,
                other => panic!("{other:?}"),
            };
            let distinct: BTreeSet<i128> = values.iter().map(int).collect();
            let sum = match distinct.len() {
                0 => ScalarValue::Null(class),
                _ => ScalarValue::Int(distinct.iter().sum()),
            };
            vec![sum, count(distinct.len())]
        }
        AggregateFunction::Min => {
            let least = values.iter().copied().min_by(|left, right| order(left, right));
            vec![least.cloned().unwrap_or(ScalarValue::Null(class))]
        }
        AggregateFunction::Max => {
            let most = values.iter().copied().max_by(|left, right| order(left, right));
            vec![most.cloned().unwrap_or(ScalarValue::Null(class))]
        }
    }
}

fn expected(rows: &[Scalars], keys: &[usize], calls: &[AggregateCall]) -> Vec<String> {
    let mut groups: BTreeMap<String, Vec<&Scalars>> = BTreeMap::new();
    if keys.is_empty() {
        groups.insert(String::new(), Vec::new());
    }
    for row in rows {
        let key: String = keys.iter().map(|at| group_key(&row[*at])).collect();
        groups.entry(key).or_default().push(row);
    }
    let made = groups.values().map(|rows| {
        let first = rows.first();
        let keys = keys.iter().filter_map(|at| first.map(|row| row[*at].clone()));
        keys.chain(calls.iter().flat_map(|call| aggregate(call, rows))).collect()
    });
    canonical(made.collect())
}

/// Spells zeros and the class of nulls in one way.
fn canonical(rows: Vec<Scalars>) -> Vec<String> {
    let one = |value: ScalarValue| match value {
        ScalarValue::Null(_) => ScalarValue::Null(ValueClass::Bool),
        // The pattern is -0, too.
        ScalarValue::Float64(0.0) => ScalarValue::Float64(0.0),
        value => value,
    };
    sorted(rows.into_iter().map(|row| row.into_iter().map(one).collect()).collect())
}

fn calls() -> Vec<AggregateCall> {
    let call = |function, argument| AggregateCall::new(function, argument, IntLimit::NUMERIC);
    use AggregateFunction as F;
    let filtered = AggregateCall { filter: Some(FLAG), ..call(F::Sum, Some(MONEY)) };
    let counted = AggregateCall { filter: Some(FLAG), ..call(F::CountRows, None) };
    vec![
        call(F::CountRows, None),
        call(F::Count, Some(MODE)),
        call(F::Sum, Some(SMALL)),
        call(F::Sum, Some(WIDE)),
        call(F::CountSum, Some(SMALL)),
        filtered,
        counted,
        call(F::AverageState, Some(MONEY)),
        call(F::Min, Some(MONEY)),
        call(F::Max, Some(WIDE)),
        call(F::Max, Some(FLOAT)),
        call(F::Min, Some(FLOAT)),
        call(F::Min, Some(MODE)),
        call(F::Max, Some(TEXT)),
        call(F::Min, Some(FLAG)),
        call(F::CountDistinct, Some(SMALL)),
        call(F::CountDistinct, Some(TEXT)),
        call(F::CountDistinct, Some(MODE)),
        call(F::DistinctState, Some(WIDE)),
        AggregateCall { filter: Some(FLAG), ..call(F::DistinctState, Some(SMALL)) },
    ]
}

#[test]
fn groups_of_every_kind_of_key_agree_with_rows_one_by_one() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..9_000, 9_000..12_000, 12_000..12_007], 5);
    let all = rows(0..12_007);
    let keys: [&[usize]; 9] = [
        &[],
        &[FLAG],
        &[MODE],
        &[SMALL, FLAG],
        &[MODE, FLAG, SMALL],
        &[FLOAT],
        &[WIDE],
        &[TEXT],
        &[ID, MODE, TEXT],
    ];
    for pool in pools() {
        for keys in keys {
            let input = scan(&table.snapshot(), &ALL, Vec::new());
            let node = AggregateNode {
                input,
                keys: keys.to_vec(),
                dependents: Vec::new(),
                aggregates: calls(),
            };
            let found = run(&pool, PlanNode::Aggregate(Box::new(node))).unwrap();
            let found = canonical(found);
            let wanted = expected(&all, keys, &calls());
            assert_eq!(found.len(), wanted.len(), "{keys:?}");
            for (found, wanted) in found.iter().zip(&wanted) {
                assert_eq!(found, wanted, "{keys:?}");
            }
        }
    }
}

#[test]
fn grouping_sets_are_the_groups_of_each_set() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..9_000, 9_000..30_000], 5);
    let all = rows(0..30_000);
    let keys = [MODE, FLAG, TEXT, ID, MODE];
    let sets: [&[usize]; 7] = [&[0, 1, 2], &[1, 0], &[3, 2], &[], &[2], &[4, 1], &[]];
    let null = ScalarValue::Null(ValueClass::Bool);
    // Plain groups, with nulls for other keys, and the index of the set.
    let plain = |pool: &WorkerPool, index: usize, set: &[usize]| {
        let input = scan(&table.snapshot(), &ALL, Vec::new());
        let own = set.iter().map(|key| keys[*key]).collect();
        let node = AggregateNode { input, keys: own, dependents: Vec::new(), aggregates: calls() };
        let found = run(pool, PlanNode::Aggregate(Box::new(node))).unwrap();
        let made = found.into_iter().map(|row| {
            let value = |key| match set.iter().position(|own| *own == key) {
                Some(place) => row[place].clone(),
                None => null.clone(),
            };
            let mut made: Scalars = (0..keys.len()).map(value).collect();
            made.extend_from_slice(&row[set.len()..]);
            made.push(ScalarValue::Int(index as i128));
            made
        });
        made.collect::<Vec<Scalars>>()
    };
    for (pool, from) in [(pool(1), 0), (pool(3), 0), (pool(2), all.len() as i128)] {
        let is_empty = from > 0;
        let mut input = scan(&table.snapshot(), &ALL, Vec::new());
        if is_empty {
            let mut graph = ExpressionGraph::default();
            let id = graph.column(ID, ValueClass::Int).unwrap();
            let from = graph.int(from).unwrap();
            let predicates = vec![graph.compare(CompareOp::Ge, id, from).unwrap()];
            input = PlanNode::Filter(Box::new(FilterNode { input, graph, predicates }));
        }
        let node = GroupingSetsNode {
            input,
            keys: keys.to_vec(),
            sets: sets.iter().map(|set| set.to_vec()).collect(),
            aggregates: calls(),
        };
        let found = run(&pool, PlanNode::GroupingSets(Box::new(node))).unwrap();
        if is_empty {
            let last: Vec<_> = found.iter().filter_map(|row| row.last()).collect();
            assert_eq!(last.len(), 2, "a row for each empty set");
            assert!(found.iter().all(|row| row[keys.len()] == ScalarValue::Int(0)));
            continue;
        }
        let wanted = sets.iter().enumerate().flat_map(|(index, set)| plain(&pool, index, set));
        assert!(canonical(found) == canonical(wanted.collect()));
    }
}

#[test]
fn more_groups_than_a_table_holds_go_through_partitions() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..60_000, 60_000..120_000], 5);
    let all = rows(0..120_000);
    let call = |function, argument| AggregateCall::new(function, argument, IntLimit::NUMERIC);
    let calls = vec![
        call(AggregateFunction::Sum, Some(MONEY)),
        call(AggregateFunction::CountDistinct, Some(SMALL)),
    ];
    for keys in [vec![ID], vec![MONEY, MODE]] {
        let wanted = expected(&all, &keys, &calls);
        for pool in [pool(1), pool(3)] {
            let input = scan(&table.snapshot(), &ALL, Vec::new());
            let (keys, aggregates) = (keys.clone(), calls.clone());
            let node = AggregateNode { input, keys, dependents: Vec::new(), aggregates };
            let found = run(&pool, PlanNode::Aggregate(Box::new(node))).unwrap();
            assert!(canonical(found) == wanted);
        }
    }
}

#[test]
fn columns_that_follow_from_the_keys_are_as_keys() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..60_000, 60_000..120_000], 5);
    let others = [MODE, FLAG, TEXT, FLOAT, WIDE, SMALL];
    let call = |function, argument| AggregateCall::new(function, argument, IntLimit::NUMERIC);
    let aggregates = vec![
        call(AggregateFunction::Max, Some(TEXT)),
        call(AggregateFunction::CountDistinct, Some(MODE)),
    ];
    let groups = |keys: &[usize], dependents: &[usize]| {
        // Each row twice, so that groups are found again.
        let one = || scan(&table.snapshot(), &ALL, Vec::new());
        let input = PlanNode::Append(AppendNode { inputs: vec![one(), one()] });
        let (keys, dependents) = (keys.to_vec(), dependents.to_vec());
        let aggregates = aggregates.clone();
        PlanNode::Aggregate(Box::new(AggregateNode { input, keys, dependents, aggregates }))
    };
    for pool in [pool(1), pool(3)] {
        let keys: Vec<usize> = [ID].into_iter().chain(others).collect();
        let wanted = canonical(run(&pool, groups(&keys, &[])).unwrap());
        let found = canonical(run(&pool, groups(&[ID], &others)).unwrap());
        assert_eq!(found.len(), 120_000);
        assert!(found == wanted);
    }
}

#[test]
fn sums_beyond_their_limit_are_errors_and_exact_up_to_it() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..1_000], 5);
    let sum = |limit| {
        let input = scan(&table.snapshot(), &[WIDE], Vec::new());
        let aggregates = vec![AggregateCall::new(AggregateFunction::Sum, Some(0), limit)];
        PlanNode::Aggregate(Box::new(AggregateNode {
            input,
            keys: Vec::new(),
            dependents: Vec::new(),
            aggregates,
        }))
    };
    let pool = pool(2);
    assert_eq!(run(&pool, sum(IntLimit::NUMERIC)).unwrap().len(), 1);
    let error = run(&pool, sum(IntLimit::BIGINT)).unwrap_err();
    assert_eq!(error.kind(), nacre_exec::ExecErrorKind::NumericOutOfRange);
    assert_eq!(error.to_string(), "bigint out of range");
}

#[test]
fn filters_and_maps_above_scans_and_groups() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..30_000], 5);
    let all = rows(0..30_000);
    for percent in [1, 10, 30, 90] {
        let mut graph = ExpressionGraph::default();
        let id = graph.column(0, ValueClass::Int).unwrap();
        let (hundred, limit) = (graph.int(100).unwrap(), IntLimit::BIGINT);
        let rest = graph.arithmetic(ArithmeticOp::Remainder, id, hundred, limit).unwrap();
        let bound = graph.int(percent).unwrap();
        let predicate = graph.compare(CompareOp::Lt, rest, bound).unwrap();
        let input = scan(&table.snapshot(), &[ID, MODE, MONEY], Vec::new());
        let filter = FilterNode { input, graph, predicates: vec![predicate] };
        let mut graph = ExpressionGraph::default();
        let mode = graph.column(1, ValueClass::Bytes).unwrap();
        let money = graph.column(2, ValueClass::Int).unwrap();
        let is_null = graph.add(ExpressionNode::IsNull { input: money }).unwrap();
        let seven = graph.int(7).unwrap();
        let product =
            graph.arithmetic(ArithmeticOp::Multiply, money, seven, IntLimit::NUMERIC).unwrap();
        let zero = graph.int(0).unwrap();
        let case = ExpressionNode::Case { condition: is_null, then: zero, otherwise: product };
        let value = graph.add(case).unwrap();
        let input = PlanNode::Filter(Box::new(filter));
        let map =
            PlanNode::Map(Box::new(MapNode { input, graph, outputs: vec![mode, value, mode] }));
        let found = run(&pool(2), map).unwrap();
        let wanted = all.iter().filter(|row| match row[ID] {
            ScalarValue::Int(id) => id % 100 < percent,
            _ => false,
        });
        let wanted = wanted.map(|row| {
            let value = match row[MONEY] {
                ScalarValue::Int(money) => money * 7,
                _ => 0,
            };
            vec![row[MODE].clone(), ScalarValue::Int(value), row[MODE].clone()]
        });
        assert!(sorted(found) == sorted(wanted.collect()), "{percent}");
    }
}

fn sort_keys() -> Vec<SortKey> {
    let key =
        |column, is_descending, is_nulls_first| SortKey { column, is_descending, is_nulls_first };
    vec![key(MODE, true, true), key(FLOAT, false, false), key(ID, true, false)]
}

fn sort_rows(rows: &mut [Scalars]) {
    rows.sort_by(|left, right| {
        for key in sort_keys() {
            let (left, right) = (&left[key.column], &right[key.column]);
            let is_null = |value: &ScalarValue| matches!(value, ScalarValue::Null(_));
            let order = match (is_null(left), is_null(right)) {
                (true, true) => std::cmp::Ordering::Equal,
                (true, false) if key.is_nulls_first => std::cmp::Ordering::Less,
                (true, false) => std::cmp::Ordering::Greater,
                (false, true) if key.is_nulls_first => std::cmp::Ordering::Greater,
                (false, true) => std::cmp::Ordering::Less,
                _ if key.is_descending => order(right, left),
                _ => order(left, right),
            };
            if order.is_ne() {
                return order;
            }
        }
        std::cmp::Ordering::Equal
    });
}

#[test]
fn sorted_rows_and_the_first_of_them_come_in_order() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..65_000, 65_000..100_000], 5);
    let mut all = rows(0..100_000);
    sort_rows(&mut all);
    let wanted: Vec<String> = all.iter().map(|row| key(row)).collect();
    for pool in [pool(1), pool(4)] {
        for rows_max in [None, Some(0), Some(1), Some(1_000), Some(70_000), Some(200_000)] {
            for (offset, limit) in [(0, None), (10, Some(20)), (999, Some(2)), (99_999, None)] {
                let input = scan(&table.snapshot(), &ALL, Vec::new());
                let sort = SortNode { input, keys: sort_keys(), rows_max };
                let input = PlanNode::Sort(Box::new(sort));
                let limited = LimitNode { input, offset, rows_max: limit, late: None };
                let found = run(&pool, PlanNode::Limit(Box::new(limited))).unwrap();
                let found: Vec<String> = found.iter().map(|row| key(row)).collect();
                let kept = wanted.iter().take(rows_max.unwrap_or(u64::MAX) as usize);
                let kept = kept.skip(offset as usize).take(limit.unwrap_or(u64::MAX) as usize);
                assert!(found.iter().eq(kept), "{rows_max:?} {offset} {limit:?}");
            }
        }
    }
}

#[test]
fn limit_below_other_operators_counts_before_them() {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store, "t", &[0..50_000], 5);
    let input = scan(&table.snapshot(), &[ID], Vec::new());
    let limited = LimitNode { input, offset: 5, rows_max: Some(12_345), late: None };
    let input = PlanNode::Limit(Box::new(limited));
    let aggregates = vec![AggregateCall::new(AggregateFunction::CountRows, None, IntLimit::BIGINT)];
    let node = AggregateNode { input, keys: Vec::new(), dependents: Vec::new(), aggregates };
    for threads in [1, 3] {
        let node = PlanNode::Aggregate(Box::new(node.clone()));
        let found = run(&pool(threads), node).unwrap();
        assert_eq!(found, [[ScalarValue::Int(12_345)]]);
    }
}

#[test]
fn q1_and_q6_agree_with_plain_loops() {
    let items = LineItem::generate(150_000, 7);
    let (_store, table) = items.load();
    for pool in pools() {
        for (plan, reference) in [
            (q6_plan(&table.snapshot()).unwrap(), q6_reference(&items)),
            (q1_plan(&table.snapshot()).unwrap(), q1_reference(&items)),
        ] {
            let mut stream = pool.execute(plan, Default::default()).unwrap();
            assert_eq!(numbers(&stream.collect_batches().unwrap()), reference);
        }
    }
}
