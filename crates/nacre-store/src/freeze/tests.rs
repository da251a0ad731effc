//! Freezing beside transactions that read and write.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use proptest::prelude::*;

use crate::index::{Direction, IndexDef, IndexKind, IndexOrigin};
use crate::mvcc::{IsolationLevel, Transaction};
use crate::redo::RedoOptions;
use crate::schema::{ColumnDef, TableSchema};
use crate::store::{OpenOptions, Store};
use crate::table::Table;
use crate::value::{Value, ValueRef};
use crate::{Error, RowId};

use nacre_column::ColumnType;

/// A key, a number and a string that may be null.
pub(crate) fn schema() -> TableSchema {
    let column = |name: &str, column_type, is_nullable| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable,
        replicas: None,
    };
    TableSchema {
        name: "t".into(),
        columns: vec![
            column("k", ColumnType::BigInt, false),
            column("n", ColumnType::Integer, false),
            column("s", ColumnType::Varchar { max_chars: None }, true),
        ],
        primary_key: Some(vec![0]),
        primary_key_name: "t_pkey".into(),
        replicas: None,
    }
}

pub(super) fn volatile() -> (Store, Arc<Table>) {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = store.create_table(schema()).unwrap();
    (store, table)
}

pub(super) fn insert(tx: &mut Transaction, table: &Arc<Table>, key: i64, n: i64) -> RowId {
    let text = format!("row {key}");
    let text = if n % 3 == 0 { ValueRef::Null } else { ValueRef::Bytes(text.as_bytes()) };
    tx.insert(table, &[ValueRef::Int(key), ValueRef::Int(n), text]).unwrap()
}

pub(super) fn fill(
    store: &Store,
    table: &Arc<Table>,
    keys: impl Iterator<Item = i64>,
) -> Vec<RowId> {
    let mut tx = store.begin(IsolationLevel::Serializable);
    let rows = keys.map(|key| insert(&mut tx, table, key, key)).collect();
    tx.commit().unwrap();
    rows
}

