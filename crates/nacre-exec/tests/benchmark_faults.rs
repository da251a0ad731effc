//! Media faults under each of the 35 queries of TPC-H and SSB: before a query, and between its
//! vectors. With a good replica the answer is the same and what was lost is written again; without
//! one the query fails and names table, column and chunk, and others answer.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic where it stands")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions as FileOptions};
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use nacre_exec::dispatch::WorkerPool;
use nacre_exec::expression::{
    ExpressionGraph, ExpressionNode, ForeignCall, ForeignFunction, ForeignKernel,
};
use nacre_exec::lower::{PhysicalQuery, lower_query};
use nacre_exec::plan::{AppendNode, FilterNode, PlanNode};
use nacre_exec::value::{IntBounds, ValueClass};
use nacre_exec::vector::{BitVector, ColumnVector, VectorValues};
use nacre_exec::{ExecErrorKind, ExecResult};
use nacre_plan::optimizer::optimize;
use nacre_store::{BlockLocation, OpenOptions, Store, Table};
use nacre_types::ValueSettings;
use support::benchmarks::{SSB_QUERIES, TPCH_QUERIES, ssb_tables, tpch_tables};
use support::pool;
use support::statements::{TestDatabase, Texts, run_query, sorted};
use tempfile::TempDir;

type Fault = fn(&BlockLocation);

/// What is done to a file: a bit flips, the file ends early, ends early and grows again, is gone.
const FAULTS: [(&str, Fault); 4] =
    [("flip", flip), ("cut", cut), ("zero", cut_and_grow), ("remove", remove)];

/// How often a query fails for want of a block before the next query's turn.
const FAILURES_WANTED: usize = 2;

/// What happens behind so many vectors of all scans.
struct Sabotage {
    vectors: usize,
    blocks: Vec<BlockLocation>,
    fault: Fault,
}

/// Tests take turns.
static SABOTAGE: Mutex<Option<Sabotage>> = Mutex::new(None);
static TURN: Mutex<()> = Mutex::new(());

fn open_file(location: &BlockLocation) -> Option<File> {
    // Removed before, as several blocks lie in one file.
    FileOptions::new().read(true).write(true).open(location.pool_path.as_ref().unwrap()).ok()
}

fn flip(location: &BlockLocation) {
    let Some(file) = open_file(location) else { return };
    let (at, mut byte) = (location.offset + location.bytes / 2, [0]);
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
}

fn cut(location: &BlockLocation) {
    let Some(file) = open_file(location) else { return };
    let bytes = file.metadata().unwrap().len();
    file.set_len(bytes.min(location.offset)).unwrap();
}

fn cut_and_grow(location: &BlockLocation) {
    let Some(file) = open_file(location) else { return };
    let bytes = file.metadata().unwrap().len();
    file.set_len(location.offset).unwrap();
    file.set_len(bytes).unwrap();
}

fn remove(location: &BlockLocation) {
    let _ = std::fs::remove_file(location.pool_path.as_ref().unwrap());
}

/// Is true for every row, and does what there is to do.
fn sabotage(call: &ForeignCall<'_>, out: &mut ColumnVector) -> ExecResult<()> {
    let mut planned = SABOTAGE.lock().unwrap_or_else(PoisonError::into_inner);
    match &mut *planned {
        Some(Sabotage { vectors: 0, .. }) => {
            let Sabotage { blocks, fault, .. } = planned.take().unwrap();
            blocks.iter().for_each(fault);
        }
        Some(Sabotage { vectors, .. }) => *vectors -= 1,
        None => {}
    }
    out.values = VectorValues::Bool(BitVector::filled(call.rows, true));
    Ok(())
}

/// Puts what may do damage above each scan; its rows and columns stay what they are.
fn with_sabotage(node: &mut PlanNode) {
    node.inputs_mut().into_iter().for_each(with_sabotage);
    let PlanNode::Scan(scan) = node else { return };
    if scan.columns.is_empty() {
        return;
    }
    let nothing = PlanNode::Append(AppendNode { inputs: Vec::new() });
    let mut graph = ExpressionGraph::default();
    let kernel: ForeignKernel = sabotage;
    let class = ValueClass::of(scan.snapshot.table().column_type(scan.columns[0]));
    let first = graph.column(0, class).unwrap();
    let function =
        ForeignFunction::new("sabotage", kernel, ValueClass::Bool, IntBounds::I64, false);
    let truth = graph.add(ExpressionNode::Foreign { function, arguments: vec![first] }).unwrap();
    let input = std::mem::replace(node, nothing);
    *node = PlanNode::Filter(Box::new(FilterNode { input, graph, predicates: vec![truth] }));
}

