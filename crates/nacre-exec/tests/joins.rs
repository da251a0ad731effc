//! Joins of every kind, against a nested loop over the same rows.

#![allow(clippy::single_range_in_vec_init, reason = "a table has a chunk for each range")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use nacre_column::CompareOp;
use nacre_exec::ExecErrorKind;
use nacre_exec::dispatch::QueryOptions;
use nacre_exec::expression::{ArithmeticOp, ExpressionGraph, ExpressionNode};
use nacre_exec::plan::{
    AggregateCall, AggregateFunction, AggregateNode, FilterNode, LimitNode, MapNode, PairingKind,
    PhysicalPlan, PlanNode, SortKey, SortNode,
};
use nacre_exec::value::{IntLimit, ScalarValue, ValueClass};
use nacre_store::{IsolationLevel, Table, ValueRef};
use support::joins::{
    ALL, KINDS, MODE_DIFFERS, MONEY_IS_LESS, Scalars, Sides, as_bytes, count_and_sum, expected,
    ids, is_equal, join, keys, multiples, never, node, numbers, one_key, rows, store,
    with_remainder,
};
use support::{
    FLAG, FLOAT, ID, MODE, SMALL, SeededRandom, TEXT, WIDE, insert, pool, row, rows_of, run, scan,
    sorted, table,
};

#[test]
fn joins_of_every_kind_and_key_agree_with_nested_loops() {
    let sides = Sides::new(80, 70);
    let pools = [pool(1), pool(2), pool(4)];
    let all: [&[usize]; 11] = [
        &[],
        &[ID],
        &[SMALL],
        &[WIDE],
        &[FLOAT],
        &[FLAG],
        &[MODE],
        &[TEXT],
        &[SMALL, FLAG],
        &[MODE, FLOAT],
        &[WIDE, FLAG, MODE],
    ];
    for columns in all {
        for residual in [None, Some(MONEY_IS_LESS), Some(MODE_DIFFERS)] {
            sides.check(&pools, &keys(columns), residual, |scans| scans);
        }
    }
}

#[test]
fn strings_are_joined_as_codes_or_as_bytes_on_either_side() {
    let sides = Sides::new(60, 50);
    let pools = [pool(2)];
    for residual in [None, Some(MODE_DIFFERS)] {
        let (mode, text) = (keys(&[MODE]), keys(&[TEXT, MODE]));
        sides.check(&pools, &mode, residual, |(probe, build)| (as_bytes(probe, MODE), build));
        sides.check(&pools, &mode, residual, |(probe, build)| (probe, as_bytes(build, MODE)));
        sides.check(&pools, &text, residual, |(probe, build)| {
            (as_bytes(probe, MODE), as_bytes(build, MODE))
        });
    }
}

/// The id in 16 to 64 bits, and the same in 128.
fn wide_ids(table: &Arc<Table>) -> PlanNode {
    let input = scan(&table.snapshot(), &[ID], Vec::new());
    let mut graph = ExpressionGraph::default();
    let id = graph.column(0, ValueClass::Int).unwrap();
    let (factor, limit) = (graph.int(10_i128.pow(25)).unwrap(), IntLimit::NUMERIC);
    let large = graph.arithmetic(ArithmeticOp::Multiply, id, factor, limit).unwrap();
    let more = graph.arithmetic(ArithmeticOp::Add, large, id, limit).unwrap();
    let same = graph.arithmetic(ArithmeticOp::Subtract, more, large, limit).unwrap();
    PlanNode::Map(Box::new(MapNode { input, graph, outputs: vec![id, same, large] }))
}

