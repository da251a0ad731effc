//! Compaction beside transactions that read and write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nacre_column::{CompareOp, Constant, Restriction};

use super::checkpoint::Choice;
use super::tests::{
    begin, delete, fill, insert, looked_up, maintain, open, ordered, pairs, schema, stored,
    volatile,
};
use crate::error::{Error, Result};
use crate::foreign_key::{ForeignKeyAction, ForeignKeyDef, TableKeys};
use crate::id::RowId;
use crate::index::{IndexDef, IndexKind, IndexOrigin};
use crate::mvcc::{IsolationLevel, Transaction};
use crate::procedure::Procedures;
use crate::rules::TableRules;
use crate::store::{OpenOptions, Store};
use crate::table::Table;
use crate::value::{Value, ValueRef};

/// Makes a load of keys from 0 on, of which those below `deleted` are deleted.
fn holey(store: &Store, table: &Arc<Table>, rows: i64, deleted: i64) {
    fill(store, table, 0..rows);
    store.checkpoint().unwrap();
    delete(store, table, 0..deleted);
}

fn row(tx: &mut Transaction, table: &Arc<Table>, key: i64) -> RowId {
    looked_up(tx, table, key)[0].0
}

fn set(tx: &mut Transaction, table: &Arc<Table>, key: i64, n: i64) -> Result<RowId> {
    let row = row(tx, table, key);
    tx.update(table, row, &[(1, ValueRef::Int(n))])
}

fn is_conflict<T>(outcome: &Result<T>) -> bool {
    matches!(outcome, Err(Error::SerializationConflict { .. }))
}

#[test]
fn load_of_which_half_is_deleted_goes() {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema()).unwrap();
    holey(&store, &table, 100, 49);
    store.checkpoint().unwrap();
    maintain(&store);
    assert_eq!((table.snapshot().rows(), stored(directory.path())), (100, 1), "not yet half");
    delete(&store, &table, 49..50);
    let before = pairs(&mut begin(&store), &table);
    store.checkpoint().unwrap();
    maintain(&store);
    assert_eq!((table.snapshot().rows(), stored(directory.path())), (0, 0));
    assert_eq!(pairs(&mut begin(&store), &table), before);
    assert_eq!(table.indexes()[0].entries(), 50, "none of the old places");
    assert!(row(&mut begin(&store), &table, 70).is_hot());
    drop((store, table));
    let store = open(directory.path());
    let table = store.table("t").unwrap();
    assert_eq!(pairs(&mut begin(&store), &table), before);
    assert_eq!(store.checkpoint().unwrap().frozen_rows, 50);
    maintain(&store);
    assert_eq!((table.snapshot().rows(), stored(directory.path())), (50, 1), "dense, and stays");
    assert_eq!(pairs(&mut begin(&store), &table), before);
    assert_eq!(store.notes(), Vec::<String>::new());
}

#[test]
fn small_loads_become_one() {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let store = open(directory.path());
    let table = store.create_table(schema()).unwrap();
    for start in 0..8 {
        maintain(&store);
        assert_eq!(stored(directory.path()), start as usize, "few small ones stay");
        fill(&store, &table, start * 10..start * 10 + 10);
        store.checkpoint().unwrap();
    }
    let before = pairs(&mut begin(&store), &table);
    maintain(&store);
    assert_eq!(stored(directory.path()), 0);
    store.checkpoint().unwrap();
    maintain(&store);
    assert_eq!((table.snapshot().rows(), stored(directory.path())), (80, 1));
    assert_eq!(pairs(&mut begin(&store), &table), before);
    assert_eq!(table.indexes()[0].entries(), 80);
}

#[test]
fn few_rows_of_long_texts_are_no_small_load() {
    let (store, table) = volatile();
    let text = vec![b'x'; 3 << 20];
    for key in 0..27 {
        let mut tx = begin(&store);
        let values = [ValueRef::Int(key), ValueRef::Int(key), ValueRef::Bytes(&text)];
        tx.insert(&table, &values).unwrap();
        tx.commit().unwrap();
        if key % 3 == 2 {
            store.checkpoint().unwrap();
            assert!(!store.is_compaction_due(), "9 MiB in a load of {}", table.snapshot().rows());
        }
    }
    assert_eq!(store.compact_all().unwrap(), 0);
    delete(&store, &table, (0..27).filter(|key| key % 3 > 0));
    assert_eq!(store.compact_all().unwrap(), 9, "most of their rows are deleted");
}

#[test]
fn loads_that_somebody_deletes_from_wait_for_another_look() {
    let (store, table) = volatile();
    holey(&store, &table, 100, 60);
    let look = |expected| {
        store.choose_loads(Choice::Cold);
        assert_eq!(store.is_compaction_due(), expected);
    };
    look(false);
    delete(&store, &table, 60..61);
    look(false);
    let reader = begin(&store);
    delete(&store, &table, 61..62);
    look(false);
    look(false);
    drop(reader);
    look(false);
    look(true);
    maintain(&store);
    assert_eq!((table.snapshot().rows(), pairs(&mut begin(&store), &table).len()), (0, 38));
}

