//! What do versions cost those who scan, and those who write?
//!
//! - `scan/...`: the sum of a column of 64-bit numbers in hot chunks, against the same numbers in
//!   plain vectors (`x plain`); without dirty rows, and with some that have one or four versions,
//!   for a snapshot from before the changes and one from after ([Muehlbauer16 figure 2.8]).
//! - `insert`, `update/columns=1|5|10`, `delin` (delete and insert): operations on a table of ten
//!   numbers, against the same chunks without concurrency control ([Muehlbauer16 table 2.2]), in
//!   transactions of one and of a hundred operations. Both run in turn; best of several rounds.
//!
//! `cargo bench -p nacre-store --bench mvcc [-- PREFIX [ROWS]]` prints the rows whose id starts
//! with PREFIX; 10 million rows unless said otherwise. One thread, DRAM only, no redo log. As a
//! test it checks the sums on few rows.
#![allow(clippy::expect_used, reason = "a bench that cannot run may panic where it stands")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use nacre_column::{CHUNK_ROWS, ColumnType};
use nacre_store::{
    ColumnDef, IsolationLevel, OpenOptions, RowId, SingleVersion, Snapshot, Store, Table,
    TableSchema, ValueRef,
};

const ROUNDS: usize = 7;

/// Operations that are timed together.
const OPERATIONS: usize = 100_000;

const LEVEL: IsolationLevel = IsolationLevel::RepeatableRead;

fn schema(columns: usize) -> TableSchema {
    let column = |index: usize| ColumnDef {
        name: format!("c{index}"),
        column_type: ColumnType::BigInt,
        is_nullable: false,
        replicas: None,
    };
    TableSchema {
        name: "t".into(),
        columns: (0..columns).map(column).collect(),
        primary_key: None,
        primary_key_name: String::new(),
        replicas: None,
    }
}

fn filled(columns: usize, rows: usize) -> (Store, Arc<Table>, Vec<RowId>) {
    let store = Store::open(OpenOptions::default()).expect("volatile database");
    let table = store.create_table(schema(columns)).expect("table");
    let mut ids = Vec::with_capacity(rows);
    for start in (0..rows).step_by(10_000) {
        let mut tx = store.begin(LEVEL);
        for row in start..(start + 10_000).min(rows) {
            let values = vec![ValueRef::Int(row as i64); columns];
            ids.push(tx.insert(&table, &values).expect("insert"));
        }
        tx.commit().expect("commit");
    }
    (store, table, ids)
}

/// Row numbers in an order that caches do not know.
fn scattered(count: usize, of: usize) -> impl Iterator<Item = usize> {
    (0..count as u64)
        .map(move |number| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize % of)
}

fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}

struct Options {
    prefix: String,
    rows: usize,
}

impl Options {
    fn wants(&self, id: &str) -> bool {
        id.starts_with(&self.prefix) || self.prefix.starts_with(id)
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let mut plain = arguments.iter().filter(|argument| !argument.starts_with("--"));
    let prefix = plain.next().cloned().unwrap_or_default();
    let rows = plain.next().and_then(|rows| rows.parse().ok());
    let rows = rows.unwrap_or(if is_bench { 10_000_000 } else { 20_000 });
    let options = Options { prefix, rows };
    if options.wants("scan") {
        scans(&options);
    }
    let operations = if is_bench { OPERATIONS } else { 500 };
    for per_transaction in [1, 100] {
        writes(&options, operations, per_transaction);
    }
}

/// Prints how long a scan takes, and against plain vectors.
fn scans(options: &Options) {
    let rows = options.rows;
    let plain: Vec<Vec<i64>> =
        (0..rows as i64).collect::<Vec<_>>().chunks(CHUNK_ROWS).map(<[i64]>::to_vec).collect();
    for (dirty, versions) in [(0, 0), (10_000, 1), (10_000, 4), (rows / 10, 1)] {
        let (store, table, ids) = filled(1, rows);
        let old = store.begin(LEVEL);
        for version in 0..versions {
            for some in scattered(dirty, rows).collect::<Vec<_>>().chunks(1_000) {
                let mut tx = store.begin(LEVEL);
                for row in some {
                    let value = ValueRef::Int(-1 - version);
                    tx.update(&table, ids[*row], &[(0, value)]).expect("update");
                }
                tx.commit().expect("commit");
            }
        }
        let new = store.begin(LEVEL);
        for (name, snapshot) in [("oldest", old.snapshot()), ("newest", new.snapshot())] {
            let id = format!("scan/{name}/dirty={dirty}/versions={versions}");
            if options.wants(&id) {
                scan(&id, &table, &snapshot, &plain);
            }
        }
    }
}

fn scan(id: &str, table: &Arc<Table>, snapshot: &Snapshot, plain: &[Vec<i64>]) {
    let rows: usize = plain.iter().map(Vec::len).sum();
    let (mut ours, mut theirs) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        let seen = table.snapshot_at(snapshot);
        let (mut sum, mut plain_sum) = (0, 0);
        ours = ours.min(seconds(|| {
            sum = seen.hot_chunks().iter().map(|chunk| chunk.sum_i64(0)).sum::<i64>();
        }));
        theirs = theirs.min(seconds(|| {
            let add = |sum: i64, value: &i64| sum.wrapping_add(*value);
            plain_sum = plain.iter().map(|chunk| black_box(chunk).iter().fold(0, add)).sum();
        }));
        let is_unchanged = id.contains("oldest") || id.contains("dirty=0/");
        assert!(!is_unchanged || sum == plain_sum, "{id}: {sum} is not {plain_sum}");
        assert_eq!(seen.rows(), rows as u64, "{id}");
    }
    let per_row = ours * 1e9 / rows as f64;
    println!("{id:<44} {per_row:>8.3} ns/row {:>8.3} x plain", theirs / ours);
}

