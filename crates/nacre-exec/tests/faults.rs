//! Media faults under a running query: it answers from other replicas, or names what is lost.

#![allow(clippy::single_range_in_vec_init, reason = "a table has a chunk for each range")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::fs::OpenOptions as FileOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use nacre_exec::expression::{
    ExpressionGraph, ExpressionNode, ForeignCall, ForeignFunction, ForeignKernel,
};
use nacre_exec::plan::{
    AggregateCall, AggregateFunction, AggregateNode, JoinKey, JoinNode, MapNode, PairingKind,
    PhysicalPlan, PlanNode, SortKey, SortNode,
};
use nacre_exec::value::{IntBounds, IntLimit, ScalarValue, ValueClass};
use nacre_exec::vector::ColumnVector;
use nacre_exec::{ExecError, ExecErrorKind, ExecResult};
use nacre_store::{BlockLocation, OpenOptions, Store, Table};
use support::{ID, MODE, MONEY, SMALL, TEXT, pool, rows_of, run, scan, table};

type Sabotage = Box<dyn FnOnce() + Send>;

/// What the next vector of a query does; tests take turns.
static SABOTAGE: Mutex<Option<Sabotage>> = Mutex::new(None);
static TURN: Mutex<()> = Mutex::new(());

/// Returns its argument, and does what there is to do once.
fn sabotage(call: &ForeignCall<'_>, out: &mut ColumnVector) -> ExecResult<()> {
    happens();
    copy(call, out);
    Ok(())
}

/// As [`sabotage`], and fails where it did something.
fn failing_sabotage(call: &ForeignCall<'_>, out: &mut ColumnVector) -> ExecResult<()> {
    if happens() {
        return Err(ExecError::Internal { reason: "bytes that make no sense".into() });
    }
    copy(call, out);
    Ok(())
}

fn happens() -> bool {
    let planned = SABOTAGE.lock().unwrap_or_else(PoisonError::into_inner).take();
    planned.map(|planned| planned()).is_some()
}

fn copy(call: &ForeignCall<'_>, out: &mut ColumnVector) {
    let argument = call.arguments[0];
    for row in 0..call.rows {
        out.values.push_int(argument.values.int(row).unwrap_or(0));
    }
}

const CHUNK: i64 = 20_000;

fn open(directory: &Path) -> (Store, Arc<Table>) {
    let directory = Some(directory.into());
    let store = Store::open(OpenOptions { directory, ..OpenOptions::default() }).unwrap();
    let chunks: Vec<_> = (0..4).map(|at| at * CHUNK..(at + 1) * CHUNK).collect();
    let table = table(&store, "t", &chunks, 5);
    (store, table)
}

/// All ids, through a map that the fault happens in.
fn plan_of_rows(table: &Arc<Table>, kernel: ForeignKernel) -> PlanNode {
    let input = scan(&table.snapshot(), &[ID], Vec::new());
    let mut graph = ExpressionGraph::default();
    let id = graph.column(0, ValueClass::Int).unwrap();
    let bounds = IntBounds::I64;
    let function = ForeignFunction::new("sabotage", kernel, ValueClass::Int, bounds, false);
    let value = graph.add(ExpressionNode::Foreign { function, arguments: vec![id] }).unwrap();
    PlanNode::Map(Box::new(MapNode { input, graph, outputs: vec![value] }))
}

/// Groups by mode: counts, sums and texts, over a map that the fault happens in.
fn plan(table: &Arc<Table>) -> PlanNode {
    let input = scan(&table.snapshot(), &[ID, MODE, MONEY, SMALL, TEXT], Vec::new());
    let mut graph = ExpressionGraph::default();
    let columns: Vec<_> =
        [ValueClass::Int, ValueClass::Bytes, ValueClass::Int, ValueClass::Int, ValueClass::Bytes]
            .into_iter()
            .enumerate()
            .map(|(at, class)| graph.column(at, class).unwrap())
            .collect();
    let bounds = IntBounds::I64;
    let function = ForeignFunction::new("sabotage", sabotage, ValueClass::Int, bounds, false);
    let arguments = vec![columns[0]];
    let id = graph.add(ExpressionNode::Foreign { function, arguments }).unwrap();
    let outputs = vec![id, columns[1], columns[2], columns[3], columns[4]];
    let map = PlanNode::Map(Box::new(MapNode { input, graph, outputs }));
    let call = |function, column| AggregateCall::new(function, Some(column), IntLimit::NUMERIC);
    let aggregates = vec![
        call(AggregateFunction::Sum, 0),
        call(AggregateFunction::AverageState, 2),
        call(AggregateFunction::Sum, 3),
        call(AggregateFunction::Max, 4),
        call(AggregateFunction::CountDistinct, 3),
    ];
    PlanNode::Aggregate(Box::new(AggregateNode {
        input: map,
        keys: vec![1],
        dependents: Vec::new(),
        aggregates,
    }))
}

