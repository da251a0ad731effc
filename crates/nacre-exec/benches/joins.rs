//! What does a row cost in a join of each kind, beside an inner join of the same tables?
//!
//! The larger table has as many rows as lineitem, the smaller one a quarter; all keys of the
//! smaller one are in the larger one. Keys are dense (an array finds them), sparse (a hash table
//! does) or repeated (dense, four rows a key in the smaller table). Each plan counts the rows that
//! come out and adds up a column of theirs; all are kept equal but the kind. The larger table is
//! probed. The store holds both in DRAM; one worker; figures are the best of several rounds.
//!
//! `cargo bench -p nacre-exec --bench joins [-- ROWS]`; as a test it runs with few rows.
#![allow(clippy::expect_used, reason = "a bench that cannot run may panic where it stands")]

use std::sync::Arc;
use std::time::Instant;

use nacre_column::{ColumnBuffer, ColumnType};
use nacre_exec::dispatch::{QueryOptions, WorkerPool, WorkerPoolOptions};
use nacre_exec::expression::ExpressionGraph;
use nacre_exec::plan::{
    AggregateCall, AggregateFunction, AggregateNode, JoinKey, JoinNode, PairingKind, PhysicalPlan,
    PlanNode, ScanNode,
};
use nacre_exec::value::{IntLimit, ScalarValue};
use nacre_simd::Flavour;
use nacre_store::{ColumnDef, OpenOptions, Store, Table, TableSchema, Value};

/// Repetitions of which the best counts.
const ROUNDS: usize = 5;

/// Rows of a chunk.
const CHUNK_ROWS: i64 = 1 << 16;

/// Spreads keys over 61 bits.
const SPREAD: i64 = 1_000_003;

const KINDS: [PairingKind; 9] = [
    PairingKind::Inner,
    PairingKind::ProbeOuter,
    PairingKind::BuildOuter,
    PairingKind::Single,
    PairingKind::Semi,
    PairingKind::Anti,
    PairingKind::Mark,
    PairingKind::BuildSemi,
    PairingKind::BuildAnti,
];

/// Makes a table of keys and values.
fn table(store: &Store, name: &str, rows: i64, key: impl Fn(i64) -> i64) -> Arc<Table> {
    let column = |name: &str| ColumnDef {
        name: name.into(),
        column_type: ColumnType::BigInt,
        is_nullable: false,
        replicas: None,
    };
    let schema = TableSchema {
        name: name.into(),
        columns: vec![column("key"), column("value")],
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    };
    let table = store.create_table(schema).expect("is new");
    let load = store.begin_load(&table).expect("begins");
    for (index, start) in (0..rows).step_by(CHUNK_ROWS as usize).enumerate() {
        let mut buffers = [ColumnType::BigInt; 2].map(ColumnBuffer::new);
        for row in start..rows.min(start + CHUNK_ROWS) {
            Value::Int(key(row)).as_ref().push_to(&mut buffers[0]);
            Value::Int(row % 1_000).as_ref().push_to(&mut buffers[1]);
        }
        load.append_chunk(index as u64, &buffers).expect("fits");
    }
    load.commit().expect("commits");
    table
}

fn plan(kind: PairingKind, probe: &Arc<Table>, build: &Arc<Table>) -> PhysicalPlan {
    let scan = |table: &Arc<Table>| {
        let (snapshot, columns, predicates) = (table.snapshot(), vec![0, 1], Vec::new());
        PlanNode::Scan(ScanNode { snapshot, columns, has_row_ids: false, predicates, sample: None })
    };
    let join = JoinNode {
        kind,
        probe: scan(probe),
        build: scan(build),
        keys: vec![JoinKey { probe: 0, build: 0 }],
        probe_conditions: Vec::new(),
        graph: ExpressionGraph::default(),
        predicates: Vec::new(),
    };
    let call = |function, argument| AggregateCall::new(function, argument, IntLimit::NUMERIC);
    let aggregates =
        vec![call(AggregateFunction::CountRows, None), call(AggregateFunction::Sum, Some(1))];
    let (input, keys) = (PlanNode::Join(Box::new(join)), Vec::new());
    PhysicalPlan {
        root: PlanNode::Aggregate(Box::new(AggregateNode {
            input,
            keys,
            dependents: Vec::new(),
            aggregates,
        })),
    }
}

/// Returns the rows that came out and the milliseconds it took.
fn run(pool: &WorkerPool, plan: &PhysicalPlan) -> (i128, f64) {
    let start = Instant::now();
    let mut stream = pool.execute(plan.clone(), QueryOptions::default()).expect("prepares");
    let batches = stream.collect_batches().expect("runs");
    let time = start.elapsed().as_secs_f64() * 1e3;
    match batches[0].columns[0].scalar(0) {
        ScalarValue::Int(rows) => (rows, time),
        other => panic!("a count is {other:?}"),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let rows = arguments.iter().find_map(|argument| argument.parse().ok());
    let rows: i64 = rows.unwrap_or(if is_bench { 6_001_215 } else { 20_000 });
    let rounds = if is_bench { ROUNDS } else { 1 };
    let (is_pinned, memory_bytes_max, flavour) = (false, 1 << 30, Flavour::active());
    let options =
        WorkerPoolOptions { threads: 1, is_pinned, memory_bytes_max, flavour, spill: None };
    let pool = WorkerPool::new(&options).expect("there are threads");
    let store = Store::open(OpenOptions::default()).expect("opens");
    let few = rows / 4;
    let spread = |key: i64| key.wrapping_mul(SPREAD) & ((1 << 61) - 1);
    let large = table(&store, "large", rows, |row| row);
    let sides = [
        ("dense", Arc::clone(&large), table(&store, "dense", few, |row| row * 4), few),
        (
            "sparse",
            table(&store, "sparse_large", rows, spread),
            table(&store, "sparse", few, |row| spread(row * 4)),
            few,
        ),
        ("repeated", large, table(&store, "repeated", few, |row| row / 4 * 16), (few + 3) / 4),
    ];
    for (name, probe, build, keys) in &sides {
        let mut inner = f64::INFINITY;
        for kind in KINDS {
            // A second partner is an error there.
            if *name == "repeated" && kind == PairingKind::Single {
                continue;
            }
            let plan = plan(kind, probe, build);
            let runs: Vec<_> = (0..rounds).map(|_| run(&pool, &plan)).collect();
            let best = runs.iter().map(|(_, time)| *time).fold(f64::INFINITY, f64::min);
            if kind == PairingKind::Inner {
                inner = best;
            }
            let found = runs[0].0;
            let wanted = match kind {
                PairingKind::Inner | PairingKind::BuildOuter | PairingKind::BuildSemi => few,
                PairingKind::ProbeOuter => rows - keys + few,
                PairingKind::Semi => *keys,
                PairingKind::Anti => rows - keys,
                PairingKind::BuildAnti => 0,
                _ => rows,
            };
            assert_eq!(found, i128::from(wanted), "{name} {kind:?}");
            let per_row = best * 1e6 / rows as f64;
            println!(
                "join/{name}/{kind:<11?} {best:>8.2} ms {per_row:>6.2} ns/row, {:.2} x inner, \
                 {found} rows",
                best / inner
            );
        }
    }
}