/// One kind of operation on a row of both tables.
#[derive(Clone, Copy)]
enum Operation {
    Insert,
    Update(usize),
    DeleteInsert,
}

fn writes(options: &Options, operations: usize, per_transaction: usize) {
    let kinds = [
        ("insert", Operation::Insert),
        ("update/columns=1", Operation::Update(1)),
        ("update/columns=5", Operation::Update(5)),
        ("update/columns=10", Operation::Update(10)),
        ("delin", Operation::DeleteInsert),
    ];
    for (name, operation) in kinds {
        let id = format!("{name}/per_transaction={per_transaction}");
        if !options.wants(&id) {
            continue;
        }
        let rows = options.rows.min(1_000_000);
        let (store, table, mut ids) = filled(10, rows);
        let (mut single, (_other, alone, mut single_ids)) =
            (SingleVersion::default(), filled(10, rows));
        let (mut ours, mut theirs) = (f64::MAX, f64::MAX);
        for round in 0..ROUNDS {
            let order: Vec<usize> =
                scattered(operations, rows - round).map(|row| row + round).collect();
            ours = ours.min(seconds(|| {
                for some in order.chunks(per_transaction) {
                    versioned(&store, &table, &mut ids, some, operation);
                }
            }));
            theirs = theirs.min(seconds(|| {
                for some in order.chunks(per_transaction) {
                    unversioned(&mut single, &alone, &mut single_ids, some, operation);
                }
            }));
        }
        let rate = operations as f64 / ours / 1e6;
        let ratio = theirs / ours;
        println!("{id:<44} {rate:>8.3} M/s {ratio:>8.3} x without concurrency control");
    }
}

fn versioned(
    store: &Store,
    table: &Arc<Table>,
    ids: &mut [RowId],
    rows: &[usize],
    operation: Operation,
) {
    let values = [ValueRef::Int(8); 10];
    let changes: [(usize, ValueRef<'_>); 10] = std::array::from_fn(|column| (column, values[0]));
    let mut tx = store.begin(LEVEL);
    for row in rows {
        match operation {
            Operation::Insert => {
                black_box(tx.insert(table, &values).expect("insert"));
            }
            Operation::Update(columns) => {
                tx.update(table, ids[*row], &changes[..columns]).expect("update");
            }
            Operation::DeleteInsert => {
                tx.delete(table, ids[*row]).expect("delete");
                ids[*row] = tx.insert(table, &values).expect("insert");
            }
        }
    }
    tx.commit().expect("commit");
}

fn unversioned(
    single: &mut SingleVersion,
    table: &Arc<Table>,
    ids: &mut [RowId],
    rows: &[usize],
    operation: Operation,
) {
    let values = [ValueRef::Int(8); 10];
    let changes: [(usize, ValueRef<'_>); 10] = std::array::from_fn(|column| (column, values[0]));
    for row in rows {
        match operation {
            Operation::Insert => {
                black_box(single.insert(table, &values).expect("insert"));
            }
            Operation::Update(columns) => {
                single.update(table, ids[*row], &changes[..columns]).expect("update");
            }
            Operation::DeleteInsert => {
                single.delete(table, ids[*row]).expect("delete");
                ids[*row] = single.insert(table, &values).expect("insert");
            }
        }
    }
    single.commit();
}