#[test]
fn whole_numbers_of_different_widths_are_equal_by_value() {
    let store = store();
    let (left, right) = (ids(&store, "left", 3_000), ids(&store, "right", 2_000));
    let pool = pool(2);
    for (probe, build, pairs) in [
        (0, 1, 2_000),
        (1, 0, 2_000),
        (1, 1, 2_000),
        (2, 2, 2_000),
        // All but 0 have more than 64 bits on one side.
        (0, 2, 1),
        (2, 0, 1),
        (1, 2, 1),
    ] {
        for (kind, rows) in [
            (PairingKind::Inner, pairs),
            (PairingKind::Anti, 3_000 - pairs),
            (PairingKind::FullOuter, 5_000 - pairs),
        ] {
            let keys = one_key(probe, build);
            let joined = node(join(kind, wide_ids(&left), wide_ids(&right), keys));
            let found = run(&pool, joined).unwrap().len();
            assert_eq!(found, rows, "{kind:?} {probe} {build}");
        }
    }
}

#[test]
fn codes_of_many_rows_are_joined_with_codes_and_with_bytes() {
    let store = store();
    let table = table(&store, "t", &[0..9_000, 9_000..20_000], 5);
    let side = |is_bytes| {
        let input = scan(&table.snapshot(), &ALL, Vec::new());
        if is_bytes { as_bytes(input, MODE) } else { input }
    };
    let all = rows(0..20_000, 5);
    let mut count = std::collections::HashMap::<&ScalarValue, i128>::new();
    for row in all.iter().filter(|row| !matches!(row[MODE], ScalarValue::Null(_))) {
        *count.entry(&row[MODE]).or_default() += 1;
    }
    let few = |input| {
        let mut graph = ExpressionGraph::default();
        let id = graph.column(ID, ValueClass::Int).unwrap();
        let bound = graph.int(100).unwrap();
        let predicate = graph.compare(CompareOp::Lt, id, bound).unwrap();
        PlanNode::Filter(Box::new(FilterNode { input, graph, predicates: vec![predicate] }))
    };
    let wanted: i128 = all[..100].iter().filter_map(|row| count.get(&row[MODE])).sum();
    for (probe, build) in [(false, false), (false, true), (true, false), (true, true)] {
        for pool in [pool(1), pool(3)] {
            let joined = join(PairingKind::Inner, side(probe), few(side(build)), keys(&[MODE]));
            let found = run(&pool, count_and_sum(node(joined), ID)).unwrap();
            assert_eq!(found[0][0], ScalarValue::Int(wanted), "{probe} {build}");
        }
    }
}

#[test]
fn sides_without_rows_have_no_partners() {
    let pools = [pool(1), pool(3)];
    for (probe, build) in [(0, 40), (40, 0), (0, 0)] {
        let sides = Sides::new(probe, build);
        for columns in [&[] as &[usize], &[ID], &[MODE], &[SMALL, FLAG]] {
            for residual in [None, Some(MONEY_IS_LESS)] {
                sides.check(&pools, &keys(columns), residual, |scans| scans);
            }
        }
    }
}

#[test]
fn large_tables_find_their_rows_by_arrays_and_by_hash() {
    let store = store();
    let table = ids(&store, "t", 100_000);
    let scan = || scan(&table.snapshot(), &[ID], Vec::new());
    // Factors spread the keys beyond what counts as dense.
    for (factor, modulus) in [(1, 1_000_000), (1_000_003, 1_000_000_007), (7, 3_000)] {
        let side = || with_remainder(scan(), factor, modulus);
        let mut count = std::collections::HashMap::<i128, i128>::new();
        for id in 0..100_000 {
            *count.entry(id * factor % modulus).or_default() += 1;
        }
        let pairs: i128 = count.values().map(|count| count * count).sum();
        let ids: i128 = (0..100_000).map(|id| id * count[&(id * factor % modulus)]).sum();
        for pool in [pool(1), pool(4)] {
            let joined = node(join(PairingKind::Inner, side(), side(), one_key(1, 1)));
            let found = run(&pool, count_and_sum(joined, 0)).unwrap();
            assert_eq!(found, numbers(&[pairs, ids]), "{factor} {modulus}");
            let joined = node(join(PairingKind::BuildSemi, side(), side(), one_key(1, 1)));
            let found = run(&pool, count_and_sum(joined, 0)).unwrap();
            assert_eq!(found, numbers(&[100_000, (0..100_000).sum()]), "{factor} {modulus}");
            let joined = node(join(PairingKind::FullOuter, side(), side(), one_key(1, 1)));
            let found = run(&pool, count_and_sum(joined, 2)).unwrap();
            assert_eq!(found, numbers(&[pairs, ids]), "{factor} {modulus}");
        }
    }
}

