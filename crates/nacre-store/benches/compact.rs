//! What does a load cost of which 60 % is deleted, before and after its rows were moved?
//!
//! A table is frozen, three of five rows are deleted, and all that are left are scanned: as they
//! are, and after maintenance has moved them and a checkpoint has frozen them again. Each time is
//! the best of three scans. Bytes are those of all replicas. While the rows move another thread
//! updates single rows of another table, and how long the longest of these transactions took is
//! told, beside the longest of as many before.
//!
//! `cargo bench -p nacre-store --bench compact [-- ROWS]`, one million without it. As a test it
//! runs with a few rows and compares what is found.
#![allow(clippy::expect_used, reason = "a bench that cannot run may panic where it stands")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nacre_column::ColumnType;
use nacre_store::{
    ColumnDef, IsolationLevel, OpenOptions, RowId, Store, Table, TableSchema, ValueRef,
};

/// Scans of which the best counts.
const ROUNDS: usize = 3;

/// Rows that one transaction inserts or deletes.
const AT_ONCE: usize = 10_000;

fn create(store: &Store, name: &str) -> Arc<Table> {
    let column = |name: &str, column_type| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable: false,
        replicas: None,
    };
    let schema = TableSchema {
        name: name.into(),
        columns: vec![
            column("id", ColumnType::BigInt),
            column("balance", ColumnType::BigInt),
            column("branch", ColumnType::Integer),
            column("owner", ColumnType::Varchar { max_chars: None }),
        ],
        primary_key: Some(vec![0]),
        primary_key_name: format!("{name}_pkey"),
        replicas: None,
    };
    store.create_table(schema).expect("is new")
}

fn fill(store: &Store, table: &Arc<Table>, rows: i64) {
    for start in (0..rows).step_by(AT_ONCE) {
        let mut transaction = store.begin(IsolationLevel::RepeatableRead);
        for id in start..rows.min(start + AT_ONCE as i64) {
            let owner = format!("owner {}", id * 7 % 1_000_003);
            let values = [id, id * 31 % 100_000, id % 10].map(ValueRef::Int);
            let values = [&values[..], &[ValueRef::Bytes(owner.as_bytes())]].concat();
            transaction.insert(table, &values).expect("is new");
        }
        transaction.commit().expect("is alone");
    }
}

/// Scans all rows; returns the best time, and their number and sum.
fn scan(store: &Store, table: &Arc<Table>) -> (Duration, u64, i64) {
    let mut best = (Duration::MAX, 0, 0);
    for _ in 0..ROUNDS {
        let (mut rows, mut sum, start) = (0, 0_i64, Instant::now());
        let mut transaction = store.begin(IsolationLevel::RepeatableRead);
        let add = |_, values: &[ValueRef<'_>]| {
            if let ValueRef::Int(value) = values[0] {
                sum = sum.wrapping_add(value);
            }
            rows += 1;
        };
        transaction.scan(table, &[], &[1], add).expect("is whole");
        best = (best.0.min(start.elapsed()), rows, sum);
    }
    best
}

/// Deletes three of five rows.
fn thin(store: &Store, table: &Arc<Table>) {
    let (mut gone, mut number) = (Vec::<RowId>::new(), 0);
    let mut transaction = store.begin(IsolationLevel::RepeatableRead);
    let note = |row, _: &[ValueRef<'_>]| {
        gone.extend((number % 5 < 3).then_some(row));
        number += 1;
    };
    transaction.scan(table, &[], &[0], note).expect("is whole");
    drop(transaction);
    for some in gone.chunks(AT_ONCE) {
        let mut transaction = store.begin(IsolationLevel::RepeatableRead);
        some.iter().for_each(|row| transaction.delete(table, *row).expect("is there"));
        transaction.commit().expect("is alone");
    }
}

/// Updates a row in a transaction of its own; returns how long that took.
fn update(store: &Store, table: &Arc<Table>, row: RowId, value: i64) -> Duration {
    let start = Instant::now();
    let mut transaction = store.begin(IsolationLevel::Serializable);
    transaction.update(table, row, &[(1, ValueRef::Int(value))]).expect("is nobody else's");
    transaction.commit().expect("is nobody else's");
    start.elapsed()
}