/// Returns key and number of all rows in the order of their keys.
pub(super) fn pairs(tx: &mut Transaction, table: &Arc<Table>) -> Vec<(Value, Value)> {
    let mut found = Vec::new();
    let push =
        |_, values: &[ValueRef<'_>]| found.push((values[0].to_value(), values[1].to_value()));
    tx.scan(table, &[], &[0, 1], push).unwrap();
    found.sort_by_key(|(key, _)| format!("{key:?}"));
    found
}

pub(super) fn looked_up(tx: &mut Transaction, table: &Arc<Table>, key: i64) -> Vec<(RowId, Value)> {
    let (index, mut found) = (table.index("t_pkey").unwrap(), Vec::new());
    let push = |row, values: &[ValueRef<'_>]| found.push((row, values[0].to_value()));
    tx.lookup(table, &index, &[ValueRef::Int(key)], &[1], push).unwrap();
    found
}

pub(super) fn begin(store: &Store) -> Transaction {
    store.begin(IsolationLevel::Serializable)
}

/// Returns the keys of all rows in the order of an index.
pub(super) fn ordered(tx: &mut Transaction, table: &Arc<Table>, name: &str) -> Vec<Value> {
    let (index, mut keys) = (table.index(name).unwrap(), Vec::new());
    let all = (Bound::Unbounded, Bound::Unbounded);
    tx.range(table, &index, all, Direction::Ascending, &[0], |_, values| {
        keys.push(values[0].to_value());
        ControlFlow::Continue(())
    })
    .unwrap();
    keys
}

/// Does all background work that is due.
pub(super) fn maintain(store: &Store) {
    // Each step is of use, or nothing is left to do.
    for _ in 0..100 {
        if !store.has_work() {
            break;
        }
        store.maintain_step().unwrap();
    }
}

#[test]
fn loads_that_are_searched_often_get_entries() {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema()).unwrap();
    for start in 0..5 {
        fill(&store, &table, (start..500).step_by(5));
        store.checkpoint().unwrap();
    }
    let mut tx = begin(&store);
    let rows: Vec<RowId> = (0..20).map(|key| looked_up(&mut tx, &table, key)[0].0).collect();
    rows.iter().for_each(|row| tx.delete(&table, *row).unwrap());
    tx.commit().unwrap();
    drop((store, table));
    let store = open(directory.path());
    let table = store.table("t").unwrap();
    let index = table.index("t_pkey").unwrap();
    assert_eq!((index.entries(), index.searched().len()), (0, 5), "opening reads no row");
    let mut old = begin(&store);
    for _ in 0..40 {
        assert_eq!(looked_up(&mut old, &table, 333).len(), 1);
        assert_eq!(looked_up(&mut old, &table, 7), []);
    }
    maintain(&store);
    assert_eq!((index.entries(), index.searched().len()), (480, 0), "deleted rows have none");
    assert_eq!(looked_up(&mut old, &table, 333)[0].1, Value::Int(333));
    assert_eq!(looked_up(&mut old, &table, 7), []);
    let keys: Vec<Value> = (20..500).map(Value::Int).collect();
    assert_eq!(ordered(&mut old, &table, "t_pkey"), keys);
    let taken = old.insert(&table, &[ValueRef::Int(333), ValueRef::Int(0), ValueRef::Null]);
    assert!(matches!(taken, Err(Error::DuplicateKey(_))), "{taken:?}");
    insert(&mut old, &table, 7, 70);
    let row = looked_up(&mut old, &table, 40)[0].0;
    old.delete(&table, row).unwrap();
    old.commit().unwrap();
    assert_eq!(index.entries(), 480, "one came and one went");
}

#[test]
fn key_that_changes_often_has_few_entries() {
    let (store, table) = volatile();
    fill(&store, &table, 0..10);
    for n in 0..20 {
        store.checkpoint().unwrap();
        let mut tx = begin(&store);
        let row = looked_up(&mut tx, &table, 5)[0].0;
        assert!(!row.is_hot(), "the entry leads to where the row is");
        tx.update(&table, row, &[(1, ValueRef::Int(n))]).unwrap();
        tx.commit().unwrap();
    }
    assert_eq!(table.index("t_pkey").unwrap().entries(), 10);
    assert_eq!(looked_up(&mut begin(&store), &table, 5)[0].1, Value::Int(19));
}

#[test]
fn frozen_rows_answer_to_the_ids_that_they_had() {
    let (store, table) = volatile();
    let rows = fill(&store, &table, 0..100);
    let mut tx = begin(&store);
    tx.delete(&table, rows[10]).unwrap();
    tx.commit().unwrap();
    let mut old = begin(&store);
    let before = pairs(&mut old, &table);
    assert_eq!(store.checkpoint().unwrap().frozen_rows, 99);
    assert_eq!((table.snapshot().rows(), table.hot().all().len()), (99, 0));
    assert_eq!(pairs(&mut old, &table), before);
    assert_eq!(looked_up(&mut old, &table, 50).len(), 1, "by entry or by load, not by both");
    let read = |tx: &mut Transaction, row| {
        tx.read(&table, row, &[1], |values| values[0].to_value()).unwrap()
    };
    assert_eq!(read(&mut old, rows[50]), Some(Value::Int(50)));
    assert_eq!(read(&mut old, rows[10]), None);
    let moved = old.update(&table, rows[50], &[(1, ValueRef::Int(-50))]).unwrap();
    assert!(moved.is_hot() && moved != rows[50]);
    old.delete(&table, rows[51]).unwrap();
    assert!(matches!(old.delete(&table, rows[10]), Err(Error::UnknownRow { .. })));
    let mut other = begin(&store);
    let outcome = other.delete(&table, rows[50]);
    assert!(matches!(outcome, Err(Error::SerializationConflict { .. })), "{outcome:?}");
    other.rollback();
    old.commit().unwrap();
    let mut tx = begin(&store);
    assert_eq!(looked_up(&mut tx, &table, 50), [(moved, Value::Int(-50))]);
    assert_eq!(pairs(&mut tx, &table).len(), 98);
    assert_eq!(read(&mut tx, rows[50]), None);
    drop(tx);
    assert_eq!(store.checkpoint().unwrap().frozen_rows, 1);
    let mut tx = begin(&store);
    assert_eq!(looked_up(&mut tx, &table, 50).len(), 1);
    assert_eq!(table.indexes()[0].entries(), 98, "entries of frozen rows stay, those of others go");
    let taken = tx.insert(&table, &[ValueRef::Int(49), ValueRef::Int(0), ValueRef::Null]);
    assert!(matches!(taken, Err(Error::DuplicateKey(_))), "{taken:?}");
    insert(&mut tx, &table, 51, 1);
    tx.commit().unwrap();
}

#[test]
fn chunks_that_somebody_needs_versions_of_stay_hot() {
    let (store, table) = volatile();
    let rows = fill(&store, &table, 0..10);
    let mut reader = begin(&store);
    assert_eq!(pairs(&mut reader, &table).len(), 10);
    let mut writer = begin(&store);
    writer.update(&table, rows[0], &[(1, ValueRef::Int(7))]).unwrap();
    assert_eq!(store.checkpoint().unwrap().frozen_rows, 0, "a transaction has not ended");
    writer.commit().unwrap();
    assert_eq!(store.checkpoint().unwrap().frozen_rows, 0, "a reader sees what was");
    drop(reader);
    assert_eq!(store.checkpoint().unwrap().frozen_rows, 10);
}

#[test]
fn chunks_without_rows_vanish() {
    let (store, table) = volatile();
    let rows = fill(&store, &table, 0..10);
    let mut tx = begin(&store);
    rows.iter().for_each(|row| tx.delete(&table, *row).unwrap());
    tx.commit().unwrap();
    store.checkpoint().unwrap();
    assert_eq!((table.snapshot().chunk_count(), table.hot().all().len()), (0, 0));
    let again = fill(&store, &table, 0..1);
    assert!(again[0] > rows[9], "ids are not used again");
}

pub(super) fn delete(store: &Store, table: &Arc<Table>, keys: impl Iterator<Item = i64>) {
    let mut tx = begin(store);
    for key in keys {
        let row = looked_up(&mut tx, table, key)[0].0;
        tx.delete(table, row).unwrap();
    }
    tx.commit().unwrap();
}

/// Counts the loads that have files.
pub(super) fn stored(directory: &std::path::Path) -> usize {
    let names = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let ids = names.filter(|name| name.starts_with("load-")).map(|name| name[..21].to_owned());
    ids.collect::<std::collections::BTreeSet<String>>().len()
}

#[test]
fn loads_without_rows_vanish_when_nobody_sees_them() {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema()).unwrap();
    fill(&store, &table, 0..40);
    store.checkpoint().unwrap();
    fill(&store, &table, 40..50);
    store.checkpoint().unwrap();
    assert_eq!((table.snapshot().rows(), stored(directory.path())), (50, 2));
    let mut reader = begin(&store);
    let before = pairs(&mut reader, &table);
    let scan = table.snapshot();
    delete(&store, &table, 0..40);
    store.checkpoint().unwrap();
    assert_eq!(stored(directory.path()), 2, "a reader sees the rows");
    assert_eq!(pairs(&mut reader, &table), before);
    drop(reader);
    store.checkpoint().unwrap();
    assert_eq!((table.snapshot().rows(), scan.rows()), (10, 50));
    drop(scan);
    assert_eq!(stored(directory.path()), 1);
    assert_eq!(table.indexes()[0].entries(), 10);
    fill(&store, &table, 39..40);
    let after = pairs(&mut begin(&store), &table);
    assert_eq!(after.len(), 11);
    for _ in 0..2 {
        store.backup(&directory.path().join("copy")).unwrap();
        let copy = open(&directory.path().join("copy"));
        assert_eq!(pairs(&mut begin(&copy), &copy.table("t").unwrap()), after);
        drop(copy);
        std::fs::remove_dir_all(directory.path().join("copy")).unwrap();
        store.checkpoint().unwrap();
    }
    drop((store, table));
    let store = open(directory.path());
    let table = store.table("t").unwrap();
    assert_eq!(pairs(&mut begin(&store), &table), after);
    assert_eq!(looked_up(&mut begin(&store), &table, 7), []);
    assert_eq!(store.notes(), Vec::<String>::new());
}