#[test]
fn outer_rows_of_large_tables_come_once() {
    let store = store();
    let few = ids(&store, "few", 30_000);
    let many = ids(&store, "many", 100_000);
    let side = |table: &Arc<Table>, factor| {
        with_remainder(scan(&table.snapshot(), &[ID], Vec::new()), factor, i64::MAX.into())
    };
    let sum = |range: std::ops::Range<i128>| range.sum::<i128>();
    for factor in [1, 1_000_003] {
        for pool in [pool(1), pool(4)] {
            let check = |kind, probe, build, column, wanted: &[i128]| {
                let joined = join(kind, side(probe, factor), side(build, factor), one_key(1, 1));
                let found = run(&pool, count_and_sum(node(joined), column)).unwrap();
                assert_eq!(found, numbers(wanted), "{kind:?} {factor}");
            };
            let (few_sum, many_sum) = (sum(0..30_000), sum(0..100_000));
            check(PairingKind::Inner, &few, &many, 2, &[30_000, few_sum]);
            check(PairingKind::Inner, &many, &few, 0, &[30_000, few_sum]);
            check(PairingKind::ProbeOuter, &many, &few, 0, &[100_000, many_sum]);
            check(PairingKind::ProbeOuter, &many, &few, 2, &[100_000, few_sum]);
            check(PairingKind::BuildOuter, &few, &many, 2, &[100_000, many_sum]);
            check(PairingKind::BuildOuter, &few, &many, 0, &[100_000, few_sum]);
            check(PairingKind::FullOuter, &few, &many, 2, &[100_000, many_sum]);
            check(PairingKind::FullOuter, &many, &few, 0, &[100_000, many_sum]);
            check(PairingKind::Single, &many, &few, 0, &[100_000, many_sum]);
            check(PairingKind::Single, &many, &few, 2, &[100_000, few_sum]);
            check(PairingKind::Mark, &many, &few, 0, &[100_000, many_sum]);
            check(PairingKind::BuildSemi, &many, &few, 0, &[30_000, few_sum]);
            check(PairingKind::BuildSemi, &few, &many, 0, &[30_000, few_sum]);
            check(PairingKind::BuildAnti, &few, &many, 0, &[70_000, many_sum - few_sum]);
            check(PairingKind::Semi, &many, &few, 0, &[30_000, few_sum]);
            check(PairingKind::Anti, &many, &few, 0, &[70_000, many_sum - few_sum]);
        }
    }
}

