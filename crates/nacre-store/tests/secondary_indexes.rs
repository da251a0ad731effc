//! Indexes that are created and dropped while others read and write: their answers are those of a
//! scan, for every snapshot, and a unique one keeps its promise.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nacre_column::{ColumnBuffer, ColumnType};
use nacre_store::index::{Direction, IndexDef, IndexKind, IndexOrigin, TableIndex};
use nacre_store::{
    ColumnDef, Error, ErrorKind, IsolationLevel, OpenOptions, RowId, Store, Table, TableSchema,
    Transaction, ValueRef,
};
use proptest::prelude::*;

/// Columns: an id, a number that may be null, and a text.
fn table(store: &Store) -> Arc<Table> {
    let column = |name: &str, column_type, is_nullable| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable,
        replicas: None,
    };
    let schema = TableSchema {
        name: "t".into(),
        columns: vec![
            column("id", ColumnType::BigInt, false),
            column("a", ColumnType::Integer, true),
            column("b", ColumnType::Varchar { max_chars: None }, false),
        ],
        primary_key: Some(vec![0]),
        primary_key_name: "t_pkey".into(),
        replicas: "auto".parse().ok(),
    };
    store.create_table(schema).unwrap()
}

fn volatile() -> (Store, Arc<Table>) {
    let store = Store::open(OpenOptions::default()).unwrap();
    let table = table(&store);
    (store, table)
}

fn definition(name: &str, columns: &[usize], is_unique: bool, kind: IndexKind) -> IndexDef {
    let origin = IndexOrigin::Statement;
    IndexDef { name: name.into(), columns: columns.to_vec(), is_unique, kind, origin }
}

fn begin(store: &Store) -> Transaction {
    store.begin(IsolationLevel::RepeatableRead)
}

fn int(value: Option<i64>) -> ValueRef<'static> {
    value.map_or(ValueRef::Null, ValueRef::Int)
}

fn text(value: i64) -> String {
    format!("b{value}")
}

fn insert(tx: &mut Transaction, table: &Arc<Table>, row: Row) -> Result<RowId, Error> {
    let text = text(row.2);
    tx.insert(table, &[ValueRef::Int(row.0), int(row.1), ValueRef::Bytes(text.as_bytes())])
}

/// Id, number, number of the text.
type Row = (i64, Option<i64>, i64);