#[test]
fn old_snapshots_see_the_rows_where_they_were() {
    let (store, table) = volatile();
    holey(&store, &table, 100, 60);
    let mut reader = begin(&store);
    let (before, place) = (pairs(&mut reader, &table), row(&mut reader, &table, 80));
    let scan = reader.table_snapshot(&table);
    assert_eq!(store.compact_all().unwrap(), 40);
    assert_eq!(pairs(&mut reader, &table), before);
    assert_eq!(row(&mut reader, &table, 80), place);
    assert_eq!((scan.rows(), reader.table_snapshot(&table).rows()), (40, 40));
    let read = reader.read(&table, place, &[1], |values| values[0].to_value()).unwrap();
    assert_eq!(read, Some(Value::Int(80)));
    let mut later = begin(&store);
    assert_eq!(pairs(&mut later, &table), before);
    assert!(row(&mut later, &table, 80).is_hot());
    assert_eq!(later.table_snapshot(&table).rows(), 40);
    let outcome = later.delete(&table, place);
    assert!(is_conflict(&outcome), "who has an old place is told to look again: {outcome:?}");
    drop(later);
    store.checkpoint().unwrap();
    assert_eq!(table.snapshot().rows(), 100, "the reader sees the load");
    drop((reader, scan));
    store.checkpoint().unwrap();
    assert_eq!((table.snapshot().rows(), table.indexes()[0].entries()), (40, 40));
    let outcome = begin(&store).delete(&table, place);
    assert!(is_conflict(&outcome), "{outcome:?}");
}

/// Returns the keys of rows whose number is at least `n`.
fn at_least(tx: &mut Transaction, table: &Arc<Table>, n: i64) -> usize {
    let mut count = 0;
    let at_least = Restriction::Compare { op: CompareOp::Ge, value: Constant::Int(n.into()) };
    tx.scan(table, &[(1, at_least)], &[0], |_, _| count += 1).unwrap();
    count
}

#[test]
fn moves_are_no_conflict_and_writes_behind_them_are() {
    // What the writer does to row 80, and whether who read numbers from 80 on hears of it.
    type Write = fn(&mut Transaction, &Arc<Table>);
    let writes: [(Write, bool); 6] = [
        (|_, _| {}, false),
        (|tx, table| assert!(insert(tx, table, 200, 20).is_hot()), false),
        (|tx, table| assert!(set(tx, table, 70, 60).is_ok()), false),
        (|tx, table| assert!(set(tx, table, 80, 0).is_ok()), true),
        (|tx, table| assert!(set(tx, table, 70, 99).is_ok()), true),
        (
            |tx, table| {
                let row = row(tx, table, 80);
                tx.delete(table, row).unwrap();
            },
            true,
        ),
    ];
    for (write, is_heard) in writes {
        for how in 0..3 {
            let (store, table) = volatile();
            holey(&store, &table, 100, 60);
            let mut reader = begin(&store);
            match how {
                0 => assert_eq!(at_least(&mut reader, &table, 80), 20),
                1 => assert_eq!(pairs(&mut reader, &table).len(), 40),
                _ => {
                    let row = row(&mut begin(&store), &table, 80);
                    reader.read(&table, row, &[1], |_| ()).unwrap();
                }
            }
            insert(&mut reader, &table, 300, 1);
            assert_eq!(store.compact_all().unwrap(), 40);
            let mut writer = begin(&store);
            write(&mut writer, &table);
            let has_written = writer.has_writes();
            let wrote_80 = pairs(&mut writer, &table)
                .iter()
                .all(|(key, n)| *key != Value::Int(80) || *n != Value::Int(80));
            writer.commit().unwrap();
            let expected = match how {
                0 => is_heard,
                1 => has_written,
                _ => wrote_80,
            };
            let outcome = reader.commit();
            assert_eq!(is_conflict(&outcome), expected, "{how}: {outcome:?}");
        }
    }
}

#[test]
fn whoever_writes_a_row_comes_first() {
    let (store, table) = volatile();
    holey(&store, &table, 100, 60);
    let mut old = begin(&store);
    let mut writer = begin(&store);
    set(&mut writer, &table, 99, 7).unwrap();
    assert_eq!(store.compact_all().unwrap(), 0, "nothing of the transaction that met it stays");
    assert!(!row(&mut begin(&store), &table, 70).is_hot());
    writer.commit().unwrap();
    assert_eq!(store.compact_all().unwrap(), 0, "an older transaction sees another row 99");
    set(&mut old, &table, 70, 1).unwrap();
    old.commit().unwrap();
    let mut old = begin(&store);
    let place = row(&mut old, &table, 71);
    assert_eq!(store.compact_all().unwrap(), 38);
    let outcome = old.delete(&table, place);
    assert!(is_conflict(&outcome), "as after an update: {outcome:?}");
    drop(old);
    let mut tx = begin(&store);
    assert_eq!(looked_up(&mut tx, &table, 99)[0].1, Value::Int(7));
    assert_eq!(pairs(&mut tx, &table).len(), 40);
}

