//! Joins for subqueries: whether there is a partner, or that there is one at most.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::time::{Duration, Instant};

use nacre_column::CompareOp;
use nacre_exec::expression::{ArithmeticOp, ExpressionNode};
use nacre_exec::plan::{AggregateNode, JoinNode, LimitNode, PairingKind, PlanNode, RowsNode};
use nacre_exec::value::{IntLimit, ScalarValue, ValueClass};
use nacre_exec::{ExecError, ExecErrorKind};
use support::joins::{
    KINDS, count_and_sum, ids, join, multiples, node, numbers, one_key, store, with_remainder,
};
use support::{FLAG, ID, pool, run, scan};

/// Keeps pairs whose build side's id, which is `column`, is `value` or greater.
fn with_least(mut joined: JoinNode, column: usize, value: i128) -> PlanNode {
    let id = joined.graph.column(column, ValueClass::Int).unwrap();
    let bound = joined.graph.int(value).unwrap();
    joined.predicates = vec![joined.graph.compare(CompareOp::Ge, id, bound).unwrap()];
    node(joined)
}

/// Counts the rows of a plan and adds up their first column; null of no rows.
fn counted(rows: impl Iterator<Item = i128>) -> Vec<Vec<ScalarValue>> {
    let rows: Vec<i128> = rows.collect();
    match rows.len() {
        0 => vec![vec![ScalarValue::Int(0), ScalarValue::Null(ValueClass::Int)]],
        count => numbers(&[count as i128, rows.iter().sum()]),
    }
}

