//! How long is the redo log replayed, by one thread and by several, and what waits for indexes?
//!
//! Two databases on `/dev/shm`: of one, each of many transactions changes two numbers and a text of
//! one row, in one of four tables of two chunks each; of the other, transactions insert many rows
//! each, so that chunk comes after chunk, as the rows of a checkpoint do. Each database is opened
//! for reading in turn by one thread (the baseline) and by more, and answers how many rows there
//! are (`answer`); then the rows of one key are looked up, which waits for the entries of all rows
//! of that index (`lookup`). Each figure is the best of five rounds. The page cache is warm.
//!
//! `cargo bench -p nacre-store --bench replay [-- ROWS]`, one million changes without it. As a test
//! it runs with a few and compares what is found.
#![allow(clippy::expect_used, reason = "a bench that cannot run may panic where it stands")]

use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Instant;

use nacre_column::ColumnType;
use nacre_store::{
    ColumnDef, IsolationLevel, OpenOptions, RowId, Store, TableSchema, Transaction, ValueRef,
};

/// Repetitions of which the best counts.
const ROUNDS: usize = 5;

const TABLES: [&str; 4] = ["a", "b", "c", "d"];

/// Rows of each table whose rows are changed: two chunks.
const ROWS_CHANGED: u64 = 100_000;

/// Rows that a transaction inserts.
const INSERTED_AT_ONCE: u64 = 10_000;

fn schema(name: &str) -> TableSchema {
    let column = |name: &str, column_type| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable: false,
        replicas: None,
    };
    TableSchema {
        name: name.into(),
        columns: vec![
            column("id", ColumnType::BigInt),
            column("balance", ColumnType::BigInt),
            column("limit", ColumnType::Decimal { precision: 12, scale: 2 }),
            column("owner", ColumnType::Varchar { max_chars: None }),
        ],
        primary_key: Some(vec![0]),
        primary_key_name: format!("{name}_pkey"),
        replicas: None,
    }
}

fn open(directory: &Path, threads: Option<usize>) -> Store {
    Store::open(OpenOptions {
        directory: Some(directory.into()),
        is_read_only: threads.is_some(),
        checkpoint_bytes: Some(0),
        replay_threads: threads.and_then(NonZeroUsize::new),
        ..OpenOptions::default()
    })
    .expect("opens")
}

fn begin(store: &Store) -> Transaction {
    let mut transaction = store.begin(IsolationLevel::RepeatableRead);
    transaction.set_synchronous_commit(false);
    transaction
}

/// Inserts rows of some numbers into a table.
fn insert(store: &Store, table: &str, count: u64) -> Vec<RowId> {
    let (table, mut rows) = (store.table(table).expect("is there"), Vec::new());
    for start in (0..count).step_by(INSERTED_AT_ONCE as usize) {
        let mut transaction = begin(store);
        for id in start..count.min(start + INSERTED_AT_ONCE) {
            let owner = format!("owner {}", id * 7 % 1_000_003);
            let numbers =
                [id, id * 31 % 100_000, id % 5_000 * 100].map(|n| ValueRef::Int(n as i64));
            let values = [&numbers[..], &[ValueRef::Bytes(owner.as_bytes())]].concat();
            rows.push(transaction.insert(&table, &values).expect("is new"));
        }
        transaction.commit().expect("is alone");
    }
    rows
}

/// Makes a database in whose log rows change one by one.
fn change(directory: &Path, changes: u64) {
    let store = open(directory, None);
    let rows_changed = ROWS_CHANGED.min(changes);
    let tables = TABLES.map(|name| {
        let table = store.create_table(schema(name)).expect("is new");
        (table, insert(&store, name, rows_changed))
    });
    for number in 0..changes {
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        let (table, rows) = &tables[mixed as usize % TABLES.len()];
        let owner = format!("other {number}");
        let value = ValueRef::Int((number % 100_000) as i64);
        let changes = [(1, value), (2, value), (3, ValueRef::Bytes(owner.as_bytes()))];
        let mut transaction = begin(&store);
        let row = rows[(mixed / 4 % rows_changed) as usize];
        transaction.update(table, row, &changes).expect("is there");
        transaction.commit().expect("is alone");
    }
}

/// Makes a database in whose log rows come one after the other.
fn fill(directory: &Path, rows: u64) {
    let store = open(directory, None);
    store.create_table(schema(TABLES[0])).expect("is new");
    insert(&store, TABLES[0], rows);
}

/// Milliseconds until a database has answered, and until it has looked a key up; and what it found.
fn restart(directory: &Path, threads: usize) -> ([f64; 2], (usize, i64)) {
    let start = Instant::now();
    let store = open(directory, Some(threads));
    let (mut rows, mut sum) = (0, 0_i64);
    for table in store.tables() {
        let mut transaction = begin(&store);
        let mut add = |_, values: &[ValueRef<'_>]| {
            rows += 1;
            if let [ValueRef::Int(balance)] = values {
                sum = sum.wrapping_add(*balance);
            }
        };
        transaction.scan(&table, &[], &[1], &mut add).expect("is sound");
    }
    let answer = start.elapsed().as_secs_f64() * 1e3;
    let table = store.table(TABLES[0]).expect("is there");
    let (index, mut found) = (table.index("a_pkey").expect("is there"), 0);
    begin(&store)
        .lookup(&table, &index, &[ValueRef::Int(17)], &[], |_, _| found += 1)
        .expect("is sound");
    assert_eq!(found, 1);
    ([answer, start.elapsed().as_secs_f64() * 1e3], (rows, sum))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let changes = arguments.iter().find_map(|argument| argument.parse().ok());
    let changes: u64 = changes.unwrap_or(if is_bench { 1_000_000 } else { 300 });
    type Maker = fn(&Path, u64);
    let makers: [(&str, Maker); 2] = [("changes", change), ("rows", fill)];
    for (name, make) in makers {
        let directory = tempfile::tempdir_in("/dev/shm").expect("a directory");
        make(directory.path(), changes);
        let threads = [1, 2, 4, 8];
        let mut best = [[f64::MAX; 2]; 4];
        let mut expected = None;
        for _ in 0..if is_bench { ROUNDS } else { 1 } {
            for (best, threads) in best.iter_mut().zip(threads) {
                let (times, found) = restart(directory.path(), threads);
                assert_eq!(*expected.get_or_insert(found), found);
                for (best, time) in best.iter_mut().zip(times) {
                    *best = best.min(time);
                }
            }
        }
        let (rows, sum) = expected.unwrap_or_default();
        println!("{name}: {rows} rows, sum {sum}");
        for (what, at) in [("answer", 0), ("lookup", 1)] {
            for (times, threads) in best.iter().zip(threads) {
                println!(
                    "replay/{name}/{what}/threads={threads:<2} {:>9.1} ms {:>6.2} x baseline",
                    times[at],
                    best[0][at] / times[at]
                );
            }
        }
    }
}