/// The tables of a benchmark in files, two replicas of each block.
struct Benchmark {
    store: Store,
    database: TestDatabase,
    _directory: TempDir,
}

/// A query that is lowered, and its answer.
struct Prepared {
    name: &'static str,
    query: PhysicalQuery,
    answer: Texts,
    /// By table and column, as names: the blocks that it may read, of both replicas.
    blocks: BTreeMap<(String, String), Vec<BlockLocation>>,
}

impl Benchmark {
    fn tpch() -> Self {
        Self::of(tpch_tables)
    }

    fn ssb() -> Self {
        Self::of(ssb_tables)
    }

    fn of(tables: fn(&Store) -> Vec<Arc<Table>>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = Some(directory.path().into());
        let store = Store::open(OpenOptions { directory: path, ..OpenOptions::default() }).unwrap();
        let tables = tables(&store);
        let database = TestDatabase::new(store.clone(), &tables);
        let benchmark = Self { store, database, _directory: directory };
        benchmark.settle();
        benchmark
    }

    fn query(&self, sql: &str) -> PhysicalQuery {
        let plan = optimize(self.database.bind(sql), &self.database);
        let mut query = lower_query(&plan, &self.database, &ValueSettings::default())
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        with_sabotage(&mut query.plan.root);
        query
    }

    fn prepare(&self, (name, sql): (&'static str, &'static str), pool: &WorkerPool) -> Prepared {
        let query = self.query(sql);
        let answer = run(pool, &query).unwrap();
        let blocks = self.blocks(&query);
        Prepared { name, query, answer, blocks }
    }

    /// Returns where the blocks lie that a query may read.
    fn blocks(&self, query: &PhysicalQuery) -> BTreeMap<(String, String), Vec<BlockLocation>> {
        let mut read = BTreeSet::new();
        query.plan.root.for_each_scan(&mut |scan| {
            let name = scan.snapshot.table().schema().name.clone();
            let tested = scan.predicates.iter().map(|predicate| predicate.column);
            let columns = scan.columns.iter().copied().chain(tested);
            read.extend(columns.map(|column| (name.clone(), column)));
        });
        let locations = |(table, column): (String, usize)| {
            let table = self.store.table(&table).unwrap();
            let schema = table.schema();
            let chunks = table.snapshot().chunks().unwrap();
            let locations = chunks.iter().flat_map(|chunk| chunk.locations(column)).collect();
            ((schema.name.clone(), schema.columns[column].name.clone()), locations)
        };
        read.into_iter().map(locations).collect()
    }

    /// Writes what was lost again; returns how many blocks it was.
    fn repair(&self) -> u64 {
        self.store.scrub(&mut |_| ControlFlow::Continue(())).unwrap();
        let report = self.store.repair(&mut |_| ControlFlow::Continue(())).unwrap();
        assert!(report.is_whole(), "{report:?}");
        self.settle();
        report.blocks
    }

    /// Does what there is to do, so that a fault that is noticed is all that there is.
    fn settle(&self) {
        while !self.store.maintain_step().unwrap().is_idle() {}
    }
}

/// Returns the rows, or the text of the error.
fn answer(pool: &WorkerPool, query: &PhysicalQuery) -> Result<Texts, String> {
    run(pool, query).map_err(|error| error.to_string())
}

/// Ties come in any order.
fn run(pool: &WorkerPool, query: &PhysicalQuery) -> ExecResult<Texts> {
    run_query(pool, query).map(sorted)
}

fn plan_sabotage(vectors: usize, blocks: Vec<BlockLocation>, fault: Fault) {
    *SABOTAGE.lock().unwrap() = Some(Sabotage { vectors, blocks, fault });
}

/// Whether what was planned has happened; it does not later.
fn has_happened() -> bool {
    SABOTAGE.lock().unwrap().take().is_none()
}

fn of_replica(prepared: &Prepared, replica: u8) -> Vec<BlockLocation> {
    let all = prepared.blocks.values().flatten();
    all.filter(|block| block.replica == replica).cloned().collect()
}

