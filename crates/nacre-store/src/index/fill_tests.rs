//! Indexes after a restart: before, while and after they get the entries of the rows there are.

use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use nacre_column::{ColumnBuffer, ColumnType};
use proptest::prelude::*;

use super::{Direction, IndexDef, IndexKind, IndexOrigin};
use crate::error::{Error, Result};
use crate::foreign_key::{ForeignKeyAction, ForeignKeyDef, TableKeys};
use crate::id::RowId;
use crate::mvcc::{IsolationLevel, Transaction};
use crate::rules::TableRules;
use crate::schema::{ColumnDef, TableSchema};
use crate::store::{OpenOptions, Store};
use crate::table::Table;
use crate::value::{Value, ValueRef};

const INDEXES: [&str; 4] = ["t_pkey", "t_n", "t_hash", "t_hybrid"];

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn schema(name: &str) -> TableSchema {
    let column = |name: &str| ColumnDef {
        name: name.into(),
        column_type: ColumnType::BigInt,
        is_nullable: false,
        replicas: None,
    };
    TableSchema {
        name: name.into(),
        columns: ["id", "n", "m"].map(column).to_vec(),
        primary_key: Some(vec![0]),
        primary_key_name: format!("{name}_pkey"),
        replicas: None,
    }
}

fn index(name: &str, column: usize, kind: IndexKind) -> IndexDef {
    let (name, columns, origin) = (name.into(), vec![column], IndexOrigin::Statement);
    IndexDef { name, columns, is_unique: false, kind, origin }
}

fn open(directory: &Path) -> (Store, Arc<Table>) {
    let directory = Some(directory.into());
    let checkpoint_bytes = Some(0);
    let options = OpenOptions { directory, checkpoint_bytes, ..OpenOptions::default() };
    let store = Store::open(options).unwrap();
    let table = store.table("t").or_else(|_| create(&store)).unwrap();
    (store, table)
}

fn create(store: &Store) -> Result<Arc<Table>> {
    let table = store.create_table(schema("t"))?;
    store.create_index(&table, index("t_n", 1, IndexKind::Art))?;
    store.create_index(&table, index("t_hash", 1, IndexKind::Hash))?;
    store.create_index(&table, index("t_hybrid", 1, IndexKind::Hybrid))?;
    Ok(table)
}

fn begin(store: &Store) -> Transaction {
    store.begin(IsolationLevel::RepeatableRead)
}

fn insert(store: &Store, table: &Arc<Table>, keys: std::ops::Range<i64>) -> Result<()> {
    let mut tx = begin(store);
    for key in keys {
        let values = [ValueRef::Int(key), ValueRef::Int(key % 7), ValueRef::Int(0)];
        tx.insert(table, &values)?;
    }
    tx.commit().map(drop)
}

/// A database of so many rows that was opened just now.
fn reopened(directory: &Path, rows: i64) -> (Store, Arc<Table>) {
    let (store, table) = open(directory);
    insert(&store, &table, 0..rows).unwrap();
    drop((store, table));
    let (store, table) = open(directory);
    assert!(table.indexes().iter().all(|index| index.is_behind()));
    (store, table)
}

/// Finds rows without an index, with their numbers.
fn scanned(tx: &mut Transaction, table: &Arc<Table>) -> Vec<(RowId, i64)> {
    let mut rows = Vec::new();
    tx.scan(table, &[], &[0], |row, values| {
        if let [ValueRef::Int(key)] = values {
            rows.push((row, *key));
        }
    })
    .unwrap();
    rows
}

fn keys(tx: &mut Transaction, table: &Arc<Table>) -> Vec<i64> {
    let mut keys: Vec<i64> = scanned(tx, table).into_iter().map(|(_, key)| key).collect();
    keys.sort_unstable();
    keys
}

/// Looks all values of 0 to 7 up in an index of them, or all keys in that of the primary key.
fn looked_up(tx: &mut Transaction, table: &Arc<Table>, name: &str) -> Vec<i64> {
    let (index, mut found) = (table.index(name).unwrap(), Vec::new());
    let mut note = |values: &[ValueRef<'_>]| {
        if let [ValueRef::Int(key)] = values {
            found.push(*key);
        }
    };
    if name == "t_pkey" {
        let all = (Bound::Unbounded, Bound::Unbounded);
        tx.range(table, &index, all, Direction::Ascending, &[0], |_, values| {
            note(values);
            ControlFlow::Continue(())
        })
        .unwrap();
    } else {
        for n in 0..7 {
            let key = [ValueRef::Int(n)];
            tx.lookup(table, &index, &key, &[0], |_, values| note(values)).unwrap();
        }
    }
    found.sort_unstable();
    found
}