/// Their deletes are in the log behind what the last checkpoint wrote.
#[test]
fn deletes_of_loads_that_vanished_are_replayed_as_nothing() {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema()).unwrap();
    fill(&store, &table, 0..40);
    store.checkpoint().unwrap();
    delete(&store, &table, 0..40);
    store.drop_emptied().unwrap();
    assert_eq!(stored(directory.path()), 0);
    drop((store, table));
    for _ in 0..2 {
        let store = open(directory.path());
        let table = store.table("t").unwrap();
        assert_eq!(pairs(&mut begin(&store), &table), []);
    }
    let store = open(directory.path());
    let table = store.table("t").unwrap();
    fill(&store, &table, 5..6);
    store.checkpoint().unwrap();
    assert_eq!(pairs(&mut begin(&store), &table).len(), 1);
}

/// Who read a row by the id that it had in the hot chunk hears of its delete.
#[test]
fn reads_before_a_freeze_conflict_with_writes_after_it() {
    let (store, table) = volatile();
    let rows = fill(&store, &table, 0..10);
    let mut reader = begin(&store);
    reader.read(&table, rows[3], &[1], |_| ()).unwrap();
    assert_eq!(store.checkpoint().unwrap().frozen_rows, 10);
    let mut writer = begin(&store);
    let mut found = None;
    let note = |row, values: &[ValueRef<'_>]| {
        if values[0] == ValueRef::Int(3) {
            found = Some(row);
        }
    };
    writer.scan(&table, &[], &[0], note).unwrap();
    let found = found.unwrap();
    assert!(!found.is_hot());
    writer.delete(&table, found).unwrap();
    writer.commit().unwrap();
    insert(&mut reader, &table, 100, 1);
    let outcome = reader.commit();
    assert!(matches!(outcome, Err(Error::SerializationConflict { .. })), "{outcome:?}");
}