/// Damages a replica of all that a query reads before it, and between its vectors.
fn lose_replicas(benchmark: &Benchmark, queries: &[(&'static str, &'static str)]) {
    let pools = [1, 2, 4].map(pool);
    let mut with_rows = 0;
    for (at, query) in queries.iter().enumerate() {
        let mut reported = 0;
        for (number, (fault_name, fault)) in FAULTS.into_iter().enumerate() {
            let turn = at + number;
            let (pool, replica) = (&pools[turn % 3], (turn % 2) as u8);
            let is_before = (turn / 2) % 2 == 0;
            let prepared = benchmark.prepare(*query, pool);
            let blocks = of_replica(&prepared, replica);
            assert!(!blocks.is_empty() && !benchmark.store.has_work());
            if is_before {
                blocks.iter().for_each(fault);
            } else {
                plan_sabotage(turn % 4, blocks, fault);
            }
            let what =
                format!("{}, {fault_name} of replica {replica}, before: {is_before}", query.0);
            with_rows += usize::from(number == 0 && !prepared.answer.is_empty());
            let wanted = Ok(prepared.answer);
            assert_eq!(answer(pool, &prepared.query), wanted, "{what}");
            // A short query may be over before; one that reads the other replica notices nothing.
            let is_damaged = is_before || has_happened();
            reported += usize::from(benchmark.store.has_work());
            assert_eq!(benchmark.repair() > 0, is_damaged, "{what}");
            // What was written is read.
            assert_eq!(answer(pool, &prepared.query), wanted, "{what}");
        }
        assert!(reported > 0, "{}: no reader has noticed a fault", query.0);
    }
    assert!(with_rows * 10 >= queries.len() * 9, "{with_rows} of {} have rows", queries.len());
}

#[test]
fn queries_of_tpch_answer_the_same_from_other_replicas() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    lose_replicas(&Benchmark::tpch(), &TPCH_QUERIES);
}

#[test]
fn queries_of_ssb_answer_the_same_from_other_replicas() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    lose_replicas(&Benchmark::ssb(), &SSB_QUERIES);
}

/// Damages all replicas of a column's block of a chunk that a query reads, one column after the
/// other, before the query and between its vectors, until it has failed.
fn lose_blocks(benchmark: &Benchmark, queries: &[(&'static str, &'static str)]) {
    let pools = [1, 3].map(pool);
    for (at, query) in queries.iter().enumerate() {
        let mut failures = 0;
        let prepared = benchmark.prepare(*query, &pools[0]);
        let columns = prepared.blocks.len();
        // Each query begins with another one.
        let names = prepared.blocks.keys().cycle().skip(at).take(columns);
        for (number, (table, column)) in names.enumerate() {
            if failures == FAILURES_WANTED {
                break;
            }
            let blocks = benchmark.blocks(&prepared.query);
            let blocks = &blocks[&(table.clone(), column.clone())];
            let turn = at + number;
            let (pool, is_before) = (&pools[turn % 2], turn % 3 > 0);
            let chunks = blocks.len() / 2;
            let chunk = turn % chunks;
            let lost = blocks[2 * chunk..2 * chunk + 2].to_vec();
            assert_ne!(lost[0].replica, lost[1].replica);
            if is_before {
                lost.iter().for_each(flip);
            } else {
                plan_sabotage(turn % 3, lost.clone(), flip);
            }
            let what = format!("{}, {table}.{column}, chunk {chunk}", prepared.name);
            let outcome = run(pool, &prepared.query);
            let is_damaged = is_before || has_happened();
            match outcome {
                // What a scan or a join has left out was not read.
                Ok(found) => assert_eq!(found, prepared.answer, "{what}"),
                Err(error) => {
                    assert_eq!(error.kind(), ExecErrorKind::Store, "{what}: {error}");
                    let names = format!("table \"{table}\", column \"{column}\", chunk {chunk}: ");
                    assert!(error.to_string().starts_with(&names), "{what}: {error}");
                    assert!(is_damaged, "{what}: {error}");
                    failures += 1;
                }
            }
            let is_other = |one: &&(String, String)| **one != (table.clone(), column.clone());
            if let Some((table, other)) = prepared.blocks.keys().find(is_other) {
                let query = benchmark.query(&format!("select max({other}) from {table}"));
                assert_eq!(answer(pool, &query).unwrap().len(), 1, "{what}");
            }
            if is_damaged {
                lost.iter().for_each(flip);
            }
            let found = answer(pool, &prepared.query).unwrap();
            assert_eq!(found, prepared.answer, "{what}, whole again");
            benchmark.repair();
        }
        assert!(failures > 0, "{}: nothing that was lost has mattered", prepared.name);
    }
}

#[test]
fn queries_of_tpch_name_what_is_lost_and_others_answer() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    lose_blocks(&Benchmark::tpch(), &TPCH_QUERIES);
}

#[test]
fn queries_of_ssb_name_what_is_lost_and_others_answer() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    lose_blocks(&Benchmark::ssb(), &SSB_QUERIES);
}