#[test]
fn vectors_of_which_few_or_many_rows_match_keep_rows_and_partners_together() {
    let store = store();
    let table = ids(&store, "t", 60_000);
    let scan = || scan(&table.snapshot(), &[ID], Vec::new());
    for (probe, build) in [(1, 1), (1, 2), (1, 7), (2, 3), (2, 10), (9, 2), (9, 10)] {
        for residual in [false, true] {
            let rows = |by: i128| (0..60_000_i128).filter(move |id| id % by == 0);
            let pairs: Vec<i128> = rows(probe).filter(|id| id % build == 0).collect();
            let alone = |by: i128, other: i128| rows(by).filter(move |id| id % other != 0);
            let joined = |kind| {
                let (left, right) = (multiples(scan(), 0, probe), multiples(scan(), 0, build));
                let mut joined = join(kind, left, right, one_key(0, 0));
                if residual {
                    let id = joined.graph.column(1, ValueClass::Int).unwrap();
                    let bound = joined.graph.int(0).unwrap();
                    joined.predicates =
                        vec![joined.graph.compare(CompareOp::Ge, id, bound).unwrap()];
                }
                joined
            };
            // Both ids are in the answer; their sum tells whether they are of one row.
            let both: i128 = pairs.iter().map(|id| id * id).sum();
            for (kind, padded) in [
                (PairingKind::Inner, 0),
                (PairingKind::ProbeOuter, alone(probe, build).count()),
                (PairingKind::Single, alone(probe, build).count()),
                (PairingKind::BuildOuter, alone(build, probe).count()),
                (PairingKind::FullOuter, {
                    alone(probe, build).count() + alone(build, probe).count()
                }),
            ] {
                let mut graph = ExpressionGraph::default();
                let ids = [0, 1].map(|at| graph.column(at, ValueClass::Int).unwrap());
                let (op, limit) = (ArithmeticOp::Multiply, IntLimit::BIGINT);
                let product = graph.arithmetic(op, ids[0], ids[1], limit).unwrap();
                let map = MapNode { input: node(joined(kind)), graph, outputs: vec![product] };
                let plan = count_and_sum(PlanNode::Map(Box::new(map)), 0);
                let found = run(&pool(2), plan).unwrap();
                let wanted = numbers(&[(pairs.len() + padded) as i128, both]);
                assert_eq!(found, wanted, "{kind:?} {probe} {build}");
            }
            let marked =
                |id: &i128| vec![ScalarValue::Int(*id), ScalarValue::Bool(id % build == 0)];
            let alone_rows =
                |ids: Vec<i128>| ids.iter().map(|id| vec![ScalarValue::Int(*id)]).collect();
            for (kind, wanted) in [
                (PairingKind::Semi, alone_rows(pairs.clone())),
                (PairingKind::Anti, alone_rows(alone(probe, build).collect())),
                (PairingKind::Mark, rows(probe).map(|id| marked(&id)).collect::<Vec<_>>()),
                (PairingKind::BuildSemi, alone_rows(pairs.clone())),
                (PairingKind::BuildAnti, alone_rows(alone(build, probe).collect())),
            ] {
                let found = run(&pool(2), node(joined(kind))).unwrap();
                assert_eq!(sorted(found), sorted(wanted), "{kind:?} {probe} {build}");
            }
        }
    }
}

#[test]
fn one_probe_row_may_have_a_hundred_thousand_partners() {
    let store = store();
    let (one, many) = (ids(&store, "one", 3), ids(&store, "many", 100_000));
    let pool = pool(2);
    let sum: i128 = (0..100_000).sum();
    for residual in [None, Some(1)] {
        let probe = with_remainder(scan(&one.snapshot(), &[ID], Vec::new()), 1, 1_000);
        let build = with_remainder(scan(&many.snapshot(), &[ID], Vec::new()), 1, 1);
        let mut joined = join(PairingKind::ProbeOuter, probe, build, one_key(1, 1));
        if let Some(least) = residual {
            let id = joined.graph.column(2, ValueClass::Int).unwrap();
            let bound = joined.graph.int(least).unwrap();
            joined.predicates = vec![joined.graph.compare(CompareOp::Ge, id, bound).unwrap()];
        }
        let found = run(&pool, count_and_sum(node(joined), 2)).unwrap();
        // Two rows have no partner.
        let pairs = 100_000 + 2 - residual.unwrap_or(0);
        assert_eq!(found, numbers(&[pairs, sum]));
    }
}