/// Where the blocks of a replica are, of the columns that the plan reads.
fn blocks(table: &Arc<Table>, replica: u8) -> Vec<BlockLocation> {
    let mut found = Vec::new();
    for chunk in table.snapshot().chunks().unwrap() {
        for column in [ID, MODE, MONEY, SMALL, TEXT] {
            found.extend(chunk.locations(column).into_iter().filter(|one| one.replica == replica));
        }
    }
    found
}

fn flip(location: &BlockLocation) {
    let path: &PathBuf = location.pool_path.as_ref().unwrap();
    let mut file = FileOptions::new().read(true).write(true).open(path).unwrap();
    let at = location.offset + location.bytes / 2;
    let mut byte = [0];
    file.seek(SeekFrom::Start(at)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&[byte[0] ^ 0x10]).unwrap();
}

fn cut(location: &BlockLocation) {
    let path = location.pool_path.as_ref().unwrap();
    FileOptions::new().write(true).open(path).unwrap().set_len(4_096).unwrap();
}

fn remove(location: &BlockLocation) {
    // Removed before, as several blocks lie in one file.
    let _ = std::fs::remove_file(location.pool_path.as_ref().unwrap());
}

#[test]
fn query_answers_from_the_other_replica_whatever_happens_to_a_file_under_it() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for fault in [flip as fn(&BlockLocation), cut, remove] {
        for replica in [0, 1] {
            for threads in [1, 2, 4] {
                let directory = tempfile::tempdir().unwrap();
                let (_store, table) = open(directory.path());
                let pool = pool(threads);
                let wanted = support::sorted(run(&pool, plan(&table)).unwrap());
                let blocks = blocks(&table, replica);
                assert!(!blocks.is_empty());
                *SABOTAGE.lock().unwrap() = Some(Box::new(move || blocks.iter().for_each(fault)));
                let found = support::sorted(run(&pool, plan(&table)).unwrap());
                assert!(SABOTAGE.lock().unwrap().is_none(), "it happened");
                assert_eq!(found, wanted, "replica {replica}, {threads} workers");
                // What was found damaged is not read again.
                assert_eq!(support::sorted(run(&pool, plan(&table)).unwrap()), wanted);
            }
        }
    }
}

#[test]
fn rows_of_a_run_that_failed_are_not_in_the_answer_of_the_next_one() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let pool = pool(4);
    for _ in 0..8 {
        let directory = tempfile::tempdir().unwrap();
        let (_store, table) = open(directory.path());
        let blocks = blocks(&table, 0);
        *SABOTAGE.lock().unwrap() = Some(Box::new(move || blocks.iter().for_each(flip)));
        let mut found = run(&pool, plan_of_rows(&table, failing_sabotage)).unwrap();
        assert!(SABOTAGE.lock().unwrap().is_none(), "it happened");
        let id = |row: &Vec<ScalarValue>| match row[0] {
            ScalarValue::Int(id) => id,
            ref other => panic!("{other:?}"),
        };
        found.sort_unstable_by_key(id);
        assert!(found.iter().map(id).eq(0..i128::from(4 * CHUNK)), "each row once");
    }
}

/// Groups over a join; the fault happens in a map below its build side, or below its probe side.
fn plan_of_join(table: &Arc<Table>, kind: PairingKind, is_in_build: bool) -> PlanNode {
    let faulty = plan_of_rows(table, sabotage);
    let plain = scan(&table.snapshot(), &[ID, MODE, TEXT], Vec::new());
    let (probe, build) = if is_in_build { (plain, faulty) } else { (faulty, plain) };
    let id = if is_in_build { 0 } else { 1 };
    let keys = vec![JoinKey { probe: 0, build: 0 }];
    let (graph, predicates) = (ExpressionGraph::default(), Vec::new());
    let probe_conditions = Vec::new();
    let join = JoinNode { kind, probe, build, keys, probe_conditions, graph, predicates };
    let call = |function, column| AggregateCall::new(function, Some(column), IntLimit::NUMERIC);
    let aggregates = vec![call(AggregateFunction::Sum, id), call(AggregateFunction::Max, id + 2)];
    let input = PlanNode::Join(Box::new(join));
    PlanNode::Aggregate(Box::new(AggregateNode {
        input,
        keys: vec![id + 1],
        dependents: Vec::new(),
        aggregates,
    }))
}

