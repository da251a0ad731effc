//! What does a transaction pay for a row that was frozen, against one in a hot chunk?
//!
//! A row is found by its primary key in a random order and some of its columns are read: one
//! number, four numbers, and a number with a text. Both tables have the same rows and an entry for
//! each in their index; the frozen one lies in the default replicas of its columns. Each figure is
//! the best of three rounds in which the two take turns.
//!
//! `cargo bench -p nacre-store --bench rows [-- ROWS]`, one million without it. As a test it runs
//! with a few rows and compares what is found.
#![allow(clippy::expect_used, reason = "a bench that cannot run may panic where it stands")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use nacre_column::ColumnType;
use nacre_store::index::TableIndex;
use nacre_store::{
    ColumnDef, IsolationLevel, OpenOptions, Store, Table, TableSchema, Transaction, ValueRef,
};

/// Repetitions of which the best counts.
const ROUNDS: usize = 3;

/// Rows that one transaction inserts.
const INSERTED_AT_ONCE: i64 = 10_000;

/// Rows that one transaction reads.
const READ_AT_ONCE: usize = 100;

/// What is read of a row.
const COLUMNS: [(&str, &[usize]); 3] =
    [("number", &[1]), ("four numbers", &[1, 2, 3, 4]), ("number and text", &[1, 5])];

struct Side {
    _store: Store,
    begin: Box<dyn Fn() -> Transaction>,
    table: Arc<Table>,
    index: Arc<TableIndex>,
}

fn side(rows: i64, is_frozen: bool) -> Side {
    let store = Store::open(OpenOptions::default()).expect("opens");
    let column = |name: &str, column_type| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable: false,
        replicas: None,
    };
    let (number, small) = (ColumnType::BigInt, ColumnType::Integer);
    let schema = TableSchema {
        name: "accounts".into(),
        columns: vec![
            column("id", number),
            column("balance", number),
            column("branch", small),
            column("opened", ColumnType::Date),
            column("limit", ColumnType::Decimal { precision: 12, scale: 2 }),
            column("owner", ColumnType::Varchar { max_chars: None }),
        ],
        primary_key: Some(vec![0]),
        primary_key_name: "accounts_pkey".into(),
        replicas: None,
    };
    let table = store.create_table(schema).expect("is new");
    for start in (0..rows).step_by(INSERTED_AT_ONCE as usize) {
        let mut transaction = store.begin(IsolationLevel::Serializable);
        for id in start..rows.min(start + INSERTED_AT_ONCE) {
            let owner = format!("owner {}", id * 7 % 1_000_003);
            let values = [id, id * 31 % 100_000, id % 10, 18_000 + id % 999, id % 5_000 * 100];
            let values = values.map(ValueRef::Int);
            let values = [&values[..], &[ValueRef::Bytes(owner.as_bytes())]].concat();
            transaction.insert(&table, &values).expect("is new");
        }
        transaction.commit().expect("is alone");
    }
    if is_frozen {
        let report = store.checkpoint().expect("there is room");
        assert_eq!(report.frozen_rows, rows as u64);
    }
    let index = table.index("accounts_pkey").expect("is there");
    let begin = {
        let store = store.clone();
        Box::new(move || store.begin(IsolationLevel::Serializable))
    };
    Side { _store: store, begin, table, index }
}

/// Reads the rows of all keys; returns the nanoseconds for each and a sum of what was found.
fn read(side: &Side, keys: &[i64], columns: &[usize]) -> (f64, i64) {
    let mut sum = 0_i64;
    let start = Instant::now();
    for some in keys.chunks(READ_AT_ONCE) {
        let mut transaction = (side.begin)();
        for key in some {
            let key = [ValueRef::Int(black_box(*key))];
            transaction
                .lookup(&side.table, &side.index, &key, columns, |_, values| {
                    for value in values {
                        sum = sum.wrapping_add(match value {
                            ValueRef::Int(value) => *value,
                            ValueRef::Bytes(text) => i64::from(text[text.len() - 1]),
                            _ => 0,
                        });
                    }
                })
                .expect("is there");
        }
        transaction.commit().expect("only reads");
    }
    (start.elapsed().as_nanos() as f64 / keys.len() as f64, sum)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_bench = arguments.iter().any(|argument| argument == "--bench");
    let rows = arguments.iter().find_map(|argument| argument.parse().ok());
    let rows: i64 = rows.unwrap_or(if is_bench { 1_000_000 } else { 3_000 });
    let sides = [side(rows, false), side(rows, true)];
    let mut state = 7_u64;
    let keys: Vec<i64> = (0..rows)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as i64 % rows
        })
        .collect();
    for (name, columns) in COLUMNS {
        let mut best = [f64::INFINITY; 2];
        for _ in 0..ROUNDS {
            let found = [read(&sides[0], &keys, columns), read(&sides[1], &keys, columns)];
            assert_eq!(found[0].1, found[1].1, "what was found");
            (0..2).for_each(|at| best[at] = best[at].min(found[at].0));
        }
        let [hot, frozen] = best;
        println!(
            "rows/{name:<16} hot {hot:>8.1} ns, frozen {frozen:>8.1} ns, {:.2} x",
            frozen / hot
        );
    }
}