#[test]
fn keys_of_rows_that_moved_are_taken() {
    let (store, table) = volatile();
    let (name, kind) = ("t_s".into(), IndexKind::Hybrid);
    let by_s = IndexDef {
        name,
        columns: vec![2, 0],
        is_unique: false,
        kind,
        origin: IndexOrigin::Statement,
    };
    store.create_index(&table, by_s).unwrap();
    holey(&store, &table, 100, 60);
    let mut old = begin(&store);
    store.compact_all().unwrap();
    for tx in [&mut old, &mut begin(&store)] {
        let again = tx.insert(&table, &[ValueRef::Int(80), ValueRef::Int(0), ValueRef::Null]);
        assert!(matches!(again, Err(Error::DuplicateKey(_))) || is_conflict(&again), "{again:?}");
        let keys: Vec<Value> = (60..100).map(Value::Int).collect();
        assert_eq!(ordered(tx, &table, "t_pkey"), keys);
        assert_eq!(ordered(tx, &table, "t_s").len(), 40);
    }
    drop(old);
    store.checkpoint().unwrap();
    let again =
        begin(&store).insert(&table, &[ValueRef::Int(80), ValueRef::Int(0), ValueRef::Null]);
    assert!(matches!(again, Err(Error::DuplicateKey(_))), "{again:?}");
    fill(&store, &table, 0..60);
    assert_eq!(ordered(&mut begin(&store), &table, "t_s").len(), 100);
}

#[test]
fn foreign_keys_hold_where_rows_moved() {
    let (store, parent) = volatile();
    let foreign = vec![ForeignKeyDef {
        name: "c_t_fkey".into(),
        columns: vec![1],
        referenced: Some(parent.id()),
        referenced_columns: vec![0],
        on_delete: ForeignKeyAction::NoAction,
        on_update: ForeignKeyAction::NoAction,
    }];
    let definition = crate::schema::TableSchema {
        name: "c".into(),
        primary_key_name: "c_pkey".into(),
        columns: vec![
            schema().columns[0].clone(),
            crate::schema::ColumnDef { name: "t".into(), ..schema().columns[0].clone() },
        ],
        ..schema()
    };
    let keys = TableKeys { unique: Vec::new(), foreign };
    let child = store.create_table_with(definition, TableRules::default(), &keys).unwrap();
    holey(&store, &parent, 100, 50);
    let refer = |id: i64, to: i64| {
        let mut tx = begin(&store);
        tx.insert(&child, &[ValueRef::Int(id), ValueRef::Int(to)])?;
        tx.commit()
    };
    (0..20).for_each(|id| assert!(refer(id, 60).is_ok()));
    store.checkpoint().unwrap();
    let mut tx = begin(&store);
    let mut gone = Vec::new();
    tx.scan(&child, &[], &[0], |row, values| {
        gone.extend(matches!(values[0], ValueRef::Int(id) if id < 10).then_some(row));
    })
    .unwrap();
    gone.into_iter().for_each(|row| tx.delete(&child, row).unwrap());
    tx.commit().unwrap();
    assert_eq!(store.compact_all().unwrap(), 60, "parents and children");
    refer(20, 61).unwrap();
    assert!(matches!(refer(21, 40), Err(Error::ForeignKeyViolation(_))));
    for key in [60, 61] {
        let mut tx = begin(&store);
        let row = row(&mut tx, &parent, key);
        tx.delete(&parent, row).unwrap();
        assert!(matches!(tx.commit(), Err(Error::ForeignKeyViolation(_))));
    }
    delete(&store, &parent, 62..63);
}

#[test]
fn moves_wait_for_loads_and_for_old_transactions() {
    let (store, table) = volatile();
    holey(&store, &table, 100, 60);
    let load = table.commit_lock.lock().unwrap();
    assert_eq!(store.compact_all().unwrap(), 0);
    drop(load);
    let reader = begin(&store);
    std::thread::sleep(super::compact::OLD_TRANSACTION + Duration::from_millis(100));
    store.choose_loads(Choice::All);
    assert!(store.is_compaction_due());
    maintain(&store);
    assert!(!store.is_compaction_due() && table.snapshot().rows() == 100);
    drop(reader);
    store.checkpoint().unwrap();
    maintain(&store);
    assert_eq!(table.snapshot().rows(), 0);
}

