//! Calls and changes in one log: whatever is frozen, checkpointed, or restarted in between, a
//! restart leaves the rows that were there, with their ids. Procedures that are missing or do
//! something else are named, and nothing is lost by that.

use std::collections::BTreeMap;
use std::fs;
use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::{Arc, Mutex};

use nacre_column::ColumnType;

use super::Procedures;
use crate::archive::{RestoreOptions, RestoreTarget, restore, restore_with};
use crate::error::{Error, Result};
use crate::id::RowId;
use crate::index::{Direction, IndexDef, IndexKind, IndexOrigin};
use crate::manifest::Injection;
use crate::mvcc::{IsolationLevel, Transaction};
use crate::redo::RedoOptions;
use crate::schema::{ColumnDef, TableSchema};
use crate::store::{OpenOptions, Store};
use crate::table::Table;
use crate::value::{Value, ValueRef};

const SERIALIZABLE: IsolationLevel = IsolationLevel::Serializable;

fn table_schema(name: &str, is_keyed: bool) -> TableSchema {
    let column = |name: &str, column_type, is_nullable| ColumnDef {
        name: name.into(),
        column_type,
        is_nullable,
        replicas: None,
    };
    TableSchema {
        name: name.into(),
        columns: vec![
            column("k", ColumnType::BigInt, false),
            column("n", ColumnType::BigInt, false),
            column("s", ColumnType::Varchar { max_chars: None }, true),
        ],
        primary_key: is_keyed.then(|| vec![0]),
        primary_key_name: if is_keyed { format!("{name}_pkey") } else { String::new() },
        replicas: None,
    }
}

fn index(name: &str) -> IndexDef {
    let (kind, origin) = (IndexKind::default(), IndexOrigin::Statement);
    IndexDef { name: name.into(), columns: vec![1], kind, origin, is_unique: false }
}

/// Makes a table with a key and an index on `n`, and another one without.
pub(super) fn create_tables(store: &Store) -> Result<()> {
    let table = store.create_table(table_schema("t", true))?;
    store.create_index(&table, index("t_n"))?;
    store.create_table(table_schema("h", false)).map(|_| ())
}

fn text(n: i64) -> Vec<u8> {
    vec![b'a' + n.rem_euclid(26) as u8; n.rem_euclid(40) as usize]
}

fn int(value: &ValueRef<'_>) -> i64 {
    match value {
        ValueRef::Int(value) => *value,
        _ => 0,
    }
}

/// Returns the row of a key and its `n`.
fn find(tx: &mut Transaction, table: &Arc<Table>, key: i64) -> Result<Option<(RowId, i64)>> {
    let (index, mut found) = (table.index("t_pkey")?, None);
    tx.lookup(table, &index, &[ValueRef::Int(key)], &[1], |row, values| {
        found = Some((row, int(&values[0])));
    })?;
    Ok(found)
}

fn note(tx: &mut Transaction, key: i64, n: i64) -> Result<()> {
    let table = tx.table("h")?;
    tx.insert(&table, &[ValueRef::Int(key), ValueRef::Int(n), ValueRef::Null]).map(|_| ())
}

/// Gives a key another number, and notes it.
fn put(tx: &mut Transaction, key: i64, n: i64) -> Result<Vec<Value>> {
    let (table, text) = (tx.table("t")?, text(n));
    let before = find(tx, &table, key)?;
    let values = [ValueRef::Int(key), ValueRef::Int(n), ValueRef::Bytes(&text)];
    match before {
        // In place: the index on `n` has the row already.
        Some((row, old)) if old == n => {
            tx.update(&table, row, &[(2, ValueRef::Null)])?;
        }
        Some((row, _)) => {
            tx.update(&table, row, &[(1, values[1]), (2, values[2])])?;
        }
        None => {
            tx.insert(&table, &values)?;
        }
    }
    note(tx, key, n)?;
    Ok(vec![Value::Int(before.map_or(-1, |(_, n)| n))])
}