#[test]
fn join_answers_the_same_if_files_change_while_it_builds_or_probes() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for (fault, replica) in [(flip as fn(&BlockLocation), 0), (cut, 1), (remove, 0)] {
        for is_in_build in [true, false] {
            for (kind, threads) in [(PairingKind::Inner, 1), (PairingKind::FullOuter, 3)] {
                let directory = tempfile::tempdir().unwrap();
                let (_store, table) = open(directory.path());
                let pool = pool(threads);
                let plan = || plan_of_join(&table, kind, is_in_build);
                let wanted = support::sorted(run(&pool, plan()).unwrap());
                let blocks = blocks(&table, replica);
                *SABOTAGE.lock().unwrap() = Some(Box::new(move || blocks.iter().for_each(fault)));
                let found = support::sorted(run(&pool, plan()).unwrap());
                assert!(SABOTAGE.lock().unwrap().is_none(), "it happened");
                assert_eq!(found, wanted, "{kind:?} {is_in_build}");
            }
        }
    }
}

#[test]
fn query_without_a_good_replica_names_table_column_and_chunk() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = tempfile::tempdir().unwrap();
    let (_store, table) = open(directory.path());
    let pool = pool(2);
    let all: Vec<_> = [0, 1].iter().flat_map(|replica| blocks(&table, *replica)).collect();
    *SABOTAGE.lock().unwrap() = Some(Box::new(move || all.iter().for_each(cut)));
    let error = run(&pool, plan(&table)).unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::Store);
    let text = error.to_string();
    assert!(text.contains("table \"t\", column ") && text.contains(", chunk "), "{text}");
    // The next query of the same pool is not affected.
    let (_store, other) = {
        let store = Store::open(OpenOptions::default()).unwrap();
        let other = support::table(&store, "u", &[0..100], 5);
        (store, other)
    };
    assert_eq!(run(&pool, scan(&other.snapshot(), &[ID], Vec::new())).unwrap().len(), 100);
}

/// The aggregates of chunks lie in directories.
#[test]
fn aggregates_of_whole_tables_need_no_block() {
    let directory = tempfile::tempdir().unwrap();
    let (_store, table) = open(directory.path());
    let pool = pool(2);
    let plan = |functions: &[(AggregateFunction, usize)]| {
        let input = scan(&table.snapshot(), &[ID, MODE, MONEY], Vec::new());
        let call = |(function, column): &(AggregateFunction, usize)| {
            AggregateCall::new(*function, Some(*column), IntLimit::NUMERIC)
        };
        let aggregates = functions.iter().map(call).collect();
        let (keys, dependents) = (Vec::new(), Vec::new());
        PlanNode::Aggregate(Box::new(AggregateNode { input, keys, dependents, aggregates }))
    };
    let told =
        [(AggregateFunction::Max, 0), (AggregateFunction::Min, 1), (AggregateFunction::Sum, 2)];
    let wanted = run(&pool, plan(&told)).unwrap();
    [0, 1].iter().flat_map(|replica| blocks(&table, *replica)).for_each(|block| flip(&block));
    assert_eq!(run(&pool, plan(&told)).unwrap(), wanted);
    assert_eq!(
        wanted[0][..2],
        [ScalarValue::Int(i128::from(4 * CHUNK - 1)), ScalarValue::Bytes(b"AIR".to_vec()),]
    );
    let error = run(&pool, plan(&[(AggregateFunction::CountDistinct, 0)])).unwrap_err();
    assert_eq!(error.kind(), ExecErrorKind::Store);
}

#[test]
fn answer_that_is_out_before_a_file_changed_ends_in_an_error() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = tempfile::tempdir().unwrap();
    let (_store, table) = open(directory.path());
    let pool = pool(1);
    let input = scan(&table.snapshot(), &[ID, TEXT], Vec::new());
    let options = nacre_exec::dispatch::QueryOptions { result_bytes_max: 1, ..Default::default() };
    let mut stream = pool.execute(PhysicalPlan { root: input }, options).unwrap();
    let first = stream.next_batch().unwrap().unwrap();
    assert_eq!(rows_of(&[first])[0][0], ScalarValue::Int(0));
    blocks(&table, 0).iter().chain(&blocks(&table, 1)).for_each(flip);
    let mut outcome = Ok(());
    while outcome.is_ok() {
        match stream.next_batch() {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) => outcome = Err(error),
        }
    }
    assert_eq!(outcome.unwrap_err().kind(), ExecErrorKind::Store);
}