fn row_of(values: &[ValueRef<'_>]) -> Row {
    let [ValueRef::Int(id), a, ValueRef::Bytes(b)] = values else { panic!("{values:?}") };
    let a = match a {
        ValueRef::Int(a) => Some(*a),
        ValueRef::Null => None,
        other => panic!("{other:?}"),
    };
    (*id, a, std::str::from_utf8(b).unwrap()[1..].parse().unwrap())
}

fn scan(tx: &mut Transaction, table: &Arc<Table>) -> BTreeSet<Row> {
    let mut rows = BTreeSet::new();
    tx.scan(table, &[], &[0, 1, 2], |_, values| assert!(rows.insert(row_of(values)))).unwrap();
    rows
}

/// Returns the rows of a key of the first columns of an index.
fn lookup(
    tx: &mut Transaction,
    table: &Arc<Table>,
    index: &TableIndex,
    key: &[ValueRef<'_>],
) -> BTreeSet<Row> {
    let mut rows = BTreeSet::new();
    let on_row = |_, values: &[ValueRef<'_>]| assert!(rows.insert(row_of(values)), "twice");
    tx.lookup(table, index, key, &[0, 1, 2], on_row).unwrap();
    rows
}

fn range(tx: &mut Transaction, table: &Arc<Table>, index: &TableIndex) -> BTreeSet<Row> {
    let mut rows = BTreeSet::new();
    let all = (Bound::Unbounded, Bound::Unbounded);
    tx.range(table, index, all, Direction::Descending, &[0, 1, 2], |_, values| {
        assert!(rows.insert(row_of(values)), "twice");
        ControlFlow::Continue(())
    })
    .unwrap();
    rows
}

/// Compares what indexes say with a scan.
fn check(tx: &mut Transaction, table: &Arc<Table>) {
    let rows = scan(tx, table);
    for index in table.indexes() {
        if index.definition().kind == IndexKind::Art {
            assert_eq!(range(tx, table, &index), rows, "{:?}", index.definition());
        }
        for row in &rows {
            let text = text(row.2);
            let values = [ValueRef::Int(row.0), int(row.1), ValueRef::Bytes(text.as_bytes())];
            let columns = &index.definition().columns;
            let key: Vec<ValueRef<'_>> = columns.iter().map(|&column| values[column]).collect();
            let same = |other: &&Row| {
                columns.iter().all(|column| match column {
                    0 => other.0 == row.0,
                    1 => other.1 == row.1,
                    _ => other.2 == row.2,
                })
            };
            let expected: BTreeSet<Row> = rows.iter().filter(same).copied().collect();
            assert_eq!(lookup(tx, table, &index, &key), expected, "{:?}", index.definition());
        }
    }
}

fn load(store: &Store, table: &Arc<Table>, rows: &[Row]) -> Result<u64, Error> {
    let mut columns: Vec<ColumnBuffer> =
        (0..3).map(|column| ColumnBuffer::new(table.column_type(column))).collect();
    for row in rows {
        columns[0].push_int(row.0);
        int(row.1).push_to(&mut columns[1]);
        columns[2].push_bytes(text(row.2).as_bytes());
    }
    let load = store.begin_load(table)?;
    load.append_chunk(0, &columns)?;
    load.commit()
}

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[test]
fn index_over_hot_and_frozen_rows_answers_as_a_scan() {
    for kind in [IndexKind::Art, IndexKind::Hash] {
        let (store, table) = volatile();
        load(&store, &table, &[(1, Some(5), 1), (2, None, 1), (3, Some(5), 2)]).unwrap();
        let mut tx = begin(&store);
        for row in [(4, Some(5), 1), (5, None, 3), (6, Some(-5), 1)] {
            insert(&mut tx, &table, row).unwrap();
        }
        tx.commit().unwrap();
        store.create_index(&table, definition("i", &[1], false, kind)).unwrap();
        store.create_index(&table, definition("j", &[2, 1], false, kind)).unwrap();
        check(&mut begin(&store), &table);
        let index = table.index("i").unwrap();
        let found = lookup(&mut begin(&store), &table, &index, &[ValueRef::Int(5)]);
        assert_eq!(found.len(), 3);
        assert_eq!(lookup(&mut begin(&store), &table, &index, &[ValueRef::Null]).len(), 2);
        assert_eq!(table.indexes().len(), 3);
        let names: Vec<String> =
            store.indexes().into_iter().map(|info| info.definition.name).collect();
        assert_eq!(names, ["t_pkey", "i", "j"]);
    }
}

#[test]
fn names_are_shared_by_tables_and_indexes() {
    let (store, table) = volatile();
    let named = |name: &str| definition(name, &[1], false, IndexKind::Art);
    store.create_index(&table, named("i")).unwrap();
    for name in ["i", "t", "t_pkey"] {
        assert_eq!(kind(store.create_index(&table, named(name))), ErrorKind::TableExists);
    }
    let mut schema = TableSchema::clone(&table.schema());
    (schema.name, schema.primary_key) = ("i".into(), None);
    assert_eq!(kind(store.create_table(schema.clone())), ErrorKind::TableExists);
    assert_eq!(kind(store.drop_index(&table, "t_pkey")), ErrorKind::DependentObjects);
    assert_eq!(kind(store.drop_index(&table, "nothing")), ErrorKind::UnknownIndex);
    let (index, mut tx) = (table.index("i").unwrap(), begin(&store));
    store.drop_index(&table, "i").unwrap();
    let answer = tx.lookup(&table, &index, &[ValueRef::Int(1)], &[0], |_, _| ());
    assert_eq!(kind(answer), ErrorKind::UnknownIndex);
    store.create_table(schema).unwrap();
    for columns in [vec![], vec![1, 1], vec![3]] {
        let broken = definition("k", &columns, false, IndexKind::Art);
        assert_eq!(kind(store.create_index(&table, broken)), ErrorKind::InvalidDefinition);
    }
}

#[test]
fn unique_index_is_refused_where_rows_are_equal_and_leaves_nothing() {
    let hot: [Row; 2] = [(1, Some(7), 0), (2, Some(7), 1)];
    // Both hot, one hot, none hot.
    for frozen in 0..3 {
        let (store, table) = volatile();
        if frozen > 0 {
            load(&store, &table, &hot[..frozen]).unwrap();
        }
        let mut tx = begin(&store);
        for row in &hot[frozen..] {
            insert(&mut tx, &table, *row).unwrap();
        }
        tx.commit().unwrap();
        let unique = definition("u", &[1], true, IndexKind::Art);
        let Error::DuplicateKey(duplicate) =
            store.create_index(&table, unique.clone()).unwrap_err()
        else {
            panic!();
        };
        assert_eq!((duplicate.constraint.as_str(), duplicate.key.as_str()), ("u", "7"));
        assert_eq!(table.indexes().len(), 1);
        assert_eq!(kind(table.index("u")), ErrorKind::UnknownIndex);
        // What is equal goes, and the name is free.
        let mut tx = begin(&store);
        let primary = table.index("t_pkey").unwrap();
        let mut rows = Vec::new();
        let on_row = |row: RowId, _: &[ValueRef<'_>]| rows.push(row);
        tx.lookup(&table, &primary, &[ValueRef::Int(2)], &[], on_row).unwrap();
        tx.delete(&table, rows[0]).unwrap();
        tx.commit().unwrap();
        store.create_index(&table, unique).unwrap();
        let mut tx = begin(&store);
        assert_eq!(kind(insert(&mut tx, &table, (3, Some(7), 0))), ErrorKind::DuplicateKey);
        // Nulls differ from each other.
        insert(&mut tx, &table, (4, None, 0)).unwrap();
        insert(&mut tx, &table, (5, None, 0)).unwrap();
        tx.commit().unwrap();
        assert_eq!(kind(load(&store, &table, &[(6, Some(7), 0)])), ErrorKind::DuplicateKey);
        let equal = [(6, Some(8), 0), (7, Some(8), 0)];
        assert_eq!(kind(load(&store, &table, &equal)), ErrorKind::DuplicateKey);
        load(&store, &table, &[(6, Some(8), 0), (7, None, 0), (8, None, 0)]).unwrap();
        check(&mut begin(&store), &table);
    }
}

#[test]
fn older_snapshots_and_rollbacks_see_their_keys_through_a_new_index() {
    let (store, table) = volatile();
    let mut tx = begin(&store);
    let row = insert(&mut tx, &table, (1, Some(1), 0)).unwrap();
    insert(&mut tx, &table, (2, Some(2), 0)).unwrap();
    tx.commit().unwrap();
    // The old reader does not see the change, which was made in place.
    let mut old = begin(&store);
    let mut tx = begin(&store);
    tx.update(&table, row, &[(1, ValueRef::Int(9))]).unwrap();
    tx.commit().unwrap();
    let index = definition("i", &[1], false, IndexKind::Art);
    assert_eq!(
        kind(store.create_index(&table, index.clone())),
        ErrorKind::SerializationConflict,
        "an index without the old key would hide the row"
    );
    assert_eq!(table.indexes().len(), 1);
    check(&mut old, &table);
    old.rollback();
    // A deleted row that a reader still sees is no hindrance.
    let mut old = begin(&store);
    let mut tx = begin(&store);
    tx.delete(&table, row).unwrap();
    tx.commit().unwrap();
    // Neither is a row that is changed in another column, or inserted and rolled back later.
    let mut open = begin(&store);
    insert(&mut open, &table, (3, Some(3), 0)).unwrap();
    store.create_index(&table, index).unwrap();
    check(&mut old, &table);
    check(&mut open, &table);
    insert(&mut open, &table, (4, Some(3), 0)).unwrap();
    check(&mut open, &table);
    open.rollback();
    check(&mut old, &table);
    check(&mut begin(&store), &table);
}

#[test]
fn snapshot_from_before_a_unique_index_may_see_two_rows_of_a_key() {
    let (store, table) = volatile();
    load(&store, &table, &[(1, Some(7), 0)]).unwrap();
    let mut tx = begin(&store);
    insert(&mut tx, &table, (2, Some(7), 0)).unwrap();
    tx.commit().unwrap();
    let mut old = begin(&store);
    let mut tx = begin(&store);
    let mut rows = Vec::new();
    tx.scan(&table, &[], &[], |row, _| rows.push(row)).unwrap();
    tx.delete(&table, rows[0]).unwrap();
    tx.commit().unwrap();
    store.create_index(&table, definition("u", &[1], true, IndexKind::Art)).unwrap();
    check(&mut old, &table);
    check(&mut begin(&store), &table);
}

#[test]
fn index_is_created_while_others_write() {
    let (store, table) = volatile();
    let mut tx = begin(&store);
    for id in 0..400 {
        insert(&mut tx, &table, (id, Some(id % 50), id % 7)).unwrap();
    }
    tx.commit().unwrap();
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..2_i64 {
            let (store, table, is_done) = (&store, &table, &is_done);
            scope.spawn(move || {
                for round in 0..4_000_i64 {
                    if is_done.load(Ordering::Relaxed) {
                        break;
                    }
                    let mut tx = begin(store);
                    let (id, a) = (10_000 * (writer + 1) + round, round % 50);
                    let row = insert(&mut tx, table, (id, Some(a), 0)).unwrap();
                    let row = tx.update(table, row, &[(1, ValueRef::Int(a + 1))]).unwrap();
                    match round % 3 {
                        0 => tx.rollback(),
                        1 => {
                            tx.delete(table, row).unwrap();
                            tx.commit().unwrap();
                        }
                        _ => {
                            tx.commit().unwrap();
                        }
                    }
                }
            });
        }
        for name in ["i", "j", "k"] {
            let index = definition(name, &[1, 2], false, IndexKind::Art);
            store.create_index(&table, index).unwrap();
            check(&mut begin(&store), &table);
            if name == "j" {
                store.drop_index(&table, "i").unwrap();
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
    check(&mut begin(&store), &table);
}

#[test]
fn two_that_insert_one_key_while_a_unique_index_is_made_do_not_both_commit() {
    for round in 0..8_i64 {
        let (store, table) = volatile();
        let committed: usize = thread::scope(|scope| {
            let writers: Vec<_> = (0..2_i64)
                .map(|writer| {
                    let (store, table) = (&store, &table);
                    scope.spawn(move || {
                        let mut committed = 0;
                        for key in 0..60 {
                            let mut tx = begin(store);
                            let row = (2 * key + writer, Some(key % 40), round);
                            if insert(&mut tx, table, row).is_ok() && tx.commit().is_ok() {
                                committed += 1;
                            }
                        }
                        committed
                    })
                })
                .collect();
            let created = store.create_index(&table, definition("u", &[1], true, IndexKind::Hash));
            let committed = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
            let rows = scan(&mut begin(&store), &table);
            let keys: BTreeSet<_> = rows.iter().map(|row| row.1).collect();
            match created {
                Ok(()) => assert_eq!(keys.len(), rows.len(), "a key is there twice"),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error}");
                    assert_eq!(table.indexes().len(), 1);
                }
            }
            check(&mut begin(&store), &table);
            committed
        });
        assert_eq!(committed, scan(&mut begin(&store), &table).len());
    }
}

#[test]
fn indexes_are_there_again_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let options = OpenOptions {
            directory: Some(directory.path().to_path_buf()),
            ..OpenOptions::default()
        };
        Store::open(options).unwrap()
    };
    {
        let store = open();
        let table = table(&store);
        load(&store, &table, &[(1, Some(1), 1)]).unwrap();
        let mut tx = begin(&store);
        insert(&mut tx, &table, (2, Some(2), 2)).unwrap();
        tx.commit().unwrap();
        for (name, is_unique) in [("i", false), ("u", true), ("gone", false)] {
            let index = definition(name, &[1], is_unique, IndexKind::Art);
            store.create_index(&table, index).unwrap();
        }
        store.drop_index(&table, "gone").unwrap();
    }
    for _ in 0..2 {
        let store = open();
        let table = store.table("t").unwrap();
        let names: Vec<String> =
            table.indexes().iter().map(|index| index.definition().name.clone()).collect();
        assert_eq!(names, ["t_pkey", "i", "u"]);
        check(&mut begin(&store), &table);
        let mut tx = begin(&store);
        for taken in 1..=2 {
            let row = (9, Some(taken), 0);
            assert_eq!(kind(insert(&mut tx, &table, row)), ErrorKind::DuplicateKey);
        }
    }
    let store = open();
    store.drop_table("t").unwrap();
    drop(store);
    assert_eq!(open().indexes(), []);
}

#[derive(Clone, Debug)]
enum Step {
    Insert(Option<i64>, i64),
    Update(usize, Option<i64>),
    UpdateText(usize, i64),
    Delete(usize),
    Load(Vec<Option<i64>>),
    Commit,
    Rollback,
    Snapshot,
    Forget,
    Create(bool, bool, bool),
    Drop,
}

fn step() -> impl Strategy<Value = Step> {
    let a = || proptest::option::weighted(0.9, 0_i64..12);
    prop_oneof![
        8 => (a(), 0_i64..3).prop_map(|(a, b)| Step::Insert(a, b)),
        6 => (0_usize..64, a()).prop_map(|(at, a)| Step::Update(at, a)),
        2 => (0_usize..64, 0_i64..3).prop_map(|(at, b)| Step::UpdateText(at, b)),
        4 => (0_usize..64).prop_map(Step::Delete),
        1 => proptest::collection::vec(a(), 1..6).prop_map(Step::Load),
        5 => Just(Step::Commit),
        1 => Just(Step::Rollback),
        2 => Just(Step::Snapshot),
        2 => Just(Step::Forget),
        2 => (any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(|(u, h, t)| Step::Create(u, h, t)),
        1 => Just(Step::Drop),
    ]
}

/// Runs steps; after each all snapshots that are open get the same from indexes as from scans.
fn run(steps: Vec<Step>) {
    let (store, table) = volatile();
    let (mut next, mut made) = (0_i64, 0);
    let mut tx = begin(&store);
    let mut old: Vec<Transaction> = Vec::new();
    let pick = |tx: &mut Transaction, at: usize| {
        let mut rows = Vec::new();
        tx.scan(&table, &[], &[], |row, _| rows.push(row)).unwrap();
        (!rows.is_empty()).then(|| rows[at % rows.len()])
    };
    for step in steps {
        match step {
            Step::Insert(a, b) => {
                next += 1;
                let _ = insert(&mut tx, &table, (next, a, b));
            }
            Step::Update(at, a) => {
                if let Some(row) = pick(&mut tx, at) {
                    let _ = tx.update(&table, row, &[(1, int(a))]);
                }
            }
            Step::UpdateText(at, b) => {
                if let Some(row) = pick(&mut tx, at) {
                    let text = text(b);
                    let _ = tx.update(&table, row, &[(2, ValueRef::Bytes(text.as_bytes()))]);
                }
            }
            Step::Delete(at) => {
                if let Some(row) = pick(&mut tx, at) {
                    let _ = tx.delete(&table, row);
                }
            }
            Step::Load(values) => {
                let rows: Vec<Row> =
                    (next + 1..).zip(values).map(|(id, a)| (id, a, id % 3)).collect();
                next += rows.len() as i64;
                let _ = load(&store, &table, &rows);
            }
            Step::Commit => {
                std::mem::replace(&mut tx, begin(&store)).commit().unwrap();
                tx = begin(&store);
            }
            Step::Rollback => tx = begin(&store),
            Step::Snapshot => old.push(begin(&store)),
            Step::Forget => drop(old.pop()),
            Step::Create(is_unique, is_hash, is_text) => {
                // What is open may keep older keys; waiting for it would be in vain.
                old.clear();
                tx = begin(&store);
                made += 1;
                let kind = if is_hash { IndexKind::Hash } else { IndexKind::Art };
                let columns: &[usize] = if is_text { &[2, 1] } else { &[1] };
                let index = definition(&format!("i{made}"), columns, is_unique, kind);
                match store.create_index(&table, index) {
                    Ok(()) => {}
                    Err(Error::DuplicateKey(_)) if is_unique => {}
                    Err(error) => panic!("{error}"),
                }
            }
            Step::Drop => {
                let last = table.indexes().last().map(|index| index.definition().name.clone());
                let _ = store.drop_index(&table, &last.unwrap());
            }
        }
        old.iter_mut().for_each(|old| check(old, &table));
        check(&mut tx, &table);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("NACRE_TEST_FULL").is_some() { 1_000 } else { 32 },
        max_shrink_iters: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn indexes_answer_as_scans_at_every_snapshot(
        steps in proptest::collection::vec(step(), 1..60)
    ) {
        run(steps);
    }
}