/// Moves all rows with `n` from a number on by 5, in the order of their keys.
fn bump(tx: &mut Transaction, from: i64) -> Result<Vec<Value>> {
    let table = tx.table("t")?;
    let (index, mut found) = (table.index("t_n")?, BTreeMap::new());
    let (low, high) = ([ValueRef::Int(from)], [ValueRef::Int(from + 2)]);
    let bounds = (Bound::Included(&low[..]), Bound::Included(&high[..]));
    tx.range(&table, &index, bounds, Direction::Ascending, &[0, 1], |row, values| {
        found.insert(int(&values[0]), (row, int(&values[1])));
        ControlFlow::Continue(())
    })?;
    for (row, n) in found.values() {
        tx.update(&table, *row, &[(1, ValueRef::Int(n + 5))])?;
    }
    Ok(vec![Value::Int(found.len() as i64)])
}

/// Makes rows that are taken back to a savepoint between others that are not.
fn waver(tx: &mut Transaction, key: i64) -> Result<Vec<Value>> {
    note(tx, key, 1)?;
    for part in 0..2 {
        let savepoint = tx.savepoint();
        note(tx, key, 2)?;
        put(tx, key + 1, part)?;
        tx.rollback_to(savepoint);
        note(tx, key, 3 + part)?;
    }
    Ok(Vec::new())
}

/// Notes the sum of all numbers, which depends on every row.
fn sum(tx: &mut Transaction) -> Result<Vec<Value>> {
    let (table, mut all) = (tx.table("t")?, 0);
    tx.scan(&table, &[], &[0, 1], |_, values| all += int(&values[0]) ^ int(&values[1]))?;
    note(tx, -1, all)?;
    Ok(vec![Value::Int(all)])
}

pub(super) fn procedures() -> Procedures {
    let mut all = Procedures::default();
    all.register("put", |tx, values| put(tx, int(&values[0]), int(&values[1]))).unwrap();
    all.register("bump", |tx, values| bump(tx, int(&values[0]))).unwrap();
    all.register("waver", |tx, values| waver(tx, int(&values[0]))).unwrap();
    all.register("sum", |tx, _| sum(tx)).unwrap();
    all.register("drop", |tx, values| {
        let table = tx.table("t")?;
        let found = find(tx, &table, int(&values[0]))?;
        found.map_or(Ok(()), |(row, _)| tx.delete(&table, row))?;
        Ok(vec![Value::Int(found.map_or(0, |_| 1))])
    })
    .unwrap();
    all.register("refuse", |tx, _| {
        note(tx, 0, 0)?;
        Err(Error::CallRefused("not today".into()))
    })
    .unwrap();
    all.register("stubborn", |tx, values| {
        let table = tx.table("t")?;
        let value = [values[0], ValueRef::Int(0), ValueRef::Null];
        let is_new = tx.insert(&table, &value).is_ok();
        note(tx, int(&values[0]), is_new.into())?;
        Ok(vec![Value::Int(is_new.into())])
    })
    .unwrap();
    all.register_physical("random", |tx, _| {
        let mut bytes = [0; 4];
        getrandom::fill(&mut bytes).map_err(|error| Error::CallRefused(error.into()))?;
        note(tx, 0, u32::from_le_bytes(bytes).into()).map(|()| Vec::new())
    })
    .unwrap();
    all
}