/// Ids, through a map that the fault happens in, with columns that are fetched after it.
fn rows_to_fetch(table: &Arc<Table>) -> PlanNode {
    let input = scan(&table.snapshot(), &[ID, MODE, MONEY, TEXT], Vec::new());
    let mut graph = ExpressionGraph::default();
    let classes = [ValueClass::Int, ValueClass::Bytes, ValueClass::Int, ValueClass::Bytes];
    let mut outputs: Vec<_> =
        (0..).zip(classes).map(|(at, class)| graph.column(at, class).unwrap()).collect();
    let (kernel, bounds) = (sabotage as ForeignKernel, IntBounds::I64);
    let function = ForeignFunction::new("sabotage", kernel, ValueClass::Int, bounds, false);
    let arguments = vec![outputs[0]];
    outputs[0] = graph.add(ExpressionNode::Foreign { function, arguments }).unwrap();
    PlanNode::Map(Box::new(MapNode { input, graph, outputs }))
}

/// The last ids.
fn last_rows(input: PlanNode) -> PlanNode {
    let keys = vec![SortKey { column: 0, is_descending: true, is_nulls_first: false }];
    PlanNode::Sort(Box::new(SortNode { input, keys, rows_max: Some(9) }))
}

/// The last ids right above such rows, and where a group of each id, or a join below it, has the
/// places of rows.
fn plans_of_top(table: &Arc<Table>) -> [PlanNode; 3] {
    let groups = |input, keys: &[usize], dependents: &[usize]| {
        let (keys, dependents) = (keys.to_vec(), dependents.to_vec());
        let aggregates = Vec::new();
        PlanNode::Aggregate(Box::new(AggregateNode { input, keys, dependents, aggregates }))
    };
    let joined = PlanNode::Join(Box::new(JoinNode {
        kind: PairingKind::Inner,
        probe: scan(&table.snapshot(), &[ID], Vec::new()),
        build: rows_to_fetch(table),
        keys: vec![JoinKey { probe: 0, build: 0 }],
        probe_conditions: Vec::new(),
        graph: ExpressionGraph::default(),
        predicates: Vec::new(),
    }));
    [
        last_rows(rows_to_fetch(table)),
        last_rows(groups(rows_to_fetch(table), &[0], &[1, 2, 3])),
        last_rows(groups(joined, &[0], &[2, 3, 4])),
    ]
}

#[test]
fn columns_are_fetched_from_the_other_replica_whatever_happened_to_a_file_meanwhile() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for fault in [flip as fn(&BlockLocation), cut, remove] {
        for replica in [0, 1] {
            for (plan, threads) in (0..3).flat_map(|plan| [(plan, 1), (plan, 3)]) {
                let directory = tempfile::tempdir().unwrap();
                let (_store, table) = open(directory.path());
                let pool = pool(threads);
                let root = || plans_of_top(&table)[plan].clone();
                let facts = root().describe().facts;
                assert!(facts.contains(&("fetched", "mode, money, text".to_owned())), "{facts:?}");
                let wanted = support::sorted(run(&pool, root()).unwrap());
                assert_eq!(wanted.len(), 9);
                let blocks = blocks(&table, replica);
                *SABOTAGE.lock().unwrap() = Some(Box::new(move || blocks.iter().for_each(fault)));
                let found = support::sorted(run(&pool, root()).unwrap());
                assert!(SABOTAGE.lock().unwrap().is_none(), "it happened");
                assert_eq!(found, wanted, "plan {plan}, replica {replica}, {threads} workers");
            }
        }
    }
}

#[test]
fn column_to_fetch_without_a_good_replica_is_named() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = tempfile::tempdir().unwrap();
    let (_store, table) = open(directory.path());
    let last = table.snapshot().chunks().unwrap().pop().unwrap();
    last.locations(MONEY).iter().for_each(flip);
    for plan in plans_of_top(&table) {
        let error = run(&pool(2), plan).unwrap_err();
        assert_eq!(error.kind(), ExecErrorKind::Store);
        let text = error.to_string();
        assert!(text.contains("table \"t\", column \"money\", chunk 3"), "{text}");
    }
}