#[test]
fn several_joins_in_a_row_and_nested_agree_with_nested_loops() {
    let store = store();
    let all: Vec<(Arc<Table>, Vec<Scalars>)> = [(0..60, "a"), (20..70, "b"), (40..110, "c")]
        .into_iter()
        .map(|(ids, name): (std::ops::Range<i64>, _)| {
            (table(&store, name, std::slice::from_ref(&ids), 5), rows(ids, 5))
        })
        .collect();
    let scan = |at: usize| scan(&all[at].0.snapshot(), &[ID, MODE], Vec::new());
    let short = |rows: &[Scalars]| -> Vec<Scalars> {
        rows.iter().map(|row| vec![row[ID].clone(), row[MODE].clone()]).collect()
    };
    let classes = [ValueClass::Int, ValueClass::Bytes];
    let rows: Vec<Vec<Scalars>> = all.iter().map(|(_, rows)| short(rows)).collect();
    let pair = |kind: PairingKind, left: (&[Scalars], &[ValueClass]), right: (&[Scalars], &[_])| {
        let nulls = [left.1, right.1]
            .map(|classes| classes.iter().map(|class| ScalarValue::Null(*class)).collect());
        let is_pair = |row: &Scalars, other: &Scalars| is_equal(&row[0], &other[0]);
        expected(kind, left.0, right.0, &is_pair, nulls).unwrap()
    };
    for (inner, outer) in KINDS.iter().flat_map(|inner| KINDS.iter().map(move |one| (inner, one))) {
        let below = (pair(*inner, (&rows[0], &classes), (&rows[1], &classes)), {
            let mut below = classes.to_vec();
            match inner {
                PairingKind::Mark => below.push(ValueClass::Bool),
                _ if inner.has_probe_columns() && inner.has_build_columns() => {
                    below.extend(classes);
                }
                _ => {}
            }
            below
        });
        let (below, third) = ((&below.0[..], &below.1[..]), (&rows[2][..], &classes[..]));
        let in_a_row = sorted(pair(*outer, below, third));
        let nested = sorted(pair(*outer, third, below));
        for pool in [pool(1), pool(3)] {
            let below = || node(join(*inner, scan(0), scan(1), one_key(0, 0)));
            let plan = node(join(*outer, below(), scan(2), one_key(0, 0)));
            assert_eq!(sorted(run(&pool, plan).unwrap()), in_a_row, "{inner:?} {outer:?}");
            let plan = node(join(*outer, scan(2), below(), one_key(0, 0)));
            assert_eq!(sorted(run(&pool, plan).unwrap()), nested, "{inner:?} {outer:?}");
        }
    }
}

#[test]
fn more_joins_than_a_pipeline_takes_are_cut() {
    let store = store();
    let table = ids(&store, "t", 100);
    let scan = || scan(&table.snapshot(), &[ID], Vec::new());
    let mut plan = scan();
    for at in 0..150 {
        let kind = if at % 50 == 0 { PairingKind::FullOuter } else { PairingKind::Semi };
        plan = node(join(kind, plan, scan(), one_key(0, 0)));
    }
    assert_eq!(run(&pool(2), plan).unwrap().len(), 100);
}

#[test]
fn joins_over_groups_and_groups_over_joins() {
    let store = store();
    let table = table(&store, "t", &[0..20_000], 5);
    let all = rows(0..20_000, 5);
    let group = |input, column| {
        let count = AggregateCall::new(AggregateFunction::CountRows, None, IntLimit::BIGINT);
        let node = AggregateNode {
            input,
            keys: vec![column],
            dependents: Vec::new(),
            aggregates: vec![count],
        };
        PlanNode::Aggregate(Box::new(node))
    };
    let scan = || scan(&table.snapshot(), &[ID, MODE, SMALL], Vec::new());
    let mut count = std::collections::BTreeMap::<Vec<u8>, i128>::new();
    for row in &all {
        if let ScalarValue::Bytes(mode) = &row[MODE] {
            *count.entry(mode.clone()).or_default() += 1;
        }
    }
    for pool in [pool(1), pool(4)] {
        // Each row finds the count of its mode, and modes are counted again.
        let joined = node(join(PairingKind::Inner, scan(), group(scan(), 1), one_key(1, 0)));
        let wanted = count
            .iter()
            .map(|(mode, count)| vec![ScalarValue::Bytes(mode.clone()), ScalarValue::Int(*count)]);
        let wanted = sorted(wanted.collect());
        assert_eq!(sorted(run(&pool, group(joined, 3)).unwrap()), wanted);
        // Groups as the probe side, sorted above, filtered in between.
        let joined = join(PairingKind::Semi, group(scan(), 1), scan(), one_key(0, 1));
        let key = SortKey { column: 1, is_descending: true, is_nulls_first: false };
        let sort = SortNode { input: node(joined), keys: vec![key], rows_max: None };
        let found = run(&pool, PlanNode::Sort(Box::new(sort))).unwrap();
        assert!(found.iter().map(|row| format!("{:?}", row[1])).rev().is_sorted());
        assert_eq!(sorted(found), wanted);
    }
}