/// Somebody writes to a chunk when its load is about to be published.
#[test]
fn write_during_publication_takes_the_freeze_back() {
    let directory = tempfile::tempdir().unwrap();
    let options =
        || OpenOptions { directory: Some(directory.path().into()), ..OpenOptions::default() };
    let store = Store::open(options()).unwrap();
    let table = store.create_table(schema()).unwrap();
    let rows = fill(&store, &table, 0..10);
    let (row, written) = (rows[4], Arc::clone(&table));
    let once = std::sync::Mutex::new(Some((store.clone(), written)));
    store.inject_before_publish(crate::manifest::Injection(Box::new(move || {
        if let Some((store, table)) = once.lock().unwrap().take() {
            let mut tx = store.begin(IsolationLevel::RepeatableRead);
            tx.update(&table, row, &[(1, ValueRef::Int(44))]).unwrap();
            tx.commit().unwrap();
        }
    })));
    let report = store.checkpoint().unwrap();
    assert_eq!((report.frozen_rows, report.hot_rows), (0, 10));
    let mut tx = begin(&store);
    assert_eq!(looked_up(&mut tx, &table, 4), [(rows[4], Value::Int(44))]);
    let before = pairs(&mut tx, &table);
    drop(tx);
    drop((store, table));
    let store = Store::open(options()).unwrap();
    let table = store.table("t").unwrap();
    let mut tx = begin(&store);
    assert_eq!(pairs(&mut tx, &table), before);
    assert_eq!(looked_up(&mut tx, &table, 4), [(rows[4], Value::Int(44))]);
    drop(tx);
    assert_eq!(store.checkpoint().unwrap().frozen_rows, 10);
    assert_eq!(pairs(&mut begin(&store), &table), before);
}

/// What a random history does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(i64),
    Update(i64, i64),
    Delete(i64),
    Checkpoint,
    /// Freezes full chunks and truncates the log as the upkeep does.
    Upkeep,
    /// Moves the rows of all loads with few rows left.
    Compact,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..40_i64).prop_map(Step::Insert),
        6 => (0..40_i64, 0..1_000_i64).prop_map(|(key, n)| Step::Update(key, n)),
        4 => (0..40_i64).prop_map(Step::Delete),
        2 => Just(Step::Checkpoint),
        2 => Just(Step::Upkeep),
        2 => Just(Step::Compact),
        1 => Just(Step::Restart),
    ]
}