/// Returns the time that 99.9 % of some took at most, and the longest.
fn tail(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    let at = times.len().saturating_sub(1 + times.len() / 1_000);
    let last = times.last().copied().unwrap_or_default();
    (times.get(at).copied().unwrap_or_default(), last)
}

/// Does all background work; returns how long it took and the times of updates meanwhile.
fn maintain(store: &Store, busy: &Arc<Table>, row: RowId) -> (Duration, Vec<Duration>) {
    let (is_over, start) = (AtomicBool::new(false), Instant::now());
    std::thread::scope(|scope| {
        let updates = scope.spawn(|| {
            let mut times = Vec::new();
            // ORDERING: seen an update later at most.
            while !is_over.load(Ordering::Relaxed) {
                times.push(update(store, busy, row, times.len() as i64));
            }
            times
        });
        while store.has_work() {
            store.maintain_step().expect("there is room");
        }
        let elapsed = start.elapsed();
        // ORDERING: as above.
        is_over.store(true, Ordering::Relaxed);
        (elapsed, updates.join().expect("does not panic"))
    })
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let rows = arguments.iter().find_map(|argument| argument.parse().ok());
    let rows: i64 = rows.unwrap_or(if is_bench { 1_000_000 } else { 5_000 });
    let store = Store::open(OpenOptions::default()).expect("opens");
    let (table, busy) = (create(&store, "accounts"), create(&store, "busy"));
    fill(&store, &table, rows);
    assert_eq!(store.checkpoint().expect("there is room").frozen_rows, rows as u64);
    fill(&store, &busy, 1);
    let mut found = None;
    let mut transaction = store.begin(IsolationLevel::RepeatableRead);
    transaction.scan(&busy, &[], &[0], |row, _| found = Some(row)).expect("is whole");
    drop(transaction);
    let row = found.expect("was inserted");
    let whole = table.snapshot().pool_bytes();
    thin(&store, &table);
    let before = (scan(&store, &table), table.snapshot().pool_bytes());
    assert_eq!((before.0.1, before.1), (rows as u64 * 2 / 5, whole));
    let moved_rows = before.0.1;
    // The busy row is frozen, and hot from its next update on.
    store.checkpoint().expect("there is room");
    let mut transaction = store.begin(IsolationLevel::RepeatableRead);
    let mut found = row;
    transaction.scan(&busy, &[], &[0], |row, _| found = row).expect("is whole");
    let row = transaction.update(&busy, found, &[(1, ValueRef::Int(0))]).expect("is there");
    transaction.commit().expect("is alone");
    let alone: Vec<Duration> = (0..rows).map(|number| update(&store, &busy, row, number)).collect();
    let (elapsed, beside) = maintain(&store, &busy, row);
    let hot = scan(&store, &table);
    store.checkpoint().expect("there is room");
    let after = (scan(&store, &table), table.snapshot().pool_bytes());
    assert_eq!((before.0.1, before.0.2), (hot.1, hot.2), "what was found");
    assert_eq!((before.0.1, before.0.2), (after.0.1, after.0.2), "what was found");
    println!(
        "compact/scan   before {:>8.2?}, moved {:>8.2?}, frozen again {:>8.2?}, {:.2} x",
        before.0.0,
        hot.0,
        after.0.0,
        after.0.0.as_secs_f64() / before.0.0.as_secs_f64()
    );
    println!(
        "compact/bytes  before {:>8}, frozen again {:>8}, {:.2} x",
        before.1,
        after.1,
        after.1 as f64 / before.1 as f64
    );
    println!(
        "compact/moves  {moved_rows} rows in {elapsed:.2?}; an update beside it: 99.9 % {:.2?}, \
         longest {:.2?}; alone: 99.9 % {:.2?}, longest {:.2?}",
        tail(beside.clone()).0,
        tail(beside).1,
        tail(alone.clone()).0,
        tail(alone).1
    );
}