#[test]
fn filters_and_maps_above_outer_joins_see_nulls() {
    let store = store();
    let (few, many) = (ids(&store, "few", 1_000), ids(&store, "many", 30_000));
    let side = |table: &Arc<Table>| scan(&table.snapshot(), &[ID, SMALL], Vec::new());
    let joined = join(PairingKind::ProbeOuter, side(&many), side(&few), one_key(0, 0));
    let mut graph = ExpressionGraph::default();
    let build_id = graph.column(2, ValueClass::Int).unwrap();
    let is_null = graph.add(ExpressionNode::IsNull { input: build_id }).unwrap();
    let filter = FilterNode { input: node(joined), graph, predicates: vec![is_null] };
    let found = run(&pool(2), count_and_sum(PlanNode::Filter(Box::new(filter)), 0)).unwrap();
    assert_eq!(found, numbers(&[29_000, (1_000..30_000).sum()]));
}

#[test]
fn scan_leaves_out_rows_whose_key_the_build_side_lacks() {
    let store = store();
    let many = ids(&store, "many", 200_000);
    let side = |by| multiples(scan(&many.snapshot(), &[ID, SMALL], Vec::new()), 0, by);
    let pool = pool(2);
    let limited = |from: i64, to: i64, by: i128| {
        let bound = |op, value| {
            let value = nacre_column::Constant::Int(i128::from(value));
            let restriction = nacre_column::Restriction::Compare { op, value };
            nacre_exec::plan::ColumnPredicate::restriction(ID, restriction)
        };
        let predicates = vec![bound(CompareOp::Ge, from), bound(CompareOp::Lt, to)];
        multiples(scan(&many.snapshot(), &[ID], predicates), 0, by)
    };
    use PairingKind as K;
    for (kind, other, kept, rows_read) in [
        (K::Inner, K::Semi, true, 50_000),
        (K::Semi, K::Anti, true, 50_000),
        (K::BuildOuter, K::ProbeOuter, true, 50_000),
        (K::BuildSemi, K::Semi, true, 50_000),
        (K::BuildAnti, K::Anti, true, 50_000),
        (K::Anti, K::Anti, false, 200_000),
        (K::ProbeOuter, K::ProbeOuter, false, 200_000),
        (K::Single, K::Mark, false, 200_000),
        (K::Mark, K::Single, false, 200_000),
        // The second one needs partners, and leaves out rows below the first one, of all chunks.
        (K::Mark, K::Semi, true, 200_000),
        (K::Anti, K::BuildSemi, true, 200_000),
    ] {
        // Few keys of the third chunk; by a second join, each other one.
        let first = node(join(kind, side(1), limited(100_000, 110_000, 50), one_key(0, 0)));
        let plan = node(join(other, first, limited(0, 200_000, 100), one_key(0, 0)));
        let mut stream =
            pool.execute(PhysicalPlan { root: plan }, QueryOptions::default()).unwrap();
        let found = rows_of(&stream.collect_batches().unwrap()).len();
        // Of 200 ids of the first join's build side 100 are of the second's, which has 2,000.
        let wanted = match (kind, other) {
            (K::Anti, K::BuildSemi) => 2_000 - 100,
            (K::Anti, _) => 200_000 - 200 - (2_000 - 100),
            (K::Mark, K::Semi) => 2_000,
            (K::BuildAnti, _) => 0,
            (_, K::Semi | K::Anti) => 100,
            (K::BuildOuter, _) => 200,
            _ => 200_000,
        };
        assert_eq!(found, wanted, "{kind:?} {other:?}");
        let report = stream.report();
        let read = report.pipelines.iter().rfind(|one| one[0].name == "scan").unwrap()[0].rows_out;
        // The scan of the probe side hands on what the joins may want.
        assert_eq!(read < 10_000, kept, "{kind:?} {other:?}: {read}");
        assert_eq!(report.scans.last().unwrap().rows_read, rows_read, "{kind:?} {other:?}");
    }
}