pub(super) fn open(directory: &std::path::Path) -> Store {
    Store::open(OpenOptions {
        directory: Some(directory.into()),
        redo: RedoOptions { segment_bytes: 1_024, is_compressed: false },
        checkpoint_bytes: Some(512),
        ..OpenOptions::default()
    })
    .unwrap()
}

/// Runs one step, each change a transaction; returns what failed for want of a row or of a key.
fn run(store: &Store, table: &Arc<Table>, step: Step) -> Option<&'static str> {
    let mut tx = begin(store);
    let row_of = |tx: &mut Transaction, key| looked_up(tx, table, key).first().map(|(row, _)| *row);
    match step {
        Step::Insert(key) => {
            let values = [ValueRef::Int(key), ValueRef::Int(key), ValueRef::Bytes(b"text")];
            match tx.insert(table, &values) {
                Ok(_) => {}
                Err(Error::DuplicateKey(_)) => return Some("duplicate"),
                Err(error) => panic!("{error}"),
            }
        }
        Step::Update(key, n) => {
            let Some(row) = row_of(&mut tx, key) else {
                return Some("missing");
            };
            tx.update(table, row, &[(1, ValueRef::Int(n))]).unwrap();
        }
        Step::Delete(key) => {
            let Some(row) = row_of(&mut tx, key) else {
                return Some("missing");
            };
            tx.delete(table, row).unwrap();
        }
        Step::Checkpoint | Step::Upkeep | Step::Compact | Step::Restart => {}
    }
    tx.commit().unwrap();
    None
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..Default::default() })]

    #[test]
    fn histories_with_freezes_answer_as_those_without(
        steps in prop::collection::vec(step(), 1..80),
    ) {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let (expected, plain) = volatile();
        let mut store = open(directory.path());
        let mut table = store.create_table(schema()).unwrap();
        for (store, table) in [(&store, &table), (&expected, &plain)] {
            let name = "t_n".into();
            let (kind, origin) = (IndexKind::Art, IndexOrigin::Statement);
            let by_n = IndexDef { name, columns: vec![1, 0], is_unique: false, kind, origin };
            store.create_index(table, by_n).unwrap();
        }
        // A reader that stays keeps versions from going, now and then.
        let mut reader = None;
        for (number, &step) in steps.iter().enumerate() {
            match step {
                Step::Checkpoint => {
                    store.checkpoint().unwrap();
                }
                Step::Upkeep => maintain(&store),
                Step::Compact => {
                    store.compact_all().unwrap();
                }
                Step::Restart => {
                    drop(reader.take());
                    drop((store, table));
                    store = open(directory.path());
                    table = store.table("t").unwrap();
                }
                change => {
                    let one = run(&store, &table, change);
                    let other = run(&expected, &plain, change);
                    prop_assert_eq!(one, other);
                }
            }
            if number % 7 == 0 {
                let mut tx = begin(&store);
                let seen = pairs(&mut tx, &table);
                reader = Some((tx, seen));
            }
            if let Some((tx, seen)) = &mut reader {
                prop_assert_eq!(&pairs(tx, &table), &*seen);
            }
            let (mut one, mut other) = (begin(&store), begin(&expected));
            prop_assert_eq!(pairs(&mut one, &table), pairs(&mut other, &plain));
            for name in ["t_pkey", "t_n"] {
                let (one, other) = (&mut one, &mut other);
                prop_assert_eq!(ordered(one, &table, name), ordered(other, &plain, name));
            }
            for key in 0..40 {
                let (one, other) = (&mut one, &mut other);
                let numbers = |tx: &mut Transaction, table: &Arc<Table>| -> Vec<Value> {
                    looked_up(tx, table, key).into_iter().map(|(_, n)| n).collect()
                };
                let (one, other) = (numbers(one, &table), numbers(other, &plain));
                prop_assert_eq!(one, other);
            }
            prop_assert_eq!(store.notes(), Vec::<String>::new());
        }
    }
}