pub(super) fn call(store: &Store, name: &str, arguments: &[i64]) -> Result<Vec<Value>> {
    let arguments: Vec<ValueRef<'_>> = arguments.iter().copied().map(ValueRef::Int).collect();
    store.call(name, &arguments)
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Small segments; nothing is frozen unasked.
fn options(directory: &Path, procedures: Procedures) -> OpenOptions {
    OpenOptions {
        directory: Some(directory.to_path_buf()),
        redo: RedoOptions { segment_bytes: 4 << 10, is_compressed: false },
        checkpoint_bytes: Some(0),
        procedures,
        ..OpenOptions::default()
    }
}

fn open(directory: &Path) -> Store {
    Store::open(options(directory, procedures())).unwrap()
}

fn create(directory: &Path) -> Store {
    let store = open(directory);
    create_tables(&store).unwrap();
    store
}

type Dump = Vec<(String, RowId, Vec<Value>)>;

/// Returns all rows with their ids, and has compared indexes with them.
fn dump(store: &Store) -> Dump {
    let mut all = Vec::new();
    let mut tx = store.begin(IsolationLevel::RepeatableRead);
    for table in store.tables() {
        let mut rows = BTreeMap::new();
        tx.scan(&table, &[], &[0, 1, 2], |row, values| {
            rows.insert(row, values.iter().map(|value| value.to_value()).collect::<Vec<_>>());
        })
        .unwrap();
        for index in table.indexes() {
            let (all, mut indexed) = ((Bound::Unbounded, Bound::Unbounded), BTreeMap::new());
            tx.range(&table, &index, all, Direction::Ascending, &[0, 1, 2], |row, values| {
                let row = table.forwards().row(row).unwrap_or(row);
                let values = values.iter().map(|value| value.to_value()).collect::<Vec<_>>();
                assert_eq!(indexed.insert(row, values), None, "{row} is there twice");
                ControlFlow::Continue(())
            })
            .unwrap();
            assert_eq!(indexed, rows, "index {}", index.definition().name);
        }
        let name = table.schema().name.clone();
        all.extend(rows.into_iter().map(|(row, values)| (name.clone(), row, values)));
    }
    all
}

/// Restarts, and compares what is there with what was.
fn restart(store: Store, directory: &Path) -> Store {
    let before = dump(&store);
    drop(store);
    let store = open(directory);
    assert_eq!(dump(&store), before);
    store
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as i64
    }
}

/// Changes rows without a procedure.
fn change(store: &Store, random: &mut Random, level: IsolationLevel) -> Result<()> {
    let mut tx = store.begin(level);
    let table = tx.table("t")?;
    for _ in 0..=random.below(3) {
        let key = random.below(30);
        match (random.below(4), find(&mut tx, &table, key)?) {
            (0, Some((row, _))) => tx.delete(&table, row)?,
            (1, Some((row, _))) => {
                tx.update(&table, row, &[(2, ValueRef::Bytes(b"changed"))])?;
            }
            _ => {
                put(&mut tx, key, random.below(20))?;
            }
        }
    }
    tx.commit().map(|_| ())
}

fn random_call(store: &Store, random: &mut Random) -> Result<()> {
    let (key, n) = (random.below(30), random.below(20));
    let done = match random.below(9) {
        0..4 => call(store, "put", &[key, n]),
        4 => call(store, "bump", &[n]),
        5 => call(store, "waver", &[key]),
        6 => call(store, "sum", &[]),
        7 => call(store, "drop", &[key]),
        _ => call(store, "stubborn", &[key]),
    };
    done.map(|_| ())
}

#[test]
fn random_histories_are_replayed() {
    let rounds = if std::env::var_os("NACRE_TEST_FULL").is_some() { 200 } else { 12 };
    for seed in 1..=rounds {
        println!("seed {seed}");
        let (directory, mut random) = (directory(), Random(seed * 0x9e37_79b9));
        let mut store = create(directory.path());
        for _ in 0..60 {
            match random.below(30) {
                0 => store = restart(store, directory.path()),
                1 => store.checkpoint().map(|_| ()).unwrap(),
                2..5 => store.freeze_only().unwrap(),
                5..12 => change(&store, &mut random, SERIALIZABLE).unwrap(),
                _ => random_call(&store, &mut random).unwrap(),
            }
        }
        drop(restart(store, directory.path()));
    }
}