#[test]
fn scan_leaves_out_hot_rows_whose_key_the_build_side_lacks() {
    let store = store();
    let (few, many) = (ids(&store, "few", 100), ids(&store, "many", 50));
    let rows: Vec<_> = (50..40_000).map(|id| row(id, 5)).collect();
    let inserted = insert(&store, &many, &rows);
    // A row with versions is not asked for its key.
    let mut writer = store.begin(IsolationLevel::RepeatableRead);
    writer.update(&many, inserted[30_000 - 50], &[(ID, ValueRef::Int(7))]).unwrap();
    let pool = pool(1);
    for (snapshot, partners) in [
        (store.begin(IsolationLevel::RepeatableRead).table_snapshot(&many), 100),
        (writer.table_snapshot(&many), 101),
    ] {
        let build = scan(&few.snapshot(), &[ID], Vec::new());
        for columns in [vec![ID], vec![TEXT, MODE, ID, SMALL]] {
            let key = columns.iter().position(|column| *column == ID).unwrap();
            let probe = scan(&snapshot, &columns, Vec::new());
            let joined = join(PairingKind::Inner, probe, build.clone(), one_key(key, 0));
            let plan = count_and_sum(node(joined), key);
            let mut stream =
                pool.execute(PhysicalPlan { root: plan }, QueryOptions::default()).unwrap();
            let found = rows_of(&stream.collect_batches().unwrap());
            let sum = (0..100).sum::<i128>() + if partners > 100 { 7 } else { 0 };
            assert_eq!(found, numbers(&[partners, sum]));
            let report = stream.report();
            let scan =
                report.pipelines.iter().rfind(|one| one[0].name == "scan").unwrap()[0].clone();
            assert!(scan.rows_out < 200, "{}", scan.rows_out);
        }
    }
}

#[test]
fn limit_over_a_join_stops_early() {
    let store = store();
    let table = ids(&store, "t", 100_000);
    let scan = || scan(&table.snapshot(), &[ID], Vec::new());
    let pool = pool(1);
    for keys in [Vec::new(), one_key(0, 0)] {
        let input = node(join(PairingKind::BuildOuter, scan(), scan(), keys));
        let root = PlanNode::Limit(Box::new(LimitNode {
            input,
            offset: 5,
            rows_max: Some(10),
            late: None,
        }));
        let mut stream = pool.execute(PhysicalPlan { root }, QueryOptions::default()).unwrap();
        let rows: usize = stream.collect_batches().unwrap().iter().map(|one| one.rows).sum();
        assert_eq!(rows, 10);
        let read: u64 = stream.report().scans.iter().map(|scan| scan.rows_read).sum();
        assert!(read <= 100_000 + 3 * 8_192, "{read}");
    }
}

#[test]
fn rows_of_a_limit_below_a_join_are_counted_before_it() {
    let store = store();
    let table = ids(&store, "t", 30_000);
    let limited = |rows| {
        let input = scan(&table.snapshot(), &[ID], Vec::new());
        PlanNode::Limit(Box::new(LimitNode { input, offset: 0, rows_max: Some(rows), late: None }))
    };
    let plan = node(join(PairingKind::Inner, limited(300), limited(70), Vec::new()));
    assert_eq!(run(&pool(3), plan).unwrap().len(), 300 * 70);
}

#[test]
fn join_beyond_the_budget_names_itself_and_the_setting() {
    let store = store();
    let table = ids(&store, "t", 60_000);
    let side = || scan(&table.snapshot(), &[ID, TEXT], Vec::new());
    let pool = pool(2);
    for (kind, keys, rows_out) in [
        (PairingKind::Inner, one_key(0, 0), 60_000),
        (PairingKind::Inner, one_key(1, 1), 60_000),
        (PairingKind::Mark, one_key(1, 1), 60_000),
        (PairingKind::Single, one_key(0, 0), 60_000),
        (PairingKind::BuildSemi, one_key(0, 0), 60_000),
        (PairingKind::BuildAnti, one_key(1, 1), 0),
    ] {
        let root = node(join(kind, side(), side(), keys));
        let run = |memory_bytes_max| {
            let options = QueryOptions { memory_bytes_max, ..QueryOptions::default() };
            let plan = PhysicalPlan { root: root.clone() };
            pool.execute(plan, options).unwrap().collect_batches()
        };
        let error = run(900_000).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::OutOfMemory, "{error}");
        let text = error.to_string();
        assert!(text.starts_with("join") && text.contains("NACRE_QUERY_MEMORY_MIB"), "{text}");
        let rows: usize = run(1 << 30).unwrap().iter().map(|batch| batch.rows).sum();
        assert_eq!(rows, rows_out, "{kind:?}");
    }
}