/// Checks that all indexes find what a scan finds.
fn check(tx: &mut Transaction, table: &Arc<Table>) {
    let expected = keys(tx, table);
    for name in INDEXES {
        assert_eq!(looked_up(tx, table, name), expected, "{name}");
    }
}

fn is_behind(table: &Table) -> bool {
    table.indexes().iter().any(|index| index.is_behind())
}

#[test]
fn query_without_an_index_is_answered_while_indexes_are_filled() {
    let directory = directory();
    let (store, table) = reopened(directory.path(), 3_000);
    let primary = table.index("t_pkey").unwrap();
    // As if somebody was filling it, and not getting on.
    let held = primary.missing();
    let (told, is_told) = channel();
    thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut tx = begin(&store);
            told.send(()).unwrap();
            let (mut found, key) = (Vec::new(), [ValueRef::Int(2_345)]);
            tx.lookup(&table, &primary, &key, &[0, 1], |_, values| {
                found.extend(values.iter().map(|value| value.to_value()));
            })
            .unwrap();
            found
        });
        is_told.recv().unwrap();
        let mut tx = begin(&store);
        let rows = scanned(&mut tx, &table);
        assert_eq!(rows.len(), 3_000);
        tx.update(&table, rows[5].0, &[(2, ValueRef::Int(55))]).unwrap();
        tx.commit().unwrap();
        assert!(primary.is_behind());
        assert!(!reader.is_finished());
        drop(held);
        let found = reader.join().unwrap();
        assert_eq!(found, [Value::Int(2_345), Value::Int(0)]);
    });
    assert!(!primary.is_behind());
    check(&mut begin(&store), &table);
}

#[test]
fn key_that_is_there_is_refused_and_found_right_after_opening() {
    let directory = directory();
    let (store, table) = reopened(directory.path(), 100);
    let twice = insert(&store, &table, 42..43);
    assert!(matches!(twice, Err(Error::DuplicateKey(_))), "{twice:?}");
    insert(&store, &table, 100..101).unwrap();
    let twice = insert(&store, &table, 100..101);
    assert!(matches!(twice, Err(Error::DuplicateKey(_))), "{twice:?}");
    check(&mut begin(&store), &table);
    drop((store, table));
    let (store, table) = open(directory.path());
    let primary = table.index("t_pkey").unwrap();
    let (mut found, key) = (None, [ValueRef::Int(100)]);
    begin(&store).lookup(&table, &primary, &key, &[], |row, _| found = Some(row)).unwrap();
    assert!(found.is_some());
    let hash = table.index("t_hash").unwrap();
    assert!(hash.is_behind() && !primary.is_behind());
    assert_eq!(hash.entries(), 101);
}

#[test]
fn load_of_keys_that_are_there_is_refused_right_after_opening() {
    let directory = directory();
    let (store, table) = reopened(directory.path(), 100);
    let load = |first: i64| {
        let column = |values: [i64; 2]| {
            let mut column = ColumnBuffer::new(ColumnType::BigInt);
            column.push_ints(&values);
            column
        };
        let columns = [[first, first + 1], [3, 4], [0, 0]].map(column);
        let load = store.begin_load(&table).unwrap();
        load.append_chunk(0, &columns).unwrap();
        load.commit()
    };
    let twice = load(99);
    assert!(matches!(twice, Err(Error::DuplicateKey(_))), "{twice:?}");
    load(100).unwrap();
    check(&mut begin(&store), &table);
    assert_eq!(keys(&mut begin(&store), &table).len(), 102);
}

#[test]
fn rows_that_are_deleted_before_indexes_are_full_are_found_by_older_snapshots() {
    let directory = directory();
    let (store, table) = reopened(directory.path(), 50);
    let mut old = begin(&store);
    assert_eq!(scanned(&mut old, &table).len(), 50);
    let mut tx = begin(&store);
    for (row, _) in scanned(&mut tx, &table).into_iter().filter(|(_, key)| key % 2 == 0) {
        tx.delete(&table, row).unwrap();
    }
    tx.commit().unwrap();
    assert!(is_behind(&table), "somebody sees the rows, so entries are not taken out");
    check(&mut begin(&store), &table);
    check(&mut old, &table);
    assert_eq!(table.index("t_pkey").unwrap().entries(), 50);
    drop(old);
    begin(&store).rollback();
    assert_eq!(table.index("t_pkey").unwrap().entries(), 25);
    insert(&store, &table, 0..1).unwrap();
    check(&mut begin(&store), &table);
}