#[test]
fn one_partner_is_enough() {
    let store = store();
    let table = ids(&store, "t", 100_000);
    let scan = || scan(&table.snapshot(), &[ID], Vec::new());
    let start = Instant::now();
    for pool in [pool(1), pool(4)] {
        // Ten thousand million pairs; the first partner satisfies the condition, or a later one.
        for (least, step) in [(None, 1), (Some(0), 1), (Some(1_000), 500)] {
            for kind in [PairingKind::Semi, PairingKind::Mark, PairingKind::Anti] {
                let joined = join(kind, multiples(scan(), 0, step), scan(), Vec::new());
                let joined = match least {
                    Some(least) => with_least(joined, 1, least),
                    None => node(joined),
                };
                let is_none = kind == PairingKind::Anti;
                let rows = (0..100_000).filter(|id| id % step == 0 && !is_none);
                let found = run(&pool, count_and_sum(joined, 0)).unwrap();
                assert_eq!(found, counted(rows), "{kind:?} {least:?}");
            }
        }
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// Keeps pairs whose build side's id, which is `column`, is `kept`; fails for `failing`.
fn with_failing(mut joined: JoinNode, column: usize, kept: i128, failing: i128) -> PlanNode {
    let graph = &mut joined.graph;
    let id = graph.column(column, ValueClass::Int).unwrap();
    let [one, kept, failing] = [1, kept, failing].map(|value| graph.int(value).unwrap());
    let is_kept = graph.compare(CompareOp::Eq, id, kept).unwrap();
    let is_failing = graph.compare(CompareOp::Eq, id, failing).unwrap();
    let (minus, divided) = (ArithmeticOp::Subtract, ArithmeticOp::Divide);
    let none = graph.arithmetic(minus, id, failing, IntLimit::BIGINT).unwrap();
    let quotient = graph.arithmetic(divided, one, none, IntLimit::BIGINT).unwrap();
    let fails = graph.compare(CompareOp::Eq, quotient, one).unwrap();
    let right = graph.add(ExpressionNode::And { left: is_failing, right: fails }).unwrap();
    let either = graph.add(ExpressionNode::Or { left: is_kept, right }).unwrap();
    joined.predicates = vec![either];
    node(joined)
}

#[test]
fn no_condition_fails_behind_the_pair_that_decides() {
    let store = store();
    let table = ids(&store, "t", 40);
    let scan = || scan(&table.snapshot(), &[ID], Vec::new());
    let side = || with_remainder(scan(), 1, 1);
    for pool in [pool(1), pool(4)] {
        for kind in [PairingKind::Semi, PairingKind::Anti, PairingKind::Mark] {
            for keys in [Vec::new(), one_key(1, 1)] {
                let rows = |kept: i128, failing: i128| {
                    let joined = join(kind, multiples(side(), 0, 9), side(), keys.clone());
                    run(&pool, with_failing(joined, 2, kept, failing)).map(|rows| rows.len())
                };
                // All rows are decided by the one that comes first.
                for (one, other) in (0..40).flat_map(|one| (0..one).map(move |other| (one, other)))
                {
                    let found = [rows(one, other), rows(other, one)];
                    let errors = found.iter().filter_map(|found| found.as_ref().err());
                    let kinds: Vec<_> = errors.map(ExecError::kind).collect();
                    assert_eq!(kinds, [ExecErrorKind::DivisionByZero], "{kind:?} {one} {other}");
                    let count = found.into_iter().find_map(Result::ok);
                    let wanted = if kind == PairingKind::Anti { 0 } else { 5 };
                    assert_eq!(count, Some(wanted), "{kind:?} {one} {other}");
                }
                // Nobody decides before.
                assert!(rows(40, 7).is_err(), "{kind:?}");
            }
        }
    }
}

#[test]
fn rows_of_the_build_side_are_marked_once() {
    let store = store();
    let table = ids(&store, "t", 100_000);
    let side = |modulus| with_remainder(scan(&table.snapshot(), &[ID], Vec::new()), 1, modulus);
    let check = |plan: PlanNode, wanted: &dyn Fn(i128) -> bool| {
        for pool in [pool(1), pool(4)] {
            let found = run(&pool, count_and_sum(plan.clone(), 0)).unwrap();
            assert_eq!(found, counted((0..100_000).filter(|id| wanted(*id))));
        }
    };
    let start = Instant::now();
    for (kind, is_kept) in [(PairingKind::BuildSemi, true), (PairingKind::BuildAnti, false)] {
        // Two keys of 50,000 rows on each side, 5,000 million pairs; and without keys.
        check(node(join(kind, side(2), side(2), one_key(1, 1))), &|_| is_kept);
        check(node(join(kind, side(2), side(2), Vec::new())), &|_| is_kept);
        // Some rows of a key satisfy a condition, and some keys have no partner.
        let few = multiples(side(1_000), 0, 40);
        let some = with_least(join(kind, few, side(1_000), one_key(1, 1)), 2, 60_000);
        check(some, &|id| (id >= 60_000 && id % 40 == 0) == is_kept);
    }
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn second_partner_is_an_error_only_for_rows_that_are_reached() {
    let store = store();
    let table = ids(&store, "t", 60_000);
    let scan = || scan(&table.snapshot(), &[ID], Vec::new());
    // Of 0 to 59,999 modulo 50,000 the first ten thousand come twice.
    let twice = || with_remainder(scan(), 1, 50_000);
    for pool in [pool(1), pool(4)] {
        for is_conditional in [false, true] {
            let single = |probe: PlanNode| {
                let joined = join(PairingKind::Single, probe, twice(), one_key(0, 1));
                if is_conditional { with_least(joined, 1, 0) } else { node(joined) }
            };
            let error = run(&pool, single(scan())).unwrap_err();
            assert_eq!(error.kind(), ExecErrorKind::Cardinality);
            let text = "more than one row returned by a subquery used as an expression";
            assert_eq!(error.to_string(), text);
            let later = PlanNode::Filter(Box::new({
                let mut graph = nacre_exec::expression::ExpressionGraph::default();
                let id = graph.column(0, ValueClass::Int).unwrap();
                let bound = graph.int(10_000).unwrap();
                let predicates = vec![graph.compare(CompareOp::Ge, id, bound).unwrap()];
                nacre_exec::plan::FilterNode { input: scan(), graph, predicates }
            }));
            let found = run(&pool, count_and_sum(single(later), 2)).unwrap();
            assert_eq!(found, numbers(&[50_000, (10_000..50_000).sum()]));
        }
        // One row without keys, as a subquery that is not correlated has; and two.
        let limited = |rows| {
            let input = multiples(scan(), 0, 7_000);
            PlanNode::Limit(Box::new(LimitNode {
                input,
                offset: 1,
                rows_max: Some(rows),
                late: None,
            }))
        };
        let single = |rows| node(join(PairingKind::Single, scan(), limited(rows), Vec::new()));
        let found = run(&pool, count_and_sum(single(1), 0)).unwrap();
        assert_eq!(found, numbers(&[60_000, (0..60_000).sum()]));
        let found = run(&pool, count_and_sum(single(0), 0)).unwrap();
        assert_eq!(found, numbers(&[60_000, (0..60_000).sum()]));
        assert_eq!(run(&pool, single(2)).unwrap_err().kind(), ExecErrorKind::Cardinality);
        let none = node(join(
            PairingKind::Single,
            PlanNode::Rows(RowsNode::none([ValueClass::Int])),
            limited(2),
            Vec::new(),
        ));
        assert!(run(&pool, none).unwrap().is_empty());
    }
}

#[test]
fn sides_that_are_known_to_be_empty_are_joined_and_grouped() {
    let store = store();
    let table = ids(&store, "t", 3_000);
    let scan = || scan(&table.snapshot(), &[ID, FLAG], Vec::new());
    let empty = || PlanNode::Rows(RowsNode::none([ValueClass::Int, ValueClass::Bytes]));
    for pool in [pool(1), pool(3)] {
        for kind in KINDS {
            use PairingKind as K;
            let keeps_probe =
                matches!(kind, K::ProbeOuter | K::FullOuter | K::Single | K::Anti | K::Mark);
            let found = run(&pool, node(join(kind, scan(), empty(), one_key(0, 0)))).unwrap();
            assert_eq!(found.len(), if keeps_probe { 3_000 } else { 0 }, "{kind:?}");
            let keeps_build = matches!(kind, K::BuildOuter | K::FullOuter | K::BuildAnti);
            let found = run(&pool, node(join(kind, empty(), scan(), one_key(0, 0)))).unwrap();
            assert_eq!(found.len(), if keeps_build { 3_000 } else { 0 }, "{kind:?}");
        }
        let none = vec![vec![ScalarValue::Int(0), ScalarValue::Null(ValueClass::Int)]];
        assert_eq!(run(&pool, count_and_sum(empty(), 0)).unwrap(), none);
        let groups = AggregateNode {
            input: empty(),
            keys: vec![1],
            dependents: Vec::new(),
            aggregates: Vec::new(),
        };
        assert!(run(&pool, PlanNode::Aggregate(Box::new(groups))).unwrap().is_empty());
    }
}

#[test]
fn mark_that_nobody_reads_and_marks_that_are_conditions() {
    let store = store();
    let (few, many) = (ids(&store, "few", 3_000), ids(&store, "many", 50_000));
    let marked = || {
        let (many, few) =
            (scan(&many.snapshot(), &[ID], Vec::new()), scan(&few.snapshot(), &[ID], Vec::new()));
        node(join(PairingKind::Mark, many, few, one_key(0, 0)))
    };
    for pool in [pool(1), pool(3)] {
        let found = run(&pool, count_and_sum(marked(), 0)).unwrap();
        assert_eq!(found, numbers(&[50_000, (0..50_000).sum()]));
        // The mark is the condition of a join above: rows without one have no partner there.
        for (kind, rows) in [
            (PairingKind::Semi, 0..3_000),
            (PairingKind::Anti, 3_000..50_000),
            (PairingKind::ProbeOuter, 0..50_000),
        ] {
            let mut above = join(kind, marked(), marked(), Vec::new());
            above.keys = one_key(0, 0);
            above.probe_conditions = vec![1];
            let found = run(&pool, count_and_sum(node(above), 0)).unwrap();
            assert_eq!(found, numbers(&[(rows.end - rows.start), rows.sum()]), "{kind:?}");
        }
    }
}