#[test]
fn all_pairs_of_large_tables_end_soon_when_canceled() {
    let store = store();
    let table = ids(&store, "t", 100_000);
    let scan = || scan(&table.snapshot(), &[ID], Vec::new());
    let pool = pool(2);
    for kind in KINDS {
        let mut joined = join(kind, scan(), scan(), Vec::new());
        never(&mut joined);
        let plan = PhysicalPlan { root: node(joined) };
        let mut stream = pool.execute(plan, QueryOptions::default()).unwrap();
        let control = stream.control();
        std::thread::sleep(Duration::from_millis(150));
        let start = Instant::now();
        control.cancel();
        let error = stream.next_batch().unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::Canceled);
        assert!(start.elapsed() < Duration::from_secs(1), "{kind:?} {:?}", start.elapsed());
    }
}

#[test]
fn all_pairs_past_their_deadline_end() {
    let store = store();
    let table = ids(&store, "t", 100_000);
    let scan = || scan(&table.snapshot(), &[ID], Vec::new());
    let joined = node(join(PairingKind::Inner, scan(), scan(), Vec::new()));
    let start = Instant::now();
    let deadline = Some(start + Duration::from_millis(300));
    let options = QueryOptions { deadline, ..QueryOptions::default() };
    let plan = PhysicalPlan { root: count_and_sum(joined, 0) };
    let error = pool(1).execute(plan, options).unwrap().next_batch().unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::DeadlineExceeded);
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn report_names_build_and_probe_with_their_rows() {
    let store = store();
    let (few, many) = (ids(&store, "few", 1_000), ids(&store, "many", 30_000));
    let side = |table: &Arc<Table>| scan(&table.snapshot(), &[ID], Vec::new());
    let root = node(join(PairingKind::ProbeOuter, side(&many), side(&few), one_key(0, 0)));
    let pool = pool(2);
    let mut stream = pool.execute(PhysicalPlan { root }, QueryOptions::default()).unwrap();
    stream.collect_batches().unwrap();
    let report = stream.report();
    let find = |name| {
        let mut all = report.pipelines.iter().flatten();
        all.find(|one| one.name == name).cloned().unwrap()
    };
    let build = find("join build");
    assert!(build.rows_in == 1_000 && build.bytes >= 16_000, "{build:?}");
    let probe = find("join");
    assert_eq!((probe.rows_in, probe.rows_out), (30_000, 30_000));
    let last = report.pipelines.last().unwrap();
    let names: Vec<_> = last.iter().map(|one| one.name).collect();
    assert_eq!(names, ["scan", "join", "result"]);
    assert_eq!(last[0].rows_out, 30_000);
    assert_eq!(report.scans.len(), 2);
}

#[test]
fn random_joins_agree_with_nested_loops() {
    let seed = std::env::var("NACRE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or(20_261_126);
    println!("NACRE_TEST_SEED={seed}");
    let mut random = SeededRandom(seed);
    let pools = [pool(1), pool(3)];
    for _ in 0..12 {
        let (probe, build) = (random.below(150) as i64, random.below(100) as i64);
        let sides = Sides::new(probe, build);
        let count = random.below(4) as usize;
        let columns: Vec<usize> = (0..count).map(|_| ALL[random.below(8) as usize]).collect();
        let residual = [None, Some(MONEY_IS_LESS), Some(MODE_DIFFERS)][random.below(3) as usize];
        println!("{probe} x {build} rows by {columns:?}");
        sides.check(&pools, &keys(&columns), residual, |scans| scans);
    }
}