#[test]
fn last_delete_takes_entries_out_that_were_never_needed() {
    let directory = directory();
    let (store, table) = reopened(directory.path(), 50);
    let mut tx = begin(&store);
    let rows = scanned(&mut tx, &table);
    rows[..10].iter().for_each(|(row, _)| tx.delete(&table, *row).unwrap());
    tx.commit().unwrap();
    for name in INDEXES {
        assert_eq!(table.index(name).unwrap().entries(), 40, "{name}");
    }
    check(&mut begin(&store), &table);
}

#[test]
fn maintenance_fills_all_indexes_unless_the_database_is_closed() {
    let directory = directory();
    let (store, table) = reopened(directory.path(), 200);
    assert!(store.has_work());
    store.prepare_to_close();
    store.maintain_step().unwrap();
    assert!(is_behind(&table));
    check(&mut begin(&store), &table);
    drop((store, table));
    let (store, table) = open(directory.path());
    let mut steps = 0;
    while is_behind(&table) {
        assert!(!store.maintain_step().unwrap().is_idle());
        steps += 1;
    }
    assert_eq!(steps, INDEXES.len(), "one index at a time");
    check(&mut begin(&store), &table);
    assert!(!store.is_fill_due());
}

#[test]
fn rows_that_are_frozen_before_indexes_are_full_are_found() {
    let directory = directory();
    let (store, table) = reopened(directory.path(), 80);
    // Entries lead to rows by the ids that they had, until they get the new ones.
    let held = table.index("t_n").unwrap();
    store.freeze_only().unwrap();
    assert_eq!(table.hot().all().len(), 0);
    check(&mut begin(&store), &table);
    let twice = insert(&store, &table, 42..43);
    assert!(matches!(twice, Err(Error::DuplicateKey(_))), "{twice:?}");
    assert_eq!(held.entries(), 80);
    drop((store, table, held));
    let (store, table) = open(directory.path());
    store.checkpoint().unwrap();
    check(&mut begin(&store), &table);
    let mut tx = begin(&store);
    let (row, _) = scanned(&mut tx, &table)[7];
    tx.delete(&table, row).unwrap();
    tx.commit().unwrap();
    check(&mut begin(&store), &table);
}

#[test]
fn definitions_change_while_indexes_are_behind() {
    let directory = directory();
    let (store, table) = reopened(directory.path(), 80);
    store.create_index(&table, index("t_m", 2, IndexKind::Art)).unwrap();
    let dropped = table.index("t_hash").unwrap();
    store.drop_index(&table, "t_hash").unwrap();
    assert!(!dropped.is_behind() && !dropped.is_ready());
    let unique = IndexDef { is_unique: true, ..index("t_unique", 1, IndexKind::Art) };
    let refused = store.create_index(&table, unique);
    assert!(matches!(refused, Err(Error::DuplicateKey(_))), "{refused:?}");
    let mut tx = begin(&store);
    let rows = scanned(&mut tx, &table);
    tx.update(&table, rows[3].0, &[(1, ValueRef::Int(6)), (2, ValueRef::Int(9))]).unwrap();
    tx.commit().unwrap();
    let mut tx = begin(&store);
    assert_eq!(looked_up(&mut tx, &table, "t_n"), keys(&mut tx, &table));
    drop((tx, store, table, dropped));
    let (store, table) = open(directory.path());
    store.drop_table("t").unwrap();
    store.maintain_step().unwrap();
    assert!(is_behind(&table) && !store.is_fill_due());
}