#[test]
fn moves_wait_while_calls_are_in_the_log() {
    let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let mut procedures = Procedures::default();
    procedures
        .register("add", |tx, arguments| {
            let table = tx.table("t")?;
            tx.insert(&table, &[arguments[0], ValueRef::Int(0), ValueRef::Null])?;
            Ok(Vec::new())
        })
        .unwrap();
    let open = || {
        let (directory, procedures) = (Some(directory.path().into()), procedures.clone());
        Store::open(OpenOptions { directory, procedures, ..OpenOptions::default() }).unwrap()
    };
    let store = open();
    let table = store.create_table(schema()).unwrap();
    holey(&store, &table, 100, 60);
    store.call("add", &[ValueRef::Int(500)]).unwrap();
    assert_eq!(store.compact_all().unwrap(), 0);
    store.checkpoint().unwrap();
    assert_eq!(store.compact_all().unwrap(), 40);
    store.call("add", &[ValueRef::Int(501)]).unwrap();
    let before = pairs(&mut begin(&store), &table);
    drop((store, table));
    let store = open();
    assert_eq!(pairs(&mut begin(&store), &store.table("t").unwrap()), before);
}

/// Sums of pairs of accounts do not change, and no transaction sees that they did.
#[test]
fn transfers_and_sums_go_on_while_rows_move() {
    const ACCOUNTS: i64 = 300;
    let (store, table) = volatile();
    fill(&store, &table, 0..ACCOUNTS);
    let total: i64 = (0..ACCOUNTS).sum();
    let (is_over, moved) = (AtomicBool::new(false), AtomicU64::new(0));
    let transfer = |seed: u64| -> Result<()> {
        let mut tx = begin(&store);
        let (from, to) = (seed as i64 % ACCOUNTS, (seed >> 20) as i64 % ACCOUNTS);
        for (key, change) in [(from, -1), (to, 1)] {
            let (row, n) = looked_up(&mut tx, &table, key)[0].clone();
            let Value::Int(n) = n else { panic!("{n:?}") };
            tx.update(&table, row, &[(1, ValueRef::Int(n + change))])?;
        }
        tx.commit().map(|_| ())
    };
    let begun = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let seconds_max = |moved: u64| if moved == 0 { 180 } else { 20 };
            loop {
                let moved = moved.fetch_add(store.compact_all().unwrap(), Ordering::SeqCst);
                if moved >= 1_000 || begun.elapsed().as_secs() >= seconds_max(moved) {
                    break;
                }
                store.checkpoint().unwrap();
            }
            is_over.store(true, Ordering::SeqCst);
        });
        for thread in 0..2_u64 {
            let (transfer, store, table) = (&transfer, &store, &table);
            let (is_over, moved) = (&is_over, &moved);
            scope.spawn(move || {
                let mut seed = thread + 1;
                while !is_over.load(Ordering::SeqCst) {
                    for _ in 0..20 {
                        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        let outcome = transfer(seed >> 8);
                        assert!(outcome.is_ok() || is_conflict(&outcome), "{outcome:?}");
                    }
                    let rows = pairs(&mut begin(store), table);
                    let numbers = rows.iter().map(|(_, n)| match n {
                        Value::Int(n) => *n,
                        other => panic!("{other:?}"),
                    });
                    assert_eq!((numbers.sum::<i64>(), rows.len() as i64), (total, ACCOUNTS));
                    // Chunks are frozen between two writes; a busy machine needs longer pauses.
                    let is_waiting = moved.load(Ordering::SeqCst) == 0;
                    let more =
                        if is_waiting { begun.elapsed().as_millis() as u64 / 100 } else { 0 };
                    std::thread::sleep(Duration::from_millis(3 + more));
                }
            });
        }
    });
    assert!(moved.load(Ordering::SeqCst) > 0);
    let keys: Vec<Value> = (0..ACCOUNTS).map(Value::Int).collect();
    assert_eq!(ordered(&mut begin(&store), &table, "t_pkey"), keys);
}

/// Two rows may not both become 0; each transaction reads both and changes one.
#[test]
fn write_skew_over_a_move_is_refused() {
    let (store, table) = volatile();
    holey(&store, &table, 100, 60);
    let mut one = begin(&store);
    assert_eq!(looked_up(&mut one, &table, 80).len() + looked_up(&mut one, &table, 81).len(), 2);
    insert(&mut one, &table, 500, 0);
    store.compact_all().unwrap();
    let mut other = begin(&store);
    looked_up(&mut other, &table, 80);
    set(&mut other, &table, 81, 0).unwrap();
    other.commit().unwrap();
    assert!(is_conflict(&one.commit()));
    let mut weaker = store.begin(IsolationLevel::RepeatableRead);
    set(&mut weaker, &table, 80, 0).unwrap();
    weaker.commit().unwrap();
}