#[test]
fn overlapping_histories_are_replayed() {
    let directory = directory();
    let store = create(directory.path());
    let client = |seed: u64| {
        let mut random = Random(seed * 0x9e37_79b9 + 7);
        let mut done = 0;
        for step in 0..120 {
            let outcome = match step % 4 {
                0 => change(&store, &mut random, IsolationLevel::RepeatableRead),
                1 => change(&store, &mut random, SERIALIZABLE),
                _ => random_call(&store, &mut random),
            };
            match outcome {
                Ok(()) => done += 1,
                Err(Error::SerializationConflict { .. } | Error::DuplicateKey(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        done
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (1..=3).map(|seed| scope.spawn(move || client(seed))).collect();
        for round in 0..12 {
            if round % 4 == 3 { store.checkpoint().map(|_| ()) } else { store.freeze_only() }
                .unwrap();
            std::thread::yield_now();
        }
        let done: i32 = clients.into_iter().map(|client| client.join().unwrap()).sum();
        assert!(done > 100, "{done} commits");
    });
    call(&store, "sum", &[]).unwrap();
    let store = restart(store, directory.path());
    call(&store, "sum", &[]).unwrap();
    drop(restart(store, directory.path()));
}

/// A procedure that others overtake while it runs is replayed behind them.
#[test]
fn call_is_replayed_where_it_committed() {
    type Hook = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;
    let (directory, hook) = (directory(), Hook::default());
    let with_hook = |hook: &Hook| {
        let (mut all, hook) = (procedures(), Arc::clone(hook));
        all.register("slow", move |tx, values| {
            let table = tx.table("t")?;
            let from = find(tx, &table, int(&values[0]))?.map_or(0, |(_, n)| n);
            if let Some(hook) = hook.lock().unwrap().take() {
                hook();
            }
            put(tx, int(&values[1]), from + 100)
        })
        .unwrap();
        all
    };
    let store = Store::open(options(directory.path(), with_hook(&hook))).unwrap();
    create_tables(&store).unwrap();
    for key in 0..4 {
        call(&store, "put", &[key, key]).unwrap();
    }
    let other = store.clone();
    *hook.lock().unwrap() = Some(Box::new(move || {
        call(&other, "put", &[2, 50]).unwrap();
        call(&other, "put", &[9, 51]).unwrap();
    }));
    call(&store, "slow", &[1, 3]).unwrap();
    let other = store.clone();
    *hook.lock().unwrap() = Some(Box::new(move || drop(call(&other, "put", &[1, 52]).unwrap())));
    let conflict = call(&store, "slow", &[1, 3]);
    assert!(matches!(conflict, Err(Error::SerializationConflict { .. })), "{conflict:?}");
    let before = dump(&store);
    *hook.lock().unwrap() = None;
    drop(store);
    let store = Store::open(options(directory.path(), with_hook(&hook))).unwrap();
    assert_eq!(dump(&store), before);
}

/// Returns the bytes of the redo log.
fn log_bytes(directory: &Path) -> Vec<Vec<u8>> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let is_log = |path: &std::path::PathBuf| path.to_string_lossy().contains("redo");
    let mut names: Vec<_> = names.filter(is_log).collect();
    names.sort();
    names.iter().map(|name| fs::read(name).unwrap()).collect()
}

/// Copies the files of a directory.
fn copy_files(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn missing_procedure_is_named_and_nothing_is_lost() {
    let directory = directory();
    let store = create(directory.path());
    call(&store, "put", &[1, 2]).unwrap();
    call(&store, "sum", &[]).unwrap();
    let unknown = call(&store, "nothing", &[]).unwrap_err();
    assert_eq!(unknown.to_string(), "procedure \"nothing\" is not registered");
    let before = dump(&store);
    drop(store);
    let log = log_bytes(directory.path());
    assert!(!log.is_empty());
    for is_read_only in [true, false] {
        let without =
            OpenOptions { is_read_only, ..options(directory.path(), Procedures::default()) };
        let error = Store::open(without).unwrap_err();
        let Error::UnknownProcedure { procedure, commit: Some(_) } = &error else {
            panic!("{error}");
        };
        assert_eq!(procedure, "put");
        assert!(error.to_string().contains("by a program that registers it"), "{error}");
    }
    assert_eq!(log_bytes(directory.path()), log);
    let with = OpenOptions { is_read_only: true, ..options(directory.path(), procedures()) };
    assert_eq!(dump(&Store::open(with).unwrap()), before);
    let store = open(directory.path());
    assert_eq!(dump(&store), before);
    store.checkpoint().unwrap();
    let before = dump(&store);
    drop(store);
    let store = Store::open(options(directory.path(), Procedures::default())).unwrap();
    assert_eq!(dump(&store), before);
}

#[test]
fn procedure_that_does_something_else_is_noticed() {
    type Body = fn(&mut Transaction, &[ValueRef<'_>]) -> Result<Vec<Value>>;
    let bodies: [(Body, &str); 6] = [
        (|tx, values| put(tx, int(&values[0]), int(&values[1]) + 1), "others than they were"),
        (|tx, values| put(tx, int(&values[0]) + 1, int(&values[1])), "others than they were"),
        (
            |tx, values| {
                put(tx, int(&values[0]), int(&values[1]))?;
                note(tx, 5, 5).map(|()| Vec::new())
            },
            "it inserts a row where it did something else",
        ),
        (|tx, _| note(tx, 5, 5).map(|()| Vec::new()), "it inserts a row where it did"),
        (|_, _| Err(Error::CallRefused("no more".into())), "it fails: no more"),
        (|_, _| Ok(Vec::new()), "it changes nothing"),
    ];
    let directory = directory();
    let store = create(directory.path());
    call(&store, "put", &[7, 3]).unwrap();
    let before = dump(&store);
    drop(store);
    let log = log_bytes(directory.path());
    for (body, reason) in bodies {
        let mut other = Procedures::default();
        other.register("put", body).unwrap();
        let error = Store::open(options(directory.path(), other)).unwrap_err();
        assert!(matches!(&error, Error::ProcedureChanged { procedure, .. } if procedure == "put"));
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(log_bytes(directory.path()), log);
    }
    assert_eq!(dump(&open(directory.path())), before);
}

#[test]
fn calls_that_change_nothing_or_cannot_be_repeated_are_not_logged() {
    let directory = directory();
    let store = create(directory.path());
    let table = store.table("t").unwrap();
    let mut tx = store.begin(SERIALIZABLE);
    put(&mut tx, 1, 1).unwrap();
    tx.commit().unwrap();
    assert_eq!(call(&store, "drop", &[5]).unwrap(), [Value::Int(0)]);
    assert!(matches!(call(&store, "refuse", &[]), Err(Error::CallRefused(_))));
    assert_eq!(call(&store, "stubborn", &[1]).unwrap(), [Value::Int(0)]);
    call(&store, "random", &[]).unwrap();
    assert!(!store.calls().are_pending());
    let before = dump(&store);
    drop((store, table));
    let store = Store::open(options(directory.path(), Procedures::default())).unwrap();
    assert_eq!(dump(&store), before);
}

/// A freeze that somebody wrote into does not count, also if only calls tell.
#[test]
fn withdrawn_freeze_is_known_by_the_calls_behind_it() {
    for is_withdrawn in [true, false] {
        let directory = directory();
        let store = create(directory.path());
        for key in 0..10 {
            call(&store, "put", &[key, key]).unwrap();
        }
        store.freeze_only().unwrap();
        for key in 5..15 {
            call(&store, "put", &[key, key + 1]).unwrap();
        }
        let copy = directory.path().join("copy");
        if is_withdrawn {
            let (from, to) = (directory.path().to_path_buf(), copy.clone());
            let steps = Mutex::new((0, Some(store.clone())));
            store.inject_before_publish(Injection(Box::new(move || {
                let mut steps = steps.lock().unwrap();
                steps.0 += 1;
                match (steps.0, steps.1.take()) {
                    (1, Some(store)) => {
                        call(&store, "put", &[14, 15]).unwrap();
                        steps.1 = Some(store);
                    }
                    // The record that takes the freeze back.
                    (2, _) => copy_files(&from, &to),
                    _ => {}
                }
            })));
        }
        store.freeze_only().unwrap();
        if is_withdrawn {
            let copied = dump(&open(&copy));
            let values = |dump: Dump| {
                let rows = dump.into_iter().map(|(table, _, values)| format!("{table} {values:?}"));
                rows.collect::<std::collections::BTreeSet<_>>()
            };
            assert_eq!(values(copied), values(dump(&store)));
            fs::remove_dir_all(&copy).unwrap();
        }
        call(&store, "sum", &[]).unwrap();
        for key in 12..17 {
            call(&store, "put", &[key, 3]).unwrap();
        }
        call(&store, "sum", &[]).unwrap();
        let store = restart(store, directory.path());
        call(&store, "bump", &[1]).unwrap();
        drop(restart(store, directory.path()));
    }
}

#[test]
fn definitions_and_loads_come_behind_a_checkpoint() {
    let directory = directory();
    let mut store = create(directory.path());
    let steps: [fn(&Store); 5] = [
        |store| {
            let table = store.table("h").unwrap();
            let mut rows: Vec<_> = table
                .schema()
                .columns
                .iter()
                .map(|column| nacre_column::ColumnBuffer::new(column.column_type))
                .collect();
            rows[0].push_int(1);
            rows[1].push_int(2);
            rows[2].push_bytes(b"loaded");
            let load = store.begin_load(&table).unwrap();
            load.append_chunk(0, &rows).unwrap();
            load.commit().unwrap();
        },
        |store| {
            let table = store.table("h").unwrap();
            store.create_index(&table, index("h_n")).unwrap();
        },
        |store| {
            let table = store.table("h").unwrap();
            store.drop_index(&table, "h_n").unwrap();
        },
        |store| {
            store.drop_table("h").unwrap();
            store.create_table(table_schema("h", false)).unwrap();
        },
        |store| {
            let session = store.for_session();
            let mut tx = session.begin(SERIALIZABLE);
            tx.define().unwrap();
            session.drop_table("h").unwrap();
            session.create_table(table_schema("h", false)).unwrap();
            tx.commit().unwrap();
        },
    ];
    for step in steps {
        call(&store, "put", &[1, 2]).unwrap();
        call(&store, "sum", &[]).unwrap();
        assert!(store.calls().are_pending());
        step(&store);
        assert!(!store.calls().are_pending());
        let before = dump(&store);
        drop(store);
        store = Store::open(options(directory.path(), Procedures::default())).unwrap();
        assert_eq!(dump(&store), before);
        drop(store);
        store = open(directory.path());
        call(&store, "put", &[3, 2]).unwrap();
        store = restart(store, directory.path());
    }
    // A new table concerns no call that is there.
    store.create_table(table_schema("new", true)).unwrap();
    assert!(store.calls().are_pending());
    drop(restart(store, directory.path()));
}

/// What a call has seen may be gone when it commits.
#[test]
fn call_that_a_definition_overtakes_is_logged_by_its_changes() {
    let (directory, other) = (directory(), Arc::new(Mutex::new(None::<Store>)));
    let (mut all, hook) = (procedures(), Arc::clone(&other));
    all.register("overtaken", move |tx, _| {
        let (table, mut count) = (tx.table("t")?, 0);
        tx.scan(&table, &[], &[0], |_, _| count += 1)?;
        // Not a table that the call has read: that would be a conflict.
        if let Some(store) = hook.lock().unwrap().take() {
            store.drop_table("h")?;
        }
        tx.insert(&table, &[ValueRef::Int(9), ValueRef::Int(count), ValueRef::Null])?;
        Ok(Vec::new())
    })
    .unwrap();
    let store = Store::open(options(directory.path(), all)).unwrap();
    create_tables(&store).unwrap();
    call(&store, "put", &[1, 2]).unwrap();
    *other.lock().unwrap() = Some(store.clone());
    call(&store, "overtaken", &[]).unwrap();
    let before = dump(&store);
    assert_eq!(before.len(), 2);
    drop(store);
    let store = Store::open(options(directory.path(), Procedures::default())).unwrap();
    assert_eq!(dump(&store), before);
}

#[test]
fn backups_and_restores_have_what_calls_did() {
    let (directory, copies) = (directory(), directory());
    let (backup, archive) = (copies.path().join("backup"), copies.path().join("archive"));
    let store = create(directory.path());
    call(&store, "put", &[1, 2]).unwrap();
    store.set_archive(Some(&archive)).unwrap();
    let early = dump(&store);
    store.backup(&backup).unwrap();
    assert_eq!(dump(&Store::open(options(&backup, Procedures::default())).unwrap()), early);
    call(&store, "put", &[2, 3]).unwrap();
    store.freeze_only().unwrap();
    call(&store, "put", &[2, 4]).unwrap();
    call(&store, "sum", &[]).unwrap();
    store.archive().unwrap();
    let before = dump(&store);
    let into = copies.path().join("restored");
    let target = RestoreTarget::Latest;
    let wanted = RestoreOptions { backup, archive, target, into: into.clone() };
    let error = restore(&wanted).unwrap_err();
    assert!(matches!(error, Error::UnknownProcedure { .. }), "{error}");
    assert!(!into.exists());
    restore_with(&wanted, &procedures()).unwrap();
    assert_eq!(dump(&open(&into)), before);
}