#[test]
fn foreign_keys_are_checked_right_after_opening() {
    let directory = directory();
    let (store, parent) = open(directory.path());
    let key = ForeignKeyDef {
        name: "c_n_fkey".into(),
        columns: vec![1],
        referenced: Some(parent.id()),
        referenced_columns: vec![0],
        on_delete: ForeignKeyAction::NoAction,
        on_update: ForeignKeyAction::NoAction,
    };
    let keys = TableKeys { foreign: vec![key], ..TableKeys::default() };
    let child = store.create_table_with(schema("c"), TableRules::default(), &keys).unwrap();
    insert(&store, &parent, 0..7).unwrap();
    insert(&store, &child, 0..20).unwrap();
    drop((store, parent, child));
    for deletes in [true, false] {
        let (store, parent) = open(directory.path());
        let child = store.table("c").unwrap();
        let mut tx = begin(&store);
        let outcome = match deletes {
            true => {
                let (row, _) = scanned(&mut tx, &parent)[3];
                tx.delete(&parent, row).and_then(|()| tx.commit())
            }
            false => {
                let (row, _) = scanned(&mut tx, &child)[3];
                tx.update(&child, row, &[(1, ValueRef::Int(7))]).and_then(|_| tx.commit())
            }
        };
        assert!(matches!(outcome, Err(Error::ForeignKeyViolation(_))), "{outcome:?}");
    }
    let (store, _parent) = open(directory.path());
    insert(&store, &store.table("c").unwrap(), 20..30).unwrap();
}

#[test]
fn of_many_that_insert_a_key_while_indexes_are_filled_one_does() {
    const THREADS: usize = 4;
    let directory = directory();
    let (store, table) = reopened(directory.path(), 5_000);
    let is_inserted = |key: &i64| insert(&store, &table, *key..*key + 1).is_ok();
    let inserted: usize = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| scope.spawn(|| (4_900..5_100).filter(&is_inserted).count()))
            .collect();
        while !store.maintain_step().unwrap().is_idle() {}
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    // Who meets another one's insert is told to try again.
    assert!(inserted <= 100);
    let mut tx = begin(&store);
    assert_eq!(keys(&mut tx, &table).len(), 5_000 + inserted);
    check(&mut tx, &table);
    insert(&store, &table, 5_100..5_200).unwrap();
}

/// What happens between two openings.
#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(i64),
    /// Both find their row without an index.
    Update(usize, i64),
    Delete(usize),
    Freeze,
    Checkpoint,
    /// A reader begins that keeps versions, in the place of the one before.
    Read,
    Maintain,
    Check,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..60_i64).prop_map(Step::Insert),
        6 => (0..60_usize, 0..7_i64).prop_map(|(at, n)| Step::Update(at, n)),
        4 => (0..60_usize).prop_map(Step::Delete),
        2 => Just(Step::Freeze),
        1 => Just(Step::Checkpoint),
        2 => Just(Step::Read),
        1 => Just(Step::Maintain),
        1 => Just(Step::Check),
        4 => Just(Step::Reopen),
    ]
}

fn change(store: &Store, table: &Arc<Table>, step: Step) {
    let mut tx = begin(store);
    let rows = scanned(&mut tx, table);
    match step {
        Step::Insert(key) => {
            let values = [ValueRef::Int(key), ValueRef::Int(key % 7), ValueRef::Int(0)];
            let is_there = rows.iter().any(|(_, there)| *there == key);
            let inserted = tx.insert(table, &values);
            assert_eq!(inserted.is_err(), is_there, "{inserted:?}");
        }
        Step::Update(at, n) if !rows.is_empty() => {
            // One in two changes the key of an index.
            let changes = [(2, ValueRef::Int(n)), (1, ValueRef::Int(n))];
            let count = 1 + at % 2;
            tx.update(table, rows[at % rows.len()].0, &changes[..count]).unwrap();
        }
        Step::Delete(at) if !rows.is_empty() => {
            tx.delete(table, rows[at % rows.len()].0).unwrap();
        }
        _ => {}
    }
    tx.commit().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 300, ..Default::default() })]

    #[test]
    fn whatever_happens_while_indexes_are_behind_they_find_all_rows(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let directory = directory();
        let (mut store, mut table) = reopened(directory.path(), 30);
        let mut reader = None;
        for step in steps {
            match step {
                Step::Freeze => store.freeze_only().unwrap(),
                Step::Checkpoint => {
                    store.checkpoint().unwrap();
                }
                Step::Maintain => {
                    store.maintain_step().unwrap();
                }
                Step::Read => reader = Some(begin(&store)),
                Step::Check => check(&mut begin(&store), &table),
                Step::Reopen => {
                    if let Some(mut tx) = reader.take() {
                        check(&mut tx, &table);
                    }
                    drop((store, table));
                    (store, table) = open(directory.path());
                }
                change_step => change(&store, &table, change_step),
            }
        }
        if let Some(mut tx) = reader {
            check(&mut tx, &table);
        }
        check(&mut begin(&store), &table);
    }
}
